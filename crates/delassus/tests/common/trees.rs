//! Random kinematic trees, and the trees of the benchmark files.
#![allow(clippy::print_stderr, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};

use delassus::LinkId;
use delassus::math::{DMat3, DQuat, DVec3, Random};
use delassus::solver::exact::kkt::TreeKkt;
use delassus::tree::spatial::Pose;
use delassus::tree::{
    Data, KktGiven, KktUnknowns, Link, LinkPoint, MassProperties, Tree, TreeJoint, TreeRows,
};

/// A body with a random centre of mass and a physical inertia.
pub(crate) fn random_body(random: &mut Random) -> MassProperties {
    let mass = random.range(0.3, 3.0);
    // Σ m (|x|² 1 − x xᵀ) of four point masses is always physical.
    let mut inertia = DMat3::ZERO;
    for _ in 0..4 {
        let x = 0.2 * random.vector();
        let outer = DMat3::from_cols(x * x.x, x * x.y, x * x.z);
        inertia += (DMat3::IDENTITY * x.length_squared() - outer) * (0.25 * mass);
    }
    MassProperties {
        mass,
        com: 0.2 * random.vector(),
        inertia: 0.5 * (inertia + inertia.transpose()) + DMat3::IDENTITY * 1e-3,
    }
}

pub(crate) fn random_quat(random: &mut Random) -> DQuat {
    DQuat::from_scaled_axis(3.0 * random.vector())
}

/// A joint of each kind in turn.
pub(crate) fn joint(k: usize, random: &mut Random) -> TreeJoint {
    let axis = random.vector();
    match k % 9 {
        0 => TreeJoint::Revolute { axis },
        1 => TreeJoint::Prismatic { axis },
        2 => TreeJoint::Ball,
        3 => TreeJoint::Universal {
            first: axis,
            second: axis.any_orthogonal_vector() + 0.2 * random.vector(),
        },
        4 => TreeJoint::Planar { normal: axis },
        5 => TreeJoint::Helical { axis, pitch: 0.3 },
        6 => TreeJoint::Floating,
        7 => TreeJoint::Fixed,
        _ => TreeJoint::Continuous { axis },
    }
}

/// `count` links with joints of every kind, random branching, in random order.
pub(crate) fn random_tree(random: &mut Random, count: usize) -> Tree {
    let first = random.below(9);
    let mut links = Vec::new();
    for i in 0..count {
        let parent = (0 < i && random.below(8) != 0).then(|| random.below(i));
        let place = Pose::new(0.4 * random.vector(), random_quat(random));
        let joint = joint(first + i, random);
        let mut link = Link::new(None, joint, place, random_body(random));
        link.parent = parent.map(|p| LinkId(p as u32));
        // A floating joint has armature on the ground alone.
        if random.below(3) == 0 && (parent.is_none() || joint != TreeJoint::Floating) {
            link.armature = random.range(0.0, 0.1);
        }
        links.push(link.named(format!("l{i}")));
    }
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    Tree::new(reordered(&links, &order)).expect("random trees are physical")
}

/// A floating chain of links on hinges that bend sideways and up in turn.
pub(crate) fn snake(random: &mut Random, count: u32) -> Tree {
    let link = |i: u32| {
        let axis = if i.is_multiple_of(2) {
            DVec3::Y
        } else {
            DVec3::Z
        };
        let joint = match i {
            0 => TreeJoint::Floating,
            _ => TreeJoint::Revolute { axis },
        };
        let (parent, place) = (i.checked_sub(1).map(LinkId), Pose::at(DVec3::X * 0.1));
        Link::new(parent, joint, place, random_body(random))
    };
    Tree::new((0..count).map(link).collect()).unwrap()
}

/// Link `order[i]` becomes link i.
pub(crate) fn reordered(links: &[Link], order: &[usize]) -> Vec<Link> {
    let place = |old: LinkId| {
        let new = order.iter().position(|&o| o == old.index());
        LinkId(new.expect("an order holds every link") as u32)
    };
    order
        .iter()
        .map(|&old| {
            let mut link = links[old].clone();
            link.parent = link.parent.map(place);
            link
        })
        .collect()
}

pub(crate) fn random_vector(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.range(-1.0, 1.0)).collect()
}

/// A random configuration: the neutral one moved by a random velocity for a while.
pub(crate) fn random_configuration(random: &mut Random, tree: &Tree) -> Vec<f64> {
    let mut q = tree.neutral();
    let v = random_vector(random, tree.n_dofs());
    tree.integrate(&mut q, &v, 2.0).expect("lengths agree");
    q
}

/// A benchmark tree with its six-row contact frames, or none where the folder is absent.
pub(crate) fn benchmark(name: &str) -> Option<(Tree, Vec<(LinkId, DVec3)>)> {
    let path = data_folder().join(format!("trees/{name}.txt"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {name} beside this checkout");
        return None;
    };
    let (mut links, mut contacts) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = |from: usize| -> Vec<f64> {
            let parse = |word: &&str| word.parse().expect("a number");
            words[from..].iter().map(parse).collect()
        };
        let vector = |x: &[f64]| DVec3::new(x[0], x[1], x[2]);
        match words.first() {
            Some(&"joint") => {
                let x = numbers(4);
                let axis = vector(&x);
                let joint = match words[3] {
                    "FF" => TreeJoint::Floating,
                    "R" => TreeJoint::Revolute { axis },
                    "P" => TreeJoint::Prismatic { axis },
                    "S" => TreeJoint::Ball,
                    other => panic!("unknown joint {other}"),
                };
                let rotation = DMat3::from_cols_slice(&x[3..12]).transpose();
                let i = &x[19..25];
                let rows = [i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5]];
                let body = MassProperties {
                    mass: x[15],
                    com: vector(&x[16..19]),
                    inertia: DMat3::from_cols_array(&rows),
                };
                let place = Pose {
                    rotation,
                    position: vector(&x[12..15]),
                };
                let parent: u32 = words[2].parse().expect("a parent");
                let parent = parent.checked_sub(1).map(LinkId);
                links.push(Link::new(parent, joint, place, body));
            }
            Some(&"contact") => {
                let x = numbers(1);
                contacts.push((LinkId(x[0] as u32 - 1), vector(&x[1..4])));
            }
            _ => {}
        }
    }
    Some((
        Tree::new(links).expect("benchmark trees are physical"),
        contacts,
    ))
}

/// The folder of external data, which need not be there.
pub(crate) fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
}

/// max|x|.
pub(crate) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// Every number within `tolerance` of the expected one, relative to the largest or to one.
pub(crate) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = largest(expected).max(1.0);
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}[{i}]: {a} {b}");
    }
}

/// x₁ and x₂ of a KKT system.
pub(crate) fn kkt_answer(
    kkt: &mut TreeKkt,
    tree: &Tree,
    data: &mut Data,
    rows: &TreeRows,
    given: KktGiven<'_>,
) -> (Vec<f64>, Vec<f64>) {
    let (mut x1, mut x2) = (vec![0.0; given.y1.len()], vec![0.0; given.y2.len()]);
    let unknowns = KktUnknowns {
        x1: &mut x1,
        x2: &mut x2,
    };
    kkt.solve(tree, data, rows, given, unknowns).unwrap();
    (x1, x2)
}

/// Six rows that hold a point of a link and its axes.
pub(crate) fn weld(tree: &Tree, data: &Data, rows: &mut TreeRows, (link, local): (LinkId, DVec3)) {
    let point = tree.pose(data, link).unwrap().point(local);
    for axis in DVec3::AXES {
        rows.start();
        tree.add_linear(data, rows, LinkPoint::new(link, point), axis)
            .unwrap();
    }
    for axis in DVec3::AXES {
        rows.start();
        tree.add_angular(rows, link, axis).unwrap();
    }
}
