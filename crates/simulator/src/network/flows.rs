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
    /// What the source has not been told.
    untold: Vec<(FlowId, End)>,
    /// Whether the source gives flows because others are over.
    waits: bool,
    /// When the earliest event comes that launches flows.
    launch: Option<Time>,
}

/// In which way a flow is over.
#[derive(Clone, Copy)]
enum End {
    Received(Time),
    Finished(Time),
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
            untold: Vec::with_capacity(listed.len()),
            waits: false,
            launch: None,
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
    pub(super) fn to_end(&self, ended: usize) -> usize {
        let known = self.flows.len() + usize::from(self.next_start.is_some());
        self.announced - ended + self.listed.saturating_sub(known)
    }

    /// Packets of data that flows have to send for the first time, where so many were.
    pub(super) const fn unsent(&self, sent: u64) -> u64 {
        self.packets_known.saturating_sub(sent)
    }

    /// Asks for the first flow.
    pub(super) fn expect_first(&mut self, source: &mut impl FlowSource) {
        self.waits = source.waits();
        self.expect_next(source);
    }

    /// Whether flows may start because others are over.
    #[inline]
    pub(super) const fn wait(&self) -> bool {
        self.waits
    }

    /// Whether an event is needed that launches flows then: none comes at that time or before.
    pub(super) fn needs_launch(&mut self, at: Time) -> bool {
        let needed = self.launch.is_none_or(|launch| at < launch);
        if needed {
            self.launch = Some(at);
        }
        needed
    }

    /// Flows are launched now: by an event that may have been overtaken by an earlier one.
    pub(super) fn begin_launch(&mut self, now: Time) {
        self.launch = self.launch.filter(|launch| *launch > now);
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

    /// A flow has ended. Where others may wait for it, the trial does not end before the source was told.
    pub(super) fn finish(&mut self, id: FlowId, now: Time) {
        let flow = &mut self.flows[id.index()];
        flow.stage = Stage::Finished(now);
        self.transports.remove(flow.transport);
        flow.transport = TransportId::NONE;
        self.ended += usize::from(!self.waits);
        self.untold.push((id, End::Finished(now)));
    }

    /// The last byte of a flow has reached its receiver.
    pub(super) fn note_receipt(&mut self, id: FlowId, now: Time) {
        self.untold.push((id, End::Received(now)));
    }

    /// Tells the source what has ended since it was told last, and asks again where that may bring others about. Gives the flows
    /// that count as ended only now.
    pub(super) fn tell_ends(&mut self, source: &mut impl FlowSource) -> Vec<FlowId> {
        // Parts of the network run one after another.
        self.untold.sort_by_key(|(_, end)| match end {
            End::Received(time) | End::Finished(time) => *time,
        });
        let mut ended = Vec::new();
        for (flow, end) in self.untold.drain(..) {
            match end {
                End::Received(time) => source.on_receipt(flow, time),
                End::Finished(time) => {
                    source.on_finish(flow, time);
                    ended.extend(self.waits.then_some(flow));
                }
            }
        }
        if self.waits {
            self.ended += ended.len();
            self.announced -= usize::from(self.next_start.is_some());
            self.expect_next(source);
        }
        ended
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
