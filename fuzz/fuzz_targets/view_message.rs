//! No text makes the parser of the page's messages panic, and what it accepts it accepts again.
#![no_main]

use delassus_view::message::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(command) = parse(text) else {
        return;
    };
    let again = serde_json::to_string(&command).expect("messages have only finite numbers");
    assert_eq!(parse(&again), Ok(command));
});
