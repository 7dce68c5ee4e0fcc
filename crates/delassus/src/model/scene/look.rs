//! How a scene is shown: colours and cameras.

use glam::DVec3;

use super::reader::{Table, Value};
use super::{MAX_BODIES, SceneError};
use crate::world::{Camera, WorldBuilder};

/// Height of a camera's picture where the file does not say \[degrees\].
const FIELD: f64 = 45.0;

/// `"#ff8800"`, or three numbers from 0 to 1.
pub(super) fn read_colour(value: &Value) -> Result<[f64; 3], SceneError> {
    let like = "a colour: \"#ff8800\", or red, green and blue from 0 to 1 as in [1, 0.5, 0]";
    if value.is_list() {
        let numbers: [f64; 3] = value.numbers("[1, 0.5, 0]")?;
        return match numbers.iter().all(|x| (0.0..=1.0).contains(x)) {
            true => Ok(numbers),
            false => Err(value.fault(format!("give {like}"))),
        };
    }
    let hex = value
        .text()?
        .strip_prefix('#')
        .filter(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let Some(number) = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()) else {
        return Err(value.fault(format!("give {like}")));
    };
    let part = |shift: u32| f64::from(number >> shift & 0xFF) / 255.0;
    Ok([part(16), part(8), part(0)])
}

/// Reads every camera, in the order of the file.
pub(super) fn add_cameras(scene: &Table, builder: &mut WorldBuilder) -> Result<(), SceneError> {
    for mut table in scene.tables("cameras", MAX_BODIES)? {
        let value = table.need("name", "\"front\"")?;
        let name = value.text()?.to_owned();
        table.what = format!("camera \"{name}\"");
        table.only(&["name", "position", "target", "up", "field-degrees"])?;
        if name.is_empty() || builder.look.cameras.iter().any(|c| c.name == name) {
            return Err(value.fault("give each camera a name of its own"));
        }
        let position = table.need("position", "[5, -5, 3]")?.vector()?;
        let target = table.read("target", Value::vector)?.unwrap_or_default();
        let up = table.read("up", Value::direction)?.unwrap_or(DVec3::Z);
        let line = (target - position).try_normalize();
        if line.is_none_or(|line| line.cross(up).length() < 1e-9) {
            return Err(table.fault(
                "it stands on its target or looks along its up; move it, or give up = [0, 1, 0]",
            ));
        }
        let field = table.read("field-degrees", |value| value.within(1.0, 170.0))?;
        builder.look.cameras.push(Camera {
            name,
            position,
            target,
            up,
            field: field.unwrap_or(FIELD).to_radians(),
        });
    }
    Ok(())
}
