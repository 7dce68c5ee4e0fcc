//! Recorded runs: the files that `delassus run --out` leaves behind, read frame by frame.

mod dynamics;
mod shown;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use delassus::World;
use delassus::problem::file::limit;
use delassus::world::Scene;
use serde::Serialize;

use crate::geometry::moving;
use crate::numbers::Sample;
use dynamics::{Acting, Dynamics};
pub(crate) use shown::ReplayHead;

const MAGIC: &[u8; 8] = b"DELASSUS";
const VERSION: u32 = 1;
/// Longest name of a body in a recording, in bytes.
const MOST_NAME: u32 = 4096;
/// Points of the plots.
const MOST_SAMPLES: usize = 4000;

/// Why a recording cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file that cannot be read.
    #[error("{path}: cannot be read: {error}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file that is not what it should be.
    #[error("{path}: {what}")]
    Bad {
        /// Which file.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
}

/// A recorded run, opened.
#[derive(Debug)]
pub struct Recording {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) world: World,
    path: PathBuf,
    file: BufReader<File>,
    /// First byte of the first frame, and bytes of a frame.
    start: u64,
    stride: u64,
    /// Time of each frame \[s\].
    pub(crate) times: Vec<f64>,
    /// For each body of the world that moves: its place in a frame.
    places: Vec<usize>,
    samples: Vec<Sample>,
    dynamics: Option<Dynamics>,
    /// Why velocities and forces are not shown though there is a file with them.
    unread: Option<RecordingError>,
    /// What moves and pushes at the frame that is shown, where that was recorded.
    pub(crate) acting: Option<Acting>,
}

/// What the page is told once about a recording.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tape {
    frames: usize,
    duration: f64,
    samples: Vec<Sample>,
}

impl Tape {
    /// Nothing but the frame that is shown.
    pub(crate) fn of_one_frame() -> Tape {
        Tape {
            frames: 1,
            duration: 0.0,
            samples: Vec::new(),
        }
    }
}

impl Recording {
    /// Opens the recording in a folder; the scene is the one that was run.
    pub fn open(folder: &Path, name: &str, scene: Scene) -> Result<Recording, RecordingError> {
        let path = folder.join("trajectory.bin");
        let io = |error| RecordingError::Io {
            path: path.clone(),
            error,
        };
        let bad = |what: &str| RecordingError::Bad {
            path: path.clone(),
            what: what.to_owned(),
        };
        let file = File::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut file = BufReader::new(file);
        let mut head = [0; 24];
        file.read_exact(&mut head)
            .map_err(|_| bad("is not a trajectory: it has no head"))?;
        if &head[..8] != MAGIC || head[8..12] != VERSION.to_le_bytes() {
            return Err(bad("is not a trajectory of version 1"));
        }
        let count = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        let wanted = moving(&scene.world);
        if count != wanted.len() {
            return Err(bad(&format!(
                "has {count} bodies where the scene {name} has {}; it was recorded from another scene",
                wanted.len()
            )));
        }
        let mut known = HashMap::with_capacity(count);
        for place in 0..count {
            let name = read_name(&mut file).map_err(|_| bad("is cut off within its head"))?;
            known.insert(name, place);
        }
        let names = &scene.world.bodies().name;
        let places = wanted.iter().map(|&i| known.get(&names[i]).copied());
        let places: Option<Vec<usize>> = places.collect();
        let Some(places) = places else {
            return Err(bad(&format!("names bodies that {name} does not have")));
        };
        let start = file.stream_position().map_err(io)?;
        let stride = 8 + 56 * count as u64;
        // A rest shorter than a frame is what a killed run left behind.
        let frames = size.saturating_sub(start) / stride;
        let mut times = Vec::new();
        for frame in 0..frames {
            file.seek(SeekFrom::Start(start + frame * stride))
                .map_err(io)?;
            let mut time = [0; 8];
            file.read_exact(&mut time).map_err(io)?;
            times.push(f64::from_le_bytes(time));
        }
        if times.is_empty() || !times.is_sorted() {
            return Err(bad("has no frames, or times that go backwards"));
        }
        let (dynamics, unread) = match Dynamics::open(&folder.join("dynamics.bin"), &scene.world) {
            Ok(dynamics) => (dynamics, None),
            Err(error) => (None, Some(error)),
        };
        Ok(Recording {
            dynamics,
            unread,
            acting: None,
            name: name.to_owned(),
            title: scene.title,
            world: scene.world,
            file,
            start,
            stride,
            times,
            places,
            samples: samples(&folder.join("steps.csv")),
            path,
        })
    }

    /// What is wrong with the file of velocities and forces, where there is one and it cannot be shown.
    pub fn unread(&self) -> Option<&RecordingError> {
        self.unread.as_ref()
    }

    /// Puts the bodies of the world where they were in a frame.
    pub(crate) fn show(&mut self, frame: usize) -> Result<(), RecordingError> {
        let at = self.start + frame as u64 * self.stride + 8;
        let mut bytes = vec![0; self.stride as usize - 8];
        let read = self.file.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| RecordingError::Io {
            path: self.path.clone(),
            error,
        })?;
        let numbers = bytes.as_chunks::<8>().0.iter();
        let numbers: Vec<f64> = numbers.map(|eight| f64::from_le_bytes(*eight)).collect();
        if !numbers.iter().all(|x| x.is_finite()) {
            return Err(RecordingError::Bad {
                path: self.path.clone(),
                what: format!("frame {frame} has numbers that are not finite"),
            });
        }
        let moving = moving(&self.world);
        let dynamics = self.dynamics.as_mut();
        self.acting = dynamics.and_then(|file| file.frame(frame, &self.world));
        let bodies = self.world.bodies_mut();
        if let Some(acting) = &self.acting {
            for (&i, [velocity, spin]) in moving.iter().zip(&acting.velocities) {
                (bodies.velocity[i], bodies.spin[i]) = (*velocity, *spin);
            }
        }
        for (i, place) in moving.into_iter().zip(&self.places) {
            let pose = &numbers[7 * place..7 * place + 7];
            bodies.position[i] = glam::DVec3::from_slice(pose);
            bodies.orientation[i] = glam::DQuat::from_xyzw(pose[4], pose[5], pose[6], pose[3]);
        }
        Ok(())
    }

    pub(crate) fn tape(&self) -> Tape {
        Tape {
            frames: self.times.len(),
            duration: self.times.last().copied().unwrap_or(0.0),
            samples: self.samples.clone(),
        }
    }
}

fn read_name(file: &mut impl Read) -> io::Result<String> {
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if MOST_NAME < length {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut name = vec![0; length as usize];
    file.read_exact(&mut name)?;
    String::from_utf8(name).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The lines of `steps.csv` that the plots need; none where there is no such file.
fn samples(path: &Path) -> Vec<Sample> {
    let text = limit::read_text(path).unwrap_or_default();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let sample = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |name: &str| -> Option<f64> {
            let at = columns.iter().position(|column| *column == name)?;
            fields.get(at)?.parse().ok()
        };
        let phases = ["collide_ms", "assemble_ms", "solve_ms", "integrate_ms"];
        Some(Sample {
            step: number("step")? as u64,
            time: number("time")?,
            law: number("law")?,
            penetration: number("penetration")?,
            kinetic: number("kinetic")?,
            potential: number("potential")?,
            ms: phases.iter().filter_map(|phase| number(phase)).sum(),
            iterations: number("iterations")? as u64,
        })
    };
    let samples: Vec<Sample> = lines.filter_map(sample).collect();
    let stride = samples.len().div_ceil(MOST_SAMPLES).max(1);
    samples.into_iter().step_by(stride).collect()
}
