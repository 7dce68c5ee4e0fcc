//! Numbers and names as they are typed.

use std::time::Duration;

use delassus::problem::file::Format;
use delassus::world::Integrator;

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && 0.0 <= value => Ok(value),
        _ => Err("a law residual in m/s is needed: a finite number, at least 0".to_owned()),
    }
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && 0.0 < value => Ok(value),
        _ => Err("a finite number of seconds, greater than 0, is needed".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let value = text.parse::<f64>().ok();
    value
        .and_then(|value| Duration::try_from_secs_f64(value).ok())
        .ok_or_else(|| "a finite number of seconds, at least 0, is needed".to_owned())
}

pub(super) fn integrator(text: &str) -> Result<Integrator, String> {
    let found = Integrator::NAMES.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, integrator)| *integrator)
        .ok_or_else(|| "known integrators: spook, rattle, midpoint".to_owned())
}

pub(super) fn format(text: &str) -> Result<Format, String> {
    let found = Format::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let known: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        format!("known formats: {}", known.join(", "))
    })
}
