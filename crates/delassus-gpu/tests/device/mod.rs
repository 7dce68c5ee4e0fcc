//! The device that tests run on, or a line that says what was skipped.

use delassus_gpu::Gpu;

/// The shared device; without one the test is skipped, and says so.
pub(crate) fn gpu() -> Option<Gpu> {
    match Gpu::shared() {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let test = std::thread::current();
            eprintln!("skipped {}: {error}", test.name().unwrap_or("a test"));
            None
        }
    }
}
