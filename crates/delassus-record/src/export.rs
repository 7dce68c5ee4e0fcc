//! A run in a file of another program, by the ending of its name.

mod glb;
mod mcap;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use delassus::World;
use delassus::world::MovedBy;

use crate::census::Census;
use crate::disk::DiskError;

/// What cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A name whose ending says nothing.
    #[error(
        "--export {}: the ending says what to write; known: .glb (an animation) and .mcap (poses, joints, contacts)",
        path.display()
    )]
    Ending {
        /// Which.
        path: PathBuf,
    },
    /// A name that is given twice.
    #[error("--export {}: the file is named twice; give each export a name of its own", path.display())]
    Twice {
        /// Which.
        path: PathBuf,
    },
    /// More frames than the format holds.
    #[error(
        "--export {}: the animation takes more than 4 GiB, which is the most such a file can hold; raise --every",
        path.display()
    )]
    TooLong {
        /// Which.
        path: PathBuf,
    },
    /// MCAP that cannot be written.
    #[error("--export {}: {cause}", path.display())]
    Mcap {
        /// Which.
        path: PathBuf,
        /// What the writer says.
        cause: Box<::mcap::McapError>,
    },
}

/// A file being written.
pub struct Export {
    writer: Writer,
    census: Census,
}

enum Writer {
    Glb(glb::Glb),
    Mcap(Box<mcap::Mcap>),
}

/// What a file holds, by the ending of its name.
#[derive(Clone, Copy)]
enum Kind {
    Glb,
    Mcap,
}

impl Kind {
    fn of(path: &Path) -> Result<Kind, ExportError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("glb") => Ok(Kind::Glb),
            Some("mcap") => Ok(Kind::Mcap),
            _ => Err(ExportError::Ending {
                path: path.to_owned(),
            }),
        }
    }
}

/// Refuses files that cannot be meant, before anything is made.
pub fn check_exports(paths: &[PathBuf], force: bool) -> Result<(), ExportError> {
    let mut places = BTreeSet::new();
    for path in paths {
        Kind::of(path)?;
        if path.is_dir() {
            let cause = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(DiskError::denied(path, "write")(cause).into());
        }
        let path = path.clone();
        if !force && path.exists() {
            return Err(DiskError::Exists { path }.into());
        }
        if !places.insert(place(&path)) {
            return Err(ExportError::Twice { path });
        }
    }
    Ok(())
}

/// Where a file lies, the same however its folder is written; the file need not be there.
fn place(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (whole.parent().map(Path::canonicalize), whole.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => whole,
    }
}

impl Export {
    /// Opens a file, which [`check_exports`] has seen, for the run of a world.
    pub fn create(path: &Path, world: &World) -> Result<Export, ExportError> {
        let writer = match Kind::of(path)? {
            Kind::Glb => Writer::Glb(glb::Glb::create(path, world)?),
            Kind::Mcap => Writer::Mcap(Box::new(mcap::Mcap::create(path, world)?)),
        };
        let census = Census::of(world);
        Ok(Export { writer, census })
    }

    /// Adds the world as it is.
    pub fn frame(&mut self, world: &World) -> Result<(), ExportError> {
        self.census.check(world)?;
        match &mut self.writer {
            Writer::Glb(glb) => glb.frame(world),
            Writer::Mcap(mcap) => mcap.frame(world)?,
        }
        Ok(())
    }

    /// Ends the file with the world as it is.
    pub fn close(mut self, world: &World) -> Result<Written, ExportError> {
        self.frame(world)?;
        match self.writer {
            Writer::Glb(glb) => glb.close(world),
            Writer::Mcap(mcap) => mcap.close(),
        }
    }
}

/// A file that is whole.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Frames that the file cannot tell from the one before.
    pub left_out: usize,
}

/// Half the edge of the square that stands for a half-space \[m\].
const GROUND: f64 = 20.0;

/// Colours that bodies take in turn, as the live page has them.
const COLOURS: [[f64; 3]; 10] = [
    [0.357, 0.553, 0.937],
    [0.910, 0.576, 0.353],
    [0.341, 0.655, 0.451],
    [0.769, 0.435, 0.647],
    [0.851, 0.706, 0.290],
    [0.435, 0.498, 0.820],
    [0.310, 0.690, 0.682],
    [0.816, 0.412, 0.416],
    [0.561, 0.620, 0.310],
    [0.604, 0.482, 0.769],
];
const STATIC: [f64; 3] = [0.604, 0.639, 0.682];

/// The colour of a body.
fn colour(world: &World, body: usize) -> [f64; 3] {
    let painted = world.look.colours.get(&delassus::BodyId(body as u32));
    if let Some(colour) = painted {
        return *colour;
    }
    match world.bodies().motion[body] {
        MovedBy::Static => STATIC,
        _ => COLOURS[body % COLOURS.len()],
    }
}

/// Points and triangles of a shape; a half-space is a square of its surface.
fn triangles(shape: &delassus::collide::Shape) -> Option<delassus::collide::Triangles> {
    use delassus::collide::Shape;
    if let Shape::HalfSpace = shape {
        let corner = |x: f64, y: f64| [x * GROUND, y * GROUND, 0.0];
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let points = corners.map(|(x, y)| corner(x, y)).to_vec();
        return Some((points, vec![[0, 1, 2], [0, 2, 3]]));
    }
    shape.triangles()
}
