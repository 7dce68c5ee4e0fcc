//! Free bodies: towers on the ground that lean on each other, chains of ball joints, or both.

use delassus::math::Random;
use serde_json::{Value, json};

use super::{Class, Variant, frame, log, moments, once_in, quaternion, turned, whole};

/// Step of time \[s\] and weight [m/s²].
const H: f64 = 0.01;
const G: f64 = 9.81;

struct Body {
    at: [f64; 3],
    half: [f64; 3],
}

pub(super) fn draw(random: &mut Random, class: Class, variant: Variant) -> Value {
    let unit = variant.length();
    let count = whole(random, 1, 6);
    let (mut bodies, mut entries) = (Vec::new(), Vec::new());
    let mut foot = 0.0;
    for i in 0..count {
        let half = [(); 3].map(|()| unit * log(random, 0.05, 0.5));
        let at = [
            unit * random.range(-0.1, 0.1),
            unit * random.range(-0.1, 0.1),
            foot + half[2],
        ];
        foot += 2.0 * half[2];
        let dense = unit * unit * unit * 1000.0;
        let mass = match variant {
            Variant::Ratio if i % 2 == 1 => dense * log(random, 1.0, 1e6),
            _ => dense * log(random, 0.1, 10.0),
        };
        entries.push(entry(random, variant, (mass, at, half)));
        bodies.push(Body { at, half });
    }
    let joints = match class {
        Class::Joints | Class::JointsContacts => chain(random, variant, &bodies),
        _ => Vec::new(),
    };
    if class == Class::Joints {
        return json!({"schema": "delassus-problem-1", "kind": "joints", "h": H, "bodies": entries, "joints": joints});
    }
    let mut contacts = Vec::new();
    for i in 0..count {
        if i == 0 || !once_in(random, 4) {
            face(
                random,
                (class, variant),
                &bodies,
                (i, i.checked_sub(1)),
                &mut contacts,
            );
        }
    }
    if variant == Variant::Duplicated {
        for i in 0..contacts.len() {
            let mut copy = contacts[i].clone();
            if once_in(random, 2) {
                let x = copy["p"][0].as_f64().expect("points are drawn as numbers");
                copy["p"][0] = json!(x + 1e-6 * unit);
            }
            contacts.push(copy);
        }
    }
    let cone = match class {
        Class::Faceted => "polyhedral",
        Class::Box => "box",
        _ => "disk",
    };
    json!({"schema": "delassus-problem-1", "kind": "contact", "h": H, "cone": cone,
           "bodies": entries, "contacts": contacts, "joints": joints})
}

fn entry(
    random: &mut Random,
    variant: Variant,
    (mass, at, half): (f64, [f64; 3], [f64; 3]),
) -> Value {
    let principal = moments(random, variant, mass, half);
    let inertia = match once_in(random, 2) {
        true => turned(random, principal),
        false => [0, 1, 2].map(|i| [0, 1, 2].map(|j| if i == j { principal[i] } else { 0.0 })),
    };
    let unit = variant.length();
    let speed = log(random, 1e-3, 10.0);
    let v = [(); 3].map(|()| unit * speed * random.range(-1.0, 1.0));
    let w = [(); 3].map(|()| speed * random.range(-1.0, 1.0));
    let push = if once_in(random, 3) {
        5.0 * mass * G
    } else {
        0.0
    };
    let f = [random.range(-push, push + 1e-300), 0.0, -mass * G];
    json!({"m": mass, "I_body": inertia, "x": at, "q": quaternion(random), "v": v, "w": w, "f": f})
}

/// Points between a body and what lies below it.
fn face(
    random: &mut Random,
    (class, variant): (Class, Variant),
    bodies: &[Body],
    (upper, lower): (usize, Option<usize>),
    contacts: &mut Vec<Value>,
) {
    let body = &bodies[upper];
    let most = if variant == Variant::Redundant { 12 } else { 4 };
    let tilt = if once_in(random, 3) { 0.5 } else { 0.0 };
    let [n, t1, t2] = frame(random, [0.0, 0.0, 1.0], tilt);
    let mu = if once_in(random, 8) {
        0.0
    } else {
        log(random, 0.01, 2.0)
    };
    for _ in 0..whole(random, 1, most) {
        let aside =
            |random: &mut Random, i: usize| body.at[i] + body.half[i] * random.range(-1.0, 1.0);
        let p = [
            aside(random, 0),
            aside(random, 1),
            body.at[2] - body.half[2],
        ];
        let friction = match class {
            Class::Elliptic => json!([mu, mu * log(random, 0.05, 20.0)]),
            _ => json!(mu),
        };
        let soft = match variant {
            Variant::Soft => log(random, 1e-9, 1e-1),
            _ => 0.0,
        };
        let other = lower.map_or(-1, |b| b as i64);
        contacts.push(
            json!({"a": upper, "b": other, "p": p, "n": n, "t1": t1, "t2": t2, "mu": friction,
                             "d": 4 + 2 * random.below(5), "sigma_n": soft}),
        );
    }
}

/// Ball joints from body to body, the first on the ground as often as not, and loops where rows may be redundant.
fn chain(random: &mut Random, variant: Variant, bodies: &[Body]) -> Vec<Value> {
    let mut joints = Vec::new();
    let soft = match variant {
        Variant::Soft => log(random, 1e-9, 1e-1),
        _ => 0.0,
    };
    for (i, body) in bodies.iter().enumerate() {
        if i == 0 && once_in(random, 2) {
            continue;
        }
        let p = [0, 1, 2].map(|k| body.at[k] - body.half[k] * random.range(0.0, 1.0));
        let below = i.checked_sub(1).map_or(-1, |b| b as i64);
        joints.push(json!({"a": i, "b": below, "p": p, "sigma": soft}));
        let again = match variant {
            Variant::Redundant => whole(random, 1, 3),
            Variant::Duplicated => 1,
            _ => 0,
        };
        for _ in 0..again {
            let apart = match variant {
                Variant::Duplicated if once_in(random, 2) => 0.0,
                Variant::Duplicated => 1e-6,
                _ => 1.0,
            };
            let p = [0, 1, 2].map(|k| p[k] + apart * body.half[k] * random.range(-1.0, 1.0));
            joints.push(json!({"a": i, "b": below, "p": p, "sigma": soft}));
        }
    }
    joints
}
