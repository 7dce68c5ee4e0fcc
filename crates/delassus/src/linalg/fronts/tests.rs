//! Factors of sparse unsymmetric matrices, against the matrices themselves.

use super::*;
use crate::math::Random;

fn piece(first: usize, values: &[f64]) -> Piece<'_> {
    Piece { first, values }
}

/// 1 + Σ r lᵀ over elements between bodies of several widths, some of them beside each other and some far apart.
#[test]
fn solutions_meet_the_equations_of_a_sparse_unsymmetric_matrix() {
    let mut random = Random::new(5);
    for n in [1, 2, 7, 30, 90] {
        let mut bodies: Vec<Node> = Vec::new();
        let mut dofs = 0;
        for x in 0..n {
            let width = [6, 1, 6, 3][x % 4];
            bodies.push(Node { first: dofs, width });
            dofs += width;
        }
        let elements: Vec<Vec<usize>> = (0..3 * n)
            .map(|e| {
                let (x, y) = (e % n, (e % n + 1 + random.below(9)) % n);
                if x == y { vec![x] } else { vec![x, y] }
            })
            .collect();
        let mut fronts = Fronts::default();
        fronts.plan(&bodies, &elements);
        let mut dense = vec![0.0; dofs * dofs];
        (0..dofs).for_each(|i| dense[i * dofs + i] = 1.0);
        let regular = fronts.factor(
            |_| true,
            |e, block| {
                for &x in &elements[e] {
                    for &y in &elements[e] {
                        let (at, to) = (bodies[x], bodies[y]);
                        let mut list =
                            |n| -> Vec<f64> { (0..n).map(|_| random.range(-1.0, 1.0)).collect() };
                        let (column, row) = (list(at.width), list(to.width));
                        block.add(piece(at.first, &column), piece(to.first, &row), 0.7);
                        for (i, a) in column.iter().enumerate() {
                            for (j, b) in row.iter().enumerate() {
                                dense[(at.first + i) * dofs + to.first + j] += 0.7 * a * b;
                            }
                        }
                    }
                }
            },
        );
        assert!(regular.is_some());
        let b: Vec<f64> = (0..dofs).map(|_| random.range(-1.0, 1.0)).collect();
        let mut x = b.clone();
        fronts.solve(&mut x);
        let scale = 1.0 + crate::math::max_abs(&x);
        for (row, b) in dense.chunks_exact(dofs).zip(&b) {
            let left = crate::math::dot(row, &x) - b;
            assert!(left.abs() < 1e-9 * scale, "{n} bodies: {left:e}");
        }
    }
}

#[test]
fn singular_matrices_are_refused() {
    let mut fronts = Fronts::default();
    fronts.plan(&[Node { first: 0, width: 1 }], &[vec![0]]);
    let singular =
        |_, block: &mut FrontBlock<'_>| block.add(piece(0, &[1.0]), piece(0, &[1.0]), -1.0);
    assert_eq!(fronts.factor(|_| true, singular), None);
    // Nothing is kept of it.
    let regular =
        |_, block: &mut FrontBlock<'_>| block.add(piece(0, &[1.0]), piece(0, &[1.0]), 1.0);
    assert!(fronts.factor(|_| false, regular).is_some());
    let mut x = [3.0];
    fronts.solve(&mut x);
    assert_eq!(x, [1.5]);
}

/// Bodies in a row with springs between them, one of which changes: the same bits as from nothing, with less work.
#[test]
fn what_has_not_changed_is_kept() {
    let n = 40;
    let node = |x: usize| Node {
        first: 2 * x,
        width: 2,
    };
    let bodies: Vec<Node> = (0..n).map(node).collect();
    let elements: Vec<Vec<usize>> = (0..n - 1).map(|x| vec![x, x + 1]).collect();
    let add = |stiff: usize| {
        move |e: usize, block: &mut FrontBlock<'_>| {
            let scale = if e == stiff { 9.0 } else { 1.0 };
            block.add(piece(2 * e, &[1.0, 0.5]), piece(2 * e, &[1.0, 0.2]), scale);
            block.add(
                piece(2 * e + 2, &[0.3, 0.4]),
                piece(2 * e, &[1.0, 0.1]),
                scale,
            );
        }
    };
    let plan = || {
        let mut fronts = Fronts::default();
        fronts.plan(&bodies, &elements);
        fronts
    };
    let (mut kept, mut fresh) = (plan(), plan());
    let all = kept.factor(|_| true, add(3)).unwrap();
    let few = kept.factor(|e| e == 3 || e == 20, add(20)).unwrap();
    assert_eq!(fresh.factor(|_| true, add(20)), Some(all));
    assert!(few < all, "{few} of {all}");
    let mut x: Vec<f64> = (0..2 * n).map(|i| (i as f64).sin()).collect();
    let mut y = x.clone();
    kept.solve(&mut x);
    fresh.solve(&mut y);
    assert_eq!(x, y);
}
