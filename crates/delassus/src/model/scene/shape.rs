//! Shapes of a scene file, by their numbers or from mesh files beside the scene.

use std::path::Path;

use glam::DVec3;

use super::body::{Materials, find_material};
use super::reader::{Table, Value};
use super::{SceneError, read_rotation};
use crate::collide::{Groups, Shape};
use crate::model::{hull, mesh};
use crate::world::Attach;

const SHAPES: [&str; 8] = [
    "sphere",
    "box",
    "capsule",
    "cylinder",
    "hull",
    "half-space",
    "mesh",
    "height-field",
];

/// What shapes refer to.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) materials: &'a Materials,
    /// Where mesh files are looked for.
    pub(super) folder: Option<&'a Path>,
}

/// A shape and how it is attached to its body.
pub(super) fn read_shape(table: &Table, around: Around<'_>) -> Result<(Shape, Attach), SceneError> {
    let mut known = SHAPES.to_vec();
    known.extend(["position", "rotation", "material", "member", "with"]);
    table.only(&known)?;
    let mut given = SHAPES
        .iter()
        .filter_map(|kind| Some((*kind, table.get(kind)?)));
    let (Some((kind, value)), None) = (given.next(), given.next()) else {
        let all = SHAPES.join(", ");
        return Err(table.fault(format!("give it exactly one of {all}")));
    };
    let shape = read_solid(kind, &value, around.folder)?;
    shape.check().map_err(|error| value.refuse(error))?;
    let default = Attach::default();
    let attach = Attach {
        position: table.read("position", Value::vector)?.unwrap_or_default(),
        rotation: table.read("rotation", read_rotation)?.unwrap_or_default(),
        material: table
            .read("material", |value| find_material(value, around.materials))?
            .unwrap_or(default.material),
        groups: Groups {
            member: table
                .read("member", read_groups)?
                .unwrap_or(default.groups.member),
            with: table
                .read("with", read_groups)?
                .unwrap_or(default.groups.with),
        },
    };
    Ok((shape, attach))
}

/// A list of group numbers as bits.
fn read_groups(value: &Value) -> Result<u32, SceneError> {
    let mut bits = 0;
    for group in value.list()? {
        bits |= 1 << group.whole(0, 31)?;
    }
    Ok(bits)
}

fn read_solid(kind: &str, value: &Value, folder: Option<&Path>) -> Result<Shape, SceneError> {
    let length = |table: &Table, key: &str| table.need(key, "0.5")?.number();
    Ok(match kind {
        "sphere" => Shape::Sphere {
            radius: length(&value.table_of(&["radius"])?, "radius")?,
        },
        "box" => {
            let half = value.table_of(&["half"])?.need("half", "[0.5, 0.5, 0.5]")?;
            Shape::Box {
                half: half.numbers("[0.5, 0.5, 0.5]")?,
            }
        }
        "capsule" | "cylinder" => {
            let table = value.table_of(&["half-length", "radius"])?;
            let half_length = length(&table, "half-length")?;
            let radius = length(&table, "radius")?;
            if kind == "capsule" {
                Shape::Capsule {
                    half_length,
                    radius,
                }
            } else {
                Shape::Cylinder {
                    half_length,
                    radius,
                }
            }
        }
        "hull" => read_hull(value, folder)?,
        "half-space" => {
            value.table_of(&[])?;
            Shape::HalfSpace
        }
        "mesh" => read_mesh(value, folder)?,
        _ => read_heights(&value.table_of(&["rows", "columns", "heights", "size"])?)?,
    })
}

/// The corners and triangles of the mesh file that a table names, where it names one.
fn read_file(
    table: &Table,
    folder: Option<&Path>,
    own: &[&str],
) -> Result<Option<mesh::Mesh>, SceneError> {
    let Some(value) = table.get("file") else {
        if let Some(scale) = table.get("scale") {
            return Err(scale.fault("only a mesh from a file is scaled; leave it out"));
        }
        return Ok(None);
    };
    if own.iter().any(|key| table.get(key).is_some()) {
        let own = own.join(" and ");
        return Err(table.fault(format!("give either its file, or its {own}")));
    }
    let Some(folder) = folder else {
        return Err(value.fault(
            "there is no folder to look in, since the scene is not a file; give its corners here",
        ));
    };
    let scale = table.read("scale", |value| {
        let scale = match value.is_list() {
            true => value.vector()?,
            false => DVec3::splat(value.number()?),
        };
        let least = scale.abs().min_element();
        if 0.0 < least && scale.is_finite() {
            return Ok(scale);
        }
        Err(value.fault("a scale of zero leaves nothing; give 1, 0.001 or [1, 1, 2]"))
    })?;
    let mesh = mesh::read(&folder.join(value.text()?)).map_err(|error| value.fault(error))?;
    Ok(Some(mesh.scaled(scale.unwrap_or(DVec3::ONE)).welded()))
}

fn read_hull(value: &Value, folder: Option<&Path>) -> Result<Shape, SceneError> {
    let table = value.table_of(&["points", "file", "scale"])?;
    if let Some(mesh) = read_file(&table, folder, &["points"])? {
        return Ok(hull::of_points(mesh.points.into_iter()).0);
    }
    let points = table.need("points", "[[0, 0, 0], [1, 0, 0], …]")?;
    Ok(Shape::Hull {
        points: points.points()?,
    })
}

fn read_mesh(value: &Value, folder: Option<&Path>) -> Result<Shape, SceneError> {
    let own = ["vertices", "triangles"];
    let table = value.table_of(&["vertices", "triangles", "file", "scale"])?;
    if let Some(mesh) = read_file(&table, folder, &own)? {
        return Ok(Shape::Mesh {
            vertices: mesh.points.iter().map(|p| p.to_array()).collect(),
            triangles: mesh.faces,
        });
    }
    let vertices = table
        .need("vertices", "[[0, 0, 0], [1, 0, 0], …]")?
        .points()?;
    let mut triangles = Vec::new();
    for triangle in table.need("triangles", "[[0, 1, 2], …]")?.list()? {
        let corners: [Value; 3] = triangle.some("[0, 1, 2]")?;
        let mut indices = [0; 3];
        for (index, corner) in indices.iter_mut().zip(&corners) {
            *index = corner.whole(0, u64::from(u32::MAX))? as u32;
        }
        triangles.push(indices);
    }
    Ok(Shape::Mesh {
        vertices,
        triangles,
    })
}

fn read_heights(table: &Table) -> Result<Shape, SceneError> {
    let count = |key: &str| table.need(key, "2")?.whole(2, 1 << 24);
    let heights = table.need("heights", "[0, 0, 0, 0]")?.list()?;
    Ok(Shape::HeightField {
        rows: count("rows")? as usize,
        columns: count("columns")? as usize,
        heights: heights
            .iter()
            .map(Value::number)
            .collect::<Result<_, _>>()?,
        size: table.need("size", "[10, 10, 1]")?.numbers("[10, 10, 1]")?,
    })
}
