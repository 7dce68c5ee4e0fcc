//! What can be wrong with a problem or a tree before anything is solved. Outcomes of a solve are not errors:
//! see [`Status`](crate::Status).

use crate::index::{BlockId, LinkId, MassId};

/// Why a [`Problem`](crate::Problem) cannot be built. Each message names the place, the value and the remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A number that must be finite is not.
    #[error("{place} is {value}; every number of a problem must be finite")]
    NotFinite {
        /// Where the number stands.
        place: String,
        /// The number.
        value: f64,
    },
    /// A mass that is not positive.
    #[error(
        "mass is {mass}; it must be positive and finite (leave fixed bodies out: ground has no mass block)"
    )]
    BadMass {
        /// The mass given \[kg\].
        mass: f64,
    },
    /// An inertia or dense mass matrix that is not symmetric.
    #[error(
        "{what} is not symmetric: entries ({row},{column}) and ({column},{row}) are {upper} and {lower}; symmetrise it first"
    )]
    NotSymmetric {
        /// Which matrix.
        what: &'static str,
        /// Row of the worst pair.
        row: usize,
        /// Column of the worst pair.
        column: usize,
        /// Entry above the diagonal.
        upper: f64,
        /// Entry below the diagonal.
        lower: f64,
    },
    /// An inertia and an inverse that do not belong together.
    #[error(
        "the inertia times the inverse given with it is off from 1 by {off:.1e} of |I||I⁻¹|; leave the inverse out, or give that of this inertia"
    )]
    NotInverse {
        /// How far off.
        off: f64,
    },
    /// A matrix that has no Cholesky factor.
    #[error(
        "{what} is not positive definite (pivot {index} is {pivot:.3e}); check masses, inertias and units"
    )]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// Which pivot failed.
        index: usize,
        /// Its value.
        pivot: f64,
    },
    /// An array of the wrong length.
    #[error("{place} has {found} numbers where {expected} are needed")]
    WrongLength {
        /// Where the array stands.
        place: String,
        /// Numbers needed.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// A block whose Jacobian names a mass block that does not exist.
    #[error("{block} acts on {mass} but there are only {masses} mass blocks; add the mass first")]
    UnknownMass {
        /// The constraint block.
        block: BlockId,
        /// The mass it names.
        mass: MassId,
        /// How many there are.
        masses: usize,
    },
    /// A block that names one place of a mass block twice.
    #[error(
        "{block} names {mass} twice at the same place; add the two Jacobian blocks and give their sum"
    )]
    RepeatedMass {
        /// The constraint block.
        block: BlockId,
        /// The mass named twice.
        mass: MassId,
    },
    /// Rows at a place that a mass block of this kind does not have.
    #[error("{block} acts on {place} of {mass}, which only {needs} has; give plain rows there")]
    WrongPlace {
        /// The constraint block.
        block: BlockId,
        /// The mass.
        mass: MassId,
        /// The place.
        place: &'static str,
        /// What has such places.
        needs: &'static str,
    },
    /// Rows on a link that the tree does not have.
    #[error("{block} acts on {link} of {mass}, which has {links} links, counted from 0")]
    UnknownLink {
        /// The constraint block.
        block: BlockId,
        /// The tree.
        mass: MassId,
        /// The link it names.
        link: LinkId,
        /// How many there are.
        links: usize,
    },
    /// Rows on a coordinate that the mass block does not have.
    #[error("{block} acts on coordinate {dof} of {mass}, which has {dofs}, counted from 0")]
    UnknownCoordinate {
        /// The constraint block.
        block: BlockId,
        /// The mass.
        mass: MassId,
        /// The coordinate it names.
        dof: usize,
        /// How many there are.
        dofs: usize,
    },
    /// A block at a point whose bodies do not go together.
    #[error(
        "{block} acts at points of {first} and {second} that are not one: give one first body, one second body and the same directions for both"
    )]
    TwoPoints {
        /// The constraint block.
        block: BlockId,
        /// One body.
        first: MassId,
        /// The other body.
        second: MassId,
    },
    /// A law laid over a number of rows it is not defined for.
    #[error("{block} has {rows} rows but its law ({law}) needs {needs}")]
    RowsOfLaw {
        /// The constraint block.
        block: BlockId,
        /// Its rows.
        rows: usize,
        /// The law's name.
        law: &'static str,
        /// What the law needs.
        needs: &'static str,
    },
    /// A parameter of a law out of its range.
    #[error("{parameter} of {block} is {value}; it must be {needs}")]
    BadLaw {
        /// The constraint block.
        block: BlockId,
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The legal range.
        needs: &'static str,
    },
    /// Negative compliance.
    #[error("compliance of row {row} of {block} is {value}; it must not be negative")]
    NegativeCompliance {
        /// The constraint block.
        block: BlockId,
        /// Row inside the block.
        row: usize,
        /// The value given \[1/kg\].
        value: f64,
    },
    /// A matrix entry outside the matrix.
    #[error("entry ({row},{column}) lies outside a {size} by {size} Delassus matrix")]
    EntryOutOfRange {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// Rows and columns of the matrix.
        size: usize,
    },
    /// A kinematic tree that has no mass in this configuration.
    #[error("{place}: {error}")]
    Tree {
        /// Which tree.
        place: String,
        /// What is wrong with it.
        #[source]
        error: TreeError,
    },
    /// More blocks, rows or values than the index types hold.
    #[error("{what}: {count} is more than the {limit} this build can index; split the problem")]
    TooLarge {
        /// What is too many.
        what: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

impl BuildError {
    /// Fails on the first number that is not finite; the place is only spelt out then.
    pub(crate) fn check_finite(
        place: impl FnOnce() -> String,
        values: &[f64],
    ) -> Result<(), BuildError> {
        // A sum is finite unless a term is not (or it overflows, which the search then forgives).
        if values.iter().sum::<f64>().is_finite() {
            return Ok(());
        }
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(i) => Err(BuildError::NotFinite {
                place: format!("{}[{i}]", place()),
                value: values[i],
            }),
        }
    }

    /// Fails unless `found` equals `expected`.
    pub(crate) fn check_length(
        place: impl FnOnce() -> String,
        expected: usize,
        found: usize,
    ) -> Result<(), BuildError> {
        if expected == found {
            return Ok(());
        }
        Err(BuildError::WrongLength {
            place: place(),
            expected,
            found,
        })
    }
}

/// What is wrong with a tree, or with what it was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A link whose parent does not exist.
    #[error("{link} hangs on {parent}, but there are only {count} links")]
    MissingParent {
        /// The link.
        link: LinkName,
        /// The parent it names.
        parent: LinkId,
        /// How many links there are.
        count: usize,
    },
    /// Links that carry each other.
    #[error(
        "{link} is carried by itself through its parents; cut the loop and close it by a constraint"
    )]
    Cycle {
        /// One link of the cycle.
        link: LinkName,
    },
    /// A number of a link that cannot be.
    #[error("{what} of {link} is {value}; it must be {needs}")]
    BadValue {
        /// The link.
        link: LinkName,
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        needs: &'static str,
    },
    /// An inertia that no body has.
    #[error(
        "inertia of {link} belongs to no body: {reason}; check its units, its axes and that it is about the centre of mass"
    )]
    BadInertia {
        /// The link.
        link: LinkName,
        /// Which condition fails, with numbers.
        reason: String,
    },
    /// A joint whose axis is no direction.
    #[error("the {joint} joint of {link} has no axis: give a finite vector that is not zero")]
    BadAxis {
        /// The link.
        link: LinkName,
        /// The kind of joint.
        joint: &'static str,
    },
    /// A joint frame that is not a frame.
    #[error("the joint frame of {link} is not orthonormal and finite; normalise it")]
    BadPlace {
        /// The link.
        link: LinkName,
    },
    /// In this configuration a joint meets no inertia.
    #[error(
        "the joint of {link} meets no inertia in this configuration (pivot {pivot:.3e}); give it armature, or its bodies some extent"
    )]
    Singular {
        /// The link.
        link: LinkName,
        /// The pivot.
        pivot: f64,
    },
    /// An array of the wrong length.
    #[error("{what} has {found} numbers where {expected} are needed")]
    WrongLength {
        /// Which array.
        what: &'static str,
        /// Numbers needed.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// A number that is not finite.
    #[error("{what}[{index}] is {value}; every number must be finite")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// Where in it.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A quaternion without a direction.
    #[error("the quaternion of {link} is zero; give a unit quaternion (w, x, y, z)")]
    BadQuaternion {
        /// The link.
        link: LinkName,
    },
    /// A link that is not there.
    #[error("there is no {link}; the tree has {count} links")]
    UnknownLink {
        /// The link asked for.
        link: LinkId,
        /// How many there are.
        count: usize,
    },
}

impl TreeError {
    /// The link it is about.
    pub fn link(&self) -> Option<LinkId> {
        match self {
            TreeError::MissingParent { link, .. }
            | TreeError::Cycle { link }
            | TreeError::BadValue { link, .. }
            | TreeError::BadInertia { link, .. }
            | TreeError::BadAxis { link, .. }
            | TreeError::BadPlace { link }
            | TreeError::Singular { link, .. }
            | TreeError::BadQuaternion { link } => Some(link.id),
            _ => None,
        }
    }
}

/// A link in a message: its number and, where it has one, its name.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkName {
    /// The link.
    pub id: LinkId,
    /// Its name, or empty.
    pub name: String,
}

impl std::fmt::Display for LinkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.is_empty() {
            write!(f, "{}", self.id)
        } else {
            write!(f, "{} \"{}\"", self.id, self.name)
        }
    }
}

/// The nearest of some names, where one is near enough to be meant.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let given: Vec<char> = name.chars().take(64).collect();
    let most = 1 + given.len() / 3;
    known
        .into_iter()
        .map(|other| (edits(&given, other), other))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Letters to insert, delete or replace; the levels of one row at a time.
fn edits(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
