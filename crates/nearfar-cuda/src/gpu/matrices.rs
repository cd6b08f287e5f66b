//! Large matrices on a device, and their products.

use cudarc::driver::CudaFunction;
use nearfar::Result;
use nearfar::graph::{Graph, Node};

use super::buffer::{Address, Argument, Buffer, NULL, SparseArgument};
use super::device::Open;

/// Rows whose sums are taken together: as many chunks as keep the device busy, whatever the graph.
const CHUNKS: usize = 512;

/// Rows of a block: `PRODUCT_ROWS` of the kernels.
const PRODUCT_ROWS: usize = 16;

/// The kernels.
pub(crate) struct Products<'a> {
    pub(crate) device: &'a Open,
    sparse: CudaFunction,
    gram: CudaFunction,
    rows: CudaFunction,
    squares: CudaFunction,
    columns: CudaFunction,
    chunks: CudaFunction,
    all: CudaFunction,
    gather: CudaFunction,
}

/// A sparse matrix with the entries of a graph: left_i · w_ij · right_j · scale_i.
pub(crate) struct SparseMatrix {
    offsets: Buffer<u64>,
    targets: Buffer<u32>,
    weights: Option<Buffer<f32>>,
    left: Buffer<f32>,
    right: Option<Buffer<f32>>,
}

impl SparseMatrix {
    /// The matrix of an undirected graph.
    pub(crate) fn new(
        device: &Open,
        graph: &Graph,
        left: &[f32],
        right: Option<&[f32]>,
    ) -> Result<Self> {
        let offsets: Vec<u64> = graph.offsets().iter().map(|&at| at as u64).collect();
        let weights = graph.is_weighted().then(|| {
            let of = |node: Node| graph.weights(node).unwrap_or_default().iter().copied();
            let all: Vec<f32> = (0..graph.nodes() as Node).flat_map(of).collect();
            Buffer::copy(device, &all)
        });
        Ok(Self {
            offsets: Buffer::copy(device, &offsets)?,
            targets: Buffer::copy(device, graph.targets())?,
            weights: weights.transpose()?,
            left: Buffer::copy(device, left)?,
            right: right.map(|right| Buffer::copy(device, right)).transpose()?,
        })
    }
}

impl<'a> Products<'a> {
    pub(crate) fn new(device: &'a Open) -> Result<Self> {
        Ok(Self {
            device,
            sparse: device.kernel("multiply_sparse")?,
            gram: device.kernel("gram_of_chunks")?,
            rows: device.kernel("multiply_rows")?,
            squares: device.kernel("row_squares")?,
            columns: device.kernel("column_sums")?,
            chunks: device.kernel("add_chunks")?,
            all: device.kernel("add_all")?,
            gather: device.kernel("gather_rows")?,
        })
    }

    /// Writes M x to `out`, or D (M x + a) with a diagonal D and an addend a; rows where `keep` is 0
    /// stay those of x.
    pub(crate) fn sparse(
        &self,
        matrix: &SparseMatrix,
        x: Address,
        (addend, scale, keep): (Address, Address, Address),
        out: Address,
        (rows, columns): (usize, usize),
    ) -> Result<()> {
        let device = self.device;
        let address = |buffer: Option<&Buffer<f32>>| buffer.map_or(NULL, |it| it.address(device));
        let sparse = SparseArgument {
            offsets: matrix.offsets.address(device),
            targets: matrix.targets.address(device),
            weights: address(matrix.weights.as_ref()),
            left: matrix.left.address(device),
            right: address(matrix.right.as_ref()),
            scale,
            keep,
        };
        let arguments: [&dyn Argument; 6] =
            [&sparse, &x, &addend, &out, &(rows as u32), &(columns as u32)];
        // SAFETY: the matrix has as many rows as x and `out`.
        unsafe { device.launch(&self.sparse, (rows.min(1 << 20), 128), &arguments) }
    }

    /// XᵀY, row-major.
    pub(crate) fn gram(
        &self,
        x: Address,
        y: Address,
        (rows, columns): (usize, usize),
    ) -> Result<Vec<f64>> {
        let device = self.device;
        let tiles = columns.div_ceil(64);
        let (of_chunk, chunks) = chunked(rows);
        let sums = Buffer::<f64>::zeros(device, chunks * columns * columns)?;
        let arguments: [&dyn Argument; 6] =
            [&x, &y, &(rows as u32), &(columns as u32), &(of_chunk as u32), &sums.address(device)];
        // SAFETY: `sums` has a matrix for each chunk.
        unsafe { device.launch(&self.gram, (chunks * tiles * tiles, 256), &arguments)? };
        self.add_chunks(&sums, chunks, columns * columns)
    }

    /// X W, added `scale` times to rows of `stride` values, or written to them if `scale` is 0.
    pub(crate) fn rows(
        &self,
        x: Address,
        (rows, columns): (usize, usize),
        weights: &[f32],
        scale: f32,
        (out, stride): (Address, usize),
    ) -> Result<()> {
        self.product(x, (rows, columns), weights, scale, (out, stride), NULL)
    }

    /// The sum of squares of X W.
    pub(crate) fn length(
        &self,
        x: Address,
        (rows, columns): (usize, usize),
        weights: &[f32],
    ) -> Result<f64> {
        let squares = Buffer::<f64>::zeros(self.device, rows)?;
        let to = squares.address(self.device);
        self.product(x, (rows, columns), weights, 0.0, (NULL, columns), to)?;
        self.total(&squares, rows)
    }

    fn product(
        &self,
        x: Address,
        (rows, columns): (usize, usize),
        weights: &[f32],
        scale: f32,
        (out, stride): (Address, usize),
        squares: Address,
    ) -> Result<()> {
        let device = self.device;
        let weights = Buffer::copy(device, weights)?;
        let arguments: [&dyn Argument; 8] = [
            &x,
            &(rows as u32),
            &(columns as u32),
            &weights.address(device),
            &scale,
            &out,
            &(stride as u32),
            &squares,
        ];
        let (blocks, shared) = (rows.div_ceil(PRODUCT_ROWS), PRODUCT_ROWS * columns * 4);
        // SAFETY: `out` has as many rows as x, or `squares` as many numbers; a thread for each column.
        unsafe {
            device.launch_with(
                &self.rows,
                (blocks, columns.next_multiple_of(32) as u32),
                shared as u32,
                &arguments,
            )
        }
    }

    /// The sum over rows of their squares to a power, where q > 0; the squares stay in `out`.
    pub(crate) fn squares(
        &self,
        x: Address,
        q: Address,
        (rows, stride): (usize, usize),
        power: f64,
    ) -> Result<f64> {
        let device = self.device;
        let squares = Buffer::<f64>::zeros(device, rows)?;
        self.squares_to(x, q, (rows, stride), power, squares.address(device))?;
        self.total(&squares, rows)
    }

    /// The squares of rows to a power.
    pub(crate) fn squares_to(
        &self,
        x: Address,
        q: Address,
        (rows, stride): (usize, usize),
        power: f64,
        out: Address,
    ) -> Result<()> {
        let arguments: [&dyn Argument; 6] =
            [&x, &q, &(rows as u32), &(stride as u32), &power, &out];
        // SAFETY: `out` has a number for each row.
        unsafe { self.device.launch(&self.squares, (rows.div_ceil(8), 256), &arguments) }
    }

    /// qᵀX.
    pub(crate) fn along(
        &self,
        x: Address,
        q: Address,
        (rows, stride): (usize, usize),
    ) -> Result<Vec<f64>> {
        let device = self.device;
        let (of_chunk, chunks) = chunked(rows);
        let sums = Buffer::<f64>::zeros(device, chunks * stride)?;
        let arguments: [&dyn Argument; 6] =
            [&x, &q, &(rows as u32), &(stride as u32), &(of_chunk as u32), &sums.address(device)];
        let threads = stride.next_multiple_of(32).min(1024) as u32;
        // SAFETY: `sums` has a row for each chunk.
        unsafe { device.launch(&self.columns, (chunks, threads), &arguments)? };
        self.add_chunks(&sums, chunks, stride)
    }

    fn add_chunks(&self, sums: &Buffer<f64>, chunks: usize, count: usize) -> Result<Vec<f64>> {
        let device = self.device;
        let out = Buffer::<f64>::zeros(device, count)?;
        let arguments: [&dyn Argument; 4] =
            [&sums.address(device), &(chunks as u32), &(count as u32), &out.address(device)];
        // SAFETY: `sums` has `count` numbers for each chunk.
        unsafe { device.launch(&self.chunks, (count.div_ceil(128), 128), &arguments)? };
        out.get(device, count)
    }

    /// Every so many-th row.
    pub(crate) fn some_rows(
        &self,
        rows: &Buffer<f32>,
        (count, stride): (usize, usize),
        every: usize,
    ) -> Result<Vec<f32>> {
        let (device, count) = (self.device, count.div_ceil(every));
        let out = Buffer::<f32>::zeros(device, count * stride)?;
        let arguments: [&dyn Argument; 5] = [
            &rows.address(device),
            &(stride as u32),
            &(every as u32),
            &(count as u32),
            &out.address(device),
        ];
        let blocks = ((count * stride).div_ceil(128), 128);
        // SAFETY: the last row is number (`count` − 1) · `every`, which there is.
        unsafe { device.launch(&self.gather, blocks, &arguments)? };
        out.get(device, count * stride)
    }

    /// The sum of numbers.
    pub(crate) fn total(&self, numbers: &Buffer<f64>, count: usize) -> Result<f64> {
        let device = self.device;
        let out = Buffer::<f64>::zeros(device, 1)?;
        let arguments: [&dyn Argument; 3] =
            [&numbers.address(device), &(count as u32), &out.address(device)];
        // SAFETY: there are as many numbers.
        unsafe { device.launch(&self.all, (1, 1024), &arguments)? };
        Ok(out.get(device, 1)?[0])
    }
}

/// Rows of a chunk, and how many chunks there are.
fn chunked(rows: usize) -> (usize, usize) {
    let of_chunk = rows.div_ceil(CHUNKS).max(1);
    (of_chunk, rows.div_ceil(of_chunk))
}
