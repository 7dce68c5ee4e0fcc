//! Build one contact by hand, solve it, read the report.
//!
//! `cargo run -p delassus --example 01_solve_one_problem`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::math::{DMat3, DVec3, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::{BuildError, GaussSeidel, Law, MassBlock, Problem, Solution, Solver};

fn main() -> Result<(), BuildError> {
    // A brick of 3 kg on the ground, pushed along x with 20 N for one step of 10 ms; μ = 0.5.
    let (h, mass, gravity, push) = (0.01, 3.0, 9.81, 20.0);
    let half = DVec3::new(0.1, 0.05, 0.05);
    let s = half * half * (mass / 3.0);
    let inertia = DMat3::from_diagonal(DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y));
    // p = M v₀ + h f, with v₀ = 0
    let p = [h * push, 0.0, -h * mass * gravity, 0.0, 0.0, 0.0];

    let mut builder = Problem::builder();
    let brick = builder.add_mass(MassBlock::rigid(mass, inertia)?, &p)?;
    let (t1, t2) = tangents(DVec3::Z);
    for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
        let arm = half * DVec3::new(x, y, -1.0);
        let rows = point_rows([DVec3::Z, t1, t2], arm, 1.0);
        let law = Law::FrictionCone { mu: 0.5 };
        builder.add_block(law, &[(brick, &rows)], &[0.0; 3], &[0.0; 3])?;
    }
    let problem = builder.build()?;

    let mut solution = Solution::zeros(&problem);
    let report = GaussSeidel::default().solve(&problem, &mut solution);
    println!("{report}");
    println!("velocity after the step: {:+.6?}", &solution.v[..3]);
    for (k, block) in problem.blocks().iter().enumerate() {
        println!(
            "corner {k}: impulse (n, t1, t2) {:+.6?}",
            &solution.lambda[block.rows()]
        );
    }
    let load: f64 = solution.lambda.iter().step_by(3).sum();
    println!("load {load:.6} N s, weight {:.6} N s", h * mass * gravity);
    Ok(())
}
