//! How much flows ask of links, and of which capacity that is a part.

use super::{Workload, WorkloadError};
use crate::crossings::Ends;
use crate::fabric::Fabric;
use crate::index::NodeId;

/// By which sums of many parts may differ from 1.
const ROUNDING: f64 = 1e-6;

/// Of which capacity the load is a part: the two differ by the number of senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Of the links of the hosts that send, in the mean.
    Host(f64),
    /// Of the topology's bottleneck, by the flows that cross it in the direction in which more do.
    Bottleneck(f64),
}

/// How full the fullest link is in the mean, as flows are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fullest {
    /// The link, from which of its ends to which.
    pub link: (NodeId, NodeId),
    /// Payload asked of it as a part of its capacity.
    pub load: f64,
}

impl Workload {
    /// The link that the flows fill most, in the mean over flow lists; refuses what [`Self::generate`] refuses.
    pub fn fullest(&self, fabric: &Fabric) -> Result<Fullest, WorkloadError> {
        self.check(fabric)?;
        self.offered(fabric)
    }

    /// The load asked for, and of what.
    pub(super) const fn fraction(&self) -> (f64, &'static str) {
        match self.load {
            Load::Host(fraction) => (fraction, "the hosts' links"),
            Load::Bottleneck(fraction) => (fraction, "the bottleneck"),
        }
    }

    fn offered(&self, fabric: &Fabric) -> Result<Fullest, WorkloadError> {
        let demand = self.fraction().0 * self.capacity(fabric)?;
        let needed = WorkloadError::Hosts { needed: 2, there: fabric.host_count() };
        let (port, seconds_per_bit) = fabric.fullest(self.pattern.ends()).ok_or(needed)?;
        let (link, load) = (fabric.link(port), demand * seconds_per_bit);
        let forth = port.get().is_multiple_of(2);
        let link = if forth { (link.first, link.second) } else { (link.second, link.first) };
        Ok(Fullest { link, load })
    }

    /// Refuses flows that ask more of a link than it carries.
    pub(super) fn check_links(&self, fabric: &Fabric) -> Result<(), WorkloadError> {
        let Fullest { link, load: offered } = self.offered(fabric)?;
        if offered <= 1.0 + ROUNDING {
            return Ok(());
        }
        let (load, of) = self.fraction();
        let most = (load / offered * 1e4 + ROUNDING).floor() / 1e4;
        Err(WorkloadError::Overload { load, of, link, offered, most })
    }

    /// The capacity of which the load is a part, as payload of all flows together (bit/s).
    pub(super) fn capacity(&self, fabric: &Fabric) -> Result<f64, WorkloadError> {
        let topology = fabric.topology();
        let rate = |host: &NodeId| u128::from(fabric.host(*host).map_or(0, |host| fabric.capacity(host)));
        let sum = |hosts: &[NodeId]| hosts.iter().map(rate).sum::<u128>() as f64;
        match (self.load, self.pattern.ends()) {
            (Load::Bottleneck(_), ends) => {
                let bottleneck = topology.bottleneck.ok_or(WorkloadError::NoBottleneck)?;
                Ok(bottleneck.bits_per_second() as f64 / bottleneck_part(fabric, ends))
            }
            (Load::Host(_), Ends::Sides) => Ok(sum(&topology.senders)),
            (Load::Host(_), Ends::Hosts) => Ok(sum(&fabric.hosts)),
        }
    }
}

/// The part of the flows that crosses the bottleneck, the link between the two switches, in the direction in which
/// more do.
fn bottleneck_part(fabric: &Fabric, ends: Ends) -> f64 {
    let topology = fabric.topology();
    let inner = |port: &usize| {
        let link = &topology.links[port / 2];
        topology.is_switch[link.first.index()] && topology.is_switch[link.second.index()]
    };
    match ends {
        Ends::Sides => 1.0,
        Ends::Hosts => {
            let crossings = fabric.crossings(ends);
            (0..crossings.len()).filter(inner).map(|port| crossings[port]).fold(0.0, f64::max)
        }
    }
}
