// The objective of all pairs, tile by tile on tensor cores.
//
// With T_ij = A_ij + a_i v_i(d_ij) + a_j v_j(d_ij), where v_i(d) is the weight of a distance, at least
// low_i and at most high_i, and a_i = c_i w / (the sum of v_i over all nodes), the gradient at z_i is
//
//     sum over j of (a_i v_i + a_j v_j) σ(s_ij) z_j - A_ij (1 - σ(s_ij)) z_j.
//
// The first part is dense: a warp has 16 rows in registers and goes over all columns, 32 at a time, as in
// attention. Products are of three tf32 products each (high × high, high × low, low × high), which is
// about the precision of float. The second part is sparse.

struct Weights {
    Cells hops;
    const float *powers;   // by distance; null: all weights are 1
    const float *low, *high;
    const float *factors;  // a
};

__device__ float pair_weight(const Weights &w, u64 n, u32 i, u32 j) {
    if (i == j) return 0;
    if (!w.powers) return w.factors[i] + w.factors[j];
    float power = w.powers[w.hops.get((u64)i * n + j)];
    return w.factors[i] * fminf(fmaxf(power, w.low[i]), w.high[i]) +
           w.factors[j] * fminf(fmaxf(power, w.low[j]), w.high[j]);
}

// A block for each row: the sum of v_i, or the sum of weights if factors are known.
extern "C" __global__ void __launch_bounds__(256) sum_weights(Weights w, u32 n, u32 are_known, double *out) {
    __shared__ double sums[256];
    u32 i = blockIdx.x;
    double sum = 0;
    for (u32 j = threadIdx.x; j < n; j += 256) {
        if (are_known) sum += (double)pair_weight(w, n, i, j);
        else if (i != j) {
            sum += w.powers ? (double)fminf(fmaxf(w.powers[w.hops.get((u64)i * n + j)], w.low[i]), w.high[i]) : 1;
        }
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[i] = sums[0];
}

// The 11 highest bits of a mantissa, which tensor cores take, and the rest, of which they take as many.
__device__ void split(float x, u32 &high, u32 &low) {
    high = __float_as_uint(x) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

__device__ void multiply_tile(float *c, const u32 *a, const u32 *b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void multiply_split(float *c, const u32 *a_high, const u32 *a_low, const u32 *b_high, const u32 *b_low) {
    multiply_tile(c, a_low, b_high);
    multiply_tile(c, a_high, b_low);
    multiply_tile(c, a_high, b_high);
}

const int EXACT_WARPS = 4, EXACT_COLUMNS = 32;
const u32 TABLE = 1024;  // powers that are kept in shared memory

// Writes the dense part of the gradient, and of the loss by row, over some of the columns: those of part
// blockIdx.y, to its own table. DIM is the length of a row of z.
template <int DIM>
__device__ void dense(const float *z, Weights w, u32 n, u32 powers, u32 of_part, float *gradient, float *losses) {
    const int LD = DIM + 4;  // so that the rows of a fragment are in different banks
    extern __shared__ float shared[];
    __shared__ float table[TABLE], of_columns[3][EXACT_COLUMNS];
    float *own = shared, *others = shared + EXACT_WARPS * 16 * LD;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
    u32 block = blockIdx.x * EXACT_WARPS * 16, first = block + warp * 16;
    u32 start = blockIdx.y * of_part, end = min(n, start + of_part);
    gradient += (u64)blockIdx.y * n * DIM;
    losses += (u64)blockIdx.y * n;
    for (u32 at = threadIdx.x; at < EXACT_WARPS * 16 * DIM / 4; at += blockDim.x) {
        u32 row = at / (DIM / 4), quads = at % (DIM / 4);
        float4 value = block + row < n ? ((const float4 *)z)[(u64)(block + row) * (DIM / 4) + quads] : make_float4(0, 0, 0, 0);
        *(float4 *)(own + row * LD + quads * 4) = value;
    }
    if (w.powers && powers <= TABLE) {
        for (u32 at = threadIdx.x; at < powers; at += blockDim.x) table[at] = w.powers[at];
    }
    const float *weights = powers <= TABLE ? table : w.powers;
    const float *mine = own + warp * 16 * LD;
    u32 rows[2] = {first + group, first + group + 8};
    float factor[2], low[2], high[2];
    u64 cells[2];
    for (int half = 0; half < 2; half++) {
        u32 i = min(rows[half], n - 1);
        factor[half] = w.factors[i];
        low[half] = w.powers ? w.low[i] : 1;
        high[half] = w.powers ? w.high[i] : 1;
        cells[half] = (u64)i * n;
    }
    float sums[DIM / 8][4] = {}, loss[2] = {};
    for (u32 column = start; column < end; column += EXACT_COLUMNS) {
        // Distances are read first: they arrive while products are computed.
        u32 hops[EXACT_COLUMNS / 8][4];
#pragma unroll
        for (int tile = 0; tile < EXACT_COLUMNS / 8; tile++) {
#pragma unroll
            for (int entry = 0; entry < 4; entry++) {
                u32 j = min(column + tile * 8 + 2 * quad + entry % 2, n - 1);
                hops[tile][entry] = w.powers ? w.hops.get(cells[entry / 2] + j) : 0;
            }
        }
        __syncthreads();
        for (u32 at = threadIdx.x; at < EXACT_COLUMNS * DIM / 4; at += blockDim.x) {
            u32 row = at / (DIM / 4), quads = at % (DIM / 4);
            float4 value = column + row < n ? ((const float4 *)z)[(u64)(column + row) * (DIM / 4) + quads] : make_float4(0, 0, 0, 0);
            *(float4 *)(others + row * LD + quads * 4) = value;
        }
        if (threadIdx.x < EXACT_COLUMNS) {
            u32 j = min(column + threadIdx.x, n - 1);
            of_columns[0][threadIdx.x] = column + threadIdx.x < end ? w.factors[j] : 0;
            of_columns[1][threadIdx.x] = w.powers ? w.low[j] : 1;
            of_columns[2][threadIdx.x] = w.powers ? w.high[j] : 1;
        }
        __syncthreads();
        float s[EXACT_COLUMNS / 8][4] = {};
#pragma unroll 2
        for (int k = 0; k < DIM; k += 8) {
            u32 a_high[4], a_low[4];
            split(mine[group * LD + k + quad], a_high[0], a_low[0]);
            split(mine[(group + 8) * LD + k + quad], a_high[1], a_low[1]);
            split(mine[group * LD + k + quad + 4], a_high[2], a_low[2]);
            split(mine[(group + 8) * LD + k + quad + 4], a_high[3], a_low[3]);
#pragma unroll
            for (int tile = 0; tile < EXACT_COLUMNS / 8; tile++) {
                u32 b_high[2], b_low[2];
                split(others[(tile * 8 + group) * LD + k + quad], b_high[0], b_low[0]);
                split(others[(tile * 8 + group) * LD + k + quad + 4], b_high[1], b_low[1]);
                multiply_split(s[tile], a_high, a_low, b_high, b_low);
            }
        }
#pragma unroll
        for (int tile = 0; tile < EXACT_COLUMNS / 8; tile++) {
            // Entries 0 and 1 are of row `group`, 2 and 3 of the one eight below; two columns each.
#pragma unroll
            for (int entry = 0; entry < 4; entry++) {
                int half = entry / 2, of_tile = tile * 8 + 2 * quad + entry % 2;
                u32 j = column + of_tile;
                float power = w.powers ? weights[hops[tile][entry]] : 1.0f;
                float weight = factor[half] * fminf(fmaxf(power, low[half]), high[half]) +
                    of_columns[0][of_tile] * fminf(fmaxf(power, of_columns[1][of_tile]), of_columns[2][of_tile]);
                weight = j < end && j != rows[half] ? weight : 0.0f;
                float x = fminf(fmaxf(s[tile][entry], -30.0f), 30.0f);
                float e = __expf(-fabsf(x)), sigma = __fdividef(1.0f, 1.0f + e);
                // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
                loss[half] += weight * (fmaxf(x, 0.0f) + __logf(1.0f + e));
                s[tile][entry] = weight * (x >= 0 ? sigma : 1.0f - sigma);
            }
        }
        // As the order of columns does not matter, column 2 q of a tile is taken as the q-th and
        // column 2 q + 1 as the one four further: so the entries above are where they are needed.
#pragma unroll
        for (int tile = 0; tile < EXACT_COLUMNS / 8; tile++) {
            u32 a_high[4], a_low[4];
            split(s[tile][0], a_high[0], a_low[0]);
            split(s[tile][2], a_high[1], a_low[1]);
            split(s[tile][1], a_high[2], a_low[2]);
            split(s[tile][3], a_high[3], a_low[3]);
#pragma unroll
            for (int k = 0; k < DIM / 8; k++) {
                u32 b_high[2], b_low[2];
                split(others[(tile * 8 + 2 * quad) * LD + k * 8 + group], b_high[0], b_low[0]);
                split(others[(tile * 8 + 2 * quad + 1) * LD + k * 8 + group], b_high[1], b_low[1]);
                multiply_split(sums[k], a_high, a_low, b_high, b_low);
            }
        }
    }
    for (int half = 0; half < 2; half++) {
        float sum = loss[half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (rows[half] >= n) continue;
        if (quad == 0) losses[rows[half]] = sum;
        for (int k = 0; k < DIM / 8; k++) {
            float *out = gradient + (u64)rows[half] * DIM + k * 8 + 2 * quad;
            out[0] = sums[k][2 * half];
            out[1] = sums[k][2 * half + 1];
        }
    }
}

#define DENSE(DIM)                                                                    \
    extern "C" __global__ void __launch_bounds__(EXACT_WARPS * 32) dense_##DIM(       \
        const float *z, Weights w, u32 n, u32 powers, u32 of_part, float *gradient, float *losses) \
    {                                                                                 \
        dense<DIM>(z, w, n, powers, of_part, gradient, losses);                       \
    }

DENSE(64)
DENSE(128)

// The sparse part, and the step. A warp for each row.
extern "C" __global__ void __launch_bounds__(256) exact_step(
    const float *z, const float *gradient, const float *losses, u32 parts, u32 n, u32 dim,
    const u64 *starts, const u32 *columns, const float *weights,
    const float *regularised, const float *sizes, float l2, float rate, float *out, double *row_losses)
{
    u32 i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    const float *own = z + (u64)i * dim;
    float sums[8] = {}, loss = 0;
    for (u64 at = starts[i]; at < starts[i + 1]; at++) {
        const float *other = z + (u64)columns[at] * dim;
        float product = 0, values[8];
        for (u32 k = 0; k < 8; k++) {
            values[k] = k * 32 + lane < dim ? other[k * 32 + lane] : 0;
            product += values[k] * (k * 32 + lane < dim ? own[k * 32 + lane] : 0);
        }
        for (int m = 16; m > 0; m /= 2) product += __shfl_xor_sync(~0u, product, m);
        float x = fminf(fmaxf(product, -30.0f), 30.0f), e = exponential(-x);
        // 1 - σ(x) and -log σ(x)
        float factor = weights[at] * (e / (1.0f + e));
        loss += weights[at] * logarithm(1.0f + e);
        for (u32 k = 0; k < 8; k++) sums[k] += factor * values[k];
    }
    float factor = rate * sizes[i], decay = l2 * regularised[i];
    for (u32 k = 0; k < 8; k++) {
        u32 at = k * 32 + lane;
        if (at >= dim) break;
        float dense = 0;
        for (u32 part = 0; part < parts; part++) dense += gradient[((u64)part * n + i) * dim + at];
        float value = own[at] - factor * (dense - sums[k] + decay * own[at]);
        out[(u64)i * dim + at] = value;
    }
    if (lane == 0) {
        double all = (double)loss;
        for (u32 part = 0; part < parts; part++) all += (double)losses[(u64)part * n + i];
        row_losses[i] = all;
    }
}
