//! The blocks of one subtree: contacts at a point in lanes, colour after colour, all others one by one.

use super::colour::Window;
use super::kernel::{Push, Visit};
use super::lanes::{EMPTY, Group, LANES, Row};
use super::layout::LayOut;
use super::partition::Partition;
use crate::index::BlockId;
use crate::law::Law;
use crate::math::{dot, mul_transposed_add, parallel};
use crate::problem::mass::MassBlock;
use crate::problem::{Block, Primal, Problem};
use crate::solver::sweep::gauss_seidel::{Carrier, visit};
use crate::solver::sweep::rule::{Locals, Rule};

/// What all domains read.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) problem: &'a Problem,
    pub(super) primal: &'a Primal,
    pub(super) partition: &'a Partition,
    pub(super) rule: Rule,
}

/// How one sweep goes.
#[derive(Clone, Copy)]
pub(super) struct Course {
    /// Over- and under-relaxation: factor of w inside the law, factor of the step.
    pub(super) relax: (f64, f64),
    pub(super) backward: bool,
    /// Halves side by side.
    pub(super) parallel: bool,
    pub(super) arch: pulp::Arch,
}

/// What a sweep of some blocks did: Σ|DΔ|², max|DΔ|² and Σ(wᵀΔ + ½ΔᵀDΔ).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stats {
    pub(super) squared: f64,
    pub(super) largest: f64,
    pub(super) change: f64,
}

impl Stats {
    fn add(&mut self, other: Stats) {
        self.squared += other.squared;
        self.largest = self.largest.max(other.largest);
        self.change += other.change;
    }
}

/// One subtree's own blocks with everything needed to visit them.
#[derive(Clone, Debug, Default)]
pub(super) struct Domain {
    /// Blocks in the order of the problem.
    pub(super) blocks: Vec<u32>,
    /// First row of the state below this node, and where its right half begins, counted from there.
    first: usize,
    split: usize,
    groups: Groups,
    alone: Alone,
}

/// Blocks visited in lanes, coloured.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The blocks of each group with their first rows in the problem, or `EMPTY`.
    blocks: Vec<[(u32, u32); LANES]>,
    lanes: Vec<Group>,
    window: Window,
    /// For each row of the state the open groups that hold it.
    used: Vec<u64>,
}

/// Blocks visited one by one, with their local problems, impulses and the columns (M_b⁻¹G_kbᵀ)ᵀ.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    blocks: Vec<u32>,
    locals: Locals,
    /// First impulse of each block.
    starts: Vec<usize>,
    lambda: Vec<f64>,
    /// First column value of each block; entries follow each other.
    column_starts: Vec<usize>,
    columns: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
    solved: Vec<f64>,
}

impl Domain {
    /// Colours the blocks and lays them out.
    pub(super) fn prepare(&mut self, node: usize, shared: Shared<'_>, arch: pulp::Arch) {
        let (rows, split) = shared.partition.rows(node);
        self.first = rows.start;
        self.split = split - rows.start;
        // Blocks that look like contacts at a point and are none, as rows show that are not looked at before: rare.
        let mut strange = Vec::new();
        loop {
            self.groups.clear(rows.len());
            self.colour(shared, &strange);
            let groups = &mut self.groups;
            let found = arch.dispatch(LayOut { shared, groups });
            if found.is_empty() {
                break;
            }
            strange.extend(found);
            strange.sort_unstable();
        }
        self.groups.finish();
    }

    /// Gives contacts a group and a lane, and all others their turn one by one.
    fn colour(&mut self, shared: Shared<'_>, strange: &[u32]) {
        self.alone.clear();
        for &k in &self.blocks {
            match touched(shared, k as usize) {
                Some((mu, masses)) if strange.binary_search(&k).is_err() => {
                    let start = shared.problem.blocks()[k as usize].start as u32;
                    let rows = state_rows(shared, self.first, masses);
                    self.groups.place((k, start), rows, mu);
                }
                _ => self.alone.push(k, shared),
            }
        }
    }

    /// Takes the impulses from the problem's rows.
    pub(super) fn load(&mut self, blocks: &[Block], lambda: &[f64]) {
        for (group, blocks) in self.groups.lanes.iter_mut().zip(&self.groups.blocks) {
            group.load(blocks, lambda);
        }
        for (&k, &start) in self.alone.blocks.iter().zip(&self.alone.starts) {
            let rows = blocks[k as usize].rows();
            self.alone.lambda[start..start + rows.len()].copy_from_slice(&lambda[rows]);
        }
    }

    /// Writes the impulses to the problem's rows.
    pub(super) fn store(&self, blocks: &[Block], lambda: &mut [f64]) {
        for (group, blocks) in self.groups.lanes.iter().zip(&self.groups.blocks) {
            group.store(blocks, lambda);
        }
        for (&k, &start) in self.alone.blocks.iter().zip(&self.alone.starts) {
            let rows = blocks[k as usize].rows();
            lambda[rows.clone()].copy_from_slice(&self.alone.lambda[start..start + rows.len()]);
        }
    }

    /// The first contact in lanes.
    #[cfg(test)]
    pub(super) fn first_group(&self) -> Option<&Group> {
        self.groups.lanes.first()
    }

    /// Sets of blocks that share no mass, in the order of a forward sweep.
    pub(super) fn sets(&self) -> impl Iterator<Item = Vec<BlockId>> {
        let alone = self.alone.blocks.iter().map(|&k| vec![BlockId(k)]);
        let groups = self.groups.blocks.iter().map(|blocks| {
            let blocks = blocks.iter().filter(|(k, _)| *k != EMPTY);
            blocks.map(|(k, _)| BlockId(*k)).collect()
        });
        alone.chain(groups)
    }

    /// Adds what the own impulses do to the velocities.
    fn push(&mut self, shared: Shared<'_>, rows: &mut [Row], course: Course) {
        let groups = &self.groups.lanes;
        course.arch.dispatch(Push {
            groups,
            rows: &mut *rows,
        });
        self.alone.push_all(shared, (rows, self.first));
    }

    /// One pass over the own blocks.
    fn sweep(&mut self, shared: Shared<'_>, rows: &mut [Row], course: Course) -> Stats {
        let mut stats = Stats::default();
        if !course.backward {
            stats.add(self.alone.sweep(shared, (rows, self.first), course));
        }
        if !self.groups.lanes.is_empty() {
            let lanes = course.arch.dispatch(Visit {
                groups: &mut self.groups.lanes,
                rows,
                relax: course.relax,
                backward: course.backward,
            });
            for l in 0..LANES {
                stats.add(Stats {
                    squared: lanes.squared[l],
                    largest: lanes.largest[l],
                    change: lanes.change[l],
                });
            }
        }
        if course.backward {
            stats.add(self.alone.sweep(shared, (rows, self.first), course));
        }
        stats
    }
}

impl Groups {
    /// No groups, for a state of so many rows.
    pub(super) fn clear(&mut self, rows: usize) {
        self.used.clear();
        self.used.resize(rows, 0);
        self.window = Window::default();
        self.blocks.clear();
    }

    /// Ends with the last group, and empties the lanes that got no block: groups are written over old ones.
    fn finish(&mut self) {
        self.lanes.truncate(self.blocks.len());
        for (group, blocks) in self.iter_mut() {
            for l in (0..LANES).rev().take_while(|&l| blocks[l].0 == EMPTY) {
                group.empty(l);
            }
        }
    }

    /// Gives a contact on these rows of the state a group and a lane.
    fn place(&mut self, block: (u32, u32), rows: [u32; 2], mu: f64) {
        let (at, lane) = self.window.place(rows, &mut self.used);
        if at == self.blocks.len() {
            self.blocks.push([(EMPTY, 0); LANES]);
            if self.lanes.len() == at {
                self.lanes.push(Group::NONE);
            }
        }
        self.blocks[at][lane] = block;
        let group = &mut self.lanes[at];
        group.mu[lane] = mu;
        (group.bodies[0][lane], group.bodies[1][lane]) = (rows[0], rows[1]);
    }

    /// Every group with its blocks.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&mut Group, &[(u32, u32); LANES])> {
        self.lanes.iter_mut().zip(&self.blocks)
    }
}

/// One pass over all blocks: both halves of a subtree, then the blocks between them.
pub(super) fn sweep(
    domains: &mut [Domain],
    shared: Shared<'_>,
    rows: &mut [Row],
    course: Course,
) -> Stats {
    let work = |domain: &mut Domain, rows: &mut [Row]| domain.sweep(shared, rows, course);
    walk(domains, rows, course, &work)
}

/// Adds what the impulses do to the velocities: v ← v + M⁻¹Gᵀλ.
pub(super) fn push(domains: &mut [Domain], shared: Shared<'_>, rows: &mut [Row], course: Course) {
    let work = |domain: &mut Domain, rows: &mut [Row]| {
        domain.push(shared, rows, course);
        Stats::default()
    };
    walk(domains, rows, course, &work);
}

/// Both halves of a subtree, side by side where threads are to be had, and what lies between them.
fn walk(
    domains: &mut [Domain],
    rows: &mut [Row],
    course: Course,
    work: &(impl Fn(&mut Domain, &mut [Row]) -> Stats + Sync),
) -> Stats {
    let (left, rest) = domains.split_at_mut(domains.len() / 2);
    let mut stats = Stats::default();
    let Some((own, right)) = rest.split_first_mut() else {
        return stats;
    };
    if course.backward || left.is_empty() {
        stats.add(work(own, rows));
    }
    if !left.is_empty() {
        let (low, high) = rows.split_at_mut(own.split);
        let (low, high) = if course.parallel {
            parallel::join(
                || walk(left, low, course, work),
                || walk(right, high, course, work),
            )
        } else {
            let low = walk(left, low, course, work);
            (low, walk(right, high, course, work))
        };
        stats.add(low);
        stats.add(high);
        if !course.backward {
            stats.add(work(own, rows));
        }
    }
    stats
}

/// The rows of the state of a contact's bodies; ground is the first.
fn state_rows(shared: Shared<'_>, first: usize, masses: [Option<usize>; 2]) -> [u32; 2] {
    masses.map(|b| b.map_or(0, |b| (shared.partition.row(b) - first) as u32))
}

/// Coefficient of friction of block k and the bodies it touches, if it has a contact's law and shape.
fn touched(shared: Shared<'_>, k: usize) -> Option<(f64, [Option<usize>; 2])> {
    let block = shared.problem.blocks().get(k)?;
    // A normal that moves nothing only lets go, which is the business of the general visit.
    let moves = 0.0 < shared.problem.diagonal_blocks().block(k)[0];
    let Law::FrictionCone { mu } = block.law else {
        return None;
    };
    if shared.rule != Rule::Iso || block.n_rows != 3 || !moves {
        return None;
    }
    let jacobian = shared.primal.jacobian();
    let mut masses = [None; 2];
    for (side, e) in jacobian.entry_range(k).enumerate() {
        let mass = jacobian.entry_mass(e);
        let rigid = |b: usize| matches!(shared.primal.mass()[b], MassBlock::Rigid(_));
        if !(shared.partition.is_rigid() || rigid(mass)) {
            return None;
        }
        *masses.get_mut(side)? = Some(mass);
    }
    Some((mu, masses))
}

impl Alone {
    fn clear(&mut self) {
        self.blocks.clear();
        self.locals.clear();
        self.starts.clear();
        self.lambda.clear();
        self.column_starts.clear();
        self.columns.clear();
    }

    fn push(&mut self, k: u32, shared: Shared<'_>) {
        let block = &shared.problem.blocks()[k as usize];
        let d = shared.problem.diagonal_blocks().block(k as usize);
        self.blocks.push(k);
        self.locals.push(block, d, shared.rule);
        self.starts.push(self.lambda.len());
        self.lambda.resize(self.lambda.len() + block.n_rows, 0.0);
        self.column_starts.push(self.columns.len());
        for e in shared.primal.jacobian().entry_range(k as usize) {
            shared.primal.solve_rows(e, &mut self.solved);
            self.columns.extend_from_slice(&self.solved);
        }
        let widest = self.w.len().max(block.n_rows);
        self.w.resize(widest, 0.0);
        self.z.resize(widest, 0.0);
    }

    /// Adds what the impulses do to the velocities.
    fn push_all(&self, shared: Shared<'_>, (rows, first): (&mut [Row], usize)) {
        let mut carrier = Rows {
            shared,
            rows,
            first,
            blocks: &self.blocks,
            starts: &self.starts,
            column_starts: &self.column_starts,
            columns: &self.columns,
        };
        for (j, (&k, &start)) in self.blocks.iter().zip(&self.starts).enumerate() {
            let n_rows = shared.problem.blocks()[k as usize].n_rows;
            carrier.pass_on(j, &self.lambda[start..start + n_rows]);
        }
    }

    fn sweep(
        &mut self,
        shared: Shared<'_>,
        (rows, first): (&mut [Row], usize),
        course: Course,
    ) -> Stats {
        let mut stats = Stats::default();
        let mut carrier = Rows {
            shared,
            rows,
            first,
            blocks: &self.blocks,
            starts: &self.starts,
            column_starts: &self.column_starts,
            columns: &self.columns,
        };
        let count = self.blocks.len();
        for j in 0..count {
            let j = if course.backward { count - 1 - j } else { j };
            let n_rows = shared.problem.blocks()[self.blocks[j] as usize].n_rows;
            let range = self.starts[j]..self.starts[j] + n_rows;
            let lambda = (&mut self.lambda[..], range);
            let work = (&mut self.w[..n_rows], &mut self.z[..n_rows]);
            let (squared, change) =
                visit(j, &self.locals, course.relax, lambda, &mut carrier, work);
            stats.add(Stats {
                squared,
                largest: squared,
                change,
            });
        }
        stats
    }
}

/// Carries velocities in the rows of the state; blocks are counted within the domain.
struct Rows<'a> {
    shared: Shared<'a>,
    rows: &'a mut [Row],
    first: usize,
    blocks: &'a [u32],
    starts: &'a [usize],
    column_starts: &'a [usize],
    columns: &'a [f64],
}

impl Carrier for Rows<'_> {
    fn row_velocity(&self, j: usize, lambda: &[f64], w: &mut [f64]) {
        let k = self.blocks[j] as usize;
        let primal = self.shared.primal;
        let start = self.shared.problem.blocks()[k].start;
        for i in 0..w.len() {
            w[i] = primal.sigma()[start + i] * lambda[self.starts[j] + i] - primal.q()[start + i];
        }
        let jacobian = primal.jacobian();
        for e in jacobian.entry_range(k) {
            let values = jacobian.entry_values(e);
            let rows = &self.rows[self.shared.partition.row(jacobian.entry_mass(e)) - self.first..];
            for (g, w) in values.chunks_exact(values.len() / w.len()).zip(&mut *w) {
                for (g, row) in g.chunks(Row::WIDTH).zip(rows) {
                    *w += dot(g, &row.0[..g.len()]);
                }
            }
        }
    }

    fn pass_on(&mut self, j: usize, delta: &[f64]) {
        let jacobian = self.shared.primal.jacobian();
        let mut columns = &self.columns[self.column_starts[j]..];
        for e in jacobian.entry_range(self.blocks[j] as usize) {
            let (own, rest) = columns.split_at(jacobian.entry_values(e).len());
            columns = rest;
            let first = self.shared.partition.row(jacobian.entry_mass(e)) - self.first;
            let dim = own.len() / delta.len();
            for (column, delta) in own.chunks_exact(dim).zip(delta) {
                for (column, row) in column.chunks(Row::WIDTH).zip(&mut self.rows[first..]) {
                    mul_transposed_add(column, &[*delta], &mut row.0[..column.len()]);
                }
            }
        }
    }

    fn refresh(&mut self, _lambda: &[f64]) {}
}
