//! The scene on the graphics processor, where there is an adapter: whole frames there, one read-back for each.

use delassus::chains::Chain;
use delassus::math::DVec3;
use delassus::problem::stabilise::Stabilise;
use delassus_gpu::{ChainOptions, ChainScene, ChainState, Gpu, GpuChains, GpuError};

use super::runner::{BEADS, Effort, Entry, FRAME, Runner, scene};
use crate::bench::BenchError;
use crate::console;

const SUBSTEPS: usize = 4;
const GRAVITY: f64 = 9.81;

/// Jacobi by few and by many sweeps; without an adapter nothing, which is said.
pub(super) fn entries() -> Vec<Entry> {
    match Gpu::shared() {
        Ok(gpu) => [10, 40].map(|sweeps| entry(&gpu, sweeps)).into(),
        Err(error) => {
            console::note(&error.to_string());
            Vec::new()
        }
    }
}

fn entry(gpu: &Gpu, sweeps: usize) -> Entry {
    let gpu = gpu.clone();
    Entry {
        name: format!("gpu, jacobi, {sweeps} sweeps"),
        substeps: SUBSTEPS as u32,
        slow: gpu.is_software(),
        make: Box::new(move |count, ratio| {
            let device = Device::new(&gpu, &scene(count, ratio), sweeps);
            Ok(Box::new(device?))
        }),
    }
}

struct Device {
    chains: GpuChains,
    sweeps: usize,
    /// What was read back last.
    state: ChainState,
    opening: f64,
    masses: Vec<(f64, f64)>,
}

impl Device {
    fn new(gpu: &Gpu, scene: &[Chain], sweeps: usize) -> Result<Device, GpuError> {
        let options = ChainOptions {
            frame: FRAME,
            substeps: SUBSTEPS,
            sweeps,
            // As the chains on the CPU.
            stabilise: Stabilise::Spook {
                compliance: 0.0,
                damping: 2.0 * FRAME / SUBSTEPS as f64,
            },
            ..ChainOptions::default()
        };
        let arrays = ChainScene::of([0.0, 0.0, -GRAVITY], scene);
        let mut chains = GpuChains::new(gpu, &arrays, options)?;
        let beads = scene.iter().flat_map(|chain| &chain.beads);
        Ok(Device {
            state: chains.read()?,
            chains,
            sweeps,
            opening: 0.0,
            masses: beads.map(|bead| (bead.mass, bead.inertia)).collect(),
        })
    }
}

impl Runner for Device {
    fn frame(&mut self) -> Result<Effort, BenchError> {
        self.opening = self.chains.step(1)?.worst_opening;
        self.state = self.chains.read()?;
        Ok(Effort {
            substeps: SUBSTEPS as f64,
            iterations: (SUBSTEPS * self.sweeps) as f64,
            coarse: 0,
        })
    }

    fn tip(&self, chain: usize) -> DVec3 {
        let position = self.state.positions.get((chain + 1) * BEADS - 1);
        position.map_or(DVec3::NAN, |position| DVec3::from_array(*position))
    }

    fn measure(&self) -> (f64, f64) {
        let square = |x: [f64; 3]| DVec3::from_array(x).length_squared();
        let energy = |(b, (mass, inertia)): (usize, &(f64, f64))| {
            let kinetic =
                mass * square(self.state.velocities[b]) + inertia * square(self.state.spins[b]);
            0.5 * kinetic + mass * GRAVITY * self.state.positions[b][2]
        };
        let energy = self.masses.iter().enumerate().map(energy).sum();
        (energy, self.opening)
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.masses.len() * GpuChains::BYTES_PER_BEAD)
    }
}
