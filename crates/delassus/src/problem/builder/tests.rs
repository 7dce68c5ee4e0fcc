//! What the builder refuses, and what it computes on the way.

use super::*;
use glam::DMat3;

type Case<'a> = (Law, Vec<(MassId, &'a [f64])>, Vec<f64>, Vec<f64>, &'a str);

fn ball(builder: &mut ProblemBuilder) -> MassId {
    builder
        .add_mass(MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap(), &[0.0; 6])
        .unwrap()
}

#[test]
fn every_bad_block_is_refused_with_its_place() {
    let mut builder = Problem::builder();
    let body = ball(&mut builder);
    let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let cone = Law::FrictionCone { mu: 0.5 };
    let cases: [Case<'_>; 9] = [
        (
            Law::Equality,
            vec![(MassId(7), &row)],
            vec![0.0],
            vec![0.0],
            "mass 7",
        ),
        (
            Law::Equality,
            vec![(body, &row), (body, &row)],
            vec![0.0],
            vec![0.0],
            "twice",
        ),
        (
            Law::Equality,
            vec![(body, &row[..5])],
            vec![0.0],
            vec![0.0],
            "5 numbers where 6",
        ),
        (
            Law::Equality,
            vec![(body, &row)],
            vec![-1.0],
            vec![0.0],
            "negative",
        ),
        (
            Law::Equality,
            vec![(body, &row)],
            vec![0.0],
            vec![f64::NAN],
            "finite",
        ),
        (Law::Equality, vec![], vec![], vec![], "at least one row"),
        (
            cone,
            vec![(body, &row)],
            vec![0.0],
            vec![0.0],
            "three (n, t1, t2)",
        ),
        (
            Law::FrictionCone { mu: -0.1 },
            vec![],
            vec![0.0; 3],
            vec![0.0; 3],
            "mu",
        ),
        (
            Law::Interval { lo: 1.0, hi: 0.0 },
            vec![],
            vec![0.0],
            vec![0.0],
            "at least lo",
        ),
    ];
    for (law, rows, sigma, q, expected) in cases {
        let error = builder
            .add_block(law, &rows, &sigma, &q)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(builder.build().unwrap().n_rows(), 0);
}

/// Contact i, and the bodies of three it acts on: two, the first or the second.
fn contact(i: usize) -> ([Option<MassId>; 2], Contact) {
    let mut random = crate::math::Random::new(i as u64);
    let masses = [
        (!i.is_multiple_of(5)).then_some(MassId(0)),
        (i % 7 != 1 || i.is_multiple_of(5)).then_some(MassId(1 + i as u32 % 2)),
    ];
    let contact = Contact {
        law: Law::FrictionCone { mu: 0.3 },
        frame: std::array::from_fn(|_| random.vector()),
        arms: std::array::from_fn(|_| random.vector()),
        sigma: [0.1, 0.0, 0.0],
        q: random.vector().to_array(),
    };
    (masses, contact)
}

/// Three balls, a joint, and so many contacts, added together or one by one.
fn contacts(mut builder: ProblemBuilder, count: usize, together: bool) -> Problem {
    let bodies: Vec<MassId> = (0..3).map(|_| ball(&mut builder)).collect();
    let joint = [0.5, 0.0, 0.0, 0.0, 0.2, 0.0];
    builder
        .add_block(Law::Equality, &[(bodies[2], &joint)], &[0.1], &[0.3])
        .unwrap();
    if together {
        let masses: Vec<_> = (0..count).map(|i| contact(i).0).collect();
        builder.add_contacts(&masses, |i| contact(i).1).unwrap();
    } else {
        for i in 0..count {
            let (masses, contact) = contact(i);
            let end = |side: usize| Some((masses[side]?, contact.arms[side]));
            let point = Point {
                directions: &contact.frame,
                first: end(0),
                second: end(1),
            };
            builder
                .add_point(contact.law, &point, &contact.sigma, &contact.q)
                .unwrap();
        }
    }
    builder.build().unwrap()
}

#[test]
fn contacts_added_together_or_into_old_memory_make_the_same_problem() {
    let one_by_one = contacts(Problem::builder(), 700, false);
    let together = contacts(Problem::builder(), 700, true);
    assert!(one_by_one == together);
    for count in [10, 900] {
        let recycled = ProblemBuilder::recycle(together.clone());
        let again = contacts(recycled, count, true);
        assert!(again == contacts(Problem::builder(), count, false));
    }
}

#[test]
fn first_bad_contact_is_named() {
    let mut builder = Problem::builder();
    let masses = vec![[Some(ball(&mut builder)), None]; 600];
    for bad in [f64::NAN, f64::INFINITY] {
        let with = |frame: f64, arm: f64| {
            let mut builder = builder.clone();
            let refused = builder.add_contacts(&masses, |i| {
                let (mut contact, bad) = (contact(i).1, i % 290 == 289);
                if bad {
                    contact.frame[1].y *= frame;
                    contact.arms[0].z *= arm;
                }
                contact
            });
            refused.unwrap_err().to_string()
        };
        for error in [with(bad, 1.0), with(1.0, bad)] {
            assert!(error.contains("of block 289"), "{error}");
        }
    }
}
