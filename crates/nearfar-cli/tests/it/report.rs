//! `nearfar report`, as far as it can be tested without a browser; `tests/browser` tests the page.

use std::fs;
use std::path::PathBuf;

use crate::{failure, nearfar, text};

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with vectors of the karate club.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let vectors = folder.path("v.npy");
        nearfar(&["embed", "builtin:karate", "--dim", "8", "-q", "-o", text(&vectors)])
            .assert()
            .success();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn report(&self, options: &[&str]) -> String {
        let [vectors, page] = ["v.npy", "page.html"].map(|name| self.path(name));
        let base = ["report", text(&vectors), "-q", "-o", text(&page)];
        nearfar(&[&base[..], options].concat()).assert().success().stdout("").stderr("");
        fs::read_to_string(page).unwrap()
    }
}

#[test]
fn reports_do_not_depend_on_threads() {
    let folder = Folder::new();
    let page = folder.report(&["--graph", "builtin:karate", "--threads", "1"]);
    assert!(page.starts_with("<!doctype html>") && page.contains("default-src 'none'"));
    assert_eq!(page, folder.report(&["--graph", "builtin:karate", "--threads", "3"]));
    assert_ne!(page, folder.report(&["--graph", "builtin:karate", "--seed", "1"]));
    assert_ne!(page, folder.report(&[]));
}

#[test]
fn reports_do_not_depend_on_the_order_of_vectors() {
    let folder = Folder::new();
    let page = folder.report(&["--graph", "builtin:karate", "--title", "a"]);
    // The page shows the name of the file.
    let [vectors, swapped] = ["v.npy", "v.tsv"].map(|name| folder.path(name));
    let embedding = nearfar::embedding::Embedding::load(&vectors).unwrap();
    let lines = (0..34).rev().map(|node| {
        let numbers: Vec<String> = embedding.vector(node).iter().map(f32::to_string).collect();
        format!("{node}\t{}\n", numbers.join("\t"))
    });
    fs::write(&swapped, lines.collect::<String>()).unwrap();
    let other = folder.path("other.html");
    let arguments = ["report", text(&swapped), "--graph", "builtin:karate", "--title", "a"];
    nearfar(&[&arguments[..], &["-q", "-o", text(&other)]].concat()).assert().success();
    assert_eq!(page, fs::read_to_string(other).unwrap());
}

#[test]
fn wrong_input() {
    let folder = Folder::new();
    let [vectors, page, wrong] = ["v.npy", "p.html", "wrong"].map(|name| folder.path(name));
    fs::write(&wrong, "{\"event\": \"epoch\"}\n").unwrap();
    let fail = |options: &[&str]| {
        let base = ["report", text(&vectors), "-o", text(&page)];
        let message = failure(&[&base[..], options].concat());
        assert!(!page.exists());
        message.replace(text(folder.0.path()), "…")
    };
    let messages = [
        fail(&["--graph", "builtin:sparse"]),
        fail(&["--log", text(&wrong)]),
        fail(&["--links", text(&wrong)]),
        fail(&["--perplexity", "0"]),
        fail(&["--points", "1"]),
        fail(&["--labels", "nowhere.tsv"]),
    ];
    insta::assert_snapshot!(messages.join("\n"), @"
    error: …/v.npy: 1966 of 2000 nodes have no vector, for example '34'; the vectors have ids such as '0': give the graph that was embedded

    error: …/wrong:1: an epoch event lacks epoch, loss, pairs or seconds; expected a log of nearfar embed

    error: …/wrong: no link prediction scores; expected the JSON output of nearfar links

    error: --perplexity 0: expected 1 to 1000

    error: --points 1: expected at least 10

    error: nowhere.tsv: cannot read: no such file; check the name
    ");
    let nowhere = folder.path("no/p.html");
    let message = failure(&["embed", "builtin:karate", "--report", text(&nowhere)]);
    assert!(message.contains("create it or choose another"), "{message}");
}
