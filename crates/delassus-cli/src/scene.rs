//! From a word on the command line to a scene: a scene or robot file, standard input, or a built-in scene.

use std::path::{Path, PathBuf};

use delassus::model::robot::{Base, Loss, Options};
use delassus::model::scene::{of_robot, parse_in};
use delassus::world::Scene;
use delassus::{World, scenes};
use serde::{Deserialize, Serialize};

use crate::input::{self, InputError};

/// Put in front of a name that is both a problem and a scene, to mean the built-in scene.
const SCENE: &str = "scene:";

/// Where a scene comes from, complete: a checkpoint carries it and needs no other file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// The built-in name with its size, or the file's name.
    pub(crate) name: String,
    /// The text of a scene or robot file; none for built-in scenes.
    pub(crate) text: Option<String>,
    /// Where the file lies, and with it robots and meshes that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<PathBuf>,
    /// Whether the root of a URDF robot is free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) floating: bool,
    /// Whether what a robot file holds and is not simulated is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
}

impl Source {
    /// Finds the scene a word means: standard input, a file, or a built-in scene where no file has the name.
    pub(crate) fn find(path: &Path) -> Result<Source, InputError> {
        let name = input::name(path);
        let made = |name: &str, text: Option<String>, folder: Option<PathBuf>| Source {
            name: name.to_owned(),
            text,
            folder,
            floating: false,
            lossy: false,
        };
        let built_in = |name: &str| made(name, None, None);
        if let Some(spec) = name.strip_prefix(SCENE) {
            return Ok(built_in(spec));
        }
        if name.starts_with(input::PROBLEM) {
            return Err(InputError::IsProblem { name });
        }
        if input::is_standard_input(path) {
            let text = input::text("standard input", input::standard_input()?)?;
            return Ok(made("standard input", Some(text), None));
        }
        if !is_file_name(path) && !path.is_file() {
            return Ok(built_in(&name));
        }
        let text = input::read_text(path)?;
        if text.trim_start().starts_with('{') {
            return Err(InputError::IsProblem { name });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        // A checkpoint may be resumed from anywhere.
        let folder = std::path::absolute(folder.join("x")).ok();
        let folder = folder.and_then(|x| x.parent().map(Path::to_owned));
        Ok(made(&name, Some(text), folder))
    }

    /// As JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("plain data has a JSON form")
    }

    /// Makes the scene.
    pub(crate) fn build(&self) -> Result<Scene, InputError> {
        let name = &self.name;
        let folder = self.folder.as_deref();
        match &self.text {
            Some(text) if text.trim_start().starts_with('<') || is_robot_name(name) => {
                let options = Options {
                    base: if self.floating {
                        Base::Floating
                    } else {
                        Base::Fixed
                    },
                    loss: if self.lossy {
                        Loss::Allow
                    } else {
                        Loss::Refuse
                    },
                };
                of_robot(text, name, folder, options).map_err(InputError::RobotScene)
            }
            Some(text) => parse_in(text, folder).map_err(|cause| InputError::Scene {
                name: name.clone(),
                cause,
            }),
            None => scenes::build(name).map_err(InputError::BuiltInScene),
        }
    }
}

/// Joints between bodies and inside robots.
pub(crate) fn joints(world: &World) -> usize {
    let robots = world.robots().iter().map(|robot| robot.joints().len());
    world.joints().len() + robots.sum::<usize>()
}

/// Whether a word of `compare` means a scene: by prefix, by ending, or by the name of a built-in scene that no
/// file takes.
pub(crate) fn is_scene(path: &Path) -> bool {
    let name = input::name(path);
    if name.starts_with(SCENE) || is_file_name(path) {
        return true;
    }
    let stem = name.split(':').next().unwrap_or_default();
    let known = scenes::exhibits().iter().any(|scene| scene.name == stem);
    known && !path.exists()
}

pub(crate) fn is_file_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending == Some("toml") || is_robot_name(&input::name(path))
}

fn is_robot_name(name: &str) -> bool {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["urdf", "xml", "mjcf"].contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_endings_decide_what_a_word_means() {
        assert!(is_scene(Path::new("scene:stack")) && is_scene(Path::new("a/b.toml")));
        assert!(!is_scene(Path::new("problem:stack")) && !is_scene(Path::new("a.json")));
        let found = Source::find(Path::new("scene:stack:3")).unwrap();
        assert_eq!((found.name.as_str(), found.text), ("stack:3", None));
        assert!(Source::find(Path::new("problem:stack")).is_err());
        assert!(Source::find(Path::new("no-such-file.toml")).is_err());
    }
}
