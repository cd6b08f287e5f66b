//! `nearfar --help`, `--version` and `completions`.

use crate::output;

const COMMANDS: [&str; 16] = [
    "embed",
    "update",
    "apply",
    "evaluate",
    "links",
    "measure",
    "stats",
    "sample",
    "synth",
    "pack",
    "outliers",
    "neighbors",
    "show",
    "report",
    "paper",
    "completions",
];

#[test]
fn version_has_the_name_of_the_program() {
    assert_eq!(output(&["--version"]), concat!("nearfar ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(output(&["-V"]), output(&["--version"]));
}

#[test]
fn help_lists_every_command() {
    let help = output(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        // The rest of a long description is indented further.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(listed, [&COMMANDS[..], &["help"]].concat());
}

#[test]
fn help_of_every_command_has_an_example_before_its_options() {
    for command in COMMANDS {
        let help = output(&[command, "--help"]);
        let example = help.find(&format!("\n  nearfar {command} ")).expect(command);
        assert!(example < help.find("\nUsage: ").expect(command), "{help}");
        assert!(!output(&[command, "-h"]).contains("Example"), "-h is the summary");
    }
}

#[test]
fn options_are_grouped() {
    const TRAINING: [&str; 8] = [
        "Arguments:",
        "Input:",
        "Model:",
        "Negatives:",
        "Training:",
        "Evaluation:",
        "Output:",
        "General:",
    ];
    for (command, headings) in [
        ("embed", &TRAINING[..]),
        ("links", &TRAINING),
        (
            "update",
            &["Arguments:", "Input:", "Model:", "Negatives:", "Training:", "Output:", "General:"],
        ),
        ("evaluate", &["Arguments:", "Input:", "Evaluation:", "Output:", "General:"]),
        (
            "measure",
            &[
                "Arguments:",
                "Input:",
                "Evaluation:",
                "Objective:",
                "Negatives:",
                "Output:",
                "General:",
            ],
        ),
        ("stats", &["Arguments:", "Input:", "Evaluation:", "Output:", "General:"]),
        ("sample", &["Arguments:", "Input:", "Negatives:", "Output:", "General:"]),
        ("synth", &["Arguments:", "Graph:", "Output:", "General:"]),
        ("pack", &["Arguments:", "Input:", "Packing:", "Output:", "General:"]),
        ("outliers", &["Arguments:", "Input:", "Output:", "General:"]),
        ("neighbors", &["Arguments:", "Output:", "General:"]),
        ("report", &["Arguments:", "Input:", "Output:", "General:"]),
        ("paper", &["Arguments:", "Input:", "Training:", "Output:", "General:"]),
    ] {
        let help = output(&[command, "-h"]);
        let found: Vec<&str> =
            help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
        assert_eq!(found, headings, "{command}");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output(&["completions", shell]);
        for word in ["nearfar", "embed", "evaluate", "negatives"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
