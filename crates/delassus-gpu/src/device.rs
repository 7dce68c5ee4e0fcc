//! The adapter and what every kernel needs of it: buffers, pipelines, one way to read back.

use std::sync::{Arc, OnceLock};

/// What can go wrong between here and the device. None of it is a panic, and none of it is a wrong answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// Nothing to compute on.
    #[error(
        "no Vulkan, Metal or DX12 adapter was found; install the graphics driver, or on a machine without \
         one Mesa's software Vulkan (`apt-get install mesa-vulkan-drivers libvulkan1`, or `./setup`)"
    )]
    NoAdapter {
        /// What the search said of every interface, for a report of a fault.
        found: String,
    },
    /// The adapter gave no device.
    #[error(
        "the adapter {adapter} gave no device: {reason}; update its driver, or choose another by WGPU_BACKEND"
    )]
    NoDevice {
        /// The adapter.
        adapter: String,
        /// What it said.
        reason: String,
    },
    /// An array does not fit.
    #[error(
        "{what} needs {bytes} bytes where the adapter binds at most {limit}; use the solver on the CPU"
    )]
    TooLarge {
        /// Which array.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The adapter's limit.
        limit: u64,
    },
    /// A number does not fit.
    #[error(
        "{what} holds {value:e}, which single precision cannot; scale the units, or use the solver on the CPU"
    )]
    Range {
        /// Which array.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// The device does not do this.
    #[error("{what} is not done on the device")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// A scene that makes no sense.
    #[error("{place}: {value} is not possible; {needs} is needed")]
    Scene {
        /// Which number.
        place: String,
        /// The number.
        value: f64,
        /// What it should be.
        needs: &'static str,
    },
    /// The device stopped working.
    #[error("the device failed: {reason}; use the solver on the CPU")]
    Failed {
        /// What it said.
        reason: String,
    },
    /// The state on the device is not finite any more.
    #[error("the state on the device grew without bound; take more substeps, or `Scheme::Split`")]
    Diverged,
}

/// An open device. Cloning is cheap and shares it.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    /// The kernels of the sweeps, compiled when first needed.
    sweeps: Arc<OnceLock<Arc<Kernels>>>,
}

/// Which interfaces to look for adapters behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// All that the platform has, or what the variable WGPU_BACKEND names.
    #[default]
    Any,
    /// None: the answer of a machine without any adapter, for tests of what follows from it.
    Nothing,
}

impl Gpu {
    /// Opens the most powerful adapter there is; a software one where there is no other.
    pub fn open() -> Result<Gpu, GpuError> {
        Gpu::search(Search::Any)
    }

    /// Opens an adapter found behind the given interfaces.
    pub fn search(search: Search) -> Result<Gpu, GpuError> {
        let mut description = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        // Neither the driver's own checks nor its messages depend on how this crate was built.
        description.flags = wgpu::InstanceFlags::empty();
        if search == Search::Nothing {
            description.backends = wgpu::Backends::empty();
        }
        let instance = wgpu::Instance::new(description);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&options)).map_err(|error| {
            GpuError::NoAdapter {
                found: error.to_string(),
            }
        })?;
        let info = adapter.get_info();
        let description = wgpu::DeviceDescriptor {
            label: Some("delassus"),
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&description));
        let (device, queue) = opened.map_err(|error| GpuError::NoDevice {
            adapter: info.name.clone(),
            reason: error.to_string(),
        })?;
        // Whatever happens to a device while somebody waits for it is heard by a `Watch`; the default would be a panic.
        device.on_uncaptured_error(Arc::new(|_| {}));
        Ok(Gpu {
            device,
            queue,
            info,
            sweeps: Arc::default(),
        })
    }

    pub(crate) fn sweep_kernels(&self) -> Arc<Kernels> {
        Arc::clone(self.sweeps.get_or_init(|| crate::resident::kernels(self)))
    }

    /// The device that all solvers of this process share, opened when first asked for.
    pub fn shared() -> Result<Gpu, GpuError> {
        static SHARED: OnceLock<Result<Gpu, GpuError>> = OnceLock::new();
        SHARED.get_or_init(Gpu::open).clone()
    }

    /// The adapter's name with the interface it was reached by.
    pub fn name(&self) -> String {
        format!("{} ({})", self.info.name, self.info.backend)
    }

    /// Whether the adapter is a processor that plays one: right answers, no speed.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Listens to what the driver says to this thread from now on.
    pub(crate) fn watch(&self) -> Watch {
        let [last, middle, first] = [
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        Watch {
            scopes: [first, middle, last],
        }
    }

    /// A buffer of so many bytes. An array of nothing is as long as one element, which a kernel insists on.
    pub(crate) fn buffer(
        &self,
        what: &'static str,
        bytes: usize,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, GpuError> {
        let limits = self.device.limits();
        let limit = limits
            .max_buffer_size
            .min(limits.max_storage_buffer_binding_size);
        let bytes = (bytes as u64).next_multiple_of(16).max(ELEMENT);
        if limit < bytes {
            return Err(GpuError::TooLarge { what, bytes, limit });
        }
        Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size: bytes,
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }))
    }

    /// Pipelines of one source, one for each entry point, that all see the same bindings.
    pub(crate) fn kernels(
        &self,
        source: &str,
        bindings: &[Binding],
        entries: &[&'static str],
    ) -> Kernels {
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
        let layout_entries: Vec<wgpu::BindGroupLayoutEntry> = (0..)
            .zip(bindings)
            .map(|(binding, kind)| kind.entry(binding))
            .collect();
        let group = self
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &layout_entries,
            });
        let layout = self
            .device
            .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&group)],
                immediate_size: 0,
            });
        let pipelines = entries
            .iter()
            .map(|entry| {
                self.device
                    .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                        label: Some(entry),
                        layout: Some(&layout),
                        module: &module,
                        entry_point: Some(entry),
                        compilation_options: wgpu::PipelineCompilationOptions::default(),
                        cache: None,
                    })
            })
            .collect();
        Kernels { group, pipelines }
    }

    /// Binds buffers in order; the first is a uniform of `uniform` bytes at a dynamic offset.
    pub(crate) fn bind(
        &self,
        kernels: &Kernels,
        buffers: &[&wgpu::Buffer],
        uniform: u64,
    ) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: if binding == 0 {
                    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset: 0,
                        size: wgpu::BufferSize::new(uniform),
                    })
                } else {
                    buffer.as_entire_binding()
                },
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &kernels.group,
            entries: &entries,
        })
    }

    /// Submits what was encoded, copies `ranges` (buffer, first element, elements) into `out`, one after the other,
    /// and waits for it: the only place where the host waits for the device.
    pub(crate) fn read(
        &self,
        mut encoder: wgpu::CommandEncoder,
        ranges: &[(&wgpu::Buffer, usize, usize)],
        staging: &mut Option<wgpu::Buffer>,
        out: &mut Vec<f32>,
    ) -> Result<(), GpuError> {
        out.clear();
        let bytes: u64 = ranges.iter().map(|(.., count)| 4 * *count as u64).sum();
        if staging.as_ref().is_none_or(|buffer| buffer.size() < bytes) {
            *staging = Some(self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("read-back"),
                size: bytes.next_multiple_of(16).max(16),
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }));
        }
        let Some(staging) = staging else {
            return Ok(());
        };
        let mut at = 0;
        for &(buffer, first, count) in ranges.iter().filter(|(.., count)| *count != 0) {
            let size = 4 * count as u64;
            encoder.copy_buffer_to_buffer(buffer, 4 * first as u64, staging, at, size);
            at += size;
        }
        let watch = self.watch();
        self.queue.submit([encoder.finish()]);
        watch.end()?;
        if at == 0 {
            return Ok(());
        }
        let failed = |reason: String| GpuError::Failed { reason };
        let (sender, receiver) = std::sync::mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, 0..at, move |result| {
            // Nobody listens any more only where waiting has failed already.
            let _ = sender.send(result);
        });
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| failed(error.to_string()))?;
        let mapped = receiver.recv().map_err(|error| failed(error.to_string()))?;
        mapped.map_err(|error| failed(error.to_string()))?;
        {
            let view = staging
                .get_mapped_range(0..at)
                .map_err(|error| failed(error.to_string()))?;
            let words = view.chunks_exact(4);
            out.extend(words.map(|word| f32::from_ne_bytes([word[0], word[1], word[2], word[3]])));
        }
        staging.unmap();
        Ok(())
    }
}

/// Errors of one thread from its making to its end, kept apart from those of the other threads on the same device.
#[must_use = "errors are told by `end`"]
pub(crate) struct Watch {
    /// The last one opened first, as they must be closed.
    scopes: [wgpu::ErrorScopeGuard; 3],
}

impl Watch {
    /// The first thing that went wrong.
    pub(crate) fn end(self) -> Result<(), GpuError> {
        let heard = self.scopes.map(|scope| pollster::block_on(scope.pop()));
        match heard.into_iter().flatten().next() {
            Some(error) => Err(GpuError::Failed {
                reason: error.to_string(),
            }),
            None => Ok(()),
        }
    }
}

/// How a kernel sees a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binding {
    /// The numbers of one dispatch, at a dynamic offset.
    Uniform,
    /// Read only.
    Read,
    /// Read and written.
    Write,
}

impl Binding {
    fn entry(self, binding: u32) -> wgpu::BindGroupLayoutEntry {
        let (ty, has_dynamic_offset) = match self {
            Binding::Uniform => (wgpu::BufferBindingType::Uniform, true),
            Binding::Read => (wgpu::BufferBindingType::Storage { read_only: true }, false),
            Binding::Write => (wgpu::BufferBindingType::Storage { read_only: false }, false),
        };
        wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset,
                min_binding_size: None,
            },
            count: None,
        }
    }
}

/// Pipelines that share their bindings.
#[derive(Clone, Debug)]
pub(crate) struct Kernels {
    group: wgpu::BindGroupLayout,
    pub(crate) pipelines: Vec<wgpu::ComputePipeline>,
}

/// Invocations of one workgroup, in every kernel.
pub(crate) const GROUP: usize = 64;

/// Bytes of the largest element that any array has.
const ELEMENT: u64 = 64;
/// Bytes from one set of uniform numbers to the next: what every adapter can offset by.
pub(crate) const STRIDE: usize = 256;

/// Workgroups for so many items, in two directions because one holds only 65535 of them.
pub(crate) fn groups(items: usize) -> (u32, u32) {
    let count = items.div_ceil(GROUP).max(1);
    let across = count.min(65_535);
    (across as u32, count.div_ceil(across) as u32)
}

/// Single precision at the door: bounds that mean "none" become the largest number, anything else must fit.
pub(crate) fn single(what: &'static str, value: f64) -> Result<f32, GpuError> {
    if value.is_infinite() {
        return Ok(f32::MAX.copysign(value as f32));
    }
    if f64::from(f32::MAX) < value.abs() || value.is_nan() {
        return Err(GpuError::Range { what, value });
    }
    Ok(value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_hears_of_its_own_errors_only() {
        // Without an adapter there is nothing to hear.
        let Ok(gpu) = Gpu::shared() else { return };
        let calm = gpu.watch();
        let loud = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let watch = gpu.watch();
                // A buffer that is mapped for reading may not be written by a kernel.
                let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::STORAGE;
                let made = gpu.buffer("a wrong one", 16, usage);
                (made.is_ok(), watch.end())
            });
            other.join()
        });
        assert_eq!(calm.end(), Ok(()));
        let (made, heard) = loud.unwrap();
        assert!(made);
        assert!(matches!(heard, Err(GpuError::Failed { .. })), "{heard:?}");
    }

    #[test]
    fn an_array_of_nothing_can_be_bound() {
        let Ok(gpu) = Gpu::shared() else { return };
        let watch = gpu.watch();
        let empty = gpu.buffer("nothing", 0, wgpu::BufferUsages::STORAGE);
        assert_eq!(watch.end(), Ok(()));
        assert!(empty.is_ok_and(|buffer| 4 * crate::layout::BLOCK as u64 <= buffer.size()));
    }
}
