use super::*;
use crate::math::Random;

/// A matrix with blocks of mixed sizes on a random graph, and its dense form.
fn example(seed: u64, nodes: &[Node], share: f64) -> (BlockLu, Vec<f64>) {
    let mut random = Random::new(seed);
    let n = nodes.len();
    let mut pairs = Vec::new();
    for a in 0..n {
        for b in 0..a {
            if random.range(0.0, 1.0) < share || b + 1 == a {
                pairs.push((a as u32, b as u32));
            }
        }
    }
    let mut lu = BlockLu::default();
    lu.analyse(nodes, pairs.iter().copied());
    lu.clear();
    let total: usize = nodes.iter().map(|node| node.size).sum();
    let starts: Vec<usize> = (0..n)
        .map(|i| nodes[..i].iter().map(|node| node.size).sum())
        .collect();
    let mut dense = vec![0.0; total * total];
    let all = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
    for (a, b) in all.chain((0..n as u32).map(|a| (a, a))) {
        let (a, b) = (a as usize, b as usize);
        let slot = lu.slot(a, b);
        for i in 0..nodes[a].size {
            for j in 0..nodes[b].size {
                let own = if a == b && i == j { 9.0 } else { 0.0 };
                let value = random.range(-1.0, 1.0) + own;
                dense[(starts[a] + i) * total + starts[b] + j] = value;
                let (upper, lower) = lu.values_mut(&slot);
                match slot.swapped {
                    false => upper[i * slot.stride + j] += value,
                    true => lower[j * slot.stride + i] += value,
                }
            }
        }
    }
    (lu, dense)
}

fn product(a: &[f64], x: &[f64]) -> Vec<f64> {
    let rows = a.chunks_exact(x.len());
    rows.map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
        .collect()
}

#[test]
fn solutions_satisfy_the_matrix_whatever_the_sizes_of_blocks() {
    let free = |sizes: &[usize]| -> Vec<Node> { sizes.iter().map(|n| Node::free(*n)).collect() };
    let cases = [
        free(&[6; 12]),
        free(&[3, 6, 1, 6, 8, 2, 6, 6, 3]),
        free(&[1; 30]),
        free(&[7]),
        free(&[3; 25]),
        free(&[6; 40]),
    ];
    for (seed, nodes) in cases.iter().enumerate() {
        for (share, careful) in [
            (0.0, false),
            (0.1, false),
            (0.4, false),
            (0.1, true),
            (0.4, true),
        ] {
            let (mut lu, dense) = example(seed as u64, nodes, share);
            lu.careful = careful;
            let n: usize = nodes.iter().map(|node| node.size).sum();
            let mut random = Random::new(99);
            let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            assert!(lu.factor());
            let mut x = b.clone();
            lu.solve(&mut x);
            for (sum, b) in product(&dense, &x).iter().zip(&b) {
                assert!((sum - b).abs() < 1e-12, "{nodes:?}: {sum} {b}");
            }
        }
    }
}

/// Unknowns x = E y of followers and leaders: Eᵀ A E y = Eᵀ b.
#[test]
fn followers_move_with_their_leaders() {
    let led = |pivots: usize, leader: u32| Node {
        size: 6,
        pivots,
        leader: Some(leader),
    };
    // A tree: 3 and 4 follow 2, 1 follows 4, 5 follows nobody but is held by the ground, 0 is free.
    let held = Node {
        size: 6,
        pivots: 1,
        leader: None,
    };
    let nodes = [
        Node::free(6),
        led(1, 4),
        Node::free(6),
        led(3, 2),
        led(1, 2),
        held,
    ];
    for share in [0.0, 0.5, 1.0] {
        let (mut lu, dense) = example(5, &nodes, share);
        let mut random = Random::new(3);
        let n = 36;
        // Rows of E over all 36 unknowns: those of followers are replaced from leaders to followers.
        let mut e: Vec<Vec<f64>> = (0..n)
            .map(|i| (0..n).map(|j| f64::from(i == j)).collect())
            .collect();
        for x in [4, 3, 1] {
            let followers = 6 - nodes[x].pivots;
            let t: Vec<f64> = (0..6 * followers)
                .map(|_| random.range(-1.0, 1.0))
                .collect();
            lu.map_mut(x).copy_from_slice(&t);
            let leader = nodes[x].leader.map_or(0, |leader| leader as usize);
            for f in 0..followers {
                let mut row = vec![0.0; n];
                for i in 0..6 {
                    let from = &e[6 * leader + i];
                    for (row, from) in row.iter_mut().zip(from) {
                        *row += t[i * followers + f] * from;
                    }
                }
                e[6 * x + nodes[x].pivots + f] = row;
            }
        }
        (31..36).for_each(|i| e[i].fill(0.0));
        let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        assert!(lu.factor());
        let mut x = b.clone();
        lu.solve(&mut x);
        // x is in the range of E, and Eᵀ(A x − b) = 0.
        let pivots: Vec<bool> = nodes
            .iter()
            .flat_map(|node| (0..6).map(|i| i < node.pivots))
            .collect();
        let y: Vec<f64> = (0..n).map(|i| if pivots[i] { x[i] } else { 0.0 }).collect();
        for i in 0..n {
            let moved: f64 = e[i].iter().zip(&y).map(|(e, y)| e * y).sum();
            assert!((moved - x[i]).abs() < 1e-12, "{i}: {moved} {}", x[i]);
        }
        let left = product(&dense, &x);
        for j in (0..n).filter(|j| pivots[*j]) {
            let sum: f64 = (0..n).map(|i| e[i][j] * (left[i] - b[i])).sum();
            assert!(sum.abs() < 1e-11, "{j}: {sum}");
        }
    }
}

#[test]
fn chains_do_not_fill_and_singular_blocks_are_said() {
    let mut lu = BlockLu::default();
    lu.analyse(&[Node::free(6); 50], (1..50).map(|i| (i, i - 1)));
    // Every front has its own block and one beside it, but for the last.
    assert!(lu.n_values() <= 50 * 72);
    lu.clear();
    for i in 0..50 {
        let slot = lu.slot(i, i);
        for k in 0..6 {
            lu.values_mut(&slot).0[k * (slot.stride + 1)] = 1.0;
        }
    }
    assert!(lu.factor());
    let slot = lu.slot(7, 7);
    lu.clear();
    lu.values_mut(&slot).0[0] = f64::NAN;
    assert!(!lu.factor());
}

#[test]
fn inverses_exchange_rows() {
    let mut random = Random::new(8);
    for n in [1, 2, 3, 5, 6, 9] {
        let mut a: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
        if 1 < n {
            a[0] = 0.0;
        }
        let mut inverse = a.clone();
        assert!(invert(&mut inverse, n, &mut vec![0.0; 2 * n * n]));
        for i in 0..n {
            for j in 0..n {
                let sum: f64 = (0..n).map(|k| a[i * n + k] * inverse[k * n + j]).sum();
                assert!((sum - f64::from(i == j)).abs() < 1e-12, "{n}");
            }
        }
        let mut singular = vec![0.0; n * n];
        assert!(!invert(&mut singular, n, &mut vec![0.0; 2 * n * n]));
    }
}

/// K = M + GᵀG/ε of a chain of ball joints between rods: stiff where joints hold, and nearly free about every rod.
fn chain(links: usize) -> (BlockLu, Vec<f64>) {
    let (n, mut random) = (6 * links, Random::new(5));
    let mut dense = vec![0.0; n * n];
    for link in 0..links {
        for i in 0..6 {
            let moment = if i < 3 { 30.0 } else { 0.1 };
            dense[(6 * link + i) * (n + 1)] = moment;
        }
    }
    let arms: Vec<[f64; 3]> = (0..links)
        .map(|_| std::array::from_fn(|_| random.range(-0.5, 0.5)))
        .collect();
    for joint in 0..links {
        for axis in 0..3 {
            // v + ω × a of one end, minus that of the other.
            let mut g = vec![0.0; n];
            let mut put = |link: usize, arm: [f64; 3], sign: f64| {
                g[6 * link + axis] = sign;
                g[6 * link + 3 + (axis + 1) % 3] = sign * arm[(axis + 2) % 3];
                g[6 * link + 3 + (axis + 2) % 3] = -sign * arm[(axis + 1) % 3];
            };
            put(joint, arms[joint], 1.0);
            if 0 < joint {
                put(joint - 1, arms[joint - 1].map(|a| -a), -1.0);
            }
            for (row, x) in dense.chunks_exact_mut(n).zip(&g) {
                row.iter_mut().zip(&g).for_each(|(k, y)| *k += 1e9 * x * y);
            }
        }
    }
    let mut lu = BlockLu::default();
    lu.analyse(
        &vec![Node::free(6); links],
        (1..links as u32).map(|i| (i, i - 1)),
    );
    (lu, dense)
}

#[test]
fn a_careful_factorisation_keeps_what_inverses_of_stiff_blocks_lose() {
    // Rows exchanged throughout, and products corrected, where there are too many for that.
    keeps_digits(10);
    keeps_digits(FEW / 6 + 2);
}

fn keeps_digits(links: usize) {
    let n = 6 * links;
    let (mut lu, dense) = chain(links);
    let mut random = Random::new(6);
    let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
    let errors = [false, true].map(|careful| {
        lu.careful = careful;
        lu.clear();
        for a in 0..links {
            for b in a.saturating_sub(1)..=a {
                let slot = lu.slot(a, b);
                let (first, second) = if slot.swapped { (b, a) } else { (a, b) };
                let (upper, lower) = lu.values_mut(&slot);
                for i in 0..6 {
                    for j in 0..6 {
                        let value = dense[(6 * first + i) * n + 6 * second + j];
                        upper[i * slot.stride + j] = value;
                        if a != b {
                            lower[i * slot.stride + j] = value;
                        }
                    }
                }
            }
        }
        assert!(lu.factor());
        assert_eq!(lu.is_exchanged, careful && n <= FEW);
        let mut x = b.clone();
        lu.solve(&mut x);
        let error = product(&dense, &x).into_iter().zip(&b);
        error.fold(0.0_f64, |most, (sum, b)| most.max((sum - b).abs()))
    });
    assert!(1e3 * errors[1] < errors[0], "{links} links: {errors:?}");
}
