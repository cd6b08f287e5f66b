//! The option `c`: the inverse L2 strength of the classifier.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::setting::parsed;

/// Inverse L2 strength of logistic regression (scikit-learn's `C`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InverseL2 {
    /// Chosen by cross-validation on the training nodes.
    Auto,
    /// A constant C.
    Value(f64),
}

/// The values that the option takes.
const EXPECTED: &str = "expected 'auto' or a number above 0";

impl InverseL2 {
    /// C without `auto`.
    pub(super) const DEFAULT: f64 = 1.0;

    /// What is wrong with the value, if anything.
    pub(super) fn problem(self) -> Option<&'static str> {
        match self {
            Self::Value(c) if !(c.is_finite() && c > 0.0) => Some(EXPECTED),
            _ => None,
        }
    }
}

impl Default for InverseL2 {
    fn default() -> Self {
        Self::Value(Self::DEFAULT)
    }
}

impl FromStr for InverseL2 {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(c) => Ok(Self::Value(c)),
            Err(_) => Err(EXPECTED.to_owned()),
        }
    }
}

impl std::fmt::Display for InverseL2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Value(c) => c.fmt(f),
        }
    }
}

impl Serialize for InverseL2 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Value(c) => serializer.serialize_f64(*c),
        }
    }
}

impl<'de> Deserialize<'de> for InverseL2 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::ClassifyConfig;

    fn from_toml(text: &str) -> Result<InverseL2, String> {
        let config: Result<ClassifyConfig, _> = toml::from_str(text);
        config.map(|config| config.c).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_file_holds_auto_or_a_number() {
        for (text, c) in [
            ("c = \"auto\"", InverseL2::Auto),
            ("c = 0.25", InverseL2::Value(0.25)),
            ("c = 10", InverseL2::Value(10.0)),
            ("", InverseL2::Value(1.0)),
        ] {
            assert_eq!(from_toml(text), Ok(c), "{text}");
            let written = toml::to_string(&ClassifyConfig { c, ..Default::default() }).unwrap();
            assert_eq!(from_toml(&written), Ok(c), "{written}");
            assert_eq!(c.to_string().parse(), Ok(c));
        }
        assert_eq!(from_toml("c = \"large\""), Err(EXPECTED.to_owned()));
        assert_eq!("1e".parse::<InverseL2>(), Err(EXPECTED.to_owned()));
    }

    #[test]
    fn numbers_are_above_zero() {
        for c in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(InverseL2::Value(c).problem(), Some(EXPECTED), "{c}");
        }
        assert_eq!([InverseL2::Auto, InverseL2::Value(1e-9)].map(InverseL2::problem), [None; 2]);
    }
}
