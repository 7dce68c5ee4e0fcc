//! The table: classes of problems, and what is tried on each, in which order.

use self::Allowance::{Anew, Once, Onward, Probe};
use crate::law::Law;
use crate::problem::mass::MassBlock;
use crate::problem::{Form, Primal, Problem};

/// Rows beyond which a dense matrix costs more than it saves.
const DENSE_ROWS: usize = 1000;
/// Rows on dense masses beyond which a factor of them all is felt.
const MANY_ROWS: usize = 200;
/// Contacts up to which colouring them costs more than it saves.
const FEW_CONTACTS: usize = 24;
/// Contacts up to which a fixed number of sweeps is done one by one.
const SWEPT_CONTACTS: usize = 400;
/// Contacts beyond which factors of a loose pile cost as much as thousands of sweeps.
const LOOSE_CONTACTS: usize = 500;
/// Contacts beyond which the factors of a pile fill in so much that sweeps win.
const MANY_CONTACTS: usize = 4000;
/// Contacts for each body beyond which bodies rest on faces: spheres in a pile have about three, boxes four and more.
const FACE: f64 = 3.5;
/// What one attempt may use, and the impulses it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// So many sweeps, and fewer where their rate says that these will not do, or where no more are left; from the best
    /// impulses so far.
    Probe(usize),
    /// Half of the sweeps that are left, from the best impulses so far.
    Onward,
    /// Half of the sweeps that are left, from the impulses the solve was given: earlier attempts may have led astray.
    Anew,
    /// Pivots or factors, from the impulses the solve was given.
    Once,
}

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// The solver, as it would be typed.
    pub solver: &'static str,
    /// What it may use.
    pub allowance: Allowance,
}

const fn by(solver: &'static str, allowance: Allowance) -> Rung {
    Rung { solver, allowance }
}

/// A class of problems and its ladder: attempts one after the other until one solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the problem is like.
    pub class: &'static str,
    /// The attempt made first.
    pub first: Rung,
    /// Those made where it does not solve.
    pub then: &'static [Rung],
    /// The solvers tried when all of these have failed.
    pub last: &'static [Rung],
    /// Why this order.
    pub why: &'static str,
}

/// The table, as the chapter prints it.
pub const TABLE: [Choice; 16] = [
    EMPTY, MIXED, FACETS, MATRIX, SWEEPS, TREES, SURPLUS, JOINTS, MECHANISM, ROBOTS, FACES, FEW,
    MATRICES, CONTACTS, LOOSE, MANY,
];

/// Contacts that Newton's method does not settle: pivoting, whose answer for facets is near that for cones, and rules
/// that cycle on different problems.
const CONTACTS_THEN: [Rung; 5] = [
    by("newton", Onward),
    by("lemke,budget=50", Once),
    by("jacobi,accelerate=nesterov", Onward),
    by("gauss-seidel,rule=exact", Onward),
    by("gauss-seidel", Onward),
];

/// The same where Newton's method was tried first.
const FACES_THEN: [Rung; 5] = [
    by("gauss-seidel,rule=exact", Probe(3000)),
    by("lemke,budget=50", Once),
    by("jacobi,accelerate=nesterov", Onward),
    by("gauss-seidel,rule=exact", Onward),
    by("gauss-seidel", Onward),
];

/// What remains is patience. Momentum from the very start may end elsewhere than where other attempts had led; a
/// shorter step helps where both rules cycle, a longer one where rows are badly conditioned.
pub const PATIENCE: [Rung; 8] = [
    by("jacobi,accelerate=nesterov", Anew),
    by("jacobi,rule=exact,accelerate=nesterov", Anew),
    by("gauss-seidel,rule=exact", Anew),
    by("gauss-seidel", Anew),
    by("gauss-seidel,relax=0.5", Anew),
    by("gauss-seidel,rule=exact,relax=0.5", Anew),
    by("gauss-seidel,relax=1.9", Anew),
    by("jacobi,accelerate=nesterov", Onward),
];

pub(super) const EMPTY: Choice = Choice {
    class: "no rows",
    first: by("gauss-seidel", Once),
    then: &[],
    last: &[],
    why: "there is nothing to solve",
};
const MIXED: Choice = Choice {
    class: "faceted cones together with round or rolling ones",
    first: by("newton", Once),
    then: &[
        by("gauss-seidel,rule=exact", Onward),
        by("gauss-seidel", Onward),
    ],
    last: &PATIENCE,
    why: "pivoting has no round cones, and Newton's method takes every law as it is",
};
const FACETS: Choice = Choice {
    class: "faceted cones with friction",
    first: by("lemke,budget=500", Once),
    then: &[
        by("newton", Once),
        by("lemke,pivot=lex,cover=scaled", Once),
        by("lemke-standard,budget=500", Once),
    ],
    last: &[],
    why: "pivoting takes them as they are, few in no time; Newton's method where there are too many",
};
const MATRIX: Choice = Choice {
    class: "rows with bounds, given by their matrix, at most 1000",
    first: by("lemke", Once),
    then: &[
        by("lemke,pivot=lex,cover=scaled", Once),
        by("lemke-standard", Once),
        by("newton", Once),
        by("gauss-seidel,rule=exact", Onward),
    ],
    last: &[],
    why: "pivoting needs no symmetry and ends with an answer or a proof that there is none",
};
const SWEEPS: Choice = Choice {
    class: "a number of sweeps without a tolerance, at most 400 contacts",
    first: by("gauss-seidel,rule=exact", Onward),
    then: &[],
    last: &[],
    why: "sweeps were asked for",
};
const TREES: Choice = Choice {
    class: "equalities on kinematic trees, at most 1000 rows",
    first: by("kkt", Once),
    then: &[
        by("direct", Once),
        by("lemke-standard,budget=50", Once),
        by("gauss-seidel", Onward),
    ],
    last: &PATIENCE,
    why: "trees answer their rows by articulated-body passes, and one dense factor settles them",
};
const SURPLUS: Choice = Choice {
    class: "more than 200 equalities on fewer velocities of dense masses",
    first: by("newton", Once),
    then: &[
        by("gauss-seidel", Probe(3000)),
        by("direct", Once),
        by("lemke", Once),
        by("gauss-seidel", Onward),
    ],
    last: &PATIENCE,
    why: "rows that depend on each other: a factor as large as the velocities is enough",
};
pub(super) const JOINTS: Choice = Choice {
    class: "other equalities alone",
    first: by("direct", Once),
    then: &[
        by("newton", Once),
        by("lemke", Once),
        by("gauss-seidel", Onward),
    ],
    last: &PATIENCE,
    why: "joints alone are a linear system, solved at once whatever the masses",
};
const MECHANISM: Choice = Choice {
    class: "equalities and other laws",
    first: by("newton", Once),
    then: &[
        by("hybrid,rule=exact", Probe(3000)),
        by("lemke,budget=50", Once),
        by("jacobi,accelerate=nesterov", Onward),
        by("jacobi,rule=exact,accelerate=nesterov", Onward),
        by("hybrid", Onward),
        by("gauss-seidel,rule=exact", Onward),
    ],
    last: &PATIENCE,
    why: "joints and contacts in one factor: ratios of mass do not matter, and the last step's impulses are a start",
};
const ROBOTS: Choice = Choice {
    class: "contacts, limits and motors of kinematic trees",
    first: by("newton", Once),
    then: &[
        by("gauss-seidel,rule=exact", Probe(3000)),
        by("lemke,budget=50", Once),
        by("jacobi,accelerate=nesterov", Onward),
        by("gauss-seidel", Onward),
    ],
    last: &PATIENCE,
    why: "every row moves the whole tree, so sweeps are dear and factors few",
};
const FEW: Choice = Choice {
    class: "at most 24 contacts, limits and motors",
    first: by("gauss-seidel", Probe(30)),
    then: &CONTACTS_THEN,
    last: &PATIENCE,
    why: "nothing needs setting up, and loose contacts are done in a few sweeps; where these creep, a few factors end it",
};
const FACES: Choice = Choice {
    class: "more than 3.5 contacts for each body, at most 4000",
    first: by("newton", Once),
    then: &FACES_THEN,
    last: &PATIENCE,
    why: "bodies rest on faces: contacts of one body depend on each other, sweeps creep, and a factor takes them together",
};
const MATRICES: Choice = Choice {
    class: "more contacts, given by their matrix",
    first: by("gauss-seidel", Probe(60)),
    then: &CONTACTS_THEN,
    last: &PATIENCE,
    why: "a dense factor is dear, and loose contacts are done in a few sweeps",
};
const CONTACTS: Choice = Choice {
    class: "25 to 500 contacts",
    first: by("coloured", Probe(200)),
    then: &CONTACTS_THEN,
    last: &PATIENCE,
    why: "independent contacts go side by side in lanes; loose piles are done by then, stacks and walls need few factors",
};
const LOOSE: Choice = Choice {
    class: "501 to 4000 contacts",
    first: by("coloured", Probe(3000)),
    then: &CONTACTS_THEN,
    last: &PATIENCE,
    why: "the same, but here the factors of a pile cost as much as thousands of sweeps",
};
const MANY: Choice = Choice {
    class: "more than 4000 contacts, or more than 400 without a tolerance",
    first: by("coloured", Probe(10_000)),
    then: &[
        by("jacobi,accelerate=nesterov", Onward),
        by("newton", Onward),
    ],
    last: &PATIENCE,
    why: "independent contacts go side by side in lanes and on threads, and factors of large piles fill in",
};

/// The line of the table for a problem, or for a part of one whose islands are all of one kind. It looks at laws, form
/// and sizes, and whether there is a tolerance, so that the same problem always gets the same.
pub fn choose(problem: &Problem, tolerance: f64) -> Choice {
    let (mut equalities, mut others, mut contacts) = (0, 0, 0);
    let (mut faceted, mut round) = (false, false);
    for block in problem.blocks() {
        match block.law {
            Law::FrictionFacets { mu, .. } if mu != 0.0 => faceted = true,
            Law::Equality => equalities += 1,
            law => {
                others += 1;
                contacts += usize::from(law.is_contact());
                round |= is_round(&law);
            }
        }
    }
    if faceted {
        return if round { MIXED } else { FACETS };
    }
    let is_tree = || match problem.form() {
        Form::Primal(primal) => {
            let tree = |mass: &MassBlock| matches!(mass, MassBlock::Tree(_));
            primal.mass().iter().any(tree)
        }
        Form::Dual(_) => false,
    };
    match problem.form() {
        _ if problem.blocks().is_empty() => EMPTY,
        Form::Dual(_) if contacts == 0 && others != 0 && problem.n_rows() <= DENSE_ROWS => MATRIX,
        _ if tolerance <= 0.0 && others <= SWEPT_CONTACTS => SWEEPS,
        Form::Primal(_) if tolerance <= 0.0 => MANY,
        Form::Dual(_) if others == 0 => JOINTS,
        Form::Primal(_) if others == 0 && is_tree() && problem.n_rows() <= DENSE_ROWS => TREES,
        Form::Primal(primal) if others == 0 && is_surplus(problem, primal) => SURPLUS,
        Form::Primal(_) if others == 0 => JOINTS,
        Form::Primal(_) if 0 < equalities => MECHANISM,
        Form::Primal(_) if is_tree() => ROBOTS,
        Form::Primal(_) if MANY_CONTACTS < others => MANY,
        Form::Primal(primal) if FACE * (primal.mass().len() as f64) < others as f64 => FACES,
        _ if others <= FEW_CONTACTS => FEW,
        Form::Dual(_) => MATRICES,
        Form::Primal(_) if others <= LOOSE_CONTACTS => CONTACTS,
        Form::Primal(_) => LOOSE,
    }
}

/// Whether a factor of all rows is large, and most of it zero but for rounding: every row moves the whole mass.
fn is_surplus(problem: &Problem, primal: &Primal) -> bool {
    let dense = |mass: &MassBlock| matches!(mass, MassBlock::Dense(_));
    let (rows, velocities) = (problem.n_rows(), problem.n_velocities());
    MANY_ROWS < rows && velocities < rows && primal.mass().iter().any(dense)
}

/// Whether friction is bounded by a round or elliptic cone, or rolling and spinning resist too.
fn is_round(law: &Law) -> bool {
    match law {
        Law::FrictionCone { mu } => *mu != 0.0,
        Law::EllipticCone { mu } => *mu != [0.0; 2],
        law => law.has_spin_rows(),
    }
}
