//! Random robots on the ground: legs with hinges, feet with several contacts, loops between legs, motors and limits.

use std::sync::Arc;

use delassus::math::{DMat3, DVec3, Random, tangents};
use delassus::problem::place::{At, Place};
use delassus::tree::spatial::Pose;
use delassus::tree::{Link, MassProperties, Tree, TreeJoint};
use delassus::{Law, LinkId, MassBlock, MassId, Problem, ProblemBuilder};

/// A leg: the link of its foot.
struct Leg {
    foot: LinkId,
}

fn body(random: &mut Random, mass: f64) -> MassProperties {
    let s = DVec3::new(
        random.range(0.02, 0.2),
        random.range(0.02, 0.2),
        random.range(0.02, 0.2),
    );
    let s = s * s;
    MassProperties {
        mass,
        com: 0.05 * random.vector(),
        inertia: DMat3::from_diagonal(DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 3.0)),
    }
}

/// All links stand with their axes along those of the world.
fn tree(random: &mut Random) -> (Tree, Vec<Leg>) {
    let log = |random: &mut Random, lo: f64, hi: f64| random.range(lo.ln(), hi.ln()).exp();
    let trunk = log(random, 0.5, 100.0);
    let mut links = vec![Link::new(
        None,
        TreeJoint::Floating,
        Pose::at(DVec3::Z),
        body(random, trunk),
    )];
    let mut legs = Vec::new();
    for _ in 0..2 + random.below(4) {
        let mut parent = LinkId(0);
        for j in 0..1 + random.below(3) {
            let axis = [DVec3::X, DVec3::Y, random.vector().normalize()][random.below(3)];
            let place = match j {
                0 => 0.3 * random.vector(),
                _ => DVec3::Z * -0.3,
            };
            let mass = log(random, 0.05, 3.0);
            links.push(Link::new(
                Some(parent),
                TreeJoint::Revolute { axis },
                Pose::at(place),
                body(random, mass),
            ));
            parent = LinkId(links.len() as u32 - 1);
        }
        legs.push(Leg { foot: parent });
    }
    (Tree::new(links).expect("a tree"), legs)
}

/// Rows along directions at an arm from the origin of a link.
fn point(directions: [DVec3; 3], arm: DVec3, sign: f64) -> [[f64; 6]; 3] {
    directions.map(|d| {
        let (d, r) = (sign * d, sign * arm.cross(d));
        [d.x, d.y, d.z, r.x, r.y, r.z]
    })
}

fn add(builder: &mut ProblemBuilder, law: Law, ends: &[(LinkId, [[f64; 6]; 3])], q: [f64; 3]) {
    let on: Vec<At<'_>> = ends
        .iter()
        .map(|(link, rows)| At {
            mass: MassId(0),
            place: Place::Link { link: *link },
            rows: rows.as_flattened(),
        })
        .collect();
    builder
        .add_block_at(law, &on, &[0.0; 3], &q)
        .expect("rows of links");
}

/// A robot as it lands.
pub(crate) fn robot(random: &mut Random) -> Problem {
    let (tree, legs) = tree(random);
    let tree = Arc::new(tree);
    let mass = MassBlock::tree(Arc::clone(&tree), &tree.neutral()).expect("a mass");
    let speed = random.range(0.0, 0.5);
    let v: Vec<f64> = (0..tree.n_dofs())
        .map(|_| random.range(-speed, speed))
        .collect();
    let mut p = vec![0.0; tree.n_dofs()];
    mass.mul(&v, &mut p);
    let mut builder = Problem::builder();
    builder.add_mass(mass, &p).expect("finite");
    let down = DVec3::new(random.range(-0.4, 0.4), 0.0, -1.0) * (super::G * super::H);
    let mu = random.range(0.05, 3.0);
    for leg in &legs {
        let count = 1 + random.below(6);
        for _ in 0..count {
            let arm = DVec3::new(random.range(-0.1, 0.1), random.range(-0.05, 0.05), -0.1);
            let n = (DVec3::Z + random.range(0.0, 0.2) * random.vector()).normalize();
            let (t1, t2) = tangents(n);
            let frame = [n, t1, t2];
            // Weight speeds every point up by h g: w = G v + h g·d.
            let q = frame.map(|d| -d.dot(down));
            let law = Law::FrictionCone { mu };
            add(&mut builder, law, &[(leg.foot, point(frame, arm, 1.0))], q);
        }
    }
    for pair in legs.windows(2) {
        if random.below(3) != 0 {
            continue;
        }
        let frame = [DVec3::X, DVec3::Y, DVec3::Z];
        let ends = [
            (pair[0].foot, point(frame, 0.1 * random.vector(), 1.0)),
            (pair[1].foot, point(frame, 0.1 * random.vector(), -1.0)),
        ];
        add(&mut builder, Law::Equality, &ends, [0.0; 3]);
    }
    for dof in 6..tree.n_dofs() {
        let on = [At {
            mass: MassId(0),
            place: Place::Coordinate { dof },
            rows: &[1.0],
        }];
        let (law, q) = match random.below(3) {
            0 => {
                let hi = random.range(0.0, 0.5);
                (Law::Interval { lo: -hi, hi }, random.range(-1.0, 1.0))
            }
            1 => (Law::Unilateral, random.range(-300.0, 0.1)),
            _ => continue,
        };
        builder
            .add_block_at(law, &on, &[0.0], &[q])
            .expect("a row of a joint");
    }
    builder.build().expect("a problem")
}
