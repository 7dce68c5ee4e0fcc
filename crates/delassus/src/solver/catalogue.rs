//! Solvers by name: `gauss-seidel,rule=exact,relax=1.3`.

use super::gauss_seidel::{GaussSeidel, Order, SweepKind};
use super::kkt::Kkt;
use super::{Rule, Solver, Stop};

/// What is wrong with a solver's name or keys.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No such solver.
    #[error("there is no solver \"{name}\"; known solvers: {known}")]
    UnknownSolver {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No such key.
    #[error("{solver} has no key \"{key}\"; its keys: {known}")]
    UnknownKey {
        /// The solver.
        solver: &'static str,
        /// The key given.
        key: String,
        /// The keys there are.
        known: String,
    },
    /// A value the key does not take.
    #[error("{key}={value} is not possible; {key} takes {known}")]
    BadValue {
        /// The key.
        key: String,
        /// The value given.
        value: String,
        /// What it takes.
        known: String,
    },
}

/// One line of the list of solvers.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name on the command line.
    pub name: &'static str,
    /// Keys with their values, the default first.
    pub keys: &'static [(&'static str, &'static str)],
    /// What it does, in one line.
    pub about: &'static str,
    /// The variants a comparison runs.
    pub variants: &'static [&'static str],
}

/// Every solver there is.
pub fn catalogue() -> &'static [Description] {
    &[GAUSS_SEIDEL, KKT]
}

const KKT: Description = Description {
    name: "kkt",
    keys: &[],
    about: "equality rows at once: dense S by mass blocks (articulated-body passes on trees), with a rank report",
    variants: &["kkt"],
};

const GAUSS_SEIDEL: Description = Description {
    name: "gauss-seidel",
    keys: &[
        ("rule", "iso|exact|box|project|nonlinear|ccp"),
        ("sweep", "local|residual"),
        ("order", "forward|backward|symmetric|shuffle"),
        ("relax", "1.0"),
    ],
    about: "projected Gauss-Seidel, scalar and block, matrix-free",
    variants: &[
        "gauss-seidel",
        "gauss-seidel,rule=exact",
        "gauss-seidel,order=symmetric",
        "gauss-seidel,order=shuffle",
        "gauss-seidel,relax=1.3",
        "gauss-seidel,sweep=residual",
        "gauss-seidel,rule=nonlinear",
        "gauss-seidel,rule=ccp",
        "gauss-seidel,rule=box",
        "gauss-seidel,rule=project",
    ],
};

/// Makes a solver from its name and keys.
pub fn from_spec(spec: &str, stop: Stop, seed: u64) -> Result<Box<dyn Solver + Send>, SpecError> {
    let mut parts = spec.split(',');
    let name = parts.next().unwrap_or_default().trim();
    match name {
        "gauss-seidel" => {
            let mut solver = GaussSeidel {
                stop,
                seed,
                ..GaussSeidel::default()
            };
            for part in parts {
                set_key(&mut solver, part.trim())?;
            }
            Ok(Box::new(solver))
        }
        "kkt" => match parts.next() {
            None => Ok(Box::new(Kkt::new(stop))),
            Some(key) => Err(SpecError::UnknownKey {
                solver: "kkt",
                key: key.trim().to_owned(),
                known: "none".to_owned(),
            }),
        },
        _ => {
            let known: Vec<&str> = catalogue().iter().map(|entry| entry.name).collect();
            Err(SpecError::UnknownSolver {
                name: name.to_owned(),
                known: known.join(", "),
            })
        }
    }
}

fn set_key(solver: &mut GaussSeidel, part: &str) -> Result<(), SpecError> {
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    match key {
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        "sweep" => solver.sweep = choose(key, value, &SweepKind::NAMES)?,
        "order" => solver.order = choose(key, value, &Order::NAMES)?,
        "relax" => {
            let relax = value
                .parse()
                .ok()
                .filter(|relax| 0.0 < *relax && *relax < 2.0);
            solver.relax = relax.ok_or_else(|| SpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                known: "a number between 0 and 2".to_owned(),
            })?;
        }
        _ => {
            return Err(SpecError::UnknownKey {
                solver: "gauss-seidel",
                key: key.to_owned(),
                known: "rule, sweep, order, relax".to_owned(),
            });
        }
    }
    Ok(())
}

fn choose<T: Copy>(key: &str, value: &str, names: &[(&str, T)]) -> Result<T, SpecError> {
    names
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, found)| *found)
        .ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            SpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                known: known.join(", "),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_of_the_catalogue_can_be_made() {
        for entry in catalogue() {
            for spec in entry.variants {
                let solver = from_spec(spec, Stop::default(), 0).unwrap();
                assert_eq!(solver.name(), entry.name);
            }
        }
    }

    #[test]
    fn wrong_specs_name_what_is_known() {
        let stop = Stop::default();
        let error = |spec| {
            from_spec(spec, stop, 0)
                .err()
                .map(|e| e.to_string())
                .unwrap()
        };
        assert!(error("gauss").contains("gauss-seidel"));
        assert!(error("gauss-seidel,rule=is").contains("iso, exact"));
        assert!(error("gauss-seidel,speed=9").contains("rule, sweep"));
        assert!(error("gauss-seidel,relax=2").contains("between 0 and 2"));
        assert!(error("gauss-seidel,relax=NaN").contains("between 0 and 2"));
    }
}
