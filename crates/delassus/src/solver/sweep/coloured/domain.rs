//! The blocks of one subtree: contacts at a point in lanes, colour after colour, all others one by one.

use std::ops::Range;

use glam::DVec3;

use super::colour::Window;
use super::kernel::{Push, Visit};
use super::lanes::{Group, LANES, Member, Row};
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
    pub(super) first: usize,
    pub(super) split: usize,
    pub(super) groups: Groups,
    alone: Alone,
}

/// Blocks visited in lanes, coloured.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The blocks of each group.
    members: Vec<[Member; LANES]>,
    pub(super) lanes: Vec<Group>,
    window: Window,
    /// For each row of the state the open groups that hold it.
    used: Vec<u64>,
}

/// Blocks visited one by one, with their local problems and impulses.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    list: List,
    locals: Locals,
    lambda: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
}

/// Which blocks they are, and how they act.
#[derive(Clone, Debug, Default)]
struct List {
    blocks: Vec<u32>,
    /// First impulse of each block.
    starts: Vec<usize>,
    /// Rows and columns of entries whose mass is no free body, and where those of each block begin.
    wide: Wide,
    wide_starts: Vec<usize>,
}

/// The rows of the state below a node.
struct State<'a> {
    rows: &'a mut [Row],
    /// The number of the first in the whole state.
    first: usize,
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
                    self.groups.place(Member { block: k, start }, rows, mu);
                }
                None => self.alone.push(k, shared),
            }
        }
    }

    /// Whether some of its blocks may be among these.
    pub(super) fn reaches(&self, blocks: &Range<usize>) -> bool {
        let first = self
            .blocks
            .first()
            .is_some_and(|k| (*k as usize) < blocks.end);
        first
            && self
                .blocks
                .last()
                .is_some_and(|k| blocks.start <= *k as usize)
    }

    /// Whether some blocks are not in lanes.
    pub(super) fn has_others(&self) -> bool {
        !self.alone.list.blocks.is_empty()
    }

    /// Takes the impulses from the problem's rows.
    pub(super) fn load(&mut self, blocks: &[Block], lambda: &[f64]) {
        for (group, members) in self.groups.iter_mut() {
            group.load(members, lambda);
        }
        for (k, start) in self.alone.list.iter() {
            let rows = blocks[k as usize].rows();
            self.alone.lambda[start..start + rows.len()].copy_from_slice(&lambda[rows]);
        }
    }

    /// Writes the impulses to the problem's rows.
    pub(super) fn store(&self, blocks: &[Block], lambda: &mut [f64]) {
        for (group, members) in self.groups.lanes.iter().zip(&self.groups.members) {
            group.store(members, lambda);
        }
        for (k, start) in self.alone.list.iter() {
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
        let alone = self.alone.list.blocks.iter().map(|&k| vec![BlockId(k)]);
        let groups = self.groups.members.iter().map(|members| {
            let members = members.iter().filter(|member| **member != Member::NONE);
            members.map(|member| BlockId(member.block)).collect()
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
        let first = self.first;
        self.alone.push_all(shared, State { rows, first });
    }

    /// One pass over the own blocks.
    fn sweep(&mut self, shared: Shared<'_>, rows: &mut [Row], course: Course) -> Stats {
        let (mut stats, first) = (Stats::default(), self.first);
        if !course.backward {
            let state = State {
                rows: &mut *rows,
                first,
            };
            stats.add(self.alone.sweep(shared, state, course));
        }
        if !self.groups.lanes.is_empty() {
            let lanes = course.arch.dispatch(Visit {
                groups: &mut self.groups.lanes,
                rows: &mut *rows,
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
            stats.add(self.alone.sweep(shared, State { rows, first }, course));
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
        self.members.clear();
    }

    /// Ends with the last group, and empties the lanes that got no block: groups are written over old ones.
    fn finish(&mut self) {
        self.lanes.truncate(self.members.len());
        for (group, members) in self.iter_mut() {
            let free = |l: &usize| members[*l] == Member::NONE;
            for l in (0..LANES).rev().take_while(free) {
                group.empty(l);
            }
        }
    }

    /// Gives a contact on these rows of the state a group and a lane.
    fn place(&mut self, member: Member, rows: [u32; 2], mu: f64) {
        let (at, lane) = self.window.place(rows, &mut self.used);
        if at == self.members.len() {
            self.members.push([Member::NONE; LANES]);
            if self.lanes.len() == at {
                self.lanes.push(Group::NONE);
            }
        }
        self.members[at][lane] = member;
        let group = &mut self.lanes[at];
        group.mu[lane] = mu;
        (group.bodies[0][lane], group.bodies[1][lane]) = (rows[0], rows[1]);
    }

    /// Every group with its blocks.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Group, &[Member; LANES])> {
        self.lanes.iter().zip(&self.members)
    }

    /// The same, to be written to.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&mut Group, &[Member; LANES])> {
        self.lanes.iter_mut().zip(&self.members)
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
pub(super) fn walk(
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

impl List {
    fn clear(&mut self) {
        self.blocks.clear();
        self.starts.clear();
        self.wide.clear();
        self.wide_starts.clear();
    }

    /// Every block with its first impulse.
    fn iter(&self) -> impl Iterator<Item = (u32, usize)> {
        self.blocks.iter().copied().zip(self.starts.iter().copied())
    }

    fn push(&mut self, k: u32, start: usize, shared: Shared<'_>) {
        self.blocks.push(k);
        self.starts.push(start);
        self.wide_starts.push(self.wide.len());
        for e in shared.primal.jacobian().entry_range(k as usize) {
            if !shared.is_free(shared.primal.jacobian().entry_mass(e)) {
                self.wide.add(shared.primal, e);
            }
        }
    }
}

impl Alone {
    fn clear(&mut self) {
        self.list.clear();
        self.locals.clear();
        self.lambda.clear();
    }

    fn push(&mut self, k: u32, shared: Shared<'_>) {
        let block = &shared.problem.blocks()[k as usize];
        let d = shared.problem.diagonal_blocks().block(k as usize);
        self.list.push(k, self.lambda.len(), shared);
        self.locals.push(block, d, shared.rule);
        self.lambda.resize(self.lambda.len() + block.n_rows, 0.0);
        let widest = self.w.len().max(block.n_rows);
        self.w.resize(widest, 0.0);
        self.z.resize(widest, 0.0);
    }

    /// Adds what the impulses do to the velocities.
    fn push_all(&self, shared: Shared<'_>, state: State<'_>) {
        let list = &self.list;
        let mut carrier = Carried {
            shared,
            state,
            list,
        };
        for (j, (k, start)) in list.iter().enumerate() {
            let n_rows = shared.problem.blocks()[k as usize].n_rows;
            carrier.pass_on(j, &self.lambda[start..start + n_rows]);
        }
    }

    fn sweep(&mut self, shared: Shared<'_>, state: State<'_>, course: Course) -> Stats {
        let mut stats = Stats::default();
        let list = &self.list;
        let mut carrier = Carried {
            shared,
            state,
            list,
        };
        let count = list.blocks.len();
        for j in 0..count {
            let j = if course.backward { count - 1 - j } else { j };
            let n_rows = shared.problem.blocks()[list.blocks[j] as usize].n_rows;
            let range = list.starts[j]..list.starts[j] + n_rows;
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
struct Carried<'a> {
    shared: Shared<'a>,
    state: State<'a>,
    list: &'a List,
}

impl Carried<'_> {
    /// Row of the state of a mass, the first where it has several.
    fn row(&self, b: usize) -> usize {
        self.shared.partition.row(b) - self.state.first
    }
}

impl Carrier for Carried<'_> {
    fn row_velocity(&self, j: usize, lambda: &[f64], w: &mut [f64]) {
        let (k, primal) = (self.list.blocks[j] as usize, self.shared.primal);
        let start = self.shared.problem.blocks()[k].start;
        let (wide, mut at) = (&self.list.wide, self.list.wide_starts[j]);
        let velocity = |b: usize| &self.state.rows[self.row(b)].0[..6];
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
                for (g, row) in g.chunks(Row::WIDTH).zip(&self.state.rows[self.row(b)..]) {
                    *w += dot(g, &row.0[..g.len()]);
                }
            }
        };
        let lambda = &lambda[self.list.starts[j]..];
        primal.row_velocity_from((k, start), lambda, w, velocity, add);
    }

    fn pass_on(&mut self, j: usize, delta: &[f64]) {
        let (k, primal) = (self.list.blocks[j] as usize, self.shared.primal);
        let (wide, mut at) = (&self.list.wide, self.list.wide_starts[j]);
        for e in primal.jacobian().entry_range(k) {
            let b = primal.jacobian().entry_mass(e);
            let row = self.row(b);
            if self.shared.is_free(b) {
                let mut impulse = [0.0; 6];
                primal.add_impulse(e, delta, &mut impulse);
                self.state.rows[row].push(&impulse);
                continue;
            }
            let dim = primal.columns(b).len();
            let columns = wide.columns(at, dim * delta.len()).chunks_exact(dim);
            at += dim * delta.len();
            for (column, delta) in columns.zip(delta) {
                for (column, row) in column.chunks(Row::WIDTH).zip(&mut self.state.rows[row..]) {
                    mul_transposed_add(column, &[*delta], &mut row.0[..column.len()]);
                }
            }
        }
    }

    fn refresh(&mut self, _lambda: &[f64]) {}
}
