// A step of a table that is larger than the device's memory.
//
// A part of the rows is on the device, and the rows that they are paired with come after it, one part after
// the other. A row's terms are summed as integers, so that their sum over parts is that over all, bit for bit.

struct Part {
    u32 first, count;  // rows of the table
};

// What the terms of each row are multiplied with, and what its old value is. Lists rows with many entries.
extern "C" __global__ void weigh_rows(
    Part own, Lists lists, Step step, u32 longest, float *sizes, float *keeps, u32 *long_rows, u64 *totals)
{
    u32 at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (at >= own.count) return;
    RowList list(lists, own.first + at);
    Counts counts = {0, 0, 0, 0};
    for (u64 next = lane; next < list.all; next += 32) counts.add(list.get(next), next < list.of_windows);
    counts.sum_over_warp();
    if (lane > 0) return;
    float size = step_size(counts, step);
    sizes[at] = size;
    keeps[at] = 1.0f - size * step.shrink * (float)counts.own_negative;
    if (list.all > longest) long_rows[1 + atomicAdd(long_rows, 1)] = at;
    atomicAdd(&totals[COUNTERS + blockIdx.x % COUNTERS], (u64)(counts.own_positive + counts.own_negative));
}

const u32 PART_THREADS = 256;

// Adds the terms of pairs with rows of another part: a warp for each row or, if `long_rows` are given, a block
// for each of them.
template <int LANES, int CHUNKS>
__device__ void add_terms(
    const float *own, Part of_own, const float *others, Part of_others, u32 stride, const Lists &lists,
    const Step &step, const float *sizes, u32 longest, const u32 *long_rows, u32 *sums, u64 *totals)
{
    __shared__ u32 kept[PART_THREADS];
    const u32 groups = 32 / LANES;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    u32 *kept_of_warp = kept + warp * 32;
    u32 count = long_rows ? long_rows[0] : of_own.count;
    u32 first = long_rows ? blockIdx.x : blockIdx.x * warps + warp;
    u32 every = long_rows ? gridDim.x : gridDim.x * warps;
    u64 loss = 0;
    for (u32 next = first; next < count; next += every) {
        u32 at = long_rows ? long_rows[1 + next] : next;
        RowList list(lists, of_own.first + at);
        if (!long_rows && list.all > longest) continue;
        float positive = sizes[at] * step.positive * SCALE, negative = sizes[at] * step.negative * SCALE;
        Terms<LANES, CHUNKS> terms(own + (u64)at * stride, stride);
        u64 chunk = long_rows ? warp * 32 : 0, chunks = long_rows ? warps * 32 : 32;
        for (; chunk < list.all; chunk += chunks) {
            // Of 32 entries those of the part, in order: first those of windows.
            u32 entry = list.get(chunk + lane), node = (entry >> 1) - of_others.first;
            bool inside = entry != SKIP && node < of_others.count;
            u32 all = __ballot_sync(~0u, inside);
            u32 of_windows = __ballot_sync(~0u, inside && chunk + lane < list.of_windows);
            if (inside) kept_of_warp[__popc(all & ((1u << lane) - 1))] = 2 * node + (entry & 1);
            __syncwarp();
            RowList inner(kept_of_warp, __popc(of_windows), __popc(all));
            for (u64 from = 0; from < inner.all; from += groups * UNROLL) {
                terms.add(inner, from + lane / LANES, groups, others, stride, positive, negative);
            }
            __syncwarp();
        }
        terms.finish();
        for (int c = 0; c < CHUNKS; c++) {
            if (!terms.has(c, stride)) continue;
            u32 *sum = sums + (u64)at * stride + (c * LANES + lane % LANES) * 4;
            atomicAdd(sum, terms.sums[c].x);
            atomicAdd(sum + 1, terms.sums[c].y);
            atomicAdd(sum + 2, terms.sums[c].z);
            atomicAdd(sum + 3, terms.sums[c].w);
        }
        loss += terms.loss;
    }
    for (int m = 16; m > 0; m /= 2) loss += __shfl_xor_sync(~0u, loss, m);
    if (lane == 0 && loss) atomicAdd(&totals[blockIdx.x % COUNTERS], loss);
}

#define PART_ROWS(NAME, LANES, CHUNKS)                                                                 \
    extern "C" __global__ void __launch_bounds__(PART_THREADS) add_terms_##NAME(                       \
        const float *own, Part of_own, const float *others, Part of_others, u32 stride, Lists lists,   \
        Step step, const float *sizes, u32 longest, const u32 *long_rows, u32 *sums, u64 *totals)      \
    {                                                                                                  \
        add_terms<LANES, CHUNKS>(own, of_own, others, of_others, stride, lists, step, sizes, longest,  \
            long_rows, sums, totals);                                                                  \
    }

PART_ROWS(16, 4, 1)
PART_ROWS(32, 8, 1)
PART_ROWS(64, 16, 1)
PART_ROWS(128, 32, 1)
PART_ROWS(256, 32, 2)
PART_ROWS(512, 32, 4)
PART_ROWS(1024, 32, 8)

// The new values of rows, in place.
extern "C" __global__ void finish_rows(
    float *own, u32 count, u32 stride, Step step, const u32 *sums, const float *keeps, u64 *totals)
{
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)count * stride) return;
    own[at] = stepped(own[at], sums[at], keeps[at / stride], step.rate, totals + 2 * COUNTERS);
}
