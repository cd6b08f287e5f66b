// One step of gradient descent for all rows, on the pairs of a minibatch.
//
// A row is paired with the entries of its own windows and with those centres whose windows it is in. Its
// new value depends on the old values of all rows alone, so rows are independent. A pair is computed from
// both of its ends, with the same product, bit for bit: the order of its sum does not depend on which is
// which. Terms are rounded to multiples of 2^-16 and summed as integers, as which order they come in is
// not determined.

struct Step {
    float positive, negative;  // weights of terms, at most 1
    float rate;                // what the sum of terms is multiplied with, by 2^-16
    float shrink;              // L2 regularisation for each negative pair of a centre
    float weights[2];          // of a positive and of a negative pair, by which rows are heavy
    float heavy;
};

const float SCALE = 65536.0f;
const float ROUND = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the lowest bits
const u32 ROUND_BITS = 0x4b400000u;
const float LARGEST = 64.0f;      // terms of larger values would not fit
const u32 COUNTERS = 64;

// nearfar::simd::math, with the same operations.
__device__ float exponential(float x) {
    float rounded = x * 1.44269502162933349609375f + ROUND;
    float power = __uint_as_float((__float_as_uint(rounded) << 23) + 0x3f800000u);
    float k = rounded - ROUND;
    float r = x - k * 0.693359375f - k * -2.12194442e-4f;
    float series = r * (1.0f / 720.0f) + 1.0f / 120.0f;
    series = r * series + 1.0f / 24.0f;
    series = r * series + 1.0f / 6.0f;
    series = r * series + 0.5f;
    series = r * series + 1.0f;
    return (r * series + 1.0f) * power;
}

__device__ float logarithm(float y) {
    u32 above = __float_as_uint(y) - 0x3f3504f3u;
    float k = (float)((int)(above >> 23));
    float m = __uint_as_float((above & 0x007fffffu) + 0x3f3504f3u);
    float s = (m - 1.0f) / (m + 1.0f), square = s * s;
    float series = square * (1.0f / 7.0f) + 0.2f;
    series = square * series + 1.0f / 3.0f;
    series = square * series + 1.0f;
    return k * 0.693147182464599609375f + 2.0f * s * series;
}

__device__ u32 rounded_bits(float x) { return __float_as_uint(x + ROUND); }

struct Lists {
    const u32 *starts;    // of windows, by row; null: rows have none
    const u32 *entries;
    const u32 *incoming_starts;  // null: rows are in none
    const u32 *incoming;
    u32 slots, padding;
};

struct Rows {
    const float *own, *others;
    float *out;
    u32 count, stride;
};

// The entries of a row: of its windows, then those it is in.
struct RowList {
    const u32 *own, *incoming;
    u64 of_windows, all;

    __device__ RowList(const Lists &lists, u32 row) {
        of_windows = 0;
        own = incoming = nullptr;
        if (lists.starts) {
            u64 first = lists.starts[row];
            own = lists.entries + first * lists.slots;
            of_windows = (lists.starts[row + 1] - first) * lists.slots;
        }
        all = of_windows;
        if (lists.incoming_starts) {
            u32 first = lists.incoming_starts[row];
            incoming = lists.incoming + first;
            all += lists.incoming_starts[row + 1] - first;
        }
    }

    __device__ RowList(const u32 *entries, u64 of_windows, u64 all)
        : own(entries), incoming(entries + of_windows), of_windows(of_windows), all(all) {}

    __device__ u32 get(u64 at) const {
        if (at >= all) return SKIP;
        return at < of_windows ? own[at] : incoming[at - of_windows];
    }
};

// Positive, negative and own negative and positive pairs.
struct Counts {
    u32 positive, negative, own_negative, own_positive;

    __device__ void add(u32 entry, bool own) {
        if (entry == SKIP) return;
        u32 is_positive = entry & 1;
        positive += is_positive;
        negative += 1 - is_positive;
        own_positive += own && is_positive;
        own_negative += own && !is_positive;
    }

    __device__ void sum_over_warp() {
        positive = __reduce_add_sync(~0u, positive);
        negative = __reduce_add_sync(~0u, negative);
        own_positive = __reduce_add_sync(~0u, own_positive);
        own_negative = __reduce_add_sync(~0u, own_negative);
    }
};

// The fraction of a step that a row takes.
__device__ float step_size(const Counts &counts, const Step &step) {
    float weight = (float)counts.positive * step.weights[0] + (float)counts.negative * step.weights[1];
    return weight > step.heavy ? step.heavy / weight : 1.0f;
}

// LANES threads share a row, each with CHUNKS times four values; UNROLL entries are computed together.
const int UNROLL = 4;

template <int LANES, int CHUNKS>
struct Terms {
    float4 own[CHUNKS];
    uint4 sums[CHUNKS];
    u32 added;
    u64 loss;

    __device__ static bool has(int chunk, u32 stride) {
        return (chunk * LANES + threadIdx.x % LANES) * 4 < stride;
    }

    __device__ static float4 load(const float *row, int chunk, u32 stride) {
        u32 at = chunk * LANES + threadIdx.x % LANES;
        if (at * 4 >= stride) return make_float4(0, 0, 0, 0);
        return ((const float4 *)row)[at];
    }

    __device__ Terms(const float *row, u32 stride) : added(0), loss(0) {
        for (int c = 0; c < CHUNKS; c++) {
            own[c] = load(row, c, stride);
            sums[c] = make_uint4(0, 0, 0, 0);
        }
    }

    // Adds the terms of UNROLL entries for each group of lanes, from `first` on; groups take every
    // `groups`-th entry.
    __device__ void add(
        const RowList &list, u64 first, u64 groups, const float *others, u32 stride,
        float positive, float negative)
    {
        u32 entries[UNROLL];
        float4 rows[UNROLL][CHUNKS];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) entries[u] = list.get(first + u * groups);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            u64 row = entries[u] == SKIP ? 0 : entries[u] >> 1;
            for (int c = 0; c < CHUNKS; c++) rows[u][c] = load(others + row * stride, c, stride);
        }
        float dots[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            float sum = 0;
            for (int c = 0; c < CHUNKS; c++) {
                sum = sum + own[c].x * rows[u][c].x;
                sum = sum + own[c].y * rows[u][c].y;
                sum = sum + own[c].z * rows[u][c].z;
                sum = sum + own[c].w * rows[u][c].w;
            }
            dots[u] = sum;
        }
        // Sums over lanes, halving the distance: a lane keeps half of the entries at each of the first
        // two steps, so that in the end it has the product of one.
        u32 lane = threadIdx.x % LANES;
        bool upper = lane & LANES / 2, odd = lane & LANES / 4;
        float a = upper ? dots[2] : dots[0], b = upper ? dots[3] : dots[1];
        a = a + __shfl_xor_sync(~0u, upper ? dots[0] : dots[2], LANES / 2);
        b = b + __shfl_xor_sync(~0u, upper ? dots[1] : dots[3], LANES / 2);
        float product = (odd ? b : a) + __shfl_xor_sync(~0u, odd ? a : b, LANES / 4);
        for (int m = LANES / 8; m > 0; m /= 2) product = product + __shfl_xor_sync(~0u, product, m);

        u32 mine = upper ? (odd ? entries[3] : entries[2]) : (odd ? entries[1] : entries[0]);
        u64 at = first + (2 * upper + odd) * groups;
        bool is_positive = mine & 1;
        float x = fminf(fmaxf(is_positive ? product : -product, -30.0f), 30.0f);
        float e = exponential(-x);
        float error = e / (1.0f + e);
        float factor = mine == SKIP ? 0.0f : is_positive ? positive * error : -(negative * error);
        if (mine != SKIP && at < list.of_windows && lane % (LANES / 4) == 0) {
            loss += rounded_bits(logarithm(1.0f + e) * SCALE) - ROUND_BITS;
        }
        u32 base = threadIdx.x % 32 / LANES * LANES;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            float g = __shfl_sync(~0u, factor, base + (u / 2) * (LANES / 2) + (u % 2) * (LANES / 4));
            for (int c = 0; c < CHUNKS; c++) {
                sums[c].x += rounded_bits(g * rows[u][c].x);
                sums[c].y += rounded_bits(g * rows[u][c].y);
                sums[c].z += rounded_bits(g * rows[u][c].z);
                sums[c].w += rounded_bits(g * rows[u][c].w);
            }
        }
        added += UNROLL;
    }

    // Takes ROUND off the sums.
    __device__ void finish() {
        u32 bits = added * ROUND_BITS;
        for (int c = 0; c < CHUNKS; c++) {
            sums[c].x -= bits;
            sums[c].y -= bits;
            sums[c].z -= bits;
            sums[c].w -= bits;
        }
    }
};

__device__ float stepped(float old, u32 sum, float keep, float rate, u64 *diverged) {
    float value = old * keep + (float)(int)sum * rate;
    if (!(fabsf(value) < LARGEST)) *diverged = 1;
    return value;
}

// A warp for each row. Rows with many entries are left to long_rows.
template <int LANES, int CHUNKS>
__device__ void short_rows(
    const Rows &rows, const Lists &lists, const Step &step, u32 longest, u32 *long_rows, u64 *totals)
{
    __shared__ u64 shared[2];
    if (threadIdx.x < 2) shared[threadIdx.x] = 0;
    __syncthreads();
    u32 row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row < rows.count) {
        RowList list(lists, row);
        if (list.all > longest) {
            if (lane == 0) long_rows[1 + atomicAdd(long_rows, 1)] = row;
        } else {
            Counts counts = {0, 0, 0, 0};
            for (u64 at = lane; at < list.all; at += 32) counts.add(list.get(at), at < list.of_windows);
            counts.sum_over_warp();
            float size = step_size(counts, step);
            const u32 groups = 32 / LANES;
            Terms<LANES, CHUNKS> terms(rows.own + (u64)row * rows.stride, rows.stride);
            for (u64 first = 0; first < list.all; first += groups * UNROLL) {
                terms.add(list, first + lane / LANES, groups, rows.others, rows.stride,
                    size * step.positive * SCALE, size * step.negative * SCALE);
            }
            terms.finish();
            float keep = 1.0f - size * step.shrink * (float)counts.own_negative;
            for (int c = 0; c < CHUNKS; c++) {
                uint4 sum = terms.sums[c];
                for (int m = LANES; m < 32; m *= 2) {
                    sum.x += __shfl_xor_sync(~0u, sum.x, m);
                    sum.y += __shfl_xor_sync(~0u, sum.y, m);
                    sum.z += __shfl_xor_sync(~0u, sum.z, m);
                    sum.w += __shfl_xor_sync(~0u, sum.w, m);
                }
                if (lane < LANES && terms.has(c, rows.stride)) {
                    float4 old = terms.own[c], value;
                    value.x = stepped(old.x, sum.x, keep, step.rate, totals + 2 * COUNTERS);
                    value.y = stepped(old.y, sum.y, keep, step.rate, totals + 2 * COUNTERS);
                    value.z = stepped(old.z, sum.z, keep, step.rate, totals + 2 * COUNTERS);
                    value.w = stepped(old.w, sum.w, keep, step.rate, totals + 2 * COUNTERS);
                    ((float4 *)(rows.out + (u64)row * rows.stride))[c * LANES + lane] = value;
                }
            }
            if (terms.loss) atomicAdd(&shared[0], terms.loss);
            if (lane == 0) atomicAdd(&shared[1], (u64)(counts.own_positive + counts.own_negative));
        }
    }
    __syncthreads();
    if (threadIdx.x < 2) atomicAdd(&totals[threadIdx.x * COUNTERS + blockIdx.x % COUNTERS], shared[threadIdx.x]);
}

// A block for each long row.
template <int LANES, int CHUNKS>
__device__ void whole_blocks(
    const Rows &rows, const Lists &lists, const Step &step, const u32 *long_rows, u64 *totals)
{
    __shared__ u32 sums[CHUNKS * LANES * 4];
    __shared__ u32 shared[4];
    const u32 groups = 32 / LANES;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (u32 next = blockIdx.x; next < long_rows[0]; next += gridDim.x) {
        u32 row = long_rows[1 + next];
        RowList list(lists, row);
        for (u32 at = threadIdx.x; at < CHUNKS * LANES * 4; at += blockDim.x) sums[at] = 0;
        if (threadIdx.x < 4) shared[threadIdx.x] = 0;
        __syncthreads();
        Counts counts = {0, 0, 0, 0};
        for (u64 at = threadIdx.x; at < list.all; at += blockDim.x) counts.add(list.get(at), at < list.of_windows);
        counts.sum_over_warp();
        if (lane == 0) {
            atomicAdd(&shared[0], counts.positive);
            atomicAdd(&shared[1], counts.negative);
            atomicAdd(&shared[2], counts.own_negative);
            atomicAdd(&shared[3], counts.own_positive);
        }
        __syncthreads();
        counts.positive = shared[0];
        counts.negative = shared[1];
        counts.own_negative = shared[2];
        counts.own_positive = shared[3];
        float size = step_size(counts, step);
        Terms<LANES, CHUNKS> terms(rows.own + (u64)row * rows.stride, rows.stride);
        for (u64 first = (u64)warp * groups * UNROLL; first < list.all; first += (u64)warps * groups * UNROLL) {
            terms.add(list, first + lane / LANES, groups, rows.others, rows.stride,
                size * step.positive * SCALE, size * step.negative * SCALE);
        }
        terms.finish();
        for (int c = 0; c < CHUNKS; c++) {
            u32 *sum = sums + (c * LANES + lane % LANES) * 4;
            atomicAdd(sum, terms.sums[c].x);
            atomicAdd(sum + 1, terms.sums[c].y);
            atomicAdd(sum + 2, terms.sums[c].z);
            atomicAdd(sum + 3, terms.sums[c].w);
        }
        if (terms.loss) atomicAdd(&totals[blockIdx.x % COUNTERS], terms.loss);
        if (threadIdx.x == 0) {
            atomicAdd(&totals[COUNTERS + blockIdx.x % COUNTERS], (u64)(counts.own_positive + counts.own_negative));
        }
        __syncthreads();
        float keep = 1.0f - size * step.shrink * (float)counts.own_negative;
        for (u32 at = threadIdx.x; at < rows.stride; at += blockDim.x) {
            u64 place = (u64)row * rows.stride + at;
            rows.out[place] = stepped(rows.own[place], sums[at], keep, step.rate, totals + 2 * COUNTERS);
        }
        __syncthreads();
    }
}

#define ROWS(NAME, LANES, CHUNKS)                                                                  \
    extern "C" __global__ void __launch_bounds__(256) short_rows_##NAME(                           \
        Rows rows, Lists lists, Step step, u32 longest, u32 *long_rows, u64 *totals)               \
    {                                                                                              \
        short_rows<LANES, CHUNKS>(rows, lists, step, longest, long_rows, totals);                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(512) long_rows_##NAME(                            \
        Rows rows, Lists lists, Step step, const u32 *long_rows, u64 *totals)                      \
    {                                                                                              \
        whole_blocks<LANES, CHUNKS>(rows, lists, step, long_rows, totals);                         \
    }

// By the values of a row that they suffice for.
ROWS(16, 4, 1)
ROWS(32, 8, 1)
ROWS(64, 16, 1)
ROWS(128, 32, 1)
ROWS(256, 32, 2)
ROWS(512, 32, 4)
ROWS(1024, 32, 8)

// Every `step`-th row, in order.
extern "C" __global__ void gather_rows(const float *rows, u32 stride, u32 step, u32 count, float *out) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < (u64)count * stride) out[at] = rows[at / stride * step * stride + at % stride];
}
