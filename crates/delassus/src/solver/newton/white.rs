//! A small island in coordinates in which its mass is one.
//!
//! ```text
//! M = L Lᵀ ,   X = G L⁻ᵀ ,   z = Lᵀ(v − v¹)          z = Xᵀλ ,   w = X z + c + Σλ ,   K = 1 + XᵀAX
//! ```
//!
//! X is made once for a solve. From then on there are neither trees nor bodies, and every product is one with a dense
//! matrix of some dozens of columns, whose rows are filled up with zeros to a multiple of four numbers. Robots with their
//! contacts are such islands.

use glam::{DMat3, DVec3};

use crate::linalg::wide_lu::{MOST_FOURS, WIDTH, WideLu, add_scaled, dot, fours};
use crate::problem::mass::{MassBlock, Rigid};
use crate::problem::{Block, Form, Problem};

/// Most velocities and rows: of more than these, few bodies touch each other directly.
const MOST_VELOCITIES: usize = WIDTH * MOST_FOURS;
const MOST_ROWS: usize = 400;

/// X, rows in fours.
#[derive(Clone, Debug, Default)]
pub(super) struct White {
    x: Vec<[f64; WIDTH]>,
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
            let rows = block.start * width..block.rows().end * width;
            let x = &mut self.x.as_flattened_mut()[rows];
            let entries = primal.jacobian().entry_range(k);
            if primal.mass().len() == 1 && entries.len() == 1 {
                let after = x.chunks_exact_mut(width).map(|x| &mut x[self.n..]);
                after.for_each(|x| x.fill(0.0));
            } else {
                x.fill(0.0);
            }
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
                        for (to, row) in to.zip(written.halves.chunks_exact(mass.dim())) {
                            to.copy_from_slice(row);
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
        pulp::Arch::new().dispatch(Rows { white: self, z, w });
    }

    /// z ← z + Xᵀλ.
    pub(super) fn add_impulse(&self, lambda: &[f64], z: &mut [f64]) {
        pulp::Arch::new().dispatch(Impulse {
            white: self,
            lambda,
            z,
        });
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
    rows: Vec<[f64; WIDTH]>,
    product: Vec<[f64; WIDTH]>,
}

struct Rows<'a> {
    white: &'a White,
    z: &'a [f64],
    w: &'a mut [f64],
}

impl pulp::WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let z = self.z.as_chunks::<WIDTH>().0;
        let rows = self.white.x.chunks_exact(self.white.fours);
        for (w, row) in self.w.iter_mut().zip(rows) {
            *w += dot(row, z);
        }
    }
}

struct Impulse<'a> {
    white: &'a White,
    lambda: &'a [f64],
    z: &'a mut [f64],
}

impl pulp::WithSimd for Impulse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let z = self.z.as_chunks_mut::<WIDTH>().0;
        let rows = self.white.x.chunks_exact(self.white.fours);
        for (lambda, row) in self.lambda.iter().zip(rows) {
            if *lambda != 0.0 {
                add_scaled(z, row, *lambda);
            }
        }
    }
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
        let (mut a, fours) = (self.a, self.white.fours);
        let WhiteLu { lu, product, rows } = self.room;
        product.clear();
        rows.clear();
        for block in self.blocks {
            let n = block.n_rows;
            let square;
            (square, a) = a.split_at(n * n);
            // What carries nothing adds nothing.
            if square.iter().all(|a| *a == 0.0) {
                continue;
            }
            let x = &self.white.x[block.start * fours..block.rows().end * fours];
            rows.extend_from_slice(x);
            // A X
            let start = product.len();
            product.resize(start + n * fours, [0.0; WIDTH]);
            let to = product[start..].chunks_exact_mut(fours);
            for (to, a) in to.zip(square.chunks_exact(n)) {
                for (a, row) in a.iter().zip(x.chunks_exact(fours)) {
                    add_scaled(to, row, *a);
                }
            }
        }
        lu.set_product(rows, product);
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
