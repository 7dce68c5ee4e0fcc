//! Problems drawn by seed, solved, and judged in 32 digits: what is called solved must be.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use delassus::math::Random;
use delassus::problem::file::{FileContent, Format, parse};
use delassus::solver::from_spec;
use delassus::{Problem, Solution, Status, Stop};
use serde_json::Value;

use crate::asked::{Asked, own_seed};
use crate::draw::Class;
use crate::exists;
use crate::judge::{System, Verdict};
use crate::read;
use crate::tally::Tally;

/// Solvers that are tried where nobody asks for others.
const SOLVERS: &str = "auto;newton;gauss-seidel;lemke";
/// What `solved` promises \[m/s\].
const TOLERANCE: f64 = 1e-8;
/// How far beyond the tolerance a verified residual may lie: the library measures in 16 digits, and says no more of a
/// residual than its first.
const ALLOWANCE: f64 = 1.1;
/// Rounding of velocities, as a share of the fastest one that impulses cancelled: hundreds of units in the last place
/// for the passes of a tree.
const ROUNDED: f64 = 1e-13;
/// Longest time for one problem.
const PATIENCE: Duration = Duration::from_secs(5);

/// What takes longer is worth a look.
const SLOW: Duration = Duration::from_secs(1);

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// Called solved, and it is.
    Solved,
    /// Called solved, and it is not.
    False,
    /// Called solved for an approximation of the law: no promise about the law itself.
    Approximate,
    /// As good as rounding allows, and called so.
    Floor,
    /// Not solved, with the status.
    Unsolved(&'static str),
    /// The solver has no rule for it.
    Unsupported,
    /// The reader refused the file.
    Refused,
    /// A panic.
    Panicked,
}

/// One attempt.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    ending: Ending,
    elapsed: Duration,
    /// The judge's verdict, and the law residual that the library said.
    verdict: Option<(Verdict, f64)>,
}

impl Attempt {
    fn of(ending: Ending) -> Attempt {
        Attempt {
            ending,
            elapsed: Duration::ZERO,
            verdict: None,
        }
    }

    /// Whether it is worth a look.
    fn is_odd(&self) -> bool {
        matches!(
            self.ending,
            Ending::False | Ending::Panicked | Ending::Unsolved(_) | Ending::Refused
        ) || SLOW < self.elapsed
    }

    fn count(&self, tally: &mut Tally, class: &str, solver: &str) {
        let row = tally.row("problems", &format!("{class} {solver}"));
        row.tried();
        for (name, ending) in [("false", Ending::False), ("panics", Ending::Panicked)] {
            row.failed(name, u64::from(self.ending == ending));
        }
        for name in ["solved", "unsolved"] {
            row.seen(name, 0);
        }
        match self.ending {
            Ending::Solved => row.seen("solved", 1),
            Ending::Approximate => row.seen("approximate", 1),
            Ending::Floor => row.seen("floor", 1),
            Ending::Unsolved(_) => row.seen("unsolved", 1),
            Ending::Unsupported | Ending::Refused => row.seen("refused", 1),
            Ending::False | Ending::Panicked => {}
        }
        row.worst("slowest ms", 1e3 * self.elapsed.as_secs_f64());
        if let (Ending::Solved | Ending::False, Some((verdict, _))) = (self.ending, self.verdict) {
            row.worst("law", verdict.law);
            row.worst("velocity", verdict.momentum / verdict.speed.max(1.0));
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = 1e3 * self.elapsed.as_secs_f64();
        write!(f, "{:?} in {ms:.1} ms", self.ending)?;
        match &self.verdict {
            None => Ok(()),
            Some((verdict, said)) => write!(
                f,
                ", law {:.1e} (said {said:.1e}), velocities off by {:.1e} of {:.1e}",
                verdict.law, verdict.momentum, verdict.speed
            ),
        }
    }
}

/// Draws so many problems of every class, or of the one asked for, and solves them.
pub(crate) fn drawn(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let known = Class::ALL.map(|(name, _)| name);
    asked.check_class(&known)?;
    for (number, (name, class)) in (0_u64..).zip(Class::ALL) {
        if asked.skips(name) {
            continue;
        }
        for i in asked.first..asked.first + count {
            let (variant, problem) = class.draw(&mut Random::new(own_seed(seed, number, i)));
            let title = format!("{name}-{}-{i}", variant.name());
            each_solver(asked, &mut tally, (name, &title), &problem)?;
        }
    }
    Ok(tally)
}

/// Solves and judges the problems of files.
pub(crate) fn given(asked: &Asked, files: &[&str]) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        let problem = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        let name = file.rsplit('/').next().unwrap_or(file);
        each_solver(asked, &mut tally, (name, name), &problem)?;
    }
    Ok(tally)
}

fn each_solver(
    asked: &Asked,
    tally: &mut Tally,
    (class, title): (&str, &str),
    problem: &Value,
) -> Result<(), String> {
    let system = read::system(problem).map_err(|why| format!("{title}: {why}"))?;
    let text = problem.to_string();
    // Where a joint holds a body against friction, there may be no solution: counted apart.
    let class = match exists::is_known(&system) {
        true => class.to_owned(),
        false => format!("{class} (existence open)"),
    };
    for spec in asked.solvers.as_deref().unwrap_or(SOLVERS).split(';') {
        let attempt = match catch_unwind(AssertUnwindSafe(|| solve(&text, spec, &system))) {
            Ok(attempt) => attempt.map_err(|why| format!("{title}: {why}"))?,
            Err(_) => Attempt::of(Ending::Panicked),
        };
        if attempt.is_odd() {
            asked.note(&format!("{title} {spec}: {attempt}"));
            asked.keep(&format!("{title}.json"), text.as_bytes())?;
        }
        attempt.count(tally, &class, spec);
    }
    Ok(())
}

/// One answer, judged.
fn solve(text: &str, spec: &str, system: &System) -> Result<Attempt, String> {
    let loaded = match parse(text.as_bytes(), Format::Json) {
        Ok(loaded) => loaded,
        Err(_) => return Ok(Attempt::of(Ending::Refused)),
    };
    let problem: Problem = match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => return Err("there is nothing to solve".to_owned()),
    };
    let stop = Stop {
        tolerance: TOLERANCE,
        time: Some(PATIENCE),
        ..Stop::default()
    };
    let mut solver = from_spec(spec, stop, 0).map_err(|e| e.to_string())?;
    let mut solution = Solution::zeros(&problem);
    let begin = Instant::now();
    let report = solver.solve(&problem, &mut solution);
    let elapsed = begin.elapsed();
    let verdict = system.judge(&solution.lambda, &solution.v);
    let exact = report.fit == delassus::Fit::Exact;
    let ending = match report.status {
        Status::Unsupported => Ending::Unsupported,
        Status::Solved if !exact => Ending::Approximate,
        Status::Solved if verdict.as_ref().is_some_and(holds) => Ending::Solved,
        Status::Solved => Ending::False,
        Status::RoundingFloor => Ending::Floor,
        status => Ending::Unsolved(status.name()),
    };
    let said = report.residual.law;
    Ok(Attempt {
        ending,
        elapsed,
        verdict: verdict.map(|verdict| (verdict, said)),
    })
}

/// Whether an answer is what `solved` says it is: the law within the tolerance, and the velocities those that follow
/// from the impulses, or as near as 16 digits of what the impulses cancelled allow.
fn holds(verdict: &Verdict) -> bool {
    let law = verdict.law <= ALLOWANCE * TOLERANCE;
    let velocity = (TOLERANCE * verdict.speed.max(1.0)).max(ROUNDED * verdict.free);
    law && verdict.momentum <= velocity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Variant;

    /// Thin bodies and matrices of large condition are where sixteen digits run out: what cannot be known must not be
    /// called solved.
    #[test]
    fn nothing_thin_is_called_solved_that_is_not() {
        let mut tried = 0;
        for (number, (name, class)) in (0_u64..).zip(Class::ALL) {
            for i in 0..160 {
                let (variant, problem) =
                    class.draw(&mut Random::new(1 ^ (number << 56) ^ (i << 8)));
                if variant != Variant::Thin {
                    continue;
                }
                tried += 1;
                let system = read::system(&problem).unwrap_or_else(|e| panic!("{name} {i}: {e}"));
                for spec in ["auto", "gauss-seidel"] {
                    let attempt = solve(&problem.to_string(), spec, &system)
                        .unwrap_or_else(|e| panic!("{name} {i} {spec}: {e}"));
                    assert!(
                        attempt.ending != Ending::False,
                        "{name} {i} {spec}: {attempt}"
                    );
                }
            }
        }
        assert!(100 < tried);
    }

    fn drawn_again(seed: u64, class: &str, i: u64) -> Attempt {
        let found = (0_u64..)
            .zip(Class::ALL)
            .find(|(_, (name, _))| *name == class);
        let (number, (_, class)) = found.expect("a class has a name");
        let (_, problem) = class.draw(&mut Random::new(own_seed(seed, number, i)));
        let system = read::system(&problem).expect("what is drawn can be read");
        solve(&problem.to_string(), "auto", &system).expect("it is a problem")
    }

    /// Every problem, by seed, class and number, ends solved or at a stated floor, and is what its answer says.
    fn are_true(drawn: &[(u64, &str, u64)]) {
        for &(seed, class, i) in drawn {
            let attempt = drawn_again(seed, class, i);
            let is_true = matches!(attempt.ending, Ending::Floor | Ending::Solved);
            assert!(is_true, "{class} {i} of {seed}: {attempt}");
        }
    }

    /// Bodies that lie askew on needles, with a coefficient of 14 along one tangent: the residual is measured in rows that
    /// this scales, so that rounding of a load of 1400 N s counts 134 000 times as much as in the row of the normal. It said
    /// 2.9e-9 m/s of an answer that is off by 1.7e-8.
    #[test]
    fn a_long_ellipse_under_load_is_not_called_solved_below_the_rounding_of_its_own_residual() {
        are_true(&[(2027, "elliptic", 2181)]);
    }

    /// A free needle of 292 kg, 0.6 m beside its origin, whose own axis is soft in a direction that neither momenta of one
    /// sign nor of alternating ones find: its velocities were off by 2.9e-8 m/s.
    #[test]
    fn a_needle_beside_its_origin_is_not_called_solved_below_the_rounding_of_its_momentum() {
        are_true(&[(2029, "trees", 1888), (2029, "trees", 3887)]);
    }

    /// Bounded rows whose answer takes impulses 10⁷ times those that stop the fastest row: a mass that hardly resists one
    /// motion made them look like a contradiction.
    #[test]
    fn rows_that_take_large_impulses_are_not_called_infeasible() {
        are_true(&[(2027, "rows", 9936), (2028, "rows", 5373)]);
    }

    /// Towers of needles, whose moments differ by 10⁹ to 10¹² between axes: whatever pushes one beside its axis sets it
    /// rolling. They stalled far from an answer.
    #[test]
    fn needles_that_roll_under_their_contacts_are_solved_or_end_at_the_floor() {
        are_true(&[
            (2027, "round", 5383),
            (2028, "elliptic", 1024),
            (2029, "elliptic", 7412),
            (2029, "joints-contacts", 6330),
        ]);
    }

    /// Ball joints a micrometre apart hold a body against turning by impulses a million times the usual ones; sixteen digits
    /// of G M⁻¹Gᵀ know a ten-thousandth of that. They were given up as `ray`, or stalled.
    #[test]
    fn joints_a_micrometre_apart_are_told_from_each_other() {
        are_true(&[
            (2027, "joints-contacts", 2843),
            (2027, "joints-contacts", 9299),
            (2028, "joints-contacts", 9572),
            (2029, "joints-contacts", 8584),
        ]);
    }

    /// Links whose moments differ by 10⁹ and more between axes: what pushes one beside its axis sets it rolling, as a free
    /// needle. They stalled far from an answer.
    #[test]
    fn links_that_roll_under_their_contacts_are_solved_or_end_at_the_floor() {
        are_true(&[
            (3101, "trees-contacts", 1964),
            (5002, "trees-contacts", 6277),
            (5002, "trees-contacts", 6845),
        ]);
    }

    /// Needles between heavy bodies, whose rows that hold are 10³⁴ times as stiff as the needle is heavy: steps in twice the
    /// digits left momentum out of balance, and ended as `iteration-limit` or `stalled`.
    #[test]
    fn needles_between_heavy_bodies_end_at_the_floor() {
        are_true(&[
            (3101, "elliptic", 8027),
            (5001, "elliptic", 2812),
            (5001, "elliptic", 2970),
            (5003, "elliptic", 2397),
        ]);
    }

    /// The same joints still nearer, where small impulses that do not hold the turn miss by 1e-8 to 4e-7 m/s only and the
    /// rounding of those that do leaves more. The latter were found in twice the digits, and given up as `stalled` or `ray`.
    #[test]
    fn an_answer_whose_rounding_leaves_more_than_no_answer_does_ends_at_the_floor() {
        are_true(&[
            (3101, "joints-contacts", 4933),
            (4001, "joints-contacts", 5865),
            (5001, "joints-contacts", 7829),
            (5003, "joints-contacts", 2984),
        ]);
    }

    /// Three links of tens of micrometres at 80 000 rad/s, held: momenta of 1e-13 N m s cancel to nothing, and what their last
    /// digits are off by turns a link at 1.0e-8 rad/s. Momenta of one sign and of alternating ones find a twentieth of that.
    #[test]
    fn a_tree_of_micrometres_is_not_called_solved_below_the_rounding_of_its_momentum() {
        are_true(&[(3102, "trees", 3461)]);
    }

    /// Needles of which the last digit of an impulse makes millimetres a second: pivots in twice the digits have the answer,
    /// and its doubles were given up as `ray` for being so far off.
    #[test]
    fn answers_in_twice_the_digits_end_at_the_floor_however_much_their_last_digits_move() {
        are_true(&[(2028, "faceted", 3405), (2029, "faceted", 1661)]);
    }

    /// A needle between two bodies: one attempt stalled at 7.45e-6 m/s, the next said that 7.49e-6 is all that rounding allows,
    /// and the ladder went on from the first to end as `ray`.
    #[test]
    fn a_floor_that_one_attempt_states_ends_the_ladder() {
        are_true(&[(4001, "joints", 4753)]);
    }

    /// A needle held by a ball joint: the row along which it rolls moves at 5e7 m/s, the other two at 1e-4 m/s. Factors with
    /// a rank took the slow ones for copies of the fast one, and sweeps never saw them: 6.5e-5 m/s were left.
    #[test]
    fn rows_that_a_rolling_needle_makes_look_alike_are_not_taken_for_copies() {
        are_true(&[(6003, "trees", 4846), (6003, "trees", 5935)]);
    }

    /// The first of them, asked for 1e-12 m/s: so much cancels that `kkt` called the 1.4e-3 m/s it left the floor of rounding,
    /// where others leave 2e-8.
    #[test]
    fn what_a_wrong_rank_leaves_is_not_called_the_floor_of_rounding() {
        let (_, problem) = Class::ALL[8]
            .1
            .draw(&mut Random::new(own_seed(6003, 8, 4846)));
        let loaded = parse(problem.to_string().as_bytes(), Format::Json).expect("it was written");
        let FileContent::Tree(work) = loaded.content else {
            panic!("a tree is drawn");
        };
        let stop = Stop {
            tolerance: 1e-12,
            ..Stop::default()
        };
        let mut solver = from_spec("auto", stop, 0).expect("it is a solver");
        let report = solver.solve(&work.problem, &mut Solution::zeros(&work.problem));
        assert!(report.residual.law < 1e-6, "{report}");
    }
}
