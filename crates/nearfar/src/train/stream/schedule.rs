//! The order in which blocks are trained, so that threads never share a row.
//!
//! A task is a pair of groups of blocks {p, q}, and trains all pairs of nodes between them. The order
//! of tasks is fixed by the graph. Of two tasks that share a group, the later one waits for the earlier
//! one; others may run at the same time, or in another order, and the result is the same to the bit.
//!
//! A round is a set of tasks that share no group. Within a small table, rounds are those of a
//! round-robin tournament: every group is paired with every other once. Each round touches the whole
//! table, so a large one is cut into parts, and the pairs of parts are stages: (0, 0), (0, 1), (0, 2), …,
//! (1, 1), (1, 2), …. A stage needs two parts in memory, and the next one needs only one other, but at
//! the start of a row. Stages of distant rows share no part, so they can run side by side. (An order
//! that always keeps one part, as Marius has it, moves P fewer of P²/2 parts, but then every stage
//! waits for the one before.)

use std::ops::Range;

/// How a table is cut: into blocks, groups of consecutive blocks, and parts of consecutive groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    blocks: usize,
    /// Blocks in a group; the last one may have fewer.
    pub group: usize,
    /// Groups in a part; the last one may have fewer.
    per_part: usize,
}

/// A pair of parts.
pub type Stage = (usize, usize);

/// Tasks that share no group, as pairs of groups; (p, p) is a group with itself.
pub type Round = Vec<(usize, usize)>;

impl Order {
    /// The order of so many blocks in at most so many parts.
    pub fn new(blocks: usize, parts: usize) -> Self {
        let group = group_size(blocks.div_ceil(parts));
        Self { blocks, group, per_part: blocks.div_ceil(group).div_ceil(parts).max(1) }
    }

    /// The number of groups.
    pub fn groups(self) -> usize {
        self.blocks.div_ceil(self.group)
    }

    /// The number of parts.
    pub fn parts(self) -> usize {
        self.groups().div_ceil(self.per_part)
    }

    /// The groups of a part.
    pub fn groups_of(self, part: usize) -> Range<usize> {
        part * self.per_part..self.groups().min((part + 1) * self.per_part)
    }

    /// The blocks of a part.
    pub fn blocks_of(self, part: usize) -> Range<usize> {
        let Range { start, end } = self.groups_of(part);
        start * self.group..self.blocks.min(end * self.group)
    }

    /// The stages of a pass, in order.
    pub fn stages(self) -> impl Iterator<Item = Stage> + Clone {
        let parts = self.parts();
        (0..parts).flat_map(move |a| (a..parts).map(move |b| (a, b)))
    }

    /// The rounds of a stage, in order.
    pub fn rounds(self, (a, b): Stage) -> Vec<Round> {
        let (left, right) = (self.groups_of(a), self.groups_of(b));
        let rounds = if a == b { rounds(left.len()) } else { between(left.len(), right.len()) };
        let shifted = |round: Round| {
            round.into_iter().map(|(p, q)| (left.start + p, right.start + q)).collect()
        };
        rounds.into_iter().map(shifted).collect()
    }

    /// The number of rounds of a pass.
    pub fn count(self) -> usize {
        let within = |groups: usize| groups.next_multiple_of(2);
        let of_stage = |(a, b)| {
            let groups: usize = self.groups_of(a).len();
            if a == b { within(groups) } else { groups.max(self.groups_of(b).len()) }
        };
        self.stages().map(of_stage).sum()
    }
}

/// How many consecutive blocks a task has on each of its sides, if there are `count` in a part. With
/// several, each block of one side stays in cache while those of the other side change. Groups are
/// small, and only used where a part has many blocks: there must be tasks for many threads.
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

/// The indices of tasks by level: a task is one level above the last earlier task that shares one of
/// its groups, of which there are so many. Tasks of a level can run at the same time.
pub fn levels(tasks: impl Iterator<Item = (usize, usize)>, groups: usize) -> Vec<Vec<usize>> {
    let (mut levels, mut next) = (Vec::<Vec<usize>>::new(), vec![0; groups]);
    for (at, (p, q)) in tasks.enumerate() {
        let level = next[p].max(next[q]);
        if level == levels.len() {
            levels.push(vec![]);
        }
        levels[level].push(at);
        (next[p], next[q]) = (level + 1, level + 1);
    }
    levels
}

/// The rounds within `count` groups: every pair of them, and each with itself, is in exactly one.
fn rounds(count: usize) -> Vec<Round> {
    let mut rounds = vec![(0..count).map(|p| (p, p)).collect::<Vec<_>>()];
    // The circle method: one seat is fixed, the others rotate by one per round. With an odd count,
    // one group is left out of each round.
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

/// The rounds between two parts of so many groups: in each, every group of the smaller part meets
/// another one of the larger.
fn between(left: usize, right: usize) -> Vec<Round> {
    let count = left.max(right);
    let round = |shift: usize| {
        let pairs = (0..left).map(|p| (p, (p + shift) % count));
        pairs.filter(|&(_, q)| q < right).collect()
    };
    (0..count).map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn tasks(order: Order) -> Vec<(usize, usize)> {
        order.stages().flat_map(|stage| order.rounds(stage)).flatten().collect()
    }

    #[test]
    fn every_pair_is_in_one_round_and_no_group_twice_in_a_round() {
        for (blocks, parts) in
            (1..20).map(|blocks| (blocks, 1)).chain([(20, 3), (32, 8), (306, 10)])
        {
            let order = Order::new(blocks, parts);
            let (mut seen, mut count) = (HashSet::new(), 0);
            for stage in order.stages() {
                for round in order.rounds(stage) {
                    count += 1;
                    let mut busy = HashSet::new();
                    for (p, q) in round {
                        assert!(busy.insert(p) && (p == q || busy.insert(q)), "{order:?}");
                        assert!(p <= q && seen.insert((p, q)), "{order:?}");
                        assert!(order.groups_of(stage.0).contains(&p), "{order:?}");
                        assert!(order.groups_of(stage.1).contains(&q), "{order:?}");
                    }
                }
            }
            let groups = order.groups();
            assert_eq!(seen.len(), groups * (groups + 1) / 2);
            assert_eq!(order.count(), count, "{order:?}");
        }
    }

    #[test]
    fn parts_hold_all_blocks_in_order() {
        for (blocks, parts) in [(1, 1), (16, 1), (32, 8), (33, 8), (306, 10), (3052, 96)] {
            let order = Order::new(blocks, parts);
            assert!(order.parts() <= parts);
            let all: Vec<usize> =
                (0..order.parts()).flat_map(|part| order.blocks_of(part)).collect();
            assert_eq!(all, (0..blocks).collect::<Vec<_>>());
        }
    }

    /// A stage and the one after it need three parts at most, and but at the start of a row one of
    /// them changes.
    #[test]
    fn stages_keep_a_part_within_a_row() {
        let stages: Vec<Stage> = Order::new(32, 8).stages().collect();
        assert_eq!(stages.len(), 36);
        for pair in stages.windows(2) {
            let [(a, b), (c, d)] = [pair[0], pair[1]];
            let all: HashSet<usize> = [a, b, c, d].into();
            assert!(all.len() <= 3 && (a == c || c == d), "{pair:?}");
        }
    }

    /// Running levels one after the other keeps the order of tasks that share a group, and there are
    /// tasks for several threads in parts too.
    #[test]
    fn levels_keep_the_order_of_tasks_that_share_a_group() {
        for (blocks, parts, most) in [(16, 1, 16), (17, 1, 18), (32, 8, 60), (306, 10, 595)] {
            let order = Order::new(blocks, parts);
            let tasks = tasks(order);
            let levels = levels(tasks.iter().copied(), order.groups());
            let mut level_of = vec![usize::MAX; tasks.len()];
            for (level, of_level) in levels.iter().enumerate() {
                for &task in of_level {
                    level_of[task] = level;
                }
            }
            let mut last = vec![None; order.groups()];
            for (&(p, q), &level) in tasks.iter().zip(&level_of) {
                assert!(last[p] < Some(level) && last[q] < Some(level));
                (last[p], last[q]) = (Some(level), Some(level));
            }
            assert!(levels.len() <= most, "{} levels of {blocks} blocks", levels.len());
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
