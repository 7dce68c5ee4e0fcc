//! Recursions on the trees of the benchmark files: best of many, one thread.
//!
//! `cargo bench -p delassus --bench tree` prints, for each model, µs per call of inverse dynamics, mass matrix,
//! forward dynamics, forward dynamics of one of 64 states in a batch, and the KKT solve with one, two and four six-row
//! contacts, with the residual of the last; then forward dynamics on chains of up to 10 000 links, and how Λ⁻¹ of six
//! rows at the tip of a chain grows with its depth.
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
use delassus::solver::kkt::TreeKkt;
use delassus::tree::spatial::Pose;
use delassus::tree::{Batch, Data, Joint, Link, Propagation, Rows, Tree};
use trees::{random_body, random_configuration, random_vector};

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

/// Least time of one call over many rounds [µs].
fn best(mut call: impl FnMut()) -> f64 {
    let calls = 50;
    (0..200)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

fn contact_rows(tree: &Tree, data: &Data, rows: &mut Rows, contacts: &[(LinkId, DVec3)]) {
    rows.clear();
    for &(link, local) in contacts {
        let point = tree.pose(data, link).unwrap().point(local);
        for axis in DVec3::AXES {
            rows.start();
            tree.add_linear(data, rows, (link, point), axis).unwrap();
        }
        for axis in DVec3::AXES {
            rows.start();
            tree.add_angular(rows, link, axis).unwrap();
        }
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
    let each = in_batch(&tree);
    let mut line = format!("{name:>11} {n:>4} {rnea:>8.2} {crba:>8.2} {aba:>8.2} {each:>8.2}");
    let (mut kkt, mut rows) = (TreeKkt::default(), Rows::default());
    for count in [1, 2, 4] {
        let Some(contacts) = contacts.get(..count) else {
            line += "        –";
            continue;
        };
        let (zeros, mut x2) = (vec![0.0; 6 * count], vec![0.0; 6 * count]);
        let time = best(|| {
            tree.factor(&mut data, &q).unwrap();
            contact_rows(&tree, &data, &mut rows, contacts);
            let system = (&tree, &mut data, &rows);
            kkt.solve(system, (&tau, &zeros, &zeros), (&mut out, &mut x2))
                .unwrap();
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

/// Time of forward dynamics of one of 64 states in a batch [µs].
fn in_batch(tree: &Tree) -> f64 {
    const COUNT: usize = 64;
    let n = tree.n_dofs();
    let mut random = Random::new(4);
    let (mut q, mut v, mut tau) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..COUNT {
        q.extend(random_configuration(&mut random, tree));
        v.extend(random_vector(&mut random, n));
        tau.extend(random_vector(&mut random, n));
    }
    let (mut batch, mut out) = (Batch::default(), vec![0.0; COUNT * n]);
    let time = best(|| {
        tree.forward_dynamics_batch(&mut batch, (&q, &v, &tau), GRAVITY, &mut out)
            .unwrap();
        black_box(&out);
    });
    time / COUNT as f64
}

/// Time of Λ⁻¹ of six rows at the tip of a chain, inertias factored before [µs].
fn tip(count: u32) -> f64 {
    let tree = revolutes(count);
    let q = random_configuration(&mut Random::new(3), &tree);
    let mut data = tree.data();
    tree.factor(&mut data, &q).unwrap();
    let mut rows = Rows::default();
    let contact = [(LinkId(count - 1), DVec3::ZERO)];
    contact_rows(&tree, &data, &mut rows, &contact);
    let (mut work, mut out) = (Propagation::default(), vec![0.0; 36]);
    best(|| {
        tree.delassus(&mut data, &rows, &mut work, &mut out)
            .unwrap();
        black_box(&out);
    })
}

/// Λ⁻¹ over depth, and the exponent of each doubling.
fn depths() {
    let mut before: Option<f64> = None;
    for count in [25, 50, 100, 200, 400, 800] {
        let time = tip(count);
        let exponent = before.map_or(String::new(), |t| {
            format!(", exponent {:.2}", (time / t).log2())
        });
        println!("Λ⁻¹ of 6 rows at depth {count:>4}: {time:>8.2} µs{exponent}");
        before = Some(time);
    }
}

/// A chain of hinges.
fn revolutes(count: u32) -> Tree {
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
            Joint::Revolute { axis },
            place,
            body,
        )
    };
    Tree::new((0..count).map(link).collect()).unwrap()
}

fn chain(count: u32) {
    let tree = revolutes(count);
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
    depths();
}
