//! The order in which blocks are trained, so that threads never share a row.
//!
//! A task is a pair of groups of blocks {p, q}, and trains all pairs of nodes between them. The order
//! of tasks is fixed by the graph. Of two tasks that share a group, the later one waits for the earlier
//! one; others may run at the same time, or in another order, and the result is the same to the bit.
//!
//! A small table is trained in the rounds of a round-robin tournament: in each, every group is paired
//! with another one, so that as many tasks as possible run at the same time. But every round touches the
//! whole table. In a large table each group meets all others, and itself, in increasing order: the task
//! (p, q), p ≤ q, waits for (p − 1, q) and (p, q − 1). So the tasks of any rectangle of rows p and columns
//! q can run as soon as those above it and to its left are done. Where the table is in files, rectangles
//! are as many rows as fit memory, a column at a time (`disk`). On a cluster they are *stages*: pairs
//! of *parts*, into which the table is cut evenly. The result depends on neither.

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

/// A task in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// Its groups (p, q), p ≤ q; (p, p) is a group with itself.
    pub groups: (usize, usize),
    /// The fraction of the pass before it.
    pub done: f64,
}

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

    /// The part of a group.
    pub fn part_of(self, group: usize) -> usize {
        group / self.per_part
    }

    /// The groups of a part.
    pub fn groups_of(self, part: usize) -> Range<usize> {
        part * self.per_part..self.groups().min((part + 1) * self.per_part)
    }

    /// The blocks of a part.
    pub fn blocks_of(self, part: usize) -> Range<usize> {
        self.blocks_in(self.groups_of(part))
    }

    /// The blocks of consecutive groups.
    pub fn blocks_in(self, groups: Range<usize>) -> Range<usize> {
        groups.start * self.group..self.blocks.min(groups.end * self.group)
    }

    /// The number of tasks of a pass.
    pub fn count(self) -> usize {
        self.groups() * (self.groups() + 1) / 2
    }

    /// The tasks of a pass, in order.
    pub fn tasks(self) -> Vec<Scheduled> {
        self.stages().flat_map(|stage| self.of_stage(stage)).collect()
    }

    /// The stages of a pass, in order.
    pub fn stages(self) -> impl Iterator<Item = Stage> + Clone {
        let parts = self.parts();
        (0..parts).flat_map(move |a| (a..parts).map(move |b| (a, b)))
    }

    /// The tasks of a stage, in order.
    pub fn of_stage(self, (a, b): Stage) -> Vec<Scheduled> {
        if self.parts() == 1 {
            return tournament(self.groups());
        }
        self.rectangle(self.groups_of(a), self.groups_of(b)).collect()
    }

    /// The tasks (p, q), p ≤ q, in some rows p and columns q of a large table, in order.
    pub fn rectangle(
        self,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> impl Iterator<Item = Scheduled> {
        let (groups, count) = (self.groups(), self.count());
        let row = move |p: usize| {
            // Row r has groups − r tasks.
            let before = p * groups - p * p.saturating_sub(1) / 2;
            let task = move |q| {
                let done = (before + q - p) as f64 / count as f64;
                Scheduled { groups: (p, q), done }
            };
            (columns.start.max(p)..columns.end).map(task)
        };
        rows.flat_map(row)
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

/// The tasks within `count` groups, in the rounds of a tournament.
fn tournament(count: usize) -> Vec<Scheduled> {
    let rounds = rounds(count);
    let done = |round| round as f64 / rounds.len() as f64;
    let of_round = |(round, pairs): (usize, &Vec<(usize, usize)>)| {
        let scheduled = |&groups| Scheduled { groups, done: done(round) };
        pairs.iter().map(scheduled).collect::<Vec<_>>()
    };
    rounds.iter().enumerate().flat_map(of_round).collect()
}

/// The rounds within `count` groups, sets of pairs that share no group: every pair of groups, and each
/// with itself, is in exactly one.
fn rounds(count: usize) -> Vec<Vec<(usize, usize)>> {
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_pair_is_in_one_task() {
        for (blocks, parts) in
            (1..20).map(|blocks| (blocks, 1)).chain([(20, 3), (32, 8), (306, 10)])
        {
            let order = Order::new(blocks, parts);
            let mut seen = HashSet::new();
            for stage in order.stages() {
                for Scheduled { groups: (p, q), done } in order.of_stage(stage) {
                    assert!(p <= q && seen.insert((p, q)), "{order:?}");
                    assert!((0.0..1.0).contains(&done), "{order:?}");
                    assert!(order.groups_of(stage.0).contains(&p), "{order:?}");
                    assert!(order.groups_of(stage.1).contains(&q), "{order:?}");
                    assert_eq!(order.part_of(q), stage.1, "{order:?}");
                }
            }
            let groups = order.groups();
            assert_eq!(seen.len(), groups * (groups + 1) / 2);
            assert_eq!(order.count(), seen.len(), "{order:?}");
        }
    }

    #[test]
    fn no_group_is_twice_in_a_round() {
        for count in 1..20 {
            let rounds = rounds(count);
            assert_eq!(rounds.concat().len(), count * (count + 1) / 2);
            for round in rounds {
                let mut busy = HashSet::new();
                for (p, q) in round {
                    assert!(busy.insert(p) && (p == q || busy.insert(q)), "{count} groups");
                }
            }
        }
    }

    /// Whatever rectangles a large table is cut into, each group meets all others in increasing order,
    /// and steps fall in the order of rows.
    #[test]
    fn rectangles_keep_the_order_of_tasks() {
        let order = Order::new(50, 8);
        for (height, width) in [(50, 50), (7, 7), (20, 3), (1, 1), (3, 50)] {
            let mut tasks = vec![];
            for row in (0..50).step_by(height) {
                for column in (0..50).step_by(width) {
                    let (rows, columns) =
                        (row..50.min(row + height), column..50.min(column + width));
                    tasks.extend(order.rectangle(rows, columns));
                }
            }
            for group in 0..50 {
                let of_group = tasks.iter().map(|task| task.groups);
                let met = of_group.filter_map(|(p, q)| match group {
                    _ if p == group => Some(q),
                    _ if q == group => Some(p),
                    _ => None,
                });
                assert!(met.eq(0..50), "group {group} in rectangles of {height} × {width}");
            }
            tasks.sort_by_key(|task| task.groups);
            let done = (0..1275).map(|rank| f64::from(rank) / 1275.0);
            assert!(tasks.iter().map(|task| task.done).eq(done));
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

    /// Running levels one after the other keeps the order of tasks that share a group, and there are
    /// tasks for several threads in parts too.
    #[test]
    fn levels_keep_the_order_of_tasks_that_share_a_group() {
        for (blocks, parts, most) in [(16, 1, 16), (17, 1, 18), (32, 8, 63), (306, 10, 611)] {
            let order = Order::new(blocks, parts);
            let tasks: Vec<_> = order.tasks().iter().map(|task| task.groups).collect();
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
