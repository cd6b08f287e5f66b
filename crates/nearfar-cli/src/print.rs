//! Writing to people: results to standard output, messages to standard error.

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

/// Writes a message. If standard error is closed there is nobody to tell.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Lines "label  distance  count  share  bar" for counts by distance.
pub(crate) fn distance_bars(counts: &[(String, u64)]) -> String {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    let width = counts.iter().map(|&(_, count)| grouped(count).len()).max().unwrap_or(0);
    let mut text = String::new();
    for (label, count) in counts {
        let share = 100.0 * *count as f64 / total.max(1) as f64;
        let bar = "█".repeat((32.0 * *count as f64 / most as f64).round() as usize);
        let line = format!("  {label:>5}  {:>width$}  {share:5.1} %  {bar}", grouped(*count));
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
}
