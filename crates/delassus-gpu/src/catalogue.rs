//! The device's solvers by name, as `jacobi-gpu,scheme=plain`.

use delassus::solver::sweep::coloured::Coloured;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::solver::sweep::jacobi::{Accelerate, Scheme};
use delassus::solver::{Description, Rule, SpecError, choose, relaxation};
use delassus::{Jacobi, Solver, Stop};

use crate::{ColouredGpu, JacobiGpu};

const RULES: (&str, &str) = ("rule", "iso|exact|box|project|nonlinear|ccp");

const ALL: &[Description] = &[
    Description {
        name: "jacobi-gpu",
        keys: &[
            ("scheme", "split|damped|plain"),
            ("accelerate", "none|nesterov"),
            RULES,
        ],
        about: "projected Jacobi on the graphics processor",
        variants: &["jacobi-gpu", "jacobi-gpu,accelerate=nesterov"],
    },
    Description {
        name: "coloured-gpu",
        keys: &[
            RULES,
            ("order", "forward|backward|symmetric"),
            ("relax", "1.0"),
        ],
        about: "projected Gauss-Seidel on the graphics processor, colour after colour",
        variants: &["coloured-gpu"],
    },
];

/// The solvers of this crate, beside those of [`delassus::solver::catalogue`].
pub fn catalogue() -> &'static [Description] {
    ALL
}

/// Makes a solver of this crate from its name and keys. The device is opened when it first runs.
pub fn from_spec(spec: &str, stop: Stop) -> Result<Box<dyn Solver + Send>, SpecError> {
    let mut parts = spec.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let pairs = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
    match name {
        "jacobi-gpu" => {
            let mut jacobi = Jacobi {
                stop,
                ..Jacobi::default()
            };
            for (key, value) in pairs {
                match key {
                    "scheme" => jacobi.scheme = choose(key, value, &Scheme::NAMES)?,
                    "accelerate" => {
                        // Chebyshev's recurrence is steered by the host after every sweep.
                        let mut names = Accelerate::NAMES.to_vec();
                        names.retain(|(_, kind)| *kind != Accelerate::Chebyshev);
                        jacobi.accelerate = choose(key, value, &names)?;
                    }
                    "rule" => jacobi.rule = choose(key, value, &Rule::NAMES)?,
                    _ => return Err(unknown_key(&ALL[0], key)),
                }
            }
            Ok(Box::new(JacobiGpu::new(jacobi)))
        }
        "coloured-gpu" => {
            let mut coloured = Coloured {
                stop,
                ..Coloured::default()
            };
            for (key, value) in pairs {
                match key {
                    "rule" => coloured.rule = choose(key, value, &Rule::NAMES)?,
                    "order" => coloured.order = choose(key, value, &Order::NAMES[..3])?,
                    "relax" => coloured.relax = relaxation(key, value)?,
                    _ => return Err(unknown_key(&ALL[1], key)),
                }
            }
            Ok(Box::new(ColouredGpu::new(coloured)))
        }
        _ => Err(SpecError::UnknownSolver {
            name: name.to_owned(),
            known: listed(ALL.iter().map(|entry| entry.name)),
        }),
    }
}

fn unknown_key(entry: &Description, key: &str) -> SpecError {
    SpecError::UnknownKey {
        solver: entry.name,
        key: key.to_owned(),
        known: listed(entry.keys.iter().map(|(key, _)| *key)),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_can_be_made_and_wrong_specs_name_what_is_known() {
        for entry in catalogue() {
            for spec in entry.variants {
                let solver = from_spec(spec, Stop::default()).unwrap();
                assert_eq!(solver.name(), entry.name);
            }
        }
        let error = |spec| {
            from_spec(spec, Stop::default())
                .err()
                .map(|error| error.to_string())
                .unwrap()
        };
        assert!(error("cg-gpu").contains("jacobi-gpu, coloured-gpu"));
        assert!(error("jacobi-gpu,accelerate=chebyshev").contains("none, nesterov"));
        assert!(error("jacobi-gpu,relax=1").contains("scheme, accelerate, rule"));
        assert!(error("coloured-gpu,order=shuffle").contains("symmetric"));
        assert!(error("coloured-gpu,relax=3").contains("between 0 and 2"));
    }
}
