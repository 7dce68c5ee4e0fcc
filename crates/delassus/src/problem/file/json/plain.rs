//! Kinds without geometry: `rows` (a dense M⁻¹ and bounded rows), `stabilisation` (SPOOK coefficients), and the two
//! kinds delassus writes itself, `problem` (masses and rows) and `dual` (the Delassus matrix).

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::super::{FileError, Loaded, SpookRow, Work, complementarity};
use super::tree_mass::TreeEntry;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::problem::delassus::BlockMatrix;
use crate::problem::mass::MassBlock;
use crate::problem::stabilise::Stabilise;
use crate::problem::{Form, Primal, Problem};

problem_file! {
    /// Boxed rows over a dense inverse mass matrix.
    RowsFile {
        #[serde(rename = "Minv")]
        inverse: Vec<Vec<f64>>,
        #[serde(rename = "G")]
        jacobian: Vec<Vec<f64>>,
        q: Vec<f64>,
        sigma: Vec<f64>,
        v1: Vec<f64>,
        lo: Vec<Option<f64>>,
        hi: Vec<Option<f64>>,
    }
}

pub(super) fn rows(file: RowsFile) -> Result<Loaded, FileError> {
    let n = file.v1.len();
    let m = file.jacobian.len();
    for (name, length) in [
        ("q", file.q.len()),
        ("sigma", file.sigma.len()),
        ("lo", file.lo.len()),
        ("hi", file.hi.len()),
    ] {
        if length != m {
            return Err(FileError::invalid(
                name,
                format!("has {length} entries but G has {m} rows"),
            ));
        }
    }
    let inverse = flat("Minv", &file.inverse, (n, n))?;
    let jacobian = flat("G", &file.jacobian, (m, n))?;
    let fail = |place: &str, error: crate::BuildError| FileError::invalid(place, error.to_string());
    let mass = MassBlock::dense_from_inverse(inverse).map_err(|error| fail("Minv", error))?;
    let mut p = vec![0.0; n];
    mass.mul(&file.v1, &mut p);
    let mut builder = Problem::builder();
    let id = builder
        .add_mass(mass, &p)
        .map_err(|error| fail("v1", error))?;
    for i in 0..m {
        let law = match (file.lo[i], file.hi[i]) {
            (None, None) => Law::Equality,
            (Some(0.0), None) => Law::Unilateral,
            (lo, hi) => Law::Interval {
                lo: lo.unwrap_or(f64::NEG_INFINITY),
                hi: hi.unwrap_or(f64::INFINITY),
            },
        };
        let row = &jacobian[i * n..(i + 1) * n];
        builder
            .add_block(law, &[(id, row)], &file.sigma[i..=i], &file.q[i..=i])
            .map_err(|error| fail(&format!("row {i}"), error))?;
    }
    let problem = builder.build().map_err(|error| fail("rows", error))?;
    Ok(Loaded::problem("rows", file.title, problem))
}

problem_file! {
    /// A linear complementarity problem; `free` lists the rows that are equalities.
    LcpFile {
        #[serde(default)]
        n: Option<usize>,
        #[serde(rename = "M")]
        matrix: Vec<Vec<f64>>,
        q: Vec<f64>,
        #[serde(default)]
        free: Vec<usize>,
    }
}

pub(super) fn lcp(file: LcpFile) -> Result<Loaded, FileError> {
    let n = file.q.len();
    if let Some(stated) = file.n.filter(|stated| *stated != n) {
        let what = format!("is {stated} but q has {n} numbers");
        return Err(FileError::invalid("n", what));
    }
    if let Some(row) = file.free.iter().find(|row| n <= **row) {
        let what = format!("names row {row}, but there are {n} rows, counted from 0");
        return Err(FileError::invalid("free", what));
    }
    let m = flat("M", &file.matrix, (n, n))?;
    let entries = m.iter().enumerate().filter(|(_, value)| **value != 0.0);
    let entries: Vec<_> = entries.map(|(e, value)| (e / n, e % n, *value)).collect();
    let problem = complementarity(&entries, file.q, |i| file.free.contains(&i))?;
    Ok(Loaded::problem("lcp", file.title, problem))
}

problem_file! {
    /// SPOOK rows to compute.
    StabilisationFile {
        cases: Vec<SpookCase>,
    }
}

/// One row's step, damping, compliance, violation and velocity; answers beside them are ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpookCase {
    h: f64,
    tau: f64,
    eps: f64,
    g: f64,
    #[serde(rename = "Gv")]
    velocity: f64,
    #[serde(rename = "sigma", default)]
    _sigma: IgnoredAny,
    #[serde(rename = "upsilon", default)]
    _upsilon: IgnoredAny,
    #[serde(rename = "q", default)]
    _q: IgnoredAny,
    #[serde(rename = "rho_drift", default)]
    _rho_drift: IgnoredAny,
}

pub(super) fn stabilisation(file: StabilisationFile) -> Result<Loaded, FileError> {
    let mut rows = Vec::with_capacity(file.cases.len());
    for (i, case) in file.cases.iter().enumerate() {
        for (name, value, legal) in [
            ("h", case.h, 0.0 < case.h),
            ("tau", case.tau, 0.0 <= case.tau),
            ("eps", case.eps, 0.0 <= case.eps),
        ] {
            if !legal {
                let what =
                    format!("{name} is {value}; h must be positive, tau and eps not negative");
                return Err(FileError::invalid(format!("cases[{i}]"), what));
            }
        }
        let spook = Stabilise::Spook {
            compliance: case.eps,
            damping: case.tau,
        };
        let coefficients = spook.coefficients(case.h);
        let (sigma, q) = spook.row(case.h, case.g, case.velocity);
        let rho_drift = coefficients.drift_radius();
        if ![sigma, q, rho_drift].iter().all(|x| x.is_finite()) {
            let what = "its coefficients overflow; check the units of h, tau and eps";
            return Err(FileError::invalid(format!("cases[{i}]"), what));
        }
        rows.push(SpookRow {
            sigma,
            upsilon: coefficients.upsilon,
            q,
            rho_drift,
        });
    }
    Ok(Loaded {
        kind: "stabilisation",
        title: file.title,
        guess: None,
        work: Work::Stabilisation(rows),
    })
}

problem_file! {
    /// A problem as delassus writes it.
    ProblemFile {
        masses: Vec<MassEntry>,
        blocks: Vec<BlockEntry>,
        #[serde(default)]
        guess: Option<Vec<f64>>,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MassEntry {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rigid: Option<RigidEntry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dense: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    tree: Option<TreeEntry>,
    p: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RigidEntry {
    m: f64,
    #[serde(rename = "I")]
    inertia: [[f64; 3]; 3],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockEntry {
    law: Law,
    on: Vec<JacobianEntry>,
    sigma: Vec<f64>,
    q: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JacobianEntry {
    mass: u32,
    #[serde(rename = "G")]
    rows: Vec<Vec<f64>>,
}

pub(super) fn problem(file: ProblemFile) -> Result<Loaded, FileError> {
    let mut builder = Problem::builder();
    for (i, entry) in file.masses.iter().enumerate() {
        let place = format!("masses[{i}]");
        let fail = |error: crate::BuildError| FileError::invalid(&place, error.to_string());
        let mass = match (&entry.rigid, &entry.dense, &entry.tree) {
            (Some(rigid), None, None) => {
                let inertia = glam::DMat3::from_cols_array_2d(&rigid.inertia).transpose();
                MassBlock::rigid(rigid.m, inertia)
            }
            (None, Some(rows), None) => {
                MassBlock::dense(flat(&place, rows, (rows.len(), rows.len()))?)
            }
            (None, None, Some(tree)) => {
                let mass = tree.mass();
                Ok(mass.map_err(|what| FileError::invalid(format!("{place}.tree"), what))?)
            }
            _ => {
                return Err(FileError::invalid(
                    &place,
                    "give one of \"rigid\", \"dense\" and \"tree\"",
                ));
            }
        };
        builder
            .add_mass(mass.map_err(fail)?, &entry.p)
            .map_err(fail)?;
    }
    for (i, entry) in file.blocks.iter().enumerate() {
        let place = format!("blocks[{i}]");
        let mut rows = Vec::with_capacity(entry.on.len());
        for on in &entry.on {
            let width = on.rows.first().map_or(0, Vec::len);
            rows.push((
                MassId(on.mass),
                flat(&place, &on.rows, (entry.q.len(), width))?,
            ));
        }
        let rows: Vec<(MassId, &[f64])> = rows.iter().map(|(id, g)| (*id, &g[..])).collect();
        builder
            .add_block(entry.law, &rows, &entry.sigma, &entry.q)
            .map_err(|error| FileError::invalid(&place, error.to_string()))?;
    }
    let problem = builder.build();
    let problem = problem.map_err(|e| FileError::invalid("problem", e.to_string()))?;
    guessed(Loaded::problem("problem", file.title, problem), file.guess)
}

problem_file! {
    /// A dual problem as delassus writes it.
    DualFile {
        blocks: Vec<DualEntry>,
        #[serde(default)]
        guess: Option<Vec<f64>>,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DualEntry {
    law: Law,
    c: Vec<f64>,
    #[serde(rename = "S")]
    row: Vec<DualBlock>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DualBlock {
    block: usize,
    values: Vec<Vec<f64>>,
}

pub(super) fn dual(file: DualFile) -> Result<Loaded, FileError> {
    let sizes: Vec<usize> = file.blocks.iter().map(|entry| entry.c.len()).collect();
    let mut starts = vec![0];
    for size in &sizes {
        starts.push(starts[starts.len() - 1] + size);
    }
    let (mut entries, mut c, mut laws) = (Vec::new(), Vec::new(), Vec::new());
    for (k, entry) in file.blocks.iter().enumerate() {
        for (position, block) in entry.row.iter().enumerate() {
            let place = format!("blocks[{k}].S[{position}]");
            let Some(&width) = sizes.get(block.block) else {
                let last = sizes.len() - 1;
                let what = format!("block is {}; blocks are 0 to {last}", block.block);
                return Err(FileError::invalid(place, what));
            };
            let values = flat(&place, &block.values, (sizes[k], width))?;
            for (e, value) in values.into_iter().enumerate() {
                entries.push((
                    starts[k] + e / width,
                    starts[block.block] + e % width,
                    value,
                ));
            }
        }
        c.extend_from_slice(&entry.c);
        laws.push(entry.law);
    }
    let fail = |error: crate::BuildError| FileError::invalid("blocks", error.to_string());
    let matrix = BlockMatrix::from_entries(&sizes, &entries).map_err(fail)?;
    let problem = Problem::dual(matrix, c, &laws).map_err(fail)?;
    guessed(Loaded::problem("dual", file.title, problem), file.guess)
}

/// The same with the impulses to start from: one for each row.
fn guessed(loaded: Loaded, guess: Option<Vec<f64>>) -> Result<Loaded, FileError> {
    let rows = match &loaded.work {
        Work::Problem { problem, .. } => problem.n_rows(),
        _ => 0,
    };
    match guess.as_ref().map(Vec::len) {
        Some(length) if length != rows => {
            let what = format!("has {length} impulses where the problem has {rows} rows");
            Err(FileError::invalid("guess", what))
        }
        _ => Ok(Loaded { guess, ..loaded }),
    }
}

/// Writes a problem so that reading it gives it back, bit for bit: one line per mass and per block.
pub fn save(problem: &Problem, title: &str) -> String {
    save_with(problem, title, None, None)
}

/// The same with the impulses a solve started from, one for each row, and with remarks, which no reader looks at.
pub fn save_with(
    problem: &Problem,
    title: &str,
    guess: Option<&[f64]>,
    notes: Option<&serde_json::Value>,
) -> String {
    let title = serde_json::to_string(title).unwrap_or_else(|_| "\"\"".to_owned());
    let (kind, body) = match problem.form() {
        Form::Primal(primal) => ("problem", primal_body(problem, primal)),
        Form::Dual(matrix) => (
            "dual",
            format!("\"blocks\":[{}]", dual_body(problem, matrix)),
        ),
    };
    let notes = notes.map_or_else(String::new, |notes| format!("\"notes\":{notes},\n"));
    // Impulses of a solve that went wrong may be anything; a reader takes finite numbers alone.
    let guess = guess.filter(|guess| guess.iter().all(|x| x.is_finite()));
    let guess = guess.map_or_else(String::new, |guess| {
        format!(",\n\"guess\":{}", line(&guess).trim_start())
    });
    format!(
        "{{\"schema\":\"delassus-problem-1\",\"kind\":\"{kind}\",\"title\":{title},\n{notes}{body}{guess}}}\n"
    )
}

fn primal_body(problem: &Problem, primal: &Primal) -> String {
    let mut masses = Vec::new();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = primal.slice(primal.p(), MassId(b as u32)).to_vec();
        let mut entry = MassEntry {
            rigid: None,
            dense: None,
            tree: None,
            p,
        };
        match mass {
            MassBlock::Rigid(body) => {
                entry.rigid = Some(RigidEntry {
                    m: body.mass(),
                    inertia: body.inertia().transpose().to_cols_array_2d(),
                });
            }
            MassBlock::Dense(dense) => entry.dense = Some(nested(dense.matrix(), mass.dim())),
            MassBlock::Tree(tree) => entry.tree = Some(TreeEntry::of(tree)),
        }
        masses.push(line(&entry));
    }
    let mut blocks = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let on = primal
            .jacobian()
            .block(BlockId(k as u32))
            .map(|(mass, values)| {
                let width = values.len() / block.n_rows;
                JacobianEntry {
                    mass: mass.0,
                    rows: nested(values, width),
                }
            });
        blocks.push(line(&BlockEntry {
            law: block.law,
            on: on.collect(),
            sigma: primal.sigma()[block.rows()].to_vec(),
            q: primal.q()[block.rows()].to_vec(),
        }));
    }
    format!(
        "\"masses\":[{}],\n\"blocks\":[{}]",
        masses.join(","),
        blocks.join(",")
    )
}

fn dual_body(problem: &Problem, matrix: &BlockMatrix) -> String {
    let mut blocks = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let row = matrix.block_row(k).map(|(j, values)| DualBlock {
            block: j,
            values: nested(values, matrix.rows(j).len()),
        });
        let c = problem.c()[block.rows()].to_vec();
        blocks.push(line(&DualEntry {
            law: block.law,
            c,
            row: row.collect(),
        }));
    }
    blocks.join(",")
}

fn line<T: Serialize>(entry: &T) -> String {
    // Plain structs of finite numbers cannot fail to serialise.
    format!("\n{}", serde_json::to_string(entry).unwrap_or_default())
}

fn nested(values: &[f64], width: usize) -> Vec<Vec<f64>> {
    values
        .chunks_exact(width.max(1))
        .map(<[f64]>::to_vec)
        .collect()
}

/// Rows of equal length, one after the other.
fn flat(
    place: &str,
    rows: &[Vec<f64>],
    (height, width): (usize, usize),
) -> Result<Vec<f64>, FileError> {
    if rows.len() != height {
        let what = format!("has {} rows where {height} are needed", rows.len());
        return Err(FileError::invalid(place, what));
    }
    if let Some(i) = rows.iter().position(|row| row.len() != width) {
        let what = format!(
            "row {i} has {} numbers where {width} are needed",
            rows[i].len()
        );
        return Err(FileError::invalid(place, what));
    }
    Ok(rows.concat())
}
