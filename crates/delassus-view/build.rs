//! Builds again when the page was built: the embedded files are those of `page/dist`.

use std::path::Path;

fn main() {
    // A folder that does not exist would make every build a new one; until it does, its parent is watched.
    let dist = Path::new("page/dist");
    let watched = if dist.is_dir() { "page/dist" } else { "page" };
    println!("cargo:rerun-if-changed={watched}");
}
