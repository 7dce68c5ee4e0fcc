//! Gauss-Seidel on piles of 10³ to 10⁶ contacts: nanoseconds per contact and sweep, how that grows, and how far
//! it is from the memory bandwidth of one core measured in the same run. `coloured` runs on one and on two threads.
//!
//! `cargo bench -p delassus --bench gs_pile [-- LARGEST]`

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use delassus::problem::{Form, Problem};
use delassus::solver::from_spec;
use delassus::{Solution, Stop, gallery};

/// Sweeps per run; the first is left out because it finds the caches cold.
const SWEEPS: usize = 11;

fn main() {
    // Cargo passes `--bench`; a number is the largest pile.
    let largest = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(1_000_000);
    let bandwidth = read_bandwidth();
    println!("read bandwidth of one core: {bandwidth:.1} GB/s (512 MB, best of 5)");
    println!(
        "solver                     threads  contacts  setup ms  ms/sweep  ns/contact  B/contact    GB/s  of peak  law m/s  state"
    );
    let mut size = 1000;
    while size <= largest {
        let problem = gallery::build(&format!("pile:{size}")).expect("the pile is a valid problem");
        for (spec, threads) in [
            ("gauss-seidel", 1),
            ("coloured", 1),
            ("coloured", 2),
            ("gauss-seidel,rule=exact", 1),
            ("gauss-seidel,rule=box", 1),
            ("gauss-seidel,sweep=residual", 1),
        ] {
            if spec.ends_with("residual") && 100_000 < size {
                continue;
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("two threads can be started");
            pool.install(|| measure(spec, threads, &problem, bandwidth));
        }
        size *= 10;
    }
}

/// One line: the fastest of several runs of a fixed number of sweeps.
fn measure(spec: &str, threads: usize, problem: &Problem, bandwidth: f64) {
    let stop = Stop {
        tolerance: 0.0,
        sweeps: SWEEPS,
        ..Stop::default()
    };
    let contacts = problem.blocks().len();
    let runs = (2_000_000 / contacts).clamp(3, 200);
    let (mut setup, mut sweep) = (f64::INFINITY, f64::INFINITY);
    let (mut law, mut state) = (0.0, 0);
    for _ in 0..runs {
        let mut solver = from_spec(spec, stop, 0).expect("the solver exists");
        let mut solution = Solution::zeros(problem);
        let report = solver.solve(problem, &mut solution);
        let first = report.history[0].elapsed_s;
        let last = report.history[SWEEPS - 1].elapsed_s;
        sweep = sweep.min((last - first) / (SWEEPS - 1) as f64);
        setup = setup.min(first - sweep);
        law = report.residual.law;
        state = hash(&solution);
    }
    let bytes = if spec == "coloured" {
        coloured_bytes(problem)
    } else {
        bytes_per_contact(problem)
    };
    let nanoseconds = 1e9 * sweep / contacts as f64;
    let reached = bytes / nanoseconds;
    println!(
        "{spec:<27} {threads:>6} {contacts:>9} {:>9.2} {:>9.3} {nanoseconds:>11.1} {bytes:>10.0} {reached:>7.1} {:>7.0}% {law:>8.1e}  {state:016x}",
        1e3 * setup,
        1e3 * sweep,
        100.0 * reached / bandwidth
    );
}

/// What a local sweep must touch per contact: its part of G, law and diagonal block, λ, q and Σ, and
/// its share of the bodies (velocity in and out, inverse mass).
fn bytes_per_contact(problem: &Problem) -> f64 {
    let Form::Primal(primal) = problem.form() else {
        return 0.0;
    };
    let contacts = problem.blocks().len() as f64;
    let jacobian = primal.jacobian().n_bytes() as f64;
    let bodies = primal.mass().len() as f64 * (2.0 * 48.0 + 64.0);
    let contact = 8.0 * (9.0 + 2.0 + 3.0 + 1.0) + 16.0 + 40.0 + 4.0 * 24.0;
    (jacobian + bodies) / contacts + contact
}

/// The same for contacts in lanes: frame, arms, D, two steps, μ, Σ, q and λ in and out, four indices, and two
/// cache lines per body of which the first is written back.
fn coloured_bytes(problem: &Problem) -> f64 {
    let Form::Primal(primal) = problem.form() else {
        return 0.0;
    };
    let bodies = primal.mass().len() as f64 * (2.0 + 1.0) * 64.0;
    let contact = 8.0 * (9.0 + 6.0 + 6.0 + 2.0 + 1.0 + 4.0 * 3.0) + 16.0;
    bodies / problem.blocks().len() as f64 + contact
}

fn hash(solution: &Solution) -> u64 {
    let mut hasher = DefaultHasher::new();
    for x in solution.v.iter().chain(&solution.lambda) {
        x.to_bits().hash(&mut hasher);
    }
    hasher.finish()
}

/// Sums a large array with independent accumulators: what one core can read from memory [GB/s].
fn read_bandwidth() -> f64 {
    let data = vec![1u64; 64 << 20];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let mut sums = [0u64; 16];
        for chunk in data.as_chunks::<16>().0 {
            for (sum, x) in sums.iter_mut().zip(chunk) {
                *sum = sum.wrapping_add(*x);
            }
        }
        std::hint::black_box(sums);
        best = best.min(start.elapsed().as_secs_f64());
    }
    (data.len() * 8) as f64 / best / 1e9
}
