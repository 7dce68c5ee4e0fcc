//! One file given to its reader, and what it accepts put to use.

use std::path::Path;
use std::time::Duration;

use delassus::model::robot::{Base, Loss, Options};
use delassus::model::scene::{of_robot, parse};
use delassus::problem::file::{self, FileContent, Format};
use delassus::solver::{Rule, from_spec};
use delassus::world::{Scene, State};
use delassus::{GaussSeidel, Problem, Solution, Solver, Stop};
use delassus_view::{Recording, message};

use super::corpus::{FileFormat, RECORDED};

/// Larger problems and scenes are read, and not solved: there is time for odd ones, not for big ones.
const BLOCKS: usize = 50;
const VELOCITIES: usize = 300;
const BODIES: usize = 30;
/// Longest time that an accepted problem is solved for.
const PATIENCE: Duration = Duration::from_millis(50);

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The reader said what is wrong.
    Refused,
    /// It was read, and used.
    Accepted,
    /// It was read, and using it led to numbers that are not finite.
    NotFinite,
}

fn finite(yes: bool) -> End {
    if yes { End::Accepted } else { End::NotFinite }
}

/// Reads one file; those that are read from a folder are written into this one. `number` chooses among ways to use it.
pub(crate) fn read(
    kind: FileFormat,
    (ending, bytes): (&str, &[u8]),
    folder: &Path,
    number: u64,
) -> std::io::Result<End> {
    let text = std::str::from_utf8(bytes);
    Ok(match kind {
        FileFormat::Json => problem(bytes, Format::Json, number),
        FileFormat::Siconos => {
            let (_, format) = Format::NAMES[2 + number as usize % (Format::NAMES.len() - 2)];
            problem(bytes, format, number)
        }
        FileFormat::Fclib => problem(bytes, Format::Fclib, number),
        FileFormat::Scene => match text.ok().and_then(|text| parse(text).ok()) {
            Some(scene) => step(scene),
            None => End::Refused,
        },
        // Readers of texts are handed texts alone.
        FileFormat::Robot => text.map_or(End::Refused, |text| robot(text, None, number)),
        FileFormat::Mesh => {
            let name = format!("part.{ending}");
            std::fs::write(folder.join(&name), bytes)?;
            robot(&carrier(&name), Some(folder), number)
        }
        FileFormat::Recording => {
            std::fs::write(folder.join(recorded(ending)), bytes)?;
            let Ok(scene) = parse(RECORDED) else {
                return Ok(End::Refused);
            };
            match Recording::open(folder, "recorded", scene) {
                Ok(_) => End::Accepted,
                Err(_) => End::Refused,
            }
        }
        FileFormat::State => state(bytes),
        FileFormat::Message => match text.map(message::parse) {
            Ok(Ok(_)) => End::Accepted,
            Ok(Err(_)) | Err(_) => End::Refused,
        },
    })
}

/// The file of a recording with this ending.
fn recorded(ending: &str) -> &'static str {
    match ending {
        "csv" => "steps.csv",
        _ => "trajectory.bin",
    }
}

/// Puts good files where the reader of others looks for them.
pub(crate) fn prepare(kind: FileFormat, folder: &Path) -> std::io::Result<()> {
    if kind == FileFormat::Recording {
        for sample in kind.corpus() {
            std::fs::write(folder.join(recorded(sample.ending)), &sample.bytes)?;
        }
    }
    Ok(())
}

/// A robot that is made of a mesh, or stands on a picture.
fn carrier(name: &str) -> String {
    let (asset, geom) = match name.ends_with("png") {
        true => (
            format!("<hfield name=\"part\" file=\"{name}\" size=\"2 2 0.3 0.1\"/>"),
            "<geom type=\"hfield\" hfield=\"part\"/>",
        ),
        false => (format!("<mesh name=\"part\" file=\"{name}\"/>"), ""),
    };
    let solid = match name.ends_with("png") {
        true => "<geom type=\"sphere\" size=\"0.1\"/>",
        false => "<geom type=\"mesh\" mesh=\"part\"/>",
    };
    format!(
        "<mujoco><asset>{asset}</asset><worldbody>{geom}<body pos=\"0 0 2\"><freejoint/>{solid}</body></worldbody></mujoco>"
    )
}

fn problem(bytes: &[u8], format: Format, number: u64) -> End {
    let Ok(loaded) = file::parse(bytes, format) else {
        return End::Refused;
    };
    let problem: Problem = match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => return End::Accepted,
    };
    if BLOCKS < problem.blocks().len() || VELOCITIES < problem.n_velocities() {
        return End::Accepted;
    }
    let (_, rule) = Rule::NAMES[number as usize % Rule::NAMES.len()];
    let mut solver: Box<dyn Solver> = Box::new(GaussSeidel {
        stop: Stop {
            sweeps: 12,
            ..Stop::default()
        },
        rule,
        ..GaussSeidel::default()
    });
    if number.is_multiple_of(4) {
        let stop = Stop {
            time: Some(PATIENCE),
            ..Stop::default()
        };
        if let Ok(auto) = from_spec("auto", stop, 0) {
            solver = auto;
        }
    }
    let mut solution = Solution::zeros(&problem);
    let _ = solver.solve(&problem, &mut solution);
    let mut all = solution.v.iter().chain(&solution.lambda);
    finite(all.all(|x| x.is_finite()))
}

fn robot(text: &str, folder: Option<&Path>, number: u64) -> End {
    let options = Options {
        base: match number % 2 {
            0 => Base::Fixed,
            _ => Base::Floating,
        },
        loss: match number / 2 % 2 {
            0 => Loss::Refuse,
            _ => Loss::Allow,
        },
    };
    match of_robot(text, "robot", folder, options) {
        Ok(scene) => step(scene),
        Err(_) => End::Refused,
    }
}

/// Two steps, or as many as are not refused.
fn step(mut scene: Scene) -> End {
    scene.world.settings.substeps = scene.world.settings.substeps.min(2);
    if BODIES < scene.world.bodies().len() {
        return End::Accepted;
    }
    let stop = Stop {
        sweeps: 12,
        time: Some(PATIENCE),
        ..Stop::default()
    };
    let Ok(mut solver) = from_spec(&scene.run.solver, stop, 0) else {
        return End::Refused;
    };
    for _ in 0..2 {
        let stepped = scene.world.step(scene.run.dt, solver.as_mut());
        let bodies = scene.world.bodies();
        let mut all = bodies
            .position
            .iter()
            .chain(&bodies.velocity)
            .chain(&bodies.spin);
        if !all.all(|v| v.is_finite()) {
            return End::NotFinite;
        }
        if stepped.is_err() {
            break;
        }
    }
    End::Accepted
}

fn state(bytes: &[u8]) -> End {
    let (Ok(state), Ok(mut scene)) = (serde_json::from_slice::<State>(bytes), parse(RECORDED))
    else {
        return End::Refused;
    };
    match scene.world.restore(&state) {
        Ok(()) => step(scene),
        Err(_) => End::Refused,
    }
}
