//! Lemke on dense matrices: pegs in holes with 8 to 32 contacts, 20 loads each, by both pivot rules.
//!
//! `cargo bench --bench lemke_dense`: pivots and best time per solve, the matrix written out beforehand.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};

use delassus::math::{DVec3, Random, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::solver::pivot::{Lcp, LcpOptions, Pivot, solve};
use delassus::{Law, MassBlock, Problem, Status};

/// A round peg in a hole: two rings of contacts, friction 0.2 to 0.3, a random wrench.
fn peg(n: usize, random: &mut Random) -> Problem {
    let inertia = glam::DMat3::from_diagonal(DVec3::new(3.6e-4, 3.6e-4, 5e-5));
    let load: Vec<f64> = (0..6).map(|_| 0.01 * random.range(-1.0, 1.0)).collect();
    let mut builder = Problem::builder();
    let body = builder
        .add_mass(MassBlock::rigid(1.0, inertia).unwrap(), &load)
        .unwrap();
    for k in 0..n {
        let angle = std::f64::consts::TAU * (k / 2) as f64 / (n / 2) as f64;
        let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let arm = 0.01 * out + DVec3::Z * if k % 2 == 0 { 0.03 } else { -0.03 };
        let (t1, t2) = tangents(-out);
        let rows = point_rows([-out, t1, t2], arm, 1.0);
        let law = Law::FrictionFacets {
            mu: random.range(0.2, 0.3),
            directions: 8,
        };
        builder
            .add_block(law, &[(body, &rows)], &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

fn main() {
    println!("contacts  rule  unknowns  pivots  best time per solve [ms]");
    for n in [8, 16, 24, 32] {
        let mut random = Random::new(7);
        let problems: Vec<Lcp> = (0..20)
            .map(|_| Lcp::of_problem(&peg(n, &mut random), 8))
            .collect();
        for pivot in [Pivot::Big, Pivot::Lex] {
            let options = LcpOptions {
                pivot,
                ..LcpOptions::default()
            };
            let (mut pivots, mut time) = (0, Duration::ZERO);
            for lcp in &problems {
                let mut best = Duration::MAX;
                for _ in 0..15 {
                    let start = Instant::now();
                    let answer = solve(lcp, &options);
                    best = best.min(start.elapsed());
                    assert_eq!(answer.status, Status::Solved);
                    pivots += answer.pivots;
                }
                time += best;
            }
            println!(
                "{n:8}  {:4}  {:8}  {:6.1}  {:.3}",
                pivot.name(),
                problems[0].len(),
                pivots as f64 / 300.0,
                1e3 * time.as_secs_f64() / 20.0
            );
        }
    }
}
