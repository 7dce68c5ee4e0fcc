//! Scenes by name, for benches that step worlds.

use std::path::Path;

use delassus::model::robot::Options;
use delassus::model::scene::of_robot;
use delassus::scenes;
use delassus::world::Scene;

/// The number and the scenes that were typed, or the usual ones.
pub(crate) fn asked(mut count: usize, usual: &[&str]) -> (usize, Vec<String>) {
    let mut names = Vec::new();
    for word in std::env::args().skip(1).filter(|word| word != "--bench") {
        match word.parse() {
            Ok(number) => count = number,
            Err(_) => names.push(word),
        }
    }
    if names.is_empty() {
        names.extend(usual.iter().map(|name| (*name).to_owned()));
    }
    (count, names)
}

/// A scene that is built in, or that of a robot file.
pub(crate) fn scene(name: &str) -> Scene {
    if !Path::new(name).is_file() {
        return scenes::build(name).expect("the scene exists");
    }
    let text = std::fs::read_to_string(name).expect("the file can be read");
    let folder = Path::new(name).parent();
    of_robot(&text, name, folder, Options::default()).expect("the file is a robot")
}

/// Its name without the folder and the ending of a file.
pub(crate) fn short(name: &str) -> &str {
    let stem = Path::new(name).file_stem();
    stem.and_then(|name| name.to_str()).unwrap_or(name)
}
