//! What was found, class by class and solver by solver.

use std::fmt;
use std::time::Duration;

use crate::judge::Verdict;

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
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
pub(crate) struct Line {
    ending: Ending,
    elapsed: Duration,
    /// The judge's verdict, and the law residual that the library said.
    verdict: Option<(Verdict, f64)>,
}

impl Line {
    /// An attempt that ended so.
    pub(crate) fn of(ending: Ending, elapsed: Duration, verdict: Option<(Verdict, f64)>) -> Line {
        Line {
            ending,
            elapsed,
            verdict,
        }
    }

    /// An attempt that panicked.
    pub(crate) fn panicked() -> Line {
        Line::of(Ending::Panicked, Duration::ZERO, None)
    }

    /// Whether it was called solved and is not.
    #[cfg(test)]
    pub(crate) fn is_false(&self) -> bool {
        self.ending == Ending::False
    }

    /// Whether it is worth a look.
    pub(crate) fn is_odd(&self) -> bool {
        matches!(
            self.ending,
            Ending::False | Ending::Panicked | Ending::Unsolved(_) | Ending::Refused
        )
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} in {:.1} ms",
            self.ending,
            1e3 * self.elapsed.as_secs_f64()
        )?;
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

/// Counts of one class and solver.
#[derive(Clone, Debug, Default)]
struct Row {
    class: String,
    solver: String,
    tried: usize,
    solved: usize,
    wrong: usize,
    approximate: usize,
    floor: usize,
    unsolved: usize,
    refused: usize,
    panicked: usize,
    law: f64,
    momentum: f64,
    slowest: Duration,
}

/// All that was tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    /// Adds an attempt.
    pub(crate) fn add(&mut self, class: &str, solver: &str, line: Line) {
        let of = |row: &Row| row.class == class && row.solver == solver;
        let at = self.0.iter().position(of).unwrap_or_else(|| {
            self.0.push(Row {
                class: class.to_owned(),
                solver: solver.to_owned(),
                ..Row::default()
            });
            self.0.len() - 1
        });
        let row = &mut self.0[at];
        row.tried += 1;
        row.slowest = row.slowest.max(line.elapsed);
        match line.ending {
            Ending::Solved => row.solved += 1,
            Ending::False => row.wrong += 1,
            Ending::Approximate => row.approximate += 1,
            Ending::Floor => row.floor += 1,
            Ending::Unsolved(_) => row.unsolved += 1,
            Ending::Unsupported | Ending::Refused => row.refused += 1,
            Ending::Panicked => row.panicked += 1,
        }
        if let (Ending::Solved | Ending::False, Some((verdict, _))) = (line.ending, line.verdict) {
            row.law = row.law.max(verdict.law);
            row.momentum = row.momentum.max(verdict.momentum / verdict.speed.max(1.0));
        }
    }

    /// Whether nothing false was said and nothing panicked.
    pub(crate) fn is_clean(&self) -> bool {
        self.0.iter().all(|row| row.wrong + row.panicked == 0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<28} {:<16} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>6} {:>9} {:>9} {:>9}",
            "class",
            "solver",
            "tried",
            "solved",
            "FALSE",
            "approx",
            "floor",
            "unsolved",
            "refused",
            "panics",
            "worst law",
            "velocity",
            "slowest"
        )?;
        for row in &self.0 {
            writeln!(
                f,
                "{:<28} {:<16} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>6} {:>9.1e} {:>9.1e} {:>6.0} ms",
                row.class,
                row.solver,
                row.tried,
                row.solved,
                row.wrong,
                row.approximate,
                row.floor,
                row.unsolved,
                row.refused,
                row.panicked,
                row.law,
                row.momentum,
                1e3 * row.slowest.as_secs_f64()
            )?;
        }
        Ok(())
    }
}
