//! MJCF geoms: their outsides, and their mass and inertia for bodies that do not give their own.

use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use glam::{DMat3, DQuat, DVec3};
use mjcf_rs::Model;
use mjcf_rs::assets::Mesh;
use mjcf_rs::body::{Geom, GeomType};

use super::hull;
use crate::collide::Shape;
use crate::tree::MassProperties;
use crate::tree::spatial::{Inertia, Pose};
use crate::world::Surface;

/// Mass properties of a geom in its body's frame; `None` for a shape without volume or not computed here.
pub(super) fn of_geom(geom: &Geom, default_density: f64) -> Option<MassProperties> {
    let (pose, size) = placed(geom);
    let [x, y, z] = size;
    let (volume, moments) = match geom.type_ {
        GeomType::Sphere => (4.0 / 3.0 * PI * x.powi(3), DVec3::splat(0.4 * x * x)),
        GeomType::Box => (8.0 * x * y * z, sides(x, y, z) / 3.0),
        GeomType::Ellipsoid => (4.0 / 3.0 * PI * x * y * z, sides(x, y, z) / 5.0),
        GeomType::Cylinder => {
            let across = (3.0 * x * x + 4.0 * y * y) / 12.0;
            (
                2.0 * PI * x * x * y,
                DVec3::new(across, across, 0.5 * x * x),
            )
        }
        GeomType::Capsule => capsule(x, y),
        _ => return None,
    };
    let density = geom.density.unwrap_or(default_density);
    let mass = geom.mass.unwrap_or(density * volume);
    let inertia = pose.rotation * DMat3::from_diagonal(moments * mass) * pose.rotation.transpose();
    Some(MassProperties {
        mass,
        com: pose.position,
        inertia,
    })
}

/// What no geom of its type can be.
pub(super) fn fault(geom: &Geom, model: &Model) -> Option<String> {
    let name = geom.name.as_deref().unwrap_or_default();
    if !matches!(geom.condim, 1 | 3 | 4 | 6) {
        let condim = geom.condim;
        return Some(format!(
            "geom \"{name}\" has condim {condim}; it is 1, 3, 4 or 6"
        ));
    }
    let (needed, long) = match geom.type_ {
        GeomType::Sphere => (1, false),
        GeomType::Capsule | GeomType::Cylinder => (2, true),
        GeomType::Box | GeomType::Ellipsoid => (3, true),
        GeomType::Mesh if asset(geom, model).is_none() => {
            let wanted = geom.mesh.as_deref().unwrap_or_default();
            return Some(format!("mesh \"{wanted}\" is not among the assets"));
        }
        _ => (0, false),
    };
    let what = format!("{:?} \"{name}\"", geom.type_);
    if geom.fromto.is_some() && !long {
        return Some(format!("{what} has no two ends that fromto could give"));
    }
    let (_, size) = placed(geom);
    let bad = size[..needed].iter().find(|x| !(0.0 < **x))?;
    Some(format!(
        "{what} has half size {bad}; it needs {needed} that are positive"
    ))
}

/// The outside of a geom with its frame in that of the body, and what is to be said about it. None for geoms that
/// are only to be looked at.
pub(super) fn outside(
    geom: &Geom,
    model: &Model,
    folder: Option<&Path>,
) -> (Option<(Pose, Shape)>, Option<String>) {
    if geom.contype == 0 && geom.conaffinity == 0 {
        return (None, None);
    }
    let (pose, [x, y, z]) = placed(geom);
    let name = geom.name.as_deref().unwrap_or_default();
    let masked = (geom.contype, geom.conaffinity) != (1, 1);
    let mut remark = masked
        .then(|| "contype and conaffinity are not used: every geom meets everything".to_owned());
    let shape = match geom.type_ {
        GeomType::Sphere => Shape::Sphere { radius: x },
        GeomType::Box => Shape::Box { half: [x, y, z] },
        GeomType::Cylinder => Shape::Cylinder {
            half_length: y,
            radius: x,
        },
        GeomType::Capsule => Shape::Capsule {
            half_length: y,
            radius: x,
        },
        GeomType::Ellipsoid => {
            remark = Some(format!(
                "the hull of some points stands for the ellipsoid \"{name}\""
            ));
            hull::ellipsoid([x, y, z])
        }
        GeomType::Plane => Shape::HalfSpace,
        GeomType::Mesh => match mesh(geom, model, folder) {
            Ok((hull, said)) => {
                remark = said.map(|said| format!("mesh of geom \"{name}\": {said}"));
                hull
            }
            Err(what) => return (None, Some(format!("mesh {what}; the shape is left out"))),
        },
        other => {
            let text = format!("{other:?} of geom \"{name}\" is not supported; it is left out");
            return (None, Some(text));
        }
    };
    (Some((pose, shape)), remark)
}

/// The surface of a geom: `friction` is sliding, spinning, rolling, of which `condim` says how many count. None where a
/// coefficient is not possible.
pub(super) fn surface(geom: &Geom) -> Option<Surface> {
    let [slide, spin, roll] = geom.friction;
    let counts = |from: u32, mu: f64| if from <= geom.condim { mu } else { 0.0 };
    let surface = Surface {
        friction: counts(3, slide),
        spinning: counts(4, spin),
        rolling: counts(6, roll),
        ..Surface::default()
    };
    let coefficients = [surface.friction, surface.spinning, surface.rolling];
    let possible = coefficients.iter().all(|mu| mu.is_finite() && 0.0 <= *mu);
    possible.then_some(surface)
}

/// The hull of a geom's mesh, from its file or from the corners in the model.
fn mesh(
    geom: &Geom,
    model: &Model,
    folder: Option<&Path>,
) -> Result<(Shape, Option<String>), String> {
    let wanted = geom.mesh.as_deref().unwrap_or_default();
    let Some(mesh) = asset(geom, model) else {
        return Err(format!("\"{wanted}\" is not among the assets"));
    };
    let scale = DVec3::from(mesh.scale);
    if let Some(numbers) = &mesh.inline_vertices {
        let corners = numbers.as_chunks::<3>().0.iter();
        let hull = hull::of_points(corners.map(|&c| DVec3::from(c) * scale));
        return Ok(hull);
    }
    let Some(path) = file_of(mesh, model, folder) else {
        return Err(format!("\"{wanted}\": no folder is given to look in"));
    };
    hull::of_file(&path, scale)
}

/// The mesh that a geom names.
fn asset<'a>(geom: &Geom, model: &'a Model) -> Option<&'a Mesh> {
    let wanted = geom.mesh.as_deref().unwrap_or_default();
    let stem = |file: &str| {
        let stem = Path::new(file).file_stem();
        stem.map(|stem| stem.to_string_lossy().into_owned())
    };
    let by_file = |mesh: &&Mesh| {
        mesh.name.is_none() && mesh.file.as_deref().and_then(stem).as_deref() == Some(wanted)
    };
    let named = model.assets.mesh(wanted);
    named.or_else(|| model.assets.meshes.iter().find(by_file))
}

/// Where the file of a mesh must be.
fn file_of(mesh: &Mesh, model: &Model, folder: Option<&Path>) -> Option<PathBuf> {
    let (file, folder) = (mesh.file.as_ref()?, folder?);
    let compiler = &model.compiler;
    let inside = compiler.mesh_dir.as_ref().or(compiler.asset_dir.as_ref());
    let inside = inside.map_or(folder.to_owned(), |inside| folder.join(inside));
    Some(inside.join(file))
}

/// The file of the mesh that a geom collides as, as it is named, if it is not there.
pub(super) fn missing<'a>(geom: &Geom, model: &'a Model, folder: Option<&Path>) -> Option<&'a str> {
    if (geom.contype == 0 && geom.conaffinity == 0) || geom.type_ != GeomType::Mesh {
        return None;
    }
    let mesh = asset(geom, model).filter(|mesh| mesh.inline_vertices.is_none())?;
    let path = file_of(mesh, model, folder)?;
    mesh.file.as_deref().filter(|_| !path.exists())
}

/// Moments per mass of a box of unit weight on each half side, up to a factor.
fn sides(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(y * y + z * z, x * x + z * z, x * x + y * y)
}

/// Volume and moments per mass of a cylinder of half height h with two half balls of radius r.
fn capsule(r: f64, h: f64) -> (f64, DVec3) {
    let (rod, ball) = (2.0 * PI * r * r * h, 4.0 / 3.0 * PI * r.powi(3));
    let volume = rod + ball;
    let along = 0.5 * rod * r * r + 0.4 * ball * r * r;
    let across =
        rod * (3.0 * r * r + 4.0 * h * h) / 12.0 + ball * (0.4 * r * r + h * h + 0.75 * r * h);
    let scale = if volume == 0.0 { 0.0 } else { 1.0 / volume };
    (volume, DVec3::new(across, across, along) * scale)
}

/// Pose and half sizes; `fromto` gives the middle, the direction of z and the half length.
fn placed(geom: &Geom) -> (Pose, [f64; 3]) {
    let Some([a, b, c, d, e, f]) = geom.fromto else {
        let pose = Pose::new(geom.pose.translation, geom.pose.rotation);
        return (pose, geom.size);
    };
    let (from, to) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
    let half = 0.5 * (to - from);
    let turn = half
        .try_normalize()
        .map_or(DQuat::IDENTITY, |z| DQuat::from_rotation_arc(DVec3::Z, z));
    let size = match geom.type_ {
        GeomType::Capsule | GeomType::Cylinder => [geom.size[0], half.length(), 0.0],
        _ => [geom.size[0], geom.size[0], half.length()],
    };
    (Pose::new(0.5 * (from + to), turn), size)
}

/// Bodies glued together, as one.
pub(super) fn sum(parts: &[MassProperties]) -> MassProperties {
    let mut total = Inertia::default();
    for part in parts {
        total.add(&Inertia::new(part.mass, part.com, &part.inertia));
    }
    if total.mass == 0.0 {
        return MassProperties::NONE;
    }
    let com = total.first / total.mass;
    // About the centre of mass again: shifting back takes off what the shift of a point mass adds.
    let point = Inertia::new(total.mass, com, &DMat3::ZERO);
    let inertia = total.second.matrix() - point.second.matrix();
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
        let (volume, moments) = capsule(0.3, 0.0);
        assert!((volume - 4.0 / 3.0 * PI * 0.027).abs() < 1e-15);
        assert!((moments - DVec3::splat(0.4 * 0.09)).length() < 1e-15);
        let (_, moments) = capsule(1e-6, 2.0);
        assert!((moments.x - 4.0 / 3.0).abs() < 1e-5, "{moments}");
    }

    #[test]
    fn two_half_boxes_are_one_box() {
        let half = |x: f64| {
            of_geom(
                &Geom {
                    type_: GeomType::Box,
                    size: [0.1, 0.2, 0.3],
                    pose: mjcf_rs::Pose::from_translation(DVec3::new(x, 0.0, 0.0)),
                    ..Geom::default()
                },
                1000.0,
            )
            .unwrap()
        };
        let glued = sum(&[half(-0.1), half(0.1)]);
        let whole = sides(0.2, 0.2, 0.3) / 3.0 * glued.mass;
        assert!((glued.mass - 96.0).abs() < 1e-12 && glued.com.length() < 1e-15);
        assert!(
            (glued.inertia - DMat3::from_diagonal(whole))
                .x_axis
                .length()
                < 1e-12
        );
    }
}
