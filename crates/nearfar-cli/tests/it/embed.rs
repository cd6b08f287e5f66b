//! `nearfar embed`: from a graph to a file of vectors.

use std::fs;

use crate::{failure, json, nearfar, output, text};

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let train = |threads: &str| {
        let path = folder.path().join(format!("{threads}.npy"));
        let arguments = ["embed", "builtin:sparse", "-o", text(&path), "--threads", threads];
        nearfar(&[&arguments[..], &["--dim", "20", "--epochs", "3"]].concat()).assert().success();
        fs::read(&path).unwrap()
    };
    let one = train("1");
    for threads in ["2", "3", "8"] {
        assert!(train(threads) == one, "{threads} threads");
    }
}

#[test]
fn every_format_holds_the_same_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let neighbors: Vec<String> = ["npy", "w2v", "txt", "parquet", "safetensors", "tsv", "csv"]
        .into_iter()
        .map(|extension| {
            let path = folder.path().join(format!("vectors.{extension}"));
            let options = ["--dim", "16", "--seed", "4", "-q"];
            let arguments = ["embed", "builtin:karate", "-o", text(&path)];
            nearfar(&[&arguments[..], &options].concat()).assert().success().stderr("");
            output(&["neighbors", text(&path), "33", "-k", "5", "--json"])
        })
        .collect();
    assert!(neighbors.iter().all(|other| *other == neighbors[0]), "{neighbors:?}");
    let ids = fs::read_to_string(folder.path().join("vectors.nodes.tsv")).unwrap();
    assert_eq!(ids.lines().collect::<Vec<_>>()[..3], ["0", "1", "2"]);
}

#[test]
fn isolated_nodes_and_string_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("edges.tsv"), "Zoë\tbob\nbob\tc d\n").unwrap();
    fs::write(path("nodes.tsv"), "lonely\nbob\nZoë\nc d\n").unwrap();
    let vectors = path("v.parquet");
    for law in ["auto", "distance", "uniform", "landmark-approx", "landmark", "edge", "degree"] {
        let arguments = ["embed", text(folder.path()), "-o", text(&vectors), "--dim", "3"];
        nearfar(&[&arguments[..], &["--negatives", law]].concat()).assert().success();
        let found = json(&["neighbors", text(&vectors), "lonely", "-k", "9", "--json"]);
        assert_eq!(found["neighbors"].as_array().unwrap().len(), 3, "{law}");
    }
}

#[test]
fn the_log_has_a_line_for_every_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, log] = ["v.npy", "log.jsonl"].map(|name| folder.path().join(name));
    let arguments = ["embed", "builtin:karate", "-o", text(&vectors), "--log", text(&log)];
    nearfar(&[&arguments[..], &["--epochs", "4"]].concat()).assert().success();
    let lines: Vec<serde_json::Value> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[6]["event"], "finished");
    assert_eq!(lines[5]["event"], "times");
    for stage in ["read", "prepare", "train", "save"] {
        assert!(lines[5][stage].is_number(), "{stage}");
    }
    assert_eq!(lines[0]["event"], "started");
    assert_eq!(lines[0]["settings"]["epochs"], 4);
    assert_eq!((&lines[4]["event"], &lines[4]["epoch"]), (&"epoch".into(), &4.into()));
    for field in ["loss", "l2", "effective_rank", "pairs", "seconds"] {
        assert!(lines[4][field].is_number(), "{field}");
    }
}

#[test]
fn wrong_options_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("v.npy");
    let embed = |options: &[&str]| {
        let arguments = ["embed", "builtin:karate", "-o", text(&target), "-q"];
        let message = failure(&[&arguments[..], options].concat());
        assert!(!target.exists(), "{options:?}");
        message
    };
    let messages = [
        embed(&["--dim", "0"]),
        embed(&["--context", "1"]),
        embed(&["--lr", "NaN"]),
        embed(&["--l2=-1"]),
        embed(&["--q", "4"]),
        embed(&["--model", "node2vec", "--p", "0"]),
        embed(&["--gamma", "nan"]),
    ]
    .concat();
    insta::assert_snapshot!(messages, @"
    error: --dim 0: expected 1 to 4096
    error: --context 1: expected 2 to 1000
    error: --lr NaN: expected a number above 0, at most 10
    error: --l2 -1: expected 'auto' or a number from 0 to 2
    error: p and q are parameters of node2vec; use --model node2vec
    error: --p 0: expected a number above 0
    error: --gamma NaN: expected −64 to 64
    ");
    let message = embed(&["--max-memory", "10kB"]);
    let remedies = "10 kB are allowed; lower --walks, --dim or raise --max-memory\n";
    assert!(message.ends_with(remedies), "{message}");
    let message = failure(&["embed", "builtin:karate", "-o", "vectors.docx"]);
    insta::assert_snapshot!(message, @"error: vectors.docx: unknown file extension '.docx'; use one of .npy, .w2v, .txt, .parquet, .safetensors, .tsv, .csv or give --format");
}

#[test]
fn a_config_file_sets_what_the_command_line_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let [config, vectors, other] =
        ["c.toml", "a.npy", "b.npy"].map(|name| folder.path().join(name));
    fs::write(&config, "# small\ndim = 12\nepochs = 2\nl2 = 0.1\nnegatives = \"uniform\"\n")
        .unwrap();
    let arguments = ["embed", "builtin:karate", "--config", text(&config), "--epochs", "3"];
    nearfar(&[&arguments[..], &["-o", text(&vectors)]].concat()).assert().success();
    let arguments = ["embed", "builtin:karate", "--dim", "12", "--epochs", "3", "--l2", "0.1"];
    let output = ["--negatives", "uniform", "-o", text(&other)];
    nearfar(&[&arguments[..], &output].concat()).assert().success();
    assert!(fs::read(&vectors).unwrap() == fs::read(&other).unwrap());
    let mut messages = String::new();
    for wrong in ["dims = 12", "dim = \"many\"", "dim = ", "dim = 0"] {
        fs::write(&config, wrong).unwrap();
        let arguments = ["embed", "builtin:karate", "-q", "--config", text(&config)];
        messages += &failure(&arguments).replace(text(folder.path()), "FOLDER");
    }
    insta::assert_snapshot!(messages, @r#"
    error: FOLDER/c.toml: unknown setting 'dims'; expected one of negatives, gamma, degree-power, landmarks, far, strategy, model, trainer, protocol, dim, context, walk-length, walks, centre-power, k, p, q, order, start, epochs, lr, batch, l2, smoothing, pmi, negative-weight, kernel, device, scratch, seed
    error: FOLDER/c.toml: dim: invalid type: string "many", expected usize
    error: FOLDER/c.toml:1: string values must be quoted, expected literal string
    error: --dim 0: expected 1 to 4096
    "#);
}

#[test]
fn a_checkpoint_is_resumed_only_with_the_same_settings() {
    let folder = tempfile::tempdir().unwrap();
    let [state, vectors] = ["state", "v.npy"].map(|name| folder.path().join(name));
    let arguments = ["embed", "builtin:karate", "-q", "-o", text(&vectors), "--dim", "8"];
    let base = [&arguments[..], &["--checkpoint", text(&state)]].concat();
    nearfar(&base).assert().success();
    let whole = fs::read(&vectors).unwrap();
    fs::remove_file(&vectors).unwrap();
    // All epochs are finished: resuming only writes the vectors.
    nearfar(&[&base[..], &["--resume"]].concat()).assert().success();
    assert!(fs::read(&vectors).unwrap() == whole);
    let messages = [
        failure(&base),
        failure(&[&base[..], &["--resume", "--seed", "1"]].concat()),
        failure(&[&base[..], &["--resume", "--negatives", "uniform"]].concat()),
        failure(&[&["embed", "builtin:sparse", "--resume", "-q"], &base[3..]].concat()),
    ];
    let messages = messages.concat().replace(text(folder.path()), "FOLDER");
    insta::assert_snapshot!(messages, @"
    error: FOLDER/state/checkpoint.safetensors: a run was saved here already; remove it or give --resume
    error: FOLDER/state/checkpoint.safetensors: the checkpoint has seed 0, not 1; use --seed 0 or use another folder
    error: FOLDER/state/checkpoint.safetensors: the checkpoint has negatives distance, not uniform; use --negatives distance, raise --max-memory or use another folder
    error: FOLDER/state/checkpoint.safetensors: the checkpoint is of another graph; use that graph or use another folder
    ");
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_resumed_to_the_same_bytes() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let [state, broken, whole] = ["state", "a.npy", "b.npy"].map(|name| folder.path().join(name));
    let options =
        ["embed", "builtin:moderate", "-q", "--epochs", "400", "--walks", "2", "--dim", "64"];
    let checkpoint = ["-o", text(&broken), "--checkpoint", text(&state)];
    let mut child = Command::new(env!("CARGO_BIN_EXE_nearfar"))
        .args(options)
        .args(checkpoint)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !state.join("checkpoint.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!broken.exists());
    nearfar(&[&options[..], &checkpoint, &["--resume"]].concat()).assert().success();
    nearfar(&[&options[..], &["-o", text(&whole)]].concat()).assert().success();
    assert!(fs::read(&broken).unwrap() == fs::read(&whole).unwrap());
}
