//! The nearest landmark of each node and the hops to it, packed.
//!
//! A draw reads entries of random nodes, so its speed depends on whether they fit the cache. Most
//! graphs fit both numbers into two bytes: a thousand landmarks take ten bits, and few nodes are
//! 64 hops or more from their landmark.

use crate::graph::Node;
use crate::memory;

/// One entry per node, on huge pages.
pub(super) enum LandmarkIndex {
    /// The hops in the lowest bits, as many as the second field says, and the landmark above them.
    Short(Vec<u16>, u32),
    /// The hops in the low 32 bits, the landmark in the high 32 bits.
    Long(Vec<u64>),
}

impl LandmarkIndex {
    /// Packs the nearest landmark of every node and the hops to it.
    pub(super) fn new(nearest: &[u32], depth: &[u32]) -> Self {
        let largest = |numbers: &[u32]| numbers.iter().copied().max().unwrap_or(0);
        let bits = |number: u32| u32::BITS - number.leading_zeros();
        let shift = bits(largest(depth));
        let nodes = nearest.iter().zip(depth);
        if shift + bits(largest(nearest)) <= u16::BITS {
            let mut entries: Vec<u16> = memory::zeroed(nearest.len());
            for (entry, (&landmark, &hops)) in entries.iter_mut().zip(nodes) {
                *entry = (landmark << shift | hops) as u16;
            }
            Self::Short(entries, shift)
        } else {
            let mut entries: Vec<u64> = memory::zeroed(nearest.len());
            for (entry, (&landmark, &hops)) in entries.iter_mut().zip(nodes) {
                *entry = u64::from(landmark) << 32 | u64::from(hops);
            }
            Self::Long(entries)
        }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(entries, _) => entries.len(),
            Self::Long(entries) => entries.len(),
        }
    }

    /// The nearest landmark of a node, and the hops to it.
    #[inline]
    pub(super) fn get(&self, node: Node) -> (u32, u32) {
        match self {
            Self::Short(entries, bits) => {
                let entry = u32::from(entries[node as usize]);
                (entry >> bits, entry & ((1 << bits) - 1))
            }
            Self::Long(entries) => {
                let entry = entries[node as usize];
                ((entry >> 32) as u32, entry as u32)
            }
        }
    }

    /// Prefetches the entry of a node.
    #[inline]
    pub(super) fn prefetch(&self, node: Node) {
        match self {
            Self::Short(entries, _) => memory::prefetch(entries, node as usize),
            Self::Long(entries) => memory::prefetch(entries, node as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip_in_two_or_eight_bytes() {
        for (landmarks, deepest, short) in
            [(1, 0, true), (1024, 63, true), (1025, 63, false), (1024, 64, false), (9, 8000, false)]
        {
            let nearest: Vec<u32> = (0..5000).map(|node| node % landmarks).collect();
            let depth: Vec<u32> = (0..5000).map(|node| node * 7 % (deepest + 1)).collect();
            let depth = [depth, vec![deepest]].concat();
            let nearest = [nearest, vec![landmarks - 1]].concat();
            let index = LandmarkIndex::new(&nearest, &depth);
            assert_eq!(matches!(index, LandmarkIndex::Short(..)), short, "{landmarks}, {deepest}");
            assert_eq!(index.len(), 5001);
            for (node, entry) in nearest.into_iter().zip(depth).enumerate() {
                index.prefetch(node as Node);
                assert_eq!(index.get(node as Node), entry);
            }
        }
    }
}
