//! From `--solver` to solvers: expands `all`, refuses wrong names early, and writes a solver's short name.

use delassus::solver::{Description, SpecError, catalogue, from_spec};
use delassus::{Fit, Law, Report, Solver, Stop};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A solver that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("--solver {spec}: {cause} (see `delassus list solvers`)")]
pub(crate) struct SolverError {
    spec: String,
    cause: SolverCause,
}

/// Why a solver cannot be made.
#[derive(Debug, thiserror::Error)]
enum SolverCause {
    /// Its name or a key is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It is not in this program.
    #[cfg(not(feature = "gpu"))]
    #[error(
        "this build has no solvers for the graphics processor; add `--features gpu` to `cargo run -p delassus-cli` \
         or `cargo install --path crates/delassus-cli`"
    )]
    NoDevice,
}

/// A solver without a rule for one of the laws of a scene.
#[derive(Debug, thiserror::Error)]
#[error(
    "--solver {spec}: {solver} has no rule for {law}, which the scene has; solvers with a rule for all its laws: {able}"
)]
pub(crate) struct MisfitError {
    spec: String,
    solver: &'static str,
    law: &'static str,
    able: String,
}

/// Every solver of this build: those of the library, then those of the graphics processor where they are built in.
pub(crate) fn entries() -> impl Iterator<Item = &'static Description> {
    #[cfg(feature = "gpu")]
    let device = delassus_gpu::catalogue();
    #[cfg(not(feature = "gpu"))]
    let device: &[Description] = &[];
    catalogue().iter().chain(device)
}

/// A solver of the graphics processor; its device is opened when it first runs.
#[cfg(feature = "gpu")]
fn on_device(spec: &str, stop: Stop) -> Result<Box<dyn Solver + Send>, SolverCause> {
    Ok(delassus_gpu::from_spec(spec, stop)?)
}

#[cfg(not(feature = "gpu"))]
fn on_device(_spec: &str, _stop: Stop) -> Result<Box<dyn Solver + Send>, SolverCause> {
    Err(SolverCause::NoDevice)
}

/// The solvers asked for, in the order given. Wrong names and keys are refused before anything is read.
pub(crate) fn expand(given: &[String], fallback: &str) -> Result<Vec<String>, SolverError> {
    let given = if given.is_empty() {
        vec![fallback.to_owned()]
    } else {
        given.to_vec()
    };
    let mut specs = Vec::new();
    for spec in given {
        if spec == "all" {
            let variants = entries().flat_map(|entry| entry.variants);
            specs.extend(variants.map(|&variant| variant.to_owned()));
        } else {
            make(&spec, Stop::default(), 0)?;
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// Makes a solver, or says what is wrong with its name and keys.
pub(crate) fn make(
    spec: &str,
    stop: Stop,
    seed: u64,
) -> Result<Box<dyn Solver + Send>, SolverError> {
    let made = if name_of(spec).ends_with("-gpu") {
        on_device(spec, stop)
    } else {
        from_spec(spec, stop, seed).map_err(SolverCause::from)
    };
    made.map_err(|cause| SolverError {
        spec: spec.to_owned(),
        cause,
    })
}

/// Refuses a solver that has no rule for one of the laws, with those that have one for all of them.
pub(crate) fn check_laws(spec: &str, solver: &dyn Solver, laws: &[Law]) -> Result<(), MisfitError> {
    let fits = |solver: &dyn Solver| laws.iter().find(|law| solver.fit(law) == Fit::No);
    let Some(law) = fits(solver) else {
        return Ok(());
    };
    let able = entries().filter(|entry| {
        let made = make(entry.name, Stop::default(), 0);
        made.is_ok_and(|solver| fits(solver.as_ref()).is_none())
    });
    let able: Vec<&str> = able.map(|entry| entry.name).collect();
    Err(MisfitError {
        spec: spec.to_owned(),
        solver: solver.name(),
        law: law.name(),
        able: able.join(", "),
    })
}

/// The name in front of the keys.
fn name_of(spec: &str) -> &str {
    spec.split(',').next().unwrap_or_default().trim()
}

/// The limits `--iterations` asks for, which is one on sweeps and one on pivots; else so many sweeps, which says nothing
/// of pivots.
pub(crate) fn limited(stop: Stop, asked: Option<usize>, sweeps: usize) -> Stop {
    Stop {
        sweeps: asked.unwrap_or(sweeps),
        pivots: asked.unwrap_or(stop.pivots),
        ..stop
    }
}

/// The solver's name with the keys that differ from its defaults.
pub(crate) fn label(name: &str, options: &[(&'static str, String)]) -> String {
    let usual = make(name, Stop::default(), 0).map_or_else(|_| Vec::new(), |s| s.options());
    let mut label = name.to_owned();
    for option in options {
        if !usual.contains(option) {
            label.push_str(&format!(",{}={}", option.0, option.1));
        }
    }
    label
}

/// The label of a solver as it was typed.
pub(crate) fn label_of(spec: &str) -> String {
    match make(spec, Stop::default(), 0) {
        Ok(solver) => label(solver.name(), &solver.options()),
        Err(_) => spec.to_owned(),
    }
}

/// What `auto` chose for one part of a problem, in JSON.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chosen {
    solver: &'static str,
    class: &'static str,
    why: &'static str,
    /// Islands of the part, where the problem was taken apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    islands: Option<usize>,
}

impl Chosen {
    /// One for each part; none for every other solver.
    pub(crate) fn of(report: &Report) -> Vec<Chosen> {
        let chosen = report.chosen.iter().map(|part| Chosen {
            solver: part.choice.first.solver,
            class: part.choice.class,
            why: part.choice.why,
            islands: (0 < part.islands).then_some(part.islands),
        });
        chosen.collect()
    }

    /// The label of a solver, with what was chosen and what gave the answer instead.
    pub(crate) fn name(label: &str, chosen: &[Chosen], then: Option<&str>) -> String {
        let part = |chosen: &Chosen| match chosen.islands {
            None => chosen.solver.to_owned(),
            Some(1) => format!("{} (1 island)", chosen.solver),
            Some(count) => format!("{} ({count} islands)", chosen.solver),
        };
        let parts: Vec<String> = chosen.iter().map(part).collect();
        let mut name = label.to_owned();
        if !parts.is_empty() {
            name.push_str(&format!(" → {}", parts.join(" and ")));
        }
        if let (false, Some(then)) = (parts.is_empty(), then) {
            name.push_str(&format!(", {then}"));
        }
        name
    }
}

/// A solver's keys as a JSON object; values that are numbers are written as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Options(pub(crate) Vec<(&'static str, String)>);

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            match value.parse::<f64>() {
                Ok(number) if number.is_finite() => map.serialize_entry(key, &number)?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stands_for_every_variant_in_place() {
        let given = ["gauss-seidel,relax=0.5".to_owned(), "all".to_owned()];
        let specs = expand(&given, "all").unwrap();
        let variants: usize = entries().map(|entry| entry.variants.len()).sum();
        assert_eq!(specs.len(), variants + 1);
        assert_eq!(specs[0], given[0]);
    }

    #[test]
    fn label_shows_only_what_differs_from_the_defaults() {
        for entry in entries() {
            for variant in entry.variants {
                let solver = make(variant, Stop::default(), 0).unwrap();
                assert_eq!(label(solver.name(), &solver.options()), *variant);
            }
        }
    }
}
