//! Solvers by name: `gauss-seidel,rule=exact,relax=1.3`.

use super::auto::{self, Auto};
use super::exact::direct::Direct;
use super::exact::kkt::Kkt;
use super::newton::Newton;
use super::pivot::{CoverChoice, Lemke, Method, Pivot};
use super::sweep::coloured::Coloured;
use super::sweep::gauss_seidel::{GaussSeidel, Order, SweepKind};
use super::sweep::hybrid::Hybrid;
use super::sweep::jacobi::{Accelerate, Jacobi, Scheme};
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
    /// A key given twice.
    #[error("{key} is given twice; give it once")]
    Twice {
        /// The key.
        key: String,
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

/// Keys of Lemke's algorithm.
const LEMKE_KEYS: &[(&str, &str)] = &[
    ("pivot", "big|lex"),
    ("cover", "ones|scaled|random"),
    ("directions", "8"),
    ("budget", "2000"),
];

/// The same for those that follow one path alone.
const LEMKE_PATH_KEYS: &[(&str, &str)] = &[
    ("pivot", "big|lex"),
    ("cover", "ones|scaled|random"),
    ("directions", "8"),
    ("budget", "0"),
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
    Description {
        name: "coloured",
        keys: &[
            ("rule", "iso|exact|box|project|nonlinear|ccp"),
            ("order", "forward|backward|symmetric"),
            ("relax", "1.0"),
        ],
        about: "projected Gauss-Seidel, independent contacts in lanes and on threads",
        variants: &[
            "coloured",
            "coloured,rule=exact",
            "coloured,order=symmetric",
        ],
    },
    Description {
        name: "lemke",
        keys: LEMKE_KEYS,
        about: "Lemke's algorithm: exact pivoting, from the fastest form to the safest, each answer verified",
        variants: &["lemke"],
    },
    Description {
        name: "lemke-reduced",
        keys: LEMKE_PATH_KEYS,
        about: "Lemke on contacts without their matrix, friction added where load appears",
        variants: &["lemke-reduced"],
    },
    Description {
        name: "lemke-structural",
        keys: LEMKE_PATH_KEYS,
        about: "Lemke on contacts without their matrix",
        variants: &["lemke-structural"],
    },
    Description {
        name: "lemke-standard",
        keys: LEMKE_PATH_KEYS,
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
        name: "newton",
        keys: &[],
        about: "second order: every law exactly, in about ten factorisations",
        variants: &["newton"],
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
        about: "equality rows at once: on a tree by articulated-body passes and force propagators, else by the dense S; with a rank report",
        variants: &["kkt"],
    },
    Description {
        name: auto::NAME,
        keys: &[],
        about: "one of these, chosen by the laws, the size and the tolerance; the report says which and why",
        variants: &[auto::NAME],
    },
];

/// Every solver there is.
pub fn catalogue() -> &'static [Description] {
    ALL
}

/// Makes a solver from its name and keys.
pub fn from_spec(spec: &str, stop: Stop, seed: u64) -> Result<Box<dyn Solver + Send>, SpecError> {
    let mut parts = spec.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    match name {
        "gauss-seidel" => {
            let solver = GaussSeidel {
                stop,
                seed,
                ..GaussSeidel::default()
            };
            keyed(solver, parts, set_gauss_seidel)
        }
        "coloured" => {
            let solver = Coloured {
                stop,
                ..Coloured::default()
            };
            keyed(solver, parts, set_coloured)
        }
        "jacobi" => {
            let solver = Jacobi {
                stop,
                ..Jacobi::default()
            };
            keyed(solver, parts, set_jacobi)
        }
        "direct" => {
            let solver = Direct {
                stop,
                ..Direct::default()
            };
            keyed(solver, parts, |_, _, _| Ok(false))
        }
        "hybrid" => {
            let solver = Hybrid {
                stop,
                ..Hybrid::default()
            };
            keyed(solver, parts, set_hybrid)
        }
        "newton" => keyed(Newton::new(stop), parts, |_, _, _| Ok(false)),
        "kkt" => keyed(Kkt::new(stop), parts, |_, _, _| Ok(false)),
        auto::NAME => keyed(Auto::new(stop, seed), parts, |_, _, _| Ok(false)),
        _ => {
            let Some(method) = Method::ALL.into_iter().find(|m| m.name() == name) else {
                return Err(SpecError::UnknownSolver {
                    name: name.to_owned(),
                    known: listed(ALL.iter().map(|entry| entry.name)),
                });
            };
            let mut solver = Lemke::new(method);
            (solver.stop, solver.seed) = (stop, seed);
            keyed(solver, parts, set_lemke)
        }
    }
}

/// Sets a key; false where the solver has no such key.
type Set<S> = fn(&mut S, &str, &str) -> Result<bool, SpecError>;

/// The solver with its keys set, from parts `key=value`.
fn keyed<'a, S: Solver + Send + 'static>(
    mut solver: S,
    parts: impl Iterator<Item = &'a str>,
    set: Set<S>,
) -> Result<Box<dyn Solver + Send>, SpecError> {
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        if seen.contains(&key) {
            let key = key.to_owned();
            return Err(SpecError::Twice { key });
        }
        seen.push(key);
        if !set(&mut solver, key, value)? {
            let name = solver.name();
            let entry = ALL.iter().find(|entry| entry.name == name);
            let keys = entry.map_or(&[][..], |entry| entry.keys);
            return Err(SpecError::UnknownKey {
                solver: name,
                key: key.to_owned(),
                known: listed(keys.iter().map(|(key, _)| *key)),
            });
        }
    }
    Ok(Box::new(solver))
}

/// Names in a row, for a message.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

fn set_gauss_seidel(solver: &mut GaussSeidel, key: &str, value: &str) -> Result<bool, SpecError> {
    match key {
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        "sweep" => solver.sweep = choose(key, value, &SweepKind::NAMES)?,
        "order" => solver.order = choose(key, value, &Order::NAMES)?,
        "relax" => solver.relax = relaxation(key, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_coloured(solver: &mut Coloured, key: &str, value: &str) -> Result<bool, SpecError> {
    match key {
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        // A shuffled order would need new colours at every sweep.
        "order" => solver.order = choose(key, value, &Order::NAMES[..3])?,
        "relax" => solver.relax = relaxation(key, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_jacobi(solver: &mut Jacobi, key: &str, value: &str) -> Result<bool, SpecError> {
    match key {
        "scheme" => solver.scheme = choose(key, value, &Scheme::NAMES)?,
        "accelerate" => solver.accelerate = choose(key, value, &Accelerate::NAMES)?,
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_hybrid(solver: &mut Hybrid, key: &str, value: &str) -> Result<bool, SpecError> {
    match key {
        "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_lemke(solver: &mut Lemke, key: &str, value: &str) -> Result<bool, SpecError> {
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
        "budget" => {
            solver.budget = value.parse().map_err(|_| SpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                known: "millions of multiplications as a whole number, 0 for no limit".to_owned(),
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A relaxation ω in (0, 2).
pub fn relaxation(key: &str, value: &str) -> Result<f64, SpecError> {
    let relax = value.parse().ok();
    relax
        .filter(|relax| 0.0 < *relax && *relax < 2.0)
        .ok_or_else(|| SpecError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            known: "a number between 0 and 2".to_owned(),
        })
}

/// The name a value is known by.
pub(super) fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names
        .iter()
        .find(|(_, other)| *other == value)
        .map(|(name, _)| *name)
        .expect("every value has its name in the table")
}

/// The value a name stands for.
pub fn choose<T: Copy>(key: &str, value: &str, names: &[(&str, T)]) -> Result<T, SpecError> {
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
    fn a_key_given_twice_is_refused() {
        let refused = from_spec("gauss-seidel,rule=iso,rule=exact", Stop::default(), 0);
        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert_eq!(told, "rule is given twice; give it once");
    }

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
