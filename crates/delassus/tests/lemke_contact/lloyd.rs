//! The single-body and stack experiments, as files of geometries and wrenches, and generators like them.

use std::fs;
use std::path::{Path, PathBuf};

use delassus::math::{DMat3, DVec3};
use delassus::problem::jacobian::point_rows;
use delassus::{Law, MassBlock, MassId, Problem};
use serde_json::Value;

/// A folder of shared data, or a message.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: shared {folder} not found");
    None
}

/// One geometry with its loads.
pub(crate) struct Lloyd {
    pub(crate) name: String,
    json: Value,
}

fn vector(value: &Value) -> DVec3 {
    let x = |i: usize| value[i].as_f64().unwrap();
    DVec3::new(x(0), x(1), x(2))
}

/// All geometries, sorted by name.
pub(crate) fn all() -> Vec<Lloyd> {
    let Some(folder) = shared("data/lloyd") else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("truth_tiny.json"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| Lloyd {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        json: serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
    };
    files.iter().map(read).collect()
}

impl Lloyd {
    pub(crate) fn loads(&self) -> usize {
        self.json["wrenches"].as_array().unwrap().len()
    }

    /// The problem of one wrench, contact laws made by `law` from μ.
    pub(crate) fn problem(&self, load: usize, law: impl Fn(f64) -> Law, sigma: f64) -> Problem {
        let h = self.json["h"].as_f64().unwrap();
        let wrench: Vec<f64> = self.json["wrenches"][load]
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap() * h)
            .collect();
        let bodies = self.json["bodies"].as_array().unwrap();
        let mut builder = Problem::builder();
        for (b, body) in bodies.iter().enumerate() {
            let inertia = DMat3::from_diagonal(vector(&body[1]));
            let mass = MassBlock::rigid(body[0].as_f64().unwrap(), inertia).unwrap();
            builder.add_mass(mass, &wrench[6 * b..6 * b + 6]).unwrap();
        }
        for contact in self.json["contacts"].as_array().unwrap() {
            let (point, n) = (vector(&contact[2]), vector(&contact[3]));
            let axes = [DVec3::X, DVec3::Y, DVec3::Z];
            let least = |a: &&DVec3, b: &&DVec3| n.dot(**a).abs().total_cmp(&n.dot(**b).abs());
            let e = *axes.iter().min_by(least).unwrap();
            let t1 = n.cross(e).normalize();
            let t2 = n.cross(t1);
            let mut parts = Vec::new();
            for (side, sign) in [(0, 1.0), (1, -1.0)] {
                if let Ok(b) = usize::try_from(contact[side].as_i64().unwrap()) {
                    let arm = point - vector(&bodies[b][2]);
                    parts.push((MassId(b as u32), point_rows([n, t1, t2], arm, sign)));
                }
            }
            let parts: Vec<(MassId, &[f64])> = parts.iter().map(|(b, r)| (*b, &r[..])).collect();
            let law = law(contact[4].as_f64().unwrap());
            let sigma = [sigma, 0.0, 0.0];
            builder.add_block(law, &parts, &sigma, &[0.0; 3]).unwrap();
        }
        builder.build().unwrap()
    }
}

/// The experiments' own law: eight directions.
pub(crate) fn facets(mu: f64) -> Law {
    Law::FrictionFacets { mu, directions: 8 }
}
