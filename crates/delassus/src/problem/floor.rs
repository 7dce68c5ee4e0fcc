//! What rounding hides of an answer: below this a residual says nothing.
//!
//! The judge computes v = v¹ + M⁻¹Gᵀλ and w = G v + Σλ − q in doubles. Large terms that cancel leave the rounding of
//! their own size behind, however small the sum is. To first order
//!
//! ```text
//! |δv| ≤ ε|v¹| + 2ε|M⁻¹|(|Gᵀ||λ| + |p|),   |δw| ≤ |G||δv| + ε(|Σλ| + |q|)
//! ```
//!
//! where |p| counts only if v¹ was computed as M⁻¹p. In dual form it is 2ε|S||λ| + ε|c|. What that does to the residual
//! of a block is the law's to say. Of trees and of dense masses
//! |M⁻¹| is not known; there M⁻¹ of the absolute terms stands for it, and of dense masses |M||v| joins the terms.

use std::cell::RefCell;
use std::ops::Range;

use super::mass::{MassBlock, SHORT, TreeMass};
use super::residual::{Scales, lend_scale};
use super::{Form, Primal, Problem};
use crate::linalg::wide_lu::{Four, WIDTH, add_impulses, add_symmetric, fours, sum_squares};
use crate::math::{dot_unrolled, max_abs};

/// Roundings of an impulse on its way into a row velocity, as a share of it: through Gᵀ, M⁻¹ and the sums of both.
const ROUNDING: f64 = 2.0 * f64::EPSILON;
/// The same of a number that is given: through one product and one sum.
const GIVEN: f64 = f64::EPSILON;
/// Share of |M||v| that rounded inertias count for: of many hardly all are rounded the same way.
const INERTIAS: f64 = 0.1;
/// Terms of a row velocity that may add up before the cheap look counts them: as many contacts of one body.
const MANY: f64 = 1e3;

/// How many times the bound of rounding a residual may be that is put down to it all the same.
const ALIKE: f64 = 10.0;
/// Share of the velocity scale beyond which a residual that rounding could explain is no answer.
const TOLERABLE: f64 = 1e-3;

thread_local! {
    /// What [`Problem::trees_lose`] writes: a step asks for it every time. It is no state: every call overwrites it.
    static LOST: RefCell<Lost> = RefCell::default();
}

/// p + Gᵀλ − M v, |p| + |Gᵀλ|, one momentum, and sums over columns.
#[derive(Debug, Default)]
struct Lost {
    left: Vec<f64>,
    sizes: Vec<f64>,
    own: Vec<f64>,
    sums: Vec<f64>,
}

impl Lost {
    fn begin(&mut self, p: &[f64]) {
        self.left.clear();
        self.left.extend_from_slice(p);
        self.sizes.clear();
        self.sizes.extend(p.iter().map(|p| p.abs()));
    }
}

/// The largest errors that rounding may have made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Floor {
    /// Of the residual of a block \[m/s\].
    pub(crate) row: f64,
    /// Of a velocity \[m/s\].
    pub(crate) velocity: f64,
}

/// Sizes from which it is seen at once that rounding hides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hidden {
    /// Largest |D||λ| of a row \[m/s\].
    pub(crate) cancelling: f64,
    /// Largest velocity without constraints, and with them.
    pub(crate) free: f64,
    pub(crate) speed: f64,
    /// Largest tr I tr I⁻¹ of a body.
    pub(crate) thinness: f64,
}

impl Hidden {
    /// Whether rounding could hide a residual of this size.
    pub(crate) fn may_hide(&self, tolerance: f64) -> bool {
        tolerance < MANY * ROUNDING * self.cancelling
            || tolerance < GIVEN * self.free
            || tolerance / (ROUNDING * MANY * self.speed.max(1.0)) < self.thinness
    }
}

impl Problem {
    /// Whether rounding could hide a residual of this size under these impulses; a cheap look that errs to the safe side.
    pub(crate) fn may_hide(&self, tolerance: f64, lambda: &[f64], v: &[f64]) -> bool {
        let steepness = self.blocks.iter().map(|block| block.law.steepness());
        let cancelling = steepness.fold(1.0, f64::max) * self.cancelling(lambda);
        let Form::Primal(primal) = &self.form else {
            return tolerance < MANY * ROUNDING * cancelling
                || tolerance < GIVEN * max_abs(&self.c);
        };
        let thinness = |mass: &MassBlock| match mass {
            MassBlock::Rigid(body) => body.thinness(),
            MassBlock::Dense(_) => f64::INFINITY,
            MassBlock::Tree(_) => 0.0,
        };
        let hidden = Hidden {
            cancelling,
            free: max_abs(&primal.free_velocity),
            speed: max_abs(v),
            thinness: primal.mass.iter().map(thinness).fold(0.0, f64::max),
        };
        hidden.may_hide(tolerance)
    }

    /// Whether trees may lose more than this of their velocities under these impulses \[m/s\]. Where M⁻¹ of all of them is
    /// written out, the bound of [`Problem::most_lost`] decides: estimates by a few signs may find a tenth of what is lost.
    ///
    /// Else links may be thin and |M⁻¹| is not known, so that it is tried: |M⁻¹(p + Gᵀλ − M v)|, which is zero without
    /// rounding, and for short trees |M⁻¹(±(2ε(|p| + |Gᵀλ|) + 0.2ε|M||v|))|, what rounded momenta, impulses and inertias do:
    /// large ones that cancel leave hardly any velocity, and light links make much of what is left. Where digits cancel in M
    /// and that comes within a thousandth of the tolerance, all signs are tried, with ten times the share of the inertias.
    pub(crate) fn trees_lose(&self, tolerance: f64, lambda: &[f64], v: &[f64]) -> bool {
        let (Form::Primal(primal), true) = (&self.form, v.len() == self.n_velocities()) else {
            return false;
        };
        if !primal.mass.iter().any(is_tree) {
            return false;
        }
        LOST.with_borrow_mut(|room| {
            if lost_by_norms(primal, (lambda, v), room).is_some_and(|most| most <= tolerance) {
                return false;
            }
            let most = self.most_lost(primal, (lambda, v), room);
            let lost = most.unwrap_or_else(|| self.lost_in(primal, (lambda, v), (tolerance, room)));
            !(lost <= tolerance)
        })
    }

    /// No less than what trees lose, where M⁻¹ = T Tᵀ of all of them is at hand:
    ///
    /// ```text
    /// |T||Tᵀ|(|p + Gᵀλ − M v| + 2ε(|p| + |G|ᵀ|λ| + 0.1|M||v|))
    /// ```
    fn most_lost(
        &self,
        primal: &Primal,
        (lambda, v): (&[f64], &[f64]),
        room: &mut Lost,
    ) -> Option<f64> {
        room.begin(&primal.p);
        let Lost { left, sizes, .. } = room;
        let mut add = |rows: &[Four], factors: &[f64], columns: Range<usize>| {
            pulp::Arch::new().dispatch(AddRows {
                rows: rows.as_flattened(),
                width: WIDTH * fours(columns.len()),
                factors,
                sums: (&mut left[columns.clone()], &mut sizes[columns]),
                share: 1.0,
            });
        };
        if let Some(rows) = primal.on_one_tree() {
            add(rows, lambda, 0..v.len());
        } else {
            for (k, block) in self.blocks.iter().enumerate() {
                for e in primal.jacobian.entry_range(k) {
                    let b = primal.jacobian.entry_mass(e);
                    if is_tree(&primal.mass[b]) {
                        let columns = primal.columns(b);
                        let written = primal.jacobian.written(e, columns.len())?;
                        add(written.rows, &lambda[block.rows()], columns);
                    }
                }
            }
        }
        let mut most = 0.0_f64;
        for (b, mass) in primal.mass.iter().enumerate() {
            let MassBlock::Tree(tree) = mass else {
                continue;
            };
            let (columns, matrix) = (primal.columns(b), tree.written()?);
            let (left, sizes) = (&mut left[columns.clone()], &mut sizes[columns.clone()]);
            left.iter_mut().for_each(|left| *left = -*left);
            // M is symmetric: by rows no sum waits for the one before.
            pulp::Arch::new().dispatch(AddRows {
                rows: matrix,
                width: columns.len(),
                factors: &v[columns.clone()],
                sums: (&mut *left, &mut *sizes),
                share: INERTIAS,
            });
            let each = sizes.iter_mut().zip(&*left);
            each.for_each(|(size, left)| *size = ROUNDING * *size + left.abs());
            mass.root()?.solve_sizes(sizes);
            most = most.max(max_abs(sizes));
        }
        Some(most)
    }

    fn lost_in(
        &self,
        primal: &Primal,
        (lambda, v): (&[f64], &[f64]),
        (tolerance, room): (f64, &mut Lost),
    ) -> f64 {
        room.begin(&primal.p);
        let Lost {
            left,
            sizes,
            own,
            sums,
        } = room;
        for (k, block) in self.blocks.iter().enumerate() {
            for e in primal.jacobian.entry_range(k) {
                let b = primal.jacobian.entry_mass(e);
                if is_tree(&primal.mass[b]) {
                    own.clear();
                    own.resize(primal.columns(b).len(), 0.0);
                    primal.add_impulse(e, &lambda[block.rows()], own);
                    for (i, push) in primal.columns(b).zip(&*own) {
                        left[i] += push;
                        sizes[i] += push.abs();
                    }
                }
            }
        }
        let mut lost = 0.0_f64;
        for (b, mass) in primal.mass.iter().enumerate().filter(|(_, m)| is_tree(m)) {
            let (left, v) = (&mut left[primal.columns(b)], &v[primal.columns(b)]);
            let momentum = &mut *own;
            momentum.resize(left.len(), 0.0);
            mass.mul(v, momentum);
            left.iter_mut().zip(&*momentum).for_each(|(x, m)| *x -= m);
            if let MassBlock::Tree(tree) = mass
                && mass.dim() <= SHORT
            {
                let sizes = &mut sizes[primal.columns(b)];
                inertia_sizes(tree, v, sums);
                mass.solve(left);
                let share = |(s, m): (&f64, &f64)| ROUNDING * (s + INERTIAS * m);
                let hardly = sizes.iter().zip(&*sums).map(share);
                lost = lost.max(tried_sizes(mass, hardly, momentum));
                // Where digits cancel, all inertias may be rounded the same way, and what is soft in another way than was
                // tried loses more.
                let cancels = tree.written().is_none();
                if cancels && lost <= tolerance && tolerance < MANY * lost {
                    let whole = sizes.iter_mut().zip(&*sums);
                    whole.for_each(|(s, m)| *s = ROUNDING * (*s + m));
                    lost = lost.max(solved_sizes(mass, sizes, (momentum, sums)));
                }
            } else {
                mass.solve(left);
            }
            lost = lost.max(max_abs(left));
        }
        lost
    }

    /// What rounding may hide under these impulses.
    pub(crate) fn floor(&self, lambda: &[f64]) -> Floor {
        match &self.form {
            Form::Primal(primal) => self.primal_floor(primal, lambda),
            Form::Dual(matrix) => Floor {
                row: self.law_floor(lambda, |k, rows, off| {
                    let each = (0..).zip(&self.c[rows]);
                    off.extend(each.map(|(i, c)| {
                        ROUNDING * matrix.row_size((k, i), lambda) + GIVEN * c.abs()
                    }));
                }),
                velocity: 0.0,
            },
        }
    }

    /// Whether a residual of these impulses is no more than rounding may make of it, and small. Impulses that diverged
    /// raise their own floor: what is large is not explained.
    pub(crate) fn explains_by_rounding(&self, lambda: &[f64], law: f64) -> bool {
        law <= TOLERABLE * self.velocity_scale() && law <= self.floor(lambda).row
    }

    /// The same within a decade: of trees the bound is an estimate.
    pub(crate) fn nearly_explains(&self, lambda: &[f64], law: f64) -> bool {
        law <= ALIKE * self.floor(lambda).row
    }

    fn primal_floor(&self, primal: &Primal, lambda: &[f64]) -> Floor {
        let mut terms = vec![0.0; self.n_velocities()];
        let mut rows = Vec::new();
        for (k, block) in self.blocks.iter().enumerate() {
            for e in primal.jacobian.entry_range(k) {
                let columns = primal.columns(primal.jacobian.entry_mass(e));
                rows.clear();
                primal.write_rows(e, &mut rows);
                let each = rows.chunks_exact(columns.len());
                for (row, lambda) in each.zip(&lambda[block.rows()]) {
                    let terms = &mut terms[columns.clone()];
                    terms
                        .iter_mut()
                        .zip(row)
                        .for_each(|(t, g)| *t += (g * lambda).abs());
                }
            }
        }
        // ε|v¹| + 2ε|M⁻¹|(|Gᵀ||λ| + |p|)
        for (b, mass) in primal.mass.iter().enumerate() {
            let (columns, free) = (primal.columns(b), &primal.free_velocity[primal.columns(b)]);
            let p = &primal.p[columns.clone()];
            let terms = &mut terms[columns];
            let mut solved = p.to_vec();
            mass.solve(&mut solved);
            if solved == free {
                // p/m is one product: it is as good as given.
                let first = if matches!(mass, MassBlock::Rigid(_)) {
                    3
                } else {
                    0
                };
                let turning = terms[first..].iter_mut().zip(&p[first..]);
                turning.for_each(|(t, p)| *t += p.abs());
            }
            mass.solve_sizes(terms, free);
            let each = terms.iter_mut().zip(free);
            each.for_each(|(t, v)| *t = ROUNDING * *t + GIVEN * v.abs());
        }
        let row = self.law_floor(lambda, |k, at, off| {
            off.extend(
                at.map(|i| GIVEN * ((primal.sigma[i] * lambda[i]).abs() + primal.q[i].abs())),
            );
            for e in primal.jacobian.entry_range(k) {
                let v = &terms[primal.columns(primal.jacobian.entry_mass(e))];
                rows.clear();
                primal.write_rows(e, &mut rows);
                for (row, off) in rows.chunks_exact(v.len()).zip(&mut *off) {
                    *off += row.iter().zip(v).map(|(g, v)| (g * v).abs()).sum::<f64>();
                }
            }
        });
        Floor {
            row,
            velocity: max_abs(&terms),
        }
    }

    /// How far off the largest residual of a block may be, where `write` says how far off the row velocities of each are.
    fn law_floor(
        &self,
        lambda: &[f64],
        mut write: impl FnMut(usize, Range<usize>, &mut Vec<f64>),
    ) -> f64 {
        let lent = lend_scale(self);
        let mut scales = Scales::new(self, &lent);
        let (mut off, mut most) = (Vec::new(), 0.0_f64);
        for (k, block) in self.blocks.iter().enumerate() {
            off.clear();
            write(k, block.rows(), &mut off);
            let own = &lambda[block.rows()];
            most = most.max(block.law.natural_off(own, &off, scales.of(k, block)));
        }
        most
    }
}

/// No less than what one short tree loses, from a few norms: enough where no link is light and nothing large cancels, which
/// is nearly always.
///
/// ```text
/// tr M⁻¹ (|p + Gᵀλ − M v| + 2ε(|p| + |G||λ| + 0.1 tr M |v|))          |T||Tᵀ| ≤ tr M⁻¹ ,  |M| ≤ tr M ,  |G| of Frobenius
/// ```
fn lost_by_norms(primal: &Primal, (lambda, v): (&[f64], &[f64]), room: &mut Lost) -> Option<f64> {
    let (rows, [MassBlock::Tree(tree)]) = (primal.on_one_tree()?, &primal.mass[..]) else {
        return None;
    };
    let (matrix, root) = (tree.written()?, tree.root()?);
    if v.is_empty() {
        return None;
    }
    let Lost { left, .. } = room;
    left.clear();
    left.extend_from_slice(&primal.p);
    add_impulses(rows, lambda, left);
    left.iter_mut().for_each(|left| *left = -*left);
    add_symmetric(matrix, v, left);
    let trace: f64 = matrix.iter().step_by(v.len() + 1).sum();
    let norm = |x: &[f64]| dot_unrolled(x, x).sqrt();
    let terms =
        norm(&primal.p) + sum_squares(rows).sqrt() * norm(lambda) + INERTIAS * trace * norm(v);
    Some(root.trace_of_inverse() * (norm(left) + ROUNDING * terms))
}

/// Rows times factors, added up with their signs and by their sizes, of which a share counts.
struct AddRows<'a> {
    rows: &'a [f64],
    width: usize,
    factors: &'a [f64],
    sums: (&'a mut [f64], &'a mut [f64]),
    share: f64,
}

impl pulp::WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (sums, sizes) = self.sums;
        for (row, factor) in self.rows.chunks_exact(self.width).zip(self.factors) {
            if *factor == 0.0 {
                continue;
            }
            let share = self.share * factor.abs();
            for ((sum, size), x) in sums.iter_mut().zip(&mut *sizes).zip(row) {
                *sum += factor * x;
                *size += share * x.abs();
            }
        }
    }
}

fn is_tree(mass: &MassBlock) -> bool {
    matches!(mass, MassBlock::Tree(_))
}

/// |M⁻¹(±s)|∞ with all signs alike, and alternating.
fn tried_sizes(mass: &MassBlock, sizes: impl Iterator<Item = f64> + Clone, x: &mut [f64]) -> f64 {
    let tried = [1.0, -1.0].map(|second| {
        let signs = [1.0, second].into_iter().cycle();
        let each = x.iter_mut().zip(signs).zip(sizes.clone());
        each.for_each(|((x, sign), size)| *x = sign * size);
        mass.solve(x);
        max_abs(x)
    });
    tried[0].max(tried[1])
}

/// ||M⁻¹|s|∞, column by column.
fn solved_sizes(mass: &MassBlock, sizes: &[f64], (x, sums): (&mut [f64], &mut Vec<f64>)) -> f64 {
    sums.clear();
    sums.resize(sizes.len(), 0.0);
    for (j, size) in sizes.iter().enumerate() {
        x.fill(0.0);
        x[j] = *size;
        mass.solve(x);
        sums.iter_mut()
            .zip(&*x)
            .for_each(|(sum, x)| *sum += x.abs());
    }
    max_abs(sums)
}

/// s ← |M||v|.
fn inertia_sizes(tree: &TreeMass, v: &[f64], sizes: &mut Vec<f64>) {
    let formed;
    let matrix = match tree.written() {
        Some(matrix) => matrix,
        None => {
            formed = tree.matrix();
            &formed
        }
    };
    sizes.clear();
    sizes.resize(v.len(), 0.0);
    // M is symmetric: by columns no sum waits for the one before.
    for (column, v) in matrix.chunks_exact(v.len()).zip(v) {
        for (size, m) in sizes.iter_mut().zip(column) {
            *size += (m * v).abs();
        }
    }
}
