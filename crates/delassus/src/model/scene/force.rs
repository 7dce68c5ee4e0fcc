//! Forces over time of a scene file.

use glam::DVec3;

use super::body::Names;
use super::joint::find;
use super::reader::{Table, Value};
use super::{MAX_BODIES, SceneError};
use crate::world::{Load, LoadPoint, World};

/// A force without an end acts until then \[s\].
const ALWAYS: f64 = 1e18;

/// Reads every force and adds it to the world, in the order of the file.
pub(super) fn add_forces(
    scene: &Table,
    names: &Names,
    world: &mut World,
) -> Result<(), SceneError> {
    for (i, mut table) in scene.tables("forces", MAX_BODIES)?.into_iter().enumerate() {
        table.what = format!("force {}", i + 1);
        let load = read_load(&table, names, world)?;
        world.add_load(load).map_err(|error| table.refuse(error))?;
    }
    Ok(())
}

fn read_load(table: &Table, names: &Names, world: &World) -> Result<Load, SceneError> {
    table.only(&[
        "body", "force", "torque", "point", "axes", "from", "until", "times", "forces", "torques",
    ])?;
    let body = find(&table.need("body", "\"crate\"")?, names)?;
    let axes = [("world", false), ("body", true)];
    let turns = table.read("axes", |value| value.choice(&axes))?;
    let bodies = world.bodies();
    let i = body.index();
    // The point is given in the world, where the body stands at the start.
    let point = table.read("point", Value::vector)?;
    let point = point.map(|x| bodies.orientation[i].conjugate() * (x - bodies.position[i]));
    let course = match table.get("times") {
        Some(times) => read_course(table, &times)?,
        None => read_constant(table)?,
    };
    Ok(Load {
        body,
        point: point.unwrap_or_default(),
        turns: turns.unwrap_or(false),
        course,
    })
}

/// The same force from one time to another.
fn read_constant(table: &Table) -> Result<Vec<LoadPoint>, SceneError> {
    for key in ["forces", "torques"] {
        if let Some(value) = table.get(key) {
            return Err(value.fault("a list needs times; add times = [0, 1, …]"));
        }
    }
    let force = table.read("force", Value::vector)?;
    let torque = table.read("torque", Value::vector)?;
    if force.is_none() && torque.is_none() {
        return Err(table.fault("give force = [10, 0, 0], torque, or times with forces or torques"));
    }
    let time = |value: &Value| value.within(0.0, 1e9);
    let from = table.read("from", time)?.unwrap_or(0.0);
    let until = table.read("until", time)?.unwrap_or(ALWAYS);
    if until <= from {
        return Err(table.fault(format!(
            "it ends at {until} s, before it begins at {from} s; exchange them"
        )));
    }
    let at = |time: f64| LoadPoint {
        time,
        force: force.unwrap_or_default(),
        torque: torque.unwrap_or_default(),
    };
    Ok(vec![at(from), at(until)])
}

/// Forces and torques at given times.
fn read_course(table: &Table, times: &Value) -> Result<Vec<LoadPoint>, SceneError> {
    for key in ["force", "torque", "from", "until"] {
        if let Some(value) = table.get(key) {
            return Err(value.fault("beside times give forces or torques, one for each time"));
        }
    }
    let given = times.list()?;
    let mut course = Vec::with_capacity(given.len());
    for value in &given {
        let time = value.within(0.0, 1e9)?;
        let before = course.last().map(|point: &LoadPoint| point.time);
        if before.is_some_and(|before| time <= before) {
            return Err(value.fault("times must rise; sort them, each once"));
        }
        course.push(LoadPoint {
            time,
            ..LoadPoint::default()
        });
    }
    if course.len() < 2 {
        return Err(times.fault("give two times or more: where it begins and where it ends"));
    }
    let list = |key: &str| -> Result<Option<Vec<DVec3>>, SceneError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let vectors = value.list()?;
        if vectors.len() != course.len() {
            let (found, wanted) = (vectors.len(), course.len());
            return Err(value.fault(format!(
                "{found} vectors for {wanted} times; give one for each"
            )));
        }
        let vectors = vectors.iter().map(Value::vector);
        Ok(Some(vectors.collect::<Result<_, _>>()?))
    };
    let (forces, torques) = (list("forces")?, list("torques")?);
    if forces.is_none() && torques.is_none() {
        return Err(table.fault("give forces or torques, one for each time"));
    }
    let put = |vectors: Option<Vec<DVec3>>| vectors.into_iter().flatten();
    for (point, force) in course.iter_mut().zip(put(forces)) {
        point.force = force;
    }
    for (point, torque) in course.iter_mut().zip(put(torques)) {
        point.torque = torque;
    }
    Ok(course)
}
