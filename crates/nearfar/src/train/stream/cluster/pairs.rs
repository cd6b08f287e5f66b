//! The pairs between two shards, as tasks pass them on.
//!
//! For each block of centres there are the lengths of the lists of the blocks of other nodes, then their
//! pairs. Lists are not copied: they are trained where they arrived.

use std::ops::Range;

use crate::train::stream::buckets::Buckets;
use crate::train::stream::kernel::Pair;
use crate::train::stream::tasks::PairLists;

/// Pairs with centres in some consecutive blocks and other nodes in others.
pub(super) struct Lists<'a> {
    rows: Range<usize>,
    columns: Range<usize>,
    pairs: Vec<&'a [Pair]>,
}

/// The pairs between two shards.
pub(super) struct Between<'a> {
    pub(super) there: Lists<'a>,
    /// Those with centres in the second shard; `None` within a shard.
    pub(super) back: Option<Lists<'a>>,
}

/// Appends the lengths of some lists, then their pairs.
pub(super) fn append(pairs: &Buckets, lists: Range<usize>, numbers: &mut Vec<u32>) {
    numbers.extend(lists.clone().map(|list| pairs.length(list) as u32));
    lists.for_each(|list| numbers.extend(pairs.list(list).flatten().map(|pair| pair.bits())));
}

impl<'a> Lists<'a> {
    /// The lists of these blocks in what was sampled for them. `None` if it cannot be that.
    pub(super) fn parse(
        rows: Range<usize>,
        columns: Range<usize>,
        numbers: &'a [u32],
    ) -> Option<Self> {
        let (mut pairs, mut rest) = (vec![], numbers);
        for _ in rows.clone() {
            let (lengths, after) = rest.split_at_checked(columns.len())?;
            rest = after;
            for &length in lengths {
                let (list, after) = rest.split_at_checked(length as usize)?;
                pairs.push(Pair::of_bits(list));
                rest = after;
            }
        }
        rest.is_empty().then_some(Self { rows, columns, pairs })
    }
}

impl PairLists for Between<'_> {
    fn list(&self, p: usize, q: usize) -> impl Iterator<Item = &[Pair]> {
        let back = self.back.as_ref().filter(|back| back.rows.contains(&p));
        let Lists { rows, columns, pairs } = back.unwrap_or(&self.there);
        let at = (p - rows.start) * columns.len() + (q - columns.start);
        std::iter::once(pairs[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_lists_are_parsed() {
        let mut buckets = Buckets::default();
        buckets.clear(7, 100);
        (0..100).for_each(|at| buckets.push(at as usize % 5, Pair::new(at, at + 1, at % 2 == 0)));
        let (rows, columns) = (0..3, 3..6);
        let mut numbers = vec![];
        rows.clone().for_each(|_| append(&buckets, columns.clone(), &mut numbers));
        let parse = |numbers| Lists::parse(rows.clone(), columns.clone(), numbers);
        let pairs = Between { there: parse(&numbers).unwrap(), back: None };
        for (p, q) in rows.clone().flat_map(|p| columns.clone().map(move |q| (p, q))) {
            assert!(pairs.list(p, q).flatten().eq(buckets.list(q).flatten()));
        }
        assert!(parse(&numbers[1..]).is_none() && parse(&[]).is_none());
    }
}
