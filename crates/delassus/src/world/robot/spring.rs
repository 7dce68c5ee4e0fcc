//! Springs along joints, and links that are relieved of their weight.
//!
//! ```text
//! (M + hD + h²K) v = M v₀ + h (τ − bias − K (q − rest))
//! ```
//!
//! is the implicit step of springs K, as that of dampers D is: no row, and no bound on h.

use glam::{DQuat, DVec3};

use super::Robot;
use super::rows::RowRoom;
use crate::index::LinkId;
use crate::tree::spatial::Force;
use crate::tree::{Data, LinkPoint, Offsets, Tree, TreeError};
use crate::world::Bodies;

/// A spring along a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spring {
    pub(super) link: LinkId,
    /// First coordinate and first velocity.
    pub(super) at: Offsets,
    pub(super) dofs: usize,
    pub(super) stiffness: f64,
    pub(super) rest: f64,
    /// A force that always acts along it.
    pub(super) push: f64,
}

impl Spring {
    /// How far it is strained; a ball by the vector of its turn.
    fn strain(&self, q: &[f64]) -> [f64; 3] {
        if self.dofs == 1 {
            return [q[self.at.q] - self.rest, 0.0, 0.0];
        }
        turn(&q[self.at.q..self.at.q + 4]).to_array()
    }
}

/// The vector of the turn of a ball, at most half a turn long.
pub(super) fn turn(q: &[f64]) -> DVec3 {
    let quat = DQuat::from_xyzw(q[1], q[2], q[3], q[0]).normalize();
    let quat = if quat.w < 0.0 { -quat } else { quat };
    quat.to_scaled_axis()
}

impl Robot {
    /// The tree with M + hD + h²K as its mass.
    pub(super) fn softened(&self, h: f64) -> Result<Tree, TreeError> {
        if self.springs.is_empty() && self.pace.locks.is_empty() {
            return Ok(self.tree.damped(h));
        }
        let mut links = self.tree.links().to_vec();
        for spring in &self.springs {
            links[spring.link.index()].damping += h * spring.stiffness;
        }
        for (link, stiffness) in &self.pace.locks {
            links[link.index()].damping += h * stiffness;
        }
        Ok(Tree::new(links)?.damped(h))
    }

    /// Adds the forces of springs and of what carries the weight of links in the configuration that is reached `ahead`
    /// seconds from now, and of tendons that push.
    pub(super) fn add_passive(
        &self,
        tau: &mut [f64],
        (gravity, ahead): (DVec3, f64),
    ) -> Result<(), TreeError> {
        let mut reached = None;
        if ahead != 0.0 && !(self.springs.is_empty() && self.gravcomp.is_empty()) {
            let mut q = self.q.clone();
            self.tree.integrate(&mut q, &self.v, ahead)?;
            reached = Some(q);
        }
        let q = reached.as_deref().unwrap_or(&self.q);
        for spring in &self.springs {
            let strain = spring.strain(q);
            for k in 0..spring.dofs {
                tau[spring.at.v + k] += spring.push - spring.stiffness * strain[k];
            }
        }
        self.add_pushes(tau)?;
        if self.gravcomp.is_empty() {
            return Ok(());
        }
        let mut placed = None;
        if let Some(q) = &reached {
            let mut data = self.data.clone();
            self.tree.kinematics(q, &mut data)?;
            placed = Some(data);
        }
        let data = placed.as_ref().unwrap_or(&self.data);
        if self.relief.is_empty() {
            return self.add_relief(data, tau, gravity);
        }
        let mut relief = vec![0.0; tau.len()];
        self.add_relief(data, &mut relief, gravity)?;
        for &(link, [lo, hi]) in &self.relief {
            let (Some(at), dofs) = (
                self.tree.offsets(link),
                self.tree.links()[link.index()].joint.dofs(),
            ) else {
                continue;
            };
            for force in &mut relief[at.v..at.v + dofs] {
                *force = force.max(lo).min(hi);
            }
        }
        tau.iter_mut()
            .zip(&relief)
            .for_each(|(tau, force)| *tau += force);
        Ok(())
    }

    /// Adds what carries the weight of links where they are placed.
    fn add_relief(&self, data: &Data, tau: &mut [f64], gravity: DVec3) -> Result<(), TreeError> {
        for &(link, share) in &self.gravcomp {
            let body = &self.tree.links()[link.index()].body;
            let centre = self.tree.pose(data, link)?.point(body.com);
            let force = Force {
                torque: DVec3::ZERO,
                force: -share * body.mass * gravity,
            };
            self.tree
                .add_wrench(data, LinkPoint::new(link, centre), force, tau)?;
        }
        Ok(())
    }

    /// Energy of springs and tendons, less what relieved links do not weigh \[J\].
    pub(super) fn stored(&self, bodies: &Bodies, gravity: DVec3) -> f64 {
        let mut energy = 0.0;
        for spring in &self.springs {
            let strain = DVec3::from(spring.strain(&self.q));
            energy += 0.5 * spring.stiffness * strain.length_squared() - spring.push * strain.x;
        }
        for tendon in self.tendons.iter().filter(|tendon| tendon.holds_energy()) {
            let mut room = RowRoom::take();
            if let Ok(length) = tendon.measure(self.posed(), &mut room.rows) {
                energy += tendon.energy(length);
            }
            room.give_back();
        }
        for &(link, share) in &self.gravcomp {
            let mass = self.tree.links()[link.index()].body.mass;
            if let Some(body) = self.body(link) {
                energy += share * mass * gravity.dot(bodies.position[body.index()]);
            }
        }
        energy
    }
}
