//! Meshes and height fields that geoms name: read when a geom needs them, once each.

use std::collections::HashMap;
use std::path::Path;

use glam::{DQuat, DVec3};

use super::super::mesh::{self, Mesh};
use super::super::solid::{self, Extent, Weigh};
use super::super::{ImportError, hull, picture};
use super::compiler::Compiler;
use super::defaults::Defaults;
use super::element::{Element, View};
use super::pose::unit;
use crate::collide::Shape;

/// What a mesh is, and what it weighs.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) mesh: Mesh,
    /// None where it encloses nothing.
    pub(super) extent: Option<Extent>,
}

/// The assets of a file.
#[derive(Debug)]
pub(super) struct Assets<'a> {
    meshes: HashMap<String, View<'a>>,
    fields: HashMap<String, &'a Element>,
    loaded: HashMap<String, Result<Loaded, String>>,
}

impl<'a> Assets<'a> {
    pub(super) fn read(root: &'a Element, defaults: &Defaults<'a>) -> Result<Self, ImportError> {
        let (mut meshes, mut fields) = (HashMap::new(), HashMap::new());
        for element in root.section("asset") {
            let twice = match element.tag.as_str() {
                "mesh" => {
                    let view = defaults.view(element, &["mesh"], None)?;
                    meshes.insert(called(element), view).is_some()
                }
                "hfield" => fields.insert(called(element), element).is_some(),
                _ => continue,
            };
            if twice {
                let what = format!(
                    "there are two of this kind with the name \"{}\"",
                    called(element)
                );
                return Err(element.fault(what));
            }
        }
        Ok(Assets {
            meshes,
            fields,
            loaded: HashMap::new(),
        })
    }

    /// The element of a mesh.
    pub(super) fn mesh(&self, name: &str) -> Option<&View<'a>> {
        self.meshes.get(name)
    }

    /// A mesh with its mass, or why it cannot be had.
    pub(super) fn load(
        &mut self,
        name: &str,
        compiler: &Compiler,
        folder: Option<&Path>,
    ) -> Result<&Loaded, String> {
        if !self.loaded.contains_key(name) {
            let found = match self.meshes.get(name) {
                Some(view) => load(view, compiler, folder),
                None => Err(format!("\"{name}\" is not among the assets")),
            };
            self.loaded.insert(name.to_owned(), found);
        }
        let found = &self.loaded[name];
        found.as_ref().map_err(Clone::clone)
    }

    /// Meshes that have not all triangles of their files, with what is left out, in the order of the file.
    pub(super) fn cut_short(&self) -> Vec<(&'a Element, &'static str)> {
        let mut found = Vec::new();
        for (name, view) in &self.meshes {
            let Some(Ok(loaded)) = self.loaded.get(name) else {
                continue;
            };
            if loaded.mesh.first.is_some() {
                let text = "its file has several objects; as in MuJoCo the faces of the first alone have mass";
                found.push((view.element, text));
            }
            if !loaded.mesh.large.is_empty() {
                let text = "its file has polygons of more than 100 corners; as in MuJoCo they are left out";
                found.push((view.element, text));
            }
        }
        found.sort_by_key(|(element, text)| (element.line, *text));
        found
    }

    /// Half sides, height and base of a height field.
    pub(super) fn field_size(&self, name: &str) -> Result<Option<[f64; 4]>, ImportError> {
        let field = self.fields.get(name);
        field.map_or(Ok(None), |element| element.exactly::<4>("size"))
    }

    /// A height field as ground, or why it cannot be had.
    pub(super) fn field(
        &self,
        name: &str,
        path: &dyn Fn(&str) -> Option<std::path::PathBuf>,
    ) -> Result<Shape, String> {
        let Some(element) = self.fields.get(name) else {
            return Err(format!("hfield \"{name}\" is not among the assets"));
        };
        let words = |error: ImportError| error.what.to_string();
        let size = element.exactly::<4>("size").map_err(words)?;
        let [x, y, z, _] = size.ok_or("attribute size is missing")?;
        let count = |name: &str| View::plain(element).whole(name, 0).map_err(words);
        let (mut rows, mut columns) = (
            count("nrow")?.max(0) as usize,
            count("ncol")?.max(0) as usize,
        );
        let mut heights = vec![0.0; rows.saturating_mul(columns).min(1 << 24)];
        if let Some(file) = element.attribute("file") {
            let path = path(file).ok_or("no folder is given to look in")?;
            let bytes = crate::problem::file::limit::read(&path)
                .map_err(|error| format!("{file}: {error}"))?;
            let is_picture = file.to_ascii_lowercase().ends_with(".png");
            (rows, columns, heights) = if is_picture {
                let read = picture::read(&bytes).map_err(|what| format!("{file}: {what}"))?;
                let (width, height, pixels) = read;
                // The top of the picture is the furthest row.
                let lines = pixels.chunks(width).rev().flatten();
                (height, width, lines.map(|x| f64::from(*x)).collect())
            } else {
                binary_field(&bytes).ok_or(format!("{file}: is cut off"))?
            };
        } else if let Some(given) = element.numbers("elevation").map_err(words)? {
            if given.len() != heights.len() {
                return Err(format!(
                    "{} heights for {rows} rows of {columns}",
                    given.len()
                ));
            }
            // The first line of the text is the furthest row.
            let lines = given.chunks(columns.max(1)).rev();
            heights = lines.flatten().copied().collect();
        }
        // Heights are scaled to reach from 0 to 1.
        let least = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let most = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least < most {
            heights
                .iter_mut()
                .for_each(|h| *h = (*h - least) / (most - least));
        } else {
            heights.fill(0.0);
        }
        let size = [2.0 * x, 2.0 * y, z];
        let shape = Shape::HeightField {
            rows,
            columns,
            heights,
            size,
        };
        shape.check().map_err(|error| error.to_string())?;
        Ok(shape)
    }
}

/// Rows, columns and heights: two whole numbers, then single floats.
fn binary_field(bytes: &[u8]) -> Option<(usize, usize, Vec<f64>)> {
    let words = bytes.as_chunks::<4>().0;
    let count = |i: usize| words.get(i).map(|b| i32::from_le_bytes(*b).max(0) as usize);
    let (rows, columns) = (count(0)?, count(1)?);
    let heights = words.get(2..2 + rows.checked_mul(columns)?)?;
    let heights = heights.iter().map(|b| f64::from(f32::from_le_bytes(*b)));
    Some((rows, columns, heights.collect()))
}

/// Its name, or that of its file without folder and ending.
fn called(element: &Element) -> String {
    if let Some(name) = element.attribute("name") {
        return name.to_owned();
    }
    let file = element
        .attribute("file")
        .unwrap_or_default()
        .replace('\\', "/");
    let stem = Path::new(&file).file_stem();
    stem.map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

fn load(view: &View<'_>, compiler: &Compiler, folder: Option<&Path>) -> Result<Loaded, String> {
    let element = view.element;
    let name = called(element);
    if element.attribute("builtin").is_some() {
        return Err(format!("\"{name}\": built-in meshes are not made here"));
    }
    let words = |error: ImportError| error.what.to_string();
    let mut mesh = match element.numbers("vertex").map_err(words)? {
        Some(numbers) => Mesh {
            points: numbers
                .as_chunks::<3>()
                .0
                .iter()
                .map(|&p| DVec3::from(p))
                .collect(),
            faces: faces(element)?,
            ..Mesh::default()
        }
        .check()
        .map_err(|what| format!("\"{name}\" {what}"))?,
        None => {
            let file = element
                .attribute("file")
                .ok_or_else(|| format!("\"{name}\" has neither file nor vertex"))?;
            let folder =
                folder.ok_or_else(|| format!("\"{name}\": no folder is given to look in"))?;
            // From the folder of meshes, or of an included file from that of the file, below the folder of meshes or not:
            // MuJoCo looks below it where the model is named by a relative path, and beside it else.
            let beside = element.folder.join(file);
            let below = compiler.mesh_path(&beside.to_string_lossy());
            let places = [compiler.mesh_path(file), below, beside];
            let mut places = places.iter().map(|place| folder.join(place));
            let path = places
                .find(|place| place.is_file())
                .ok_or_else(|| format!("{file} does not exist"))?;
            mesh::read(&path)?
        }
    };
    // MuJoCo takes no polygon of more than 100 corners, and of several objects the faces of the first and the corners of
    // all.
    mesh.faces.truncate(mesh.first.unwrap_or(usize::MAX));
    mesh.large.retain(|large| large.end <= mesh.faces.len());
    for large in mesh.large.iter().rev() {
        mesh.faces.drain(large.clone());
    }
    let scale = view.vector("scale", DVec3::ONE).map_err(words)?;
    let [w, x, y, z] = view
        .exactly("refquat")
        .map_err(words)?
        .unwrap_or([1.0, 0.0, 0.0, 0.0]);
    let turn = unit(DQuat::from_xyzw(x, y, z, w)).ok_or("refquat has no direction")?;
    let origin = view.vector("refpos", DVec3::ZERO).map_err(words)?;
    for point in &mut mesh.points {
        // Corners have single precision, as in MuJoCo.
        let given = point.as_vec3().as_dvec3();
        *point = turn.inverse() * (given - origin) * scale;
    }
    if scale.x * scale.y * scale.z < 0.0 {
        // A mirror turns the triangles inside out.
        mesh.faces.iter_mut().for_each(|face| face.swap(1, 2));
    }
    let words = [
        ("legacy", Some(Weigh::Legacy)),
        ("exact", Some(Weigh::Exact)),
        ("shell", Some(Weigh::Shell)),
        ("convex", None),
    ];
    let weigh = view.word("inertia", &words, Some(Weigh::Legacy));
    let weigh = weigh.map_err(|error| error.what.to_string())?;
    let extent = match weigh {
        Some(weigh) if !mesh.faces.is_empty() => solid::of_mesh(&mesh, weigh),
        // Corners alone stand for their hull.
        weigh => solid::of_mesh(&hull::surface(&mesh.points)?, weigh.unwrap_or(Weigh::Exact)),
    };
    Ok(Loaded { mesh, extent })
}

fn faces(element: &Element) -> Result<Vec<[u32; 3]>, String> {
    let numbers = element
        .numbers("face")
        .map_err(|error| error.what.to_string())?;
    let numbers = numbers.unwrap_or_default();
    let whole = |x: &f64| x.fract() == 0.0 && 0.0 <= *x && *x < f64::from(u32::MAX);
    if numbers.len() % 3 != 0 || !numbers.iter().all(whole) {
        return Err("face should be whole numbers, three for each triangle".to_owned());
    }
    let triples = numbers.as_chunks::<3>().0.iter();
    Ok(triples.map(|t| t.map(|x| x as u32)).collect())
}
