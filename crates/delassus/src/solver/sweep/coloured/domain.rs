//! The blocks of one subtree: contacts at a point in lanes, colour after colour, all others one by one.

use glam::DVec3;

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
use crate::solver::sweep::inverse::Wide;
use crate::solver::sweep::rule::{Locals, Rule};

/// What all domains read.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) problem: &'a Problem,
    pub(super) primal: &'a Primal,
    pub(super) partition: &'a Partition,
    pub(super) rule: Rule,
}

impl Shared<'_> {
    /// Whether a mass is a free body.
    fn is_free(&self, b: usize) -> bool {
        self.partition.is_rigid() || matches!(self.primal.mass()[b], MassBlock::Rigid(_))
    }
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

/// Blocks visited one by one, with their local problems and impulses.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    blocks: Vec<u32>,
    locals: Locals,
    /// First impulse of each block.
    starts: Vec<usize>,
    lambda: Vec<f64>,
    /// Rows and columns of entries whose mass is no free body, and where those of each block begin.
    wide: Wide,
    wide_starts: Vec<usize>,
    w: Vec<f64>,
    z: Vec<f64>,
}

impl Domain {
    /// Colours the blocks and lays them out.
    pub(super) fn prepare(&mut self, node: usize, shared: Shared<'_>, arch: pulp::Arch) {
        let (rows, split) = shared.partition.rows(node);
        self.first = rows.start;
        self.split = split - rows.start;
        self.groups.clear(rows.len());
        self.colour(shared);
        arch.dispatch(LayOut {
            shared,
            groups: &mut self.groups,
        });
        self.groups.finish();
    }

    /// Gives contacts a group and a lane, and all others their turn one by one.
    fn colour(&mut self, shared: Shared<'_>) {
        self.alone.clear();
        for &k in &self.blocks {
            match in_lanes(shared, k as usize) {
                Some((mu, masses)) => {
                    let start = shared.problem.blocks()[k as usize].start as u32;
                    let rows = state_rows(shared, self.first, masses);
                    self.groups.place((k, start), rows, mu);
                }
                None => self.alone.push(k, shared),
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

/// Share of a unit vector by which n × t₁ may differ from t₂: a few roundings.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Coefficient of friction of block k and the bodies it touches, first and second, if lanes can hold it: a contact at
/// a point whose last direction follows from the others.
fn in_lanes(shared: Shared<'_>, k: usize) -> Option<(f64, [Option<usize>; 2])> {
    let block = shared.problem.blocks().get(k)?;
    let Law::FrictionCone { mu } = block.law else {
        return None;
    };
    let point = shared.primal.jacobian().point(k)?;
    let [n, t1, t2] = point.directions.as_array::<3>()?.map(DVec3::from_array);
    let follows = (n.cross(t1) - t2).abs().max_element() <= ROUNDING;
    // A normal that moves nothing only lets go, which is the business of the general visit.
    let moves = 0.0 < shared.problem.diagonal_blocks().block(k)[0];
    if shared.rule != Rule::Iso || !follows || !moves {
        return None;
    }
    let mut masses = [None; 2];
    for (b, _, side) in point.ends() {
        masses[side as usize] = Some(b);
    }
    Some((mu, masses))
}

impl Alone {
    fn clear(&mut self) {
        self.blocks.clear();
        self.locals.clear();
        self.starts.clear();
        self.lambda.clear();
        self.wide.clear();
        self.wide_starts.clear();
    }

    fn push(&mut self, k: u32, shared: Shared<'_>) {
        let block = &shared.problem.blocks()[k as usize];
        let d = shared.problem.diagonal_blocks().block(k as usize);
        self.blocks.push(k);
        self.locals.push(block, d, shared.rule);
        self.starts.push(self.lambda.len());
        self.lambda.resize(self.lambda.len() + block.n_rows, 0.0);
        self.wide_starts.push(self.wide.len());
        for e in shared.primal.jacobian().entry_range(k as usize) {
            if !shared.is_free(shared.primal.jacobian().entry_mass(e)) {
                self.wide.add(shared.primal, e);
            }
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
            wide: (&self.wide, &self.wide_starts),
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
            wide: (&self.wide, &self.wide_starts),
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
    wide: (&'a Wide, &'a [usize]),
}

impl Rows<'_> {
    /// Row of the state of a mass, the first where it has several.
    fn row(&self, b: usize) -> usize {
        self.shared.partition.row(b) - self.first
    }
}

impl Carrier for Rows<'_> {
    fn row_velocity(&self, j: usize, lambda: &[f64], w: &mut [f64]) {
        let (k, primal) = (self.blocks[j] as usize, self.shared.primal);
        let start = self.shared.problem.blocks()[k].start;
        let (wide, mut at) = (self.wide.0, self.wide.1[j]);
        let velocity = |b: usize| &self.rows[self.row(b)].0[..6];
        let add = |e: usize, w: &mut [f64]| {
            let b = primal.jacobian().entry_mass(e);
            if self.shared.is_free(b) {
                primal.add_velocity(e, velocity(b), w);
                return;
            }
            let dim = primal.columns(b).len();
            let g = wide.rows(at, dim * w.len()).chunks_exact(dim);
            at += dim * w.len();
            for (g, w) in g.zip(w) {
                for (g, row) in g.chunks(Row::WIDTH).zip(&self.rows[self.row(b)..]) {
                    *w += dot(g, &row.0[..g.len()]);
                }
            }
        };
        let lambda = &lambda[self.starts[j]..];
        primal.row_velocity_from((k, start), lambda, w, velocity, add);
    }

    fn pass_on(&mut self, j: usize, delta: &[f64]) {
        let (k, primal) = (self.blocks[j] as usize, self.shared.primal);
        let (wide, mut at) = (self.wide.0, self.wide.1[j]);
        for e in primal.jacobian().entry_range(k) {
            let b = primal.jacobian().entry_mass(e);
            let row = self.row(b);
            if self.shared.is_free(b) {
                let mut impulse = [0.0; 6];
                primal.add_impulse(e, delta, &mut impulse);
                self.rows[row].push(&impulse);
                continue;
            }
            let dim = primal.columns(b).len();
            let columns = wide.columns(at, dim * delta.len()).chunks_exact(dim);
            at += dim * delta.len();
            for (column, delta) in columns.zip(delta) {
                for (column, row) in column.chunks(Row::WIDTH).zip(&mut self.rows[row..]) {
                    mul_transposed_add(column, &[*delta], &mut row.0[..column.len()]);
                }
            }
        }
    }

    fn refresh(&mut self, _lambda: &[f64]) {}
}
