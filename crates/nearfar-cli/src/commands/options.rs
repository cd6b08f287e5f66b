//! `nearfar options`: every command with its arguments and options, as JSON. The keywords of the Python
//! package and the reference of options are generated from it, so that names, defaults and help texts
//! have one definition: the fields of the configurations.

use std::any::TypeId;
use std::path::PathBuf;

use clap::builder::{Str, StyledStr};
use clap::{Arg, ArgAction, Command, CommandFactory};
use nearfar::distance::Far;
use nearfar::evaluate::InverseL2;
use nearfar::graph::Column;
use nearfar::negative::LandmarkCount;
use nearfar::train::{Device, L2};
use serde_json::Value;

use crate::print;

/// What the command prints.
#[derive(serde::Serialize)]
struct Reference {
    version: &'static str,
    commands: Vec<CommandEntry>,
}

#[derive(serde::Serialize)]
struct CommandEntry {
    name: String,
    /// One line.
    about: String,
    /// Command lines.
    examples: Vec<String>,
    arguments: Vec<Entry>,
    options: Vec<Entry>,
}

/// An argument or option.
#[derive(serde::Serialize)]
struct Entry {
    /// As it is written after `--` and in files of settings.
    name: String,
    short: Option<char>,
    /// How help texts call the value; none if the option is a switch.
    value: Option<String>,
    /// The values that it takes besides `choices`: `switch`, `integer`, `number`, `size` (bytes, or a
    /// text such as 8GB), `path`, `text`.
    types: &'static [&'static str],
    /// The words that it takes.
    choices: Vec<Choice>,
    /// The default, if it is a constant.
    default: Value,
    /// What is used where nothing is given, if that depends on other settings or on the graph.
    default_text: Option<String>,
    required: bool,
    heading: Option<String>,
    /// Without the default.
    help: String,
}

#[derive(serde::Serialize)]
struct Choice {
    name: String,
    help: String,
}

pub(crate) fn run() -> anyhow::Result<()> {
    print::json(&reference())
}

fn reference() -> Reference {
    let mut program = crate::Cli::command();
    // Adds the global options to each command.
    program.build();
    let commands = program.get_subcommands().filter(|it| !it.is_hide_set());
    let commands = commands.filter(|it| it.get_name() != "help").map(command_entry).collect();
    Reference { version: env!("CARGO_PKG_VERSION"), commands }
}

fn command_entry(command: &Command) -> CommandEntry {
    let is_help = |arg: &Arg| matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
    let (arguments, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|arg| !is_help(arg) && !arg.is_hide_set())
        .partition(|arg| arg.is_positional());
    let long = text(command.get_long_about());
    let examples = long.lines().filter_map(|line| line.strip_prefix("  "));
    CommandEntry {
        name: command.get_name().to_owned(),
        about: text(command.get_about()),
        examples: examples.map(str::to_owned).collect(),
        arguments: arguments.into_iter().map(entry).collect(),
        options: options.into_iter().map(entry).collect(),
    }
}

fn entry(arg: &Arg) -> Entry {
    let help = text(arg.get_long_help().or(arg.get_help()));
    let split = help.strip_suffix(']').and_then(|help| help.split_once(" [default: "));
    let (help, default_text) = match split {
        Some((help, default)) => (help.to_owned(), Some(default.to_owned())),
        None => (help, None),
    };
    let is_switch = !arg.get_action().takes_values();
    let value = arg.get_value_names().filter(|_| !is_switch).and_then(<[_]>::first);
    let value = value.map(ToString::to_string);
    let (types, words) = if is_switch { (&["switch"][..], &[][..]) } else { types(arg) };
    let listed = if types.is_empty() { arg.get_possible_values() } else { Vec::new() };
    let listed = listed.into_iter().filter(|it| !it.is_hide_set());
    let listed =
        listed.map(|it| Choice { name: it.get_name().to_owned(), help: text(it.get_help()) });
    let words = words.iter().map(|&name| Choice { name: name.to_owned(), help: String::new() });
    Entry {
        name: arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned(),
        short: arg.get_short(),
        value,
        types,
        choices: listed.chain(words).collect(),
        default: default(arg, is_switch),
        default_text,
        required: arg.is_required_set(),
        heading: arg.get_help_heading().map(str::to_owned),
        help,
    }
}

/// The types of an argument's values, and the words that it takes besides; none where clap lists the
/// choices.
fn types(arg: &Arg) -> (&'static [&'static str], &'static [&'static str]) {
    let names = arg.get_value_names().unwrap_or_default();
    match names.first().map(Str::as_str) {
        Some("SIZE") => return (&["size"], &[]),
        Some("N|all") => return (&["integer"], &["all"]),
        _ => {}
    }
    let kind = arg.get_value_parser().type_id();
    let all: [(TypeId, &'static [&'static str], &'static [&'static str]); 12] = [
        (TypeId::of::<bool>(), &["switch"], &[]),
        (TypeId::of::<usize>(), &["integer"], &[]),
        (TypeId::of::<u64>(), &["integer"], &[]),
        (TypeId::of::<f64>(), &["number"], &[]),
        (TypeId::of::<PathBuf>(), &["path"], &[]),
        (TypeId::of::<String>(), &["text"], &[]),
        (TypeId::of::<Column>(), &["integer", "text"], &[]),
        (TypeId::of::<LandmarkCount>(), &["integer", "number"], &[]),
        (TypeId::of::<L2>(), &["number"], &["auto"]),
        (TypeId::of::<InverseL2>(), &["number"], &["auto"]),
        (TypeId::of::<Far>(), &["number"], &["auto", "undirected"]),
        (TypeId::of::<Device>(), &["text"], &["cpu", "cuda"]),
    ];
    let found = all.into_iter().find(|(id, ..)| kind == *id);
    match found {
        Some((_, types, words)) => (types, words),
        None if arg.get_possible_values().is_empty() => (&["text"], &[]),
        None => (&[], &[]),
    }
}

/// The constant default as a number, truth value or text.
fn default(arg: &Arg, is_switch: bool) -> Value {
    if is_switch {
        return false.into();
    }
    let Some(text) = arg.get_default_values().first().and_then(|it| it.to_str()) else {
        return Value::Null;
    };
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map_or(String::new(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_accepted() {
        let mut tried = 0;
        for command in reference().commands {
            for option in command.options {
                for choice in option.choices {
                    let flag = format!("--{}={}", option.name, choice.name);
                    let line = ["nearfar", &command.name, &flag];
                    let parsed = crate::Cli::command().try_get_matches_from(line);
                    if let Err(error) = parsed {
                        let text = error.to_string();
                        assert!(!text.contains("invalid value"), "{flag}: {text}");
                    }
                    tried += 1;
                }
            }
        }
        assert!(tried > 100);
    }

    #[test]
    fn every_option_is_explained() {
        for command in reference().commands {
            assert!(!command.about.is_empty() && !command.examples.is_empty(), "{}", command.name);
            for entry in command.options.iter().chain(&command.arguments) {
                assert!(!entry.help.is_empty(), "{} {}", command.name, entry.name);
                assert!(!entry.help.contains("[default"), "{} {}", command.name, entry.name);
                assert!(!entry.types.is_empty() || !entry.choices.is_empty(), "{}", entry.name);
            }
        }
    }
}
