//! Islands of one kind together: parts of a problem that the table sees separately, and their reports as one.

use std::time::Duration;

use crate::index::BlockId;
use crate::law::Law;
use crate::problem::residual::Residual;
use crate::problem::{Form, Problem, Solution};
use crate::solver::{Certificate, Fit, Report, Status, Stop, Sweep};

/// Kinds of islands: those of one kind have the same line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum IslandLaws {
    Facets,
    Joints,
    Mechanism,
    Contacts,
}

/// A part of a problem as a problem of its own.
pub(super) struct Part {
    pub(super) problem: Problem,
    pub(super) islands: usize,
    /// Its rows in the whole.
    rows: Vec<usize>,
}

/// The parts, where there is more than one: by the laws of their islands. A matrix is one part.
pub(super) fn parts(problem: &Problem) -> Vec<Part> {
    let blocks = problem.blocks();
    let equalities = blocks.iter().filter(|block| block.law == Law::Equality);
    let mixed = match equalities.count() {
        0 => blocks.iter().any(|block| is_faceted(&block.law)),
        count => count < blocks.len(),
    };
    if !mixed || matches!(problem.form(), Form::Dual(_)) || problem.is_one_island() {
        return Vec::new();
    }
    let mut groups: [(usize, Vec<BlockId>); 4] = Default::default();
    for island in problem.islands() {
        let group = &mut groups[kind(problem, &island) as usize];
        group.0 += 1;
        group.1.extend(island);
    }
    groups.iter_mut().for_each(|group| group.1.sort_unstable());
    let used = groups.into_iter().filter(|group| 0 < group.0);
    let parts: Vec<Part> = used
        .filter_map(|(islands, blocks)| {
            let rows = blocks
                .iter()
                .flat_map(|id| problem.blocks()[id.index()].rows());
            Some(Part {
                problem: problem.part(&blocks)?,
                islands,
                rows: rows.collect(),
            })
        })
        .collect();
    match parts.len() {
        0 | 1 => Vec::new(),
        _ => parts,
    }
}

fn is_faceted(law: &Law) -> bool {
    matches!(law, Law::FrictionFacets { mu, .. } if *mu != 0.0)
}

fn kind(problem: &Problem, island: &[BlockId]) -> IslandLaws {
    let laws = || island.iter().map(|id| &problem.blocks()[id.index()].law);
    let equalities = laws().filter(|law| **law == Law::Equality).count();
    match equalities {
        _ if laws().any(is_faceted) => IslandLaws::Facets,
        0 => IslandLaws::Contacts,
        count if count == island.len() => IslandLaws::Joints,
        _ => IslandLaws::Mechanism,
    }
}

impl Part {
    /// Its share of impulses of the whole.
    pub(super) fn share(&self, lambda: &[f64]) -> Solution {
        Solution {
            v: Vec::new(),
            lambda: self.rows.iter().map(|&row| lambda[row]).collect(),
        }
    }

    /// Puts its impulses back.
    pub(super) fn put(&self, own: &[f64], lambda: &mut [f64]) {
        for (&row, own) in self.rows.iter().zip(own) {
            lambda[row] = *own;
        }
    }
}

/// Reports of parts as one, while they come in.
pub(super) struct Sum<'a> {
    problem: &'a Problem,
    parts: &'a [Part],
    stop: Stop,
    /// Time it took to take the problem apart.
    apart: Duration,
    /// Law residual of every part as far as it is known \[m/s\].
    laws: Vec<f64>,
    report: Option<Report>,
    messages: Vec<String>,
}

impl<'a> Sum<'a> {
    /// Nothing is solved yet; the residuals are those of the start.
    pub(super) fn new(
        (problem, parts): (&'a Problem, &'a [Part]),
        lambda: &[f64],
        (stop, apart): (Stop, Duration),
    ) -> Sum<'a> {
        let law = |part: &Part| {
            let start = Solution::from_lambda(&part.problem, part.share(lambda).lambda);
            Residual::of(&part.problem, &start).law
        };
        Sum {
            problem,
            parts,
            stop,
            apart,
            laws: parts.iter().map(law).collect(),
            report: None,
            messages: Vec::new(),
        }
    }

    /// Time spent so far.
    pub(super) fn spent(&self) -> Duration {
        let report = self.report.as_ref();
        self.apart + report.map_or(Duration::ZERO, |report| report.elapsed)
    }

    /// Adds the report of a part. The residual of the whole is the worst of what its parts have reached.
    pub(super) fn add(&mut self, at: usize, mut next: Report) {
        let part = &self.parts[at];
        let others = self.laws.iter().enumerate();
        let others = others.filter(|(i, _)| *i != at).map(|(_, law)| *law);
        let rest = others.fold(0.0, f64::max);
        for line in &mut next.history {
            line.law = line.law.map(|law| law.max(rest));
        }
        self.laws[at] = next.residual.law;
        if let Some(message) = &next.message {
            let solver = next
                .chosen
                .first()
                .map_or("", |chosen| chosen.choice.first.solver);
            self.messages.push(format!("{solver}: {message}"));
        }
        next.certificate = next.certificate.map(|proof| self.spread(part, &proof));
        self.report = Some(match self.report.take() {
            None => next,
            Some(first) => joined(first, next),
        });
    }

    /// A proof about a part is one about the whole: the other rows have no say in it.
    fn spread(&self, part: &Part, proof: &Certificate) -> Certificate {
        let whole = |own: &[f64]| {
            let mut rows = vec![0.0; self.problem.n_rows()];
            part.put(own, &mut rows);
            rows
        };
        Certificate {
            ray: whole(&proof.ray),
            farkas: proof.farkas.as_deref().map(whole),
        }
    }

    /// The report of the whole: the judge looks at it once more.
    pub(super) fn finish(self, solution: &Solution) -> Option<Report> {
        let mut report = self.report?;
        report.elapsed += self.apart;
        report.residual = Residual::of(self.problem, solution);
        let within = report.residual.law <= self.stop.tolerance;
        if report.status == Status::Solved && report.fit == Fit::Exact && !within {
            report.status = Status::Stalled;
        }
        report.message = (!self.messages.is_empty()).then(|| self.messages.join("; "));
        Some(report)
    }
}

/// Two parts as one: the worst of both ends, the work of both.
fn joined(first: Report, next: Report) -> Report {
    let (sweeps, seconds) = (first.iterations, first.elapsed.as_secs_f64());
    let mut history = first.history;
    history.extend(next.history.iter().map(|line| Sweep {
        sweep: line.sweep + sweeps,
        elapsed_s: line.elapsed_s + seconds,
        ..*line
    }));
    let mut chosen = first.chosen;
    chosen.extend(next.chosen.iter().copied());
    Report {
        status: match first.status {
            _ if next.status == Status::Interrupted => next.status,
            Status::Solved => next.status,
            status => status,
        },
        fit: first.fit.max(next.fit),
        iterations: first.iterations + next.iterations,
        elapsed: first.elapsed + next.elapsed,
        fallback: first.fallback.or(next.fallback),
        certificate: first.certificate.or(next.certificate),
        history,
        chosen,
        ..next
    }
}
