//! What the work may take: bytes and seconds, as people write them.

/// The memory and the time that a run may take. What is chosen depends on these numbers and the
/// graph, never on the machine, so that a run can be repeated elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Bytes of memory.
    pub memory: u64,
    /// Seconds of one core to spend on distances.
    pub seconds: f64,
    /// Bytes of the memory that the caller takes beside the run.
    pub reserved: u64,
    /// The peak of memory so far, from reading the graph: the peak of a run is at least that.
    pub so_far: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { memory: 8_000_000_000, seconds: 600.0, reserved: 0, so_far: 0 }
    }
}

/// Parses a number of bytes: `800MB`, `8GB`, `8e9`. The error says what is expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let units =
        [("gb", 1e9), ("g", 1e9), ("mb", 1e6), ("m", 1e6), ("kb", 1e3), ("k", 1e3), ("b", 1.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| lower.strip_suffix(name).map(|number| (number, *unit)))
        .unwrap_or((&lower, 1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * unit) as u64),
        _ => Err("expected a size such as 800MB or 8GB".to_owned()),
    }
}

/// Bytes with a unit and two or three digits: `17 kB`, `6.2 MB`, `1.3 GB`.
pub fn format_bytes(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1_000_000 => (bytes as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (bytes as f64 / 1e6, "MB"),
        _ => (bytes as f64 / 1e9, "GB"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A number with its digits in groups of three: `12 345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 walk`, `5 walks`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Seconds with a unit.
pub(crate) fn format_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 600.0 => format!("{s:.0} s"),
        s if s < 36_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// The product of sizes, or the largest number if it is larger than that: a plan that does not fit
/// is refused, not wrapped around.
pub(crate) fn product<const N: usize>(factors: [usize; N]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

/// The sum of sizes, or the largest number if it is larger than that.
pub(crate) fn sum<const N: usize>(terms: [u64; N]) -> u64 {
    terms.iter().fold(0, |sum: u64, &term| sum.saturating_add(term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (12_345_678, "12 345 678")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn bytes_are_parsed_with_their_units() {
        let cases = [
            ("8GB", 8_000_000_000),
            ("800 mb", 800_000_000),
            ("1.5g", 1_500_000_000),
            ("64k", 64_000),
            ("12b", 12),
            ("4096", 4096),
            ("8e9", 8_000_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "-1GB", "0", "inf", "8TB", "nan"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_shown_with_two_or_three_digits() {
        let cases =
            [(0, "0.0 kB"), (17_312, "17 kB"), (6_175_000, "6.2 MB"), (995_000_000, "995 MB")];
        for (bytes, text) in cases {
            assert_eq!(format_bytes(bytes), text);
        }
        assert_eq!(format_bytes(1_340_000_000), "1.3 GB");
        assert_eq!(format_bytes(u64::MAX), "18446744074 GB");
    }

    #[test]
    fn sizes_do_not_wrap() {
        assert_eq!(product([3, 4, 5]), 60);
        assert_eq!(product([usize::MAX, 4, 5]), u64::MAX);
        assert_eq!(sum([u64::MAX, 1]), u64::MAX);
    }
}
