//! Dense linear complementarity problems by Lemke's method: published problems with exact answers, random ones
//! against enumeration, and everything a stranger may throw at it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot build its problem must stop there, and one that is skipped must say so"
)]

use std::path::PathBuf;

use delassus::Status;
use delassus::math::Random;
use delassus::solver::pivot::{Cover, Lcp, LcpAnswer, LcpOptions, Pivot, solve};
use serde_json::Value;

fn lcp(rows: &[&[f64]], q: &[f64]) -> Lcp {
    Lcp::new(&rows.concat(), q.to_vec()).unwrap()
}

fn by(lcp: &Lcp, pivot: Pivot) -> LcpAnswer {
    let options = LcpOptions {
        pivot,
        ..LcpOptions::default()
    };
    solve(lcp, &options)
}

/// A folder or file beside the checkout, or nothing, said aloud.
fn shared(path: &str) -> Option<PathBuf> {
    let full = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(path);
    let found = full.exists();
    if !found {
        println!("skipped: {path} is not there");
    }
    found.then_some(full)
}

fn json(path: &PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A number, or a fraction in quotes.
fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => match text.split_once('/') {
            Some((a, b)) => a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap(),
            None => text.parse().unwrap(),
        },
        other => other.as_f64().unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn read(entry: &Value) -> Lcp {
    let rows = entry["M"].as_array().unwrap();
    let m: Vec<f64> = rows.iter().flat_map(numbers).collect();
    Lcp::new(&m, numbers(&entry["q"])).unwrap()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn size(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

#[test]
fn published_problems_have_their_status_answer_and_number_of_pivots() {
    let Some(path) = shared("data/lcp_suite/lcp_suite.json") else {
        return;
    };
    for entry in json(&path)["problems"].as_array().unwrap() {
        let (name, problem) = (&entry["name"], read(entry));
        let known = &entry["lemke_lexicographic"];
        let answer = by(&problem, Pivot::Lex);
        assert_eq!(
            answer.status.name(),
            known["status"].as_str().unwrap(),
            "{name}"
        );
        let pivots = known["pivots_incl_first"].as_u64().unwrap();
        assert_eq!(answer.pivots as u64, pivots, "{name}");
        if answer.status == Status::Solved {
            let wanted = numbers(&known["z"]);
            let gap = distance(&answer.z, &wanted);
            assert!(gap <= 1e-12 * size(&wanted).max(1.0), "{name}: {gap:e}");
        }
        let big = by(&problem, Pivot::Big);
        assert_eq!(big.status, answer.status, "{name}");
        assert!(
            big.status != Status::Solved || big.residual <= 1e-12 * size(problem.q()),
            "{name}"
        );
    }
}

#[test]
fn stored_problems_have_their_answers_and_infeasible_ones_a_proof() {
    let Some(folder) = shared("oracle/cases") else {
        return;
    };
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("lcp_") {
            continue;
        }
        count += 1;
        let (entry, problem) = (json(&path), read(&json(&path)));
        let expect = &entry["expect"];
        for pivot in [Pivot::Big, Pivot::Lex] {
            let answer = by(&problem, pivot);
            match expect["status"].as_str().unwrap() {
                "solution" => {
                    assert_eq!(answer.status, Status::Solved, "{name}");
                    assert!(answer.residual <= 1e-10 * size(problem.q()), "{name}");
                    if expect["z_unique"] == true {
                        assert!(
                            distance(&answer.z, &numbers(&expect["z"])) <= 1e-9,
                            "{name}"
                        );
                    }
                }
                "infeasible" => {
                    assert_eq!(answer.status, Status::Ray, "{name}");
                    assert!(problem.is_farkas(&answer.farkas.unwrap()), "{name}");
                }
                _ => {
                    assert_eq!(answer.status, Status::Ray, "{name}");
                    assert!(answer.farkas.is_none(), "{name}: it has a solution");
                }
            }
            if let (Pivot::Lex, Some(pivots)) = (pivot, expect["pivots_lex"].as_u64()) {
                assert_eq!(answer.pivots as u64, pivots, "{name}");
            }
        }
    }
    assert!(10 <= count);
}

/// All complementary bases of a small problem: every basic solution.
fn enumerate(problem: &Lcp) -> Vec<Vec<f64>> {
    let n = problem.len();
    let mut found = Vec::new();
    for set in 0..1_usize << n {
        let basic: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
        let Some(x) = gauss(problem, &basic) else {
            continue;
        };
        let mut z = vec![0.0; n];
        basic.iter().zip(&x).for_each(|(&i, x)| z[i] = *x);
        if problem.residual(&z) <= 1e-9 * size(problem.q()).max(1e-300) {
            found.push(z);
        }
    }
    found
}

/// Gauss elimination with row exchanges for M_bb x = −q_b.
fn gauss(problem: &Lcp, basic: &[usize]) -> Option<Vec<f64>> {
    let k = basic.len();
    let mut a: Vec<Vec<f64>> = Vec::new();
    for &i in basic {
        let mut row: Vec<f64> = basic.iter().map(|&j| problem.column(j)[i]).collect();
        row.push(-problem.q()[i]);
        a.push(row);
    }
    for c in 0..k {
        let best = (c..k).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs()))?;
        a.swap(c, best);
        if a[c][c].abs() < 1e-11 {
            return None;
        }
        for i in 0..k {
            if i != c {
                let factor = a[i][c] / a[c][c];
                for j in c..=k {
                    let entry = a[c][j];
                    a[i][j] -= factor * entry;
                }
            }
        }
    }
    Some((0..k).map(|i| a[i][k] / a[i][i]).collect())
}

/// Random kinds: P-matrix, semidefinite, copositive, contact-like, degenerate (small integers), any.
fn random_problem(random: &mut Random, kind: usize, n: usize) -> Lcp {
    let whole = |random: &mut Random| random.below(5) as f64 - 2.0;
    let mut m = vec![0.0; n * n];
    let rank = if kind == 1 { 1 + n / 2 } else { n };
    let b: Vec<f64> = (0..n * rank).map(|_| random.range(-1.0, 1.0)).collect();
    for i in 0..n {
        for j in 0..n {
            m[i * n + j] = match kind {
                0 | 1 => (0..rank).map(|k| b[i * rank + k] * b[j * rank + k]).sum(),
                2 => random.range(0.0, 1.0) * random.below(2) as f64,
                3 | 4 => whole(random),
                _ => random.range(-1.0, 1.0),
            };
        }
    }
    if kind == 0 {
        // Symmetric part positive definite, plus a skew part: a P-matrix.
        for i in 0..n {
            m[i * n + i] += 0.1;
            for j in 0..i {
                let skew = random.range(-1.0, 1.0);
                m[i * n + j] += skew;
                m[j * n + i] -= skew;
            }
        }
    }
    if kind == 2 {
        (0..n).for_each(|i| m[i * n + i] += 0.5);
    }
    let q = match kind {
        3 => (0..n).map(|_| whole(random)).collect(),
        4 => vec![-1.0; n],
        // In the range of a semidefinite matrix plus a positive part, so that it is feasible.
        1 => {
            let z: Vec<f64> = (0..n).map(|_| random.range(0.0, 1.0)).collect();
            let w = |i: usize| {
                m[i * n..(i + 1) * n]
                    .iter()
                    .zip(&z)
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
            };
            (0..n)
                .map(|i| -w(i) + random.below(2) as f64 * 0.3)
                .collect()
        }
        _ => (0..n).map(|_| random.range(-1.0, 1.0)).collect(),
    };
    Lcp::new(&m, q).unwrap()
}

#[test]
fn random_problems_agree_with_enumeration_of_all_bases() {
    let mut random = Random::new(2);
    let (mut solved, mut rays, mut proofs) = (0, 0, 0);
    for case in 0..3000 {
        let kind = case % 6;
        let n = 1 + random.below(7);
        let problem = random_problem(&mut random, kind, n);
        let answers = [by(&problem, Pivot::Big), by(&problem, Pivot::Lex)];
        let known = enumerate(&problem);
        for answer in &answers {
            let what = format!("case {case}, kind {kind}, {problem:?}: {answer:?}");
            match answer.status {
                Status::Solved => {
                    assert!(answer.residual <= 1e-9 * size(problem.q()), "{what}");
                    assert!(answer.z.iter().all(|z| 0.0 <= *z), "{what}");
                    solved += 1;
                }
                Status::Ray => {
                    // Definite, semidefinite and feasible, strictly copositive: always solved.
                    assert!(3 <= kind, "{what}");
                    rays += 1;
                    if let Some(y) = &answer.farkas {
                        assert!(known.is_empty(), "{what}");
                        assert!(problem.is_farkas(y), "{what}");
                        proofs += 1;
                    }
                }
                _ => panic!("{what}"),
            }
            if kind == 0 {
                assert_eq!(known.len(), 1, "{what}");
                assert!(distance(&answer.z, &known[0]) < 1e-8, "{what}");
            }
        }
    }
    assert!(
        3000 < solved && 100 < rays && 50 < proofs,
        "{solved} {rays} {proofs}"
    );
}

#[test]
fn problems_that_other_codes_got_wrong() {
    // One unknown: solvable, trivial, on the boundary, infeasible.
    for (m, q, z) in [
        (2.0, -4.0, 2.0),
        (2.0, 1.0, 0.0),
        (-1.0, 3.0, 0.0),
        (0.0, 0.0, 0.0),
        (5e-9, -1.0, 2e8),
    ] {
        let answer = by(&lcp(&[&[m]], &[q]), Pivot::Big);
        assert_eq!(answer.status, Status::Solved, "{m} {q}");
        assert!(
            (answer.z[0] - z).abs() <= 1e-12 * z,
            "{m} {q} {:?}",
            answer.z
        );
    }
    for (m, q) in [(-1.0, -1.0), (0.0, -1.0), (0.0, -1e-300)] {
        let problem = lcp(&[&[m]], &[q]);
        let answer = by(&problem, Pivot::Big);
        assert_eq!(answer.status, Status::Ray, "{m} {q}");
        assert!(problem.is_farkas(&answer.farkas.unwrap()));
    }
    // Two unknowns, positive definite: z = 0 was returned.
    let answer = by(&lcp(&[&[2.0, 1.0], &[1.0, 2.0]], &[-5.0, -6.0]), Pivot::Big);
    assert!(distance(&answer.z, &[4.0 / 3.0, 7.0 / 3.0]) < 1e-14);
    // Random symmetric positive definite matrices of moderate size: z < 0 was returned.
    let mut random = Random::new(768);
    for _ in 0..20 {
        let n = 40;
        let b: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
        let entry = |i: usize, j: usize| (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum::<f64>();
        let m: Vec<f64> = (0..n * n).map(|e| entry(e / n, e % n)).collect();
        let q = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        let problem = Lcp::new(&m, q).unwrap();
        let answer = by(&problem, Pivot::Big);
        assert_eq!(answer.status, Status::Solved);
        assert!(answer.z.iter().all(|z| 0.0 <= *z) && answer.residual < 1e-11);
    }
}

#[test]
fn exponential_families_take_two_to_the_n_pivots() {
    for n in 1..=11 {
        let mut m = vec![0.0; n * n];
        for i in 0..n {
            (0..i).for_each(|j| m[i * n + j] = 2.0);
            m[i * n + i] = 1.0;
        }
        let product = |i: usize, j: usize| (0..n).map(|k| m[i * n + k] * m[j * n + k]).sum::<f64>();
        let fathi: Vec<f64> = (0..n * n).map(|e| product(e / n, e % n)).collect();
        // In exact numbers the second family does so for every n; in doubles its ties drown at 11.
        for matrix in [Some(&m), (n <= 10).then_some(&fathi)]
            .into_iter()
            .flatten()
        {
            let answer = by(&Lcp::new(matrix, vec![-1.0; n]).unwrap(), Pivot::Lex);
            assert_eq!(
                (answer.status, answer.pivots),
                (Status::Solved, 1 << n),
                "n = {n}"
            );
        }
    }
}

#[test]
fn trivial_and_absurd_problems_are_answered_without_fuss() {
    let empty = Lcp::new(&[], Vec::new()).unwrap();
    assert_eq!(
        (by(&empty, Pivot::Big).status, by(&empty, Pivot::Big).pivots),
        (Status::Solved, 0)
    );
    let zero = lcp(&[&[0.0, 0.0], &[0.0, 0.0]], &[0.0, 1.0]);
    assert_eq!(by(&zero, Pivot::Lex).z, [0.0, 0.0]);
    let none = lcp(&[&[0.0, 0.0], &[0.0, 0.0]], &[1.0, -1.0]);
    assert_eq!(by(&none, Pivot::Lex).status, Status::Ray);
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(Lcp::new(&[bad], vec![1.0]).is_err());
        assert!(Lcp::new(&[1.0], vec![bad]).is_err());
    }
    assert!(Lcp::new(&[1.0, 2.0], vec![1.0]).is_err());
    let limit = LcpOptions {
        pivots: 3,
        pivot: Pivot::Lex,
        ..LcpOptions::default()
    };
    let hard = lcp(
        &[&[1.0, 0.0, 0.0], &[2.0, 1.0, 0.0], &[2.0, 2.0, 1.0]],
        &[-1.0; 3],
    );
    assert_eq!(solve(&hard, &limit).status, Status::PivotLimit);
}

#[test]
fn rows_and_columns_of_any_scale_are_solved() {
    let mut random = Random::new(31);
    for case in 0..400 {
        let n = 2 + random.below(7);
        let plain = random_problem(&mut random, 0, n);
        let wanted = by(&plain, Pivot::Big);
        let power = |random: &mut Random| 10_f64.powf(random.range(-9.0, 9.0));
        let row: Vec<f64> = (0..n).map(|_| power(&mut random)).collect();
        let col: Vec<f64> = (0..n).map(|_| power(&mut random)).collect();
        let m: Vec<f64> = (0..n * n)
            .map(|e| row[e / n] * plain.column(e % n)[e / n] * col[e % n])
            .collect();
        let q: Vec<f64> = (0..n).map(|i| row[i] * plain.q()[i]).collect();
        for cover in [Cover::Ones, Cover::Scaled, Cover::Random(3)] {
            let options = LcpOptions {
                cover,
                ..LcpOptions::default()
            };
            let answer = solve(&Lcp::new(&m, q.clone()).unwrap(), &options);
            let what = format!("case {case} {options:?} {answer:?} {m:?}");
            assert_eq!(answer.status, Status::Solved, "{what}");
            for i in 0..n {
                let gap = (answer.z[i] * col[i] - wanted.z[i]).abs();
                assert!(gap <= 1e-7 * size(&wanted.z), "case {case}: {gap:e}");
            }
        }
    }
}

#[test]
fn free_rows_are_equalities_even_where_they_depend_on_each_other() {
    // A quadratic program: min ½z², z₁ + z₂ = 1 with multiplier y, twice over, and z ≥ 0.
    let once = [[1.0, 0.0, -1.0], [0.0, 2.0, -1.0], [1.0, 1.0, 0.0]];
    let mut problem = Lcp::new(&once.concat(), vec![0.0, 0.0, -1.0]).unwrap();
    problem.set_free(2);
    for pivot in [Pivot::Big, Pivot::Lex] {
        let answer = by(&problem, pivot);
        assert_eq!(answer.status, Status::Solved);
        assert!(distance(&answer.z, &[2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]) < 1e-12);
    }
    let twice = [
        [1.0, 0.0, -1.0, -1.0],
        [0.0, 2.0, -1.0, -1.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
    ];
    let mut problem = Lcp::new(&twice.concat(), vec![0.0, 0.0, -1.0, -1.0]).unwrap();
    problem.set_free(2);
    problem.set_free(3);
    let answer = by(&problem, Pivot::Big);
    assert_eq!(answer.status, Status::Solved);
    assert!(distance(&answer.z[..2], &[2.0 / 3.0, 1.0 / 3.0]) < 1e-12);
    // Two equalities that contradict each other.
    let mut problem = Lcp::new(&twice.concat(), vec![0.0, 0.0, -1.0, -2.0]).unwrap();
    problem.set_free(2);
    problem.set_free(3);
    let answer = by(&problem, Pivot::Big);
    assert_eq!(answer.status, Status::Ray);
    assert!(problem.is_farkas(&answer.farkas.unwrap()));
}

/// A circuit of ideal diodes and resistors, M = (0 −Aᵀ; A R) with R semidefinite, that has an answer. The equalities
/// are written down in any order and with any factor, and every other circuit has a redundant one among its A.
fn circuit(random: &mut Random, pairs: usize, free: usize) -> Lcp {
    let n = pairs + free;
    let rank = 1 + free / 2;
    let signed = |random: &mut Random| random.range(-1.0, 1.0);
    let mut a: Vec<f64> = (0..free * pairs).map(|_| signed(random)).collect();
    if random.below(2) == 0 && 1 < free {
        (0..pairs).for_each(|j| a[(free - 1) * pairs + j] = 2.0 * a[j]);
    }
    let root: Vec<f64> = (0..free * rank).map(|_| signed(random)).collect();
    let mut m = vec![0.0; n * n];
    for i in 0..free {
        for j in 0..pairs {
            m[j * n + pairs + i] = -a[i * pairs + j];
            m[(pairs + i) * n + j] = a[i * pairs + j];
        }
        for j in 0..free {
            let products = (0..rank).map(|k| root[i * rank + k] * root[j * rank + k]);
            m[(pairs + i) * n + pairs + j] = products.sum();
        }
    }
    let mut z: Vec<f64> = (0..n).map(|_| signed(random)).collect();
    let mut q = vec![0.0; n];
    for j in 0..pairs {
        (z[j], q[j]) = (z[j].max(0.0), (-z[j]).max(0.0));
    }
    for i in 0..n {
        q[i] -= (0..n).map(|j| m[i * n + j] * z[j]).sum::<f64>();
    }
    for i in (pairs..n).rev() {
        let other = pairs + random.below(i + 1 - pairs);
        let factor = 10_f64.powf(2.0 * signed(random)).copysign(signed(random));
        for j in 0..n {
            m.swap(i * n + j, other * n + j);
            m[i * n + j] *= factor;
        }
        q.swap(i, other);
        q[i] *= factor;
    }
    let mut lcp = Lcp::new(&m, q).unwrap();
    (pairs..n).for_each(|i| lcp.set_free(i));
    lcp
}

#[test]
fn equations_of_circuits_are_solved_in_any_order_and_sign() {
    let mut random = Random::new(40);
    for case in 0..300 {
        let (pairs, free) = (1 + random.below(20), 1 + random.below(7));
        let problem = circuit(&mut random, pairs, free);
        for pivot in [Pivot::Big, Pivot::Lex] {
            let answer = by(&problem, pivot);
            let what = format!("case {case}, {pairs} pairs, {free} free: {answer:?}");
            assert_eq!(answer.status, Status::Solved, "{what}");
            assert!(answer.residual <= 1e-10 * size(problem.q()), "{what}");
        }
    }
}
