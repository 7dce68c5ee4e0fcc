//! Derivatives of robots that touch the ground: microseconds to factor the differentiated laws, to go forward and backward
//! once, and to differentiate a whole step, beside a cold solve of the same problem. Least times of runs in turn.
//!
//! `cargo bench -p delassus --bench derivative`
//!
//! `-- count` counts instructions instead, where valgrind is installed: each pass once, after one that is not counted.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::fmt::Write;
use std::process::Command;
use std::time::Instant;

use delassus::derivative::{Change, Derivative, Mode};
use delassus::model::{robot::Base, scene::of_robot};
use delassus::world::{Differentiate, MovedBy};
use delassus::{Newton, Problem, RobotId, Solution, Solver, Stop, World};

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
fn world(text: &dyn Fn(f64) -> String, length: f64, presses: bool) -> World {
    let high = placed(&text(2.0), presses);
    let lowest = (0..high.bodies().len()).map(|i| {
        let (x, turn) = (high.bodies().position[i], high.bodies().orientation[i]);
        x.z - (turn * delassus::math::DVec3::Z).z * 0.5 * length
    });
    let moving = lowest.zip(&high.bodies().motion);
    let moving = moving.filter(|(_, motion)| **motion == MovedBy::Link);
    let lowest = moving.fold(f64::INFINITY, |m, (z, _)| m.min(z));
    placed(&text(2.0 - lowest + 0.049), presses)
}

/// Every joint moves a little, so that what touches slides; the trunk goes down where it presses, else up. An arm that
/// presses turns the other way.
fn placed(text: &str, presses: bool) -> World {
    let scene = of_robot(text, "robot.xml", None, Base::Fixed).expect("the text is a robot");
    let mut world = scene.world;
    let robot = &world.robots()[0];
    let (mut q, mut v) = (robot.configuration().to_vec(), robot.velocity().to_vec());
    let hinges = q.len() - if q.len() == v.len() { 0 } else { 7 };
    let first = q.len() - hinges;
    for (i, q) in q[first..].iter_mut().enumerate() {
        *q = if i % 2 == 0 { 0.3 } else { -0.25 };
    }
    for (i, v) in v.iter_mut().enumerate() {
        *v = 0.1 + 0.01 * i as f64;
    }
    if presses && first == 0 {
        v.iter_mut().for_each(|v| *v = -*v);
    } else if presses {
        v[..6].copy_from_slice(&[0.0, 0.0, 0.0, 0.1, 0.05, -0.5]);
    }
    world
        .place_robot(RobotId(0), &q, &v)
        .expect("its own configuration fits");
    world
}

/// A solved problem and what is asked of it.
struct Case {
    problem: Problem,
    answer: Solution,
    weights: Vec<f64>,
    change: Change,
}

const PASSES: [&str; 4] = ["cold solve", "factor", "backward", "forward"];

impl Case {
    fn new(world: &mut World) -> Case {
        let (problem, _) = world.problem(H).expect("the robot can be stepped");
        let mut answer = Solution::zeros(&problem);
        tight().solve(&problem, &mut answer);
        let weights = vec![1.0; problem.n_velocities()];
        let change = Change {
            p: weights.clone(),
            ..Change::default()
        };
        Case {
            problem,
            answer,
            weights,
            change,
        }
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::new(&self.problem, &self.answer).expect("contacts have a derivative")
    }

    fn solve(&self) {
        let mut cold = Solution::zeros(&self.problem);
        tight().solve(&self.problem, &mut cold);
    }

    /// Open, held and slipping blocks.
    fn modes(&self) -> [usize; 3] {
        let derivative = self.derivative();
        let count = |of: &dyn Fn(Mode) -> bool| derivative.modes().filter(|m| of(*m)).count();
        [
            count(&|mode| mode == Mode::Open),
            count(&|mode| mode == Mode::Held),
            count(&|mode| mode == Mode::Slips || mode == Mode::Mixed),
        ]
    }

    /// Runs a pass, and again inside of what is counted.
    fn counted(&self, pass: &str) {
        let derivative = self.derivative();
        let run = || match pass {
            "cold solve" => self.solve(),
            "factor" => drop(std::hint::black_box(self.derivative())),
            "backward" => {
                drop(std::hint::black_box(
                    derivative.backward(&self.weights, &[]),
                ));
            }
            _ => drop(std::hint::black_box(derivative.forward(&self.change))),
        };
        run();
        counted_pass(run);
    }
}

/// What is counted. Its name is how the counter knows it.
#[inline(never)]
fn counted_pass(work: impl FnOnce()) {
    work();
}

/// Instructions of one pass over one robot, by this program under valgrind; `None` where it is not there.
fn instructions(robot: usize, pass: &str) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted_pass*")
        .arg(std::env::current_exe().ok()?)
        .args(["pass", &robot.to_string(), pass])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

type Text = Box<dyn Fn(f64) -> String>;

/// Name, hinges of a limb, whether it presses, and the robot.
fn robots() -> Vec<(&'static str, usize, bool, Text)> {
    let mut all: Vec<(&str, usize, bool, Text)> = Vec::new();
    for presses in [false, true] {
        all.push(("arm", 7, presses, Box::new(|z| arm(7, z))));
        all.push(("walker", 6, presses, Box::new(|z| walker(2, 6, z))));
        all.push(("walker", 3, presses, Box::new(|z| walker(4, 3, z))));
        all.push(("walker", 6, presses, Box::new(|z| walker(5, 6, z))));
    }
    all
}

fn least(times: &mut f64, run: impl FnOnce()) {
    let start = Instant::now();
    run();
    *times = times.min(start.elapsed().as_secs_f64() * 1e6);
}

/// What all passes take: microseconds, or thousands of instructions.
fn measured(case: &Case, robot: usize, count: bool) -> Option<[f64; 4]> {
    let mut best = [f64::INFINITY; 4];
    if count {
        for (best, pass) in best.iter_mut().zip(PASSES) {
            *best = instructions(robot, pass)? * 1e-3;
        }
        return Some(best);
    }
    let derivative = case.derivative();
    for _ in 0..RUNS {
        least(&mut best[0], || case.solve());
        least(&mut best[1], || {
            drop(std::hint::black_box(case.derivative()))
        });
        least(&mut best[2], || {
            drop(std::hint::black_box(
                derivative.backward(&case.weights, &[]),
            ));
        });
        least(&mut best[3], || {
            drop(std::hint::black_box(derivative.forward(&case.change)));
        });
    }
    Some(best)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.iter().any(|word| word == "count");
    let one = arguments.iter().position(|word| word == "pass");
    let one = one.map(|at| (arguments[at + 1].as_str(), arguments[at + 2].as_str()));
    if one.is_none() {
        let unit = if count {
            "thousand instructions"
        } else {
            "µs"
        };
        println!("{unit}; share: factor and one backward of the cold solve");
        println!(
            "robot   dofs rows open held slip    cold  factor backward forward  share  whole step"
        );
    }
    for (robot, (name, hinges, presses, text)) in robots().into_iter().enumerate() {
        if one.is_some_and(|(number, _)| number != robot.to_string()) {
            continue;
        }
        let mut world = world(&*text, 1.0 / hinges as f64, presses);
        let case = Case::new(&mut world);
        if let Some((_, pass)) = one {
            return case.counted(pass);
        }
        let Some([solve, factor, backward, forward]) = measured(&case, robot, count) else {
            println!("valgrind is not there: nothing is counted");
            return;
        };
        let mut step = f64::NAN;
        for _ in 0..if count { 0 } else { RUNS / 10 } {
            least(&mut step, || {
                let by = Differentiate::default();
                std::hint::black_box(world.differentiate(H, &mut tight(), &by).is_ok());
            });
        }
        let [open, held, slip] = case.modes();
        println!(
            "{name:7} {:4} {:4} {open:4} {held:4} {slip:4} {solve:7.1} {factor:7.1} {backward:8.1} {forward:7.1} {:6.3} {step:11.1}",
            case.problem.n_velocities(),
            case.problem.n_rows(),
            (factor + backward) / solve
        );
    }
}
