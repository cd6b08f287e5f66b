//! The output of an experiment: a Markdown page with a table and a figure, and the same as CSV,
//! JSON, SVG and PNG.

use std::fmt::Write;
use std::path::Path;

use nearfar::file::write_together;
use serde_json::{Value, json};

use crate::figure::Figure;

/// A table and a figure with a title and a description.
#[derive(Default)]
pub(crate) struct Page {
    /// The name of the files, without extension.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    /// What was run, and what it shows.
    pub(crate) text: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) figure: Figure,
    /// Leave the table out of the page: the CSV and JSON files have it.
    pub(crate) csv_only: bool,
}

impl Page {
    /// Writes all files of the page to a folder, or none.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(self.name);
        let has_figure = !self.figure.panels.is_empty();
        let mut files = vec![
            ("csv", self.csv().into_bytes()),
            ("json", serde_json::to_string_pretty(&self.json())?.into_bytes()),
            ("md", self.markdown(has_figure).into_bytes()),
        ];
        if has_figure {
            files.extend(self.figure.files()?);
        }
        let file = |(extension, bytes)| (path.with_extension(extension), bytes);
        Ok(write_together(files.into_iter().map(file))?)
    }

    fn markdown(&self, has_figure: bool) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.text.trim());
        // Writing to a String cannot fail.
        if has_figure {
            let _ = write!(text, "\n![{}]({}.svg)\n", self.title, self.name);
        }
        if !self.csv_only && !self.rows.is_empty() {
            let _ = write!(text, "\n{}", table(&self.head, &self.rows));
        }
        let name = self.name;
        let _ = write!(text, "\nData: [{name}.csv]({name}.csv), [{name}.json]({name}.json).\n");
        text
    }

    fn csv(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    fn json(&self) -> Value {
        let row = |row: &Vec<String>| -> Value {
            let cell = |(name, cell): (&String, &String)| (name.clone(), number_or_text(cell));
            Value::Object(self.head.iter().zip(row).map(cell).collect())
        };
        json!({"title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }
}

/// A table in Markdown.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> = head.iter().map(|_| "---".to_owned()).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(head) + &line(&rule) + &rows
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

fn number_or_text(cell: &str) -> Value {
    cell.parse::<f64>().map_or_else(|_| cell.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_markdown_csv_and_json() {
        let page = Page {
            name: "some",
            title: "Some numbers".to_owned(),
            text: "Text.".to_owned(),
            head: ["row", "F1"].map(str::to_owned).to_vec(),
            rows: vec![["a, b", "0.5"].map(str::to_owned).to_vec()],
            figure: Figure::default(),
            csv_only: false,
        };
        insta::assert_snapshot!(page.markdown(false), @r"
        # Some numbers

        Text.

        | row | F1 |
        | --- | --- |
        | a, b | 0.5 |

        Data: [some.csv](some.csv), [some.json](some.json).
        ");
        assert_eq!(page.csv(), "row,F1\n\"a, b\",0.5\n");
        assert_eq!(page.json()["rows"][0], serde_json::json!({"row": "a, b", "F1": 0.5}));
    }
}
