//! Principal moments that a body can have.

use glam::DMat3;

use crate::linalg::largest_eigenvalue_3;

/// Rounding of written moments: the largest may exceed the sum of the others by this share.
const ROUNDING: f64 = 1e-6;

/// Moments that no body has: I = ∫(r² 1 − r rᵀ) makes none larger than the sum of the other two.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "no body has these principal moments: {largest} is more than {others}, the sum of the other two; check the axes and \
     the units"
)]
pub(crate) struct ImpossibleMoments {
    largest: f64,
    others: f64,
}

/// Refuses a symmetric inertia that no body has; one that is not positive definite has a message elsewhere.
pub(crate) fn check_moments(inertia: &DMat3) -> Result<(), ImpossibleMoments> {
    let largest = largest_eigenvalue_3(&inertia.to_cols_array());
    let others = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z - largest;
    if 0.0 < others && (1.0 + ROUNDING) * others < largest {
        return Err(ImpossibleMoments { largest, others });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn rods_and_disks_are_bodies_and_a_moment_beyond_the_others_is_none() {
        let check = |moments: [f64; 3]| check_moments(&DMat3::from_diagonal(DVec3::from(moments)));
        for body in [[1.0, 1.0, 1e-12], [1.0, 1.0, 2.0], [0.3, 0.4, 0.5]] {
            assert_eq!(check(body), Ok(()), "{body:?}");
        }
        let refused = check([1.0, 1.0, 2.1]).unwrap_err();
        assert!(
            refused.to_string().contains("the sum of the other two"),
            "{refused}"
        );
    }
}
