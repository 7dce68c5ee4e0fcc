//! The thread that owns the worlds: takes commands, keeps time, publishes what pages see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use serde::Serialize;
use tokio::sync::{broadcast, watch};

use crate::choice::Choice;
use crate::files::File;
use crate::frame::{Floats, encode};
use crate::message::{Command, Display, Parameters};
use crate::numbers::Sample;
use crate::refused::Refused;
use crate::stage::{Live, Stage, StageHead};

/// Frames are not sent more often than this.
const FRAME: Duration = Duration::from_micros(16_000);
/// Longest stretch of stepping between two looks at the commands, where one step does not take longer.
const STRETCH: Duration = Duration::from_millis(30);
/// Longest answer to a request for several steps.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the time is looked at while nothing runs.
const IDLE: Duration = Duration::from_millis(200);
/// The rate of time is measured over this long \[s\].
const WINDOW: f64 = 0.5;

/// A frame ready to send.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) number: u64,
    pub(crate) bytes: Bytes,
}

/// What pages hear.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    pub(crate) layout: watch::Sender<Arc<str>>,
    pub(crate) settings: watch::Sender<Arc<str>>,
    pub(crate) frames: watch::Sender<Encoded>,
    pub(crate) notices: broadcast::Sender<Arc<str>>,
    /// Pages that look on; nothing moves while there is none.
    pub(crate) viewers: Arc<AtomicUsize>,
}

/// A message in words.
#[derive(Debug, Serialize)]
pub(crate) struct Notice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

/// A notice as the page reads it.
pub(crate) fn notice(text: &str) -> Arc<str> {
    let kind = "notice";
    to_json(&Notice { kind, text })
}

pub(crate) fn to_json(value: &impl Serialize) -> Arc<str> {
    serde_json::to_string(value)
        .expect("messages are plain data with names for keys")
        .into()
}

/// What is chosen, so that every page shows the same and a new one begins with it.
#[derive(Serialize)]
struct Settings<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    playing: bool,
    speed: f64,
    selected: Option<u32>,
    panes: Vec<&'a Choice>,
    parameters: Option<&'a Parameters>,
    display: Option<&'a Display>,
}

/// Plotted numbers that a page has missed.
#[derive(Serialize)]
struct Samples {
    #[serde(rename = "type")]
    kind: &'static str,
    epoch: u32,
    panes: Vec<Vec<Sample>>,
}

#[derive(Serialize)]
struct Head<'a> {
    epoch: u32,
    frame: u64,
    playing: bool,
    /// Simulated seconds per second, measured.
    rate: f64,
    #[serde(flatten)]
    stage: StageHead<'a>,
}

/// The simulation with its clock.
pub(crate) struct Simulation {
    stage: Stage,
    outputs: Outputs,
    playing: bool,
    speed: f64,
    selected: Option<u32>,
    epoch: u32,
    frame: u64,
    /// Simulated time that is due \[s\].
    debt: f64,
    /// When the debt was last counted.
    counted: Instant,
    published: Instant,
    /// Something changed since the last frame.
    dirty: bool,
    rate: Rate,
}

/// Simulated seconds per second over the last window.
struct Rate {
    since: Instant,
    simulated: f64,
    value: f64,
}

impl Simulation {
    pub(crate) fn new((stage, playing): (Stage, bool), outputs: Outputs) -> Simulation {
        let now = Instant::now();
        Simulation {
            stage,
            outputs,
            playing,
            speed: 1.0,
            selected: None,
            epoch: 0,
            frame: 0,
            debt: 0.0,
            counted: now,
            published: now,
            dirty: true,
            rate: Rate::new(),
        }
    }

    /// Runs until nobody can send commands any more.
    pub(crate) fn run(mut self, commands: Receiver<Command>) {
        self.publish_layout();
        self.publish_settings();
        loop {
            match commands.recv_timeout(self.pause()) {
                Ok(command) => {
                    self.obey(command);
                    while let Ok(command) = commands.try_recv() {
                        self.obey(command);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.advance();
            if self.dirty && FRAME <= self.published.elapsed() {
                self.publish_frame();
            }
        }
    }

    fn runs(&self) -> bool {
        self.playing && 0 < self.outputs.viewers.load(Ordering::Relaxed)
    }

    /// How long there is nothing to do.
    fn pause(&self) -> Duration {
        let frame = FRAME.saturating_sub(self.published.elapsed());
        if !self.runs() {
            return if self.dirty { frame } else { IDLE };
        }
        let step = match &self.stage {
            Stage::Live(live) => live.parameters.dt,
            Stage::Replay(_) | Stage::Mirror(_) => self.speed * FRAME.as_secs_f64(),
        };
        let wait = ((step - self.debt) / self.speed).clamp(0.0, 1.0);
        let wait = wait - self.counted.elapsed().as_secs_f64();
        let wait = Duration::from_secs_f64(wait.max(0.0));
        if self.dirty { wait.min(frame) } else { wait }
    }

    /// Steps until the simulated time has caught up, or until it is time for a frame.
    fn advance(&mut self) {
        let elapsed = self.counted.elapsed().as_secs_f64();
        self.counted = Instant::now();
        if !self.runs() {
            self.debt = 0.0;
            return;
        }
        self.debt += elapsed * self.speed;
        let before = self.debt;
        let result = match &mut self.stage {
            Stage::Live(live) => {
                let result = catch_up(live, &mut self.debt);
                self.rate.add(before - self.debt);
                // What cannot be stepped in time is not owed for ever: the page says how slow time runs.
                let most = live.parameters.dt.max(STRETCH.as_secs_f64() * self.speed);
                self.debt = self.debt.min(most);
                result.map(|stepped| self.dirty |= stepped)
            }
            Stage::Replay(replay) => {
                let seconds = std::mem::take(&mut self.debt);
                self.rate.add(seconds);
                self.dirty = true;
                let result = replay.advance(seconds);
                if let Ok(false) = result {
                    self.playing = false;
                    self.publish_settings();
                }
                result.map(|_| ())
            }
            Stage::Mirror(mirror) => {
                self.debt = 0.0;
                let before = mirror.time;
                // Time runs as fast as the program steps, and stands while it does nothing.
                let seen = mirror.look();
                self.rate.add((mirror.time - before).max(0.0));
                self.dirty |= seen;
                Ok(())
            }
        };
        if let Err(refused) = result {
            self.playing = false;
            self.dirty = true;
            self.tell(&refused.to_string());
            self.publish_settings();
        }
    }

    fn obey(&mut self, command: Command) {
        self.dirty = true;
        let result = match command {
            Command::Ack { .. } => Ok(()),
            Command::Drag { target } => {
                if let Stage::Live(live) = &mut self.stage {
                    live.drag(target);
                }
                return;
            }
            Command::Problem { .. } | Command::State { .. } | Command::Samples { .. } => {
                self.answer(&command)
            }
            command => {
                let result = self.change(command);
                self.publish_settings();
                result
            }
        };
        if let Err(refused) = result {
            self.tell(&refused.to_string());
        }
    }

    /// Commands after which pages must be told what is chosen.
    fn change(&mut self, command: Command) -> Result<(), Refused> {
        match command {
            Command::Play { on } => {
                self.playing = on;
                self.rate = Rate::new();
                if let (Stage::Live(live), false) = (&mut self.stage, on) {
                    live.remember();
                }
                if let Stage::Replay(replay) = &mut self.stage
                    && on
                    && !replay.advance(0.0)?
                {
                    replay.seek(0)?;
                }
                return Ok(());
            }
            Command::Speed { factor } => {
                self.speed = factor;
                return Ok(());
            }
            Command::Select { body } => {
                self.selected = body;
                if let Stage::Live(live) = &mut self.stage {
                    live.pick(body.is_some());
                }
                return Ok(());
            }
            _ => {}
        }
        match &mut self.stage {
            Stage::Live(_) => self.change_live(command),
            Stage::Replay(_) => self.change_replay(command),
            Stage::Mirror(_) => match command {
                Command::Display(_) | Command::Release {} => Ok(()),
                _ => Err(Refused::NotNow(
                    "a program steps this world: it can be looked at, but nothing in it can be changed",
                )),
            },
        }
    }

    fn change_replay(&mut self, command: Command) -> Result<(), Refused> {
        let Stage::Replay(replay) = &mut self.stage else {
            return Ok(());
        };
        match command {
            Command::Seek { frame } => {
                self.playing = false;
                replay.seek(usize::try_from(frame).unwrap_or(usize::MAX))
            }
            Command::Step { count } => {
                self.playing = false;
                replay.step(count as usize)
            }
            Command::Reset {} => replay.seek(0),
            Command::Display(display) => {
                replay.display = display;
                Ok(())
            }
            Command::Release {} => Ok(()),
            _ => Err(Refused::NotNow(
                "this is a recording: it can be played, but nothing in it can be changed",
            )),
        }
    }

    fn change_live(&mut self, command: Command) -> Result<(), Refused> {
        let Stage::Live(live) = &mut self.stage else {
            return Ok(());
        };
        match command {
            Command::Step { count } => {
                self.playing = false;
                let done = several(live, count);
                live.remember();
                done
            }
            Command::Reset {} => {
                live.reset()?;
                self.begin();
                Ok(())
            }
            Command::Scene { name } => {
                live.open(&name)?;
                live.pick(false);
                self.selected = None;
                self.begin();
                Ok(())
            }
            Command::Solver {
                pane,
                spec,
                tolerance,
                iterations,
            } => live.choose(
                pane,
                Choice {
                    spec,
                    tolerance,
                    iterations,
                },
            ),
            Command::Split { on } => live.split(on),
            Command::Parameters(parameters) => {
                live.set_parameters(parameters);
                Ok(())
            }
            Command::Display(display) => live.set_display(display),
            Command::Grab { pane, body, point } => live.grab(pane, body, point),
            Command::Release {} => {
                live.release();
                Ok(())
            }
            Command::Seek { frame } => {
                self.playing = false;
                live.seek(frame)
            }
            Command::Joint { dial, position } => {
                self.playing = false;
                live.change(|pane| pane.place_joint(dial as usize, position))
            }
            Command::Keyframe { index } => {
                self.playing = false;
                live.change(|pane| pane.keyframe(index as usize))
            }
            Command::Actuator { dial, value } => {
                let mut panes = live.panes.iter_mut();
                panes.try_for_each(|pane| pane.drive(dial as usize, value))
            }
            _ => Ok(()),
        }
    }

    /// Answers a page that asks for something.
    fn answer(&mut self, command: &Command) -> Result<(), Refused> {
        let Stage::Live(live) = &mut self.stage else {
            return Ok(());
        };
        let answer = match command {
            Command::Problem { tag } => File::of_problem(live, *tag)?.json(),
            Command::State { tag } => File::of_state(live, *tag).json(),
            Command::Samples { after } => to_json(&Samples {
                kind: "samples",
                epoch: self.epoch,
                panes: live.samples_after(*after),
            }),
            _ => return Ok(()),
        };
        // Nobody may be listening.
        let _ = self.outputs.notices.send(answer);
        Ok(())
    }

    /// A new time zero.
    fn begin(&mut self) {
        self.debt = 0.0;
        self.publish_layout();
    }

    fn tell(&self, text: &str) {
        // Nobody may be listening.
        let _ = self.outputs.notices.send(notice(text));
    }

    fn publish_layout(&mut self) {
        self.epoch += 1;
        let layout = to_json(&self.stage.layout(self.epoch));
        self.outputs.layout.send_replace(layout);
        self.dirty = true;
    }

    fn publish_settings(&self) {
        let settings = match &self.stage {
            Stage::Live(live) => Settings {
                kind: "settings",
                playing: self.playing,
                speed: self.speed,
                selected: self.selected,
                panes: live.panes.iter().map(|pane| &pane.choice).collect(),
                parameters: Some(&live.parameters),
                display: Some(&live.display),
            },
            stage => Settings {
                kind: "settings",
                playing: self.playing,
                speed: self.speed,
                selected: self.selected,
                panes: Vec::new(),
                parameters: None,
                display: match stage {
                    Stage::Replay(replay) => Some(&replay.display),
                    _ => None,
                },
            },
        };
        self.outputs.settings.send_replace(to_json(&settings));
    }

    fn publish_frame(&mut self) {
        self.frame += 1;
        let mut floats = Floats::default();
        let head = Head {
            epoch: self.epoch,
            frame: self.frame,
            playing: self.playing,
            rate: if self.playing { self.rate.value } else { 0.0 },
            stage: self.stage.head(self.selected, &mut floats),
        };
        let encoded = Encoded {
            number: self.frame,
            bytes: encode(&head, &floats).into(),
        };
        self.outputs.frames.send_replace(encoded);
        self.published = Instant::now();
        self.dirty = false;
    }
}

/// So many steps, unless they take too long.
fn several(live: &mut Live, count: u32) -> Result<(), Refused> {
    let begin = Instant::now();
    for done in 0..count {
        if PATIENCE < begin.elapsed() {
            return Err(Refused::TooLong { done, count });
        }
        live.advance()?;
    }
    Ok(())
}

/// Steps while time is owed, at most one stretch; true where a step was taken.
fn catch_up(live: &mut Live, debt: &mut f64) -> Result<bool, Refused> {
    let begin = Instant::now();
    let dt = live.parameters.dt;
    let mut stepped = false;
    // A hair of rounding does not cost a step.
    while dt * (1.0 - 1e-9) <= *debt {
        live.advance()?;
        *debt -= dt;
        stepped = true;
        if STRETCH < begin.elapsed() {
            break;
        }
    }
    Ok(stepped)
}

impl Rate {
    fn new() -> Rate {
        Rate {
            since: Instant::now(),
            simulated: 0.0,
            value: 0.0,
        }
    }

    fn add(&mut self, simulated: f64) {
        self.simulated += simulated;
        let elapsed = self.since.elapsed().as_secs_f64();
        if WINDOW < elapsed {
            self.value = self.simulated / elapsed;
            self.simulated = 0.0;
            self.since = Instant::now();
        }
    }
}
