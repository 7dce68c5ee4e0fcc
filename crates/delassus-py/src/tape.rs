//! Recordings and exports of a world while it is stepped, as `delassus run --out` and `--export` write them.

use std::fs::File;
use std::path::{Path, PathBuf};

use delassus::collide::Shape;
use delassus::world::{MovedBy, Step};
use delassus_record::{DiskError, Export, ExportError, Recorder, Written, check_exports, disk};
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{of_disk, refuse};
use crate::world::World;

/// Where a scene comes from, as `scene.json` of a recording has it: the page shows a recording with nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    /// The built-in name with its size, or the name of the file.
    pub(crate) name: String,
    /// The text of a scene or robot file; none for built-in scenes.
    pub(crate) text: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) floating: bool,
}

impl Source {
    fn json(&self) -> String {
        let mut fields = json!({ "name": self.name, "text": self.text });
        let folder = self.folder.as_deref().map(std::path::absolute);
        if let Some(Ok(folder)) = folder {
            fields["folder"] = json!(folder);
        }
        if self.floating {
            fields["floating"] = json!(true);
        }
        fields.to_string()
    }

    /// Bodies and shapes of a world as a scene to look at: what moves is kinematic, joints and robots are left out.
    fn of_world(title: &str, world: &delassus::World) -> Source {
        let bodies = world.bodies();
        let mut shapes: Vec<Vec<String>> = vec![Vec::new(); bodies.len()];
        for collider in world.colliders() {
            let (at, turn) = collider.pose;
            let turn = turn.normalize();
            shapes[collider.body].push(format!(
                "{{ {}, position = {:?}, rotation = {{ quaternion = {:?} }} }}",
                literal(&collider.shape),
                at.to_array(),
                [turn.w, turn.x, turn.y, turn.z]
            ));
        }
        let mut text = format!("title = {}\n", json!(title));
        for (i, shapes) in shapes.iter().enumerate() {
            let motion = match bodies.motion[i] {
                MovedBy::Static => "static",
                _ => "kinematic",
            };
            let turn = bodies.orientation[i].normalize();
            text.push_str(&format!(
                "[[bodies]]\nname = {}\nmotion = \"{motion}\"\nposition = {:?}\nrotation = {{ quaternion = {:?} }}\nshapes = [{}]\n",
                json!(bodies.name[i]),
                bodies.position[i].to_array(),
                [turn.w, turn.x, turn.y, turn.z],
                shapes.join(", ")
            ));
        }
        Source {
            name: format!("{title}.toml"),
            text: Some(text),
            ..Source::default()
        }
    }
}

/// A shape as scene files have it.
fn literal(shape: &Shape) -> String {
    match shape {
        Shape::Sphere { radius } => format!("sphere = {{ radius = {radius:?} }}"),
        Shape::Box { half } => format!("box = {{ half = {half:?} }}"),
        Shape::Capsule {
            half_length,
            radius,
        } => format!("capsule = {{ half-length = {half_length:?}, radius = {radius:?} }}"),
        Shape::Cylinder {
            half_length,
            radius,
        } => format!("cylinder = {{ half-length = {half_length:?}, radius = {radius:?} }}"),
        Shape::Hull { points } => format!("hull = {{ points = {points:?} }}"),
        Shape::HalfSpace => "half-space = {}".to_owned(),
        Shape::Mesh {
            vertices,
            triangles,
        } => format!("mesh = {{ vertices = {vertices:?}, triangles = {triangles:?} }}"),
        Shape::HeightField {
            rows,
            columns,
            heights,
            size,
        } => format!(
            "height-field = {{ rows = {rows}, columns = {columns}, heights = {heights:?}, size = {size:?} }}"
        ),
    }
}

/// Files that grow with every step.
pub(crate) struct Tape {
    recorder: Option<Recorder>,
    /// Keeps the folder for this process.
    _claim: Option<File>,
    exports: Vec<Export>,
    every: u64,
    steps: u64,
    pub(crate) id: u64,
}

/// What a recording is to be.
struct Wanted {
    folder: Option<PathBuf>,
    exports: Vec<PathBuf>,
    every: u64,
    overwrite: bool,
}

/// Why a recording cannot go on.
pub(crate) enum TapeError {
    Disk(DiskError),
    Export(ExportError),
}

impl From<DiskError> for TapeError {
    fn from(error: DiskError) -> TapeError {
        TapeError::Disk(error)
    }
}

impl From<ExportError> for TapeError {
    fn from(error: ExportError) -> TapeError {
        TapeError::Export(error)
    }
}

impl TapeError {
    /// What the disk says is an `OSError`; the rest names keyword arguments, not options of the command line.
    pub(crate) fn raise(self) -> PyErr {
        match self {
            TapeError::Disk(error) | TapeError::Export(ExportError::Disk(error)) => match error {
                DiskError::Denied { path, cause, .. } => of_disk(&path, &cause),
                DiskError::NotEmpty { path, .. } => refuse(format!(
                    "{}: the folder is not empty; choose another, or give overwrite=True",
                    path.display()
                )),
                DiskError::Exists { path } => refuse(format!(
                    "{}: the file exists; choose another name, or give overwrite=True",
                    path.display()
                )),
                other => refuse(other.to_string().trim_start_matches("--out ")),
            },
            TapeError::Export(error) => {
                let text = error.to_string().replace("raise --every", "raise every");
                refuse(text.trim_start_matches("--export "))
            }
        }
    }
}

impl Tape {
    fn start(
        wanted: &Wanted,
        source: &Source,
        world: &delassus::World,
        dt: f64,
    ) -> Result<Tape, TapeError> {
        check_exports(&wanted.exports, wanted.overwrite)?;
        let mut tape = Tape {
            recorder: None,
            _claim: None,
            exports: Vec::new(),
            every: wanted.every,
            steps: 0,
            id: 0,
        };
        if let Some(folder) = &wanted.folder {
            disk::make("folder", folder, wanted.overwrite)?;
            tape._claim = disk::claim(folder)?;
            disk::write_whole(&folder.join("scene.json"), &source.json())?;
            tape.recorder = Some(Recorder::create(folder, world, dt)?);
        }
        for path in &wanted.exports {
            tape.exports.push(Export::create(path, world)?);
        }
        tape.frame(world)?;
        Ok(tape)
    }

    fn frame(&mut self, world: &delassus::World) -> Result<(), TapeError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.frame(world)?;
        }
        for export in &mut self.exports {
            export.frame(world)?;
        }
        Ok(())
    }

    /// Adds a step that was made.
    pub(crate) fn add(&mut self, world: &delassus::World, step: &Step) -> Result<(), TapeError> {
        self.steps += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.step(self.steps, world.time(), step)?;
            recorder.acted(world)?;
        }
        match self.steps.is_multiple_of(self.every) {
            true => self.frame(world),
            false => Ok(()),
        }
    }

    fn close(mut self, world: &delassus::World) -> Result<Vec<Written>, TapeError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.frame(world)?;
            recorder.close()?;
        }
        let exports = self.exports.into_iter();
        Ok(exports
            .map(|export| export.close(world))
            .collect::<Result<_, ExportError>>()?)
    }
}

/// A recording under way: every step of its world goes into it until it is closed.
///
/// As a context manager it is closed at the end of the block.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Recording {
    world: Py<World>,
    id: u64,
    folder: Option<PathBuf>,
    exports: Vec<PathBuf>,
}

#[pymethods]
impl World {
    /// Records every step from now on, until the recording is closed.
    ///
    /// `folder` gets the files of `delassus run --out`: `trajectory.csv` and `.bin`, `steps.csv`, `joints.csv`,
    /// `robots.csv`, `contacts.csv`, `accelerations.csv`, `dynamics.bin`, and `scene.json`, with which `delassus view
    /// folder` shows it. `export` names files for other programs by their ending: `.glb`, an animation, and `.mcap`. A
    /// frame is kept every so many steps. While it is under way no joint can be added or removed.
    ///
    /// >>> import delassus, tempfile
    /// >>> world = delassus.World.scene("stack:2")
    /// >>> folder = tempfile.mkdtemp()
    /// >>> with world.record(folder, export=[folder + "/run.glb"], every=5, overwrite=True):
    /// ...     report = world.step(50)
    /// >>> delassus.recorded(folder).positions.shape      # frames, bodies that move, three numbers
    /// (11, 2, 3)
    #[pyo3(signature = (folder=None, *, export=Vec::new(), every=1, overwrite=false), text_signature = "($self, folder=None, *, export=(), every=1, overwrite=False)")]
    fn record(
        slf: &Bound<'_, World>,
        folder: Option<PathBuf>,
        #[pyo3(from_py_with = paths)] export: Vec<PathBuf>,
        every: u64,
        overwrite: bool,
    ) -> PyResult<Recording> {
        if folder.is_none() && export.is_empty() {
            return Err(refuse(
                "there is nothing to record into; give a folder, or files as export=[\"run.glb\"]",
            ));
        }
        if every == 0 {
            return Err(refuse(
                "every is 0; keep a frame every step, or every so many",
            ));
        }
        let wanted = Wanted {
            folder,
            exports: export,
            every,
            overwrite,
        };
        let world = slf.get();
        let mut inner = world.lock()?;
        inner.not_recording()?;
        let source = match &world.source {
            Some(source) => source.clone(),
            None => Source::of_world(&world.title, &inner.world),
        };
        let tape = Tape::start(&wanted, &source, &inner.world, inner.run.dt);
        let mut tape = tape.map_err(TapeError::raise)?;
        inner.settle();
        inner.tapes += 1;
        tape.id = inner.tapes;
        let id = tape.id;
        inner.tape = Some(tape);
        Ok(Recording {
            world: slf.clone().unbind(),
            id,
            folder: wanted.folder,
            exports: wanted.exports,
        })
    }
}

/// One path, or a list of them.
fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    match given.extract::<PathBuf>() {
        Ok(one) => Ok(vec![one]),
        Err(_) => given
            .extract()
            .map_err(|_| refuse("export must be a path, or a list of paths")),
    }
}

impl Recording {
    fn is_open(&self) -> PyResult<bool> {
        let inner = self.world.get().lock()?;
        Ok(inner.tape.as_ref().is_some_and(|tape| tape.id == self.id))
    }
}

#[pymethods]
impl Recording {
    /// Ends the recording with the world as it is, and gives the files that were exported. Closing twice does nothing.
    fn close(&self) -> PyResult<Vec<PathBuf>> {
        let mut inner = self.world.get().lock()?;
        let tape = inner.tape.take_if(|tape| tape.id == self.id);
        let Some(tape) = tape else {
            return Ok(Vec::new());
        };
        let written = tape.close(&inner.world).map_err(TapeError::raise)?;
        Ok(written.into_iter().map(|file| file.path).collect())
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(!self.is_open()?)
    }

    /// The folder it is written into.
    #[getter]
    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn __enter__(slf: Py<Recording>) -> Py<Recording> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        self.close()?;
        Ok(false)
    }

    fn __repr__(&self) -> PyResult<String> {
        let state = if self.is_open()? {
            "under way"
        } else {
            "closed"
        };
        let folder = self.folder.iter().chain(&self.exports);
        let names: Vec<String> = folder.map(|path| path.display().to_string()).collect();
        Ok(format!("<Recording into {}: {state}>", names.join(", ")))
    }
}
