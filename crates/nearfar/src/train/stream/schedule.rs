//! The order in which blocks are trained, so that threads never share a row.
//!
//! A task is a pair of blocks {p, q}, and trains all pairs of nodes between them. A round is a set of
//! tasks that share no block, so they can run in parallel on any number of threads, in any order, and
//! the result is the same to the bit. Rounds are those of a round-robin tournament: every block is
//! paired with every other once. In large tables, groups of blocks are paired ([`group_size`]).

/// How many consecutive blocks a task has on each of its sides, if there are `count` in all. With
/// several, each block of one side stays in cache while those of the other side change. Groups are
/// small, and only used where a table has many blocks: there must be tasks for many threads.
pub fn group_size(count: usize) -> usize {
    (count / 20).clamp(1, 4)
}

/// The order in which a task trains the blocks of its two sides, `left` and `right` of them, as
/// indices: back and forth, so that one of the two blocks was always used just before.
pub fn back_and_forth(left: usize, right: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..right).flat_map(move |q| {
        (0..left).map(move |turn| (if q % 2 == 0 { turn } else { left - 1 - turn }, q))
    })
}

/// The rounds for `count` blocks, or groups of them: in each, pairs that share no block; (p, p) is a
/// block with itself. Every pair is in exactly one round.
pub fn rounds(count: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rounds = vec![(0..count).map(|p| (p, p)).collect::<Vec<_>>()];
    // The circle method: one seat is fixed, the others rotate by one per round. With an odd count,
    // one block is left out of each round.
    let seats = count.next_multiple_of(2);
    for round in 0..seats.saturating_sub(1) {
        let seat = |at: usize| match at {
            0 => 0,
            _ => (at - 1 + round) % (seats - 1) + 1,
        };
        let pairs = (0..seats / 2).map(|at| (seat(at), seat(seats - 1 - at)));
        let pairs = pairs.map(|(p, q)| (p.min(q), p.max(q))).filter(|&(_, q)| q < count);
        rounds.push(pairs.collect());
    }
    rounds
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_pair_is_in_one_round_and_no_block_twice_in_a_round() {
        for count in 1..20 {
            let mut seen = HashSet::new();
            for round in rounds(count) {
                let mut busy = HashSet::new();
                for (p, q) in round {
                    assert!(busy.insert(p) && (p == q || busy.insert(q)), "{count} blocks");
                    assert!(p <= q && q < count && seen.insert((p, q)), "{count} blocks");
                }
            }
            assert_eq!(seen.len(), count * (count + 1) / 2);
        }
    }

    #[test]
    fn back_and_forth_visits_all_and_changes_one_side_at_a_time() {
        for (left, right) in [(1, 1), (4, 4), (4, 1), (1, 3), (3, 2)] {
            let all: Vec<_> = back_and_forth(left, right).collect();
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), left * right);
            assert!(all.iter().all(|&(p, q)| p < left && q < right));
            assert!(all.is_sorted_by(|a, b| a.0 == b.0 || a.1 == b.1), "{all:?}");
        }
    }

    #[test]
    fn there_are_tasks_for_many_threads() {
        for count in 1..1000_usize {
            let groups = count.div_ceil(group_size(count));
            assert!(groups >= count.min(20), "{count} blocks in {groups} groups");
        }
    }

    /// Golden values: the bytes of a result follow from the order of rounds.
    #[test]
    fn rounds_are_those_of_the_circle_method() {
        let expected = [
            vec![(0, 0), (1, 1), (2, 2), (3, 3)],
            vec![(0, 3), (1, 2)],
            vec![(0, 1), (2, 3)],
            vec![(0, 2), (1, 3)],
        ];
        assert_eq!(rounds(4), expected);
        let expected = [vec![(0, 0), (1, 1), (2, 2)], vec![(1, 2)], vec![(0, 1)], vec![(0, 2)]];
        assert_eq!(rounds(3), expected);
        let order: Vec<_> = back_and_forth(3, 2).collect();
        assert_eq!(order, [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)]);
    }

    #[test]
    fn groups_grow_with_the_number_of_blocks() {
        for (count, size) in [(1, 1), (16, 1), (39, 1), (40, 2), (79, 3), (80, 4), (4000, 4)] {
            assert_eq!(group_size(count), size, "{count} blocks");
        }
    }
}
