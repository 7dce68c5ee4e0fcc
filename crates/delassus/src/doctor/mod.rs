//! What is wrong with a scene or a problem, in words: findings with a place, a number and a remedy.
//!
#![doc = include_str!("../../docs/doctor.md")]

mod problem;
#[cfg(feature = "world")]
mod scene;
#[cfg(feature = "world")]
mod setting;

use serde::{Serialize, Serializer};

pub use problem::of_problem;
#[cfg(feature = "world")]
pub use scene::of_scene;

use crate::solver::auto::Choice;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The result may be poor or slow.
    Warning,
    /// The result is wrong, or there is none.
    Error,
}

/// What kind of trouble a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A step could not be made.
    Refused,
    /// Rows ask for velocities that no motion has.
    Conflict,
    /// A solve did not reach its tolerance.
    Unsolved,
    /// Bodies overlap by more than a step can mend.
    Deep,
    /// Bodies overlap at the start.
    Overlap,
    /// A body moves or turns too far in a step.
    Fast,
    /// A heavy body hangs on or leans on a light one.
    MassRatio,
    /// Rows that say what others say already.
    Redundant,
    /// Rows of very different scale.
    Scaling,
    /// A spring that swings faster than the steps follow.
    Stiff,
    /// Nothing in the scene can move.
    Empty,
    /// Bodies fall, and there is nothing to fall on.
    NoGround,
    /// Bodies that nothing can ever touch.
    Untouchable,
    /// Loops or joints that are open at the start.
    Open,
}

impl FindingKind {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Refused => "refused",
            FindingKind::Conflict => "conflict",
            FindingKind::Unsolved => "unsolved",
            FindingKind::Deep => "deep",
            FindingKind::Overlap => "overlap",
            FindingKind::Fast => "fast",
            FindingKind::MassRatio => "mass-ratio",
            FindingKind::Redundant => "redundant",
            FindingKind::Scaling => "scaling",
            FindingKind::Stiff => "stiff",
            FindingKind::Empty => "empty",
            FindingKind::NoGround => "no-ground",
            FindingKind::Untouchable => "untouchable",
            FindingKind::Open => "open",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of trouble it is.
    pub kind: FindingKind,
    /// What is wrong, in a sentence.
    pub what: String,
    /// The joints, contacts, bodies or blocks concerned, the worst first.
    pub places: Vec<String>,
    /// How many places there are in all.
    pub count: usize,
    /// How bad it is at the worst place.
    pub number: f64,
    /// What the number counts, with its unit.
    pub unit: &'static str,
    /// What to do about it.
    pub remedy: String,
}

/// Most places that a finding names.
const NAMED: usize = 6;

impl Finding {
    /// A finding at some places, of which the first few are kept.
    fn new(
        (severity, kind): (Severity, FindingKind),
        (number, unit): (f64, &'static str),
        mut places: Vec<String>,
        (what, remedy): (String, &str),
    ) -> Finding {
        let count = places.len();
        places.truncate(NAMED);
        Finding {
            severity,
            kind,
            what,
            places,
            count,
            number,
            unit,
            remedy: remedy.to_owned(),
        }
    }
}

/// Everything found, the worst first, and the solver that would be taken.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// What is wrong; empty if nothing is.
    pub findings: Vec<Finding>,
    /// What was looked at: blocks and rows of the largest problem, steps made.
    pub looked_at: LookedAt,
    /// Which solver suits, by the table of `auto`.
    #[serde(serialize_with = "choice")]
    pub solver: Choice,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LookedAt {
    /// Steps made.
    pub steps: usize,
    /// Masses of the largest problem.
    pub masses: usize,
    /// Its blocks.
    pub blocks: usize,
    /// Its rows.
    pub rows: usize,
}

impl Diagnosis {
    /// The worst finding's severity.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// One finding of each kind, the worst of them, sorted by severity and kind.
    fn new(mut findings: Vec<Finding>, looked_at: LookedAt, solver: Choice) -> Diagnosis {
        // Rows that contradict each other cannot be solved; that is said already.
        if findings
            .iter()
            .any(|finding| finding.kind == FindingKind::Conflict)
        {
            findings.retain(|finding| finding.kind != FindingKind::Unsolved);
        }
        findings.sort_by(|a, b| {
            let severity = b.severity.cmp(&a.severity);
            let number = b.number.total_cmp(&a.number);
            severity.then(a.kind.cmp(&b.kind)).then(number)
        });
        let mut seen = Vec::new();
        findings.retain(|finding| {
            let is_new = !seen.contains(&finding.kind);
            seen.push(finding.kind);
            is_new
        });
        Diagnosis {
            findings,
            looked_at,
            solver,
        }
    }
}

fn choice<S: Serializer>(choice: &Choice, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let then: Vec<&str> = choice.then.iter().map(|rung| rung.solver).collect();
    let mut map = serializer.serialize_map(Some(4))?;
    map.serialize_entry("name", choice.first.solver)?;
    map.serialize_entry("then", &then)?;
    map.serialize_entry("class", choice.class)?;
    map.serialize_entry("why", choice.why)?;
    map.end()
}
