//! No bytes, however broken, make the FCLIB reader panic or reserve memory beyond its input.
#![no_main]

use delassus::problem::file::fclib::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // The fuzzer's own hook ends the process at every panic, even one that the reader catches on
    // purpose around the HDF5 library. A panic that escapes the reader is still reported.
    init: std::panic::set_hook(Box::new(|_| {})),
    |data: &[u8]| {
        let _ = read(data);
    }
);
