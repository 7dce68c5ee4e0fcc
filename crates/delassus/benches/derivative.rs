//! Derivatives of robots that touch the ground: microseconds to factor the differentiated laws, to go backward once, and to
//! differentiate a whole step, beside a cold solve of the same problem. Least times of runs in turn.
//!
//! `cargo bench -p delassus --bench derivative`

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::fmt::Write;
use std::time::Instant;

use delassus::derivative::Derivative;
use delassus::model::{robot::Base, scene::of_robot};
use delassus::world::{Differentiate, MovedBy};
use delassus::{Newton, RobotId, Solution, Solver, Stop, World};

/// Runs of each, in turn.
const RUNS: usize = 200;
/// Step \[s\].
const H: f64 = 0.005;

fn tight() -> Newton {
    let mut solver = Newton::default();
    solver.limit(Stop {
        tolerance: 1e-10,
        ..Stop::default()
    });
    solver
}

/// Hinges in a row from a base at this height, the last of which carries a ball.
fn limb(text: &mut String, name: &str, hinges: usize, (place, length): (&str, f64)) {
    for i in 0..hinges {
        let (axis, at) = match i % 3 {
            0 => ("0 1 0", place),
            1 => ("1 0 0", ""),
            _ => ("0 1 0", ""),
        };
        let at = if i == 0 {
            at.to_owned()
        } else {
            format!("0 0 {}", -length)
        };
        let half = 0.5 * length;
        write!(
            text,
            r#"<body name="{name}{i}" pos="{at}"><joint axis="{axis}" damping=".1"/>
            <inertial mass="1" pos="0 0 {}" diaginertia=".01 .01 .002"/>"#,
            -half
        )
        .expect("a text takes everything");
    }
    write!(
        text,
        r#"<geom type="sphere" size=".05" pos="0 0 {}"/>"#,
        -length
    )
    .expect("a text takes everything");
    text.push_str(&"</body>".repeat(hinges));
}

/// An arm of so many hinges whose hand rubs along the ground.
fn arm(hinges: usize, height: f64) -> String {
    let length = 1.0 / hinges as f64;
    let mut limbs = String::new();
    let place = format!("0 0 {height}");
    limb(&mut limbs, "link", hinges, (&place, length));
    format!(r#"<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{limbs}</worldbody></mujoco>"#)
}

/// A floating trunk on limbs of so many hinges, each with a ball on the ground.
fn walker(limbs: usize, hinges: usize, height: f64) -> String {
    let length = 1.0 / hinges as f64;
    let mut all = String::new();
    for i in 0..limbs {
        let angle = i as f64 / limbs as f64 * std::f64::consts::TAU;
        let place = format!("{} {} 0", 0.2 * angle.cos(), 0.2 * angle.sin());
        limb(&mut all, &format!("limb{i}-"), hinges, (&place, length));
    }
    format!(
        r#"<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body name="trunk" pos="0 0 {height}"><freejoint/>
        <inertial mass="10" pos="0 0 0" diaginertia=".3 .3 .3"/>{all}</body></worldbody></mujoco>"#
    )
}

/// The robot with bent limbs whose lowest ball is a little in the ground.
fn world(text: &dyn Fn(f64) -> String, length: f64) -> World {
    let high = placed(&text(2.0));
    let lowest = (0..high.bodies().len()).map(|i| {
        let (x, turn) = (high.bodies().position[i], high.bodies().orientation[i]);
        x.z - (turn * delassus::math::DVec3::Z).z * 0.5 * length
    });
    let moving = lowest.zip(&high.bodies().motion);
    let moving = moving.filter(|(_, motion)| **motion == MovedBy::Link);
    let lowest = moving.fold(f64::INFINITY, |m, (z, _)| m.min(z));
    placed(&text(2.0 - lowest + 0.049))
}

fn placed(text: &str) -> World {
    let scene = of_robot(text, "robot.xml", None, Base::Fixed).expect("the text is a robot");
    let mut world = scene.world;
    let robot = &world.robots()[0];
    let (mut q, mut v) = (robot.configuration().to_vec(), robot.velocity().to_vec());
    let hinges = q.len() - if q.len() == v.len() { 0 } else { 7 };
    let first = q.len() - hinges;
    for (i, q) in q[first..].iter_mut().enumerate() {
        *q = if i % 2 == 0 { 0.3 } else { -0.25 };
    }
    // Sliding a little, so that some contacts slip.
    for (i, v) in v.iter_mut().enumerate() {
        *v = 0.1 + 0.01 * i as f64;
    }
    world
        .place_robot(RobotId(0), &q, &v)
        .expect("its own configuration fits");
    world
}

fn least(times: &mut [f64], run: impl FnOnce()) {
    let start = Instant::now();
    run();
    let time = start.elapsed().as_secs_f64() * 1e6;
    times[0] = times[0].min(time);
}

fn main() {
    println!("robot      dofs  rows  cold solve  factor  backward  derivative/solve  whole step");
    type Text = Box<dyn Fn(f64) -> String>;
    let robots: [(&str, usize, Text); 4] = [
        ("arm", 7, Box::new(|height| arm(7, height))),
        ("walker", 6, Box::new(|height| walker(2, 6, height))),
        ("walker", 3, Box::new(|height| walker(4, 3, height))),
        ("walker", 6, Box::new(|height| walker(5, 6, height))),
    ];
    for (name, hinges, text) in robots {
        let mut world = world(&*text, 1.0 / hinges as f64);
        let (problem, _) = world.problem(H).expect("the robot can be stepped");
        let mut answer = Solution::zeros(&problem);
        tight().solve(&problem, &mut answer);
        let derivative = Derivative::new(&problem, &answer).expect("contacts have a derivative");
        let weights = vec![1.0; problem.n_velocities()];
        let mut best = [[f64::INFINITY]; 4];
        for _ in 0..RUNS {
            least(&mut best[0], || {
                let mut cold = Solution::zeros(&problem);
                tight().solve(&problem, &mut cold);
            });
            least(&mut best[1], || {
                std::hint::black_box(Derivative::new(&problem, &answer).is_ok());
            });
            least(&mut best[2], || {
                std::hint::black_box(derivative.backward(&weights, &[]).is_ok());
            });
            least(&mut best[3], || {
                let by = Differentiate::default();
                std::hint::black_box(world.differentiate(H, &mut tight(), &by).is_ok());
            });
        }
        let [[solve], [factor], [backward], [step]] = best;
        println!(
            "{name:8} {:6} {:5} {solve:8.1} µs {factor:7.1} {backward:9.1} {:17.2} {step:8.1} µs",
            problem.n_velocities(),
            problem.n_rows(),
            (factor + backward) / solve
        );
    }
}
