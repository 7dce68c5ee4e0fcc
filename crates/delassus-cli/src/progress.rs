//! A progress bar on standard error. It hides itself where standard error is no terminal.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// How often a bar moves where nothing happens.
const TICK: Duration = Duration::from_millis(200);

/// A bar over `length` runs, or a spinner with a clock for a single long one.
pub(crate) fn bar(length: usize, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = if length == 1 {
        styled(ProgressBar::new_spinner(), "{spinner} {elapsed} {wide_msg}")
    } else {
        styled(
            ProgressBar::new(length as u64),
            "{bar:30} {pos}/{len} runs  {elapsed} done, about {eta} left  {wide_msg}",
        )
    };
    bar.enable_steady_tick(TICK);
    bar
}

/// A bar over the steps of a run; its message says how fast time passes.
pub(crate) fn steps(first: u64, last: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(last).with_position(first);
    bar.reset_eta();
    styled(bar, "{bar:20} {eta} left  {wide_msg}")
}

/// A bar over runs of two kinds that take very different times; it forecasts what may be left of both.
pub(crate) fn forecast(kinds: [SimilarRuns; 2], quiet: bool) -> Forecast {
    let runs: usize = kinds.iter().map(|kind| kind.left).sum();
    let bar = match quiet {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(runs as u64),
    };
    let bar = styled(
        bar,
        "{bar:30} {pos}/{len} runs  {elapsed} done, {prefix}  {wide_msg}",
    );
    bar.enable_steady_tick(TICK);
    let forecast = Forecast { bar, kinds };
    forecast.tell();
    forecast
}

/// A template that does not parse costs the looks, not the run.
fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Runs that take about the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimilarRuns {
    left: usize,
    /// Time of one \[s\]: a guess, then what the last ones took on average.
    seconds: f64,
    done: usize,
}

/// Runs over which times are averaged: what comes next is like what came last.
const MEMORY: usize = 40;

/// Progress over runs of two kinds.
pub(crate) struct Forecast {
    pub(crate) bar: ProgressBar,
    kinds: [SimilarRuns; 2],
}

impl Forecast {
    /// A run of this kind took so long.
    pub(crate) fn done(&mut self, kind: usize, took: Duration) {
        self.kinds[kind].add(took);
        self.bar.inc(1);
        self.tell();
    }

    /// Runs of this kind that will not be done.
    pub(crate) fn skip(&mut self, kind: usize, runs: usize) {
        let kind = &mut self.kinds[kind];
        kind.left = kind.left.saturating_sub(runs);
        self.bar.inc(runs as u64);
        self.tell();
    }

    fn tell(&self) {
        let left: f64 = self.kinds.iter().map(SimilarRuns::remaining).sum();
        let left = HumanDuration(Duration::from_secs_f64(left));
        self.bar.set_prefix(format!("about {left:#} left"));
    }
}

impl SimilarRuns {
    /// So many runs, each of which takes so many seconds, as far as one can guess.
    pub(crate) fn new(left: usize, seconds: f64) -> SimilarRuns {
        SimilarRuns {
            left,
            seconds,
            done: 0,
        }
    }

    fn add(&mut self, took: Duration) {
        self.left = self.left.saturating_sub(1);
        self.done += 1;
        let weight = 1.0 / self.done.min(MEMORY) as f64;
        self.seconds += weight * (took.as_secs_f64() - self.seconds);
    }

    fn remaining(&self) -> f64 {
        self.left as f64 * self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_counts_until_a_run_is_done_and_the_last_runs_count_most() {
        let mut kind = SimilarRuns::new(100, 2.0);
        assert_eq!(kind.remaining(), 200.0);
        kind.add(Duration::from_millis(100));
        assert!(
            (kind.remaining() - 9.9).abs() < 1e-9,
            "{}",
            kind.remaining()
        );
        for _ in 0..90 {
            kind.add(Duration::from_secs(1));
        }
        assert!((kind.remaining() - 9.0).abs() < 0.2, "{}", kind.remaining());
    }
}
