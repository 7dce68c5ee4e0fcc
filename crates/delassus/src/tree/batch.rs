//! Forward dynamics of many states of one tree, as many at once as the processor has lanes.
//!
//! The recursion is that of [`Tree::forward_dynamics`], state by state in lanes: nothing crosses them, so that an
//! answer does not depend on the states beside it.

mod eliminate;

use glam::DVec3;
use pulp::Simd;

use super::joint::Kind;
use super::lanes::{
    Mat3, Sym, congruent, mul, mul_transposed, orientation, product, sym_mul, turned,
};
use super::spatial::Inertia;
use super::{Node, Tree, TreeError};
use crate::math::simd::{Vec3, X, cross, difference, dot, scaled, sum, three};

/// Work arrays for many states; kept between calls, so that nothing is allocated.
#[derive(Clone, Debug)]
pub struct Batch {
    work: Vec<f64>,
    filled: Vec<bool>,
    arch: pulp::Arch,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            work: Vec::new(),
            filled: Vec::new(),
            arch: pulp::Arch::new(),
        }
    }
}

impl Tree {
    /// q̈ of several states under joint forces τ, each array one state after the other. Damping acts too.
    pub fn forward_dynamics_batch(
        &self,
        batch: &mut Batch,
        (q, v, tau): (&[f64], &[f64], &[f64]),
        gravity: DVec3,
        acceleration: &mut [f64],
    ) -> Result<(), TreeError> {
        let count = q.len() / self.n_coordinates.max(1);
        self.check("configuration", q, count * self.n_coordinates)?;
        self.check("velocity", v, count * self.n_dofs)?;
        self.check("force", tau, count * self.n_dofs)?;
        self.check_length("acceleration", acceleration, count * self.n_dofs)?;
        for q in q.chunks_exact(self.n_coordinates.max(1)) {
            self.check_quaternions(q)?;
        }
        let failed = batch.arch.dispatch(Run {
            tree: self,
            states: (q, v, tau),
            gravity,
            acceleration,
            work: &mut batch.work,
            filled: &mut batch.filled,
        });
        match failed {
            None => Ok(()),
            Some((link, pivot)) => Err(TreeError::Singular {
                link: self.name_of(link),
                pivot,
            }),
        }
    }
}

/// Where numbers begin. What the passes need again is kept for every node; what only children or parents need is
/// kept for every depth, because a depth-first walk is done with it before it comes back to that depth: so little
/// of it leaves the nearest cache.
mod at {
    /// Kept for every node: the joint's axis, the arm from the parent, what the link needs at q̈ = 0.
    pub(super) const AXIS: usize = 0;
    pub(super) const ARM: usize = 3;
    pub(super) const NEED: usize = 6;
    /// Rigid inertia: mass times centre of mass, second moment.
    pub(super) const FIRST: usize = 12;
    pub(super) const SECOND: usize = 15;
    pub(super) const U: usize = 21;
    pub(super) const INVERSE_D: usize = 27;
    pub(super) const TAU: usize = 28;
    /// Numbers of a node.
    pub(super) const NODE: usize = 29;

    /// Kept for every depth, from the ground up.
    pub(super) const ROTATION: usize = NODE;
    pub(super) const VELOCITY: usize = NODE + 9;
    pub(super) const ACCELERATION: usize = NODE + 15;
    pub(super) const RESPONSE: usize = NODE + 21;
    /// Kept for every depth, from the leaves down: articulated inertia and force of the children.
    pub(super) const A: usize = NODE + 27;
    pub(super) const B: usize = NODE + 33;
    pub(super) const C: usize = NODE + 42;
    pub(super) const FORCE: usize = NODE + 48;
    /// Numbers of a depth.
    pub(super) const LEVEL: usize = 54;

    /// Kept for every node of several dofs: its axes, the factor of its inertia, τ − Sᵀp.
    pub(super) const TURNED: usize = NODE + LEVEL;
    pub(super) const INVERSE_A: usize = TURNED + 9;
    pub(super) const COUPLING: usize = TURNED + 15;
    pub(super) const INVERSE_C: usize = TURNED + 24;
    pub(super) const REST: usize = TURNED + 30;
    /// Numbers of a node of several dofs.
    pub(super) const MULTI: usize = 36;
}

struct Run<'a> {
    tree: &'a Tree,
    states: (&'a [f64], &'a [f64], &'a [f64]),
    gravity: DVec3,
    acceleration: &'a mut [f64],
    work: &'a mut Vec<f64>,
    filled: &'a mut Vec<bool>,
}

impl pulp::WithSimd for Run<'_> {
    /// The first link that cannot move, and its pivot.
    type Output = Option<(usize, f64)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<(usize, f64)> {
        let (tree, lanes) = (self.tree, S::F64_LANES);
        let (n_q, n_v) = (tree.n_coordinates, tree.n_dofs);
        if n_v == 0 {
            return None;
        }
        let levels = 1 + tree.nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        let of_nodes = at::NODE * tree.nodes.len();
        let of_all = of_nodes + at::LEVEL * levels + at::MULTI * tree.n_multi;
        let numbers = n_q + 2 * n_v + of_all;
        self.filled.clear();
        self.filled.resize(levels, false);
        self.work.resize(numbers * lanes, 0.0);
        let count = self.acceleration.len() / n_v;
        for first in (0..count).step_by(lanes) {
            // Lanes beyond the last state repeat it.
            let state = |l: usize| (first + l).min(count - 1);
            let (inputs, _) = self.work.split_at_mut((n_q + 2 * n_v) * lanes);
            for l in 0..lanes {
                let s = state(l);
                let (q, v, tau) = self.states;
                let q = q[s * n_q..(s + 1) * n_q].iter();
                let v = v[s * n_v..(s + 1) * n_v].iter();
                let tau = tau[s * n_v..(s + 1) * n_v].iter();
                for (to, from) in inputs.chunks_exact_mut(lanes).zip(q.chain(v).chain(tau)) {
                    to[l] = *from;
                }
            }
            let (work, _) = S::as_mut_simd_f64s(self.work);
            let (inputs, numbers) = work.split_at_mut(n_q + 2 * n_v);
            let (q, rest) = inputs.split_at_mut(n_q);
            let (v, tau) = rest.split_at_mut(n_v);
            let mut pass = Pass {
                simd,
                tree,
                numbers,
                levels: of_nodes,
                multi: of_nodes + at::LEVEL * levels,
                filled: self.filled,
            };
            pass.place_and_move(q, v, self.gravity);
            let failed = pass.eliminate(v, tau);
            if failed.is_some() {
                return failed;
            }
            pass.respond(tau);
            let (_, answers) = self.work.split_at((n_q + n_v) * lanes);
            let last = count.min(first + lanes);
            for (l, out) in self.acceleration[first * n_v..last * n_v]
                .chunks_exact_mut(n_v)
                .enumerate()
            {
                for (to, from) in out.iter_mut().zip(answers.chunks_exact(lanes)) {
                    *to = from[l];
                }
            }
        }
        None
    }
}

/// The three passes over the nodes, in lanes.
struct Pass<'a, S: Simd> {
    simd: S,
    tree: &'a Tree,
    numbers: &'a mut [S::f64s],
    /// Where those of depths and those of nodes of several dofs begin.
    levels: usize,
    multi: usize,
    /// Whether children have left anything at a depth.
    filled: &'a mut [bool],
}

impl<S: Simd> Pass<'_, S> {
    #[inline(always)]
    fn start(&self, node: usize, at: usize) -> usize {
        if at < at::NODE {
            node * at::NODE + at
        } else if at < at::TURNED {
            self.levels + self.tree.nodes[node].depth * at::LEVEL + at - at::NODE
        } else {
            self.multi + self.tree.nodes[node].multi * at::MULTI + at - at::TURNED
        }
    }

    #[inline(always)]
    fn get<const N: usize>(&self, node: usize, at: usize) -> [X<S>; N] {
        self.load(self.numbers, self.start(node, at))
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, node: usize, at: usize, values: [X<S>; N]) {
        let start = self.start(node, at);
        let to = &mut self.numbers[start..start + N];
        for i in 0..N {
            to[i] = values[i].1;
        }
    }

    #[inline(always)]
    fn matrix(&self, node: usize, at: usize) -> Mat3<S> {
        three!(i => self.get(node, at + 3 * i))
    }

    #[inline(always)]
    fn set_matrix(&mut self, node: usize, at: usize, m: Mat3<S>) {
        for i in 0..3 {
            self.set(node, at + 3 * i, m[i]);
        }
    }

    #[inline(always)]
    fn constant(&self, v: DVec3) -> Vec3<S> {
        three!(i => X::splat(self.simd, v[i]))
    }

    #[inline(always)]
    fn load<const N: usize>(&self, values: &[S::f64s], at: usize) -> [X<S>; N] {
        let values = &values[at..at + N];
        let mut out = [X(self.simd, values[0]); N];
        for i in 0..N {
            out[i].1 = values[i];
        }
        out
    }

    /// Root to leaves: poses, velocities, what each link needs at q̈ = 0, rigid inertias.
    #[inline(always)]
    fn place_and_move(&mut self, q: &[S::f64s], v: &[S::f64s], gravity: DVec3) {
        let zero = X::splat(self.simd, 0.0);
        let identity = three!(i => self.constant(DVec3::AXES[i]));
        self.set_matrix(0, at::ROTATION, identity);
        self.set(0, at::VELOCITY, [zero; 6]);
        self.set(0, at::ACCELERATION, [zero; 3]);
        self.set(0, at::ACCELERATION + 3, self.constant(-gravity));
        let tree = self.tree;
        for (i, node) in tree.nodes.iter().enumerate().skip(1) {
            let (rotation, arm) = self.place(node, q);
            self.set_matrix(i, at::ROTATION, rotation);
            self.set(i, at::AXIS, rotation[2]);
            self.set(i, at::ARM, arm);
            if matches!(node.kind, Kind::Ball | Kind::Free) {
                self.set_matrix(i, at::TURNED, rotation);
            }
            let (spin, acceleration) = self.moved(i, node, v, (rotation, arm));
            let inertia = self.turned(&node.inertia, rotation);
            self.need(i, inertia, spin, acceleration);
        }
    }

    /// Axes of a node and the arm from its parent.
    #[inline(always)]
    fn place(&self, node: &Node, q: &[S::f64s]) -> (Mat3<S>, Vec3<S>) {
        let parent = self.matrix(node.parent, at::ROTATION);
        let base = match &node.swap {
            Some(swap) => three!(i => scaled(
                parent[swap.columns[i]],
                X::splat(self.simd, swap.signs[i])
            )),
            None => {
                let r = node.place.rotation;
                three!(i => mul(parent, self.constant(r.col(i))))
            }
        };
        let mut arm = self.constant(DVec3::ZERO);
        if !node.concentric {
            arm = mul(parent, self.constant(node.place.position));
        }
        match node.kind {
            Kind::Turn => (turned(base, self.load(q, node.q_at)), arm),
            Kind::Slide => {
                let [x] = self.load(q, node.q_at);
                (base, sum(arm, scaled(base[2], x)))
            }
            Kind::Screw(pitch) => {
                let [x] = self.load(q, node.q_at);
                let advance = scaled(base[2], x * x.like(pitch));
                (turned(base, [x]), sum(arm, advance))
            }
            Kind::Ball => (product(base, orientation(self.load(q, node.q_at))), arm),
            Kind::Free => {
                let shift = mul(base, self.load(q, node.q_at));
                let rotation = product(base, orientation(self.load(q, node.q_at + 3)));
                (rotation, sum(arm, shift))
            }
        }
    }

    /// Velocity of a node and its acceleration at q̈ = 0; gives the spin and the acceleration.
    #[inline(always)]
    fn moved(
        &mut self,
        i: usize,
        node: &Node,
        v: &[S::f64s],
        (rotation, arm): (Mat3<S>, Vec3<S>),
    ) -> (Vec3<S>, [Vec3<S>; 2]) {
        let spin: Vec3<S> = self.get(node.parent, at::VELOCITY);
        let mut linear: Vec3<S> = self.get(node.parent, at::VELOCITY + 3);
        let mut turn: Vec3<S> = self.get(node.parent, at::ACCELERATION);
        let mut push: Vec3<S> = self.get(node.parent, at::ACCELERATION + 3);
        if !node.concentric {
            let carried = cross(spin, arm);
            linear = sum(linear, carried);
            push = sum(push, sum(cross(turn, arm), cross(spin, carried)));
        }
        let mut own = spin;
        match node.kind {
            Kind::Turn | Kind::Slide | Kind::Screw(_) => {
                let [x] = self.load(v, node.v_at);
                let rate = scaled(rotation[2], x);
                let coriolis = cross(spin, rate);
                let (turns, slides) = match node.kind {
                    Kind::Turn => (true, None),
                    Kind::Screw(pitch) => (true, Some(pitch)),
                    _ => (false, Some(1.0)),
                };
                if turns {
                    own = sum(own, rate);
                    turn = sum(turn, coriolis);
                }
                if let Some(pitch) = slides {
                    let pitch = x.like(pitch);
                    linear = sum(linear, scaled(rate, pitch));
                    push = sum(push, scaled(sum(coriolis, coriolis), pitch));
                }
            }
            Kind::Ball | Kind::Free => {
                let rate = mul(rotation, self.load(v, node.v_at));
                own = sum(own, rate);
                turn = sum(turn, cross(spin, rate));
                if node.kind == Kind::Free {
                    let slide = mul(rotation, self.load(v, node.v_at + 3));
                    linear = sum(linear, slide);
                    let coriolis = cross(spin, slide);
                    push = sum(push, sum(sum(coriolis, coriolis), cross(rate, slide)));
                }
            }
        }
        self.set(i, at::VELOCITY, own);
        self.set(i, at::VELOCITY + 3, linear);
        self.set(i, at::ACCELERATION, turn);
        self.set(i, at::ACCELERATION + 3, push);
        (own, [turn, push])
    }

    /// Newton and Euler at q̈ = 0.
    #[inline(always)]
    fn need(
        &mut self,
        i: usize,
        (mass, first, second): (X<S>, Vec3<S>, Sym<S>),
        spin: Vec3<S>,
        [turn, push]: [Vec3<S>; 2],
    ) {
        let torque = sum(sym_mul(second, turn), cross(first, push));
        let torque = sum(torque, cross(spin, sym_mul(second, spin)));
        let force = sum(scaled(push, mass), cross(turn, first));
        let force = sum(force, cross(spin, cross(spin, first)));
        self.set(i, at::NEED, torque);
        self.set(i, at::NEED + 3, force);
        self.set(i, at::FIRST, first);
        self.set(i, at::SECOND, second);
    }

    /// A node's rigid inertia in world axes.
    #[inline(always)]
    fn turned(&self, inertia: &Inertia, r: Mat3<S>) -> (X<S>, Vec3<S>, Sym<S>) {
        let first = mul(r, self.constant(inertia.first));
        let s = &inertia.second;
        let columns = [s.x(), s.y(), s.z()];
        let second = congruent(r, three!(j => self.constant(columns[j])));
        (X::splat(self.simd, inertia.mass), first, second)
    }

    /// Root to leaves: q̈ = D⁻¹(τ − Sᵀp − Uᵀa_parent), a = a_parent + S q̈. Accelerations go where τ was.
    #[inline(always)]
    fn respond(&mut self, x: &mut [S::f64s]) {
        let tree = self.tree;
        let zero = X::splat(self.simd, 0.0);
        self.set(0, at::RESPONSE, [zero; 6]);
        for (i, node) in tree.nodes.iter().enumerate().skip(1) {
            let mut turn: Vec3<S> = self.get(node.parent, at::RESPONSE);
            let mut push: Vec3<S> = self.get(node.parent, at::RESPONSE + 3);
            if !node.concentric {
                push = sum(push, cross(turn, self.get(i, at::ARM)));
            }
            match node.kind {
                Kind::Turn | Kind::Slide | Kind::Screw(_) => {
                    let (u, f): (Vec3<S>, Vec3<S>) = (self.get(i, at::U), self.get(i, at::U + 3));
                    let axis = self.get(i, at::AXIS);
                    let [inverse] = self.get(i, at::INVERSE_D);
                    let [rest] = self.get(i, at::TAU);
                    let rate = inverse * (rest - (dot(u, turn) + dot(f, push)));
                    x[node.v_at] = rate.1;
                    let (turns, pitch) = match node.kind {
                        Kind::Turn => (1.0, 0.0),
                        Kind::Screw(pitch) => (1.0, pitch),
                        _ => (0.0, 1.0),
                    };
                    if turns != 0.0 {
                        turn = sum(turn, scaled(axis, rate));
                    }
                    if pitch != 0.0 {
                        push = sum(push, scaled(axis, rate * rate.like(pitch)));
                    }
                }
                Kind::Ball => {
                    let (inverse, coupling): (Sym<S>, _) =
                        (self.get(i, at::INVERSE_A), self.matrix(i, at::COUPLING));
                    let rest = sym_mul(inverse, self.get(i, at::REST));
                    let mut rate = difference(difference(rest, mul(coupling, push)), turn);
                    if node.armature != 0.0 {
                        let back = scaled(sym_mul(inverse, turn), zero.like(node.armature));
                        rate = sum(rate, back);
                    }
                    turn = sum(turn, rate);
                    let rotation = self.matrix(i, at::TURNED);
                    put(x, node.v_at, mul_transposed(rotation, rate));
                }
                Kind::Free => {
                    let (t, f): (Vec3<S>, Vec3<S>) =
                        (self.get(i, at::REST), self.get(i, at::REST + 3));
                    let rotation = self.matrix(i, at::TURNED);
                    let coupling = self.matrix(i, at::COUPLING);
                    let angular =
                        sym_mul(self.get(i, at::INVERSE_A), difference(t, mul(coupling, f)));
                    let linear = sym_mul(self.get(i, at::INVERSE_C), f);
                    let linear = difference(linear, mul_transposed(coupling, angular));
                    put(
                        x,
                        node.v_at,
                        mul_transposed(rotation, difference(angular, turn)),
                    );
                    put(
                        x,
                        node.v_at + 3,
                        mul_transposed(rotation, difference(linear, push)),
                    );
                    (turn, push) = (angular, linear);
                }
            }
            self.set(i, at::RESPONSE, turn);
            self.set(i, at::RESPONSE + 3, push);
        }
    }
}

#[inline(always)]
fn put<S: Simd>(x: &mut [S::f64s], at: usize, values: Vec3<S>) {
    for i in 0..3 {
        x[at + i] = values[i].1;
    }
}
