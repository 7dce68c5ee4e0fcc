//! How contacts move each other where joints carry on what they do: one dense matrix for each lump of bodies that
//! joints hold together, and for each free body.
//!
//! For a lump, S' = G (M⁻¹ − M⁻¹G_jᵀ S_jj⁻¹ G_j M⁻¹) Gᵀ over the rows of its contacts, column by column: a unit
//! impulse, the joints' answer to it by back-substitution, and what every contact feels.

use super::super::exact::direct::Joints;
use super::super::topology::is_equality;
use crate::index::MassId;
use crate::problem::delassus::DiagonalBlocks;
use crate::problem::jacobian::Incidence;
use crate::problem::{Block, Primal, Problem};

/// Most numbers that the matrices may have: a quarter of a gigabyte.
const LARGEST: usize = 1 << 25;
/// A row that the joints let move by less than this share of what its bodies alone would is held by them.
const HELD: f64 = 1e-11;

/// The lumps that contacts touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Lumps {
    lumps: Vec<Lump>,
    /// Where block k stands: lump and first row in it; those of block k are `places[starts[k]..starts[k + 1]]`.
    starts: Vec<usize>,
    places: Vec<(u32, u32)>,
    numbers: usize,
}

/// One lump.
#[derive(Clone, Debug, Default)]
struct Lump {
    /// Blocks with their first row here, and the masses they touch here.
    contacts: Vec<(u32, usize)>,
    masses: Vec<u32>,
    rows: usize,
    /// S', symmetric, row-major.
    matrix: Vec<f64>,
    /// S' λ.
    velocity: Vec<f64>,
}

impl Lumps {
    /// Whether the matrices were too large to be made.
    pub(super) fn too_large(&self) -> bool {
        LARGEST < self.numbers
    }

    /// Lists contacts by lump and fills the matrices; returns the diagonal blocks of S' + Σ, and of S for joints.
    pub(super) fn respond(
        &mut self,
        problem: &Problem,
        primal: &Primal,
        joints: &mut Joints,
    ) -> DiagonalBlocks {
        let lump_of = self.gather(problem.blocks(), primal, joints);
        self.numbers = self.lumps.iter().map(|lump| lump.rows * lump.rows).sum();
        let mut diagonals = problem.diagonal_blocks().clone();
        if self.too_large() {
            return diagonals;
        }
        let incidence = primal.jacobian().incidence(primal.mass().len());
        let mut column = Column::new(problem, primal, &incidence, &lump_of);
        let most = self.lumps.iter().map(|lump| lump.rows).max().unwrap_or(0);
        for lump in &mut self.lumps {
            lump.matrix.clear();
            lump.matrix.resize(lump.rows * lump.rows, 0.0);
            lump.velocity.clear();
            lump.velocity.resize(lump.rows, 0.0);
        }
        // Lumps do not feel each other through joints, so that all of them share each back-substitution.
        for t in 0..most {
            for (at, lump) in self.lumps.iter().enumerate() {
                if t < lump.rows {
                    column.push(lump, at, t);
                }
            }
            column.solve(joints);
            for (at, lump) in self.lumps.iter_mut().enumerate() {
                if t < lump.rows {
                    column.read(lump, at, t);
                }
            }
            column.clear();
        }
        self.diagonals(problem, primal, &mut diagonals);
        diagonals
    }

    /// Sorts contacts by lump; returns the lump of every mass, or none.
    fn gather(&mut self, blocks: &[Block], primal: &Primal, joints: &Joints) -> Vec<u32> {
        let jacobian = primal.jacobian();
        let mut lump_of = vec![u32::MAX; primal.mass().len()];
        self.lumps.clear();
        for masses in joints.islands() {
            for &mass in masses {
                lump_of[mass as usize] = self.lumps.len() as u32;
            }
            self.lumps.push(Lump::default());
        }
        (self.starts, self.places) = (Vec::new(), Vec::new());
        for (k, block) in blocks.iter().enumerate() {
            self.starts.push(self.places.len());
            if is_equality(block) {
                continue;
            }
            for e in jacobian.entry_range(k) {
                let mass = jacobian.entry_mass(e);
                if lump_of[mass] == u32::MAX {
                    lump_of[mass] = self.lumps.len() as u32;
                    self.lumps.push(Lump::default());
                }
                let lump = &mut self.lumps[lump_of[mass] as usize];
                lump.masses.push(mass as u32);
                if lump.contacts.last().is_none_or(|last| last.0 != k as u32) {
                    lump.contacts.push((k as u32, lump.rows));
                    self.places.push((lump_of[mass], lump.rows as u32));
                    lump.rows += block.n_rows;
                }
            }
        }
        self.starts.push(self.places.len());
        for lump in &mut self.lumps {
            lump.masses.sort_unstable();
            lump.masses.dedup();
        }
        lump_of
    }

    /// D' of every contact; rows that joints hold fast are cleared, because what is left of them is rounding.
    fn diagonals(&mut self, problem: &Problem, primal: &Primal, out: &mut DiagonalBlocks) {
        for (k, block) in problem.blocks().iter().enumerate() {
            if is_equality(block) {
                continue;
            }
            let n = block.n_rows;
            let d = out.block_mut(k);
            let alone: Vec<f64> = (0..n).map(|i| d[i * n + i]).collect();
            d.fill(0.0);
            for i in 0..n {
                d[i * n + i] = primal.sigma()[block.start + i];
            }
            for &(lump, first) in &self.places[self.starts[k]..self.starts[k + 1]] {
                let (lump, first) = (&self.lumps[lump as usize], first as usize);
                for e in 0..n * n {
                    d[e] += lump.matrix[(first + e / n) * lump.rows + first + e % n];
                }
            }
            for i in (0..n)
                .filter(|&i| d[i * n + i] <= HELD * alone[i])
                .collect::<Vec<_>>()
            {
                for j in 0..n {
                    (d[i * n + j], d[j * n + i]) = (0.0, 0.0);
                }
                for &(lump, first) in &self.places[self.starts[k]..self.starts[k + 1]] {
                    self.lumps[lump as usize].clear_row(first as usize + i);
                }
            }
        }
    }

    /// w += what the contacts' impulses do to block k through bodies and joints.
    #[inline]
    pub(super) fn add_velocity(&self, k: usize, w: &mut [f64]) {
        for &(lump, first) in &self.places[self.starts[k]..self.starts[k + 1]] {
            let velocity = &self.lumps[lump as usize].velocity[first as usize..];
            for (w, velocity) in w.iter_mut().zip(velocity) {
                *w += velocity;
            }
        }
    }

    /// Block k has changed its impulse by Δ.
    #[inline]
    pub(super) fn pass_on(&mut self, k: usize, delta: &[f64]) {
        for &(lump, first) in &self.places[self.starts[k]..self.starts[k + 1]] {
            self.lumps[lump as usize].add(first as usize, delta);
        }
    }

    /// Recomputes what is carried from the impulses alone.
    pub(super) fn refresh(&mut self, lambda: &[f64], blocks: &[Block]) {
        for lump in &mut self.lumps {
            lump.velocity.fill(0.0);
            for (k, first) in lump.contacts.clone() {
                lump.add(first, &lambda[blocks[k as usize].rows()]);
            }
        }
    }
}

impl Lump {
    /// S' λ for impulses Δ from row `first` on; S' is symmetric, so that its columns are its rows.
    #[inline]
    fn add(&mut self, first: usize, delta: &[f64]) {
        let rows = self.matrix[first * self.rows..].chunks_exact(self.rows.max(1));
        for (row, delta) in rows.zip(delta) {
            for (velocity, s) in self.velocity.iter_mut().zip(row) {
                *velocity += s * delta;
            }
        }
    }

    fn clear_row(&mut self, row: usize) {
        for j in 0..self.rows {
            self.matrix[row * self.rows + j] = 0.0;
            self.matrix[j * self.rows + row] = 0.0;
        }
    }
}

/// One column of every lump at a time.
struct Column<'a> {
    problem: &'a Problem,
    primal: &'a Primal,
    incidence: &'a Incidence,
    lump_of: &'a [u32],
    /// Velocities that the unit impulses give, without joints; row velocities of the joints; their answer.
    push: Vec<f64>,
    r: Vec<f64>,
    answer: Vec<f64>,
    pushed: Vec<u32>,
    velocity: Vec<f64>,
    unit: Vec<f64>,
}

impl<'a> Column<'a> {
    fn new(
        problem: &'a Problem,
        primal: &'a Primal,
        incidence: &'a Incidence,
        lump_of: &'a [u32],
    ) -> Column<'a> {
        Column {
            problem,
            primal,
            incidence,
            lump_of,
            push: vec![0.0; problem.n_velocities()],
            r: vec![0.0; problem.n_rows()],
            answer: vec![0.0; problem.n_rows()],
            pushed: Vec::new(),
            velocity: Vec::new(),
            unit: Vec::new(),
        }
    }

    /// A unit impulse on row t of a lump: u = M⁻¹Gᵀe and r = G_j u.
    fn push(&mut self, lump: &Lump, at: usize, t: usize) {
        let place = lump.contacts.partition_point(|(_, first)| *first <= t) - 1;
        let (k, first) = lump.contacts[place];
        let jacobian = self.primal.jacobian();
        let n_rows = self.problem.blocks()[k as usize].n_rows;
        self.unit.clear();
        self.unit.resize(n_rows, 0.0);
        self.unit[t - first] = 1.0;
        for e in jacobian.entry_range(k as usize) {
            let mass = jacobian.entry_mass(e);
            if self.lump_of[mass] as usize != at {
                continue;
            }
            let columns = self.primal.columns(mass);
            self.primal
                .add_impulse(e, &self.unit, &mut self.push[columns.clone()]);
            self.primal.mass()[mass].solve(&mut self.push[columns.clone()]);
            self.pushed.push(mass as u32);
            for &(joint, f) in self.incidence.of(MassId(mass as u32)) {
                let block = &self.problem.blocks()[joint.index()];
                if is_equality(block) {
                    let u = &self.push[columns.clone()];
                    self.primal.add_velocity(f, u, &mut self.r[block.rows()]);
                }
            }
        }
    }

    fn solve(&mut self, joints: &mut Joints) {
        joints.solve(&self.r);
        self.answer.fill(0.0);
        joints.add_to(&mut self.answer);
    }

    /// Column t of a lump: what every contact feels of δv = u + M⁻¹G_jᵀy.
    fn read(&mut self, lump: &mut Lump, at: usize, t: usize) {
        for &mass in &lump.masses {
            let columns = self.primal.columns(mass as usize);
            self.velocity.clear();
            self.velocity.resize(columns.len(), 0.0);
            let touching = self.incidence.of(MassId(mass));
            for &(k, e) in touching {
                let block = &self.problem.blocks()[k.index()];
                if is_equality(block) {
                    let y = &self.answer[block.rows()];
                    self.primal.add_impulse(e, y, &mut self.velocity);
                }
            }
            self.primal.mass()[mass as usize].solve(&mut self.velocity);
            for (velocity, u) in self.velocity.iter_mut().zip(&self.push[columns.clone()]) {
                *velocity += u;
            }
            for &(k, e) in touching {
                let block = &self.problem.blocks()[k.index()];
                if is_equality(block) {
                    continue;
                }
                let found = lump
                    .contacts
                    .binary_search_by_key(&(k.index() as u32), |c| c.0);
                let Ok(place) = found else {
                    continue;
                };
                let at = t * lump.rows + lump.contacts[place].1;
                let felt = &mut lump.matrix[at..at + block.n_rows];
                self.primal.add_velocity(e, &self.velocity, felt);
            }
        }
        debug_assert!(
            lump.masses
                .iter()
                .all(|&m| self.lump_of[m as usize] as usize == at)
        );
    }

    fn clear(&mut self) {
        for mass in self.pushed.drain(..) {
            self.push[self.primal.columns(mass as usize)].fill(0.0);
            for &(k, _) in self.incidence.of(MassId(mass)) {
                self.r[self.problem.blocks()[k.index()].rows()].fill(0.0);
            }
        }
    }
}
