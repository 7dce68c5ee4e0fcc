//! The two kinds delassus writes itself, bit for bit: `problem` (masses and rows) and `dual` (the Delassus matrix).

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::super::{FileContent, FileError, Loaded, Unfit};
use super::keyed::Keyed;
use super::plain::flat;
use super::tree_mass::TreeEntry;
use crate::index::{BlockId, LinkId, MassId};
use crate::law::Law;
use crate::problem::delassus::BlockMatrix;
use crate::problem::mass::{MassBlock, Rigid};
use crate::problem::place::{At, Place, Point, Side};
use crate::problem::{Block, Form, Primal, Problem, ProblemBuilder};

problem_file! {
    /// A problem as delassus writes it.
    ProblemFile {
        masses: Vec<Keyed<MassEntry>>,
        blocks: Vec<Keyed<BlockEntry>>,
        #[serde(default)]
        guess: Option<Vec<f64>>,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MassEntry {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rigid: Option<Keyed<RigidEntry>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dense: Option<Vec<Vec<f64>>>,
    /// M⁻¹, where that was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    inverse: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    tree: Option<TreeEntry>,
    p: Vec<f64>,
    /// v¹, where it is not M⁻¹p to the last digit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    v1: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RigidEntry {
    m: f64,
    #[serde(rename = "I")]
    inertia: [[f64; 3]; 3],
    /// I⁻¹, where it was not computed from I.
    #[serde(rename = "Iinv", skip_serializing_if = "Option::is_none", default)]
    inverse: Option<[[f64; 3]; 3]>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockEntry {
    law: Law,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    point: Option<Keyed<PointEntry>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    on: Option<Vec<Keyed<JacobianEntry>>>,
    sigma: Vec<f64>,
    q: Vec<f64>,
}

/// Directions at a point of free bodies, one a row.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointEntry {
    directions: Vec<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first: Option<Keyed<ArmEntry>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    second: Option<Keyed<ArmEntry>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmEntry {
    mass: u32,
    arm: [f64; 3],
}

/// Rows over all velocities of a mass, over the velocity of a link, or over one velocity.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JacobianEntry {
    mass: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    link: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dof: Option<usize>,
    #[serde(rename = "G")]
    rows: Vec<Vec<f64>>,
}

pub(super) fn problem(file: ProblemFile) -> Result<Loaded, FileError> {
    let mut builder = Problem::builder();
    for (i, entry) in file.masses.iter().enumerate() {
        let place = format!("masses[{i}]");
        let fail = |error: crate::BuildError| FileError::invalid(&place, error);
        let mass = entry.mass(&place)?;
        let added = match &entry.v1 {
            None => builder.add_mass(mass, &entry.p),
            Some(free) => builder.add_moving_mass(mass, &entry.p, free),
        };
        added.map_err(fail)?;
    }
    for (i, entry) in file.blocks.iter().enumerate() {
        entry.add(&format!("blocks[{i}]"), &mut builder)?;
    }
    let problem = builder.build();
    let problem = problem.map_err(|e| FileError::invalid("problem", e))?;
    guessed(Loaded::problem("problem", file.title, problem), file.guess)
}

impl MassEntry {
    /// The mass block it says.
    fn mass(&self, place: &str) -> Result<MassBlock, FileError> {
        let fail = |error: crate::BuildError| FileError::invalid(place, error);
        let matrix = |m: &[[f64; 3]; 3]| glam::DMat3::from_cols_array_2d(m).transpose();
        let square = |rows: &Vec<Vec<f64>>| flat(place, rows, (rows.len(), rows.len()));
        match (&self.rigid, &self.dense, &self.inverse, &self.tree) {
            (Some(rigid), None, None, None) => match &rigid.inverse {
                None => MassBlock::rigid(rigid.m, matrix(&rigid.inertia)).map_err(fail),
                Some(inverse) => {
                    MassBlock::rigid_from_both(rigid.m, matrix(&rigid.inertia), matrix(inverse))
                        .map_err(fail)
                }
            },
            (None, Some(rows), None, None) => MassBlock::dense(square(rows)?).map_err(fail),
            (None, None, Some(rows), None) => {
                MassBlock::dense_from_inverse(square(rows)?).map_err(fail)
            }
            (None, None, None, Some(tree)) => {
                let mass = tree.mass();
                mass.map_err(|what| FileError::invalid(format!("{place}.tree"), what))
            }
            _ => Err(FileError::invalid(
                place,
                "give one of \"rigid\", \"dense\", \"inverse\" and \"tree\"",
            )),
        }
    }

    /// Mass block b of a problem.
    fn of(primal: &Primal, b: MassId) -> MassEntry {
        let mass = &primal.mass()[b.index()];
        let (p, free) = (
            primal.slice(primal.p(), b),
            primal.slice(primal.free_velocity(), b),
        );
        let mut solved = p.to_vec();
        mass.solve(&mut solved);
        let mut entry = MassEntry {
            rigid: None,
            dense: None,
            inverse: None,
            tree: None,
            p: p.to_vec(),
            v1: (solved != free).then(|| free.to_vec()),
        };
        match mass {
            MassBlock::Rigid(body) => entry.rigid = Some(Keyed(RigidEntry::of(body))),
            MassBlock::Dense(dense) => match dense.given_inverse() {
                None => entry.dense = Some(nested(dense.matrix(), mass.dim())),
                Some(inverse) => entry.inverse = Some(nested(inverse, mass.dim())),
            },
            MassBlock::Tree(tree) => entry.tree = Some(TreeEntry::of(tree)),
        }
        entry
    }
}

impl RigidEntry {
    fn of(body: &Rigid) -> RigidEntry {
        let rows = |m: glam::DMat3| m.transpose().to_cols_array_2d();
        let again = match MassBlock::rigid(body.mass(), body.inertia()) {
            Ok(MassBlock::Rigid(again)) => again.inverse_inertia() == body.inverse_inertia(),
            _ => false,
        };
        RigidEntry {
            m: body.mass(),
            inertia: rows(body.inertia()),
            inverse: (!again).then(|| rows(body.inverse_inertia())),
        }
    }
}

impl BlockEntry {
    /// Block k of a problem.
    fn of(primal: &Primal, block: &Block, k: BlockId) -> BlockEntry {
        let mut point: Option<PointEntry> = None;
        let mut on: Vec<Keyed<JacobianEntry>> = Vec::new();
        for At { mass, place, rows } in primal.places(k) {
            let (link, dof) = match place {
                Place::Point { arm, side } => {
                    let end = Some(Keyed(ArmEntry {
                        mass: mass.0,
                        arm: arm.to_array(),
                    }));
                    let point = point.get_or_insert_with(|| PointEntry {
                        directions: rows.as_chunks::<3>().0.to_vec(),
                        first: None,
                        second: None,
                    });
                    match side {
                        Side::First => point.first = end,
                        Side::Second => point.second = end,
                    }
                    continue;
                }
                Place::Link { link } => (Some(link.0), None),
                Place::Coordinate { dof } => (None, Some(dof)),
                Place::Plain => (None, None),
            };
            on.push(Keyed(JacobianEntry {
                mass: mass.0,
                link,
                dof,
                rows: nested(rows, rows.len() / block.n_rows),
            }));
        }
        BlockEntry {
            law: block.law,
            on: point.is_none().then_some(on),
            point: point.map(Keyed),
            sigma: primal.sigma()[block.rows()].to_vec(),
            q: primal.q()[block.rows()].to_vec(),
        }
    }

    /// Adds the block to a problem.
    fn add(&self, place: &str, builder: &mut ProblemBuilder) -> Result<(), FileError> {
        let fail = |why: Unfit| FileError::invalid(place, why);
        let added = match (&self.point, &self.on) {
            (Some(point), None) => {
                let directions: Vec<DVec3> =
                    point.directions.iter().map(|d| DVec3::from(*d)).collect();
                let end = |end: &Keyed<ArmEntry>| (MassId(end.mass), DVec3::from(end.arm));
                let point = Point {
                    directions: &directions,
                    first: point.first.as_ref().map(end),
                    second: point.second.as_ref().map(end),
                };
                builder.add_point(self.law, &point, &self.sigma, &self.q)
            }
            (None, Some(on)) => {
                let mut rows = Vec::with_capacity(on.len());
                for on in on {
                    let width = on.rows.first().map_or(0, Vec::len);
                    rows.push(flat(place, &on.rows, (self.q.len(), width))?);
                }
                let mut places = Vec::with_capacity(on.len());
                for (on, rows) in on.iter().zip(&rows) {
                    places.push(At {
                        mass: MassId(on.mass),
                        place: on.place().map_err(fail)?,
                        rows,
                    });
                }
                builder.add_block_at(self.law, &places, &self.sigma, &self.q)
            }
            _ => return Err(fail("give one of \"on\" and \"point\"".into())),
        };
        added.map(|_| ()).map_err(|error| fail(error.into()))
    }
}

impl JacobianEntry {
    fn place(&self) -> Result<Place, Unfit> {
        match (self.link, self.dof) {
            (None, None) => Ok(Place::Plain),
            (Some(link), None) => Ok(Place::Link { link: LinkId(link) }),
            (None, Some(dof)) => Ok(Place::Coordinate { dof }),
            (Some(_), Some(_)) => Err("give one of \"link\" and \"dof\", or neither".into()),
        }
    }
}

problem_file! {
    /// A dual problem as delassus writes it.
    DualFile {
        blocks: Vec<Keyed<DualEntry>>,
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
    row: Vec<Keyed<DualBlock>>,
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
    let fail = |error: crate::BuildError| FileError::invalid("blocks", error);
    let matrix = BlockMatrix::from_entries(&sizes, &entries).map_err(fail)?;
    let problem = Problem::dual(matrix, c, &laws).map_err(fail)?;
    guessed(Loaded::problem("dual", file.title, problem), file.guess)
}

/// The same with the impulses to start from: one for each row.
fn guessed(loaded: Loaded, guess: Option<Vec<f64>>) -> Result<Loaded, FileError> {
    let rows = match &loaded.content {
        FileContent::Problem { problem, .. } => problem.n_rows(),
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
    let ids = (0..primal.mass().len()).map(|b| MassId(b as u32));
    let masses: Vec<String> = ids.map(|b| line(&MassEntry::of(primal, b))).collect();
    let mut blocks = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        blocks.push(line(&BlockEntry::of(primal, block, BlockId(k as u32))));
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
        let row = matrix.block_row(k).map(|(j, values)| {
            Keyed(DualBlock {
                block: j,
                values: nested(values, matrix.rows(j).len()),
            })
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
    format!(
        "\n{}",
        serde_json::to_string(entry).expect("plain data has a JSON form")
    )
}

fn nested(values: &[f64], width: usize) -> Vec<Vec<f64>> {
    values
        .chunks_exact(width.max(1))
        .map(<[f64]>::to_vec)
        .collect()
}
