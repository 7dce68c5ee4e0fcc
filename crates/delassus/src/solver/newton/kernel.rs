//! One linear system for every second-order method.
//!
//! A method states per block k a linear relation between the changes of impulse and row velocity:
//!
//! ```text
//! C_k dλ_k + B_k dw_k = b_k ,   dw_k = G_k dv + Σ_k dλ_k                                        (1)
//! A_k = (C_k + B_kΣ_k)⁻¹B_k ,  a_k = (C_k + B_kΣ_k)⁻¹b_k ,   dλ_k = a_k − A_k G_k dv              (2)
//! K dv = −r_d + Gᵀa ,   K = M + GᵀAG ,   r_d = M v − p − Gᵀλ                                      (3)
//! ```
//!
//! K has one block for each mass and the pattern of the graph of masses, however many contacts there are between two.
//! A problem given by its matrix solves (C + B S) dλ = b instead. After the solve one refinement corrects the momentum;
//! the relations hold by construction.

use super::matrix::MatrixLu;
use super::pairs::Pairs;
use super::spread::{Other, Spread};
use super::stage::Room;
use super::sweeps::SweepRoom;
use super::system::{Island, System};
use super::white::WhiteLu;
use crate::linalg::block_lu::{BlockLu, Slot, invert};
use crate::math::max_abs;
use crate::problem::mass::MassBlock;
use crate::problem::{Form, Primal};
use crate::tree::LinkSquare;

/// Most refinements of a step.
const REFINEMENTS: usize = 8;
/// Error of the momentum, over the velocity scale, that is not worth a refinement.
const EXACT: f64 = 1e-14;
/// Error that a single refinement takes away.
const NEARLY: f64 = 1e-8;

/// What a method states: C and B of every block, row-major, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Relation {
    pub(super) c: Vec<f64>,
    pub(super) b: Vec<f64>,
}

impl Relation {
    /// The same memory, zeros for the blocks of a system.
    pub(super) fn sized(mut self, system: &System<'_>) -> Relation {
        let length = system.squares.last().copied().unwrap_or(0);
        for square in [&mut self.c, &mut self.b] {
            square.clear();
            square.resize(length, 0.0);
        }
        self
    }
}

/// Changes of impulse and velocity.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) lambda: Vec<f64>,
    pub(super) v: Vec<f64>,
}

/// The factored system with its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    /// (C + BΣ)⁻¹ and A of every block.
    left: Vec<f64>,
    a: Vec<f64>,
    masses: BlockLu,
    matrix: MatrixLu,
    white: WhiteLu,
    /// Memory of a small island.
    pub(super) island: Island,
    /// Memory of sweeps.
    pub(super) sweeps: SweepRoom,
    /// Memory of the stages.
    pub(super) room: Room,
    /// Blocks that are pairs of points, and where all others go.
    pairs: Pairs,
    others: Vec<Vec<Slot>>,
    /// Where M of every mass that is not taken apart is in K.
    diagonals: Vec<Slot>,
    /// K of one mass, and what blocks do to the links of a tree.
    dense: Vec<f64>,
    links: Vec<LinkSquare>,
    /// a of (2), G dv, a momentum, and work of small inverses and products.
    rows: Vec<f64>,
    products: Vec<f64>,
    momentum: Vec<f64>,
    error: Vec<f64>,
    small: Vec<f64>,
    product: Vec<f64>,
    unknowns: Vec<f64>,
    /// Which rows touch which nodes: while it stays, the order of elimination does.
    touched: Vec<u32>,
    touched_now: Vec<u32>,
    prepared: bool,
    /// Factorisations so far.
    pub(super) count: usize,
}

impl Kernel {
    /// Another problem comes, perhaps of the same pattern.
    pub(super) fn begin(&mut self) {
        self.prepared = false;
        self.sweeps.begin();
        self.masses.careful = false;
        self.count = 0;
    }

    /// Takes the sizes of a problem, and its pattern where that is new.
    fn prepare(&mut self, system: &System<'_>) {
        self.prepared = true;
        let length = system.squares.last().copied().unwrap_or(0);
        self.left.resize(length, 0.0);
        self.a.resize(length, 0.0);
        self.rows.resize(system.n_rows(), 0.0);
        self.products.resize(system.n_rows(), 0.0);
        self.momentum.resize(system.n_velocities(), 0.0);
        self.error.resize(system.n_velocities(), 0.0);
        let sizes = system.blocks().iter().map(|block| block.n_rows);
        let widest = sizes.max().unwrap_or(0);
        self.small.resize(2 * widest * widest, 0.0);
        let primal = match system.problem.form() {
            Form::Primal(_) if system.white.is_some() => return,
            Form::Primal(primal) => primal,
            Form::Dual(matrix) => return self.matrix.prepare(matrix),
        };
        let spread = &system.spread;
        self.unknowns
            .resize(spread.offsets.last().copied().unwrap_or(0), 0.0);
        let touched = &mut self.touched_now;
        touched.clear();
        touched.extend(spread.nodes.iter().map(|node| node.size as u32));
        touched.push(u32::MAX);
        for k in system.pairs() {
            let entries = primal.jacobian().entry_range(k);
            touched.extend(entries.map(|e| primal.jacobian().entry_mass(e) as u32));
            touched.push(u32::MAX - 1);
        }
        for other in &spread.others {
            touched.extend(spread.ends(other).iter().map(|end| end.node as u32));
            touched.push(u32::MAX);
        }
        if self.touched != self.touched_now {
            std::mem::swap(&mut self.touched, &mut self.touched_now);
            self.plan(system, primal);
        }
    }

    /// Order of elimination, and where everything goes in K.
    fn plan(&mut self, system: &System<'_>, primal: &Primal) {
        let (jacobian, spread) = (primal.jacobian(), &system.spread);
        let masses = |k: usize| jacobian.entry_range(k).map(|e| jacobian.entry_mass(e));
        let node = |mass: usize| spread.node(mass) as u32;
        let pairs = system.pairs().flat_map(|k| {
            let of = move |a: usize| masses(k).map(move |b| (node(a), node(b)));
            masses(k).flat_map(of)
        });
        self.masses
            .analyse(&spread.nodes, pairs.chain(spread.couplings()));
        let lu = &self.masses;
        self.diagonals.clear();
        for b in (0..primal.mass().len()).filter(|b| !spread.is_apart(*b)) {
            let slots = spread.inside(b).map(|[a, b]| lu.slot(a.0, b.0));
            self.diagonals.extend(slots);
        }
        self.pairs.group((primal, spread), system.pairs(), lu);
        self.others.clear();
        for other in &spread.others {
            let all = spread.ends(other);
            let ends = all.iter().enumerate();
            let slots = ends.flat_map(|(i, a)| {
                let below = all[..=i].iter();
                below.map(|b| lu.slot(a.node, b.node))
            });
            self.others.push(slots.collect());
        }
    }

    /// Factors the system of a relation; false where it is singular or holds what is no number.
    pub(super) fn factor(&mut self, system: &System<'_>, relation: &Relation) -> bool {
        if !self.prepared {
            self.prepare(system);
        }
        self.count += 1;
        match system.problem.form() {
            Form::Primal(primal) => self.factor_masses(system, primal, relation),
            Form::Dual(matrix) => self.matrix.factor(system, matrix, relation),
        }
    }

    /// K = M + GᵀAG.
    fn factor_masses(&mut self, system: &System<'_>, primal: &Primal, relation: &Relation) -> bool {
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, system.square(k));
            // (C + BΣ)⁻¹ and A = (C + BΣ)⁻¹B   (2)
            let (c, b) = (&relation.c[square.clone()], &relation.b[square.clone()]);
            let (left, a) = (&mut self.left[square.clone()], &mut self.a[square]);
            let sigma = &primal.sigma()[block.rows()];
            let regular = match n {
                1 => answer_one((c[0], b[0], sigma[0]), (&mut left[0], &mut a[0])),
                3 => answer_three((c, b, sigma), (left, a)),
                _ => answer_many((c, b, sigma), (left, a), &mut self.small),
            };
            if !regular {
                return false;
            }
        }
        if let Some(white) = &system.white {
            return white.factor(system.blocks(), &self.a, &mut self.white);
        }
        self.assemble(system, primal)
    }

    /// K of the A at hand, and its factors.
    fn assemble(&mut self, system: &System<'_>, primal: &Primal) -> bool {
        self.masses.clear();
        self.add_inertias(system, primal);
        self.pairs
            .add(primal, (&self.a, &system.squares), &mut self.masses);
        for (other, slots) in system.spread.others.iter().zip(&self.others) {
            if other.on_link.is_some() {
                continue;
            }
            let n = system.blocks()[other.block].n_rows;
            let a = &self.a[system.square(other.block)];
            add_other(
                (&system.spread, other, slots),
                (a, n),
                &mut self.product,
                &mut self.masses,
            );
        }
        self.masses.factor()
    }

    /// K ← M, with GᵀAG of the blocks that act on one link of a tree.
    fn add_inertias(&mut self, system: &System<'_>, primal: &Primal) {
        let mut slots = self.diagonals.iter();
        for (b, mass) in primal.mass().iter().enumerate() {
            if system.spread.is_apart(b) {
                continue;
            }
            if let MassBlock::Rigid(body) = mass {
                let Some(slot) = slots.next() else { break };
                let out = self.masses.values_mut(slot).0;
                let inertia = body.inertia();
                for i in 0..3 {
                    out[i * slot.stride + i] = body.mass();
                    for j in 0..3 {
                        out[(3 + i) * slot.stride + 3 + j] = inertia.col(j)[i];
                    }
                }
                continue;
            }
            let n = mass.dim();
            self.dense.clear();
            self.dense.extend_from_slice(system.matrix(b, mass));
            if let MassBlock::Tree(of) = mass {
                self.links.clear();
                self.links
                    .resize(of.tree().n_joints(), LinkSquare::default());
                let others = system.spread.others.iter();
                for (other, on) in others.filter_map(|other| Some((other, other.on_link.as_ref()?)))
                {
                    if on.mass == b {
                        let a = &self.a[system.square(other.block)];
                        self.links[on.joint].add_product(system.spread.forces(on), a);
                    }
                }
                of.tree()
                    .add_squares(of.data(), &mut self.links, &mut self.dense);
            }
            for ([a, b], slot) in system.spread.inside(b).zip(&mut slots) {
                let (first, second) = if slot.swapped { (b, a) } else { (a, b) };
                let size = |end: (usize, usize)| system.spread.nodes[end.0].size;
                let (upper, lower) = self.masses.values_mut(slot);
                for i in 0..size(first) {
                    let at = (first.1 + i) * n + second.1;
                    let out = i * slot.stride..i * slot.stride + size(second);
                    upper[out.clone()].copy_from_slice(&self.dense[at..at + out.len()]);
                    if a != b {
                        for (j, to) in lower[out].iter_mut().enumerate() {
                            *to = self.dense[(second.1 + j) * n + first.1 + i];
                        }
                    }
                }
            }
        }
        system.spread.add_trees(primal, &mut self.masses);
    }

    /// The change that satisfies the relation with right-hand side b and takes the imbalance r_d away.   (2), (3)
    pub(super) fn step(
        &mut self,
        system: &System<'_>,
        b: &[f64],
        imbalance: &[f64],
        change: &mut Change,
    ) {
        self.rough_step(system, b, imbalance, change);
        if system.white.is_some() {
            // z follows from impulses by products alone: what rounding left of the momentum is taken by the next step.
            change.v.fill(0.0);
            system.add_impulse(&change.lambda, &mut change.v);
        } else if let Some(primal) = system.primal() {
            let holds = self.refine(system, imbalance, change);
            if !holds && !self.masses.careful && self.factor_again(system, primal) {
                self.rough_step(system, b, imbalance, change);
                self.refine(system, imbalance, change);
            }
        }
    }

    /// From now on factorisations are careful.
    pub(super) fn be_careful(&mut self) {
        self.masses.careful = true;
    }

    /// The same K with more care, and all that follow; false where that is no use.
    fn factor_again(&mut self, system: &System<'_>, primal: &Primal) -> bool {
        self.count += 1;
        self.masses.careful = true;
        if self.assemble(system, primal) {
            return true;
        }
        self.masses.careful = false;
        self.assemble(system, primal);
        false
    }

    /// The same without refinement, for a direction that only says how far it could go.
    pub(super) fn rough_step(
        &mut self,
        system: &System<'_>,
        b: &[f64],
        imbalance: &[f64],
        change: &mut Change,
    ) {
        if let Form::Dual(matrix) = system.problem.form() {
            change.lambda.resize(b.len(), 0.0);
            return self.matrix.solve(system, matrix, b, &mut change.lambda);
        }
        for (k, block) in system.blocks().iter().enumerate() {
            let left = &self.left[system.square(k)];
            apply(left, &b[block.rows()], &mut self.rows[block.rows()]);
        }
        // K dv = −r_d + Gᵀa
        change.v.clear();
        change.v.extend(imbalance.iter().map(|r| -r));
        system.add_impulse(&self.rows, &mut change.v);
        self.solve_masses(system, &mut change.v);
        // dλ = a − A G dv
        change.lambda.clear();
        change.lambda.extend_from_slice(&self.rows);
        self.follow(system, &change.v, &mut change.lambda);
    }

    /// Takes out of a change what rounding left of the momentum; the relations hold by construction.
    ///
    /// ```text
    /// r = r_d + M dv − Gᵀdλ ,  δ = −K⁻¹r ,  dv += δ ,  dλ −= A G δ           while |M⁻¹r| is worth it and falls
    /// ```
    ///
    /// Once is enough where masses are alike. Where a body carries a million times its weight, K holds entries so far
    /// apart that each round gains two digits only. False where not even that is left.
    fn refine(&mut self, system: &System<'_>, imbalance: &[f64], change: &mut Change) -> bool {
        let mut r = std::mem::take(&mut self.momentum);
        let mut error = std::mem::take(&mut self.error);
        let (mut least, mut last) = (f64::INFINITY, 0.0);
        for _ in 0..REFINEMENTS {
            system.momentum(&change.v, &mut r);
            r.iter_mut()
                .zip(imbalance)
                .for_each(|(r, d)| *r = -(*r + d));
            system.add_impulse(&change.lambda, &mut r);
            error.copy_from_slice(&r);
            system.solve_mass(&mut error);
            let size = max_abs(&error) / system.scale;
            last = size;
            if !(EXACT < size && size < 0.5 * least) {
                break;
            }
            self.solve_masses(system, &mut r);
            change.v.iter_mut().zip(&r).for_each(|(v, d)| *v += d);
            self.follow(system, &r, &mut change.lambda);
            if size < NEARLY {
                break;
            }
            least = size;
        }
        self.error = error;
        self.momentum = r;
        last < NEARLY
    }

    /// x ← K⁻¹x.
    fn solve_masses(&mut self, system: &System<'_>, x: &mut [f64]) {
        if system.white.is_some() {
            return self.white.lu.solve(x);
        }
        match system.primal() {
            Some(primal) if !system.spread.trees.is_empty() => {
                let spread = &system.spread;
                spread.spread_forces(primal, x, &mut self.unknowns);
                self.masses.solve(&mut self.unknowns);
                spread.gather_velocities(primal, &self.unknowns, x);
            }
            _ => self.masses.solve(x),
        }
    }

    /// λ ← λ − A G v.
    fn follow(&mut self, system: &System<'_>, v: &[f64], lambda: &mut [f64]) {
        let mut w = std::mem::take(&mut self.products);
        system.row_change(v, &mut w);
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, w) = (block.n_rows, &w[block.rows()]);
            let a = &self.a[system.square(k)];
            if let (Some(a), Some(w)) = (a.as_array::<9>(), w.as_array::<3>()) {
                let lambda = &mut lambda[block.rows()];
                for i in 0..3 {
                    lambda[i] -= a[3 * i] * w[0] + a[3 * i + 1] * w[1] + a[3 * i + 2] * w[2];
                }
                continue;
            }
            let a = a.chunks_exact(n);
            for (lambda, a) in lambda[block.rows()].iter_mut().zip(a) {
                *lambda -= a.iter().zip(w).map(|(a, w)| a * w).sum::<f64>();
            }
        }
        self.products = w;
    }
}

/// K ← K + G_kᵀA_kG_k.
fn add_other(
    (spread, other, slots): (&Spread, &Other, &[Slot]),
    (a, n): (&[f64], usize),
    work: &mut Vec<f64>,
    lu: &mut BlockLu,
) {
    let ends = spread.ends(other);
    for (f, second) in ends.iter().enumerate() {
        let second = spread.rows(second);
        let width = second.len() / n;
        // A G_f
        work.clear();
        work.resize(n * width, 0.0);
        for (to, a) in work.chunks_exact_mut(width).zip(a.chunks_exact(n)) {
            for (factor, g) in a.iter().zip(second.chunks_exact(width)) {
                if *factor != 0.0 {
                    to.iter_mut().zip(g).for_each(|(t, g)| *t += factor * g);
                }
            }
        }
        for (e, first) in ends.iter().enumerate() {
            let first = spread.rows(first);
            let height = first.len() / n;
            let slot = &slots[e.max(f) * (e.max(f) + 1) / 2 + e.min(f)];
            let (upper, lower) = lu.values_mut(slot);
            // Slots are those of (larger, smaller): which of the two comes first in the order?
            let is_upper = e == f || (f < e) != slot.swapped;
            for (g, x) in first.chunks_exact(height).zip(work.chunks_exact(width)) {
                for (r, factor) in g.iter().enumerate().filter(|(_, g)| **g != 0.0) {
                    if is_upper {
                        let to = &mut upper[r * slot.stride..r * slot.stride + width];
                        to.iter_mut().zip(x).for_each(|(t, x)| *t += factor * x);
                    } else {
                        for (j, x) in x.iter().enumerate() {
                            lower[j * slot.stride + r] += factor * x;
                        }
                    }
                }
            }
        }
    }
}

/// (c + bσ)⁻¹ and (c + bσ)⁻¹b of a single row; false where there is none.
#[inline]
fn answer_one((c, b, sigma): (f64, f64, f64), (left, a): (&mut f64, &mut f64)) -> bool {
    let value = c + b * sigma;
    let inverse = 1.0 / value;
    (*left, *a) = (inverse, inverse * b);
    value != 0.0 && value.is_finite()
}

/// (C + BΣ)⁻¹ and (C + BΣ)⁻¹B of a contact, the inverse by cofactors, which do not mind rows of different size; false where
/// it is singular or no number.
#[inline]
fn answer_three(
    (c, b, sigma): (&[f64], &[f64], &[f64]),
    (left, a): (&mut [f64], &mut [f64]),
) -> bool {
    let (Some(c), Some(b), Some(sigma)) =
        (c.as_array::<9>(), b.as_array::<9>(), sigma.as_array::<3>())
    else {
        return false;
    };
    let (Some(left), Some(a)) = (left.as_mut_array::<9>(), a.as_mut_array::<9>()) else {
        return false;
    };
    let s: [f64; 9] = std::array::from_fn(|i| c[i] + b[i] * sigma[i % 3]);
    let minor = |i: usize, j: usize, k: usize, l: usize| s[i] * s[j] - s[k] * s[l];
    let first = [minor(4, 8, 5, 7), minor(5, 6, 3, 8), minor(3, 7, 4, 6)];
    let determinant = s[0] * first[0] + s[1] * first[1] + s[2] * first[2];
    if determinant == 0.0 || !determinant.is_finite() {
        return false;
    }
    let scale = 1.0 / determinant;
    *left = [
        first[0],
        minor(2, 7, 1, 8),
        minor(1, 5, 2, 4),
        first[1],
        minor(0, 8, 2, 6),
        minor(2, 3, 0, 5),
        first[2],
        minor(1, 6, 0, 7),
        minor(0, 4, 1, 3),
    ]
    .map(|x| scale * x);
    for i in 0..3 {
        for j in 0..3 {
            a[3 * i + j] =
                left[3 * i] * b[j] + left[3 * i + 1] * b[3 + j] + left[3 * i + 2] * b[6 + j];
        }
    }
    true
}

/// The same of a block of any size.
fn answer_many(
    (c, b, sigma): (&[f64], &[f64], &[f64]),
    (left, a): (&mut [f64], &mut [f64]),
    work: &mut [f64],
) -> bool {
    let n = sigma.len();
    let rows = c.chunks_exact(n).zip(b.chunks_exact(n));
    for (left, (c, b)) in left.chunks_exact_mut(n).zip(rows) {
        for i in 0..n {
            left[i] = c[i] + b[i] * sigma[i];
        }
    }
    if !invert(left, n, work) {
        return false;
    }
    a.fill(0.0);
    for i in 0..n {
        for l in 0..n {
            let factor = left[i * n + l];
            if factor != 0.0 {
                (0..n).for_each(|j| a[i * n + j] += factor * b[l * n + j]);
            }
        }
    }
    true
}

/// out ← X y.
pub(super) fn apply(x: &[f64], y: &[f64], out: &mut [f64]) {
    if let (Some(x), Some(y), Some(out)) = (
        x.as_array::<9>(),
        y.as_array::<3>(),
        out.as_mut_array::<3>(),
    ) {
        for i in 0..3 {
            out[i] = x[3 * i] * y[0] + x[3 * i + 1] * y[1] + x[3 * i + 2] * y[2];
        }
        return;
    }
    for (row, out) in x.chunks_exact(y.len()).zip(out) {
        *out = row.iter().zip(y).map(|(x, y)| x * y).sum();
    }
}
