//! Chains of 40 beads released level: every way of stepping them, by what a frame costs and what it gets wrong.

#[cfg(feature = "gpu")]
mod device;
mod runner;

use std::time::Instant;

use delassus::math::DVec3;
use serde::Serialize;

use super::figure::{self, Figure, Series};
use super::growth::exponent;
use crate::args::BenchArgs;
use crate::console::{Outcome, Printed};
use crate::refusal::{PictureError, Refusal};
use crate::solve::pool;
use crate::table::{self, Table};
use crate::{folder, progress};
use runner::{BEADS, Effort, Entry, Runner, direction, entries};

/// Tip of a chain along its release direction and up, seen from its fixed point, after so many frames: by a
/// Runge-Kutta integration in joint angles at 20 kHz that agrees with one at 10 kHz to 1e-9 m.
const REFERENCE: [(usize, f64, f64); 3] = [
    (30, 3.45933273, -1.22625),
    (60, -0.99903593, -3.35543277),
    (120, -3.57512670, -0.66907802),
];
const THREADS: [u16; 2] = [1, 2];
/// Frames over which joints and energy are watched: 10 s.
const LONG: usize = 600;
/// Frames of the full scene that are timed: 1 s, or as many as one waits for.
const TIMED: usize = 60;
const TIMED_SLOW: usize = 3;
/// Chains whose errors are taken, each released in its own direction: one team.
const WATCHED: usize = 8;
/// How heavy a heavy end is.
const HEAVY: f64 = 10_000.0;
/// Chains for the growth of time and memory: 10³ to 10⁶ beads.
const SIZES: [usize; 4] = [25, 250, 2500, 25_000];

/// One way of stepping the scene.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) substeps: u32,
    /// Mean over the frames of 10 s.
    pub(crate) substeps_taken: f64,
    pub(crate) iterations_per_substep: f64,
    /// Substeps of watched chains, within 10 s, that were taken at first order instead of second.
    pub(crate) coarse: usize,
    /// For each number of threads, the median and the longest of the timed frames \[ms\].
    pub(crate) frame_ms: Vec<f64>,
    pub(crate) longest_frame_ms: Vec<f64>,
    pub(crate) timed_frames: usize,
    pub(crate) same_bits: bool,
    /// Widest joint within 10 s \[m\].
    pub(crate) opening: f64,
    /// Distance of the tip from the reference at 0.5, 1 and 2 s \[m\].
    pub(crate) tip_errors: [f64; 3],
    /// Change of energy after 10 s, in units of the energy between release and rest.
    pub(crate) energy_change: f64,
    /// Widest joint within 2 s where the last bead is 10 000 times as heavy \[m\]; infinite where it was torn off.
    pub(crate) heavy_opening: f64,
}

/// Time and memory at one size.
#[derive(Clone, Debug, Serialize)]
struct Size {
    beads: usize,
    frame_ms: f64,
    bytes_per_bead: Option<f64>,
}

/// Costs of single parts, from differences of frames on one thread \[ms\].
#[derive(Clone, Debug, Serialize)]
struct Parts {
    direct_substep_ms: f64,
    rattle_substep_ms: f64,
    jacobi_sweep_ms: f64,
    gauss_seidel_sweep_ms: f64,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    chains: usize,
    beads: usize,
    threads: [u16; 2],
    rows: &'a [Row],
    parts: &'a Parts,
    growth: &'a [Size],
    growth_exponent: Option<f64>,
}

/// Runs everything.
pub(crate) fn run(args: &BenchArgs) -> Result<Printed, Refusal> {
    if let Some(out) = &args.out {
        folder::make("--out", out, args.force)?;
    }
    let count = if args.quick { 64 } else { args.chains as usize };
    let entries = entries();
    let sizes = if args.quick { &SIZES[..2] } else { &SIZES[..] };
    let bar = progress::bar(entries.len() + sizes.len(), args.quiet);
    let mut rows = Vec::new();
    for entry in &entries {
        bar.set_message(format!("{} × {}", entry.name, entry.substeps));
        rows.push(row(entry, count, args.quick)?);
        bar.inc(1);
    }
    let mut growth = Vec::new();
    let grown = entries.iter().find(|entry| entry.name == "rattle");
    for (entry, &chains) in grown
        .iter()
        .flat_map(|entry| sizes.iter().map(move |n| (entry, n)))
    {
        bar.set_message(format!("{} beads", chains * BEADS));
        growth.push(size(entry, chains)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let parts = parts(&rows);
    let points: Vec<(f64, f64)> = growth
        .iter()
        .map(|s| (s.beads as f64, s.frame_ms))
        .collect();
    let growth_exponent = exponent(&points);
    let document = Document {
        schema: "delassus-bench-chains-1",
        chains: count,
        beads: BEADS,
        threads: THREADS,
        rows: &rows,
        parts: &parts,
        growth: &growth,
        growth_exponent,
    };
    let json = serde_json::to_string_pretty(&document).expect("plain data has a JSON form") + "\n";
    if let Some(out) = &args.out {
        folder::write_whole(&out.join("chains.json"), &json)?;
        folder::write_whole(&out.join("chains.svg"), &picture(&rows)?)?;
    }
    let same = rows.iter().all(|row| row.same_bits);
    Ok(Printed {
        text: if args.json { json } else { text(&document) },
        outcome: if same {
            Outcome::Solved
        } else {
            Outcome::NotSolved
        },
    })
}

/// Times one way on the full scene and takes its errors on a few chains.
fn row(entry: &Entry, count: usize, quick: bool) -> Result<Row, Refusal> {
    let frames = match (entry.slow, quick) {
        (true, _) => TIMED_SLOW,
        (false, true) => TIMED / 4,
        (false, false) => TIMED,
    };
    let (mut frame_ms, mut longest_frame_ms) = (Vec::new(), Vec::new());
    let mut tips = Vec::new();
    for threads in THREADS {
        let mut runner = (entry.make)(count, 1.0)?;
        let times = pool(threads)?.install(|| timed(runner.as_mut(), frames))?;
        frame_ms.push(times[times.len() / 2]);
        longest_frame_ms.push(times.last().copied().unwrap_or(f64::NAN));
        tips.push((0..count).map(|i| runner.tip(i)).collect::<Vec<DVec3>>());
    }
    let errors = pool(1)?.install(|| errors(entry))?;
    let heavy_opening = pool(1)?.install(|| heavy(entry))?;
    Ok(Row {
        name: entry.name.clone(),
        substeps: entry.substeps,
        substeps_taken: errors.work.substeps / LONG as f64,
        iterations_per_substep: errors.work.iterations / errors.work.substeps,
        coarse: errors.work.coarse,
        frame_ms,
        longest_frame_ms,
        timed_frames: frames,
        same_bits: tips[0] == tips[1],
        opening: errors.opening,
        tip_errors: errors.tip,
        energy_change: errors.energy_change,
        heavy_opening,
    })
}

/// Times of frames \[ms\], sorted.
fn timed(runner: &mut dyn Runner, frames: usize) -> Result<Vec<f64>, Refusal> {
    let mut times = Vec::new();
    for _ in 0..frames {
        let begin = Instant::now();
        runner.frame()?;
        times.push(1e3 * begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The widest joint within 2 s under a heavy end.
fn heavy(entry: &Entry) -> Result<f64, Refusal> {
    let mut runner = (entry.make)(1, HEAVY)?;
    let mut opening = 0.0_f64;
    for _ in 0..120 {
        if runner.frame().is_err() {
            return Ok(f64::INFINITY);
        }
        opening = opening.max(runner.measure().1);
    }
    Ok(opening)
}

struct Errors {
    opening: f64,
    tip: [f64; 3],
    energy_change: f64,
    work: Effort,
}

/// What a few chains get wrong in 10 s.
fn errors(entry: &Entry) -> Result<Errors, Refusal> {
    let count = if entry.slow { 1 } else { WATCHED };
    let mut runner = (entry.make)(count, 1.0)?;
    let length = 0.1 * BEADS as f64 - 0.05;
    let anchor = |i: usize, tip: DVec3| tip - length * direction(i);
    let anchors: Vec<DVec3> = (0..count).map(|i| anchor(i, runner.tip(i))).collect();
    let start = runner.measure().0;
    let mut errors = Errors {
        opening: 0.0,
        tip: [f64::NAN; 3],
        energy_change: f64::NAN,
        work: Effort::default(),
    };
    for frame in 1..=LONG {
        let work = runner.frame()?;
        errors.work.substeps += work.substeps;
        errors.work.iterations += work.iterations;
        errors.work.coarse += work.coarse;
        errors.opening = errors.opening.max(runner.measure().1);
        if let Some(at) = REFERENCE.iter().position(|(when, ..)| *when == frame) {
            let (_, x, z) = REFERENCE[at];
            let error = |i: usize| {
                let from = runner.tip(i) - anchors[i];
                (from.dot(direction(i)) - x).hypot(from.z - z)
            };
            errors.tip[at] = (0..count).map(error).fold(0.0, f64::max);
        }
    }
    let unit: f64 = (0..BEADS).map(|i| 9.81 * 0.05 * (2 * i + 1) as f64).sum();
    errors.energy_change = (runner.measure().0 - start) / (unit * count as f64);
    Ok(errors)
}

/// A frame in the middle of the swing at another size, on one thread.
fn size(entry: &Entry, chains: usize) -> Result<Size, Refusal> {
    let mut runner = (entry.make)(chains, 1.0)?;
    let times = pool(1)?.install(|| timed(runner.as_mut(), 9))?;
    let beads = chains * BEADS;
    Ok(Size {
        beads,
        frame_ms: times[0],
        bytes_per_bead: runner.bytes().map(|bytes| bytes as f64 / beads as f64),
    })
}

fn parts(rows: &[Row]) -> Parts {
    let frame = |name: &str, substeps: u32| {
        let row = rows
            .iter()
            .find(|row| row.name == name && row.substeps == substeps);
        row.map_or(f64::NAN, |row| row.frame_ms[0])
    };
    let sweep = |name: &str| {
        let (few, many) = (format!("{name}, 10 sweeps"), format!("{name}, 40 sweeps"));
        (frame(&many, 4) - frame(&few, 4)) / (4.0 * 30.0)
    };
    Parts {
        direct_substep_ms: frame("direct", 16) / 16.0,
        rattle_substep_ms: frame("rattle", 16) / 16.0,
        jacobi_sweep_ms: sweep("jacobi"),
        gauss_seidel_sweep_ms: sweep("gauss-seidel"),
    }
}

fn text(document: &Document<'_>) -> String {
    let mut table = Table::new(&[
        "way",
        ">substeps",
        ">taken",
        ">iterations",
        ">1 thread ms",
        ">2 threads ms",
        ">longest ms",
        ">opening m",
        ">tip 0.5 s",
        ">tip 1 s",
        ">tip 2 s m",
        ">energy 10 s",
        ">heavy end m",
        ">coarse",
        "same bits",
    ]);
    for row in document.rows {
        let mut cells = vec![
            row.name.clone(),
            row.substeps.to_string(),
            format!("{:.1}", row.substeps_taken),
            format!("{:.2}", row.iterations_per_substep),
        ];
        cells.extend(row.frame_ms.iter().map(|ms| format!("{ms:.2}")));
        let longest = row.longest_frame_ms.last();
        cells.push(longest.map_or(String::new(), |ms| format!("{ms:.2}")));
        cells.push(table::number(row.opening));
        cells.extend(row.tip_errors.iter().map(|error| table::number(*error)));
        cells.push(format!("{:+.2} %", 100.0 * row.energy_change));
        cells.push(table::number(row.heavy_opening));
        cells.push(row.coarse.to_string());
        cells.push(if row.same_bits { "yes" } else { "no" }.to_owned());
        table.push(cells);
    }
    let Document {
        chains,
        beads,
        parts,
        ..
    } = document;
    let mut text = format!(
        "{chains} chains of {beads} beads, frames of 1/60 s\n{}\n",
        table.text()
    );
    text.push_str(&format!(
        "On one thread: direct substep {:.3} ms, rattle substep {:.3} ms, Jacobi sweep {:.3} ms, Gauss-Seidel sweep {:.3} ms\n\n",
        parts.direct_substep_ms, parts.rattle_substep_ms, parts.jacobi_sweep_ms, parts.gauss_seidel_sweep_ms
    ));
    let mut sizes = Table::new(&[
        ">beads",
        ">rattle frame ms",
        ">ns per bead",
        ">bytes per bead",
    ]);
    for size in document.growth {
        let bytes = size.bytes_per_bead;
        sizes.push(vec![
            size.beads.to_string(),
            format!("{:.3}", size.frame_ms),
            format!("{:.1}", 1e6 * size.frame_ms / size.beads as f64),
            bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.1}")),
        ]);
    }
    text.push_str(&sizes.text());
    if let Some(exponent) = document.growth_exponent {
        text.push_str(&format!("time grows as beads^{exponent:.2}\n"));
    }
    text
}

/// Error at 1 s against time per frame on two threads.
fn picture(rows: &[Row]) -> Result<String, PictureError> {
    let mut series: Vec<Series<'_>> = Vec::new();
    for row in rows {
        let point = (row.frame_ms[1], row.tip_errors[1]);
        match series.iter_mut().find(|series| series.name == row.name) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                name: &row.name,
                index: series.len(),
                points: vec![point],
                joined: true,
            }),
        }
    }
    figure::svg(&Figure {
        title: "Chains: error after one second against time per frame",
        size: "time per frame on two threads [ms]",
        value: "tip error at 1 s [m]",
        series,
        logarithmic: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_scene_is_timed_and_judged() {
        let all = entries();
        let rattle = all.iter().find(|entry| entry.name == "rattle").unwrap();
        let row = row(rattle, 9, true).unwrap();
        assert!(row.same_bits && row.frame_ms.len() == 2);
        assert!(row.tip_errors[1] < 2e-3, "{:?}", row.tip_errors);
        let svg = picture(std::slice::from_ref(&row)).unwrap();
        assert!(svg.contains("tip error") && !svg.contains("NaN"));
        let grown = size(rattle, 25).unwrap();
        assert!(grown.bytes_per_bead.unwrap() < 200.0);
    }
}
