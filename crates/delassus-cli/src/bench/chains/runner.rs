//! Whatever takes the scene from frame to frame. A further one is measured like the rest as soon as it is in
//! [`entries`].

use delassus::chains::{Adapt, Chain, Chains, Integrator, Rattle, Solve};
use delassus::math::DVec3;
use delassus::world::Integrator as WorldIntegrator;
use delassus::{Solver, Stop, World, scenes};

use crate::bench::BenchError;
use crate::solvers;

/// Beads of a chain.
pub(super) const BEADS: usize = 40;
/// Length of a frame \[s\].
pub(super) const FRAME: f64 = 1.0 / 60.0;

/// The scene in somebody's hands.
pub(super) trait Runner: Send {
    /// Advances by one frame.
    fn frame(&mut self) -> Result<Effort, BenchError>;

    /// Where the last bead of a chain is.
    fn tip(&self, chain: usize) -> DVec3;

    /// Kinetic and potential energy \[J\] and the widest joint \[m\].
    fn measure(&self) -> (f64, f64);

    /// Bytes held between frames, where they are known.
    fn bytes(&self) -> Option<usize>;
}

/// What a frame took, for each chain on average.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
    pub(super) substeps: f64,
    pub(super) iterations: f64,
    /// Substeps of single chains that were taken at first order instead of second.
    pub(super) coarse: usize,
}

type Make = Box<dyn Fn(usize, f64) -> Result<Box<dyn Runner>, BenchError> + Send + Sync>;

/// One way to take the scene through time.
pub(super) struct Entry {
    pub(super) name: String,
    /// Substeps of a frame, at least.
    pub(super) substeps: u32,
    /// Too slow to time a whole second of the full scene.
    pub(super) slow: bool,
    /// Makes the scene with so many chains, the last bead of each so many times as heavy as the others.
    pub(super) make: Make,
}

/// Every way there is.
pub(super) fn entries() -> Vec<Entry> {
    let rattle = |adapt| {
        Integrator::Rattle(Rattle {
            adapt,
            ..Rattle::default()
        })
    };
    let spook = |solve| Integrator::Spook(solve);
    let jacobi = |sweeps| spook(Solve::Jacobi { sweeps });
    let gauss = |sweeps| spook(Solve::GaussSeidel { sweeps });
    let mut all = vec![
        chains("direct", 4, spook(Solve::Exact)),
        chains("direct", 8, spook(Solve::Exact)),
        chains("direct", 16, spook(Solve::Exact)),
        chains("rattle", 8, rattle(None)),
        chains("rattle", 10, rattle(None)),
        chains("rattle", 16, rattle(None)),
        chains("rattle, halved", 4, rattle(Some(Adapt::default()))),
        chains("jacobi, 10 sweeps", 4, jacobi(10)),
        chains("jacobi, 40 sweeps", 4, jacobi(40)),
        chains("gauss-seidel, 10 sweeps", 4, gauss(10)),
        chains("gauss-seidel, 40 sweeps", 4, gauss(40)),
    ];
    let (first, second) = (WorldIntegrator::Spook, WorldIntegrator::Rattle);
    all.extend([
        world("direct", 40, first),
        world("hybrid", 40, first),
        world("direct", 40, second),
        world("gauss-seidel", 40, first),
        world("coloured", 40, first),
        world("jacobi", 40, first),
        world("jacobi,accelerate=chebyshev", 40, first),
    ]);
    #[cfg(feature = "gpu")]
    all.extend(super::device::entries());
    all
}

/// The chains of a scene, hanging 25 cm apart.
pub(super) fn scene(count: usize, ratio: f64) -> Vec<Chain> {
    let side = (count as f64).sqrt().ceil() as usize;
    let middle = 0.5 * (side as f64 - 1.0);
    let place = |n: usize| 0.25 * (n as f64 - middle);
    let chain = |i: usize| {
        let anchor = DVec3::new(place(i % side), place(i / side), 0.0);
        let mut chain = Chain::straight(anchor, direction(i), BEADS, 1.0, 0.05);
        if let Some(last) = chain.beads.last_mut() {
            last.mass *= ratio;
            last.inertia *= ratio;
        }
        chain
    };
    (0..count).map(chain).collect()
}

/// The direction a chain is released in.
pub(super) fn direction(chain: usize) -> DVec3 {
    let angle = chain as f64 * 0.618_034 * std::f64::consts::TAU;
    DVec3::new(angle.cos(), angle.sin(), 0.0)
}

fn chains(name: &str, substeps: u32, integrator: Integrator) -> Entry {
    Entry {
        name: name.to_owned(),
        substeps,
        slow: false,
        make: Box::new(move |count, ratio| {
            let gravity = DVec3::new(0.0, 0.0, -9.81);
            let chains = Chains::new(gravity, &scene(count, ratio));
            Ok(Box::new(Batch {
                chains: chains?,
                substeps,
                integrator,
            }))
        }),
    }
}

/// Chains side by side.
struct Batch {
    chains: Chains,
    substeps: u32,
    integrator: Integrator,
}

impl Runner for Batch {
    fn frame(&mut self) -> Result<Effort, BenchError> {
        let taken = self.chains.step(FRAME, self.substeps, self.integrator);
        if taken.refused != 0 {
            return Err(BenchError::NotFinite);
        }
        Ok(Effort {
            substeps: taken.substeps,
            iterations: taken.iterations,
            coarse: taken.coarse,
        })
    }

    fn tip(&self, chain: usize) -> DVec3 {
        let bead = self.chains.bead(chain, BEADS - 1);
        bead.map_or(DVec3::NAN, |bead| bead.position)
    }

    fn measure(&self) -> (f64, f64) {
        let measure = self.chains.measure();
        (measure.energy, measure.opening)
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.chains.bytes())
    }
}

/// The same scene as a world of bodies and joints: everything a world can do is paid for.
fn world(spec: &'static str, iterations: usize, integrator: WorldIntegrator) -> Entry {
    let order = match integrator {
        WorldIntegrator::Spook => "",
        WorldIntegrator::Rattle => ", rattle",
        WorldIntegrator::Midpoint => ", midpoint",
    };
    let substeps = 4;
    Entry {
        name: format!("world, {spec}{order}"),
        substeps,
        slow: true,
        make: Box::new(move |count, ratio| {
            let scene = scenes::build(&format!("necklaces:{count}x{BEADS}"));
            let mut world = scene?.world;
            world.settings.substeps = substeps;
            world.settings.integrator = integrator;
            let bodies = world.bodies_mut();
            for last in (BEADS - 1..count * BEADS).step_by(BEADS) {
                bodies.mass[last] *= ratio;
                bodies.inertia[last] *= ratio;
            }
            let stop = Stop {
                tolerance: 1e-6,
                sweeps: iterations,
                ..Stop::default()
            };
            let solver = solvers::make(spec, stop, 0)?;
            Ok(Box::new(General { world, solver }))
        }),
    }
}

struct General {
    world: World,
    solver: Box<dyn Solver + Send>,
}

impl Runner for General {
    fn frame(&mut self) -> Result<Effort, BenchError> {
        let step = self.world.step(FRAME, self.solver.as_mut())?;
        Ok(Effort {
            substeps: f64::from(self.world.settings.substeps),
            iterations: step.report.iterations as f64,
            coarse: step.coarse as usize,
        })
    }

    fn tip(&self, chain: usize) -> DVec3 {
        let at = (chain + 1) * BEADS - 1;
        let position = self.world.bodies().position.get(at);
        position.copied().unwrap_or(DVec3::NAN)
    }

    fn measure(&self) -> (f64, f64) {
        let probe = self.world.bodies().probe(self.world.gravity);
        (probe.kinetic + probe.potential, self.world.violation())
    }

    fn bytes(&self) -> Option<usize> {
        None
    }
}
