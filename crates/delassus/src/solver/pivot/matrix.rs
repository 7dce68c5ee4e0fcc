//! The last of the driver's attempts, and the only one of `lemke-standard`: the dense matrix.

use std::time::Duration;

use super::dense::Dense;
use super::driver::Lemke;
use super::every::solve_every;
use super::game::solve_game;
use super::island::{Budget, Island};
use super::method::{CHANCES, CoverChoice, Method};
use super::solve::{Cover, LcpAnswer, LcpOptions, solve};
use crate::index::BlockId;
use crate::law::Law;
use crate::problem::Problem;
use crate::solver::{Certificate, Monitor, Status};

/// Most unknowns of a dense matrix: it takes 8 n² bytes, three times.
const LARGEST: usize = 6000;
/// Most unknowns of an island that is solved again by its matrix for a few more digits: a matter of milliseconds.
const SHARPENED: usize = 200;

impl Lemke {
    /// The dense matrix; the driver tries other covering vectors where a ray proves nothing.
    pub(super) fn dense(&mut self, island: &mut Island<'_>) -> Status {
        let n = rows_of(island.problem, island.blocks, self.directions);
        if LARGEST < n {
            return Status::Unsupported;
        }
        let pivot = (n as u64).pow(2).max(1);
        if !self.work.meter.afford(pivot.saturating_mul(n as u64)) {
            return Status::PivotLimit;
        }
        self.work.meter.begin(1);
        let dense = Dense::new(island.problem, island.blocks, self.directions);
        let mut status = Status::Breakdown;
        let rounds = match self.method {
            Method::Driver => CHANCES,
            _ => 0,
        };
        for round in 0..=rounds {
            if self.work.meter.is_cancelled() {
                return Status::Interrupted;
            }
            let mut options = self.dense_options(pivot, island.budget);
            if options.pivots == 0 && island.budget.pivots != 0 {
                return Status::PivotLimit;
            }
            options.cover = match (round, self.cover) {
                (0, CoverChoice::Ones) => Cover::Ones,
                (0, CoverChoice::Scaled) => Cover::Scaled,
                _ => Cover::Random(self.chance(round).bits()),
            };
            let answer = solve(&dense.lcp, &options);
            island.budget.pivots += answer.pivots;
            self.work.meter.spend(pivot * answer.pivots as u64);
            if round == 0 || answer.status == Status::Solved {
                status = answer.status;
                dense.impulses(&answer.z, island.lambda);
                island.budget.certificate = certificate(&dense, &answer, island.lambda.len());
            }
            let hopeless = answer.farkas.is_some() || status == Status::TimeLimit;
            if answer.status == Status::Solved || hopeless {
                return status;
            }
        }
        // The plain method ends where its path does; another path is the driver's business.
        if self.method != Method::Driver {
            return status;
        }
        let options = self.dense_options(pivot, island.budget);
        let found = solve_game(&dense.lcp, &options).or_else(|| solve_every(&dense.lcp));
        if let Some(answer) = found {
            island.budget.pivots += answer.pivots;
            island.budget.certificate = None;
            dense.impulses(&answer.z, island.lambda);
            status = Status::Solved;
        }
        status
    }

    /// All islands of a small problem by their matrices, where the tolerance asks for more digits than a path without
    /// matrix has kept; none where these have not either.
    pub(super) fn sharpened(
        &mut self,
        problem: &Problem,
        time: Option<Duration>,
        monitor: &mut Monitor<'_>,
    ) -> Option<Vec<f64>> {
        let islands = problem.islands();
        if islands
            .iter()
            .any(|blocks| SHARPENED < rows_of(problem, blocks, self.directions))
        {
            return None;
        }
        let mut budget = Budget::new(time);
        let mut lambda = vec![0.0; problem.n_rows()];
        for blocks in &islands {
            self.work.meter.renew();
            let status = self.dense(&mut Island {
                problem,
                blocks,
                guess: None,
                lambda: &mut lambda,
                budget: &mut budget,
            });
            if status != Status::Solved {
                return None;
            }
        }
        let ended = monitor.pivoted(budget.pivots, &lambda, Status::Solved);
        (ended == Status::Solved).then_some(lambda)
    }

    /// Limits of one path, whose pivots cost about so many multiplications each.
    fn dense_options(&self, pivot: u64, budget: &Budget) -> LcpOptions {
        let affordable = usize::try_from(self.work.meter.left() / pivot).unwrap_or(usize::MAX);
        LcpOptions {
            pivot: self.pivot,
            pivots: budget.left(self.stop.pivots).min(affordable),
            time: budget.time_left(),
            ..LcpOptions::default()
        }
    }
}

/// What a path found instead of an answer, in the rows of the whole problem.
fn certificate(dense: &Dense, answer: &LcpAnswer, rows: usize) -> Option<Certificate> {
    let spread = |x: &[f64]| {
        let mut spread = vec![0.0; rows];
        dense.add(x, &mut spread);
        spread
    };
    let farkas = answer.farkas.as_deref().filter(|_| dense.is_plain());
    Some(Certificate {
        ray: spread(answer.ray.as_deref()?),
        farkas: farkas.map(spread),
    })
}

/// About how many unknowns the dense problem has.
fn rows_of(problem: &Problem, blocks: &[BlockId], directions: u32) -> usize {
    let unknowns = |id: &BlockId| {
        let block = &problem.blocks()[id.index()];
        match block.law {
            Law::FrictionFacets { directions, .. } => 2 + directions as usize,
            Law::FrictionCone { .. } | Law::EllipticCone { .. } => 2 + directions as usize,
            _ => 2 * block.n_rows,
        }
    };
    blocks.iter().map(unknowns).sum()
}
