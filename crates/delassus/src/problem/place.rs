//! Where the rows of a block act on a mass, and everything that follows from it.
//!
//! A contact knows its directions and its arms, a row on a robot's foot its link, a motor its coordinate. The problem
//! keeps what is known, so that nobody has to find it again in plain numbers, and these few functions say what it
//! means: the row velocity G_kb v_b, the impulse G_kbᵀλ_k, and the rows written out over the velocities of the mass
//! for whoever wants plain numbers (M⁻¹Gᵀ, D_kk and blocks of S are made from those).

use std::ops::Range;

use glam::DVec3;

use super::jacobian::point_row;
use super::mass::{MassBlock, TreeMass};
use super::{Block, Primal};
use crate::index::{BlockId, LinkId, MassId};
use crate::linalg::wide_lu::{add_impulses, add_products, fours};
use crate::math::{mul_add, mul_transposed_add};
use crate::tree::spatial::{Force, Motion};

/// Which body of a constraint: its velocity counts for the first and against the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The body that a positive impulse pushes along the directions.
    First,
    /// The body that it pushes against them.
    Second,
}

/// Where the rows of a block act on one mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// At a point of a free body. The rows are directions d in world axes, three numbers each, the same for both
    /// bodies; row i of G is ±[dᵢᵀ, (arm × dᵢ)ᵀ].
    Point {
        /// From the body's centre of mass to the point, in world axes \[m\].
        arm: DVec3,
        /// Which of the two bodies this is.
        side: Side,
    },
    /// On a link of a tree: six numbers a row, [force, torque about the link's centre of mass] of a unit impulse in
    /// world axes, in the order in which a free body has them.
    Link {
        /// The link.
        link: LinkId,
    },
    /// On one velocity of the mass, such as that of a joint of a tree: one factor a row.
    Coordinate {
        /// Which velocity of the mass, counted from 0.
        dof: usize,
    },
    /// On all velocities of the mass: the rows of G as they are.
    Plain,
}

/// Rows of a block on one mass with the place where they act: what a problem is given, and what it gives back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At<'a> {
    /// The mass.
    pub mass: MassId,
    /// Where on it.
    pub place: Place,
    /// The rows one after the other, each as wide as the place says.
    pub rows: &'a [f64],
}

/// A block at one point between two free bodies, or between one of them and ground: a contact (n, t₁, t₂), a ball
/// joint (x, y, z), a rod (its axis).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<'a> {
    /// One direction a row, in world axes.
    pub directions: &'a [DVec3],
    /// The first body and the arm from its centre of mass to the point \[m\]; `None` is ground.
    pub first: Option<(MassId, DVec3)>,
    /// The second body and its arm.
    pub second: Option<(MassId, DVec3)>,
}

impl Side {
    /// +1 for the first body, −1 for the second.
    #[inline(always)]
    pub fn sign(self) -> f64 {
        match self {
            Side::First => 1.0,
            Side::Second => -1.0,
        }
    }
}

impl Place {
    /// Numbers a row, on a mass of so many velocities.
    pub fn width(&self, dim: usize) -> usize {
        match self {
            Place::Point { .. } => 3,
            Place::Link { .. } => 6,
            Place::Coordinate { .. } => 1,
            Place::Plain => dim,
        }
    }

    /// w ← w + G_kb v_b.
    #[inline]
    pub(super) fn add_velocity(self, mass: &MassBlock, rows: &[f64], v: &[f64], w: &mut [f64]) {
        match self {
            Place::Point { arm, side } => {
                // G_kb v_b = ±dᵢ·(ẋ + ω × arm)
                let u = point_velocity(v, arm) * side.sign();
                for (d, w) in rows.as_chunks::<3>().0.iter().zip(w) {
                    *w += DVec3::from_array(*d).dot(u);
                }
            }
            Place::Link { link } => mul_add(rows, &tree(mass).link_velocity(link, v), w),
            Place::Coordinate { dof } => {
                for (factor, w) in rows.iter().zip(w) {
                    *w += factor * v[dof];
                }
            }
            Place::Plain => mul_add(rows, v, w),
        }
    }

    /// f ← f + G_kbᵀλ_k.
    #[inline]
    pub(super) fn add_impulse(self, mass: &MassBlock, rows: &[f64], lambda: &[f64], f: &mut [f64]) {
        match self {
            Place::Point { arm, side } => {
                add_push(force(rows.as_chunks::<3>().0, lambda) * side.sign(), arm, f);
            }
            Place::Link { link } => {
                let mut wrench = [0.0; 6];
                mul_transposed_add(rows, lambda, &mut wrench);
                tree(mass).add_link_impulse(link, &wrench, f);
            }
            Place::Coordinate { dof } => {
                for (factor, lambda) in rows.iter().zip(lambda) {
                    f[dof] += factor * lambda;
                }
            }
            Place::Plain => mul_transposed_add(rows, lambda, f),
        }
    }

    /// Adds the rows, written out over all velocities of the mass, to `out`, which is zero where nothing else acts on
    /// the mass, and which has room for so many rows: each may be wider than the mass has velocities.
    #[inline]
    pub(super) fn write(self, mass: &MassBlock, rows: &[f64], (out, count): (&mut [f64], usize)) {
        // A mass without velocities has empty rows.
        let width = (out.len() / count.max(1)).max(1);
        match self {
            Place::Point { arm, side } => write_point(rows.as_chunks::<3>().0, arm, side, out),
            Place::Link { link } => {
                let (of, rows) = (tree(mass), rows.as_chunks::<6>().0);
                let out = (out, width);
                of.tree().add_centre_wrenches(of.data(), link, rows, out);
            }
            Place::Coordinate { dof } => {
                for (factor, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
                    out[dof] += factor;
                }
            }
            Place::Plain => {
                let own = rows.chunks_exact(mass.dim().max(1));
                for (row, out) in own.zip(out.chunks_exact_mut(width)) {
                    out[..row.len()].copy_from_slice(row);
                }
            }
        }
    }
}

/// ẋ + ω × arm: how fast the point at the arm moves.
#[inline(always)]
pub(crate) fn point_velocity(v: &[f64], arm: DVec3) -> DVec3 {
    DVec3::from_slice(&v[..3]) + DVec3::from_slice(&v[3..6]).cross(arm)
}

/// Σ dᵢλᵢ: the impulse in world axes.
#[inline(always)]
pub(crate) fn force(directions: &[[f64; 3]], lambda: &[f64]) -> DVec3 {
    // Three rows, the contact, in one go.
    if let (&[n, t1, t2], &[x, y, z]) = (directions, lambda) {
        let [n, t1, t2] = [n, t1, t2].map(DVec3::from_array);
        return n * x + t1 * y + t2 * z;
    }
    let mut sum = DVec3::ZERO;
    for (d, lambda) in directions.iter().zip(lambda) {
        sum += DVec3::from_array(*d) * *lambda;
    }
    sum
}

/// f ← f + (push, arm × push).
#[inline(always)]
fn add_push(push: DVec3, arm: DVec3, f: &mut [f64]) {
    add(&mut f[..3], push);
    add(&mut f[3..6], arm.cross(push));
}

/// ±(dᵢ, arm × dᵢ), one row after the other.
#[inline(always)]
fn write_point(directions: &[[f64; 3]], arm: DVec3, side: Side, out: &mut [f64]) {
    for (d, out) in directions.iter().zip(out.as_chunks_mut::<6>().0) {
        *out = point_row(DVec3::from_array(*d), arm, side.sign());
    }
}

#[inline(always)]
fn add(f: &mut [f64], x: DVec3) {
    for (f, x) in f.iter_mut().zip(x.to_array()) {
        *f += x;
    }
}

fn tree(mass: &MassBlock) -> &TreeMass {
    match mass {
        MassBlock::Tree(tree) => Some(tree),
        _ => None,
    }
    .expect("the builder takes links on trees alone")
}

impl TreeMass {
    /// (ẋ, ω) of a link's centre of mass under the joint velocities v, in world axes.
    fn link_velocity(&self, link: LinkId, v: &[f64]) -> [f64; 6] {
        let Motion { angular, linear } = self.tree().centre_velocity(self.data(), link, v);
        [
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
        ]
    }

    /// Adds what an impulse (force, torque about the link's centre of mass) is at the joints.
    fn add_link_impulse(&self, link: LinkId, wrench: &[f64; 6], f: &mut [f64]) {
        let wrench = Force {
            torque: DVec3::from_slice(&wrench[3..]),
            force: DVec3::from_slice(&wrench[..3]),
        };
        self.tree().add_centre_wrench(self.data(), link, wrench, f);
    }
}

/// Everything derived from G, entry by entry: written here once, for the judge and all solvers.
impl Primal {
    /// Where block `k` acts, as the builder was told.
    pub fn places(&self, k: BlockId) -> impl Iterator<Item = At<'_>> {
        let entries = self.jacobian().entry_range(k.index());
        entries.flat_map(|e| {
            let mass = MassId(self.jacobian().entry_mass(e) as u32);
            let places = self.jacobian().places(e);
            places.map(move |(place, rows)| At { mass, place, rows })
        })
    }

    /// The rows of block `k` written out over the velocities of each mass it acts on, row-major.
    pub fn written_rows(&self, k: BlockId) -> Vec<(MassId, Vec<f64>)> {
        let entries = self.jacobian().entry_range(k.index());
        entries
            .map(|e| {
                let mut rows = Vec::new();
                self.write_rows(e, &mut rows);
                (MassId(self.jacobian().entry_mass(e) as u32), rows)
            })
            .collect()
    }

    /// Appends the rows of entry `e`, written out over the velocities of its mass, row-major.
    pub(crate) fn write_rows(&self, e: usize, out: &mut Vec<f64>) {
        let mass = &self.mass()[self.jacobian().entry_mass(e)];
        let (start, dim) = (out.len(), mass.dim());
        for (place, rows) in self.jacobian().places(e).take(1) {
            out.resize(start + rows.len() / place.width(dim) * dim, 0.0);
        }
        self.write_rows_to(e, &mut out[start..]);
    }

    /// Writes the rows of entry `e` to `out`, which has their size and is zero.
    #[inline(always)]
    pub(crate) fn write_rows_to(&self, e: usize, out: &mut [f64]) {
        match self.jacobian().point_entry(e) {
            Some((directions, arm, side)) => write_point(directions, arm, side, out),
            None => self.write_other_rows(e, out),
        }
    }

    /// The same of an entry that is no point.
    fn write_other_rows(&self, e: usize, out: &mut [f64]) {
        let mass = &self.mass()[self.jacobian().entry_mass(e)];
        if let Some(written) = self.jacobian().written(e, mass.dim()) {
            let rows = written.rows.chunks_exact(fours(mass.dim()));
            for (out, row) in out.chunks_exact_mut(mass.dim()).zip(rows) {
                out.copy_from_slice(&row.as_flattened()[..mass.dim()]);
            }
            return;
        }
        for (place, rows) in self.jacobian().places(e) {
            let count = rows.len() / place.width(mass.dim()).max(1);
            place.write(mass, rows, (&mut *out, count));
        }
    }

    /// w ← w + G_kb v_b of entry `e`, from the velocities of its mass.
    #[inline(always)]
    pub(crate) fn add_velocity(&self, e: usize, v: &[f64], w: &mut [f64]) {
        let mass = &self.mass()[self.jacobian().entry_mass(e)];
        if let Some(rows) = self.jacobian().written_links(e, v.len()) {
            return add_products(rows, v, w);
        }
        for (place, rows) in self.jacobian().places(e) {
            place.add_velocity(mass, rows, v, w);
        }
    }

    /// f ← f + G_kbᵀλ_k of entry `e`, from the impulses of its block.
    #[inline(always)]
    pub(crate) fn add_impulse(&self, e: usize, lambda: &[f64], f: &mut [f64]) {
        match self.jacobian().point_entry(e) {
            Some((directions, arm, side)) => {
                add_push(force(directions, lambda) * side.sign(), arm, f);
            }
            None => self.add_other_impulse(e, lambda, f),
        }
    }

    /// f ← f + G_kᵀλ_k of block k, into the impulses of all masses.
    #[inline(always)]
    pub(crate) fn add_block_impulse(&self, k: usize, lambda: &[f64], f: &mut [f64]) {
        self.add_block_impulse_on(k, lambda, (&(0..self.mass().len()), f));
    }

    /// The same into the impulses of consecutive masses alone.
    #[inline(always)]
    pub(super) fn add_block_impulse_on(
        &self,
        k: usize,
        lambda: &[f64],
        (masses, f): (&Range<usize>, &mut [f64]),
    ) {
        let first = self.offsets[masses.start];
        let own = |b: usize| {
            let columns = self.columns(b);
            columns.start - first..columns.end - first
        };
        let Some(point) = self.jacobian().point(k) else {
            for e in self.jacobian().entry_range(k) {
                let b = self.jacobian().entry_mass(e);
                if masses.contains(&b) {
                    self.add_other_impulse(e, lambda, &mut f[own(b)]);
                }
            }
            return;
        };
        let push = force(point.directions, lambda);
        for (b, arm, side) in point.ends().filter(|(b, ..)| masses.contains(b)) {
            add_push(push * side.sign(), arm, &mut f[own(b)]);
        }
    }

    /// The same of an entry that is no point.
    fn add_other_impulse(&self, e: usize, lambda: &[f64], f: &mut [f64]) {
        let mass = &self.mass()[self.jacobian().entry_mass(e)];
        if let Some(rows) = self.jacobian().written_links(e, f.len()) {
            return add_impulses(rows, lambda, f);
        }
        for (place, rows) in self.jacobian().places(e) {
            place.add_impulse(mass, rows, lambda, f);
        }
    }

    /// Rows of (M_b⁻¹G_kbᵀ)ᵀ of entry `e`: each row written out and solved by its mass.
    pub(crate) fn solve_rows(&self, e: usize, out: &mut Vec<f64>) {
        out.clear();
        self.write_rows(e, out);
        let mass = &self.mass()[self.jacobian().entry_mass(e)];
        for row in out.chunks_exact_mut(mass.dim()) {
            mass.solve(row);
        }
    }

    /// w ← G_k v + Σ_k λ_k − q_k of block k, from velocities and impulses of the whole problem.
    #[inline(always)]
    pub(crate) fn row_velocity(
        &self,
        block: &Block,
        k: usize,
        v: &[f64],
        lambda: &[f64],
        w: &mut [f64],
    ) {
        let velocity = |b: usize| &v[self.columns(b)];
        let add = |e: usize, w: &mut [f64]| {
            self.add_velocity(e, velocity(self.jacobian().entry_mass(e)), w);
        };
        let lambda = &lambda[block.rows()];
        self.row_velocity_from((k, block.start), lambda, w, velocity, add);
    }

    /// The same for velocities kept elsewhere: `velocity` gives those of a free body, and `add` adds G_kb v_b of an
    /// entry that is no point. `start` is the block's first row, `lambda` its impulses.
    #[inline(always)]
    pub(crate) fn row_velocity_from<'v>(
        &self,
        (k, start): (usize, usize),
        lambda: &[f64],
        w: &mut [f64],
        velocity: impl Fn(usize) -> &'v [f64],
        mut add: impl FnMut(usize, &mut [f64]),
    ) {
        let rows = start..start + w.len();
        let (sigma, q) = (&self.sigma()[rows.clone()], &self.q()[rows]);
        for i in 0..w.len() {
            w[i] = sigma[i] * lambda[i] - q[i];
        }
        let Some(point) = self.jacobian().point(k) else {
            for e in self.jacobian().entry_range(k) {
                add(e, w);
            }
            return;
        };
        // u = (ẋ + ω × arm) of the first body minus that of the second; wᵢ = dᵢ·u + Σλᵢ − qᵢ
        let mut u = DVec3::ZERO;
        for (b, arm, side) in point.ends() {
            u += point_velocity(velocity(b), arm) * side.sign();
        }
        // Three rows, the contact, stay in registers.
        if let (Some(d), Some(w)) = (point.directions.as_array::<3>(), w.as_mut_array::<3>()) {
            for i in 0..3 {
                w[i] += DVec3::from_array(d[i]).dot(u);
            }
            return;
        }
        for (d, w) in point.directions.iter().zip(w) {
            *w += DVec3::from_array(*d).dot(u);
        }
    }
}
