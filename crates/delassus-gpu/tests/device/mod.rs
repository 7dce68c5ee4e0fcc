//! The device that tests run on, or a line that says what was skipped.

use std::io::Write;

use delassus_gpu::Gpu;

/// The shared device; without one the test is skipped, and says so even where the output of tests is hidden.
pub(crate) fn gpu() -> Option<Gpu> {
    match Gpu::shared() {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let test = std::thread::current();
            let name = test.name().unwrap_or("a test");
            // Nothing to do where nobody can be told.
            let _ = writeln!(std::io::stderr(), "skipped {name}: {error}");
            None
        }
    }
}
