//! The judge: velocities, row velocities and the natural map of every law, in 32 digits.
//!
//! The definitions are those of the library's chapters on laws and residuals, written anew; nothing is called from there.

use crate::wide::{Wide, dot};

/// A condition between the impulses and the row velocities of one block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Law {
    /// w = 0.
    Equality,
    /// lo ≤ λ ≤ hi for every row; a bound may be infinite.
    Bounds(f64, f64),
    /// |λ_i| ≤ μ λ_n for each tangent.
    Box(f64),
    /// One disk for every entry: its coefficient and its number of rows. The rows follow the normal.
    Disks(Vec<(f64, usize)>),
    /// An ellipsoid: one coefficient for each row behind the normal.
    Ellipsoid(Vec<f64>),
    /// A cone of so many directions.
    Facets(f64, u32),
}

/// A row of G: the masses it acts on and its coefficients there.
pub(crate) type Row = Vec<(usize, Vec<Wide>)>;

/// Rows that share a law.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The law.
    pub(crate) law: Law,
    /// The rows of G; none where S is given.
    pub(crate) rows: Vec<Row>,
    /// Compliance of each row.
    pub(crate) sigma: Vec<Wide>,
    /// Wanted velocity of each row; without masses, −c.
    pub(crate) q: Vec<Wide>,
}

/// A block of the mass matrix.
#[derive(Clone, Debug)]
pub(crate) struct Mass {
    /// M⁻¹, row-major.
    pub(crate) inverse: Vec<Wide>,
    /// v¹.
    pub(crate) free: Vec<Wide>,
}

/// A problem in 32 digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    /// Diagonal blocks of M; none for a problem that gives S itself.
    pub(crate) masses: Vec<Mass>,
    /// The blocks of rows, in order.
    pub(crate) blocks: Vec<Block>,
    /// S, row-major, where it is given and no mass is.
    pub(crate) matrix: Option<Vec<Wide>>,
}

/// What the judge found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The largest natural-map residual over the blocks \[m/s\].
    pub(crate) law: f64,
    /// ‖v − v¹ − M⁻¹Gᵀλ‖∞ \[m/s\].
    pub(crate) momentum: f64,
    /// ‖v‖∞ \[m/s\].
    pub(crate) speed: f64,
    /// ‖v¹‖∞, what impulses may have cancelled \[m/s\].
    pub(crate) free: f64,
}

impl System {
    /// Number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.blocks.iter().map(|block| block.q.len()).sum()
    }

    /// Judges impulses, and the velocities that came with them; `None` for an answer of the wrong length.
    pub(crate) fn judge(&self, lambda: &[f64], v: &[f64]) -> Option<Verdict> {
        let n_velocities: usize = self.masses.iter().map(|mass| mass.free.len()).sum();
        if lambda.len() != self.n_rows() || v.len() != n_velocities {
            return None;
        }
        let lambda: Vec<Wide> = lambda.iter().map(|x| Wide::from(*x)).collect();
        let implied = self.velocities(&lambda);
        let given = v.iter().map(|v| Wide::from(*v));
        let off = implied.iter().flatten().zip(given);
        let momentum = off.map(|(v, given)| worst((*v - given).abs()));
        let (w, diagonal) = self.row_velocities(&lambda, &implied);
        let lent = self.lent(diagonal);
        let (mut at, mut law) = (0, 0.0_f64);
        for block in &self.blocks {
            let rows = at..at + block.q.len();
            at = rows.end;
            let found = block
                .law
                .natural(&lambda[rows.clone()], &w[rows.clone()], &lent[rows]);
            law = law.max(worst(found));
        }
        Some(Verdict {
            law,
            momentum: momentum.fold(0.0, f64::max),
            speed: v.iter().fold(0.0, |most, v| most.max(v.abs())),
            free: self.fastest_free(),
        })
    }

    /// ‖v¹‖∞.
    fn fastest_free(&self) -> f64 {
        let free = self.masses.iter().flat_map(|mass| &mass.free);
        free.map(|v| worst(v.abs())).fold(0.0, f64::max)
    }

    /// v = v¹ + M⁻¹Gᵀλ, mass by mass.
    fn velocities(&self, lambda: &[Wide]) -> Vec<Vec<Wide>> {
        let zeros = |mass: &Mass| vec![Wide::ZERO; mass.free.len()];
        let mut impulse: Vec<Vec<Wide>> = self.masses.iter().map(zeros).collect();
        let rows = self.blocks.iter().flat_map(|block| &block.rows);
        for (row, lambda) in rows.zip(lambda) {
            for (mass, values) in row {
                for (sum, g) in impulse[*mass].iter_mut().zip(values) {
                    *sum += *g * *lambda;
                }
            }
        }
        let each = self.masses.iter().zip(&impulse);
        each.map(|(mass, impulse)| {
            let moved = mass.respond(impulse).into_iter().zip(&mass.free);
            moved.map(|(change, free)| change + *free).collect()
        })
        .collect()
    }

    /// w = G v + Σλ − q, or S λ + c, and the diagonal of S with the compliance.
    fn row_velocities(&self, lambda: &[Wide], v: &[Vec<Wide>]) -> (Vec<Wide>, Vec<Wide>) {
        let n = lambda.len();
        let (mut w, mut diagonal) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for block in &self.blocks {
            for i in 0..block.q.len() {
                let at = w.len();
                let mut sum = block.sigma[i] * lambda[at] - block.q[i];
                let mut own = block.sigma[i];
                if let Some(s) = &self.matrix {
                    sum += dot(&s[at * n..(at + 1) * n], lambda);
                    own += s[at * n + at];
                }
                for (mass, row) in block.rows.get(i).into_iter().flatten() {
                    sum += dot(row, &v[*mass]);
                    own += dot(row, &self.masses[*mass].respond(row));
                }
                w.push(sum);
                diagonal.push(own.abs());
            }
        }
        (w, diagonal)
    }

    /// The diagonal of S with every entry positive: rows that nothing moves borrow the largest sum of a block.
    fn lent(&self, mut diagonal: Vec<Wide>) -> Vec<Wide> {
        let mut sums = Vec::with_capacity(self.blocks.len());
        let mut at = 0;
        for block in &self.blocks {
            let sum: Wide = diagonal[at..at + block.q.len()].iter().copied().sum();
            at += block.q.len();
            sums.push(sum);
        }
        let most = sums.iter().fold(Wide::ZERO, |most, sum| most.max(*sum));
        let substitute = if Wide::ZERO < most { most } else { Wide::ONE };
        let mut at = 0;
        for (block, sum) in self.blocks.iter().zip(sums) {
            let one_scale = matches!(block.law, Law::Disks(_) | Law::Facets(..));
            for d in &mut diagonal[at..at + block.q.len()] {
                if *d == Wide::ZERO && (sum == Wide::ZERO || !one_scale) {
                    *d = substitute;
                }
            }
            at += block.q.len();
        }
        diagonal
    }
}

impl Mass {
    /// M⁻¹x.
    fn respond(&self, x: &[Wide]) -> Vec<Wide> {
        let n = self.free.len();
        self.inverse
            .chunks_exact(n)
            .map(|row| dot(row, x))
            .collect()
    }
}

/// A residual as a double, infinite where it is not a number.
fn worst(x: Wide) -> f64 {
    match x.rounded() {
        x if x.is_nan() => f64::INFINITY,
        x => x,
    }
}

fn length(x: &[Wide]) -> Wide {
    dot(x, x).sqrt()
}

impl Law {
    /// The natural map: zero exactly where the law holds \[m/s\].
    fn natural(&self, lambda: &[Wide], w: &[Wide], d: &[Wide]) -> Wide {
        match self {
            Law::Equality => length(w),
            Law::Bounds(lo, hi) => {
                let rows = (0..w.len()).map(|i| bounded(lambda[i], w[i], d[i], (*lo, *hi)));
                length(&rows.collect::<Vec<_>>())
            }
            Law::Box(mu) => {
                let reach = (Wide::from(*mu) * lambda[0].max(Wide::ZERO)).max(Wide::ZERO);
                let mut rows = vec![bounded(lambda[0], w[0], d[0], (0.0, f64::INFINITY))];
                for i in 1..w.len() {
                    let z = (lambda[i] - w[i] / d[i]).max(-reach).min(reach);
                    rows.push(d[i] * (lambda[i] - z));
                }
                length(&rows)
            }
            Law::Disks(disks) => {
                let rho = Wide::from(d.len() as f64) / d.iter().copied().sum();
                length(&disks_off(disks, lambda, w, rho))
            }
            Law::Ellipsoid(mu) => ellipsoid(mu, lambda, w, d),
            Law::Facets(mu, directions) => facets((*mu, *directions), lambda, w, d),
        }
    }
}

/// d (λ − clamp(λ − w/d)).
fn bounded(lambda: Wide, w: Wide, d: Wide, (lo, hi): (f64, f64)) -> Wide {
    let mut z = lambda - w / d;
    if lo.is_finite() {
        z = z.max(Wide::from(lo));
    }
    if hi.is_finite() {
        z = z.min(Wide::from(hi));
    }
    d * (lambda - z)
}

/// (λ − P(λ − ρŵ))/ρ with ŵ = w + Σ μ_j|w_j| n and the cone of all disks.
fn disks_off(disks: &[(f64, usize)], lambda: &[Wide], w: &[Wide], rho: Wide) -> Vec<Wide> {
    let mut parts = Vec::new();
    let mut at = 1;
    for (mu, count) in disks {
        parts.push((Wide::from(*mu), at..at + count));
        at += count;
    }
    let mut x: Vec<Wide> = (0..w.len()).map(|i| lambda[i] - rho * w[i]).collect();
    for (mu, rows) in &parts {
        x[0] -= rho * *mu * length(&w[rows.clone()]);
    }
    let long: Vec<Wide> = parts
        .iter()
        .map(|(_, rows)| length(&x[rows.clone()]))
        .collect();
    let a = apex(
        x[0],
        &parts.iter().map(|(mu, _)| *mu).collect::<Vec<_>>(),
        &long,
    );
    let mut z = x.clone();
    z[0] = a;
    for ((mu, rows), long) in parts.iter().zip(&long) {
        if *mu * a < *long {
            for i in rows.clone() {
                z[i] = x[i] * (*mu * a) / *long;
            }
        }
    }
    let off = lambda.iter().zip(&z);
    off.map(|(lambda, z)| (*lambda - *z) / rho).collect()
}

/// The root a ≥ 0 of a − n − Σ μ_j max(0, l_j − μ_j a), which rises with a.
fn apex(n: Wide, mu: &[Wide], long: &[Wide]) -> Wide {
    let mut active = vec![true; mu.len()];
    loop {
        // a = (n + Σ μ_j l_j)/(1 + Σ μ_j²) over the disks that are left.
        let (mut above, mut below) = (n, Wide::ONE);
        for j in (0..mu.len()).filter(|j| active[*j]) {
            above += mu[j] * long[j];
            below += mu[j] * mu[j];
        }
        let a = above / below;
        if !(Wide::ZERO < a) {
            return Wide::ZERO;
        }
        // A disk that does not cut at a root too small does not cut at the root.
        let idle: Vec<usize> = (0..mu.len())
            .filter(|j| active[*j] && long[*j] <= mu[*j] * a)
            .collect();
        if idle.is_empty() {
            return a;
        }
        idle.into_iter().for_each(|j| active[j] = false);
    }
}

/// In rows scaled by their coefficients the cone is round with μ = 1; a row without friction carries nothing.
fn ellipsoid(mu: &[f64], lambda: &[Wide], w: &[Wide], d: &[Wide]) -> Wide {
    let (mut rows, mut speeds, mut trace) = (vec![lambda[0]], vec![w[0]], d[0]);
    let mut idle = Vec::new();
    for (i, mu) in (1..).zip(mu) {
        let mu = Wide::from(*mu);
        if mu == Wide::ZERO {
            idle.push(d[i] * lambda[i]);
            continue;
        }
        rows.push(lambda[i] / mu);
        speeds.push(w[i] * mu);
        trace += mu * mu * d[i];
    }
    let rho = Wide::from(rows.len() as f64) / trace;
    let disks = [(1.0, rows.len() - 1)];
    let mut off = disks_off(&disks, &rows, &speeds, rho);
    off.extend(idle);
    length(&off)
}

/// The three conditions of a cone of flat sides, with the impulse split on its two neighbouring directions.
fn facets((mu, count): (f64, u32), lambda: &[Wide], w: &[Wide], d: &[Wide]) -> Wide {
    let rho = Wide::from(d.len() as f64) / d.iter().copied().sum();
    let mut off = vec![(lambda[0] / rho).min(w[0])];
    // Without friction or without sides there is no impulse but the normal one.
    if mu == 0.0 || count == 0 {
        off.extend([lambda[1] / rho, lambda[2] / rho]);
        return length(&off);
    }
    let angle = |j: u32| Wide::part_of_turn(j, count).sin_cos();
    let directions: Vec<(Wide, Wide)> = (0..count).map(angle).collect();
    let along = |(sin, cos): &(Wide, Wide)| *cos * w[1] + *sin * w[2];
    let slowest = directions.iter().map(along).reduce(Wide::min);
    let slip = (-slowest.expect("a cone with friction has sides")).max(Wide::ZERO);
    // φ on the pair of neighbours that gives it two parts that are not negative.
    let mut phi = vec![Wide::ZERO; directions.len()];
    let mut best: Option<(Wide, usize, [Wide; 2])> = None;
    for j in 0..directions.len() {
        let (s0, c0) = directions[j];
        let (s1, c1) = directions[(j + 1) % directions.len()];
        let area = c0 * s1 - s0 * c1;
        let first = (lambda[1] * s1 - lambda[2] * c1) / area;
        let second = (c0 * lambda[2] - s0 * lambda[1]) / area;
        let least = first.min(second);
        if best.is_none_or(|(most, ..)| most < least) {
            best = Some((least, j, [first, second]));
        }
    }
    if let Some((_, j, parts)) = best {
        phi[j] = parts[0].max(Wide::ZERO);
        phi[(j + 1) % directions.len()] = parts[1].max(Wide::ZERO);
    }
    let sum: Wide = phi.iter().copied().sum();
    for (phi, direction) in phi.iter().zip(&directions) {
        off.push((*phi / rho).min(along(direction) + slip));
    }
    off.push(((Wide::from(mu) * lambda[0] - sum) / rho).min(slip));
    length(&off)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of one kilogram with three velocities on one contact.
    fn contact(law: Law, free: [f64; 3]) -> System {
        let unit = |i: usize| {
            (0..3)
                .map(|j| Wide::from(f64::from(i == j)))
                .collect::<Vec<_>>()
        };
        System {
            masses: vec![Mass {
                inverse: (0..3).flat_map(unit).collect(),
                free: free.map(Wide::from).to_vec(),
            }],
            blocks: vec![Block {
                law,
                rows: (0..3).map(|i| vec![(0, unit(i))]).collect(),
                sigma: vec![Wide::ZERO; 3],
                q: vec![Wide::ZERO; 3],
            }],
            matrix: None,
        }
    }

    #[test]
    fn sliding_sticking_and_lifting_have_no_residual_and_a_wrong_answer_has_one() {
        let round = Law::Disks(vec![(0.5, 2)]);
        let slide = contact(round.clone(), [-1.0, 2.0, 0.0]);
        assert_eq!(
            slide
                .judge(&[1.0, -0.5, 0.0], &[0.0, 1.5, 0.0])
                .map(|v| v.law),
            Some(0.0)
        );
        let wrong = slide
            .judge(&[1.0, -0.4, 0.0], &[0.0, 1.6, 0.0])
            .map(|v| v.law);
        assert!(wrong.is_some_and(|law| 0.05 < law), "{wrong:?}");
        let stick = contact(round.clone(), [-1.0, 0.3, -0.3]);
        assert_eq!(
            stick.judge(&[1.0, -0.3, 0.3], &[0.0; 3]).map(|v| v.law),
            Some(0.0)
        );
        let lift = contact(round, [1.0, 0.3, -0.3]);
        let lifted = lift.judge(&[0.0; 3], &[1.0, 0.3, -0.3]);
        assert_eq!(lifted.map(|v| (v.law, v.momentum)), Some((0.0, 0.0)));
    }

    #[test]
    fn every_law_of_a_sliding_contact_agrees_along_a_tangent() {
        let laws = [
            Law::Disks(vec![(0.5, 2)]),
            Law::Box(0.5),
            Law::Ellipsoid(vec![0.5, 0.2]),
            Law::Facets(0.5, 8),
        ];
        for law in laws {
            let system = contact(law.clone(), [-1.0, 2.0, 0.0]);
            let judged = |t: f64| system.judge(&[1.0, -t, 0.0], &[0.0, 2.0 - t, 0.0]);
            let right = judged(0.5).map(|v| v.law);
            assert!(right.is_some_and(|law| law < 1e-15), "{law:?} {right:?}");
            let wrong = judged(0.3).map(|v| v.law);
            assert!(wrong.is_some_and(|law| 0.01 < law), "{law:?} {wrong:?}");
        }
    }

    #[test]
    fn velocities_that_do_not_follow_from_the_impulses_are_seen() {
        let system = contact(Law::Equality, [1.0, 0.0, 0.0]);
        let verdict = system.judge(&[-1.0, 0.0, 0.0], &[0.25, 0.0, 0.0]);
        assert_eq!(verdict.map(|v| (v.law, v.momentum)), Some((0.0, 0.25)));
        assert_eq!(system.judge(&[0.0; 2], &[0.0; 3]), None);
    }
}
