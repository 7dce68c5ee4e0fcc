//! Worlds: scenes and robots stepped through time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use delassus::model::robot::Base;
use delassus::model::scene::{of_robot, parse_in};
use delassus::problem::file::limit;
use delassus::solver::from_spec;
use delassus::world::{RunDefaults, Scene, Step, StepError};
use delassus::{Solver, Stop, scenes};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{whole, whole_or_none};
use crate::draft::{Draft, Joints, Material};
use crate::error::{of_disk, refuse, refuse_at};
use crate::interrupt::{Flag, NOTICE, interruptible, is_home};
use crate::pieces::empty;
use crate::problem::Problem;
use crate::solve::Limits;
use crate::step::StepReport;
use crate::tape::{Source, Tape, TapeError};
use crate::view::Shown;

/// A world whose last step took less than this makes the next one on the calling thread: to hand it to another one
/// would cost more than the step. Signals are looked after between such steps.
const QUICK: Duration = Duration::from_millis(1);

/// A scene that is stepped through time.
///
/// Bodies are rows of arrays, in the order of `body_names`; robots have a configuration and a velocity. A world belongs
/// to one thread at a time: where another one steps it, every call raises.
///
/// >>> import delassus
/// >>> world = delassus.World.scene("stack:5")
/// >>> world.step(100).solved
/// True
/// >>> round(world.time, 6), world.positions.shape
/// (1.0, (6, 3))
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct World {
    inner: Mutex<Inner>,
    flag: Flag,
    pub(crate) title: String,
    /// Where it comes from; none where it was built piece by piece.
    pub(crate) source: Option<Source>,
}

/// What changes.
pub(crate) struct Inner {
    pub(crate) world: delassus::World,
    pub(crate) run: RunDefaults,
    /// The pieces, as long as some can be added.
    pub(crate) draft: Option<Draft>,
    pub(crate) materials: Vec<Material>,
    pub(crate) joints: Joints,
    pub(crate) warnings: Vec<String>,
    /// The recording under way.
    pub(crate) tape: Option<Tape>,
    /// Recordings so far.
    pub(crate) tapes: u64,
    /// Pages that show it.
    pub(crate) shown: Vec<Shown>,
    /// Pages so far.
    pub(crate) views: u64,
    solver: Box<dyn Solver + Send>,
    /// What the solver was made of, besides its name.
    made_of: (Stop, u64),
    quick: bool,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// How some steps ended: the last report, and the error that stopped them.
struct Walk {
    done: u64,
    unsolved: u64,
    worst_residual: f64,
    last: Option<Step>,
    error: Option<WalkError>,
}

/// Why steps end early.
enum WalkError {
    /// A step is refused.
    Step(StepError),
    /// A step was made that cannot be recorded.
    Tape(TapeError),
}

impl Inner {
    /// Refuses what would spoil a recording.
    pub(crate) fn not_recording(&self) -> PyResult<()> {
        match &self.tape {
            Some(_) => Err(refuse(
                "the world is being recorded, and a recording has the same bodies and joints in every frame; \
                 close it first, and begin another one afterwards",
            )),
            None => Ok(()),
        }
    }

    fn stop(run: &RunDefaults, flag: &Flag) -> Stop {
        Stop {
            tolerance: run.tolerance,
            sweeps: run.iterations,
            cancel: Some(flag.cancel()),
            ..Stop::default()
        }
    }

    /// Makes steps until all are made, one is refused, or `go_on` says no, which is asked after each.
    fn walk(&mut self, count: u64, dt: f64, mut go_on: impl FnMut() -> bool) -> Walk {
        let mut walk = Walk {
            done: 0,
            unsolved: 0,
            worst_residual: 0.0,
            last: None,
            error: None,
        };
        for _ in 0..count {
            let start = Instant::now();
            match self.world.step(dt, self.solver.as_mut()) {
                Ok(step) => {
                    walk.done += 1;
                    walk.unsolved += u64::from(step.unsolved);
                    walk.worst_residual = walk.worst_residual.max(step.report.residual.law);
                    let taped = self.tape.as_mut().map(|tape| tape.add(&self.world, &step));
                    walk.last = Some(step);
                    self.shown.iter().for_each(|page| page.show(&self.world));
                    if let Some(Err(error)) = taped {
                        self.tape = None;
                        walk.error = Some(WalkError::Tape(error));
                        break;
                    }
                }
                Err(error) => {
                    walk.error = Some(WalkError::Step(error));
                    break;
                }
            }
            self.quick = start.elapsed() < QUICK;
            if !go_on() {
                break;
            }
        }
        walk
    }
}

impl World {
    fn of(scene: Scene, source: Option<Source>) -> PyResult<World> {
        let flag = Flag::take();
        let stop = Inner::stop(&scene.run, &flag);
        let solver = from_spec(&scene.run.solver, stop, 0).map_err(refuse)?;
        Ok(World {
            inner: Mutex::new(Inner {
                joints: Joints::of(&scene.world),
                world: scene.world,
                run: scene.run,
                draft: None,
                materials: Vec::new(),
                warnings: scene.warnings,
                tape: None,
                tapes: 0,
                shown: Vec::new(),
                views: 0,
                solver,
                made_of: (stop, 0),
                quick: false,
            }),
            flag,
            title: scene.title,
            source,
        })
    }

    fn of_text(text: &str, name: &str, folder: Option<&Path>, base: Base) -> PyResult<World> {
        let scene = match text.trim_start().starts_with('<') {
            true => of_robot(text, name, folder, base).map_err(refuse)?,
            false => parse_in(text, folder).map_err(|cause| refuse_at(name)(&cause))?,
        };
        let source = Source {
            name: name.to_owned(),
            text: Some(text.to_owned()),
            folder: folder.map(Path::to_owned),
            floating: base == Base::Floating,
        };
        World::of(scene, Some(source))
    }

    /// The world with all its pieces, for this thread alone.
    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        let mut inner = self.raw()?;
        inner.refresh()?;
        Ok(inner)
    }

    /// The same where pieces may be missing.
    pub(crate) fn raw(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => refuse(
                "the world is at work in another thread; wait for it, or give each thread a world of its own",
            ),
            TryLockError::Poisoned(_) => refuse(
                "the world was left in the middle of a step by a fault of the engine; make it anew",
            ),
        })
    }

    /// Steps on the calling thread, as long as they are quick; gives the steps made.
    fn walk_here(&self, py: Python<'_>, inner: &mut Inner, count: u64, dt: f64) -> PyResult<Walk> {
        let mut raised = None;
        let walk = py.detach(|| {
            let mut asked = Instant::now();
            inner.walk(count, dt, || {
                if NOTICE <= asked.elapsed() {
                    asked = Instant::now();
                    raised = Python::attach(|py| py.check_signals()).err();
                }
                raised.is_none()
            })
        });
        raised.map_or(Ok(walk), Err)
    }

    /// The step size given, or that of the scene.
    fn dt_of(inner: &Inner, dt: Option<f64>) -> f64 {
        dt.unwrap_or(inner.run.dt)
    }
}

#[pymethods]
impl World {
    /// An empty world, to be filled by `add_body`, `add_joint` and the like.
    ///
    /// `gravity` [m/s²], `dt` [s], `solver`, `tolerance` and `iterations` are those of its steps; all other keys are the
    /// settings of scene files, with underscores: `substeps`, `integrator`, `friction` (the law of contacts),
    /// `contact_compliance`, `contact_damping`, `restitution_threshold`, `gyroscopic`, `geometric_stiffness`, `sleep`.
    #[new]
    #[pyo3(signature = (title="untitled", **keys))]
    fn new(title: &str, keys: Option<&Bound<'_, PyDict>>) -> PyResult<World> {
        let world = World::of(empty(title, keys)?, None)?;
        let mut inner = world.raw()?;
        inner.draft = Some(Draft::of(&inner.world));
        drop(inner);
        Ok(world)
    }

    /// A built-in scene: `name` or `name:size`, as `delassus list scenes` names them.
    #[staticmethod]
    fn scene(name: &str) -> PyResult<World> {
        let source = Source {
            name: name.to_owned(),
            ..Source::default()
        };
        World::of(scenes::build(name).map_err(refuse)?, Some(source))
    }

    /// Reads a scene file (TOML) or a robot file (URDF, MJCF), which is put on the ground. A URDF robot is bolted to
    /// it unless `floating`.
    #[staticmethod]
    #[pyo3(signature = (path, *, floating=false))]
    fn read(path: PathBuf, floating: bool) -> PyResult<World> {
        let text = limit::read_text(&path).map_err(|cause| of_disk(&path, &cause))?;
        let name = path.display().to_string();
        World::of_text(&text, &name, path.parent(), base(floating))
    }

    /// The same from the text of a file. What it names is looked for in `folder`.
    ///
    /// >>> import delassus
    /// >>> scene = '''
    /// ... [[bodies]]
    /// ... name = "ball"
    /// ... position = [0, 0, 1]
    /// ... shapes = [{ sphere = { radius = 0.1 } }]
    /// ... density = 1000
    /// ... '''
    /// >>> world = delassus.World.parse(scene)
    /// >>> world.body_names
    /// ['ball']
    #[staticmethod]
    #[pyo3(signature = (text, *, folder=None, floating=false))]
    fn parse(text: &str, folder: Option<PathBuf>, floating: bool) -> PyResult<World> {
        World::of_text(text, "text", folder.as_deref(), base(floating))
    }

    /// Makes n steps of `dt` seconds, by default that of the scene, and says how they went. Forces and torques act
    /// during the first of them. A step that is refused raises, and the world is as it was before that step.
    #[pyo3(signature = (n=1, dt=None))]
    fn step(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] n: u64,
        dt: Option<f64>,
    ) -> PyResult<StepReport> {
        if n == 0 {
            return Err(refuse("n is 0; make at least one step"));
        }
        let mut inner = self.lock()?;
        let inner = &mut *inner;
        inner.settle();
        let dt = World::dt_of(inner, dt);
        if inner.tape.is_some() && dt != inner.run.dt {
            return Err(refuse(format!(
                "dt is {dt} where the recording has steps of {}; close the recording first",
                inner.run.dt
            )));
        }
        let quick = inner.quick && is_home();
        let walk = if quick {
            self.walk_here(py, inner, n, dt)?
        } else {
            let flag = &self.flag;
            interruptible(py, flag, || inner.walk(n, dt, || !flag.is_raised()))?
        };
        if let Some(error) = walk.error {
            let number = walk.done + 1;
            return Err(match (error, n) {
                (WalkError::Tape(error), _) => error.raise(),
                (WalkError::Step(error), 1) => refuse(error),
                (WalkError::Step(error), _) => refuse(format!("step {number} of {n}: {error}")),
            });
        }
        let step = walk
            .last
            .expect("at least one step was made, and none was refused");
        let worst = step.worst.filter(|_| 0 < step.unsolved);
        Ok(StepReport {
            time: inner.world.time(),
            steps: walk.done,
            unsolved: walk.unsolved,
            worst_residual: walk.worst_residual,
            worst: worst.map(|key| inner.world.describe(key)),
            step,
        })
    }

    /// A world of its own that goes on from here with the same bits; `copy.copy` and `copy.deepcopy` make the same. It
    /// has a solver with the same settings, and is neither recorded nor shown.
    ///
    /// >>> import delassus
    /// >>> world = delassus.World.scene("stack:2")
    /// >>> other = world.copy()
    /// >>> world.step(5).time, other.time
    /// (0.05, 0.0)
    fn copy(&self) -> PyResult<World> {
        let inner = self.lock()?;
        let (stop, seed) = inner.made_of;
        let flag = Flag::take();
        let stop = Stop {
            cancel: Some(flag.cancel()),
            ..stop
        };
        Ok(World {
            inner: Mutex::new(Inner {
                world: inner.world.clone(),
                run: inner.run.clone(),
                draft: inner.draft.clone(),
                materials: inner.materials.clone(),
                joints: inner.joints.clone(),
                warnings: inner.warnings.clone(),
                tape: None,
                tapes: 0,
                shown: Vec::new(),
                views: 0,
                solver: from_spec(&inner.run.solver, stop, seed).map_err(refuse)?,
                made_of: (stop, seed),
                quick: inner.quick,
            }),
            flag,
            title: self.title.clone(),
            source: self.source.clone(),
        })
    }

    fn __copy__(&self) -> PyResult<World> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<World> {
        self.copy()
    }

    /// A world is its thread's own: what goes to another process is a state.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a World cannot be pickled; make it anew where it is needed, and send checkpoint() to restore() its state there",
        ))
    }

    /// Chooses the solver of the steps to come; what is not given stays.
    #[pyo3(signature = (solver=None, *, tolerance=None, iterations=None, seed=0))]
    fn use_solver(
        &self,
        solver: Option<&str>,
        tolerance: Option<f64>,
        #[pyo3(from_py_with = whole_or_none)] iterations: Option<usize>,
        #[pyo3(from_py_with = whole)] seed: u64,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        let mut run = inner.run.clone();
        let sweeps = run.sweeps_to(tolerance.unwrap_or(run.tolerance));
        let limits = Limits {
            tolerance,
            iterations: iterations.or(Some(sweeps)),
            time_limit: None,
        };
        let stop = limits.apply(Inner::stop(&run, &self.flag))?;
        let stop = Stop {
            pivots: iterations.unwrap_or(Stop::default().pivots),
            ..stop
        };
        (run.tolerance, run.iterations) = (stop.tolerance, stop.sweeps);
        if let Some(solver) = solver {
            solver.clone_into(&mut run.solver);
        }
        inner.solver = from_spec(&run.solver, stop, seed).map_err(refuse)?;
        inner.made_of = (stop, seed);
        inner.run = run;
        Ok(())
    }

    /// The problem the next step would solve, with the impulses it would start from.
    #[pyo3(signature = (dt=None))]
    fn problem(&self, py: Python<'_>, dt: Option<f64>) -> PyResult<Problem> {
        let mut inner = self.lock()?;
        let inner = &mut *inner;
        let dt = World::dt_of(inner, dt);
        let substeps = f64::from(inner.world.settings.substeps.max(1));
        let part = dt / substeps;
        if !(part.is_finite() && 0.0 < part) {
            return Err(refuse(StepError::BadStep { h: dt }));
        }
        let found = interruptible(py, &self.flag, || inner.world.problem(part))?;
        let (problem, start) = found.map_err(refuse)?;
        Ok(Problem::new(
            problem,
            self.title.clone(),
            Some(start.lambda),
        ))
    }

    /// Title of the scene.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// What of a robot file was not understood, one sentence each.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.lock()?.warnings.clone())
    }

    /// Time simulated so far [s].
    #[getter]
    fn time(&self) -> PyResult<f64> {
        Ok(self.lock()?.world.time())
    }

    #[setter]
    fn set_time(&self, seconds: f64) -> PyResult<()> {
        self.lock()?.world.set_time(seconds).map_err(refuse)
    }

    /// The step size of the scene [s].
    #[getter]
    fn dt(&self) -> PyResult<f64> {
        Ok(self.lock()?.run.dt)
    }

    /// Length of the last substep [s], zero before the first: an impulse over it is a mean force.
    #[getter]
    fn last_substep(&self) -> PyResult<f64> {
        Ok(self.lock()?.world.last_substep())
    }

    /// The solver of its steps, with keys.
    #[getter]
    fn solver(&self) -> PyResult<String> {
        Ok(self.lock()?.run.solver.clone())
    }

    fn __repr__(&self) -> PyResult<String> {
        let inner = self.lock()?;
        Ok(format!(
            "<World \"{}\" at {:.4} s: {} bodies, {} joints, {} robots>",
            self.title,
            inner.world.time(),
            inner.world.bodies().len(),
            inner.world.joints().len(),
            inner.world.robots().len()
        ))
    }
}

/// How the root of a URDF robot stands.
pub(crate) fn base(floating: bool) -> Base {
    match floating {
        true => Base::Floating,
        false => Base::Fixed,
    }
}
