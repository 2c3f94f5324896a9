//! The state of a trial, and the loop that runs it.

use trialwise_congestion::{Factory, Feedback};
use trialwise_units::{Duration, Time};

use crate::buffer::{SharedBuffer, classes_set_apart};
use crate::ending::Ending;
use crate::event::{Event, EventQueue, Order};
use crate::fabric::{End, Fabric};
use crate::flow::{Flow, FlowSpecification, Transports};
use crate::framing::Framing;
use crate::host::Card;
use crate::index::{FlowId, HostId, NodeId, PacketId, PortId, SwitchId};
use crate::link_kind::LinkKinds;
use crate::marking::Marker;
use crate::metrics::Totals;
use crate::observer::{EVENTS_BETWEEN_LOOKS, Observer, Progress, Snapshot};
use crate::packet::{Kind, PacketSlab, TelemetrySlab};
use crate::paths::Path;
use crate::port::{Port, Side};
use crate::random::Random;
use crate::routing::{Routes, SourcePorts};
use crate::run::SimulationError;
use crate::settings::{Mode, Settings};
use crate::source::FlowSource;
use crate::timing::Quantum;

/// A switch: its buffer, and its number for the hash of paths. A cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Switch {
    pub(crate) node: NodeId,
    pub(crate) buffer: SharedBuffer,
}

/// Everything that changes in a trial.
pub(crate) struct Network<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) fabric: &'a Fabric,
    pub(crate) factory: &'a dyn Factory,
    pub(crate) quantum: Quantum,
    pub(crate) compatible: bool,
    pub(crate) carries_telemetry: bool,
    pub(crate) data_header: u64,
    pub(crate) acknowledgement_wire: u64,

    /// The present: the running event's time and its place.
    pub(crate) now: Time,
    pub(crate) running: Order,
    pub(crate) events: EventQueue,
    pub(crate) packets: PacketSlab,
    pub(crate) telemetry: TelemetrySlab,
    pub(crate) ports: Vec<Port>,
    pub(crate) link_kinds: LinkKinds,
    pub(crate) cards: Vec<Card>,
    pub(crate) switches: Vec<Switch>,
    /// Routes after a failure; those of the fabric before.
    pub(crate) rerouted: Option<Routes>,
    pub(crate) flows: Vec<Flow>,
    /// Of each flow; unknown before it begins and after a failure.
    pub(crate) paths: Vec<Path>,
    pub(crate) transports: Transports,
    pub(crate) source_ports: SourcePorts,
    /// How many flows are known beforehand.
    pub(crate) listed: usize,
    /// Packets of data of all flows that are known, when each is sent once.
    pub(crate) packets_known: u64,
    /// When the next flow begins, and how many have not ended, with that one.
    pub(crate) next_start: Option<Time>,
    pub(crate) unfinished: usize,
    /// Flows whose end the source has not been told.
    pub(crate) finished: Vec<FlowId>,
    pub(crate) next_fault: usize,
    pub(crate) ending: Ending,
    pub(crate) marker: Marker,
    pub(crate) losses: Random,
    pub(crate) totals: Totals,
    pub(crate) refused: Option<SimulationError>,
    pub(crate) interrupted: bool,
}

/// Packets of data that these flows take where none is sent again.
pub(crate) fn packets_of(flows: &[FlowSpecification], settings: &Settings) -> u64 {
    let segment = settings.segment.get();
    let packets = flows.iter().map(|flow| flow.size.get().div_ceil(segment));
    packets.fold(0, u64::saturating_add)
}

impl<'a> Network<'a> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        settings: &'a Settings,
        factory: &'a dyn Factory,
        listed: &[FlowSpecification],
    ) -> Self {
        let framing = Framing::new(settings, factory.feedback());
        let compatible = settings.mode == Mode::Compatible;
        let links = &fabric.topology().links;
        let (link_kinds, kinds) = LinkKinds::new(links, fabric.host_rate(HostId::new(0)), settings);
        let ports = (0..2 * links.len()).map(|number| {
            let port = PortId::new(number as u32);
            let side = |end: PortId| match fabric.end(end.reverse()) {
                End::Host(_) => Side::Card(fabric.card(end)),
                End::Switch(switch) => Side::Switch(switch),
            };
            Port::new(kinds[number / 2], side(port), side(port.reverse()))
        });
        let limits = |port: &PortId| link_kinds[kinds[port.index() / 2]].limits;
        let classes = classes_set_apart(settings, listed);
        let switches = fabric.switches.iter().enumerate().map(|(number, node)| {
            let own = fabric.switch_ports.of(SwitchId::new(number as u32));
            Switch { node: *node, buffer: SharedBuffer::new(settings, classes, own.iter().map(limits)) }
        });
        let (ports, switches) = (ports.collect(), switches.collect());
        Self {
            settings,
            fabric,
            factory,
            quantum: if compatible { Quantum::NanosecondFloor } else { Quantum::Picosecond },
            compatible,
            carries_telemetry: factory.feedback() == Feedback::Telemetry,
            data_header: framing.header,
            acknowledgement_wire: framing.acknowledgement,
            now: Time::ZERO,
            running: Order::FIRST,
            events: EventQueue::new(event_spacing(fabric, settings)),
            packets: PacketSlab::new(),
            telemetry: TelemetrySlab::default(),
            switches,
            ports,
            link_kinds,
            cards: fabric.cards.iter().map(|port| Card::new(*port)).collect(),
            rerouted: None,
            flows: Vec::with_capacity(listed.len()),
            paths: Vec::with_capacity(listed.len()),
            transports: Transports::default(),
            source_ports: SourcePorts::default(),
            listed: listed.len(),
            packets_known: packets_of(listed, settings),
            next_start: None,
            unfinished: 0,
            finished: Vec::with_capacity(listed.len()),
            next_fault: 0,
            ending: Ending::new(settings),
            marker: Marker::new(settings.mode, settings.seed),
            losses: Random::new(settings.seed.named("losses")),
            totals: Totals::default(),
            refused: None,
            interrupted: false,
        }
    }

    /// Runs until the last flow ends, the time to stop comes, or nothing is left to happen that helps a flow.
    pub(crate) fn run(&mut self, observer: &mut impl Observer, source: &mut impl FlowSource) {
        self.schedule_first_events(source);
        while self.unfinished > 0 && self.refused.is_none() {
            let Some(due) = self.events.pop().filter(|due| due.time <= self.ending.by) else { break };
            self.now = due.time;
            self.running = due.order;
            self.totals.events += 1;
            if self.totals.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) && self.is_ended_by(observer) {
                break;
            }
            match due.event {
                Event::Arrival(port) => self.on_arrival(port),
                Event::Free(port) => self.on_free(port),
                Event::Wake(host) => self.on_wake(host),
                Event::Timer(flow) => self.on_timer(flow),
                Event::Launch => self.on_launch(source),
                Event::Stage(flow) => self.on_stage(flow),
                Event::Fault => self.on_fault(),
                Event::Sample => self.on_sample(observer),
            }
        }
        self.tell_finishes(source);
    }

    /// Whether the observer ends the trial, or it cannot get on.
    #[cold]
    fn is_ended_by(&mut self, observer: &mut impl Observer) -> bool {
        // Of a list, flows are also to come that nobody has asked for yet: all but those admitted and the next.
        let later = self.listed.saturating_sub(self.flows.len() + 1);
        let unfinished = self.unfinished + later;
        let sent = self.totals.data_sent - self.totals.data_resent;
        let unsent = self.packets_known.saturating_sub(sent);
        let progress = Progress { now: self.now, unsent, unfinished };
        self.interrupted = observer.on_progress(progress).is_break();
        self.interrupted || self.is_stalled()
    }

    fn schedule_first_events(&mut self, source: &mut impl FlowSource) {
        self.expect_flow(source);
        if let Some(start) = self.next_start {
            self.events.schedule(start, Event::Launch);
        }
        if let Some(fault) = self.settings.faults.first() {
            self.events.schedule(fault.time, Event::Fault);
        }
        if self.settings.sample_interval.is_some() {
            self.events.schedule(Time::ZERO, Event::Sample);
        }
    }

    fn on_sample(&mut self, observer: &mut impl Observer) {
        observer.on_sample(&Snapshot::new(self));
        if self.events.is_empty() {
            return; // looking alone must not keep a trial going
        }
        let interval = self.settings.sample_interval.unwrap_or(Duration::MAX);
        self.events.schedule(self.now + interval * observer.stride(), Event::Sample);
    }

    /// The first packet on the wire has arrived, unless the wire has lost it meanwhile.
    fn on_arrival(&mut self, port: PortId) {
        let wire = &mut self.ports[port.index()];
        let Some((id, next)) = wire.flight.land(&self.packets, self.running) else { return };
        let (end, kind) = (wire.end, wire.kind);
        if let Some((time, order)) = next {
            self.events.push(time, order, Event::Arrival(port));
        }
        self.totals.hops += 1;
        if self.is_lost(id, self.link_kinds[kind].loss) {
            self.totals.dropped_link += 1;
            self.discard(id);
            return;
        }
        match end {
            Side::Switch(switch) => self.arrive_at_switch(switch, port, id),
            Side::Card(card) => self.arrive_at_card(card, id),
        }
    }

    /// Whether a lossy link loses this packet. Pause frames are spared: nothing would repeat them.
    fn is_lost(&mut self, packet: PacketId, loss: f64) -> bool {
        loss > 0.0
            && !matches!(self.packets[packet].kind, Kind::Pause | Kind::Resume)
            && self.losses.uniform() < loss
    }

    fn on_free(&mut self, port: PortId) {
        self.ports[port.index()].free_scheduled = false;
        match self.ports[port.index()].owner {
            Side::Switch(switch) => self.serve_switch_port(switch, port),
            Side::Card(card) => self.serve_card(card),
        }
    }

    /// Puts a packet on an idle wire: the end of its transmission is scheduled first, then its arrival.
    #[inline]
    pub(crate) fn transmit(&mut self, port: PortId, id: PacketId) {
        let wire = &mut self.ports[port.index()];
        let size = u64::from(self.packets[id].wire);
        let kind = &mut self.link_kinds[wire.kind];
        wire.transmitted += size;
        wire.free_at = self.now + kind.duration(self.quantum, size);
        wire.free_order = self.events.reserve();
        wire.free_scheduled = false;
        let (arrival, order) = (wire.free_at + kind.delay, self.events.reserve());
        if wire.flight.launch(&mut self.packets, id, (arrival, order)) {
            self.events.push(arrival, order, Event::Arrival(port));
        }
    }

    /// Makes sure that the port is served when its wire falls free.
    #[inline]
    pub(crate) fn serve_when_free(&mut self, port: PortId) {
        let wire = &mut self.ports[port.index()];
        if !wire.free_scheduled {
            wire.free_scheduled = true;
            self.events.push(wire.free_at, wire.free_order, Event::Free(port));
        }
    }

    #[inline]
    pub(crate) fn is_busy(&self, port: PortId) -> bool {
        self.ports[port.index()].is_busy(self.now, self.running)
    }

    /// Ends a packet that did what it should.
    pub(crate) fn consume(&mut self, id: PacketId) {
        self.totals.consumed += 1;
        self.discard(id);
    }

    /// Frees a packet and its records.
    pub(crate) fn discard(&mut self, id: PacketId) {
        self.telemetry.give_back(self.packets[id].telemetry);
        self.packets.give_back(id);
    }

    pub(crate) fn routes(&self) -> &Routes {
        self.rerouted.as_ref().unwrap_or(&self.fabric.routes)
    }

    /// The counts at the end.
    pub(crate) fn final_totals(&self) -> Totals {
        let peak = self.switches.iter().map(|switch| switch.buffer.peak()).max().unwrap_or(0);
        Totals { held: self.packets.held(), peak_buffer: trialwise_units::Bytes::new(peak), ..self.totals }
    }
}

/// About how far apart events lie where every link is busy: a port has one or two in the time that the
/// fastest link takes for a full packet.
fn event_spacing(fabric: &Fabric, settings: &Settings) -> Duration {
    let links = &fabric.topology().links;
    let fastest = links.iter().map(|link| link.rate.bits_per_second()).max().unwrap_or(1);
    let transmission = Quantum::Picosecond.transmission(settings.segment.get(), fastest);
    Duration::from_picoseconds(transmission.picoseconds() / (2 * links.len() as u64).max(1))
}
