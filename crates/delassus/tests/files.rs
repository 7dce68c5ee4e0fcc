//! Every published problem file is read as what it is, or refused by name.

#![cfg(feature = "files")]
// Helpers of tests are not tests to the linter, so the permissions of tests do not reach them.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

#[path = "files/damaged.rs"]
mod damaged;

use std::path::PathBuf;

use delassus::problem::file::siconos::{DatFile, DatFormat, GenericLaw, MlcpLaw, parse};
use delassus::problem::file::{FileError, FrictionFile, FrictionForm, Triplets, fclib};

/// The folder of published problems, which a clone of the project alone does not have.
fn shared(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: shared data folder not found");
    None
}

/// What a friction file must give: form, dimension, contacts, entries, and a bound on the relative
/// asymmetry of W or M. The bounds are those of the files: Bullet's contact frames and the Rover's
/// unequal bases leave W unsymmetric, the rest is rounding.
enum Expected {
    Local(usize, usize, usize, f64),
    /// Dimension, contacts, degrees of freedom, entries of M, entries of H, asymmetry of M.
    Global(usize, usize, usize, usize, usize, f64),
    Refused(&'static str),
}
use Expected::{Global, Local, Refused};

const ROUNDING: f64 = 1e-15;
const ROVER: f64 = 1e-4;
const CAPSULES: f64 = 2e-3;
const CHUTE: f64 = 2e-6;

const SICONOS: [(&str, Expected); 29] = [
    (
        "FrictionContact/ACinputs.dat",
        Refused("Alart-Curnier function samples"),
    ),
    (
        "FrictionContact/Capsules-i100-1090.dat",
        Local(3, 276, 11214, CAPSULES),
    ),
    (
        "FrictionContact/Capsules-i101-404.dat",
        Local(3, 225, 9099, CAPSULES),
    ),
    (
        "FrictionContact/Confeti-ex03-Fc3D-SBM.dat",
        Local(3, 54, 1281, ROUNDING),
    ),
    (
        "FrictionContact/FC2D_SliderCrankLagrangian00000.dat",
        Local(2, 2, 16, 1e-6),
    ),
    ("FrictionContact/FC3D_Example1.dat", Local(3, 3, 9, 0.0)),
    (
        "FrictionContact/FrictionContact3D_1c.dat",
        Local(3, 1, 9, 0.0),
    ),
    (
        "FrictionContact/FrictionContactProblem00031.dat",
        Local(2, 11, 60, ROUNDING),
    ),
    (
        "FrictionContact/FrictionContactProblem00237.dat",
        Local(2, 376, 6588, ROUNDING),
    ),
    (
        "FrictionContact/FrictionContactProblem00394.dat",
        Local(2, 6, 24, ROUNDING),
    ),
    (
        "FrictionContact/GFC3D_Example0.dat",
        Global(3, 1, 9, 9, 6, 0.0),
    ),
    (
        "FrictionContact/GFC3D_Example00_badly_scaled.dat",
        Global(3, 1, 3, 3, 3, 0.0),
    ),
    (
        "FrictionContact/GFC3D_Example1.dat",
        Global(3, 1, 3, 9, 3, 0.0),
    ),
    // Condensed: the name says global, the content is local.
    (
        "FrictionContact/GFC3D_TwoRods1-condensed.dat",
        Local(3, 3, 81, 0.0),
    ),
    (
        "FrictionContact/NESpheres_10_1.dat",
        Local(3, 9, 121, ROUNDING),
    ),
    (
        "FrictionContact/OneObject-i100000-499.hdf5.dat",
        Local(3, 24, 1476, ROVER),
    ),
    ("FrictionContact/Rover1039.dat", Local(3, 4, 144, ROVER)),
    ("FrictionContact/Rover1041.dat", Local(3, 5, 225, ROVER)),
    ("FrictionContact/Rover11211.dat", Local(3, 1, 9, ROVER)),
    ("FrictionContact/Rover4144.dat", Local(3, 4, 144, ROVER)),
    ("FrictionContact/Rover4493.dat", Local(3, 4, 144, ROVER)),
    ("FrictionContact/Rover4609.dat", Local(3, 5, 225, ROVER)),
    ("FrictionContact/Rover4622.dat", Local(3, 4, 144, ROVER)),
    (
        "FrictionContact/fc2d_granularflowonwall_00667_00000.dat",
        Local(2, 667, 3822, 0.0),
    ),
    (
        "FrictionContact/gfc2d_granularflowonwall_00069_00350.dat",
        Global(2, 69, 900, 900, 724, 0.0),
    ),
    (
        "RollingFrictionContact/GRFC3D_Chute-ndof-768-nc-4-3.dat",
        Global(5, 4, 768, 1536, 91, CHUTE),
    ),
    (
        "RollingFrictionContact/RFC3D_sphere_1.dat",
        Local(5, 1, 9, 0.0),
    ),
    (
        "RollingFrictionContact/rfc3d_sphere_from_grfc3d.dat",
        Local(5, 2, 100, 1e-6),
    ),
    (
        "RollingFrictionContact/rockfall_14_25792.dat",
        Local(5, 14, 650, 2e-4),
    ),
];

const FCLIB: [(&str, Expected); 5] = [
    (
        "Box_Stacks-i0122-82-5.hdf5",
        Global(3, 82, 450, 450, 1284, 0.0),
    ),
    ("Capsules-i125-1213.hdf5", Local(3, 286, 11772, CAPSULES)),
    (
        "Chute-ndof-768-nc-4-3.hdf5",
        Global(5, 4, 768, 1536, 91, CHUTE),
    ),
    ("CubeH8.hdf5", Global(3, 1, 162, 3168, 45, 1e-6)),
    ("local_problem_test.hdf5", Local(3, 48, 4896, ROUNDING)),
];

/// File, unknowns, entries of M, whether M is symmetric.
const LCP: [(&str, usize, usize, bool); 10] = [
    ("lcp_CPS_1.dat", 2, 4, true),
    ("lcp_CPS_3.dat", 4, 8, false),
    ("lcp_CPS_4bis.dat", 4, 13, false),
    ("lcp_Pang_isolated_sol.dat", 3, 4, false),
    ("lcp_deudeu.dat", 2, 4, true),
    ("lcp_enum_fails.dat", 9, 37, false),
    ("lcp_exp_murty2.dat", 6, 21, false),
    ("lcp_mmc.dat", 26, 676, true),
    ("lcp_ortiz_block.dat", 4, 12, false),
    ("lcp_trivial.dat", 9, 9, true),
];

/// File, equalities, complementarities, entries of M.
const MLCP: [(&str, usize, usize, usize); 8] = [
    ("Buck2_mlcp.dat", 20, 12, 90),
    ("BuckFirstStep_mlcp.dat", 20, 12, 90),
    ("PD_mlcp.dat", 3, 4, 32),
    ("RLCD_mlcp.dat", 6, 2, 19),
    ("deudeu_mlcp.dat", 1, 1, 3),
    ("diodeBridge40_mlcp.dat", 21, 40, 161),
    ("m2n1_mlcp.dat", 1, 2, 5),
    ("relay2_mlcp.dat", 4, 2, 9),
];

fn check(name: &str, found: &Result<FrictionFile, FileError>, expected: &Expected) {
    match (found, expected) {
        (Err(error), Refused(reason)) => {
            let message = error.to_string();
            assert!(
                matches!(error, FileError::Unsupported { .. }),
                "{name}: {message}"
            );
            assert!(message.contains(reason), "{name}: {message}");
        }
        (Ok(file), &Local(dimension, n_contacts, n_entries, asymmetry)) => {
            let FrictionForm::Local { w, .. } = &file.form else {
                panic!("{name} is local")
            };
            assert_eq!(
                (file.dimension, file.n_contacts),
                (dimension, n_contacts),
                "{name}"
            );
            assert_eq!(w.entries.len(), n_entries, "{name}");
            assert!(w.asymmetry() <= asymmetry, "{name}: {:e}", w.asymmetry());
        }
        (Ok(file), &Global(dimension, n_contacts, n_dof, n_mass, n_directions, asymmetry)) => {
            let FrictionForm::Global {
                m, h, equalities, ..
            } = &file.form
            else {
                panic!("{name} is global")
            };
            assert_eq!(
                (file.dimension, file.n_contacts),
                (dimension, n_contacts),
                "{name}"
            );
            assert_eq!((m.n_rows, m.entries.len()), (n_dof, n_mass), "{name}");
            assert_eq!(h.entries.len(), n_directions, "{name}");
            assert!(m.asymmetry() <= asymmetry, "{name}: {:e}", m.asymmetry());
            assert!(equalities.is_none(), "{name}");
        }
        (Ok(_), Refused(reason)) => panic!("{name} must be refused: {reason}"),
        (Err(error), _) => panic!("{name}: {error}"),
    }
}

fn friction(text: &str) -> Result<FrictionFile, FileError> {
    match parse(text, None)? {
        DatFile::Friction(file) => Ok(file),
        other => panic!("no friction file: {other:?}"),
    }
}

fn text(folder: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Names of all files of a folder, so that a table cannot miss one.
fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_siconos_friction_file_is_read_or_refused_by_name() {
    let Some(folder) = shared("siconos_dat") else {
        return;
    };
    for (name, expected) in &SICONOS {
        check(name, &friction(&text(&folder, name)), expected);
    }
    for kind in ["FrictionContact", "RollingFrictionContact"] {
        for name in names(&folder.join(kind)) {
            let path = format!("{kind}/{name}");
            assert!(
                SICONOS.iter().any(|(known, _)| *known == path),
                "{path} is not in the table"
            );
        }
    }
}

#[test]
fn every_fclib_file_is_read_or_refused_by_name() {
    let Some(folder) = shared("fclib_hdf5") else {
        return;
    };
    for (name, expected) in &FCLIB {
        check(
            name,
            &fclib::read(&std::fs::read(folder.join(name)).unwrap()),
            expected,
        );
    }
    assert_eq!(names(&folder), FCLIB.map(|(name, _)| name));
}

#[test]
fn every_siconos_lcp_is_read() {
    let Some(folder) = shared("siconos_dat/LCP") else {
        return;
    };
    for (name, n, n_entries, symmetric) in LCP {
        let DatFile::Lcp { m, q } = parse(&text(&folder, name), None).unwrap() else {
            panic!("{name} is an LCP")
        };
        assert_eq!(
            (m.n_rows, m.entries.len(), q.len()),
            (n, n_entries, n),
            "{name}"
        );
        assert_eq!(m.asymmetry() == 0.0, symmetric, "{name}");
    }
    assert_eq!(names(&folder), LCP.map(|(name, ..)| name));
}

/// These files state M column-major and A, B, C, D row-major, and the reader compares the two: they
/// are the proof of the orientation of dense matrices.
#[test]
fn every_siconos_mlcp_states_one_matrix_twice() {
    let Some(folder) = shared("siconos_dat/MLCP") else {
        return;
    };
    for (name, n, m, n_entries) in MLCP {
        let file = parse(&text(&folder, name), None).unwrap();
        let DatFile::Mlcp {
            blocks, m: matrix, ..
        } = file
        else {
            panic!("{name} is an MLCP")
        };
        assert_eq!(
            (matrix.n_rows, matrix.entries.len()),
            (n + m, n_entries),
            "{name}"
        );
        assert_eq!(
            (blocks[0].rows.clone(), blocks[0].law),
            (0..n, MlcpLaw::Equality),
            "{name}"
        );
        assert_eq!(blocks[1].law, MlcpLaw::Complementarity, "{name}");
        assert_ne!(
            matrix.asymmetry(),
            0.0,
            "{name} must tell rows from columns"
        );
    }
    assert_eq!(names(&folder), MLCP.map(|(name, ..)| name));
}

#[test]
fn dense_rectangles_are_column_major() {
    let Some(folder) = shared("siconos_dat/FrictionContact") else {
        return;
    };
    let file = friction(&text(&folder, "GFC3D_Example0.dat")).unwrap();
    let FrictionForm::Global { h, .. } = file.form else {
        panic!()
    };
    // The contact acts between the first and the third of three points of mass.
    let expected: Vec<_> = (0..3)
        .map(|k| (k, k, 1.0))
        .chain((0..3).map(|k| (6 + k, k, -1.0)))
        .collect();
    assert_eq!(h.entries, expected);
}

/// Block orientation does not show in symmetry: a symmetric matrix of transposed blocks is
/// symmetric. It shows in definiteness, since W = Hᵀ M⁻¹ H has no negative eigenvalue, and in space:
/// the planar files pass either way.
#[test]
fn sparse_blocks_are_column_major_because_only_so_is_w_positive_semidefinite() {
    let Some(folder) = shared("siconos_dat/FrictionContact") else {
        return;
    };
    for name in [
        "Confeti-ex03-Fc3D-SBM.dat",
        "OneObject-i100000-499.hdf5.dat",
    ] {
        let file = friction(&text(&folder, name)).unwrap();
        let FrictionForm::Local { w, .. } = file.form else {
            panic!()
        };
        assert!(is_semidefinite(&w), "{name}");
        let d = file.dimension;
        let transposed = w
            .entries
            .iter()
            .map(|&(i, j, x)| (i / d * d + j % d, j / d * d + i % d, x))
            .collect();
        let transposed = Triplets::new("W", w.n_rows, w.n_cols, transposed).unwrap();
        assert!(transposed.asymmetry() <= ROVER, "{name}");
        assert!(!is_semidefinite(&transposed), "{name}");
    }
}

/// Cholesky of W + ε max|W_ij| I succeeds. ε = 1e-4 covers the seven digits of the values and the
/// asymmetry of contact frames; the lower triangle stands for both.
fn is_semidefinite(w: &Triplets) -> bool {
    let n = w.n_rows;
    let scale = w
        .entries
        .iter()
        .fold(0.0_f64, |scale, entry| scale.max(entry.2.abs()));
    let mut l = vec![0.0; n * n];
    for &(row, col, value) in &w.entries {
        l[row * n + col] = value;
    }
    for row in 0..n {
        l[row * n + row] += 1e-4 * scale;
        for col in 0..=row {
            let (a, b) = (&l[row * n..row * n + col], &l[col * n..col * n + col]);
            let sum: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let rest = l[row * n + col] - sum;
            if col < row {
                l[row * n + col] = rest / l[col * n + col];
            } else if rest <= 0.0 {
                return false;
            } else {
                l[row * n + row] = rest.sqrt();
            }
        }
    }
    true
}

/// The rolling example exists in both formats, and both give the same contacts.
#[test]
fn the_rolling_chute_is_the_same_in_both_formats() {
    let (Some(text_folder), Some(folder)) = (
        shared("siconos_dat/RollingFrictionContact"),
        shared("fclib_hdf5"),
    ) else {
        return;
    };
    let written = friction(&text(&text_folder, "GRFC3D_Chute-ndof-768-nc-4-3.dat")).unwrap();
    let bytes = std::fs::read(folder.join("Chute-ndof-768-nc-4-3.hdf5")).unwrap();
    let binary = fclib::read(&bytes).unwrap();
    assert_eq!(
        (&written.mu, &written.rolling),
        (&binary.mu, &binary.rolling)
    );
    assert_eq!(written.rolling, Some(vec![0.1; 4]));
}

/// File, rows, and the laws of its block rows: so many of the first kind, so many of the second.
type Kinds = [(usize, GenericLaw); 2];
const GENERIC: [(&str, usize, Kinds); 4] = [
    (
        "Example1_Fc3D_SBM.dat",
        9,
        [(0, GenericLaw::Equality), (3, GenericLaw::Friction(0.1))],
    ),
    ("GMP1.dat", 15, [(4, GenericLaw::Equality), COMPLEMENTARITY]),
    ("GMP3.dat", 36, [(7, GenericLaw::Equality), COMPLEMENTARITY]),
    (
        "GMP5.dat",
        8,
        [(1, GenericLaw::Equality), (1, GenericLaw::Friction(0.03))],
    ),
];
const COMPLEMENTARITY: (usize, GenericLaw) = (1, GenericLaw::Complementarity);

#[test]
fn every_generic_problem_and_relay_is_read() {
    if let Some(folder) = shared("siconos_dat/GenericMechanical") {
        for (name, n, laws) in GENERIC {
            let DatFile::Generic { blocks, m, q } = parse(&text(&folder, name), None).unwrap()
            else {
                panic!("{name} is generic")
            };
            assert_eq!((m.n_rows, q.len()), (n, n), "{name}");
            let found: Vec<GenericLaw> = blocks.iter().map(|block| block.law).collect();
            let laws = laws.iter().flat_map(|&(count, law)| vec![law; count]);
            assert_eq!(found, laws.collect::<Vec<_>>(), "{name}");
            assert_eq!(blocks.last().unwrap().rows.end, n, "{name}");
        }
        assert_eq!(names(&folder), GENERIC.map(|(name, ..)| name));
    }
    if let Some(folder) = shared("siconos_dat/Relay") {
        for name in names(&folder) {
            let text = text(&folder, &name);
            let found = parse(&text, None).unwrap();
            let DatFile::Relay { q, bounds, .. } = &found else {
                panic!("{name} is a relay")
            };
            assert_eq!((q.len(), &bounds[..]), (2, &[(-1.0, 1.0); 2][..]));
            assert_eq!(parse(&text, Some(DatFormat::Relay)).unwrap(), found);
        }
    }
}

#[test]
fn a_format_that_is_told_changes_nothing_where_it_is_right() {
    let Some(folder) = shared("siconos_dat/FrictionContact") else {
        return;
    };
    for (name, format) in [
        ("GFC3D_Example00_badly_scaled.dat", DatFormat::Gfc3d),
        ("Rover1039.dat", DatFormat::Fc3d),
        ("FrictionContactProblem00031.dat", DatFormat::Fc2d),
        ("gfc2d_granularflowonwall_00069_00350.dat", DatFormat::Gfc2d),
    ] {
        let text = text(&folder, name);
        let told = parse(&text, Some(format)).unwrap();
        assert_eq!(parse(&text, None).unwrap(), told, "{name}");
        // A flag behind one contact may be a coefficient of rolling friction: that format must be meant.
        let plane = [DatFormat::Rfc2d, DatFormat::Grfc2d];
        let others = DatFormat::ALL.into_iter();
        let wrong = others.filter(|other| *other != format && !plane.contains(other));
        for other in wrong {
            assert!(
                parse(&text, Some(other)).is_err(),
                "{name} as {}",
                other.name()
            );
        }
    }
}
