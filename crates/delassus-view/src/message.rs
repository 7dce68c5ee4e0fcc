//! What a page may ask for. Everything that comes in passes [`parse`]: bounded in length, of a known form without
//! unknown fields, every number within its range.

use serde::{Deserialize, Serialize};

/// Longest message of a page, in bytes.
pub const MOST_BYTES: usize = 4096;
/// Largest size of a built-in scene the page takes.
pub const MOST_BODIES: usize = 20_000;

const MOST_STEPS: u32 = 1000;
const MOST_NAME: usize = 200;
const MOST_SUBSTEPS: u32 = 64;
const MOST_ITERATIONS: usize = 1_000_000;
const MOST_DIRECTIONS: u32 = 64;
/// Of a coordinate a hand may be at \[m\].
const MOST_COORDINATE: f64 = 1e6;
/// Of a motor \[N m or N\].
const MOST_FORCE: f64 = 1e9;
const MOST_GRAVITY: f64 = 1000.0;
const MOST_FRICTION: f64 = 10.0;
const DT: (f64, f64) = (1e-5, 0.1);
const SPEED: (f64, f64) = (0.01, 10.0);

/// One request of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Let time run, or hold it.
    Play {
        /// Run.
        on: bool,
    },
    /// So many single steps.
    Step {
        /// How many.
        count: u32,
    },
    /// Simulated seconds per second.
    Speed {
        /// 1 is real time.
        factor: f64,
    },
    /// Back to time zero.
    Reset {},
    /// Another scene.
    Scene {
        /// A built-in scene as `name:size`, or the name of the file the program was given.
        name: String,
    },
    /// Another solver for one of the views.
    Solver {
        /// First or second view.
        pane: usize,
        /// Solver with its keys.
        spec: String,
        /// Largest acceptable law residual \[m/s\].
        tolerance: f64,
        /// Most sweeps.
        iterations: usize,
    },
    /// Two views of the scene, or one.
    Split {
        /// Two.
        on: bool,
    },
    /// How the world is stepped.
    Parameters(Parameters),
    /// What frames carry besides poses.
    Display(Display),
    /// Which body's numbers to send.
    Select {
        /// Its place in the list of bodies; none ends it.
        body: Option<u32>,
    },
    /// Take hold of a body.
    Grab {
        /// In which view.
        pane: usize,
        /// Which body.
        body: u32,
        /// Where, in the world \[m\].
        point: [f64; 3],
    },
    /// Move the hand.
    Drag {
        /// Where to \[m\].
        target: [f64; 3],
    },
    /// Let go.
    Release {},
    /// A frame of a recording, or a step that a live run has taken and still remembers.
    Seek {
        /// Which.
        frame: u64,
    },
    /// Put a joint of a robot into a position; time stands still for it.
    Joint {
        /// Which of the joints that the scene lists under `dials`.
        dial: u32,
        /// Displacement \[rad or m\].
        position: f64,
    },
    /// What the actuator of a joint is asked for.
    Actuator {
        /// Which of the joints that the scene lists under `dials`.
        dial: u32,
        /// Wanted position of a servo \[rad or m\], or the force of a motor \[N m or N\].
        value: f64,
    },
    /// Put a robot into one of the states that its file comes with.
    Keyframe {
        /// Which of those that the scene lists under `keyframes`.
        index: u32,
    },
    /// Give the problem of the next substep as a file.
    Problem {
        /// Comes back with the file, so that the page that asked knows it.
        tag: u32,
    },
    /// Give the state as a file.
    State {
        /// Comes back with the file, so that the page that asked knows it.
        tag: u32,
    },
    /// Give the plotted numbers of all steps after one, as far as they are kept.
    Samples {
        /// The last step that is known.
        after: u64,
    },
    /// This frame has been drawn.
    Ack {
        /// Its number.
        frame: u64,
    },
}

/// How the worlds are stepped; the same in both views.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Step \[s\].
    pub dt: f64,
    /// Parts a step is divided into.
    pub substeps: u32,
    /// Gravity \[m/s²\].
    pub gravity: [f64; 3],
    /// Friction of all materials; none leaves the scene's own.
    pub friction: Option<f64>,
    /// Law of contacts.
    pub law: FrictionLaw,
}

/// Law of contacts, as in scene files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrictionLaw {
    /// Coulomb's cone.
    Cone,
    /// Two independent tangents.
    Box,
    /// Coulomb's cone; sliding, rolling and spinning share one ellipsoid.
    Ellipsoid,
    /// A cone of so many directions.
    Facets(u32),
}

/// What frames carry besides poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Display {
    /// Contact points and forces.
    pub contacts: bool,
    /// One number per body.
    pub colour: Colour,
    /// Law residual after every sweep of the last step; costs time.
    pub history: bool,
}

impl Default for Display {
    fn default() -> Display {
        Display {
            contacts: true,
            colour: Colour::Body,
            history: false,
        }
    }
}

/// What a body's colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Colour {
    /// Which body it is.
    Body,
    /// Sum of the forces of contacts and joints on it \[N\].
    Force,
    /// Largest law residual of its contacts and joints \[m/s\].
    Residual,
}

/// What is wrong with a message, in words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("message refused: {0}")]
pub struct BadMessage(pub String);

/// Reads one message. Never panics, whatever the bytes.
pub fn parse(text: &str) -> Result<Command, BadMessage> {
    if MOST_BYTES < text.len() {
        let length = text.len();
        return Err(BadMessage(format!(
            "it has {length} bytes; at most {MOST_BYTES} are read"
        )));
    }
    let command: Command =
        serde_json::from_str(text).map_err(|error| BadMessage(error.to_string()))?;
    command.check()?;
    Ok(command)
}

impl Command {
    fn check(&self) -> Result<(), BadMessage> {
        match self {
            Command::Step { count } => whole("count", *count, (1, MOST_STEPS)),
            Command::Speed { factor } => within("factor", *factor, SPEED),
            Command::Scene { name } => short("name", name),
            Command::Solver {
                pane,
                spec,
                tolerance,
                iterations,
            } => {
                whole("pane", *pane, (0, 1))?;
                short("spec", spec)?;
                within("tolerance", *tolerance, (0.0, 1.0))?;
                whole("iterations", *iterations, (1, MOST_ITERATIONS))
            }
            Command::Parameters(parameters) => parameters.check(),
            Command::Grab { pane, point, .. } => {
                whole("pane", *pane, (0, 1))?;
                place("point", point)
            }
            Command::Drag { target } => place("target", target),
            Command::Joint { position, .. } => {
                within("position", *position, (-MOST_COORDINATE, MOST_COORDINATE))
            }
            Command::Actuator { value, .. } => within("value", *value, (-MOST_FORCE, MOST_FORCE)),
            _ => Ok(()),
        }
    }
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), BadMessage> {
        within("dt", self.dt, DT)?;
        whole("substeps", self.substeps, (1, MOST_SUBSTEPS))?;
        for component in self.gravity {
            within("gravity", component, (-MOST_GRAVITY, MOST_GRAVITY))?;
        }
        if let Some(friction) = self.friction {
            within("friction", friction, (0.0, MOST_FRICTION))?;
        }
        match self.law {
            FrictionLaw::Facets(directions) => whole("facets", directions, (3, MOST_DIRECTIONS)),
            _ => Ok(()),
        }
    }
}

fn within(what: &str, value: f64, (least, most): (f64, f64)) -> Result<(), BadMessage> {
    if least <= value && value <= most {
        return Ok(());
    }
    Err(BadMessage(format!(
        "{what} is {value}; it must lie between {least} and {most}"
    )))
}

fn whole<T: PartialOrd + std::fmt::Display>(
    what: &str,
    value: T,
    (least, most): (T, T),
) -> Result<(), BadMessage> {
    if least <= value && value <= most {
        return Ok(());
    }
    Err(BadMessage(format!(
        "{what} is {value}; it must lie between {least} and {most}"
    )))
}

fn short(what: &str, text: &str) -> Result<(), BadMessage> {
    if text.len() <= MOST_NAME {
        return Ok(());
    }
    let length = text.len();
    Err(BadMessage(format!(
        "{what} has {length} bytes; at most {MOST_NAME} are taken"
    )))
}

fn place(what: &str, point: &[f64; 3]) -> Result<(), BadMessage> {
    point
        .iter()
        .try_for_each(|x| within(what, *x, (-MOST_COORDINATE, MOST_COORDINATE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn messages_of_the_page_are_understood() {
        let play = parse(r#"{"type":"play","on":true}"#);
        assert_eq!(play, Ok(Command::Play { on: true }));
        assert_eq!(parse(r#"{"type":"reset"}"#), Ok(Command::Reset {}));
        let parameters = r#"{"type":"parameters","dt":0.01,"substeps":1,"gravity":[0,0,-9.81],
            "friction":null,"law":{"facets":8}}"#;
        assert!(matches!(parse(parameters), Ok(Command::Parameters(_))));
        let display = r#"{"type":"display","contacts":true,"colour":"residual","history":false}"#;
        assert!(matches!(parse(display), Ok(Command::Display(_))));
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        let refused = |text: &str| parse(text).err().map(|error| error.0).unwrap_or_default();
        assert!(refused(r#"{"type":"speed","factor":0}"#).contains("factor is 0"));
        assert!(refused(r#"{"type":"speed","factor":1e400}"#).contains("out of range"));
        assert!(refused(r#"{"type":"step","count":4000000}"#).contains("count"));
        assert!(refused(r#"{"type":"drag","target":[0,1e9,0]}"#).contains("target"));
        assert!(refused(r#"{"type":"joint","dial":0,"position":1e9}"#).contains("position"));
        assert!(refused(r#"{"type":"actuator","dial":-1,"value":0}"#).contains("u32"));
        assert!(refused(r#"{"type":"play","on":true,"path":"/"}"#).contains("path"));
        assert!(refused(r#"{"type":"reset","path":"/"}"#).contains("path"));
        assert!(refused(r#"{"type":"open","path":"/"}"#).contains("open"));
        assert!(refused(&" ".repeat(MOST_BYTES + 1)).contains("bytes"));
        let dt = r#"{"type":"parameters","dt":-1,"substeps":1,"gravity":[0,0,0],"law":"cone"}"#;
        assert!(refused(dt).contains("dt"));
        let extra =
            r#"{"type":"parameters","dt":0.01,"substeps":1,"gravity":[0,0,0],"law":"cone","x":1}"#;
        assert!(refused(extra).contains('x'));
    }

    fn numbers() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            any::<f64>(),
            -1e7..1e7f64,
            Just(f64::MAX)
        ]
    }

    fn messages() -> impl Strategy<Value = Command> {
        let triple = || [numbers(), numbers(), numbers()];
        prop_oneof![
            any::<bool>().prop_map(|on| Command::Play { on }),
            any::<u32>().prop_map(|count| Command::Step { count }),
            numbers().prop_map(|factor| Command::Speed { factor }),
            ".{0,300}".prop_map(|name| Command::Scene { name }),
            (0..3usize, ".{0,20}", numbers(), any::<usize>()).prop_map(
                |(pane, spec, tolerance, iterations)| Command::Solver {
                    pane,
                    spec,
                    tolerance,
                    iterations
                }
            ),
            triple().prop_map(|target| Command::Drag { target }),
            (any::<u32>(), numbers())
                .prop_map(|(dial, position)| Command::Joint { dial, position }),
            (any::<u32>(), numbers()).prop_map(|(dial, value)| Command::Actuator { dial, value }),
            any::<u32>().prop_map(|index| Command::Keyframe { index }),
            any::<u32>().prop_map(|tag| Command::State { tag }),
            any::<u64>().prop_map(|after| Command::Samples { after }),
            (0..3usize, any::<u32>(), triple()).prop_map(|(pane, body, point)| Command::Grab {
                pane,
                body,
                point
            }),
            (numbers(), any::<u32>(), triple(), any::<u32>()).prop_map(
                |(dt, substeps, gravity, n)| {
                    Command::Parameters(Parameters {
                        dt,
                        substeps,
                        gravity,
                        friction: Some(dt),
                        law: FrictionLaw::Facets(n),
                    })
                }
            ),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn messages_come_back_as_they_were_or_are_refused(command in messages()) {
            let text = serde_json::to_string(&command).unwrap();
            match parse(&text) {
                Ok(back) => {
                    prop_assert!(command.check().is_ok());
                    prop_assert_eq!(back, command);
                }
                // Numbers that are not finite are written as null, which is no number.
                Err(_) => prop_assert!(command.check().is_err() || text.contains("null")),
            }
        }

        #[test]
        fn mangled_messages_are_read_or_refused(command in messages(), at in any::<prop::sample::Index>(), with in any::<char>()) {
            let mut letters: Vec<char> = serde_json::to_string(&command).unwrap().chars().collect();
            let at = at.index(letters.len());
            letters[at] = with;
            let _ = parse(&letters.into_iter().collect::<String>());
        }
    }
}
