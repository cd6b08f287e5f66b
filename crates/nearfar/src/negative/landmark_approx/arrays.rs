//! The law as arrays.

use super::{LandmarkApprox, UniformProposal};
use crate::distance::HopCell;
use crate::graph::Node;
use crate::negative::{LandmarkArrays, LandmarkRow, Proposal};

impl<T: HopCell> LandmarkApprox<T> {
    /// What draws by uniform proposals are made of. Centres that are drawn for by bands are left out.
    pub(super) fn as_arrays(&self) -> LandmarkArrays<'_> {
        let entry = |node: Node| {
            let (landmark, depth) = self.index.get(node);
            u64::from(landmark) << 32 | u64::from(depth)
        };
        let mut proposals = Vec::new();
        let (mut start, mut at) = (0, 0);
        let row = |landmark: u32| {
            let (first, end) = self.landmarks.component[landmark as usize];
            let members = self.cells.of((landmark, landmark + 1)).len() as u32;
            let row = LandmarkRow {
                start,
                first,
                len: end - first,
                members: [at, at + members],
                proposals: proposals.len() as u32,
                padding: 0,
            };
            (start, at) = (start + u64::from(end - first), at + members);
            let depths = 0..=self.cells.deepest(landmark as usize);
            proposals.extend(depths.map(|depth| self.proposal(landmark, depth, members)));
            row
        };
        let rows = (0..self.landmarks.len() as u32).map(row).collect();
        LandmarkArrays {
            index: (0..self.index.len() as Node).map(entry).collect(),
            cells: self.landmarks.cells_by_row(),
            rows,
            members: self.cells.of((0, self.landmarks.len() as u32)),
            powers: &self.powers,
            far_powers: &self.far_powers,
            proposals,
        }
    }

    fn proposal(&self, landmark: u32, depth: u32, members: u32) -> Proposal {
        let Some(uniform) = self.uniform_proposal(landmark, depth) else {
            return Proposal::default();
        };
        let UniformProposal { bound, cluster_factor: factor, .. } = uniform;
        let total = self.index.len() as f64 + (factor - 1.0) * f64::from(members);
        Proposal { bound, factor, total: total as u64 }
    }
}
