//! The problem as second-order methods see it: products with G, M and their transposes, scales, and the residual.

use std::cell::{OnceCell, RefCell};

use glam::DVec3;

use super::continuation::JOINT_SOFTNESS;
use super::spread::Spread;
use super::white::White;
use crate::linalg::block_lu::invert;
use crate::math::{mul_add, mul_transposed_add};
use crate::problem::mass::{MassBlock, SHORT};
use crate::problem::place::{force, point_velocity};
use crate::problem::{Block, Form, Primal, Problem};

/// tr I tr I⁻¹ from which on a body is thin.
const THIN: f64 = 1e5;

/// A problem with what every method needs of it.
pub(super) struct System<'a> {
    pub(super) problem: &'a Problem,
    /// Mean of the diagonal of D_kk, of every block without its rows of spin; positive [1/kg]. On thin bodies, which one
    /// direction moves a million times as easily as the others, the harmonic mean of the eigenvalues instead.
    pub(super) mobility: Vec<f64>,
    /// Largest mean of all, for rows that must hold.
    pub(super) stiffest: f64,
    /// ε of equalities: compliance that makes the system regular and multiplies changes alone [1/kg].
    pub(super) hold: f64,
    /// V, the residual without impulses, which residuals are compared with [m/s].
    pub(super) scale: f64,
    /// Of every row of spin the length that makes it a velocity, 1 for other rows; empty where no law has spin [m].
    lengths: Vec<f64>,
    /// First value of the square array of every block.
    pub(super) squares: Vec<usize>,
    /// Nodes of K, and rows that are no pairs of points.
    pub(super) spread: Spread,
    /// M of trees that are neither short nor taken apart, row-major, with their numbers.
    plain_trees: Vec<(usize, Vec<f64>)>,
    /// Bodies that turn so much more easily about one axis that M and M⁻¹ in doubles are not each other's inverses.
    thin: Vec<usize>,
    /// Unknowns of all nodes, for a moment.
    unknowns: RefCell<Vec<f64>>,
    rows: OnceCell<SpreadRows>,
    /// Where velocities are those z in which the mass is one.
    pub(super) white: Option<White>,
}

/// Memory of a small island, kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub(super) struct Island {
    white: White,
    mobility: Vec<f64>,
    lengths: Vec<f64>,
    squares: Vec<usize>,
}

/// Rows of G, entry by entry, and where each entry starts.
struct SpreadRows {
    values: Vec<f64>,
    starts: Vec<usize>,
}

impl<'a> System<'a> {
    pub(super) fn new(problem: &'a Problem) -> System<'a> {
        System::with(problem, SHORT)
    }

    /// A small island in coordinates in which its mass is one; `None` where it is not small or has bodies that are thin.
    /// What says how much rounding hides is not to be asked of it.
    pub(super) fn white(problem: &'a Problem, room: &mut Island) -> Option<System<'a>> {
        if !thin_bodies(problem).is_empty() || !room.white.fill(problem) {
            return None;
        }
        let mut system = System::bare(problem, room);
        system.white = Some(std::mem::take(&mut room.white));
        Some(system.scaled())
    }

    /// Gives the memory back that a small island can use again.
    pub(super) fn give_back(self, room: &mut Island) {
        if let Some(white) = self.white {
            *room = Island {
                white,
                mobility: self.mobility,
                lengths: self.lengths,
                squares: self.squares,
            };
        }
    }

    /// The same with trees of more than so many velocities taken apart.
    pub(super) fn with(problem: &'a Problem, long: usize) -> System<'a> {
        let mut system = System::bare(problem, &mut Island::default());
        if let Form::Primal(primal) = problem.form() {
            system.spread = Spread::new(problem, primal, long);
        }
        for (b, mass) in system
            .primal()
            .iter()
            .flat_map(|p| p.mass().iter().enumerate())
        {
            if let MassBlock::Tree(tree) = mass
                && tree.written().is_none()
                && !system.spread.is_apart(b)
            {
                system.plain_trees.push((b, tree.matrix()));
            }
        }
        system.scaled()
    }

    /// What is known of the blocks alone.
    fn bare(problem: &'a Problem, room: &mut Island) -> System<'a> {
        let blocks = problem.blocks();
        let thin = thin_bodies(problem);
        let (mut squares, mut mobility, mut lengths) = (
            std::mem::take(&mut room.squares),
            std::mem::take(&mut room.mobility),
            std::mem::take(&mut room.lengths),
        );
        squares.clear();
        squares.push(0);
        mobility.clear();
        lengths.clear();
        for (k, block) in blocks.iter().enumerate() {
            squares.push(squares[k] + block.n_rows * block.n_rows);
            let d = problem.diagonal_blocks().block(k);
            let mean = |rows: std::ops::Range<usize>| {
                let count = rows.len() as f64;
                rows.map(|i| d[i * block.n_rows + i]).sum::<f64>() / count
            };
            let spins = block.law.spin_rows(block.n_rows);
            let plain = mean(0..spins.start);
            mobility.push(match spins.is_empty() && is_on(problem, &thin, k) {
                true => harmonic_mean(d, block.n_rows).unwrap_or(plain).min(plain),
                false => plain,
            });
            if !spins.is_empty() {
                // ℓ² = D/D_spin: the square of a radius of gyration.
                lengths.resize(block.start, 1.0);
                lengths.resize(block.start + spins.start, 1.0);
                let length = (mobility[k] / mean(spins)).sqrt();
                let usual = 0.0 < length && length.is_finite();
                lengths.resize(block.rows().end, if usual { length } else { 1.0 });
            }
        }
        let stiffest = mobility.iter().copied().fold(0.0, f64::max);
        let stiffest = if 0.0 < stiffest { stiffest } else { 1.0 };
        for mobility in &mut mobility {
            if !(0.0 < *mobility) {
                *mobility = stiffest;
            }
        }
        // Matrices may be nearly singular to all digits of a file: with more softness steps along those rows creep.
        let hold = match problem.form() {
            Form::Primal(_) => JOINT_SOFTNESS,
            Form::Dual(_) => 1e-5 * JOINT_SOFTNESS,
        };
        System {
            problem,
            mobility,
            stiffest,
            hold: hold * stiffest,
            scale: 1.0,
            lengths,
            squares,
            spread: Spread::default(),
            plain_trees: Vec::new(),
            thin,
            unknowns: RefCell::default(),
            rows: OnceCell::new(),
            white: None,
        }
    }

    /// With the velocity scale. Rows that are far from closing, such as limits of joints, say nothing about the others.
    fn scaled(mut self) -> System<'a> {
        let scale = self.natural(None, self.problem.c());
        if 0.0 < scale && scale.is_finite() {
            self.scale = scale;
        }
        self
    }

    /// Rows of G over the coordinates of each mass: written out when a factorisation first asks for them.
    fn rows(&self) -> &SpreadRows {
        self.rows.get_or_init(|| {
            let mut spread = SpreadRows {
                values: Vec::new(),
                starts: vec![0],
            };
            if let Some(primal) = self.primal() {
                for e in 0..primal.jacobian().n_entries() {
                    primal.write_rows(e, &mut spread.values);
                    spread.starts.push(spread.values.len());
                }
            }
            spread
        })
    }

    pub(super) fn blocks(&self) -> &'a [Block] {
        self.problem.blocks()
    }

    pub(super) fn n_rows(&self) -> usize {
        self.problem.n_rows()
    }

    /// Numbers of a velocity, or of z.
    pub(super) fn n_velocities(&self) -> usize {
        match &self.white {
            Some(white) => white.width(),
            None => self.problem.n_velocities(),
        }
    }

    pub(super) fn primal(&self) -> Option<&'a Primal> {
        match self.problem.form() {
            Form::Primal(primal) => Some(primal),
            Form::Dual(_) => None,
        }
    }

    /// Rows of entry e over the coordinates of its mass.
    pub(super) fn entry_rows(&self, e: usize) -> &[f64] {
        let rows = self.rows();
        &rows.values[rows.starts[e]..rows.starts[e + 1]]
    }

    /// The length that makes a row of spin a velocity; 1 for other rows [m].
    pub(super) fn length(&self, row: usize) -> f64 {
        self.lengths.get(row).copied().unwrap_or(1.0)
    }

    /// That of the rows of spin of a block, which are its last.
    pub(super) fn length_of(&self, block: &Block) -> f64 {
        self.length(block.rows().end - 1)
    }

    /// Part of a square array that belongs to block k.
    pub(super) fn square(&self, k: usize) -> std::ops::Range<usize> {
        self.squares[k]..self.squares[k + 1]
    }

    /// Blocks of three rows at points of bodies; all others are in `spread`.
    pub(super) fn pairs(&self) -> impl Iterator<Item = usize> + Clone {
        self.spread.pairs.iter().map(|k| *k as usize)
    }

    /// w ← G v, without Σ and q.
    pub(super) fn row_change(&self, v: &[f64], w: &mut [f64]) {
        w.fill(0.0);
        self.add_row_velocity(v, w);
    }

    /// w ← w + G v.
    fn add_row_velocity(&self, v: &[f64], w: &mut [f64]) {
        if let Some(white) = &self.white {
            return white.add_rows(v, w);
        }
        let Some(primal) = self.primal() else { return };
        let jacobian = primal.jacobian();
        for k in self.pairs() {
            let Some(point) = jacobian.point(k) else {
                continue;
            };
            // u = (ẋ + ω × arm) of the first body minus that of the second; wᵢ ← wᵢ + dᵢ·u
            let mut u = DVec3::ZERO;
            for (b, arm, side) in point.ends() {
                u += point_velocity(&v[primal.columns(b)], arm) * side.sign();
            }
            let w = &mut w[self.blocks()[k].rows()];
            for (w, d) in w.iter_mut().zip(point.directions) {
                *w += DVec3::from_array(*d).dot(u);
            }
        }
        let mut room = self.unknowns.borrow_mut();
        let y = match self.spread.trees.is_empty() {
            true => v,
            // Links of long trees are asked once, and not by every row.
            false => {
                room.resize(self.spread.offsets.last().copied().unwrap_or(0), 0.0);
                self.spread.spread_velocities(primal, v, &mut room);
                &room
            }
        };
        for other in &self.spread.others {
            let w = &mut w[self.blocks()[other.block].rows()];
            for end in self.spread.ends(other) {
                let y = &y[self.spread.offsets[end.node]..self.spread.offsets[end.node + 1]];
                mul_add(self.spread.rows(end), y, w);
            }
        }
    }

    /// f ← f + Gᵀx.
    pub(super) fn add_impulse(&self, x: &[f64], f: &mut [f64]) {
        if let Some(white) = &self.white {
            return white.add_impulse(x, f);
        }
        let Some(primal) = self.primal() else { return };
        let jacobian = primal.jacobian();
        for k in self.pairs() {
            let Some(point) = jacobian.point(k) else {
                continue;
            };
            // ±(Σ dᵢxᵢ, arm × Σ dᵢxᵢ)
            let sum = force(point.directions, &x[self.blocks()[k].rows()]);
            for (b, arm, side) in point.ends() {
                let push = sum * side.sign();
                let torque = arm.cross(push);
                let wrench = [push.x, push.y, push.z, torque.x, torque.y, torque.z];
                let f = &mut f[primal.columns(b)];
                f.iter_mut().zip(wrench).for_each(|(f, x)| *f += x);
            }
        }
        let add_others = |y: &mut [f64]| {
            for other in &self.spread.others {
                let x = &x[self.blocks()[other.block].rows()];
                for end in self.spread.ends(other) {
                    let own = self.spread.offsets[end.node]..self.spread.offsets[end.node + 1];
                    mul_transposed_add(self.spread.rows(end), x, &mut y[own]);
                }
            }
        };
        if self.spread.trees.is_empty() {
            return add_others(f);
        }
        let y = &mut *self.unknowns.borrow_mut();
        y.clear();
        y.resize(self.spread.offsets.last().copied().unwrap_or(0), 0.0);
        add_others(y);
        self.spread.gather_forces(primal, y, f);
    }

    /// v ← v¹ + M⁻¹Gᵀλ.
    pub(super) fn velocity(&self, lambda: &[f64], v: &mut [f64]) {
        let Some(primal) = self.primal() else { return };
        v.fill(0.0);
        self.add_impulse(lambda, v);
        // z is counted from that of v¹.
        if self.white.is_some() {
            return;
        }
        self.solve_mass(v);
        let free = primal.free_velocity().iter();
        v.iter_mut().zip(free).for_each(|(v, free)| *v += free);
    }

    /// w ← G v + Σλ − q, or S λ + c.
    pub(super) fn row_velocity(&self, v: &[f64], lambda: &[f64], w: &mut [f64]) {
        let Some(primal) = self.primal() else {
            return self.problem.row_velocity(v, lambda, w);
        };
        let rows = primal.sigma().iter().zip(lambda);
        let rows = w.iter_mut().zip(rows);
        match self.white.is_some() {
            // w = X z + c + Σλ
            true => rows
                .zip(self.problem.c())
                .for_each(|((w, (sigma, lambda)), c)| *w = sigma * lambda + c),
            false => rows
                .zip(primal.q())
                .for_each(|((w, (sigma, lambda)), q)| *w = sigma * lambda - q),
        }
        self.add_row_velocity(v, w);
    }

    /// f ← M v.
    pub(super) fn momentum(&self, v: &[f64], f: &mut [f64]) {
        let Some(primal) = self.primal() else { return };
        for (b, mass) in primal.mass().iter().enumerate() {
            let columns = primal.columns(b);
            mass.mul(&v[columns.clone()], &mut f[columns]);
        }
    }

    /// r_d ← M v − p − Gᵀλ. `negative` is work space as long as λ.
    pub(super) fn imbalance(&self, v: &[f64], lambda: &[f64], negative: &mut [f64], r: &mut [f64]) {
        let Some(primal) = self.primal() else { return };
        // z is never anything but that of λ.
        if self.white.is_some() {
            return r.fill(0.0);
        }
        self.momentum(v, r);
        r.iter_mut().zip(primal.p()).for_each(|(r, p)| *r -= p);
        for &b in &self.thin {
            r[primal.columns(b)].fill(0.0);
        }
        negative.iter_mut().zip(lambda).for_each(|(n, x)| *n = -x);
        self.add_impulse(negative, r);
        // M (v − v¹ − M⁻¹Gᵀλ): zero where the judge sees none, for answers are judged by M⁻¹ and v¹.
        for &b in &self.thin {
            let (columns, mass) = (primal.columns(b), &primal.mass()[b]);
            let r = &mut r[columns.clone()];
            mass.solve(r);
            let given = v[columns.clone()]
                .iter()
                .zip(&primal.free_velocity()[columns]);
            let off = r.iter().zip(given).map(|(r, (v, free))| v - free + r);
            let off: Vec<f64> = off.collect();
            mass.mul(&off, r);
        }
    }

    /// f ← M⁻¹f.
    pub(super) fn solve_mass(&self, f: &mut [f64]) {
        let (Some(primal), None) = (self.primal(), &self.white) else {
            return;
        };
        for (b, mass) in primal.mass().iter().enumerate() {
            mass.solve(&mut f[primal.columns(b)]);
        }
    }

    /// M of a mass block that is no free body and not taken apart, row-major.
    pub(super) fn matrix<'b>(&'b self, b: usize, mass: &'b MassBlock) -> &'b [f64] {
        let plain = || self.plain_trees.iter().find(|(tree, _)| *tree == b);
        match mass {
            MassBlock::Rigid(_) => &[],
            MassBlock::Dense(dense) => dense.matrix(),
            MassBlock::Tree(tree) => match tree.written() {
                Some(matrix) => matrix,
                None => plain().map_or(&[], |(_, matrix)| &matrix[..]),
            },
        }
    }

    /// What rounding leaves of row velocities under these impulses: 8ε of the largest sum of absolute terms,
    /// max_k Σ_b |G_kb| |M_b⁻¹| Σ_j |G_jb|ᵀ|λ_j|, or of |S||λ| [m/s].
    pub(super) fn floor(&self, lambda: &[f64]) -> f64 {
        let mut largest: f64 = 0.0;
        match self.problem.form() {
            Form::Primal(primal) => {
                let mut f = vec![0.0; self.problem.n_velocities()];
                let entries = |k: usize| primal.jacobian().entry_range(k);
                for (k, block) in self.blocks().iter().enumerate() {
                    for e in entries(k) {
                        let columns = primal.columns(primal.jacobian().entry_mass(e));
                        let rows = self.entry_rows(e).chunks_exact(columns.len());
                        for (row, x) in rows.zip(&lambda[block.rows()]) {
                            for (f, g) in f[columns.clone()].iter_mut().zip(row) {
                                *f += (g * x).abs();
                            }
                        }
                    }
                }
                self.solve_mass(&mut f);
                for k in 0..self.blocks().len() {
                    let n = self.blocks()[k].n_rows;
                    let mut sums = vec![0.0; n];
                    for e in entries(k) {
                        let columns = primal.columns(primal.jacobian().entry_mass(e));
                        let rows = self.entry_rows(e).chunks_exact(columns.len());
                        for (row, sum) in rows.zip(&mut sums) {
                            let terms = row.iter().zip(&f[columns.clone()]);
                            *sum += terms.map(|(g, v)| (g * v).abs()).sum::<f64>();
                        }
                    }
                    largest = sums.into_iter().fold(largest, f64::max);
                }
            }
            Form::Dual(matrix) => {
                for k in 0..matrix.n_blocks() {
                    for i in 0..matrix.rows(k).len() {
                        let row = matrix.block_row(k).map(|(j, values)| {
                            let x = &lambda[matrix.rows(j)];
                            let s = &values[i * x.len()..(i + 1) * x.len()];
                            s.iter().zip(x).map(|(s, x)| (s * x).abs()).sum::<f64>()
                        });
                        largest = largest.max(row.sum());
                    }
                }
            }
        }
        8.0 * f64::EPSILON * largest.max(self.problem.velocity_scale())
    }

    /// The largest natural residual of the impulses, v following from them [m/s]. Fills v and w.
    pub(super) fn residual(&self, lambda: &[f64], v: &mut [f64], w: &mut [f64]) -> f64 {
        self.velocity(lambda, v);
        self.row_velocity(v, lambda, w);
        self.natural(Some(lambda), w)
    }
}

/// Bodies that are thin.
fn thin_bodies(problem: &Problem) -> Vec<usize> {
    let Form::Primal(primal) = problem.form() else {
        return Vec::new();
    };
    let is_thin =
        |mass: &MassBlock| matches!(mass, MassBlock::Rigid(body) if THIN < body.thinness());
    let masses = primal.mass().iter().enumerate();
    masses
        .filter_map(|(b, mass)| is_thin(mass).then_some(b))
        .collect()
}

/// Whether block k acts on one of these bodies.
fn is_on(problem: &Problem, bodies: &[usize], k: usize) -> bool {
    let Form::Primal(primal) = problem.form() else {
        return false;
    };
    let mut entries = primal.jacobian().entry_range(k);
    !bodies.is_empty() && entries.any(|e| bodies.contains(&primal.jacobian().entry_mass(e)))
}

/// n/tr D⁻¹.
fn harmonic_mean(d: &[f64], n: usize) -> Option<f64> {
    let (mut inverse, mut work) = (d.to_vec(), vec![0.0; 2 * n * n]);
    let regular = invert(&mut inverse, n, &mut work);
    let trace: f64 = inverse.iter().step_by(n + 1).sum();
    (regular && 0.0 < trace && trace.is_finite()).then(|| n as f64 / trace)
}
