//! Bounded rows over a dense M⁻¹, and complementarity problems.

use delassus::math::Random;
use serde_json::{Value, json};

use super::{Variant, log, once_in, whole};

/// n × n as rows.
type Matrix = Vec<Vec<f64>>;

/// B D Bᵀ with a random B and so many entries of D that are not zero.
fn gram(random: &mut Random, n: usize, rank: usize, spread: f64) -> Matrix {
    let b: Matrix = (0..n)
        .map(|_| (0..rank).map(|_| random.range(-1.0, 1.0)).collect())
        .collect();
    let d: Vec<f64> = (0..rank).map(|_| log(random, 1.0 / spread, 1.0)).collect();
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..rank).map(|k| b[i][k] * d[k] * b[j][k]).sum();
            a[i][j] = sum;
            a[j][i] = sum;
        }
    }
    a
}

/// How far apart the eigenvalues of a matrix are drawn.
fn spread(random: &mut Random, variant: Variant) -> f64 {
    match variant {
        Variant::Thin => log(random, 1e4, 1e12),
        Variant::Ratio => 1e6,
        _ => 10.0,
    }
}

pub(super) fn rows(random: &mut Random, variant: Variant) -> Value {
    let n = whole(random, 1, 8);
    let wide = spread(random, variant);
    let mut inverse = gram(random, n, n, wide);
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] += 1.0 / wide;
        row.iter_mut()
            .for_each(|x| *x *= 1.0 / (variant.length() * variant.length()));
    }
    let most = if variant == Variant::Redundant {
        3 * n
    } else {
        n
    };
    let m = whole(random, 1, most);
    let mut g: Matrix = (0..m)
        .map(|_| (0..n).map(|_| random.range(-1.0, 1.0)).collect())
        .collect();
    if variant == Variant::Duplicated {
        for i in 0..m {
            g.push(g[i].clone());
        }
    }
    // Rows agree with one velocity, so that there is an answer.
    let known: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
    let speed = log(random, 1e-2, 1e2);
    let v1: Vec<f64> = (0..n).map(|_| speed * random.range(-1.0, 1.0)).collect();
    let (mut q, mut lo, mut hi, mut sigma) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &g {
        let met: f64 = row.iter().zip(&known).map(|(g, v)| g * v).sum();
        let reach = log(random, 1e-3, 10.0);
        // An equality whose row is not independent holds up to the rounding of q alone, unless q is zero.
        let (least, bounds) = match random.below(4) {
            0 if once_in(random, 2) => (0.0, (json!(null), json!(null))),
            0 | 1 => (met - random.range(0.0, 1.0), (json!(0.0), json!(null))),
            2 => (met, (json!(-reach), json!(reach))),
            _ => (met, (json!(-reach), json!(2.0 * reach))),
        };
        // A unilateral row beside equalities with q = 0 must hold at v = 0.
        q.push(if bounds.1.is_null() {
            least.min(0.0)
        } else {
            least
        });
        lo.push(bounds.0);
        hi.push(bounds.1);
        sigma.push(match variant {
            Variant::Soft => log(random, 1e-9, 1.0),
            _ => 0.0,
        });
    }
    json!({"schema": "delassus-problem-1", "kind": "rows", "Minv": inverse, "v1": v1, "G": g, "q": q, "sigma": sigma,
           "lo": lo, "hi": hi})
}

pub(super) fn lcp(random: &mut Random, variant: Variant) -> Value {
    let n = whole(random, 1, 12);
    let rank = match variant {
        Variant::Redundant | Variant::Duplicated => whole(random, 1, n),
        _ => n,
    };
    let wide = spread(random, variant);
    let mut matrix = gram(random, n, rank, wide);
    if once_in(random, 2) {
        // A skew part keeps it monotone.
        for i in 0..n {
            for j in 0..i {
                let skew = random.range(-1.0, 1.0);
                matrix[i][j] += skew;
                matrix[j][i] -= skew;
            }
        }
    }
    if variant == Variant::Soft {
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += log(random, 1e-9, 1.0);
        }
    }
    let unit = variant.length();
    matrix.iter_mut().flatten().for_each(|x| *x *= unit);
    // A known answer: z and w are not both positive.
    let (mut z, mut w) = (vec![0.0; n], vec![0.0; n]);
    for i in 0..n {
        match random.below(3) {
            0 => z[i] = log(random, 1e-2, 1e1),
            1 => w[i] = unit * log(random, 1e-2, 1e1),
            _ => {}
        }
    }
    let q: Vec<f64> = (0..n)
        .map(|i| w[i] - matrix[i].iter().zip(&z).map(|(m, z)| m * z).sum::<f64>())
        .collect();
    json!({"schema": "delassus-problem-1", "kind": "lcp", "M": matrix, "q": q})
}
