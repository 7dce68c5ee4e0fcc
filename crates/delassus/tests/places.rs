//! Rows with a place: what follows from a place is what follows from its rows written out, the builder refuses places
//! that a mass does not have, files keep them, and the pile takes half the memory.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;
#[allow(dead_code, reason = "shared between tests")]
#[path = "common/trees.rs"]
mod trees;

use std::sync::Arc;

use common::planted::{dense_mass, rigid_mass};
use delassus::derivative::{Change, Derivative, Mode};
use delassus::math::{DVec3, Random, tangents};
use delassus::problem::file::{FileContent, Format, json, parse};
use delassus::problem::place::{At, Place, Point, Side};
use delassus::problem::{Form, Primal};
use delassus::scenes;
use delassus::solver::{Stop, from_spec};
use delassus::{
    BlockId, Law, LinkId, MassBlock, MassId, Problem, ProblemBuilder, Residual, Solution, Tree,
    gallery,
};
use trees::{random_configuration, random_tree};

/// Sums of some dozen terms of order one: a few hundred roundings.
const ROUNDING: f64 = 1e-12;

fn primal(problem: &Problem) -> &Primal {
    match problem.form() {
        Form::Primal(primal) => primal,
        Form::Dual(_) => panic!("the problem has masses"),
    }
}

fn numbers(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.range(-1.0, 1.0)).collect()
}

fn builder_with(masses: &[MassBlock], random: &mut Random) -> ProblemBuilder {
    let mut builder = Problem::builder();
    for mass in masses {
        let p = numbers(random, mass.dim());
        builder.add_mass(mass.clone(), &p).unwrap();
    }
    builder
}

/// Two free bodies, a dense block and a tree.
fn masses(random: &mut Random) -> Vec<MassBlock> {
    // Names are for people, and no part of a problem.
    let tree = random_tree(random, 9);
    let links = tree.links().iter().map(|link| link.clone().named(""));
    let tree = Tree::new(links.collect()).unwrap();
    let q = random_configuration(random, &tree);
    vec![
        rigid_mass(random),
        rigid_mass(random),
        dense_mass(random, 4),
        MassBlock::tree(Arc::new(tree), &q).unwrap(),
    ]
}

const TREE: MassId = MassId(3);

/// A problem with every kind of place, alone and together.
fn every_place(seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let masses = masses(&mut random);
    let mut builder = builder_with(&masses, &mut random);
    let links = |random: &mut Random| {
        [3, 8].map(|link| (Place::Link { link: LinkId(link) }, numbers(random, 18)))
    };
    let mut add = |random: &mut Random, on: &[(MassId, Place, Vec<f64>)]| {
        let on: Vec<At<'_>> = on
            .iter()
            .map(|(mass, place, rows)| At {
                mass: *mass,
                place: *place,
                rows,
            })
            .collect();
        let (sigma, q) = ([0.1, 0.0, 0.2], numbers(random, 3));
        let law = Law::FrictionCone { mu: 0.4 };
        builder.add_block_at(law, &on, &sigma, &q).unwrap();
    };
    // Two bodies at a point, either of them alone, and a point beside a link.
    let directions = numbers(&mut random, 9);
    let mut point = |side| Place::Point {
        arm: random.vector(),
        side,
    };
    let (first, second) = (point(Side::First), point(Side::Second));
    let a = (MassId(0), first, directions.clone());
    let b = (MassId(1), second, directions.clone());
    add(&mut random, &[a.clone(), b.clone()]);
    add(&mut random, std::slice::from_ref(&a));
    add(&mut random, std::slice::from_ref(&b));
    let [(near, near_rows), (far, far_rows)] = links(&mut random);
    add(&mut random, &[b, (TREE, near, near_rows.clone())]);
    // Two links of one tree, a coordinate beside them, and coordinates of any mass.
    let dof = |dof| Place::Coordinate { dof };
    let pair = [(TREE, near, near_rows), (TREE, far, far_rows)];
    add(&mut random, &pair);
    let motor = (TREE, dof(2), numbers(&mut random, 3));
    add(&mut random, &[pair[0].clone(), motor, pair[1].clone()]);
    let single = numbers(&mut random, 3);
    add(
        &mut random,
        &[
            (MassId(2), dof(3), single.clone()),
            (MassId(0), dof(4), single),
        ],
    );
    let plain = numbers(&mut random, 12);
    add(&mut random, &[(MassId(2), Place::Plain, plain)]);
    builder.build().unwrap()
}

/// The same problem with all rows written out and every mass a matrix.
fn matrices(problem: &Problem) -> Problem {
    let primal = primal(problem);
    let mut builder = Problem::builder();
    for (b, mass) in primal.mass().iter().enumerate() {
        let n = mass.dim();
        let mut matrix = vec![0.0; n * n];
        for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            mass.mul(&unit, row);
        }
        let p = primal.slice(primal.p(), MassId(b as u32));
        builder
            .add_mass(MassBlock::dense(matrix).unwrap(), p)
            .unwrap();
    }
    with_written_rows(builder, problem)
}

/// The same problem with all rows written out.
fn plain(problem: &Problem) -> Problem {
    let primal = primal(problem);
    let mut builder = Problem::builder();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = primal.slice(primal.p(), MassId(b as u32));
        builder.add_mass(mass.clone(), p).unwrap();
    }
    with_written_rows(builder, problem)
}

fn with_written_rows(mut builder: ProblemBuilder, problem: &Problem) -> Problem {
    let primal = primal(problem);
    for (block, k) in problem.blocks().iter().zip((0..).map(BlockId)) {
        let rows = primal.written_rows(k);
        let rows: Vec<(MassId, &[f64])> = rows.iter().map(|(m, g)| (*m, &g[..])).collect();
        let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
        builder.add_block(block.law, &rows, sigma, q).unwrap();
    }
    builder.build().unwrap()
}

/// One step of a scene that has run for a while.
fn step_of(scene: &str, steps: usize) -> Problem {
    let mut scene = scenes::build(scene).unwrap();
    let stop = Stop {
        sweeps: 50,
        ..Stop::default()
    };
    let mut solver = from_spec("gauss-seidel", stop, 0).unwrap();
    for _ in 0..steps {
        scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
    }
    scene.world.problem(scene.run.dt).unwrap().0
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, f64::max)
}

#[test]
fn every_place_means_its_rows_written_out() {
    for seed in 0..30 {
        let problem = every_place(seed);
        let written = plain(&problem);
        // What the builder derives comes from the rows written out: the same bits.
        assert_eq!(problem.c(), written.c());
        assert_eq!(problem.diagonal_blocks(), written.diagonal_blocks());
        let mut random = Random::new(1000 + seed);
        let lambda = numbers(&mut random, problem.n_rows());
        let v = numbers(&mut random, problem.n_velocities());
        let row_velocity = |problem: &Problem| {
            let mut w = vec![0.0; problem.n_rows()];
            problem.row_velocity(&v, &lambda, &mut w);
            w
        };
        let gap = largest_gap(&row_velocity(&problem), &row_velocity(&written));
        assert!(gap < ROUNDING, "row velocities of seed {seed}: {gap}");
        let velocity = |problem: &Problem| Solution::from_lambda(problem, lambda.clone()).v;
        let gap = largest_gap(&velocity(&problem), &velocity(&written));
        assert!(gap < 1e3 * ROUNDING, "velocities of seed {seed}: {gap}");
        let gap = largest_gap(&problem.delassus_dense(), &written.delassus_dense());
        assert!(gap == 0.0, "S of seed {seed}: {gap}");
    }
}

#[test]
fn places_come_back_as_they_were_given() {
    let problem = every_place(5);
    let primal = primal(&problem);
    let kinds = |k: u32| -> Vec<Place> { primal.places(BlockId(k)).map(|at| at.place).collect() };
    assert!(matches!(
        kinds(0)[..],
        [
            Place::Point {
                side: Side::First,
                ..
            },
            Place::Point {
                side: Side::Second,
                ..
            }
        ]
    ));
    // A point beside a link is kept as the rows that follow from it.
    assert!(matches!(kinds(3)[..], [Place::Plain, Place::Link { .. }]));
    assert!(matches!(
        kinds(5)[..],
        [
            Place::Link { link: LinkId(3) },
            Place::Coordinate { dof: 2 },
            Place::Link { link: LinkId(8) }
        ]
    ));
    // All three are on one mass, which is named once.
    let masses: Vec<MassId> = primal.jacobian().masses(BlockId(5)).collect();
    assert_eq!(masses, [TREE]);
}

#[test]
fn places_that_a_mass_does_not_have_are_refused() {
    let mut random = Random::new(3);
    let masses = masses(&mut random);
    let mut builder = builder_with(&masses, &mut random);
    let ones = [1.0; 18];
    let at = |mass: u32, place, width: usize| At {
        mass: MassId(mass),
        place,
        rows: &ones[..width],
    };
    let point = |side| Place::Point {
        arm: DVec3::X,
        side,
    };
    let other = At {
        rows: &[0.5; 3],
        ..at(1, point(Side::Second), 3)
    };
    let infinite = Place::Point {
        arm: DVec3::X * f64::INFINITY,
        side: Side::First,
    };
    let link = |link| Place::Link { link: LinkId(link) };
    let dof = |dof| Place::Coordinate { dof };
    let dofs = masses[3].dim();
    let cases: [(Vec<At<'_>>, &str); 12] = [
        (vec![at(2, point(Side::First), 3)], "only a free body has"),
        (vec![at(0, link(0), 6)], "only a tree has"),
        (vec![at(3, link(9), 6)], "link 9 of mass 3, which has 9"),
        (vec![at(3, dof(dofs), 1)], "counted from 0"),
        (
            vec![at(3, link(1), 6), at(3, link(1), 6)],
            "twice at the same place",
        ),
        (vec![at(3, link(1), 6), at(3, Place::Plain, dofs)], "twice"),
        (
            vec![at(0, point(Side::First), 3), at(0, dof(1), 1)],
            "twice",
        ),
        (
            vec![at(0, point(Side::First), 3), at(1, point(Side::First), 3)],
            "one first body",
        ),
        (
            vec![at(0, point(Side::First), 3), other],
            "the same directions",
        ),
        (vec![at(0, infinite, 3)], "arm of block 0 on mass 0"),
        (vec![at(3, link(1), 5)], "5 numbers where 6"),
        (vec![at(7, dof(0), 1)], "only 4 mass blocks"),
    ];
    for (on, clue) in cases {
        let refused = builder.add_block_at(Law::Equality, &on, &[0.0], &[0.0]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(clue), "{error} ({clue})");
    }
    assert_eq!(builder.build().unwrap().blocks().len(), 0);
}

#[test]
fn worlds_and_gallery_say_where_their_rows_act() {
    let share = |problem: &Problem, wanted: fn(Place) -> bool| {
        let primal = primal(problem);
        let ids = (0..problem.blocks().len() as u32).map(BlockId);
        let blocks = ids.filter(|k| primal.places(*k).all(|at| wanted(at.place)));
        blocks.count() as f64 / problem.blocks().len() as f64
    };
    let point = |place| matches!(place, Place::Point { .. });
    for name in ["pile", "stack", "peg", "chain", "rod", "corner"] {
        let problem = gallery::build(name).unwrap();
        assert_eq!(share(&problem, point), 1.0, "{name}");
    }
    for name in ["pile", "necklace"] {
        assert_eq!(share(&step_of(name, 40), point), 1.0, "{name}");
    }
    // Feet, limits and motors: nothing on a robot is spread over all its joints.
    let robot = |place| matches!(place, Place::Link { .. } | Place::Coordinate { .. });
    for name in ["humanoid", "quadruped", "delta-robot", "four-bar"] {
        assert_eq!(share(&step_of(name, 40), robot), 1.0, "{name}");
    }
}

#[test]
fn contacts_of_a_pile_take_at_most_half_the_bytes_of_plain_rows() {
    for problem in [gallery::build("pile:3000").unwrap(), step_of("pile", 60)] {
        let jacobian = primal(&problem).jacobian();
        let (blocks, entries) = (problem.blocks().len(), jacobian.n_entries());
        assert!(blocks < entries, "most contacts have two bodies");
        // Plain rows: where each block begins, where each entry begins and on which mass, and 18 numbers an entry.
        let before = 8 * (blocks + 1) + 16 * entries + 18 * 8 * entries;
        let now = jacobian.n_bytes();
        assert!(2 * now <= before, "{now} bytes instead of {before}");
    }
}

#[test]
fn a_contact_of_two_bodies_takes_fifteen_numbers() {
    let mut random = Random::new(8);
    let mut builder = builder_with(&masses(&mut random)[..2], &mut random);
    let normal = random.vector().normalize();
    let (t1, t2) = tangents(normal);
    let point = Point {
        directions: &[normal, t1, t2],
        first: Some((MassId(0), random.vector())),
        second: Some((MassId(1), random.vector())),
    };
    let law = Law::FrictionCone { mu: 0.5 };
    let empty = builder.clone().build().unwrap();
    builder
        .add_point(law, &point, &[0.0; 3], &[0.0; 3])
        .unwrap();
    let problem = builder.build().unwrap();
    let jacobian = primal(&problem).jacobian();
    assert_eq!(jacobian.n_values(), 15);
    // 36 numbers, two entries and where they begin were 328.
    assert_eq!(
        jacobian.n_bytes() - primal(&empty).jacobian().n_bytes(),
        156
    );
}

#[test]
fn saved_places_come_back_bit_for_bit() {
    let back = |text: &str| match parse(text.as_bytes(), Format::Json).unwrap().content {
        FileContent::Problem { problem, .. } => *problem,
        _ => panic!("a saved problem is a problem"),
    };
    for problem in (0..10).map(every_place) {
        assert!(back(&json::save(&problem, "places")) == problem);
    }
    // A robot of a world has names and velocities that are no part of its problem: the rest is told by what follows.
    for problem in ["humanoid", "gripper", "delta-robot"].map(|name| step_of(name, 20)) {
        let text = json::save(&problem, "places");
        let again = back(&text);
        assert_eq!(json::save(&again, "places"), text);
        assert_eq!(again.c(), problem.c());
        assert_eq!(again.diagonal_blocks(), problem.diagonal_blocks());
        assert_eq!(primal(&again).jacobian(), primal(&problem).jacobian());
        let state = |problem| Solution::from_lambda(problem, vec![0.1; problem.n_rows()]);
        assert_eq!(state(&again), state(&problem));
    }
}

#[test]
fn solvers_answer_places_as_they_answer_plain_rows() {
    // Tight enough that answers with one velocity agree to about as many digits.
    let stop = Stop {
        tolerance: 1e-10,
        sweeps: 200_000,
        ..Stop::default()
    };
    let cases = [
        ("stack:3", "gauss-seidel"),
        ("stack:3", "gauss-seidel,sweep=residual"),
        ("stack:3", "coloured"),
        ("stack:3", "coloured,rule=exact"),
        ("stack:3", "jacobi,accelerate=nesterov"),
        ("chain:20", "direct"),
        ("chain:20", "gauss-seidel"),
        ("chain:20", "jacobi,accelerate=nesterov"),
        ("machine", "gauss-seidel"),
        ("machine", "hybrid"),
        ("peg", "lemke"),
    ];
    for (name, spec) in cases {
        let problem = gallery::build(name).unwrap();
        let velocity = |problem: &Problem| {
            let mut solution = Solution::zeros(problem);
            let mut solver = from_spec(spec, stop, 0).unwrap();
            let report = solver.solve(problem, &mut solution);
            assert!(
                report.residual.law <= stop.tolerance,
                "{name} {spec}: {report}"
            );
            (solution.v, solution.lambda)
        };
        let (v, lambda) = velocity(&problem);
        let written = plain(&problem);
        let (other, _) = velocity(&written);
        let gap = largest_gap(&v, &other);
        assert!(gap < 1e-6, "{name} {spec}: {gap}");
        // Either form judges the other's impulses alike.
        let law = Residual::of(&written, &Solution::from_lambda(&written, lambda)).law;
        assert!(law < stop.tolerance + ROUNDING, "{name} {spec}: {law}");
    }
}

#[test]
fn files_with_places_that_cannot_be_are_refused_with_their_block() {
    let file = |block: &str| {
        format!(
            r#"{{"schema":"delassus-problem-1","kind":"problem",
"masses":[{{"rigid":{{"m":1,"I":[[1,0,0],[0,1,0],[0,0,1]]}},"p":[0,0,0,0,0,0]}}],
"blocks":[{{"law":{{"name":"equality"}},{block}"sigma":[0],"q":[0]}}]}}"#
        )
    };
    let arm = r#"{"mass":0,"arm":[0,0,1]}"#;
    let point = format!(r#""point":{{"directions":[[0,0,1]],"first":{arm}}},"#);
    assert!(parse(file(&point).as_bytes(), Format::Json).is_ok());
    let both = format!(r#"{point}"on":[],"#);
    let twice = format!(r#""point":{{"directions":[[0,0,1]],"first":{arm},"second":{arm}}},"#);
    let long = format!(r#""point":{{"directions":[[0,0,1],[1,0,0]],"first":{arm}}},"#);
    let on = |keys: &str| format!(r#""on":[{{"mass":0,{keys}}}],"#);
    let cases = [
        ("", "give one of \"on\" and \"point\""),
        (&both, "give one of \"on\" and \"point\""),
        (&twice, "mass 0 twice"),
        (&long, "6 numbers where 3"),
        (&on(r#""link":0,"dof":0,"G":[[1]]"#), "\"link\" and \"dof\""),
        (&on(r#""link":0,"G":[[1,0,0,0,0,0]]"#), "a link of mass 0"),
        (&on(r#""dof":6,"G":[[1]]"#), "coordinate 6 of mass 0"),
        (&on(r#""dof":2,"G":[[1,0]]"#), "2 numbers where 1"),
    ];
    for (block, clue) in cases {
        let error = parse(file(block).as_bytes(), Format::Json).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("blocks[0]"), "{error}");
        assert!(error.contains(clue), "{error} ({clue})");
    }
}

/// Numbers of order one hundred go through masses of condition 1e3 and a system of thirty rows.
const SOLVED: f64 = 1e-9;

#[test]
fn derivatives_do_not_depend_on_how_rows_and_masses_are_given() {
    let mut seen = Vec::new();
    for seed in 0..20 {
        let problem = every_place(seed);
        let mut random = Random::new(100 + seed);
        let mut lambda = numbers(&mut random, problem.n_rows());
        // Normals push, some hard enough to hold, and some let go.
        for (k, block) in problem.blocks().iter().enumerate() {
            lambda[block.start] =
                20.0 * lambda[block.start].abs() * f64::from(u8::from(k % 3 != 0));
        }
        let change = Change {
            p: numbers(&mut random, problem.n_velocities()),
            q: numbers(&mut random, problem.n_rows()),
            sigma: numbers(&mut random, problem.n_rows()),
            mu: numbers(&mut random, problem.blocks().len()),
            ..Change::default()
        };
        let by_v = numbers(&mut random, problem.n_velocities());
        let by_lambda = numbers(&mut random, problem.n_rows());
        let found = [problem.clone(), plain(&problem), matrices(&problem)].map(|problem| {
            let answer = Solution::from_lambda(&problem, lambda.clone());
            let derivative = Derivative::new(&problem, &answer).unwrap();
            seen.extend(derivative.modes());
            let forward = derivative.forward(&change).unwrap();
            let back = derivative.backward(&by_v, &by_lambda).unwrap();
            [
                forward.v,
                forward.lambda,
                back.p,
                back.q,
                back.sigma,
                back.mu,
            ]
        });
        for other in &found[1..] {
            for (own, other) in found[0].iter().zip(other) {
                let size = own.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                for (a, b) in own.iter().zip(other) {
                    assert!((a - b).abs() < SOLVED * size, "{seed}: {a} and {b}");
                }
            }
        }
    }
    for mode in [Mode::Open, Mode::Held, Mode::Slips] {
        assert!(seen.contains(&mode), "no block is {mode:?}");
    }
}
