//! Separating axes of boxes: exact, without iteration, and independent of the step before.
//!
//! Faces win over pairs of edges unless the edges separate clearly better, so that a resting box does not flicker.

use crate::math::DVec3;

use super::axis::Axis;
use super::solid::PoseMatrix;

/// An edge pair must beat the faces by this share of the size, and by a share of the depth.
const EDGE_SIZE: f64 = 1e-6;
const EDGE_DEPTH: f64 = 1e-3;
/// Edges closer to parallel than this sine span no useful axis.
const PARALLEL: f64 = 1e-4;

/// The best axis so far.
struct Best {
    normal: DVec3,
    separation: f64,
}

impl Best {
    fn offer(&mut self, normal: DVec3, separation: f64, handicap: f64) {
        if self.separation + handicap < separation {
            (self.normal, self.separation) = (normal, separation);
        }
    }

    fn handicap(&self, size: f64) -> f64 {
        EDGE_SIZE * size + EDGE_DEPTH * (-self.separation).max(0.0)
    }

    fn axis(self) -> Axis {
        Axis {
            normal: self.normal,
            separation: self.separation,
            nearest: None,
        }
    }
}

/// A box where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedBox<'a> {
    /// Half of its edges.
    pub(crate) half: DVec3,
    pub(crate) frame: &'a PoseMatrix,
}

/// Two boxes; the normal points from the second to the first.
pub(crate) fn blocks(first: PlacedBox<'_>, second: PlacedBox<'_>) -> Axis {
    let (half_a, a) = (first.half, first.frame);
    let (half_b, b) = (second.half, second.frame);
    let apart = a.at() - b.at();
    let (ea, eb) = (
        [a.axes.x_axis, a.axes.y_axis, a.axes.z_axis],
        [b.axes.x_axis, b.axes.y_axis, b.axes.z_axis],
    );
    // c_ij = e_i · f_j between the axes e of the first box and f of the second; t = x_a − x_b along both.
    let cosines: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| ea[i].dot(eb[j])));
    let ta = ea.map(|e| e.dot(apart));
    let tb = eb.map(|e| e.dot(apart));
    let size = half_a.min_element().min(half_b.min_element());
    let mut best = Best {
        normal: DVec3::Z,
        separation: f64::NEG_INFINITY,
    };
    // s = |t · e_i| − a_i − Σ_j |c_ij| b_j: how far apart the boxes are along a face normal of the first.
    for i in 0..3 {
        let reach: f64 = (0..3).map(|j| cosines[i][j].abs() * half_b[j]).sum();
        let separation = ta[i].abs() - half_a[i] - reach;
        best.offer(ea[i] * 1.0_f64.copysign(ta[i]), separation, 0.0);
    }
    // s = |t · f_j| − b_j − Σ_i |c_ij| a_i, along one of the second.
    for j in 0..3 {
        let reach: f64 = (0..3).map(|i| cosines[i][j].abs() * half_a[i]).sum();
        let separation = tb[j].abs() - half_b[j] - reach;
        // Of two faces that look at each other the first body's is taken.
        best.offer(
            eb[j] * 1.0_f64.copysign(tb[j]),
            separation,
            EDGE_SIZE * size,
        );
    }
    let handicap = best.handicap(size);
    for i in 0..3 {
        for j in 0..3 {
            let (i1, i2, j1, j2) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
            // |e_i × f_j|² = 1 − c_ij².
            let sine2 = 1.0 - cosines[i][j] * cosines[i][j];
            if sine2 < PARALLEL * PARALLEL {
                continue;
            }
            // e_i × f_j has components −c(i2, j) along e_i1 and c(i1, j) along e_i2; likewise for f.
            let along = ta[i2] * cosines[i1][j] - ta[i1] * cosines[i2][j];
            let reach = half_a[i1] * cosines[i2][j].abs()
                + half_a[i2] * cosines[i1][j].abs()
                + half_b[j1] * cosines[i][j2].abs()
                + half_b[j2] * cosines[i][j1].abs();
            let separation = (along.abs() - reach) / sine2.sqrt();
            if best.separation + handicap < separation {
                let normal = ea[i].cross(eb[j]).normalize_or_zero();
                best.offer(
                    normal * 1.0_f64.copysign(normal.dot(apart)),
                    separation,
                    0.0,
                );
            }
        }
    }
    best.axis()
}

/// A box against a triangle given in the world; the normal points from the triangle to the box.
pub(crate) fn block_triangle(block: PlacedBox<'_>, corners: &[DVec3; 3]) -> Axis {
    let PlacedBox { half, frame } = block;
    let corner = corners.map(|c| c - frame.at());
    let edges = [
        corner[1] - corner[0],
        corner[2] - corner[1],
        corner[0] - corner[2],
    ];
    let axes = [frame.axes.x_axis, frame.axes.y_axis, frame.axes.z_axis];
    // Both senses of a direction are tried: a triangle has no centre to choose one.
    // s = max(min_c c · m, −max_c c · m) − Σ_k a_k |e_k · m| over the corners c, seen from the centre of the box.
    let apart = |m: DVec3| {
        let reach: f64 = (0..3).map(|k| half[k] * axes[k].dot(m).abs()).sum();
        let heights = corner.map(|c| c.dot(m));
        let high = heights[0].max(heights[1]).max(heights[2]);
        let low = heights[0].min(heights[1]).min(heights[2]);
        if -high < low {
            (-m, low - reach)
        } else {
            (m, -high - reach)
        }
    };
    let size = half.min_element();
    let mut best = Best {
        normal: DVec3::Z,
        separation: f64::NEG_INFINITY,
    };
    if let Some(normal) = edges[0].cross(edges[1]).try_normalize() {
        let (m, separation) = apart(normal);
        best.offer(m, separation, 0.0);
    }
    for m in axes {
        let (m, separation) = apart(m);
        best.offer(m, separation, EDGE_SIZE * size);
    }
    let handicap = best.handicap(size);
    for e in edges {
        for m in axes {
            let across = e.cross(m);
            if across.length_squared() <= PARALLEL * PARALLEL * e.length_squared() {
                continue;
            }
            let (m, separation) = apart(across.normalize());
            if best.separation + handicap < separation {
                best.offer(m, separation, 0.0);
            }
        }
    }
    best.axis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{DQuat, Random};

    #[test]
    fn box_axes_agree_with_a_search_over_directions() {
        let mut random = Random::new(11);
        for _ in 0..200 {
            let mut frame = |x: f64| {
                let v = random.vector();
                PoseMatrix::new(
                    random.vector() * x,
                    DQuat::from_xyzw(v.x, v.y, v.z, 0.5).normalize(),
                )
            };
            let (fa, fb) = (frame(0.1), frame(0.6));
            let (ha, hb) = (DVec3::new(0.3, 0.2, 0.4), DVec3::new(0.2, 0.5, 0.25));
            let placed = |half, frame| PlacedBox { half, frame };
            let found = blocks(placed(ha, &fa), placed(hb, &fb));
            let width = |h: DVec3, f: &PoseMatrix, n: DVec3| f.turn_in(n).abs().dot(h);
            let along = |n: DVec3| n.dot(fa.at() - fb.at()) - width(ha, &fa, n) - width(hb, &fb, n);
            assert!((along(found.normal) - found.separation).abs() < 1e-12);
            // No direction separates more; the handicap of edges is the tolerance.
            let best = (0..2000)
                .map(|_| along(random.vector().normalize()))
                .fold(f64::NEG_INFINITY, f64::max);
            assert!(best <= found.separation.max(0.0) + 2e-3 || 0.0 < found.separation);
        }
    }
}
