//! Opening a device: driver, context and kernels, and what can be wrong with them.

use std::sync::Arc;
use std::thread::JoinHandle;

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, sys};
use cudarc::nvrtc::Ptx;
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
            return Err(fail(
                number,
                "no NVIDIA driver was found; install one, or use --device cpu",
            ));
        }
        let driver = |error: DriverError| fail(number, reason(error));
        let context = CudaContext::new(number).map_err(driver)?;
        let capability = context.compute_capability().map_err(driver)?;
        if capability < CAPABILITY {
            let name = context.name().unwrap_or_default();
            let (major, minor) = capability;
            let message = format!(
                "{name} has compute capability {major}.{minor}, and {}.{} is needed; use --device cpu",
                CAPABILITY.0, CAPABILITY.1
            );
            return Err(fail(number, message));
        }
        // SAFETY: all work is on one stream, so that no event is needed between two uses of a buffer.
        unsafe { context.disable_event_tracking() };
        let module = context.load_module(Ptx::from_src(PTX)).map_err(|error| {
            let why = reason(error);
            fail(number, format!("the driver does not take the kernels ({why}); a newer one may"))
        })?;
        let stream = context.default_stream();
        Ok(Self { number, context, stream, module })
    }

    /// A kernel.
    pub(crate) fn kernel(&self, name: &str) -> Result<CudaFunction> {
        self.module.load_function(name).map_err(|error| self.error(error))
    }

    /// The host has no such memory that the device can copy from by itself.
    pub(crate) fn host_memory(&self, bytes: u64) -> Error {
        let message = format!(
            "tables that the GPU has no memory for stay on the host, which cannot lock {} for one of \
             them; lower --dim, or use --device cpu",
            format_bytes(bytes)
        );
        fail(self.number, message)
    }

    /// An error of the driver while training.
    pub(crate) fn error(&self, error: DriverError) -> Error {
        fail(self.number, reason(error))
    }
}

fn reason(error: DriverError) -> String {
    use sys::CUresult;
    match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => "there is no NVIDIA GPU; use --device cpu".to_owned(),
        CUresult::CUDA_ERROR_INVALID_DEVICE => "there is no GPU of this number".to_owned(),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            "the GPU has no memory left; end other programs on it, or use --device cpu".to_owned()
        }
        _ => {
            let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
            text.unwrap_or_else(|_| format!("the driver failed with {:?}", error.0))
        }
    }
}

fn fail(number: usize, message: impl Into<String>) -> Error {
    Error::option("device", Device::Cuda(number), message)
}
