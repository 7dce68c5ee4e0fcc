//! A problem on the device: its arrays, and sweeps done there many at a time.

use std::sync::Arc;

use delassus::Problem;
use delassus::problem::Form;
use delassus::problem::delassus::DiagonalBlocks;
use delassus::solver::{Rule, SweepStats, Topology};

use crate::device::{Binding, Gpu, GpuError, Kernels, STRIDE, groups};
use crate::layout::{BLOCK, Layout, ROW, fill_rows};

/// Most sweeps between two read-backs at all; the kernels keep a line for each and one for the residual.
const MOST_SWEEPS: usize = 64;
/// Dispatches in one submission at most, so that no driver takes a long one for a hang.
const SUBMISSION: usize = 4096;
/// In `sums`: control numbers, lines, partial sums.
const LINES: usize = 8;
const PARTIALS: usize = 328;
/// Words of one set of uniform numbers.
const PASS: usize = 20;

const SOURCE: &str = concat!(
    include_str!("block.wgsl"),
    include_str!("residual.wgsl"),
    include_str!("jacobi.wgsl"),
    include_str!("coloured.wgsl")
);
const LAMBDA: usize = 0;
const VELOCITY: usize = 1;
const COLOUR: usize = 2;
const RESIDUAL: usize = 3;
const FINISH: usize = 4;

/// The kernels of all sweeps, compiled once for a device.
pub(crate) fn kernels(gpu: &Gpu) -> Arc<Kernels> {
    use Binding::{Read, Uniform, Write};
    let bindings = [Uniform, Read, Read, Read, Read, Write, Write];
    let entries = [
        "lambda_pass",
        "velocity_pass",
        "colour_pass",
        "residual_pass",
        "finish",
    ];
    Arc::new(gpu.kernels(SOURCE, &bindings, &entries))
}

/// How blocks are swept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    /// All at once; with Nesterov's momentum or without.
    Jacobi {
        /// Whether there is momentum.
        accelerate: bool,
    },
    /// Colour after colour, with relaxation ω.
    Coloured {
        /// ω.
        relax: f64,
    },
}

/// What some sweeps on the device gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// One line for each sweep.
    pub(crate) stats: Vec<SweepStats>,
    /// Change of the impulses, and of those one sweep earlier.
    pub(crate) x: Vec<f32>,
    pub(crate) old: Vec<f32>,
    /// The law residual, as the device measures it \[m/s\].
    pub(crate) law: f64,
}

/// A problem and its iterates in the device's memory.
#[derive(Debug)]
pub(crate) struct Resident {
    gpu: Gpu,
    kernels: Arc<Kernels>,
    method: Method,
    rule: Rule,
    topology: Topology,
    layout: Layout,
    rows: usize,
    blocks: usize,
    arrays: Option<Arrays>,
    /// Host copies that are filled before every upload.
    words: Vec<u32>,
    numbers: Vec<f32>,
    read: Vec<f32>,
    staging: Option<wgpu::Buffer>,
}

/// Buffers and what binds them.
#[derive(Debug)]
struct Arrays {
    values: wgpu::Buffer,
    blocks: wgpu::Buffer,
    rows: wgpu::Buffer,
    state: wgpu::Buffer,
    sums: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Resident {
    pub(crate) fn new(gpu: &Gpu, method: Method, rule: Rule) -> Resident {
        Resident {
            gpu: gpu.clone(),
            kernels: gpu.sweep_kernels(),
            method,
            rule,
            topology: Topology::default(),
            layout: Layout::default(),
            rows: 0,
            blocks: 0,
            arrays: None,
            words: Vec::new(),
            numbers: Vec::new(),
            read: Vec::new(),
            staging: None,
        }
    }

    /// Whether this is what the options ask for.
    pub(crate) fn fits(&self, method: Method, rule: Rule) -> bool {
        (self.method, self.rule) == (method, rule)
    }

    /// Most sweeps between two read-backs of this problem.
    pub(crate) fn most_sweeps(&self) -> usize {
        let dispatches = 3 + self.layout.colours.len();
        MOST_SWEEPS.min((SUBMISSION / dispatches).max(1))
    }

    /// Brings a problem to the device; lists and buffers stay where the topology is that of the problem before.
    pub(crate) fn load(
        &mut self,
        problem: &Problem,
        diagonals: &DiagonalBlocks,
    ) -> Result<(), GpuError> {
        let watch = self.gpu.watch();
        let changed = match problem.form() {
            Form::Primal(primal) => self.topology.update(primal, problem.blocks()),
            Form::Dual(_) => {
                self.topology = Topology::default();
                true
            }
        };
        if changed || self.arrays.is_none() {
            self.arrays = None;
            let coloured = matches!(self.method, Method::Coloured { .. });
            self.layout = Layout::of(problem, coloured);
            (self.rows, self.blocks) = (problem.n_rows(), problem.blocks().len());
            self.arrays = Some(self.allocate()?);
        }
        let Some(arrays) = &self.arrays else {
            return Ok(());
        };
        let queue = &self.gpu.queue;
        self.layout
            .fill_values(problem, diagonals, self.rule, &mut self.numbers)?;
        queue.write_buffer(&arrays.values, 0, bytemuck::cast_slice(&self.numbers));
        self.layout
            .fill_blocks(problem, diagonals, self.rule, &mut self.words)?;
        queue.write_buffer(&arrays.blocks, 0, bytemuck::cast_slice(&self.words));
        // θ = 1, β = 0.
        let control = [1.0_f32, 0.0, 0.0, 0.0];
        queue.write_buffer(&arrays.sums, 0, bytemuck::cast_slice(&control));
        watch.end()
    }

    /// Buffers for the present layout, with the lists and the numbers of every dispatch in them.
    fn allocate(&self) -> Result<Arrays, GpuError> {
        let storage = wgpu::BufferUsages::STORAGE;
        let reading = storage | wgpu::BufferUsages::COPY_SRC;
        let gpu = &self.gpu;
        let layout = &self.layout;
        let (passes, sums) = self.passes();
        let uniform = gpu.buffer(
            "the passes",
            passes.len() * STRIDE,
            wgpu::BufferUsages::UNIFORM,
        )?;
        let index = gpu.buffer("the lists", 4 * layout.index.len(), storage)?;
        let values = gpu.buffer("the Jacobian", 4 * layout.values, storage)?;
        let blocks = gpu.buffer("the blocks", 4 * BLOCK * self.blocks, storage)?;
        let rows = gpu.buffer("the rows", 4 * ROW * self.rows, storage)?;
        let length = 2 * layout.velocities + 4 * self.rows;
        let state = gpu.buffer("the state", 4 * length, reading)?;
        let sums = gpu.buffer("the sums", 4 * (PARTIALS + 4 * sums), reading)?;
        gpu.queue
            .write_buffer(&index, 0, bytemuck::cast_slice(&layout.index));
        for (at, pass) in passes.iter().enumerate() {
            let offset = (at * STRIDE) as u64;
            gpu.queue
                .write_buffer(&uniform, offset, bytemuck::cast_slice(pass));
        }
        let buffers = [&uniform, &index, &values, &blocks, &rows, &state, &sums];
        let group = gpu.bind(&self.kernels, &buffers, 4 * PASS as u64);
        Ok(Arrays {
            values,
            blocks,
            rows,
            state,
            sums,
            group,
        })
    }

    /// The numbers of every dispatch, and how many partial sums a sweep has. First come those of the sweeps (both
    /// roles of the two iterates, or one for each colour), then those of the residual.
    fn passes(&self) -> (Vec<[u32; PASS]>, usize) {
        let layout = &self.layout;
        let (n, m) = (layout.velocities, self.rows);
        let (first, second) = (n, n + m);
        let all = groups(self.blocks);
        let mut partials = (all.0 * all.1) as usize;
        let relax = match self.method {
            Method::Jacobi { .. } => 1.0,
            Method::Coloured { relax } => relax,
        };
        let accelerate = self.method == Method::Jacobi { accelerate: true };
        let pass = |count: usize, place: usize, sums: (usize, usize), x: usize, check: bool| {
            let other = first + second - x;
            let u = if check { n + 4 * m } else { 0 };
            let momentum = usize::from(accelerate && !check);
            let words = [
                n,
                count,
                place,
                sums.0,
                sums.1,
                x,
                other,
                u,
                n + 2 * m,
                m,
                layout.bodies,
                layout.owners,
                layout.items,
                layout.order,
                layout.lift,
                momentum,
                momentum,
                0,
                0,
                0,
            ];
            let mut words = words.map(|word| word as u32);
            words[17] = (relax.max(1.0) as f32).to_bits();
            words[18] = (relax.min(1.0) as f32).to_bits();
            words
        };
        let mut passes = Vec::new();
        if layout.colours.is_empty() {
            for x in [first, second] {
                passes.push(pass(self.blocks, 0, (0, partials), x, false));
            }
        } else {
            let mut sums = Vec::new();
            let mut total = 0;
            for &count in &layout.colours {
                let (across, down) = groups(count);
                sums.push(total);
                total += (across * down) as usize;
            }
            let mut place = 0;
            for (&count, &at) in layout.colours.iter().zip(&sums) {
                passes.push(pass(count, place, (at, total), first, false));
                place += count;
            }
            partials = partials.max(total);
        }
        let check = (all.0 * all.1) as usize;
        for x in [first, second] {
            passes.push(pass(self.blocks, 0, (0, check), x, true));
        }
        (passes, partials)
    }

    /// Makes λ the point that changes are counted from: x is zero there, the iterate before it `old`.
    pub(crate) fn start_from(
        &mut self,
        problem: &Problem,
        lambda: &[f64],
        w: &[f64],
        old: &[f32],
    ) -> Result<(), GpuError> {
        fill_rows(problem, self.rule, lambda, w, &mut self.numbers)?;
        let Some(arrays) = &self.arrays else {
            return Ok(());
        };
        let watch = self.gpu.watch();
        let queue = &self.gpu.queue;
        queue.write_buffer(&arrays.rows, 0, bytemuck::cast_slice(&self.numbers));
        self.numbers.clear();
        self.numbers.resize(self.layout.velocities + self.rows, 0.0);
        self.numbers.extend_from_slice(old);
        queue.write_buffer(&arrays.state, 0, bytemuck::cast_slice(&self.numbers));
        // Sweeps are counted anew.
        queue.write_buffer(&arrays.sums, 8, bytemuck::cast_slice(&[0.0_f32]));
        watch.end()
    }

    /// Does so many sweeps, each backward or not, measures the residual, and reads back.
    pub(crate) fn sweep(&mut self, backward: &[bool], batch: &mut Batch) -> Result<(), GpuError> {
        let Some(arrays) = &self.arrays else {
            return Ok(());
        };
        let sweeps = backward.len().min(MOST_SWEEPS);
        let mut encoder = self
            .gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let last = {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            let mut course = Course {
                pass: &mut pass,
                kernels: &self.kernels,
                group: &arrays.group,
            };
            self.encode(&mut course, &backward[..sweeps])
        };
        let (n, m) = (self.layout.velocities, self.rows);
        let ranges = [
            (&arrays.sums, 0, LINES + 4 * (sweeps + 1)),
            (&arrays.state, n, 2 * m),
        ];
        self.gpu
            .read(encoder, &ranges, &mut self.staging, &mut self.read)?;
        let (sums, x) = self.read.split_at(LINES + 4 * (sweeps + 1));
        let lines: Vec<[f64; 4]> = sums[LINES..]
            .chunks_exact(4)
            .map(|line| std::array::from_fn(|i| f64::from(line[i])))
            .collect();
        batch.stats.clear();
        for (s, line) in lines[..sweeps].iter().enumerate() {
            let (after, decrease) = match self.method {
                Method::Jacobi { .. } => (1.0, line[2] - lines[s + 1][2]),
                Method::Coloured { relax } => (relax.min(1.0), -line[2]),
            };
            batch.stats.push(SweepStats {
                eta_squared: line[0],
                eta_max: line[1].sqrt() / after,
                dual_decrease: decrease,
            });
        }
        batch.law = lines[sweeps][1].sqrt();
        let (first, second) = x.split_at(m);
        let (x, old) = if last == 0 {
            (first, second)
        } else {
            (second, first)
        };
        batch.x.clear();
        batch.x.extend_from_slice(x);
        batch.old.clear();
        batch.old.extend_from_slice(old);
        Ok(())
    }

    /// Encodes the sweeps and the residual; says which of the two iterates is the last.
    fn encode(&self, course: &mut Course<'_, '_>, backward: &[bool]) -> usize {
        let (n, blocks) = (self.layout.velocities, self.blocks);
        let mut x = 0;
        match self.method {
            Method::Jacobi { .. } => {
                // The velocity pass that momentum, or a warm start, needs.   (errata Chain-warm)
                course.dispatch(VELOCITY, 0, n);
                for _ in backward {
                    course.dispatch(LAMBDA, x, blocks);
                    course.dispatch(FINISH, x, 1);
                    x = 1 - x;
                    course.dispatch(VELOCITY, x, n);
                }
            }
            Method::Coloured { .. } => {
                let colours = &self.layout.colours;
                for &backward in backward {
                    for place in 0..colours.len() {
                        let colour = if backward {
                            colours.len() - 1 - place
                        } else {
                            place
                        };
                        course.dispatch(COLOUR, colour, colours[colour]);
                    }
                    course.dispatch(FINISH, 0, 1);
                }
            }
        }
        // The passes of the residual stand behind those of the sweeps.
        let check = x + match self.layout.colours.len() {
            0 => 2,
            colours => colours,
        };
        course.dispatch(VELOCITY, check, n);
        course.dispatch(RESIDUAL, check, blocks);
        course.dispatch(FINISH, check, 1);
        x
    }
}

/// Dispatches inside one compute pass; each sees what those before it wrote.
struct Course<'a, 'b> {
    pass: &'a mut wgpu::ComputePass<'b>,
    kernels: &'a Kernels,
    group: &'a wgpu::BindGroup,
}

impl Course<'_, '_> {
    fn dispatch(&mut self, kernel: usize, pass: usize, items: usize) {
        let (across, down) = groups(items);
        self.pass.set_pipeline(&self.kernels.pipelines[kernel]);
        self.pass
            .set_bind_group(0, self.group, &[(pass * STRIDE) as u32]);
        self.pass.dispatch_workgroups(across, down, 1);
    }
}
