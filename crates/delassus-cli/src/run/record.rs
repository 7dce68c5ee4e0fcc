//! The recordings of a run: trajectory as CSV and as binary, and one line of diagnostics per step.
//!
//! The layout of the binary is given in `docs/run.md`. No file has a count of frames at its head, so that a run
//! killed at any moment leaves files that can be read up to the last whole frame.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use delassus::World;
use delassus::world::{Motion, Step};

use crate::console::Refusal;

const MAGIC: &[u8; 8] = b"DELASSUS";
const VERSION: u32 = 1;

/// A file being written.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    fn create(folder: &Path, name: &str) -> Result<Output, Refusal> {
        let path = folder.join(name);
        match File::create(&path) {
            Ok(file) => Ok(Output {
                file: BufWriter::new(file),
                path,
            }),
            Err(error) => Err(Refusal::io(&path, "write", &error)),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let written = self.file.write_all(bytes);
        self.check(written)
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        let written = self.file.flush();
        self.check(written)
    }

    fn check(&self, written: io::Result<()>) -> Result<(), Refusal> {
        written.map_err(|error| Refusal::io(&self.path, "write", &error))
    }
}

/// Files filled while the world is stepped.
#[derive(Debug)]
pub(super) struct Recorder {
    table: Output,
    binary: Output,
    steps: Output,
    /// Bodies that can move, with their names as CSV.
    bodies: Vec<(usize, String)>,
    /// Time of the last frame.
    last: Option<f64>,
}

impl Recorder {
    pub(super) fn create(folder: &Path, world: &World, dt: f64) -> Result<Recorder, Refusal> {
        let bodies = world.bodies();
        let moving = (0..bodies.len()).filter(|&i| bodies.motion[i] != Motion::Static);
        let mut recorder = Recorder {
            table: Output::create(folder, "trajectory.csv")?,
            binary: Output::create(folder, "trajectory.bin")?,
            steps: Output::create(folder, "steps.csv")?,
            bodies: moving.map(|i| (i, quoted(&bodies.name[i]))).collect(),
            last: None,
        };
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
    pub(super) fn frame(&mut self, world: &World) -> Result<(), Refusal> {
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
        self.table.put(text.as_bytes())?;
        self.binary.put(&bytes)
    }

    /// Adds one line of diagnostics.
    pub(super) fn step(&mut self, step: u64, time: f64, done: &Step) -> Result<(), Refusal> {
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

    /// Writes out what is still in memory.
    pub(super) fn flush(&mut self) -> Result<(), Refusal> {
        self.table.flush()?;
        self.binary.flush()?;
        self.steps.flush()
    }
}

/// The shortest text that reads back as the same number.
fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-4..1e15).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// A name as a CSV field.
fn quoted(name: &str) -> String {
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
