//! Kinematic trees: the recursions agree with each other, with finite differences and with mechanics.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot build its tree must stop there"
)]

#[allow(dead_code, reason = "shared between tests")]
#[path = "common/dense.rs"]
mod dense;
#[allow(dead_code, reason = "shared between tests")]
#[path = "common/trees.rs"]
mod trees;

use delassus::LinkId;
use delassus::math::{DMat3, DVec3, Random};
use delassus::tree::spatial::Pose;
use delassus::tree::{Link, MassProperties, Tree, TreeError, TreeJoint};
use trees::{
    assert_close, largest, random_body, random_configuration, random_tree, random_vector, reordered,
};

/// Recursions against each other, relative to the largest number.
const RECURSIONS: f64 = 1e-10;
/// Central differences with step 1e-5: the error is the square of it, and rounding over the step.
const DIFFERENCE: f64 = 1e-7;
const STEP: f64 = 1e-5;
const GRAVITY: DVec3 = DVec3::new(0.3, -0.2, -9.81);

fn product(m: &[f64], x: &[f64]) -> Vec<f64> {
    let rows = m.chunks_exact(x.len().max(1));
    rows.map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum())
        .collect()
}

struct Case {
    tree: Tree,
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
}

fn cases(seed: u64, count: usize) -> impl Iterator<Item = Case> {
    let mut random = Random::new(seed);
    (0..count).map(move |i| {
        let tree = random_tree(&mut random, 1 + i % 14);
        Case {
            q: random_configuration(&mut random, &tree),
            v: random_vector(&mut random, tree.n_dofs()),
            tau: random_vector(&mut random, tree.n_dofs()),
            tree,
        }
    })
}

#[test]
fn forward_dynamics_inverse_dynamics_and_mass_matrix_agree_on_every_joint() {
    for Case { tree, q, v, tau } in cases(1, 300) {
        let n = tree.n_dofs();
        let mut data = tree.data();
        let mut a = vec![0.0; n];
        tree.forward_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut a)
            .unwrap();
        let mut back = vec![0.0; n];
        tree.inverse_dynamics(&mut data, (&q, &v, &a), GRAVITY, &mut back)
            .unwrap();
        assert_close(&back, &tau, RECURSIONS, "round trip");
        let mut m = vec![0.0; n * n];
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        let mut bias = vec![0.0; n];
        tree.bias(&mut data, (&q, &v), GRAVITY, &mut bias).unwrap();
        let sum: Vec<f64> = product(&m, &a)
            .iter()
            .zip(&bias)
            .map(|(x, y)| x + y)
            .collect();
        assert_close(&sum, &tau, RECURSIONS, "M a + bias");
        let mut x = tau.clone();
        tree.solve(&mut data, &mut x).unwrap();
        assert_close(&product(&m, &x), &tau, RECURSIONS, "M M⁻¹");
        let mut y = vec![0.0; n];
        tree.mul_mass(&mut data, &x, &mut y).unwrap();
        assert_close(&y, &tau, RECURSIONS, "product without M");
    }
}

#[test]
fn mass_matrix_is_the_kinetic_energy_of_the_links() {
    // M = Σ Jᵀ I J from the Jacobians of the centres of mass alone, plus armature.
    for Case { tree, q, v, .. } in cases(2, 100).filter(|case| case.tree.n_dofs() != 0) {
        let n = tree.n_dofs();
        let mut data = tree.data();
        let mut expected = vec![0.0; n * n];
        tree.velocities(&q, &v, &mut data).unwrap();
        let mut energy = 0.0;
        for (i, link) in tree.links().iter().enumerate() {
            let id = LinkId(i as u32);
            let pose = tree.pose(&data, id).unwrap();
            let point = pose.point(link.body.com);
            let inertia = pose.rotation * link.body.inertia * pose.rotation.transpose();
            let mut j = vec![0.0; 6 * n];
            tree.jacobian(&data, id, point, &mut j).unwrap();
            let column = |k: usize, from: usize| {
                DVec3::new(
                    j[from * n + k],
                    j[(from + 1) * n + k],
                    j[(from + 2) * n + k],
                )
            };
            for a in 0..n {
                for b in 0..n {
                    expected[a * n + b] += link.body.mass * column(a, 3).dot(column(b, 3))
                        + column(a, 0).dot(inertia * column(b, 0));
                }
            }
            let at = tree.offsets(id).unwrap().v;
            for k in at..at + link.joint.dofs() {
                expected[k * n + k] += link.armature;
            }
            let motion = tree.point_velocity(&data, id, point).unwrap();
            let jv = product(&j, &v);
            assert_close(&motion.angular.to_array(), &jv[..3], 1e-12, "ω = J v");
            assert_close(&motion.linear.to_array(), &jv[3..], 1e-12, "v = J v");
            energy += 0.5 * link.body.mass * motion.linear.length_squared()
                + 0.5 * motion.angular.dot(inertia * motion.angular);
        }
        energy += tree.links().iter().enumerate().fold(0.0, |sum, (i, link)| {
            let at = tree.offsets(LinkId(i as u32)).unwrap().v;
            sum + 0.5
                * link.armature
                * v[at..at + link.joint.dofs()]
                    .iter()
                    .map(|x| x * x)
                    .sum::<f64>()
        });
        let found = tree.kinetic_energy(&data);
        assert!(
            (found - energy).abs() < 1e-11 * energy.max(1.0),
            "{found} {energy}"
        );
        let mut m = vec![0.0; n * n];
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        assert_close(&m, &expected, 1e-12, "M");
    }
}

#[test]
fn jacobians_and_bias_accelerations_are_derivatives_of_poses() {
    for Case { tree, q, v, .. } in cases(3, 60) {
        let mut data = tree.data();
        for i in 0..tree.links().len() {
            let id = LinkId(i as u32);
            let local = DVec3::new(0.1, -0.2, 0.3);
            let mut at = |h: f64| {
                let mut moved = q.clone();
                tree.integrate(&mut moved, &v, h).unwrap();
                tree.velocities(&moved, &v, &mut data).unwrap();
                let pose = tree.pose(&data, id).unwrap();
                let point = pose.point(local);
                let motion = tree.point_velocity(&data, id, point).unwrap();
                (
                    pose,
                    point,
                    motion,
                    tree.point_bias(&data, id, point).unwrap(),
                )
            };
            let (before, after, now) = (at(-STEP), at(STEP), at(0.0));
            let same = |found: DVec3, expected: DVec3, what: &str| {
                assert_close(&found.to_array(), &expected.to_array(), DIFFERENCE, what);
            };
            let speed = (after.1 - before.1) / (2.0 * STEP);
            same(speed, now.2.linear, "velocity");
            let spin =
                (after.0.rotation - before.0.rotation) * (0.5 / STEP) * now.0.rotation.transpose();
            let spin = DVec3::new(spin.y_axis.z, spin.z_axis.x, spin.x_axis.y);
            same(spin, now.2.angular, "spin");
            // At constant q̇ the acceleration is J̇q̇.
            let change = (after.2.linear - before.2.linear) / (2.0 * STEP);
            same(change, now.3.linear, "bias");
            let change = (after.2.angular - before.2.angular) / (2.0 * STEP);
            same(change, now.3.angular, "spin bias");
        }
    }
}

#[test]
fn energy_changes_by_the_work_of_joint_forces_alone() {
    for Case { tree, q, v, tau } in cases(4, 60) {
        let mut data = tree.data();
        let mut a = vec![0.0; tree.n_dofs()];
        tree.forward_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut a)
            .unwrap();
        let mut energy = |h: f64| {
            let (mut q, mut speed) = (q.clone(), v.clone());
            tree.integrate(&mut q, &v, h).unwrap();
            speed.iter_mut().zip(&a).for_each(|(v, a)| *v += h * a);
            tree.velocities(&q, &speed, &mut data).unwrap();
            tree.kinetic_energy(&data) + tree.potential_energy(&data, GRAVITY)
        };
        let power = (energy(STEP) - energy(-STEP)) / (2.0 * STEP);
        let expected: f64 = tau.iter().zip(&v).map(|(t, v)| t * v).sum();
        let scale = energy(0.0).abs().max(1.0) * largest(&a).max(1.0);
        assert!(
            (power - expected).abs() < DIFFERENCE * scale,
            "{power} {expected}"
        );
    }
}

#[test]
fn momentum_of_a_floating_tree_is_kept_without_gravity() {
    let mut random = Random::new(5);
    for _ in 0..20 {
        let mut links: Vec<Link> = Vec::new();
        for i in 0..7 {
            let parent = (0 < i).then(|| LinkId(random.below(i) as u32));
            let joint = if i == 0 {
                TreeJoint::Floating
            } else {
                trees::joint(i - 1, &mut random)
            };
            let place = Pose::at(0.3 * random.vector());
            links.push(Link::new(parent, joint, place, random_body(&mut random)));
        }
        let tree = Tree::new(links).unwrap();
        let q = random_configuration(&mut random, &tree);
        let v = random_vector(&mut random, tree.n_dofs());
        let mut tau = random_vector(&mut random, tree.n_dofs());
        tau[..6].fill(0.0);
        let mut data = tree.data();
        let mut a = vec![0.0; tree.n_dofs()];
        tree.forward_dynamics(&mut data, (&q, &v, &tau), DVec3::ZERO, &mut a)
            .unwrap();
        let mut momentum = |h: f64| {
            let (mut q, mut speed) = (q.clone(), v.clone());
            tree.integrate(&mut q, &v, h).unwrap();
            speed.iter_mut().zip(&a).for_each(|(v, a)| *v += h * a);
            tree.velocities(&q, &speed, &mut data).unwrap();
            tree.momentum(&data)
        };
        let (after, before) = (momentum(STEP), momentum(-STEP));
        let scale = largest(&a).max(1.0);
        let rate = ((after.torque - before.torque) / (2.0 * STEP)).length();
        assert!(rate < DIFFERENCE * scale, "angular {rate}");
        let rate = ((after.force - before.force) / (2.0 * STEP)).length();
        assert!(rate < DIFFERENCE * scale, "linear {rate}");
    }
}

#[test]
fn order_of_the_links_changes_nothing() {
    let mut random = Random::new(6);
    for _ in 0..40 {
        let tree = random_tree(&mut random, 12);
        let mut order: Vec<usize> = (0..12).collect();
        random.shuffle(&mut order);
        let other = Tree::new(reordered(tree.links(), &order)).unwrap();
        let q = random_configuration(&mut random, &tree);
        let v = random_vector(&mut random, tree.n_dofs());
        let tau = random_vector(&mut random, tree.n_dofs());
        let moved = |x: &[f64], coordinates: bool| -> Vec<f64> {
            let pick = |&old: &usize| {
                let at = tree.offsets(LinkId(old as u32)).unwrap();
                let joint = tree.links()[old].joint;
                if coordinates {
                    x[at.q..at.q + joint.coordinates()].to_vec()
                } else {
                    x[at.v..at.v + joint.dofs()].to_vec()
                }
            };
            order.iter().flat_map(pick).collect()
        };
        let mut a = vec![0.0; tree.n_dofs()];
        let mut b = a.clone();
        tree.forward_dynamics(&mut tree.data(), (&q, &v, &tau), GRAVITY, &mut a)
            .unwrap();
        let state = (moved(&q, true), moved(&v, false), moved(&tau, false));
        let state = (&state.0[..], &state.1[..], &state.2[..]);
        other
            .forward_dynamics(&mut other.data(), state, GRAVITY, &mut b)
            .unwrap();
        assert_close(&b, &moved(&a, false), 1e-11, "reordered");
    }
}

/// M a + bias − τ in twice the digits, from M and bias in ordinary ones.
fn refined(m: &dense::Matrix, rhs: &[f64]) -> Vec<f64> {
    let mut x = dense::solve(m, rhs);
    for _ in 0..5 {
        let rest: Vec<f64> = m
            .iter()
            .zip(rhs)
            .map(|(row, b)| {
                let (mut sum, mut error) = (*b, 0.0);
                for (a, x) in row.iter().zip(&x) {
                    let term = -a * x;
                    error += (-a).mul_add(*x, -term);
                    let next = sum + term;
                    let back = next - sum;
                    error += (sum - (next - back)) + (term - back);
                    sum = next;
                }
                sum + error
            })
            .collect();
        let step = dense::solve(m, &rest);
        x.iter_mut().zip(step).for_each(|(x, d)| *x += d);
    }
    x
}

#[test]
fn forty_ball_jointed_beads_keep_their_digits() {
    let Some((tree, _)) = trees::benchmark("beads40") else {
        return;
    };
    let mut random = Random::new(7);
    for _ in 0..5 {
        let n = tree.n_dofs();
        let q = random_configuration(&mut random, &tree);
        let v = random_vector(&mut random, n);
        let tau = random_vector(&mut random, n);
        let mut data = tree.data();
        let mut a = vec![0.0; n];
        tree.forward_dynamics(&mut data, (&q, &v, &tau), GRAVITY, &mut a)
            .unwrap();
        let mut m = vec![0.0; n * n];
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        let mut bias = vec![0.0; n];
        tree.bias(&mut data, (&q, &v), GRAVITY, &mut bias).unwrap();
        let rows: dense::Matrix = m.chunks_exact(n).map(<[f64]>::to_vec).collect();
        let rhs: Vec<f64> = tau.iter().zip(&bias).map(|(t, b)| t - b).collect();
        let expected = refined(&rows, &rhs);
        let difference: Vec<f64> = a.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let error = largest(&difference) / largest(&expected);
        let mut back = vec![0.0; n];
        tree.inverse_dynamics(&mut data, (&q, &v, &a), GRAVITY, &mut back)
            .unwrap();
        let rest: Vec<f64> = back.iter().zip(&tau).map(|(a, b)| a - b).collect();
        eprintln!(
            "beads40: error {error:.1e}, residual {:.1e}",
            largest(&rest) / largest(&tau)
        );
        assert!(error < 1e-9, "{error:.1e}");
    }
}

#[test]
fn chains_of_every_joint_keep_their_digits() {
    // The weakness of long chains is not one of balls alone: forty links of each joint of several dofs.
    let mut random = Random::new(8);
    let joints = [
        TreeJoint::Ball,
        TreeJoint::Universal {
            first: DVec3::X,
            second: DVec3::Y,
        },
        TreeJoint::Planar { normal: DVec3::Y },
        TreeJoint::Revolute { axis: DVec3::Y },
    ];
    for joint in joints {
        let body = MassProperties {
            mass: 0.1,
            com: DVec3::new(0.0, 0.0, -0.1),
            inertia: DMat3::from_diagonal(DVec3::new(3.3e-4, 3.3e-4, 1e-5)),
        };
        let link = |i: u32| {
            let place = Pose::at(DVec3::new(0.0, 0.0, if i == 0 { 0.0 } else { -0.2 }));
            Link::new(i.checked_sub(1).map(LinkId), joint, place, body)
        };
        let tree = Tree::new((0..40).map(link).collect()).unwrap();
        let n = tree.n_dofs();
        let q = random_configuration(&mut random, &tree);
        let tau = random_vector(&mut random, n);
        let mut data = tree.data();
        let mut m = vec![0.0; n * n];
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        let rows: dense::Matrix = m.chunks_exact(n).map(<[f64]>::to_vec).collect();
        let expected = refined(&rows, &tau);
        let mut x = tau.clone();
        tree.solve(&mut data, &mut x).unwrap();
        let difference: Vec<f64> = x.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let error = largest(&difference) / largest(&expected);
        eprintln!("{}: {error:.1e}", joint.name());
        assert!(error < 1e-9, "{}: {error:.1e}", joint.name());
    }
}

#[test]
fn pendulum_swings_as_the_formula_says() {
    // q̈ = −(m g l / (I + m l²)) sin q, damping c: − c q̇ / (I + m l²).
    let (mass, length, inertia, damping) = (2.0, 0.7, 0.05, 0.3);
    let body = MassProperties {
        mass,
        com: DVec3::new(0.0, 0.0, -length),
        inertia: DMat3::from_diagonal(DVec3::splat(inertia)),
    };
    let mut link = Link::new(
        None,
        TreeJoint::Revolute { axis: DVec3::Y },
        Pose::IDENTITY,
        body,
    );
    link.damping = damping;
    link.armature = 0.1;
    let tree = Tree::new(vec![link]).unwrap();
    let (q, v, mut a) = ([0.4], [1.5], [0.0]);
    let gravity = DVec3::new(0.0, 0.0, -9.81);
    tree.forward_dynamics(&mut tree.data(), (&q, &v, &[0.0]), gravity, &mut a)
        .unwrap();
    let total = inertia + mass * length * length + 0.1;
    let expected = -(mass * 9.81 * length * q[0].sin() + damping * v[0]) / total;
    assert!((a[0] - expected).abs() < 1e-13, "{} {expected}", a[0]);
}

/// Armature κ of a floating joint resists and weighs nothing: (m + κ) a = m g in free fall. With its centre of mass at the
/// origin a spinning body goes straight on: in its own axes v̇ = −ω × v.
#[test]
fn armature_of_a_floating_joint_slows_its_fall() {
    let (mass, armature) = (2.0, 3.0);
    let body = MassProperties {
        mass,
        com: DVec3::ZERO,
        inertia: DMat3::from_diagonal(DVec3::splat(0.5)),
    };
    let mut link = Link::new(None, TreeJoint::Floating, Pose::IDENTITY, body);
    link.armature = armature;
    let tree = Tree::new(vec![link]).unwrap();
    let (gravity, mut data) = (DVec3::new(0.0, 0.0, -9.81), tree.data());
    let (spin, slide) = (DVec3::new(0.3, -0.5, 0.8), DVec3::new(1.0, 2.0, -0.5));
    let v = [spin.to_array(), slide.to_array()].concat();
    let (q, zeros, mut a) = (tree.neutral(), [0.0; 6], [0.0; 6]);
    tree.forward_dynamics(&mut data, (&q, &v, &zeros), gravity, &mut a)
        .unwrap();
    let fall = gravity * mass / (mass + armature) - spin.cross(slide);
    let expected = [DVec3::ZERO.to_array(), fall.to_array()].concat();
    assert_close(&a, &expected, 1e-14, "free fall");
    let mut batch = [0.0; 6];
    tree.forward_dynamics_batch(
        &mut delassus::tree::Batch::default(),
        (&q, &v, &zeros),
        gravity,
        &mut batch,
    )
    .unwrap();
    assert_close(&batch, &expected, 1e-14, "free fall in lanes");
    tree.velocities(&q, &v, &mut data).unwrap();
    let energy = 0.5 * (mass + armature) * slide.length_squared()
        + 0.5 * (0.5 + armature) * spin.length_squared();
    assert!((tree.kinetic_energy(&data) - energy).abs() < 1e-12);
    let rotor = 0.5 * armature * (spin.length_squared() + slide.length_squared());
    assert!((tree.rotor_energy(&v) - rotor).abs() < 1e-12);
    assert_eq!(tree.potential_energy(&data, gravity), 0.0);
}

#[test]
fn bad_trees_are_refused_by_name() {
    let good = || {
        Link::new(
            None,
            TreeJoint::Revolute { axis: DVec3::Z },
            Pose::IDENTITY,
            MassProperties {
                mass: 1.0,
                com: DVec3::X,
                inertia: DMat3::IDENTITY,
            },
        )
        .named("arm")
    };
    let refused = |change: &dyn Fn(&mut Vec<Link>), clue: &str| {
        let mut links = vec![good(), good(), good()];
        links[1].parent = Some(LinkId(0));
        links[2].parent = Some(LinkId(1));
        change(&mut links);
        let error = Tree::new(links).unwrap_err().to_string();
        assert!(error.contains(clue), "{error} ({clue})");
    };
    refused(&|l| l[1].parent = Some(LinkId(2)), "carried by itself");
    refused(&|l| l[0].parent = Some(LinkId(0)), "carried by itself");
    refused(&|l| l[1].parent = Some(LinkId(9)), "link 9");
    refused(&|l| l[2].body.mass = -1.0, "mass of link 2 \"arm\" is -1");
    refused(&|l| l[2].body.mass = f64::NAN, "mass");
    refused(&|l| l[2].armature = -1.0, "armature");
    refused(&|l| l[2].body.com.x = f64::INFINITY, "centre of mass");
    refused(&|l| l[2].body.inertia.x_axis.x = 2.5, "triangle inequality");
    refused(&|l| l[2].body.inertia.x_axis.x = -0.1, "principal moment");
    refused(&|l| l[2].body.inertia.x_axis.y = 0.1, "not symmetric");
    refused(&|l| l[2].body.inertia.x_axis.y = f64::NAN, "not finite");
    refused(&|l| l[2].body.mass = 0.0, "mass is zero");
    refused(&|l| l[2].body.com.x = 1e200, "overflows");
    refused(
        &|l| l[1].joint = TreeJoint::Prismatic { axis: DVec3::ZERO },
        "no axis",
    );
    refused(
        &|l| {
            l[1].joint = TreeJoint::Helical {
                axis: DVec3::X,
                pitch: f64::NAN,
            }
        },
        "no axis",
    );
    refused(&|l| l[1].place.rotation *= 2.0, "orthonormal");
    refused(&|l| l[1].place.position.y = f64::NAN, "orthonormal");
}

#[test]
fn bad_states_are_refused_and_a_free_spin_is_singular() {
    let mut random = Random::new(9);
    let tree = random_tree(&mut random, 9);
    let mut data = tree.data();
    let n = tree.n_dofs();
    assert!(matches!(
        tree.kinematics(&[0.0], &mut data),
        Err(TreeError::WrongLength { .. })
    ));
    let mut q = tree.neutral();
    q[0] = f64::NAN;
    assert!(matches!(
        tree.kinematics(&q, &mut data),
        Err(TreeError::NotFinite { index: 0, .. })
    ));
    let zeros = vec![0.0; tree.n_coordinates()];
    assert!(matches!(
        tree.kinematics(&zeros, &mut data),
        Err(TreeError::BadQuaternion { .. })
    ));
    for moved in [
        tree.integrate(&mut zeros.clone(), &vec![0.0; n], 1e-3),
        tree.advance(&mut zeros.clone(), &mut vec![0.0; n], 1e-3),
    ] {
        assert!(matches!(moved, Err(TreeError::BadQuaternion { .. })));
    }
    assert!(
        tree.jacobian(&data, LinkId(99), DVec3::ZERO, &mut vec![0.0; 6 * n])
            .is_err()
    );
    // A joint that carries nothing, and a point mass on its own axis, which turns without inertia.
    for body in [
        MassProperties::NONE,
        MassProperties::point(1.0, DVec3::ZERO),
    ] {
        let hinge = TreeJoint::Revolute { axis: DVec3::Z };
        let tree = Tree::new(vec![Link::new(None, hinge, Pose::IDENTITY, body)]).unwrap();
        let error = tree.solve(&mut tree.data(), &mut [1.0]).unwrap_err();
        assert!(matches!(error, TreeError::Singular { .. }), "{error}");
    }
}
