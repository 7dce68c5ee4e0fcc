//! The kernel against the matrix it stands for.

use super::basis::Slot;
use super::kernel::{Constants, Table};
use super::pivots::{Friction, Pivoting};
use super::{ContactLcp, NONE, PivotOptions, PivotWork, reduced, structural};
use crate::gallery::experiments;
use crate::linalg::lu::ProfileLu;
use crate::math::{DMat3, DVec3, Random, dot, max_abs, tangents};
use crate::problem::jacobian::point_rows;
use crate::solver::pivot::Pivot;
use crate::{Law, MassBlock, MassId, Problem, Status};

/// Boxes on each other and on the ground, with contacts of every law, a joint, a motor and compliance.
fn mixture(random: &mut Random) -> Problem {
    let mut builder = Problem::builder();
    let count = 1 + random.below(3);
    for b in 0..count {
        let inertia = DMat3::from_diagonal(DVec3::new(0.2, 0.3, 0.4) + 0.05 * random.vector());
        let mass = if b == 1 {
            let mut matrix = vec![0.0; 36];
            for i in 0..6 {
                matrix[7 * i] = 1.0 + i as f64;
                matrix[6 * i + (i + 1) % 6] = 0.2;
                matrix[6 * ((i + 1) % 6) + i] = 0.2;
            }
            MassBlock::dense(matrix)
        } else {
            MassBlock::rigid(random.range(0.5, 3.0), inertia)
        };
        let p: Vec<f64> = (0..6).map(|_| random.range(-0.5, 0.5)).collect();
        builder.add_mass(mass.unwrap(), &p).unwrap();
    }
    for k in 0..2 + random.below(5) {
        let a = random.below(count);
        let b = random.below(count + 1);
        let n = (DVec3::Z + 0.4 * random.vector()).normalize();
        let (t1, t2) = tangents(n);
        let rows = [1.0, -1.0].map(|sign| point_rows([n, t1, t2], random.vector(), sign));
        let mut parts = vec![(MassId(a as u32), &rows[0][..])];
        if b < count && b != a {
            parts.push((MassId(b as u32), &rows[1][..]));
        }
        let law = match k % 6 {
            0 | 1 => Law::FrictionFacets {
                mu: 0.4,
                directions: 3 + random.below(6) as u32,
            },
            2 => Law::FrictionBox { mu: 0.3 },
            3 => Law::EllipticCone { mu: [0.2, 0.6] },
            4 => Law::FrictionCone { mu: 0.5 },
            _ => Law::Unilateral,
        };
        let s = if random.below(2) == 0 { 0.0 } else { 0.01 };
        let sigma = [random.range(0.0, 0.01), s, s];
        builder
            .add_block(law, &parts, &sigma, &[0.0, 0.0, 0.01])
            .unwrap();
    }
    let row: Vec<f64> = (0..6).map(|_| random.range(-1.0, 1.0)).collect();
    let motor = Law::Interval {
        lo: -0.05,
        hi: 0.03,
    };
    builder
        .add_block(motor, &[(MassId(0), &row)], &[0.0], &[0.2])
        .unwrap();
    if 1 < count {
        let row: Vec<f64> = (0..6).map(|_| random.range(-1.0, 1.0)).collect();
        let other: Vec<f64> = row.iter().map(|x| -x).collect();
        let parts = [(MassId(0), &row[..]), (MassId(1), &other[..])];
        builder
            .add_block(Law::Equality, &parts, &[0.0], &[0.0])
            .unwrap();
    }
    builder.build().unwrap()
}

/// A random almost complementary basis: some z basic, a group slips only if it has friction to give.
fn random_basis(lcp: &ContactLcp, random: &mut Random) -> (PivotWork, usize) {
    let mut work = PivotWork::default();
    let cover: Vec<f64> = (0..lcp.n_cover()).map(|_| random.range(0.5, 2.0)).collect();
    work.reset(lcp, &cover);
    for g in 0..lcp.groups.len() {
        work.join(lcp, g, 0.0);
    }
    let basis = &mut work.basis;
    let r = 1 + random.below(lcp.n_pairs());
    for i in 0..lcp.normals.len() {
        basis.set(1 + i, 1 + i != r && random.below(2) == 0);
    }
    for (g, group) in lcp.groups.iter().enumerate() {
        let at = basis.at[g];
        let mut given = 0;
        for _ in 0..random.below(3) {
            let j = at + random.below(group.count);
            if j != r && !basis.basic[j] {
                basis.set(j, true);
                given += 1;
            }
        }
        let bound = at + group.count;
        basis.set(bound, bound != r && 0 < given && random.below(2) == 0);
    }
    (work, r)
}

impl ContactLcp {
    /// M of w = Mz + q written out, row by row. Pairs stand in the order normals, then directions and bound of every
    /// group; free rows come last.
    fn dense(&self) -> Vec<f64> {
        let pairs = self.n_pairs();
        let n = pairs + self.frees.len();
        let mut columns = vec![vec![0.0; self.columns.dofs]; n];
        let mut m = vec![0.0; n * n];
        for (i, normal) in self.normals.iter().enumerate() {
            self.columns
                .add(normal.unit, [1.0, 0.0, 0.0], &mut columns[i]);
            m[i * n + i] = normal.sigma;
        }
        let mut at = self.normals.len();
        for group in &self.groups {
            let bound = at + group.count;
            for j in group.range() {
                let [a, b] = self.directions[j];
                self.columns.add(group.unit, [0.0, a, b], &mut columns[at]);
                m[at * n + bound] = 1.0;
                m[bound * n + at] = -1.0;
                at += 1;
            }
            if group.normal != NONE {
                m[bound * n + group.normal] = group.mu;
            }
            at = bound + 1;
        }
        for (f, free) in self.frees.iter().enumerate() {
            let f = pairs + f;
            self.columns
                .add(free.unit, [1.0, 0.0, 0.0], &mut columns[f]);
            m[f * n + f] = free.sigma;
        }
        for (i, left) in columns.iter().enumerate() {
            for (j, right) in columns.iter().enumerate() {
                m[i * n + j] += dot(left, right);
            }
        }
        m
    }
}

/// Solves A x = b; None if it is close to singular.
fn solve_dense(a: &[Vec<f64>], mut b: Vec<f64>) -> Option<Vec<f64>> {
    let mut lu = ProfileLu::default();
    lu.reset(a.len());
    for (i, row) in a.iter().enumerate() {
        row.iter().enumerate().for_each(|(j, x)| lu.add(i, j, *x));
    }
    if lu.factor() < 1e-2 {
        return None;
    }
    lu.solve(&mut b);
    Some(b)
}

#[test]
fn kernel_solves_what_the_matrix_solves_for_every_kind_of_last_row() {
    let mut random = Random::new(8);
    let mut seen = [0; 3];
    let mut worst: f64 = 0.0;
    for round in 0..6000 {
        let problem = mixture(&mut random);
        let lcp = ContactLcp::new(&problem, 5).unwrap();
        let m = lcp.dense();
        let pairs = lcp.n_pairs();
        let n = pairs + lcp.n_free();
        let (mut work, r) = random_basis(&lcp, &mut random);
        let basis = &mut work.basis;
        // Rows: pairs with z basic, free rows, r. Columns: the same z, λ, z₀.
        let mut rows: Vec<usize> = (0..pairs).filter(|p| basis.basic[p + 1]).collect();
        rows.extend(pairs..n);
        let columns = rows.clone();
        rows.push(r - 1);
        let cover = |i: usize| if i < pairs { basis.cover[i + 1] } else { 0.0 };
        let a: Vec<Vec<f64>> = rows
            .iter()
            .map(|&i| {
                columns
                    .iter()
                    .map(|&j| m[i * n + j])
                    .chain([cover(i)])
                    .collect()
            })
            .collect();
        let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        let Some(x) = solve_dense(&a, rows.iter().map(|&i| -b[i]).collect()) else {
            continue;
        };
        let mut wanted = vec![0.0; pairs + 1];
        wanted[0] = x[columns.len()];
        for p in (0..pairs).filter(|p| !basis.basic[p + 1] && p + 1 != r) {
            let products = columns.iter().zip(&x).map(|(&j, x)| m[p * n + j] * x);
            wanted[p + 1] = b[p] + cover(p) * wanted[0] + products.sum::<f64>();
        }
        for (&j, x) in columns.iter().zip(&x).filter(|(j, _)| **j < pairs) {
            wanted[j + 1] = *x;
        }
        basis.constant[1..].copy_from_slice(&b[..pairs]);
        basis.free_constant.copy_from_slice(&b[pairs..]);
        assert!(0.0 < work.factor(&lcp, Some(r)));
        let mut out = Table::default();
        out.reset(&lcp, pairs + 1);
        work.kernel
            .solve(&work.basis, &lcp, Constants::Everywhere, &mut out);
        let error: Vec<f64> = out.pairs.iter().zip(&wanted).map(|(a, b)| a - b).collect();
        let scale = 1.0 + max_abs(&wanted);
        worst = worst.max(max_abs(&error) / scale);
        assert!(max_abs(&error) <= 1e-12 * scale, "{round}: {error:?}");
        seen[match work.basis.slots[r] {
            Slot::Normal(_) => 0,
            Slot::Direction(..) => 1,
            _ => 2,
        }] += 1;
    }
    assert!(seen.iter().all(|&count| 300 <= count), "{seen:?} {worst:e}");
}

#[test]
fn mixtures_of_all_laws_are_solved() {
    let mut random = Random::new(9);
    let mut work = PivotWork::default();
    for round in 0..2000 {
        let problem = mixture(&mut random);
        let lcp = ContactLcp::new(&problem, 8).unwrap();
        for pivot in [Pivot::Big, Pivot::Lex] {
            let options = PivotOptions {
                pivot,
                cover: &[],
                pivots: 2000,
                deadline: None,
            };
            let outcome = structural(&lcp, &options, &mut work);
            assert_eq!(outcome.status, Status::Solved, "{round} {outcome:?}");
            assert!(outcome.residual <= 1e-9, "{round} {outcome:?}");
            let outcome = reduced(&lcp, &options, &mut work);
            assert!(
                outcome.status == Status::Solved || outcome.cover_limit,
                "{round} {outcome:?}"
            );
            let mut lambda = vec![0.0; problem.n_rows()];
            work.impulses(&lcp, &mut lambda);
        }
    }
}

/// What the pivots on a stack of blocks cost at least: means over the wrenches, those below the second over the pivots
/// as well.
#[derive(Clone, Copy, Debug, Default)]
struct Census {
    contacts: f64,
    pivots: f64,
    /// Unknowns of the kernel, and pairs that take part.
    kernel: f64,
    pairs: f64,
    /// Variables that move, the same where z₀ stands still, and the share of bodies that move then.
    moving: f64,
    beside_z0: f64,
    bodies: f64,
}

/// Numbers that are not rounding.
fn count(list: &[f64]) -> f64 {
    let least = 1e-10 * max_abs(list);
    list.iter().filter(|x| least < x.abs()).count() as f64
}

fn census(blocks: usize, friction: Friction) -> Census {
    let faces: Vec<usize> = (0..blocks).map(|i| 4 + 4 * (i % 2)).collect();
    let stack = experiments::stack(&faces);
    let problems = stack.problems(5, 1).unwrap();
    let options = PivotOptions {
        pivot: Pivot::Big,
        cover: &[],
        pivots: 10_000,
        deadline: None,
    };
    let (mut work, mut sum) = (PivotWork::default(), Census::default());
    for problem in &problems {
        let lcp = ContactLcp::new(problem, 8).unwrap();
        let mut run = Pivoting::new(&lcp, &options, &mut work, friction);
        assert_eq!(run.start(), None);
        loop {
            assert!(run.expand());
            let (pair, z, work) = (run.pair, run.z_drives, &mut *run.work);
            work.drive(&lcp, pair, z);
            let rates = work.rates.clone();
            // Along w_r only z₀ drives: taking out so much of that motion stops z₀.
            work.unit_column(&lcp, pair, -1.0);
            let along = work.rates.pairs[0];
            let much = if z { rates.pairs[0] / along } else { 0.0 };
            let rest = |all: &[f64], z0: &[f64]| -> Vec<f64> {
                all.iter().zip(z0).map(|(a, b)| a - much * b).collect()
            };
            let v = rest(&rates.v, &work.rates.v);
            let moves = |body: &&[f64]| 1e-10 * max_abs(&v) < max_abs(body);
            sum.bodies += v.chunks(6).filter(moves).count() as f64 / blocks as f64;
            sum.beside_z0 += count(&rest(&rates.pairs, &work.rates.pairs));
            sum.moving += count(&rates.pairs);
            sum.kernel += work.basis.size() as f64;
            sum.pairs += rates.pairs.len() as f64;
            sum.pivots += 1.0;
            if let Some(end) = run.pivot() {
                // A path that lost its digits still had its pivots.
                assert!(matches!(end, Status::Solved | Status::Breakdown), "{end:?}");
                break;
            }
        }
    }
    Census {
        contacts: stack.contacts() as f64,
        pivots: sum.pivots / problems.len() as f64,
        kernel: sum.kernel / sum.pivots,
        pairs: sum.pairs / sum.pivots,
        moving: sum.moving / sum.pivots,
        beside_z0: sum.beside_z0 / sum.pivots,
        bodies: sum.bodies / sum.pivots,
    }
}

#[test]
fn a_pivot_on_a_stack_moves_a_share_of_all_bodies_however_many_there_are() {
    for friction in [Friction::FromStart, Friction::WhereLoaded] {
        for blocks in [5, 20] {
            let found = census(blocks, friction);
            assert!(0.5 < found.bodies, "{friction:?} {blocks}: {found:?}");
            assert!(0.3 * found.pairs < found.beside_z0, "{friction:?} {blocks}");
        }
    }
}

#[test]
#[ignore = "prints the table of how stacks grow, for the chapter of Lemke's algorithm"]
#[allow(clippy::print_stdout, reason = "its purpose")]
fn growth_of_stacks() {
    println!(
        "| method | blocks | contacts | pivots | kernel | pairs | moving | beside z₀ | bodies |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    // Not every reduced path on a hundred blocks reaches its end.
    let methods = [
        ("structural", Friction::FromStart, &[5, 10, 20, 50, 100][..]),
        ("reduced", Friction::WhereLoaded, &[5, 10, 20, 50][..]),
    ];
    for (name, friction, sizes) in methods {
        for &blocks in sizes {
            let c = census(blocks, friction);
            println!(
                "| {name} | {blocks} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
                c.contacts, c.pivots, c.kernel, c.pairs, c.moving, c.beside_z0, c.bodies
            );
        }
    }
}
