//! Constrained dynamics of a tree in one pass towards the root and one back: rows are carried along with the
//! articulated inertias, and each is eliminated as soon as the joints it has passed can obey it. O(n + m) where rows
//! find their joints nearby, as feet and hands do.
//!
//! ```text
//! at a joint, row r is     w_r = K_r a_parent + c_r + Σ_s L_rs f_s,      w_r + σ_r f_r = y₂_r
//! past it                  K ← shift(K − U D⁻¹SᵀK),  c_r += k_r D⁻¹(τ − Sᵀp),  L_rs += k_r D⁻¹k_s,   k = SᵀK
//! eliminated               f_e = (y₂_e − c_e − K_e a_parent − Σ_s L_es f_s)/π,  π = L_ee + σ_e
//!                          I_parent += K_eᵀK_e/π,   p_parent −= K_eᵀ(y₂_e − c_e)/π,   and so for the other rows
//! ```
//!
//! f = −x₂ acts on the links. Sources: [Vereshchagin74], [Sathya24]. How this differs: (1) rows go one by one, each
//! when its pivot has come near to what it can become; (2) rows may have ends on several links and meet where those
//! do, so loops need nothing special; (3) rows that depend on each other are noticed, not solved: the caller has
//! [`Tree::delassus`] for them.
//! Prefer [`Tree::delassus`] for few rows, or where Λ⁻¹ is needed.

use super::aba::{pass_force, respond};
use super::efpa::{free_mobility, moved, pass};
use super::joint::ElementaryJoint;
use super::kinematics::subspace;
use super::rows::TreeRows;
use super::spatial::{Articulated, Force, Motion, Sym3};
use super::{Data, Tree, TreeError};

/// A row is eliminated once its pivot is this share of the mobility that it may still find.
const RIPE: f64 = 0.05;
/// Before the ground no pivot below this share of the row's mobility is taken.
const SOUND: f64 = 1e-6;
/// A row whose last pivot is below this share of its mobility depends on others.
const RANK: f64 = 1e-9;
/// Largest error of a row, relative to the largest of its terms.
const RESIDUAL: f64 = 1e-11;

/// What is given in [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂].
#[derive(Clone, Copy, Debug)]
pub struct KktGiven<'a> {
    /// y₁, one number for each velocity.
    pub y1: &'a [f64],
    /// y₂, one number for each row.
    pub y2: &'a [f64],
    /// The diagonal of Σ: the compliance of each row.
    pub sigma: &'a [f64],
}

/// Where the answer to a [`KktGiven`] is written.
#[derive(Debug)]
pub struct KktUnknowns<'a> {
    /// x₁, one number for each velocity.
    pub x1: &'a mut [f64],
    /// x₂, one number for each row.
    pub x2: &'a mut [f64],
}

/// Work arrays of [`Tree::propagate`]; kept between calls.
#[derive(Clone, Debug, Default)]
pub struct Elimination {
    /// Articulated inertias of the nodes, to which rows that are gone have added.
    inertias: Vec<Articulated>,
    /// One for each end of a row; where ends of a row meet, the first goes on for both.
    entries: Vec<Entry>,
    /// Ends by ascending node.
    order: Vec<usize>,
    /// Ends of each row.
    ends: Vec<usize>,
    /// Entries at each node.
    sets: Vec<Vec<usize>>,
    /// L, entry by entry; only pairs that met are ever written or read.
    mobility: Vec<f64>,
    /// Rows and their forces at each node before they pass its joint.
    carried: Vec<Vec<(usize, Force)>>,
    /// What was eliminated past each node, in order, and the (row, L_es) of all of them.
    gone: Vec<Vec<Gone>>,
    coupled: Vec<(usize, f64)>,
    /// Acts on the links; −x₂.
    f: Vec<f64>,
    /// Mobility of each row.
    reach: Vec<f64>,
}

/// A row on its way to the ground, on one branch of the tree.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: usize,
    /// Ends it stands for.
    ends: usize,
    /// K, c, SᵀK at the present joint, and the sum of k D⁻¹k, from which nothing is eliminated.
    force: Force,
    known: f64,
    along: f64,
    reach: f64,
}

/// A row that has been eliminated.
#[derive(Clone, Copy, Debug)]
struct Gone {
    row: usize,
    force: Force,
    rest: f64,
    inverse: f64,
    /// What it was coupled to, in [`Elimination::coupled`].
    coupled_from: usize,
    coupled_to: usize,
}

impl Tree {
    /// [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂] for the poses of `data`, whose factor is used up. `false`, with nothing of use
    /// in x₁ and x₂, where rows depend on each other or digits were lost.
    pub fn propagate(
        &self,
        data: &mut Data,
        rows: &TreeRows,
        work: &mut Elimination,
        given: KktGiven<'_>,
        unknowns: KktUnknowns<'_>,
    ) -> Result<bool, TreeError> {
        let KktGiven { y1, y2, sigma } = given;
        let KktUnknowns { x1, x2 } = unknowns;
        self.check_length("y1", y1, self.n_dofs)?;
        self.check_length("x1", x1, self.n_dofs)?;
        for (what, values) in [("y2", y2), ("sigma", sigma), ("x2", &*x2)] {
            self.check_length(what, values, rows.len())?;
        }
        work.prepare(self.nodes.len(), rows);
        data.factored = false;
        work.inertias.clear();
        for (body, pass) in data.bodies.iter().zip(&mut data.passes) {
            work.inertias.push(Articulated::rigid(&body.inertia));
            pass.force = Force::ZERO;
        }
        for i in (1..self.nodes.len()).rev() {
            work.enter(i, rows);
            self.pass_rows(data, work, i, y1)?;
            let parent = self.nodes[i].parent;
            let force = &mut data.passes[parent].force;
            work.eliminate(i, parent, force, given);
            work.merge(i, parent);
        }
        if !work.close(given) {
            return Ok(false);
        }
        self.answer(data, work, x1);
        for (x, f) in x2.iter_mut().zip(&work.f) {
            *x = -f;
        }
        Ok(work.obeyed(data, rows, given))
    }

    /// Takes the joint of a node out of its inertia and out of the rows at it, and hands the rest to the parent.
    fn pass_rows(
        &self,
        data: &mut Data,
        work: &mut Elimination,
        i: usize,
        y1: &[f64],
    ) -> Result<(), TreeError> {
        let (node, body) = (&self.nodes[i], &mut data.bodies[i]);
        let inertia = &mut work.inertias[i];
        self.eliminate(node, (body, inertia), &mut data.multi)?;
        if node.parent != 0 {
            let mut moved = *inertia;
            moved.shift(body.arm);
            work.inertias[node.parent].add(&moved);
        }
        let passing = &mut data.passes[i];
        let force = pass_force(node, body, &data.multi, passing, |k| y1[k]);
        let (tau, rest) = (passing.tau, passing.force);
        data.passes[node.parent].force += node.handed(body, force);
        let set = &work.sets[i];
        let count = work.entries.len();
        let several = match node.kind {
            ElementaryJoint::Ball => Some(Articulated {
                c: data.multi[node.multi].inverse_a,
                ..Articulated::default()
            }),
            ElementaryJoint::Free => Some(free_mobility(&data.multi[node.multi])),
            _ => None,
        };
        let s = subspace(node.kind, body, 0);
        for &e in set {
            let entry = &mut work.entries[e];
            work.carried[i].push((entry.row, entry.force));
            entry.along = entry.force.power(s);
            if several.is_none() {
                // c_r += k_r D⁻¹(τ − Sᵀp)
                entry.known += entry.along * body.inverse_d * tau;
            }
        }
        for (place, &e) in set.iter().enumerate() {
            let Entry { force, along, .. } = work.entries[e];
            let motion = several.as_ref().map(|joint| moved(joint, force));
            for &f in &set[place..] {
                let other = &work.entries[f];
                // L_ef += k_e D⁻¹k_f
                let entry = match motion {
                    Some(motion) => other.force.power(motion),
                    None => along * body.inverse_d * other.along,
                };
                work.mobility[e * count + f] += entry;
                if e == f {
                    work.entries[e].reach += entry;
                } else {
                    work.mobility[f * count + e] += entry;
                }
            }
            if let Some(motion) = motion {
                work.entries[e].known += rest.power(motion);
            }
        }
        for &e in set {
            let entry = &mut work.entries[e];
            entry.force = node.handed(body, pass(node, body, &data.multi, entry.force));
        }
        Ok(())
    }

    /// From the ground outwards: first the rows that were eliminated past a joint, then the joint.
    fn answer(&self, data: &mut Data, work: &mut Elimination, x: &mut [f64]) {
        data.passes[0].response = Motion::ZERO;
        work.solve(0, Motion::ZERO);
        for i in 1..self.nodes.len() {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let motion = data.passes[node.parent].response;
            work.solve(i, motion);
            let s = subspace(node.kind, body, 0);
            let passing = &mut data.passes[i];
            for &(row, force) in &work.carried[i] {
                passing.tau += force.power(s) * work.f[row];
                passing.force += force * work.f[row];
            }
            let carried = node.carried(body, motion);
            passing.response = respond(node, body, &data.multi, passing, carried, x);
        }
    }
}

impl Elimination {
    fn prepare(&mut self, nodes: usize, rows: &TreeRows) {
        let count = rows.ends.len();
        self.entries.clear();
        self.entries.extend(rows.ends.iter().map(|end| Entry {
            row: end.row,
            ends: 1,
            force: end.force,
            known: 0.0,
            along: 0.0,
            reach: 0.0,
        }));
        self.order.clear();
        self.order.extend(0..count);
        self.order.sort_unstable_by_key(|&e| (rows.ends[e].node, e));
        self.ends.clear();
        self.ends.resize(rows.len(), 0);
        rows.ends.iter().for_each(|end| self.ends[end.row] += 1);
        if self.mobility.len() < count * count {
            self.mobility.resize(count * count, 0.0);
        }
        self.sets.resize_with(nodes, Vec::new);
        self.sets.iter_mut().for_each(Vec::clear);
        self.carried.resize_with(nodes, Vec::new);
        self.carried.iter_mut().for_each(Vec::clear);
        self.gone.resize_with(nodes, Vec::new);
        self.gone.iter_mut().for_each(Vec::clear);
        self.coupled.clear();
        for values in [&mut self.f, &mut self.reach] {
            values.clear();
            values.resize(rows.len(), 0.0);
        }
    }

    /// Adds the ends of a node to what came from below.
    fn enter(&mut self, i: usize, rows: &TreeRows) {
        let count = self.entries.len();
        while let Some(&e) = self.order.last().filter(|&&e| rows.ends[e].node == i) {
            self.order.pop();
            self.mobility[e * count + e] = 0.0;
            let mut set = std::mem::take(&mut self.sets[i]);
            self.unite(&mut set, &[e]);
            self.sets[i] = set;
        }
    }

    /// Adds what is left at a node to what is at its parent.
    fn merge(&mut self, i: usize, parent: usize) {
        let mut from = std::mem::take(&mut self.sets[i]);
        let mut set = std::mem::take(&mut self.sets[parent]);
        self.unite(&mut set, &from);
        self.sets[parent] = set;
        from.clear();
        self.sets[i] = from;
    }

    /// Adds entries of another branch to a set: L between the two is zero, and two entries of one row become one.
    fn unite(&mut self, set: &mut Vec<usize>, from: &[usize]) {
        let count = self.entries.len();
        let at = |a: usize, b: usize| a * count + b;
        for &e in from {
            for &s in &*set {
                self.mobility[at(e, s)] = 0.0;
                self.mobility[at(s, e)] = 0.0;
            }
        }
        let before = set.len();
        set.extend(from);
        let mut place = before;
        while place < set.len() {
            let e = set[place];
            let same = |g: &&usize| self.entries[**g].row == self.entries[e].row;
            let Some(&g) = set[..before].iter().find(same) else {
                place += 1;
                continue;
            };
            set.swap_remove(place);
            for &s in &*set {
                let mut sum = self.mobility[at(g, s)] + self.mobility[at(e, s)];
                if s == g {
                    sum += self.mobility[at(g, e)] + self.mobility[at(e, e)];
                }
                self.mobility[at(g, s)] = sum;
                self.mobility[at(s, g)] = sum;
            }
            let other = self.entries[e];
            let entry = &mut self.entries[g];
            entry.force += other.force;
            entry.known += other.known;
            entry.reach += other.reach;
            entry.ends += other.ends;
        }
    }

    /// Eliminates the rows at a node, past its joint, that are ripe: the best first.
    fn eliminate(&mut self, i: usize, parent: usize, force: &mut Force, given: KktGiven<'_>) {
        let third = |s: &Sym3| ((s.xx + s.yy + s.zz) / 3.0).max(f64::MIN_POSITIVE);
        loop {
            let inertia = &self.inertias[parent];
            let (turn, push) = (third(&inertia.a), third(&inertia.c));
            let ripeness = |entry: &Entry, pivot: f64| {
                let k = &entry.force;
                let ahead = k.torque.length_squared() / turn + k.force.length_squared() / push;
                let sound = SOUND * entry.reach < pivot;
                if sound { pivot / (pivot + ahead) } else { 0.0 }
            };
            let Some((place, ripe)) = self.best(i, given.sigma, ripeness) else {
                return;
            };
            if !(RIPE < ripe) {
                return;
            }
            let gone = self.remove(i, place, given);
            // I_parent += KᵀK/π,   p_parent −= Kᵀ(y₂ − c)/π
            self.inertias[parent].subtract_outer(-gone.inverse, gone.force);
            *force += gone.force * (-gone.rest * gone.inverse);
        }
    }

    /// The complete row of a set that a measure of its pivot puts first.
    fn best(
        &self,
        i: usize,
        sigma: &[f64],
        measure: impl Fn(&Entry, f64) -> f64,
    ) -> Option<(usize, f64)> {
        let count = self.entries.len();
        let mut best = None;
        for (place, &e) in self.sets[i].iter().enumerate() {
            let entry = &self.entries[e];
            if entry.ends < self.ends[entry.row] {
                continue;
            }
            let value = measure(entry, self.mobility[e * count + e] + sigma[entry.row]);
            if best.is_none_or(|(_, most)| most < value) {
                best = Some((place, value));
            }
        }
        best
    }

    /// Takes a row out of a set and out of the rows beside it.
    fn remove(&mut self, i: usize, place: usize, given: KktGiven<'_>) -> Gone {
        let KktGiven { y2, sigma, .. } = given;
        let count = self.entries.len();
        let e = self.sets[i].swap_remove(place);
        let entry = self.entries[e];
        // 1/π = 1/(L_ee + σ_e),   y₂ − c
        let inverse = 1.0 / (self.mobility[e * count + e] + sigma[entry.row]);
        let rest = y2[entry.row] - entry.known;
        let start = self.coupled.len();
        for (place, &s) in self.sets[i].iter().enumerate() {
            let coupling = self.mobility[e * count + s];
            self.coupled.push((self.entries[s].row, coupling));
            // K_s −= K_e L_es/π,   c_s += L_es (y₂ − c_e)/π,   L_st −= L_es L_et/π
            let share = coupling * inverse;
            let other = &mut self.entries[s];
            other.force += entry.force * -share;
            other.known += share * rest;
            for &t in &self.sets[i][..=place] {
                let taken = share * self.mobility[e * count + t];
                self.mobility[s * count + t] -= taken;
                if s != t {
                    self.mobility[t * count + s] = self.mobility[s * count + t];
                }
            }
        }
        let gone = Gone {
            row: entry.row,
            force: entry.force,
            rest,
            inverse,
            coupled_from: start,
            coupled_to: self.coupled.len(),
        };
        self.reach[entry.row] = entry.reach + sigma[entry.row];
        self.gone[i].push(gone);
        gone
    }

    /// Eliminates what has come to the ground; `false` where a row depends on others.
    fn close(&mut self, given: KktGiven<'_>) -> bool {
        let KktGiven { y2, sigma, .. } = given;
        for row in 0..self.ends.len() {
            if self.ends[row] == 0 {
                if !(0.0 < sigma[row]) {
                    return false;
                }
                self.f[row] = y2[row] / sigma[row];
            }
        }
        while !self.sets[0].is_empty() {
            let share = |entry: &Entry, pivot: f64| pivot / (entry.reach + sigma[entry.row]);
            match self.best(0, sigma, share) {
                Some((place, share)) if RANK < share => self.remove(0, place, given),
                _ => return false,
            };
        }
        true
    }

    /// f of the rows eliminated past a node, given the motion of its parent.
    fn solve(&mut self, i: usize, motion: Motion) {
        for gone in self.gone[i].iter().rev() {
            // f_e = (y₂ − c − K a_parent − Σ L_es f_s)/π
            let mut rest = gone.rest - gone.force.power(motion);
            for &(row, coupling) in &self.coupled[gone.coupled_from..gone.coupled_to] {
                rest -= coupling * self.f[row];
            }
            self.f[gone.row] = rest * gone.inverse;
        }
    }

    /// Whether every row holds, up to rounding, for the responses that were found.
    fn obeyed(&self, data: &Data, rows: &TreeRows, given: KktGiven<'_>) -> bool {
        let KktGiven { y2, sigma, .. } = given;
        let (mut scale, mut worst): (f64, f64) = (0.0, 0.0);
        let mut ends = rows.ends.iter().peekable();
        for row in 0..rows.len() {
            // J a + σ f − y₂, which is zero for an answer
            let mut w = sigma[row] * self.f[row] - y2[row];
            while let Some(end) = ends.next_if(|end| end.row == row) {
                w += end.force.power(data.passes[end.node].response);
            }
            scale = scale.max(y2[row].abs() + self.reach[row] * self.f[row].abs());
            worst = worst.max(if w.is_finite() {
                w.abs()
            } else {
                f64::INFINITY
            });
        }
        worst <= RESIDUAL * scale
    }
}
