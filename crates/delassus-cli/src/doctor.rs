//! `delassus doctor`: what is wrong with a scene or a problem, printed.

use delassus::Stop;
use delassus::doctor::{Diagnosis, Finding, Severity, of_problem, of_scene};
use delassus::problem::file::FileContent;
use delassus::solver::auto::NAME;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::console::{Outcome, Printed};
use crate::input::{self, InputError};
use crate::refusal::Refusal;
use crate::scene::{Source, is_scene};
use crate::solvers;
use crate::table;

/// Law residual a problem is solved to where none is asked for [m/s].
const TOLERANCE: f64 = 1e-6;

/// The document of `--json`.
#[derive(Debug, Serialize)]
struct Sheet {
    schema: &'static str,
    work: String,
    /// `scene`, or the kind of the file.
    kind: &'static str,
    #[serde(flatten)]
    diagnosis: Diagnosis,
    /// The solver the scene itself asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_solver: Option<String>,
}

/// Looks at what the command line names.
pub(crate) fn run(args: &DoctorArgs) -> Result<Printed, Refusal> {
    let sheet = match is_scene(&args.work) {
        true => scene(args)?,
        false => problem(args)?,
    };
    let outcome = match sheet.diagnosis.worst() {
        None | Some(Severity::Note) => Outcome::Solved,
        _ => Outcome::NotSolved,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&sheet).expect("plain data has a JSON form") + "\n",
        false => sheet.text(),
    };
    Ok(Printed { text, outcome })
}

fn scene(args: &DoctorArgs) -> Result<Sheet, Refusal> {
    let source = Source {
        lossy: args.lossy,
        ..Source::find(&args.work)?
    };
    let mut scene = source.build()?;
    let mut plan = scene.run;
    plan.dt = args.dt.unwrap_or(plan.dt);
    let tolerance = args.tolerance.unwrap_or(plan.tolerance);
    plan.iterations = plan.sweeps_to(tolerance);
    plan.tolerance = tolerance;
    if let Some(solver) = &args.solver {
        plan.solver.clone_from(solver);
    }
    let stop = Stop {
        tolerance: plan.tolerance,
        sweeps: plan.iterations,
        ..Stop::default()
    };
    let mut solver = solvers::make(&plan.solver, stop, 0)?;
    let diagnosis = of_scene(&mut scene.world, &plan, solver.as_mut(), args.steps);
    Ok(Sheet {
        schema: "delassus-doctor-1",
        work: source.name,
        kind: "scene",
        diagnosis,
        own_solver: Some(solvers::label_of(&plan.solver)),
    })
}

fn problem(args: &DoctorArgs) -> Result<Sheet, Refusal> {
    let name = input::name(&args.work);
    let loaded = input::load(&args.work, args.format)?;
    let problem = match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => {
            let kind = loaded.kind;
            return Err(InputError::NothingToLookAt { name, kind }.into());
        }
    };
    let stop = Stop {
        tolerance: args.tolerance.unwrap_or(TOLERANCE),
        ..Stop::default()
    };
    Ok(Sheet {
        schema: "delassus-doctor-1",
        work: name,
        kind: loaded.kind,
        diagnosis: of_problem(&problem, None, stop),
        own_solver: None,
    })
}

impl Sheet {
    fn text(&self) -> String {
        let seen = &self.diagnosis.looked_at;
        let steps = match self.kind {
            "scene" => format!("{} steps, largest problem: ", seen.steps),
            _ => String::new(),
        };
        let mut text = format!(
            "{} ({}; {steps}{} masses, {} blocks, {} rows)\n\n",
            self.work, self.kind, seen.masses, seen.blocks, seen.rows
        );
        for finding in &self.diagnosis.findings {
            text.push_str(&told(finding));
        }
        if self.diagnosis.findings.is_empty() {
            text.push_str("nothing wrong was found\n\n");
        }
        let choice = &self.diagnosis.solver;
        text.push_str(&format!(
            "solver    {NAME} takes {}: {} ({})\n",
            choice.first.solver, choice.why, choice.class
        ));
        if !choice.then.is_empty() {
            let then: Vec<&str> = choice.then.iter().map(|rung| rung.solver).collect();
            let then = then.join(", then ");
            text.push_str(&format!("          where that does not solve: {then}\n"));
        }
        if let Some(own) = self.own_solver.as_ref().filter(|own| *own != NAME) {
            text.push_str(&format!("          the scene is run with {own}\n"));
        }
        text
    }
}

/// A finding in words, one thing per line.
fn told(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let what = format!("{severity:<8}  {}: {}", finding.kind.name(), finding.what);
    let mut text = table::paragraph(&what, 10);
    if !finding.places.is_empty() {
        let more = match finding.count - finding.places.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let places = format!("  where   {}{more}", finding.places.join("; "));
        text.push_str(&table::paragraph(&places, 10));
    }
    let number = table::number(finding.number);
    let number = format!("  number  {}: {number}", finding.unit);
    text.push_str(&table::paragraph(&number, 10));
    let remedy = format!("  remedy  {}", finding.remedy);
    text.push_str(&table::paragraph(&remedy, 10));
    text.push('\n');
    text
}
