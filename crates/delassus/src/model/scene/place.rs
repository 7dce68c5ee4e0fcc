//! Where bodies of a scene file go: copies in rows and grids, and bodies that rest on others.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use glam::DVec3;

use super::body::Planned;
use super::reader::{Table, Value, hint, short};
use super::{MAX_BODIES, SceneError};
use crate::collide::{Collider, Standing, land};

/// A body as often as its `array` or `grid` says, each copy with its own name and place.
pub(super) fn repeated(one: Planned<'_>, most: usize) -> Result<Vec<Planned<'_>>, SceneError> {
    let (counts, step) = match (one.table.get("array"), one.table.get("grid")) {
        (None, None) => return Ok(vec![one]),
        (Some(value), None) => {
            let table = value.table_of(&["count", "step"])?;
            let count = table.need("count", "5")?.whole(1, most as u64)?;
            (vec![count], read_step(&table)?)
        }
        (None, Some(value)) => {
            let table = value.table_of(&["count", "step"])?;
            let count = table.need("count", "[4, 4, 2]")?;
            let [x, y, z]: [Value; 3] = count.some("[4, 4, 2]")?;
            let whole = |value: &Value| value.whole(1, most as u64);
            let counts = vec![whole(&x)?, whole(&y)?, whole(&z)?];
            (counts, read_step(&table)?)
        }
        (Some(_), Some(_)) => {
            return Err(one.table.fault("give either array or grid, not both"));
        }
    };
    let all = counts.iter().try_fold(1, |all: u64, n| all.checked_mul(*n));
    if all.is_none_or(|all| (most as u64) < all) {
        let what = format!("with its copies there are more than {MAX_BODIES} bodies");
        return Err(one.table.fault(what));
    }
    let mut copies = vec![(one.body.name.clone(), DVec3::ZERO)];
    for (axis, count) in counts.iter().enumerate() {
        // As many digits as the last one has: names sort as they are counted.
        let digits = (count - 1).to_string().len();
        // A row goes along its step, a grid along the axes of the world.
        let along = match counts.len() {
            1 => step,
            _ => DVec3::AXES[axis] * step[axis],
        };
        let next = |(name, at): (String, DVec3)| {
            (0..*count).map(move |i| (format!("{name}-{i:0digits$}"), at + along * i as f64))
        };
        copies = copies.into_iter().flat_map(next).collect();
    }
    let copy = |(name, by): (String, DVec3)| {
        let mut copy = one.clone();
        copy.body.name = name;
        copy.body.position += by;
        copy
    };
    Ok(copies.into_iter().map(copy).collect())
}

fn read_step(table: &Table) -> Result<DVec3, SceneError> {
    table.need("step", "[1, 0, 0]")?.vector()
}

/// Moves every body that rests on another along gravity until it touches that one from above.
pub(super) fn rest(
    planned: &mut BTreeMap<String, Planned<'_>>,
    gravity: DVec3,
) -> Result<(), SceneError> {
    let down = gravity.try_normalize().unwrap_or(-DVec3::Z);
    let names: Vec<String> = planned.keys().cloned().collect();
    // What was rested on: many stand on one ground.
    let mut grounds = BTreeMap::new();
    for name in names {
        // What it rests on comes first, and what that rests on before.
        let mut chain = vec![name];
        while let Some(name) = chain.last() {
            let Some((body, value)) = waiting(planned, name) else {
                chain.pop();
                continue;
            };
            let under = value.text()?;
            let Some(below) = planned.get(under) else {
                let known = planned.keys().map(String::as_str);
                return Err(value.fault(format!(
                    "there is no body \"{}\"; {}",
                    short(under),
                    hint(under, known)
                )));
            };
            if chain.iter().any(|above| above == under) {
                return Err(
                    value.fault("it rests on what rests on it; let one of them stand by itself")
                );
            }
            if below.rests_on.is_some() {
                chain.push(under.to_owned());
                continue;
            }
            let ground = match grounds.entry(under.to_owned()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(standing(&value, below)?),
            };
            let by = fall(&value, body, ground, down)?;
            if let Some(body) = planned.get_mut(name) {
                body.body.position += down * by;
                body.rests_on = None;
            }
            chain.pop();
        }
    }
    Ok(())
}

/// A body that is still to be put on another, and the name of that.
fn waiting<'p, 'a>(
    planned: &'p BTreeMap<String, Planned<'a>>,
    name: &str,
) -> Option<(&'p Planned<'a>, Value<'a>)> {
    let body = planned.get(name)?;
    Some((body, body.rests_on.clone()?))
}

/// The shapes of a body where it stands.
fn standing(value: &Value, planned: &Planned<'_>) -> Result<Standing, SceneError> {
    let shapes = planned.shapes.iter();
    let colliders = shapes.map(|s| Collider {
        pose: (s.attach.position, s.attach.rotation),
        group: s.attach.groups,
        ..Collider::new(s.shape.clone(), 0)
    });
    let colliders: Vec<Collider> = colliders.collect();
    let pose = (planned.body.position, planned.body.orientation);
    Standing::new(&colliders, pose).map_err(|error| value.fault(error))
}

/// How far a body is moved along gravity to touch another one from above.
fn fall(
    value: &Value,
    body: &Planned<'_>,
    ground: &Standing,
    down: DVec3,
) -> Result<f64, SceneError> {
    if body.shapes.iter().any(|s| s.shape.is_static_only()) {
        return Err(value.fault("ground cannot rest on anything; give its position"));
    }
    let landed = land(&standing(value, body)?, ground, down);
    landed.ok_or_else(|| {
        value.fault(
            "it would fall past that body, or its rest on it cannot be found; move its position over it, and see that both have shapes that meet",
        )
    })
}
