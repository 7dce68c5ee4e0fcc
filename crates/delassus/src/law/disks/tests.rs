use super::*;
use crate::math::Random;

/// Every contact law with each of its numbers of rows.
const LAWS: [(Law, usize); 10] = [
    (Law::FrictionCone { mu: 0.5 }, 3),
    (Law::FrictionCone { mu: 0.5 }, 2),
    (Law::FrictionBox { mu: 0.5 }, 3),
    (Law::EllipticCone { mu: [0.5, 0.3] }, 3),
    (ROLLING, 5),
    (ROLLING, 3),
    (
        Law::RollingCone {
            mu: 0.5,
            rolling: 0.0,
        },
        5,
    ),
    (SPINNING, 6),
    (
        Law::TorsionalCone {
            mu: 0.5,
            spinning: 0.1,
        },
        4,
    ),
    (
        Law::EllipsoidCone {
            mu: 0.5,
            rolling: 0.2,
            spinning: 0.1,
        },
        6,
    ),
];
const ROLLING: Law = Law::RollingCone {
    mu: 0.5,
    rolling: 0.2,
};
const SPINNING: Law = Law::RollingSpinning {
    mu: 0.5,
    rolling: 0.2,
    spinning: 0.1,
};

#[test]
fn disks_cover_every_row_but_the_normal_once() {
    for (law, n) in LAWS {
        let rows: Vec<usize> = law.disks(n).flat_map(|disk| disk.rows()).collect();
        assert_eq!(rows, (1..n).collect::<Vec<_>>(), "{law:?}");
        assert!(
            law.disks(n)
                .all(|disk| disk.mu().len() == disk.rows().len())
        );
        assert!(law.check(crate::index::BlockId(0), n).is_ok(), "{law:?}");
    }
    assert_eq!(Law::Unilateral.disks(3).count(), 0);
    assert_eq!(ROLLING.spin_rows(5), 3..5);
    assert_eq!(ROLLING.spin_rows(3), 2..3);
    assert_eq!(SPINNING.spin_rows(6), 3..6);
    assert!(LAWS[0].0.spin_rows(3).is_empty());
}

/// The nearest point of a convex cone: x − P(x) is orthogonal to P(x), P(x) lies in K, and x − P(x) in its polar.
#[test]
fn projection_is_the_nearest_point_of_the_cone() {
    let mut random = Random::new(3);
    for _ in 0..5000 {
        let (law, n) = [(ROLLING, 5), (ROLLING, 3), (SPINNING, 6), LAWS[6]][random.below(4)];
        let round = Round::of(&law, n);
        let x: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        let mut p = x.clone();
        round.project(&mut p);
        let mut again = p.clone();
        round.project(&mut again);
        let rest: Vec<f64> = x.iter().zip(&p).map(|(x, p)| x - p).collect();
        assert!(dot(&rest, &p).abs() < 1e-14, "{law:?} {x:?}");
        let mut support = rest[0];
        for (rows, mu) in round.each() {
            assert!(norm(&p[rows.clone()]) <= mu * p[0] + 1e-15, "{law:?} {x:?}");
            // max of restᵀy over y in K with y_n = 1
            support += mu * norm(&rest[rows]);
        }
        assert!(support <= 1e-14, "{law:?} {x:?}: {support}");
        let moved = p.iter().zip(&again).map(|(a, b)| (a - b).abs());
        assert!(moved.fold(0.0, f64::max) < 1e-15);
    }
}

/// Impulse and velocity of a contact whose disks each stick or slip, or which is open.
fn planted(law: &Law, n: usize, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let (mut lambda, mut w) = (vec![0.0; n], vec![0.0; n]);
    if random.below(4) == 0 {
        w.fill_with(|| random.range(-1.0, 1.0));
        w[0] = random.range(0.0, 1.0);
        return (lambda, w);
    }
    lambda[0] = random.range(0.1, 2.0);
    for disk in law.disks(n) {
        let slips = random.below(2) == 0;
        let part: Vec<f64> = disk.rows().map(|_| random.range(-1.0, 1.0)).collect();
        let radius = if slips { 1.0 } else { random.range(0.0, 0.9) };
        let speed = if slips { random.range(0.1, 1.0) } else { 0.0 };
        for ((i, mu), x) in disk.rows().zip(disk.mu()).zip(&part) {
            let unit = x / norm(&part);
            lambda[i] = mu * lambda[0] * radius * unit;
            w[i] = match *mu {
                0.0 => random.range(-1.0, 1.0),
                mu => -speed * unit / mu,
            };
        }
    }
    (lambda, w)
}

#[test]
fn planted_contacts_obey_and_disturbed_ones_do_not() {
    let mut random = Random::new(9);
    for _ in 0..4000 {
        let (law, n) = LAWS[random.below(LAWS.len())];
        let diagonal: Vec<f64> = (0..n).map(|_| random.range(0.5, 4.0)).collect();
        let (mut lambda, mut w) = planted(&law, n, &mut random);
        let fault = law.fault(&lambda, &w, &diagonal);
        assert!(fault.natural < 1e-14, "{law:?} {lambda:?} {w:?} {fault:?}");
        assert!(fault.feasibility < 1e-14 && fault.complementarity < 1e-14);
        // A loaded contact that parts, or an open one that pushes sideways.
        match lambda[0] == 0.0 {
            true => lambda[n - 1] = 0.1,
            false => w[0] += 0.1,
        }
        let fault = law.fault(&lambda, &w, &diagonal);
        assert!(1e-3 < fault.natural, "{law:?} {lambda:?} {w:?} {fault:?}");
    }
}

/// Rolling with each disk judged alone: a wrong part is seen though the other is right.
#[test]
fn each_disk_is_judged() {
    let d = [1.0, 2.0, 2.0, 5.0, 5.0];
    let lambda = [1.0, 0.3, 0.4, 0.0, 0.2];
    assert!(
        ROLLING
            .fault(&lambda, &[0.0, -0.3, -0.4, 0.0, -1.0], &d)
            .natural
            < 1e-15
    );
    assert!(
        1e-2 < ROLLING
            .fault(&lambda, &[0.0, -0.3, -0.4, 0.0, 1.0], &d)
            .natural
    );
    assert!(
        1e-2 < ROLLING
            .fault(&lambda, &[0.0, 0.3, -0.4, 0.0, -1.0], &d)
            .natural
    );
    assert!(
        1e-2 < ROLLING
            .fault(&[1.0, 0.3, 0.4, 0.1, 0.2], &[0.0; 5], &d)
            .natural
    );
    let huge = ROLLING.fault(&[0.0; 5], &[-1e200, 0.0, 0.0, 1e200, 0.0], &d);
    assert_eq!(huge.natural, f64::INFINITY);
}
