//! Scores and bytes of the CPU, of the twin of the kernels and, if there is one, of a GPU:
//!
//! ```text
//! cargo run --release -p nearfar-cuda --example scores -- SEEDS DEVICE,… GRAPH…
//! ```
//!
//! Each graph is a folder with `edges.tsv`, `labels.tsv` and perhaps `splits.tsv`.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nearfar::evaluate::{ClassifyConfig, classify, read_labels, read_splits, splits_in};
use nearfar::graph::{ReadOptions, read};
use nearfar::train::{Settings, TrainConfig};
use nearfar::{Budget, Parts};
use nearfar_cuda::testing::twin;

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> nearfar::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seeds, devices) = (arguments[0].parse().unwrap_or(1), &arguments[1]);
    println!("graph\tdevice\tseed\tseconds\tf1_macro\tf1_micro\tbytes");
    for folder in &arguments[2..] {
        let graph = Arc::new(read(folder, &ReadOptions::default())?.graph);
        for seed in 0..seeds {
            for device in devices.split(',') {
                let parsed = device.parse().unwrap_or_default();
                let train = TrainConfig { seed, device: parsed, ..TrainConfig::default() };
                let settings = Settings { train, ..Settings::default() };
                let backend = match device {
                    "twin" => Some(twin(1)),
                    _ => nearfar_cuda::backend(parsed, None),
                };
                let parts = Parts { backend, ..Parts::default() };
                let started = Instant::now();
                let embedding =
                    nearfar::embed_with(&graph, &settings, &Budget::default(), parts, &mut ())?;
                let seconds = started.elapsed().as_secs_f64();
                let mut hash = DefaultHasher::new();
                embedding.vectors().iter().for_each(|value| hash.write_u32(value.to_bits()));
                let (labels, _) = read_labels(Path::new(folder), &embedding)?;
                let splits =
                    splits_in(Path::new(folder)).map(|file| read_splits(&file, &embedding));
                let splits = splits.transpose()?.map(|(splits, _)| splits);
                let scores =
                    classify(&embedding, &labels, splits.as_ref(), &ClassifyConfig::default())?;
                let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
                let (f1, micro) = (scores.test.f1_macro.mean, scores.test.f1_micro.mean);
                let bytes = hash.finish();
                println!(
                    "{name}\t{device}\t{seed}\t{seconds:.3}\t{f1:.4}\t{micro:.4}\t{bytes:016x}"
                );
            }
        }
    }
    Ok(())
}
