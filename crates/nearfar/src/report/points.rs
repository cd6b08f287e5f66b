//! The binary data of the page: positions, columns, edges or distances, and quantised vectors.
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
//! | `tsne`, `pca`, `hops`, `against` | u16 × 2 per node: the position, in 1/65535 of the larger side of the map |
//! | `names` | ids of all nodes, a JSON list; absent if they are 0, 1, 2, … |
//! | `rows` | the rows of the nodes on the map, delta-encoded; absent if all are |
//! | `column0`, … | per node: u16, the group, 65535 for none; or f32, the number; or a JSON list of texts |
//! | `edges` | per node, the number of neighbours with a higher row, and their delta-encoded rows, as LEB128 varints; if the graph is directed, of all nodes that it has an arc to |
//! | `distances` | without `edges`: per chosen node, the hops to all nodes, u8 or u16, all bits set for none |
//! | `vectors` | i8 × dims per node: the vector in multiples of its scale |
//! | `scales`, `norms` | f32 per node: the quantisation step; the norm of the exact vector |
//! | `against-vectors`, … | the same of the other embedding |

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ndarray::ArrayView2;
use serde_json::{Map, Value, json};

use super::columns::{Column, Values};
use crate::embedding::Embedding;
use crate::graph::{Graph, Node, NodeIds};
use crate::project::principal_directions;
use crate::rng::{Purpose, Rng};

/// The sections and the header.
pub(super) struct Points {
    header: Map<String, Value>,
    sections: Map<String, Value>,
    bytes: Vec<u8>,
    /// Compressed size of the sections.
    compressed: usize,
    /// Budget of the compressed data in bytes.
    most: usize,
}

impl Points {
    /// Data of so many nodes. As Base64, it keeps the page below 12 MB up to 100 000 nodes, and below
    /// 40 MB for a million.
    pub(super) fn new(nodes: usize) -> Self {
        const SMALL: f64 = 8_600_000.0;
        const LARGE: f64 = 29_500_000.0;
        let fraction = (nodes.saturating_sub(100_000) as f64 / 900_000.0).min(1.0);
        let most = (SMALL + fraction * (LARGE - SMALL)) as usize;
        let (header, sections, bytes) = (Map::new(), Map::new(), Vec::new());
        Self { header, sections, bytes, compressed: 0, most }
    }

    /// The budget of edges, or of distances in their place.
    pub(super) fn most_edge_bytes(&self) -> usize {
        (2 * self.most / 5).min(8_000_000)
    }

    /// Positions, scaled to a square with the aspect ratio preserved. Those that are `rough` have
    /// 4096 steps.
    pub(super) fn add_positions(&mut self, name: &str, positions: &[[f32; 2]], rough: bool) {
        let edge = |axis: usize, start: f32, choose: fn(f32, f32) -> f32| {
            positions.iter().map(|position| position[axis]).fold(start, choose)
        };
        let low = [0, 1].map(|axis| edge(axis, f32::INFINITY, f32::min));
        let high = [0, 1].map(|axis| edge(axis, f32::NEG_INFINITY, f32::max));
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let step: u16 = if rough { 16 } else { 1 };
        let quantise = |position: &[f32; 2]| {
            [0, 1].map(|axis| {
                let middle = f32::midpoint(low[axis], high[axis]);
                (((position[axis] - middle) / side + 0.5) * 65_535.0).round() as u16 / step * step
            })
        };
        let bytes = positions.iter().flat_map(quantise).flat_map(u16::to_le_bytes).collect();
        self.add(name, bytes);
    }

    /// The rows of the nodes on the map, unless all are, and the ids of all nodes; of those on the map
    /// alone if they are too long in total, and then truncated. Returns what was left out.
    pub(super) fn add_ids(&mut self, ids: &NodeIds, shown: &[Node]) -> Option<String> {
        const MAX_ID_BYTES: usize = 20_000_000;
        let text = |nodes: &[Node], most: usize| {
            let shorten = |id: &str| match id.char_indices().nth(most) {
                Some((end, _)) => format!("{}…", &id[..end]),
                None => id.to_owned(),
            };
            let list: Vec<String> = nodes.iter().map(|&node| shorten(&ids.get(node))).collect();
            json!(list).to_string().into_bytes()
        };
        if shown.len() < ids.len() {
            let mut bytes = Vec::new();
            let mut last = 0;
            for &row in shown {
                push_varint(&mut bytes, row - last);
                last = row;
            }
            self.add("rows", bytes);
        }
        if let NodeIds::Range { start: 0, .. } = ids {
            return None;
        }
        let all: Vec<Node> = (0..ids.len() as Node).collect();
        let length = |nodes: &[Node]| nodes.iter().map(|&node| ids.get(node).len()).sum::<usize>();
        if length(&all) <= MAX_ID_BYTES {
            self.add("names", text(&all, usize::MAX));
            return None;
        }
        self.header.insert("only_shown_ids".to_owned(), true.into());
        let truncated = length(shown) > MAX_ID_BYTES;
        self.add("names", text(shown, if truncated { 60 } else { usize::MAX }));
        let cut = if truncated { ", those of more than 60 characters cut off" } else { "" };
        Some(format!(
            "Ids are too long for one page: search finds those of nodes on the map only{cut}."
        ))
    }

    /// Columns, by which nodes are coloured and filtered.
    pub(super) fn add_columns(&mut self, columns: &[Column]) {
        let mut list = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let section = format!("column{at}");
            let (kind, groups, bytes) = match &column.values {
                Values::Groups { names, of } => {
                    let bytes = of.iter().flat_map(|group| group.to_le_bytes()).collect();
                    ("groups", Some(names), bytes)
                }
                Values::Numbers(numbers) => {
                    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                    ("numbers", None, bytes)
                }
                Values::Texts(texts) => ("texts", None, json!(texts).to_string().into_bytes()),
            };
            self.add(&section, bytes);
            let name = &column.name;
            list.push(json!({ "name": name, "kind": kind, "groups": groups, "section": section }));
        }
        self.header.insert("columns".to_owned(), Value::Array(list));
    }

    /// The edges, each once, or the arcs, unless they exceed their budget; returns whether they fit.
    pub(super) fn add_edges(&mut self, graph: &Graph) -> bool {
        let mut bytes = Vec::new();
        for node in 0..graph.nodes() as Node {
            let row = graph.neighbours(node);
            let (row, mut last) = if graph.is_directed() {
                (row, 0)
            } else {
                (&row[row.partition_point(|&other| other < node)..], node)
            };
            push_varint(&mut bytes, row.len() as u32);
            for &other in row {
                push_varint(&mut bytes, other - last);
                last = other;
            }
        }
        let fits = compressed_size(&bytes) <= self.most_edge_bytes();
        if fits {
            self.add("edges", bytes);
        }
        fits
    }

    /// The vectors, in as many dimensions as a share of what is left of the budget allows; returns
    /// their number and the error of similarities.
    pub(super) fn add_vectors(
        &mut self,
        prefix: &str,
        share: f64,
        embedding: &Embedding,
        seed: u64,
    ) -> Value {
        const MIN_DIMS: usize = 4;
        let (n, dim) = (embedding.nodes(), embedding.dim());
        let left = (self.most.saturating_sub(self.compressed) as f64 * share) as usize;
        let dims = (left.saturating_sub(4 * n) / n).max(MIN_DIMS).min(dim);
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
            let scale = short(row.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0);
            scales.push(scale);
            let unit = |x: &f32| if scale > 0.0 { (x / scale).round() as i8 } else { 0 };
            units.extend(row.iter().map(unit));
        }
        let norm = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f32> =
            embedding.vectors().chunks_exact(dim).map(|row| short(norm(row) as f32)).collect();
        let error = QuantisedVectors { units: &units, scales: &scales, norms: &norms, dims }
            .error(embedding, seed);
        let floats = |list: &[f32]| list.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.add(&format!("{prefix}scales"), floats(&scales));
        self.add(&format!("{prefix}norms"), floats(&norms));
        let bytes = units.iter().map(|&unit| unit.cast_unsigned()).collect();
        self.add(&format!("{prefix}vectors"), bytes);
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

    pub(super) fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.compressed += compressed_size(&bytes);
        self.sections.insert(name.to_owned(), json!([self.bytes.len(), bytes.len()]));
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A number rounded up to 12 significant bits, which compress well.
fn short(x: f32) -> f32 {
    const DROPPED: u32 = 12;
    let up = x.to_bits().next_multiple_of(1 << DROPPED);
    if f32::from_bits(up).is_finite() { f32::from_bits(up) } else { x }
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
        let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let mut errors: Vec<f64> = (0..PAIRS)
            .map(|_| {
                let [a, b] = [0, 1].map(|_| rng.below(n));
                let (x, y) = (embedding.vector(a as Node), embedding.vector(b as Node));
                let dot: f64 = x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
                let norms = norm(x) * norm(y);
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

pub(super) fn compressed_size(bytes: &[u8]) -> usize {
    deflate(bytes).len()
}
