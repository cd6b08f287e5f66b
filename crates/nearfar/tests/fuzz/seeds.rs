//! Valid inputs that mutations start from: the test files of this crate, and the output of small runs.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearfar::encode::Features;
use nearfar::graph::{ReadOptions, read};
use nearfar::train::{
    Checkpoint, Checkpoints, Event, Model, Recorder, RunLog, Settings, Sink, State, TrainConfig,
    TrainPlan,
};
use nearfar::{Budget, Parts, Result, embed_with};

use crate::targets::{FEATURES, GRAPHS, NEXT_FILE, RESUMED, VECTORS, resumed};

/// The seeds of a target, and the inputs in `corpus/NAME`, which once failed.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut seeds = match target {
        "graphs" => {
            let mut seeds = files(&[tests.join("data"), tests.join("data-bad")], &GRAPHS);
            seeds.push(packed());
            seeds
        }
        "vectors" => files(&[tests.join("vectors"), tests.join("vectors-bad")], &VECTORS),
        "labels" => vec![
            [b"0\ta,b\n1\tb\n2\n3\t7\n".as_slice(), NEXT_FILE, b"0\ttrain\n1\tval\n2\ttest\n"]
                .concat(),
            b"# labels\n9\t1\n8\t2\n".to_vec(),
        ],
        "columns" => vec![
            b"id,year,topic\n0,1999,a\n1,2001,b\n2,,\"a, b\"\n".to_vec(),
            b"node\tx\n2\t0.5\n7\tnan\n".to_vec(),
        ],
        "features" => {
            let mut seeds = files(&[tests.join("data"), tests.join("vectors")], &FEATURES);
            seeds.push(b"\0id,size,colour\n0,1.5,0\n1,-2,0\n2,0,1\n".to_vec());
            seeds
        }
        "models" => [Model::Gcn, Model::Vgae, Model::Sage].map(model).into(),
        "checkpoints" => (0..RESUMED.len()).flat_map(checkpoints).collect(),
        "logs" => vec![
            run("").1,
            [&run("").1, NEXT_FILE, br#"{"auc": 0.9, "average_precision": 0.8}"#].concat(),
        ],
        "settings" => settings(&tests.join("../../../configs")),
        "round_trips" => vec![
            [
                &[2],
                bytes_of(&[1.0, -0.5, 1e-42, 3e38, 0.1, 7.0]).as_slice(),
                NEXT_FILE,
                b"a|b\tc|d e",
            ]
            .concat(),
            [&[0], bytes_of(&[f32::NAN, f32::INFINITY, -0.0]).as_slice()].concat(),
        ],
        "kernels" => vec![(0..=255).collect(), (0..200_u32).map(|k| (k * 7 % 251) as u8).collect()],
        "training" => training(&settings(&tests.join("../../../configs"))),
        other => panic!("no target {other}"),
    };
    for path in entries(&tests.join("fuzz/corpus").join(target)) {
        seeds.push(fs::read(path).expect("a file of the corpus"));
    }
    seeds
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The files of a folder in the order of their names; none if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}

/// Files by the longest of `extensions` that they end with, whose number is put before them.
fn files(folders: &[PathBuf], extensions: &[&str]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for path in folders.iter().flat_map(|folder| entries(folder)) {
        let name = path.to_string_lossy();
        let fits = |&at: &usize| name.ends_with(&format!(".{}", extensions[at]));
        let longest = (0..extensions.len()).filter(fits).max_by_key(|&at| extensions[at].len());
        if let Some(at) = longest {
            seeds.push([vec![at as u8], fs::read(&path).expect("a test file")].concat());
        }
    }
    seeds
}

/// A packed graph.
fn packed() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("karate.nfg");
    let graph = read("builtin:karate", &ReadOptions::default()).expect("a graph").graph;
    graph.write_packed(&path).expect("a packed graph");
    let at = GRAPHS.iter().position(|&extension| extension == "nfg").expect("a format");
    [vec![at as u8], fs::read(path).expect("the packed graph")].concat()
}

fn settings(configs: &Path) -> Vec<Vec<u8>> {
    let paths = entries(configs).into_iter().filter(|path| path.extension().is_some());
    let mut seeds: Vec<Vec<u8>> =
        paths.map(|path| fs::read(path).expect("a settings file")).collect();
    seeds.push(
        b"model = \"node2vec\"\ndim = 32\np = 0.5\nq = 2.0\nl2 = \"auto\"\nseed = 3\n".to_vec(),
    );
    for law in
        ["uniform", "degree", "distance", "distance-max", "landmark", "landmark-approx", "edge"]
    {
        seeds.push(format!("negatives = \"{law}\"\ngamma = -2.5\nlandmarks = 3\n").into_bytes());
        seeds.push(format!("negatives = \"{law}\"\ngamma = 20.0\nfar = 9\n").into_bytes());
    }
    for trainer in ["batch", "exact"] {
        seeds.push(format!("trainer = \"{trainer}\"\ndim = 8\n").into_bytes());
    }
    seeds
}

/// Each of the settings with a small graph; every other one has directions, weights or lengths.
fn training(settings: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let graph = |at: usize| {
        let options = if at.is_multiple_of(2) { 0 } else { (at / 2 % 8) as u8 };
        let edges = (0..80).map(|k| (k * (at + 3) % 40) as u8);
        std::iter::once(options).chain(edges).collect::<Vec<u8>>()
    };
    settings.iter().enumerate().map(|(at, text)| [&graph(at), NEXT_FILE, text].concat()).collect()
}

/// A network that was trained on two features.
fn model(model: Model) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let graph = read("builtin:karate", &ReadOptions::default()).expect("a graph").graph;
    let features = Features::dense(graph.nodes(), 2, (0..68).map(|at| at as f32 / 68.0).collect());
    let train = TrainConfig { model, dim: 4, epochs: Some(1), ..Default::default() };
    let settings = Settings { train, ..Default::default() };
    let mut network = None;
    let features = Some(Arc::new(features.expect("features")));
    let parts = Parts { features, model: Some(&mut network), ..Default::default() };
    embed_with(&graph.into(), &settings, &Budget::default(), parts, &mut ()).expect("a run");
    let path = folder.path().join("model.safetensors");
    network.expect("a network").save(&path).expect("a model");
    fs::read(path).expect("the model")
}

/// The checkpoint of a run, whose checksum is kept or written anew.
fn checkpoints(way: usize) -> [Vec<u8>; 2] {
    let (checkpoint, _) = run(RESUMED[way]);
    [2 * way, 2 * way + 1].map(|first| [&[first as u8], &checkpoint[..]].concat())
}

/// The checkpoint and the log of a small run.
fn run(options: &str) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let graph = read("builtin:karate", &ReadOptions::default()).expect("a graph").graph.into();
    let settings = resumed(options);
    let log = folder.path().join("log.jsonl");
    let checkpoints = Checkpoints::new(folder.path(), false).expect("a folder");
    let mut recorder = Recorder::new(Some(RunLog::create(&log).expect("a log")), Some(checkpoints));
    nearfar::embed(&graph, &settings, &Budget::default(), &mut Keep(&mut recorder)).expect("a run");
    recorder.finish().expect("a log");
    let checkpoint = folder.path().join("checkpoint.safetensors");
    (fs::read(checkpoint).expect("a checkpoint"), fs::read(log).expect("a log"))
}

/// Passes everything on to a recorder.
struct Keep<'a>(&'a mut Recorder);

impl Sink for Keep<'_> {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        self.0.event(event).map(ControlFlow::Continue)
    }

    fn plan(&mut self, plan: &TrainPlan) -> Result<ControlFlow<(), Option<Checkpoint>>> {
        self.0.plan(plan).map(ControlFlow::Continue)
    }

    fn state(&mut self, state: &State<'_>) -> Result<ControlFlow<()>> {
        self.0.state(state, ControlFlow::Continue(())).map(ControlFlow::Continue)
    }
}
