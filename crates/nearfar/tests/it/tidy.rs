//! Rules of CONTRIBUTING.md and ARCHITECTURE.md about source files.

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every Rust file below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn files_are_short_and_begin_with_documentation() {
    for path in sources(&crates()) {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//!") || first.starts_with("#![doc"), "{}", path.display());
        let lines = text.lines().count();
        assert!(
            lines <= 500,
            "{} has {lines} lines; split it, at most 500 are allowed",
            path.display()
        );
    }
}

/// Data flows down the list of modules in lib.rs, never up.
#[test]
fn modules_use_only_modules_above_them() {
    let source = crates().join("nearfar/src");
    let lib = fs::read_to_string(source.join("lib.rs")).unwrap();
    let order: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
        .map(|name| name.trim_end_matches(';'))
        .collect();
    assert!(order.len() > 4);
    for path in sources(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let module = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = module.trim_end_matches(".rs");
        let Some(own) = order.iter().position(|name| *name == module) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        for used in text.split("crate::").skip(1) {
            let end = used.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(used.len());
            if let Some(other) = order.iter().position(|name| *name == &used[..end]) {
                assert!(
                    other <= own,
                    "{} uses {}, which is below it",
                    inside.display(),
                    order[other]
                );
            }
        }
    }
}

/// The version of all packages, in Cargo.toml of the workspace, and every place that repeats it.
#[test]
fn there_is_one_version() {
    let root = crates().parent().unwrap().to_owned();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let manifest = read("Cargo.toml");
    assert!(manifest.contains(&format!("\nversion = \"{version}\"\n")));
    let own: Vec<&str> =
        manifest.lines().filter(|line| line.contains("path = \"crates/")).collect();
    assert!(own.len() >= 4);
    for line in own {
        assert!(line.contains(&format!("version = \"{version}\"")), "Cargo.toml: {line}");
    }
    for entry in fs::read_dir(crates()).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\nversion.workspace = true\n"), "{manifest}");
    }
    assert!(read("CITATION.cff").contains(&format!("\nversion: {version}\n")), "CITATION.cff");
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version}")), "CHANGELOG.md");
    assert!(read("crates/nearfar-py/pyproject.toml").contains("dynamic = [\"version\"]"));
}
