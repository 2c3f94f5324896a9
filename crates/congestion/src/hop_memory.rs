//! The telemetry of the last packet, with which that of the next one is compared.

use crate::HopRecord;

/// Most hops that a packet carries records of.
pub const MAXIMUM_HOPS: usize = 5;

/// The records of the last packet, first switch first.
#[derive(Clone, Debug, Default)]
pub(crate) struct HopMemory {
    hops: [HopRecord; MAXIMUM_HOPS],
    count: usize,
}

impl HopMemory {
    pub(crate) fn remember(&mut self, hops: &[HopRecord]) {
        self.count = hops.len().min(MAXIMUM_HOPS);
        self.hops[..self.count].copy_from_slice(&hops[..self.count]);
    }

    /// Whether these records come from other ports than the last ones: another number of hops, or counters
    /// that went back. (The paper's header names the path; the reference simulator takes it for unchanged.)
    pub(crate) fn is_other_path(&self, hops: &[HopRecord]) -> bool {
        let went_back = |(before, after): (&HopRecord, &HopRecord)| after.transmitted < before.transmitted;
        hops.len().min(MAXIMUM_HOPS) != self.count || self.hops.iter().zip(hops).any(went_back)
    }

    /// Each hop as it was and as it is.
    pub(crate) fn pairs<'a>(
        &'a self,
        hops: &'a [HopRecord],
    ) -> impl Iterator<Item = (&'a HopRecord, &'a HopRecord)> {
        self.hops[..self.count].iter().zip(hops)
    }
}
