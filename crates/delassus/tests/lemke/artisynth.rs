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
