//! One problem built by hand, solved by every solver that fits its laws.
//!
//! `cargo run -p delassus --example 05_solve_and_compare`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::math::{DMat3, DVec3, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::solver::{catalogue, from_spec};
use delassus::{Law, MassBlock, Problem, Solution, Stop};

fn main() -> Result<(), Box<dyn Error>> {
    // A cube of 3 kg on the ground, pushed along x with 20 N for one step of 10 ms.
    let (h, mass, half) = (0.01, 3.0, 0.05);
    let inertia = DMat3::IDENTITY * (mass * half * half * 2.0 / 3.0);
    // p = M v₀ + h f, with v₀ = 0
    let p = [20.0, 0.0, -9.81 * mass, 0.0, 0.0, 0.0].map(|f| h * f);
    let mut builder = Problem::builder();
    let cube = builder.add_mass(MassBlock::rigid(mass, inertia)?, &p)?;
    let (t1, t2) = tangents(DVec3::Z);
    for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
        let corner = half * DVec3::new(x, y, -1.0);
        let rows = point_rows([DVec3::Z, t1, t2], corner, 1.0);
        let law = Law::FrictionCone { mu: 0.5 };
        builder.add_block(law, &[(cube, &rows)], &[0.0; 3], &[0.0; 3])?;
    }
    let problem = builder.build()?;

    for spec in catalogue().iter().flat_map(|entry| entry.variants) {
        let mut solution = Solution::zeros(&problem);
        let report = from_spec(spec, Stop::default(), 0)?.solve(&problem, &mut solution);
        // `solved` is about the solver's own law; the residual is always that of the problem's.
        println!("{spec:<32} {:<12} {report}", report.fit.name());
    }
    Ok(())
}
