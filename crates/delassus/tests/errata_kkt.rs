//! Slips of the notes on KKT systems [KKT]: each test writes the step as printed, shows what goes wrong with it, and
//! shows the library right in the same situation. `crates/delassus/docs/errata.md` lists them by key.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its tree must stop there"
)]

#[allow(dead_code, reason = "shared between tests")]
#[path = "common/dense.rs"]
mod dense;
#[allow(dead_code, reason = "shared between tests")]
#[path = "common/trees.rs"]
mod trees;

use delassus::LinkId;
use delassus::math::{DVec3, Random};
use delassus::solver::exact::kkt::TreeKkt;
use delassus::tree::{Data, KktGiven, KktUnknowns, Link, LinkPoint, Tree, TreeJoint, TreeRows};
use trees::{random_body, random_configuration, random_vector};

/// Numbers of size one after small dense solves.
const ROUNDING: f64 = 1e-9;
/// What a printed step must be off by to be called wrong.
const VISIBLE: f64 = 1e-3;

/// A floating base with an arm of six hinges whose hand is held: three rows, or the same three twice.
struct Held {
    tree: Tree,
    data: Data,
    rows: TreeRows,
    y1: Vec<f64>,
    y2: Vec<f64>,
    /// J, row-major.
    j: Vec<f64>,
}

fn held(twice: bool) -> Held {
    let mut random = Random::new(51);
    let mut links = Vec::new();
    for i in 0..7u32 {
        let axis = random.vector();
        let joint = if i == 0 {
            TreeJoint::Floating
        } else {
            TreeJoint::Revolute { axis }
        };
        let place = delassus::tree::spatial::Pose::at(0.4 * random.vector());
        links.push(Link::new(
            i.checked_sub(1).map(LinkId),
            joint,
            place,
            random_body(&mut random),
        ));
    }
    let tree = Tree::new(links).unwrap();
    let q = random_configuration(&mut random, &tree);
    let mut data = tree.data();
    tree.factor(&mut data, &q).unwrap();
    let hand = LinkId(6);
    let point = tree
        .pose(&data, hand)
        .unwrap()
        .point(DVec3::new(0.1, 0.2, 0.3));
    let mut rows = TreeRows::default();
    for axis in DVec3::AXES
        .into_iter()
        .chain(DVec3::AXES)
        .take(if twice { 6 } else { 3 })
    {
        rows.start();
        tree.add_linear(&data, &mut rows, LinkPoint::new(hand, point), axis)
            .unwrap();
    }
    let y1 = random_vector(&mut random, tree.n_dofs());
    let once = [0.5, -0.3, 0.8];
    let y2 = once.into_iter().chain(once).take(rows.len()).collect();
    let j = tree.rows_matrix(&data, &rows);
    Held {
        tree,
        data,
        rows,
        y1,
        y2,
        j,
    }
}

impl Held {
    /// ABA of the notes with forces on the links: x = M⁻¹(τ + Jᵀf) and J x.
    fn aba(&mut self, tau: &[f64], f: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut x, mut a) = (vec![0.0; self.tree.n_dofs()], vec![0.0; self.rows.len()]);
        let out = (&mut x[..], &mut a[..]);
        self.tree
            .respond_to_rows(&mut self.data, &self.rows, (tau, f), out)
            .unwrap();
        (x, a)
    }

    /// Λ⁻¹ column by column, from unit forces of a sign.
    fn columns(&mut self, sign: f64) -> dense::Matrix {
        let (n, m) = (self.tree.n_dofs(), self.rows.len());
        let column = |held: &mut Held, k: usize| {
            let mut unit = vec![0.0; m];
            unit[k] = sign;
            held.aba(&vec![0.0; n], &unit).1
        };
        let columns: dense::Matrix = (0..m).map(|k| column(self, k)).collect();
        dense::transposed(&columns)
    }

    fn library(&mut self, sigma: f64) -> (Vec<f64>, Vec<f64>, TreeKkt) {
        let (mut x1, mut x2) = (vec![0.0; self.tree.n_dofs()], vec![0.0; self.rows.len()]);
        let mut kkt = TreeKkt::default();
        let sigma = vec![sigma; self.rows.len()];
        kkt.solve(
            &self.tree,
            &mut self.data,
            &self.rows,
            KktGiven {
                y1: &self.y1,
                y2: &self.y2,
                sigma: &sigma,
            },
            KktUnknowns {
                x1: &mut x1,
                x2: &mut x2,
            },
        )
        .unwrap();
        (x1, x2, kkt)
    }

    /// J x.
    fn rows_of(&self, x: &[f64]) -> Vec<f64> {
        self.j
            .chunks_exact(x.len())
            .map(|row| dense::dot(row, x))
            .collect()
    }

    /// Largest entry of M x₁ + Jᵀx₂ − y₁.
    fn momentum(&mut self, x1: &[f64], x2: &[f64]) -> f64 {
        let n = x1.len();
        let mut rest = vec![0.0; n];
        self.tree.mul_mass(&mut self.data, x1, &mut rest).unwrap();
        for i in 0..n {
            rest[i] -= self.y1[i];
            rest[i] += (0..x2.len())
                .map(|r| self.j[r * n + i] * x2[r])
                .sum::<f64>();
        }
        rest.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()))
}

#[test]
fn unit_forces_of_the_wrong_sign_flip_the_multipliers_and_the_definiteness() {
    // errata KKT-24: steps ② and ④ print −e_j and +x₂, right for forces exerted by the mechanism. With forces that
    // act on it, as most implementations of ABA have them, both signs change.
    let mut held = held(false);
    let (zeros, y1) = (vec![0.0; 3], held.y1.clone());
    let a1 = held.aba(&y1, &zeros).1;
    let rhs: Vec<f64> = a1.iter().zip(&held.y2).map(|(a, y)| a - y).collect();
    let printed = held.columns(-1.0);
    assert!(
        (0..3).all(|i| printed[i][i] < 0.0),
        "no Cholesky factor: {printed:?}"
    );
    let flipped = dense::solve(&printed, &rhs);
    let x1 = held.aba(&y1, &flipped).0;
    // The accelerations still come out right, which hides that the forces are those of a world pulled at.
    assert!(distance(&held.rows_of(&x1), &held.y2) < ROUNDING);
    assert!(VISIBLE < held.momentum(&x1, &flipped));
    let (right, x2, _) = held.library(0.0);
    assert!(distance(&right, &x1) < ROUNDING);
    let minus: Vec<f64> = flipped.iter().map(|x| -x).collect();
    assert!(distance(&x2, &minus) < ROUNDING && held.momentum(&right, &x2) < ROUNDING);
}

#[test]
fn elimination_as_printed_forgets_the_lower_right_hand_side() {
    // errata KKT-elimination: the display reads Λ⁻¹x₂ = J M⁻¹y₁; the term −y₂ stands behind the definition of a₁.
    let mut held = held(false);
    let y1 = held.y1.clone();
    let a1 = held.aba(&y1, &[0.0; 3]).1;
    let x2 = dense::solve(&held.columns(1.0), &a1);
    let minus: Vec<f64> = x2.iter().map(|x| -x).collect();
    let x1 = held.aba(&y1, &minus).0;
    assert!(
        dense::norm(&held.rows_of(&x1)) < ROUNDING,
        "the hand stands still"
    );
    assert!(VISIBLE < distance(&held.rows_of(&x1), &held.y2));
    let (x1, _, _) = held.library(0.0);
    assert!(distance(&held.rows_of(&x1), &held.y2) < ROUNDING);
}

#[test]
fn compliant_rows_need_their_block_of_the_matrix() {
    // errata KKT-sigma: with 0 in the corner a compliant row is held as if it were rigid.
    let mut held = held(false);
    let sigma = 0.1;
    let (rigid, x2, _) = held.library(0.0);
    let fault = |held: &Held, x1: &[f64], x2: &[f64]| -> f64 {
        let soft: Vec<f64> = held.y2.iter().zip(x2).map(|(y, x)| y + sigma * x).collect();
        distance(&held.rows_of(x1), &soft)
    };
    assert!(VISIBLE < fault(&held, &rigid, &x2));
    let (x1, x2, _) = held.library(sigma);
    assert!(fault(&held, &x1, &x2) < ROUNDING && held.momentum(&x1, &x2) < ROUNDING);
}

#[test]
fn a_hand_held_twice_has_no_inverse_but_an_answer() {
    // errata KKT-rank: step ③ prints the inverse of Λ⁻¹, which rows that depend on each other do not have.
    let mut twice = held(true);
    let y1 = twice.y1.clone();
    let a1 = twice.aba(&y1, &[0.0; 6]).1;
    let rhs: Vec<f64> = a1.iter().zip(&twice.y2).map(|(a, y)| a - y).collect();
    let x2 = dense::solve(&twice.columns(1.0), &rhs);
    let minus: Vec<f64> = x2.iter().map(|x| -x).collect();
    let x1 = twice.aba(&y1, &minus).0;
    let off = distance(&twice.rows_of(&x1), &twice.y2);
    let largest = dense::norm(&x2);
    assert!(
        !off.is_finite() || !largest.is_finite() || 1e6 < largest,
        "{off} {largest}"
    );
    let (x1, x2, kkt) = twice.library(0.0);
    let rank = kkt.rank();
    assert_eq!((rank.rank, rank.redundant), (3, vec![3, 4, 5]));
    assert!(distance(&twice.rows_of(&x1), &twice.y2) < ROUNDING);
    assert!(twice.momentum(&x1, &x2) < ROUNDING);
    let (once, _, _) = held(false).library(0.0);
    assert!(distance(&once, &x1) < ROUNDING);
}
