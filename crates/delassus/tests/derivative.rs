//! Derivatives against central differences of the solver, forward against backward, and cases known by heart.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::derivative::{Change, Derivative, DerivativeError, Mode};
use delassus::math::Random;
use delassus::{Law, MassBlock, Newton, Problem, Solution, Solver, Status, Stop};

/// Law, masses, rows on each, Σ, q.
type BlockData = (Law, Vec<usize>, Vec<Vec<f64>>, Vec<f64>, Vec<f64>);

/// Data of a random problem that can be changed number by number.
#[derive(Clone)]
struct Data {
    masses: Vec<Vec<f64>>,
    p: Vec<f64>,
    blocks: Vec<BlockData>,
}

const WIDE: usize = 4;

impl Data {
    fn random(seed: u64, soft: f64) -> Data {
        let laws = [
            (Law::FrictionCone { mu: 0.4 }, 3),
            (Law::FrictionBox { mu: 0.3 }, 3),
            (Law::Unilateral, 1),
            (Law::Equality, 1),
            (Law::Interval { lo: -0.1, hi: 0.2 }, 1),
            (Law::EllipticCone { mu: [0.2, 0.35] }, 3),
        ];
        Data::of(seed, soft, &laws)
    }

    /// Random masses and rows under these laws, of so many rows each.
    fn of(seed: u64, soft: f64, laws: &[(Law, usize)]) -> Data {
        let mut random = Random::new(seed);
        let mut number = || random.range(-1.0, 1.0);
        let count = 3;
        let masses = (0..count)
            .map(|_| {
                let a: Vec<f64> = (0..WIDE * WIDE).map(|_| number()).collect();
                let entry = |i: usize, j: usize| {
                    let sum: f64 = (0..WIDE).map(|k| a[i * WIDE + k] * a[j * WIDE + k]).sum();
                    sum + if i == j { 1.0 } else { 0.0 }
                };
                (0..WIDE * WIDE)
                    .map(|at| entry(at / WIDE, at % WIDE))
                    .collect()
            })
            .collect();
        let blocks = laws.iter().enumerate().map(|(k, (law, n))| {
            let n = *n;
            let on = vec![k % count, (k + 1) % count];
            let rows = on
                .iter()
                .map(|_| (0..n * WIDE).map(|_| number()).collect())
                .collect();
            let q = (0..n).map(|_| 0.3 * number()).collect();
            (*law, on, rows, vec![soft; n], q)
        });
        let blocks = blocks.collect();
        let p = (0..count * WIDE).map(|_| 2.0 * number()).collect();
        Data { masses, p, blocks }
    }

    fn problem(&self) -> Problem {
        let mut builder = Problem::builder();
        let pairs = self.masses.iter().zip(self.p.chunks_exact(WIDE));
        let ids: Vec<_> = pairs
            .map(|(m, p)| {
                let mass = MassBlock::dense(m.clone()).unwrap();
                builder.add_mass(mass, p).unwrap()
            })
            .collect();
        for (law, on, rows, sigma, q) in &self.blocks {
            let on: Vec<_> = on
                .iter()
                .zip(rows)
                .map(|(b, r)| (ids[*b], &r[..]))
                .collect();
            builder.add_block(*law, &on, sigma, q).unwrap();
        }
        builder.build().unwrap()
    }

    /// The data moved by t along a change.
    fn moved(&self, change: &Change, t: f64) -> Data {
        let mut data = self.clone();
        let nv = self.p.len();
        for (p, d) in data.p.iter_mut().zip(&change.p) {
            *p += t * d;
        }
        let mut row = 0;
        for (k, (law, on, rows, sigma, q)) in data.blocks.iter_mut().enumerate() {
            let n = q.len();
            let d = change.mu.get(k).copied().unwrap_or(0.0);
            match law {
                Law::FrictionCone { mu } | Law::FrictionBox { mu } => *mu += t * d,
                Law::EllipticCone { mu } => mu.iter_mut().for_each(|mu| *mu += t * d),
                _ => {}
            }
            for i in 0..n {
                q[i] += t * change.q.get(row + i).copied().unwrap_or(0.0);
                sigma[i] += t * change.sigma.get(row + i).copied().unwrap_or(0.0);
                for (b, rows) in on.iter().zip(rows.iter_mut()) {
                    for j in 0..WIDE {
                        let at = (row + i) * nv + b * WIDE + j;
                        rows[i * WIDE + j] += t * change.g.get(at).copied().unwrap_or(0.0);
                    }
                }
            }
            row += n;
        }
        for (b, mass) in data.masses.iter_mut().enumerate() {
            for i in 0..WIDE {
                for j in 0..WIDE {
                    let at = (b * WIDE + i) * nv + b * WIDE + j;
                    mass[i * WIDE + j] += t * change.m.get(at).copied().unwrap_or(0.0);
                }
            }
        }
        data
    }
}

fn solved(problem: &Problem) -> Option<Solution> {
    let mut solver = Newton::default();
    solver.limit(Stop {
        tolerance: 1e-13 * problem.velocity_scale(),
        ..Stop::default()
    });
    let mut answer = Solution::zeros(problem);
    let report = solver.solve(problem, &mut answer);
    matches!(report.status, Status::Solved | Status::RoundingFloor).then_some(answer)
}

/// A random change of one kind of data.
fn change(kind: usize, data: &Data, random: &mut Random) -> Change {
    let (nv, n) = (data.p.len(), data.problem().n_rows());
    let mut some =
        |count: usize| -> Vec<f64> { (0..count).map(|_| random.range(-1.0, 1.0)).collect() };
    let mut change = Change::default();
    match kind {
        0 => change.p = some(nv),
        1 => change.q = some(n),
        2 => change.mu = some(data.blocks.len()),
        3 => change.sigma = some(n).iter().map(|x| 0.1 * x.abs()).collect(),
        4 => {
            // Only where a block has rows.
            let all = some(n * nv);
            change.g = vec![0.0; n * nv];
            let mut row = 0;
            for (_, on, _, _, q) in &data.blocks {
                for i in row..row + q.len() {
                    for b in on {
                        let at = i * nv + b * WIDE;
                        change.g[at..at + WIDE].copy_from_slice(&all[at..at + WIDE]);
                    }
                }
                row += q.len();
            }
        }
        _ => {
            let all = some(nv * nv);
            change.m = vec![0.0; nv * nv];
            for b in 0..data.masses.len() {
                for i in 0..WIDE {
                    for j in 0..WIDE {
                        let (row, column) = (b * WIDE + i, b * WIDE + j);
                        let sum = all[row * nv + column] + all[column * nv + row];
                        change.m[row * nv + column] = 0.1 * sum;
                    }
                }
            }
        }
    }
    change
}

#[test]
fn forward_is_the_central_difference_wherever_modes_stay() {
    let (mut compared, mut slipped) = ([0; 6], 0);
    let mut random = Random::new(5);
    for seed in 0..60 {
        let data = Data::random(seed, 0.01);
        let problem = data.problem();
        let Some(answer) = solved(&problem) else {
            continue;
        };
        let derivative = Derivative::new(&problem, &answer).unwrap();
        let modes: Vec<Mode> = derivative.modes().collect();
        if derivative.degenerate().next().is_some() {
            continue;
        }
        for kind in 0..6 {
            let change = change(kind, &data, &mut random);
            let exact = derivative.forward(&change).unwrap();
            let step = 1e-5;
            let both = [step, -step].map(|t| {
                let problem = data.moved(&change, t).problem();
                let answer = solved(&problem)?;
                let same = Derivative::new(&problem, &answer).unwrap();
                same.modes().eq(modes.iter().copied()).then_some(answer)
            });
            let [Some(plus), Some(minus)] = both else {
                continue;
            };
            let arrays = [
                (&exact.v, &plus.v, &minus.v),
                (&exact.lambda, &plus.lambda, &minus.lambda),
            ];
            for (exact, plus, minus) in arrays {
                for i in 0..exact.len() {
                    let found = (plus[i] - minus[i]) / (2.0 * step);
                    let size = 1.0 + exact.iter().fold(0.0, |m: f64, x| x.abs().max(m));
                    let error = (found - exact[i]).abs() / size;
                    assert!(
                        error < 1e-6,
                        "seed {seed} kind {kind}: {found} {}",
                        exact[i]
                    );
                }
            }
            compared[kind] += 1;
            slipped += usize::from(modes.contains(&Mode::Slips));
        }
    }
    assert!(compared.iter().all(|count| 30 <= *count), "{compared:?}");
    assert!(100 <= slipped, "{slipped}");
}

#[test]
fn backward_is_the_transpose_of_forward() {
    let mut random = Random::new(8);
    let mut tried = 0;
    for seed in 100..130 {
        let data = Data::random(seed, 0.01);
        let problem = data.problem();
        let Some(answer) = solved(&problem) else {
            continue;
        };
        let derivative = Derivative::new(&problem, &answer).unwrap();
        let (nv, n) = (data.p.len(), problem.n_rows());
        let mut some =
            |count: usize| -> Vec<f64> { (0..count).map(|_| random.range(-1.0, 1.0)).collect() };
        let (a, b) = (some(nv), some(n));
        let back = derivative.backward(&a, &b).unwrap();
        for kind in 0..6 {
            let change = change(kind, &data, &mut random);
            let forth = derivative.forward(&change).unwrap();
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let left = dot(&a, &forth.v) + dot(&b, &forth.lambda);
            let mut right = dot(&back.p, &change.p)
                + dot(&back.q, &change.q)
                + dot(&back.mu, &change.mu)
                + dot(&back.sigma, &change.sigma);
            for (at, g) in change.g.iter().enumerate() {
                right += g * back.g(&answer, at / nv, at % nv);
            }
            for (at, m) in change.m.iter().enumerate() {
                right += m * back.m(&answer, at / nv, at % nv);
            }
            let size = 1.0 + left.abs().max(right.abs());
            assert!(
                (left - right).abs() < 1e-12 * size,
                "kind {kind}: {left} {right}"
            );
            tried += 1;
        }
    }
    assert!(120 <= tried, "{tried}");
}

/// A block on a slope of so many radians, for one step of h seconds from a velocity down the slope.
fn slope(angle: f64, mu: f64, speed: f64, h: f64) -> Problem {
    let (sin, cos) = angle.sin_cos();
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(vec![2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    // Axes (n, down, across).
    let p = [-2.0 * 9.81 * h * cos, 2.0 * (speed + 9.81 * h * sin), 0.0];
    let block = builder.add_mass(mass, &p).unwrap();
    let rows = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let law = Law::FrictionCone { mu };
    builder
        .add_block(law, &[(block, &rows)], &[0.0; 3], &[0.0; 3])
        .unwrap();
    builder.build().unwrap()
}

#[test]
fn a_block_on_a_slope_feels_friction_only_while_it_slides() {
    let (h, angle) = (0.01, 0.5_f64);
    let more = Change {
        mu: vec![1.0],
        ..Change::default()
    };
    let sliding = slope(angle, 0.2, 1.0, h);
    let answer = solved(&sliding).unwrap();
    let derivative = Derivative::new(&sliding, &answer).unwrap();
    assert!(derivative.modes().eq([Mode::Slips]) && derivative.is_unique());
    let found = derivative.forward(&more).unwrap();
    // dv/dμ = −g h cos θ.
    assert!((found.v[1] + 9.81 * h * angle.cos()).abs() < 1e-12);
    let resting = slope(angle, 0.9, 0.0, h);
    let answer = solved(&resting).unwrap();
    let derivative = Derivative::new(&resting, &answer).unwrap();
    assert!(derivative.modes().eq([Mode::Held]));
    let found = derivative.forward(&more).unwrap();
    assert!(found.v.iter().chain(&found.lambda).all(|x| x.abs() < 1e-12));
}

#[test]
fn the_edge_of_sliding_is_said() {
    // Friction holds exactly as much as it must.
    let angle = 0.5_f64;
    let edge = slope(angle, angle.tan(), 0.0, 0.01);
    let answer = solved(&edge).unwrap();
    let derivative = Derivative::new(&edge, &answer).unwrap();
    assert_eq!(derivative.degenerate().count(), 1);
}

#[test]
fn redundant_rows_leave_velocities_unique() {
    // The same joint twice: impulses may be shared in any way, the velocity may not.
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(vec![2.0, 0.0, 0.0, 3.0]).unwrap();
    let id = builder.add_mass(mass, &[1.0, 1.0]).unwrap();
    for _ in 0..2 {
        builder
            .add_block(Law::Equality, &[(id, &[1.0, 1.0])], &[0.0], &[0.0])
            .unwrap();
    }
    let problem = builder.build().unwrap();
    let answer = solved(&problem).unwrap();
    let derivative = Derivative::new(&problem, &answer).unwrap();
    assert!(!derivative.is_unique());
    let change = Change {
        p: vec![1.0, 0.0],
        ..Change::default()
    };
    let found = derivative.forward(&change).unwrap();
    // x + y = 0 and 2x − 3y = 1.
    assert!((found.v[0] - 0.2).abs() < 1e-8 && (found.v[1] + 0.2).abs() < 1e-8);
}

#[test]
fn a_contact_given_twice_has_the_velocities_of_one() {
    // A ball that sticks to the ground, its contact once and twice.
    let ball = |contacts: usize| {
        let mut builder = Problem::builder();
        let mass = MassBlock::rigid(1.0, delassus::math::DMat3::IDENTITY * 0.004).unwrap();
        let p = [0.01, 0.02, -0.0981, 0.0, 0.001, 0.0];
        let id = builder.add_mass(mass, &p).unwrap();
        // Rows (n, t₁, t₂) at the point 0.1 m below the centre.
        let rows = [
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, -0.1, 0.0],
            [0.0, 1.0, 0.0, 0.1, 0.0, 0.0],
        ]
        .concat();
        for _ in 0..contacts {
            let law = Law::FrictionCone { mu: 0.8 };
            builder
                .add_block(law, &[(id, &rows)], &[0.0; 3], &[0.0; 3])
                .unwrap();
        }
        builder.build().unwrap()
    };
    let change = Change {
        p: vec![0.3, -0.2, 0.1, 0.01, 0.02, 0.03],
        ..Change::default()
    };
    let [one, two] = [1, 2].map(|contacts| {
        let problem = ball(contacts);
        let answer = solved(&problem).unwrap();
        let derivative = Derivative::new(&problem, &answer).unwrap();
        assert_eq!(derivative.is_unique(), contacts == 1);
        assert!(derivative.modes().all(|mode| mode == Mode::Held));
        let back = derivative.backward(&change.p, &[]).unwrap();
        (derivative.forward(&change).unwrap().v, back.p)
    });
    for (a, b) in one.0.iter().chain(&one.1).zip(two.0.iter().chain(&two.1)) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let problem = slope(0.5, 0.2, 1.0, 0.01);
    let answer = solved(&problem).unwrap();
    let derivative = Derivative::new(&problem, &answer).unwrap();
    let short = Change {
        p: vec![1.0],
        ..Change::default()
    };
    let found = derivative.forward(&short).unwrap_err();
    assert_eq!(found.to_string(), "p has 1 numbers, the problem needs 3");
    let found = derivative.backward(&[f64::NAN, 0.0, 0.0], &[]);
    assert!(matches!(
        found,
        Err(DerivativeError::NotFinite { what: "v" })
    ));
    let empty = Solution::default();
    assert!(Derivative::new(&problem, &empty).is_err());
}

/// The law with its numbers moved along a direction.
fn shifted(law: Law, by: [f64; 3], t: f64) -> Law {
    let [a, b, c] = by.map(|x| t * x);
    match law {
        Law::FrictionCone { mu } => Law::FrictionCone { mu: mu + a },
        Law::EllipticCone { mu: [x, y] } => Law::EllipticCone { mu: [x + a, y + b] },
        Law::Interval { lo, hi } => Law::Interval {
            lo: lo + a,
            hi: hi + b,
        },
        Law::RollingCone { mu, rolling } => Law::RollingCone {
            mu: mu + a,
            rolling: rolling + b,
        },
        Law::TorsionalCone { mu, spinning } => Law::TorsionalCone {
            mu: mu + a,
            spinning: spinning + b,
        },
        Law::RollingSpinning {
            mu,
            rolling,
            spinning,
        } => Law::RollingSpinning {
            mu: mu + a,
            rolling: rolling + b,
            spinning: spinning + c,
        },
        Law::EllipsoidCone {
            mu,
            rolling,
            spinning,
        } => Law::EllipsoidCone {
            mu: mu + a,
            rolling: rolling + b,
            spinning: spinning + c,
        },
        law => law,
    }
}

/// Laws with rolling and spinning friction, ellipses and bounds, by p and by every number of a law.
#[test]
fn every_disk_of_a_law_slips_by_itself() {
    let laws = [
        (
            Law::RollingCone {
                mu: 0.3,
                rolling: 0.2,
            },
            5,
        ),
        (
            Law::RollingSpinning {
                mu: 0.4,
                rolling: 0.1,
                spinning: 0.3,
            },
            6,
        ),
        (
            Law::TorsionalCone {
                mu: 0.5,
                spinning: 0.2,
            },
            4,
        ),
        (
            Law::EllipsoidCone {
                mu: 0.3,
                rolling: 0.2,
                spinning: 0.1,
            },
            6,
        ),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::Interval { lo: -0.1, hi: 0.1 }, 1),
    ];
    let (mut compared, mut mixed, mut random) = (0, 0, Random::new(2));
    for seed in 0..40 {
        let data = Data::of(seed, 0.02, &laws);
        let problem = data.problem();
        let Some(answer) = solved(&problem) else {
            continue;
        };
        let derivative = Derivative::new(&problem, &answer).unwrap();
        let modes: Vec<Mode> = derivative.modes().collect();
        if derivative.degenerate().next().is_some() {
            continue;
        }
        let numbers: Vec<[f64; 3]> = laws
            .iter()
            .map(|_| [(); 3].map(|()| random.range(-1.0, 1.0)))
            .collect();
        let change = Change {
            law: numbers.clone(),
            ..change(0, &data, &mut random)
        };
        let exact = derivative.forward(&change).unwrap();
        let step = 1e-6;
        let both = [step, -step].map(|t| {
            let mut data = data.moved(&change, t);
            for (block, by) in data.blocks.iter_mut().zip(&numbers) {
                block.0 = shifted(block.0, *by, t);
            }
            let problem = data.problem();
            let answer = solved(&problem)?;
            let same = Derivative::new(&problem, &answer).unwrap();
            same.modes().eq(modes.iter().copied()).then_some(answer)
        });
        let [Some(plus), Some(minus)] = both else {
            continue;
        };
        let size = exact.v.iter().fold(1.0, |m: f64, x| x.abs().max(m));
        for i in 0..exact.v.len() {
            let found = (plus.v[i] - minus.v[i]) / (2.0 * step);
            assert!(
                (found - exact.v[i]).abs() < 1e-6 * size,
                "seed {seed}: {found} {}",
                exact.v[i]
            );
        }
        // And backward.
        let weights: Vec<f64> = exact.v.iter().map(|_| random.range(-1.0, 1.0)).collect();
        let back = derivative.backward(&weights, &[]).unwrap();
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let left = dot(&weights, &exact.v);
        let right = dot(&back.p, &change.p) + dot(back.law.as_flattened(), numbers.as_flattened());
        assert!(
            (left - right).abs() < 1e-12 * (1.0 + size),
            "{left} {right}"
        );
        compared += 1;
        mixed += modes.iter().filter(|mode| **mode == Mode::Mixed).count();
    }
    assert!(20 <= compared && 5 <= mixed, "{compared} {mixed}");
}

#[test]
fn smoothed_derivatives_serve_facets_and_edges() {
    // On the edge of sliding half of both ways is told.
    let angle = 0.5_f64;
    let edge = slope(angle, angle.tan(), 0.0, 0.01);
    let answer = solved(&edge).unwrap();
    let more = Change {
        mu: vec![1.0],
        ..Change::default()
    };
    let smoothed = Derivative::smoothed(&edge, &answer, 1e-3).unwrap();
    let found = smoothed.forward(&more).unwrap().v[1];
    let slides = -9.81 * 0.01 * angle.cos();
    assert!(
        0.9 * slides < found && found < 0.1 * slides,
        "{found} {slides}"
    );
    let back = smoothed.backward(&[0.0, 1.0, 0.0], &[]).unwrap();
    assert!((back.mu[0] - found).abs() < 1e-12);
    // Facets: refused, but not smoothed. Far from an edge it is the derivative: sliding along a direction of theirs.
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
    let id = builder.add_mass(mass, &[-0.1, 1.0, 0.2]).unwrap();
    let rows = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let law = Law::FrictionFacets {
        mu: 0.3,
        directions: 4,
    };
    builder
        .add_block(law, &[(id, &rows)], &[0.0; 3], &[0.0; 3])
        .unwrap();
    let problem = builder.build().unwrap();
    let answer = solved(&problem).unwrap();
    let refused = Derivative::new(&problem, &answer).unwrap_err();
    assert!(matches!(refused, DerivativeError::Law { .. }));
    let smoothed = Derivative::smoothed(&problem, &answer, 1e-5).unwrap();
    let found = smoothed.forward(&more).unwrap().v;
    assert!(
        (found[1] + 0.1).abs() < 1e-3 && found[2].abs() < 1e-3,
        "{found:?}"
    );
    for tau in [0.0, -1.0, f64::NAN] {
        let refused = Derivative::smoothed(&problem, &answer, tau).unwrap_err();
        assert!(matches!(refused, DerivativeError::Smoothing { .. }));
    }
}
