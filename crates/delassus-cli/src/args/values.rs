//! Numbers and names as they are typed.

use std::time::Duration;

use delassus::problem::file::Format;
use delassus::world::Integrator;

/// A value that is not legal.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum BadValue {
    #[error("a law residual in m/s is needed: a finite number, at least 0")]
    Tolerance,
    #[error("a finite number of seconds, greater than 0, is needed")]
    Positive,
    #[error("a finite number of seconds, at least 0, is needed")]
    Seconds,
    #[error("known integrators: spook, rattle, midpoint")]
    Integrator,
    #[error("known formats: {}", Format::NAMES.map(|(name, _)| name).join(", "))]
    Format,
}

pub(super) fn tolerance(text: &str) -> Result<f64, BadValue> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && 0.0 <= value => Ok(value),
        _ => Err(BadValue::Tolerance),
    }
}

pub(super) fn positive(text: &str) -> Result<f64, BadValue> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && 0.0 < value => Ok(value),
        _ => Err(BadValue::Positive),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, BadValue> {
    let value = text.parse::<f64>().ok();
    value
        .and_then(|value| Duration::try_from_secs_f64(value).ok())
        .ok_or(BadValue::Seconds)
}

pub(super) fn integrator(text: &str) -> Result<Integrator, BadValue> {
    let found = Integrator::NAMES.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, integrator)| *integrator)
        .ok_or(BadValue::Integrator)
}

pub(super) fn format(text: &str) -> Result<Format, BadValue> {
    let found = Format::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, format)| *format).ok_or(BadValue::Format)
}
