//! Mass properties of solids and shells: simple shapes, surfaces of triangles, and several glued together.

use std::f64::consts::PI;

use glam::{DMat3, DVec3};

use super::mesh::Mesh;
use crate::linalg::sym3::Sym3;
use crate::tree::MassProperties;
use crate::tree::spatial::{Inertia, Pose};

/// Volume or area, centre, and second moments about it per mass, in own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Volume \[m³\], or area of a shell \[m²\].
    pub(super) size: f64,
    /// Centre of mass \[m\].
    pub(super) centre: DVec3,
    /// Inertia about it per mass \[m²\].
    pub(super) moments: DMat3,
}

impl Extent {
    /// A shape about its origin whose axes are principal.
    fn centred(size: f64, moments: DVec3) -> Extent {
        Extent {
            size,
            centre: DVec3::ZERO,
            moments: DMat3::from_diagonal(moments),
        }
    }

    /// As a body of a mass, its frame at a pose.
    pub(super) fn body(&self, mass: f64, pose: &Pose) -> MassProperties {
        let inertia = pose.rotation * (self.moments * mass) * pose.rotation.transpose();
        MassProperties {
            mass,
            com: pose.point(self.centre),
            inertia: 0.5 * (inertia + inertia.transpose()),
        }
    }
}

/// Simple shapes, by their half sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Solid {
    /// Radius.
    Sphere(f64),
    /// Half edges.
    Box(DVec3),
    /// Half axes.
    Ellipsoid(DVec3),
    /// Radius and half height.
    Cylinder(f64, f64),
    /// Radius and half of the straight part.
    Capsule(f64, f64),
}

/// Moments per mass of unit weight on each half side, up to a factor.
fn sides(half: DVec3) -> DVec3 {
    let s = half * half;
    DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y)
}

fn ball(r: f64) -> f64 {
    4.0 / 3.0 * PI * r.powi(3)
}

impl Solid {
    /// Filled.
    pub(super) fn filled(self) -> Extent {
        match self {
            Solid::Sphere(r) => Extent::centred(ball(r), DVec3::splat(0.4 * r * r)),
            Solid::Box(h) => Extent::centred(8.0 * h.x * h.y * h.z, sides(h) / 3.0),
            Solid::Ellipsoid(h) => {
                let volume = 4.0 / 3.0 * PI * h.x * h.y * h.z;
                Extent::centred(volume, sides(h) / 5.0)
            }
            Solid::Cylinder(r, h) => {
                let across = (3.0 * r * r + 4.0 * h * h) / 12.0;
                let moments = DVec3::new(across, across, 0.5 * r * r);
                Extent::centred(2.0 * PI * r * r * h, moments)
            }
            Solid::Capsule(r, h) => capsule(r, h),
        }
    }

    /// As a thin shell of even thickness.
    pub(super) fn shell(self) -> Extent {
        match self {
            Solid::Sphere(r) => Extent::centred(4.0 * PI * r * r, DVec3::splat(2.0 / 3.0 * r * r)),
            Solid::Box(h) => box_shell(h),
            Solid::Ellipsoid(h) => ellipsoid_shell(h),
            Solid::Cylinder(r, h) => {
                let (side, lid) = (4.0 * PI * r * h, PI * r * r);
                let area = side + 2.0 * lid;
                let along = side * r * r + lid * r * r;
                let across =
                    side * (0.5 * r * r + h * h / 3.0) + 2.0 * lid * (0.25 * r * r + h * h);
                Extent::centred(area, DVec3::new(across, across, along) / area)
            }
            Solid::Capsule(r, h) => {
                let (side, balls) = (4.0 * PI * r * h, 4.0 * PI * r * r);
                let area = side + balls;
                let along = side * r * r + balls * (2.0 / 3.0 * r * r);
                // Half shells have their centres r/2 from the planes that cut them.
                let across = side * (0.5 * r * r + h * h / 3.0)
                    + balls * (2.0 / 3.0 * r * r + h * h + h * r);
                Extent::centred(area, DVec3::new(across, across, along) / area)
            }
        }
    }
}

/// A cylinder of half height h with two half balls of radius r.
fn capsule(r: f64, h: f64) -> Extent {
    let (rod, ball) = (2.0 * PI * r * r * h, ball(r));
    let volume = rod + ball;
    let along = 0.5 * rod * r * r + 0.4 * ball * r * r;
    let across =
        rod * (3.0 * r * r + 4.0 * h * h) / 12.0 + ball * (0.4 * r * r + h * h + 0.75 * r * h);
    let scale = if volume == 0.0 { 0.0 } else { 1.0 / volume };
    Extent::centred(volume, DVec3::new(across, across, along) * scale)
}

/// Six plates.
fn box_shell(h: DVec3) -> Extent {
    let plates = DVec3::new(8.0 * h.y * h.z, 8.0 * h.x * h.z, 8.0 * h.x * h.y);
    let area = plates.x + plates.y + plates.z;
    // ∫ x² over all plates: those across x stand at ±h_x, the others spread to a third of it.
    let square = |k: usize| h[k] * h[k] * (plates[k] + (area - plates[k]) / 3.0);
    let (x, y, z) = (square(0), square(1), square(2));
    Extent::centred(area, DVec3::new(y + z, x + z, x + y) / area)
}

/// By MuJoCo's rule: the area by Knud Thomsen's formula, and the moments as the limit of a thin layer between two
/// ellipsoids.
fn ellipsoid_shell(h: DVec3) -> Extent {
    const P: f64 = 1.6075;
    let power = |a: f64, b: f64| (a * b).powf(P);
    let mean = (power(h.x, h.y) + power(h.y, h.z) + power(h.z, h.x)) / 3.0;
    let area = 4.0 * PI * mean.powf(1.0 / P);
    let outer = h + DVec3::splat(1e-6);
    let (inner, outer) = (
        Solid::Ellipsoid(h).filled(),
        Solid::Ellipsoid(outer).filled(),
    );
    let layer = outer.moments * outer.size - inner.moments * inner.size;
    Extent {
        size: area,
        centre: DVec3::ZERO,
        moments: layer * (1.0 / (outer.size - inner.size)),
    }
}

/// How the mass of a mesh is told from its triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weigh {
    /// What the triangles enclose.
    Exact,
    /// Tetrahedra of all triangles and a point in the middle, each counted as positive.
    Legacy,
    /// The triangles themselves.
    Shell,
}

/// Volume or area of a mesh, with centre and moments; none where it has none.
///
/// Tetrahedra have their tips in the middle of the surface for the centre of mass, and in that for the moments.
pub(super) fn of_mesh(mesh: &Mesh, weigh: Weigh) -> Option<Extent> {
    let area = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a).length();
    let size = |[a, b, c]: [DVec3; 3]| match weigh {
        Weigh::Exact => a.cross(b).dot(c) / 6.0,
        Weigh::Legacy => (a.cross(b).dot(c) / 6.0).abs(),
        Weigh::Shell => area([a, b, c]),
    };
    let (mut whole, mut middle) = (0.0, DVec3::ZERO);
    for triangle in mesh.triangles() {
        let part = area(triangle);
        whole += part;
        middle += part / 3.0 * triangle.iter().sum::<DVec3>();
    }
    middle = usable(whole).map(|whole| middle / whole)?;
    let (mut whole, mut centre) = (0.0, DVec3::ZERO);
    for triangle in mesh.triangles() {
        let part = size(triangle.map(|corner| corner - middle));
        let sum: DVec3 = triangle.iter().sum();
        whole += part;
        centre += match weigh {
            Weigh::Shell => part / 3.0 * sum,
            _ => part / 4.0 * (sum + middle),
        };
    }
    let centre = usable(whole).map(|whole| centre / whole)?;
    let (mut whole, mut second) = (0.0, DMat3::ZERO);
    let share = if weigh == Weigh::Shell { 12.0 } else { 20.0 };
    for triangle in mesh.triangles() {
        let corners = triangle.map(|corner| corner - centre);
        let part = size(corners);
        whole += part;
        // ∫ x xᵀ = V/20 (s sᵀ + Σ c cᵀ) for a tetrahedron with a corner at the origin and s = Σ c; A/12 for a triangle.
        let sum: DVec3 = corners.iter().sum();
        let square = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
        let squares = corners.iter().fold(square(sum), |m, &c| m + square(c));
        second += squares * (part / share);
    }
    let whole = usable(whole)?;
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    let moments = (DMat3::from_diagonal(DVec3::splat(trace)) - second) * (1.0 / whole);
    moments.is_finite().then_some(Extent {
        size: whole,
        centre,
        moments,
    })
}

/// A size that can be divided by.
fn usable(size: f64) -> Option<f64> {
    (f64::MIN_POSITIVE < size && size.is_finite()).then_some(size)
}

/// The inertia nearest to a given one that a body can have.
///
/// A body with second moments s = (∫x², ∫y², ∫z²) ≥ 0 along its principal axes has I = (s_y + s_z, s_x + s_z, s_x + s_y);
/// of all s the nearest is found with each of them either free or zero.
pub(super) fn nearest_inertia(inertia: &DMat3) -> DMat3 {
    let symmetric = (*inertia + inertia.transpose()) * 0.5;
    let (wanted, axes) = Sym3::of(&symmetric).principal();
    let wanted = DVec3::from(wanted);
    let whole = DMat3::from_cols(
        DVec3::new(0.0, 1.0, 1.0),
        DVec3::new(1.0, 0.0, 1.0),
        DVec3::new(1.0, 1.0, 0.0),
    );
    let mut best = (wanted.length_squared(), DVec3::ZERO);
    for free in 1_u8..8 {
        let is_free = |k: usize| free & (1 << k) != 0;
        // Columns that are held at zero are replaced by unit ones of the normal equations AᵀA s = Aᵀλ.
        let mask = |k: usize| {
            if is_free(k) {
                whole.col(k)
            } else {
                DVec3::ZERO
            }
        };
        let a = DMat3::from_cols(mask(0), mask(1), mask(2));
        let mut normal = a.transpose() * a;
        for k in (0..3).filter(|k| !is_free(*k)) {
            normal.col_mut(k)[k] = 1.0;
        }
        let s = normal.inverse() * (a.transpose() * wanted);
        let moments = a * s;
        let far = (moments - wanted).length_squared();
        if s.cmpge(DVec3::ZERO).all() && far < best.0 {
            best = (far, moments);
        }
    }
    let turned = axes * DMat3::from_diagonal(best.1) * axes.transpose();
    (turned + turned.transpose()) * 0.5
}

/// Bodies glued together, as one.
pub(super) fn sum(parts: &[MassProperties]) -> MassProperties {
    if let [only] = parts {
        return *only;
    }
    let mut total = Inertia::default();
    for part in parts {
        total.add(&Inertia::new(part.mass, part.com, &part.inertia));
    }
    if total.mass == 0.0 {
        return MassProperties::NONE;
    }
    let com = total.first / total.mass;
    // About the common centre: each part's own moments, and those of its mass at the distance of its centre.
    let mut inertia = DMat3::ZERO;
    for part in parts {
        let point = Inertia::new(part.mass, part.com - com, &part.inertia);
        inertia += point.second.matrix();
    }
    MassProperties {
        mass: total.mass,
        com,
        inertia: 0.5 * (inertia + inertia.transpose()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capsule_is_a_ball_without_height_and_a_rod_with_much() {
        let ball = capsule(0.3, 0.0);
        assert!((ball.size - 4.0 / 3.0 * PI * 0.027).abs() < 1e-15);
        assert!((ball.moments.x_axis.x - 0.4 * 0.09).abs() < 1e-15);
        let rod = capsule(1e-6, 2.0).moments.x_axis.x;
        assert!((rod - 4.0 / 3.0).abs() < 1e-5, "{rod}");
    }

    #[test]
    fn two_half_boxes_are_one_box() {
        let half = |x: f64| {
            let extent = Solid::Box(DVec3::new(0.1, 0.2, 0.3)).filled();
            extent.body(1000.0 * extent.size, &Pose::at(DVec3::new(x, 0.0, 0.0)))
        };
        let glued = sum(&[half(-0.1), half(0.1)]);
        let whole = Solid::Box(DVec3::new(0.2, 0.2, 0.3)).filled().moments * glued.mass;
        assert!((glued.mass - 96.0).abs() < 1e-12 && glued.com.length() < 1e-15);
        assert!((glued.inertia - whole).x_axis.length() < 1e-12);
    }

    #[test]
    fn the_nearest_inertia_is_that_of_a_body_and_leaves_bodies_alone() {
        let rod = DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0));
        assert!((nearest_inertia(&rod) - rod).x_axis.length() < 1e-14);
        let wrong = DMat3::from_diagonal(DVec3::new(0.3, 0.3, 0.9));
        let near = nearest_inertia(&wrong);
        let [a, b, c] = Sym3::of(&near).eigenvalues();
        assert!(
            a + b - c > -1e-14 && (a + b - c).abs() < 1e-14,
            "{a} {b} {c}"
        );
        // (1, 1, 2) is the direction of the edge with two equal moments: 0.3 + 0.3 + 1.8 over 6.
        assert!(
            (a - 0.4).abs() < 1e-14 && (c - 0.8).abs() < 1e-14,
            "{a} {c}"
        );
        let negative = DMat3::from_diagonal(DVec3::splat(-1.0));
        assert_eq!(nearest_inertia(&negative), DMat3::ZERO);
    }

    /// A box of twelve triangles weighs what a box does, in all three ways and as a shell of plates.
    #[test]
    fn a_mesh_of_a_box_has_the_moments_of_the_box() {
        let half = DVec3::new(0.5, 0.7, 0.9);
        let at = DVec3::new(3.0, -2.0, 1.0);
        let corner = |i: u32| {
            let sign = |bit: u32| if i & bit == 0 { -1.0 } else { 1.0 };
            at + half * DVec3::new(sign(1), sign(2), sign(4))
        };
        let squares = [
            [0, 4, 6, 2],
            [1, 3, 7, 5],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 2, 3, 1],
            [4, 5, 7, 6],
        ];
        let faces = squares
            .iter()
            .flat_map(|s| [[s[0], s[1], s[2]], [s[0], s[2], s[3]]]);
        let mesh = Mesh {
            points: (0..8).map(corner).collect(),
            faces: faces.collect(),
            ..Mesh::default()
        };
        let solid = Solid::Box(half);
        for (weigh, want) in [
            (Weigh::Exact, solid.filled()),
            (Weigh::Legacy, solid.filled()),
            (Weigh::Shell, solid.shell()),
        ] {
            let found = of_mesh(&mesh, weigh).unwrap();
            assert!((found.size - want.size).abs() < 1e-14, "{weigh:?}");
            assert!((found.centre - at).length() < 1e-14, "{weigh:?}");
            let off = found.moments - want.moments;
            let off = off
                .to_cols_array()
                .into_iter()
                .fold(0.0, |m: f64, x| m.max(x.abs()));
            assert!(off < 1e-14, "{weigh:?}: {off}");
        }
    }
}
