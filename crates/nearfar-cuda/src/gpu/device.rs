//! Opening a device: driver, context and kernels, and what can be wrong with them.

use std::sync::Arc;
use std::thread::JoinHandle;

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, sys};
use cudarc::nvrtc::Ptx;
use nearfar::error::Problem;
use nearfar::train::Device;
use nearfar::{Error, Result, format_bytes};

/// The kernels. The driver compiles them for the device, and keeps what it compiled.
pub(crate) const PTX: &str = include_str!("../../kernels/nearfar.ptx");

/// The compute capability that the kernels are compiled for.
const CAPABILITY: (i32, i32) = (8, 0);

/// An open device.
pub(crate) struct Open {
    /// Its number.
    pub(crate) number: usize,
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
}

/// A device that is being opened, which takes some tenths of a second.
pub(crate) struct Starting {
    number: usize,
    thread: JoinHandle<Result<Open>>,
}

impl Starting {
    /// Begins to open a device.
    pub(crate) fn new(number: usize) -> Self {
        Self { number, thread: std::thread::spawn(move || Open::new(number)) }
    }

    /// Waits for the device.
    pub(crate) fn finish(self) -> Result<Open> {
        let panicked = |_| fail(self.number, "the driver could not be started");
        self.thread.join().map_err(panicked)?
    }
}

impl Open {
    fn new(number: usize) -> Result<Self> {
        // SAFETY: it only tries to load the library.
        if !unsafe { sys::is_culib_present() } {
            let problem = Problem::from("no NVIDIA driver was found").act("install one");
            return Err(fail(number, problem.set("device", Device::Cpu)));
        }
        let driver = |error: DriverError| fail(number, reason(error));
        let context = CudaContext::new(number).map_err(driver)?;
        let capability = context.compute_capability().map_err(driver)?;
        if capability < CAPABILITY {
            let name = context.name().unwrap_or_default();
            let (major, minor) = capability;
            let (least, of_least) = CAPABILITY;
            let problem = Problem::from(format!(
                "{name} has compute capability {major}.{minor}, and {least}.{of_least} is needed"
            ));
            return Err(fail(number, problem.set("device", Device::Cpu)));
        }
        // SAFETY: work on a buffer is on one stream, so that no event is needed between two uses of it; where
        // there are two streams (`parts`), they wait for each other explicitly.
        unsafe { context.disable_event_tracking() };
        let module = context.load_module(Ptx::from_src(PTX)).map_err(|error| {
            let why = reason(error).message;
            let problem = Problem::from(format!("the driver does not take the kernels ({why})"));
            fail(number, problem.act("install a newer one").set("device", Device::Cpu))
        })?;
        let stream = context.default_stream();
        Ok(Self { number, context, stream, module })
    }

    /// A kernel.
    pub(crate) fn kernel(&self, name: &str) -> Result<CudaFunction> {
        self.module.load_function(name).map_err(|error| self.error(error))
    }

    /// The host cannot lock so much memory for a table that stays there.
    pub(crate) fn host_memory(&self, bytes: u64) -> Error {
        let problem = Problem::from(format!(
            "the GPU has no memory for the tables, and the host cannot lock {} for one of them",
            format_bytes(bytes)
        ));
        fail(self.number, problem.lower("dim").set("device", Device::Cpu))
    }

    /// An error of the driver while training.
    pub(crate) fn error(&self, error: DriverError) -> Error {
        fail(self.number, reason(error))
    }
}

fn reason(error: DriverError) -> Problem {
    use sys::CUresult;
    let on_cpu = |message: &str| Problem::from(message).set("device", Device::Cpu);
    match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => on_cpu("there is no NVIDIA GPU"),
        CUresult::CUDA_ERROR_INVALID_DEVICE => on_cpu("there is no GPU of this number"),
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => on_cpu("another program has the GPU for itself"),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => on_cpu("the GPU has no memory left"),
        _ => {
            let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
            text.unwrap_or_else(|_| format!("the driver failed with {:?}", error.0)).into()
        }
    }
}

fn fail(number: usize, problem: impl Into<Problem>) -> Error {
    let option = Some(("device", Device::Cuda(number).to_string()));
    Error::conflict(Problem { option, ..problem.into() })
}
