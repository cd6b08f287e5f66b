//! The kernels of `kernels/sampling.cuh`.

use nearfar::graph::Node;
use nearfar::negative::{CellArray, HopRow, LandmarkRow, LawArrays, Proposal};
use nearfar::positive::WalkArrays;
use nearfar::rng::{AliasCell, Purpose, Rng};

use crate::host::Drawn;
use crate::shape::{Pass, SKIP, Shape};

/// The pairs of a pass.
#[derive(Default)]
pub(crate) struct Pairs {
    /// By minibatch and node, where its windows begin, and the end.
    pub(crate) starts: Vec<u32>,
    /// The slots of all windows.
    pub(crate) entries: Vec<u32>,
    /// The centre of each window.
    pub(crate) centres: Vec<Node>,
}

/// What walks are made of.
pub(crate) struct Walks {
    offsets: Vec<usize>,
    targets: Vec<Node>,
    tables: Option<Vec<AliasCell>>,
    centres: Option<Vec<f64>>,
}

/// What negatives are made of.
pub(crate) enum Law {
    Uniform,
    Alias { all: Vec<AliasCell>, dominant: Option<(Node, Vec<AliasCell>)> },
    Hops { cells: Cells, powers: Vec<f64>, rows: Vec<HopRow> },
    Landmarks(Landmarks),
}

/// Draws a negative of a centre.
type Draw<'a> = Box<dyn Fn(&mut Rng) -> Node + 'a>;

/// Distances through landmarks.
pub(crate) struct Landmarks {
    index: Vec<u64>,
    cells: Cells,
    rows: Vec<LandmarkRow>,
    members: Vec<Node>,
    powers: Vec<f64>,
    far_powers: Vec<f64>,
    proposals: Vec<Proposal>,
}

/// Distances in cells of one, two or four bytes.
pub(crate) enum Cells {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Walks {
    pub(crate) fn new(arrays: &WalkArrays<'_>) -> Self {
        Self {
            offsets: arrays.offsets.to_vec(),
            targets: arrays.targets.to_vec(),
            tables: arrays.tables.clone(),
            centres: arrays.centres.clone(),
        }
    }

    /// The number of walks from a node.
    fn from(&self, pass: Pass, node: Node, rng: &mut Rng) -> u64 {
        match &self.centres {
            Some(centres) => (pass.walks as f64 * centres[node as usize] + rng.unit()) as u64,
            None => pass.walks,
        }
    }

    fn step(&self, at: Node, rng: &mut Rng) -> Node {
        let (first, end) = (self.offsets[at as usize], self.offsets[at as usize + 1]);
        if first == end {
            return at;
        }
        let step = match &self.tables {
            Some(tables) => draw(&tables[first..end], rng) as usize,
            None => rng.below(end - first),
        };
        self.targets[first + step]
    }
}

impl Law {
    pub(crate) fn new(arrays: &LawArrays<'_>) -> Self {
        match arrays {
            LawArrays::Uniform => Self::Uniform,
            LawArrays::Alias { all, dominant } => Self::Alias {
                all: all.to_vec(),
                dominant: dominant.map(|(node, table)| (node, table.to_vec())),
            },
            LawArrays::Hops(hops) => Self::Hops {
                cells: Cells::new(hops.cells),
                powers: hops.powers.to_vec(),
                rows: hops.rows.clone(),
            },
            LawArrays::Landmarks(of) => Self::Landmarks(Landmarks {
                index: of.index.clone(),
                cells: Cells::new(of.cells),
                rows: of.rows.clone(),
                members: of.members.to_vec(),
                powers: of.powers.to_vec(),
                far_powers: of.far_powers.to_vec(),
                proposals: of.proposals.clone(),
            }),
        }
    }

    /// A function that draws negatives of a centre; `None` if it is left to the host.
    fn of(&self, node: Node, nodes: usize) -> Option<Draw<'_>> {
        Some(match self {
            _ if nodes < 2 => return None,
            Self::Uniform => Box::new(move |rng| {
                let k = rng.below(nodes - 1) as Node;
                k + Node::from(k >= node)
            }),
            Self::Alias { all, dominant } => {
                let others = dominant.as_ref().filter(|(dominant, _)| *dominant == node);
                let table = others.map_or(all, |(_, table)| table);
                Box::new(move |rng| {
                    loop {
                        let k = draw(table, rng);
                        if k != node {
                            break k;
                        }
                    }
                })
            }
            Self::Hops { cells, powers, rows } => {
                let row = rows[node as usize];
                if row.bound == 0.0 {
                    return None;
                }
                Box::new(move |rng| {
                    loop {
                        let (k, unit) = rng.index_and_unit(nodes);
                        let power = powers[cells.get(node as usize * nodes + k) as usize];
                        let weight = power.max(row.low).min(row.high);
                        if k as Node != node && unit * row.bound < weight {
                            break k as Node;
                        }
                    }
                })
            }
            Self::Landmarks(landmarks) => return landmarks.of(node, nodes),
        })
    }
}

impl Landmarks {
    fn of(&self, node: Node, nodes: usize) -> Option<Draw<'_>> {
        let split = |entry: u64| ((entry >> 32) as u32, entry as u32);
        let (own, a) = split(self.index[node as usize]);
        let row = self.rows[own as usize];
        let proposal = self.proposals[(row.proposals + a) as usize];
        if proposal.bound == 0.0 {
            return None;
        }
        let same = &self.members[row.members[0] as usize..row.members[1] as usize];
        Some(Box::new(move |rng| {
            loop {
                let (i, unit) = rng.index_and_unit(proposal.total as usize);
                let k = if i < nodes { i as Node } else { same[(i - nodes) % same.len()] };
                let (landmark, h) = split(self.index[k as usize]);
                let column = landmark.wrapping_sub(row.first);
                let mut weight = if column < row.len {
                    let b = self.cells.get(row.start as usize + column as usize);
                    self.powers[(a + h + b) as usize]
                } else {
                    self.far_powers[(a + h) as usize]
                };
                if landmark == own {
                    weight /= proposal.factor;
                }
                if k != node && unit * proposal.bound < weight {
                    break k;
                }
            }
        }))
    }
}

impl Cells {
    fn new(cells: CellArray<'_>) -> Self {
        match cells {
            CellArray::U8(cells) => Self::U8(cells.to_vec()),
            CellArray::U16(cells) => Self::U16(cells.to_vec()),
            CellArray::U32(cells) => Self::U32(cells.to_vec()),
        }
    }

    fn get(&self, at: usize) -> u32 {
        match self {
            Self::U8(cells) => u32::from(cells[at]),
            Self::U16(cells) => u32::from(cells[at]),
            Self::U32(cells) => cells[at],
        }
    }
}

/// An item of an alias table.
fn draw(table: &[AliasCell], rng: &mut Rng) -> u32 {
    let (item, unit) = rng.index_and_unit(table.len());
    let cell = table[item];
    if unit * 4_294_967_296.0 < f64::from(cell.own) { item as u32 } else { cell.alias }
}

impl Pairs {
    /// Samples a pass.
    pub(crate) fn sample(
        shape: Shape,
        pass: Pass,
        walks: Option<&Walks>,
        law: Option<&Law>,
        drawn: &Drawn,
    ) -> Self {
        let n = shape.nodes;
        let counts: Vec<u64> = match (walks, &drawn.windows) {
            (_, Some(windows)) => windows.counts.iter().map(|&count| u64::from(count)).collect(),
            (Some(walks), None) => (0..n as Node)
                .map(|node| walks.from(pass, node, &mut walk_stream(pass, node)))
                .collect(),
            (None, None) => vec![0; n],
        };
        let batches = shape.batches as u64;
        let mut starts = Vec::with_capacity(shape.batches * n + 1);
        let mut end = 0;
        for batch in 0..batches {
            for count in &counts {
                starts.push(end);
                end += (count * (batch + 1) / batches - count * batch / batches) as u32;
            }
        }
        starts.push(end);
        let slots = shape.slots();
        let mut pairs = Self {
            starts,
            entries: vec![SKIP; end as usize * slots],
            centres: vec![0; end as usize],
        };
        let mut next_window = 0;
        for node in 0..n as Node {
            let mut walk = walk_stream(pass, node);
            if let Some(walks) = walks {
                walks.from(pass, node, &mut walk);
            }
            let mut negatives = negative_stream(pass, node);
            let draw = law.and_then(|law| law.of(node, n));
            for window in pairs.windows(shape, node) {
                pairs.centres[window] = node;
                let out = &mut pairs.entries[window * slots..][..slots];
                let (contexts, of_negatives) = out.split_at_mut(shape.contexts);
                match (walks, &drawn.windows) {
                    (_, Some(windows)) => {
                        let from = next_window * shape.contexts;
                        contexts.copy_from_slice(&windows.contexts[from..from + shape.contexts]);
                        next_window += 1;
                    }
                    (Some(walks), None) => take(walks, node, walk.split(), contexts),
                    (None, None) => {}
                }
                if let Some(draw) = &draw {
                    of_negatives.fill_with(|| 2 * draw(&mut negatives));
                }
            }
        }
        for (at, &node) in drawn.centres.iter().enumerate() {
            let mut negatives = &drawn.negatives[drawn.starts[at] as usize..];
            for window in pairs.windows(shape, node) {
                let (of_window, later) = negatives.split_at(shape.negatives);
                let out = &mut pairs.entries[window * slots..][..slots];
                out[shape.contexts..].copy_from_slice(of_window);
                negatives = later;
            }
        }
        pairs
    }

    /// The windows of a node in the order in which they are drawn.
    pub(crate) fn windows(&self, shape: Shape, node: Node) -> Vec<usize> {
        let range = |batch: usize| {
            let at = batch * shape.nodes + node as usize;
            self.starts[at] as usize..self.starts[at + 1] as usize
        };
        (0..shape.batches).flat_map(range).collect()
    }

    /// The entries of a minibatch by the other node: where those of each node begin, and the end; and
    /// entries whose node is the centre. On a GPU the order within a node is not determined.
    pub(crate) fn incoming(&self, shape: Shape, batch: usize) -> (Vec<u32>, Vec<u32>) {
        let (n, slots) = (shape.nodes, shape.slots());
        let windows = self.starts[batch * n] as usize..self.starts[(batch + 1) * n] as usize;
        let mut starts = vec![0_u32; n + 1];
        let all = || {
            let entries = |window: usize| {
                let entries = self.entries[window * slots..][..slots].iter();
                entries.filter(|&&entry| entry != SKIP).map(move |&entry| (window, entry))
            };
            windows.clone().flat_map(entries)
        };
        all().for_each(|(_, entry)| starts[(entry >> 1) as usize + 1] += 1);
        for node in 0..n {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut incoming = vec![0; starts[n] as usize];
        for (window, entry) in all() {
            let next = &mut next[(entry >> 1) as usize];
            incoming[*next as usize] = 2 * self.centres[window] + (entry & 1);
            *next += 1;
        }
        (starts, incoming)
    }
}

fn walk_stream(pass: Pass, node: Node) -> Rng {
    Rng::new(pass.seed, Purpose::Walk, pass.number, u64::from(node))
}

fn negative_stream(pass: Pass, node: Node) -> Rng {
    Rng::new(pass.seed, Purpose::Negative, pass.number, u64::from(node))
}

/// Takes a walk that is one window.
fn take(walks: &Walks, start: Node, mut rng: Rng, contexts: &mut [u32]) {
    let mut at = start;
    for out in contexts {
        let next = walks.step(at, &mut rng);
        *out = if next != start && next != at { 2 * next + 1 } else { SKIP };
        at = next;
    }
}
