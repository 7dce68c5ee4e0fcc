//! Recursions on the trees of the benchmark files: best of many, one thread.
//!
//! `cargo bench -p delassus --bench tree` prints, for each model, µs per call of inverse dynamics, mass matrix,
//! forward dynamics, and the KKT solve with one, two and four six-row contacts, with the residual of the last;
//! then forward dynamics on chains of up to 10 000 links, the growth of J M⁻¹Jᵀ with depth and contacts, and the KKT
//! solve of a snake by the four steps and by propagation. `batch`
//! is forward dynamics of 64 states at once, per state.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a bench prints"
)]

#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/common/trees.rs"]
mod trees;

use std::hint::black_box;
use std::time::Instant;

use delassus::LinkId;
use delassus::math::{DVec3, Random};
use delassus::solver::exact::kkt::TreeKkt;
use delassus::tree::spatial::Pose;
use delassus::tree::{
    Batch, Data, Elimination, KktGiven, KktUnknowns, Link, LinkPoint, Propagation, Tree, TreeJoint,
    TreeRows,
};
use trees::{random_body, random_configuration, random_vector, weld};

const MODELS: [&str; 10] = [
    "panda",
    "solo12",
    "g1",
    "talos",
    "icub",
    "talos_full",
    "beads40",
    "chain100",
    "tree63",
    "tree255",
];
const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// Least time of one call over many rounds \[µs\].
fn best(call: impl FnMut()) -> f64 {
    best_of(50, call)
}

/// The least mean time of so many calls in a row, over 10 000 calls in all \[µs\].
fn best_of(calls: u32, mut call: impl FnMut()) -> f64 {
    (0..10_000 / calls)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

fn contact_rows(tree: &Tree, data: &Data, rows: &mut TreeRows, contacts: &[(LinkId, DVec3)]) {
    rows.clear();
    for &contact in contacts {
        weld(tree, data, rows, contact);
    }
}

fn model(name: &str) {
    let Some((tree, contacts)) = trees::benchmark(name) else {
        return;
    };
    let n = tree.n_dofs();
    let mut random = Random::new(1);
    let q = random_configuration(&mut random, &tree);
    let v = random_vector(&mut random, n);
    let tau = random_vector(&mut random, n);
    let mut data = tree.data();
    let (mut out, mut m) = (vec![0.0; n], vec![0.0; n * n]);
    let rnea = best(|| {
        tree.inverse_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut out)
            .unwrap();
        black_box(&out);
    });
    let crba = best(|| {
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        black_box(&m);
    });
    let aba = best(|| {
        tree.forward_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut out)
            .unwrap();
        black_box(&out);
    });
    let batch = batch(&tree, &mut random);
    let mut line = format!("{name:>11} {n:>4} {rnea:>8.2} {crba:>8.2} {aba:>8.2} {batch:>8.2}");
    let (mut kkt, mut rows) = (TreeKkt::default(), TreeRows::default());
    for count in [1, 2, 4] {
        let Some(contacts) = contacts.get(..count) else {
            line += "        –";
            continue;
        };
        let (zeros, mut x2) = (vec![0.0; 6 * count], vec![0.0; 6 * count]);
        let time = best(|| {
            tree.factor(&mut data, &q).unwrap();
            contact_rows(&tree, &data, &mut rows, contacts);
            let given = KktGiven {
                y1: &tau,
                y2: &zeros,
                sigma: &zeros,
            };
            let unknowns = KktUnknowns {
                x1: &mut out,
                x2: &mut x2,
            };
            kkt.solve(&tree, &mut data, &rows, given, unknowns).unwrap();
            black_box(&out);
        });
        let j = tree.rows_matrix(&data, &rows);
        let slip = j.chunks_exact(n).fold(0.0, |m: f64, row| {
            m.max(row.iter().zip(&out).map(|(a, b)| a * b).sum::<f64>().abs())
        });
        line += &format!(" {time:>8.2}");
        if count == 4 {
            line += &format!("  {slip:.0e}");
        }
    }
    println!("{line}");
}

/// Forward dynamics of many states at once [µs per state].
fn batch(tree: &Tree, random: &mut Random) -> f64 {
    const STATES: usize = 64;
    let n = tree.n_dofs();
    let q: Vec<f64> = (0..STATES)
        .flat_map(|_| random_configuration(random, tree))
        .collect();
    let (v, tau) = (
        random_vector(random, STATES * n),
        random_vector(random, STATES * n),
    );
    let (mut batch, mut out) = (Batch::default(), vec![0.0; STATES * n]);
    // One call is as many states as the others are calls.
    let all = best_of(1, || {
        tree.forward_dynamics_batch(&mut batch, (&q, &v, &tau), GRAVITY, &mut out)
            .unwrap();
        black_box(&out);
    });
    all / STATES as f64
}

/// J M⁻¹Jᵀ of a contact of six rows at each end of `arms` chains of `depth` links: O(n + md + m²).
fn growth() {
    let time = |arms: u32, depth: u32| {
        let mut random = Random::new(4);
        let mut links = Vec::new();
        for i in 0..arms * depth {
            let parent = (!i.is_multiple_of(depth)).then(|| LinkId(i - 1));
            let joint = TreeJoint::Revolute {
                axis: random.vector(),
            };
            let place = Pose::at(DVec3::new(0.0, 0.0, -0.2));
            links.push(Link::new(parent, joint, place, random_body(&mut random)));
        }
        let tree = Tree::new(links).unwrap();
        let mut data = tree.data();
        tree.factor(&mut data, &tree.neutral()).unwrap();
        let contacts: Vec<_> = (0..arms)
            .map(|arm| (LinkId(arm * depth + depth - 1), DVec3::ZERO))
            .collect();
        let mut rows = TreeRows::default();
        contact_rows(&tree, &data, &mut rows, &contacts);
        let (mut work, mut out) = (Propagation::default(), vec![0.0; rows.len() * rows.len()]);
        let time = best(|| {
            tree.delassus(&mut data, &rows, &mut work, &mut out)
                .unwrap();
            black_box(&out);
        });
        println!("J M⁻¹Jᵀ, {arms:>3} contacts at depth {depth:>4}: {time:>9.2} µs");
        time
    };
    let exponent = |a: f64, b: f64, ratio: f64| (b / a).ln() / ratio.ln();
    let deep = [25, 50, 100, 200, 400].map(|depth| time(4, depth));
    println!(
        "  grows with depth to the power {:.2}",
        exponent(deep[1], deep[4], 8.0)
    );
    let wide = [2, 4, 8, 16, 32].map(|arms| time(arms, 50));
    // Least squares of (a k + b k²)/time = 1 over the contacts k: what each chain costs, and what each pair.
    let (mut n, mut y) = ([0.0; 3], [0.0; 2]);
    for (k, time) in [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().zip(wide) {
        let (p, q): (f64, f64) = (k / time, k * k / time);
        n = [n[0] + p * p, n[1] + p * q, n[2] + q * q];
        y = [y[0] + p, y[1] + q];
    }
    let det = n[0] * n[2] - n[1] * n[1];
    let (a, b) = (
        (n[2] * y[0] - n[1] * y[1]) / det,
        (n[0] * y[1] - n[1] * y[0]) / det,
    );
    println!(
        "  grows with contacts k (on as many chains) to the power {:.2}, or as {a:.2} k + {b:.3} k² µs",
        exponent(wide[1], wide[4], 8.0)
    );
}

/// The KKT solve of a snake of 100 links, of which some touch the ground: the four steps and propagation.
fn crossover() {
    let mut random = Random::new(5);
    let tree = trees::snake(&mut random, 100);
    let q = random_configuration(&mut random, &tree);
    let n = tree.n_dofs();
    let (y1, mut data) = (random_vector(&mut random, n), tree.data());
    for every in [50, 25, 10, 5, 2, 1] {
        tree.kinematics(&q, &mut data).unwrap();
        let mut rows = TreeRows::default();
        for link in (0..100).step_by(every).map(LinkId) {
            let point = tree.pose(&data, link).unwrap().point(DVec3::Z * -0.03);
            for axis in DVec3::AXES {
                rows.start();
                tree.add_linear(&data, &mut rows, LinkPoint::new(link, point), axis)
                    .unwrap();
            }
        }
        let m = rows.len();
        let (y2, sigma) = (vec![0.0; m], vec![1e-4; m]);
        let mut kkt = TreeKkt::default();
        let given = KktGiven {
            y1: &y1,
            y2: &y2,
            sigma: &sigma,
        };
        let (mut x1, mut x2) = (vec![0.0; n], vec![0.0; m]);
        let steps = best(|| {
            tree.factor(&mut data, &q).unwrap();
            let unknowns = KktUnknowns {
                x1: &mut x1,
                x2: &mut x2,
            };
            kkt.four_steps(&tree, &mut data, &rows, given, unknowns)
                .unwrap();
            black_box(&x1);
        });
        let (mut z1, mut work) = (vec![0.0; n], Elimination::default());
        let propagated = best(|| {
            tree.kinematics(&q, &mut data).unwrap();
            let unknowns = KktUnknowns {
                x1: &mut z1,
                x2: &mut x2,
            };
            tree.propagate(&mut data, &rows, &mut work, given, unknowns)
                .unwrap();
            black_box(&z1);
        });
        let largest = x1.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let apart = x1.iter().zip(&z1);
        let apart = apart.fold(0.0, |m: f64, (x, z)| m.max((x - z).abs())) / largest;
        println!(
            "snake of 100 links, {m:>3} rows: four steps {steps:>8.1} µs, propagated {propagated:>6.1} µs, apart by {apart:.0e}"
        );
    }
}

fn chain(count: u32) {
    let mut random = Random::new(2);
    let link = |i: u32| {
        let axis = if i.is_multiple_of(2) {
            DVec3::X
        } else {
            DVec3::Y
        };
        let place = Pose::at(DVec3::new(0.0, 0.0, -0.2));
        let body = random_body(&mut random);
        Link::new(
            i.checked_sub(1).map(LinkId),
            TreeJoint::Revolute { axis },
            place,
            body,
        )
    };
    let tree = Tree::new((0..count).map(link).collect()).unwrap();
    let mut random = Random::new(3);
    let q = random_configuration(&mut random, &tree);
    let tau = random_vector(&mut random, tree.n_dofs());
    let v = vec![0.0; tree.n_dofs()];
    let (mut data, mut out) = (tree.data(), vec![0.0; tree.n_dofs()]);
    let rounds = 2_000_000 / count;
    let time = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..(rounds / 5).max(1) {
                tree.forward_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut out)
                    .unwrap();
                black_box(&out);
            }
            start.elapsed().as_secs_f64() / f64::from((rounds / 5).max(1))
        })
        .fold(f64::INFINITY, f64::min);
    println!(
        "chain of {count:>6} links: {:.1} ns per link",
        1e9 * time / f64::from(count)
    );
}

fn main() {
    println!(
        "      model   nv     rnea     crba      aba    batch    kkt×1    kkt×2    kkt×4  slip   [µs]"
    );
    for name in MODELS {
        model(name);
    }
    for count in [10, 100, 1000, 10_000] {
        chain(count);
    }
    growth();
    crossover();
}
