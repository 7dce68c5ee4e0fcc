//! Problems whose answer is known because it was chosen first.
//!
//! Per block draw z; the impulse is its projection on the law's set and what is left over is the row velocity,
//! so that the pair obeys the law exactly. Then draw masses, rows, a velocity and compliances, and choose p and q
//! so that everything fits: p = M v − Gᵀλ, q = G v + Σλ − w. No reference solver is needed.

use delassus::law::{cone, facets};
use delassus::math::{DMat3, DQuat, DVec3, Random, tangents};
use delassus::problem::jacobian::{point_rows, spin_axes, spin_row};
use delassus::{Law, MassBlock, MassId, Problem, Residual, Solution};

/// A problem with the answer it was built around.
pub(crate) struct Planted {
    pub(crate) problem: Problem,
    pub(crate) answer: Solution,
}

/// What kind of problem to draw.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// Law and number of rows of each block.
    pub(crate) blocks: Vec<(Law, usize)>,
    /// Number of mass blocks.
    pub(crate) masses: usize,
    /// Mass blocks each constraint block acts on.
    pub(crate) touches: usize,
    /// Every second mass is a dense block instead of a rigid body.
    pub(crate) mixed: bool,
    /// Range of the compliances [1/kg].
    pub(crate) sigma: (f64, f64),
}

impl Recipe {
    /// `count` blocks of one law between neighbouring free bodies, one more body than blocks: rows are
    /// independent, so S is regular without compliance.
    pub(crate) fn chain(law: Law, rows: usize, count: usize) -> Recipe {
        Recipe {
            blocks: vec![(law, rows); count],
            masses: count + 1,
            touches: 2,
            mixed: false,
            sigma: (0.0, 0.0),
        }
    }
}

/// The pair (λ, w) that a point z plants for a law.
pub(crate) fn plant(law: &Law, z: &[f64], random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    match *law {
        Law::Equality => (z.to_vec(), vec![0.0; z.len()]),
        Law::Unilateral => clamp(z, 0.0, f64::INFINITY),
        Law::Interval { lo, hi } => clamp(z, lo, hi),
        Law::FrictionBox { mu } => {
            let (mut lambda, mut w) = clamp(&z[..1], 0.0, f64::INFINITY);
            let bound = mu * lambda[0];
            let tangent = clamp(&z[1..], -bound, bound);
            lambda.extend(tangent.0);
            w.extend(tangent.1);
            (lambda, w)
        }
        Law::FrictionCone { mu } => plant_cone(z, mu),
        Law::EllipticCone { mu } => plant_ellipse(z, mu),
        Law::FrictionFacets { mu, directions } => plant_facets(z, mu, directions, random),
        law if law.has_spin_rows() => plant_disks(&law, z),
        _ => panic!("a new law needs its own way to plant"),
    }
}

fn clamp(z: &[f64], lo: f64, hi: f64) -> (Vec<f64>, Vec<f64>) {
    let lambda: Vec<f64> = z.iter().map(|z| z.max(lo).min(hi)).collect();
    let w = lambda.iter().zip(z).map(|(l, z)| l - z).collect();
    (lambda, w)
}

/// λ = Π_K(z), ŵ = λ − z, and De Saxcé's shift taken off again: w_n = ŵ_n − μ|ŵ_t|.
fn plant_cone(z: &[f64], mu: f64) -> (Vec<f64>, Vec<f64>) {
    let mut lambda = z.to_vec();
    cone::project(&mut lambda, mu);
    let mut w: Vec<f64> = lambda.iter().zip(z).map(|(l, z)| l - z).collect();
    w[0] -= mu * w[1..].iter().map(|t| t * t).sum::<f64>().sqrt();
    (lambda, w)
}

/// The circular cone with μ = 1 on rows scaled by μ_i; a row without friction carries nothing and slides freely.
fn plant_ellipse(z: &[f64], mu: [f64; 2]) -> (Vec<f64>, Vec<f64>) {
    let kept: Vec<usize> = (0..2).filter(|&i| 0.0 < mu[i]).collect();
    let mut scaled = vec![z[0]];
    scaled.extend(kept.iter().map(|&i| z[i + 1]));
    let (l, s) = plant_cone(&scaled, 1.0);
    let (mut lambda, mut w) = (vec![l[0], 0.0, 0.0], vec![s[0], z[1], z[2]]);
    for (at, &i) in kept.iter().enumerate() {
        lambda[i + 1] = l[at + 1] * mu[i];
        w[i + 1] = s[at + 1] / mu[i];
    }
    (lambda, w)
}

/// Signorini on the normal; each disk, in rows scaled to the radius λ_n, keeps what fits of z and slides by the rest.
fn plant_disks(law: &Law, z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut lambda, mut w) = (vec![0.0; z.len()], z.to_vec());
    lambda[0] = z[0].max(0.0);
    w[0] = lambda[0] - z[0];
    for disk in law.disks(z.len()) {
        let scaled = disk.rows().zip(disk.mu()).filter(|(_, mu)| 0.0 < **mu);
        let length = scaled.clone().map(|(i, _)| z[i] * z[i]).sum::<f64>().sqrt();
        let share = (lambda[0] / length).min(1.0);
        for (i, mu) in scaled {
            lambda[i] = mu * share * z[i];
            w[i] = (share - 1.0) * z[i] / mu;
        }
    }
    (lambda, w)
}

/// Separation, stick inside the polygon, slip onto one direction, or slip across an edge between two.
fn plant_facets(z: &[f64], mu: f64, d: u32, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    if z[0] < 0.0 {
        return (vec![0.0; 3], vec![-z[0], z[1], z[2]]);
    }
    let j = random.below(d as usize) as u32;
    let (a, b) = (facets::direction(j, d), facets::direction(j + 1, d));
    let share = random.range(0.05, 0.95);
    let slip = random.range(0.1, 1.0);
    let (load, first, w) = match random.below(3) {
        0 => (random.range(0.0, 0.9), share, [0.0, 0.0]),
        // −w_t within half a sector of direction j: the whole friction there.
        1 => {
            let tilt = 0.4 * random.range(-1.0, 1.0);
            let turn = std::f64::consts::TAU * (f64::from(j) + tilt) / f64::from(d);
            (1.0, 1.0, [-slip * turn.cos(), -slip * turn.sin()])
        }
        // −w_t exactly between two directions: any share of each.
        _ => (1.0, share, [-slip * (a[0] + b[0]), -slip * (a[1] + b[1])]),
    };
    let (phi, psi) = (mu * z[0] * load * first, mu * z[0] * load * (1.0 - first));
    let t = |i: usize| phi * a[i] + psi * b[i];
    (vec![z[0], t(0), t(1)], vec![0.0, w[0], w[1]])
}

/// Draws a problem around a drawn answer.
pub(crate) fn planted(recipe: &Recipe, seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let masses: Vec<MassBlock> = (0..recipe.masses)
        .map(|b| {
            if recipe.mixed && b % 2 == 1 {
                dense_mass(&mut random, 2 + b % 3)
            } else {
                rigid_mass(&mut random)
            }
        })
        .collect();
    let v: Vec<Vec<f64>> = masses
        .iter()
        .map(|mass| draw(&mut random, mass.dim()))
        .collect();
    let mut p: Vec<Vec<f64>> = masses
        .iter()
        .zip(&v)
        .map(|(mass, v)| {
            let mut p = vec![0.0; mass.dim()];
            mass.mul(v, &mut p);
            p
        })
        .collect();
    let mut rows = Vec::new();
    let mut lambda = Vec::new();
    for (k, &(law, n_rows)) in recipe.blocks.iter().enumerate() {
        let z = draw(&mut random, n_rows);
        let (l, w) = plant(&law, &z, &mut random);
        let sigma: Vec<f64> = (0..n_rows)
            .map(|_| random.range(recipe.sigma.0, recipe.sigma.1))
            .collect();
        let mut q: Vec<f64> = (0..n_rows).map(|i| sigma[i] * l[i] - w[i]).collect();
        let mut entries = Vec::new();
        let frame = frame(&mut random);
        for t in 0..recipe.touches {
            let b = (k + t) % recipe.masses;
            let sign = if t == 0 { 1.0 } else { -1.0 };
            let values = entry(&mut random, law, n_rows, &masses[b], (frame, sign));
            let dim = masses[b].dim();
            for i in 0..n_rows {
                for j in 0..dim {
                    q[i] += values[i * dim + j] * v[b][j];
                    p[b][j] -= values[i * dim + j] * l[i];
                }
            }
            entries.push((MassId(b as u32), values));
        }
        rows.push((law, entries, sigma, q));
        lambda.extend(l);
    }
    let mut builder = Problem::builder();
    for (mass, p) in masses.into_iter().zip(&p) {
        builder.add_mass(mass, p).unwrap();
    }
    for (law, entries, sigma, q) in &rows {
        let entries: Vec<(MassId, &[f64])> =
            entries.iter().map(|(b, g)| (*b, g.as_slice())).collect();
        builder.add_block(*law, &entries, sigma, q).unwrap();
    }
    Planted {
        problem: builder.build().unwrap(),
        answer: Solution {
            v: v.concat(),
            lambda,
        },
    }
}

/// Rows of a block on one mass: a real contact point where the block is a contact on a rigid body, any numbers
/// else.
fn entry(
    random: &mut Random,
    law: Law,
    n_rows: usize,
    mass: &MassBlock,
    (frame, sign): ([DVec3; 3], f64),
) -> Vec<f64> {
    if law.is_contact() && n_rows == 3 && matches!(mass, MassBlock::Rigid(_)) {
        return point_rows(frame, random.vector() * 0.5, sign).to_vec();
    }
    if 3 < n_rows && law.has_spin_rows() && matches!(mass, MassBlock::Rigid(_)) {
        let mut rows = point_rows(frame, random.vector() * 0.5, sign).to_vec();
        let axes = spin_axes(&law, &frame);
        rows.extend(axes.into_iter().flat_map(|axis| spin_row(axis, sign)));
        return rows;
    }
    draw(random, n_rows * mass.dim())
}

/// Three orthonormal directions (n, t₁, t₂), anyhow turned.
pub(crate) fn frame(random: &mut Random) -> [DVec3; 3] {
    let n = unit(random);
    let (t1, t2) = tangents(n);
    [n, t1, t2]
}

pub(crate) fn unit(random: &mut Random) -> DVec3 {
    loop {
        let x = random.vector();
        if 0.1 < x.length() {
            return x.normalize();
        }
    }
}

pub(crate) fn draw(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.range(-1.0, 1.0)).collect()
}

/// A rotation, anyhow.
pub(crate) fn rotation(random: &mut Random) -> DMat3 {
    DMat3::from_quat(DQuat::from_axis_angle(
        unit(random),
        random.range(-3.0, 3.0),
    ))
}

/// A rigid body of 0.5 to 2 kg with three different moments of inertia about turned axes.
pub(crate) fn rigid_mass(random: &mut Random) -> MassBlock {
    let turn = rotation(random);
    let moments = DVec3::new(
        random.range(0.2, 0.5),
        random.range(0.5, 0.8),
        random.range(0.4, 0.9),
    );
    let inertia = turn * DMat3::from_diagonal(moments) * turn.transpose();
    let inertia = (inertia + inertia.transpose()) * 0.5;
    MassBlock::rigid(random.range(0.5, 2.0), inertia).unwrap()
}

/// A dense symmetric positive definite mass matrix.
pub(crate) fn dense_mass(random: &mut Random, n: usize) -> MassBlock {
    let a = draw(random, n * n);
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            matrix[i * n + j] = (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum();
        }
        matrix[i * n + i] += 0.5;
    }
    MassBlock::dense(matrix).unwrap()
}

/// The law residual of given impulses.
pub(crate) fn law_residual(problem: &Problem, lambda: &[f64]) -> f64 {
    Residual::of(problem, &Solution::from_lambda(problem, lambda.to_vec())).law
}
