//! Many copies of one world, stepped together: each has its own state, controls and contacts.

use std::num::NonZeroUsize;

use super::{Step, StepError, World};
use crate::math::parallel::prelude::*;
use crate::solver::{Solver, SpecError, Stop, from_spec};

/// Copies of a world.
///
/// ```
/// use delassus::math::DVec3;
/// use delassus::world::Batch;
/// use delassus::{BodyId, Stop, scenes};
///
/// let world = scenes::build("stack:2")?.world;
/// let mut batch = Batch::new(&world, 3, "auto", Stop::default())?;
/// // Each copy is pushed in its own way.
/// let pushed = batch.step(0.01, |i, world| {
///     world.bodies_mut().force[2] = DVec3::X * 1e4 * i as f64;
/// });
/// assert!(pushed.iter().all(Result::is_ok));
/// let x = |i: usize| batch.worlds()[i].bodies().velocity[2].x;
/// assert!(x(0) < x(1) && x(1) < x(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch {
    start: World,
    spec: String,
    stop: Stop,
    worlds: Vec<World>,
    solvers: Vec<Box<dyn Solver + Send>>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("worlds", &self.worlds.len())
            .field("solver", &self.spec)
            .finish_non_exhaustive()
    }
}

impl Batch {
    /// So many copies of a world as it is, each with a solver of its own; see [`from_spec`].
    pub fn new(world: &World, count: usize, spec: &str, stop: Stop) -> Result<Batch, SpecError> {
        let solvers = (0..count).map(|_| from_spec(spec, stop, 0));
        Ok(Batch {
            start: world.clone(),
            spec: spec.to_owned(),
            stop,
            solvers: solvers.collect::<Result<_, _>>()?,
            worlds: vec![world.clone(); count],
        })
    }

    /// The copies.
    pub fn worlds(&self) -> &[World] {
        &self.worlds
    }

    /// The copies, to be read and changed between steps.
    pub fn worlds_mut(&mut self) -> &mut [World] {
        &mut self.worlds
    }

    /// Steps every copy by h seconds, after `prepare` has set the controls of the copy with this number. The threads of
    /// the current rayon pool share the copies; each has the bits it would have alone. A copy whose step is refused
    /// stays as it was, and the others go on.
    pub fn step(
        &mut self,
        h: f64,
        prepare: impl Fn(usize, &mut World) + Sync,
    ) -> Vec<Result<Step, StepError>> {
        self.steps(h, NonZeroUsize::MIN, |i, _, world| prepare(i, world))
    }

    /// The same so many times; `prepare` is also told which step it is. A copy makes all its steps, until one is refused,
    /// or somebody asks for an early end, before its thread takes another: its numbers stay near the processor. What is
    /// told of a copy is that of all its steps together, or why it could not go on.
    pub fn steps(
        &mut self,
        h: f64,
        count: NonZeroUsize,
        prepare: impl Fn(usize, usize, &mut World) + Sync,
    ) -> Vec<Result<Step, StepError>> {
        let stop = self.stop;
        let copies = self.worlds.par_iter_mut().zip(self.solvers.par_iter_mut());
        let all = copies.enumerate().map(|(i, (world, solver))| {
            let mut one = |k: usize| {
                prepare(i, k, world);
                world.step(h, solver.as_mut())
            };
            let mut steps = one(0)?;
            for k in 1..count.get() {
                if stop.is_cancelled() {
                    break;
                }
                steps.join(one(k)?);
            }
            Ok(steps)
        });
        all.collect()
    }

    /// Puts these copies back to where all began; a number that no copy has is left alone.
    pub fn reset(&mut self, copies: &[usize]) {
        for &i in copies {
            let slots = self.worlds.get_mut(i).zip(self.solvers.get_mut(i));
            // The solver could be made before.
            if let (Some((world, solver)), Ok(fresh)) = (slots, from_spec(&self.spec, self.stop, 0))
            {
                *world = self.start.clone();
                *solver = fresh;
            }
        }
    }
}
