//! What is on: a scene stepped under one or two solvers, or a recording.

use delassus::scenes;
use delassus::world::{RunDefaults, Scene};
use glam::DVec3;
use serde::Serialize;

use crate::choice::{Catalogue, Choice, Start};
use crate::files::Saved;
use crate::frame::Floats;
use crate::geometry::Layout;
use crate::message::{Display, MOST_BODIES, Parameters};
use crate::mirror::Reflection;
use crate::numbers::Sample;
use crate::pane::{Pane, PaneHead};
use crate::past::{Moment, Past};
use crate::recording::{Recording, ReplayHead};
use crate::refused::Refused;
use crate::{Loader, Show};

/// Bodies up to which forces and residuals are shown unasked.
const SMALL: usize = 2000;

/// Moments kept of each simulated second.
const MOMENTS: f64 = 60.0;

/// One view where two are needed.
const NO_SECOND: Refused = Refused::NotNow("there is no second view; split first");

/// A scene under one or two solvers.
pub(crate) struct Live {
    pub(crate) name: String,
    title: String,
    /// Name and maker of the scene the program was given, where it is no built-in one.
    given: Option<(String, Loader)>,
    run: RunDefaults,
    pub(crate) parameters: Parameters,
    pub(crate) display: Display,
    pub(crate) panes: Vec<Pane>,
    catalogue: Catalogue,
    past: Past,
    pub(crate) step: u64,
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
    pub(crate) display: Display,
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
    /// First and last step that a live run can go back to.
    past: Option<[u64; 2]>,
    /// What a recording, or the world of another program, shows.
    replay: Option<ReplayHead>,
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
            catalogue: start.catalogue.clone(),
            past: Past::default(),
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
            let tolerance = start.tolerance.unwrap_or(live.run.tolerance);
            Choice {
                spec: spec.clone(),
                tolerance,
                iterations: start
                    .iterations
                    .unwrap_or_else(|| live.run.sweeps_to(tolerance)),
            }
        });
        let choices: Vec<Choice> = choices.collect();
        live.fill(choices)?;
        if let Some(text) = &start.state {
            let mut saved = Saved::read(text, &live.name)?;
            // What was asked for by hand is meant.
            saved.parameters.dt = start.dt.unwrap_or(saved.parameters.dt);
            live.take_up(saved)?;
        }
        Ok(live)
    }

    /// Goes on from a state that was saved.
    fn take_up(&mut self, saved: Saved) -> Result<(), Refused> {
        self.set_parameters(saved.parameters);
        for pane in &mut self.panes {
            pane.world.restore(&saved.state)?;
        }
        self.step = saved.step;
        self.past.clear();
        self.remember();
        Ok(())
    }

    fn load(&mut self, name: &str) -> Result<Scene, Refused> {
        if let Some((given, loader)) = &mut self.given
            && given == name
        {
            return loader().map_err(Refused::Scene);
        }
        let too_large = |bodies| Refused::TooLarge {
            name: name.to_owned(),
            bodies,
        };
        // What is far too large is not even built: a scene grows about as its size does.
        let about = expected_bodies(name);
        if MOST_BODIES < about / 2 {
            return Err(too_large(about));
        }
        let scene = scenes::build(name)?;
        match scene.world.bodies().len() {
            bodies if MOST_BODIES < bodies => Err(too_large(bodies)),
            _ => Ok(scene),
        }
    }

    /// Another scene with its own way of being run; two views keep their solvers.
    pub(crate) fn open(&mut self, name: &str) -> Result<(), Refused> {
        let scene = self.load(name)?;
        let run = scene.run.clone();
        let parameters = Parameters::of(&scene.world, run.dt);
        // What costs time on a large scene waits until it is asked for.
        self.display.contacts = scene.world.bodies().len() <= SMALL;
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
        let how = (&self.display, self.catalogue.make);
        let panes: Result<Vec<Pane>, Refused> = pairs
            .map(|(scene, choice)| Pane::new(scene, choice, &parameters, how))
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
            let how = (&self.display, self.catalogue.make);
            panes.push(Pane::new(scene, choice, &self.parameters, how)?);
        }
        self.begin(panes);
        Ok(())
    }

    fn begin(&mut self, panes: Vec<Pane>) {
        self.panes = panes;
        self.step = 0;
        self.refused = false;
        self.pick(self.picked);
        self.past.clear();
        self.remember();
    }

    /// Keeps what there is to see, to come back to.
    pub(crate) fn remember(&mut self) {
        let bodies = self.panes.first().map(|pane| pane.world.bodies().len());
        if bodies.is_some_and(Past::fits) {
            let panes = self.panes.iter().map(Pane::remember).collect();
            let step = self.step;
            self.past.push(Moment { step, panes });
        }
    }

    /// Back to a step that is remembered, or the one before it.
    pub(crate) fn seek(&mut self, step: u64) -> Result<(), Refused> {
        let Some(moment) = self.past.at(step) else {
            return Err(Refused::NotNow("this step is no longer remembered"));
        };
        for (pane, seen) in self.panes.iter_mut().zip(&moment.panes) {
            pane.go_back(seen)?;
        }
        self.step = moment.step;
        self.refused = false;
        Ok(())
    }

    /// Does something to every view, which is then what there is to come back to.
    pub(crate) fn change(
        &mut self,
        change: impl Fn(&mut Pane) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.release();
        self.panes.iter_mut().try_for_each(change)?;
        self.remember();
        Ok(())
    }

    /// Plotted numbers of the steps after one, of every view.
    pub(crate) fn samples_after(&self, step: u64) -> Vec<Vec<Sample>> {
        let panes = self.panes.iter();
        panes.map(|pane| pane.samples_after(step)).collect()
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
        } else if let [first] = self.panes.as_slice() {
            // The second is one that answers quickly whatever the scene: sweeps may take seconds where they do not converge.
            let other = match first.choice.spec.split(',').next() {
                Some("newton") => "auto",
                _ => "newton",
            };
            let (state, choice) = (first.world.state(), Choice::of(other, &self.run));
            let name = self.name.clone();
            let scene = self.load(&name)?;
            let how = (&self.display, self.catalogue.make);
            let mut second = Pane::new(scene, choice, &self.parameters, how)?;
            second.world.restore(&state)?;
            self.panes.push(second);
            self.pick(self.picked);
        }
        self.past.clear();
        self.remember();
        Ok(())
    }

    pub(crate) fn choose(&mut self, pane: usize, choice: Choice) -> Result<(), Refused> {
        let display = self.display;
        match self.panes.get_mut(pane) {
            Some(pane) => pane.choose(choice, &display),
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
        panes.try_for_each(|pane| pane.display(&display))
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
        let every = (1.0 / (MOMENTS * dt)).round().max(1.0) as u64;
        if next.is_multiple_of(every) {
            self.remember();
        }
        Ok(())
    }
}

/// Bodies that a built-in scene of some size has, about: from those of its own size, or by its two sizes.
fn expected_bodies(name: &str) -> usize {
    let (stem, size) = name.split_once(':').unwrap_or((name, ""));
    let known = scenes::exhibits().iter().find(|known| known.name == stem);
    let Some(known) = known.filter(|known| 0 < known.size) else {
        return 0;
    };
    let mut sizes = size.split('x').map(|size| size.parse::<usize>().ok());
    let first = sizes.next().flatten().unwrap_or(known.size);
    let second = sizes.next().flatten().unwrap_or(known.second);
    if 0 < known.second {
        return first.saturating_mul(second);
    }
    // Those of its own size are few enough to be built.
    let bodies = scenes::build(stem).map_or(0, |scene| scene.world.bodies().len());
    first.saturating_mul(bodies) / known.size
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
                    display: Display::default(),
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
                    past: live.past.span(),
                    replay: None,
                }
            }
            Stage::Replay(replay) => StageHead {
                time: replay.recording.times[replay.frame],
                step: replay.frame as u64,
                panes: Vec::new(),
                apart: None,
                past: None,
                replay: Some(ReplayHead::of(
                    (&replay.recording.world, replay.recording.acting.as_ref()),
                    &replay.display,
                    selected,
                    floats,
                )),
            },
            Stage::Mirror(mirror) => StageHead {
                time: mirror.time,
                step: mirror.shown,
                panes: Vec::new(),
                apart: None,
                past: None,
                replay: Some(ReplayHead::of(
                    (&mirror.world, None),
                    &Display::default(),
                    selected,
                    floats,
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests;
