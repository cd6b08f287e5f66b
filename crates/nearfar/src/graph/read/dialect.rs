//! How the lines of a table are divided into columns, and what the columns are: found in the first
//! lines, as far as the options leave it open.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::{Direction, Origin};
use super::columns::{Columns, Kind, Table, is_column_word, known_ends};
use super::fields::{Fields, is_comment, separates};
use super::{Header, ReadOptions, Separator};
use crate::error::Problem;
use crate::file::lines::Lines;

/// The lines that are looked at.
const SAMPLE: usize = 2_000;

/// How lines are divided into columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) separator: Separator,
    /// The number of columns.
    pub(super) count: usize,
    pub(super) columns: Columns,
    /// Whether the column of weights holds lengths.
    pub(super) lengths: bool,
    /// The number of the header line within the block, which names the columns.
    pub(super) header: Option<u64>,
}

/// A dialect, and what to tell the user about it.
pub(in crate::graph) struct Detected {
    pub(super) dialect: Dialect,
    pub(in crate::graph) origin: Origin,
    pub(in crate::graph) notes: Vec<Problem>,
}

type Row<'a> = Vec<Cow<'a, [u8]>>;

impl Dialect {
    /// Detects it from the first lines that are not comments. `None` if there are not enough.
    pub(super) fn detect(
        block: &[u8],
        options: &ReadOptions,
        is_whole: bool,
    ) -> Result<Option<Detected>, (u64, Problem)> {
        let mut lines = Lines::new(block).filter(|(_, line)| !is_comment(line));
        let Some((number, line)) = lines.next() else { return Ok(None) };
        let separator = options.sep.unwrap_or_else(|| separator_of(line));
        let split = |line| -> Row<'_> {
            Fields::new(line, separator).map(Result::unwrap_or_default).collect()
        };
        let first = Fields::new(line, separator)
            .collect::<Result<Row<'_>, _>>()
            .map_err(|message| (number, message.into()))?;
        let rows: Vec<Row<'_>> = lines.by_ref().take(SAMPLE).map(|(_, line)| split(line)).collect();
        if rows.is_empty() && !is_whole {
            return Ok(None);
        }
        let mut notes = Vec::new();
        let names: Vec<String> =
            first.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let has_header = match options.header {
            Header::Yes => true,
            Header::No => false,
            Header::Auto => {
                let named = [&options.source, &options.target, &options.weight, &options.length];
                let mut named = named.into_iter().flatten();
                named.any(|column| column.number().is_none() && column.position(&names).is_some())
                    || is_header(number, &names, &rows, &mut notes)
            }
        };
        let fail = |problem| (number, problem);
        if has_header && rows.is_empty() {
            return Ok(None);
        }
        let count = if has_header { rows[0].len() } else { first.len() };
        let names = if has_header { Some(complete(names, &rows).map_err(fail)?) } else { None };
        let data = if has_header { &rows[..] } else { &[&[first][..], &rows[..]].concat() };
        let kinds = (0..count).map(|at| kind(data, at)).collect();
        let table = Table { names, kinds };
        if count < 2 {
            let message = format!(
                "found {} separated by {}, expected 'source target [weight]'",
                table.list(),
                separator.plural()
            );
            return Err(fail(Problem::from(message).give("sep")));
        }
        let choice = table.choose(options).map_err(fail)?;
        notes.extend(choice.notes);
        let columns = choice.columns;
        let direction = columns.edge_type.map_or(Direction::Unstated, |at| edge_type(data, at));
        let header = has_header.then_some(number);
        Ok(Some(Detected {
            dialect: Self { separator, count, columns, lengths: options.reads_lengths(), header },
            origin: Origin { direction, header, columns: choice.used, ..Origin::default() },
            notes,
        }))
    }
}

fn separator_of(line: &[u8]) -> Separator {
    let found = [b'\t', b',', b';'].into_iter().find(|&byte| separates(line, byte));
    found.map_or(Separator::Blanks, Separator::Byte)
}

/// One name for each column. R names all columns but the first, which numbers the rows.
fn complete(mut names: Vec<String>, rows: &[Row]) -> Result<Vec<String>, Problem> {
    let count = rows[0].len();
    let is_numbered = |(at, row): (usize, &Row)| *row[0] == *(at + 1).to_string().as_bytes();
    if names.len() + 1 == count && rows.iter().enumerate().all(is_numbered) {
        names.insert(0, String::new());
    }
    if names.len() != count {
        let message = format!("the header names {} columns, but lines have {count}", names.len());
        return Err(Problem::from(message).act("name every column").set("header", "no"));
    }
    Ok(names)
}

/// Whether the first line names the columns. Tells the user where that is a guess.
fn is_header(number: u64, names: &[String], rows: &[Row], notes: &mut Vec<Problem>) -> bool {
    let found = evidence(names, rows);
    let note = match found {
        Evidence::Certain(is_header) => return is_header,
        Evidence::Likely => "may be an edge, and was taken as the header",
        Evidence::Unclear => "may be a header, and was read as an edge",
    };
    let note = Problem::from(format!("line {number} ({}) {note}", names.join(", ")));
    notes.push(note.set("header", "yes").set("header", "no"));
    matches!(found, Evidence::Likely)
}

/// Whether the first line is a header.
enum Evidence {
    Certain(bool),
    /// It probably is.
    Likely,
    /// It may be.
    Unclear,
}

fn evidence(names: &[String], rows: &[Row]) -> Evidence {
    use Evidence::{Certain, Likely, Unclear};
    let known = known_ends(names);
    let is_letters = |at: usize| names[at].chars().count() == 1;
    if rows.is_empty() || names.len() < 2 {
        return Certain(known.is_some_and(|(a, b)| !is_letters(a) && !is_letters(b)));
    }
    // pandas numbers columns that have no names.
    let numbered = |names: &[String]| {
        names.len() > 1 && names.iter().enumerate().all(|(at, name)| *name == at.to_string())
    };
    let is_text = |at: usize| rows.iter().all(|row| row.get(at).is_some_and(|id| !is_number(id)));
    if (names[0].is_empty() && numbered(&names[1..]))
        || (numbered(names) && rows.len() > 1 && is_text(0) && is_text(1))
    {
        return Certain(true);
    }
    if names.iter().any(|name| is_number(name.as_bytes())) {
        return Certain(false);
    }
    let numbers =
        |at: usize| rows.iter().all(|row| row.get(at).is_some_and(|value| is_number(value)));
    if numbers(0) && numbers(1) {
        return Certain(true);
    }
    let ids = Ids::count(rows, known.unwrap_or((0, 1)));
    let (a, b) = known.unwrap_or((0, 1));
    let recurs = ids.contains(&names[a]) || ids.contains(&names[b]);
    if recurs {
        // Words that are ids further down: a graph of words.
        return if known.is_some() { Unclear } else { Certain(false) };
    }
    if known.is_some() {
        return Certain(true);
    }
    let is_long = rows.len() >= 10;
    if (2..names.len()).any(numbers) || (is_long && (numbers(0) || numbers(1))) {
        return Certain(true);
    }
    let words = names.iter().filter(|name| is_column_word(name)).count();
    let of_ends = usize::from(is_column_word(&names[0])) + usize::from(is_column_word(&names[1]));
    let has_digit = |id: &str| id.bytes().any(|byte| byte.is_ascii_digit());
    let is_different =
        rows.len() >= 5 && ids.all(has_digit) && !names.iter().any(|name| has_digit(name));
    if of_ends == 2 || (names.len() > 3 && 2 * words >= names.len()) {
        return Likely;
    }
    if is_different || (of_ends == 1 && ids.repeat()) {
        return Likely;
    }
    let is_word = |name: &String| name.chars().all(|c| c.is_alphabetic() || c == '_');
    if names.iter().all(is_word) && ids.repeat() { Unclear } else { Certain(false) }
}

/// How often each id occurs in the first lines.
struct Ids<'a> {
    counts: HashMap<&'a [u8], usize>,
    rows: usize,
}

impl<'a> Ids<'a> {
    fn count(rows: &'a [Row], ends: (usize, usize)) -> Self {
        let mut counts = HashMap::new();
        for row in rows {
            for at in [ends.0, ends.1] {
                if let Some(id) = row.get(at) {
                    *counts.entry(&**id).or_default() += 1;
                }
            }
        }
        Self { counts, rows: rows.len() }
    }

    fn contains(&self, id: &str) -> bool {
        self.counts.contains_key(id.as_bytes())
    }

    fn all(&self, is: impl Fn(&str) -> bool) -> bool {
        self.counts.keys().all(|id| std::str::from_utf8(id).is_ok_and(&is))
    }

    /// Whether most ids that occur do so more than once.
    fn repeat(&self) -> bool {
        let repeated: usize = self.counts.values().filter(|&&count| count > 1).sum();
        self.rows >= 5 && repeated >= self.rows
    }
}

fn is_number(field: &[u8]) -> bool {
    // `inf` and `nan` are names.
    field.iter().any(u8::is_ascii_digit) && number(field).is_some()
}

fn number(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// What a column seems to hold.
fn kind(rows: &[Row], at: usize) -> Kind {
    let values = || rows.iter().filter_map(|row| row.get(at));
    if values().all(|value| is_date(value)) {
        return Kind::Time;
    }
    if !values().all(|value| number(value).is_some()) {
        return Kind::Text;
    }
    let integers: Option<Vec<u64>> =
        values().map(|value| std::str::from_utf8(value).ok()?.parse().ok()).collect();
    if integers.is_some_and(|integers| are_times(&integers)) { Kind::Time } else { Kind::Number }
}

/// Whether a text starts like 2004-04-15.
fn is_date(value: &[u8]) -> bool {
    value.len() >= 7 && value[..4].iter().all(u8::is_ascii_digit) && value[4] == b'-'
}

/// Whether all are seconds, milliseconds, microseconds or nanoseconds of the years 1980 to 2100, or
/// large numbers that never decrease and rarely repeat: seconds since the first edge.
pub(super) fn are_times(values: &[u64]) -> bool {
    const SECONDS: std::ops::Range<u64> = 315_532_800..4_102_444_800;
    /// Few numbers may be sorted by chance, and small ones may be sorted weights.
    const FEWEST: usize = 8;
    const LARGE: u64 = 10_000;
    let in_unit = |unit: u64| values.iter().all(|value| SECONDS.contains(&(value / unit)));
    if [1, 1000, 1_000_000, 1_000_000_000].into_iter().any(in_unit) {
        return !values.is_empty();
    }
    let distinct = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    values.len() >= FEWEST
        && values.is_sorted()
        && values.last().is_some_and(|&last| last >= LARGE)
        && 2 * distinct > values.len()
}

/// What Gephi's column `Type` says. Other types of edges are none of it.
fn edge_type(rows: &[Row], at: usize) -> Direction {
    let is = |row: &Row, word: &str| {
        row.get(at).is_some_and(|value| value.eq_ignore_ascii_case(word.as_bytes()))
    };
    let known = |row: &Row| is(row, "directed") || is(row, "undirected");
    if !rows.iter().all(known) {
        return Direction::Unstated;
    }
    let any = rows.iter().any(|row| is(row, "directed"));
    if any { Direction::Directed } else { Direction::Undirected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> String {
        let found = Dialect::detect(text.as_bytes(), &ReadOptions::default(), true);
        let found = found.map_err(|(_, problem)| problem.to_string()).unwrap().unwrap();
        let Columns { source, target, weight, .. } = found.dialect.columns;
        let header = if found.dialect.header.is_some() { "header" } else { "edges" };
        let weight = weight.map_or("-".to_owned(), |at| at.to_string());
        let notes: Vec<_> = found.notes.iter().map(Problem::to_string).collect();
        format!("{header} {source} {target} {weight} {}", notes.join("; ")).trim_end().to_owned()
    }

    #[test]
    fn headers_are_recognised_by_what_is_below_them() {
        let likely = |names: &str| {
            format!(
                "header 0 1 - line 1 ({names}) may be an edge, and was taken as the header; use \
                 --header yes or --header no"
            )
        };
        let unclear = |names: &str| {
            format!(
                "edges 0 1 - line 1 ({names}) may be a header, and was read as an edge; use \
                 --header yes or --header no"
            )
        };
        let ring = "ann,bob\nbob,eve\neve,zoe\nzoe,kim\nkim,ann\n";
        let numbered = "p1,q2\np2,q3\np4,q5\np6,q7\np8,q9\n";
        for (text, expected) in [
            (ring.to_owned(), "edges 0 1 -".to_owned()),
            (format!("person,friend\n{ring}"), "header 0 1 -".to_owned()),
            (format!("source,target\n{ring}"), "header 0 1 -".to_owned()),
            (format!("\"user_id\",\"fan_id\"\n{ring}"), likely("user_id, fan_id")),
            (format!("user,likes\n{ring}"), likely("user, likes")),
            (format!("likes,loves\n{ring}"), unclear("likes, loves")),
            (format!("likes,loves\n{ring}loves,ann\n"), "edges 0 1 -".to_owned()),
            (format!("from,to\n{ring}to,from\n"), unclear("from, to")),
            (format!("left,right\n{numbered}"), likely("left, right")),
            ("a,b\n1,2\n".to_owned(), "header 0 1 -".to_owned()),
            ("a,b,c\nann,bob,1\nbob,eve,2\n".to_owned(), "header 0 1 2".to_owned()),
            ("u v\nv w\n".to_owned(), unclear("u, v")),
            ("u v\na b\n".to_owned(), "header 0 1 -".to_owned()),
            (",0,1\n0,5,6\n1,6,7\n".to_owned(), "header 1 2 -".to_owned()),
            (format!("0,1\n{ring}"), "header 0 1 -".to_owned()),
            ("source target\n1 a b\n2 b c\n".to_owned(), "header 1 2 -".to_owned()),
            ("0 1\n1 2\n".to_owned(), "edges 0 1 -".to_owned()),
        ] {
            assert_eq!(detected(&text), expected, "{text}");
        }
    }

    #[test]
    fn times_are_not_weights() {
        let temporal = "1 2 1082040961\n3 4 1082155839\n";
        assert!(detected(temporal).starts_with("edges 0 1 - column 3 looks like time stamps"));
        let lines: Vec<String> = (0..9).map(|at| format!("{at} 7 {}\n", at * 2797)).collect();
        let since_start = lines.concat();
        assert!(detected(&since_start).starts_with("edges 0 1 - column 3 looks like"));
        assert!(detected("a b 2004-04-15\nb c 2004-04-16\n").starts_with("edges 0 1 - column 3"));
        for weights in [[1_u64, 2, 3], [1_000_000, 2_000_000, 1], [1, 1, 20_000]] {
            let text = weights.map(|weight| format!("{weight} 7 {weight}\n")).concat();
            assert_eq!(detected(&text), "edges 0 1 2", "{text}");
        }
    }

    #[test]
    fn gephi_states_direction() {
        let table = |kind: &str| format!("Source,Target,Type,Id,Label,Weight\na,b,{kind},0,,2.0\n");
        for (kind, direction) in [
            ("Directed", Direction::Directed),
            ("Undirected", Direction::Undirected),
            ("friend", Direction::Unstated),
        ] {
            let found = Dialect::detect(table(kind).as_bytes(), &ReadOptions::default(), true);
            assert_eq!(found.unwrap().unwrap().origin.direction, direction);
        }
    }
}
