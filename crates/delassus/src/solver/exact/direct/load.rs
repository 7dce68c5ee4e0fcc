//! Numbers of a problem into the lanes of L islands of one kind.

use super::islands::IslandKind;
use super::plan::{Load, MassEntry, Node};
use crate::linalg::ldl::{Lane, REDUNDANT};
use crate::math::dot;
use crate::problem::delassus::BlockMatrix;
use crate::problem::mass::{MassBlock, Rigid};
use crate::problem::{Form, Primal, Problem};

/// The islands that the lanes hold; the last may be repeated to fill them.
pub(super) type Team<const L: usize> = [usize; L];

/// Fills the blocks of [[A, G], [Gᵀ, −M]] and, for every unknown, the pivot below which it is redundant.
#[inline(always)]
pub(super) fn load<const L: usize>(
    problem: &Problem,
    kind: &IslandKind,
    team: &Team<L>,
    values: &mut [Lane<L>],
    floor: &mut [Lane<L>],
) {
    match problem.form() {
        Form::Primal(primal) => {
            for range in &kind.plan.clear {
                values[range.clone()].fill([0.0; L]);
            }
            for load in &kind.plan.loads {
                load_one(problem, primal, kind, team, load, values);
            }
        }
        Form::Dual(matrix) => {
            values.fill([0.0; L]);
            load_matrix(matrix, kind, team, values);
        }
    }
    load_floor(problem, kind, team, values, floor);
}

/// The floor of a joint is a share of its diagonal entries of S, which stand in its block already unless it
/// touches a mass that was kept.
#[inline(always)]
fn load_floor<const L: usize>(
    problem: &Problem,
    kind: &IslandKind,
    team: &Team<L>,
    values: &[Lane<L>],
    floor: &mut [Lane<L>],
) {
    let plan = &kind.plan;
    for (i, node) in plan.nodes.iter().enumerate() {
        let (n, at) = (plan.pattern.size(i), plan.pattern.diagonal(i));
        let floor = &mut floor[plan.pattern.unknowns(i)];
        let Node::Joint(joint) = *node else {
            floor.fill([0.0; L]);
            continue;
        };
        for row in 0..n {
            floor[row] = values[at + row * (n + 1)].map(|d| REDUNDANT * d.abs());
        }
        if plan.beside_mass[i] {
            for l in 0..L {
                let d = problem.diagonal_blocks().block(kind.block(team[l], joint));
                for row in 0..n {
                    floor[row][l] = REDUNDANT * d[row * (n + 1)].abs();
                }
            }
        }
    }
}

#[inline(always)]
fn load_one<const L: usize>(
    problem: &Problem,
    primal: &Primal,
    kind: &IslandKind,
    team: &Team<L>,
    load: &Load,
    values: &mut [Lane<L>],
) {
    match *load {
        Load::Diagonal { joint, at } => {
            for l in 0..L {
                let d = problem.diagonal_blocks().block(kind.block(team[l], joint));
                for (e, d) in d.iter().enumerate() {
                    values[at + e][l] = *d;
                }
            }
        }
        Load::Compliance { joint, at } => {
            for l in 0..L {
                let n = kind.shape.joints[joint] as usize;
                let sigma = &primal.sigma()[kind.row(team[l], joint)..][..n];
                for (i, sigma) in sigma.iter().enumerate() {
                    values[at + i * n + i][l] += sigma;
                }
            }
        }
        Load::Through {
            mass,
            row,
            column,
            at,
            fresh,
        } => {
            let rows = kind.shape.joints[row.joint];
            let columns = kind.shape.joints[column.joint];
            let rigid: [Option<&Rigid>; L] =
                std::array::from_fn(|l| match &primal.mass()[kind.mass(team[l], mass)] {
                    MassBlock::Rigid(body) => Some(body),
                    _ => None,
                });
            if fresh {
                values[at..at + (rows * columns) as usize].fill([0.0; L]);
            }
            let place = values[at..].first_chunk_mut::<9>();
            match place {
                Some(out) if (rows, columns) == (3, 3) && rigid.iter().all(Option::is_some) => {
                    let g = entry_lanes(primal, kind, team, row);
                    let k = entry_lanes(primal, kind, team, column);
                    through_rigid(&rigid, &g, &k, out);
                }
                _ => through_any(primal, kind, team, (row, column), &mut values[at..]),
            }
        }
        Load::Mass { mass, at } => load_mass(primal, kind, team, mass, &mut values[at..]),
        Load::Entry {
            touch,
            at,
            transposed,
        } => {
            let rows = kind.shape.joints[touch.joint] as usize;
            let mut g = Vec::new();
            for l in 0..L {
                g.clear();
                primal.write_rows(entry(primal, kind, team[l], touch), &mut g);
                let width = g.len() / rows;
                for (e, g) in g.iter().enumerate() {
                    let to = if transposed {
                        e % width * rows + e / width
                    } else {
                        e
                    };
                    values[at + to][l] = *g;
                }
            }
        }
    }
}

/// The Jacobian's entry of a joint of an island.
#[inline(always)]
fn entry(primal: &Primal, kind: &IslandKind, island: usize, touch: MassEntry) -> usize {
    let k = kind.block(island, touch.joint);
    primal.jacobian().entry_range(k).start + touch.entry
}

/// Three rows on a free body, one column of numbers per lane.
#[inline(always)]
fn entry_lanes<const L: usize>(
    primal: &Primal,
    kind: &IslandKind,
    team: &Team<L>,
    touch: MassEntry,
) -> [Lane<L>; 18] {
    let mut lanes = [[0.0; L]; 18];
    let (mut frame, mut arm, mut sign) = ([[0.0; L]; 9], [[0.0; L]; 3], [0.0; L]);
    let mut points = 0;
    for l in 0..L {
        let e = entry(primal, kind, team[l], touch);
        if let Some((directions, at, side)) = primal.jacobian().point_entry(e) {
            for (to, d) in frame.iter_mut().zip(directions.as_flattened()) {
                to[l] = *d;
            }
            for (to, x) in arm.iter_mut().zip(at.to_array()) {
                to[l] = x;
            }
            sign[l] = side.sign();
            points += 1;
        }
    }
    if points == L {
        point_lanes(&frame, &arm, &sign, &mut lanes);
        return lanes;
    }
    for l in 0..L {
        let mut g = [0.0; 18];
        primal.write_rows_to(entry(primal, kind, team[l], touch), &mut g);
        for e in 0..18 {
            lanes[e][l] = g[e];
        }
    }
    lanes
}

/// ±(dᵢ, arm × dᵢ) for three directions.
#[inline(always)]
fn point_lanes<const L: usize>(
    frame: &[Lane<L>; 9],
    arm: &[Lane<L>; 3],
    sign: &Lane<L>,
    out: &mut [Lane<L>; 18],
) {
    for i in 0..3 {
        for l in 0..L {
            let d: [f64; 3] = std::array::from_fn(|c| frame[3 * i + c][l]);
            for c in 0..3 {
                let (a, b) = ((c + 1) % 3, (c + 2) % 3);
                out[6 * i + c][l] = sign[l] * d[c];
                out[6 * i + 3 + c][l] = sign[l] * (arm[a][l] * d[b] - d[a] * arm[b][l]);
            }
        }
    }
}

/// A += G M⁻¹ Kᵀ for three rows each on a free body.
#[inline(always)]
fn through_rigid<const L: usize>(
    rigid: &[Option<&Rigid>; L],
    g: &[Lane<L>; 18],
    k: &[Lane<L>; 18],
    out: &mut [Lane<L>; 9],
) {
    let mut mass = [1.0; L];
    let mut inverse = [[0.0; L]; 9];
    for l in 0..L {
        if let Some(body) = rigid[l] {
            mass[l] = 1.0 / body.mass();
            let columns = body.inverse_inertia().to_cols_array();
            for e in 0..9 {
                inverse[e][l] = columns[e];
            }
        }
    }
    for j in 0..3 {
        // Row j of K M⁻¹; the inertia is symmetric.
        let mut row = [[0.0; L]; 6];
        for t in 0..3 {
            for l in 0..L {
                row[t][l] = mass[l] * k[6 * j + t][l];
                row[3 + t][l] = inverse[t][l] * k[6 * j + 3][l]
                    + inverse[3 + t][l] * k[6 * j + 4][l]
                    + inverse[6 + t][l] * k[6 * j + 5][l];
            }
        }
        for i in 0..3 {
            for l in 0..L {
                let linear = g[6 * i][l] * row[0][l]
                    + g[6 * i + 1][l] * row[1][l]
                    + g[6 * i + 2][l] * row[2][l];
                let angular = g[6 * i + 3][l] * row[3][l]
                    + g[6 * i + 4][l] * row[4][l]
                    + g[6 * i + 5][l] * row[5][l];
                out[3 * i + j][l] += linear + angular;
            }
        }
    }
}

/// A += G M⁻¹ Kᵀ for any rows on any mass.
#[inline(never)]
fn through_any<const L: usize>(
    primal: &Primal,
    kind: &IslandKind,
    team: &Team<L>,
    (row, column): (MassEntry, MassEntry),
    out: &mut [Lane<L>],
) {
    let columns = kind.shape.joints[column.joint] as usize;
    let rows = kind.shape.joints[row.joint] as usize;
    let (mut solved, mut g) = (Vec::new(), Vec::new());
    for l in 0..L {
        primal.solve_rows(entry(primal, kind, team[l], column), &mut solved);
        g.clear();
        primal.write_rows(entry(primal, kind, team[l], row), &mut g);
        let width = solved.len() / columns;
        for i in 0..rows {
            for j in 0..columns {
                let (g, k) = (
                    &g[i * width..(i + 1) * width],
                    &solved[j * width..(j + 1) * width],
                );
                out[i * columns + j][l] += dot(g, k);
            }
        }
    }
}

/// −M, column by column.
#[inline(never)]
fn load_mass<const L: usize>(
    primal: &Primal,
    kind: &IslandKind,
    team: &Team<L>,
    mass: usize,
    out: &mut [Lane<L>],
) {
    let n = kind.shape.masses[mass] as usize;
    let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
    for l in 0..L {
        let block = &primal.mass()[kind.mass(team[l], mass)];
        for j in 0..n {
            unit[j] = 1.0;
            block.mul(&unit, &mut column);
            unit[j] = 0.0;
            for i in 0..n {
                out[i * n + j][l] = -column[i];
            }
        }
    }
}

/// Blocks of a dual problem, of which the lower triangle in order of elimination is read.
#[inline(never)]
fn load_matrix<const L: usize>(
    matrix: &BlockMatrix,
    kind: &IslandKind,
    team: &Team<L>,
    values: &mut [Lane<L>],
) {
    let plan = &kind.plan;
    let joint = |i: usize| match plan.nodes[i] {
        Node::Joint(joint) | Node::Mass(joint) => joint,
    };
    let mut copy = |row: usize, column: usize, at: usize| {
        for l in 0..L {
            let (k, j) = (
                kind.block(team[l], joint(row)),
                kind.block(team[l], joint(column)),
            );
            for (e, value) in matrix.block(k, j).unwrap_or_default().iter().enumerate() {
                values[at + e][l] = *value;
            }
        }
    };
    for i in 0..plan.nodes.len() {
        copy(i, i, plan.pattern.diagonal(i));
        for edge in plan.pattern.edges(i) {
            copy(edge.to, i, edge.at);
        }
    }
}

/// Right-hand side −r of the joints; masses that were kept have none.
#[inline(always)]
pub(super) fn load_rhs<const L: usize>(
    kind: &IslandKind,
    team: &Team<L>,
    r: &[f64],
    x: &mut [Lane<L>],
) {
    let plan = &kind.plan;
    for (i, node) in plan.nodes.iter().enumerate() {
        let x = &mut x[plan.pattern.unknowns(i)];
        match *node {
            Node::Mass(_) => x.fill([0.0; L]),
            Node::Joint(joint) => {
                for l in 0..L {
                    for (x, r) in x.iter_mut().zip(&r[kind.row(team[l], joint)..]) {
                        x[l] = -r;
                    }
                }
            }
        }
    }
}
