//! What actuators measure and push besides joints and tendons: a slider-crank, and a site.

use glam::{DQuat, DVec3};

use super::{Anchor, Mount, Posed};
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{LinkPoint, TreeError, TreeRows};

/// A length with gear, and the row that carries its force to the joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transmission {
    /// How far a slider is along its axis, pushed by a rod to a point of the crank.
    Crank {
        /// The end of the rod on the crank.
        crank: Anchor,
        /// The slider moves along the third axis of this frame.
        slider: Mount,
        /// Length of the rod \[m\].
        rod: f64,
        /// Factor of the length.
        gear: f64,
    },
    /// A force and a torque in the axes of a frame, of no length.
    Thrust {
        /// Where they act.
        site: Mount,
        /// The force for each unit of push.
        force: DVec3,
        /// The torque for each unit of push.
        torque: DVec3,
    },
    /// Where a frame is, seen from another one, along given directions.
    Relative {
        /// The frame.
        site: Mount,
        /// The other one.
        reference: Mount,
        /// Factors of its position in the other frame.
        shift: DVec3,
        /// Factors of the vector of its turn against the other frame.
        turn: DVec3,
    },
}

impl Transmission {
    /// The links that it pushes.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> {
        let links = match self {
            Transmission::Crank { crank, slider, .. } => [crank.link, slider.link],
            Transmission::Thrust { site, .. } => [site.link, None],
            Transmission::Relative {
                site, reference, ..
            } => [site.link, reference.link],
        };
        links.into_iter().flatten()
    }

    /// The same where the ground has moved.
    pub(super) fn moved(self, base: &Pose) -> Transmission {
        let mut moved = self;
        match &mut moved {
            Transmission::Crank { crank, slider, .. } => {
                *crank = crank.moved(base);
                *slider = slider.moved(base);
            }
            Transmission::Thrust { site, .. } => *site = site.moved(base),
            Transmission::Relative {
                site, reference, ..
            } => {
                *site = site.moved(base);
                *reference = reference.moved(base);
            }
        }
        moved
    }

    /// Its length; adds its velocity to the row started last.
    pub(super) fn measure(&self, posed: Posed<'_>, rows: &mut TreeRows) -> Result<f64, TreeError> {
        match *self {
            Transmission::Crank {
                crank,
                slider,
                rod,
                gear,
            } => crank_length(posed, rows, (crank, slider), (rod, gear)),
            Transmission::Thrust {
                site,
                force,
                torque,
            } => {
                let pose = site.pose(posed)?;
                let u = [force, torque].map(|x| pose.rotation * x);
                add_twist(posed, rows, (site.link, pose.position), u)?;
                Ok(0.0)
            }
            Transmission::Relative {
                site,
                reference,
                shift,
                turn,
            } => relative_length(posed, rows, [site, reference], [shift, turn]),
        }
    }
}

/// Adds u·ẋ + w·ω of a point of a link.
fn add_twist(
    Posed { tree, data, .. }: Posed<'_>,
    rows: &mut TreeRows,
    (link, point): (Option<LinkId>, DVec3),
    [u, w]: [DVec3; 2],
) -> Result<(), TreeError> {
    let Some(link) = link else {
        return Ok(());
    };
    tree.add_linear(data, rows, LinkPoint::new(link, point), u)?;
    tree.add_angular(rows, link, w)
}

/// With a the axis of the slider and c the vector from it to the crank, the rod of length r reaches from the crank to
/// the axis at
///
/// ```text
/// l = a·c − √D,   D = (a·c)² + r² − c·c
/// ```
///
/// and where it is too short, D ≤ 0, the foot of the crank on the axis stands for that: l = a·c.
fn crank_length(
    posed: Posed<'_>,
    rows: &mut TreeRows,
    (crank, slider): (Anchor, Mount),
    (rod, gear): (f64, f64),
) -> Result<f64, TreeError> {
    let (end, frame) = (posed.point(crank)?, slider.pose(posed)?);
    let (axis, arm) = (frame.rotation.z_axis, end - frame.position);
    let along = axis.dot(arm);
    let square = along * along + rod * rod - arm.length_squared();
    // ∂l/∂c = (1 − a·c/√D) a + c/√D,   ∂l/∂a = (1 − a·c/√D) c
    let (length, by_arm, by_axis) = if 0.0 < square {
        let root = square.sqrt();
        let share = 1.0 - along / root;
        (along - root, share * axis + arm / root, share * arm)
    } else {
        (along, axis, arm)
    };
    // l̇ = ∂l/∂c·(ẋ_crank − ẋ_slider) + ∂l/∂a·(ω × a)
    let (by_arm, turn) = (gear * by_arm, gear * axis.cross(by_axis));
    add_twist(posed, rows, (crank.link, end), [by_arm, DVec3::ZERO])?;
    add_twist(posed, rows, (slider.link, frame.position), [-by_arm, turn])?;
    Ok(gear * length)
}

/// l = s·Rᵀ(x − x_ref) + t·log(RᵀR_site) with R the axes of the reference.
///
/// Its row is not quite the gradient, as in MuJoCo: u·(ẋ − ẋ_ref) + w·(ω − ω_ref) with u = R s and w = R t, over the
/// joints that do not move both frames together.
fn relative_length(
    posed: Posed<'_>,
    rows: &mut TreeRows,
    [site, reference]: [Mount; 2],
    [shift, turn]: [DVec3; 2],
) -> Result<f64, TreeError> {
    let Posed { tree, data, .. } = posed;
    let (pose, seen_from) = (site.pose(posed)?, reference.pose(posed)?);
    let place = seen_from.inverse().then(&pose);
    let turned = DQuat::from_mat3(&place.rotation).normalize();
    let turned = if turned.w < 0.0 { -turned } else { turned };
    let length = shift.dot(place.position) + turn.dot(turned.to_scaled_axis());
    let [u, w] = [shift, turn].map(|x| seen_from.rotation * x);
    let mut apart = TreeRows::default();
    apart.start();
    add_twist(posed, &mut apart, (site.link, pose.position), [u, w])?;
    let other = (reference.link, seen_from.position);
    add_twist(posed, &mut apart, other, [-u, -w])?;
    let row = tree.rows_matrix(data, &apart);
    let (first, second) = (posed.chain(site.link), posed.chain(reference.link));
    for link in first.iter().filter(|link| !second.contains(link)) {
        posed.add_dofs(rows, *link, &row)?;
    }
    for link in second.iter().filter(|link| !first.contains(link)) {
        posed.add_dofs(rows, *link, &row)?;
    }
    Ok(length)
}

impl Posed<'_> {
    /// A link and those that carry it.
    fn chain(&self, link: Option<LinkId>) -> Vec<LinkId> {
        let parent = |link: &LinkId| self.tree.links().get(link.index())?.parent;
        std::iter::successors(link, parent).collect()
    }

    /// Adds those numbers of a row over all velocities that belong to the joint of a link.
    fn add_dofs(&self, rows: &mut TreeRows, link: LinkId, row: &[f64]) -> Result<(), TreeError> {
        let (Some(at), Some(carrier)) =
            (self.tree.offsets(link), self.tree.links().get(link.index()))
        else {
            let count = self.tree.links().len();
            return Err(TreeError::UnknownLink { link, count });
        };
        for dof in at.v..at.v + carrier.joint.dofs() {
            if row[dof] != 0.0 {
                self.tree.add_dof(self.data, rows, dof, row[dof])?;
            }
        }
        Ok(())
    }
}
