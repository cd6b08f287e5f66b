//! Hop distances between many pairs of nodes, as a table.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::bfs::{MultiSourceBfs, SOURCES};
use crate::budget::product;
use crate::graph::{Graph, Node};
use crate::memory;

/// A stored distance. Zero means "no path", or the node itself.
pub trait HopCell: Copy + Default + Ord + Send + Sync + 'static {
    /// The largest distance that fits.
    const MOST: u32;
    /// Stores a distance of at most [`MOST`](Self::MOST).
    fn from_hops(hops: u32) -> Self;
    /// The distance, as an index.
    fn index(self) -> usize;
    /// Distances by the size of their cells.
    fn array(cells: &[Self]) -> CellArray<'_>;
}

/// Distances in cells of one, two or four bytes.
#[derive(Clone, Copy, Debug)]
pub enum CellArray<'a> {
    /// One byte each.
    U8(&'a [u8]),
    /// Two bytes each.
    U16(&'a [u16]),
    /// Four bytes each.
    U32(&'a [u32]),
}

impl CellArray<'_> {
    /// The distance in a cell.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        match self {
            Self::U8(cells) => u32::from(cells[at]),
            Self::U16(cells) => u32::from(cells[at]),
            Self::U32(cells) => cells[at],
        }
    }
}

impl HopCell for u8 {
    const MOST: u32 = u8::MAX as u32;
    fn from_hops(hops: u32) -> Self {
        hops as Self
    }
    #[inline]
    fn index(self) -> usize {
        usize::from(self)
    }
    fn array(cells: &[Self]) -> CellArray<'_> {
        CellArray::U8(cells)
    }
}

impl HopCell for u16 {
    const MOST: u32 = u16::MAX as u32;
    fn from_hops(hops: u32) -> Self {
        hops as Self
    }
    #[inline]
    fn index(self) -> usize {
        usize::from(self)
    }
    fn array(cells: &[Self]) -> CellArray<'_> {
        CellArray::U16(cells)
    }
}

impl HopCell for u32 {
    const MOST: u32 = u32::MAX;
    fn from_hops(hops: u32) -> Self {
        hops
    }
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
    fn array(cells: &[Self]) -> CellArray<'_> {
        CellArray::U32(cells)
    }
}

/// Buffers that searches take and put back, so that there are never more than run at a time.
pub(super) struct Buffers<B>(Mutex<Vec<B>>);

impl<B> Default for Buffers<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B> Buffers<B> {
    pub(super) fn take(&self, new: impl FnOnce() -> B) -> B {
        // A thread that panicked with the lock left the list as it was.
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(new)
    }

    pub(super) fn put(&self, buffer: B) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// A table of distances: a row per source, a column per target.
pub struct HopRows<T> {
    columns: usize,
    cells: Vec<T>,
}

impl<T: HopCell> HopRows<T> {
    /// The memory of one search while rows are measured: the search, and the distances from its
    /// sources to so many columns.
    pub(crate) fn search_bytes(nodes: usize, columns: usize) -> u64 {
        let tile = product([columns, SOURCES, size_of::<T>()]);
        MultiSourceBfs::bytes(nodes).saturating_add(tile)
    }

    /// The distances from `sources` to every node, or to the nodes in `columns` alone, by at most
    /// `searches` searches at a time. `None` if one does not fit a cell.
    pub fn new(
        graph: &Graph,
        sources: &[Node],
        columns: Option<&[Node]>,
        searches: usize,
    ) -> Option<Self> {
        let width = columns.map_or(graph.nodes(), <[Node]>::len);
        let mut cells: Vec<T> = memory::zeroed(sources.len() * width);
        measure(graph, sources, columns, searches, &mut cells)
            .then_some(Self { columns: width, cells })
    }

    /// Replaces "no path" by the distance in another graph of the same nodes. `None` if one does not
    /// fit a cell.
    pub(crate) fn or_in(mut self, graph: &Graph, searches: usize) -> Option<Self> {
        let nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
        let part = SOURCES * searches.clamp(1, rayon::current_num_threads());
        for (rows, nodes) in self.cells.chunks_mut(part * self.columns).zip(nodes.chunks(part)) {
            let other = Self::new(graph, nodes, None, searches)?;
            let cells = rows.par_iter_mut().zip(&other.cells).with_min_len(1 << 16);
            cells.filter(|(cell, _)| cell.index() == 0).for_each(|(cell, &other)| *cell = other);
        }
        Some(self)
    }

    /// All distances, row by row.
    pub fn cells(&self) -> CellArray<'_> {
        T::array(&self.cells)
    }

    /// The distances from one source.
    #[inline]
    pub fn row(&self, source: usize) -> &[T] {
        &self.cells[source * self.columns..(source + 1) * self.columns]
    }
}

/// Fills `cells`, zeros so far, with the distances that [`HopRows::new`] describes. Returns whether
/// all of them fit.
pub(super) fn measure<T: HopCell>(
    graph: &Graph,
    sources: &[Node],
    columns: Option<&[Node]>,
    searches: usize,
    cells: &mut [T],
) -> bool {
    let column_of = columns.map(|columns| {
        let mut of = vec![Node::MAX; graph.nodes()];
        for (column, &node) in columns.iter().enumerate() {
            of[node as usize] = column as Node;
        }
        of
    });
    let columns = columns.map_or(graph.nodes(), <[Node]>::len);
    // Where memory allows fewer searches than there are threads, each takes an equal part.
    let chunks = sources.len().div_ceil(SOURCES);
    let few = searches < rayon::current_num_threads();
    let part = SOURCES * if few { chunks.div_ceil(searches.max(1)).max(1) } else { 1 };
    let at_once = sources.len().div_ceil(part).max(1);
    let threads = rayon::current_num_threads() / at_once;
    let search = || MultiSourceBfs::new(graph).by_threads(threads);
    let buffers = Buffers::default();
    cells
        .par_chunks_mut((part * columns).max(1))
        .zip(sources.par_chunks(part))
        .map(|(rows, sources)| {
            let (mut bfs, mut tile) =
                buffers.take(|| (search(), memory::zeroed(columns * SOURCES)));
            let chunks = rows.chunks_mut((SOURCES * columns).max(1));
            for (rows, sources) in chunks.zip(sources.chunks(SOURCES)) {
                tile.fill(T::default());
                bfs.run(sources, |hops, node, reached_by| {
                    if hops > T::MOST {
                        return ControlFlow::Break(());
                    }
                    let column = match &column_of {
                        None => node as usize,
                        Some(of) if of[node as usize] == Node::MAX => {
                            return ControlFlow::Continue(());
                        }
                        Some(of) => of[node as usize] as usize,
                    };
                    let cell = T::from_hops(hops);
                    let tile = &mut tile[column * SOURCES..][..SOURCES];
                    reached_by.for_each(|source| tile[source] = cell);
                    ControlFlow::Continue(())
                })?;
                transpose(&tile, rows, columns);
            }
            buffers.put((bfs, tile));
            ControlFlow::Continue(())
        })
        .all(|end| end.is_continue())
}

/// Transposes a tile, in which the distances to one node from all sources are contiguous, into rows.
/// (Writing the rows directly, with a stride, takes four times as long.)
fn transpose<T: HopCell>(tile: &[T], rows: &mut [T], columns: usize) {
    const BLOCK: usize = 64;
    for column in (0..columns).step_by(BLOCK) {
        let width = BLOCK.min(columns - column);
        let tile = &tile[column * SOURCES..(column + width) * SOURCES];
        for (source, row) in rows.chunks_exact_mut(columns).enumerate() {
            let row = &mut row[column..column + width];
            for (cell, from) in row.iter_mut().zip(tile.chunks_exact(SOURCES)) {
                *cell = from[source];
            }
        }
    }
}

/// The hop distances between all pairs of nodes: one byte each if they fit, else two.
pub enum HopTable {
    /// One byte each: no distance is over 255.
    U8(HopRows<u8>),
    /// Two bytes each.
    U16(HopRows<u16>),
}

impl HopTable {
    /// Searches from every node. `None` if a distance is over 65 535.
    pub fn new(graph: &Graph) -> Option<Self> {
        let nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
        HopRows::new(graph, &nodes, None, usize::MAX)
            .map(Self::U8)
            .or_else(|| HopRows::new(graph, &nodes, None, usize::MAX).map(Self::U16))
    }

    /// The distance between two nodes; `None` if there is no path.
    pub fn hops(&self, a: Node, b: Node) -> Option<u32> {
        let cell = match self {
            Self::U8(rows) => rows.row(a as usize)[b as usize].index(),
            Self::U16(rows) => rows.row(a as usize)[b as usize].index(),
        };
        (a == b || cell > 0).then_some(cell as u32)
    }
}
