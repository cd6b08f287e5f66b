// Products of large matrices: the spectral start and smoothing. Sums have a fixed order, so results are the
// same in every run.

enum { START = 10 };

// Row i of `out` is left_i times the sum over its arcs of weight × right_j × x_j, plus x_i if `adds`; if
// `scale` is given, all that times scale_i. A block for each row, as hubs have many arcs.
struct Sparse {
    const u64 *offsets;
    const u32 *targets;
    const float *weights;  // null: all 1
    const float *left;
    const float *right;    // null: all 1
    const float *scale;    // null: all 1
    const float *keep;     // where it is 0, the row of x is kept; null: nowhere
};

const u32 SPARSE_THREADS = 128;

extern "C" __global__ void __launch_bounds__(SPARSE_THREADS) multiply_sparse(
    Sparse sparse, const float *x, const float *addend, float *out, u32 rows, u32 columns)
{
    // Groups of threads take every so many-th arc, each thread four columns; then groups are added.
    __shared__ float4 sums[SPARSE_THREADS];
    u32 quads = columns / 4;
    u32 lanes = quads < SPARSE_THREADS ? quads : SPARSE_THREADS, groups = SPARSE_THREADS / lanes;
    u32 group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    for (u32 row = blockIdx.x; row < rows; row += gridDim.x) {
        u64 first = sparse.offsets[row], end = sparse.offsets[row + 1];
        for (u32 base = 0; base < quads; base += lanes) {
            u32 quad = base + lane;
            float4 sum = make_float4(0, 0, 0, 0);
            if (group < groups && quad < quads) {
#pragma unroll 4
                for (u64 arc = first + group; arc < end; arc += groups) {
                    u32 j = sparse.targets[arc];
                    float weight = (sparse.weights ? sparse.weights[arc] : 1.0f) * (sparse.right ? sparse.right[j] : 1.0f);
                    float4 value = ((const float4 *)(x + (u64)j * columns))[quad];
                    sum.x += weight * value.x;
                    sum.y += weight * value.y;
                    sum.z += weight * value.z;
                    sum.w += weight * value.w;
                }
            }
            sums[threadIdx.x] = sum;
            __syncthreads();
            if (group == 0 && quad < quads) {
                for (u32 other = 1; other < groups; other++) {
                    float4 more = sums[other * lanes + lane];
                    sum.x += more.x;
                    sum.y += more.y;
                    sum.z += more.z;
                    sum.w += more.w;
                }
                u64 at = (u64)row * quads + quad;
                float left = sparse.left[row], scale = sparse.scale ? sparse.scale[row] : 1.0f;
                float4 added = addend ? ((const float4 *)addend)[at] : make_float4(0, 0, 0, 0);
                sum.x = (sum.x * left + added.x) * scale;
                sum.y = (sum.y * left + added.y) * scale;
                sum.z = (sum.z * left + added.z) * scale;
                sum.w = (sum.w * left + added.w) * scale;
                if (sparse.keep && sparse.keep[row] == 0) sum = ((const float4 *)x)[at];
                ((float4 *)out)[at] = sum;
            }
            __syncthreads();
        }
    }
}

// Random rows: uniform numbers from -spread to spread in the first columns, from stream `a` of the node; with
// spread 0, differences of floats up to a half.
extern "C" __global__ void random_rows(
    u64 seed, u64 a, double spread, float *rows, u32 count, u32 columns, u32 stride)
{
    u32 node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= count) return;
    Rng rng(seed, START, a, node);
    for (u32 at = 0; at < stride; at++) {
        float value = 0;
        if (at < columns) {
            double unit = rng.unit();
            value = spread > 0 ? (float)((unit - 0.5) * 2.0 * spread) : (float)unit - 0.5f;
        }
        rows[(u64)node * stride + at] = value;
    }
}

// Sums of x_ia y_ib over the rows of a chunk, a and b in tiles of 64. Blocks: chunks × tiles × tiles.
const u32 GRAM = 64, GRAM_ROWS = 16;

extern "C" __global__ void __launch_bounds__(256) gram_of_chunks(
    const float *x, const float *y, u32 rows, u32 columns, u32 of_chunk, double *sums)
{
    __shared__ float tile_x[GRAM_ROWS][GRAM], tile_y[GRAM_ROWS][GRAM];
    u32 tiles = (columns + GRAM - 1) / GRAM;
    u32 chunk = blockIdx.x / (tiles * tiles), tile = blockIdx.x % (tiles * tiles);
    u32 a0 = tile / tiles * GRAM, b0 = tile % tiles * GRAM;
    u32 a = threadIdx.x / 16 * 4, b = threadIdx.x % 16 * 4;
    double own[4][4] = {};
    u32 end = min(rows, (chunk + 1) * of_chunk);
    for (u32 first = chunk * of_chunk; first < end; first += GRAM_ROWS) {
        for (u32 at = threadIdx.x; at < GRAM_ROWS * GRAM; at += 256) {
            u32 row = first + at / GRAM, column = at % GRAM;
            bool inside = row < end;
            tile_x[at / GRAM][column] = inside && a0 + column < columns ? x[(u64)row * columns + a0 + column] : 0;
            tile_y[at / GRAM][column] = inside && b0 + column < columns ? y[(u64)row * columns + b0 + column] : 0;
        }
        __syncthreads();
        for (u32 row = 0; row < GRAM_ROWS; row++) {
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 4; j++) own[i][j] += (double)tile_x[row][a + i] * (double)tile_y[row][b + j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            if (a0 + a + i < columns && b0 + b + j < columns) {
                sums[((u64)chunk * columns + a0 + a + i) * columns + b0 + b + j] = own[i][j];
            }
        }
    }
}

// out_r = x_r W, W row-major with `inner` rows and `columns` columns, or the sum of squares of each row
// of it; `scale` times it is added where `adds`. A block takes PRODUCT_ROWS rows, a thread a column.
const u32 PRODUCT_ROWS = 16;

extern "C" __global__ void multiply_rows(
    const float *x, u32 rows, u32 columns, const float *weights, float scale, float *out, u32 stride, double *squares)
{
    extern __shared__ float tile[];
    u32 first = blockIdx.x * PRODUCT_ROWS, count = min(PRODUCT_ROWS, rows - first);
    for (u32 at = threadIdx.x; at < PRODUCT_ROWS * columns; at += blockDim.x) {
        tile[at] = at < count * columns ? x[(u64)first * columns + at] : 0;
    }
    __syncthreads();
    u32 column = threadIdx.x;
    float own[PRODUCT_ROWS] = {};
    if (column < columns) {
        for (u32 k = 0; k < columns; k++) {
            float weight = weights[k * columns + column];
#pragma unroll
            for (u32 row = 0; row < PRODUCT_ROWS; row++) own[row] += tile[row * columns + k] * weight;
        }
    }
    if (squares) {
        __syncthreads();
        for (u32 row = 0; row < PRODUCT_ROWS; row++) {
            if (column < columns) tile[row * columns + column] = own[row];
        }
        __syncthreads();
        if (threadIdx.x < count) {
            double sum = 0;
            for (u32 k = 0; k < columns; k++) sum += (double)(tile[threadIdx.x * columns + k] * tile[threadIdx.x * columns + k]);
            squares[first + threadIdx.x] = sum;
        }
    } else if (column < columns) {
        for (u32 row = 0; row < count; row++) {
            u64 at = (u64)(first + row) * stride + column;
            out[at] = scale == 0 ? own[row] : out[at] + scale * own[row];
        }
    }
}

// For each row with q > 0 the sum of squares to a power.
extern "C" __global__ void row_squares(const float *x, const float *q, u32 rows, u32 stride, double power, double *out) {
    u32 row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    double sum = 0;
    for (u32 at = lane; at < stride; at += 32) {
        float value = x[(u64)row * stride + at];
        sum += (double)(value * value);
    }
    for (int m = 16; m > 0; m /= 2) sum += __shfl_xor_sync(~0u, sum, m);
    if (lane == 0) out[row] = q[row] > 0 ? (power == 1 ? sum : pow(sum, power)) : 0;
}

// Sums of q_i x_ia over the rows of a chunk; a thread for each column, a block for each chunk.
extern "C" __global__ void column_sums(
    const float *x, const float *q, u32 rows, u32 stride, u32 of_chunk, double *sums)
{
    u32 end = min(rows, (blockIdx.x + 1) * of_chunk);
    for (u32 column = threadIdx.x; column < stride; column += blockDim.x) {
        double sum = 0;
        for (u32 row = blockIdx.x * of_chunk; row < end; row++) sum += (double)(q[row] * x[(u64)row * stride + column]);
        sums[(u64)blockIdx.x * stride + column] = sum;
    }
}

// Sums over chunks, in order: of `count` columns.
extern "C" __global__ void add_chunks(const double *sums, u32 chunks, u32 count, double *out) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    double sum = 0;
    for (u32 chunk = 0; chunk < chunks; chunk++) sum += sums[(u64)chunk * count + at];
    out[at] = sum;
}

// The sum of numbers, by one block.
extern "C" __global__ void __launch_bounds__(1024) add_all(const double *numbers, u32 count, double *out) {
    __shared__ double sums[1024];
    double sum = 0;
    for (u64 at = threadIdx.x; at < count; at += 1024) sum += numbers[at];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sums[0];
}

// x_i ← factor x_i + scale q_i along, where q_i > 0.
extern "C" __global__ void combine(
    float *x, const float *q, const float *along, u32 rows, u32 stride, float factor, float scale)
{
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)rows * stride) return;
    float of_row = q[at / stride];
    if (of_row > 0) x[at] = scale * of_row * along[at % stride] + factor * x[at];
}

// x_i ← x_i (total / evened / squares_i^power)^½, where q_i > 0.
extern "C" __global__ void even_lengths(
    float *x, const float *q, const double *squares, u32 rows, u32 stride, double total, double power)
{
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)rows * stride || !(q[at / stride] > 0)) return;
    float factor = (float)sqrt(total / pow(squares[at / stride], power));
    if (isfinite(factor)) x[at] *= factor;
}
