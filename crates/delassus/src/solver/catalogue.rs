//! Solvers by name: `gauss-seidel,rule=exact,relax=1.3`.

use super::coloured::Coloured;
use super::direct::Direct;
use super::gauss_seidel::{GaussSeidel, Order, SweepKind};
use super::hybrid::Hybrid;
use super::jacobi::Jacobi;
use super::kkt::Kkt;
use super::lemke::{CoverChoice, Lemke, Method, Pivot};
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

/// Keys that all forms of Lemke's algorithm share.
const LEMKE_KEYS: &[(&str, &str)] = &[
    ("pivot", "big|lex"),
    ("cover", "ones|scaled|random"),
    ("directions", "8"),
];

/// The list, in the order it is shown.
const ALL: &[Description] = &[
    Description {
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
    },
    Coloured::DESCRIPTION,
    Description {
        name: "lemke",
        keys: LEMKE_KEYS,
        about: "Lemke's algorithm: exact pivoting, from the fastest form to the safest, each answer verified",
        variants: &["lemke"],
    },
    Description {
        name: "lemke-reduced",
        keys: LEMKE_KEYS,
        about: "Lemke on contacts without their matrix, friction added where load appears",
        variants: &["lemke-reduced"],
    },
    Description {
        name: "lemke-structural",
        keys: LEMKE_KEYS,
        about: "Lemke on contacts without their matrix",
        variants: &["lemke-structural"],
    },
    Description {
        name: "lemke-standard",
        keys: LEMKE_KEYS,
        about: "Lemke on the dense matrix, for any linear complementarity problem",
        variants: &["lemke-standard", "lemke-standard,pivot=lex"],
    },
    Description {
        name: "jacobi",
        keys: &[
            ("scheme", "split|damped|plain"),
            ("accelerate", "none|chebyshev|nesterov"),
            ("rule", "iso|exact|box|project|nonlinear|ccp"),
        ],
        about: "projected Jacobi in two parallel passes, safe by mass splitting",
        variants: &[
            "jacobi",
            "jacobi,accelerate=nesterov",
            "jacobi,accelerate=chebyshev",
            "jacobi,scheme=damped",
            "jacobi,scheme=plain",
            "jacobi,rule=exact",
        ],
    },
    Description {
        name: "direct",
        keys: &[],
        about: "joints exactly, by sparse factorisation along the elimination tree",
        variants: &["direct"],
    },
    Description {
        name: "hybrid",
        keys: &[("rule", "iso|exact|box|project|nonlinear|ccp")],
        about: "joints exactly, contacts and limits by sweeps through them",
        variants: &["hybrid", "hybrid,rule=exact"],
    },
    Description {
        name: "kkt",
        keys: &[],
        about: "equality rows at once: dense S by mass blocks (articulated-body passes on trees), with a rank report",
        variants: &["kkt"],
    },
];

/// Every solver there is.
pub fn catalogue() -> &'static [Description] {
    ALL
}

/// Makes a solver from its name and keys.
pub fn from_spec(spec: &str, stop: Stop, seed: u64) -> Result<Box<dyn Solver + Send>, SpecError> {
    let mut parts = spec.split(',');
    let name = parts.next().unwrap_or_default().trim();
    let methods = [
        Method::Driver,
        Method::Reduced,
        Method::Structural,
        Method::Standard,
    ];
    if let Some(method) = methods.into_iter().find(|method| method.name() == name) {
        let mut solver = Lemke::new(method);
        (solver.stop, solver.seed) = (stop, seed);
        for part in parts {
            set_lemke_key(&mut solver, part.trim())?;
        }
        return Ok(Box::new(solver));
    }
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
        "coloured" => Ok(Box::new(Coloured::from_keys(parts, stop)?)),
        "jacobi" => {
            let mut solver = Jacobi {
                stop,
                ..Jacobi::default()
            };
            for part in parts {
                solver.set_key(part.trim())?;
            }
            Ok(Box::new(solver))
        }
        "direct" => {
            no_keys("direct", parts)?;
            Ok(Box::new(Direct {
                stop,
                ..Direct::default()
            }))
        }
        "hybrid" => {
            let mut solver = Hybrid {
                stop,
                ..Hybrid::default()
            };
            for part in parts {
                solver.set_key(part.trim())?;
            }
            Ok(Box::new(solver))
        }
        "kkt" => {
            no_keys("kkt", parts)?;
            Ok(Box::new(Kkt::new(stop)))
        }
        _ => {
            let known: Vec<&str> = catalogue().iter().map(|entry| entry.name).collect();
            Err(SpecError::UnknownSolver {
                name: name.to_owned(),
                known: known.join(", "),
            })
        }
    }
}

fn set_lemke_key(solver: &mut Lemke, part: &str) -> Result<(), SpecError> {
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    match key {
        "pivot" => solver.pivot = choose(key, value, &Pivot::NAMES)?,
        "cover" => solver.cover = choose(key, value, &CoverChoice::NAMES)?,
        "directions" => {
            let directions = value.parse().ok().filter(|d| (3..=1024).contains(d));
            solver.directions = directions.ok_or_else(|| SpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                known: "a whole number between 3 and 1024".to_owned(),
            })?;
        }
        _ => {
            return Err(SpecError::UnknownKey {
                solver: solver.method.name(),
                key: key.to_owned(),
                known: "pivot, cover, directions".to_owned(),
            });
        }
    }
    Ok(())
}

fn no_keys<'a>(
    solver: &'static str,
    mut parts: impl Iterator<Item = &'a str>,
) -> Result<(), SpecError> {
    parts.next().map_or(Ok(()), |part| {
        Err(SpecError::UnknownKey {
            solver,
            key: part.trim().to_owned(),
            known: "none".to_owned(),
        })
    })
}

fn set_key(solver: &mut GaussSeidel, part: &str) -> Result<(), SpecError> {
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    match key {
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        "sweep" => solver.sweep = choose(key, value, &SweepKind::NAMES)?,
        "order" => solver.order = choose(key, value, &Order::NAMES)?,
        "relax" => solver.relax = relaxation(key, value)?,
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

/// A relaxation ω in (0, 2).
pub(super) fn relaxation(key: &str, value: &str) -> Result<f64, SpecError> {
    let relax = value.parse().ok();
    relax
        .filter(|relax| 0.0 < *relax && *relax < 2.0)
        .ok_or_else(|| SpecError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            known: "a number between 0 and 2".to_owned(),
        })
}

/// The value a name stands for.
pub(super) fn choose<T: Copy>(key: &str, value: &str, names: &[(&str, T)]) -> Result<T, SpecError> {
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
        assert!(error("lemke,pivot=small").contains("big, lex"));
        assert!(error("lemke-standard,directions=2").contains("between 3 and 1024"));
        assert!(error("lemke-reduced,rule=exact").contains("pivot, cover, directions"));
    }
}
