//! URDF: links, joints, inertias, limits, mimic joints, collision shapes.
//!
//! Read from XML directly, because an error must say line and element, and because files in the wild leave out
//! attributes that do not matter here.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use glam::{DMat3, DQuat, DVec3, EulerRot};
use roxmltree::{Node, NodeId};

use super::solid::nearest_inertia;
use super::xml::{Source, child};
use super::{Base, ImportError, RobotFile, Warning, hull, tree_fault};
use crate::collide::Shape;
use crate::index::LinkId;
use crate::linalg::sym3::Sym3;
use crate::tree::spatial::Pose;
use crate::tree::{Link, MassProperties, Tree, TreeJoint, inertia_fault};
use crate::world::{Closure, ClosureKind, JointModel, RobotModel, ShapeModel};

/// Elements that are used, by parent.
const KNOWN: [(&str, &[&str]); 6] = [
    ("robot", &["link", "joint"]),
    ("link", &["inertial", "collision"]),
    ("collision", &["origin", "geometry"]),
    ("inertial", &["origin", "mass", "inertia"]),
    (
        "joint",
        &[
            "origin", "parent", "child", "axis", "limit", "dynamics", "mimic",
        ],
    ),
    (
        "geometry",
        &["box", "sphere", "cylinder", "capsule", "mesh"],
    ),
];

/// Stands for an infinite limit of a joint \[rad\] or \[m\].
const FAR: f64 = 1e9;

fn why_unused(tag: &str) -> String {
    match tag {
        "visual" | "material" => "looks are not used",
        "transmission" | "gazebo" | "ros2_control" => "is for another program",
        "safety_controller" => "soft limits are not used",
        _ => "is not understood and not used",
    }
    .to_owned()
}

pub(super) fn read(
    source: &Source<'_>,
    folder: Option<&Path>,
    base: Base,
) -> Result<RobotFile, ImportError> {
    let mut warnings = source.unused(&KNOWN, why_unused);
    let (mut links, elements, numbers) = read_links(source, &mut warnings)?;
    let shapes = read_shapes(source, folder, &numbers, &mut warnings)?;
    let (mut joints, mut names) = (Vec::new(), HashSet::new());
    let mut carried: Vec<Option<NodeId>> = vec![None; links.len()];
    for node in source.root().children().filter(|n| n.has_tag_name("joint")) {
        let (parent, carried_link) = ends(source, node, &numbers)?;
        if let Some(first) = carried[carried_link].replace(node.id()) {
            let line = source
                .document
                .get_node(first)
                .map_or(0, |n| source.line(n));
            let what = format!(
                "link \"{}\" already hangs on the joint of line {line}; cut the loop and close it by a constraint",
                links[carried_link].name
            );
            return Err(source.fault(node, what));
        }
        let entry = read_joint(
            source,
            node,
            (parent, carried_link),
            (&mut links, &mut warnings),
        )?;
        let kind = node.attribute("type").unwrap_or_default();
        if matches!(kind, "revolute" | "prismatic") && child(node, "limit").is_none() {
            let (line, name) = (source.line(node), &entry.name);
            let text = format!("{kind} joint \"{name}\" has no <limit>: it moves without end");
            warnings.push(source.warning(line, text));
        }
        if !names.insert(entry.name.clone()) {
            return Err(source.fault(node, "there is another joint of this name"));
        }
        joints.push((node.id(), entry));
    }
    let roots: Vec<usize> = (0..links.len()).filter(|i| carried[*i].is_none()).collect();
    if base == Base::Floating {
        float(source, &roots, &mut links, &mut warnings);
    }
    if 1 < roots.len() {
        let text = format!(
            "{} links have no parent joint; each stands on the ground by itself",
            roots.len()
        );
        warnings.push(source.warning(0, text));
    }
    hold_massless(source, (&mut links, &elements), &mut warnings);
    let tree = Tree::new(links)
        .map_err(|error| tree_fault(source, error, |link| elements.get(link.index()).copied()))?;
    let closures = mimics(source, &tree, &joints, &mut warnings)?;
    let mut joints: Vec<JointModel> = joints.into_iter().map(|(_, entry)| entry).collect();
    joints.retain(|entry| tree.links()[entry.link.index()].joint.dofs() != 0);
    joints.sort_by_key(|entry| entry.link);
    let robot = RobotModel {
        joints,
        closures,
        shapes,
        ..RobotModel::new(name(source.root()), tree)
    };
    Ok(RobotFile {
        robot,
        format: "urdf",
        warnings,
    })
}

/// Lets roots float; one without mass whose links all float already stays where it is, since nothing would resist it.
fn float(source: &Source<'_>, roots: &[usize], links: &mut [Link], warnings: &mut Vec<Warning>) {
    for &root in roots {
        let own = Some(LinkId(root as u32));
        let mut on_it = links.iter().filter(|link| link.parent == own).peekable();
        let carries = on_it.peek().is_some();
        let afloat = carries && on_it.all(|link| link.joint == TreeJoint::Floating);
        if afloat && links[root].body.mass == 0.0 {
            let name = &links[root].name;
            let text =
                format!("link \"{name}\" has no mass and carries what floats; it stays in place");
            warnings.push(source.warning(0, text));
            continue;
        }
        links[root].joint = TreeJoint::Floating;
    }
}

/// Joints that move nothing, because no link behind them has mass, are held: nothing would resist them.
fn hold_massless(
    source: &Source<'_>,
    (links, elements): (&mut [Link], &[NodeId]),
    warnings: &mut Vec<Warning>,
) {
    let mut heavy: Vec<bool> = links.iter().map(|link| link.body.mass != 0.0).collect();
    for i in 0..links.len() {
        // Up to the root, or to a link that is known to carry mass; a circle is met later.
        let (mut at, mut steps) = (i, 0);
        while let (true, Some(parent)) = (heavy[at] && steps <= links.len(), links[at].parent) {
            (at, steps) = (parent.index(), steps + 1);
            heavy[at] = true;
        }
    }
    for (i, link) in links.iter_mut().enumerate() {
        if heavy[i] || link.joint.dofs() == 0 {
            continue;
        }
        link.joint = TreeJoint::Fixed;
        let element = elements.get(i).and_then(|id| source.document.get_node(*id));
        let line = element.map_or(0, |node| source.line(node));
        let text = format!(
            "link \"{}\" and what it carries have no mass; it is fixed to its parent",
            link.name
        );
        warnings.push(source.warning(line, text));
    }
}

type Links<'a> = (Vec<Link>, Vec<NodeId>, HashMap<&'a str, usize>);

/// All links, still on the ground, with their elements and their numbers by name.
fn read_links<'a>(
    source: &'a Source<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Links<'a>, ImportError> {
    let (mut links, mut elements, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
    for node in source.root().children().filter(|n| n.has_tag_name("link")) {
        let name = source.text(node, "name")?;
        if numbers.insert(name, links.len()).is_some() {
            return Err(source.fault(node, "there is another link of this name"));
        }
        let body = read_inertial(source, node, warnings)?;
        links.push(Link::new(None, TreeJoint::Fixed, Pose::IDENTITY, body).named(name));
        elements.push(node.id());
    }
    if links.is_empty() {
        return Err(source.fault(source.root(), "there is no <link>"));
    }
    Ok((links, elements, numbers))
}

fn read_inertial(
    source: &Source<'_>,
    link: Node<'_, '_>,
    warnings: &mut Vec<Warning>,
) -> Result<MassProperties, ImportError> {
    let Some(inertial) = child(link, "inertial") else {
        return Ok(MassProperties::NONE);
    };
    let pose = read_origin(source, inertial)?;
    let Some(mass) = child(inertial, "mass") else {
        let text = format!(
            "inertial of link \"{}\" has no <mass>; the link is taken to have none",
            name(link)
        );
        warnings.push(source.warning(source.line(inertial), text));
        return Ok(MassProperties::NONE);
    };
    source.text(mass, "value")?;
    let mass_value = source.number(mass, "value", 0.0)?;
    if mass_value < 0.0 {
        let what = format!(
            "mass of link \"{}\" is {mass_value}; it must not be negative",
            name(link)
        );
        return Err(source.fault(mass, what));
    }
    let mut inertia = DMat3::ZERO;
    if let Some(node) = child(inertial, "inertia") {
        let entry = |name: &str| source.number(node, name, 0.0);
        let (xy, xz, yz) = (entry("ixy")?, entry("ixz")?, entry("iyz")?);
        let local = DMat3::from_cols(
            DVec3::new(entry("ixx")?, xy, xz),
            DVec3::new(xy, entry("iyy")?, yz),
            DVec3::new(xz, yz, entry("izz")?),
        );
        inertia = pose.rotation * local * pose.rotation.transpose();
        inertia = 0.5 * (inertia + inertia.transpose());
    } else if mass_value != 0.0 {
        let text = format!(
            "inertial of link \"{}\" has no <inertia>; its mass is taken to be in a point",
            name(link)
        );
        warnings.push(source.warning(source.line(inertial), text));
    }
    if let Some(reason) = inertia_fault(mass_value, &inertia) {
        let near = if mass_value == 0.0 {
            DMat3::ZERO
        } else {
            nearest_inertia(&inertia)
        };
        let [a, b, c] = Sym3::of(&near).eigenvalues();
        let text = format!(
            "inertia of link \"{}\": {reason}; the nearest that a body can have is taken, {a:.6e}, {b:.6e}, {c:.6e}",
            name(link)
        );
        warnings.push(source.warning(source.line(inertial), text));
        inertia = near;
    }
    Ok(MassProperties {
        mass: mass_value,
        com: pose.position,
        inertia,
    })
}

fn name<'n>(node: Node<'n, '_>) -> &'n str {
    node.attribute("name").unwrap_or_default()
}

/// `<origin xyz rpy>`: fixed axes, roll about x first, so R = R_z(yaw) R_y(pitch) R_x(roll).
fn read_origin(source: &Source<'_>, node: Node<'_, '_>) -> Result<Pose, ImportError> {
    let Some(origin) = child(node, "origin") else {
        return Ok(Pose::IDENTITY);
    };
    let position = source.vector(origin, "xyz", DVec3::ZERO)?;
    let rpy = source.vector(origin, "rpy", DVec3::ZERO)?;
    if rpy == DVec3::ZERO {
        return Ok(Pose::at(position));
    }
    let turn = DQuat::from_euler(EulerRot::ZYX, rpy.z, rpy.y, rpy.x);
    Ok(Pose::new(position, turn))
}

/// Parent and child of a joint, by number.
fn ends(
    source: &Source<'_>,
    node: Node<'_, '_>,
    numbers: &HashMap<&str, usize>,
) -> Result<(usize, usize), ImportError> {
    let find = |tag: &str| {
        let Some(end) = child(node, tag) else {
            return Err(source.fault(node, format!("<{tag}> is missing")));
        };
        let link = source.text(end, "link")?;
        let number = numbers.get(link).copied();
        number.ok_or_else(|| {
            source.fault(node, format!("its {tag}, link \"{link}\", does not exist"))
        })
    };
    Ok((find("parent")?, find("child")?))
}

/// Hangs the child on the parent and says what else the joint has.
fn read_joint(
    source: &Source<'_>,
    node: Node<'_, '_>,
    (parent, child_link): (usize, usize),
    (links, warnings): (&mut [Link], &mut Vec<Warning>),
) -> Result<JointModel, ImportError> {
    let axis = match child(node, "axis") {
        Some(element) => source.vector(element, "xyz", DVec3::X)?,
        None => DVec3::X,
    };
    let kind = source.text(node, "type")?;
    let joint = match kind {
        "fixed" => TreeJoint::Fixed,
        "floating" => TreeJoint::Floating,
        "revolute" => TreeJoint::Revolute { axis },
        "continuous" => TreeJoint::Continuous { axis },
        "prismatic" => TreeJoint::Prismatic { axis },
        "planar" => TreeJoint::Planar { normal: axis },
        "spherical" | "ball" => TreeJoint::Ball,
        other => {
            let what = format!(
                "type \"{other}\" is not known; types are fixed, revolute, continuous, prismatic, planar, floating, spherical"
            );
            return Err(source.fault(node, what));
        }
    };
    if joint.dofs() == 1 && axis.try_normalize().is_none() {
        return Err(source.fault(node, "its axis is zero"));
    }
    let link = &mut links[child_link];
    link.parent = Some(LinkId(parent as u32));
    link.joint = joint;
    link.place = read_origin(source, node)?;
    let mut entry = JointModel::free(name(node), LinkId(child_link as u32));
    if let Some(dynamics) = child(node, "dynamics") {
        link.damping = source.number(dynamics, "damping", 0.0)?;
        entry.friction = source.number(dynamics, "friction", 0.0)?;
        for (what, value) in [("damping", link.damping), ("friction", entry.friction)] {
            if value < 0.0 {
                let what = format!("{what} is {value}; it must not be negative");
                return Err(source.fault(node, what));
            }
        }
    }
    if let Some(limit) = child(node, "limit") {
        // Infinite ones are none.
        let bound = |name: &str| match limit.attribute(name).map(|text| text.trim().parse()) {
            Some(Ok(value)) if f64::is_infinite(value) => Ok(Some(value)),
            _ => Ok(source.numbers::<1>(limit, name)?.map(|[x]| x)),
        };
        let (lo, hi) = (
            bound("lower")?.unwrap_or(0.0),
            bound("upper")?.unwrap_or(0.0),
        );
        if hi < lo {
            let (line, name) = (source.line(limit), &entry.name);
            let text = format!(
                "limits {lo} and {hi} of joint \"{name}\" exclude every position; they are not used"
            );
            warnings.push(source.warning(line, text));
        } else if matches!(kind, "revolute" | "prismatic") && lo.max(-hi).is_finite() {
            entry.range = Some([lo.max(-FAR), hi.min(FAR)]);
        }
        entry.effort = bound("effort")?.filter(|x| x.is_finite());
        entry.speed = bound("velocity")?.filter(|x| x.is_finite());
    }
    Ok(entry)
}

/// q = multiplier · q_other + offset.
fn mimics(
    source: &Source<'_>,
    tree: &Tree,
    joints: &[(NodeId, JointModel)],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Closure>, ImportError> {
    let mut closures = Vec::new();
    for (id, entry) in joints {
        let node = source.document.get_node(*id);
        let Some(mimic) = node.and_then(|node| child(node, "mimic")) else {
            continue;
        };
        let other = source.text(mimic, "joint")?;
        let dofs = |link: LinkId| tree.links()[link.index()].joint.dofs();
        let found = joints.iter().find(|(_, joint)| joint.name == other);
        let Some((_, leader)) = found else {
            let text = format!(
                "joint \"{}\" mimics \"{other}\", which does not exist; it moves by itself",
                entry.name
            );
            warnings.push(source.warning(source.line(mimic), text));
            continue;
        };
        let (dependent, on) = (entry.link, leader.link);
        if 1 < dofs(dependent) || 1 < dofs(on) {
            let what = format!(
                "joints \"{}\" and \"{other}\" must have one dof",
                entry.name
            );
            return Err(source.fault(mimic, what));
        }
        if other == entry.name {
            return Err(source.fault(mimic, "a joint cannot mimic itself; name another one"));
        }
        let offset = source.number(mimic, "offset", 0.0)?;
        let factor = source.number(mimic, "multiplier", 1.0)?;
        if dofs(dependent) == 0 {
            let text = format!("joint \"{}\" is fixed; its <mimic> is not used", entry.name);
            warnings.push(source.warning(source.line(mimic), text));
            continue;
        }
        closures.push(Closure {
            name: entry.name.clone(),
            kind: ClosureKind::Joint {
                dependent,
                // A leader that is fixed stays at zero.
                on: Some(on).filter(|on| dofs(*on) == 1),
                coefficients: [offset, factor, 0.0, 0.0, 0.0],
            },
        });
    }
    Ok(closures)
}

/// The collision shapes of all links.
fn read_shapes(
    source: &Source<'_>,
    folder: Option<&Path>,
    numbers: &HashMap<&str, usize>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ShapeModel>, ImportError> {
    let mut shapes = Vec::new();
    for node in source.root().children().filter(|n| n.has_tag_name("link")) {
        let link = numbers.get(name(node)).map(|&i| LinkId(i as u32));
        for collision in node.children().filter(|n| n.has_tag_name("collision")) {
            let pose = read_origin(source, collision)?;
            let Some(geometry) = child(collision, "geometry") else {
                return Err(source.fault(collision, "<geometry> is missing"));
            };
            let Some(element) = geometry.children().find(Node::is_element) else {
                let text = "a collision <geometry> without a shape is left out".to_owned();
                warnings.push(source.warning(source.line(geometry), text));
                continue;
            };
            if let Some(shape) = read_shape(source, element, folder, warnings)? {
                shapes.push(ShapeModel::new(link, pose, shape));
            }
        }
    }
    Ok(shapes)
}

/// One shape; `None` with a warning for one without extent or a mesh that cannot be used.
fn read_shape(
    source: &Source<'_>,
    element: Node<'_, '_>,
    folder: Option<&Path>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Shape>, ImportError> {
    let length = |name: &str| {
        source.text(element, name)?;
        let value = source.number(element, name, 0.0)?;
        if 0.0 <= value {
            return Ok(value);
        }
        Err(source.fault(
            element,
            format!("{name} is {value}; it must not be negative"),
        ))
    };
    let tag = element.tag_name().name();
    let (shape, extent) = match tag {
        "sphere" => {
            let radius = length("radius")?;
            (Shape::Sphere { radius }, radius)
        }
        "box" => {
            source.text(element, "size")?;
            let size = source.vector(element, "size", DVec3::ZERO)?;
            if size.min_element() < 0.0 {
                let what = format!("size {size} must not be negative");
                return Err(source.fault(element, what));
            }
            let half = (0.5 * size).to_array();
            (Shape::Box { half }, size.min_element())
        }
        "cylinder" | "capsule" => {
            let (half_length, radius) = (0.5 * length("length")?, length("radius")?);
            let shape = match tag {
                "cylinder" => Shape::Cylinder {
                    half_length,
                    radius,
                },
                _ => Shape::Capsule {
                    half_length,
                    radius,
                },
            };
            (shape, half_length.min(radius))
        }
        "mesh" => return read_mesh(source, element, folder, warnings),
        // The list of unused elements has it.
        _ => return Ok(None),
    };
    if extent == 0.0 {
        let text = format!("a {tag} without extent is left out");
        warnings.push(source.warning(source.line(element), text));
        return Ok(None);
    }
    Ok(Some(shape))
}

/// The hull of a mesh, which may be elsewhere: files of robots are passed on without their meshes.
fn read_mesh(
    source: &Source<'_>,
    mesh: Node<'_, '_>,
    folder: Option<&Path>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Shape>, ImportError> {
    let path = source.text(mesh, "filename")?;
    let mut warn = |text: String| {
        let line = source.line(mesh);
        warnings.push(source.warning(line, text));
    };
    let scale = match source.vector(mesh, "scale", DVec3::ONE) {
        Ok(scale) => scale,
        Err(error) => {
            warn(format!(
                "mesh {path}: {}; the shape is left out",
                error.what
            ));
            return Ok(None);
        }
    };
    let Some(folder) = folder else {
        warn(format!(
            "mesh {path}: no folder is given to look in; the shape is left out"
        ));
        return Ok(None);
    };
    let Some(found) = hull::locate(path, folder) else {
        let what = match path.starts_with("package://") {
            true => "its package is not found",
            false => "it does not exist",
        };
        warn(format!("mesh {path}: {what}; the shape is left out"));
        return Ok(None);
    };
    match hull::of_file(&found, scale) {
        Ok((hull, remark)) => {
            if let Some(remark) = remark {
                warn(format!("mesh {path}: {remark}"));
            }
            Ok(Some(hull))
        }
        Err(what) => {
            warn(format!("mesh {what}; the shape is left out"));
            Ok(None)
        }
    }
}
