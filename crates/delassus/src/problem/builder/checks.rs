//! What the builder refuses: everything that solvers may then trust.

use super::super::mass::MassBlock;
use super::super::place::{At, Place};
use super::{ProblemBuilder, next_id};
use crate::error::BuildError;
use crate::index::{BlockId, LinkId, MassId};

impl ProblemBuilder {
    /// Known masses, each named once for each place, places that they have, and rows of the right size and finite.
    pub(super) fn check_places(
        &self,
        id: BlockId,
        on: &[At<'_>],
        n_rows: usize,
    ) -> Result<(), BuildError> {
        if usize::from(u16::MAX) < on.len() {
            return Err(BuildError::TooLarge {
                what: "places of one block",
                count: on.len(),
                limit: usize::from(u16::MAX),
            });
        }
        let mut numbers = self.values.len();
        for (i, at) in on.iter().enumerate() {
            let masses = self.mass.len();
            let Some(mass) = self.mass.get(at.mass.index()) else {
                return Err(BuildError::UnknownMass {
                    block: id,
                    mass: at.mass,
                    masses,
                });
            };
            if on[..i].iter().any(|other| clash(other, at)) {
                return Err(BuildError::RepeatedMass {
                    block: id,
                    mass: at.mass,
                });
            }
            check_place(id, at, mass)?;
            check_directions(id, &on[..i], at)?;
            let place = || format!("G of {id} on {}", at.mass);
            BuildError::check_length(place, n_rows * at.place.width(mass.dim()), at.rows.len())?;
            BuildError::check_finite(place, at.rows)?;
            numbers += n_rows * mass.dim().max(6);
        }
        // Numbers and entries are counted in 32 bits.
        next_id(numbers, "numbers of G").map(|_| ())
    }
}

/// Whether two rows of a block cannot both be kept: on one mass only links and coordinates add up, each once.
fn clash(a: &At<'_>, b: &At<'_>) -> bool {
    let adds = |place| matches!(place, Place::Link { .. } | Place::Coordinate { .. });
    a.mass == b.mass && !(adds(a.place) && adds(b.place) && a.place != b.place)
}

/// Whether the mass has such a place.
fn check_place(id: BlockId, at: &At<'_>, mass: &MassBlock) -> Result<(), BuildError> {
    let wrong = |place, needs| BuildError::WrongPlace {
        block: id,
        mass: at.mass,
        place,
        needs,
    };
    match (at.place, mass) {
        (Place::Point { arm, .. }, MassBlock::Rigid(_)) => {
            let place = || format!("arm of {id} on {}", at.mass);
            BuildError::check_finite(place, &arm.to_array())
        }
        (Place::Point { .. }, _) => Err(wrong("a point", "a free body")),
        (Place::Link { link }, MassBlock::Tree(tree)) => {
            let links = tree.tree().links().len();
            known_link(id, at.mass, link, links)
        }
        (Place::Link { .. }, _) => Err(wrong("a link", "a tree")),
        (Place::Coordinate { dof }, mass) if mass.dim() <= dof => {
            Err(BuildError::UnknownCoordinate {
                block: id,
                mass: at.mass,
                dof,
                dofs: mass.dim(),
            })
        }
        (Place::Coordinate { .. } | Place::Plain, _) => Ok(()),
    }
}

fn known_link(block: BlockId, mass: MassId, link: LinkId, links: usize) -> Result<(), BuildError> {
    if link.index() < links {
        return Ok(());
    }
    Err(BuildError::UnknownLink {
        block,
        mass,
        link,
        links,
    })
}

/// A point has one first body and one second body, and the same directions for both.
fn check_directions(id: BlockId, before: &[At<'_>], at: &At<'_>) -> Result<(), BuildError> {
    let Place::Point { side, .. } = at.place else {
        return Ok(());
    };
    for other in before {
        let Place::Point { side: taken, .. } = other.place else {
            continue;
        };
        if taken == side || other.rows != at.rows {
            return Err(BuildError::TwoPoints {
                block: id,
                first: other.mass,
                second: at.mass,
            });
        }
    }
    Ok(())
}

pub(super) fn check_compliance(block: BlockId, sigma: &[f64]) -> Result<(), BuildError> {
    BuildError::check_finite(|| format!("sigma of {block}"), sigma)?;
    match sigma.iter().position(|&s| s < 0.0) {
        None => Ok(()),
        Some(row) => Err(BuildError::NegativeCompliance {
            block,
            row,
            value: sigma[row],
        }),
    }
}
