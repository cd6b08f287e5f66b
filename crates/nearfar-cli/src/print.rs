//! Output: results to standard output, messages to standard error.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use nearfar::graph::ReadSummary;
pub(crate) use nearfar::grouped;

/// The most lines of a histogram by distance.
const MOST_LINES: u32 = 40;

/// Writes a result for people. Ids may hold anything: what a terminal would obey is escaped.
pub(crate) fn result(text: &str) -> anyhow::Result<()> {
    write(&escaped(text))
}

/// Writes a result as one JSON object.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    write(&(serde_json::to_string(value)? + "\n"))
}

/// Writes a result as one JSON object, with what was read under `read`.
pub(crate) fn json_with_read(
    value: &impl serde::Serialize,
    read: &ReadSummary,
) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct WithRead<'a, T> {
        #[serde(flatten)]
        value: &'a T,
        read: &'a ReadSummary,
    }
    json(&WithRead { value, read })
}

/// Writes a message. Errors are ignored: if standard error is closed, nothing can report them.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escaped(text));
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The text with control characters, other than line ends and tabs, and marks that change the
/// direction of text as `\u{1b}`.
fn escaped(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_obeyed(c) && c != '\n' && c != '\t')
}

/// [`escaped`], with line ends and tabs: what is shown in a line of a table.
pub(crate) fn escaped_line(text: &str) -> Cow<'_, str> {
    escape(text, is_obeyed)
}

/// Whether a terminal does not show a character, but does what it says.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// A count with its noun: `1 edge`, `2 000 edges`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// Pairs by distance, or by ranges of equal width where distances are many.
pub(crate) fn ranges(histogram: &BTreeMap<u32, u64>) -> Vec<(String, u64)> {
    let most = histogram.keys().max().copied().unwrap_or(0);
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u32.pow(power)));
    let width = steps.into_iter().find(|width| most.div_ceil(*width) <= MOST_LINES).unwrap_or(most);
    if width == 1 {
        return histogram.iter().map(|(distance, pairs)| (distance.to_string(), *pairs)).collect();
    }
    let ranges = (1..=most).step_by(width as usize).map(|first| {
        let last = (first + width - 1).min(most);
        (format!("{first}–{last}"), histogram.range(first..=last).map(|(_, pairs)| pairs).sum())
    });
    // A law may draw the centre itself.
    let zero = histogram.get(&0).map(|&pairs| ("0".to_owned(), pairs));
    zero.into_iter().chain(ranges).collect()
}

/// A histogram by distance: lines "distance  count  percentage  bar".
pub(crate) fn distance_bars(counts: &[(String, u64)]) -> String {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    let width = counts.iter().map(|&(_, count)| grouped(count).len()).max().unwrap_or(0);
    let labels = counts.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).max(5);
    let mut text = String::new();
    for (label, count) in counts {
        let percentage = 100.0 * *count as f64 / total.max(1) as f64;
        let bar = "█".repeat((32.0 * *count as f64 / most as f64).round() as usize);
        let line =
            format!("  {label:>labels$}  {:>width$}  {percentage:5.1} %  {bar}", grouped(*count));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Six significant digits, with at most six decimals.
pub(crate) fn number(value: f64) -> String {
    let digits = 5 - value.abs().max(1e-3).log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        let text = "a\u{1b}[2Jb\r\u{9b}é\t\u{202e}c\n";
        assert_eq!(super::escaped(text), "a\\u{1b}[2Jb\\u{d}\\u{9b}é\t\\u{202e}c\n");
        assert_eq!(super::escaped("dörte 名前\n"), "dörte 名前\n");
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(
            [0, 1, 5069].map(|n| super::counted(n, "edge")),
            ["0 edges", "1 edge", "5 069 edges"]
        );
    }
}
