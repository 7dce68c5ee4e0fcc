//! Ctrl-C and requests to end: the work under way is finished, and what there is is kept.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::note;

/// A flag that Ctrl-C or a request to end sets; asked twice, the process ends at once.
pub(crate) fn watch(quiet: bool) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let handler = move || {
        if raised.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler)
        && !quiet
    {
        note(&format!(
            "Ctrl-C will end the run without keeping anything: {error}"
        ));
    }
    flag
}
