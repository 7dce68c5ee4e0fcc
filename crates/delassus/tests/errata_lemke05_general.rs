//! Slips of the paper on Lemke's algorithm that concern any complementarity problem: each formula as printed, what
//! goes wrong with it, and the library in the same situation.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

use delassus::math::{DMat3, DVec3, Random, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::solver::pivot::{Cover, CoverChoice, Lcp, LcpOptions, Lemke, Method, Pivot, solve};
use delassus::{Law, MassBlock, Problem, Solution, Solver, Status, Stop};

/// Textbook pivoting on the whole tableau. Ties go to z₀ if `prefer` says so, else to the first or last row. None
/// after a pivot limit or on a ray.
fn textbook(m: &[[f64; 3]; 3], q: [f64; 3], last: bool, prefer: bool) -> Option<[f64; 3]> {
    const Z0: usize = 6;
    let mut rows = [[0.0; 8]; 3];
    for i in 0..3 {
        rows[i][i] = 1.0;
        (0..3).for_each(|j| rows[i][3 + j] = -m[i][j]);
        (rows[i][Z0], rows[i][7]) = (-1.0, q[i]);
    }
    let mut basis = [0, 1, 2];
    let least = q.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let tied = |i: &usize| q[*i] == least;
    let mut row = if last {
        (0..3).rfind(tied)
    } else {
        (0..3).find(tied)
    }?;
    let mut enter = Z0;
    for _ in 0..100 {
        let pivot = rows[row][enter];
        rows[row].iter_mut().for_each(|x| *x /= pivot);
        for i in (0..3).filter(|i| *i != row) {
            let factor = rows[i][enter];
            (0..8).for_each(|j| rows[i][j] -= factor * rows[row][j]);
        }
        let left = std::mem::replace(&mut basis[row], enter);
        if left == Z0 {
            let mut z = [0.0; 3];
            (0..3)
                .filter(|i| 3 <= basis[*i])
                .for_each(|i| z[basis[i] - 3] = rows[i][7]);
            return Some(z);
        }
        enter = if left < 3 { left + 3 } else { left - 3 };
        let ratio = |i: usize| match 1e-12 < rows[i][enter] {
            true => rows[i][7] / rows[i][enter],
            false => f64::INFINITY,
        };
        let best = (0..3).map(ratio).fold(f64::INFINITY, f64::min);
        if best == f64::INFINITY {
            return None;
        }
        let ties: Vec<usize> = (0..3).filter(|&i| ratio(i) <= best + 1e-12).collect();
        let z0 = ties.iter().copied().find(|&i| prefer && basis[i] == Z0);
        row = z0.unwrap_or(if last { ties[ties.len() - 1] } else { ties[0] });
    }
    None
}

/// An isolated solution with M not semidefinite: z₀ ties with another row on the way.
const PANG: ([[f64; 3]; 3], [f64; 3]) = (
    [[0.0, -1.0, -1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
    [0.0, -1.0, 1.0],
);

fn library(m: &[[f64; 3]; 3], q: [f64; 3], pivot: Pivot) -> Vec<f64> {
    let lcp = Lcp::new(&m.concat(), q.to_vec()).unwrap();
    let options = LcpOptions {
        pivot,
        ..LcpOptions::default()
    };
    let answer = solve(&lcp, &options);
    assert_eq!(answer.status, Status::Solved);
    answer.z
}

#[test]
fn ties_broken_carelessly_cycle_or_end_on_a_false_ray() {
    // Ties at the start: the first of equal rows leads into a cycle, the last does not.
    let cyclic = [[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]];
    assert_eq!(textbook(&cyclic, [-1.0; 3], false, true), None);
    assert!(textbook(&cyclic, [-1.0; 3], true, true).is_some());
    // Ties with z₀: passing it over ends on a ray although there is an answer.
    let isolated = PANG;
    assert_eq!(textbook(&isolated.0, isolated.1, true, false), None);
    assert_eq!(
        textbook(&isolated.0, isolated.1, true, true),
        Some([1.0, 0.0, 0.0])
    );
    for pivot in [Pivot::Big, Pivot::Lex] {
        let z = library(&cyclic, [-1.0; 3], pivot);
        assert!(z.iter().all(|z| (z - 1.0 / 3.0).abs() < 1e-14));
        assert_eq!(library(&isolated.0, isolated.1, pivot), [1.0, 0.0, 0.0]);
    }
}

#[test]
fn covering_vector_with_a_zero_leaves_a_row_below_zero() {
    // errata Lemke05-4-cover. c ≥ 0, as printed: z₀ = max −q_i/c_i over c_i > 0 is 1, and the other row stays negative.
    let (q, c) = ([-1.0, -2.0], [1.0, 0.0]);
    let z0 = -q[0] / c[0];
    assert!(q[1] + c[1] * z0 < 0.0);
    // Here such an entry counts as one.
    let lcp = Lcp::new(&[1.0, 0.0, 0.0, 1.0], q.to_vec()).unwrap();
    let cover = Cover::Given(c.to_vec());
    let answer = solve(
        &lcp,
        &LcpOptions {
            cover,
            ..LcpOptions::default()
        },
    );
    assert_eq!(
        (answer.status, &answer.z[..]),
        (Status::Solved, &[1.0, 2.0][..])
    );
}

/// A ball between two walls that both want it to leave at 1 m/s.
fn squeezed(sigma: f64) -> Problem {
    let mut builder = Problem::builder();
    let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap();
    let ball = builder.add_mass(mass, &[0.0; 6]).unwrap();
    for n in [DVec3::X, -DVec3::X] {
        let (t1, t2) = tangents(n);
        let rows = point_rows([n, t1, t2], -0.1 * n, 1.0);
        let law = Law::FrictionFacets {
            mu: 0.3,
            directions: 8,
        };
        let (sigma, q) = ([sigma, 0.0, 0.0], [1.0, 0.0, 0.0]);
        builder
            .add_block(law, &[(ball, &rows)], &sigma, &q)
            .unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn contacts_with_wanted_velocities_need_not_have_an_answer() {
    for method in [
        Method::Best,
        Method::Reduced,
        Method::Structural,
        Method::Standard,
    ] {
        let status = |problem: &Problem| {
            Lemke::new(method)
                .solve(problem, &mut Solution::default())
                .status
        };
        assert_eq!(status(&squeezed(0.0)), Status::Ray, "{}", method.name());
        assert_eq!(status(&squeezed(1e-3)), Status::Solved, "{}", method.name());
    }
}

#[test]
fn velocity_of_a_peg_depends_on_the_path_that_found_it() {
    let mut random = Random::new(16);
    let mut builder = Problem::builder();
    let mass = MassBlock::rigid(1.0, DMat3::from_diagonal(DVec3::new(4e-4, 4e-4, 5e-5))).unwrap();
    let load: Vec<f64> = (0..6).map(|_| 0.01 * random.range(-1.0, 1.0)).collect();
    let peg = builder.add_mass(mass, &load).unwrap();
    for k in 0..16 {
        let angle = std::f64::consts::TAU * (k / 2) as f64 / 8.0;
        let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let arm = 0.01 * out + DVec3::Z * if k % 2 == 0 { 0.03 } else { -0.03 };
        let (t1, t2) = tangents(-out);
        let rows = point_rows([-out, t1, t2], arm, 1.0);
        let law = Law::FrictionFacets {
            mu: 0.25,
            directions: 8,
        };
        builder
            .add_block(law, &[(peg, &rows)], &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    let problem = builder.build().unwrap();
    let mut found: Vec<Vec<f64>> = Vec::new();
    for seed in 0..40 {
        let mut solver = Lemke::new(Method::Standard);
        (solver.cover, solver.seed) = (CoverChoice::Random, seed);
        solver.stop = Stop {
            tolerance: 1e-12,
            ..Stop::default()
        };
        let mut solution = Solution::default();
        assert_eq!(solver.solve(&problem, &mut solution).status, Status::Solved);
        let far = |v: &Vec<f64>| v.iter().zip(&solution.v).any(|(a, b)| 1e-6 < (a - b).abs());
        if found.iter().all(far) {
            found.push(solution.v);
        }
    }
    assert!(1 < found.len(), "all paths met at one velocity");
}
