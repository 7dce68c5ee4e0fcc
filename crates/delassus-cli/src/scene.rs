//! From a word on the command line to a scene: a scene file, standard input, or a built-in scene.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use delassus::scenes;
use delassus::world::scene::{Scene, parse};
use serde::{Deserialize, Serialize};

use crate::console::Refusal;
use crate::input;

/// Put in front of a name that is both a problem and a scene, to mean the built-in scene.
const SCENE: &str = "scene:";

/// Where a scene comes from, complete: a checkpoint carries it and needs no other file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// The built-in name with its size, or the file's name.
    pub(crate) name: String,
    /// The text of a scene file; none for built-in scenes.
    pub(crate) text: Option<String>,
}

impl Source {
    /// Finds the scene a word means: standard input, a file, or a built-in scene where no file has the name.
    pub(crate) fn find(path: &Path) -> Result<Source, Refusal> {
        let name = input::name(path);
        let built_in = |name: &str| Source {
            name: name.to_owned(),
            text: None,
        };
        if let Some(spec) = name.strip_prefix(SCENE) {
            return Ok(built_in(spec));
        }
        if name.starts_with(input::PROBLEM) {
            return Err(Refusal(format!(
                "{name}: is a single problem, not a scene; use `delassus solve`"
            )));
        }
        if input::is_standard_input(path) {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            return match read {
                Ok(_) => Ok(Source {
                    name: "standard input".to_owned(),
                    text: Some(text),
                }),
                Err(error) => Err(Refusal(format!(
                    "standard input: cannot be read to its end: {error}"
                ))),
            };
        }
        if !is_file_name(path) && !path.is_file() {
            return Ok(built_in(&name));
        }
        match fs::read_to_string(path) {
            Ok(text) => Ok(Source {
                name,
                text: Some(text),
            }),
            Err(error) => Err(Refusal::io(path, "read", &error)),
        }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Makes the scene.
    pub(crate) fn build(&self) -> Result<Scene, Refusal> {
        let name = &self.name;
        match &self.text {
            Some(text) => parse(text).map_err(|error| Refusal(format!("{name}: {error}"))),
            None => scenes::build(name)
                .map_err(|error| Refusal(format!("{error} (see `delassus list scenes`)"))),
        }
    }
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

fn is_file_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
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
