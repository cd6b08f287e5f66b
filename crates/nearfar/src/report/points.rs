//! The binary data of the page: nodes, edges and quantised vectors.
//!
//! ```text
//! u32 length of the header · header (JSON) · sections, each aligned to four bytes
//! ```
//!
//! The header locates the sections (`sections`: name → [start, bytes]), and holds the statistics and
//! scores of the report. Integers are little-endian.
//!
//! | section | content |
//! |---|---|
//! | `tsne`, `pca` | u16 × 2 per node: the position, in 1/65535 of the larger side of the map |
//! | `names` | ids, a JSON list; absent if they are 0, 1, 2, … |
//! | `labels` | u16 per node: its first label, 65535 for none |
//! | `edges` | per node, the number of neighbours with a higher row, and their delta-encoded rows, as LEB128 varints |
//! | `vectors` | i8 × dims per node: the vector in multiples of its scale |
//! | `scales`, `norms` | f32 per node: the quantisation step; the norm of the exact vector |

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ndarray::ArrayView2;
use serde_json::{Map, Value, json};

use crate::embedding::Embedding;
use crate::graph::{Graph, Labels, Node, NodeIds};
use crate::project::principal_directions;
use crate::rng::{Purpose, Rng};

/// Budget of the compressed data in bytes; as Base64 it keeps the page below 12 MB.
const MAX_BYTES: usize = 8_600_000;
/// Budget of the compressed edges in bytes.
const MAX_EDGE_BYTES: usize = 3_500_000;

/// The sections and the header.
#[derive(Default)]
pub(super) struct Points {
    header: Map<String, Value>,
    sections: Map<String, Value>,
    bytes: Vec<u8>,
    /// Compressed size of the sections.
    compressed: usize,
}

impl Points {
    /// Positions, scaled to a square with the aspect ratio preserved.
    pub(super) fn add_positions(&mut self, name: &str, positions: &[[f32; 2]]) {
        let edge = |axis: usize, start: f32, choose: fn(f32, f32) -> f32| {
            positions.iter().map(|position| position[axis]).fold(start, choose)
        };
        let low = [0, 1].map(|axis| edge(axis, f32::INFINITY, f32::min));
        let high = [0, 1].map(|axis| edge(axis, f32::NEG_INFINITY, f32::max));
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let quantise = |position: &[f32; 2]| {
            [0, 1].map(|axis| {
                let middle = f32::midpoint(low[axis], high[axis]);
                (((position[axis] - middle) / side + 0.5) * 65_535.0).round() as u16
            })
        };
        let bytes = positions.iter().flat_map(quantise).flat_map(u16::to_le_bytes).collect();
        self.add(name, bytes);
    }

    /// Ids; truncated if they are too long in total.
    pub(super) fn add_ids(&mut self, ids: &NodeIds) {
        const TRUNCATED_CHARS: usize = 60;
        const MAX_ID_BYTES: usize = 2_000_000;
        if let NodeIds::Range { start: 0, .. } = ids {
            return;
        }
        let all = || (0..ids.len() as Node).map(|node| ids.get(node));
        let truncate = all().map(|id| id.len()).sum::<usize>() > MAX_ID_BYTES;
        let shorten = |id: &str| match id.char_indices().nth(TRUNCATED_CHARS) {
            Some((end, _)) if truncate => format!("{}…", &id[..end]),
            _ => id.to_owned(),
        };
        let list: Vec<String> = all().map(|id| shorten(&id)).collect();
        self.add("names", json!(list).to_string().into_bytes());
    }

    /// The first label of each node, and the names of all labels.
    pub(super) fn add_labels(&mut self, labels: Option<&Labels>, nodes: &[Node]) {
        const NONE: u16 = u16::MAX;
        let Some(labels) = labels else { return };
        let of = |node: Node| labels.of[node as usize].as_slice();
        let first = |node: &Node| of(*node).first().map_or(NONE, |&l| l.min(65_534) as u16);
        let bytes = nodes.iter().map(first).flat_map(u16::to_le_bytes).collect();
        self.add("labels", bytes);
        self.header.insert("labels".to_owned(), json!(labels.names));
        let several = nodes.iter().any(|&node| of(node).len() > 1);
        self.header.insert("several_labels".to_owned(), several.into());
    }

    /// The edges, unless they exceed their budget; returns whether they fit.
    pub(super) fn add_edges(&mut self, graph: &Graph) -> bool {
        let mut bytes = Vec::new();
        for node in 0..graph.nodes() as Node {
            let row = graph.neighbours(node);
            let higher = &row[row.partition_point(|&other| other < node)..];
            push_varint(&mut bytes, higher.len() as u32);
            let mut last = node;
            for &other in higher {
                push_varint(&mut bytes, other - last);
                last = other;
            }
        }
        let fits = compressed_size(&bytes) <= MAX_EDGE_BYTES;
        if fits {
            self.add("edges", bytes);
        }
        fits
    }

    /// The vectors, in as many dimensions as fit the budget; returns the dimensions and the error of
    /// similarities.
    pub(super) fn add_vectors(&mut self, embedding: &Embedding, seed: u64) -> Value {
        const MIN_DIMS: usize = 8;
        let (n, dim) = (embedding.nodes(), embedding.dim());
        let left = MAX_BYTES.saturating_sub(self.compressed + 8 * n);
        let dims = (left / n).max(MIN_DIMS).min(dim);
        let reduced;
        let rows = if dims == dim {
            embedding.vectors()
        } else {
            reduced = reduce(embedding, dims);
            &reduced
        };
        let mut units = Vec::with_capacity(n * dims);
        let mut scales = Vec::with_capacity(n);
        for row in rows.chunks_exact(dims) {
            let scale = row.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
            scales.push(scale);
            let unit = |x: &f32| if scale > 0.0 { (x / scale).round() as i8 } else { 0 };
            units.extend(row.iter().map(unit));
        }
        let norm = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f32> =
            embedding.vectors().chunks_exact(dim).map(|row| norm(row) as f32).collect();
        let error = QuantisedVectors { units: &units, scales: &scales, norms: &norms, dims }
            .error(embedding, seed);
        self.add("scales", scales.iter().flat_map(|x| x.to_le_bytes()).collect());
        self.add("norms", norms.iter().flat_map(|x| x.to_le_bytes()).collect());
        self.add("vectors", units.iter().map(|&unit| unit.cast_unsigned()).collect());
        json!({ "dims": dims, "error": error })
    }

    /// Header and sections, compressed.
    pub(super) fn pack(mut self, about: impl Iterator<Item = (String, Value)>) -> Vec<u8> {
        self.header.extend(about);
        self.header.insert("sections".to_owned(), Value::Object(self.sections));
        let header = Value::Object(self.header).to_string();
        let mut all = (header.len() as u32).to_le_bytes().to_vec();
        all.extend(header.bytes());
        all.resize(all.len().next_multiple_of(4), 0);
        all.extend(self.bytes);
        deflate(&all)
    }

    fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.compressed += compressed_size(&bytes);
        self.sections.insert(name.to_owned(), json!([self.bytes.len(), bytes.len()]));
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Quantised vectors, as the page uses them.
struct QuantisedVectors<'a> {
    units: &'a [i8],
    scales: &'a [f32],
    norms: &'a [f32],
    dims: usize,
}

impl QuantisedVectors<'_> {
    fn cosine(&self, a: usize, b: usize) -> f64 {
        let row = |node: usize| &self.units[node * self.dims..][..self.dims];
        let sum: i32 = row(a).iter().zip(row(b)).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        let scale = f64::from(self.scales[a]) * f64::from(self.scales[b]);
        let norms = f64::from(self.norms[a]) * f64::from(self.norms[b]);
        if norms > 0.0 { f64::from(sum) * scale / norms } else { 0.0 }
    }

    /// The 95th percentile of the absolute error of the cosine, over random pairs.
    fn error(&self, embedding: &Embedding, seed: u64) -> f64 {
        const PAIRS: usize = 4000;
        let n = embedding.nodes();
        let mut rng = Rng::new(seed, Purpose::Projection, 4, 0);
        let mut errors: Vec<f64> = (0..PAIRS)
            .map(|_| {
                let [a, b] = [0, 1].map(|_| rng.below(n));
                let (x, y) = (embedding.vector(a as Node), embedding.vector(b as Node));
                let dot: f64 = x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
                let norms = f64::from(self.norms[a]) * f64::from(self.norms[b]);
                let exact = if norms > 0.0 { dot / norms } else { 0.0 };
                (exact - self.cosine(a, b)).abs()
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        errors[PAIRS * 95 / 100]
    }
}

/// The vectors in their first principal directions, which preserve dot products best.
fn reduce(embedding: &Embedding, dims: usize) -> Vec<f32> {
    let (n, dim) = (embedding.nodes(), embedding.dim());
    let Ok(vectors) = ArrayView2::from_shape((n, dim), embedding.vectors()) else {
        return vec![0.0; n * dims];
    };
    let (_, directions) = principal_directions(&vectors.to_owned(), dims, false);
    vectors.dot(&directions.t()).into_iter().collect()
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(7));
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn compressed_size(bytes: &[u8]) -> usize {
    deflate(bytes).len()
}
