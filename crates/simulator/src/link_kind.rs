//! What equal links share: one record for all of them stays near, where one in each port would not.

use std::collections::HashMap;

use trialwise_units::{Duration, Rate};

use crate::buffer::IngressLimits;
use crate::marking::Thresholds;
use crate::settings::Settings;
use crate::timing::Quantum;
use crate::topology::Link;

/// A place among the kinds of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkKindId(u32);

#[cfg(test)]
impl LinkKindId {
    pub(crate) const FIRST: Self = Self(0);
}

/// Links of the same rate, delay and loss.
#[derive(Clone, Debug)]
pub(crate) struct LinkKind {
    /// Bits per second.
    pub(crate) rate: u64,
    pub(crate) delay: Duration,
    pub(crate) loss: f64,
    pub(crate) thresholds: Thresholds,
    pub(crate) limits: IngressLimits,
    /// The last two sizes, and how long they occupy the wire.
    durations: [(u64, Duration); 2],
}

impl LinkKind {
    pub(crate) fn new(link: &Link, host_rate: Rate, settings: &Settings) -> Self {
        let thresholds =
            settings.marking.as_ref().map_or(Thresholds::NEVER, |marking| Thresholds::of(marking, link.rate));
        Self {
            rate: link.rate.bits_per_second(),
            delay: link.delay,
            loss: settings.loss.unwrap_or(link.loss),
            thresholds,
            limits: IngressLimits::new(link.rate, link.delay, host_rate, settings),
            durations: [(0, Duration::ZERO); 2],
        }
    }

    /// How long `bytes` occupy the wire. Most packets have one of two sizes, so two results are kept.
    #[inline]
    pub(crate) fn duration(&mut self, quantum: Quantum, bytes: u64) -> Duration {
        if self.durations[0].0 != bytes {
            self.durations.swap(0, 1);
            if self.durations[0].0 != bytes {
                self.durations[0] = (bytes, quantum.transmission(bytes, self.rate));
            }
        }
        self.durations[0].1
    }
}

/// All kinds of links of a network.
#[derive(Debug)]
pub(crate) struct LinkKinds(Vec<LinkKind>);

impl LinkKinds {
    /// The kinds of these links, and which link is of which.
    pub(crate) fn new(links: &[Link], host_rate: Rate, settings: &Settings) -> (Self, Vec<LinkKindId>) {
        let mut known = HashMap::new();
        let mut kinds = Vec::new();
        let of_each = links.iter().map(|link| {
            *known.entry((link.rate, link.delay, link.loss.to_bits())).or_insert_with(|| {
                kinds.push(LinkKind::new(link, host_rate, settings));
                LinkKindId(kinds.len() as u32 - 1)
            })
        });
        let of_each = of_each.collect();
        (Self(kinds), of_each)
    }
}

impl std::ops::Index<LinkKindId> for LinkKinds {
    type Output = LinkKind;

    #[inline]
    fn index(&self, id: LinkKindId) -> &LinkKind {
        &self.0[id.0 as usize]
    }
}

impl std::ops::IndexMut<LinkKindId> for LinkKinds {
    #[inline]
    fn index_mut(&mut self, id: LinkKindId) -> &mut LinkKind {
        &mut self.0[id.0 as usize]
    }
}
