//! `delassus info`: what a robot file holds: links, joints, masses, loops, and what of it is not used.

use std::path::Path;

use delassus::LinkId;
use delassus::math::DVec3;
use delassus::model::robot::{self, Base, Loss, Options, RobotFile};
use delassus::tree::{Tree, TreeError};
use delassus::world::{ClosureKind, RobotModel, SensorKind};
use serde::Serialize;

use crate::args::{BaseChoice, InfoArgs};
use crate::console::{Outcome, Printed};
use crate::input;
use crate::refusal::Refusal;
use crate::table::{self, Table};

/// Deepest link that is indented by its depth.
const DEEPEST: usize = 20;

/// A robot as JSON, schema `delassus-info-1`.
#[derive(Debug, Serialize)]
struct Info<'a> {
    schema: &'static str,
    file: String,
    format: &'static str,
    name: &'a str,
    n_links: usize,
    n_coordinates: usize,
    n_dofs: usize,
    mass: f64,
    links: Vec<LinkInfo<'a>>,
    closures: Vec<ClosureInfo<'a>>,
    keyframes: Vec<&'a str>,
    sensors: Vec<SensorInfo<'a>>,
    warnings: Vec<WarningInfo<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamics: Option<Dynamics>,
}

/// A state away from that of the file, and what follows from it; springs, dampers and drives left out.
#[derive(Debug, Serialize)]
struct Dynamics {
    q: Vec<f64>,
    v: Vec<f64>,
    mass_matrix: Vec<f64>,
    bias: Vec<f64>,
    centre_of_mass: [f64; 3],
}

/// A sensor that can be mounted.
#[derive(Debug, Serialize)]
struct SensorInfo<'a> {
    name: &'a str,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct LinkInfo<'a> {
    name: &'a str,
    /// Position in the list; null is the ground.
    parent: Option<u32>,
    joint: &'static str,
    joint_name: Option<&'a str>,
    dofs: usize,
    mass: f64,
    range: Option<[f64; 2]>,
    effort: Option<f64>,
    velocity: Option<f64>,
    damping: f64,
    friction: f64,
    armature: f64,
}

#[derive(Debug, Serialize)]
struct ClosureInfo<'a> {
    name: &'a str,
    kind: &'static str,
    rows: usize,
}

#[derive(Debug, Serialize)]
struct WarningInfo<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
    lost: bool,
}

/// Reads and describes one robot.
pub(crate) fn run(args: &InfoArgs) -> Result<Printed, Refusal> {
    let name = input::name(&args.file);
    let text = input::read_text(&args.file)?;
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let base = match args.base {
        BaseChoice::Fixed => Base::Fixed,
        BaseChoice::Floating => Base::Floating,
    };
    let loss = if args.lossy {
        Loss::Allow
    } else {
        Loss::Refuse
    };
    let read = robot::parse(&text, &name, Some(folder), Options { base, loss })?;
    let mut info = describe(name.clone(), &read);
    if args.dynamics {
        let found = dynamics(&read.robot);
        let found = found.map_err(|cause| Refusal::Dynamics { name, cause })?;
        info.dynamics = Some(found);
    }
    let text = if args.json {
        serde_json::to_string(&info).expect("plain data has a JSON form") + "\n"
    } else {
        readable(&info)
    };
    Ok(Printed {
        text,
        outcome: Outcome::Solved,
    })
}

fn describe(file: String, read: &RobotFile) -> Info<'_> {
    let robot = &read.robot;
    let tree = &robot.tree;
    let link = |(i, link): (usize, &'_ delassus::tree::Link)| {
        let joint = robot
            .joints
            .iter()
            .find(|joint| joint.link == LinkId(i as u32));
        (i, link.parent, joint)
    };
    let links = tree.links().iter().enumerate().map(|entry| {
        let (i, parent, joint) = link(entry);
        let link = &tree.links()[i];
        LinkInfo {
            name: &link.name,
            parent: parent.map(|parent| parent.0),
            joint: link.joint.name(),
            joint_name: joint.map(|joint| joint.name.as_str()),
            dofs: link.joint.dofs(),
            mass: link.body.mass,
            range: joint.and_then(|joint| joint.range),
            effort: joint.and_then(|joint| joint.effort),
            velocity: joint.and_then(|joint| joint.speed),
            damping: link.damping,
            friction: joint.map_or(0.0, |joint| joint.friction),
            armature: link.armature,
        }
    });
    let closures = robot.closures.iter().map(|closure| ClosureInfo {
        name: &closure.name,
        kind: match closure.kind {
            ClosureKind::Connect { .. } => "connect",
            ClosureKind::Weld { .. } => "weld",
            ClosureKind::Joint { .. } => "joint",
            ClosureKind::Sums { .. } => "tendon",
            _ => "other",
        },
        rows: closure.kind.n_rows(),
    });
    let warnings = read.warnings.iter().map(|warning| WarningInfo {
        file: &warning.file,
        line: warning.line,
        text: &warning.text,
        lost: warning.lost,
    });
    let keyframes = robot.keyframes.iter().map(|key| key.name.as_str());
    let sensors = robot.sensors.iter().map(|sensor| SensorInfo {
        name: &sensor.name,
        kind: match sensor.kind {
            SensorKind::Imu { .. } => "imu",
            SensorKind::Frame { .. } => "frame",
            SensorKind::Joint(_) => "joint",
            SensorKind::Distance { .. } => "distance",
            _ => "other",
        },
    });
    Info {
        schema: "delassus-info-1",
        file,
        format: read.format,
        name: &robot.name,
        n_links: tree.links().len(),
        n_coordinates: tree.n_coordinates(),
        n_dofs: tree.n_dofs(),
        mass: tree.mass(),
        links: links.collect(),
        closures: closures.collect(),
        keyframes: keyframes.collect(),
        sensors: sensors.collect(),
        warnings: warnings.collect(),
        dynamics: None,
    }
}

/// Mass matrix, bias forces and centre of mass of a robot that is displaced by 0.4 cos(k + 1) along its k-th velocity
/// and moves with 0.3 sin(k + 1).
fn dynamics(robot: &RobotModel) -> Result<Dynamics, TreeError> {
    let mut links = robot.tree.links().to_vec();
    links.iter_mut().for_each(|link| link.damping = 0.0);
    let tree = Tree::new(links)?;
    let n = tree.n_dofs();
    let along = |k: usize| (k + 1) as f64;
    let step: Vec<f64> = (0..n).map(|k| 0.4 * along(k).cos()).collect();
    let v: Vec<f64> = (0..n).map(|k| 0.3 * along(k).sin()).collect();
    let (mut q, mut data) = (tree.neutral(), tree.data());
    tree.integrate(&mut q, &step, 1.0)?;
    let (mut mass_matrix, mut bias) = (vec![0.0; n * n], vec![0.0; n]);
    let gravity = robot.gravity.unwrap_or(-9.81 * DVec3::Z);
    tree.mass_matrix(&mut data, &q, &mut mass_matrix)?;
    tree.bias(&mut data, (&q, &v), gravity, &mut bias)?;
    tree.kinematics(&q, &mut data)?;
    // Of everything, what does not move included.
    let (mut mass, mut first) = (0.0, DVec3::ZERO);
    for (i, link) in tree.links().iter().enumerate() {
        let pose = tree.pose(&data, LinkId(i as u32))?;
        mass += link.body.mass;
        first += link.body.mass * pose.point(link.body.com);
    }
    let centre_of_mass = (first / mass.max(f64::MIN_POSITIVE)).to_array();
    Ok(Dynamics {
        q,
        v,
        mass_matrix,
        bias,
        centre_of_mass,
    })
}

/// The tree as a table, indented by depth, then loops and warnings.
fn readable(info: &Info<'_>) -> String {
    let mut text = format!(
        "{} ({}): {} links, {} dofs, {} kg\n\n",
        info.name,
        info.format,
        info.n_links,
        info.n_dofs,
        table::number(info.mass)
    );
    let mut table = Table::new(&["link", "joint", "type", ">dofs", ">mass [kg]", "range"]);
    let depths = depths(info);
    for (i, link) in info.links.iter().enumerate() {
        let indent = indent(depths[i]);
        let range = link.range.map_or_else(String::new, |[lo, hi]| {
            format!("{} … {}", table::number(lo), table::number(hi))
        });
        table.push(vec![
            format!("{indent}{}", link.name),
            link.joint_name.unwrap_or("").to_owned(),
            link.joint.to_owned(),
            link.dofs.to_string(),
            table::number(link.mass),
            range,
        ]);
    }
    text.push_str(&table.text());
    for closure in &info.closures {
        let (name, kind, rows) = (closure.name, closure.kind, closure.rows);
        text.push_str(&format!("\nloop closed by {kind} \"{name}\", {rows} rows"));
    }
    if !info.closures.is_empty() {
        text.push('\n');
    }
    if !info.keyframes.is_empty() {
        let names: Vec<String> = info.keyframes.iter().map(|k| format!("\"{k}\"")).collect();
        text.push_str(&format!("\nkeyframes: {}\n", names.join(", ")));
    }
    if !info.sensors.is_empty() {
        let shown = |sensor: &SensorInfo| format!("{} \"{}\"", sensor.kind, sensor.name);
        let names: Vec<String> = info.sensors.iter().map(shown).collect();
        text.push_str(&format!("\nsensors: {}\n", names.join(", ")));
    }
    for warning in &info.warnings {
        let (file, line) = (warning.file, warning.line);
        let kind = if warning.lost { "left out" } else { "note" };
        text.push_str(&format!("\n{kind}: {file}:{line}: {}", warning.text));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Two spaces for each link between a link and the ground, and beyond a screen's worth their number: the table is padded
/// to its widest line.
fn indent(depth: usize) -> String {
    match depth <= DEEPEST {
        true => "  ".repeat(depth),
        false => format!("{}({depth} deep) ", "  ".repeat(DEEPEST)),
    }
}

/// Links between each link and the ground, whatever the order they stand in; the tree has no cycle.
fn depths(info: &Info<'_>) -> Vec<usize> {
    let mut depths: Vec<Option<usize>> = vec![None; info.links.len()];
    for start in 0..info.links.len() {
        // Up to a link whose depth is known, or to the ground, and back down.
        let (mut path, mut next) = (Vec::new(), Some(start));
        while let Some(link) = next.filter(|link| depths[*link].is_none()) {
            path.push(link);
            next = info.links[link].parent.map(|parent| parent as usize);
        }
        let first = next
            .and_then(|link| depths[link])
            .map_or(0, |depth| depth + 1);
        for (link, depth) in path.into_iter().rev().zip(first..) {
            depths[link] = Some(depth);
        }
    }
    depths.into_iter().flatten().collect()
}
