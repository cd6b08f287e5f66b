//! Which columns of a table hold the ends and the weight of an edge: as the options say, else by
//! the names of the columns, else the first two or three.

use super::super::UsedColumns;
use super::{Column, ReadOptions};
use crate::error::Problem;

/// A table, as far as it is known before it is read.
pub(super) struct Table {
    /// The names of the columns, if they have any.
    pub(super) names: Option<Vec<String>>,
    /// What each column seems to hold.
    pub(super) kinds: Vec<Kind>,
}

/// What the first values of a column look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    /// Integers like those of a clock: all of them seconds, milliseconds, … since 1970, or large
    /// ones that never decrease.
    Time,
}

/// The positions of the columns that edges are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) weight: Option<usize>,
    /// Gephi's `Type`: `Directed` or `Undirected`.
    pub(super) edge_type: Option<usize>,
}

/// The columns, and how they were chosen.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) columns: Columns,
    /// What to tell the user, where it is not the first columns that are read.
    pub(super) used: Option<UsedColumns>,
    pub(super) notes: Vec<Problem>,
}

impl Table {
    /// Chooses the columns.
    pub(super) fn choose(&self, options: &ReadOptions) -> Result<Choice, Problem> {
        let (source, target) = self.ends(options)?;
        if source == target {
            let message = format!("column {} is the source and the target", self.name(source));
            return Err(Problem::from(message).set("target", self.name(other_end(source))));
        }
        let mut notes = Vec::new();
        let weight = self.weight(options, source, target, &mut notes)?;
        let edge_type = self.find(&["type"]).filter(|at| ![source, target].contains(at));
        let columns = Columns { source, target, weight, edge_type };
        if let Some(unread) = self.unread(&columns, options) {
            notes.push(unread);
        }
        let usual = (source, target) == (0, 1) && weight.is_none_or(|at| at == 2);
        let used = (!usual).then(|| UsedColumns {
            source: self.name(source),
            target: self.name(target),
            weight: weight.map(|at| self.name(at)),
            length: None,
        });
        Ok(Choice { columns, used, notes })
    }

    fn ends(&self, options: &ReadOptions) -> Result<(usize, usize), Problem> {
        let given = |column: &Option<Column>, option| {
            column.as_ref().map(|column| self.position(column, option)).transpose()
        };
        let ends = (given(&options.source, "source")?, given(&options.target, "target")?);
        if let (Some(source), Some(target)) = ends {
            return Ok((source, target));
        }
        let known = self.names.as_deref().and_then(known_ends);
        let candidates: Vec<usize> =
            (0..self.kinds.len()).filter(|&at| !self.is_index(at)).collect();
        let (first, second) = match (known, &candidates[..]) {
            (Some(known), _) => known,
            (None, &[first, second] | &[first, second, _]) => (first, second),
            _ => return Err(self.ambiguous()),
        };
        Ok(match ends {
            (Some(source), _) if source == second => (source, first),
            (Some(source), _) => (source, second),
            (_, Some(target)) if target == first => (second, target),
            (_, Some(target)) => (first, target),
            (None, None) => (first, second),
        })
    }

    fn weight(
        &self,
        options: &ReadOptions,
        source: usize,
        target: usize,
        notes: &mut Vec<Problem>,
    ) -> Result<Option<usize>, Problem> {
        if options.no_weights {
            return Ok(None);
        }
        let is_end = |at: usize| [source, target].contains(&at);
        let (value, given) = options.value();
        if let Some(column) = given {
            let at = self.position(column, value)?;
            if is_end(at) {
                let message = format!("column {} is an end and the {value}", self.name(at));
                return Err(Problem::from(message).set(value, "another column").omit(value));
            }
            return Ok(Some(at));
        }
        if options.reads_lengths()
            && let Some(at) = self.find(&LENGTHS).filter(|&at| !is_end(at))
        {
            return Ok(Some(at));
        }
        if let Some(at) = self.find(&WEIGHTS).filter(|&at| !is_end(at)) {
            return Ok(Some(at));
        }
        // The third of three columns.
        let rest: Vec<usize> =
            (0..self.kinds.len()).filter(|&at| !is_end(at) && !self.is_index(at)).collect();
        let &[at] = &rest[..] else { return Ok(None) };
        if at < source.max(target) {
            return Ok(None);
        }
        let name = self.names.as_ref().map(|names| normalised(&names[at]));
        let is_named = |words: &[&str]| name.as_ref().is_some_and(|name| words.contains(&&**name));
        if self.kinds[at] == Kind::Time || is_named(&TIMES) {
            let note = format!("column {} looks like time stamps, not {value}s", self.name(at));
            let note = Problem::from(note).set(value, self.name(at));
            notes.push(if value == "weight" { note.give("no-weights") } else { note });
            return Ok(None);
        }
        // Without names, a text there is reported with its line.
        let is_text = self.kinds[at] == Kind::Text && self.names.is_some();
        Ok((!is_text && !is_named(&NO_WEIGHTS)).then_some(at))
    }

    /// The position of a column that an option names.
    pub(super) fn position(&self, column: &Column, option: &'static str) -> Result<usize, Problem> {
        let found = match &self.names {
            Some(names) => column.position(names),
            None => column.number().filter(|&at| at < self.kinds.len()),
        };
        found.ok_or_else(|| Problem {
            message: format!("no such column; the file has {}", self.list()),
            option: Some((option, column.to_string())),
            remedies: Vec::new(),
        })
    }

    /// The position of the first column with one of these names.
    fn find(&self, words: &[&str]) -> Option<usize> {
        let names = self.names.as_ref()?;
        names.iter().position(|name| words.contains(&&*normalised(name)))
    }

    /// Whether a column numbers the rows, as pandas writes it.
    fn is_index(&self, at: usize) -> bool {
        let index = |name: &String| name.is_empty() || name.starts_with("Unnamed:");
        self.names.as_ref().is_some_and(|names| index(&names[at]))
    }

    fn name(&self, at: usize) -> String {
        let name = self.names.as_ref().and_then(|names| names.get(at)).cloned();
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| (at + 1).to_string())
    }

    /// The columns, for messages.
    pub(super) fn list(&self) -> String {
        match &self.names {
            Some(names) if names.is_empty() => "no columns".to_owned(),
            Some(names) => {
                let named = (0..names.len()).map(|at| self.name(at)).collect::<Vec<_>>();
                format!("the columns {}", named.join(", "))
            }
            None if self.kinds.len() == 1 => "1 column".to_owned(),
            None => format!("{} columns", self.kinds.len()),
        }
    }

    fn ambiguous(&self) -> Problem {
        if self.kinds.len() < 2 && self.names.is_some() {
            return format!("found {}, expected two, of sources and targets", self.list()).into();
        }
        let message = format!(
            "found {}, and their names do not say which hold the ends of an edge",
            self.list()
        );
        match &self.names {
            Some(_) => Problem::from(message).set_both(
                ("source", self.name(usize::from(self.is_index(0)))),
                ("target", self.name(1 + usize::from(self.is_index(0)))),
            ),
            None => {
                Problem::from(format!("found {}, expected 'source target [weight]'", self.list()))
                    .set_both(("source", "1".to_owned()), ("target", "2".to_owned()))
            }
        }
    }

    /// What to say about columns that are not read. Where lengths are read, weights are read by another
    /// pass.
    fn unread(&self, columns: &Columns, options: &ReadOptions) -> Option<Problem> {
        let names = self.names.as_ref()?;
        let Columns { source, target, weight, edge_type } = *columns;
        let of_weights = options.weight.as_ref().filter(|_| options.reads_lengths());
        let of_weights = of_weights.and_then(|column| column.position(names));
        let read = |at| {
            [source, target].contains(&at) || [weight, edge_type, of_weights].contains(&Some(at))
        };
        let unread: Vec<String> = (0..names.len())
            .filter(|&at| !read(at) && !self.is_index(at))
            .map(|at| self.name(at))
            .collect();
        let columns = if unread.len() == 1 { "column" } else { "columns" };
        (!unread.is_empty()).then(|| format!("not read: {columns} {}", unread.join(", ")).into())
    }
}

/// The first or the second column, whichever is not this one.
fn other_end(at: usize) -> usize {
    usize::from(at == 0)
}

/// The positions of the columns of sources and targets, if their names are a usual pair, such as
/// `src` and `dst`.
pub fn known_ends(names: &[String]) -> Option<(usize, usize)> {
    let names: Vec<String> = names.iter().map(|name| normalised(name)).collect();
    let find = |name: &str| names.iter().position(|found| found == name);
    let known = PAIRS.iter().find_map(|&(a, b)| Some((find(a)?, find(b)?)));
    known.or_else(|| {
        // `person1, person2`; `node_a, node_b`
        let same = |a: &str, b: &str| {
            [("1", "2"), ("a", "b")].iter().any(|&(first, second)| {
                let stem = a.strip_suffix(first).filter(|stem| stem.len() > 1);
                stem.is_some() && stem == b.strip_suffix(second)
            })
        };
        let pairs = (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b)));
        pairs.into_iter().find(|&(a, b)| same(&names[a], &names[b]))
    })
}

/// The position of the column of weights, if it has a usual name.
pub fn known_weight(names: &[String]) -> Option<usize> {
    WEIGHTS.iter().find_map(|weight| names.iter().position(|name| normalised(name) == *weight))
}

/// Whether a text is a usual name of a column: one of a pair, a noun for what is linked, or an
/// `…_id`.
pub(super) fn is_column_word(text: &str) -> bool {
    let name = normalised(text);
    let is_id = ["_id", " id", "-id", "Id", "ID"].iter().any(|end| {
        text.strip_suffix(end).is_some_and(|stem| stem.chars().all(char::is_alphabetic))
    });
    is_id
        || NOUNS.contains(&&*name)
        || WEIGHTS.contains(&&*name)
        || (name.len() > 1 && PAIRS.iter().any(|&(a, b)| name == a || name == b))
}

/// Lower case, without blanks and punctuation.
pub(super) fn normalised(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

const PAIRS: [(&str, &str); 40] = [
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("source", "destination"),
    ("origin", "destination"),
    ("from", "to"),
    ("start", "end"),
    ("sourceid", "targetid"),
    ("sourcenode", "targetnode"),
    ("srcid", "dstid"),
    ("fromid", "toid"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("startid", "endid"),
    ("startnode", "endnode"),
    ("u", "v"),
    ("i", "j"),
    ("row", "col"),
    ("subject", "object"),
    ("head", "tail"),
    ("parent", "child"),
    ("follower", "followee"),
    ("follower", "followed"),
    ("citing", "cited"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("caller", "callee"),
    ("person", "friend"),
    ("personid", "friendid"),
    ("user", "friend"),
    ("userid", "friendid"),
    ("user", "item"),
    ("userid", "itemid"),
    ("userid", "movieid"),
    ("u", "i"),
    ("node", "neighbor"),
    ("node", "neighbour"),
    ("nodeid", "neighborid"),
    ("name", "friend"),
];

const NOUNS: [&str; 34] = [
    "id",
    "node",
    "nodes",
    "name",
    "label",
    "vertex",
    "person",
    "people",
    "friend",
    "user",
    "item",
    "author",
    "coauthor",
    "paper",
    "page",
    "city",
    "country",
    "gene",
    "protein",
    "movie",
    "actor",
    "product",
    "customer",
    "company",
    "account",
    "member",
    "group",
    "word",
    "entity",
    "relation",
    "edge",
    "type",
    "neighbor",
    "neighbour",
];

const WEIGHTS: [&str; 5] = ["weight", "weights", "w", "edgeweight", "wt"];

/// Names of columns of lengths.
pub(super) const LENGTHS: [&str; 6] = ["length", "len", "distance", "dist", "cost", "meters"];

/// Names of columns that hold times.
const TIMES: [&str; 11] = [
    "time",
    "times",
    "ts",
    "timestamp",
    "timestamps",
    "date",
    "datetime",
    "unixtime",
    "epoch",
    "createdat",
    "year",
];

/// Names of columns that hold no weights even if their values are numbers.
const NO_WEIGHTS: [&str; 9] =
    ["id", "edgeid", "label", "type", "kind", "relation", "category", "class", "index"];

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &str) -> Table {
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        Table { kinds: vec![Kind::Number; names.len()], names: Some(names) }
    }

    fn chosen(names: &str, options: &ReadOptions) -> String {
        match table(names).choose(options) {
            Ok(Choice { columns: c, notes, .. }) => {
                let weight = c.weight.map_or("-".to_owned(), |at| at.to_string());
                format!(
                    "{} {} {weight} {}",
                    c.source,
                    c.target,
                    notes.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
                )
            }
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn names_settle_the_columns() {
        let auto = ReadOptions::default();
        for (names, expected) in [
            ("source,target", "0 1 - "),
            ("a,b,count", "0 1 2 "),
            ("weight,target,source", "2 1 0 "),
            ("Source,Target,Type,Id,Label,Weight", "0 1 5 not read: columns Id, Label"),
            (",source,target,weight", "1 2 3 "),
            ("Unnamed: 0,user,item", "1 2 - "),
            (":START_ID,:END_ID,:TYPE", "0 1 - "),
            ("u,i,ts,label", "0 1 - not read: columns ts, label"),
            ("head,relation,tail", "0 2 - not read: column relation"),
            ("person1,met,person2", "0 2 - not read: column met"),
            ("from,to,id", "0 1 - not read: column id"),
        ] {
            assert_eq!(chosen(names, &auto), expected, "{names}");
        }
        let found = chosen("a,b,time", &auto);
        assert!(found.starts_with("0 1 - column time looks like time stamps"), "{found}");
        let found = chosen("day,a,b,c", &auto);
        let expected = "found the columns day, a, b, c, and their names do not say which hold the \
                        ends of an edge; use --source day and --target a";
        assert_eq!(found, expected);
    }

    #[test]
    fn options_go_before_names() {
        let options = |source: &str, target: &str, weight: &str| ReadOptions {
            source: source.parse().ok(),
            target: target.parse().ok(),
            weight: weight.parse().ok(),
            ..ReadOptions::default()
        };
        assert_eq!(chosen("day,a,b,n", &options("a", "3", "N")), "1 2 3 not read: column day");
        assert_eq!(chosen("source,target,n", &options("2", "", "")), "1 0 2 ");
        let names = "source,target";
        assert!(chosen(names, &options("x", "", "")).starts_with("--source x: no such column; "));
        assert!(chosen(names, &options("1", "1", "")).contains("is the source and the target"));
        let none = ReadOptions { no_weights: true, ..ReadOptions::default() };
        assert_eq!(chosen("source,target,weight", &none), "0 1 - not read: column weight");
    }
}
