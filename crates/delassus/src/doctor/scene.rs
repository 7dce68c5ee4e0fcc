//! What a few steps of a scene tell: overlaps, speeds, refused and unsolved steps, and what its problems tell.

use super::problem::{looked_at, structure};
use super::setting::setting;
use super::{Diagnosis, Finding, FindingKind, LookedAt, Severity};
use crate::collide::Shape;
use crate::problem::stabilise::Stabilise;
use crate::solver::Solver;
use crate::solver::auto::{Choice, TABLE, choose};
use crate::world::RunDefaults;
use crate::world::{MovedBy, StepError, World};

/// Share of a body's thickness by which it may overlap another at the start.
const TOUCHING: f64 = 0.01;
/// Share of a body's thickness beyond which it may be pushed out on the wrong side.
const HALFWAY: f64 = 0.5;
/// Overlaps are mended at no more than this speed \[m/s\].
const MENDING: f64 = 1.0;
/// Share of a body's thickness that it may move in a step.
const STRIDE: f64 = 1.0;
/// Angle that a body may turn by in a step \[rad\].
const TURN: f64 = 1.0;

/// Makes some steps of a scene with its own solver and says what is wrong.
pub fn of_scene(
    world: &mut World,
    run: &RunDefaults,
    solver: &mut dyn Solver,
    steps: usize,
) -> Diagnosis {
    let mut patient = Patient {
        part: run.dt / f64::from(world.settings.substeps.max(1)),
        thickness: thickness(world),
        tolerance: run.tolerance,
        findings: setting(world),
        looked_at: LookedAt::default(),
        choice: None,
    };
    let mut unsolved = Vec::new();
    let mut done = 0;
    for number in 1..=steps {
        patient.speeds(world);
        if number == 1 {
            patient.problem(world);
        }
        match world.step(run.dt, solver) {
            Ok(step) => {
                patient.overlaps(world, number == 1);
                done = number;
                if 0 < step.unsolved {
                    let place = step.worst.map(|key| world.describe(key));
                    let at = place.map_or_else(String::new, |place| format!(" at {place}"));
                    let status = step.report.status.name();
                    unsolved.push((
                        step.report.residual.law,
                        format!("step {number}: {status}{at}"),
                    ));
                }
            }
            Err(error) => {
                patient.refused(number, &error);
                break;
            }
        }
    }
    // Contacts come up and mechanisms reach other poses on the way.
    patient.problem(world);
    patient.unsolved(unsolved, done);
    let looked_at = LookedAt {
        steps: done,
        ..patient.looked_at
    };
    // Where nothing can be assembled there is nothing to solve: the first line of the table.
    let choice = patient.choice.unwrap_or(TABLE[0]);
    Diagnosis::new(patient.findings, looked_at, choice)
}

/// What is gathered while the scene is stepped.
struct Patient {
    /// Length of a substep \[s\].
    part: f64,
    /// Half the smallest extent of each body's shapes \[m\]; infinite for those without an end.
    thickness: Vec<f64>,
    tolerance: f64,
    findings: Vec<Finding>,
    looked_at: LookedAt,
    choice: Option<Choice>,
}

impl Patient {
    /// Looks at the problem of the next substep, if it is the largest so far.
    fn problem(&mut self, world: &mut World) {
        let Ok(names) = world.block_names(self.part) else {
            return;
        };
        let Ok((problem, _)) = world.problem(self.part) else {
            return;
        };
        let size = looked_at(&problem);
        self.findings.extend(structure(&problem, Some(&names)));
        if self.choice.is_none() || self.looked_at.rows < size.rows {
            self.looked_at = size;
            self.choice = Some(choose(&problem, self.tolerance));
        }
    }

    /// Distance and angle per substep, against the size of the body.
    fn speeds(&mut self, world: &World) {
        let bodies = world.bodies();
        let (mut far, mut turned) = (Vec::new(), Vec::new());
        for i in 0..bodies.len() {
            if bodies.motion[i] == MovedBy::Static {
                continue;
            }
            let stride = bodies.velocity[i].length() * self.part / self.thickness[i];
            let turn = bodies.spin[i].length() * self.part;
            let place = format!("body \"{}\"", bodies.name[i]);
            if STRIDE < stride {
                far.push((stride, place));
            } else if TURN < turn {
                turned.push((turn, place));
            }
        }
        let remedy = "shorten the step or take more substeps, so that nothing moves by more than its own half thickness";
        if let Some((worst, places)) = sorted(far) {
            let what = format!(
                "{} moves by {worst:.1} times its half thickness in a step: what it meets is found late",
                places[0]
            );
            let number = (worst, "distance in a step over half the thickness");
            let kind = (Severity::Warning, FindingKind::Fast);
            self.findings
                .push(Finding::new(kind, number, places, (what, remedy)));
        }
        if let Some((worst, places)) = sorted(turned) {
            let what = format!(
                "{} turns by {worst:.1} rad in a step: its axes are known only before and after",
                places[0]
            );
            let remedy = "shorten the step or take more substeps, so that nothing turns by more than a fraction of a radian";
            let number = (worst, "angle in a step [rad]");
            let kind = (Severity::Warning, FindingKind::Fast);
            self.findings
                .push(Finding::new(kind, number, places, (what, remedy)));
        }
    }

    /// Contacts that begin or end up inside each other.
    fn overlaps(&mut self, world: &World, start: bool) {
        let settings = &world.settings;
        let spook = Stabilise::Spook {
            compliance: settings.contact_compliance,
            damping: settings.contact_damping * self.part,
        };
        // What a step mends grows with the overlap up to this one; beyond it bodies part no faster.
        let most = MENDING * self.part / spook.coefficients(self.part).e;
        let (mut deep, mut overlapping) = (Vec::new(), Vec::new());
        for touch in world.touches() {
            let (a, b) = touch.point.bodies;
            let depth = -touch.point.gap;
            let thin = self.thickness[a].min(self.thickness[b]);
            let names = &world.bodies().name;
            let place = format!("contact of \"{}\" and \"{}\"", names[a], names[b]);
            if most.min(HALFWAY * thin) < depth {
                deep.push((depth, place));
            } else if start && TOUCHING * thin < depth {
                overlapping.push((depth, place));
            }
        }
        if let Some((worst, places)) = sorted(deep) {
            let steps = (worst / (MENDING * self.part)).ceil();
            let what = format!(
                "{} is {worst:.2e} m deep, more than a step can mend: it takes {steps:.0} steps or more, or ends on the wrong side",
                places[0]
            );
            let remedy =
                "move the bodies apart at the start, shorten the step, or make thin bodies thicker";
            let kind = (Severity::Error, FindingKind::Deep);
            let number = (worst, "depth [m]");
            self.findings
                .push(Finding::new(kind, number, places, (what, remedy)));
        }
        if let Some((worst, places)) = sorted(overlapping) {
            let what = format!(
                "{} overlaps by {worst:.2e} m at the start: the bodies are pushed apart in the first steps, which adds energy",
                places[0]
            );
            let remedy = "move them apart until they touch, or keep them from colliding if they belong together";
            let kind = (Severity::Warning, FindingKind::Overlap);
            let number = (worst, "depth [m]");
            self.findings
                .push(Finding::new(kind, number, places, (what, remedy)));
        }
    }

    fn refused(&mut self, number: usize, error: &StepError) {
        let places = match error {
            StepError::NotFinite { body, row, .. } => vec![format!("body \"{body}\""), row.clone()],
            _ => Vec::new(),
        };
        let what = format!("step {number} is refused: {error}");
        let remedy = "shorten the step, and look for forces, masses or speeds of the wrong unit";
        let kind = (Severity::Error, FindingKind::Refused);
        let finding = Finding::new(kind, (number as f64, "step"), places, (what, remedy));
        self.findings.push(finding);
    }

    /// Steps that the scene's own solver did not bring to the scene's tolerance.
    fn unsolved(&mut self, unsolved: Vec<(f64, String)>, steps: usize) {
        if unsolved.is_empty() {
            return;
        }
        let worst = unsolved.iter().map(|(law, _)| *law).fold(0.0, f64::max);
        let what = format!(
            "{} of {steps} steps do not reach {:e} m/s; {worst:.1e} m/s are left at worst",
            unsolved.len(),
            self.tolerance
        );
        let remedy =
            "take the solver named below, allow more iterations, or ask for a coarser tolerance";
        self.findings.push(Finding::new(
            (Severity::Warning, FindingKind::Unsolved),
            (worst, "law residual [m/s]"),
            unsolved.into_iter().map(|(_, place)| place).collect(),
            (what, remedy),
        ));
    }
}

/// The largest number, and all places by it; none where there are none.
fn sorted(mut list: Vec<(f64, String)>) -> Option<(f64, Vec<String>)> {
    list.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst = list.first()?.0;
    let mut places: Vec<String> = Vec::new();
    for (_, place) in list {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Some((worst, places))
}

/// Half the smallest extent of each body; infinite for one without shapes or without an end.
fn thickness(world: &World) -> Vec<f64> {
    let mut thickness = vec![f64::INFINITY; world.bodies().len()];
    for collider in world.colliders() {
        if let Some(size) = thickness.get_mut(collider.body) {
            *size = size.min(half(&collider.shape));
        }
    }
    thickness
}

/// Half the smallest extent of a shape \[m\].
fn half(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
        Shape::Box { half } => half.iter().copied().fold(f64::INFINITY, f64::min),
        Shape::Cylinder {
            half_length,
            radius,
        } => half_length.min(*radius),
        Shape::Hull { points } => (0..3)
            .map(|axis| {
                let values = points.iter().map(|point| point[axis]);
                let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
                    (a.min(x), b.max(x))
                });
                0.5 * (most - least)
            })
            .fold(f64::INFINITY, f64::min),
        Shape::HalfSpace | Shape::Mesh { .. } | Shape::HeightField { .. } => f64::INFINITY,
    }
}
