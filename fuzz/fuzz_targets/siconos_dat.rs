//! No text, however broken, makes the Siconos reader panic or reserve memory beyond its input.
#![no_main]

use delassus::problem::file::siconos::{DatFormat, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let _ = parse(text, DatFormat::ALL.get(usize::from(*choice) % 16).copied());
});
