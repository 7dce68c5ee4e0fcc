//! Bodies of a scene file with their shapes, mass and centre.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use super::reader::{Table, Value, hint, short};
use super::{MAX_BODIES, SceneError, read_rotation};
use crate::collide::{Groups, Shape};
use crate::index::BodyId;
use crate::math::MassProperties;
use crate::problem::mass::check_moments;
use crate::world::{Attach, Body, MaterialId, MovedBy, WorldBuilder, turned};

/// Materials by name.
pub(super) type Materials = BTreeMap<String, MaterialId>;
/// Bodies by name.
pub(super) type Names = BTreeMap<String, BodyId>;

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

/// Reads every body and adds them in the order of their names, whatever their order in the file.
pub(super) fn add_bodies(
    scene: &Table,
    materials: &Materials,
    builder: &mut WorldBuilder,
) -> Result<Names, SceneError> {
    let mut named = BTreeMap::new();
    for mut table in scene.tables("bodies", MAX_BODIES)? {
        let value = table.need("name", "\"crate\"")?;
        let name = value.text()?;
        if name.is_empty() || name == "world" {
            return Err(value.fault(format!(
                "\"{name}\" is no name for a body; \"world\" is the fixed world itself"
            )));
        }
        table.what = format!("body \"{}\"", short(name));
        if named.insert(name, table).is_some() {
            return Err(value.fault(format!(
                "\"{}\" is the name of another body too; give each its own",
                short(name)
            )));
        }
    }
    let mut names = Names::new();
    for (name, table) in named {
        let id = add_body(name, &table, materials, builder)?;
        names.insert(name.to_owned(), id);
    }
    Ok(names)
}

/// The material a value names.
pub(super) fn find_material(
    value: &Value,
    materials: &Materials,
) -> Result<MaterialId, SceneError> {
    let name = value.text()?;
    materials.get(name).copied().ok_or_else(|| {
        let known = materials.keys().map(String::as_str);
        value.fault(format!(
            "there is no material \"{}\"; {}",
            short(name),
            hint(name, known)
        ))
    })
}

fn add_body(
    name: &str,
    table: &Table,
    materials: &Materials,
    builder: &mut WorldBuilder,
) -> Result<BodyId, SceneError> {
    table.only(&[
        "name", "motion", "position", "rotation", "velocity", "spin", "mass", "inertia", "density",
        "shapes",
    ])?;
    let motions = [
        ("dynamic", MovedBy::Dynamic),
        ("static", MovedBy::Static),
        ("kinematic", MovedBy::Kinematic),
    ];
    let vector = |key: &str| {
        let given = table.read(key, Value::vector);
        given.map(Option::unwrap_or_default)
    };
    let mut body = Body {
        name: name.to_owned(),
        motion: table
            .read("motion", |value| value.choice(&motions))?
            .unwrap_or_default(),
        position: vector("position")?,
        orientation: table.read("rotation", read_rotation)?.unwrap_or_default(),
        velocity: vector("velocity")?,
        spin: vector("spin")?,
        ..Body::default()
    };
    let mut shapes = Vec::new();
    for (i, mut shape) in table.tables("shapes", MAX_BODIES)?.into_iter().enumerate() {
        shape.what = format!("shape {} of {}", i + 1, table.what);
        let read = read_shape(&shape, materials)?;
        if read.0.is_static_only() && body.motion == MovedBy::Dynamic {
            return Err(shape.fault(
                "half-spaces, meshes and height fields are ground; add motion = \"static\" to the body",
            ));
        }
        shapes.push((read, shape));
    }
    let solids: Vec<_> = shapes.iter().map(|(read, _)| read).collect();
    let own = read_mass(table, body.motion, &solids)?;
    body.mass = own.mass;
    body.inertia = own.inertia;
    // The file places the frame of the shapes; a body's place is its centre of mass.
    body.position += body.orientation * own.com;
    let id = builder
        .add_body(body)
        .map_err(|error| table.refuse(error))?;
    for ((shape, attach), place) in shapes {
        let position = attach.position - own.com;
        builder
            .add_collider(id, shape, Attach { position, ..attach })
            .map_err(|error| place.refuse(error))?;
    }
    Ok(id)
}

/// Mass and inertia as given, or from the shapes.
fn read_mass(
    table: &Table,
    motion: MovedBy,
    solids: &[&(Shape, Attach)],
) -> Result<MassProperties, SceneError> {
    let mass = table.read("mass", Value::positive)?;
    let inertia = table.read("inertia", read_inertia)?;
    let density = table.read("density", Value::positive)?;
    if motion != MovedBy::Dynamic {
        return Ok(about_the_origin(1.0, DMat3::IDENTITY));
    }
    match (mass, inertia, density) {
        (Some(mass), Some(inertia), None) => Ok(about_the_origin(mass, inertia)),
        (None, None, Some(density)) => compound(table, density, solids),
        (Some(mass), None, None) => {
            let one = compound(table, 1.0, solids)?;
            Ok(MassProperties {
                mass,
                inertia: one.inertia * (mass / one.mass),
                ..one
            })
        }
        _ => Err(table.fault(
            "give mass and inertia, or mass alone, or density alone (the last two need shapes)",
        )),
    }
}

/// Three principal moments or a 3×3 matrix.
fn read_inertia(value: &Value) -> Result<DMat3, SceneError> {
    let items = value.list()?;
    let is_matrix = items.first().is_some_and(Value::is_list);
    if !is_matrix {
        let diagonal = value.numbers::<3>("[0.1, 0.1, 0.1]")?;
        let matrix = DMat3::from_diagonal(DVec3::from(diagonal));
        check_moments(&matrix).map_err(|error| value.fault(error.to_string()))?;
        return Ok(matrix);
    }
    let like = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]";
    let rows: [Value; 3] = value.some(like)?;
    let mut matrix = [[0.0; 3]; 3];
    for (row, numbers) in rows.iter().zip(&mut matrix) {
        *numbers = row.numbers("[1, 0, 0]")?;
    }
    let matrix = DMat3::from_cols_array_2d(&matrix);
    if matrix != matrix.transpose() {
        return Err(value.fault("the matrix is not symmetric; correct one of its halves"));
    }
    check_moments(&matrix).map_err(|error| value.fault(error.to_string()))?;
    Ok(matrix)
}

/// What is given of a body whose frame is at its centre.
fn about_the_origin(mass: f64, inertia: DMat3) -> MassProperties {
    MassProperties {
        mass,
        com: DVec3::ZERO,
        inertia,
    }
}

/// Mass, centre and inertia of several solids of one density, by parallel axes.
fn compound(
    table: &Table,
    density: f64,
    solids: &[&(Shape, Attach)],
) -> Result<MassProperties, SceneError> {
    let mut parts = Vec::with_capacity(solids.len());
    for (shape, attach) in solids {
        let own = shape
            .mass_properties(density)
            .ok_or_else(|| table.fault("one of its shapes has no mass; give mass and inertia"))?;
        parts.push(MassProperties {
            com: attach.position + attach.rotation * own.com,
            inertia: turned(own.inertia, attach.rotation),
            ..own
        });
    }
    if let [part] = parts[..] {
        return Ok(part);
    }
    let mass: f64 = parts.iter().map(|part| part.mass).sum();
    if !(0.0 < mass && mass.is_finite()) {
        return Err(table.fault("it has no shapes to take its mass from; give mass and inertia"));
    }
    let moment: DVec3 = parts.iter().map(|part| part.mass * part.com).sum();
    let com = moment / mass;
    let mut inertia = DMat3::ZERO;
    for part in parts {
        let d = part.com - com;
        let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        let square = DMat3::from_diagonal(DVec3::splat(d.length_squared()));
        inertia += part.inertia + (square - outer) * part.mass;
    }
    Ok(MassProperties { mass, com, inertia })
}

fn read_shape(table: &Table, materials: &Materials) -> Result<(Shape, Attach), SceneError> {
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
    let shape = read_solid(kind, &value)?;
    shape.check().map_err(|error| value.refuse(error))?;
    let default = Attach::default();
    let attach = Attach {
        position: table.read("position", Value::vector)?.unwrap_or_default(),
        rotation: table.read("rotation", read_rotation)?.unwrap_or_default(),
        material: table
            .read("material", |value| find_material(value, materials))?
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

fn read_solid(kind: &str, value: &Value) -> Result<Shape, SceneError> {
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
        "hull" => {
            let points = value.table_of(&["points"])?;
            let points = points.need("points", "[[0, 0, 0], [1, 0, 0], …]")?;
            Shape::Hull {
                points: points.points()?,
            }
        }
        "half-space" => {
            value.table_of(&[])?;
            Shape::HalfSpace
        }
        "mesh" => read_mesh(&value.table_of(&["vertices", "triangles"])?)?,
        _ => read_heights(&value.table_of(&["rows", "columns", "heights", "size"])?)?,
    })
}

fn read_mesh(table: &Table) -> Result<Shape, SceneError> {
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
