//! Slips of [Lemke05] about contacts: each test writes the formula as printed, shows what goes wrong with it, and
//! shows the library right in the same situation. `crates/delassus/docs/errata.md` lists them by key.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

#[path = "common/dense.rs"]
#[allow(dead_code, reason = "shared with the tests of the other sources")]
mod dense;
#[path = "lemke_contact/scenes.rs"]
#[allow(dead_code, reason = "shared with the tests of the methods")]
mod scenes;

use delassus::math::{DVec3, Random};
use delassus::solver::pivot::contact::{
    ContactLcp, PivotOptions, PivotOutcome, PivotWork, reduced, structural,
};
use delassus::solver::pivot::{Lcp, LcpOptions, Pivot, solve};
use delassus::{Law, MassBlock, Problem, Residual, Solution, Status};

type Method = fn(&ContactLcp, &PivotOptions<'_>, &mut PivotWork) -> PivotOutcome;
type Vector = Vec<f64>;

/// What a printed formula must be off by to be called wrong.
const VISIBLE: f64 = 1e-3;

fn options(cover: &[f64]) -> PivotOptions<'_> {
    PivotOptions {
        pivot: Pivot::Big,
        cover,
        pivots: 5000,
        deadline: None,
    }
}

fn run(problem: &Problem, method: Method, cover: &[f64]) -> (PivotOutcome, Solution) {
    let lcp = ContactLcp::new(problem, 8).unwrap();
    let mut work = PivotWork::default();
    let outcome = method(&lcp, &options(cover), &mut work);
    let mut lambda = vec![0.0; problem.n_rows()];
    work.impulses(&lcp, &mut lambda);
    (outcome, Solution::from_lambda(problem, lambda))
}

/// A point mass of two kilograms that slides on the ground while gravity acts for a step.
fn puck() -> Problem {
    let mut builder = Problem::builder();
    let matrix = vec![2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
    let puck = builder
        .add_mass(MassBlock::dense(matrix).unwrap(), &[2.0, 0.0, -0.2])
        .unwrap();
    let rows = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let law = Law::FrictionFacets {
        mu: 0.5,
        directions: 8,
    };
    builder
        .add_block(law, &[(puck, &rows)], &[0.0; 3], &[0.0; 3])
        .unwrap();
    builder.build().unwrap()
}

#[test]
fn momentum_with_the_printed_signs_reverses_the_velocity() {
    // errata Lemke05-6: M v − Ñθ + D̃φ + k̃ = 0. Without contact v = −M⁻¹k̃, and friction pulls along the slip.
    let problem = puck();
    let (outcome, solution) = run(&problem, structural, &[]);
    assert_eq!(outcome.status, Status::Solved);
    let (theta, friction) = (solution.lambda[0], solution.lambda[1]);
    let printed = [(-friction - 2.0) / 2.0, (theta + 0.2) / 2.0];
    assert!(VISIBLE < printed[1], "the puck is thrown up");
    assert!(printed[0] < 0.0 && 0.0 < solution.v[0]);
    // As corrected: the weight is carried and friction slows the puck.
    assert!((solution.v[2]).abs() < 1e-12);
    assert!((solution.v[0] - (1.0 - 0.5 * 0.1)).abs() < 1e-12);
}

/// Solves the dense problem after `change` and judges the impulses by the true problem.
fn changed(problem: &Problem, change: impl Fn(&mut Vector, &mut Vector)) -> (Status, f64) {
    let lcp = Lcp::of_problem(problem, 8);
    let n = lcp.len();
    let mut m = (0..n * n).map(|k| lcp.column(k % n)[k / n]).collect();
    let mut q = lcp.q().to_vec();
    change(&mut m, &mut q);
    let answer = solve(&Lcp::new(&m, q).unwrap(), &LcpOptions::default());
    // One contact: its load, eight directions, the slip.
    let mut lambda = vec![answer.z[0], 0.0, 0.0];
    for (j, phi) in answer.z[1..9].iter().enumerate() {
        let angle = j as f64 * std::f64::consts::FRAC_PI_4;
        lambda[1] += phi * angle.cos();
        lambda[2] += phi * angle.sin();
    }
    let solution = Solution::from_lambda(problem, lambda);
    (answer.status, Residual::of(problem, &solution).relative)
}

#[test]
fn right_hand_side_without_tangents_forgets_that_the_body_slides() {
    // errata Lemke05-23-q: q = (Nᵀk; 0) has no DᵀK: friction believes that nothing slides.
    let problem = puck();
    assert!(changed(&problem, |_, _| ()).1 < 1e-12);
    let (status, law) = changed(&problem, |_, q| q[1..].fill(0.0));
    assert_eq!(status, Status::Solved);
    assert!(VISIBLE < law, "{law}");
    assert!(run(&problem, structural, &[]).0.residual < 1e-12);
}

#[test]
fn normal_rows_without_the_second_product_carry_the_wrong_weight() {
    // errata Lemke05-5.3: ν = Nᵀθ + Nᵀk instead of NᵀNθ + Nᵀk, for a mass that is not one kilogram. With the
    // column N = 1/√m the printed impulse is √m times too small.
    let (n, k) = (1.0 / 2.0_f64.sqrt(), -0.2 / 2.0_f64.sqrt());
    let printed = -n * k / n;
    let right = -n * k / (n * n);
    assert!(VISIBLE < (printed - right).abs());
    let (_, solution) = run(&puck(), reduced, &[]);
    assert!((solution.lambda[0] - right).abs() < 1e-12);
}

#[test]
fn friction_that_is_added_after_the_pivot_is_never_seen() {
    // errata Lemke05-5.3-moment: z₀ leaves in the very pivot in which θ drives first, so that a method that
    // expands afterwards ends with the answer without friction.
    let problem = puck();
    let late = Solution::from_lambda(&problem, vec![0.2, 0.0, 0.0]);
    assert!(VISIBLE < Residual::of(&problem, &late).relative);
    let (outcome, solution) = run(&problem, reduced, &[]);
    assert_eq!(outcome.status, Status::Solved);
    assert!((solution.lambda[1] + 0.1).abs() < 1e-12);
}

#[test]
fn covering_vector_that_grows_with_a_spent_variable_is_limited() {
    // errata Lemke05-59: Δc grows as 1/z₀. The library stops at a limit and says so; the full method finishes.
    let limited: Vec<u64> = (0..80)
        .filter(|&seed| run(&scenes::hard(seed), reduced, &[]).0.cover_limit)
        .collect();
    assert!(!limited.is_empty());
    for seed in limited {
        let (outcome, _) = run(&scenes::hard(seed), structural, &[]);
        assert_eq!(outcome.status, Status::Solved, "{seed}");
    }
}

#[test]
fn covering_vector_without_the_bounds_breaks_the_structure() {
    // errata Lemke05-4-cover: c ≥ 0 is not enough. With c_γ = 0 a slipping group may have no friction to give.
    let mut failures = [0; 2];
    for seed in 0..120 {
        let (scene, law) = scenes::ordinary(seed);
        let problem = scene.rigid(law);
        let lcp = ContactLcp::new(&problem, 8).unwrap();
        let contacts = scene.contacts.len();
        let mut cover = vec![1.0; lcp.n_cover()];
        for bound in cover[contacts..].iter_mut().skip(1).step_by(2) {
            *bound = 0.0;
        }
        for (k, cover) in [&cover[..], &[]].into_iter().enumerate() {
            let (outcome, _) = run(&problem, structural, cover);
            let good = outcome.status == Status::Solved && outcome.residual <= 1e-9;
            failures[k] += usize::from(!good);
        }
    }
    assert!(5 <= failures[0], "{failures:?}");
    assert_eq!(failures[1], 0, "{failures:?}");
}

#[test]
fn kernel_outgrows_the_bodies_where_normals_are_compliant() {
    // errata Lemke05-5.2: r ≤ 6m holds only for Σ_n = 0.
    let mut random = Random::new(3);
    let (mut rigid, mut compliant) = (0, 0);
    for _ in 0..20 {
        let scene = scenes::peg(32, scenes::wrench(&mut random));
        let law = scenes::facets(0.25, 8);
        rigid = rigid.max(run(&scene.rigid(law), structural, &[]).0.kernel);
        compliant = compliant.max(run(&scene.compliant(law, 1e-3), structural, &[]).0.kernel);
    }
    assert!(rigid <= 7, "{rigid}");
    assert!(7 < compliant, "{compliant}");
}

/// Columns of two contacts on one body: both normals, a slipping group with φ_κ and φ_x, a sticking one with φ.
struct Small {
    n: [Vector; 2],
    kappa: [Vector; 2],
    x: Vector,
    mu: f64,
    b: Vector,
}

fn times(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn plus(a: &Vector, f: f64, b: &Vector) -> Vector {
    a.iter().zip(b).map(|(a, b)| a + f * b).collect()
}

impl Small {
    fn draw(random: &mut Random) -> Small {
        let mut vector = || -> Vector { (0..6).map(|_| random.range(-1.0, 1.0)).collect() };
        let (n, kappa, x) = ([vector(), vector()], [vector(), vector()], vector());
        Small {
            n,
            kappa,
            x,
            mu: 0.4,
            b: vector(),
        }
    }

    /// M_α̃α x = b with unknowns (θ₁, θ₂, φ_κ, φ, φ_x, s) and rows (ν₁, ν₂, σ_κ, σ, σ_x, γ). `columns` names the
    /// friction columns and `bound` the row in which E stands.
    fn matrix(&self, columns: [&Vector; 3], bound: usize) -> dense::Matrix {
        let rows = [
            &self.n[0],
            &self.n[1],
            &self.kappa[0],
            &self.kappa[1],
            &self.x,
        ];
        let all = [&self.n[0], &self.n[1], columns[0], columns[1], columns[2]];
        let mut matrix: dense::Matrix = rows
            .iter()
            .map(|row| {
                all.iter()
                    .map(|column| times(row, column))
                    .chain([0.0])
                    .collect()
            })
            .collect();
        matrix[bound][5] = 1.0;
        matrix[4][5] = 1.0;
        // The slipping contact is the first; κ and x are its friction.
        matrix.push(vec![self.mu, 0.0, -1.0, 0.0, -1.0, 0.0]);
        matrix
    }

    fn full(&self) -> Vector {
        let matrix = self.matrix([&self.kappa[0], &self.kappa[1], &self.x], 2);
        dense::solve(&matrix, &self.b)
    }

    /// The system after (28), for (θ, φ_κ, φ, s), with `last` in the right-hand side of the row σ_x.
    fn eliminated(&self, last: &Vector) -> Vector {
        let star = [
            plus(&self.n[0], self.mu, &self.x),
            self.n[1].clone(),
            plus(&self.kappa[0], -1.0, &self.x),
            self.kappa[1].clone(),
        ];
        let rows = [
            &self.n[0],
            &self.n[1],
            &self.kappa[0],
            &self.kappa[1],
            &self.x,
        ];
        let slip = [0.0, 0.0, 1.0, 0.0, 1.0];
        let b_star: Vector = self.x.iter().map(|x| x * self.b[5]).collect();
        let mut matrix = dense::Matrix::new();
        let mut rhs = Vector::new();
        for (i, row) in rows.into_iter().enumerate() {
            matrix.push(
                star.iter()
                    .map(|column| times(row, column))
                    .chain([slip[i]])
                    .collect(),
            );
            rhs.push(self.b[i] + times(if i == 4 { last } else { row }, &b_star));
        }
        let y = dense::solve(&matrix, &rhs);
        let phi_x = self.mu * y[0] - y[2] - self.b[5];
        vec![y[0], y[1], y[2], y[3], phi_x, y[4]]
    }
}

fn distance(a: &Vector, b: &Vector) -> f64 {
    // A singular system gives numbers that are none; they are as far away as can be.
    a.iter().zip(b).fold(0.0, |m: f64, (x, y)| {
        let d = (x - y).abs();
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    })
}

#[test]
fn printed_partitions_solve_another_system() {
    // errata Lemke05-26: columns κ twice instead of κ and x. errata Lemke05-28: D_κᵀ instead of D_xᵀ in the last
    // right-hand side. errata Lemke05-35 and Lemke05-23: E in the row of ν instead of σ.
    let mut random = Random::new(7);
    for _ in 0..20 {
        let small = Small::draw(&mut random);
        let right = small.full();
        assert!(
            distance(&small.eliminated(&small.x), &right)
                < 1e-9 * (1.0 + distance(&right, &vec![0.0; 6]))
        );
        let wrong_rhs = small.eliminated(&small.kappa[0]);
        assert!(VISIBLE < distance(&wrong_rhs, &right));
        let [first, second] = &small.kappa;
        let twice = small.matrix([first, second, first], 2);
        assert!(VISIBLE < distance(&dense::solve(&twice, &small.b), &right));
        let shifted = small.matrix([first, second, &small.x], 0);
        assert!(VISIBLE < distance(&dense::solve(&shifted, &small.b), &right));
    }
}

#[test]
fn last_row_with_directions_for_normals_is_another_equation() {
    // errata Lemke05-T1: r₁ = d_rᵀD_α instead of d_rᵀN_α where w_r is a σ. Basis: θ, φ and z₀.
    let mut random = Random::new(9);
    for _ in 0..20 {
        let mut vector = || -> Vector { (0..6).map(|_| random.range(-1.0, 1.0)).collect() };
        let (n, d, r, b) = (vector(), vector(), vector(), vector());
        let system = |first: f64| {
            let rows = vec![
                vec![times(&n, &n), times(&n, &d), 1.0],
                vec![times(&d, &n), times(&d, &d), 1.0],
                vec![first, times(&r, &d), 1.0],
            ];
            dense::solve(&rows, &b[..3])
        };
        let (right, printed) = (system(times(&r, &n)), system(times(&r, &d)));
        // The row of σ_r itself, at the printed answer.
        let row = |x: &Vector| times(&r, &n) * x[0] + times(&r, &d) * x[1] + x[2] - b[2];
        assert!(row(&right).abs() < 1e-9 * (1.0 + distance(&right, &vec![0.0; 3])));
        assert!(VISIBLE * 0.01 < row(&printed).abs());
    }
    let ball = scenes::rim(3, [DVec3::X * 5.0, DVec3::ZERO]).rigid(scenes::facets(0.3, 8));
    assert!(run(&ball, structural, &[]).0.residual < 1e-12);
}
