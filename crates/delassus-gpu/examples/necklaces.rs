//! The scene of the seed on the device: 2 500 chains of 40 ball-jointed beads, or as many as are named.
//!
//! `cargo run --release -p delassus-gpu --example necklaces -- CHAINS BEADS FRAMES`
#![allow(clippy::print_stdout, reason = "an example shows what it did")]

use std::time::Instant;

use delassus_gpu::{ChainOptions, ChainScene, Gpu, GpuChains, GpuError};

fn main() -> Result<(), GpuError> {
    let mut sizes = std::env::args().skip(1).map(|text| text.parse().ok());
    let mut size = |usual: usize| sizes.next().flatten().unwrap_or(usual);
    let (chains, beads, frames) = (size(2500), size(40), size(60));
    let gpu = Gpu::open()?;
    let options = ChainOptions::default();
    let mut scene = GpuChains::new(&gpu, &ChainScene::necklaces(chains, beads), options)?;
    scene.step(1)?;
    let start = Instant::now();
    let report = scene.step(frames.max(1))?;
    let each = 1e3 * start.elapsed().as_secs_f64() / frames.max(1) as f64;
    let tip = scene.read()?.positions[beads.max(1) - 1];
    println!("{}", gpu.name());
    println!(
        "{chains} chains of {beads}, {} substeps of {} sweeps: {each:.2} ms for each of {frames} frames",
        options.substeps, options.sweeps
    );
    println!(
        "law {:.1e} m/s, joints open by {:.1e} m, at worst {:.1e} m; first tip at ({:.4}, {:.4})",
        report.law, report.opening, report.worst_opening, tip[0], tip[2]
    );
    Ok(())
}
