//! One answer of `solve`: schema `delassus-answer-1`, for programs, and a line of the table, for people.

use std::time::Duration;

use delassus::problem::Form;
use delassus::problem::file::SpookRow;
use delassus::solver::{Rank, Sweep};
use delassus::{Problem, Report, Residual, Solution};
use serde::{Serialize, Serializer};

use crate::console::Outcome;
use crate::solvers::{self, Chosen, Options};
use crate::table;

/// Answer to one file by one solver. Numbers that are not finite become null, which is what `serde_json` does.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    schema: &'static str,
    pub(crate) file: String,
    kind: &'static str,
    solver: &'static str,
    options: Options,
    /// What `auto` took, part by part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chosen: Vec<Chosen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<&'static str>,
    status: &'static str,
    fit: &'static str,
    iterations: usize,
    residual: Residual,
    #[serde(rename = "elapsed_s", serialize_with = "in_seconds")]
    elapsed: Duration,
    /// Why it is not solved, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What to know about an answer all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda: Option<Vec<f64>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    system: Option<System>,
    #[serde(skip_serializing_if = "Option::is_none")]
    z: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    w: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ray: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    farkas: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cases: Option<Vec<SpookRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<Line>>,
}

/// Answer to [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂].
#[derive(Clone, Debug, Serialize)]
struct System {
    x1: Vec<f64>,
    x2: Vec<f64>,
    rank: Option<usize>,
    redundant_rows: Option<Vec<usize>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    matrices: Option<Matrices>,
}

/// The parts of the system, each as a list of rows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Matrices {
    #[serde(rename = "M")]
    pub(crate) mass: Vec<Vec<f64>>,
    #[serde(rename = "J")]
    pub(crate) jacobian: Vec<Vec<f64>>,
    pub(crate) delassus: Vec<Vec<f64>>,
    pub(crate) bias: Vec<f64>,
}

/// One line of the history as the command line promises it.
#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    sweep: usize,
    law: Option<f64>,
    eta: f64,
    dual_decrease: f64,
}

impl From<&Sweep> for Line {
    fn from(sweep: &Sweep) -> Line {
        Line {
            sweep: sweep.sweep,
            law: sweep.law,
            eta: sweep.eta,
            dual_decrease: sweep.dual_decrease,
        }
    }
}

/// Headings of the table of answers.
pub(crate) const HEADINGS: [&str; 10] = [
    "file",
    "solver",
    "status",
    "fit",
    ">iterations",
    ">law [m/s]",
    ">relative",
    ">momentum",
    ">worst block",
    ">time",
];

impl Answer {
    /// The answer of a run, in the file's own order of velocities.
    pub(crate) fn new(
        (file, kind): (&str, &'static str),
        problem: &Problem,
        velocity_order: Option<&[usize]>,
        solution: Solution,
        report: Report,
    ) -> Answer {
        let has_bodies = matches!(problem.form(), Form::Primal(_));
        let is_lcp = is_complementarity(kind);
        let w = is_lcp.then(|| row_velocities(problem, &solution));
        let certificate = report.certificate.clone().filter(|_| is_lcp);
        let (ray, farkas) =
            certificate.map_or((None, None), |found| (Some(found.ray), found.farkas));
        let (z, lambda) = match is_lcp {
            true => (Some(solution.lambda), None),
            false => (None, Some(solution.lambda)),
        };
        let (note, message) = match report.status {
            delassus::Status::Solved => (report.message.clone(), None),
            _ => (None, report.message.clone()),
        };
        Answer {
            schema: "delassus-answer-1",
            file: file.to_owned(),
            kind,
            solver: report.solver,
            chosen: Chosen::of(&report),
            options: Options(report.options),
            fallback: report.fallback,
            status: report.status.name(),
            fit: report.fit.name(),
            iterations: report.iterations,
            residual: report.residual,
            elapsed: report.elapsed,
            message,
            note,
            v: has_bodies.then(|| file_order(solution.v, velocity_order)),
            lambda,
            z,
            w,
            ray,
            farkas,
            system: None,
            cases: None,
            history: None,
        }
    }

    /// What to know about it in words.
    pub(crate) fn words(&self) -> Option<&str> {
        self.message.as_deref().or(self.note.as_deref())
    }

    /// The same answer as x₁ and x₂ of a tree's system.
    pub(crate) fn with_system(mut self, rank: Option<Rank>, matrices: Option<Matrices>) -> Answer {
        let solved = "a tree was solved for: it has velocities and impulses";
        let lambda = self.lambda.take().expect(solved);
        self.system = Some(System {
            x1: self.v.take().expect(solved),
            // The system's sign: x₂ = −λ. Adding zero turns −0 into 0.
            x2: lambda.iter().map(|x| 0.0 - x).collect(),
            rank: rank.as_ref().map(|rank| rank.rank),
            redundant_rows: rank.map(|rank| rank.redundant),
            matrices,
        });
        self
    }

    /// Computed coefficients: nothing was iterated and nothing judged, so the residual is all null.
    pub(crate) fn computed(
        (file, kind): (&str, &'static str),
        solver: &dyn delassus::Solver,
        cases: Vec<SpookRow>,
    ) -> Answer {
        Answer {
            schema: "delassus-answer-1",
            file: file.to_owned(),
            kind,
            solver: solver.name(),
            options: Options(solver.options()),
            chosen: Vec::new(),
            fallback: None,
            status: delassus::Status::Solved.name(),
            fit: delassus::Fit::Exact.name(),
            iterations: 0,
            residual: Residual {
                law: f64::NAN,
                law_rms: f64::NAN,
                relative: f64::NAN,
                momentum: f64::NAN,
                feasibility: f64::NAN,
                complementarity: f64::NAN,
                worst_block: None,
            },
            elapsed: Duration::ZERO,
            message: None,
            note: None,
            v: None,
            lambda: None,
            z: None,
            w: None,
            ray: None,
            farkas: None,
            system: None,
            cases: Some(cases),
            history: None,
        }
    }

    /// Adds the history of the run.
    pub(crate) fn with_history(mut self, history: &[Sweep]) -> Answer {
        self.history = Some(history.iter().map(Line::from).collect());
        self
    }

    pub(crate) fn outcome(&self) -> Outcome {
        if self.status == delassus::Status::Solved.name() {
            Outcome::Solved
        } else {
            Outcome::NotSolved
        }
    }

    /// The solver with the keys that differ from its defaults.
    pub(crate) fn label(&self) -> String {
        solvers::label(self.solver, &self.options.0)
    }

    /// The label, with what was chosen.
    fn named(&self) -> String {
        Chosen::name(&self.label(), &self.chosen, self.fallback)
    }

    /// The answer as one line of JSON.
    pub(crate) fn json(&self) -> String {
        // Strings, numbers and lists only: there is nothing in an answer that JSON cannot hold.
        serde_json::to_string(self).expect("plain data has a JSON form")
    }

    /// The answer as a row under [`HEADINGS`].
    pub(crate) fn row(&self) -> Vec<String> {
        let worst = self.residual.worst_block;
        vec![
            self.file.clone(),
            self.named(),
            self.status.to_owned(),
            self.fit.to_owned(),
            self.iterations.to_string(),
            table::number(self.residual.law),
            table::number(self.residual.relative),
            table::number(self.residual.momentum),
            worst.map_or_else(|| "-".to_owned(), |block| block.0.to_string()),
            table::time(self.elapsed),
        ]
    }
}

/// Kinds whose unknowns are called z and w.
fn is_complementarity(kind: &str) -> bool {
    matches!(kind, "lcp" | "mlcp")
}

fn row_velocities(problem: &Problem, solution: &Solution) -> Vec<f64> {
    let mut w = vec![0.0; problem.n_rows()];
    problem.row_velocity(&solution.v, &solution.lambda, &mut w);
    w
}

/// Velocity i of the problem stands at `order[i]` in the file.
fn file_order(v: Vec<f64>, order: Option<&[usize]>) -> Vec<f64> {
    let Some(order) = order else {
        return v;
    };
    let mut placed = vec![f64::NAN; v.len()];
    for (&place, value) in order.iter().zip(v) {
        if let Some(slot) = placed.get_mut(place) {
            *slot = value;
        }
    }
    placed
}

pub(crate) fn in_seconds<S: Serializer>(
    elapsed: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn velocities_go_back_to_where_the_file_has_them() {
        let v = vec![1.0, 2.0, 3.0];
        assert_eq!(file_order(v.clone(), Some(&[2, 0, 1])), [2.0, 3.0, 1.0]);
        assert_eq!(file_order(v.clone(), None), v);
    }
}
