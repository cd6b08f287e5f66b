// Random numbers: the streams of nearfar::rng, bit for bit. Functions have the names that they have there.

typedef unsigned int u32;
typedef unsigned long long u64;

enum Purpose { NEGATIVE = 1, WALK = 9 };

const u64 GOLDEN = 0x9e3779b97f4a7c15ull;
const u64 STEP = 0xd1b54a32d192ed03ull;

__device__ u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

__device__ u64 spread(u64 bits) {
    u64 step = bits | 1;
    return __popcll(step ^ (step >> 1)) < 24 ? step ^ 0xaaaaaaaaaaaaaaaaull : step;
}

// The fraction of 2^64 that a number is, with 53 bits.
__device__ double fraction(u64 bits) {
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

struct Rng {
    u64 state, step;

    __device__ Rng(u64 seed, u64 purpose, u64 a, u64 b) {
        u64 key = mix(seed ^ 0x6e65617266617231ull);
        u64 words[3] = {purpose, a, b};
        for (int at = 0; at < 3; at++) key = mix((key + GOLDEN) ^ mix(words[at] + GOLDEN));
        state = key;
        step = spread(mix(key ^ STEP));
    }

    __device__ explicit Rng(u64 bits) : state(bits), step(spread(mix(bits ^ STEP))) {}

    __device__ u64 bits() {
        state += step;
        return mix(state);
    }

    __device__ Rng split() { return Rng(bits()); }

    __device__ double unit() { return fraction(bits()); }

    __device__ u64 below(u64 n) {
        u64 random = bits(), low = random * n, high = __umul64hi(random, n);
        if (low < n) {
            u64 uneven = n ? (0 - n) % n : 0;
            while (low < uneven) {
                random = bits();
                low = random * n;
                high = __umul64hi(random, n);
            }
        }
        return high;
    }

    __device__ u64 index_and_unit(u64 n, double &unit) {
        u64 random = bits();
        unit = fraction(random * n);
        return __umul64hi(random, n);
    }
};

struct AliasCell {
    u32 own, alias;
};

__device__ u32 draw(const AliasCell *table, u64 n, Rng &rng) {
    double unit;
    u64 item = rng.index_and_unit(n, unit);
    AliasCell cell = table[item];
    return unit * 4294967296.0 < (double)cell.own ? (u32)item : cell.alias;
}
