//! Moving robots: new velocities in, configurations advanced on their manifold, loops brought back to closed.

use std::sync::Arc;

use glam::DVec3;

use super::{Closure, Posed, Projection, Robot};
use crate::index::RobotId;
use crate::linalg::inverse_root::{Answers, InverseRoot};
use crate::linalg::ranked::RankedCholesky;
use crate::linalg::wide_lu::{Four, WIDTH};
use crate::math::{max_abs, mul_transposed_add};
use crate::problem::Form;
use crate::problem::mass::MassBlock;
use crate::tree::{Data, KktGiven, KktUnknowns, MidpointStep, Tree, TreeError, TreeRows};
use crate::world::assemble::Assembly;
use crate::world::{Bodies, Integrator, StateError, World};

/// Loops are closed to this \[m or rad\].
const CLOSED: f64 = 1e-12;
/// Loops further open than this are left to their rows \[m or rad\].
const OPEN: f64 = 5e-3;
/// Newton steps at most; each squares the error.
const NEWTON: usize = 4;
/// Share of the error that a step may leave for the next to use the same J: that takes at least as much of it away again.
const SAME: f64 = 1e-3;

/// The state of a robot, (q, v): a pair, as saved states have it.
pub(in crate::world) type RobotState = (Vec<f64>, Vec<f64>);

/// A midpoint step of a robot left to itself.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// The velocity at its end.
    pub(super) end: Vec<f64>,
    /// The velocity that its configuration moves with.
    mean: Vec<f64>,
}

impl World {
    /// What a step of h seconds needs of all robots; their bodies show their joints, whatever a caller wrote there.
    pub(in crate::world) fn prepare_robots(&mut self, h: f64) {
        for robot in &mut self.robots {
            if robot.damped.0 != h {
                // A tree that cannot be softened is refused when the step is assembled.
                if let Ok(soft) = robot.softened(h) {
                    robot.damped = (h, Arc::new(soft));
                }
            }
            if !std::mem::take(&mut robot.shown) {
                robot.show(&mut self.bodies);
            }
            robot.pace.fast = robot.is_fast(h);
            robot.free = match self.settings.integrator {
                Integrator::Midpoint => robot.fly(&self.bodies, self.gravity, h),
                _ => None,
            };
        }
    }

    /// Gives the robots their velocities, which stand in v behind those of free bodies, and moves them for h seconds; the
    /// first that would leave the finite numbers is told, and moves no further.
    pub(in crate::world) fn move_robots(
        &mut self,
        h: f64,
        assembly: &Assembly,
        v: &[f64],
    ) -> Result<(), RobotId> {
        let free = assembly.bodies.len();
        let masses = match assembly.problem.form() {
            Form::Primal(primal) => &primal.mass()[free..],
            Form::Dual(_) => &[],
        };
        let (mut masses, mut v) = (masses.iter(), &v[6 * free..]);
        for (i, robot) in self.robots.iter_mut().enumerate() {
            let own = v
                .split_off(..robot.tree.n_dofs())
                .expect("a problem has the velocities of all robots behind those of bodies");
            robot.v.copy_from_slice(own);
            // One that cannot move has no mass.
            let mass = if own.is_empty() { None } else { masses.next() };
            let root = mass.and_then(MassBlock::root);
            robot.advance(h, root).map_err(|_| RobotId(i as u32))?;
            robot.show(&mut self.bodies);
            robot.shown = true;
        }
        Ok(())
    }

    /// Writes the states of all robots over older ones.
    pub(in crate::world) fn copy_robot_states(&self, into: &mut Vec<RobotState>) {
        into.resize_with(self.robots.len(), RobotState::default);
        for (robot, (q, v)) in self.robots.iter().zip(into) {
            q.clone_from(&robot.q);
            v.clone_from(&robot.v);
        }
    }

    pub(in crate::world) fn robot_states(&self) -> Vec<RobotState> {
        let state = |robot: &Robot| (robot.q.clone(), robot.v.clone());
        self.robots.iter().map(state).collect()
    }

    /// Puts states back that the robots had before.
    pub(in crate::world) fn restore_robots(
        &mut self,
        states: &[RobotState],
    ) -> Result<(), StateError> {
        for (robot, (q, v)) in self.robots.iter_mut().zip(states) {
            robot.place(q, v).map_err(|error| StateError::Robot {
                robot: robot.name.clone(),
                error,
            })?;
        }
        Ok(())
    }
}

impl Robot {
    /// The midpoint step of the robot left to itself; `None` where it is too long for it.
    fn fly(&mut self, bodies: &Bodies, gravity: DVec3, h: f64) -> Option<Flight> {
        let mut tau = Vec::new();
        self.applied(bodies, (gravity, 0.5 * h), &mut tau).ok()?;
        let mut v = self.v.clone();
        let step = MidpointStep {
            q: &self.q,
            v: &mut v,
            tau: &tau,
            gravity,
            h,
        };
        let found = self
            .tree
            .midpoint(&mut self.data.clone(), &mut self.midpoint, step);
        // In axes that do not turn during the step.
        let turned = self.tree.turn(&mut v, -h);
        (found.ok()? && turned.is_ok()).then(|| Flight {
            end: v,
            mean: self.midpoint.mean().to_vec(),
        })
    }

    /// Whether a step only adds h v to its coordinates.
    pub(in crate::world) fn just_adds(&self) -> bool {
        self.closures.is_empty() && self.q.len() == self.v.len()
    }

    /// Configuration and velocity after h seconds at this velocity, from this configuration.
    pub(in crate::world) fn moved(
        &self,
        q: &[f64],
        v: &[f64],
        h: f64,
    ) -> Result<RobotState, TreeError> {
        let mut robot = self.clone();
        robot.free = None;
        robot.place(q, v)?;
        robot.advance(h, None)?;
        Ok((robot.q, robot.v))
    }

    fn advance(&mut self, h: f64, root: Option<&InverseRoot>) -> Result<(), TreeError> {
        match self.free.take() {
            None => self.tree.advance(&mut self.q, &mut self.v, h)?,
            Some(Flight { end, mut mean }) => {
                // What impulses changed of the velocity acts during the whole step.
                for ((mean, end), v) in mean.iter_mut().zip(&end).zip(&self.v) {
                    *mean += v - end;
                }
                self.tree.integrate(&mut self.q, &mean, h)?;
                self.tree.turn(&mut self.v, h)?;
            }
        }
        if !self.closures.is_empty() {
            self.close(root)?;
        }
        // A step turns inertias where it weighs them.
        self.tree.motion(&self.q, &self.v, &mut self.data)
    }

    /// Closes the loops along M⁻¹Jᵀ, the smallest move that does: J δ = −g. M is that of the step where its inverse is
    /// written out. A move that opens them is not made. Its data has other poses afterwards.
    fn close(&mut self, root: Option<&InverseRoot>) -> Result<(), TreeError> {
        let (tree, data, closures) = (&*self.tree, &mut self.data, &self.closures[..]);
        let Projection {
            kkt,
            matrix,
            fours,
            answers,
            factor,
            rows,
            gap,
            next,
            q,
            still,
            wanted,
            move_by,
            force,
        } = &mut self.projection;
        // Where M⁻¹ is written out nobody asks for inertias.
        let find_gaps = |q: &[f64], data: &mut Data, gap: &mut Vec<f64>| {
            match root {
                Some(_) => tree.poses(q, data)?,
                None => tree.kinematics(q, data)?,
            }
            find_gaps((tree, closures), q, data, gap)
        };
        find_gaps(&self.q, data, gap)?;
        // A loop that starts open is closed over time by its rows, not by a jump.
        if OPEN < max_abs(gap) {
            return Ok(());
        }
        let (n, m) = (tree.n_dofs(), gap.len());
        for (array, length) in [(&mut *still, n.max(m)), (move_by, n), (force, m)] {
            array.resize(length, 0.0);
        }
        let mut factored = false;
        for _ in 0..NEWTON {
            if max_abs(gap) <= CLOSED {
                break;
            }
            wanted.clear();
            wanted.extend(gap.iter().map(|g| -g));
            if !factored {
                find_rows((tree, closures), &self.q, data, (rows, next))?;
            }
            if let Some(root) = root {
                // S f = −g with S = J M⁻¹Jᵀ, δ = M⁻¹Jᵀf
                if !factored {
                    tree.write_rows(data, rows, matrix);
                    factor_square(root, matrix, m, (fours, answers, factor));
                }
                factor.solve(wanted, force);
                move_by.fill(0.0);
                mul_transposed_add(matrix, force, move_by);
                root.solve(move_by);
            } else {
                let given = KktGiven {
                    y1: &still[..n],
                    y2: wanted,
                    sigma: &still[..m],
                };
                let unknowns = KktUnknowns {
                    x1: move_by,
                    x2: force,
                };
                kkt.solve(tree, data, rows, given, unknowns)?;
            }
            q.clone_from(&self.q);
            tree.integrate(q, move_by, 1.0)?;
            find_gaps(q, data, next)?;
            let (left, before) = (max_abs(next), max_abs(gap));
            if !(left < before) {
                break;
            }
            factored = root.is_some() && left <= SAME * before;
            std::mem::swap(&mut self.q, q);
            std::mem::swap(gap, next);
        }
        Ok(())
    }
}

/// S = J M⁻¹Jᵀ of so many rows J, factored.
fn factor_square(
    root: &InverseRoot,
    rows: &[f64],
    count: usize,
    (fours, halves, factor): (&mut Vec<Four>, &mut Vec<Four>, &mut RankedCholesky),
) {
    let (n, width) = (rows.len() / count.max(1), root.fours());
    fours.clear();
    fours.resize(count * width, [0.0; WIDTH]);
    for (to, row) in fours.chunks_exact_mut(width).zip(rows.chunks_exact(n)) {
        to.as_flattened_mut()[..n].copy_from_slice(row);
    }
    halves.clear();
    factor.matrix.clear();
    factor.matrix.resize(count * count, 0.0);
    let into = Answers {
        halves,
        c: &mut [],
        d: &mut factor.matrix,
    };
    root.answer(fours, &[], into);
    factor.factorise(count);
}

/// How far all closures are open at the poses of q, which data has already.
fn find_gaps(
    (tree, closures): (&Tree, &[Closure]),
    q: &[f64],
    data: &Data,
    gap: &mut Vec<f64>,
) -> Result<(), TreeError> {
    gap.clear();
    for closure in closures {
        closure.kind.add_gaps(Posed { tree, data, q }, gap)?;
    }
    Ok(())
}

/// Rows of all closures for the poses of q, which data has already; how far they are open comes with them.
fn find_rows(
    (tree, closures): (&Tree, &[Closure]),
    q: &[f64],
    data: &Data,
    (rows, gap): (&mut TreeRows, &mut Vec<f64>),
) -> Result<(), TreeError> {
    rows.clear();
    gap.clear();
    for closure in closures {
        let posed = Posed { tree, data, q };
        closure.kind.add_rows(posed, rows, gap)?;
    }
    Ok(())
}
