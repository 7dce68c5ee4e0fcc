use super::*;
use delassus::scenes;

/// How far from the hand a body may hang \[m\]: twice the sag g/ω² of the hand's spring, for what still swings.
const SAG: f64 = 2.0 * 9.81 / (GRIP * GRIP);

/// A view that colours by residual, with so many sweeps in every step; as the scene has them where none.
fn pane(name: &str, sweeps: Option<usize>) -> Pane {
    let scene = scenes::build(name).unwrap();
    let mut choice = Choice::of(&scene.run.solver, &scene.run);
    if let Some(sweeps) = sweeps {
        (choice.tolerance, choice.iterations) = (0.0, sweeps);
    }
    let parameters = Parameters::of(&scene.world, scene.run.dt);
    let display = Display {
        colour: Colour::Residual,
        ..Display::default()
    };
    let make = crate::Catalogue::default().make;
    Pane::new(scene, choice, &parameters, (&display, make)).unwrap()
}

#[test]
fn the_worst_body_has_the_residual_of_the_report() {
    for name in ["stack:5", "necklace:12", "arch", "quadruped"] {
        let mut pane = pane(name, Some(3));
        for number in 1..=40 {
            pane.step(number, 0.005).unwrap();
        }
        let residuals = pane.residuals().unwrap();
        let worst = residuals.iter().copied().fold(0.0, f64::max);
        let law = pane.samples.newest().last().unwrap().law;
        assert!(0.0 < law, "{name}");
        assert_eq!(worst.to_bits(), law.to_bits(), "{name}");
    }
}

#[test]
fn a_link_of_a_robot_hangs_on_the_hand_with_its_whole_robot() {
    let mut pane = pane("quadruped", None);
    let links: Vec<u32> = links(&pane.world.robots()[0]).map(|(_, id)| id.0).collect();
    let last = *links.last().unwrap();
    assert!(pane.can_grab(last) && !pane.can_grab(u32::MAX));
    let start = pane.world.bodies().position[last as usize];
    let target = start + DVec3::new(0.0, 0.0, 1.0);
    pane.grab(last, DVec3::ZERO, start).unwrap();
    pane.drag(target);
    for number in 1..=600 {
        pane.step(number, 0.005).unwrap();
    }
    let [held, pulled] = pane.hand_line().unwrap();
    let apart = (DVec3::from(held) - DVec3::from(pulled)).length();
    assert_eq!(DVec3::from(pulled), target);
    assert!(apart < SAG, "{apart}");
    let selected = pane.selected(last).unwrap();
    assert!(selected.residual.is_some());
    pane.release();
    assert!(pane.hand_line().is_none());
}
