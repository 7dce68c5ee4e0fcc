//! Diagonal blocks of the mass matrix M: a free rigid body, a dense symmetric positive definite block, or a
//! kinematic tree, whose `solve` is the articulated-body algorithm.
//!
//! Ground is not a mass block: a constraint against ground simply has no Jacobian there.

mod moments;
mod moving;
mod tree_mass;
mod written;

use std::cell::RefCell;
use std::sync::Arc;

use glam::{DMat3, DVec3};

use crate::error::BuildError;
use crate::linalg::cholesky::{cholesky, cholesky_solve};
use crate::linalg::inverse_root::InverseRoot;
use crate::linalg::wide_lu::add_symmetric;
use crate::linalg::{Twofold, TwofoldMatrix};
use crate::math::mul_add;
use crate::tree::{Data, Passes, Tree, TreeError};
pub(crate) use moments::check_moments;
pub(crate) use moving::Moving;
pub(crate) use written::SHORT;
use written::Written;

thread_local! {
    /// What the passes over trees write: room of its own for every thread, so that a solve allocates nothing. It is no
    /// state: every call clears it first. Handed in, it would go through every product with M⁻¹, in loops on threads too.
    static PASSES: RefCell<Passes> = RefCell::default();
    /// The product with a given M⁻¹, for the same reason.
    static PRODUCT: RefCell<Vec<f64>> = RefCell::default();
}

/// Largest dense block that is factored; a larger one should be given in parts or as a dual problem.
pub const MAX_DENSE: usize = 8192;

/// |I||I⁻¹| from which an inertia is inverted in twice the digits.
const THIN: f64 = 1e4;
/// Largest |I I⁻¹ − 1| over |I||I⁻¹| of an inertia and the inverse given with it: rounding leaves a few ε.
const INVERSE_AGREES: f64 = 1e-9;

/// One diagonal block of M.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MassBlock {
    /// A free body: velocity (ẋ, ω), both in world axes, M = diag(m 1₃, I).
    Rigid(Rigid),
    /// A symmetric positive definite matrix of any size.
    Dense(Dense),
    /// A kinematic tree in one configuration: velocity q̇, M from its links, never formed.
    Tree(TreeMass),
}

/// A free rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct Rigid {
    mass: f64,
    inverse_mass: f64,
    inertia: DMat3,
    inverse_inertia: DMat3,
}

/// A dense block: the matrix (row-major), and what it is solved with.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    n: usize,
    matrix: Vec<f64>,
    given: Given,
}

/// Which of M and M⁻¹ was given, and the Cholesky factor of it. The other one is never gone through: with a condition
/// of 1e12 the way there and back would lose all but four digits.
#[derive(Clone, Debug, PartialEq)]
enum Given {
    /// M = L Lᵀ.
    Matrix { lower: Vec<f64> },
    /// M⁻¹ and its factor.
    Inverse { inverse: Vec<f64>, lower: Vec<f64> },
}

/// A kinematic tree in one configuration, factored.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeMass {
    tree: Arc<Tree>,
    data: Data,
    q: Vec<f64>,
    written: Option<Box<Written>>,
}

impl MassBlock {
    /// A body of 1 kg and 1 kg m².
    pub(super) const UNIT: MassBlock = MassBlock::Rigid(Rigid {
        mass: 1.0,
        inverse_mass: 1.0,
        inertia: DMat3::IDENTITY,
        inverse_inertia: DMat3::IDENTITY,
    });

    /// A tree in a configuration, with at least one dof.
    pub fn tree(tree: Arc<Tree>, q: &[f64]) -> Result<MassBlock, TreeError> {
        if tree.n_dofs() == 0 {
            return Err(TreeError::WrongLength {
                what: "velocity of a tree without a joint that moves",
                expected: 1,
                found: 0,
            });
        }
        let mut mass = TreeMass::unplaced(tree);
        mass.tree.kinematics(q, &mut mass.data)?;
        mass.placed(q)
    }

    /// A free body with mass \[kg\] and inertia about its centre of mass, in world axes \[kg m²\].
    pub fn rigid(mass: f64, inertia: DMat3) -> Result<MassBlock, BuildError> {
        if !(mass.is_finite() && 0.0 < mass && (1.0 / mass).is_finite()) {
            return Err(BuildError::BadMass { mass });
        }
        let inverse_inertia = match like_a_ball(&inertia) {
            Some(inverse) => inverse,
            None => checked_inverse(&inertia)?,
        };
        Ok(MassBlock::Rigid(Rigid {
            mass,
            inverse_mass: 1.0 / mass,
            inertia,
            inverse_inertia,
        }))
    }

    /// A free body with its inertia and the inverse of it, in world axes, where both are known: nothing is inverted.
    pub fn rigid_from_both(
        mass: f64,
        inertia: DMat3,
        inverse_inertia: DMat3,
    ) -> Result<MassBlock, BuildError> {
        if !(mass.is_finite() && 0.0 < mass && (1.0 / mass).is_finite()) {
            return Err(BuildError::BadMass { mass });
        }
        for (what, matrix) in [("inertia", &inertia), ("inverse inertia", &inverse_inertia)] {
            let entries = row_major(matrix);
            BuildError::check_finite(|| what.to_owned(), &entries)?;
            check_symmetric(what, &entries, 3)?;
            // Rounding of a thin one may reach its least eigenvalue: the diagonal must be positive all the same.
            for (index, pivot) in [entries[0], entries[4], entries[8]].into_iter().enumerate() {
                if !(0.0 < pivot) {
                    return Err(BuildError::NotPositiveDefinite { what, index, pivot });
                }
            }
        }
        let product = inertia * inverse_inertia - DMat3::IDENTITY;
        let conditioned = largest(&inertia) * largest(&inverse_inertia);
        let off = largest(&product) / conditioned;
        if !(off <= INVERSE_AGREES) {
            return Err(BuildError::NotInverse { off });
        }
        Ok(MassBlock::Rigid(Rigid {
            mass,
            inverse_mass: 1.0 / mass,
            inertia,
            inverse_inertia,
        }))
    }

    /// A dense block from the rows of M.
    pub fn dense(matrix: Vec<f64>) -> Result<MassBlock, BuildError> {
        let n = dense_size(&matrix)?;
        let lower = checked_factor("dense mass matrix", &matrix, n)?;
        let given = Given::Matrix { lower };
        Ok(MassBlock::Dense(Dense { n, matrix, given }))
    }

    /// A dense block from the rows of M⁻¹, which is what [`MassBlock::solve`] multiplies by.
    pub fn dense_from_inverse(inverse: Vec<f64>) -> Result<MassBlock, BuildError> {
        let n = dense_size(&inverse)?;
        let lower = checked_factor("dense inverse mass matrix", &inverse, n)?;
        let mut matrix = vec![0.0; n * n];
        for j in 0..n {
            let column = &mut matrix[j * n..(j + 1) * n];
            column[j] = 1.0;
            cholesky_solve(&lower, n, column);
        }
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (matrix[i * n + j] + matrix[j * n + i]);
                matrix[i * n + j] = mean;
                matrix[j * n + i] = mean;
            }
        }
        BuildError::check_finite(
            || "inverse of the dense inverse mass matrix".to_owned(),
            &matrix,
        )?;
        let given = Given::Inverse { inverse, lower };
        Ok(MassBlock::Dense(Dense { n, matrix, given }))
    }

    /// Number of velocities.
    pub fn dim(&self) -> usize {
        match self {
            MassBlock::Rigid(_) => 6,
            MassBlock::Dense(dense) => dense.n,
            MassBlock::Tree(block) => block.tree.n_dofs(),
        }
    }

    /// y = M x.
    pub fn mul(&self, x: &[f64], y: &mut [f64]) {
        match self {
            MassBlock::Rigid(body) => body.apply(body.mass, &body.inertia, x, y),
            MassBlock::Dense(dense) => match &dense.given {
                Given::Matrix { .. } => {
                    y.fill(0.0);
                    mul_add(&dense.matrix, x, y);
                }
                Given::Inverse { lower, .. } => {
                    y.copy_from_slice(x);
                    cholesky_solve(lower, dense.n, y);
                }
            },
            MassBlock::Tree(block) => match &block.written {
                Some(written) => {
                    y.fill(0.0);
                    add_symmetric(&written.matrix, x, y);
                }
                None => PASSES.with_borrow_mut(|p| block.tree.mul_shared(&block.data, p, x, y)),
            },
        }
    }

    /// T of M⁻¹ = T Tᵀ, of a tree that is short enough to have its M written out.
    #[inline(always)]
    pub(crate) fn root(&self) -> Option<&InverseRoot> {
        match self {
            MassBlock::Tree(block) => block.root(),
            MassBlock::Rigid(_) | MassBlock::Dense(_) => None,
        }
    }

    /// x ← M⁻¹ x.
    pub fn solve(&self, x: &mut [f64]) {
        match self {
            MassBlock::Rigid(body) => {
                let mut y = [0.0; 6];
                body.apply(body.inverse_mass, &body.inverse_inertia, x, &mut y);
                x.copy_from_slice(&y);
            }
            MassBlock::Dense(dense) => match &dense.given {
                Given::Matrix { lower } => cholesky_solve(lower, dense.n, x),
                Given::Inverse { inverse, .. } => PRODUCT.with_borrow_mut(|y| {
                    y.clear();
                    y.resize(dense.n, 0.0);
                    mul_add(inverse, x, y);
                    x.copy_from_slice(y);
                }),
            },
            MassBlock::Tree(block) => match &block.written {
                Some(written) => written.root.solve(x),
                None => PASSES.with_borrow_mut(|p| block.tree.solve_shared(&block.data, p, x)),
            },
        }
    }
}

impl MassBlock {
    /// x ← |M⁻¹| x for x ≥ 0, of a block that moves at v: exact where M⁻¹ is at hand, else the sizes of M⁻¹(x + |M||v|).
    pub(super) fn solve_sizes(&self, x: &mut [f64], v: &[f64]) {
        match self {
            MassBlock::Rigid(body) => {
                let mut y = [0.0; 6];
                body.apply(body.inverse_mass, &body.inverse_inertia.abs(), x, &mut y);
                x.copy_from_slice(&y);
            }
            MassBlock::Dense(dense) => {
                let given = dense.given_inverse();
                let sizes: Vec<f64> = given
                    .unwrap_or(&dense.matrix)
                    .iter()
                    .map(|a| a.abs())
                    .collect();
                if given.is_some() {
                    let terms = x.to_vec();
                    x.fill(0.0);
                    mul_add(&sizes, &terms, x);
                } else {
                    let v: Vec<f64> = v.iter().map(|v| v.abs()).collect();
                    mul_add(&sizes, &v, x);
                    self.solve(x);
                    x.iter_mut().for_each(|x| *x = x.abs());
                }
            }
            MassBlock::Tree(_) => {
                self.solve(x);
                x.iter_mut().for_each(|x| *x = x.abs());
            }
        }
    }
}

impl Rigid {
    /// An upper bound on how many times harder it is to turn about one axis than about another: tr I tr I⁻¹.
    pub(crate) fn thinness(&self) -> f64 {
        let trace = |m: &DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
        trace(&self.inertia) * trace(&self.inverse_inertia)
    }

    /// The body with δ tr(I) more to resist turning about any axis, from the I⁻¹ that answers are judged by.
    pub(crate) fn thickened(&self, share: f64) -> Option<MassBlock> {
        let inverse = TwofoldMatrix::of_rows(&row_major(&self.inverse_inertia));
        let mut inertia = inverse.inverse()?;
        let trace = inertia.0[0][0] + inertia.0[1][1] + inertia.0[2][2];
        for i in 0..3 {
            inertia.0[i][i] = inertia.0[i][i] + Twofold::from(share) * trace;
        }
        let inverse = inertia.inverse()?;
        let [inertia, inverse] = [inertia, inverse].map(|m| of_rows(&m.rounded()));
        MassBlock::rigid_from_both(self.mass, inertia, inverse).ok()
    }

    /// Mass \[kg\].
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// 1/m \[1/kg\].
    pub fn inverse_mass(&self) -> f64 {
        self.inverse_mass
    }

    /// Inertia about the centre of mass, world axes \[kg m²\].
    pub fn inertia(&self) -> DMat3 {
        self.inertia
    }

    /// Inverse of [`Rigid::inertia`].
    pub fn inverse_inertia(&self) -> DMat3 {
        self.inverse_inertia
    }

    fn apply(&self, mass: f64, inertia: &DMat3, x: &[f64], y: &mut [f64]) {
        for i in 0..3 {
            y[i] = mass * x[i];
        }
        let angular = *inertia * DVec3::from_slice(&x[3..6]);
        y[3..6].copy_from_slice(&angular.to_array());
    }
}

impl Dense {
    /// The block, row-major.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// M⁻¹, row-major, where that is what was given.
    pub fn given_inverse(&self) -> Option<&[f64]> {
        match &self.given {
            Given::Matrix { .. } => None,
            Given::Inverse { inverse, .. } => Some(inverse),
        }
    }
}

/// The number of rows of a dense block.
fn dense_size(matrix: &[f64]) -> Result<usize, BuildError> {
    // A block without velocities has no rows to lay a Jacobian on; at least one entry is needed.
    let n = matrix.len().isqrt().max(1);
    BuildError::check_length(|| "dense mass matrix".to_owned(), n * n, matrix.len())?;
    if MAX_DENSE < n {
        let what = "rows of one dense mass block";
        return Err(BuildError::TooLarge {
            what,
            count: n,
            limit: MAX_DENSE,
        });
    }
    Ok(n)
}

/// The Cholesky factor of a matrix that must be finite, symmetric and positive definite.
fn checked_factor(what: &'static str, matrix: &[f64], n: usize) -> Result<Vec<f64>, BuildError> {
    BuildError::check_finite(|| what.to_owned(), matrix)?;
    check_symmetric(what, matrix, n)?;
    let mut lower = matrix.to_vec();
    cholesky(&mut lower, n).map_err(|(index, pivot)| BuildError::NotPositiveDefinite {
        what,
        index,
        pivot,
    })?;
    Ok(lower)
}

/// The inverse of an inertia about any axis alike, rounded as the inverse of any other is; `None` where it is not, or
/// not safely positive.
fn like_a_ball(inertia: &DMat3) -> Option<DMat3> {
    let about = inertia.x_axis.x;
    if !(0.0 < about) || *inertia != DMat3::from_diagonal(DVec3::splat(about)) {
        return None;
    }
    let square = about * about;
    let inverse = square * (1.0 / (about * square));
    inverse
        .is_finite()
        .then(|| DMat3::from_diagonal(DVec3::splat(inverse)))
}

/// The inverse of a symmetric, positive definite inertia.
fn checked_inverse(inertia: &DMat3) -> Result<DMat3, BuildError> {
    let entries = row_major(inertia);
    BuildError::check_finite(|| "inertia".to_owned(), &entries)?;
    check_symmetric("inertia", &entries, 3)?;
    // A diagonal matrix with like entries needs no factor to be seen through.
    let [xx, xy, xz, _, yy, yz, _, _, zz] = entries;
    let diagonal = xy == 0.0 && xz == 0.0 && yz == 0.0;
    if !(diagonal && xx == yy && yy == zz && 0.0 < xx) {
        let mut factor = entries;
        cholesky(&mut factor, 3).map_err(|(index, pivot)| BuildError::NotPositiveDefinite {
            what: "inertia",
            index,
            pivot,
        })?;
    }
    let mut inverse = inertia.inverse();
    // Cofactors of a thin body cancel.
    if THIN < largest(inertia) * largest(&inverse) {
        let accurate = TwofoldMatrix::of_rows(&entries).inverse();
        inverse = accurate.map_or(inverse, |m| of_rows(&m.rounded()));
    }
    let place = || "inverse inertia".to_owned();
    BuildError::check_finite(place, &row_major(&inverse))?;
    Ok(inverse)
}

/// A matrix from its rows (glam stores columns).
fn of_rows(rows: &[f64; 9]) -> DMat3 {
    DMat3::from_cols_array(rows).transpose()
}

/// The largest entry by size.
fn largest(m: &DMat3) -> f64 {
    crate::math::max_abs(&m.to_cols_array())
}

/// Rows of a 3×3 matrix one after the other (glam stores columns).
pub(crate) fn row_major(m: &DMat3) -> [f64; 9] {
    m.transpose().to_cols_array()
}

/// Symmetric to 1e-9 of the largest entry: measured inertias are rounded, not skewed.
fn check_symmetric(what: &'static str, a: &[f64], n: usize) -> Result<(), BuildError> {
    let limit = 1e-9 * crate::math::max_abs(a);
    for row in 0..n {
        for column in row + 1..n {
            let (upper, lower) = (a[row * n + column], a[column * n + row]);
            if limit < (upper - lower).abs() {
                return Err(BuildError::NotSymmetric {
                    what,
                    row,
                    column,
                    upper,
                    lower,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    #[test]
    fn solve_undoes_mul_for_every_kind_of_block() {
        let mut random = Random::new(5);
        let f = DMat3::from_cols(random.vector(), random.vector(), random.vector());
        let rigid = MassBlock::rigid(2.5, f * f.transpose() + DMat3::IDENTITY).unwrap();
        let n = 5;
        let a: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
        let spd: Vec<f64> = (0..n * n)
            .map(|e| {
                (0..n)
                    .map(|k| a[e / n * n + k] * a[e % n * n + k])
                    .sum::<f64>()
            })
            .enumerate()
            .map(|(e, x)| x + f64::from(e / n == e % n))
            .collect();
        let dense = MassBlock::dense(spd.clone()).unwrap();
        let inverse = MassBlock::dense_from_inverse(spd).unwrap();
        for block in [&rigid, &dense, &inverse] {
            let x: Vec<f64> = (0..block.dim()).map(|_| random.range(-1.0, 1.0)).collect();
            let mut y = vec![0.0; block.dim()];
            block.mul(&x, &mut y);
            block.solve(&mut y);
            let error: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a - b).collect();
            assert!(max_abs(&error) < 1e-12);
        }
    }

    /// A condition of 1e12: through the inverse and back only four digits would be left.
    #[test]
    fn a_given_inverse_is_what_a_solve_multiplies_by() {
        let inverse = vec![1.0, 1.0, 1.0, 1.0 + 1e-12];
        let block = MassBlock::dense_from_inverse(inverse).unwrap();
        let mut x = [1.0, -1.0];
        block.solve(&mut x);
        assert_eq!(x, [0.0, -1e-12_f64 - (1.0 + 1e-12 - 1.0 - 1e-12)]);
    }

    #[test]
    fn balls_are_inverted_to_the_same_bits() {
        let mut random = Random::new(6);
        for _ in 0..1000 {
            let about = random.range(-40.0, 40.0).exp();
            let inertia = DMat3::from_diagonal(DVec3::splat(about));
            let bits = |m: DMat3| m.to_cols_array().map(f64::to_bits);
            let quick = like_a_ball(&inertia).map(bits);
            assert_eq!(quick, Some(bits(checked_inverse(&inertia).unwrap())));
        }
        for about in [0.0, -1.0, 1e-150, 1e200, f64::NAN, f64::INFINITY] {
            let inertia = DMat3::from_diagonal(DVec3::splat(about));
            assert_eq!(
                like_a_ball(&inertia).is_some(),
                checked_inverse(&inertia).is_ok()
            );
        }
    }

    #[test]
    fn bad_masses_are_refused_by_name() {
        let good = DMat3::IDENTITY;
        for mass in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(matches!(
                MassBlock::rigid(mass, good),
                Err(BuildError::BadMass { .. })
            ));
        }
        let empty = MassBlock::dense(vec![]).unwrap_err().to_string();
        assert!(empty.contains("0 numbers where 1"), "{empty}");
        let singular = DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0));
        let message = MassBlock::rigid(1.0, singular).unwrap_err().to_string();
        assert!(
            message.contains("inertia is not positive definite"),
            "{message}"
        );
        let skew = DMat3::from_cols(DVec3::X, DVec3::new(0.5, 1.0, 0.0), DVec3::Z);
        assert!(matches!(
            MassBlock::rigid(1.0, skew),
            Err(BuildError::NotSymmetric { .. })
        ));
    }

    #[test]
    fn rows_of_a_dense_block_may_have_units_far_apart() {
        assert!(MassBlock::dense(vec![1e-8, 0.0, 0.0, 1e8]).is_ok());
        assert!(MassBlock::dense(vec![1e-8, 1.0, 1.0, 1e8]).is_err());
    }
}
