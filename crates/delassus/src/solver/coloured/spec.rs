//! The solver's line in the catalogue and its keys.

use super::Coloured;
use crate::solver::catalogue::{Description, SpecError, choose, relaxation};
use crate::solver::gauss_seidel::Order;
use crate::solver::{Rule, Stop};

impl Coloured {
    /// The line in the list of solvers.
    pub(in crate::solver) const DESCRIPTION: Description = Description {
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
    };

    /// A solver from its keys.
    pub(in crate::solver) fn from_keys<'a>(
        parts: impl Iterator<Item = &'a str>,
        stop: Stop,
    ) -> Result<Coloured, SpecError> {
        let mut solver = Coloured {
            stop,
            ..Coloured::default()
        };
        for part in parts {
            let part = part.trim();
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "rule" => solver.rule = choose(key, value, &Rule::NAMES)?,
                // A shuffled order would need new colours at every sweep.
                "order" => solver.order = choose(key, value, &Order::NAMES[..3])?,
                "relax" => solver.relax = relaxation(key, value)?,
                _ => {
                    return Err(SpecError::UnknownKey {
                        solver: "coloured",
                        key: key.to_owned(),
                        known: "rule, order, relax".to_owned(),
                    });
                }
            }
        }
        Ok(solver)
    }
}
