//! Flows: what was asked for, the sender's and the receiver's state.

use trialwise_congestion::{AnyController, PacketLog, RoundTrip};
use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::event::Order;
use crate::index::{CardId, FlowId, HostId, NodeId};
use crate::routing::Addresses;

/// A flow that is asked for. `source` and `destination` are node numbers of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpecification {
    /// What the user calls it.
    pub id: u64,
    /// Who sends.
    pub source: NodeId,
    /// Who receives.
    pub destination: NodeId,
    /// Payload, at least one byte.
    pub size: Bytes,
    /// When the sender is asked to begin.
    pub start: Time,
    /// The class of its packets, 1 to 7; none for that of the network ([`crate::Priorities::data`]).
    pub class: Option<u8>,
    /// The port of the receiver: a part of what equal-cost paths are chosen by.
    pub destination_port: u16,
}

impl FlowSpecification {
    /// The receiver's port of a flow that names none, as in the HPCC simulator.
    pub const USUAL_PORT: u16 = 100;

    /// A flow of the network's class to the usual port.
    pub const fn new(id: u64, source: NodeId, destination: NodeId, size: Bytes, start: Time) -> Self {
        Self { id, source, destination, size, start, class: None, destination_port: Self::USUAL_PORT }
    }
}

/// Where a flow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not begun; so many events of beginning are still to come.
    Waiting(u8),
    /// Sending, or waiting for the last acknowledgement.
    Active,
    /// Acknowledged to the end.
    Finished(Time),
}

/// The state that the packets of a flow meet: a cache line for what the sender looks at, and one for the rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) size: u64,
    /// Offset of the next byte to send.
    pub(crate) sent: u64,
    /// Everything below this offset is acknowledged.
    pub(crate) acknowledged: u64,
    /// Payload that may be in flight; all ones for no limit.
    pub(crate) window: u64,
    pub(crate) next_departure: Time,
    /// Bits per second at which it is paced; all ones for not at all.
    pub(crate) rate: u64,
    /// Wire size of the last packet.
    pub(crate) last_wire: u64,
    /// By which its data leave.
    pub(crate) card: CardId,
    /// By which its acknowledgements leave.
    pub(crate) reply_card: CardId,
    pub(crate) transport: TransportId,

    pub(crate) stage: Stage,
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    pub(crate) addresses: Addresses,
    /// The class of its packets.
    pub(crate) class: u8,
    /// The offset that the receiver waits for.
    pub(crate) expected: u64,
    /// The last gap reported, and when it may be reported again.
    pub(crate) gap: u64,
    pub(crate) gap_report_after: Time,
}

/// No window, no pacing.
pub(crate) const UNLIMITED: u64 = u64::MAX;

impl Flow {
    /// A flow that has not begun.
    pub(crate) const fn new(
        asked: &FlowSpecification,
        (source, destination): (HostId, HostId),
        source_port: u16,
        usual_class: u8,
    ) -> Self {
        let class = match asked.class {
            Some(class) => class,
            None => usual_class,
        };
        Self {
            size: asked.size.get(),
            sent: 0,
            acknowledged: 0,
            window: UNLIMITED,
            next_departure: Time::ZERO,
            rate: UNLIMITED,
            last_wire: 0,
            card: CardId::NONE,
            reply_card: CardId::NONE,
            transport: TransportId::NONE,
            stage: Stage::Waiting(0),
            source,
            destination,
            addresses: Addresses::new(asked, source_port),
            class,
            expected: 0,
            gap: UNLIMITED,
            gap_report_after: Time::ZERO,
        }
    }

    #[inline]
    pub(crate) const fn in_flight(&self) -> u64 {
        self.sent - self.acknowledged
    }

    #[inline]
    pub(crate) const fn has_data(&self) -> bool {
        self.sent < self.size
    }

    /// Whether the window lets a packet go: a full one does as long as less than the window is in flight.
    #[inline]
    pub(crate) const fn window_is_open(&self) -> bool {
        self.in_flight() < self.window
    }

    /// Whether all is acknowledged, so that its stage says when that was.
    pub(crate) const fn is_finished(&self) -> bool {
        self.acknowledged >= self.size
    }
}

/// A place in [`Transports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportId(u32);

impl TransportId {
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// A timer of a flow. An event stands at `queued_at`, which is never later than `deadline`: a deadline that
/// moves away costs nothing until the event comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerSlot {
    pub(crate) deadline: Option<Time>,
    /// The place that the timer got when it was armed.
    pub(crate) order: Order,
    pub(crate) queued_at: Option<(Time, Order)>,
}

impl TimerSlot {
    pub(crate) const OFF: Self = Self { deadline: None, order: Order::FIRST, queued_at: None };
}

/// Timers of a controller at most.
pub(crate) const CONTROLLER_TIMERS: usize = 4;
/// The slot of the retransmission timer, after those of the controller.
pub(crate) const RETRANSMISSION: usize = CONTROLLER_TIMERS;

/// What only a flow in progress needs.
pub(crate) struct Transport {
    pub(crate) controller: AnyController,
    pub(crate) round_trip: RoundTrip,
    pub(crate) timers: [TimerSlot; CONTROLLER_TIMERS + 1],
    /// What was sent when the last loss or time-out was seen: a loss below is part of the same episode.
    pub(crate) recover: u64,
    /// Whether a loss is being repaired up to there. After a time-out the sender starts afresh instead.
    pub(crate) repairing: bool,
    /// Time-outs in a row.
    pub(crate) repetition: u32,
    /// The highest offset sent so far.
    pub(crate) highest: u64,
    /// Packets sent so far.
    pub(crate) packets: u64,
    /// Those in flight, where the controller is told of each.
    pub(crate) log: Option<Box<PacketLog>>,
    /// The last pacing interval: for which rate and size, and how long.
    pub(crate) interval: (u64, u64, Duration),
}

impl Transport {
    pub(crate) fn new(controller: AnyController, reports_packets: bool) -> Self {
        Self {
            controller,
            round_trip: RoundTrip::new(),
            timers: [TimerSlot::OFF; CONTROLLER_TIMERS + 1],
            recover: 0,
            repairing: false,
            repetition: 0,
            highest: 0,
            packets: 0,
            log: reports_packets.then(Box::default),
            interval: (0, 0, Duration::ZERO),
        }
    }
}

/// The transports of all flows in progress, in places that are used again.
#[derive(Default)]
pub(crate) struct Transports {
    places: Vec<Transport>,
    free: Vec<TransportId>,
}

impl Transports {
    pub(crate) fn insert(&mut self, transport: Transport) -> TransportId {
        if let Some(id) = self.free.pop() {
            self.places[id.0 as usize] = transport;
            return id;
        }
        self.places.push(transport);
        TransportId(self.places.len() as u32 - 1)
    }

    pub(crate) fn remove(&mut self, id: TransportId) {
        self.free.push(id);
    }
}

impl std::ops::Index<TransportId> for Transports {
    type Output = Transport;

    #[inline]
    fn index(&self, id: TransportId) -> &Transport {
        &self.places[id.0 as usize]
    }
}

impl std::ops::IndexMut<TransportId> for Transports {
    #[inline]
    fn index_mut(&mut self, id: TransportId) -> &mut Transport {
        &mut self.places[id.0 as usize]
    }
}

/// What an observer sees of a flow in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowView {
    /// Its place in the flow list.
    pub flow: FlowId,
    /// The pacing rate; none where the flow is not paced.
    pub rate: Option<Rate>,
    /// The window; none where there is none.
    pub window: Option<Bytes>,
    /// Payload in flight.
    pub in_flight: Bytes,
    /// Payload acknowledged.
    pub acknowledged: Bytes,
}
