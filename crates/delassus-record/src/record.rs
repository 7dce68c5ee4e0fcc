//! The recordings of a run: trajectory as CSV and as binary, what acts from each frame on, and one line of
//! diagnostics per step.
//!
//! The layout of the binary is given in `crates/delassus/docs/run.md`. No file has a count of frames at its head, so that a run
//! killed at any moment leaves files that can be read up to the last whole frame.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use delassus::math::DVec3;
use delassus::world::Step;
use delassus::{JointId, World};

use crate::census::{self, Census};
use crate::disk::DiskError;
use crate::dynamics::Dynamics;

const MAGIC: &[u8; 8] = b"DELASSUS";
const VERSION: u32 = 1;

/// A file being written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Output, DiskError> {
        let path = folder.join(name);
        match File::create(&path) {
            Ok(file) => Ok(Output {
                file: BufWriter::new(file),
                path,
            }),
            Err(error) => Err(DiskError::denied(&path, "write")(error)),
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        let written = self.file.write_all(bytes);
        self.check(written)
    }

    pub(crate) fn flush(&mut self) -> Result<(), DiskError> {
        let written = self.file.flush();
        self.check(written)
    }

    fn check(&self, written: io::Result<()>) -> Result<(), DiskError> {
        written.map_err(DiskError::denied(&self.path, "write"))
    }
}

/// Files filled while the world is stepped.
#[derive(Debug)]
pub struct Recorder {
    table: Output,
    binary: Output,
    steps: Output,
    accelerations: Output,
    joints: Output,
    dynamics: Dynamics,
    census: Census,
    dt: f64,
    /// Bodies that can move, with their names as CSV.
    bodies: Vec<(usize, String)>,
    names: Vec<String>,
    /// Time of the last frame.
    last: Option<f64>,
    /// What acted in the last step, where there was one.
    before: Option<Action>,
    /// Velocities after it.
    velocities: Vec<(DVec3, DVec3)>,
    /// Time of a frame whose next step has not been taken yet, and the violation of its joints [m or rad].
    open: Option<(f64, Vec<f64>)>,
}

/// What acts during a step: accelerations of the bodies that can move, reactions of the joints.
#[derive(Debug)]
struct Action {
    accelerations: Vec<[DVec3; 2]>,
    reactions: Vec<[DVec3; 2]>,
}

impl Recorder {
    /// Opens all files in a folder and writes their heads; dt is the step \[s\].
    pub fn create(folder: &Path, world: &World, dt: f64) -> Result<Recorder, DiskError> {
        let bodies = world.bodies();
        let moving = census::moving(world).into_iter();
        let mut recorder = Recorder {
            table: Output::create(folder, "trajectory.csv")?,
            binary: Output::create(folder, "trajectory.bin")?,
            steps: Output::create(folder, "steps.csv")?,
            accelerations: Output::create(folder, "accelerations.csv")?,
            joints: Output::create(folder, "joints.csv")?,
            dynamics: Dynamics::create(folder, world)?,
            census: Census::of(world),
            dt,
            bodies: moving.map(|i| (i, quoted(&bodies.name[i]))).collect(),
            names: world.joints().iter().map(|j| quoted(&j.name)).collect(),
            last: None,
            before: None,
            velocities: Vec::new(),
            open: None,
        };
        recorder.velocities = recorder.velocities(world);
        recorder
            .accelerations
            .put(b"time,body,ax,ay,az,alphax,alphay,alphaz\n")?;
        recorder
            .joints
            .put(b"time,joint,fx,fy,fz,tx,ty,tz,violation\n")?;
        recorder
            .table
            .put(b"time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n")?;
        recorder.steps.put(
            b"step,time,status,iterations,law,penetration,violation,kinetic,potential,contacts,\
              collide_ms,assemble_ms,solve_ms,integrate_ms\n",
        )?;
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend((recorder.bodies.len() as u32).to_le_bytes());
        head.extend(dt.to_le_bytes());
        for &(i, _) in &recorder.bodies {
            let name = bodies.name[i].as_bytes();
            head.extend((name.len() as u32).to_le_bytes());
            head.extend(name);
        }
        recorder.binary.put(&head)?;
        Ok(recorder)
    }

    /// Adds the world as it is, once.
    pub fn frame(&mut self, world: &World) -> Result<(), DiskError> {
        self.census.check(world)?;
        let time = world.time();
        if self.last == Some(time) {
            return Ok(());
        }
        self.last = Some(time);
        let bodies = world.bodies();
        let (mut text, mut bytes) = (String::new(), time.to_le_bytes().to_vec());
        for (i, name) in &self.bodies {
            let (x, q) = (bodies.position[*i], bodies.orientation[*i]);
            let pose = [x.x, x.y, x.z, q.w, q.x, q.y, q.z];
            let (v, w) = (bodies.velocity[*i].to_array(), bodies.spin[*i].to_array());
            text.push_str(&number(time));
            text.push(',');
            text.push_str(name);
            for value in pose.into_iter().chain(v).chain(w) {
                text.push(',');
                text.push_str(&number(value));
            }
            text.push('\n');
            bytes.extend(pose.into_iter().flat_map(f64::to_le_bytes));
        }
        let violations = world.joints().iter().map(|joint| joint.violation(bodies));
        self.open = Some((time, violations.collect()));
        self.table.put(text.as_bytes())?;
        self.binary.put(&bytes)?;
        self.dynamics.frame(world)
    }

    fn velocities(&self, world: &World) -> Vec<(DVec3, DVec3)> {
        let bodies = world.bodies();
        let moving = self.bodies.iter();
        moving
            .map(|(i, _)| (bodies.velocity[*i], bodies.spin[*i]))
            .collect()
    }

    /// Adds what acts at a frame once the step after it has been taken: the mean of the two steps that meet there.
    pub fn acted(&mut self, world: &World) -> Result<(), DiskError> {
        self.census.check(world)?;
        let velocities = self.velocities(world);
        let change = velocities.iter().zip(&self.velocities);
        let reaction = |j: usize| {
            let reaction = world.reaction(JointId(j as u32));
            [reaction.force, reaction.torque]
        };
        let now = Action {
            accelerations: change
                .map(|(new, old)| [(new.0 - old.0) / self.dt, (new.1 - old.1) / self.dt])
                .collect(),
            reactions: (0..self.names.len()).map(reaction).collect(),
        };
        self.velocities = velocities;
        if let Some(frame) = self.open.take() {
            let before = self.before.take();
            self.put_action(frame, before.as_ref().unwrap_or(&now), &now)?;
        }
        self.before = Some(now);
        Ok(())
    }

    /// Writes the mean of two steps.
    fn put_action(
        &mut self,
        (time, violations): (f64, Vec<f64>),
        first: &Action,
        second: &Action,
    ) -> Result<(), DiskError> {
        let time = number(time);
        let mut text = String::new();
        let steps = first.accelerations.iter().zip(&second.accelerations);
        for ((_, name), (a, b)) in self.bodies.iter().zip(steps) {
            text.push_str(&format!("{time},{name}"));
            push_mean(&mut text, a, b);
            text.push('\n');
        }
        self.accelerations.put(text.as_bytes())?;
        text.clear();
        let steps = first.reactions.iter().zip(&second.reactions);
        for ((name, (a, b)), violation) in self.names.iter().zip(steps).zip(violations) {
            text.push_str(&format!("{time},{name}"));
            push_mean(&mut text, a, b);
            text.push_str(&format!(",{}\n", number(violation)));
        }
        self.joints.put(text.as_bytes())
    }

    /// Adds one line of diagnostics.
    pub fn step(&mut self, step: u64, time: f64, done: &Step) -> Result<(), DiskError> {
        let report = &done.report;
        // The report is that of the last substep; an earlier one may have failed.
        let status = match (report.status.name(), done.unsolved) {
            ("solved", 1..) => "partly-solved",
            (name, _) => name,
        };
        let mut line = format!("{step},{},{status},{}", number(time), report.iterations);
        let quality = [report.residual.law, done.penetration, done.violation];
        let energy = [done.probe.kinetic, done.probe.potential];
        for value in quality.into_iter().chain(energy) {
            line.push(',');
            line.push_str(&number(value));
        }
        line.push_str(&format!(",{}", done.contacts));
        let clock = &done.clock;
        for seconds in [clock.collide, clock.assemble, clock.solve, clock.integrate] {
            line.push_str(&format!(",{:.4}", 1e3 * seconds));
        }
        line.push('\n');
        self.steps.put(line.as_bytes())
    }

    /// Ends the recordings: no step follows the last frame.
    pub fn close(&mut self) -> Result<(), DiskError> {
        if let (Some(frame), Some(last)) = (self.open.take(), self.before.take()) {
            self.put_action(frame, &last, &last)?;
        }
        self.flush()
    }

    /// Writes out what is still in memory.
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.table.flush()?;
        self.binary.flush()?;
        self.accelerations.flush()?;
        self.joints.flush()?;
        self.dynamics.flush()?;
        self.steps.flush()
    }
}

/// Adds the means of two pairs of vectors, each number behind a comma.
fn push_mean(text: &mut String, a: &[DVec3; 2], b: &[DVec3; 2]) {
    for value in (0..2).flat_map(|i| (0.5 * (a[i] + b[i])).to_array()) {
        text.push(',');
        text.push_str(&number(value));
    }
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-4..1e15).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// A name as a CSV field.
pub(crate) fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_the_same_bits() {
        for x in [0.0, -0.0, 1.0 / 3.0, 1e-300, -2.5e-5, 1e22, f64::MAX] {
            let back: f64 = number(x).parse().unwrap();
            assert_eq!(back.to_bits(), x.to_bits());
        }
    }

    #[test]
    fn odd_names_are_one_field() {
        assert_eq!(quoted("ball"), "ball");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
