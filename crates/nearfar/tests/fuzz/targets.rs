//! What is fuzzed: functions of a few bytes that must neither panic nor hang nor ask for much more
//! memory than their input. `main.rs` runs them in `cargo test`, `fuzz/` with libFuzzer.

#[path = "training.rs"]
mod training;

use std::fs;
use std::ops::ControlFlow;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearfar::Budget;
use nearfar::embedding::{Embedding, Format};
use nearfar::encode::{Features, NetworkModel};
use nearfar::graph::{
    Dataset, Distance, EdgeList, Graph, Header, Labels, Node, NodeIds, PackConfig, ReadOptions,
    Repeats, Split, pack, read,
};
use nearfar::report::{Columns, Log, ReportConfig, Subject, report};
use nearfar::simd::{InstructionSet, LANES};
use nearfar::train::stream::kernel::{Pair, PairRows, Step, train_pairs};
use nearfar::train::{Checkpoint, Event, Settings, Sink, TrainPlan};
use sha2::{Digest, Sha256};
use training::training;

/// A target: its name, what it does with an input, and whether memory is bounded by the input.
pub(crate) struct Target {
    /// The name.
    pub(crate) name: &'static str,
    /// Runs it on one input.
    pub(crate) run: fn(&[u8]),
    /// Whether reading may allocate no more than 64 MB and ten times the input.
    pub(crate) bounded: bool,
}

/// All targets.
pub(crate) const TARGETS: [Target; 12] = [
    Target { name: "graphs", run: graphs, bounded: true },
    Target { name: "vectors", run: vectors, bounded: true },
    Target { name: "labels", run: labels, bounded: true },
    Target { name: "columns", run: columns, bounded: true },
    Target { name: "features", run: features, bounded: true },
    Target { name: "models", run: models, bounded: true },
    Target { name: "checkpoints", run: checkpoints, bounded: true },
    Target { name: "settings", run: settings, bounded: true },
    Target { name: "logs", run: logs, bounded: true },
    Target { name: "round_trips", run: round_trips, bounded: true },
    Target { name: "kernels", run: kernels, bounded: true },
    Target { name: "training", run: training, bounded: false },
];

/// File extensions of graphs: the first byte of an input chooses one.
pub(crate) const GRAPHS: [&str; 25] = [
    "tsv", "csv", "mtx", "npy", "npz", "parquet", "tsv.gz", "tsv.zst", "edges", "graphml", "gexf",
    "gml", "net", "dot", "json", "jsonl", "graph", "adjlist", "edgelist", "tsv.bz2", "tsv.xz",
    "zip", "arrow", "feather", "nfg",
];

/// File extensions of vectors: the first byte of an input chooses one.
pub(crate) const VECTORS: [&str; 7] = ["npy", "w2v", "txt", "bin", "parquet", "safetensors", "tsv"];

/// File extensions of node features: the first byte of an input chooses one.
pub(crate) const FEATURES: [&str; 7] =
    ["csv", "tsv", "npz", "npy", "parquet", "safetensors", "csv.gz"];

/// Whether a panic shows a fault: decoders of other libraries panic on damaged files, which readers
/// catch, but nothing else may.
pub(crate) fn is_fault(panic: &PanicHookInfo<'_>) -> bool {
    let is_ours = panic.location().is_none_or(|place| place.file().contains("crates/nearfar/"));
    is_ours || !nearfar::file::is_panic_caught()
}

/// Separates the parts of an input that are different files.
pub(crate) const NEXT_FILE: &[u8] = b"\0file\0";

/// A file in a folder of this process, in memory where possible.
fn file(name: &str, content: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: tempfile::TempDir = {
            let memory = Path::new("/dev/shm");
            let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
            made.expect("a temporary folder")
        };
    }
    let path = FOLDER.with(|folder| folder.path().join(name));
    fs::write(&path, content).expect("a temporary file");
    path
}

/// The parts of an input up to and after the separator.
fn split(data: &[u8]) -> (&[u8], Option<&[u8]>) {
    match data.windows(NEXT_FILE.len()).position(|part| part == NEXT_FILE) {
        Some(at) => (&data[..at], Some(&data[at + NEXT_FILE.len()..])),
        None => (data, None),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the name of a temporary file")
}

/// The options of reading that the first byte of an input chooses, besides the file extension.
fn options(first: u8) -> ReadOptions {
    let mut options = ReadOptions::default();
    match usize::from(first) / GRAPHS.len() {
        1 => options.directed = true,
        2 => (options.length, options.distance) = ("3".parse().ok(), Some(Distance::Length)),
        3 => options.header = Header::Yes,
        4 => options.sep = ",".parse().ok(),
        5 => options.repeats = Repeats::Max,
        6 => (options.source, options.target) = ("2".parse().ok(), "1".parse().ok()),
        7 => {
            options.weight = "3".parse().ok();
            options.distance = Some(Distance::InverseWeight);
        }
        8 => options.header = Header::No,
        _ => {}
    }
    options
}

/// Graphs in every format, with and without a list of nodes. The first byte chooses format and
/// options; the last of these are for a graph that is packed.
fn graphs(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let (content, nodes) = split(rest);
    let extension = GRAPHS[usize::from(*first) % GRAPHS.len()];
    if extension == "nfg" {
        return packed_graph(content);
    }
    let path = file(&format!("graph.{extension}"), content);
    let nodes = nodes.map(|nodes| file("nodes.txt", nodes));
    let options = ReadOptions { nodes, ..options(*first) };
    if usize::from(*first) / GRAPHS.len() > 8 {
        check_packed(&path, &options);
    }
    if let Ok(dataset) = read(text(&path), &options) {
        check_graph(&dataset.graph);
        let folder = path.with_file_name("folder");
        dataset.write_folder(&folder).expect("a graph can be written");
        check_graph(&dataset.largest_component().graph);
    }
}

/// What can be packed can be read, and is the same graph.
fn check_packed(path: &Path, options: &ReadOptions) {
    let config = PackConfig { memory: 1 << 20, scratch: None };
    let packed = path.with_file_name("packed.nfg");
    let Ok(found) = pack(text(path), options, &packed, &config) else { return };
    let whole = read(text(path), options).expect("a graph that was packed").graph;
    assert_eq!(found.graph.nodes(), whole.nodes());
    for node in 0..whole.nodes() as Node {
        assert_eq!(found.graph.ids().get(node), whole.ids().get(node));
        assert_eq!(found.graph.neighbours(node), whole.neighbours(node));
        assert_eq!(found.graph.weights(node), whole.weights(node));
    }
}

/// A packed graph with checksums that agree: what is behind them is read, and trained for an epoch.
fn packed_graph(content: &[u8]) {
    let mut content = content.to_vec();
    seal_packed(&mut content);
    let Ok(dataset) = read(text(&file("graph.nfg", &content)), &ReadOptions::default()) else {
        return;
    };
    check_rows(&dataset.graph);
    let mut settings = Settings::default();
    (settings.train.dim, settings.train.epochs) = (4, Some(1));
    if dataset.graph.nodes() < 1000 {
        let _ = nearfar::embed(&dataset.graph.into(), &settings, &Budget::default(), &mut ());
    }
}

/// Writes the checksums of sections and header anew, where there is such a table.
fn seal_packed(file: &mut [u8]) {
    const HEAD: usize = 4096;
    const ENTRY: usize = 64;
    if file.len() < HEAD {
        return;
    }
    for entry in (ENTRY..HEAD).step_by(ENTRY) {
        let number = |at: usize| {
            file[entry + at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
        };
        let (start, end) = (number(32), number(32).saturating_add(number(40)));
        if let Some(bytes) = file.get(start..end) {
            let checksum = crc32fast::hash(bytes).to_le_bytes();
            file[entry + 48..][..4].copy_from_slice(&checksum);
        }
    }
    file[24..28].fill(0);
    let checksum = crc32fast::hash(&file[..HEAD]).to_le_bytes();
    file[24..28].copy_from_slice(&checksum);
}

fn check_graph(graph: &Graph) {
    for node in 0..graph.nodes() as Node {
        assert_eq!(graph.ids().find(&graph.ids().get(node)), Some(node), "ids are distinct");
    }
    check_rows(graph);
}

fn check_rows(graph: &Graph) {
    let n = graph.nodes();
    assert!(n > 0 && n == graph.ids().len());
    for node in 0..n as Node {
        let neighbours = graph.neighbours(node);
        assert!(neighbours.is_sorted_by(|a, b| a < b), "no repeats");
        assert!(neighbours.iter().all(|&k| (k as usize) < n && k != node), "no self-loops");
        assert!(graph.weights(node).is_none_or(|of| of.len() == neighbours.len()));
    }
}

/// Vectors in every format, with and without a list of ids.
fn vectors(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let (content, ids) = split(rest);
    let extension = VECTORS[usize::from(*first) % VECTORS.len()];
    let path = file(&format!("vectors.{extension}"), content);
    let beside = path.with_file_name("vectors.nodes.tsv");
    match ids {
        Some(ids) => fs::write(&beside, ids).expect("a temporary file"),
        None => drop(fs::remove_file(&beside)),
    }
    if let Ok(embedding) = Embedding::load(&path) {
        assert_eq!(embedding.vectors().len(), embedding.nodes() * embedding.dim());
        assert_eq!(embedding.ids().len(), embedding.nodes());
        let _ = embedding.check_finite();
    }
}

/// Labels and splits of the nodes 0 to 9.
fn labels(data: &[u8]) {
    let graph = ring(10);
    let (labels, splits) = split(data);
    if let Ok((labels, _)) = Labels::read(&file("labels.tsv", labels), &graph) {
        assert_eq!(labels.of.len(), 10);
        assert!(labels.of.iter().flatten().all(|&label| (label as usize) < labels.names.len()));
        let dataset = Dataset { labels: Some(labels), ..Dataset::of(graph.clone()) };
        let folder = file("unused", b"").with_file_name("labelled");
        dataset.write_folder(&folder).expect("labels can be written");
        let again = read(text(&folder), &ReadOptions::default()).expect("and read again");
        assert_eq!(again.labels, dataset.labels);
    }
    let splits = file("splits.tsv", splits.unwrap_or_default());
    if let Ok((splits, _)) = Split::read(&splits, &graph) {
        assert_eq!(splits.len(), 10);
    }
}

/// The user's columns of a report on the nodes 0 to 2.
fn columns(data: &[u8]) {
    let embedding = three();
    if let Ok((columns, _)) = Columns::read(&file("columns.csv", data), &embedding) {
        let mut subject = Subject::new("fuzz", &embedding);
        subject.columns = Some(&columns);
        let page = report(&subject, &ReportConfig::default()).expect("a page");
        assert!(page.ends_with("</html>\n"));
    }
}

/// Vectors of the nodes 0 to 2.
fn three() -> Embedding {
    let ids = NodeIds::Range { start: 0, len: 3 };
    Embedding::new(ids, 2, vec![1.0, 0.0, 0.5, 1.0, -1.0, 0.25]).expect("three vectors")
}

fn ring(nodes: Node) -> Graph {
    let pairs = (0..nodes).map(|k| (k, (k + 1) % nodes)).collect();
    let ids = NodeIds::Range { start: 0, len: nodes as usize };
    EdgeList { pairs, weights: None, ids }.build().expect("a ring").0
}

/// Features of the nodes 0 to 2, with and without a list of ids.
fn features(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let (content, ids) = split(rest);
    let extension = FEATURES[usize::from(*first) % FEATURES.len()];
    let path = file(&format!("features.{extension}"), content);
    let beside = path.with_file_name("features.nodes.tsv");
    match ids {
        Some(ids) => fs::write(&beside, ids).expect("a temporary file"),
        None => drop(fs::remove_file(&beside)),
    }
    if let Ok(features) = Features::read(&path, &ring(3)) {
        assert!(features.nodes() == 3 && features.width() > 0);
    }
}

/// Trained networks, applied to three nodes.
fn models(data: &[u8]) {
    let Ok(model) = NetworkModel::load(&file("model.safetensors", data)) else { return };
    let width = model.features();
    let features = Features::sparse(width, vec![0, 0, 1, 1], vec![0], vec![1.0]);
    let found = model.apply(&Arc::new(ring(3)), &Arc::new(features.expect("features")));
    if let Ok(vectors) = found {
        assert_eq!(vectors.vectors().len(), 3 * model.dim());
    }
}

/// Runs that are resumed from a checkpoint, by the trainer that the first byte chooses. Every other
/// one has a checksum that agrees, so that what is behind it is read.
fn checkpoints(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let mut rest = rest.to_vec();
    if first % 2 == 0
        && let Some((content, seal)) = rest.split_last_chunk_mut::<32>()
    {
        seal.copy_from_slice(&Sha256::digest(content));
    }
    let Ok(checkpoint) = Checkpoint::load(&file("checkpoint.safetensors", &rest)) else { return };
    let graph = read("builtin:karate", &ReadOptions::default()).expect("a graph").graph;
    let settings = RESUMED[usize::from(first / 2) % RESUMED.len()];
    let settings = resumed(settings);
    let budget = Budget::default();
    let _ = nearfar::embed(&graph.into(), &settings, &budget, &mut Resume(Some(checkpoint)));
}

/// Settings of runs that are resumed.
pub(crate) const RESUMED: [&str; 4] =
    ["", "order = 2", "trainer = \"exact\"", "model = \"gcn\"\ntrainer = \"batch\""];

/// Settings of a small run.
pub(crate) fn resumed(options: &str) -> Settings {
    let text = format!("dim = 4\nepochs = 2\nnegatives = \"uniform\"\n{options}\n");
    let mut settings = Settings::default();
    settings.merge(&file("resumed.toml", text.as_bytes()), |_| false).expect("settings");
    settings
}

/// Resumes from a checkpoint.
struct Resume(Option<Checkpoint>);

impl Sink for Resume {
    fn event(&mut self, _: &Event) -> nearfar::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    fn plan(&mut self, _: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        Ok(ControlFlow::Continue(self.0.take()))
    }
}

/// Settings in TOML, and the plan for a small graph.
fn settings(data: &[u8]) {
    let mut settings = Settings::default();
    if settings.merge(&file("settings.toml", data), |_| false).is_err() {
        return;
    }
    let budget = Budget { memory: 1_000_000_000, ..Default::default() };
    if let Ok(plan) = TrainPlan::new(&settings, &ring(10), &budget) {
        assert!(plan.memory <= budget.memory && !plan.summary().is_empty());
    }
}

/// Training logs and scores of links, in a report.
fn logs(data: &[u8]) {
    let (log, links) = split(data);
    let log = file("log.jsonl", log);
    let links = links.map(|links| file("links.json", links));
    let embedding = three();
    let mut subject = Subject::new("fuzz", &embedding);
    subject.log = Some(Log::File(&log));
    subject.links = links.as_deref();
    if let Ok(page) = report(&subject, &ReportConfig::default()) {
        assert!(page.ends_with("</html>\n"));
    }
}

/// Vectors are the same after they were saved and loaded, in every format.
fn round_trips(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let (numbers, ids) = split(rest);
    let dim = 1 + usize::from(*first) % 5;
    let numbers: Vec<f32> =
        numbers.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let n = numbers.len() / dim;
    if n == 0 {
        return;
    }
    let ids = match ids {
        None => NodeIds::Range { start: 0, len: n },
        Some(ids) => {
            let ids = String::from_utf8_lossy(ids);
            let ids = ids.split('|').chain(std::iter::repeat("")).take(n).enumerate();
            NodeIds::StringIds(ids.map(|(row, id)| format!("{id}{row}")).collect())
        }
    };
    let Ok(saved) = Embedding::new(ids, dim, numbers[..n * dim].to_vec()) else { return };
    let formats =
        [Format::Npy, Format::Word2vec, Format::Parquet, Format::Safetensors, Format::Tsv];
    for (format, extension) in
        formats.into_iter().zip(["npy", "w2v", "parquet", "safetensors", "tsv"])
    {
        let path = file("unused", b"").with_file_name(format!("saved.{extension}"));
        if saved.save(&path, Some(format)).is_err() {
            continue;
        }
        match Embedding::load(&path) {
            Ok(loaded) => {
                let bits = |of: &Embedding| -> Vec<u32> {
                    // A text has one NaN.
                    of.vectors().iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
                };
                assert_eq!(bits(&loaded), bits(&saved), "{format:?}");
                for node in 0..n as Node {
                    assert_eq!(loaded.ids().get(node), saved.ids().get(node), "{format:?}");
                }
            }
            // Readers refuse what is no number; writers of binary formats do not.
            Err(error) => {
                let finite = saved.vectors().iter().all(|x| x.is_finite());
                assert!(!finite, "{format:?}: {error}");
            }
        }
    }
}

/// Every instruction set trains the same pairs to the same rows, up to rounding.
fn kernels(data: &[u8]) {
    const ROWS: u32 = 8;
    let Some((first, pairs)) = data.split_first() else { return };
    let dim = LANES * (1 + usize::from(first % 4) * 5);
    let pairs: Vec<Pair> = pairs
        .iter()
        .map(|byte| Pair::new(u32::from(byte % 8), u32::from(byte / 8 % 8), *byte >= 128))
        .take(2000)
        .collect();
    let start: Vec<f32> = (0..ROWS as usize * dim)
        .map(|at| ((at * 37 + usize::from(*first)) % 101) as f32 / 101.0 - 0.5)
        .collect();
    let step = Step { positive: 0.01, negative: 0.005, shrink: 0.999 };
    let train = |set: InstructionSet, same: bool| {
        let (mut centres, mut others) = (start.clone(), start.clone());
        others.reverse();
        let other = if same { None } else { Some(&mut others[..]) };
        let rows = PairRows { dim, centres: &mut centres, others: other };
        let loss = train_pairs(set, rows, &pairs, step);
        (loss, centres, others)
    };
    for same in [false, true] {
        let (loss, centres, others) = train(InstructionSet::available()[0], same);
        for set in InstructionSet::available() {
            let found = train(set, same);
            assert!((found.0 - loss).abs() <= 1e-3 * (1.0 + loss.abs()), "{}", set.name());
            let close = |a: &[f32], b: &[f32]| {
                a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-2 * (1.0 + a.abs()))
            };
            assert!(close(&found.1, &centres) && close(&found.2, &others), "{}", set.name());
        }
    }
}
