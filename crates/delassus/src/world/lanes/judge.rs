//! The residual of steps in lanes, as the judge of a written problem would find it.

use super::super::{JointPart, Key};
use super::Lanes;
use super::kernel::Found;
use super::layout::{Parent, Team};
use crate::index::{BlockId, JointId};
use crate::problem::floor::Hidden;
use crate::problem::residual::Residual;
use crate::solver::Stop;

impl Lanes {
    /// The worst residual over the substeps and whose it is, as the judge of a written problem would find it; `None`
    /// where a joint is not solved to the tolerance, or rounding might hide that.
    pub(super) fn judge(&self, stop: Stop) -> Option<(Residual, Option<Key>)> {
        let layout = self.layout.as_ref()?;
        let teams = || layout.teams.iter().zip(&self.rooms);
        let busy = || teams().filter(|(team, room)| !room.is_idle(team));
        let substeps = busy().next()?.1.found.len();
        let held = |team: &Team| {
            let links = layout.shapes[team.shape].iter();
            links.filter(|link| link.parent != Parent::None).count()
        };
        let mut worst: Option<(Residual, Option<Key>)> = None;
        for k in 0..substeps {
            let mut total = AllFound::default();
            for (team, room) in busy() {
                if !room.is_sound {
                    return None;
                }
                for l in room.taken(team) {
                    total.add(&room.found[k], team, l);
                    total.joints += held(team);
                }
            }
            if total.hidden.may_hide(stop.tolerance) || !(total.law() <= stop.tolerance) {
                return None;
            }
            let found = total.residual();
            if worst.is_none_or(|(worst, _)| worst.law < found.0.law) {
                worst = Some(found);
            }
        }
        worst
    }
}

/// What the judge found in all lanes.
#[derive(Default)]
struct AllFound {
    worst: f64,
    joint: Option<u32>,
    joints: usize,
    sum: f64,
    complementarity: f64,
    c: f64,
    hidden: Hidden,
}

impl AllFound {
    fn add(&mut self, found: &Found, team: &Team, l: usize) {
        if self.worst < found.worst[l] {
            self.worst = found.worst[l];
            self.joint = team.joints.get(found.at[l] as usize).map(|lanes| lanes[l]);
        }
        self.sum += found.sum[l];
        let raise = |most: &mut f64, square: f64| *most = most.max(square.sqrt());
        raise(&mut self.complementarity, found.complementarity[l]);
        raise(&mut self.c, found.c[l]);
        raise(&mut self.hidden.cancelling, found.cancelling[l]);
        raise(&mut self.hidden.free, found.free[l]);
        raise(&mut self.hidden.speed, found.speed[l]);
        self.hidden.thinness = self.hidden.thinness.max(found.thinness[l]);
    }

    fn law(&self) -> f64 {
        self.worst.sqrt()
    }

    /// The residual of all joints. Velocities follow from the impulses, so that the momentum is exact.
    fn residual(&self) -> (Residual, Option<Key>) {
        let law = self.law();
        let residual = Residual {
            law,
            law_rms: (self.sum / self.joints.max(1) as f64).sqrt(),
            relative: law / self.c.max(1e-12),
            momentum: 0.0,
            feasibility: law,
            complementarity: self.complementarity,
            worst_block: self.joint.map(BlockId),
        };
        let part = JointPart::Held;
        let key = |joint: u32| Key::Joint {
            joint: JointId(joint),
            part,
        };
        (residual, self.joint.map(key))
    }
}
