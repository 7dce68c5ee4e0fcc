//! Many states at once against one state at a time.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its tree must stop there"
)]

#[allow(dead_code, reason = "shared between tests")]
#[path = "common/trees.rs"]
mod trees;

use delassus::math::{DVec3, Random};
use delassus::tree::{Batch, TreeError};
use trees::{random_configuration, random_tree, random_vector};

const GRAVITY: DVec3 = DVec3::new(0.3, -0.2, -9.81);

#[test]
fn a_batch_gives_the_accelerations_of_its_states() {
    let mut random = Random::new(7);
    let mut batch = Batch::default();
    for round in 0..60 {
        let tree = random_tree(&mut random, 1 + round % 20);
        let n = tree.n_dofs();
        if n == 0 {
            continue;
        }
        // Fewer, as many and more than there are lanes.
        let count = 1 + round % 19;
        let (mut q, mut v, mut tau) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            q.extend(random_configuration(&mut random, &tree));
            v.extend(random_vector(&mut random, n));
            tau.extend(random_vector(&mut random, n));
        }
        let mut found = vec![0.0; count * n];
        let states = (&*q, &*v, &*tau);
        tree.forward_dynamics_batch(&mut batch, states, GRAVITY, &mut found)
            .unwrap();
        let mut data = tree.data();
        for i in 0..count {
            let mut wanted = vec![0.0; n];
            let nq = tree.n_coordinates();
            let state = (
                &q[i * nq..(i + 1) * nq],
                &v[i * n..(i + 1) * n],
                &tau[i * n..(i + 1) * n],
            );
            tree.forward_dynamics(&mut data, state, GRAVITY, &mut wanted)
                .unwrap();
            let scale = wanted.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            for (a, b) in found[i * n..(i + 1) * n].iter().zip(&wanted) {
                assert!((a - b).abs() < 1e-9 * scale, "round {round}: {a} {b}");
            }
        }
    }
}

#[test]
fn the_neighbours_of_a_state_do_not_change_its_bits() {
    let mut random = Random::new(8);
    let tree = random_tree(&mut random, 12);
    let (n, nq) = (tree.n_dofs(), tree.n_coordinates());
    let mut batch = Batch::default();
    let mut run = |q: &[f64], v: &[f64]| {
        let mut out = vec![0.0; v.len()];
        let tau = vec![0.5; v.len()];
        tree.forward_dynamics_batch(&mut batch, (q, v, &tau), GRAVITY, &mut out)
            .unwrap();
        out
    };
    let (mut q, mut v) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        q.extend(random_configuration(&mut random, &tree));
        v.extend(random_vector(&mut random, n));
    }
    let all = run(&q, &v);
    for i in 0..11 {
        let alone = run(&q[i * nq..(i + 1) * nq], &v[i * n..(i + 1) * n]);
        assert_eq!(alone, all[i * n..(i + 1) * n]);
    }
}

#[test]
fn angles_of_any_size_and_bad_states_are_treated_as_one_by_one() {
    let mut random = Random::new(9);
    let tree = random_tree(&mut random, 6);
    let (n, nq) = (tree.n_dofs(), tree.n_coordinates());
    let mut batch = Batch::default();
    let mut q = random_configuration(&mut random, &tree);
    q.extend(random_configuration(&mut random, &tree));
    let (v, tau) = (vec![0.1; 2 * n], vec![0.2; 2 * n]);
    let mut out = vec![0.0; 2 * n];
    for far in [-3.0e4, 7.5e4, 2.0e7] {
        q[nq - 1] += far;
        let states = (&*q, &*v, &*tau);
        tree.forward_dynamics_batch(&mut batch, states, GRAVITY, &mut out)
            .unwrap();
        let mut wanted = vec![0.0; n];
        let state = (&q[..nq], &v[..n], &tau[..n]);
        tree.forward_dynamics(&mut tree.data(), state, GRAVITY, &mut wanted)
            .unwrap();
        let scale = wanted.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        for (a, b) in out.iter().zip(&wanted) {
            assert!((a - b).abs() < 1e-8 * scale, "{far}: {a} {b}");
        }
    }
    q[0] = f64::NAN;
    let states = (&*q, &*v, &*tau);
    let error = tree.forward_dynamics_batch(&mut batch, states, GRAVITY, &mut out);
    assert!(matches!(error, Err(TreeError::NotFinite { .. })));
    let states = (&q[1..], &*v, &*tau);
    assert!(
        tree.forward_dynamics_batch(&mut batch, states, GRAVITY, &mut out)
            .is_err()
    );
}
