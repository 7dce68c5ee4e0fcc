//! House rules as tests: layers, citations, paths, lengths, forbidden calls, stray paths, examples in the docs.
//!
//! Nothing here knows Rust's grammar; sources are read line by line after comments and texts are blanked.

mod code;
mod docs;
mod layers;
#[cfg(feature = "files")]
mod shown;
mod sources;

use self::code::functions;
use self::layers::crate_paths;
use self::sources::blanked;

#[test]
fn blanking_leaves_code_and_lines() {
    let code =
        "let a = \"// no\"; // fn b\nlet c = 'x'; let d = '\\''; /* {\n */ r#\"}\"\n\"# + b'\"'";
    let kept: String = blanked(code)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(kept, "let a = ; let c = ; let d = ; + b");
    assert_eq!(blanked(code).lines().count(), code.lines().count());
    let found = functions("fn a(x: [u8; 2]) -> u8;\nfn b<T>()\nwhere T: {\n {}\n}\nfn");
    assert_eq!(found, [(2, 4, "b".to_owned())]);
    let paths: Vec<String> = crate_paths("use crate::{law::{A, B}, math};crate::C")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(paths, ["law", "math", "C"]);
}
