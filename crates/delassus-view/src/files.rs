//! Files that a page asks for: the problem of the next substep, and the state to come back to elsewhere.

use std::sync::Arc;

use delassus::problem::file::json;
use delassus::scenes;
use delassus::world::State;
use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::message::Parameters;
use crate::refused::Refused;
use crate::simulation::to_json;
use crate::stage::Live;

const SCHEMA: &str = "delassus-state-1";

/// A file on its way to the page that asked for it.
#[derive(Debug, Serialize)]
pub(crate) struct File {
    #[serde(rename = "type")]
    kind: &'static str,
    /// That of the request.
    tag: u32,
    name: String,
    text: String,
}

/// A state with the scene and the way it was stepped; the first of two views.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    schema: String,
    pub(crate) scene: String,
    pub(crate) step: u64,
    pub(crate) parameters: Parameters,
    pub(crate) solver: Choice,
    pub(crate) state: State,
}

impl Saved {
    /// The text of a file, which must be of a scene.
    pub(crate) fn read(text: &str, scene: &str) -> Result<Saved, Refused> {
        let saved: Saved = serde_json::from_str(text).map_err(Refused::StateFile)?;
        if saved.schema != SCHEMA {
            let other = format!("its schema is {}, not {SCHEMA}", saved.schema);
            let error = <serde_json::Error as serde::de::Error>::custom(other);
            return Err(Refused::StateFile(error));
        }
        let checked = saved.parameters.check();
        checked.map_err(Refused::StateParameters)?;
        if spelled_out(&saved.scene) != spelled_out(scene) {
            return Err(Refused::StateOfOther {
                of: saved.scene,
                shown: scene.to_owned(),
            });
        }
        Ok(saved)
    }
}

impl File {
    /// The problem that the next substep of the first view solves, with its warm start.
    pub(crate) fn of_problem(live: &mut Live, tag: u32) -> Result<File, Refused> {
        let (step, dt) = (live.step + 1, live.parameters.dt);
        let h = dt / f64::from(live.parameters.substeps.max(1));
        let (stem, title) = (tame(&live.name), format!("{}, step {step}", live.name));
        let pane = &mut live.panes[0];
        let (problem, guess) = pane.world.problem(h).map_err(Refused::Problem)?;
        let notes = serde_json::json!({
            "scene": live.name,
            "step": step,
            "time": pane.world.time(),
            "dt": dt,
            "substeps": live.parameters.substeps,
            "solver": pane.choice,
        });
        Ok(File {
            kind: "file",
            tag,
            name: format!("{stem}-step-{step:06}.json"),
            text: json::save_with(&problem, &title, Some(&guess.lambda), Some(&notes)),
        })
    }

    /// The state of the first view.
    pub(crate) fn of_state(live: &Live, tag: u32) -> File {
        let pane = &live.panes[0];
        let saved = Saved {
            schema: SCHEMA.to_owned(),
            scene: live.name.clone(),
            step: live.step,
            parameters: live.parameters.clone(),
            solver: pane.choice.clone(),
            state: pane.world.state(),
        };
        File {
            kind: "file",
            tag,
            name: format!("{}-state-{:06}.json", tame(&live.name), live.step),
            text: to_json(&saved).to_string(),
        }
    }

    pub(crate) fn json(&self) -> Arc<str> {
        to_json(self)
    }
}

/// The same for all ways to name a scene: a file without its folder, a built-in scene with its sizes.
fn spelled_out(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let known = scenes::exhibits().iter().find(|known| known.name == last);
    match known.map(|known| (known.size, known.second)) {
        None | Some((0, _)) => last.to_owned(),
        Some((size, 0)) => format!("{last}:{size}"),
        Some((size, second)) => format!("{last}:{size}x{second}"),
    }
}

/// Letters of a file name that every system takes.
fn tame(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let tame = last.chars().map(|c| if plain(c) { c } else { '-' });
    tame.take(80).collect()
}
