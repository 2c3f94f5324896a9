//! The flows of a trial: those that were admitted, and those that are known to come.

use std::ops::{Index, IndexMut};

use trialwise_units::Time;

use crate::flow::{Flow, FlowSpecification, Stage, Transport, TransportId, Transports};
use crate::index::{FlowId, HostId};
use crate::routing::SourcePorts;
use crate::settings::Settings;
use crate::source::FlowSource;

/// All flows, and the transports of those in progress.
pub(super) struct Flows {
    flows: Vec<Flow>,
    transports: Transports,
    source_ports: SourcePorts,
    /// Bytes of payload in a full packet.
    segment: u64,
    /// How many flows are known beforehand.
    listed: usize,
    /// Packets of data of all flows that are known, when each is sent once.
    packets_known: u64,
    /// When the next flow begins, how many have been announced, with that one, and how many of them have ended here.
    next_start: Option<Time>,
    announced: usize,
    ended: usize,
    /// Flows whose end the source has not been told.
    finished: Vec<FlowId>,
}

impl Flows {
    pub(super) fn new(settings: &Settings, listed: &[FlowSpecification]) -> Self {
        let segment = settings.segment.get();
        let packets = listed.iter().map(|flow| flow.size.get().div_ceil(segment));
        Self {
            flows: Vec::with_capacity(listed.len()),
            transports: Transports::default(),
            source_ports: SourcePorts::default(),
            segment,
            listed: listed.len(),
            packets_known: packets.fold(0, u64::saturating_add),
            next_start: None,
            announced: 0,
            ended: 0,
            finished: Vec::with_capacity(listed.len()),
        }
    }

    /// How many were admitted.
    pub(super) const fn admitted(&self) -> usize {
        self.flows.len()
    }

    /// When the next flow begins, where one is to come.
    pub(super) const fn next_start(&self) -> Option<Time> {
        self.next_start
    }

    /// How many have ended here.
    #[inline]
    pub(super) const fn ended(&self) -> usize {
        self.ended
    }

    /// Whether some flow has not ended, where so many have anywhere.
    #[inline]
    pub(super) const fn are_unfinished(&self, ended: usize) -> bool {
        self.announced > ended
    }

    /// How many have not ended. Of a list, flows are also to come that nobody has asked for yet: all but those admitted
    /// and the next.
    pub(super) const fn to_end(&self, ended: usize) -> usize {
        self.announced - ended + self.listed.saturating_sub(self.flows.len() + 1)
    }

    /// Packets of data that flows have to send for the first time, where so many were.
    pub(super) const fn unsent(&self, sent: u64) -> u64 {
        self.packets_known.saturating_sub(sent)
    }

    /// Asks when the next flow starts.
    pub(super) fn expect_next(&mut self, source: &mut impl FlowSource) {
        self.next_start = source.next_start();
        self.announced += usize::from(self.next_start.is_some());
    }

    /// The flow that the source has announced.
    pub(super) fn take(&mut self, source: &mut impl FlowSource) -> FlowSpecification {
        let specification = source.next_flow();
        if self.flows.len() >= self.listed {
            let own = specification.size.get().div_ceil(self.segment);
            self.packets_known = self.packets_known.saturating_add(own);
        }
        specification
    }

    /// The port of its source that a flow between these hosts gets.
    pub(super) fn source_port(&mut self, source: HostId, destination: HostId) -> u16 {
        self.source_ports.take(source, destination)
    }

    /// Takes a flow into the books, without beginning it.
    pub(super) fn admit(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId::new(self.flows.len() as u32 - 1)
    }

    /// Gives a flow that begins its transport.
    pub(super) fn begin(&mut self, id: FlowId, transport: Transport) -> &mut Flow {
        let flow = &mut self.flows[id.index()];
        flow.transport = self.transports.insert(transport);
        flow
    }

    /// A flow has ended.
    pub(super) fn finish(&mut self, id: FlowId, now: Time) {
        let flow = &mut self.flows[id.index()];
        flow.stage = Stage::Finished(now);
        self.transports.remove(flow.transport);
        flow.transport = TransportId::NONE;
        self.ended += 1;
        self.finished.push(id);
    }

    /// Tells the source what has ended since it was told last.
    pub(super) fn tell_finishes(&mut self, source: &mut impl FlowSource) {
        // Parts of the network run one after another.
        self.finished.sort_by_key(|flow| match self.flows[flow.index()].stage {
            Stage::Finished(time) => time,
            Stage::Waiting(_) | Stage::Active => Time::MAX,
        });
        for flow in self.finished.drain(..) {
            if let Stage::Finished(time) = self.flows[flow.index()].stage {
                source.on_finish(flow, time);
            }
        }
    }

    /// A flow, where it was admitted.
    pub(super) fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(flow.index())
    }

    /// All flows that were admitted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter()
    }

    /// The transport of a flow in progress.
    #[inline]
    pub(super) fn transport(&self, flow: FlowId) -> &Transport {
        &self.transports[self.flows[flow.index()].transport]
    }

    /// The transport of a flow in progress.
    #[inline]
    pub(super) fn transport_mut(&mut self, flow: FlowId) -> &mut Transport {
        &mut self.transports[self.flows[flow.index()].transport]
    }

    /// A flow in progress with its transport.
    #[inline]
    pub(super) fn both(&mut self, flow: FlowId) -> (&mut Flow, &mut Transport) {
        let flow = &mut self.flows[flow.index()];
        let transport = &mut self.transports[flow.transport];
        (flow, transport)
    }
}

impl Index<FlowId> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, flow: FlowId) -> &Flow {
        &self.flows[flow.index()]
    }
}

impl IndexMut<FlowId> for Flows {
    #[inline]
    fn index_mut(&mut self, flow: FlowId) -> &mut Flow {
        &mut self.flows[flow.index()]
    }
}
