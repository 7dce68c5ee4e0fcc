//! A progress bar on standard error. It hides itself where standard error is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `length` runs, or a spinner with a clock for a single long one.
pub(crate) fn bar(length: usize, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let (bar, template) = if length == 1 {
        let template = "{spinner} {elapsed} {wide_msg}";
        (ProgressBar::new_spinner(), template)
    } else {
        let template = "{bar:30} {pos}/{len} runs  {elapsed} done, about {eta} left  {wide_msg}";
        (ProgressBar::new(length as u64), template)
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    // A template that does not parse costs the looks, not the run.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar over the steps of a run; its message says how fast time passes.
pub(crate) fn steps(first: u64, last: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(last).with_position(first);
    bar.reset_eta();
    let template = "{bar:20} {eta} left  {wide_msg}";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
