//! Paths from guesses of any quality, and the slip that goes with a state.

use super::*;
use crate::gallery;
use crate::math::Random;
use crate::solver::pivot::Pivot;
use crate::solver::pivot::contact::pivots::{Friction, Pivoting};
use crate::solver::pivot::contact::{PivotOptions, PivotWork};
use crate::solver::pivot::crowd::bodies::BodySystem;

const OPTIONS: PivotOptions<'static> = PivotOptions {
    pivot: Pivot::Big,
    cover: &[],
    pivots: 1000,
    deadline: None,
};

/// Follows the path from a guess. The pivots and the residual of its end, where it has one.
fn follow_from(lcp: &ContactLcp, guess: &Guess) -> (usize, Option<f64>) {
    let mut work = PivotWork::default();
    let mut run = Pivoting::new(lcp, &OPTIONS, &mut work, Friction::FromStart);
    assert!(run.prepare().is_none());
    let scale = run.scale;
    let mut system = BodySystem::default();
    system.plan(lcp);
    let mut over = OverBodies {
        lcp,
        work: &mut work,
        system: &mut system,
    };
    let mut end = guess.clone();
    let Followed { pivots, arrived } = follow(&mut over, &mut end, scale, 200);
    let residual = over.judge(&end) / scale;
    (pivots, arrived.then_some(residual))
}

#[test]
fn the_path_from_rough_impulses_ends_at_an_answer() {
    for name in ["slide", "rod", "pile:30", "pile:200"] {
        let lcp = ContactLcp::new(&gallery::build(name).unwrap(), 8).unwrap();
        let mut guess = Guess::default();
        guess.read(&lcp, None);
        (0..20).for_each(|_| guess.sweep(&lcp));
        let (pivots, residual) = follow_from(&lcp, &guess);
        let residual = residual.unwrap_or(f64::INFINITY);
        assert!(residual < 1e-7, "{name}: {residual:e} after {pivots}");
    }
}

#[test]
fn the_better_the_guess_the_fewer_the_pivots() {
    let lcp = ContactLcp::new(&gallery::build("pile:200").unwrap(), 8).unwrap();
    let mut guess = Guess::default();
    guess.read(&lcp, None);
    (0..3).for_each(|_| guess.sweep(&lcp));
    let (rough, _) = follow_from(&lcp, &guess);
    (0..2000).for_each(|_| guess.sweep(&lcp));
    let (fine, residual) = follow_from(&lcp, &guess);
    assert!(residual.is_some_and(|residual| residual < 1e-8));
    assert!(fine < rough, "{fine} pivots, {rough} from a rough guess");
}

/// −slip must be a sum of the normals of the sides that friction lies on, as slipping asks for.
#[test]
fn slip_that_goes_with_a_state_is_opposed_by_its_friction() {
    let lcp = ContactLcp::new(&gallery::build("slide").unwrap(), 8).unwrap();
    let group = &lcp.groups[0];
    let mut random = Random::new(7);
    let margin = 1e-3;
    for _ in 0..100 {
        let slip = [random.range(-1.0, 1.0), random.range(-1.0, 1.0)];
        assert_eq!(lawful(&lcp, group, State::Stick, slip, margin), [0.0; 2]);
        for i in 0..group.count {
            let j = (i + 1) % group.count;
            let along = |k: usize, v: [f64; 2]| {
                let [a, b] = lcp.directions[group.start + k];
                a * v[0] + b * v[1]
            };
            let on_side = lawful(&lcp, group, State::Side(i, j), slip, margin);
            let on_corner = lawful(&lcp, group, State::Corner(i), slip, margin);
            // Both directions of a side oppose it alike, and no other direction does more.
            assert!((along(i, on_side) - along(j, on_side)).abs() < 1e-12);
            for k in 0..group.count {
                assert!(along(i, on_side) <= along(k, on_side) + 1e-12);
                assert!(along(i, on_corner) <= along(k, on_corner) + 1e-12);
            }
            assert!(along(i, on_side) < 0.0 && along(i, on_corner) < 0.0);
        }
    }
}
