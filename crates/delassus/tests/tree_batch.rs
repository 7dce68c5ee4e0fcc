//! Many states of one tree at once give what each gives alone.
#![allow(
    clippy::unwrap_used,
    reason = "a tree that cannot be treated must stop the test there"
)]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/trees.rs"]
mod trees;

use delassus::LinkId;
use delassus::math::{DVec3, Random};
use delassus::tree::spatial::Pose;
use delassus::tree::{Batch, Link, MassProperties, Tree, TreeJoint};
use trees::{random_configuration, random_tree, random_vector};

const GRAVITY: DVec3 = DVec3::new(0.3, -0.2, -9.81);

struct States {
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
}

fn states(random: &mut Random, tree: &Tree, count: usize) -> States {
    let mut states = States {
        q: Vec::new(),
        v: Vec::new(),
        tau: Vec::new(),
    };
    for _ in 0..count {
        states.q.extend(random_configuration(random, tree));
        states.v.extend(random_vector(random, tree.n_dofs()));
        states.tau.extend(random_vector(random, tree.n_dofs()));
    }
    states
}

impl States {
    fn one(&self, tree: &Tree, s: usize) -> (&[f64], &[f64], &[f64]) {
        let (n_q, n_v) = (tree.n_coordinates(), tree.n_dofs());
        (
            &self.q[s * n_q..(s + 1) * n_q],
            &self.v[s * n_v..(s + 1) * n_v],
            &self.tau[s * n_v..(s + 1) * n_v],
        )
    }

    fn all(&self) -> (&[f64], &[f64], &[f64]) {
        (&self.q, &self.v, &self.tau)
    }
}

/// Largest error of a batch against single states, relative to the largest acceleration of each.
fn worst(tree: &Tree, states: &States) -> f64 {
    let n = tree.n_dofs();
    let mut found = vec![0.0; states.v.len()];
    tree.forward_dynamics_batch(&mut Batch::default(), states.all(), GRAVITY, &mut found)
        .unwrap();
    let (mut data, mut expected) = (tree.data(), vec![0.0; n]);
    let mut worst: f64 = 0.0;
    for (s, found) in found.chunks_exact(n).enumerate() {
        tree.forward_dynamics(&mut data, states.one(tree, s), GRAVITY, &mut expected)
            .unwrap();
        let scale = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (a, b) in found.iter().zip(&expected) {
            worst = worst.max((a - b).abs() / scale);
        }
    }
    worst
}

#[test]
fn every_kind_of_joint_moves_as_it_does_alone() {
    let mut random = Random::new(11);
    for count in [1, 2, 3, 5, 9, 14, 20, 27] {
        for lanes in [1, 2, 4, 7, 8, 9, 16, 19] {
            let mut tree = random_tree(&mut random, count);
            if lanes % 2 == 0 {
                let mut links = tree.links().to_vec();
                links.iter_mut().for_each(|link| link.damping = 0.3);
                tree = Tree::new(links).unwrap();
            }
            let states = states(&mut random, &tree, lanes);
            if 0 < tree.n_dofs() {
                let error = worst(&tree, &states);
                assert!(error < 1e-10, "{count} links, {lanes} states: {error:e}");
            }
        }
    }
}

#[test]
fn angles_far_from_zero_and_the_states_beside_change_nothing() {
    let mut random = Random::new(12);
    let tree = random_tree(&mut random, 12);
    let n = tree.n_dofs();
    let mut states = states(&mut random, &tree, 13);
    let revolute = |link: &Link| matches!(link.joint, TreeJoint::Revolute { .. });
    let at = tree.links().iter().position(revolute).unwrap();
    let at = tree.offsets(LinkId(at as u32)).unwrap().q;
    states.q[3 * tree.n_coordinates() + at] = 7.5e6;
    assert!(worst(&tree, &states) < 1e-9);
    let mut batch = Batch::default();
    let mut together = vec![0.0; 13 * n];
    tree.forward_dynamics_batch(&mut batch, states.all(), GRAVITY, &mut together)
        .unwrap();
    for s in 0..13 {
        let mut alone = vec![0.0; n];
        tree.forward_dynamics_batch(&mut batch, states.one(&tree, s), GRAVITY, &mut alone)
            .unwrap();
        assert_eq!(alone, together[s * n..(s + 1) * n], "{s}");
    }
}

#[test]
fn forty_ball_jointed_beads_keep_their_digits() {
    let sphere = MassProperties {
        mass: 0.1,
        com: DVec3::new(0.0, 0.0, -0.05),
        inertia: delassus::math::DMat3::IDENTITY * 1e-4,
    };
    let link = |i: u32| {
        let parent = i.checked_sub(1).map(LinkId);
        Link::new(
            parent,
            TreeJoint::Ball,
            Pose::at(DVec3::new(0.0, 0.0, -0.1)),
            sphere,
        )
    };
    let tree = Tree::new((0..40).map(link).collect()).unwrap();
    let states = states(&mut Random::new(13), &tree, 8);
    let error = worst(&tree, &states);
    assert!(error < 1e-9, "{error:e}");
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let massless = MassProperties {
        mass: 0.0,
        com: DVec3::ZERO,
        inertia: delassus::math::DMat3::ZERO,
    };
    let joint = TreeJoint::Revolute { axis: DVec3::X };
    let tree = Tree::new(vec![
        Link::new(None, joint, Pose::IDENTITY, massless).named("feather".to_owned()),
    ])
    .unwrap();
    let mut out = [0.0; 2];
    let zeros = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let mut run = |q: &[f64], v: &[f64]| {
        let states = (q, v, &zeros.2[..]);
        tree.forward_dynamics_batch(&mut Batch::default(), states, GRAVITY, &mut out)
            .unwrap_err()
            .to_string()
    };
    assert!(run(&zeros.0, &zeros.1).contains("feather"));
    assert!(run(&[0.0, f64::NAN], &zeros.1).contains("configuration"));
    assert!(run(&zeros.0, &zeros.1[..1]).contains("velocity"));
}
