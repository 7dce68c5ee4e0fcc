//! Chains of ball-jointed bodies that live on the device: whole steps there, one read-back for many of them.
//!
//! Source: [Chain, Algorithm]. How this differs from the source: (1) the gyroscopic torque acts; (2) a warm start
//! begins with a velocity pass (errata Chain-warm); (3) spin, which is in world axes, turns from the left; (4) λ is
//! an impulse, positive on the first body; (5) D̃ may be that of a safe scheme, for bodies with three joints or more;
//! (6) positions are kept relative to the anchor of their chain, where single precision is finest.

use delassus::problem::stabilise::Stabilise;
use delassus::solver::sweep::jacobi::Scheme;

use crate::device::{Binding, Gpu, GpuError, Kernels, groups, single};
use crate::scene::{Bead, ChainScene};

/// How steps are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainOptions {
    /// Length of a frame \[s\].
    pub frame: f64,
    /// Parts a frame is divided into.
    pub substeps: usize,
    /// Sweeps of every substep.
    pub sweeps: usize,
    /// What a sweep divides by: `Plain` is safe on chains and rings.
    pub scheme: Scheme,
    /// How joints are kept from drifting.
    pub stabilise: Stabilise,
}

impl Default for ChainOptions {
    /// Sixty frames in a second, four substeps of forty sweeps, Baumgarte's correction of a fifth in a substep.
    fn default() -> ChainOptions {
        ChainOptions {
            frame: 1.0 / 60.0,
            substeps: 4,
            sweeps: 40,
            scheme: Scheme::Plain,
            stabilise: Stabilise::Baumgarte { rate: 48.0 },
        }
    }
}

/// What a call of [`GpuChains::step`] did, as the device measured it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainReport {
    /// Frames done.
    pub frames: usize,
    /// Law residual of the last substep, the largest |w| over the joints \[m/s\].
    pub law: f64,
    /// The largest of all substeps of this call \[m/s\].
    pub worst_law: f64,
    /// Largest opening of a joint at the end \[m\].
    pub opening: f64,
    /// The largest after any substep of this call \[m\].
    pub worst_opening: f64,
}

/// The bodies as they are on the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainState {
    /// Centres \[m\].
    pub positions: Vec<[f64; 3]>,
    /// Orientations (x, y, z, w).
    pub turns: Vec<[f64; 4]>,
    /// Velocities \[m/s\].
    pub velocities: Vec<[f64; 3]>,
    /// Angular velocities in world axes \[rad/s\].
    pub spins: Vec<[f64; 3]>,
}

/// Chains on the device.
#[derive(Debug)]
pub struct GpuChains {
    gpu: Gpu,
    kernels: Kernels,
    options: ChainOptions,
    counts: (usize, usize),
    origins: Vec<[f64; 3]>,
    bodies: wgpu::Buffer,
    sums: wgpu::Buffer,
    group: wgpu::BindGroup,
    staging: Option<wgpu::Buffer>,
    read: Vec<f32>,
    diverged: bool,
}

const SOURCE: &str = include_str!("chains.wgsl");
const ENTRIES: [&str; 7] = [
    "prepare_bodies",
    "prepare_joints",
    "velocity_pass",
    "lambda_pass",
    "integrate",
    "measure",
    "finish",
];
/// Fields of four numbers, for each body and each joint; those of a body that are its state come first.
const BODY_FIELDS: usize = 10;
const STATE_FIELDS: usize = 4;
const JOINT_FIELDS: usize = 9;
/// Dispatches in one submission at most, so that no driver takes a long one for a hang.
const SUBMISSION: usize = 2000;

impl GpuChains {
    /// Brings a scene to the device. Lists of joints are built here, once.
    pub fn new(
        gpu: &Gpu,
        scene: &ChainScene,
        options: ChainOptions,
    ) -> Result<GpuChains, GpuError> {
        scene.check()?;
        let watch = gpu.watch();
        let (n, m) = (scene.beads.len(), scene.joints.len());
        let origins = scene.origins();
        let lists = lists(scene);
        let partials = groups(m);
        let partials = (partials.0 * partials.1) as usize;
        let storage = wgpu::BufferUsages::STORAGE;
        let reading = storage | wgpu::BufferUsages::COPY_SRC;
        let uniform = gpu.buffer("the numbers of a step", 64, wgpu::BufferUsages::UNIFORM)?;
        let list = gpu.buffer("the lists of joints", 4 * lists.len(), storage)?;
        let bodies = gpu.buffer("the bodies", 16 * BODY_FIELDS * n, reading)?;
        let joints = gpu.buffer("the joints", 16 * JOINT_FIELDS * m, storage)?;
        let sums = gpu.buffer("the sums", 16 * (2 + partials), reading)?;
        let write = |buffer: &wgpu::Buffer, numbers: &[f32]| {
            gpu.queue
                .write_buffer(buffer, 0, bytemuck::cast_slice(numbers));
        };
        gpu.queue
            .write_buffer(&list, 0, bytemuck::cast_slice(&lists));
        write(&bodies, &body_fields(scene, &origins, options.scheme)?);
        write(&joints, &joint_fields(scene, &origins)?);
        let words = params(scene, &options, partials)?;
        gpu.queue
            .write_buffer(&uniform, 0, bytemuck::cast_slice(&words));
        use Binding::{Read, Uniform, Write};
        let bindings = [Uniform, Read, Write, Write, Write];
        let kernels = gpu.kernels(SOURCE, &bindings, &ENTRIES);
        let group = gpu.bind(&kernels, &[&uniform, &list, &bodies, &joints, &sums], 64);
        watch.end()?;
        Ok(GpuChains {
            gpu: gpu.clone(),
            kernels,
            options,
            counts: (n, m),
            origins,
            bodies,
            sums,
            group,
            staging: None,
            read: Vec::new(),
            diverged: false,
        })
    }

    /// Steps so many frames and reads a line of sums back. State that is not finite any more is an error, and stays
    /// one: nothing of it is ever handed out.
    pub fn step(&mut self, frames: usize) -> Result<ChainReport, GpuError> {
        if self.diverged {
            return Err(GpuError::Diverged);
        }
        let watch = self.gpu.watch();
        let zeros = [0.0_f32; 8];
        self.gpu
            .queue
            .write_buffer(&self.sums, 0, bytemuck::cast_slice(&zeros));
        let per_substep = 2 * self.options.sweeps + 6;
        let at_once = (SUBMISSION / per_substep).max(1);
        let mut left = frames * self.options.substeps;
        while at_once < left {
            let encoder = self.encode(at_once);
            self.gpu.queue.submit([encoder.finish()]);
            left -= at_once;
        }
        watch.end()?;
        let encoder = self.encode(left);
        self.gpu.read(
            encoder,
            &[(&self.sums, 0, 8)],
            &mut self.staging,
            &mut self.read,
        )?;
        if !self.read.iter().all(|x| x.is_finite()) {
            self.diverged = true;
            return Err(GpuError::Diverged);
        }
        let root = |i: usize| f64::from(self.read[i]).sqrt();
        Ok(ChainReport {
            frames,
            law: root(0),
            worst_law: root(4),
            opening: root(1),
            worst_opening: root(5),
        })
    }

    /// Reads the bodies back.
    pub fn read(&mut self) -> Result<ChainState, GpuError> {
        if self.diverged {
            return Err(GpuError::Diverged);
        }
        let n = self.counts.0;
        let encoder = self
            .gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let ranges = [(&self.bodies, 0, 4 * STATE_FIELDS * n)];
        self.gpu
            .read(encoder, &ranges, &mut self.staging, &mut self.read)?;
        if !self.read.iter().all(|x| x.is_finite()) {
            self.diverged = true;
            return Err(GpuError::Diverged);
        }
        let mut state = ChainState::default();
        let (fields, _) = self.read.as_chunks::<4>();
        for b in 0..n {
            let at = |field: usize| fields[field * n + b].map(f64::from);
            let [x, y, z, _] = at(0);
            let [ox, oy, oz] = self.origins[b];
            state.positions.push([x + ox, y + oy, z + oz]);
            state.turns.push(at(1));
            let three = |field: usize| {
                let [x, y, z, _] = at(field);
                [x, y, z]
            };
            state.velocities.push(three(2));
            state.spins.push(three(3));
        }
        Ok(state)
    }

    /// Bytes of device memory that one body with one joint takes.
    pub const BYTES_PER_BEAD: usize = 16 * (BODY_FIELDS + JOINT_FIELDS) + 4 * (2 + 1 + 2);

    fn encode(&self, substeps: usize) -> wgpu::CommandEncoder {
        let (n, m) = self.counts;
        let mut encoder = self
            .gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &self.group, &[0]);
            let mut dispatch = |kernel: usize, items: usize| {
                let (across, down) = groups(items);
                pass.set_pipeline(&self.kernels.pipelines[kernel]);
                pass.dispatch_workgroups(across, down, 1);
            };
            for _ in 0..substeps {
                dispatch(0, n);
                dispatch(1, m);
                dispatch(2, n);
                for _ in 0..self.options.sweeps {
                    dispatch(3, m);
                    dispatch(2, n);
                }
                dispatch(4, n);
                dispatch(5, m);
                dispatch(6, 1);
            }
        }
        encoder
    }
}

/// Bodies of every joint; first item of every body; joints by body.   [Chain, Connectivity]
fn lists(scene: &ChainScene) -> Vec<u32> {
    let n = scene.beads.len();
    let mut lists = Vec::new();
    let mut on = vec![Vec::new(); n];
    for (k, joint) in scene.joints.iter().enumerate() {
        let other = joint.other.map_or(u32::MAX, |other| other as u32);
        lists.extend([joint.body as u32, other]);
        on[joint.body].push(k as u32);
        if let Some(other) = joint.other {
            on[other].push(k as u32);
        }
    }
    let mut start = 0;
    for joints in &on {
        lists.push(start);
        start += joints.len() as u32;
    }
    lists.push(start);
    lists.extend(on.concat());
    lists
}

/// The fields of all bodies, field by field.
fn body_fields(
    scene: &ChainScene,
    origins: &[[f64; 3]],
    scheme: Scheme,
) -> Result<Vec<f32>, GpuError> {
    let mut on = vec![0_usize; scene.beads.len()];
    for joint in &scene.joints {
        on[joint.body] += 1;
        if let Some(other) = joint.other {
            on[other] += 1;
        }
    }
    let most = on.iter().copied().max().unwrap_or(1).max(1);
    let mut numbers = Vec::with_capacity(4 * BODY_FIELDS * scene.beads.len());
    let mut push = |x: [f64; 4]| -> Result<(), GpuError> {
        for x in x {
            if x.is_infinite() {
                let (place, needs) = ("a bead".to_owned(), "a finite number");
                return Err(GpuError::Scene {
                    place,
                    value: x,
                    needs,
                });
            }
            numbers.push(single("a bead", x)?);
        }
        Ok(())
    };
    for (bead, origin) in scene.beads.iter().zip(origins) {
        let x: [f64; 3] = std::array::from_fn(|i| bead.position[i] - origin[i]);
        push([x[0], x[1], x[2], 1.0 / bead.mass])?;
    }
    for bead in &scene.beads {
        push(bead.turn)?;
    }
    for field in [|bead: &Bead| bead.velocity, |bead: &Bead| bead.spin] {
        for bead in &scene.beads {
            let [x, y, z] = field(bead);
            push([x, y, z, 0.0])?;
        }
    }
    for (bead, on) in scene.beads.iter().zip(&on) {
        let share = match scheme {
            Scheme::Plain => 1,
            Scheme::Damped => most,
            Scheme::Split => (*on).max(1),
        };
        let [x, y, z] = bead.moments;
        push([x, y, z, share as f64])?;
    }
    numbers.resize(4 * BODY_FIELDS * scene.beads.len(), 0.0);
    Ok(numbers)
}

/// The fields of all joints, field by field; impulses start at zero.
fn joint_fields(scene: &ChainScene, origins: &[[f64; 3]]) -> Result<Vec<f32>, GpuError> {
    let mut numbers = Vec::with_capacity(4 * JOINT_FIELDS * scene.joints.len());
    for second in [false, true] {
        for joint in &scene.joints {
            let origin = match joint.other {
                None if second => origins[joint.body],
                _ => [0.0; 3],
            };
            let arm = if second { joint.other_arm } else { joint.arm };
            for i in 0..3 {
                let x = arm[i] - origin[i];
                if x.is_infinite() {
                    let (place, needs) = ("a joint".to_owned(), "a finite number");
                    return Err(GpuError::Scene {
                        place,
                        value: x,
                        needs,
                    });
                }
                numbers.push(single("a joint", x)?);
            }
            numbers.push(0.0);
        }
    }
    numbers.resize(4 * JOINT_FIELDS * scene.joints.len(), 0.0);
    Ok(numbers)
}

/// The uniform numbers.
fn params(
    scene: &ChainScene,
    options: &ChainOptions,
    partials: usize,
) -> Result<[u32; 16], GpuError> {
    let bad = |place: &str, value: f64, needs| {
        let place = place.to_owned();
        Err(GpuError::Scene {
            place,
            value,
            needs,
        })
    };
    if options.substeps == 0 {
        return bad("substeps", 0.0, "at least one");
    }
    if !(0.0 < options.frame && options.frame.is_finite()) {
        return bad("frame", options.frame, "a time above zero");
    }
    let h = options.frame / options.substeps as f64;
    let c = options.stabilise.coefficients(h);
    let mut words = [0; 16];
    words[0] = scene.beads.len() as u32;
    words[1] = scene.joints.len() as u32;
    words[2] = partials as u32;
    let [x, y, z] = scene.gravity;
    let numbers = [x, y, z, h, c.e / h, c.upsilon, c.sigma, 0.0];
    for (word, number) in words[4..].iter_mut().zip(numbers) {
        if !number.is_finite() {
            return bad("gravity or stabilisation", number, "a finite number");
        }
        *word = single("gravity or stabilisation", number)?.to_bits();
    }
    Ok(words)
}
