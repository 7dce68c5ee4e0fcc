//! Kinds without geometry: `rows` (a dense M⁻¹ and bounded rows), `lcp` and `stabilisation` (SPOOK coefficients).

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::{FileContent, FileError, Loaded, SpookRow, matrix_problem};
use super::keyed::Keyed;
use crate::law::Law;
use crate::problem::Problem;
use crate::problem::mass::MassBlock;
use crate::problem::stabilise::{RowTerms, Stabilise};

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
    let fail = |place: &str, error: crate::BuildError| FileError::invalid(place, error);
    let mass = MassBlock::dense_from_inverse(inverse).map_err(|error| fail("Minv", error))?;
    let mut p = vec![0.0; n];
    mass.mul(&file.v1, &mut p);
    let mut builder = Problem::builder();
    let id = builder
        .add_moving_mass(mass, &p, &file.v1)
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
    let law = |i: usize| match file.free.contains(&i) {
        true => (1, Law::Equality),
        false => (1, Law::Unilateral),
    };
    let laws: Vec<(usize, Law)> = (0..n).map(law).collect();
    let loaded = matrix_problem("lcp", &entries, file.q, &laws)?;
    let title = file.title;
    Ok(Loaded { title, ..loaded })
}

problem_file! {
    /// SPOOK rows to compute.
    StabilisationFile {
        cases: Vec<Keyed<SpookCase>>,
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
        let RowTerms { sigma, q } = spook.row(case.h, case.g, case.velocity);
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
        content: FileContent::Stabilisation(rows),
    })
}

/// Rows of equal length, one after the other.
pub(super) fn flat(
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
