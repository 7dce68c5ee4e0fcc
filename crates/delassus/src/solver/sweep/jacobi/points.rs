//! What impulses do where every block acts at a point of rigid bodies, contacts and ball joints alike: fifteen numbers
//! say what thirty-six of G did, and a sweep that waits for memory takes that much less.

use glam::DVec3;

use super::super::point::Point;
use super::effect::Effect;
use crate::index::MassId;
use crate::problem::jacobian::Incidence;
use crate::problem::mass::{MassBlock, Rigid};
use crate::problem::{Block, Primal};

/// Marks ground.
const GROUND: u32 = u32::MAX;

/// One block: its directions, and for both bodies the first column and the arm.
#[derive(Clone, Copy, Debug)]
struct At {
    frame: [DVec3; 3],
    columns: [u32; 2],
    arms: [DVec3; 2],
}

impl At {
    fn new(primal: &Primal, block: &Block, k: usize) -> Option<At> {
        let point = (block.n_rows == 3).then(|| Point::of(primal, k))??;
        let column = |mass: Option<usize>| match mass {
            Some(mass) => u32::try_from(primal.columns(mass).start).ok(),
            None => Some(GROUND),
        };
        Some(At {
            frame: point.frame.map(DVec3::from),
            columns: [column(point.masses[0])?, column(point.masses[1])?],
            arms: point.arms.map(DVec3::from),
        })
    }

    /// The impulse in world axes.
    #[inline]
    fn force(&self, lambda: &[f64]) -> DVec3 {
        self.frame[0] * lambda[0] + self.frame[1] * lambda[1] + self.frame[2] * lambda[2]
    }
}

/// All blocks and, body by body, which act on it, from which side.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    at: Vec<At>,
    starts: Vec<u32>,
    pulls: Vec<(u32, bool)>,
}

impl Places {
    /// Finds the points of all blocks; false where one has none or a mass is no rigid body.
    pub(super) fn find(&mut self, primal: &Primal, blocks: &[Block], lists: &Incidence) -> bool {
        let rigid = |mass: &MassBlock| matches!(mass, MassBlock::Rigid(_));
        if !primal.mass().iter().all(rigid) {
            return false;
        }
        self.at.clear();
        for (k, block) in blocks.iter().enumerate() {
            let Some(at) = At::new(primal, block, k) else {
                return false;
            };
            self.at.push(at);
        }
        self.starts.clear();
        self.pulls.clear();
        self.starts.push(0);
        for b in 0..primal.mass().len() {
            for &(k, entry) in lists.of(MassId(b as u32)) {
                let first = primal.jacobian().entry_range(k.index()).start;
                self.pulls.push((k.0, entry != first));
            }
            self.starts.push(self.pulls.len() as u32);
        }
        true
    }
}

/// v_b = v¹_b + M_b⁻¹ Σ_{k∋b} (±f_k, ±r_k × f_k).   [Chain, (34)]
pub(super) struct Points<'a> {
    pub(super) primal: &'a Primal,
    pub(super) blocks: &'a [Block],
    pub(super) places: &'a Places,
}

impl Points<'_> {
    #[inline]
    fn rigid(&self, part: usize) -> Option<&Rigid> {
        match &self.primal.mass()[part] {
            MassBlock::Rigid(body) => Some(body),
            _ => None,
        }
    }
}

/// Velocity of a point of a body; ground does not move.
#[inline]
fn velocity(state: &[f64], column: u32, arm: DVec3) -> DVec3 {
    if column == GROUND {
        return DVec3::ZERO;
    }
    let v = &state[column as usize..column as usize + 6];
    DVec3::from_slice(&v[..3]) + DVec3::from_slice(&v[3..]).cross(arm)
}

impl Effect for Points<'_> {
    type Layout = Primal;

    fn layout(&self) -> &Primal {
        self.primal
    }

    #[inline]
    fn row_velocity(&self, k: usize, state: &[f64], lambda: &[f64], w: &mut [f64]) {
        let (at, rows) = (&self.places.at[k], self.blocks[k].rows());
        let [first, second] = [0, 1].map(|i| velocity(state, at.columns[i], at.arms[i]));
        let u = first - second;
        let sigma = &self.primal.sigma()[rows.clone()];
        let (q, lambda) = (&self.primal.q()[rows.clone()], &lambda[rows]);
        for i in 0..3 {
            w[i] = at.frame[i].dot(u) + (sigma[i] * lambda[i] - q[i]);
        }
    }

    #[inline]
    fn gather(&self, part: usize, lambda: &[f64], out: &mut [f64]) {
        let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
        let places = &self.places;
        let range = places.starts[part] as usize..places.starts[part + 1] as usize;
        for &(k, second) in &places.pulls[range] {
            let (at, start) = (&places.at[k as usize], self.blocks[k as usize].start);
            let pull = at.force(&lambda[start..start + 3]);
            let pull = if second { -pull } else { pull };
            force += pull;
            torque += at.arms[usize::from(second)].cross(pull);
        }
        let Some(body) = self.rigid(part) else {
            return;
        };
        let free = &self.primal.free_velocity()[self.primal.columns(part)];
        let v = DVec3::from_slice(&free[..3]) + force * body.inverse_mass();
        let spin = DVec3::from_slice(&free[3..]) + body.inverse_inertia() * torque;
        out[..3].copy_from_slice(&v.to_array());
        out[3..].copy_from_slice(&spin.to_array());
    }

    /// ½ δvᵀM δv; the share of Σ belongs to the rows.
    #[inline]
    fn energy(
        &self,
        part: usize,
        change: &[f64],
        _impulses: (&[f64], &[f64]),
        _product: &mut [f64],
    ) -> f64 {
        let Some(body) = self.rigid(part) else {
            return 0.0;
        };
        let (v, spin) = (
            DVec3::from_slice(&change[..3]),
            DVec3::from_slice(&change[3..]),
        );
        0.5 * (body.mass() * v.length_squared() + spin.dot(body.inertia() * spin))
    }
}
