//! Forward dynamics of many states of one tree, as many at once as the processor has lanes.
//!
//! The recursion is that of [`Tree::forward_dynamics`], state by state in lanes: nothing crosses them, so that an
//! answer does not depend on the states beside it. The first two passes are one: as soon as a subtree is placed its
//! joints are taken out, while it is in the nearest cache, and all that is kept of a link is what the third needs.

mod descend;
mod eliminate;
mod respond;

use glam::DVec3;
use pulp::Simd;

use super::{Tree, TreeError};
use crate::math::simd::fused::Mat3;
use crate::math::simd::{Vec3, X, three};

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

/// Numbers in a cache line.
const LINE: usize = 8;

/// Where numbers begin. What the last pass needs is kept for every node; what only children or parents need is
/// kept for every depth, because a depth-first walk is done with it before it comes back to that depth: so little
/// of it leaves the nearest cache.
mod at {
    /// Kept for every node: the joint's axis, the arm from the parent, D⁻¹U and D⁻¹(τ − Sᵀp).
    pub(super) const AXIS: usize = 0;
    pub(super) const ARM: usize = 3;
    pub(super) const GAIN: usize = 6;
    pub(super) const RATE: usize = 12;
    /// Numbers of a node.
    pub(super) const NODE: usize = 13;

    /// Kept for every depth, from the ground up: axes, spin, acceleration at q̈ = 0.
    pub(super) const ROTATION: usize = NODE;
    pub(super) const SPIN: usize = NODE + 9;
    pub(super) const TURN: usize = NODE + 12;
    pub(super) const PUSH: usize = NODE + 15;
    /// Kept for every depth, from the leaves down: articulated inertia and force of the children.
    pub(super) const A: usize = NODE + 18;
    pub(super) const B: usize = NODE + 24;
    pub(super) const C: usize = NODE + 33;
    pub(super) const FORCE: usize = NODE + 39;
    /// Accelerations, once nothing is left of all that.
    pub(super) const RESPONSE: usize = ROTATION;
    /// Numbers of a depth.
    pub(super) const LEVEL: usize = 45;

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
        self.work.resize(numbers * lanes + LINE, 0.0);
        // Vectors that straddle cache lines cost twice.
        let skew = self.work.as_ptr().align_offset(64).min(LINE);
        let work = &mut self.work[skew..];
        let count = self.acceleration.len() / n_v;
        for first in (0..count).step_by(lanes) {
            let last = count.min(first + lanes);
            let inputs = &mut work[..(n_q + 2 * n_v) * lanes];
            let (q, rest) = inputs.split_at_mut(n_q * lanes);
            let (v, tau) = rest.split_at_mut(n_v * lanes);
            side_by_side::<S>(q, &self.states.0[first * n_q..last * n_q], n_q);
            side_by_side::<S>(v, &self.states.1[first * n_v..last * n_v], n_v);
            side_by_side::<S>(tau, &self.states.2[first * n_v..last * n_v], n_v);
            let (vectors, _) = S::as_mut_simd_f64s(work);
            let (inputs, numbers) = vectors.split_at_mut(n_q + 2 * n_v);
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
            let failed = pass.place_and_eliminate((q, v, tau), self.gravity);
            if failed.is_some() {
                return failed;
            }
            pass.respond(tau);
            let answers = &work[(n_q + n_v) * lanes..(n_q + 2 * n_v) * lanes];
            let out = &mut self.acceleration[first * n_v..last * n_v];
            for (l, out) in out.chunks_exact_mut(n_v).enumerate() {
                for k in 0..n_v {
                    out[k] = answers[k * lanes + l];
                }
            }
        }
        None
    }
}

/// States of n numbers, one after the other, into lanes; lanes beyond the last state repeat it.
#[inline(always)]
fn side_by_side<S: Simd>(to: &mut [f64], states: &[f64], n: usize) {
    let lanes = S::F64_LANES;
    let last = states.len() / n - 1;
    for l in 0..lanes {
        let state = &states[l.min(last) * n..][..n];
        for (to, from) in to[l..].iter_mut().step_by(lanes).zip(state) {
            *to = *from;
        }
    }
}

/// Configurations, velocities and joint forces.
type Inputs<'a, S> = (
    &'a [<S as Simd>::f64s],
    &'a [<S as Simd>::f64s],
    &'a [<S as Simd>::f64s],
);

/// The passes over the nodes, in lanes.
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
    /// From the ground to the leaves, and back from every leaf as far as no other is waiting.
    #[inline(always)]
    fn place_and_eliminate(
        &mut self,
        (q, v, tau): Inputs<'_, S>,
        gravity: DVec3,
    ) -> Option<(usize, f64)> {
        self.ground(gravity);
        let nodes = &self.tree.nodes;
        for i in 1..nodes.len() {
            self.descend(i, &nodes[i], q, v);
            let next = nodes.get(i + 1).map_or(1, |node| node.depth);
            let mut done = i;
            while next <= nodes[done].depth {
                if let Err(pivot) = self.eliminate(done, &nodes[done], v, tau) {
                    return Some((nodes[done].link, pivot));
                }
                done = nodes[done].parent;
            }
        }
        None
    }

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
}
