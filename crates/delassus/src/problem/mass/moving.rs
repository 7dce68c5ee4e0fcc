//! A free body as files state it, in twice the digits: its mass block, its momentum and its velocity without constraints.

use glam::{DMat3, DVec3};

use super::{MassBlock, of_rows, row_major};
use crate::error::BuildError;
use crate::linalg::{Twofold, TwofoldMatrix, twofold_cross};

/// A free body as it stands before a step: what [`Moving::block`] turns into a mass block and its velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    /// Mass \[kg\].
    pub(crate) mass: f64,
    /// Inertia about the centre of mass, in its own axes \[kg m²\].
    pub(crate) inertia: DMat3,
    /// Orientation (w, x, y, z), not zero.
    pub(crate) orientation: [f64; 4],
    /// Angular velocity, world axes \[rad/s\].
    pub(crate) spin: DVec3,
    /// Torque without the gyroscopic one, world axes \[N m\].
    pub(crate) torque: DVec3,
}

impl Moving {
    /// The mass block in world axes, I = R I Rᵀ and I⁻¹ = R I⁻¹Rᵀ each by itself; the angular momentum after h seconds,
    /// Iω + h(τ − ω × Iω), and the angular velocity, ω + h I⁻¹(τ − ω × Iω). All in twice the digits and rounded once, so
    /// that a body that hardly resists turning about one axis keeps the digits of the others.
    pub(crate) fn block(&self, h: f64) -> Result<(MassBlock, DVec3, DVec3), BuildError> {
        // What it refuses is what a body must not be.
        MassBlock::rigid(self.mass, self.inertia)?;
        let own = TwofoldMatrix::of_rows(&row_major(&self.inertia));
        let inverse = own.inverse().ok_or(BuildError::NotPositiveDefinite {
            what: "inertia",
            index: 2,
            pivot: 0.0,
        })?;
        let turn = TwofoldMatrix::rotation(self.orientation);
        let [world, inverse] = [turn.around(&own), turn.around(&inverse)];
        let wide = |v: DVec3| v.to_array().map(Twofold::from);
        let (spin, torque, h) = (wide(self.spin), wide(self.torque), Twofold::from(h));
        let momentum = world.apply(spin);
        let gyroscopic = twofold_cross(spin, momentum);
        let pull: [Twofold; 3] = std::array::from_fn(|i| h * (torque[i] - gyroscopic[i]));
        let change = inverse.apply(pull);
        let rounded = |a: [Twofold; 3], b: [Twofold; 3]| {
            DVec3::from(std::array::from_fn(|i| (a[i] + b[i]).rounded()))
        };
        let [inertia, inverse] = [world, inverse].map(|m| of_rows(&m.rounded()));
        let symmetric = |m: DMat3| (m + m.transpose()) * 0.5;
        let block = MassBlock::rigid_from_both(self.mass, symmetric(inertia), symmetric(inverse))?;
        Ok((block, rounded(momentum, pull), rounded(spin, change)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    fn largest(m: &DMat3) -> f64 {
        max_abs(&m.to_cols_array())
    }

    /// A needle of 1e-8 times the inertia about its own axis, turned: a torque about an axis across it turns it as if it
    /// were not thin. Formed in the world and inverted there, eight of sixteen digits were lost.
    #[test]
    fn a_turned_needle_keeps_the_digits_of_its_stiff_axes() {
        let mut random = Random::new(7);
        let thin = 1e-8;
        for _ in 0..100 {
            let turn = glam::DQuat::from_scaled_axis(random.vector() * 3.0);
            let along = turn * DVec3::X;
            let spin = random.vector();
            let needle = Moving {
                mass: 1.0,
                inertia: DMat3::from_diagonal(DVec3::new(thin, 1.0, 1.0)),
                orientation: [turn.w, turn.x, turn.y, turn.z],
                spin,
                torque: DVec3::ZERO,
            };
            let (block, _, free) = needle.block(0.01).unwrap();
            let MassBlock::Rigid(body) = block else {
                panic!("a needle is a body");
            };
            let exact = (DMat3::from_cols(along * along.x, along * along.y, along * along.z))
                * (1.0 / thin - 1.0)
                + DMat3::IDENTITY;
            let off = largest(&(body.inverse_inertia() - exact)) * thin;
            assert!(off < 8.0 * f64::EPSILON, "{off:e}");
            // A needle has no gyroscopic torque about its own axis: its spin about it stays.
            let (before, after) = (spin.dot(along), free.dot(along));
            assert!((before - after).abs() < 1e-14, "{before} {after}");
        }
    }
}
