//! The solvers by name, their covering vectors, and the attempts each makes without a matrix.

use crate::solver::catalogue::name_of;
use crate::solver::pivot::lcp::ratio::Pivot;

/// Covering vectors by chance that are tried before the dense matrix.
pub(crate) const CHANCES: u64 = 3;

/// Which form of the problem is pivoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// One after the other until an answer is verified.
    #[default]
    Driver,
    /// Contacts without matrix, friction added where load appears.
    Reduced,
    /// Contacts without matrix, all of it from the start.
    Structural,
    /// The dense matrix.
    Standard,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 4] = [
        Method::Driver,
        Method::Reduced,
        Method::Structural,
        Method::Standard,
    ];

    /// The name of the solver on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Driver => "lemke",
            Method::Reduced => "lemke-reduced",
            Method::Structural => "lemke-structural",
            Method::Standard => "lemke-standard",
        }
    }
}

/// The covering vector c of w = Mz + c z₀ + q, as a choice by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoverChoice {
    /// Ones.
    #[default]
    Ones,
    /// Ones after scaling.
    Scaled,
    /// By chance, from the solver's seed.
    Random,
}

impl CoverChoice {
    /// All choices, with the names used on the command line.
    pub const NAMES: [(&'static str, CoverChoice); 3] = [
        ("ones", CoverChoice::Ones),
        ("scaled", CoverChoice::Scaled),
        ("random", CoverChoice::Random),
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        name_of(&CoverChoice::NAMES, self)
    }
}

/// One attempt without matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Friction added where load appears, instead of all of it from the start.
    pub(crate) reduced: bool,
    pub(crate) pivot: Pivot,
    /// Which covering vector by chance, or zero for the solver's own.
    pub(crate) chance: u64,
}

impl Plan {
    pub(crate) fn reduced(pivot: Pivot) -> Plan {
        Plan {
            reduced: true,
            pivot,
            chance: 0,
        }
    }

    fn structural(pivot: Pivot) -> Plan {
        Plan {
            reduced: false,
            ..Plan::reduced(pivot)
        }
    }
}

impl Method {
    /// The attempts without matrix, in order.
    pub(crate) fn plans(self, pivot: Pivot) -> Vec<Plan> {
        let reduced = [Plan::reduced(pivot), Plan::reduced(Pivot::Lex)];
        let structural = [Plan::structural(pivot), Plan::structural(Pivot::Lex)];
        match self {
            Method::Driver => {
                let mut plans = reduced.to_vec();
                plans.extend((0..=CHANCES).map(|chance| Plan {
                    chance,
                    ..Plan::structural(pivot)
                }));
                plans
            }
            // Where the covering vector would grow too large, the structural method has to finish; where large pivots
            // cycle, the lexicographic rule.
            Method::Reduced => [reduced, structural].concat(),
            Method::Structural => structural.to_vec(),
            Method::Standard => Vec::new(),
        }
    }
}
