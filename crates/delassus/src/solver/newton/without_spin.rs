//! A start for contacts with rolling and spinning friction: the same contacts without it, found from inside.
//!
//! Torques of rolling and spinning are mostly small beside forces, so that an answer without them has nearly the right
//! modes. The continuation goes on from there.

use super::kernel::Kernel;
use super::stage::{End, Stage};
use super::system::System;
use crate::index::BlockId;
use crate::law::Law;
use crate::problem::place::At;
use crate::problem::{Form, Problem};

/// Factorisations at most.
const MOST: usize = 60;

impl Stage<'_> {
    /// Impulses near the answer without rows of spin, which are zero; `None` where no law has such rows, or no masses
    /// are given.
    pub(super) fn without_spin(&mut self) -> Result<Option<Vec<f64>>, End> {
        let Some((problem, kept)) = without_spin(self.system.problem) else {
            return Ok(None);
        };
        let stop = self.stop_inside(self.system.scale, MOST);
        let mut inner = Stage::new(System::new(&problem), Kernel::default(), stop, self.begin);
        let _ = inner.soft_loads().and_then(|loads| inner.interior(&loads));
        for _ in 0..inner.history.len() {
            self.counted(self.best.0)?;
        }
        let mut lambda = vec![0.0; self.system.n_rows()];
        for (row, x) in kept.into_iter().zip(&inner.best.1) {
            lambda[row] = *x;
        }
        Ok(Some(lambda))
    }
}

/// The problem with plain cones for contacts that resist spin, and where its rows stand in the whole.
fn without_spin(problem: &Problem) -> Option<(Problem, Vec<usize>)> {
    let Form::Primal(primal) = problem.form() else {
        return None;
    };
    if !problem.blocks().iter().any(|b| b.law.has_spin_rows()) {
        return None;
    }
    let mut builder = Problem::builder();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = &primal.p()[primal.columns(b)];
        builder.add_mass(mass.clone(), p).ok()?;
    }
    let mut kept = Vec::new();
    for (block, id) in problem.blocks().iter().zip((0..).map(BlockId)) {
        let n = block.law.spin_rows(block.n_rows).start;
        let law = match block.law.disks(block.n_rows).next() {
            Some(disk) if n < block.n_rows => Law::FrictionCone { mu: disk.mu()[0] },
            _ => block.law,
        };
        let rows = block.start..block.start + n;
        let places = primal.places(id).map(|at| At {
            rows: &at.rows[..at.rows.len() / block.n_rows * n],
            ..at
        });
        let on: Vec<At<'_>> = places.collect();
        let (sigma, q) = (&primal.sigma()[rows.clone()], &primal.q()[rows.clone()]);
        builder.add_block_at(law, &on, sigma, q).ok()?;
        kept.extend(rows);
    }
    Some((builder.build().ok()?, kept))
}
