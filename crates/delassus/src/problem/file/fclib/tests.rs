use hdf5_pure::{FileBuilder, FinishedGroup};

use super::*;

/// m, n, nz, nzmax, p, i, x.
struct Matrix<'a>(i32, i32, i32, i32, &'a [i32], &'a [i32], &'a [f64]);

/// [1 2; 0 4] in the three storages, with unused room at the end of the first.
const ROWS: Matrix = Matrix(
    2,
    2,
    -2,
    9,
    &[0, 2, 3],
    &[0, 1, 1, 7],
    &[1.0, 2.0, 4.0, 9.0],
);
const COLUMNS: Matrix = Matrix(2, 2, -1, 3, &[0, 1, 3], &[0, 0, 1], &[1.0, 2.0, 4.0]);
const TRIPLETS: Matrix = Matrix(2, 2, 3, 9, &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 4.0]);

fn group(
    builder: &mut FileBuilder,
    name: &str,
    matrices: &[(&str, &Matrix)],
    vectors: &[(&str, &[f64])],
) -> FinishedGroup {
    let mut root = builder.create_group(name);
    root.create_dataset("spacedim").with_i32_data(&[2]);
    for (name, Matrix(m, n, nz, nzmax, p, i, x)) in matrices {
        let mut group = root.create_group(name);
        for (name, value) in [("m", m), ("n", n), ("nz", nz), ("nzmax", nzmax)] {
            group.create_dataset(name).with_i32_data(&[*value]);
        }
        group.create_dataset("p").with_i32_data(p);
        group.create_dataset("i").with_i32_data(i);
        group.create_dataset("x").with_f64_data(x);
        root.add_group(group.finish());
    }
    let mut group = root.create_group("vectors");
    for (name, values) in vectors {
        group.create_dataset(name).with_f64_data(values);
    }
    root.add_group(group.finish());
    root.finish()
}

fn file(name: &str, matrices: &[(&str, &Matrix)], vectors: &[(&str, &[f64])]) -> Vec<u8> {
    let mut builder = FileBuilder::new();
    let group = group(&mut builder, name, matrices, vectors);
    builder.add_group(group);
    builder.finish().unwrap()
}

fn local_file(w: &Matrix) -> Vec<u8> {
    file(
        "fclib_local",
        &[("W", w)],
        &[("q", &[-1.0, 0.0]), ("mu", &[0.5])],
    )
}

#[track_caller]
fn refuses(bytes: &[u8], start: &str) {
    let message = read(bytes).unwrap_err().to_string();
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn rows_columns_and_triplets_give_the_same_matrix() {
    for matrix in [&ROWS, &COLUMNS, &TRIPLETS] {
        let file = read(&local_file(matrix)).unwrap();
        assert_eq!((file.dimension, file.n_contacts), (2, 1));
        let FrictionForm::Local { w, q } = file.form else {
            panic!()
        };
        assert_eq!(w.entries, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 4.0)]);
        assert_eq!(q, [-1.0, 0.0]);
    }
}

#[test]
fn equalities_of_the_global_form_are_read() {
    let g = Matrix(2, 1, 1, 1, &[0], &[1], &[3.0]);
    let matrices = [("M", &ROWS), ("H", &COLUMNS), ("G", &g)];
    let mut vectors: Vec<(&str, &[f64])> = vec![
        ("f", &[1.0, 2.0]),
        ("w", &[3.0, 4.0]),
        ("mu", &[0.5]),
        ("b", &[7.0]),
    ];
    let found = read(&file("fclib_global", &matrices, &vectors)).unwrap();
    let FrictionForm::Global {
        equalities: Some((g, b)),
        ..
    } = found.form
    else {
        panic!()
    };
    assert_eq!((g.entries, b), (vec![(1, 0, 3.0)], vec![7.0]));
    vectors.pop();
    refuses(
        &file("fclib_global", &matrices, &vectors),
        "/fclib_global/vectors/b: missing",
    );
}

#[test]
fn forms_without_a_law_here_are_refused_by_name() {
    let mixed = file(
        "fclib_local",
        &[("W", &ROWS), ("V", &ROWS), ("R", &ROWS)],
        &[],
    );
    refuses(
        &mixed,
        "/fclib_local/V: a local problem mixed with equalities",
    );
    refuses(
        &file("other", &[], &[]),
        "/fclib_local: missing; expected a group fclib_local or",
    );
    let mut builder = FileBuilder::new();
    for name in ["fclib_local", "fclib_global"] {
        let group = group(&mut builder, name, &[], &[]);
        builder.add_group(group);
    }
    refuses(&builder.finish().unwrap(), "/: a file with both");
}

#[test]
fn damaged_matrices_are_refused_where_the_damage_is() {
    let x = &[1.0, 2.0, 4.0];
    for (matrix, start) in [
        (
            Matrix(2, 2, -2, 3, &[0, 2], &[0, 1, 1], x),
            "/fclib_local/W/p: the number of pointers",
        ),
        (
            Matrix(2, 2, -2, 3, &[1, 2, 3], &[0, 1, 1], x),
            "/fclib_local/W/p[0]: an index is 1",
        ),
        (
            Matrix(2, 2, -2, 3, &[0, 2, 1], &[0, 1, 1], x),
            "/fclib_local/W/p[2]: a pointer is 1",
        ),
        (
            Matrix(2, 2, -2, 3, &[0, 2, 4], &[0, 1, 1], x),
            "/fclib_local/W/p[2]: an index is 4",
        ),
        (
            Matrix(2, 2, -2, 3, &[0, 2, 3], &[0, -1, 1], x),
            "/fclib_local/W/i[1]: an index is -1",
        ),
        (
            Matrix(2, 2, 9, 9, &[0, 1, 1], &[0, 0, 1], x),
            "/fclib_local/W/nz: 9 values are declared for the triplets",
        ),
        (
            Matrix(2, 2, 3, 9, &[0, 2, 1], &[0, 0, 1], x),
            "/fclib_local/W/p[1]: an index is 2",
        ),
        (
            Matrix(2, 2, -3, 9, &[0, 2, 1], &[0, 0, 1], x),
            "/fclib_local/W/nz: found \"-3\"",
        ),
        (
            Matrix(-2, 2, -2, 3, &[0, 2, 3], &[0, 1, 1], x),
            "/fclib_local/W/m: a size is -2",
        ),
        (
            Matrix(2, 2, 1, 1, &[0], &[0], &[f64::NAN]),
            "/fclib_local/W/x[0]: NaN is not a finite",
        ),
    ] {
        refuses(&local_file(&matrix), start);
    }
}

#[test]
fn sizes_that_disagree_name_the_problem_and_the_value() {
    let vectors: [(&str, &[f64]); 2] = [("q", &[-1.0]), ("mu", &[0.5])];
    let short = file("fclib_local", &[("W", &ROWS)], &vectors);
    refuses(
        &short,
        "/fclib_local: entries of q: their number is 1 but must be 2",
    );
    let vectors: [(&str, &[f64]); 2] = [("q", &[-1.0, 0.0]), ("mu", &[-0.5])];
    let negative = file("fclib_local", &[("W", &ROWS)], &vectors);
    refuses(
        &negative,
        "/fclib_local: mu[0]: a coefficient of friction is -0.5",
    );
}

#[test]
fn absent_and_ill_typed_datasets_are_named() {
    refuses(
        &file("fclib_local", &[("W", &ROWS)], &[]),
        "/fclib_local/vectors/q: missing",
    );
    let mut builder = FileBuilder::new();
    let mut root = builder.create_group("fclib_local");
    let mut w = root.create_group("W");
    w.create_dataset("m").with_f64_data(&[2.0]);
    root.add_group(w.finish());
    builder.add_group(root.finish());
    refuses(
        &builder.finish().unwrap(),
        "/fclib_local/W/m: found \"F64\"",
    );
    refuses(b"not HDF5 at all", "/: the HDF5 container cannot be read");
    refuses(b"", "/: the HDF5 container cannot be read");
}

#[test]
fn a_dataset_that_expands_without_measure_is_refused_before_it_is_read() {
    let mut builder = FileBuilder::new();
    let mut root = builder.create_group("fclib_local");
    let mut w = root.create_group("W");
    let zeros = vec![0; 4_000_000];
    w.create_dataset("m")
        .with_i32_data(&zeros)
        .with_chunks(&[4_000_000])
        .with_deflate(9);
    root.add_group(w.finish());
    builder.add_group(root.finish());
    let bytes = builder.finish().unwrap();
    assert!(bytes.len() < 200_000);
    refuses(
        &bytes,
        "/fclib_local/W/m: 16000000 values are declared for the bytes of the dataset",
    );
}

#[test]
fn rolling_friction_has_its_own_group_and_a_second_coefficient() {
    let w = Matrix(3, 3, 3, 3, &[0, 1, 2], &[0, 1, 2], &[1.0, 2.0, 4.0]);
    let vectors: [(&str, &[f64]); 3] =
        [("q", &[-1.0, 0.0, 1.0]), ("mu", &[0.5]), ("mu_r", &[0.25])];
    let found = read(&file("fclib_local_rolling", &[("W", &w)], &vectors)).unwrap();
    assert_eq!((found.dimension, found.n_contacts), (3, 1));
    assert_eq!(found.rolling, Some(vec![0.25]));
    refuses(
        &file("fclib_local_rolling", &[("W", &w)], &vectors[..2]),
        "/fclib_local_rolling/vectors/mu_r: missing",
    );
}
