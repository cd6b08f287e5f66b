//! Where nodes are: the nearest landmark of each and the hops to it.
//!
//! A draw looks at random nodes, and waits for the cache or the memory that they are in. The fewer
//! bytes a node has, the nearer that is. Mostly both numbers fit two bytes together: a thousand
//! landmarks take ten bits, and hardly a node is 64 hops away from all of them.

use crate::graph::Node;
use crate::memory;

/// The places of all nodes, on huge pages.
pub(super) enum Places {
    /// The landmark above so many bits, the hops in them.
    Short(Vec<u16>, u32),
    /// The same, above 32 bits.
    Long(Vec<u64>),
}

impl Places {
    /// From the nearest landmark of every node, and the hops to it.
    pub(super) fn new(nearest: &[u32], depth: &[u32]) -> Self {
        let largest = |numbers: &[u32]| numbers.iter().copied().max().unwrap_or(0);
        let bits = |number: u32| u32::BITS - number.leading_zeros();
        let shift = bits(largest(depth));
        let nodes = nearest.iter().zip(depth);
        if shift + bits(largest(nearest)) <= u16::BITS {
            let mut places: Vec<u16> = memory::zeroed(nearest.len());
            for (place, (&near, &h)) in places.iter_mut().zip(nodes) {
                *place = (near << shift | h) as u16;
            }
            Self::Short(places, shift)
        } else {
            let mut places: Vec<u64> = memory::zeroed(nearest.len());
            for (place, (&near, &h)) in places.iter_mut().zip(nodes) {
                *place = u64::from(near) << 32 | u64::from(h);
            }
            Self::Long(places)
        }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(places, _) => places.len(),
            Self::Long(places) => places.len(),
        }
    }

    /// The nearest landmark of a node, and the hops to it.
    #[inline]
    pub(super) fn of(&self, node: Node) -> (u32, u32) {
        match self {
            Self::Short(places, bits) => {
                let place = u32::from(places[node as usize]);
                (place >> bits, place & ((1 << bits) - 1))
            }
            Self::Long(places) => {
                let place = places[node as usize];
                ((place >> 32) as u32, place as u32)
            }
        }
    }

    /// Asks for the place of a node that will be looked at.
    #[inline]
    pub(super) fn prefetch(&self, node: Node) {
        match self {
            Self::Short(places, _) => memory::prefetch(places, node as usize),
            Self::Long(places) => memory::prefetch(places, node as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out_in_two_bytes_or_eight() {
        for (landmarks, deepest, short) in
            [(1, 0, true), (1024, 63, true), (1025, 63, false), (1024, 64, false), (9, 8000, false)]
        {
            let nearest: Vec<u32> = (0..5000).map(|node| node % landmarks).collect();
            let depth: Vec<u32> = (0..5000).map(|node| node * 7 % (deepest + 1)).collect();
            let depth = [depth, vec![deepest]].concat();
            let nearest = [nearest, vec![landmarks - 1]].concat();
            let places = Places::new(&nearest, &depth);
            assert_eq!(matches!(places, Places::Short(..)), short, "{landmarks}, {deepest}");
            assert_eq!(places.len(), 5001);
            for (node, both) in nearest.into_iter().zip(depth).enumerate() {
                places.prefetch(node as Node);
                assert_eq!(places.of(node as Node), both);
            }
        }
    }
}
