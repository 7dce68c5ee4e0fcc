//! A small island in coordinates in which its mass is one.
//!
//! ```text
//! M⁻¹ = T Tᵀ ,   X = G T ,   z = T⁻¹(v − v¹)          z = Xᵀλ ,   w = X z + c + Σλ ,   K = 1 + XᵀAX
//! ```
//!
//! X is made once for a solve. From then on there are neither trees nor bodies, and every product is one with a dense
//! matrix of some dozens of columns, whose rows are filled up with zeros to a multiple of four numbers. Robots with their
//! contacts are such islands.

use glam::{DMat3, DVec3};

use crate::linalg::wide_lu::{
    Four, MOST_FOURS, WIDTH, WideLu, add_impulses, add_products, add_row, add_three_rows, by_fours,
    dot, fours,
};
use crate::problem::mass::{MassBlock, Rigid};
use crate::problem::{Block, Form, Problem};
use crate::solver::sweep::Locals;

/// Most velocities and rows: of more than these, few bodies touch each other directly.
const MOST_VELOCITIES: usize = WIDTH * MOST_FOURS;
const MOST_ROWS: usize = 400;

/// X, rows in fours.
#[derive(Clone, Debug, Default)]
pub(super) struct White {
    x: Vec<Four>,
    /// Fours of a row.
    fours: usize,
    /// Velocities of the island.
    n: usize,
    /// Rows of one entry, for a moment.
    written: Vec<f64>,
}

impl White {
    /// Whether it has so few velocities and rows that X is worth it.
    pub(super) fn is_small(problem: &Problem) -> bool {
        problem.n_velocities() <= MOST_VELOCITIES && problem.n_rows() <= MOST_ROWS
    }

    /// X of a problem; false where it is not small, or where some mass has no factor at hand.
    pub(super) fn fill(&mut self, problem: &Problem) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        self.n = problem.n_velocities();
        self.fours = fours(self.n);
        if !White::is_small(problem) {
            return false;
        }
        // What stands there is overwritten.
        self.x.resize(problem.n_rows() * self.fours, [0.0; WIDTH]);
        let width = WIDTH * self.fours;
        for (k, block) in problem.blocks().iter().enumerate() {
            let x = &mut self.x[block.start * self.fours..block.rows().end * self.fours];
            let entries = primal.jacobian().entry_range(k);
            if let ([mass], 1) = (primal.mass(), entries.len())
                && let Some(written) = primal.jacobian().written(entries.start, mass.dim())
            {
                x.copy_from_slice(written.halves);
                continue;
            }
            let x = x.as_flattened_mut();
            x.fill(0.0);
            for e in entries {
                let b = primal.jacobian().entry_mass(e);
                let (mass, columns) = (&primal.mass()[b], primal.columns(b));
                let to = x.chunks_exact_mut(width).map(|x| &mut x[columns.clone()]);
                match mass {
                    MassBlock::Rigid(body) => {
                        let Some(half) = Half::of(body) else {
                            return false;
                        };
                        self.written.clear();
                        primal.write_rows(e, &mut self.written);
                        for (to, row) in to.zip(self.written.as_chunks::<6>().0) {
                            to.copy_from_slice(&half.times(row));
                        }
                    }
                    MassBlock::Tree(_) | MassBlock::Dense(_) => {
                        let Some(written) = primal.jacobian().written(e, mass.dim()) else {
                            return false;
                        };
                        let rows = written.halves.chunks_exact(fours(mass.dim()));
                        for (to, row) in to.zip(rows) {
                            to.copy_from_slice(&row.as_flattened()[..mass.dim()]);
                        }
                    }
                }
            }
        }
        true
    }

    /// Numbers of z, those that fill it up included.
    pub(super) fn width(&self) -> usize {
        WIDTH * self.fours
    }

    /// w ← w + X z.
    pub(super) fn add_rows(&self, z: &[f64], w: &mut [f64]) {
        add_products(&self.x, z, w);
    }

    /// z ← z + Xᵀλ.
    pub(super) fn add_impulse(&self, lambda: &[f64], z: &mut [f64]) {
        add_impulses(&self.x, lambda, z);
    }

    /// So many Gauss-Seidel sweeps over all blocks: w_k = X_k z + c_k + Σ_kλ_k, λ_k ← the answer of the block alone,
    /// z ← z + X_kᵀdλ_k.
    pub(super) fn sweep(&self, given: Sweeps<'_>) {
        pulp::Arch::new().dispatch(Sweep { white: self, given });
    }

    /// K ← 1 + XᵀAX, with the square of every block in A, one after the other; false where it has no factors.
    pub(super) fn factor(&self, blocks: &[Block], a: &[f64], room: &mut WhiteLu) -> bool {
        room.lu.reset(self.n);
        pulp::Arch::new().dispatch(Sum {
            white: self,
            blocks,
            a,
            room,
        });
        room.lu.factor()
    }
}

/// K and its factors.
#[derive(Clone, Debug, Default)]
pub(super) struct WhiteLu {
    pub(super) lu: WideLu,
    /// Rows of X that carry something, and A X.
    rows: Vec<Four>,
    product: Vec<Four>,
}

struct Sum<'a> {
    white: &'a White,
    blocks: &'a [Block],
    a: &'a [f64],
    room: &'a mut WhiteLu,
}

impl pulp::WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let WhiteLu { lu, product, rows } = self.room;
        by_fours!(
            self.white.fours,
            multiply(&self.white.x, (self.blocks, self.a), rows, product),
            ()
        );
        lu.set_product(rows, product);
    }
}

/// Rows of X that carry something, and A X.
#[inline(always)]
fn multiply<const F: usize>(
    x: &[Four],
    (blocks, mut a): (&[Block], &[f64]),
    rows: &mut Vec<Four>,
    product: &mut Vec<Four>,
) {
    let x = x.as_chunks::<F>().0;
    // What stands there is overwritten, or cut off.
    for array in [&mut *rows, &mut *product] {
        array.resize(x.len() * F, [0.0; WIDTH]);
    }
    let (to, sums) = (rows.as_chunks_mut::<F>().0, product.as_chunks_mut::<F>().0);
    let mut count = 0;
    for block in blocks {
        let n = block.n_rows;
        let square;
        (square, a) = a.split_at(n * n);
        // What carries nothing adds nothing.
        if square.iter().all(|a| *a == 0.0) {
            continue;
        }
        let x = &x[block.rows()];
        let own = to[count..].iter_mut().zip(&mut sums[count..]);
        for ((to, sum), (row, a)) in own.zip(x.iter().zip(square.chunks_exact(n))) {
            *to = *row;
            *sum = [[0.0; WIDTH]; F];
            if let (Some(a), Some(x)) = (a.as_array::<3>(), x.as_array::<3>()) {
                add_three_rows(sum, a, x);
                continue;
            }
            for (a, x) in a.iter().zip(x) {
                add_row(sum, *a, x);
            }
        }
        count += n;
    }
    rows.truncate(count * F);
    product.truncate(count * F);
}

/// What sweeps go over.
pub(super) struct Sweeps<'a> {
    pub(super) count: usize,
    pub(super) blocks: &'a [Block],
    pub(super) locals: &'a Locals,
    pub(super) c: &'a [f64],
    pub(super) sigma: &'a [f64],
    pub(super) lambda: &'a mut [f64],
    /// Row velocities of a block and its new impulses, as long as the largest block.
    pub(super) w: &'a mut [f64],
    pub(super) new: &'a mut [f64],
}

struct Sweep<'a> {
    white: &'a White,
    given: Sweeps<'a>,
}

impl pulp::WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.white.fours, sweep(&self.white.x, self.given), ());
    }
}

#[inline(always)]
fn sweep<const F: usize>(x: &[Four], given: Sweeps<'_>) {
    let (x, lambda) = (x.as_chunks::<F>().0, given.lambda);
    let mut z = [[0.0; WIDTH]; F];
    for (lambda, x) in lambda.iter().zip(x) {
        add_row(&mut z, *lambda, x);
    }
    for _ in 0..given.count {
        for (k, block) in given.blocks.iter().enumerate() {
            let (rows, n) = (block.rows(), block.n_rows);
            let (x, lambda) = (&x[rows.clone()], &mut lambda[rows.clone()]);
            let (c, sigma) = (&given.c[rows.clone()], &given.sigma[rows]);
            if let (Some(contact), Some(x), Some(lambda)) = (
                given.locals.contact(k, n),
                x.as_array::<3>(),
                lambda.as_mut_array::<3>(),
            ) {
                let mut w = [0.0; 3];
                for i in 0..3 {
                    w[i] = sigma[i].mul_add(lambda[i], c[i]) + dot(&x[i], &z);
                }
                let new = contact.solve(&w, lambda);
                let change = std::array::from_fn(|i| new[i] - lambda[i]);
                add_three_rows(&mut z, &change, x);
                *lambda = new;
                // As below.
                std::hint::black_box(&mut z);
                continue;
            }
            let (w, new) = (&mut given.w[..n], &mut given.new[..n]);
            for i in 0..n {
                w[i] = sigma[i].mul_add(lambda[i], c[i]) + dot(&x[i], &z);
            }
            given.locals.solve(k, w, lambda, new);
            for i in 0..n {
                add_row(&mut z, new[i] - lambda[i], &x[i]);
                lambda[i] = new[i];
            }
            // Through memory: from one block to the next the compiler would keep its numbers apart.
            std::hint::black_box(&mut z);
        }
    }
}

/// C of M⁻¹ = C Cᵀ for a free body, C = diag(m^-½ 1₃, C_I), lower triangular.
struct Half {
    linear: f64,
    angular: DMat3,
}

impl Half {
    fn of(body: &Rigid) -> Option<Half> {
        let i = body.inverse_inertia();
        // c_ii² = a_ii − Σ c_ik² ,   c_ij = (a_ij − Σ c_ik c_jk)/c_jj
        let xx = i.x_axis.x.sqrt();
        let (yx, zx) = (i.x_axis.y / xx, i.x_axis.z / xx);
        let yy = (i.y_axis.y - yx * yx).sqrt();
        let zy = (i.y_axis.z - zx * yx) / yy;
        let zz = (i.z_axis.z - zx * zx - zy * zy).sqrt();
        let angular = DMat3::from_cols(
            DVec3::new(xx, yx, zx),
            DVec3::new(0.0, yy, zy),
            DVec3::new(0.0, 0.0, zz),
        );
        let linear = body.inverse_mass().sqrt();
        angular.is_finite().then_some(Half { linear, angular })
    }

    /// Cᵀg.
    fn times(&self, g: &[f64; 6]) -> [f64; 6] {
        let force = DVec3::new(g[0], g[1], g[2]) * self.linear;
        let torque = self.angular.transpose() * DVec3::new(g[3], g[4], g[5]);
        [force.x, force.y, force.z, torque.x, torque.y, torque.z]
    }
}
