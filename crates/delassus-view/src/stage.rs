//! What is on: a scene stepped under one or two solvers, or a recording.

use delassus::solver::SpecError;
use delassus::world::{RunDefaults, Scene};
use delassus::{World, scenes};
use glam::DVec3;
use serde::Serialize;

use crate::choice::{Choice, Start};
use crate::frame::{Floats, Span};
use crate::geometry::{Layout, moving};
use crate::message::{Display, MOST_BODIES, Parameters};
use crate::mirror::Reflection;
use crate::pane::{Pane, PaneHead};
use crate::recording::Recording;
use crate::refused::Refused;
use crate::{Loader, Show};

/// Bodies up to which forces and residuals are shown unasked.
const SMALL: usize = 2000;

/// One view where two are needed.
const NO_SECOND: Refused = Refused::NotNow("there is no second view; split first");

/// A scene under one or two solvers.
pub(crate) struct Live {
    name: String,
    title: String,
    /// Name and maker of the scene the program was given, where it is no built-in one.
    given: Option<(String, Loader)>,
    run: RunDefaults,
    pub(crate) parameters: Parameters,
    pub(crate) display: Display,
    pub(crate) panes: Vec<Pane>,
    step: u64,
    /// A step was refused, and the views may no longer be at the same time.
    refused: bool,
    picked: bool,
}

/// A recording and where it stands.
pub(crate) struct Replay {
    recording: Box<Recording>,
    frame: usize,
    /// Time shown, between frames too \[s\].
    time: f64,
}

/// One of the three.
pub(crate) enum Stage {
    Live(Box<Live>),
    Replay(Replay),
    Mirror(Box<Reflection>),
}

/// The views in the head of a frame.
#[derive(Serialize)]
pub(crate) struct StageHead<'a> {
    time: f64,
    step: u64,
    panes: Vec<PaneHead<'a>>,
    /// Largest distance between equal bodies of two views \[m\], and whose.
    apart: Option<(f64, u32)>,
    /// Poses of a recording.
    poses: Option<Span>,
}

impl Live {
    fn new(name: &str, loader: Option<Loader>, start: &Start) -> Result<Live, Refused> {
        let given = loader.map(|loader| (name.to_owned(), loader));
        let mut live = Live {
            name: String::new(),
            title: String::new(),
            given,
            run: RunDefaults::default(),
            parameters: Parameters {
                dt: 0.01,
                substeps: 1,
                gravity: [0.0; 3],
                friction: None,
                law: crate::message::FrictionLaw::Cone,
            },
            display: Display::default(),
            panes: Vec::new(),
            step: 0,
            refused: false,
            picked: false,
        };
        live.open(name)?;
        if let Some(dt) = start.dt {
            live.parameters.dt = dt;
        }
        let own = live.run.solver.clone();
        let specs = match start.solvers.as_slice() {
            [] => vec![own],
            specs => specs.iter().take(2).cloned().collect(),
        };
        let choices = specs.iter().map(|spec| {
            let choice = Choice::of(spec, &live.run);
            Choice {
                tolerance: start.tolerance.unwrap_or(choice.tolerance),
                iterations: start.iterations.unwrap_or(choice.iterations),
                ..choice
            }
        });
        let choices: Vec<Choice> = choices.collect();
        live.fill(choices)?;
        Ok(live)
    }

    fn load(&mut self, name: &str) -> Result<Scene, Refused> {
        if let Some((given, loader)) = &mut self.given
            && given == name
        {
            return loader().map_err(Refused::Scene);
        }
        let size = name.split_once(':').map(|(_, size)| size.parse::<usize>());
        if let Some(Ok(size)) = size
            && MOST_BODIES < size
        {
            return Err(Refused::TooLarge {
                name: name.to_owned(),
            });
        }
        Ok(scenes::build(name)?)
    }

    /// Another scene with its own way of being run; two views keep their solvers.
    pub(crate) fn open(&mut self, name: &str) -> Result<(), Refused> {
        let scene = self.load(name)?;
        let run = scene.run.clone();
        let parameters = Parameters::of(&scene.world, run.dt);
        // What costs time on a large scene waits until it is asked for.
        let small = scene.world.bodies().len() <= SMALL;
        (self.display.contacts, self.display.history) = (small, small);
        let specs: Vec<String> = match self.panes.len() {
            2 => self.panes.iter().map(|p| p.choice.spec.clone()).collect(),
            _ => vec![run.solver.clone()],
        };
        let choices: Vec<Choice> = specs.iter().map(|spec| Choice::of(spec, &run)).collect();
        let title = scene.title.clone();
        let mut scenes = vec![scene];
        for _ in 1..choices.len() {
            scenes.push(self.load(name)?);
        }
        let pairs = scenes.into_iter().zip(choices);
        let panes: Result<Vec<Pane>, SpecError> = pairs
            .map(|(scene, choice)| Pane::new(scene, choice, &parameters, &self.display))
            .collect();
        let panes = panes?;
        (self.run, self.parameters) = (run, parameters);
        (self.name, self.title) = (name.to_owned(), title);
        self.begin(panes);
        Ok(())
    }

    /// The scene from time zero under given solvers.
    fn fill(&mut self, choices: Vec<Choice>) -> Result<(), Refused> {
        let name = self.name.clone();
        let mut panes = Vec::with_capacity(choices.len());
        for choice in choices {
            let scene = self.load(&name)?;
            self.title.clone_from(&scene.title);
            panes.push(Pane::new(scene, choice, &self.parameters, &self.display)?);
        }
        self.begin(panes);
        Ok(())
    }

    fn begin(&mut self, panes: Vec<Pane>) {
        self.panes = panes;
        self.step = 0;
        self.refused = false;
        self.pick(self.picked);
    }

    /// Back to time zero with everything that was chosen.
    pub(crate) fn reset(&mut self) -> Result<(), Refused> {
        self.fill(self.panes.iter().map(|pane| pane.choice.clone()).collect())
    }

    /// A second view starts from the state of the first.
    pub(crate) fn split(&mut self, on: bool) -> Result<(), Refused> {
        self.release();
        if !on {
            self.panes.truncate(1);
            return Ok(());
        }
        let [first] = self.panes.as_slice() else {
            return Ok(());
        };
        let other = match first.choice.spec.split(',').next() {
            Some("gauss-seidel") => "jacobi",
            _ => "gauss-seidel",
        };
        let (state, choice) = (first.world.state(), Choice::of(other, &self.run));
        let name = self.name.clone();
        let scene = self.load(&name)?;
        let mut second = Pane::new(scene, choice, &self.parameters, &self.display)?;
        second.world.restore(&state)?;
        self.panes.push(second);
        self.pick(self.picked);
        Ok(())
    }

    pub(crate) fn choose(&mut self, pane: usize, choice: Choice) -> Result<(), Refused> {
        let display = self.display;
        match self.panes.get_mut(pane) {
            Some(pane) => Ok(pane.choose(choice, &display)?),
            None => Err(NO_SECOND),
        }
    }

    pub(crate) fn set_parameters(&mut self, parameters: Parameters) {
        for pane in &mut self.panes {
            pane.apply(&parameters);
        }
        self.parameters = parameters;
    }

    pub(crate) fn set_display(&mut self, display: Display) -> Result<(), Refused> {
        self.display = display;
        let mut panes = self.panes.iter_mut();
        Ok(panes.try_for_each(|pane| pane.display(&display))?)
    }

    /// Whether somebody reads the numbers of one body.
    pub(crate) fn pick(&mut self, picked: bool) {
        self.picked = picked;
        self.panes.iter_mut().for_each(|pane| pane.pick(picked));
    }

    /// Takes hold of the same point of the same body in every view.
    pub(crate) fn grab(&mut self, pane: usize, body: u32, point: [f64; 3]) -> Result<(), Refused> {
        let Some(seen) = self.panes.get(pane) else {
            return Err(NO_SECOND);
        };
        if !seen.can_grab(body) {
            return Err(Refused::NotNow(
                "only bodies that forces move can be dragged",
            ));
        }
        let target = DVec3::from(point);
        let local = seen.local(body, target);
        let mut panes = self.panes.iter_mut();
        Ok(panes.try_for_each(|pane| pane.grab(body, local, target))?)
    }

    pub(crate) fn drag(&mut self, target: [f64; 3]) {
        let target = DVec3::from(target);
        self.panes.iter_mut().for_each(|pane| pane.drag(target));
    }

    pub(crate) fn release(&mut self) {
        self.panes.iter_mut().for_each(Pane::release);
    }

    /// One step of every view.
    pub(crate) fn advance(&mut self) -> Result<(), Refused> {
        if self.refused && 1 < self.panes.len() {
            return Err(Refused::NotNow(
                "a step was refused and the views are apart; reset to go on",
            ));
        }
        let (dt, next) = (self.parameters.dt, self.step + 1);
        for pane in &mut self.panes {
            if let Err(error) = pane.step(next, dt) {
                self.refused = true;
                return Err(Refused::Step {
                    step: next,
                    time: pane.world.time(),
                    solver: pane.choice.spec.clone(),
                    error: Box::new(error),
                });
            }
        }
        self.step = next;
        Ok(())
    }
}

impl Replay {
    pub(crate) fn seek(&mut self, frame: usize) -> Result<(), Refused> {
        let frame = frame.min(self.recording.times.len().saturating_sub(1));
        self.recording.show(frame)?;
        self.frame = frame;
        self.time = self.recording.times[frame];
        Ok(())
    }

    /// On by so many seconds; false at the end.
    pub(crate) fn advance(&mut self, seconds: f64) -> Result<bool, Refused> {
        let time = self.time + seconds;
        let next = self.recording.times.partition_point(|t| *t <= time);
        if self.frame + 1 < next {
            self.seek(next - 1)?;
        }
        self.time = time;
        Ok(self.frame + 1 < self.recording.times.len())
    }

    /// One frame on.
    pub(crate) fn step(&mut self, count: usize) -> Result<(), Refused> {
        self.seek(self.frame.saturating_add(count))
    }
}

impl Stage {
    pub(crate) fn new(show: Show) -> Result<(Stage, bool), Refused> {
        match show {
            Show::Live {
                name,
                loader,
                start,
            } => {
                let live = Live::new(&name, loader, &start)?;
                Ok((Stage::Live(Box::new(live)), !start.paused))
            }
            Show::Recording(recording) => {
                let mut replay = Replay {
                    recording,
                    frame: 0,
                    time: 0.0,
                };
                replay.seek(0)?;
                Ok((Stage::Replay(replay), true))
            }
            Show::Mirror(reflection) => Ok((Stage::Mirror(reflection), true)),
        }
    }

    pub(crate) fn layout(&self, epoch: u32) -> Layout {
        match self {
            Stage::Live(live) => {
                let world = &live.panes[0].world;
                Layout::of((epoch, &live.name, &live.title), world, None)
            }
            Stage::Replay(replay) => {
                let recording = &replay.recording;
                let names = (epoch, recording.name.as_str(), recording.title.as_str());
                Layout::of(names, &recording.world, Some(recording.tape()))
            }
            Stage::Mirror(mirror) => {
                let names = (epoch, mirror.name.as_str(), mirror.title.as_str());
                Layout::of(names, &mirror.world, Some(mirror.tape()))
            }
        }
    }

    pub(crate) fn head(&self, selected: Option<u32>, floats: &mut Floats) -> StageHead<'_> {
        match self {
            Stage::Live(live) => {
                let panes = live.panes.iter();
                StageHead {
                    time: live.panes[0].world.time(),
                    step: live.step,
                    panes: panes
                        .map(|pane| pane.head(&live.display, selected, floats))
                        .collect(),
                    apart: match live.panes.as_slice() {
                        [a, b] => Some(a.apart(b)),
                        _ => None,
                    },
                    poses: None,
                }
            }
            Stage::Replay(replay) => StageHead {
                time: replay.recording.times[replay.frame],
                step: replay.frame as u64,
                panes: Vec::new(),
                apart: None,
                poses: Some(poses(&replay.recording.world, floats)),
            },
            Stage::Mirror(mirror) => StageHead {
                time: mirror.time,
                step: mirror.shown,
                panes: Vec::new(),
                apart: None,
                poses: Some(poses(&mirror.world, floats)),
            },
        }
    }
}

/// Poses of the bodies that move.
fn poses(world: &World, floats: &mut Floats) -> Span {
    let bodies = world.bodies();
    floats.span(moving(world).into_iter().flat_map(|i| {
        let (x, q) = (bodies.position[i], bodies.orientation[i]);
        [x.x, x.y, x.z, q.x, q.y, q.z, q.w]
    }))
}
