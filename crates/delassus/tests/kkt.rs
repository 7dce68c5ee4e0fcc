//! The KKT solve by articulated-body passes against dense elimination, with contacts, loops and redundant rows.
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

use delassus::math::{DVec3, Random};
use delassus::solver::exact::kkt::{Kkt, TreeKkt};
use delassus::tree::{
    Data, Elimination, KktGiven, KktUnknowns, LinkPoint, Propagation, Tree, TreeRows,
};
use delassus::{LinkId, Solution, Solver, Status, Stop, gallery};
use trees::{
    assert_close, kkt_answer, largest, random_configuration, random_tree, random_vector, weld,
};

/// Answers against dense elimination, relative to the largest number and the condition allowed for.
const DENSE: f64 = 1e-9;

/// Random contacts with the ground, loops between links and rows on joints.
fn random_rows(random: &mut Random, tree: &Tree, data: &Data, count: usize) -> TreeRows {
    let mut rows = TreeRows::default();
    let link = |random: &mut Random| LinkId(random.below(tree.links().len()) as u32);
    while rows.len() < count {
        let a = link(random);
        let point = tree.pose(data, a).unwrap().point(0.2 * random.vector());
        match random.below(4) {
            0 => {
                rows.start();
                let dof = random.below(tree.n_dofs());
                tree.add_dof(data, &mut rows, dof, random.range(0.5, 2.0))
                    .unwrap();
            }
            1 => {
                rows.start();
                tree.add_angular(&mut rows, a, random.vector()).unwrap();
            }
            2 => {
                let b = link(random);
                let other = tree.pose(data, b).unwrap().point(0.2 * random.vector());
                rows.start();
                let direction = random.vector();
                tree.add_linear(data, &mut rows, LinkPoint::new(a, point), direction)
                    .unwrap();
                tree.add_linear(data, &mut rows, LinkPoint::new(b, other), -direction)
                    .unwrap();
            }
            _ => {
                rows.start();
                tree.add_linear(data, &mut rows, LinkPoint::new(a, point), random.vector())
                    .unwrap();
            }
        }
    }
    rows
}

/// [M Jᵀ; J −Σ], row by row.
fn kkt_matrix(m: &[f64], j: &[f64], sigma: &[f64], n: usize) -> dense::Matrix {
    let rows = sigma.len();
    let mut h = dense::zeros(n + rows, n + rows);
    for a in 0..n {
        h[a][..n].copy_from_slice(&m[a * n..(a + 1) * n]);
    }
    for r in 0..rows {
        for a in 0..n {
            h[n + r][a] = j[r * n + a];
            h[a][n + r] = j[r * n + a];
        }
        h[n + r][n + r] = -sigma[r];
    }
    h
}

/// Rows of J that a fresh elimination finds independent, without knowing of M.
fn dense_rank(j: &[f64], n: usize) -> usize {
    let mut rows: dense::Matrix = j.chunks_exact(n).map(<[f64]>::to_vec).collect();
    let mut rank = 0;
    while let Some((at, length)) = (rank..rows.len())
        .map(|i| (i, dense::norm(&rows[i])))
        .max_by(|a, b| a.1.total_cmp(&b.1))
    {
        if length < 1e-9 {
            break;
        }
        rows.swap(rank, at);
        let unit: Vec<f64> = rows[rank].iter().map(|x| x / length).collect();
        for row in rows.iter_mut().skip(rank + 1) {
            let along = dense::dot(row, &unit);
            row.iter_mut().zip(&unit).for_each(|(x, u)| *x -= along * u);
        }
        rank += 1;
    }
    rank
}

struct System {
    tree: Tree,
    data: Data,
    rows: TreeRows,
    mass: Vec<f64>,
    j: Vec<f64>,
}

fn systems(
    seed: u64,
    count: usize,
    with_rows: impl Fn(&mut Random, &Tree) -> usize,
) -> Vec<System> {
    let mut random = Random::new(seed);
    let mut systems = Vec::new();
    while systems.len() < count {
        let size = 2 + random.below(12);
        let tree = random_tree(&mut random, size);
        let n = tree.n_dofs();
        if n == 0 {
            continue;
        }
        let q = random_configuration(&mut random, &tree);
        let mut data = tree.data();
        let mut mass = vec![0.0; n * n];
        tree.mass_matrix(&mut data, &q, &mut mass).unwrap();
        let count = with_rows(&mut random, &tree);
        let rows = random_rows(&mut random, &tree, &data, count);
        let j = tree.rows_matrix(&data, &rows);
        systems.push(System {
            tree,
            data,
            rows,
            mass,
            j,
        });
    }
    systems
}

#[test]
fn four_steps_agree_with_dense_elimination_of_the_whole_system() {
    let mut random = Random::new(31);
    let mut tried = 0;
    for system in systems(21, 300, |random, tree| 1 + random.below(tree.n_dofs())) {
        let System {
            tree,
            mut data,
            rows,
            mass,
            j,
        } = system;
        let (n, m) = (tree.n_dofs(), rows.len());
        let sigma = vec![if tried % 3 == 0 { 0.01 } else { 0.0 }; m];
        let (y1, y2) = (random_vector(&mut random, n), random_vector(&mut random, m));
        let mut kkt = TreeKkt::default();
        let given = KktGiven {
            y1: &y1,
            y2: &y2,
            sigma: &sigma,
        };
        let (x1, x2) = kkt_answer(&mut kkt, &tree, &mut data, &rows, given);
        if sigma[0] == 0.0 && dense_rank(&j, n) < m {
            continue;
        }
        tried += 1;
        let h = kkt_matrix(&mass, &j, &sigma, n);
        let y: Vec<f64> = y1.iter().chain(&y2).copied().collect();
        let x = dense::solve(&h, &y);
        assert_close(&x1, &x[..n], DENSE, "x1");
        assert_close(&x2, &x[n..], DENSE, "x2");
        assert_eq!(kkt.rank().rank, m);
    }
    assert!(100 < tried, "{tried}");
}

/// Errors of x₁ and x₂ against a dense solution whose rows they obey.
fn propagated(system: System, random: &mut Random, sigma: f64) -> Option<()> {
    let System {
        tree,
        mut data,
        rows,
        mass,
        j,
    } = system;
    let (n, m) = (tree.n_dofs(), rows.len());
    let sigma = vec![sigma; m];
    let (y1, y2) = (random_vector(random, n), random_vector(random, m));
    let (mut x1, mut x2) = (vec![0.0; n], vec![0.0; m]);
    let given = KktGiven {
        y1: &y1,
        y2: &y2,
        sigma: &sigma,
    };
    let unknowns = KktUnknowns {
        x1: &mut x1,
        x2: &mut x2,
    };
    let mut work = Elimination::default();
    let solved = tree.propagate(&mut data, &rows, &mut work, given, unknowns);
    let full = sigma[0] != 0.0 || dense_rank(&j, n) == m;
    assert_eq!(solved, Ok(full), "{n} velocities, {m} rows");
    if !full {
        return None;
    }
    let h = kkt_matrix(&mass, &j, &sigma, n);
    let y: Vec<f64> = y1.iter().chain(&y2).copied().collect();
    let x = dense::solve(&h, &y);
    assert_close(&x1, &x[..n], DENSE, "x1");
    assert_close(&x2, &x[n..], DENSE, "x2");
    Some(())
}

#[test]
fn propagated_rows_agree_with_dense_elimination_and_decline_where_they_depend_on_each_other() {
    let mut random = Random::new(35);
    let (mut solved, mut declined) = (0, 0);
    let few = systems(25, 300, |random, tree| 1 + random.below(tree.n_dofs()));
    let many = systems(26, 60, |_, tree| tree.n_dofs() + 3);
    for (k, system) in few.into_iter().chain(many).enumerate() {
        let sigma = if k % 3 == 0 { 0.01 } else { 0.0 };
        match propagated(system, &mut random, sigma) {
            Some(()) => solved += 1,
            None => declined += 1,
        }
    }
    assert!(200 < solved && 20 < declined, "{solved} {declined}");
}

#[test]
fn a_hundred_links_on_the_ground_are_propagated_as_the_four_steps_have_them() {
    let mut random = Random::new(36);
    let (tree, data, rows) = grounded(&mut random, 100);
    let (n, m) = (tree.n_dofs(), rows.len());
    let (y1, y2) = (random_vector(&mut random, n), random_vector(&mut random, m));
    let sigma = vec![1e-3; m];
    let given = KktGiven {
        y1: &y1,
        y2: &y2,
        sigma: &sigma,
    };
    let (mut x1, mut x2) = (vec![0.0; n], vec![0.0; m]);
    let mut kkt = TreeKkt::default();
    let unknowns = KktUnknowns {
        x1: &mut x1,
        x2: &mut x2,
    };
    kkt.four_steps(&tree, &mut data.clone(), &rows, given, unknowns)
        .unwrap();
    let (mut z1, mut z2) = (vec![0.0; n], vec![0.0; m]);
    let mut kkt = TreeKkt::default();
    let unknowns = KktUnknowns {
        x1: &mut z1,
        x2: &mut z2,
    };
    kkt.solve(&tree, &mut data.clone(), &rows, given, unknowns)
        .unwrap();
    assert!(kkt.matrix().is_empty(), "the matrix was formed");
    assert_eq!(kkt.rank().rank, m);
    assert_close(&z1, &x1, DENSE, "x1");
    assert_close(&z2, &x2, DENSE, "x2");
}

/// A snake all of whose links touch the ground: three rows each.
fn grounded(random: &mut Random, count: u32) -> (Tree, Data, TreeRows) {
    let tree = trees::snake(random, count);
    let q = random_configuration(random, &tree);
    let (mut data, mut rows) = (tree.data(), TreeRows::default());
    tree.kinematics(&q, &mut data).unwrap();
    for link in (0..count).map(LinkId) {
        let point = tree.pose(&data, link).unwrap().point(DVec3::Z * -0.03);
        for axis in DVec3::AXES {
            rows.start();
            tree.add_linear(&data, &mut rows, LinkPoint::new(link, point), axis)
                .unwrap();
        }
    }
    (tree, data, rows)
}

#[test]
fn force_propagators_agree_with_columns_of_the_inverse() {
    for system in systems(22, 200, |random, _| 1 + random.below(12)) {
        let System {
            tree,
            mut data,
            rows,
            mass,
            j,
        } = system;
        let (n, m) = (tree.n_dofs(), rows.len());
        let mut found = vec![0.0; m * m];
        tree.delassus(&mut data, &rows, &mut Propagation::default(), &mut found)
            .unwrap();
        let matrix: dense::Matrix = mass.chunks_exact(n).map(<[f64]>::to_vec).collect();
        let mut expected = vec![0.0; m * m];
        for k in 0..m {
            let column = dense::solve(&matrix, &j[k * n..(k + 1) * n]);
            for i in 0..m {
                expected[i * m + k] = dense::dot(&j[i * n..(i + 1) * n], &column);
            }
        }
        assert_close(&found, &expected, 1e-10, "J M⁻¹Jᵀ");
        // Column by column through the passes, as the notes have it.
        for k in 0..m {
            let mut unit = vec![0.0; m];
            unit[k] = 1.0;
            let (mut x, mut w) = (vec![0.0; n], vec![0.0; m]);
            let zeros = vec![0.0; n];
            tree.respond_to_rows(&mut data, &rows, (&zeros, &unit), (&mut x, &mut w))
                .unwrap();
            let column: Vec<f64> = (0..m).map(|i| expected[i * m + k]).collect();
            assert_close(&w, &column, 1e-10, "column");
        }
    }
}

#[test]
fn redundant_rows_are_named_and_do_no_harm() {
    let mut random = Random::new(33);
    for system in systems(23, 100, |random, tree| {
        1 + random.below(tree.n_dofs().min(5))
    }) {
        let System {
            tree,
            mut data,
            mut rows,
            mass,
            j,
        } = system;
        let (n, m) = (tree.n_dofs(), rows.len());
        if dense_rank(&j, n) < m {
            continue;
        }
        let y1 = random_vector(&mut random, n);
        let y2 = random_vector(&mut random, m);
        let h = kkt_matrix(&mass, &j, &vec![0.0; m], n);
        let y: Vec<f64> = y1.iter().chain(&y2).copied().collect();
        let x = dense::solve(&h, &y);
        // Every row once more: the welded foot that was welded twice.
        let double = rows.clone();
        rows = doubled(&tree, &data, &double, &j);
        let y2: Vec<f64> = y2.iter().chain(&y2).copied().collect();
        let mut kkt = TreeKkt::default();
        let sigma = vec![0.0; 2 * m];
        let given = KktGiven {
            y1: &y1,
            y2: &y2,
            sigma: &sigma,
        };
        let (x1, x2) = kkt_answer(&mut kkt, &tree, &mut data, &rows, given);
        assert_close(&x1, &x[..n], DENSE, "x1");
        let push = |x2: &[f64]| -> Vec<f64> {
            (0..n)
                .map(|a| (0..m).map(|r| j[r * n + a] * x2[r]).sum())
                .collect()
        };
        let sum: Vec<f64> = (0..m).map(|r| x2[r] + x2[m + r]).collect();
        assert_close(&push(&sum), &push(&x[n..]), DENSE, "Jᵀx₂");
        let rank = kkt.rank();
        assert_eq!(rank.rank, m);
        assert_eq!(rank.redundant, (m..2 * m).collect::<Vec<_>>());
    }
}

/// The rows of `rows` twice: as they are, and again as rows on joints with the same entries of J.
fn doubled(tree: &Tree, data: &Data, rows: &TreeRows, j: &[f64]) -> TreeRows {
    let mut out = rows.clone();
    for row in j.chunks_exact(tree.n_dofs()) {
        out.start();
        for (dof, &entry) in row.iter().enumerate() {
            tree.add_dof(data, &mut out, dof, entry).unwrap();
        }
    }
    out
}

#[test]
fn two_welded_feet_have_six_rows_too_many_only_where_the_legs_cannot_give() {
    // A humanoid with both feet welded has 12 independent rows; with the same foot twice only 6.
    let Some((tree, contacts)) = trees::benchmark("talos") else {
        return;
    };
    let mut data = tree.data();
    let mut random = Random::new(34);
    let q = random_configuration(&mut random, &tree);
    tree.kinematics(&q, &mut data).unwrap();
    let (y1, mut kkt) = (
        random_vector(&mut random, tree.n_dofs()),
        TreeKkt::default(),
    );
    for (feet, rank) in [([0, 1], 12), ([0, 0], 6)] {
        let mut rows = TreeRows::default();
        for foot in feet {
            weld(&tree, &data, &mut rows, contacts[foot]);
        }
        let given = KktGiven {
            y1: &y1,
            y2: &[0.0; 12],
            sigma: &[0.0; 12],
        };
        let (x1, x2) = kkt_answer(&mut kkt, &tree, &mut data, &rows, given);
        assert_eq!(kkt.rank().rank, rank);
        let j = tree.rows_matrix(&data, &rows);
        let slip: Vec<f64> = j
            .chunks_exact(tree.n_dofs())
            .map(|row| dense::dot(row, &x1))
            .collect();
        assert!(largest(&slip) < 1e-9 * largest(&x1), "{slip:?}");
        assert!(x2.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn more_rows_than_fit_in_memory_are_refused_by_name() {
    let problem = gallery::build("chain:2000").unwrap();
    assert!(4096 < problem.n_rows());
    let mut solver = Kkt::new(Stop::default());
    let report = solver.solve(&problem, &mut Solution::zeros(&problem));
    let message = report.message.unwrap();
    assert_eq!(report.status, Status::Unsupported);
    assert!(message.contains("at most 4096 rows"), "{message}");
    // What the law forbids has nothing to do with the size.
    let problem = gallery::build("stack:2").unwrap();
    let report = solver.solve(&problem, &mut Solution::zeros(&problem));
    assert!(report.message.unwrap().contains("no rule for"));
}
