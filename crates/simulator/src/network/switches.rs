//! Switches: store and forward, output queues, shared buffer, marks, telemetry, pauses.

use trialwise_congestion::HopRecord;
use trialwise_units::{Bytes, Rate, Time};

use super::Network;
use super::parts::Parts;
use super::terms::Terms;
use super::wires::Wires;
use crate::buffer::{CONTROL, PAUSE_BYTES, SharedBuffer, classes_set_apart};
use crate::flow::FlowSpecification;
use crate::index::{NodeId, PacketId, PortId, SwitchId};
use crate::marking::{Marker, Thresholds};
use crate::packet::Kind;

/// Quanta of the telemetry of the HPCC simulator, for each 25 Gbit/s of the link.
const TRANSMITTED_QUANTUM: u64 = 128;
const QUEUE_QUANTUM: u64 = 80;
const QUANTUM_RATE: u64 = 25_000_000_000;

/// A switch: its buffer, and its number for the hash of paths. A cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Switch {
    node: NodeId,
    buffer: SharedBuffer,
}

/// All switches, and what decides about their marks.
pub(super) struct Switches {
    switches: Vec<Switch>,
    marker: Marker,
}

impl Switches {
    pub(super) fn new(terms: &Terms<'_>, parts: &Parts, wires: &Wires, listed: &[FlowSpecification]) -> Self {
        let (fabric, settings) = (terms.fabric, terms.settings);
        let classes = classes_set_apart(settings, listed);
        let switches = fabric.switches.iter().enumerate().map(|(number, node)| {
            let own = fabric.switch_ports.of(SwitchId::new(number as u32));
            let limits = own.iter().map(|port| wires.kind(*port).limits);
            Switch { node: *node, buffer: SharedBuffer::new(settings, classes, limits) }
        });
        Self {
            switches: switches.collect(),
            marker: Marker::new(settings.mode, settings.seed, parts.lookahead().is_some()),
        }
    }

    fn node(&self, switch: SwitchId) -> NodeId {
        self.switches[switch.index()].node
    }

    #[inline]
    fn buffer(&mut self, switch: SwitchId) -> &mut SharedBuffer {
        &mut self.switches[switch.index()].buffer
    }

    /// Whether a packet is marked that leaves so much behind.
    #[inline]
    fn marks(&mut self, thresholds: &Thresholds, queue: u64, place: (PortId, Time)) -> bool {
        self.marker.marks(thresholds, queue, place)
    }

    /// The most bytes that any switch held.
    pub(super) fn peak(&self) -> u64 {
        self.switches.iter().map(|switch| switch.buffer.peak()).max().unwrap_or(0)
    }

    /// Bytes that each switch holds, in the order of node numbers.
    pub(super) fn occupied(&self) -> impl Iterator<Item = Bytes> {
        self.switches.iter().map(|switch| Bytes::new(switch.buffer.occupied()))
    }
}

impl Network<'_> {
    /// A packet has come in over the wire of `wire`.
    pub(super) fn arrive_at_switch(&mut self, switch: SwitchId, wire: PortId, id: PacketId) {
        match self.packets[id].kind {
            Kind::Pause | Kind::Resume => {
                self.obey_pause(wire.reverse(), id);
                self.serve_switch_port(switch, wire.reverse());
            }
            Kind::Data | Kind::Acknowledgement | Kind::NegativeAcknowledgement => {
                match self.egress(switch, id) {
                    Some(egress) => self.forward(switch, wire, egress, id),
                    None => {
                        self.totals.dropped_fault += 1;
                        self.packets.give_back(id);
                    }
                }
            }
        }
    }

    /// Takes a pause frame at its word: the far end of `port` can, or cannot, take the class.
    pub(super) fn obey_pause(&mut self, port: PortId, id: PacketId) {
        let packet = &self.packets[id];
        let (class, pause) = (packet.sequence as usize, packet.kind == Kind::Pause);
        self.wires[port].set_paused(self.clock.now(), class, pause);
        self.consume(id);
    }

    /// The way to the packet's destination.
    #[inline]
    fn egress(&mut self, switch: SwitchId, id: PacketId) -> Option<PortId> {
        let packet = &mut self.packets[id];
        match self.ways.port(packet.flow, packet.step) {
            Some(number) => {
                packet.step += 1;
                Some(self.terms.fabric.switch_ports.port(switch, number))
            }
            None => self.routed(switch, id),
        }
    }

    /// The same by the routes: by the hash of its addresses and ports where several ways are as short.
    #[cold]
    fn routed(&self, switch: SwitchId, id: PacketId) -> Option<PortId> {
        let packet = &self.packets[id];
        let flow = &self.flows[packet.flow];
        let node = self.switches.node(switch);
        if packet.kind == Kind::Data {
            self.ways.routes().next(switch, flow.destination, || flow.addresses.hash(node))
        } else {
            self.ways.routes().next(switch, flow.source, || flow.addresses.reversed().hash(node))
        }
    }

    fn forward(&mut self, switch: SwitchId, wire: PortId, egress: PortId, id: PacketId) {
        let priorities = &self.terms.settings.priorities;
        let packet = &mut self.packets[id];
        packet.wire_before = wire;
        let control = priorities.acknowledgements_first_in_switches && packet.kind != Kind::Data;
        let class = if control { CONTROL } else { usize::from(packet.class) };
        let size = u64::from(packet.wire);
        if class != CONTROL {
            let (held, limits) = self.wires.account(wire, class);
            let buffer = self.switches.buffer(switch);
            if !buffer.admit(held, limits, size) {
                self.totals.dropped_buffer += 1;
                self.packets.give_back(id);
                return;
            }
            if buffer.should_pause(held, limits) {
                self.send_pause(switch, wire, class, true);
            }
        }
        let port = &mut self.wires[egress];
        if port.pass(self.clock.now(), self.clock.running(), class, size) {
            self.dispatch(switch, egress, class, id);
        } else {
            port.enqueue(self.packets.slab_mut(), class, id);
            self.serve_switch_port(switch, egress);
        }
    }

    /// Sends the next packet of a port, if its wire is idle and some class may go.
    pub(super) fn serve_switch_port(&mut self, switch: SwitchId, port: PortId) {
        let state = &mut self.wires[port];
        if !state.up || !state.has_next() {
            return;
        }
        if state.is_busy(self.clock.now(), self.clock.running()) {
            self.wires.serve_when_free(port, &mut self.clock);
            return;
        }
        let (packets, settings) = (self.packets.slab(), &self.terms.settings);
        let unit = settings.segment.get() + settings.header.get();
        let Some(class) = state.next_class(packets, settings.priorities.scheduling, unit) else { return };
        let Some(id) = state.dequeue(packets, class) else { return };
        self.dispatch(switch, port, class, id);
        if self.wires[port].has_next() {
            self.wires.serve_when_free(port, &mut self.clock);
        }
    }

    /// Puts a packet that has left its queue on the wire.
    fn dispatch(&mut self, switch: SwitchId, port: PortId, class: usize, id: PacketId) {
        if class != CONTROL {
            self.let_go(switch, port, class, id);
        }
        self.record_hop(port, id);
        self.wires.transmit(port, id, &mut self.packets, &mut self.clock);
    }

    /// What happens when a packet leaves its queue: it may be marked by what stays behind, and its buffer is free.
    #[inline]
    fn let_go(&mut self, switch: SwitchId, port: PortId, class: usize, id: PacketId) {
        let packet = &mut self.packets[id];
        let egress = &self.wires[port];
        if egress.queued() > 0
            && self.switches.marks(
                &self.wires.kind(port).thresholds,
                egress.queued_in(class),
                (port, self.clock.now()),
            )
        {
            packet.marked = true;
            self.totals.marks += 1;
        }
        self.free_buffer(switch, class, id);
    }

    /// The packet no longer takes buffer, and a sender that was paused for it may go on.
    #[inline]
    pub(super) fn free_buffer(&mut self, switch: SwitchId, class: usize, id: PacketId) {
        let packet = &self.packets[id];
        let wire = packet.wire_before;
        let (held, limits) = self.wires.account(wire, class);
        let buffer = self.switches.buffer(switch);
        buffer.release(held, u64::from(packet.wire));
        if buffer.should_resume(held, limits) {
            self.send_pause(switch, wire, class, false);
        }
    }

    /// Tells the sender at the other end of `wire` to stop or to go on.
    fn send_pause(&mut self, switch: SwitchId, wire: PortId, class: usize, pause: bool) {
        self.wires[wire].held(class).paused = pause;
        let id = self.packets.take();
        self.totals.created += 1;
        let packet = &mut self.packets[id];
        packet.kind = if pause { Kind::Pause } else { Kind::Resume };
        packet.sequence = class as u64;
        packet.wire = PAUSE_BYTES as u16;
        let count = if pause { &mut self.totals.pauses } else { &mut self.totals.resumes };
        *count += 1;
        let back = wire.reverse();
        self.wires[back].enqueue(self.packets.slab_mut(), CONTROL, id);
        self.serve_switch_port(switch, back);
    }

    /// Writes the state of the port into a data packet that asks for it.
    #[inline]
    fn record_hop(&mut self, port: PortId, id: PacketId) {
        if !self.packets.wants_record(id) {
            return;
        }
        let state = &self.wires[port];
        let rate = self.wires.kind(port).rate;
        let record = hop_record(self.clock.now(), state.transmitted, state.queued(), rate);
        self.packets.record(id, if self.terms.compatible { quantised(record) } else { record });
    }
}

const fn hop_record(time: Time, transmitted: u64, queued: u64, rate: u64) -> HopRecord {
    HopRecord { time, transmitted, queue: Bytes::new(queued), rate: Rate::from_bits_per_second(rate) }
}

/// The record as the narrow fields of the HPCC simulator hold it. Its counter of bytes also wraps, but only
/// after more bytes than the link carries between two acknowledgements of a flow in progress.
fn quantised(record: HopRecord) -> HopRecord {
    let multiple = (record.rate.bits_per_second() / QUANTUM_RATE).max(1);
    let floor = |value: u64, quantum: u64| value / (quantum * multiple) * (quantum * multiple);
    HopRecord {
        transmitted: floor(record.transmitted, TRANSMITTED_QUANTUM),
        queue: Bytes::new(floor(record.queue.get(), QUEUE_QUANTUM)),
        ..record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrow_fields_lose_the_small_bits() {
        let record = quantised(hop_record(Time::ZERO, 5000, 5000, 100_000_000_000));
        assert_eq!((record.transmitted, record.queue.get()), (4608, 4800));
    }
}
