//! Geoms: where they are, what they weigh, what they collide as.

use std::path::Path;

use glam::{DMat3, DQuat, DVec3};

use super::super::solid::{Extent, Solid};
use super::super::{ImportError, hull};
use super::assets::Assets;
use super::compiler::Compiler;
use super::element::{Element, View};
use super::pose::{from_z, pose};
use crate::collide::Shape;
use crate::linalg::sym3::Sym3;
use crate::tree::MassProperties;
use crate::tree::spatial::Pose;
use crate::world::{ContactRule, Surface};

/// What a geom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeomType {
    Plane,
    Field,
    Sphere,
    Capsule,
    Ellipsoid,
    Cylinder,
    Box,
    Mesh,
    Sdf,
}

const KINDS: [(&str, GeomType); 9] = [
    ("plane", GeomType::Plane),
    ("hfield", GeomType::Field),
    ("sphere", GeomType::Sphere),
    ("capsule", GeomType::Capsule),
    ("ellipsoid", GeomType::Ellipsoid),
    ("cylinder", GeomType::Cylinder),
    ("box", GeomType::Box),
    ("mesh", GeomType::Mesh),
    ("sdf", GeomType::Sdf),
];

/// A geom in the frame of its body.
#[derive(Clone, Debug)]
pub(super) struct Geom<'a> {
    pub(super) view: View<'a>,
    pub(super) kind: GeomType,
    pub(super) pose: Pose,
    pub(super) size: [f64; 3],
    pub(super) contype: u32,
    pub(super) conaffinity: u32,
    pub(super) group: i64,
    pub(super) rule: ContactRule,
}

/// Where the files of a model are, and what is known of them.
pub(super) struct Files<'r, 'a> {
    pub(super) assets: &'r mut Assets<'a>,
    pub(super) folder: Option<&'r Path>,
}

impl<'a> Geom<'a> {
    /// Reads a geom in a frame of its body.
    pub(super) fn read(
        view: View<'a>,
        frame: &Pose,
        compiler: &Compiler,
        files: &mut Files<'_, 'a>,
    ) -> Result<Geom<'a>, ImportError> {
        let kind = view.word("type", &KINDS, GeomType::Sphere)?;
        let condim = view.whole("condim", 3)?;
        if !matches!(condim, 1 | 3 | 4 | 6) {
            let what = format!("condim is {condim}; it is 1, 3, 4 or 6");
            return Err(view.element.fault(what));
        }
        let friction = view.padded("friction", [1.0, 0.005, 0.0001])?;
        if let Some(mu) = friction.iter().find(|mu| **mu < 0.0) {
            let what = format!("friction {mu} must not be negative");
            return Err(view.element.fault(what));
        }
        let mask = |name: &str| Ok(view.whole(name, 1)? as u32);
        let (contype, conaffinity) = (mask("contype")?, mask("conaffinity")?);
        let mut geom = Geom {
            kind,
            pose: Pose::IDENTITY,
            size: view.padded("size", [0.0; 3])?,
            contype,
            conaffinity,
            group: view.whole("group", 0)?,
            rule: ContactRule {
                friction,
                condim: condim as u8,
                priority: view.whole("priority", 0)?,
            },
            view,
        };
        geom.place(compiler, files)?;
        geom.check_size()?;
        geom.pose = frame.then(&geom.pose);
        if !(geom.pose.position.is_finite() && geom.pose.rotation.is_finite()) {
            return Err(geom.element().fault("its place is not finite"));
        }
        Ok(geom)
    }

    pub(super) fn element(&self) -> &'a Element {
        self.view.element
    }

    /// Whether it touches anything by itself.
    pub(super) fn collides(&self) -> bool {
        self.contype != 0 || self.conaffinity != 0
    }

    /// Pose and size, from two ends or from a mesh where the file has it so.
    fn place(&mut self, compiler: &Compiler, files: &mut Files<'_, 'a>) -> Result<(), ImportError> {
        let own = pose(&self.view, compiler)?;
        self.pose = own;
        if let Some([a, b, c, d, e, f]) = self.view.exactly("fromto")? {
            let (from, to) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
            let half = 0.5 * (from - to);
            let turn = half.try_normalize().map_or(DQuat::IDENTITY, from_z);
            self.pose = Pose::new(0.5 * (from + to), turn);
            let [r, ..] = self.size;
            self.size = match self.kind {
                GeomType::Capsule | GeomType::Cylinder => [r, half.length(), 0.0],
                GeomType::Box | GeomType::Ellipsoid => [r, r, half.length()],
                _ => {
                    let what = "it has no two ends that fromto could give";
                    return Err(self.element().fault(what));
                }
            };
        } else if self.view.get("mesh").is_some() && self.solid().is_some() {
            self.fit(compiler, files)?;
        }
        Ok(())
    }

    /// A simple shape in place of a mesh: that of the same moments as the box that weighs as the mesh does.
    fn fit(&mut self, compiler: &Compiler, files: &mut Files<'_, 'a>) -> Result<(), ImportError> {
        let Some(extent) = self.extent(compiler, files)? else {
            return Err(self.element().fault("its mesh encloses nothing"));
        };
        let (moments, axes) = Sym3::of(&extent.moments).principal();
        // The largest moment first, as in MuJoCo: z is the long axis.
        let order = [2, 1, 0];
        let axes = order.map(|k| axes.col(k));
        let mut axes = DMat3::from_cols(axes[0], axes[1], axes[2]);
        if axes.determinant() < 0.0 {
            axes.z_axis = -axes.z_axis;
        }
        let [a, b, c] = order.map(|k| moments[k]);
        // I_x = m/3 (y² + z²) of a box with half edges x, y, z gives x² = 3/2 (I_y + I_z − I_x)/m.
        let edge = |x: f64| (1.5 * x).max(0.0).sqrt();
        let mut half = [edge(b + c - a), edge(a + c - b), edge(a + b - c)];
        let scale = self.view.number("fitscale", 1.0)?;
        let mut frame = Pose {
            rotation: axes,
            position: extent.centre,
        };
        let mut across = 0.5 * (half[0] + half[1]);
        let (mut ball, mut caps) = ((half[0] + half[1] + half[2]) / 3.0, 0.5 * across);
        if compiler.fit_boxes {
            // The box along the same axes that holds all corners, and what is round as wide as it.
            let name = self.asset("mesh")?;
            let loaded = files.assets.load(name, compiler, files.folder);
            let points = loaded.map(|loaded| &loaded.mesh.points);
            let points = points.map_err(|what| self.element().fault(what))?;
            let (mut lo, mut hi) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            for &point in points {
                // Corners have single precision, as in MuJoCo.
                let own = frame.inverse().point(point).as_vec3().as_dvec3();
                (lo, hi) = (lo.min(own), hi.max(own));
            }
            frame.position = frame.point(0.5 * (lo + hi));
            half = (0.5 * (hi - lo)).to_array();
            across = half[0].max(half[1]);
            (ball, caps) = (across.max(half[2]), across);
        }
        let size = match self.kind {
            GeomType::Sphere => [ball, 0.0, 0.0],
            GeomType::Capsule => [across, (half[2] - caps).max(0.0), 0.0],
            GeomType::Cylinder => [across, half[2], 0.0],
            _ => half,
        };
        self.size = size.map(|x| x * scale);
        self.pose = self.pose.then(&frame);
        Ok(())
    }

    fn check_size(&self) -> Result<(), ImportError> {
        let needed = match self.kind {
            GeomType::Sphere => 1,
            GeomType::Capsule | GeomType::Cylinder => 2,
            GeomType::Box | GeomType::Ellipsoid => 3,
            _ => 0,
        };
        let Some(bad) = self.size[..needed].iter().find(|x| !(0.0 < **x)) else {
            return Ok(());
        };
        let what = format!(
            "{:?} has half size {bad}; it needs {needed} that are positive",
            self.kind
        );
        Err(self.element().fault(what))
    }

    /// The simple shape that it is.
    fn solid(&self) -> Option<Solid> {
        let [x, y, z] = self.size;
        Some(match self.kind {
            GeomType::Sphere => Solid::Sphere(x),
            GeomType::Capsule => Solid::Capsule(x, y),
            GeomType::Cylinder => Solid::Cylinder(x, y),
            GeomType::Box => Solid::Box(DVec3::new(x, y, z)),
            GeomType::Ellipsoid => Solid::Ellipsoid(DVec3::new(x, y, z)),
            _ => return None,
        })
    }

    /// The name of the mesh or height field that it must have.
    fn asset(&self, attribute: &str) -> Result<&'a str, ImportError> {
        let missing = || {
            let what = format!("attribute {attribute} is missing: it names the asset of the geom");
            self.element().fault(what)
        };
        self.view.get(attribute).ok_or_else(missing)
    }

    /// The moments of its mesh.
    fn extent(
        &self,
        compiler: &Compiler,
        files: &mut Files<'_, 'a>,
    ) -> Result<Option<Extent>, ImportError> {
        let name = self.asset("mesh")?;
        let loaded = files.assets.load(name, compiler, files.folder);
        let loaded = loaded.map(|loaded| loaded.extent);
        loaded.map_err(|what| self.mesh_fault(files, name, &what))
    }

    /// A fault of its mesh, at the mesh where there is one.
    fn mesh_fault(&self, files: &Files<'_, 'a>, name: &str, what: &str) -> ImportError {
        let at = files
            .assets
            .mesh(name)
            .map_or(self.element(), |view| view.element);
        at.fault(format!("the mesh {what}"))
    }

    /// What it weighs, in the frame of its body; none for a shape without volume.
    pub(super) fn mass(
        &self,
        compiler: &Compiler,
        files: &mut Files<'_, 'a>,
    ) -> Result<Option<MassProperties>, ImportError> {
        let given = self.view.exactly::<1>("mass")?.map(|[mass]| mass);
        let density = self.view.number("density", 1000.0)?;
        for (what, value) in [("mass", given.unwrap_or(0.0)), ("density", density)] {
            if value < 0.0 {
                let what = format!("{what} is {value}; it must not be negative");
                return Err(self.element().fault(what));
            }
        }
        if given == Some(0.0) || (given.is_none() && density == 0.0) {
            return Ok(None);
        }
        let shell = self.view.flag("shellinertia", false)?;
        let extent = match (self.solid(), self.kind) {
            (Some(solid), _) if shell => solid.shell(),
            (Some(solid), _) => solid.filled(),
            (None, GeomType::Mesh) => {
                let Some(extent) = self.extent(compiler, files)? else {
                    let what = "its mesh encloses nothing; give the body an <inertial>";
                    return Err(self.element().fault(what));
                };
                extent
            }
            // A box as high as its base and half its heights.
            (None, GeomType::Field) => match files.assets.field_size(self.asset("hfield")?)? {
                Some([x, y, z, base]) => {
                    let half = DVec3::new(x, y, 0.5 * base + 0.25 * z);
                    Solid::Box(half).filled()
                }
                None => return Ok(None),
            },
            (None, _) => return Ok(None),
        };
        let mass = given.unwrap_or(density * extent.size);
        Ok(Some(extent.body(mass, &self.pose)))
    }

    /// What it collides as, with a remark where it is not quite that; an error says why it cannot be had.
    pub(super) fn outside(
        &self,
        compiler: &Compiler,
        files: &mut Files<'_, 'a>,
    ) -> Result<(Shape, Option<String>), Outside> {
        let [x, y, z] = self.size;
        let name = self.element().name();
        let (radius, half_length) = (x, y);
        Ok(match self.kind {
            GeomType::Sphere => (Shape::Sphere { radius }, None),
            GeomType::Box => (Shape::Box { half: [x, y, z] }, None),
            GeomType::Cylinder => (
                Shape::Cylinder {
                    half_length,
                    radius,
                },
                None,
            ),
            GeomType::Capsule => (
                Shape::Capsule {
                    half_length,
                    radius,
                },
                None,
            ),
            GeomType::Ellipsoid => {
                let text = format!("the hull of some points stands for the ellipsoid \"{name}\"");
                (hull::ellipsoid(self.size), Some(text))
            }
            GeomType::Plane => (Shape::HalfSpace, None),
            GeomType::Field => {
                let name = self.asset("hfield").map_err(Outside::Fault)?;
                let folder = files.folder;
                let path = |file: &str| Some(folder?.join(compiler.mesh_path(file)));
                let field = files.assets.field(name, &path);
                (field.map_err(Outside::Lost)?, None)
            }
            GeomType::Sdf => return Err(Outside::Lost("a shape by a plugin".to_owned())),
            GeomType::Mesh => {
                let wanted = self.asset("mesh").map_err(Outside::Fault)?;
                let loaded = files.assets.load(wanted, compiler, files.folder);
                let points = loaded.map(|loaded| loaded.mesh.points.clone());
                let points = points.map_err(|what| {
                    if files.folder.is_none() && files.assets.mesh(wanted).is_some() {
                        return Outside::Lost(format!("the mesh {what}"));
                    }
                    Outside::Fault(self.mesh_fault(files, wanted, &what))
                })?;
                let (mut shape, mut said) = hull::of_points(points.iter().copied());
                if shape.check().is_err() {
                    (shape, said) = hull::thickened(&points);
                }
                if let Err(error) = shape.check() {
                    return Err(Outside::Lost(error.to_string()));
                }
                (
                    shape,
                    said.map(|said| format!("mesh of geom \"{name}\": {said}")),
                )
            }
        })
    }

    /// Its surface as a material: `friction` is sliding, spinning, rolling, of which `condim` says how many count.
    pub(super) fn surface(&self) -> Surface {
        self.rule.surface()
    }
}

/// Why a geom has no outside.
#[derive(Debug)]
pub(super) enum Outside {
    /// The file is wrong.
    Fault(ImportError),
    /// The file may be right, but this cannot be used here.
    Lost(String),
}
