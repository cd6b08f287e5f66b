// The pairs of a pass.
//
// Each node is the centre of some windows. A window has `slots` entries: its contexts, then its
// negatives. An entry is 2 × node + 1 for a context, 2 × node for a negative, or SKIP. A pass is cut into
// minibatches; the windows of a minibatch are consecutive, by centre: those of node i in minibatch b are
// starts[b n + i] .. starts[b n + i + 1].

const u32 SKIP = 0xffffffffu;

#define NODE_OR_RETURN(n)                                     \
    u32 node = blockIdx.x * blockDim.x + threadIdx.x;         \
    if (node >= (n)) return;

struct Pass {
    u64 seed, number, walks;
    u32 nodes, batches, contexts, negatives;
};

__device__ u64 walks_from(const Pass &pass, const double *centres, u32 node, Rng &rng) {
    return centres ? (u64)((double)pass.walks * centres[node] + rng.unit()) : pass.walks;
}

extern "C" __global__ void count_windows(Pass pass, const double *centres, u32 *counts) {
    NODE_OR_RETURN(pass.nodes)
    Rng rng(pass.seed, WALK, pass.number, node);
    u64 count = walks_from(pass, centres, node, rng), before = 0;
    for (u32 batch = 0; batch < pass.batches; batch++) {
        u64 end = count * (batch + 1) / pass.batches;
        counts[(u64)batch * pass.nodes + node] = (u32)(end - before);
        before = end;
    }
}

// First-order walks, one window each.
extern "C" __global__ void sample_walks(
    Pass pass, const double *centres, const u64 *offsets, const u32 *targets, const AliasCell *tables,
    const u32 *starts, u32 *window_centres, u32 *entries)
{
    NODE_OR_RETURN(pass.nodes)
    Rng rng(pass.seed, WALK, pass.number, node);
    walks_from(pass, centres, node, rng);
    u32 slots = pass.contexts + pass.negatives;
    for (u32 batch = 0; batch < pass.batches; batch++) {
        const u32 *range = starts + (u64)batch * pass.nodes + node;
        for (u32 window = range[0], end = range[1]; window < end; window++) {
            window_centres[window] = node;
            Rng walk = rng.split();
            u32 at = node;
            for (u32 t = 0; t < pass.contexts; t++) {
                u64 first = offsets[at], degree = offsets[at + 1] - first;
                u32 next = at;
                if (degree > 0) {
                    next = targets[first + (tables ? draw(tables + first, degree, walk) : walk.below(degree))];
                }
                bool is_pair = next != node && next != at;
                entries[(u64)window * slots + t] = is_pair ? 2 * next + 1 : SKIP;
                at = next;
            }
        }
    }
}

// Stores draw(rng) for every negative of a centre, with the stream of the centre.
template <typename Draw>
__device__ void for_each_negative(const Pass &pass, const u32 *starts, u32 *entries, u32 node, Draw draw) {
    Rng rng(pass.seed, NEGATIVE, pass.number, node);
    u32 slots = pass.contexts + pass.negatives;
    for (u32 batch = 0; batch < pass.batches; batch++) {
        const u32 *range = starts + (u64)batch * pass.nodes + node;
        for (u32 window = range[0], end = range[1]; window < end; window++) {
            u32 *out = entries + (u64)window * slots + pass.contexts;
            for (u32 at = 0; at < pass.negatives; at++) out[at] = 2 * draw(rng);
        }
    }
}

extern "C" __global__ void negatives_uniform(Pass pass, const u32 *starts, u32 *entries) {
    NODE_OR_RETURN(pass.nodes)
    for_each_negative(pass, starts, entries, node, [&](Rng &rng) {
        u32 k = (u32)rng.below(pass.nodes - 1);
        return k + (k >= node);
    });
}

extern "C" __global__ void negatives_alias(
    Pass pass, const u32 *starts, u32 *entries,
    const AliasCell *all, u32 dominant, const AliasCell *others)
{
    NODE_OR_RETURN(pass.nodes)
    const AliasCell *table = others && node == dominant ? others : all;
    for_each_negative(pass, starts, entries, node, [&](Rng &rng) {
        u32 k;
        do k = draw(table, pass.nodes, rng);
        while (k == node);
        return k;
    });
}

// Distances in cells of one, two or four bytes.
struct Cells {
    const void *cells;
    u64 bytes;

    __device__ u32 get(u64 at) const {
        if (bytes == 1) return ((const unsigned char *)cells)[at];
        if (bytes == 2) return ((const unsigned short *)cells)[at];
        return ((const u32 *)cells)[at];
    }
};

struct HopRow {
    double low, high, bound;
};

extern "C" __global__ void negatives_hops(
    Pass pass, const u32 *starts, u32 *entries,
    Cells hops, const double *powers, const HopRow *rows)
{
    NODE_OR_RETURN(pass.nodes)
    HopRow row = rows[node];
    if (row.bound == 0) return;
    u64 first = (u64)node * pass.nodes;
    for_each_negative(pass, starts, entries, node, [&](Rng &rng) {
        for (;;) {
            double unit;
            u32 k = (u32)rng.index_and_unit(pass.nodes, unit);
            double weight = fmin(fmax(powers[hops.get(first + k)], row.low), row.high);
            if (k != node && unit * row.bound < weight) return k;
        }
    });
}

struct LandmarkRow {
    u64 start;
    u32 first, len, members[2], proposals, padding;
};

struct Proposal {
    double bound, factor;
    u64 total;
};

extern "C" __global__ void negatives_landmarks(
    Pass pass, const u32 *starts, u32 *entries,
    Cells between, const u64 *index, const LandmarkRow *rows, const u32 *members,
    const double *powers, const double *far_powers, const Proposal *proposals)
{
    NODE_OR_RETURN(pass.nodes)
    u32 own = (u32)(index[node] >> 32), a = (u32)index[node];
    LandmarkRow row = rows[own];
    Proposal proposal = proposals[row.proposals + a];
    if (proposal.bound == 0) return;
    u32 same = row.members[1] - row.members[0];
    for_each_negative(pass, starts, entries, node, [&](Rng &rng) {
        for (;;) {
            double unit;
            u64 i = rng.index_and_unit(proposal.total, unit);
            u32 k = i < pass.nodes ? (u32)i : members[row.members[0] + (u32)((i - pass.nodes) % same)];
            u32 landmark = (u32)(index[k] >> 32), depths = a + (u32)index[k];
            u32 column = landmark - row.first;
            double weight = column < row.len
                ? powers[depths + between.get(row.start + column)]
                : far_powers[depths];
            if (landmark == own) weight /= proposal.factor;
            if (k != node && unit * proposal.bound < weight) return k;
        }
    });
}

// Copies entries that were drawn on the host: those of the listed nodes, one node after the other,
// from `from` on in the slots of each window.
extern "C" __global__ void place(
    Pass pass, const u32 *starts, u32 *entries,
    u32 listed, const u32 *nodes, const u64 *offsets, const u32 *drawn, u32 from, u32 count)
{
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= listed) return;
    u32 node = nodes[at];
    const u32 *next = drawn + offsets[at];
    u32 slots = pass.contexts + pass.negatives;
    for (u32 batch = 0; batch < pass.batches; batch++) {
        const u32 *range = starts + (u64)batch * pass.nodes + node;
        for (u32 window = range[0], end = range[1]; window < end; window++) {
            for (u32 t = 0; t < count; t++) entries[(u64)window * slots + from + t] = *next++;
        }
    }
}

// The windows of each node, where they were counted on the host.
extern "C" __global__ void place_centres(Pass pass, const u32 *starts, u32 *window_centres) {
    NODE_OR_RETURN(pass.nodes)
    for (u32 batch = 0; batch < pass.batches; batch++) {
        const u32 *range = starts + (u64)batch * pass.nodes + node;
        for (u32 window = range[0], end = range[1]; window < end; window++) window_centres[window] = node;
    }
}

// Exclusive prefix sums, in three steps: sums of blocks of SCAN numbers, their prefix sums, and those of
// the numbers. `numbers` has one more element than is added, for the total.
const u32 SCAN_THREADS = 512, SCAN_EACH = 8, SCAN = SCAN_THREADS * SCAN_EACH;

// The prefix sum of one number a thread, over the block.
__device__ u32 block_prefix(u32 number, u32 &total) {
    __shared__ u32 sums[32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, inclusive = number;
    for (u32 step = 1; step < 32; step *= 2) {
        u32 other = __shfl_up_sync(~0u, inclusive, step);
        if (lane >= step) inclusive += other;
    }
    if (lane == 31) sums[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        u32 sum = lane < blockDim.x / 32 ? sums[lane] : 0, prefix = sum;
        for (u32 step = 1; step < 32; step *= 2) {
            u32 other = __shfl_up_sync(~0u, prefix, step);
            if (lane >= step) prefix += other;
        }
        sums[lane] = prefix;
    }
    __syncthreads();
    u32 before = warp ? sums[warp - 1] : 0;
    total = sums[blockDim.x / 32 - 1];
    __syncthreads();
    return before + inclusive - number;
}

extern "C" __global__ void scan_sums(const u32 *numbers, u32 count, u32 *sums) {
    u32 first = blockIdx.x * SCAN + threadIdx.x * SCAN_EACH, sum = 0, total;
    for (u32 at = first; at < first + SCAN_EACH; at++) sum += at < count ? numbers[at] : 0;
    block_prefix(sum, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// By one block.
extern "C" __global__ void scan_blocks(u32 *sums, u32 count) {
    u32 carry = 0;
    for (u32 first = 0; first < count; first += blockDim.x) {
        u32 at = first + threadIdx.x, total;
        u32 prefix = block_prefix(at < count ? sums[at] : 0, total);
        if (at < count) sums[at] = carry + prefix;
        carry += total;
    }
}

extern "C" __global__ void scan_numbers(u32 *numbers, u32 count, const u32 *sums) {
    u32 first = blockIdx.x * SCAN + threadIdx.x * SCAN_EACH, sum = 0, total;
    u32 own[SCAN_EACH];
    for (u32 at = 0; at < SCAN_EACH; at++) {
        own[at] = first + at < count ? numbers[first + at] : 0;
        sum += own[at];
    }
    u32 prefix = sums[blockIdx.x] + block_prefix(sum, total);
    for (u32 at = 0; at < SCAN_EACH; at++) {
        if (first + at <= count) numbers[first + at] = prefix;
        prefix += own[at];
    }
}

// The entries of a minibatch by the other node: first the rank of each among those of its node, in any
// order, then, when the counts of all nodes are summed, its place.
extern "C" __global__ void rank_entries(
    Pass pass, u32 batch, const u32 *starts, const u32 *entries, u32 *ranks, u32 *counts)
{
    u32 slots = pass.contexts + pass.negatives;
    u64 first = (u64)starts[(u64)batch * pass.nodes] * slots;
    u64 end = (u64)starts[(u64)(batch + 1) * pass.nodes] * slots;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = first + blockIdx.x * blockDim.x + threadIdx.x; at < end; at += stride) {
        u32 entry = entries[at];
        if (entry != SKIP) ranks[at - first] = atomicAdd(&counts[entry >> 1], 1);
    }
}

extern "C" __global__ void place_entries(
    Pass pass, u32 batch, const u32 *starts, const u32 *entries, const u32 *window_centres,
    const u32 *ranks, const u32 *incoming_starts, u32 *incoming)
{
    u32 slots = pass.contexts + pass.negatives;
    u32 first = starts[(u64)batch * pass.nodes], end = starts[(u64)(batch + 1) * pass.nodes];
    u32 count = (end - first) * slots, stride = gridDim.x * blockDim.x;
    for (u64 at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        u32 entry = entries[(u64)first * slots + at];
        if (entry == SKIP) continue;
        u32 centre = window_centres[first + (u32)at / slots];
        incoming[incoming_starts[entry >> 1] + ranks[at]] = 2 * centre + (entry & 1);
    }
}
