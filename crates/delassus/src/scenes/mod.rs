//! Built-in scenes by name, shared by tests, benches and the command line.
//!
//! Lengths are in metres, z is up, and the same name gives the same bits everywhere.

mod chains;
mod machines;
mod masonry;
mod robots;
mod stacks;
mod walkers;

use glam::{DQuat, DVec3};

use crate::collide::Shape;
use crate::error::nearest;
use crate::index::BodyId;
use crate::world::{
    Attach, Body, Joint, JointAxis, JointBody, JointKind, MovedBy, RunDefaults, Scene, Surface,
    WorldBuilder, WorldError,
};

/// One built-in scene.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name; a size may follow as `name:12`, or two where it has two as `name:12x40`.
    pub name: &'static str,
    /// The size taken when none is given, or zero where it has none.
    pub size: usize,
    /// The second size taken when none is given, or zero where it has none.
    pub second: usize,
    /// The largest size, or product of two.
    pub limit: usize,
    /// What it is, in one line.
    pub about: &'static str,
    /// The smallest size.
    least: usize,
    make: Make,
}

/// How a scene is made, from as many sizes as it has.
#[derive(Clone, Copy, Debug)]
enum Make {
    One(fn(usize) -> Result<Made, WorldError>),
    Two(fn(usize, usize) -> Result<Made, WorldError>),
}

/// What a scene's function gives back.
type Made = (Stage, RunDefaults);

const fn exhibit(
    name: &'static str,
    (least, size, limit): (usize, usize, usize),
    about: &'static str,
    make: fn(usize) -> Result<Made, WorldError>,
) -> Exhibit {
    Exhibit {
        name,
        size,
        second: 0,
        limit,
        about,
        least,
        make: Make::One(make),
    }
}

/// A scene of two sizes, each at least one.
const fn exhibit_of_two(
    name: &'static str,
    (size, second, limit): (usize, usize, usize),
    about: &'static str,
    make: fn(usize, usize) -> Result<Made, WorldError>,
) -> Exhibit {
    Exhibit {
        name,
        size,
        second,
        limit,
        about,
        least: 1,
        make: Make::Two(make),
    }
}

/// No size.
const NONE: (usize, usize, usize) = (0, 0, 0);

const ALL: [Exhibit; 23] = [
    exhibit(
        "necklace",
        (1, 40, 100_000),
        "N beads on ball joints, released level from a fixed point",
        chains::necklace,
    ),
    exhibit_of_two(
        "necklaces",
        (2500, 40, 1_000_000),
        "N x M: N such necklaces of M beads, released in all directions, which do not collide",
        chains::necklaces,
    ),
    exhibit(
        "stack",
        (1, 10, 100_000),
        "N boxes of 1 m on each other",
        stacks::stack,
    ),
    exhibit(
        "heavy-stack",
        (1, 10, 100_000),
        "the same with a top 100 times as heavy",
        stacks::heavy_stack,
    ),
    exhibit(
        "pile",
        (1, 1000, 1_000_000),
        "N balls dropped into a square container, 8 sweeps a step whatever is left",
        stacks::pile,
    ),
    exhibit(
        "rubble",
        (1, 500, 1_000_000),
        "N boxes, capsules, cylinders and broken stones dropped into it, 8 sweeps a step whatever is left",
        stacks::rubble,
    ),
    exhibit(
        "incline",
        NONE,
        "a block held by friction on a slope of 20 degrees",
        machines::incline,
    ),
    exhibit(
        "arch",
        (3, 11, 199),
        "a masonry arch of N wedges, standing by friction alone",
        masonry::arch,
    ),
    exhibit(
        "card-house",
        (1, 2, 20),
        "N storeys of cards that lean on each other",
        masonry::card_house,
    ),
    exhibit(
        "dominoes",
        (1, 20, 10_000),
        "N dominoes in a row, the first one pushed",
        masonry::dominoes,
    ),
    exhibit(
        "newton-cradle",
        (1, 5, 1000),
        "N balls on rods, the first one lifted: perfect bounces",
        chains::newton_cradle,
    ),
    exhibit(
        "slider-crank",
        NONE,
        "a motor turns a crank that drives a piston",
        machines::slider_crank,
    ),
    exhibit(
        "wrecking-ball",
        NONE,
        "a heavy ball on a chain swings into a wall",
        chains::wrecking_ball,
    ),
    exhibit(
        "rolling-ball",
        NONE,
        "a ball that slides until it rolls, at 5/7 of its speed",
        machines::rolling_ball,
    ),
    exhibit(
        "spinning-top",
        NONE,
        "a fast top on a fixed tip, in steady precession",
        machines::spinning_top,
    ),
    exhibit(
        "bridge",
        (2, 20, 10_000),
        "N planks on hinges between two banks, under a load",
        chains::bridge,
    ),
    exhibit(
        "double-pendulum",
        NONE,
        "two bars on hinges as a tree, released level",
        robots::double_pendulum,
    ),
    exhibit(
        "four-bar",
        NONE,
        "a motor turns a crank that rocks a rocker: a tree with a loop",
        robots::four_bar,
    ),
    exhibit(
        "delta-robot",
        NONE,
        "three arms on servos carry a platform by six rods: five loops",
        robots::delta_robot,
    ),
    exhibit(
        "snake",
        (2, 100, 1000),
        "a tree of N links on the ground with a wave through it",
        walkers::snake,
    ),
    exhibit(
        "humanoid",
        NONE,
        "fourteen links stand on servos, which let go after two seconds",
        walkers::humanoid,
    ),
    exhibit(
        "quadruped",
        NONE,
        "four legs trot on servos",
        walkers::quadruped,
    ),
    exhibit(
        "gripper",
        NONE,
        "two fingers lift a box by friction",
        walkers::gripper,
    ),
];

/// All built-in scenes.
pub fn exhibits() -> &'static [Exhibit] {
    &ALL
}

/// Why there is no built-in scene for a word.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExhibitError {
    /// No scene has the name.
    #[error("{spec}: there is no built-in scene of this name; {}", names(spec))]
    UnknownName {
        /// The word, shortened.
        spec: String,
    },
    /// A size where the scene has none.
    #[error("{spec}: {name} has no size; give its name alone")]
    NoSize {
        /// The word, shortened.
        spec: String,
        /// The scene.
        name: &'static str,
    },
    /// A size out of range.
    #[error("{spec}: this is not a size of {name}; give a whole number from {least} to {limit}")]
    BadSize {
        /// The word, shortened.
        spec: String,
        /// The scene.
        name: &'static str,
        /// The smallest size.
        least: usize,
        /// The largest size.
        limit: usize,
    },
    /// Two sizes whose product is out of range.
    #[error(
        "{spec}: these are not sizes of {name}; give {name}:NxM with N·M from {least} to {limit}"
    )]
    BadSizes {
        /// The word, shortened.
        spec: String,
        /// The scene.
        name: &'static str,
        /// The smallest product.
        least: usize,
        /// The largest product.
        limit: usize,
    },
    /// The world of the scene cannot be built.
    #[error("{spec}: {error}")]
    World {
        /// The word, shortened.
        spec: String,
        /// What is wrong with it.
        #[source]
        error: Box<WorldError>,
    },
}

/// The scene whose name is near enough to a word to be meant by it, with the size that was given.
pub fn meant(spec: &str) -> Option<String> {
    let (name, size) = spec.find(':').map_or((spec, ""), |at| spec.split_at(at));
    let known = exhibits().iter().map(|exhibit| exhibit.name);
    nearest(name, known).map(|meant| format!("{meant}{size}"))
}

/// The scene that is meant, or all there are.
fn names(spec: &str) -> String {
    let known = exhibits().iter().map(|exhibit| exhibit.name);
    match meant(spec) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("known: {}", known.collect::<Vec<&str>>().join(", ")),
    }
}

/// What a scene of some sizes is: `N` and `M` stand for them.
fn described(about: &str, (size, second): (usize, usize)) -> String {
    let word = |word: &str| match word {
        "N" => size.to_string(),
        "M" => second.to_string(),
        "M:" => format!("{second}:"),
        other => other.to_owned(),
    };
    about
        .split(' ')
        .map(word)
        .collect::<Vec<String>>()
        .join(" ")
}

/// Makes a built-in scene from `name` or `name:size`. The same name gives the same bits.
pub fn build(spec: &str) -> Result<Scene, ExhibitError> {
    let short = || spec.chars().take(80).collect::<String>();
    let (name, text) = match spec.split_once(':') {
        Some((name, text)) => (name, Some(text)),
        None => (spec, None),
    };
    let Some(exhibit) = exhibits().iter().find(|exhibit| exhibit.name == name) else {
        return Err(ExhibitError::UnknownName { spec: short() });
    };
    let sizes = exhibit.sizes(text, short)?;
    let made = match (exhibit.make, sizes) {
        (Make::One(make), (size, _)) => make(size),
        (Make::Two(make), (size, second)) => make(size, second),
    };
    let made = made.and_then(|(stage, run)| Ok((stage.builder.build()?, run)));
    let (world, run) = made.map_err(|error| ExhibitError::World {
        spec: short(),
        error: Box::new(error),
    })?;
    Ok(Scene {
        title: format!("{spec}: {}", described(exhibit.about, sizes)),
        world,
        run,
        warnings: Vec::new(),
        lost: Vec::new(),
    })
}

impl Exhibit {
    /// The sizes that a text behind the name means; `spec` gives the whole word for a complaint.
    fn sizes(
        &self,
        text: Option<&str>,
        spec: impl Fn() -> String,
    ) -> Result<(usize, usize), ExhibitError> {
        let (name, least, limit) = (self.name, self.least, self.limit);
        let Some(text) = text else {
            return Ok((self.size, self.second));
        };
        if limit == 0 {
            return Err(ExhibitError::NoSize { spec: spec(), name });
        }
        if self.second != 0 {
            let (first, second) = match text.split_once('x') {
                Some((first, second)) => (first.parse().ok(), second.parse().ok()),
                None => (text.parse().ok(), Some(self.second)),
            };
            let product = |(a, b): (usize, usize)| a.checked_mul(b);
            let sizes = first.zip(second);
            return sizes
                .filter(|&sizes| product(sizes).is_some_and(|n| least <= n && n <= limit))
                .ok_or_else(|| ExhibitError::BadSizes {
                    spec: spec(),
                    name,
                    least,
                    limit,
                });
        }
        let size = text.parse().ok();
        let size = size.filter(|&size| least <= size && size <= limit);
        size.map(|size| (size, 0))
            .ok_or_else(|| ExhibitError::BadSize {
                spec: spec(),
                name,
                least,
                limit,
            })
    }
}

/// A world being built, with one material for everything.
struct Stage {
    builder: WorldBuilder,
    attach: Attach,
}

impl Stage {
    /// Nothing but a material.
    fn new(friction: f64, restitution: f64) -> Result<Stage, WorldError> {
        let mut builder = WorldBuilder::default();
        let material = builder.add_material(Surface {
            friction,
            restitution,
            ..Surface::default()
        })?;
        let attach = Attach {
            material,
            ..Attach::default()
        };
        Ok(Stage { builder, attach })
    }

    /// A fixed plane through a point; everything behind it is solid.
    fn plane(&mut self, name: &str, point: DVec3, normal: DVec3) -> Result<BodyId, WorldError> {
        let orientation = if (normal + DVec3::Z).length() < 1e-9 {
            DQuat::from_rotation_x(std::f64::consts::PI)
        } else {
            DQuat::from_rotation_arc(DVec3::Z, normal)
        };
        let body = self.builder.add_body(Body {
            name: name.to_owned(),
            motion: MovedBy::Static,
            position: point,
            orientation,
            ..Body::default()
        })?;
        self.builder
            .add_collider(body, Shape::HalfSpace, self.attach)?;
        Ok(body)
    }

    /// The level ground at z = 0.
    fn ground(&mut self) -> Result<BodyId, WorldError> {
        self.plane("ground", DVec3::ZERO, DVec3::Z)
    }

    /// A body of one shape whose origin is its centre.
    fn solid(&mut self, shape: Shape, density: f64, body: Body) -> Result<BodyId, WorldError> {
        self.builder.add_solid(shape, density, body, self.attach)
    }

    /// A body of one shape that never moves.
    fn fixture(&mut self, shape: Shape, name: &str, position: DVec3) -> Result<BodyId, WorldError> {
        let body = self.builder.add_body(Body {
            name: name.to_owned(),
            motion: MovedBy::Static,
            position,
            ..Body::default()
        })?;
        self.builder.add_collider(body, shape, self.attach)?;
        Ok(body)
    }

    /// A joint at an axis of the world.
    fn joint(
        &mut self,
        name: String,
        links: [JointBody; 2],
        axis: JointAxis,
        kind: JointKind,
    ) -> Result<(), WorldError> {
        let joint = Joint::at(self.builder.bodies(), links, axis, kind);
        self.builder.add_joint(Joint { name, ..joint })?;
        Ok(())
    }
}

/// A body at rest.
fn at(name: String, position: DVec3) -> Body {
    Body {
        name,
        position,
        ..Body::default()
    }
}

/// Steps of `dt` for `time` seconds, to a `tolerance` with at most `iterations` sweeps, or exactly so many where it is
/// zero.
fn run((dt, time): (f64, f64), tolerance: f64, iterations: usize) -> RunDefaults {
    RunDefaults {
        dt,
        time,
        tolerance,
        iterations,
        ..RunDefaults::default()
    }
}

/// Steps of `dt` for `time` seconds with exactly so many sweeps each, spent on small steps.
fn swept(times: (f64, f64), sweeps: usize) -> RunDefaults {
    RunDefaults {
        solver: "coloured".to_owned(),
        ..run(times, 0.0, sweeps)
    }
}
