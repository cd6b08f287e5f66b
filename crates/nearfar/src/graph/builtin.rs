//! Graphs that are part of the library.

use super::synth::{Preset, SynthConfig, synth};
use super::{Dataset, EdgeList, Labels, Node, NodeIds};
use crate::error::{Error, Result};

/// The graph called `builtin:NAME`.
pub(super) fn builtin(name: &str) -> Result<Dataset> {
    match name {
        "karate" => karate(),
        "sparse" => synth(&SynthConfig::preset(Preset::Sparse)),
        "moderate" => synth(&SynthConfig::preset(Preset::Moderate)),
        "dense" => synth(&SynthConfig::preset(Preset::Dense)),
        _ => Err(Error::conflict(format!(
            "unknown graph builtin:{name}; expected builtin:karate, builtin:sparse, \
             builtin:moderate or builtin:dense"
        ))),
    }
}

/// Zachary's karate club (W. Zachary, *An information flow model for conflict and fission in small
/// groups*, 1977): friendships between members, counted from 0. Labels are the two clubs after the
/// split.
fn karate() -> Result<Dataset> {
    let pairs = FRIENDS
        .iter()
        .enumerate()
        .flat_map(|(a, friends)| friends.iter().map(move |&b| (a as Node, b)))
        .collect();
    let ids = NodeIds::Range { start: 0, len: FRIENDS.len() };
    let (graph, dropped) = EdgeList { pairs, weights: None, ids }.build()?;
    let of = (0..FRIENDS.len() as Node).map(|m| vec![u32::from(OFFICER.contains(&m))]).collect();
    let labels = Labels { names: vec!["Mr. Hi".to_owned(), "Officer".to_owned()], of };
    Ok(Dataset { labels: Some(labels), dropped, ..Dataset::of(graph) })
}

/// For each member, the friends with higher numbers.
const FRIENDS: [&[Node]; 34] = [
    &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    &[2, 3, 7, 13, 17, 19, 21, 30],
    &[3, 7, 8, 9, 13, 27, 28, 32],
    &[7, 12, 13],
    &[6, 10],
    &[6, 10, 16],
    &[16],
    &[],
    &[30, 32, 33],
    &[33],
    &[],
    &[],
    &[],
    &[33],
    &[32, 33],
    &[32, 33],
    &[],
    &[],
    &[32, 33],
    &[33],
    &[32, 33],
    &[],
    &[32, 33],
    &[25, 27, 29, 32, 33],
    &[25, 27, 31],
    &[31],
    &[29, 33],
    &[33],
    &[31, 33],
    &[32, 33],
    &[32, 33],
    &[32, 33],
    &[33],
    &[],
];

/// The members who joined the officer's club.
const OFFICER: [Node; 17] = [9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33];
