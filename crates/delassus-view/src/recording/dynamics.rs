//! Velocities, joints of robots and forces of a recorded run: the file `dynamics.bin`, read frame by frame.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use delassus::World;
use glam::DVec3;

use super::{RecordingError, read_name};
use crate::geometry::moving;

const MAGIC: &[u8; 8] = b"DELASSUD";
const VERSION: u32 = 1;
/// Bytes of a contact: two bodies, point, normal, force and gap.
const CONTACT: usize = 8 + 80;
/// Longest frame that is read, in bytes.
const MOST_BYTES: u32 = 256 << 20;

/// The file, opened, with where its frames begin.
#[derive(Debug)]
pub(crate) struct Dynamics {
    file: BufReader<File>,
    frames: Vec<(u64, u32)>,
    sizes: Sizes,
}

/// How many numbers a frame has of each kind.
#[derive(Debug)]
struct Sizes {
    /// Bodies that move.
    moving: usize,
    /// Joints between bodies.
    joints: usize,
    /// Coordinates and dofs of each robot.
    robots: Vec<(usize, usize)>,
}

/// What moves and pushes at one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acting {
    /// Velocity and spin of each body that moves.
    pub(crate) velocities: Vec<[DVec3; 2]>,
    /// Force of each joint between bodies on its first body \[N\].
    pub(crate) reactions: Vec<DVec3>,
    /// Coordinates, velocities and forces of drives of each robot.
    pub(crate) robots: Vec<[Vec<f64>; 3]>,
    /// Both bodies, point and force on the first one.
    pub(crate) contacts: Vec<((usize, usize), DVec3, DVec3)>,
}

/// Numbers out of bytes, in order.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn whole(&mut self) -> Option<usize> {
        let (first, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first) as usize)
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let (first, rest) = self.0.split_at_checked(count.checked_mul(8)?)?;
        self.0 = rest;
        let numbers = first.as_chunks::<8>().0.iter();
        let numbers: Vec<f64> = numbers.map(|eight| f64::from_le_bytes(*eight)).collect();
        numbers.iter().all(|x| x.is_finite()).then_some(numbers)
    }

    fn vector(&mut self) -> Option<DVec3> {
        self.numbers(3).map(|three| DVec3::from_slice(&three))
    }
}

impl Dynamics {
    /// Opens it where it is there; runs of older programs have none. One that does not belong to the world is refused.
    pub(crate) fn open(path: &Path, world: &World) -> Result<Option<Dynamics>, RecordingError> {
        let path = path.to_owned();
        match Dynamics::read(&path, world) {
            Ok(dynamics) => Ok(Some(dynamics)),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => Ok(None),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                    let what = "is cut off within its head, or not of this scene".to_owned();
                    Err(RecordingError::Bad { path, what })
                }
                _ => Err(RecordingError::Io { path, error }),
            },
        }
    }

    fn read(path: &Path, world: &World) -> io::Result<Dynamics> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut file = BufReader::new(file);
        let sizes = read_head(&mut file, world)?;
        let mut at = file.stream_position()?;
        let mut frames = Vec::new();
        while at + 4 <= size {
            file.seek(SeekFrom::Start(at))?;
            let length = whole(&mut file)?;
            // A rest shorter than a frame is what a killed run left behind.
            if size < at + 4 + u64::from(length) || MOST_BYTES < length {
                break;
            }
            frames.push((at + 4, length));
            at += 4 + u64::from(length);
        }
        Ok(Dynamics {
            file,
            frames,
            sizes,
        })
    }

    /// A frame; none where it is not there, or not sound.
    pub(crate) fn frame(&mut self, frame: usize, world: &World) -> Option<Acting> {
        let &(at, length) = self.frames.get(frame)?;
        let mut bytes = vec![0; length as usize];
        self.file.seek(SeekFrom::Start(at)).ok()?;
        self.file.read_exact(&mut bytes).ok()?;
        self.acting(&mut Reader(&bytes), world.bodies().len())
    }

    fn acting(&self, reader: &mut Reader<'_>, bodies: usize) -> Option<Acting> {
        let Sizes {
            moving,
            joints,
            robots,
        } = &self.sizes;
        let mut acting = Acting::default();
        reader.numbers(1)?;
        for _ in 0..*moving {
            acting.velocities.push([reader.vector()?, reader.vector()?]);
        }
        for _ in 0..*joints {
            acting.reactions.push(reader.vector()?);
            reader.vector()?;
        }
        for &(coordinates, dofs) in robots {
            let (q, v, drive) = (
                reader.numbers(coordinates)?,
                reader.numbers(dofs)?,
                reader.numbers(dofs)?,
            );
            reader.numbers(2 * dofs)?;
            acting.robots.push([q, v, drive]);
        }
        let count = reader.whole()?;
        if reader.0.len() != count.checked_mul(CONTACT)? {
            return None;
        }
        for _ in 0..count {
            let pair = (reader.whole()?, reader.whole()?);
            let (point, _normal, force) = (reader.vector()?, reader.vector()?, reader.vector()?);
            reader.numbers(1)?;
            if pair.0.max(pair.1) < bodies {
                acting.contacts.push((pair, point, force));
            }
        }
        Some(acting)
    }
}

fn whole(file: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Reads the head and compares it with the world.
fn read_head(file: &mut impl Read, world: &World) -> io::Result<Sizes> {
    let other = || io::Error::from(io::ErrorKind::InvalidData);
    let same = |is: bool| if is { Ok(()) } else { Err(other()) };
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    same(&magic == MAGIC && whole(file)? == VERSION)?;
    same(whole(file)? as usize == world.bodies().len())?;
    for name in &world.bodies().name {
        same(read_name(file)? == *name)?;
    }
    let moving = moving(world);
    same(whole(file)? as usize == moving.len())?;
    for i in &moving {
        same(whole(file)? as usize == *i)?;
    }
    same(whole(file)? as usize == world.joints().len())?;
    for _ in world.joints() {
        read_name(file)?;
    }
    same(whole(file)? as usize == world.robots().len())?;
    let mut robots = Vec::new();
    for robot in world.robots() {
        read_name(file)?;
        let sizes = (whole(file)? as usize, whole(file)? as usize);
        same(sizes == (robot.configuration().len(), robot.velocity().len()))?;
        for _ in 0..whole(file)? {
            read_name(file)?;
            (0..4).try_for_each(|_| whole(file).map(|_| ()))?;
        }
        robots.push(sizes);
    }
    Ok(Sizes {
        moving: moving.len(),
        joints: world.joints().len(),
        robots,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use delassus::scenes;

    #[test]
    fn only_a_file_that_is_not_there_is_passed_over_in_silence() {
        let world = scenes::build("stack:1").unwrap().world;
        let name = format!("delassus-dynamics-{}.bin", std::process::id());
        let path = std::env::temp_dir().join(name);
        assert!(matches!(Dynamics::open(&path, &world), Ok(None)));
        for bytes in [&b""[..], b"DELASSUD", b"something else altogether"] {
            std::fs::write(&path, bytes).unwrap();
            let text = Dynamics::open(&path, &world).unwrap_err().to_string();
            assert!(text.contains("delassus-dynamics"), "{text}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
