//! Robots that turn faster than a step can follow.
//!
//! A step takes M and the bias forces where it begins. Where a joint turns by a good part of a radian, M is another one at
//! its end, and ½ vᵀM v can be larger by any factor: three axes that meet in a point, without mass between them, turn ever
//! faster as the last lines up with the first. So where joints are that fast and nothing supplies energy, a step ends with
//! no more than it began with. What is too much is taken from the joints, and floating links keep their momentum:
//!
//! ```text
//! v_j ← s v_j        v_r ← v_r + (1 − s) M_rr⁻¹M_rj v_j        s² = 1 − excess/T_j
//! T_j = ½ v_jᵀ(M_jj − M_jr M_rr⁻¹M_rj) v_j          r: velocities of floating links, j: all others
//! ```
//!
//! Joints that have less than the excess lose all they have, and all motion of the robot loses the rest.
//!
//! Where the three axes line up, M is singular and any speed is an answer. There the first of them has a stiffness I/τ² in
//! M + h²K but no spring: M is regular, and the joint loses the share (h/τ)² of its speed in a step, less than the error of
//! the step.

use super::{Robot, RobotJoint, World};
use crate::index::LinkId;
use crate::linalg::cholesky::{cholesky, cholesky_solve};
use crate::math::dot;
use crate::tree::{Link, Tree, TreeError, TreeJoint};
use crate::world::{Integrator, Probe};

use glam::{DQuat, DVec3};

/// Turn of a joint in a step beyond which the step may not follow it \[rad or m\].
const FAST: f64 = 0.05;
/// Share of the kinetic energy that a step may gain without being braked: what steps of first order gain and lose.
const SHARE: f64 = 0.01;
/// Time τ of the stiffness at a lock \[s\].
const LOCK_TIME: f64 = 0.5;
/// Axes closer than this to one line are locked \[rad\].
const LOCKED: f64 = 0.1;
/// Places at which the range of a joint is looked at.
const PLACES: i32 = 180;

/// How fast a robot may be.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Joints that may lock, with the stiffness that keeps M from being singular there.
    pub(super) locks: Vec<(LinkId, f64)>,
    /// Whether a joint was too fast for the step under way when it began.
    pub(super) fast: bool,
}

impl Pace {
    pub(super) fn new(tree: &Tree, joints: &[RobotJoint]) -> Pace {
        Pace {
            locks: locks(tree, joints),
            fast: false,
        }
    }
}

impl World {
    /// The energy that a step begins with, where it can be asked for at the beginning alone, as in a part of a step, or
    /// where a robot is fast already. Else it is looked up if one has become fast.
    pub(in crate::world) fn energy_before(&self) -> Option<f64> {
        let settings = &self.settings;
        let part = 1 < settings.substeps || settings.integrator == Integrator::Rattle;
        let fast = self.robots.iter().any(|robot| robot.pace.fast);
        (fast || part && !self.robots.is_empty()).then(|| self.energy())
    }

    /// Energy and momentum at the end of a step, after fast joints have lost what the world has gained in it, and how much that
    /// was \[J\].
    pub(in crate::world) fn brake(&mut self, h: f64, before: Option<f64>) -> (Probe, f64) {
        let after = self.probe();
        let fast = |robot: &Robot| robot.pace.fast || robot.is_fast(h);
        if !self.robots.iter().any(fast) {
            return (after, 0.0);
        }
        let before = before.unwrap_or_else(|| self.energy_of_the_beginning());
        let excess = after.kinetic + after.potential - before;
        if excess <= SHARE * after.kinetic || self.is_supplied() {
            return (after, 0.0);
        }
        let mut left = excess;
        for robot in &mut self.robots {
            if (robot.pace.fast || robot.is_fast(h)) && 0.0 < left {
                // A robot that cannot be braked is as it was.
                left -= robot.brake(left).unwrap_or(0.0);
                robot.show(&mut self.bodies);
            }
        }
        (self.probe(), excess - left)
    }
}

impl Robot {
    /// Whether a joint turns so fast that a step of h seconds may not follow.
    pub(super) fn is_fast(&self, h: f64) -> bool {
        let joints = self.joints.iter().filter(|joint| joint.dofs < 6);
        let mut speeds = joints.flat_map(|joint| &self.v[joint.at.v..joint.at.v + joint.dofs]);
        speeds.any(|speed| FAST < h * speed.abs())
    }

    /// Takes so much energy from its joints, or all they have, and says how much it was.
    fn brake(&mut self, excess: f64) -> Result<f64, TreeError> {
        let n = self.tree.n_dofs();
        let links = self.tree.links().iter().enumerate();
        let floats = links.filter(|(_, link)| link.joint == TreeJoint::Floating);
        let roots = floats.filter_map(|(i, _)| self.tree.offsets(LinkId(i as u32)));
        let roots: Vec<usize> = roots.flat_map(|at| at.v..at.v + 6).collect();
        let mut joints = self.v.clone();
        roots.iter().for_each(|r| joints[*r] = 0.0);
        let mut mass = vec![0.0; n * n];
        self.tree
            .mass_matrix(&mut self.data.clone(), &self.q, &mut mass)?;
        let row = |i: usize| &mass[i * n..(i + 1) * n];
        // x = M_rr⁻¹M_rj v_j
        let mut factor = Vec::with_capacity(roots.len() * roots.len());
        for r in &roots {
            factor.extend(roots.iter().map(|c| row(*r)[*c]));
        }
        let pushed: Vec<f64> = roots.iter().map(|r| dot(row(*r), &joints)).collect();
        let mut x = pushed.clone();
        if cholesky(&mut factor, roots.len()).is_err() {
            return Ok(0.0);
        }
        cholesky_solve(&factor, roots.len(), &mut x);
        let own: f64 = (0..n).map(|i| joints[i] * dot(row(i), &joints)).sum();
        let energy = 0.5 * (own - dot(&pushed, &x));
        if !(0.0 < energy) {
            return Ok(0.0);
        }
        let taken = excess.min(energy);
        let s = (1.0 - taken / energy).max(0.0).sqrt();
        for (v, joint) in self.v.iter_mut().zip(&joints) {
            *v -= (1.0 - s) * joint;
        }
        for (r, x) in roots.iter().zip(&x) {
            self.v[*r] += (1.0 - s) * x;
        }
        // What the joints do not have is taken from all its motion.
        let product: f64 = (0..n).map(|i| self.v[i] * dot(row(i), &self.v)).sum();
        let rest = (excess - taken).min(0.5 * product);
        if 0.0 < rest {
            let s = (1.0 - rest / (0.5 * product)).max(0.0).sqrt();
            self.v.iter_mut().for_each(|v| *v *= s);
        }
        self.tree.velocities(&self.q, &self.v, &mut self.data)?;
        Ok(taken + rest.max(0.0))
    }
}

/// The first of three axes that can line up without mass between them, with its stiffness at the lock.
fn locks(tree: &Tree, joints: &[RobotJoint]) -> Vec<(LinkId, f64)> {
    let links = tree.links();
    let bare = |link: &Link| link.body.mass == 0.0 && link.armature == 0.0;
    let mut found: Vec<LinkId> = Vec::new();
    for last in links {
        let Some(second) = last.parent else { continue };
        let middle = &links[second.index()];
        let Some(first) = middle.parent else { continue };
        let start = &links[first.index()];
        let (Some(a), Some(b), Some(c)) = (axis(start), axis(middle), axis(last)) else {
            continue;
        };
        let joint = joints.iter().find(|joint| joint.link == second);
        let limits = joint.and_then(|joint| joint.control.drive.limits);
        let [lo, hi] = limits.unwrap_or([-std::f64::consts::PI, std::f64::consts::PI]);
        let lines_up = |k: i32| {
            let angle = lo + (hi - lo) * f64::from(k) / f64::from(PLACES);
            let turned = DQuat::from_axis_angle(b, angle) * (last.place.rotation * c);
            a.cross(middle.place.rotation * turned).length() < LOCKED
        };
        if bare(start) && bare(middle) && !found.contains(&first) && (0..=PLACES).any(lines_up) {
            found.push(first);
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let n = tree.n_dofs();
    let mut mass = vec![0.0; n * n];
    let made = tree.mass_matrix(&mut tree.data(), &tree.neutral(), &mut mass);
    let stiffness = |link: LinkId| {
        let dof = tree.offsets(link)?.v;
        Some((link, mass[dof * (n + 1)] / (LOCK_TIME * LOCK_TIME)))
    };
    match made {
        Ok(()) => found.into_iter().filter_map(stiffness).collect(),
        Err(_) => Vec::new(),
    }
}

/// The axis of a joint that turns about one.
fn axis(link: &Link) -> Option<DVec3> {
    match link.joint {
        TreeJoint::Revolute { axis } | TreeJoint::Continuous { axis } => Some(axis.normalize()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::solver::from_spec;

    #[test]
    fn the_energy_of_the_beginning_is_found_again_at_the_end_of_a_step() {
        let mut scene = crate::scenes::build("humanoid").unwrap();
        let (world, h) = (&mut scene.world, scene.run.dt);
        let mut solver = from_spec("newton", crate::Stop::default(), 0).unwrap();
        for _ in 0..30 {
            let before = world.energy();
            world.step(h, solver.as_mut()).unwrap();
            let after = world.state_hash();
            assert_eq!(world.energy_of_the_beginning(), before);
            assert_eq!(world.state_hash(), after);
        }
    }
}
