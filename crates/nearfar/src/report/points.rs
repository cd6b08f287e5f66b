//! What the page draws: nodes, edges and vectors in few bytes.
//!
//! ```text
//! u32 length of the head · head (JSON) · sections, each from a multiple of four bytes on
//! ```
//!
//! The head says where sections are (`sections`: name → [start, bytes]), and all numbers of the
//! report. Integers are little-endian.
//!
//! | section | holds |
//! |---|---|
//! | `tsne`, `pca` | u16 × 2 a node: the place, in 65535ths of the larger side of the map |
//! | `names` | ids, a JSON list; not there if they are 0, 1, 2, … |
//! | `labels` | u16 a node: its first label, 65535 for none |
//! | `edges` | for every node, how many neighbours of a higher row it has, and the steps to them; each number in groups of seven bits, the low ones first, all but the last with the high bit |
//! | `vectors` | i8 × dims a node: the vector in units of its scale |
//! | `scales`, `norms` | f32 a node: what a unit is; the length of the vector itself |

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ndarray::ArrayView2;
use serde_json::{Map, Value, json};

use crate::embedding::Embedding;
use crate::graph::{Graph, Labels, Node, NodeIds};
use crate::project::principal;
use crate::rng::{Purpose, Rng};

/// What all may take, before it is written as text in a page of twelve million bytes.
const ROOM: usize = 8_600_000;
const EDGES: usize = 3_500_000;

/// The sections, and what the head says beside where they are.
#[derive(Default)]
pub(super) struct Points {
    head: Map<String, Value>,
    sections: Map<String, Value>,
    bytes: Vec<u8>,
    /// What they take when they are packed.
    packed: usize,
}

impl Points {
    /// Places, moved to a square without changing their shape.
    pub(super) fn places(&mut self, name: &str, places: &[[f32; 2]]) {
        let edge = |axis: usize, start: f32, choose: fn(f32, f32) -> f32| {
            places.iter().map(|place| place[axis]).fold(start, choose)
        };
        let low = [0, 1].map(|axis| edge(axis, f32::INFINITY, f32::min));
        let high = [0, 1].map(|axis| edge(axis, f32::NEG_INFINITY, f32::max));
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let place = |place: &[f32; 2]| {
            [0, 1].map(|axis| {
                let middle = f32::midpoint(low[axis], high[axis]);
                (((place[axis] - middle) / side + 0.5) * 65_535.0).round() as u16
            })
        };
        let bytes = places.iter().flat_map(place).flat_map(u16::to_le_bytes).collect();
        self.add(name, bytes);
    }

    /// Ids; short ones, if all together would be too long.
    pub(super) fn names(&mut self, names: &NodeIds) {
        const LONGEST: usize = 60;
        const ALL: usize = 2_000_000;
        if let NodeIds::Range { start: 0, .. } = names {
            return;
        }
        let all = || (0..names.len() as Node).map(|node| names.get(node));
        let long = all().map(|name| name.len()).sum::<usize>() > ALL;
        let short = |name: &str| match name.char_indices().nth(LONGEST) {
            Some((end, _)) if long => format!("{}…", &name[..end]),
            _ => name.to_owned(),
        };
        let list: Vec<String> = all().map(|name| short(&name)).collect();
        self.add("names", json!(list).to_string().into_bytes());
    }

    /// The labels of some nodes: their first ones, and how many nodes have each.
    pub(super) fn labels(&mut self, labels: Option<&Labels>, nodes: &[Node]) {
        const NONE: u16 = u16::MAX;
        let Some(labels) = labels else { return };
        let of = |node: Node| labels.of[node as usize].as_slice();
        let first = |node: &Node| of(*node).first().map_or(NONE, |&l| l.min(65_534) as u16);
        let bytes = nodes.iter().map(first).flat_map(u16::to_le_bytes).collect();
        self.add("labels", bytes);
        self.head.insert("labels".to_owned(), json!(labels.names));
        let several = nodes.iter().any(|&node| of(node).len() > 1);
        self.head.insert("several_labels".to_owned(), several.into());
    }

    /// The edges, unless they take too much room.
    pub(super) fn edges(&mut self, graph: &Graph) -> bool {
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
        let fits = packed(&bytes) <= EDGES;
        if fits {
            self.add("edges", bytes);
        }
        fits
    }

    /// The vectors, in as many dimensions as there is room for, and how exact similarities are.
    pub(super) fn vectors(&mut self, embedding: &Embedding, seed: u64) -> Value {
        const FEWEST: usize = 8;
        let (n, dim) = (embedding.nodes(), embedding.dim());
        let left = ROOM.saturating_sub(self.packed + 8 * n);
        let dims = (left / n).max(FEWEST).min(dim);
        let turned;
        let rows = if dims == dim {
            embedding.vectors()
        } else {
            turned = turn(embedding, dims);
            &turned
        };
        let mut units = Vec::with_capacity(n * dims);
        let mut scales = Vec::with_capacity(n);
        for row in rows.chunks_exact(dims) {
            let scale = row.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
            scales.push(scale);
            let unit = |x: &f32| if scale > 0.0 { (x / scale).round() as i8 } else { 0 };
            units.extend(row.iter().map(unit));
        }
        let length = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f32> =
            embedding.vectors().chunks_exact(dim).map(|row| length(row) as f32).collect();
        let error = Similarities { units: &units, scales: &scales, norms: &norms, dims }
            .error(embedding, seed);
        self.add("scales", scales.iter().flat_map(|x| x.to_le_bytes()).collect());
        self.add("norms", norms.iter().flat_map(|x| x.to_le_bytes()).collect());
        self.add("vectors", units.iter().map(|&unit| unit.cast_unsigned()).collect());
        json!({ "dims": dims, "error": error })
    }

    /// All of it, packed.
    pub(super) fn pack(mut self, about: impl Iterator<Item = (String, Value)>) -> Vec<u8> {
        self.head.extend(about);
        self.head.insert("sections".to_owned(), Value::Object(self.sections));
        let head = Value::Object(self.head).to_string();
        let mut all = (head.len() as u32).to_le_bytes().to_vec();
        all.extend(head.bytes());
        all.resize(all.len().next_multiple_of(4), 0);
        all.extend(self.bytes);
        deflate(&all)
    }

    fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.packed += packed(&bytes);
        self.sections.insert(name.to_owned(), json!([self.bytes.len(), bytes.len()]));
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// The similarities that the page will compute.
struct Similarities<'a> {
    units: &'a [i8],
    scales: &'a [f32],
    norms: &'a [f32],
    dims: usize,
}

impl Similarities<'_> {
    fn cosine(&self, a: usize, b: usize) -> f64 {
        let row = |node: usize| &self.units[node * self.dims..][..self.dims];
        let sum: i32 = row(a).iter().zip(row(b)).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        let scale = f64::from(self.scales[a]) * f64::from(self.scales[b]);
        let norms = f64::from(self.norms[a]) * f64::from(self.norms[b]);
        if norms > 0.0 { f64::from(sum) * scale / norms } else { 0.0 }
    }

    /// How far the cosines of 95 % of random pairs are from the true ones, at most.
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

/// The vectors in their first principal directions, which keep products best.
fn turn(embedding: &Embedding, dims: usize) -> Vec<f32> {
    let (n, dim) = (embedding.nodes(), embedding.dim());
    let Ok(vectors) = ArrayView2::from_shape((n, dim), embedding.vectors()) else {
        return vec![0.0; n * dims];
    };
    let (_, directions) = principal(&vectors.to_owned(), dims, false);
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
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::new(7));
    // Writing to memory cannot fail.
    let _ = packer.write_all(bytes);
    packer.finish().unwrap_or_default()
}

fn packed(bytes: &[u8]) -> usize {
    deflate(bytes).len()
}
