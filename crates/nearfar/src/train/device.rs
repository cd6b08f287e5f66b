//! The device that trains.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config::Trainer;
use crate::error::{Error, Problem, Result};
use crate::setting::parsed;

/// Where vectors are trained. The CPU is the default wherever there is a GPU too: what a seed gives does
/// not depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
}

impl Device {
    /// The most dimensions of vectors that a trainer has here.
    pub(super) fn most_dims(self, trainer: Trainer) -> usize {
        match (self, trainer) {
            (Self::Cpu, _) => usize::MAX,
            (Self::Cuda(_), Trainer::Exact) => 128,
            (Self::Cuda(_), _) => 1024,
        }
    }

    /// Fails if the memory of a device is limited that has none of its own.
    pub fn check_memory(self, limit: Option<u64>) -> Result<()> {
        if self != Self::Cpu || limit.is_none() {
            return Ok(());
        }
        let problem = Problem::from("the memory of a device is limited, but none is used");
        Err(Error::conflict(problem.set("device", "cuda").omit("device-memory")))
    }

    /// What the vectors depend on: the kind of device, not which one it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda(_) => "cuda",
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.strip_prefix("cuda:").and_then(|number| number.parse().ok());
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => number(text)
                .map(Self::Cuda)
                .ok_or_else(|| "expected cpu, cuda or cuda:N".to_owned()),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda(number) if *number > 0 => write!(f, "cuda:{number}"),
            device => f.write_str(device.name()),
        }
    }
}

impl Serialize for Device {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (text, device) in
            [("cpu", Device::Cpu), ("cuda", Device::Cuda(0)), ("cuda:3", Device::Cuda(3))]
        {
            assert_eq!(text.parse(), Ok(device));
            assert_eq!(device.to_string(), text);
        }
        for text in ["", "gpu", "cuda:", "cuda:-1", "CPU"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }
}
