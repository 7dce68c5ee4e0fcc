//! `delassus list`: what there is to solve and to solve it with.

use delassus::gallery::{self, Exhibit};
use delassus::scenes;
use delassus::solver::Description;
use delassus::{Fit, Law, Stop};
use serde_json::{Map, Value, json};

use crate::args::{ListArgs, Section};
use crate::console::{Outcome, Printed};
use crate::refusal::Refusal;
use crate::solvers::{self, SolverError};
use crate::table::{Table, paragraph};

/// One example of each law. Friction is not zero, so that a solver which is only right without friction is not
/// called exact.
const EXAMPLES: [Law; 11] = [
    Law::Equality,
    Law::Unilateral,
    Law::Interval { lo: -1.0, hi: 1.0 },
    Law::FrictionBox { mu: 0.5 },
    Law::FrictionCone { mu: 0.5 },
    Law::EllipticCone { mu: [0.5, 0.3] },
    Law::FrictionFacets {
        mu: 0.5,
        directions: 8,
    },
    Law::RollingCone {
        mu: 0.5,
        rolling: 0.1,
    },
    Law::RollingSpinning {
        mu: 0.5,
        rolling: 0.1,
        spinning: 0.1,
    },
    Law::TorsionalCone {
        mu: 0.5,
        spinning: 0.1,
    },
    Law::EllipsoidCone {
        mu: 0.5,
        rolling: 0.1,
        spinning: 0.1,
    },
];

/// Lists what the command line names.
pub(crate) fn run(args: &ListArgs) -> Result<Printed, Refusal> {
    let wants = |section| args.what.is_none_or(|what| what == section);
    let text = if args.json {
        let mut document = Map::new();
        document.insert("schema".to_owned(), json!("delassus-list-1"));
        if wants(Section::Problems) {
            let problems: Vec<Value> = gallery::exhibits().iter().map(problem_json).collect();
            document.insert("problems".to_owned(), Value::Array(problems));
        }
        if wants(Section::Scenes) {
            let scenes: Vec<Value> = scenes::exhibits().iter().map(scene_json).collect();
            document.insert("scenes".to_owned(), Value::Array(scenes));
        }
        if wants(Section::Solvers) {
            let solvers: Result<Vec<Value>, SolverError> =
                solvers::entries().map(solver_json).collect();
            document.insert("solvers".to_owned(), Value::Array(solvers?));
        }
        format!("{:#}\n", Value::Object(document))
    } else {
        let mut sections = Vec::new();
        if wants(Section::Problems) {
            sections.push(problems());
        }
        if wants(Section::Scenes) {
            sections.push(scenes_text());
        }
        if wants(Section::Solvers) {
            sections.push(solvers_text()?);
        }
        sections.join("\n")
    };
    let outcome = Outcome::Solved;
    Ok(Printed { text, outcome })
}

fn problems() -> String {
    let entries = gallery::exhibits().iter();
    named(
        "Problems",
        entries.map(|exhibit| (exhibit.name, [exhibit.size, 0], exhibit.about)),
    )
}

fn scenes_text() -> String {
    let entries = scenes::exhibits().iter();
    named(
        "Scenes",
        entries.map(|exhibit| {
            let sizes = [exhibit.size, exhibit.second];
            (exhibit.name, sizes, exhibit.about)
        }),
    )
}

/// A table of what can be asked for by name, with the sizes taken where none is given.
fn named<'a>(title: &str, entries: impl Iterator<Item = (&'a str, [usize; 2], &'a str)>) -> String {
    let mut table = Table::new(&["  name", "as", "what it is"]);
    for (name, sizes, about) in entries {
        let (spec, size) = match sizes {
            [0, _] => (name.to_owned(), String::new()),
            [size, 0] => (format!("{name}:N"), format!("N = {size}")),
            [size, second] => (format!("{name}:NxM"), format!("{size} x {second}")),
        };
        table.push(vec![format!("  {spec}"), size, about.to_owned()]);
    }
    if table.is_empty() {
        return format!("{title}: none yet\n");
    }
    let heading = format!("{title} (a name alone takes the size beside it; another: name:size)");
    format!("{}{}", paragraph(&heading, 2), table.text())
}

fn scene_json(exhibit: &scenes::Exhibit) -> Value {
    let size = (exhibit.size != 0).then_some(exhibit.size);
    json!({ "name": exhibit.name, "size": size, "about": exhibit.about })
}

fn problem_json(exhibit: &Exhibit) -> Value {
    let size = (exhibit.size != 0).then_some(exhibit.size);
    json!({ "name": exhibit.name, "size": size, "about": exhibit.about })
}

fn solvers_text() -> Result<String, SolverError> {
    let mut text = "Solvers (keys with the default first)\n".to_owned();
    for entry in solvers::entries() {
        text.push_str(&paragraph(&format!("  {}: {}", entry.name, entry.about), 4));
        for (key, values) in entry.keys {
            text.push_str(&paragraph(&format!("      {key}={values}"), 8));
        }
    }
    let mut headings = vec!["  laws they fit"];
    headings.extend(EXAMPLES.iter().map(Law::name));
    let mut table = Table::new(&headings);
    for variant in solvers::entries().flat_map(|entry| entry.variants) {
        let mut row = vec![format!("  {variant}")];
        let signs = fits(variant)?.into_iter().map(|fit| match fit {
            Fit::Exact => "exact",
            Fit::Approximate => "≈",
            Fit::No => "no",
        });
        row.extend(signs.map(str::to_owned));
        table.push(row);
    }
    text.push('\n');
    text.push_str(&table.text());
    text.push_str("  ≈ obeys an approximation of the law: a box for a cone, a convex relaxation\n");
    Ok(text)
}

fn solver_json(entry: &Description) -> Result<Value, SolverError> {
    let key = |(key, values): &(&str, &str)| {
        let values: Vec<&str> = values.split('|').collect();
        json!({ "key": key, "default": values.first(), "values": values })
    };
    let mut variants = Vec::new();
    for variant in entry.variants {
        variants.push(json!({ "solver": variant, "laws": laws(variant)? }));
    }
    Ok(json!({
        "name": entry.name,
        "about": entry.about,
        "keys": entry.keys.iter().map(key).collect::<Vec<Value>>(),
        "laws": laws(entry.name)?,
        "variants": variants,
    }))
}

fn laws(spec: &str) -> Result<Value, SolverError> {
    let names = EXAMPLES.iter().map(|law| law.name().to_owned());
    let fits = fits(spec)?.into_iter().map(|fit| json!(fit.name()));
    Ok(Value::Object(names.zip(fits).collect()))
}

/// How a solver treats each of [`EXAMPLES`].
fn fits(spec: &str) -> Result<Vec<Fit>, SolverError> {
    let solver = solvers::make(spec, Stop::default(), 0)?;
    Ok(EXAMPLES.iter().map(|law| solver.fit(law)).collect())
}
