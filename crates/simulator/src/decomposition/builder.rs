//! Small networks out of pieces of a large one.

use std::collections::BTreeMap;

use trialwise_units::{Bytes, Duration, Rate};

use super::Whole;
use crate::flow::FlowSpecification;
use crate::index::{NodeId, PortId};
use crate::topology::{Link, Topology};

/// A node of a small network. Nodes stand in the order of the nodes that they are of, so that ties of time are decided alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    /// The node of the large network.
    node: NodeId,
    /// Of a host that is not on the path: by what it is connected.
    lane: Option<Lane>,
}

/// A link that stands for those between a host and the place where its flows come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    /// The host's own link.
    cable: u32,
    /// Where it comes in.
    at: NodeId,
    delay: Duration,
    /// The flow that has it to itself; none where those of the host share it.
    flow: Option<usize>,
}

impl Spot {
    pub(super) const fn on_path(node: NodeId) -> Self {
        Self { node, lane: None }
    }
}

/// A small network, before it is made ready.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) topology: Topology,
    pub(super) flows: Vec<FlowSpecification>,
}

/// Collects the pieces.
pub(super) struct Builder<'a> {
    whole: &'a Whole<'a>,
    header: u64,
    acknowledgement: u64,
    /// By the link of the large network, and the lane.
    links: BTreeMap<(u32, Option<Lane>), (Spot, Spot, Link)>,
    flows: Vec<(FlowSpecification, Spot, Spot)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(whole: &'a Whole<'a>) -> Self {
        let framing = whole.framing();
        Self {
            whole,
            header: framing.header,
            acknowledgement: framing.acknowledgement,
            links: BTreeMap::new(),
            flows: Vec::new(),
        }
    }

    /// The wire size of a full packet.
    pub(super) const fn full(&self) -> u64 {
        self.whole.settings.segment.get() + self.header
    }

    /// The wire size of the largest packet of a flow.
    pub(super) fn largest(&self, flow: &FlowSpecification) -> u64 {
        flow.size.get().min(self.whole.settings.segment.get()) + self.header
    }

    /// Takes a link as it is.
    pub(super) fn keep(&mut self, port: PortId) {
        let link = Link { loss: self.loss(port), ..*self.whole.fabric.link(port) };
        let ends = (Spot::on_path(link.first), Spot::on_path(link.second), link);
        self.links.insert((cable(port), None), ends);
    }

    /// The end of a flow whose packets of `wire` bytes cross `ports` between its host and the node `at`: the host itself, on one
    /// link of the host's own rate that takes as long as they do.
    pub(super) fn side(
        &mut self,
        host: NodeId,
        at: NodeId,
        own: PortId,
        ports: &[PortId],
        wire: u64,
        flow: Option<usize>,
    ) -> Spot {
        if ports.is_empty() {
            return Spot::on_path(host);
        }
        let model = *self.whole.fabric.link(own);
        let there_and_back: Duration = ports
            .iter()
            .map(|port| self.round_trip(*port, wire))
            .fold(Duration::ZERO, |sum, each| sum + each);
        let sent = self.sending(model.rate, wire);
        let delay =
            Duration::from_picoseconds(there_and_back.picoseconds().saturating_sub(sent.picoseconds()) / 2);
        let arriving = ports.iter().map(|port| 1.0 - self.loss(*port)).product::<f64>();
        let loss = if ports.len() == 1 { self.loss(own) } else { 1.0 - arriving };
        let lane = Lane { cable: cable(own), at, delay, flow };
        let spot = Spot { node: host, lane: Some(lane) };
        let is_first = model.first == host;
        let (first, second) = if is_first { (spot, Spot::on_path(at)) } else { (Spot::on_path(at), spot) };
        let link = Link { delay, loss, ..model };
        self.links.entry((cable(own), Some(lane))).or_insert((first, second, link));
        spot
    }

    pub(super) fn add(&mut self, flow: &FlowSpecification, source: Spot, destination: Spot) {
        self.flows.push((*flow, source, destination));
    }

    /// The network of all these pieces.
    pub(super) fn build(self) -> Plan {
        let mut numbers: BTreeMap<Spot, u32> =
            self.links.values().flat_map(|(first, second, _)| [(*first, 0), (*second, 0)]).collect();
        for (number, place) in numbers.values_mut().enumerate() {
            *place = number as u32;
        }
        let is_switch = &self.whole.fabric.topology().is_switch;
        let node = |spot: &Spot| NodeId::new(numbers[spot]);
        let links = self.links.values();
        let links =
            links.map(|(first, second, link)| Link { first: node(first), second: node(second), ..*link });
        let flows = self.flows.iter();
        let flows = flows.map(|(flow, source, destination)| FlowSpecification {
            source: node(source),
            destination: node(destination),
            ..*flow
        });
        Plan {
            topology: Topology {
                is_switch: numbers.keys().map(|spot| is_switch[spot.node.index()]).collect(),
                links: links.collect(),
                senders: Vec::new(),
                receivers: Vec::new(),
                bottleneck: None,
            },
            flows: flows.collect(),
        }
    }

    /// How long a packet and its acknowledgement take for a link.
    fn round_trip(&self, port: PortId, wire: u64) -> Duration {
        let link = self.whole.fabric.link(port);
        link.delay * 2 + self.sending(link.rate, wire)
    }

    fn sending(&self, rate: Rate, wire: u64) -> Duration {
        rate.transmission_time(Bytes::new(wire)) + rate.transmission_time(Bytes::new(self.acknowledgement))
    }

    fn loss(&self, port: PortId) -> f64 {
        self.whole.settings.loss.unwrap_or_else(|| self.whole.fabric.link(port).loss)
    }
}

/// The link of a port.
pub(super) const fn cable(port: PortId) -> u32 {
    port.get() / 2
}

/// Where a port sends from, and where it leads.
pub(super) fn ends(whole: &Whole<'_>, port: PortId) -> (NodeId, NodeId) {
    let link = whole.fabric.link(port);
    if port.get().is_multiple_of(2) { (link.first, link.second) } else { (link.second, link.first) }
}
