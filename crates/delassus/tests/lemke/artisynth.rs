//! Reads a list of single-body contact problems: lines `key=[ numbers ]`, `#` for remarks, `test` for each problem.

use std::collections::BTreeMap;
use std::fs;

use delassus::math::{DMat3, DVec3, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::{Law, MassBlock, Problem};

/// The problems of the file, or none where it is not there.
pub(crate) fn contacts() -> Vec<Problem> {
    let Some(folder) = super::lloyd::shared("data/artisynth") else {
        return Vec::new();
    };
    let text = fs::read_to_string(folder.join("contactTest.txt")).unwrap();
    let plain: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap())
        .collect();
    let spaced = plain
        .join(" ")
        .replace('=', " ")
        .replace('[', " [ ")
        .replace(']', " ] ");
    let mut words = spaced.split_whitespace();
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut problems = Vec::new();
    while let Some(word) = words.next() {
        if word == "test" {
            problems.push(problem(&values));
            continue;
        }
        assert_eq!(words.next(), Some("["), "after {word}");
        let numbers = words.by_ref().take_while(|word| *word != "]");
        values.insert(
            word.to_owned(),
            numbers.map(|x| x.parse().unwrap()).collect(),
        );
    }
    problems
}

/// Unit mass and inertia at rest under one wrench.
fn problem(values: &BTreeMap<String, Vec<f64>>) -> Problem {
    let directions = values["fdirs"][0] as u32;
    let centre = DVec3::from_slice(&values["bpos"]);
    let mut builder = Problem::builder();
    let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap();
    let body = builder.add_mass(mass, &values["wext"]).unwrap();
    let points = values["pnts"].chunks_exact(3).map(DVec3::from_slice);
    let normals = values["nrms"].chunks_exact(3).map(DVec3::from_slice);
    for ((point, n), &mu) in points.zip(normals).zip(&values["fcoefs"]) {
        let n = n.normalize();
        let (t1, t2) = tangents(n);
        let rows = point_rows([n, t1, t2], point - centre, 1.0);
        let law = Law::FrictionFacets { mu, directions };
        builder
            .add_block(law, &[(body, &rows)], &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

/// Blocks with limited friction: the problem, and the velocity, normal and friction impulses it is known to have.
pub(crate) struct Limited {
    pub(crate) problem: Problem,
    pub(crate) vel: Vec<f64>,
    pub(crate) the: Option<Vec<f64>>,
    pub(crate) phi: Option<Vec<f64>>,
}

/// Numbers in brackets, and brackets in brackets.
#[derive(Default)]
struct List {
    numbers: Vec<f64>,
    lists: Vec<List>,
}

impl List {
    fn read<'a>(words: &mut impl Iterator<Item = &'a str>) -> List {
        let mut list = List::default();
        loop {
            match words.next().unwrap() {
                "]" => return list,
                "[" => list.lists.push(List::read(words)),
                number => list.numbers.push(number.parse().unwrap()),
            }
        }
    }

    /// Columns of a matrix of blocks: sizes of block rows, of block columns, then (i, j, entries by rows).
    fn columns(&self) -> Vec<Vec<f64>> {
        let starts = |sizes: &[f64]| -> Vec<usize> {
            let mut starts = vec![0];
            for size in sizes {
                starts.push(starts[starts.len() - 1] + *size as usize);
            }
            starts
        };
        let rows = starts(&self.lists[0].numbers);
        let cols = starts(&self.lists[1].numbers);
        let mut columns = vec![vec![0.0; rows[rows.len() - 1]]; cols[cols.len() - 1]];
        for block in &self.lists[2..] {
            let (i, j) = (block.numbers[0] as usize, block.numbers[1] as usize);
            let width = cols[j + 1] - cols[j];
            for (e, entry) in block.numbers[2..].iter().enumerate() {
                columns[cols[j] + e % width][rows[i] + e / width] = *entry;
            }
        }
        columns
    }
}

/// The problems of the file of blocks, or none where it is not there. What a problem does not say is as before,
/// except for the impulses.
pub(crate) fn limited() -> Vec<Limited> {
    let Some(folder) = super::lloyd::shared("data/artisynth") else {
        return Vec::new();
    };
    let text = fs::read_to_string(folder.join("MLCPtest.txt")).unwrap();
    let plain: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("name"))
        .map(|line| line.split('#').next().unwrap())
        .collect();
    let spaced = plain.join(" ").replace('=', " ");
    let spaced = spaced.replace('[', " [ ").replace(']', " ] ");
    let mut words = spaced.split_whitespace();
    let mut values: BTreeMap<&str, List> = BTreeMap::new();
    let mut problems = Vec::new();
    while let Some(word) = words.next() {
        assert_eq!(word, "[");
        values.remove("the");
        values.remove("phi");
        while let Some(key) = words.next().filter(|word| *word != "]") {
            match words.next().unwrap() {
                "null" => drop(values.remove(key)),
                bracket => {
                    assert_eq!(bracket, "[", "after {key}");
                    values.insert(key, List::read(&mut words));
                }
            }
        }
        problems.push(blocks(&values));
    }
    problems
}

/// Mv = b + Nᵀθ + Dᵀφ, Nv ⟂ θ ≥ 0, each φ within its limit.
fn blocks(values: &BTreeMap<&str, List>) -> Limited {
    let numbers = |key: &str| values.get(key).map(|list| list.numbers.clone());
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(values["M"].columns().concat()).unwrap();
    let mass = builder.add_mass(mass, &values["bf"].numbers).unwrap();
    for row in values["NT"].columns() {
        let rows: &[(_, &[f64])] = &[(mass, &row)];
        builder
            .add_block(Law::Unilateral, rows, &[0.0], &[0.0])
            .unwrap();
    }
    let friction = values.get("DT").map(List::columns).unwrap_or_default();
    for (row, limit) in friction.iter().zip(numbers("flim").unwrap_or_default()) {
        let (lo, hi) = (-limit, limit);
        let rows: &[(_, &[f64])] = &[(mass, row)];
        builder
            .add_block(Law::Interval { lo, hi }, rows, &[0.0], &[0.0])
            .unwrap();
    }
    Limited {
        problem: builder.build().unwrap(),
        vel: values["vel"].numbers.clone(),
        the: numbers("the"),
        phi: numbers("phi"),
    }
}
