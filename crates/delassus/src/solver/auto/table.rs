//! The table of choices, and how a problem finds its line in it.

use crate::law::Law;
use crate::problem::mass::MassBlock;
use crate::problem::{Form, Problem};

/// Rows beyond which a dense matrix costs more than it saves.
const DENSE_ROWS: usize = 1000;
/// Contacts up to which colouring them costs more than it saves.
const FEW_CONTACTS: usize = 24;
/// Contacts up to which pivoting is so quick that sweeps which creep are not worth waiting for.
const SOME_CONTACTS: usize = 100;
/// Contacts up to which pivoting is worth a try.
const MORE_CONTACTS: usize = 400;
/// Most contacts for each body where lanes pay: those of one body follow each other whatever the colours.
const CROWD: usize = 8;
/// A tolerance below this is a tight one \[m/s\].
const TIGHT: f64 = 1e-4;

/// One line of the table: what a problem is like and who solves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the problem is like.
    pub class: &'static str,
    /// The solver that is tried first, as it would be typed.
    pub solver: &'static str,
    /// Sweeps it gets before the next one is tried; all that are allowed where `None`.
    pub sweeps: Option<usize>,
    /// Who goes on where it does not solve, one after the other.
    pub then: &'static [&'static str],
    /// Why this one.
    pub why: &'static str,
}

/// The table, as the chapter prints it.
pub const TABLE: [Choice; 12] = [
    EMPTY, FACETS, MATRIX, TREES, JOINTS, MECHANISM, FEW, CROWDED, SOME_LOOSE, SOME_TIGHT, MORE,
    MANY,
];

/// Who goes on with contacts: what needs no order of sweeps, then rules that cycle on different problems.
const CONTACTS_THEN: [&str; 4] = [
    "lemke",
    "jacobi,accelerate=nesterov",
    "gauss-seidel,rule=exact",
    "gauss-seidel",
];

const EMPTY: Choice = Choice {
    class: "no rows",
    solver: "gauss-seidel",
    sweeps: None,
    then: &[],
    why: "there is nothing to solve",
};
const FACETS: Choice = Choice {
    class: "faceted cones with friction",
    solver: "lemke",
    sweeps: None,
    then: &["lemke,pivot=lex,cover=scaled", "lemke-standard"],
    why: "only pivoting obeys them",
};
const MATRIX: Choice = Choice {
    class: "rows with bounds, given by their matrix, at most 1000",
    solver: "lemke",
    sweeps: None,
    then: &["gauss-seidel,rule=exact"],
    why: "pivoting needs no symmetry and ends with an answer or a proof that there is none",
};
const TREES: Choice = Choice {
    class: "equalities on kinematic trees, at most 1000 rows",
    solver: "kkt",
    sweeps: None,
    then: &["direct", "gauss-seidel"],
    why: "trees answer their rows by articulated-body passes, and one dense factor settles them",
};
const JOINTS: Choice = Choice {
    class: "other equalities alone",
    solver: "direct",
    sweeps: None,
    then: &["lemke", "gauss-seidel"],
    why: "joints alone are a linear system, solved at once whatever the masses",
};
const MECHANISM: Choice = Choice {
    class: "equalities and other laws",
    solver: "hybrid,rule=exact",
    sweeps: Some(3000),
    then: &[
        "lemke",
        "jacobi,accelerate=nesterov",
        "jacobi,rule=exact,accelerate=nesterov",
        "hybrid",
        "hybrid,rule=exact",
        "gauss-seidel,rule=exact",
    ],
    why: "joints are factored, so contacts feel the whole mechanism and ratios of mass do not matter; where sweeps creep, momentum ends it",
};
const FEW: Choice = Choice {
    class: "at most 24 contacts, limits and motors",
    solver: "gauss-seidel",
    sweeps: Some(300),
    then: &CONTACTS_THEN,
    why: "nothing needs setting up, and most are done in a few sweeps; where they creep, as in stacks, pivoting ends it",
};
const CROWDED: Choice = Choice {
    class: "more contacts, more than 8 for each body or given by their matrix",
    solver: "gauss-seidel",
    sweeps: Some(3000),
    then: &CONTACTS_THEN,
    why: "contacts of one body follow each other whatever the colours",
};
const SOME_LOOSE: Choice = Choice {
    class: "25 to 100 contacts, to 1e-4 m/s or coarser",
    solver: "coloured",
    sweeps: Some(1000),
    then: &CONTACTS_THEN,
    why: "independent contacts go side by side in lanes, and even stacks need few sweeps",
};
const SOME_TIGHT: Choice = Choice {
    class: "25 to 100 contacts, to a finer tolerance",
    solver: "coloured",
    sweeps: Some(300),
    then: &CONTACTS_THEN,
    why: "loose piles are done in 200 sweeps; stacks need thousands, and pivoting is quicker",
};
const MORE: Choice = Choice {
    class: "101 to 400 contacts",
    solver: "coloured",
    sweeps: Some(2000),
    then: &["lemke", "jacobi,accelerate=nesterov"],
    why: "loose piles are done in 1000 sweeps; tall stacks are not, and pivoting still ends in time",
};
const MANY: Choice = Choice {
    class: "more than 400 contacts",
    solver: "coloured",
    sweeps: None,
    then: &["jacobi,accelerate=nesterov"],
    why: "independent contacts go side by side in lanes and on threads, and pivots would be too many",
};

/// What [`Auto`] takes for a problem, or for a part of one whose islands are all of one kind. It looks at laws, form,
/// sizes and the tolerance alone, so that the same problem always gets the same.
pub fn choose(problem: &Problem, tolerance: f64) -> Choice {
    let (mut equalities, mut others, mut contacts) = (0, 0, 0);
    for block in problem.blocks() {
        match block.law {
            Law::FrictionFacets { mu, .. } if mu != 0.0 => return FACETS,
            Law::Equality => equalities += 1,
            law => {
                others += 1;
                contacts += usize::from(law.is_contact());
            }
        }
    }
    match problem.form() {
        _ if problem.blocks().is_empty() => EMPTY,
        Form::Dual(_) if contacts == 0 && others != 0 && problem.n_rows() <= DENSE_ROWS => MATRIX,
        Form::Dual(_) if others == 0 => JOINTS,
        Form::Primal(primal) if others == 0 => {
            let tree = |mass: &MassBlock| matches!(mass, MassBlock::Tree(_));
            match primal.mass().iter().any(tree) && problem.n_rows() <= DENSE_ROWS {
                true => TREES,
                false => JOINTS,
            }
        }
        Form::Primal(_) if 0 < equalities => MECHANISM,
        _ if others <= FEW_CONTACTS => FEW,
        Form::Primal(primal) if CROWD * primal.mass().len() < others => CROWDED,
        Form::Dual(_) => CROWDED,
        Form::Primal(_) if MORE_CONTACTS < others => MANY,
        Form::Primal(_) if SOME_CONTACTS < others => MORE,
        Form::Primal(_) if tolerance < TIGHT => SOME_TIGHT,
        Form::Primal(_) => SOME_LOOSE,
    }
}
