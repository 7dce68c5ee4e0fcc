//! Many copies of one world, stepped together.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use delassus::Stop;
use delassus::world::{Bodies, Step, StepError, Touch};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, room_for, rows, shaped, whole};
use crate::error::refuse;
use crate::interrupt::{Flag, NOTICE, interruptible, is_home};
use crate::state::{contacts, scalar_first};
use crate::world::World;

/// What a copy of a small world takes after some steps, besides what its state takes as text \[bytes\].
const COPY: usize = 20_000;

/// Copies of a world that are stepped together, each with its own state, controls and contacts.
///
/// Arrays have one row for each copy. The threads of the machine share the work, and each copy has the bits that it would
/// have alone.
///
/// >>> import delassus
/// >>> batch = delassus.Batch(delassus.World.scene("gripper"), 4)
/// >>> batch.step(10).solved
/// True
/// >>> q, v = batch.robot_states()
/// >>> len(q) == len(batch) == 4
/// True
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Batch {
    inner: Mutex<Inner>,
    flag: Flag,
}

#[derive(Debug)]
struct Inner {
    batch: delassus::world::Batch,
    dt: f64,
    /// How long a step of all copies took last time [s].
    pace: Option<f64>,
}

/// How the steps of a batch went.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct BatchReport {
    unsolved: Vec<u64>,
    residual: Vec<f64>,
    refused: Vec<(usize, String)>,
}

impl Batch {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => refuse("the batch is at work in another thread"),
            TryLockError::Poisoned(_) => refuse(
                "the batch was left in the middle of a step by a fault of the engine; make it anew",
            ),
        })
    }
}

/// The copies that are named by number, or by a truth value for each.
fn numbered(given: &Bound<'_, PyAny>, count: usize) -> PyResult<Vec<usize>> {
    if let Ok(mask) = given.extract::<Vec<bool>>()
        && !mask.is_empty()
    {
        if mask.len() != count {
            let found = mask.len();
            return Err(refuse(format!(
                "copies has {found} truth values where there are {count} copies"
            )));
        }
        return Ok((0..count).filter(|&i| mask[i]).collect());
    }
    let items = given
        .try_iter()
        .map_err(|_| refuse("copies must be a list of numbers, or a truth value for each copy"))?
        .map(|item| Ok(whole(&item?)? as usize));
    items.collect()
}

impl Batch {
    /// Numbers of every body of every copy.
    fn of_bodies<'py, const N: usize>(
        &self,
        py: Python<'py>,
        read: fn(&Bodies, usize) -> [f64; N],
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let inner = self.lock()?;
        let worlds = inner.batch.worlds();
        let count = worlds.first().map_or(0, |world| world.bodies().len());
        let bodies = worlds.iter().map(|world| world.bodies());
        let values = bodies.flat_map(|bodies| (0..count).flat_map(move |i| read(bodies, i)));
        array(py, values.collect()).reshape([worlds.len(), count, N])
    }
}

impl Inner {
    /// Sizes of the only robot's configuration and velocity.
    fn robot_sizes(&self) -> PyResult<(usize, usize)> {
        let world = self.batch.worlds().first();
        let robot = world.and_then(|world| world.robots().first());
        let robot = robot.ok_or_else(|| refuse("the world has no robot"))?;
        Ok((robot.configuration().len(), robot.velocity().len()))
    }
}

#[pymethods]
impl Batch {
    /// `n` copies of a world as it is now, with its solver and step.
    #[new]
    fn new(world: &World, #[pyo3(from_py_with = whole)] n: u64) -> PyResult<Batch> {
        if n == 0 {
            return Err(refuse("n is 0; make at least one copy"));
        }
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let flag = Flag::take();
        let world = world.lock()?;
        let state = serde_json::to_vec(&world.world.state()).map_err(refuse)?;
        let numbers = (COPY + state.len()) / size_of::<f64>();
        room_for(n.saturating_mul(numbers))?;
        let stop = Stop {
            tolerance: world.run.tolerance,
            sweeps: world.run.iterations,
            cancel: Some(flag.cancel()),
            ..Stop::default()
        };
        let batch = delassus::world::Batch::new(&world.world, n, &world.run.solver, stop);
        Ok(Batch {
            inner: Mutex::new(Inner {
                batch: batch.map_err(refuse)?,
                dt: world.run.dt,
                pace: None,
            }),
            flag,
        })
    }

    /// Makes n steps of `dt` seconds in every copy. `tau`, one row for each copy, are forces on the joints of its first
    /// robot during all of them. A copy whose step is refused stays there; the report names it.
    #[pyo3(signature = (n=1, *, tau=None, dt=None))]
    fn step(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] n: u64,
        tau: Option<&Bound<'_, PyAny>>,
        dt: Option<f64>,
    ) -> PyResult<BatchReport> {
        let steps = usize::try_from(n).ok().and_then(NonZeroUsize::new);
        let steps = steps.ok_or_else(|| refuse("n is 0; make at least one step"))?;
        let mut inner = self.lock()?;
        let count = inner.batch.worlds().len();
        let (tau, width) = match tau {
            None => (Vec::new(), 0),
            Some(tau) => {
                let (_, width) = inner.robot_sizes()?;
                (shaped("tau", tau, &[count, width])?, width)
            }
        };
        let dt = dt.unwrap_or(inner.dt);
        let mut report = BatchReport {
            unsolved: vec![0; count],
            residual: vec![0.0; count],
            refused: Vec::new(),
        };
        let (flag, inner, count) = (&self.flag, &mut *inner, steps.get() as f64);
        let expected = inner.pace.map(|pace| pace * count);
        let (start, batch) = (Instant::now(), &mut inner.batch);
        let work = || {
            let steps = batch.steps(dt, steps, |i, _, world| {
                if let Some(robot) = world.robot_mut(delassus::RobotId(0))
                    && 0 < width
                {
                    let own = &tau[i * width..(i + 1) * width];
                    robot.force.copy_from_slice(own);
                }
            });
            report.add(steps);
        };
        // Over before Ctrl-C would be noticed, they need no thread of their own.
        match expected.is_some_and(|time| time < NOTICE.as_secs_f64()) && is_home() {
            true => py.detach(work),
            false => interruptible(py, flag, work)?,
        }
        inner.pace = Some(start.elapsed().as_secs_f64() / count);
        Ok(report)
    }

    /// Configurations and velocities of the first robot, one row for each copy.
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn robot_states<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
        let inner = self.lock()?;
        let (nq, nv) = inner.robot_sizes()?;
        let robots = || inner.batch.worlds().iter().flat_map(|w| w.robots().first());
        let q = robots().flat_map(|robot| robot.configuration().to_vec());
        let v = robots().flat_map(|robot| robot.velocity().to_vec());
        let count = inner.batch.worlds().len();
        let q = rows(py, q.collect(), [count, nq])?;
        Ok((q, rows(py, v.collect(), [count, nv])?))
    }

    /// Puts the first robot of every copy into these states, one row for each. All stay where one does not fit.
    fn place_robots(&self, q: &Bound<'_, PyAny>, v: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let (nq, nv) = inner.robot_sizes()?;
        let count = inner.batch.worlds().len();
        let (q, v) = (shaped("q", q, &[count, nq])?, shaped("v", v, &[count, nv])?);
        let worlds = inner.batch.worlds_mut();
        let mut before = Vec::with_capacity(count);
        for i in 0..count {
            let robot = worlds[i].robots().first();
            before.extend(
                robot.map(|robot| (robot.configuration().to_vec(), robot.velocity().to_vec())),
            );
            let (q, v) = (&q[i * nq..(i + 1) * nq], &v[i * nv..(i + 1) * nv]);
            if let Err(error) = worlds[i].place_robot(delassus::RobotId(0), q, v) {
                // All or none: those that were placed go back.
                for (world, (q, v)) in worlds.iter_mut().zip(&before) {
                    world
                        .place_robot(delassus::RobotId(0), q, v)
                        .map_err(refuse)?;
                }
                return Err(refuse(format!("copy {i}: {error}")));
            }
        }
        Ok(())
    }

    /// Positions of all bodies [m]: copies, bodies, three numbers.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.of_bodies(py, |bodies, i| bodies.position[i].to_array())
    }

    /// Orientations of all bodies (w, x, y, z): copies, bodies, four numbers.
    #[getter]
    fn orientations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.of_bodies(py, |bodies, i| scalar_first(bodies.orientation[i]))
    }

    /// Velocities of all bodies [m/s]: copies, bodies, three numbers.
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.of_bodies(py, |bodies, i| bodies.velocity[i].to_array())
    }

    /// Angular velocities of all bodies in world axes [rad/s]: copies, bodies, three numbers.
    #[getter]
    fn spins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.of_bodies(py, |bodies, i| bodies.spin[i].to_array())
    }

    /// Contacts of the last step of all copies as one structured array: the fields of `World.contacts`, and `copy`, the
    /// number of the copy, in front.
    ///
    /// >>> import delassus
    /// >>> batch = delassus.Batch(delassus.World.scene("stack:1"), 3)
    /// >>> report = batch.step()
    /// >>> batch.contacts["copy"].tolist()
    /// [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.lock()?;
        let worlds = inner.batch.worlds().iter();
        let all = worlds.zip(0i64..).flat_map(|(world, i)| {
            let touches = world.touches().iter();
            touches.map(move |touch| (touch, i))
        });
        let (touches, copies): (Vec<&Touch>, Vec<i64>) = all.unzip();
        contacts(py, &touches, Some(copies))
    }

    /// Puts copies back to where all began: those with these numbers, those where a list of truth values, one for each
    /// copy, is true, or all of them.
    #[pyo3(signature = (copies=None))]
    fn reset(&self, copies: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let count = inner.batch.worlds().len();
        let copies = match copies {
            None => (0..count).collect(),
            Some(given) => numbered(given, count)?,
        };
        if let Some(beyond) = copies.iter().find(|i| count <= **i) {
            return Err(refuse(format!(
                "there is no copy {beyond}; the last of {count} is {}",
                count - 1
            )));
        }
        inner.batch.reset(&copies);
        Ok(())
    }

    /// Time simulated by each copy [s].
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let inner = self.lock()?;
        let times = inner.batch.worlds().iter().map(|world| world.time());
        Ok(array(py, times.collect()))
    }

    /// The hash of every copy's state.
    #[getter]
    fn state_hashes(&self) -> PyResult<Vec<u64>> {
        let inner = self.lock()?;
        let worlds = inner.batch.worlds().iter();
        Ok(worlds.map(|world| world.state_hash()).collect())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock()?.batch.worlds().len())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Batch of {} worlds>", self.__len__()?))
    }
}

impl BatchReport {
    fn add(&mut self, steps: Vec<Result<Step, StepError>>) {
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Ok(step) => {
                    self.unsolved[i] += u64::from(step.unsolved);
                    self.residual[i] = self.residual[i].max(step.report.residual.law);
                }
                Err(error) => {
                    self.refused.push((i, error.to_string()));
                }
            }
        }
    }
}

#[pymethods]
impl BatchReport {
    /// Whether every step of every copy was taken and solved.
    #[getter]
    fn solved(&self) -> bool {
        self.refused.is_empty() && self.unsolved.iter().all(|count| *count == 0)
    }

    /// Substeps of each copy that were not solved.
    #[getter]
    fn unsolved<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.unsolved)
    }

    /// The worst residual of each copy [m/s].
    #[getter]
    fn residual<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        array(py, self.residual.clone())
    }

    /// Copies whose steps were refused, with the reason of the first.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (i, reason) in &self.refused {
            named.set_item(i, reason)?;
        }
        Ok(named)
    }

    fn __repr__(&self) -> String {
        let unsolved = self.unsolved.iter().filter(|count| 0 < **count).count();
        format!(
            "<BatchReport of {} copies: {unsolved} with unsolved steps, {} refused>",
            self.unsolved.len(),
            self.refused.len()
        )
    }
}
