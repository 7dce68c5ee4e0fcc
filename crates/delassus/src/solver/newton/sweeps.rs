//! Gauss-Seidel sweeps over a small island, before and between attempts of Newton's method.
//!
//! A contact that has come or let go changes what its neighbours do. Newton's method on the laws themselves walks about
//! between such states; sweeps find them one contact after the other, and cost a small part of a factorisation.

use super::stage::{End, Stage};
use super::white::Sweeps;
use crate::solver::sweep::{Locals, Rule};

/// Share of the velocity scale above which a start is swept before it is followed, and how often.
const AWAY: f64 = 0.3;
const FIRST: usize = 8;
/// Sweeps between later attempts.
const MORE: [usize; 3] = [10, 40, 160];
/// Rows for each velocity up to which an island is swept: of contacts that depend on each other sweeps tell little.
const ROWS: usize = 2;
/// Steps on the laws themselves in an attempt, and the share of its residual that each may leave: contacts that open, stick
/// or slip otherwise than before cost a step or two, and the path of smoothed laws costs five.
const WHOLE: usize = 8;
const FALLS: f64 = 0.9;

/// Memory of the sweeps.
#[derive(Clone, Debug, Default)]
pub(super) struct SweepRoom {
    locals: Locals,
    /// Whether the blocks are those of this solve.
    prepared: bool,
    lambda: Vec<f64>,
    w: Vec<f64>,
    new: Vec<f64>,
}

impl SweepRoom {
    /// Another problem comes.
    pub(super) fn begin(&mut self) {
        self.prepared = false;
    }
}

impl Stage<'_> {
    /// Newton's steps on the laws themselves from impulses that should be near, with sweeps before them where they are not
    /// and between attempts that lead nowhere.
    pub(super) fn start_near(&mut self, start: &[f64]) -> Result<(), End> {
        let residual = self.judge(start)?;
        let mut room = std::mem::take(&mut self.kernel.sweeps);
        let end = self.attempts(start, residual, &mut room);
        self.kernel.sweeps = room;
        end
    }

    fn attempts(
        &mut self,
        start: &[f64],
        mut residual: f64,
        room: &mut SweepRoom,
    ) -> Result<(), End> {
        room.lambda.clear();
        room.lambda.extend_from_slice(start);
        let sweeps = self.system.n_rows() <= ROWS * self.system.n_velocities();
        if sweeps && AWAY * self.system.scale < residual {
            self.sweep(room, FIRST);
            residual = self.judge(&room.lambda)?;
        }
        super::next(self.semismooth_judged(&room.lambda, residual, (WHOLE, FALLS)))?;
        room.lambda.clear();
        room.lambda.extend_from_slice(&self.best.1);
        for count in MORE.into_iter().filter(|_| sweeps) {
            self.sweep(room, count);
            super::next(self.semismooth_while(&room.lambda, WHOLE, FALLS))?;
        }
        Err(End::Stuck)
    }

    /// Sweeps the impulses in the room.
    fn sweep(&self, room: &mut SweepRoom, count: usize) {
        let (Some(white), Some(primal)) = (&self.system.white, self.system.primal()) else {
            return;
        };
        let (problem, blocks) = (self.system.problem, self.system.blocks());
        if !room.prepared {
            let diagonals = problem.diagonal_blocks();
            room.locals.prepare(blocks, diagonals, Rule::Iso);
            let most = blocks.iter().map(|block| block.n_rows).max().unwrap_or(0);
            room.w.resize(most, 0.0);
            room.new.resize(most, 0.0);
            room.prepared = true;
        }
        white.sweep(Sweeps {
            count,
            blocks,
            locals: &room.locals,
            c: problem.c(),
            sigma: primal.sigma(),
            lambda: &mut room.lambda,
            w: &mut room.w,
            new: &mut room.new,
        });
    }
}
