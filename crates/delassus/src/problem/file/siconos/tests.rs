use super::*;

/// LCP with M = [1 2; 3 4] in every storage; only the order of 2 and 3 tells rows from columns.
const DENSE: &str = "2\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n";
const BLOCKS: &str = "2\n1\n2\n2\n4\n2\n2\n1 2\n1 2\n3\n4\n0 2 4\n0 1 0 1\n\
    0\n1\n1\n2\n2\n3\n3\n4\n-1 -2\n";
const ONE_BLOCK: &str = "2\n1\n2\n2\n1\n1\n1\n2\n2\n2\n1\n0 1\n0\n0\n1\n3\n2\n4\n-1 -2\n";
const TRIPLETS: &str = "2\n2\n2\n2\n1\nCSparse Version 3.1.9, Copyright (c) Timothy A. Davis\n\
    triplet: 2-by-2, nzmax: 9 nnz: 5\n 0 0 : 1\n 1 0 : 1\n 0 1 : 2\n 1 1 : 4\n 1 0 : 2\n-1 -2\n";
const COLUMNS: &str = "2\n2\n2\n2\n2\nCSparse Version 3.1.9, Copyright (c) Timothy A. Davis\n\
    2-by-2, nzmax: 4 nnz: 4, 1-norm: 6\n col 0 : locations 0 to 1\n 0 : 1\n 1 : 3\n\
    col 1 : locations 2 to 3\n 0 : 2\n 1 : 4\n-1 -2\n";
const FRICTION: &str = "2\n1\n0\n2\n2\n2\t2\n1 0\n0 1\n-1 0\n0.5\n";
const GLOBAL: &str = "2 1\n0 2 2 2 2 1 0 0 1\n0 2 2 2 2 1 0 0 1\n-1 0\n0 0\n0.5\n1\n";
/// n = 1 equality, m = 1 complementarity, M = [1 2; 3 4] as M and as A, B, C, D.
const MIXED: &str = "1\n1\n1\n1\n0 1 2\n0 1\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n\
    1\n4\n2\n3\n-1\n-2\n";

/// One rolling contact in both forms, two variables between bounds, and a generic problem: two equalities, one
/// complementarity, one contact.
const ROLLING: &str = "5 1\n0 5 5 5 5\n2 0 0 0 0\n0 2 0 0 0\n0 0 2 0 0\n0 0 0 2 0\n0 0 0 0 2\n-1 0 0 0 1\n0.5\n0.25\n";
const GLOBAL_ROLLING: &str = "5 1\n0 1 1 1 1 2\n0 1 5 1 5 1 0 0 0 0\n-1\n0 0 0 0 0\n0.5\n0.25\n";
const RELAY: &str = "2\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n-3 -4\n3 4\n";
const GENERIC: &str = "1\n6\n6\n3\n3\n3\n2 3 6\n2 3 6\n4\n3\n0 1 2 3\n0 1 2\n0\n1 0 0 1\n1\n5\n2\n\
    2 0 0 0 2 0 0 0 2\n1 2 3 4 5 6\n2\n0\n4\n0.5\n";

fn message(text: &str, format: Option<DatFormat>) -> String {
    parse(text, format).unwrap_err().to_string()
}

#[track_caller]
fn refuses(text: &str, format: Option<DatFormat>, start: &str) {
    let message = message(text, format);
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn every_storage_gives_the_same_matrix() {
    let entries = vec![(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 1, 4.0)];
    let m = Triplets::new("M", 2, 2, entries).unwrap();
    let expected = DatFile::Lcp {
        m,
        q: vec![-1.0, -2.0],
    };
    for text in [DENSE, BLOCKS, ONE_BLOCK, TRIPLETS, COLUMNS] {
        assert_eq!(parse(text, None).as_ref(), Ok(&expected), "{text}");
        assert_eq!(
            parse(text, Some(DatFormat::Lcp)).as_ref(),
            Ok(&expected),
            "{text}"
        );
    }
}

#[test]
fn empty_columns_and_empty_block_rows_are_read() {
    let columns = "2 2 2 2 2 CSparse Version\n2-by-2, nzmax: 1 nnz: 1, 1-norm: 6\n\
        col 0 : locations 0 to -1\ncol 1 : locations 0 to 0\n 0 : 2\n-1 -2";
    let blocks = "2 1 2 2 1 2 2 1 2 1 2 2 1 0 1 1 0 2 -1 -2";
    for text in [columns, blocks] {
        let Ok(DatFile::Lcp { m, .. }) = parse(text, None) else {
            panic!("{text}")
        };
        assert_eq!(m.entries, [(0, 1, 2.0)]);
    }
}

#[test]
fn friction_is_told_from_its_numbers() {
    for text in [FRICTION.to_string(), format!("{FRICTION}1\n")] {
        let Ok(DatFile::Friction(file)) = parse(&text, None) else {
            panic!("{text}")
        };
        assert_eq!((file.dimension, file.n_contacts), (2, 1));
        assert!(matches!(file.form, FrictionForm::Local { .. }));
    }
    let Ok(DatFile::Friction(file)) = parse(GLOBAL, None) else {
        panic!()
    };
    assert!(matches!(file.form, FrictionForm::Global { .. }));
    assert_eq!(
        parse(GLOBAL, Some(DatFormat::Gfc2d)).unwrap(),
        DatFile::Friction(file)
    );
}

#[test]
fn a_mixed_problem_may_state_its_matrix_once_or_twice() {
    let both = parse(MIXED, None).unwrap();
    let whole = "1 0 1 1 0 1 2 0 1 0 2 2 2 2 1 3 2 4 -1 -2";
    let parts = "0 1 1 1 1 4 2 3 -1 -2";
    assert_eq!(parse(whole, None).unwrap(), both);
    assert_eq!(parse(parts, None).unwrap(), both);
    assert_eq!(parse(&format!("{MIXED} 0.5 0.25"), None).unwrap(), both);
    let DatFile::Mlcp { blocks, m, .. } = both else {
        panic!()
    };
    assert_eq!(m.at(0, 1), 2.0);
    assert_eq!(
        blocks[0],
        MlcpBlock {
            rows: 0..1,
            law: MlcpLaw::Equality
        }
    );
    assert_eq!(
        blocks[1],
        MlcpBlock {
            rows: 1..2,
            law: MlcpLaw::Complementarity
        }
    );
}

#[test]
fn a_mixed_problem_that_contradicts_itself_is_refused() {
    refuses(
        &MIXED.replace("\n4\n2\n3", "\n4\n3\n2"),
        Some(DatFormat::Mlcp),
        "14:1: the problem stated by A, B",
    );
    refuses(
        &MIXED.replace("0 1\n0\n2", "0 0\n0\n2"),
        Some(DatFormat::Mlcp),
        "5:1: the number of rows in equality",
    );
    refuses(
        &MIXED.replace("0 1 2", "0 1 1"),
        Some(DatFormat::Mlcp),
        "5:5: the first row of a block is 1",
    );
    refuses(
        "0 0 1 1 1 1 1 1",
        Some(DatFormat::Mlcp),
        "1:3: found \"0\" where 1, for want",
    );
}

#[test]
fn a_remark_may_follow_an_lcp_but_a_number_may_not() {
    assert!(parse(&format!("{DENSE}\nexample 3.3.16"), None).is_ok());
    assert!(parse(&format!("{DENSE}\n2 solutions"), None).is_ok());
    refuses(
        &DENSE.replace("-1 -2", "-1 -2 -3\nremark"),
        None,
        "8:7: found \"-3\"",
    );
    refuses(
        &format!("{DENSE}7"),
        None,
        "9:1: found \"7\" where the end of the file or a remark",
    );
}

#[test]
fn text_that_fits_no_kind_asks_for_a_format() {
    for text in ["", "hello", "4 7 1 2", "1.5 2"] {
        let message = message(text, None);
        assert!(message.starts_with("1:1: cannot tell"), "{message}");
        assert!(message.contains("pass --format"), "{message}");
    }
}

#[test]
fn kinds_without_a_law_here_are_refused_by_name() {
    refuses(
        "1 0.5 1 2 3 4 5 6 7 8 9.5",
        None,
        "1:1: a table of Alart-Curnier function samples",
    );
    let rows = "2 2 2 2 3 CSparse";
    refuses(
        rows,
        None,
        "1:9: a Siconos matrix in compressed rows (3) is not supported",
    );
    refuses(
        &rows.replace('3', "4"),
        None,
        "1:9: a Siconos matrix in half triplets",
    );
}

#[test]
fn declared_sizes_are_checked_against_the_text_before_use() {
    let n = "1000000000000";
    refuses(
        &format!("{n} 0 {n} {n} {n} {n} 1 2 3"),
        None,
        "1:73: 1000000000000000000000000 values are declared for M",
    );
    refuses(
        &format!("3 {n} 0 3 3"),
        Some(DatFormat::Fc3d),
        "1:3: 3000000000000 values are declared for the contacts",
    );
    refuses(
        "18446744073709551615 0 2 2 2 2 1 0 0 1",
        Some(DatFormat::Lcp),
        "1:22: the number of rows of M is 2",
    );
    let huge = BLOCKS.replace("2\n4\n2\n2\n1 2", &format!("2\n{n}\n2\n2\n1 2"));
    refuses(
        &huge,
        None,
        "5:1: 3000000000000 values are declared for the blocks of M",
    );
    let huge = TRIPLETS.replace("nnz: 5", &format!("nnz: {n}"));
    refuses(
        &huge,
        None,
        "7:32: 3000000000000 values are declared for the entries of M",
    );
    let huge = format!("1 1 {n} {n} 0");
    refuses(
        &huge,
        None,
        "1:19: 2000000000000 values are declared for the mixed problem",
    );
    // No rows and very many columns hold no values, and must not be counted one by one.
    let columns = format!("3 0 0 0 {n} 0 {n}");
    assert!(parse(&columns, Some(DatFormat::Gfc3d)).is_err());
}

#[test]
fn values_out_of_place_name_line_column_and_remedy() {
    assert_eq!(
        message(&DENSE.replace("3\n2", "x\n2"), None),
        "6:3: found \"x\" where a value of M should be; correct the value, or a size above"
    );
    refuses(
        &DENSE.replace("3\n2", "nan\n2"),
        None,
        "6:3: nan is not a finite number",
    );
    refuses(
        &DENSE.replace("3\n2", "1e400\n2"),
        None,
        "6:3: 1e400 is not a finite number",
    );
    refuses(
        &FRICTION.replace("0.5", "-0.5"),
        None,
        "10:1: a coefficient of friction is -0.5",
    );
    refuses(
        &FRICTION.replace("0.5", "0.5 7 7"),
        None,
        "10:7: found \"7\" where the end",
    );
    refuses(
        &DENSE.replace("2\t2", "2\t3"),
        None,
        "5:3: the number of columns of M is 3",
    );
    refuses(
        "2 0 3 3 3 3",
        Some(DatFormat::Lcp),
        "1:12: 9 values are declared for M",
    );
    refuses(
        FRICTION,
        Some(DatFormat::Fc3d),
        "1:1: the dimension is 2 but must be 3",
    );
    refuses(
        "2 7 2 2",
        Some(DatFormat::Lcp),
        "1:3: found \"7\" where the storage of M, 0 (dense)",
    );
}

#[test]
fn damaged_blocks_are_refused_where_the_damage_is() {
    refuses(
        &BLOCKS.replace("1 2\n1 2", "1 3\n1 2"),
        None,
        "8:3: the end of a block row of M is 3",
    );
    refuses(
        &BLOCKS.replace("0 2 4", "0 5 4"),
        None,
        "12:3: the first block of a block row of M is 5",
    );
    refuses(
        &BLOCKS.replace("0 2 4", "1 2 4"),
        None,
        "12:1: the first block of a block row of M is 1",
    );
    refuses(
        &BLOCKS.replace("0 1 0 1", "0 2 0 1"),
        None,
        "13:3: the block column of a block of M is 2",
    );
    refuses(
        &BLOCKS.replace("\n3\n4\n0", "\n9\n4\n0"),
        None,
        "10:1: the number of block rows of M and",
    );
    refuses(
        &BLOCKS.replace("3\n3\n4\n", "3\n7\n4\n"),
        None,
        "20:1: the number of a block of M is 7",
    );
}

#[test]
fn damaged_sparse_prints_are_refused_where_the_damage_is() {
    refuses(
        &TRIPLETS.replace("0 1 : 2", "0 2 : 2"),
        None,
        "10:4: the column of an entry is 2",
    );
    refuses(
        &TRIPLETS.replace("0 1 :", "1e+06 1 :"),
        None,
        "10:2: found \"1e+06\" where the row",
    );
    refuses(
        &TRIPLETS.replace("2-by-2", "2-by-3"),
        None,
        "7:10: found \"2-by-3,\"",
    );
    refuses(
        &COLUMNS.replace("0 to 1", "0 to 9"),
        None,
        "8:25: found \"9\" where a location below 4",
    );
    refuses(
        &COLUMNS.replace("2 to 3", "2 to 2"),
        None,
        "13:2: the number of entries is 3",
    );
    refuses(
        &COLUMNS.replace("col 1", "col 5"),
        None,
        "11:5: the number of a column is 5",
    );
}

#[test]
fn no_prefix_of_a_good_text_panics_or_passes_for_the_whole() {
    for text in [
        DENSE, BLOCKS, ONE_BLOCK, TRIPLETS, COLUMNS, FRICTION, GLOBAL, MIXED, ROLLING, RELAY,
        GENERIC,
    ] {
        let whole = parse(text, None).unwrap();
        let last = text.trim_end().len();
        for end in 0..last - 1 {
            // A prefix can be a shorter problem only by losing digits of its last number.
            if let Ok(file) = parse(&text[..end], None) {
                assert!(file != whole || text == GLOBAL, "{end} of {text}");
            }
            for format in DatFormat::ALL {
                let _ = parse(&text[..end], Some(format));
            }
        }
    }
}

#[test]
fn rolling_friction_has_a_second_coefficient() {
    for (text, format) in [
        (ROLLING, DatFormat::Rfc3d),
        (GLOBAL_ROLLING, DatFormat::Grfc3d),
    ] {
        let Ok(DatFile::Friction(file)) = parse(text, None) else {
            panic!("{text}")
        };
        assert_eq!((file.dimension, file.n_contacts), (5, 1));
        assert_eq!((&file.mu, &file.rolling), (&vec![0.5], &Some(vec![0.25])));
        assert_eq!(parse(text, Some(format)), Ok(DatFile::Friction(file)));
    }
    refuses(
        ROLLING.trim_end().trim_end_matches("0.25"),
        None,
        "10:1: the file ends where a coefficient of rolling friction",
    );
    refuses(
        &ROLLING.replace("0.25", "-0.25"),
        None,
        "10:1: a coefficient of rolling friction is -0.25",
    );
    // In a plane a contact has three rows as well, so that the format must be told.
    let plane = "3 2\n0 6 6 6 6\n";
    let matrix = "1 0 0 0 0 0  0 1 0 0 0 0  0 0 1 0 0 0  0 0 0 1 0 0  0 0 0 0 1 0  0 0 0 0 0 1";
    let plane = format!("{plane}{matrix}\n-1 0 1 -1 0 1\n0.5 0.5\n0.25 0.25\n");
    let Ok(DatFile::Friction(file)) = parse(&plane, Some(DatFormat::Rfc2d)) else {
        panic!()
    };
    assert_eq!((file.dimension, file.rolling), (3, Some(vec![0.25; 2])));
}

#[test]
fn relays_are_told_from_lcps_by_their_bounds() {
    let Ok(DatFile::Relay { m, q, bounds }) = parse(RELAY, None) else {
        panic!()
    };
    assert_eq!((m.at(0, 1), q), (2.0, vec![-1.0, -2.0]));
    assert_eq!(bounds, [(-3.0, 3.0), (-4.0, 4.0)]);
    let crossed = RELAY.replace("\n3 4\n", "\n3 -5\n");
    refuses(&crossed, None, "10:3: an upper bound is -5");
    // One bound short of a relay, and more than an LCP.
    let short = RELAY.replace("\n3 4\n", "\n3\n");
    refuses(&short, None, "9:1: found \"-3\" where the end of the file");
    refuses(
        &short,
        Some(DatFormat::Relay),
        "9:1: the number of bounds is 3 but must be 4",
    );
}

#[test]
fn a_generic_problem_has_a_law_for_each_block_row() {
    let Ok(DatFile::Generic { blocks, m, q }) = parse(GENERIC, None) else {
        panic!("{}", message(GENERIC, None))
    };
    let of = |rows, law| GenericBlock { rows, law };
    let expected = [
        of(0..2, GenericLaw::Equality),
        of(2..3, GenericLaw::Complementarity),
        of(3..6, GenericLaw::Friction(0.5)),
    ];
    assert_eq!(
        (&blocks[..], m.entries.len(), q.len()),
        (&expected[..], 6, 6)
    );
    let last = |law: &str| GENERIC.replace("\n0\n4\n0.5\n", law);
    refuses(
        &last("\n0\n4\n-0.5\n"),
        None,
        "23:1: a coefficient of friction is -0.5",
    );
    refuses(
        &last("\n0\n4\n"),
        None,
        "23:1: the file ends where a coefficient",
    );
    refuses(
        &last("\n4\n0.5\n0\n"),
        None,
        "21:1: the number of rows of a contact",
    );
    refuses(
        &last("\n9\n"),
        None,
        "21:1: a relay (9) in a generic problem",
    );
    refuses(
        &last("\n7\n"),
        None,
        "21:1: found \"7\" where the law of a block row",
    );
    refuses(
        &format!("{GENERIC}1\n"),
        None,
        "24:1: found \"1\" where the end",
    );
}
