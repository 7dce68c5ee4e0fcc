//! Shapes of bodies that are built in Python.

use delassus::collide::{self, Collider, Collisions};
use delassus::math::{DQuat, DVec3, MassProperties};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{numbers, shaped};
use crate::error::refuse;
use crate::keys::Keys;

/// The outside of a body, where it stands in the body's frame, and what it is made of.
///
/// Lengths are in metres; every kind takes `position`, `orientation` (w, x, y, z), `material` (a name given to
/// `World.add_material`), and the groups `member` and `with_` it belongs to and collides with, as lists of numbers
/// from 0 to 31.
///
/// >>> import delassus
/// >>> delassus.Shape.box([0.5, 0.5, 0.1], position=[0, 0, 1])
/// <Shape box at (0, 0, 1)>
#[pyclass(frozen, module = "delassus")]
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) shape: collide::Shape,
    pub(crate) position: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) material: Option<String>,
    pub(crate) groups: collide::Groups,
}

impl Shape {
    fn new(shape: collide::Shape, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        let mut keys = Keys::new("a shape", keys);
        let default = collide::Groups::default();
        let shape = Shape {
            shape,
            position: keys.vector("position")?.unwrap_or_default(),
            rotation: keys.turn("orientation")?.unwrap_or_default(),
            material: keys.text("material")?,
            groups: collide::Groups {
                member: groups(&mut keys, "member")?.unwrap_or(default.member),
                with: groups(&mut keys, "with_")?.unwrap_or(default.with),
            },
        };
        keys.close()?;
        shape.shape.check().map_err(refuse)?;
        // Whatever collision would refuse later is refused here.
        Collisions::new(vec![Collider {
            pose: (shape.position, shape.rotation),
            ..Collider::new(shape.shape.clone(), 0)
        }])
        .map_err(refuse)?;
        Ok(shape)
    }

    fn kind(&self) -> &'static str {
        match self.shape {
            collide::Shape::Sphere { .. } => "sphere",
            collide::Shape::Box { .. } => "box",
            collide::Shape::Capsule { .. } => "capsule",
            collide::Shape::Cylinder { .. } => "cylinder",
            collide::Shape::Hull { .. } => "hull",
            collide::Shape::HalfSpace => "half-space",
            collide::Shape::Mesh { .. } => "mesh",
            collide::Shape::HeightField { .. } => "height-field",
        }
    }
}

/// Numbers of groups as bits.
fn groups(keys: &mut Keys<'_>, key: &'static str) -> PyResult<Option<u32>> {
    let Some(given) = keys.get(key)? else {
        return Ok(None);
    };
    let list: Vec<u32> = given
        .extract()
        .map_err(|_| refuse(format!("{} must be a list of numbers", keys.place(key))))?;
    let mut bits = 0;
    for group in list {
        if 31 < group {
            return Err(refuse(format!(
                "{} has group {group}; groups are 0 to 31",
                keys.place(key)
            )));
        }
        bits |= 1 << group;
    }
    Ok(Some(bits))
}

/// Rows of three numbers.
fn points(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<[f64; 3]>> {
    let found = numbers(what, given)?;
    match found.shape[..] {
        [_, 3] => Ok(found.values.as_chunks::<3>().0.to_vec()),
        _ => Err(refuse(format!(
            "{what} must have three numbers in each row: shape (n, 3)"
        ))),
    }
}

#[pymethods]
impl Shape {
    /// A ball.
    #[staticmethod]
    #[pyo3(signature = (radius, **keys))]
    fn sphere(radius: f64, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        Shape::new(collide::Shape::Sphere { radius }, keys)
    }

    /// A box by the halves of its edges.
    #[staticmethod]
    #[pyo3(name = "box", signature = (half, **keys))]
    fn cuboid(half: &Bound<'_, PyAny>, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        let half = shaped("half", half, &[3])?;
        let half = [half[0], half[1], half[2]];
        Shape::new(collide::Shape::Box { half }, keys)
    }

    /// All points within `radius` of a segment along z; its round ends come on top of `half_length`.
    #[staticmethod]
    #[pyo3(signature = (half_length, radius, **keys))]
    fn capsule(half_length: f64, radius: f64, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        let shape = collide::Shape::Capsule {
            half_length,
            radius,
        };
        Shape::new(shape, keys)
    }

    /// A cylinder along z.
    #[staticmethod]
    #[pyo3(signature = (half_length, radius, **keys))]
    fn cylinder(half_length: f64, radius: f64, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        let shape = collide::Shape::Cylinder {
            half_length,
            radius,
        };
        Shape::new(shape, keys)
    }

    /// The convex hull of points, one in each row.
    #[staticmethod]
    #[pyo3(name = "hull", signature = (points, **keys))]
    fn hull(points: &Bound<'_, PyAny>, keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        let points = self::points("points", points)?;
        Shape::new(collide::Shape::Hull { points }, keys)
    }

    /// Everything below z = 0; for bodies that are `static` or `kinematic`.
    #[staticmethod]
    #[pyo3(signature = (**keys))]
    fn half_space(keys: Option<Bound<'_, PyDict>>) -> PyResult<Shape> {
        Shape::new(collide::Shape::HalfSpace, keys)
    }

    /// A surface of triangles, three numbers of vertices each; for bodies that are `static` or `kinematic`.
    #[staticmethod]
    #[pyo3(signature = (vertices, triangles, **keys))]
    fn mesh(
        vertices: &Bound<'_, PyAny>,
        triangles: &Bound<'_, PyAny>,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Shape> {
        let vertices = points("vertices", vertices)?;
        let corners = points("triangles", triangles)?;
        let most = f64::from(u32::MAX);
        let mut whole = Vec::with_capacity(corners.len());
        for (i, corner) in corners.iter().enumerate() {
            if let Some(bad) = corner
                .iter()
                .find(|x| x.fract() != 0.0 || !(0.0..=most).contains(*x))
            {
                return Err(refuse(format!(
                    "triangles[{i}] names vertex {bad}; vertices are counted from 0"
                )));
            }
            whole.push(corner.map(|x| x as u32));
        }
        let shape = collide::Shape::Mesh {
            vertices,
            triangles: whole,
        };
        Shape::new(shape, keys)
    }

    /// Ground over a rectangle about the origin from a matrix of heights: rows along y, columns along x, `size` its
    /// lengths along x and y and the factor of the heights. For bodies that are `static` or `kinematic`.
    #[staticmethod]
    #[pyo3(signature = (heights, size, **keys))]
    fn height_field(
        heights: &Bound<'_, PyAny>,
        size: &Bound<'_, PyAny>,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Shape> {
        let found = numbers("heights", heights)?;
        let [rows, columns] = found.shape[..] else {
            return Err(refuse(
                "heights must be a matrix: rows along y, columns along x",
            ));
        };
        let size = shaped("size", size, &[3])?;
        let shape = collide::Shape::HeightField {
            rows,
            columns,
            heights: found.values,
            size: [size[0], size[1], size[2]],
        };
        Shape::new(shape, keys)
    }

    /// It never changes, so that a copy is the shape itself.
    fn __copy__(slf: Py<Shape>) -> Py<Shape> {
        slf
    }

    /// The same.
    fn __deepcopy__(slf: Py<Shape>, _memo: &Bound<'_, PyAny>) -> Py<Shape> {
        slf
    }

    fn __repr__(&self) -> String {
        let DVec3 { x, y, z } = self.position;
        format!("<Shape {} at ({x}, {y}, {z})>", self.kind())
    }
}

/// Mass, centre and inertia of shapes of one density \[kg/m³\], about their common centre.
pub(crate) fn compound(density: f64, shapes: &[Shape]) -> PyResult<MassProperties> {
    let mut parts = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let own = shape.shape.mass_properties(density).ok_or_else(|| {
            refuse(format!(
                "a {} has no mass of its own; give mass and inertia, or motion=\"static\"",
                shape.kind()
            ))
        })?;
        parts.push(own.placed(shape.position, shape.rotation));
    }
    MassProperties::joined(&parts)
        .ok_or_else(|| refuse("it has no shape to take its mass from; give mass and inertia"))
}
