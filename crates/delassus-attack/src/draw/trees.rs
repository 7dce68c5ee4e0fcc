//! Kinematic trees with constraints, or with contacts on the ground.

use delassus::math::Random;
use serde_json::{Value, json};

use super::{Variant, frame, log, moments, once_in, quaternion, turned, whole};

/// Step of time \[s\].
const H: f64 = 0.01;

/// Joints, configuration and number of velocities.
struct Tree {
    joints: Vec<Value>,
    q: Vec<f64>,
    n: usize,
}

fn tree(random: &mut Random, variant: Variant) -> Tree {
    let unit = variant.length();
    let mut tree = Tree {
        joints: Vec::new(),
        q: Vec::new(),
        n: 0,
    };
    for i in 0..whole(random, 1, 7) {
        let parent = match i {
            0 => -1,
            _ if once_in(random, 4) => random.below(i) as i64,
            _ => i as i64 - 1,
        };
        let kind = match random.below(6) {
            0 | 1 if i == 0 => "free",
            0 => "prismatic",
            1 => "spherical",
            2 if i != 0 => "fixed",
            _ => "revolute",
        };
        let (count, turn) = match kind {
            "free" => {
                let at = [(); 3].map(|()| unit * random.range(-1.0, 1.0));
                tree.q.extend(at);
                (6, true)
            }
            "spherical" => (3, true),
            "fixed" => (0, false),
            _ => {
                let size = if kind == "prismatic" { unit } else { 1.0 };
                tree.q.push(size * random.range(-1.5, 1.5));
                (1, false)
            }
        };
        if turn {
            tree.q.extend(quaternion(random));
        }
        tree.n += count;
        let half = [(); 3].map(|()| unit * log(random, 0.05, 0.5));
        let dense = unit * unit * unit * 100.0;
        let m = match variant {
            Variant::Ratio if i % 2 == 1 => dense * log(random, 1.0, 1e6),
            _ => dense * log(random, 0.1, 10.0),
        };
        let principal = moments(random, variant, m, half);
        let point = |random: &mut Random| [(); 3].map(|()| unit * random.range(-0.5, 0.5));
        let axis = frame(random, [0.0, 0.0, 1.0], 1.0)[0];
        tree.joints.push(json!({"parent": parent, "type": kind, "axis": axis, "p": point(random),
            "quat": quaternion(random), "m": m, "com": point(random), "I": turned(random, principal)}));
    }
    if tree.n == 0 {
        tree.joints[0]["type"] = json!("revolute");
        tree.q = vec![0.3];
        tree.n = 1;
    }
    tree
}

pub(super) fn constrained(random: &mut Random, variant: Variant) -> Value {
    let tree = tree(random, variant);
    let unit = variant.length();
    let mut constraints = Vec::new();
    let mut rows = 0;
    let most = if variant == Variant::Redundant { 3 } else { 1 };
    for _ in 0..whole(random, 1, most) {
        let a = random.below(tree.joints.len());
        let point = [(); 3].map(|()| unit * random.range(-0.5, 0.5));
        let other = match random.below(tree.joints.len() + 1) {
            b if b < tree.joints.len() && b != a => b as i64,
            _ => -1,
        };
        let pb = [(); 3].map(|()| unit * random.range(-0.5, 0.5));
        let again = if variant == Variant::Duplicated { 2 } else { 1 };
        let [n, t1, t2] = frame(random, [0.0, 0.0, 1.0], 1.0);
        let dirs: Vec<[f64; 3]> = [n, t1, t2][..whole(random, 1, 3)].to_vec();
        for _ in 0..again {
            rows += dirs.len();
            constraints.push(json!({"a": a, "pa": point, "b": other, "pb": pb, "dirs": dirs}));
        }
    }
    let soft = if variant == Variant::Soft {
        log(random, 1e-9, 1e-1)
    } else {
        0.0
    };
    // Rows that may depend on each other agree where nothing moves.
    let aim = if variant == Variant::Soft { 1.0 } else { 0.0 };
    let y2: Vec<f64> = (0..rows).map(|_| aim * random.range(-1.0, 1.0)).collect();
    let push = log(random, 1e-2, 1e2) * unit * unit * unit;
    let y1: Vec<f64> = (0..tree.n)
        .map(|_| push * random.range(-1.0, 1.0))
        .collect();
    json!({"schema": "delassus-problem-1", "kind": "tree", "joints": tree.joints, "q": tree.q,
           "constraints": constraints, "y1": y1, "y2": y2, "sigma": soft})
}

pub(super) fn contacts(random: &mut Random, variant: Variant) -> Value {
    let tree = tree(random, variant);
    let unit = variant.length();
    let most = if variant == Variant::Redundant { 10 } else { 4 };
    let mut contacts = Vec::new();
    for _ in 0..whole(random, 1, most) {
        let a = random.below(tree.joints.len());
        let point = [(); 3].map(|()| unit * random.range(-0.5, 0.5));
        let [n, t1, t2] = frame(random, [0.0, 0.0, 1.0], 0.3);
        let mu = if once_in(random, 8) {
            0.0
        } else {
            log(random, 0.01, 2.0)
        };
        let soft = if variant == Variant::Soft {
            log(random, 1e-9, 1e-1)
        } else {
            0.0
        };
        let again = if variant == Variant::Duplicated { 2 } else { 1 };
        for i in 0..again {
            let pa = [point[0] + 1e-6 * unit * i as f64, point[1], point[2]];
            contacts.push(json!({"a": a, "pa": pa, "b": -1, "n": n, "t1": t1, "t2": t2, "mu": mu, "sigma_n": soft}));
        }
    }
    let speed = log(random, 1e-3, 10.0);
    let v: Vec<f64> = (0..tree.n)
        .map(|_| speed * random.range(-1.0, 1.0))
        .collect();
    let cone = if once_in(random, 3) {
        "polyhedral"
    } else {
        "disk"
    };
    json!({"schema": "delassus-problem-1", "kind": "treecontact", "h": H, "cone": cone, "gravity": [0, 0, -9.81],
           "joints": tree.joints, "q": tree.q, "v": v, "tau": vec![0.0; tree.n], "contacts": contacts})
}
