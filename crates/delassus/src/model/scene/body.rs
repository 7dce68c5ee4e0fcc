//! Bodies of a scene file with their mass and centre: one by one, in rows and grids, resting on each other.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use super::look::read_colour;
use super::place;
use super::reader::{Table, Value, hint, short};
use super::shape::{Around, read_shape};
use super::{MAX_BODIES, SceneError, read_rotation};
use crate::collide::Shape;
use crate::index::BodyId;
use crate::math::MassProperties;
use crate::problem::mass::check_moments;
use crate::world::{Attach, Body, MaterialId, MovedBy, WorldBuilder};

/// Materials by name.
pub(super) type Materials = BTreeMap<String, MaterialId>;
/// Bodies by name.
pub(super) type Names = BTreeMap<String, BodyId>;

/// A body as the file has it, before it is added: its place is not yet that of its centre of mass.
#[derive(Clone)]
pub(super) struct Planned<'a> {
    pub(super) table: Table<'a>,
    pub(super) body: Body,
    pub(super) shapes: Vec<PlannedShape<'a>>,
    /// From the origin of its frame to its centre of mass, in its axes.
    centre: DVec3,
    pub(super) rests_on: Option<Value<'a>>,
    colour: Option<[f64; 3]>,
}

/// A shape of a body that is not added yet.
#[derive(Clone)]
pub(super) struct PlannedShape<'a> {
    pub(super) shape: Shape,
    pub(super) attach: Attach,
    table: Table<'a>,
}

/// Reads every body and adds them in the order of their names, whatever their order in the file.
pub(super) fn add_bodies(
    scene: &Table,
    around: Around<'_>,
    builder: &mut WorldBuilder,
) -> Result<Names, SceneError> {
    let mut planned: BTreeMap<String, Planned> = BTreeMap::new();
    for mut table in scene.tables("bodies", MAX_BODIES)? {
        let value = table.need("name", "\"crate\"")?;
        let name = value.text()?;
        if name.is_empty() || name == "world" {
            return Err(value.fault(format!(
                "\"{name}\" is no name for a body; \"world\" is the fixed world itself"
            )));
        }
        table.what = format!("body \"{}\"", short(name));
        let twice = |name: &str| {
            value.fault(format!(
                "\"{}\" is the name of another body too; give each its own",
                short(name)
            ))
        };
        if planned.contains_key(name) {
            return Err(twice(name));
        }
        let full = || value.fault(format!("there are more than {MAX_BODIES} bodies"));
        let left = MAX_BODIES.checked_sub(planned.len()).ok_or_else(full)?;
        if left == 0 {
            return Err(full());
        }
        let one = read_body(name, table, around)?;
        for copy in place::repeated(one, left)? {
            let name = copy.body.name.clone();
            if planned.contains_key(&name) {
                return Err(twice(&name));
            }
            planned.insert(name, copy);
        }
    }
    place::rest(&mut planned, builder.gravity)?;
    let mut names = Names::new();
    for (name, planned) in planned {
        let id = planned.add(builder)?;
        names.insert(name, id);
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

fn read_body<'a>(
    name: &str,
    table: Table<'a>,
    around: Around<'_>,
) -> Result<Planned<'a>, SceneError> {
    table.only(&[
        "name", "motion", "position", "rotation", "velocity", "spin", "mass", "inertia", "density",
        "shapes", "colour", "array", "grid", "rest-on",
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
        let read = read_shape(&shape, around)?;
        if read.0.is_static_only() && body.motion == MovedBy::Dynamic {
            return Err(shape.fault(
                "half-spaces, meshes and height fields are ground; add motion = \"static\" to the body",
            ));
        }
        shapes.push(PlannedShape {
            shape: read.0,
            attach: read.1,
            table: shape,
        });
    }
    let own = read_mass(&table, body.motion, &shapes)?;
    body.mass = own.mass;
    body.inertia = own.inertia;
    Ok(Planned {
        body,
        shapes,
        centre: own.com,
        rests_on: table.get("rest-on"),
        colour: table.read("colour", read_colour)?,
        table,
    })
}

impl Planned<'_> {
    /// Adds it to the world.
    fn add(mut self, builder: &mut WorldBuilder) -> Result<BodyId, SceneError> {
        // The file places the frame of the shapes; a body's place is its centre of mass.
        self.body.position += self.body.orientation * self.centre;
        let table = &self.table;
        let id = builder
            .add_body(self.body)
            .map_err(|error| table.refuse(error))?;
        for shape in self.shapes {
            let position = shape.attach.position - self.centre;
            let attach = Attach {
                position,
                ..shape.attach
            };
            builder
                .add_collider(id, shape.shape, attach)
                .map_err(|error| shape.table.refuse(error))?;
        }
        if let Some(colour) = self.colour {
            builder.look.colours.insert(id, colour);
        }
        Ok(id)
    }
}

/// Mass and inertia as given, or from the shapes.
fn read_mass(
    table: &Table,
    motion: MovedBy,
    solids: &[PlannedShape<'_>],
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
    solids: &[PlannedShape<'_>],
) -> Result<MassProperties, SceneError> {
    let mut parts = Vec::with_capacity(solids.len());
    for PlannedShape { shape, attach, .. } in solids {
        let own = shape
            .mass_properties(density)
            .ok_or_else(|| table.fault("one of its shapes has no mass; give mass and inertia"))?;
        parts.push(own.placed(attach.position, attach.rotation));
    }
    MassProperties::joined(&parts)
        .ok_or_else(|| table.fault("it has no shapes to take its mass from; give mass and inertia"))
}
