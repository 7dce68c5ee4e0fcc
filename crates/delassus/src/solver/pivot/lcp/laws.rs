//! Laws as complementary pairs: a constraint problem with its matrix written out.   [Lemke05 (7), (8)]
//!
//! Impulses are combinations of unknowns, λ = λ⁰ + Bz, and the pairs follow row by row:
//!
//! | law | unknowns | pairs |
//! |---|---|---|
//! | equality | z free | w = 0 |
//! | unilateral | θ | w ⟂ θ |
//! | interval | z = λ − lo, u | w + u ⟂ z, hi − lo − z ⟂ u; one of them where a bound is infinite |
//! | facets | θ, φ_j, s | w_n ⟂ θ, d_j·w_t + s ⟂ φ_j, μθ − Σφ_j ⟂ s |
//! | box | θ, and φ₊, φ₋, s for each tangent | the same with d = ±t |
//!
//! and with c the row velocities without impulses, S the Delassus matrix and K the entries that the table shows beside w:
//!
//! ```text
//! M = BᵀSB + K,   q = Bᵀ(Sλ⁰ + c) + constants
//! ```
//!
//! How this differs from the source: (1) all laws, not contacts alone; (2) a round or elliptic cone becomes facets
//! inscribed in it, whose number the solver's option `directions` gives. Cost: O(n²) products of B with S.

use super::Lcp;
use super::wide::WideLcp;
use crate::index::BlockId;
use crate::law::{Law, facets};
use crate::linalg::Twofold;
use crate::problem::Problem;

/// The complementarity problem of some blocks of a problem, and the way back to their impulses.
pub(crate) struct WrittenOut {
    pub(crate) lcp: Lcp,
    /// Rows of the whole problem, in local order.
    rows: Vec<usize>,
    pairs: Pairs,
}

/// A column of B: local rows and the share in each.
type Shares = Vec<(usize, f64)>;

/// Unknowns and pairs while they are gathered.
#[derive(Default)]
struct Pairs {
    /// Shares of each unknown in the local rows: a column of B.
    shares: Vec<Shares>,
    free: Vec<bool>,
    /// Entries of M beside BᵀSB, and of q beside Bᵀ(Sλ⁰ + c).
    links: Vec<(usize, usize, f64)>,
    constants: Vec<f64>,
    /// λ⁰ by local row.
    shift: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, shares: Shares) -> usize {
        self.shares.push(shares);
        self.free.push(false);
        self.constants.push(0.0);
        self.shares.len() - 1
    }

    fn law(&mut self, law: &Law, row: usize, n_rows: usize, directions: u32) {
        match *law {
            Law::Equality => self.equalities(row, n_rows),
            Law::Unilateral => {
                for i in row..row + n_rows {
                    self.add(vec![(i, 1.0)]);
                }
            }
            Law::Interval { lo, hi } => {
                for i in row..row + n_rows {
                    self.interval(i, lo, hi);
                }
            }
            Law::FrictionBox { mu } => {
                let normal = self.add(vec![(row, 1.0)]);
                for i in row + 1..row + n_rows {
                    self.friction(normal, mu, [1.0, -1.0].map(|sign| vec![(i, sign)]));
                }
            }
            Law::FrictionCone { mu } => self.facets(row, n_rows, mu, [1.0; 2], directions),
            Law::EllipticCone { mu } => self.facets(row, n_rows, 1.0, mu, directions),
            Law::FrictionFacets { mu, directions } => {
                self.facets(row, n_rows, mu, [1.0; 2], directions);
            }
            // Refused before: no pairs, hence no impulse.
            Law::RollingCone { .. }
            | Law::RollingSpinning { .. }
            | Law::TorsionalCone { .. }
            | Law::EllipsoidCone { .. } => {}
        }
    }

    fn equalities(&mut self, row: usize, n_rows: usize) {
        for i in row..row + n_rows {
            let free = self.add(vec![(i, 1.0)]);
            self.free[free] = true;
        }
    }

    fn interval(&mut self, row: usize, lo: f64, hi: f64) {
        if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
            return self.equalities(row, 1);
        }
        if lo == f64::NEG_INFINITY {
            self.shift[row] = hi;
            self.add(vec![(row, -1.0)]);
            return;
        }
        self.shift[row] = lo;
        if lo == hi {
            return;
        }
        let z = self.add(vec![(row, 1.0)]);
        if hi < f64::INFINITY {
            let u = self.add(Vec::new());
            self.links.extend([(z, u, 1.0), (u, z, -1.0)]);
            self.constants[u] = hi - lo;
        }
    }

    fn facets(&mut self, row: usize, n_rows: usize, mu: f64, scale: [f64; 2], directions: u32) {
        let normal = self.add(vec![(row, 1.0)]);
        if n_rows == 2 {
            // In the plane the cone has two edges and no facets are needed.
            return self.friction(normal, mu, [1.0, -1.0].map(|sign| vec![(row + 1, sign)]));
        }
        let shares = (0..directions.max(3)).map(|j| {
            let [x, y] = facets::direction(j, directions.max(3));
            vec![(row + 1, scale[0] * x), (row + 2, scale[1] * y)]
        });
        self.friction(normal, mu, shares);
    }

    /// Directions that share the bound μθ.
    fn friction(&mut self, normal: usize, mu: f64, directions: impl IntoIterator<Item = Shares>) {
        if mu == 0.0 {
            return;
        }
        let first = self.shares.len();
        for shares in directions {
            self.add(shares);
        }
        let slip = self.add(Vec::new());
        for j in first..slip {
            self.links.extend([(j, slip, 1.0), (slip, j, -1.0)]);
        }
        self.links.push((slip, normal, mu));
    }
}

impl Lcp {
    /// The complementarity problem that a constraint problem is, written out: λ = Bz with z as the laws need it,
    /// round and elliptic cones as `directions` facets. It takes 8 bytes for each pair of unknowns.
    pub fn of_problem(problem: &Problem, directions: u32) -> Lcp {
        let blocks: Vec<BlockId> = (0..problem.blocks().len() as u32).map(BlockId).collect();
        WrittenOut::new(problem, &blocks, directions).lcp
    }
}

impl WrittenOut {
    /// The pairs of the given blocks, round and elliptic cones as `directions` facets.
    pub(crate) fn new(problem: &Problem, blocks: &[BlockId], directions: u32) -> WrittenOut {
        let mut pairs = Pairs::default();
        let mut rows = Vec::new();
        for id in blocks {
            let block = &problem.blocks()[id.index()];
            let start = rows.len();
            rows.extend(block.rows());
            pairs.shift.resize(rows.len(), 0.0);
            pairs.law(&block.law, start, block.n_rows, directions);
        }
        let s = problem.delassus_of(blocks);
        let n_rows = rows.len();
        let n = pairs.shares.len();
        let mut columns = vec![0.0; n * n];
        let mut image = vec![0.0; n_rows];
        let combined = |shares: &[(usize, f64)], x: &[f64]| -> f64 {
            shares.iter().map(|&(i, share)| share * x[i]).sum()
        };
        for (j, shares) in pairs
            .shares
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.is_empty())
        {
            for (i, image) in image.iter_mut().enumerate() {
                *image = combined(shares, &s[i * n_rows..(i + 1) * n_rows]);
            }
            for (i, shares) in pairs.shares.iter().enumerate() {
                columns[j * n + i] = combined(shares, &image);
            }
        }
        for &(i, j, value) in &pairs.links {
            columns[j * n + i] += value;
        }
        for (i, image) in image.iter_mut().enumerate() {
            let row = &s[i * n_rows..(i + 1) * n_rows];
            *image = problem.c()[rows[i]] + crate::math::dot(row, &pairs.shift);
        }
        let q = pairs.shares.iter().zip(&pairs.constants);
        let q = q
            .map(|(shares, constant)| combined(shares, &image) + constant)
            .collect();
        WrittenOut {
            lcp: Lcp::from_columns(columns, q, pairs.free.clone()),
            rows,
            pairs,
        }
    }

    /// About how many unknowns the problem of the given blocks has.
    pub(crate) fn count(problem: &Problem, blocks: &[BlockId], directions: u32) -> usize {
        let unknowns = |id: &BlockId| {
            let block = &problem.blocks()[id.index()];
            match block.law {
                Law::FrictionFacets { directions, .. } => 2 + directions as usize,
                Law::FrictionCone { .. } | Law::EllipticCone { .. } => 2 + directions as usize,
                _ => 2 * block.n_rows,
            }
        };
        blocks.iter().map(unknowns).sum()
    }

    /// Writes the impulses that belong to z into the rows of these blocks.
    pub(crate) fn impulses(&self, z: &[f64], lambda: &mut [f64]) {
        for (&row, shift) in self.rows.iter().zip(&self.pairs.shift) {
            lambda[row] = *shift;
        }
        self.add(z, lambda);
    }

    /// λ += Bz: also how λ grows along a ray.
    pub(crate) fn add(&self, z: &[f64], lambda: &mut [f64]) {
        for (shares, z) in self.pairs.shares.iter().zip(z) {
            for &(i, share) in shares {
                lambda[self.rows[i]] += share * z;
            }
        }
    }

    /// Impulses of the local rows after at most so many pivots in twice the digits, S being that of the same blocks, and how
    /// far they were from an answer before they were rounded \[m/s\].
    pub(crate) fn solve_wide(
        &self,
        problem: &Problem,
        s: &[Twofold],
        most: usize,
    ) -> (Vec<f64>, f64) {
        let Pairs {
            shares,
            free,
            links,
            constants,
            shift,
        } = &self.pairs;
        let (n_rows, n) = (self.rows.len(), shares.len());
        let combined = |shares: &[(usize, f64)], x: &[Twofold]| {
            let terms = shares.iter().map(|&(i, share)| Twofold::from(share) * x[i]);
            terms.fold(Twofold::default(), |sum, x| sum + x)
        };
        let row = |i: usize| &s[i * n_rows..(i + 1) * n_rows];
        // S B, then Bᵀ(S B) + K
        let mut m = vec![Twofold::default(); n * n];
        for (j, column) in shares.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let image: Vec<Twofold> = (0..n_rows).map(|i| combined(column, row(i))).collect();
            for (i, shares) in shares.iter().enumerate() {
                m[i * n + j] = combined(shares, &image);
            }
        }
        for &(i, j, value) in links {
            m[i * n + j] = m[i * n + j] + Twofold::from(value);
        }
        // S λ⁰ + c
        let moved = |i: usize| {
            let terms = row(i)
                .iter()
                .zip(shift)
                .map(|(s, x)| *s * Twofold::from(*x));
            terms.fold(Twofold::from(problem.c()[self.rows[i]]), |sum, x| sum + x)
        };
        let image: Vec<Twofold> = (0..n_rows).map(moved).collect();
        let q = shares.iter().zip(constants);
        let q = q.map(|(shares, constant)| combined(shares, &image) + Twofold::from(*constant));
        let lcp = WideLcp {
            m,
            q: q.collect(),
            free: free.clone(),
        };
        let z = lcp.solve(most);
        let off = lcp.off(&z, |i| !shares[i].is_empty());
        let mut lambda: Vec<Twofold> = shift.iter().map(|x| Twofold::from(*x)).collect();
        for (shares, z) in shares.iter().zip(z) {
            for &(i, share) in shares {
                lambda[i] = lambda[i] + Twofold::from(share) * z;
            }
        }
        (lambda.iter().map(|x| x.rounded()).collect(), off)
    }

    /// Writes impulses of the local rows into those of the whole problem.
    pub(crate) fn put(&self, own: &[f64], lambda: &mut [f64]) {
        self.rows
            .iter()
            .zip(own)
            .for_each(|(row, own)| lambda[*row] = *own);
    }

    /// True where unknown i is the impulse of local row i and nothing else: a plain complementarity problem.
    pub(crate) fn is_plain(&self) -> bool {
        let own = |(i, shares): (usize, &Shares)| shares[..] == [(i, 1.0)];
        self.pairs.shares.len() == self.rows.len()
            && self.pairs.shift.iter().all(|x| *x == 0.0)
            && self.pairs.shares.iter().enumerate().all(own)
    }
}
