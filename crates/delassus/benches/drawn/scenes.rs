//! Scenes whose times are kept: stacks, walls, pyramids, arches, houses of cards, loose spheres, chains, a snake.

use std::sync::Arc;

use delassus::math::{DMat3, DQuat, DVec3, Random};
use delassus::problem::place::{At, Place};
use delassus::tree::spatial::Pose;
use delassus::tree::{Link, MassProperties, Tree, TreeJoint};
use delassus::{Law, LinkId, MassBlock, Problem};

use super::{Body, Drawn};

/// Contacts of a face between two boxes: 2 × 2 points.
const CORNERS: (usize, usize) = (2, 2);

/// Boxes of 1 m on each other, the top so many times as heavy, `points` × `points` contacts a face; pushed by so many
/// weights in some direction.
pub(crate) fn stack(count: usize, ratio: f64, points: usize, push: f64) -> Drawn {
    let mut drawn = Drawn::default();
    let mut random = Random::new(1);
    for i in 0..count {
        let at = DVec3::new(0.0, 0.0, i as f64 + 0.5);
        let mass = if i + 1 == count { ratio } else { 1.0 };
        let mut body = Body::new(mass, DVec3::splat(0.5), at);
        shove(&mut body, &mut random, push);
        drawn.bodies.push(body);
        let spread = [DVec3::X * 0.5, DVec3::Y * 0.5];
        let foot = at - DVec3::Z * 0.5;
        drawn.face((i, i.checked_sub(1)), foot, spread, (points, points));
    }
    drawn
}

/// What a force of so many weights does in one step.
fn shove(body: &mut Body, random: &mut Random, push: f64) {
    let speed = push * super::G * super::H;
    body.v += random.vector() * speed;
    body.spin += random.vector() * (0.3 * speed);
}

/// Two bricks that lie on each other touch at the corners of what they share.
fn lay(drawn: &mut Drawn, (id, x): (usize, f64), below: &[(usize, f64)], (z, half): (f64, DVec3)) {
    for &(other, at) in below {
        let (lo, hi) = ((x - half.x).max(at - half.x), (x + half.x).min(at + half.x));
        if 1e-9 < hi - lo {
            let centre = DVec3::new(0.5 * (lo + hi), 0.0, z);
            let spread = [DVec3::X * (0.5 * (hi - lo)), DVec3::Y * half.y];
            drawn.face((id, Some(other)), centre, spread, CORNERS);
        }
    }
}

/// A wall of bricks, row over row by half a brick; the top row so many times as heavy.
pub(crate) fn wall(columns: usize, rows: usize, ratio: f64, push: f64) -> Drawn {
    let mut drawn = Drawn::default();
    let mut random = Random::new(4);
    let half = DVec3::new(0.5, 0.2, 0.2);
    let mut below = Vec::new();
    for r in 0..rows {
        let mut here: Vec<(usize, f64)> = Vec::new();
        for c in 0..columns {
            let (x, foot) = (c as f64 + 0.5 * (r % 2) as f64, 0.4 * r as f64);
            let mass = if r + 1 == rows { ratio } else { 1.0 };
            let mut body = Body::new(mass, half, DVec3::new(x, 0.0, foot + half.z));
            shove(&mut body, &mut random, push);
            let id = drawn.bodies.len();
            drawn.bodies.push(body);
            if r == 0 {
                let spread = [DVec3::X * half.x, DVec3::Y * half.y];
                drawn.face((id, None), DVec3::new(x, 0.0, foot), spread, CORNERS);
            }
            lay(&mut drawn, (id, x), &below, (foot, half));
            if let Some(&(other, _)) = here.last() {
                let centre = DVec3::new(x - 0.5, 0.0, foot + half.z);
                let spread = [DVec3::Y * half.y, DVec3::Z * half.z];
                drawn.face((id, Some(other)), centre, spread, CORNERS);
            }
            here.push((id, x));
        }
        below = here;
    }
    drawn
}

/// Boxes with a little room between them, each row one box shorter.
pub(crate) fn pyramid(rows: usize) -> Drawn {
    let mut drawn = Drawn::default();
    let half = DVec3::splat(0.5);
    let mut below = Vec::new();
    for r in 0..rows {
        let mut here = Vec::new();
        for c in 0..rows - r {
            let x = (c as f64 - 0.5 * (rows - r - 1) as f64) * 1.05;
            let foot = r as f64;
            let id = drawn.bodies.len();
            let body = Body::new(1.0, half, DVec3::new(x, 0.0, foot + 0.5));
            drawn.bodies.push(body);
            if r == 0 {
                let spread = [DVec3::X * 0.5, DVec3::Y * 0.5];
                drawn.face((id, None), DVec3::new(x, 0.0, foot), spread, CORNERS);
            }
            lay(&mut drawn, (id, x), &below, (foot, half));
            here.push((id, x));
        }
        below = here;
    }
    drawn
}

/// Wedges on a half circle with a keystone so many times as heavy.
pub(crate) fn arch(count: usize, ratio: f64) -> Drawn {
    let mut drawn = Drawn::default();
    let (radius, step) = (2.3, std::f64::consts::PI / count as f64);
    let polar = |angle: f64| {
        let out = DVec3::new(angle.cos(), 0.0, angle.sin());
        (out, DVec3::new(-angle.sin(), 0.0, angle.cos()))
    };
    for i in 0..count {
        let angle = step * (i as f64 + 0.5);
        let mass = if i == count / 2 { ratio } else { 1.0 };
        let half = DVec3::new(0.3, 0.25, 0.5 * step * radius);
        let mut body = Body::new(mass, half, polar(angle).0 * radius);
        body.turn = DQuat::from_rotation_y(-angle);
        drawn.bodies.push(body);
    }
    for i in 0..=count {
        let (out, along) = polar(step * i as f64);
        let (pair, normal) = match i {
            0 => ((0, None), along),
            i if i == count => ((count - 1, None), -along),
            i => ((i, Some(i - 1)), along),
        };
        for (s, t) in [(-0.3, -0.25), (-0.3, 0.25), (0.3, -0.25), (0.3, 0.25)] {
            let at = out * (radius + s) + DVec3::Y * t;
            drawn.contacts.push((pair.0, pair.1, at, normal));
        }
    }
    drawn
}

/// Pairs of leaning cards with plates between the levels.
pub(crate) fn cards(levels: usize) -> Drawn {
    let mut drawn = Drawn::default();
    let (angle, wide) = (15.0_f64.to_radians(), 0.3);
    let (high, reach) = (angle.cos(), angle.sin());
    let mut below: Vec<(usize, f64)> = Vec::new();
    for level in 0..levels {
        let z = level as f64 * (high + 0.02);
        let mut frames = Vec::new();
        for a in 0..levels - level {
            let centre = (a as f64 - 0.5 * (levels - level - 1) as f64) * (2.0 * reach + 0.1);
            let pair = [-1.0, 1.0].map(|side| {
                let at = DVec3::new(centre + 0.5 * side * reach, 0.0, z + 0.5 * high);
                let mut card = Body::new(0.1, DVec3::new(0.01, wide, 0.5), at);
                card.turn = DQuat::from_rotation_y(side * angle);
                let id = drawn.bodies.len();
                drawn.bodies.push(card);
                let foot = centre + side * reach;
                let nearest = |x: &&(usize, f64), y: &&(usize, f64)| {
                    (x.1 - foot).abs().total_cmp(&(y.1 - foot).abs())
                };
                let on = below.iter().min_by(nearest).map(|plate| plate.0);
                for y in [-wide, wide] {
                    drawn
                        .contacts
                        .push((id, on, DVec3::new(foot, y, z), DVec3::Z));
                }
                id
            });
            for y in [-wide, wide] {
                let at = DVec3::new(centre, y, z + high);
                drawn.contacts.push((pair[1], Some(pair[0]), at, DVec3::X));
            }
            frames.push((pair, centre));
        }
        below.clear();
        for two in frames.windows(2) {
            let (x, width) = (0.5 * (two[0].1 + two[1].1), two[1].1 - two[0].1 + 0.2);
            let half = DVec3::new(0.5 * width, wide, 0.01);
            let id = drawn.bodies.len();
            let at = DVec3::new(x, 0.0, z + high + 0.01);
            drawn.bodies.push(Body::new(0.1, half, at));
            for (pair, centre) in two {
                for card in pair {
                    for y in [-wide, wide] {
                        let at = DVec3::new(*centre, y, z + high);
                        drawn.contacts.push((id, Some(*card), at, DVec3::Z));
                    }
                }
            }
            below.push((id, x));
        }
    }
    drawn
}

/// Spheres dropped where they come to lie lowest of some tries, with speeds of their own.
pub(crate) fn spheres(count: usize, size: f64) -> Drawn {
    let mut drawn = Drawn::default();
    let mut random = Random::new(7);
    let mut centres: Vec<DVec3> = Vec::new();
    for _ in 0..count {
        let tries = (0..60).map(|_| {
            let x = random.range(-0.5 * size, 0.5 * size);
            let y = random.range(-0.5 * size, 0.5 * size);
            let z = centres.iter().fold(0.5_f64, |z, c| {
                let d = (x - c.x).powi(2) + (y - c.y).powi(2);
                if d < 1.0 {
                    z.max(c.z + (1.0 - d).sqrt())
                } else {
                    z
                }
            });
            DVec3::new(x, y, z)
        });
        let lowest = tries.min_by(|a, b| a.z.total_cmp(&b.z));
        centres.extend(lowest);
    }
    for (i, c) in centres.iter().enumerate() {
        // The inertia of a box whose half sides are √0.6 r is that of a ball.
        let mut body = Body::new(1.0, DVec3::splat(0.5 * 0.6_f64.sqrt()), *c);
        body.v = random.vector() * 0.3;
        body.spin = random.vector();
        drawn.bodies.push(body);
        if c.z < 0.501 {
            drawn
                .contacts
                .push((i, None, *c - DVec3::Z * 0.5, DVec3::Z));
        }
        for (j, d) in centres[..i].iter().enumerate() {
            let gap = *c - *d;
            if gap.length() < 1.05 {
                let at = (*c + *d) * 0.5;
                drawn.contacts.push((i, Some(j), at, gap.normalize()));
            }
        }
    }
    drawn
}

/// Boxes on ball joints, every second one flat on the ground.
pub(crate) fn chain(count: usize) -> Drawn {
    let mut drawn = Drawn::default();
    let mut random = Random::new(2);
    for i in 0..count {
        let at = DVec3::new(i as f64, 0.0, 0.15);
        let mut body = Body::new(1.0, DVec3::new(0.5, 0.15, 0.15), at);
        shove(&mut body, &mut random, 0.3);
        drawn.bodies.push(body);
        if i % 2 == 0 {
            let spread = [DVec3::X * 0.45, DVec3::Y * 0.15];
            drawn.face((i, None), at - DVec3::Z * 0.15, spread, CORNERS);
        }
        if 0 < i {
            let hinge = DVec3::new(i as f64 - 0.5, 0.0, 0.15);
            drawn.joints.push((i, Some(i - 1), hinge));
        }
    }
    drawn
}

/// A snake of links on hinges, one kinematic tree, with two contacts a link and its own weight.
pub(crate) fn snake(count: usize) -> Problem {
    let (length, radius) = (0.1, 0.03);
    let body = MassProperties {
        mass: 0.3,
        com: DVec3::X * (0.5 * length),
        inertia: DMat3::from_diagonal(DVec3::new(1.4e-4, 3.0e-4, 3.0e-4)),
    };
    let links = (0..count as u32).map(|i| {
        let (joint, place) = match i {
            0 => (TreeJoint::Floating, DVec3::Z * radius),
            _ => {
                let axis = if i % 2 == 0 { DVec3::Y } else { DVec3::Z };
                (TreeJoint::Revolute { axis }, DVec3::X * length)
            }
        };
        Link::new(i.checked_sub(1).map(LinkId), joint, Pose::at(place), body)
    });
    let tree = Arc::new(Tree::new(links.collect()).expect("a tree"));
    let mut random = Random::new(11);
    let v: Vec<f64> = (0..tree.n_dofs())
        .map(|_| random.range(-0.1, 0.1) / (count * count) as f64)
        .collect();
    let mass = MassBlock::tree(Arc::clone(&tree), &tree.neutral()).expect("a mass");
    let mut p = vec![0.0; tree.n_dofs()];
    mass.mul(&v, &mut p);
    // The weight of one step, which acts on links as their centres' velocities do.
    let mut builder = Problem::builder();
    let id = builder.add_mass(mass, &p).expect("finite");
    for link in 0..count as u32 {
        for at in [-0.04, 0.04] {
            let arm = DVec3::new(at, 0.0, -radius);
            let directions = [DVec3::Z, DVec3::X, DVec3::Y];
            let rows = directions.map(|d| {
                let r = arm.cross(d);
                [d.x, d.y, d.z, r.x, r.y, r.z]
            });
            let place = Place::Link { link: LinkId(link) };
            let on = [At {
                mass: id,
                place,
                rows: rows.as_flattened(),
            }];
            let law = Law::FrictionCone { mu: 0.5 };
            let pressed = [super::G * super::H, 0.0, 0.0];
            builder
                .add_block_at(law, &on, &[0.0; 3], &pressed)
                .expect("rows");
        }
    }
    builder.build().expect("a problem")
}
