//! What every link does for itself alone: its inertia in world axes, and Newton and Euler.
//!
//! No link waits for another here, so eight of them share the processor's lanes. Each lane computes what a single
//! link would, so that bits do not depend on the width.

use glam::{DMat3, DVec3};
use pulp::Simd;

use super::lanes::newton_euler;
use super::spatial::{Force, Inertia, Motion, Sym3};
use crate::linalg::sym3::lanes::{Sym, congruent, sym_column};
use crate::math::simd::fused::mul;
use crate::math::simd::{LANES, Lane, Vec3, X, three};

const ZERO: Lane = [0.0; LANES];

/// Rigid inertias of eight nodes, in their own axes.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct Own {
    mass: Lane,
    first: [Lane; 3],
    second: [Lane; 6],
}

/// Eight nodes in world axes: how they lie and move, and what comes of it. Vectors do not straddle cache lines.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct Eight {
    rotation: [Lane; 9],
    spin: [Lane; 3],
    turn: [Lane; 3],
    push: [Lane; 3],
    first: [Lane; 3],
    second: [Lane; 6],
    torque: [Lane; 3],
    force: [Lane; 3],
}

impl Own {
    pub(super) const ZERO: Own = Own {
        mass: ZERO,
        first: [ZERO; 3],
        second: [ZERO; 6],
    };

    pub(super) fn set(&mut self, lane: usize, inertia: &Inertia) {
        self.mass[lane] = inertia.mass;
        let (first, second) = (inertia.first.to_array(), inertia.second.entries());
        (0..3).for_each(|k| self.first[k][lane] = first[k]);
        (0..6).for_each(|k| self.second[k][lane] = second[k]);
    }
}

impl Eight {
    pub(super) const ZERO: Eight = Eight {
        rotation: [ZERO; 9],
        spin: [ZERO; 3],
        turn: [ZERO; 3],
        push: [ZERO; 3],
        first: [ZERO; 3],
        second: [ZERO; 6],
        torque: [ZERO; 3],
        force: [ZERO; 3],
    };

    #[inline]
    pub(super) fn place(&mut self, lane: usize, rotation: &DMat3) {
        let columns = rotation.to_cols_array();
        for k in 0..9 {
            self.rotation[k][lane] = columns[k];
        }
    }

    #[inline]
    pub(super) fn moves(&mut self, lane: usize, spin: DVec3, acceleration: Motion) {
        let Motion { angular, linear } = acceleration;
        for k in 0..3 {
            self.spin[k][lane] = spin[k];
            self.turn[k][lane] = angular[k];
            self.push[k][lane] = linear[k];
        }
    }

    #[inline]
    pub(super) fn give_inertia(&self, lane: usize, to: &mut Inertia) {
        let f = &self.first;
        to.first = DVec3::new(f[0][lane], f[1][lane], f[2][lane]);
        to.second = Sym3::from_entries(std::array::from_fn(|k| self.second[k][lane]));
    }

    #[inline]
    pub(super) fn need(&self, lane: usize) -> Force {
        let (t, f) = (&self.torque, &self.force);
        Force {
            torque: DVec3::new(t[0][lane], t[1][lane], t[2][lane]),
            force: DVec3::new(f[0][lane], f[1][lane], f[2][lane]),
        }
    }
}

/// Turns the inertias of eight nodes into world axes and, with `needs`, asks what force each needs for its
/// acceleration.
pub(super) struct Rigid<'a> {
    pub(super) own: &'a Own,
    pub(super) eight: &'a mut Eight,
    pub(super) needs: bool,
}

impl pulp::WithSimd for Rigid<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (own, eight) = (self.own, self.eight);
        for part in 0..LANES / S::F64_LANES {
            let (first, second) = turn(simd, own, eight, part);
            for k in 0..3 {
                first[k].store(&mut eight.first[k], part);
            }
            for k in 0..6 {
                second[k].store(&mut eight.second[k], part);
            }
            if self.needs {
                let mass = X::load(simd, &own.mass, part);
                let spin = X::load_all(simd, &eight.spin, part);
                let turn = X::load_all(simd, &eight.turn, part);
                let push = X::load_all(simd, &eight.push, part);
                let [torque, force] = newton_euler((mass, first, second), spin, [turn, push]);
                for k in 0..3 {
                    torque[k].store(&mut eight.torque[k], part);
                    force[k].store(&mut eight.force[k], part);
                }
            }
        }
    }
}

/// First and second moments in world axes.
#[inline(always)]
fn turn<S: Simd>(simd: S, own: &Own, eight: &Eight, part: usize) -> (Vec3<S>, Sym<S>) {
    let r = three!(j => three!(i => X::load(simd, &eight.rotation[3 * j + i], part)));
    let first = mul(r, X::load_all(simd, &own.first, part));
    let second: Sym<S> = X::load_all(simd, &own.second, part);
    let second = congruent(r, three!(j => sym_column(second, j)));
    (first, second)
}
