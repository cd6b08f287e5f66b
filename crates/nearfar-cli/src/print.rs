//! Output: results to standard output, messages to standard error.

use std::io::Write;

/// Writes a result.
pub(crate) fn result(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a result as one JSON object.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    result(&(serde_json::to_string(value)? + "\n"))
}

/// Writes a message. Errors are ignored: if standard error is closed, nothing can report them.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
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

/// A count with its noun: `1 edge`, `2 000 edges`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// A histogram by distance: lines "distance  count  percentage  bar".
pub(crate) fn distance_bars(counts: &[(String, u64)]) -> String {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    let width = counts.iter().map(|&(_, count)| grouped(count).len()).max().unwrap_or(0);
    let mut text = String::new();
    for (label, count) in counts {
        let percentage = 100.0 * *count as f64 / total.max(1) as f64;
        let bar = "█".repeat((32.0 * *count as f64 / most as f64).round() as usize);
        let line = format!("  {label:>5}  {:>width$}  {percentage:5.1} %  {bar}", grouped(*count));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (12_345_678, "12 345 678")]
        {
            assert_eq!(super::grouped(number), text);
        }
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(
            [0, 1, 5069].map(|n| super::counted(n, "edge")),
            ["0 edges", "1 edge", "5 069 edges"]
        );
    }
}
