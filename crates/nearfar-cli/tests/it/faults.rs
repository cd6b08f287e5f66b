//! Injected faults: killed runs, full disks and damaged files. What stands on disk afterwards is all
//! old or all new, and a resumed run ends in the bytes of an uninterrupted one.
//!
//! `NEARFAR_FAULTS` is the number of faults of each kind; `scripts/faults N` sets it.

#![allow(clippy::print_stderr, reason = "the figures of a long run")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{nearfar, text};

/// Faults of each kind.
fn count() -> u64 {
    std::env::var("NEARFAR_FAULTS").map_or(6, |count| count.parse().expect("a number"))
}

/// Numbers below a bound, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

const EXTENSIONS: [&str; 5] = ["npy", "w2v", "tsv", "parquet", "safetensors"];

/// Two results of `embed` to the same name, over graphs with other ids: all files of each.
struct Results {
    files: [Vec<(String, Vec<u8>)>; 2],
    target: PathBuf,
    /// The runs: on each of the graphs.
    runs: [Vec<String>; 2],
}

impl Results {
    /// Results with context vectors in files of their own, or without them.
    fn new(folder: &Path, extension: &str, with_contexts: bool) -> Self {
        let out = folder.join(extension);
        fs::create_dir(&out).unwrap();
        let target = out.join(format!("x.{extension}"));
        let graphs = ["a", "b"].map(|name| {
            let path = folder.join(format!("{name}.tsv"));
            let edges: Vec<String> =
                (1..4000).map(|node| format!("{name}{node}\t{name}{}\n", node * 3 / 4)).collect();
            fs::write(&path, edges.concat()).unwrap();
            path
        });
        let runs = graphs.map(|graph| {
            let mut run = vec!["embed", text(&graph), "-o", text(&target), "-q", "--dim", "24"];
            run.extend(["--epochs", "2", "--negatives", "uniform"]);
            let contexts = out.join(format!("contexts.{extension}"));
            if with_contexts {
                run.extend(["--order", "2", "--smoothing", "0", "--contexts", text(&contexts)]);
            }
            run.into_iter().map(str::to_owned).collect()
        });
        let files = [&runs[0], &runs[1]].map(|run: &Vec<String>| {
            nearfar(&strs(run)).assert().success();
            contents(&out)
        });
        Self { files, target, runs }
    }

    fn folder(&self) -> &Path {
        self.target.parent().unwrap()
    }

    /// Puts the old result in place.
    fn reset(&self) {
        fs::remove_dir_all(self.folder()).unwrap();
        fs::create_dir(self.folder()).unwrap();
        for (name, bytes) in &self.files[0] {
            fs::write(self.folder().join(name), bytes).unwrap();
        }
    }

    /// Whether the new result is in place, else the old one; panics at anything else. Reading comes
    /// first, as a reader completes what was cut off between two renames.
    fn is_new(&self) -> bool {
        let id = |name: &str| {
            nearfar(&["neighbors", text(&self.target), &format!("{name}7"), "--json"])
                .output()
                .unwrap()
                .status
                .success()
        };
        let (old, new) = (id("a"), id("b"));
        assert!(old != new, "neither or both: old {old}, new {new}");
        let mut found = contents(self.folder());
        found.retain(|(name, _)| !name.starts_with(".nearfar-"));
        assert!(found == self.files[usize::from(new)], "a mixed set: {}", self.target.display());
        new
    }
}

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// The files of a folder, by name.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
    };
    let mut files: Vec<_> = entries.map(file).collect();
    files.sort();
    files
}

/// Runs the program and kills it after a while, unless it ends before. Returns whether it was killed.
fn killed(arguments: &[&str], after: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nearfar"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

#[test]
fn a_killed_save_leaves_all_old_or_all_new_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    let (mut kills, mut new) = (0, 0);
    for extension in EXTENSIONS {
        let results = Results::new(folder.path(), extension, false);
        let run = strs(&results.runs[1]);
        let start = Instant::now();
        nearfar(&run).assert().success();
        let whole = start.elapsed();
        for _ in 0..count().div_ceil(2) {
            results.reset();
            // The last part of a run is that in which it writes.
            let after = whole.mul_f64(0.5 + random.below(600) as f64 / 1000.0);
            kills += u64::from(killed(&run, after));
            new += u64::from(results.is_new());
        }
        // What killed runs left goes with the next save.
        nearfar(&run).assert().success();
        assert_eq!(contents(results.folder()).len(), results.files[1].len(), "{extension}");
    }
    eprintln!("killed saves: {kills} killed, {new} of all new, the others all old");
}

#[test]
fn a_full_disk_leaves_all_old_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(2);
    let (mut failed, mut runs) = (0, 0);
    for extension in EXTENSIONS {
        let results = Results::new(folder.path(), extension, true);
        let run = results.runs[1].join("' '");
        for at in 0..count() {
            results.reset();
            // The limit of a file's size, in blocks of 512 bytes; every other time the signal that
            // comes with it is not ignored, and kills.
            let blocks = random.below(900);
            let ignore = if at % 2 == 0 { "trap '' XFSZ; " } else { "" };
            let program = env!("CARGO_BIN_EXE_nearfar");
            let shell = format!("{ignore}ulimit -f {blocks}; exec '{program}' '{run}'");
            let done = Command::new("sh").args(["-c", &shell]).output().unwrap();
            assert_ne!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(results.is_new(), done.status.success());
            failed += u64::from(!done.status.success());
            runs += 1;
            if at % 2 == 0 && !done.status.success() {
                let message = String::from_utf8(done.stderr).unwrap();
                assert!(message.contains("cannot write"), "{message}");
                assert_eq!(contents(results.folder()).len(), results.files[0].len(), "{extension}");
            }
        }
    }
    eprintln!("full disks: {failed} of {runs} runs failed, all files old in each");
}

/// Files under `--scratch` that find no space when the run starts, or only after an epoch.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_scratch_keeps_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [graph, state, scratch] = ["graph.tsv", "state", "scratch"].map(path);
    let edges: Vec<String> = (1..17_000).map(|node| format!("{node}\t{}\n", node / 2)).collect();
    fs::write(&graph, edges.concat()).unwrap();
    fs::create_dir(&scratch).unwrap();
    // A table of 279 MB.
    let options = "-q --dim 4096 --start random --smoothing 0 --l2 0.1 --negatives uniform --k 1 \
                   --context 2 --walks 1 --epochs 4";
    let common: Vec<&str> = ["embed", text(&graph)].into_iter().chain(options.split(' ')).collect();
    let common: Vec<&str> = common.into_iter().filter(|option| !option.is_empty()).collect();
    let (broken, whole) = (path("broken.npy"), path("whole.npy"));
    let limits = ["--max-memory", "220MB", "--threads", "2", "--scratch", text(&scratch)];
    let files = ["-o", text(&broken), "--checkpoint", text(&state), "--resume"];
    let run = [&common[..], &limits, &files].concat();
    let limited = |blocks: &str| {
        let program = env!("CARGO_BIN_EXE_nearfar");
        let shell =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec '{program}' '{}'", run.join("' '"));
        let mut shell_command = Command::new("sh");
        shell_command.args(["-c", &shell]).stderr(Stdio::piped()).spawn().unwrap()
    };
    let message = |child: std::process::Child| {
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(1));
        String::from_utf8(done.stderr).unwrap().replace(text(folder.path()), "FOLDER")
    };
    let at_once = message(limited("100000"));
    assert!(at_once.starts_with("error: FOLDER/scratch: cannot write"), "{at_once}");
    assert!(contents(&state).is_empty());

    let later = limited("unlimited");
    let checkpoint = state.join("checkpoint.safetensors");
    while !checkpoint.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let limit = ["--pid", &later.id().to_string(), "--fsize=4096"];
    assert!(Command::new("prlimit").args(limit).status().unwrap().success());
    let later = message(later);
    assert!(later.contains("cannot write"), "{later}");
    assert_eq!(contents(&state).len(), 1, "only the checkpoint is left");
    assert!(contents(&scratch).is_empty() && !broken.exists());
    nearfar(&run).assert().success();
    nearfar(&[&common[..], &["-o", text(&whole)]].concat()).assert().success();
    assert!(fs::read(&broken).unwrap() == fs::read(&whole).unwrap());
}

#[test]
fn killed_runs_are_resumed_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (state, broken, whole) = (path("state"), path("broken.npy"), path("whole.npy"));
    let mut random = Random(3);
    let (mut kills, mut runs) = (0, 0);
    let ways: [&[&str]; 5] = [
        &["builtin:moderate", "--epochs", "40", "--negatives", "uniform"],
        &["builtin:moderate", "--epochs", "40", "--order", "2", "--model", "node2vec"],
        &["builtin:sparse", "--epochs", "4", "--trainer", "batch"],
        &["builtin:sparse", "--epochs", "20", "--trainer", "exact"],
        &["builtin:sparse", "--epochs", "4", "--model", "gcn"],
    ];
    for options in ways {
        let common = ["embed", "-q", "--dim", "40"];
        let common = [&common[..], options].concat();
        let start = Instant::now();
        nearfar(&[&common[..], &["-o", text(&whole)]].concat()).assert().success();
        let took = start.elapsed().as_millis() as u64;
        for _ in 0..count().div_ceil(3) {
            let _ = fs::remove_dir_all(&state);
            let _ = fs::remove_file(&broken);
            let files = ["-o", text(&broken), "--checkpoint", text(&state), "--resume"];
            let run = [&common[..], &files].concat();
            while killed(&run, Duration::from_millis(random.below(took))) {
                kills += 1;
                // Until the run is done, or it was killed three times.
                if random.below(3) == 0 {
                    break;
                }
            }
            nearfar(&run).assert().success();
            assert!(fs::read(&broken).unwrap() == fs::read(&whole).unwrap());
            assert_eq!(contents(&state).len(), 1, "only the checkpoint is left");
            runs += 1;
        }
    }
    eprintln!("resumed runs: {runs}, killed {kills} times, the same bytes in each");
}

/// Files that end too early, where the format tells.
#[test]
fn cut_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(4);
    let mut cuts = 0;
    for extension in ["npy", "parquet", "safetensors"] {
        let results = Results::new(folder.path(), extension, false);
        let whole = fs::read(&results.target).unwrap();
        for _ in 0..count() {
            let length = random.below(whole.len() as u64) as usize;
            fs::write(&results.target, &whole[..length]).unwrap();
            nearfar(&["neighbors", text(&results.target), "b7"]).assert().code(1);
            cuts += 1;
        }
    }
    let state = folder.path().join("state");
    let target = folder.path().join("y.npy");
    let options = ["-q", "--epochs", "2", "--dim", "8", "--checkpoint", text(&state)];
    let run = [&["embed", "builtin:karate", "-o", text(&target)], &options[..]].concat();
    nearfar(&run).assert().success();
    let checkpoint = state.join("checkpoint.safetensors");
    let whole = fs::read(&checkpoint).unwrap();
    for _ in 0..count() {
        let mut damaged = whole.clone();
        damaged.truncate(random.below(whole.len() as u64) as usize);
        fs::write(&checkpoint, &damaged).unwrap();
        nearfar(&[&run[..], &["--resume"]].concat()).assert().code(1);
        let mut damaged = whole.clone();
        damaged[random.below(whole.len() as u64) as usize] ^= 1 << random.below(8);
        fs::write(&checkpoint, &damaged).unwrap();
        nearfar(&[&run[..], &["--resume"]].concat()).assert().code(1);
        cuts += 2;
    }
    eprintln!("damaged files: {cuts}, each of them refused");
}
