//! How long `newton` takes: factorisations, least times, and time for each contact and iteration.
//!
//! `cargo bench -p delassus --bench newton_speed -- [PART OF A NAME] [SOLVER] [ROUNDS]`. Every scene is solved several times to
//! 1e-10 of its largest row velocity without impulses, or to what the line says. The order of elimination is kept from
//! the first of them, as it is between steps. The residual is of the benchmark's own arithmetic.

#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

use delassus::math::Random;
use delassus::solver::from_spec;
use delassus::{Problem, ProblemBuilder, Solution, Stop};

mod drawn;
use drawn::scenes::{arch, cards, chain, pyramid, snake, spheres, stack, wall};
use drawn::{Drawn, residual};

/// One line of the table.
struct Line {
    name: String,
    problem: Problem,
    /// Relative to the largest row velocity without impulses.
    tolerance: f64,
    warm: bool,
}

fn line(name: impl Into<String>, problem: Problem) -> Line {
    Line {
        name: name.into(),
        problem,
        tolerance: 1e-10,
        warm: false,
    }
}

fn drawn(drawn: Drawn, mu: f64) -> Problem {
    drawn.problem(&mut Random::new(1), (mu, mu), 0.0)
}

fn lines(wanted: &str) -> Vec<Line> {
    type Make = Box<dyn Fn() -> Problem>;
    let mut all: Vec<(String, Make)> = Vec::new();
    let mut add = |name: &str, make: Make| all.push((name.to_owned(), make));
    add(
        "stack 20, top ×1e4",
        Box::new(|| drawn(stack(20, 1e4, 2, 0.0), 0.5)),
    );
    add(
        "stack 8 pushed, top ×1e4",
        Box::new(|| drawn(stack(8, 1e4, 2, 0.3), 0.5)),
    );
    add(
        "stack 100",
        Box::new(|| drawn(stack(100, 1.0, 2, 0.0), 0.5)),
    );
    add(
        "stack 100, top ×1e4",
        Box::new(|| drawn(stack(100, 1e4, 2, 0.0), 0.5)),
    );
    add(
        "arch 21, keystone ×1e3",
        Box::new(|| drawn(arch(21, 1e3), 0.6)),
    );
    add("card house 4", Box::new(|| drawn(cards(4), 0.6)));
    add("pyramid 24", Box::new(|| drawn(pyramid(24), 0.5)));
    add("wall 8×8", Box::new(|| drawn(wall(8, 8, 1.0, 0.0), 0.5)));
    add(
        "wall 5×5, top row ×1e3",
        Box::new(|| drawn(wall(5, 5, 1e3, 0.0), 0.5)),
    );
    add(
        "wall 20×20",
        Box::new(|| drawn(wall(20, 20, 1.0, 0.0), 0.5)),
    );
    add(
        "wall 20×20 pushed",
        Box::new(|| drawn(wall(20, 20, 1.0, 0.3), 0.5)),
    );
    add(
        "wall 30×30",
        Box::new(|| drawn(wall(30, 30, 1.0, 0.0), 0.5)),
    );
    add(
        "loose spheres 1000",
        Box::new(|| drawn(spheres(1000, 12.0), 0.3)),
    );
    add(
        "8 boxes to 1e-8",
        Box::new(|| drawn(stack(8, 1.0, 2, 0.0), 0.5)),
    );
    add(
        "31 boxes warm at rest, top ×100",
        Box::new(|| drawn(stack(31, 100.0, 2, 0.0), 0.5)),
    );
    add(
        "31 boxes warm, top ×100",
        Box::new(|| drawn(stack(31, 100.0, 2, 0.0), 0.5)),
    );
    for n in [10, 100, 1000] {
        all.push((format!("chain {n}"), Box::new(move || drawn(chain(n), 0.5))));
    }
    for n in [10, 20, 50, 100, 200] {
        all.push((format!("snake {n}"), Box::new(move || snake(n))));
    }
    let wanted = all.into_iter().filter(|(name, _)| name.contains(wanted));
    wanted
        .map(|(name, make)| {
            let warm = name.contains("warm");
            let tolerance = if name.contains("1e-8") { 1e-8 } else { 1e-10 };
            Line {
                warm,
                tolerance,
                ..line(name, make())
            }
        })
        .collect()
}

/// The problem with all momentum a little larger: the load of the next step.
fn loaded(problem: &Problem, by: f64) -> Problem {
    let delassus::problem::Form::Primal(primal) = problem.form() else {
        return problem.clone();
    };
    let mut builder = ProblemBuilder::default();
    let mut start = 0;
    for mass in primal.mass() {
        let p = &primal.p()[start..start + mass.dim()];
        let p: Vec<f64> = p.iter().map(|p| p * by).collect();
        start += mass.dim();
        builder.add_mass(mass.clone(), &p).expect("finite");
    }
    for (k, block) in problem.blocks().iter().enumerate() {
        let on: Vec<_> = primal.places(delassus::BlockId(k as u32)).collect();
        let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
        builder
            .add_block_at(block.law, &on, sigma, q)
            .expect("rows");
    }
    builder.build().expect("a problem")
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let wanted = words.first().map_or("", String::as_str);
    let spec = words.get(1).map_or("newton", String::as_str);
    let rounds: Option<usize> = words.get(2).and_then(|word| word.parse().ok());
    println!(
        "scene                           bodies  contacts  factorisations  residual     least ms  µs/contact/iteration"
    );
    for line in lines(wanted) {
        let scale = line
            .problem
            .c()
            .iter()
            .fold(0.0, |a: f64, c| a.max(c.abs()));
        let stop = Stop {
            tolerance: line.tolerance * scale,
            sweeps: 2000,
            ..Stop::default()
        };
        let mut solver = from_spec(spec, stop, 0).expect("a solver");
        let mut solution = Solution::zeros(&line.problem);
        let mut report = solver.solve(&line.problem, &mut solution);
        // Steps under a load that changes by a thousandth, or not at all.
        let change = if line.name.contains("at rest") {
            1.0
        } else {
            1.001
        };
        let others = [change, 1.0].map(|by| loaded(&line.problem, by));
        let (mut least, mut spent, mut round) = (f64::INFINITY, 0.0, 0);
        let goes_on = |round: usize, spent: f64| match rounds {
            Some(rounds) => round < rounds,
            None => round < 4 || (spent < 0.4 && round < 2000),
        };
        while goes_on(round, spent) {
            let problem = if line.warm {
                &others[round % 2]
            } else {
                &line.problem
            };
            if !line.warm {
                solution = Solution::zeros(problem);
            }
            let begin = Instant::now();
            report = solver.solve(problem, &mut solution);
            let elapsed = begin.elapsed().as_secs_f64();
            (least, spent, round) = (least.min(elapsed), spent + elapsed, round + 1);
        }
        let problem = if line.warm {
            &others[(round - 1) % 2]
        } else {
            &line.problem
        };
        let contacts = line
            .problem
            .blocks()
            .iter()
            .filter(|block| block.law.is_contact());
        let contacts = contacts.count();
        let bodies = match line.problem.form() {
            delassus::problem::Form::Primal(primal) => primal.mass().len(),
            delassus::problem::Form::Dual(_) => 0,
        };
        let each = 1e6 * least / (contacts * report.iterations.max(1)) as f64;
        println!(
            "{:31} {bodies:6}  {contacts:8}  {:14}  {:.1e} {} {:9.3}  {each:.2}",
            line.name,
            report.iterations,
            residual(problem, &solution.lambda),
            report.status.name(),
            1e3 * least,
        );
    }
}
