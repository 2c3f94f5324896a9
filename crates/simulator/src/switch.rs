//! Switches: store and forward, output queues, shared buffer, marks, telemetry, pauses.

use trialwise_congestion::HopRecord;
use trialwise_units::{Bytes, Rate, Time};

use crate::buffer::{CONTROL, PAUSE_BYTES};
use crate::index::{PacketId, PortId, SwitchId};
use crate::network::Network;
use crate::packet::{Kind, TelemetryId};

/// Quanta of the telemetry of the HPCC simulator, for each 25 Gbit/s of the link.
const TRANSMITTED_QUANTUM: u64 = 128;
const QUEUE_QUANTUM: u64 = 80;
const QUANTUM_RATE: u64 = 25_000_000_000;

impl Network<'_> {
    /// A packet has come in over the wire of `wire`.
    pub(crate) fn arrive_at_switch(&mut self, switch: SwitchId, wire: PortId, id: PacketId) {
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
                        self.discard(id);
                    }
                }
            }
        }
    }

    /// Takes a pause frame at its word: the far end of `port` can, or cannot, take the class.
    pub(crate) fn obey_pause(&mut self, port: PortId, id: PacketId) {
        let packet = &self.packets[id];
        let (class, pause) = (packet.sequence as usize, packet.kind == Kind::Pause);
        self.ports[port.index()].set_paused(self.now, class, pause);
        self.consume(id);
    }

    /// The way to the packet's destination.
    #[inline]
    fn egress(&mut self, switch: SwitchId, id: PacketId) -> Option<PortId> {
        let packet = &mut self.packets[id];
        match self.paths[packet.flow.index()].port(packet.step) {
            Some(number) => {
                packet.step += 1;
                Some(self.fabric.switch_ports.port(switch, number))
            }
            None => self.routed(switch, id),
        }
    }

    /// The same by the routes: by the hash of its addresses and ports where several ways are as short.
    #[cold]
    fn routed(&self, switch: SwitchId, id: PacketId) -> Option<PortId> {
        let packet = &self.packets[id];
        let flow = &self.flows[packet.flow.index()];
        let node = self.switches[switch.index()].node;
        if packet.kind == Kind::Data {
            self.routes().next(node, flow.destination.index(), || flow.addresses.hash(node))
        } else {
            self.routes().next(node, flow.source.index(), || flow.addresses.reversed().hash(node))
        }
    }

    fn forward(&mut self, switch: SwitchId, wire: PortId, egress: PortId, id: PacketId) {
        let priorities = &self.settings.priorities;
        let packet = &mut self.packets[id];
        packet.wire_before = wire;
        let control = priorities.acknowledgements_first_in_switches && packet.kind != Kind::Data;
        let class = if control { CONTROL } else { usize::from(packet.class) };
        let size = u64::from(packet.wire);
        if class != CONTROL {
            let port = &mut self.ports[wire.index()];
            let limits = self.link_kinds[port.kind].limits;
            let held = port.held(class);
            let buffer = &mut self.switches[switch.index()].buffer;
            if !buffer.admit(held, limits, size) {
                self.totals.dropped_buffer += 1;
                self.discard(id);
                return;
            }
            if buffer.should_pause(held, limits) {
                self.send_pause(switch, wire, class, true);
            }
        }
        let port = &mut self.ports[egress.index()];
        if port.pass(self.now, self.running, class, size) {
            self.dispatch(switch, egress, class, id);
        } else {
            port.enqueue(&mut self.packets, class, id);
            self.serve_switch_port(switch, egress);
        }
    }

    /// Sends the next packet of a port, if its wire is idle and some class may go.
    pub(crate) fn serve_switch_port(&mut self, switch: SwitchId, port: PortId) {
        let state = &mut self.ports[port.index()];
        if !state.up {
            return;
        }
        let Some(class) = state.next_class(self.settings.priorities.scheduling) else { return };
        if state.is_busy(self.now, self.running) {
            self.serve_when_free(port);
            return;
        }
        let Some(id) = state.dequeue(&self.packets, class) else { return };
        self.dispatch(switch, port, class, id);
        if self.ports[port.index()].next_class(self.settings.priorities.scheduling).is_some() {
            self.serve_when_free(port);
        }
    }

    /// Puts a packet that has left its queue on the wire.
    fn dispatch(&mut self, switch: SwitchId, port: PortId, class: usize, id: PacketId) {
        if class != CONTROL {
            self.let_go(switch, port, class, id);
        }
        self.record_hop(port, id);
        self.transmit(port, id);
    }

    /// What happens when a packet leaves its queue: it may be marked by what stays behind, and its buffer is free.
    #[inline]
    fn let_go(&mut self, switch: SwitchId, port: PortId, class: usize, id: PacketId) {
        let packet = &mut self.packets[id];
        let egress = &self.ports[port.index()];
        if egress.queued() > 0
            && self.marker.marks(&self.link_kinds[egress.kind].thresholds, egress.queued_in(class))
        {
            packet.marked = true;
            self.totals.marks += 1;
        }
        self.free_buffer(switch, class, id);
    }

    /// The packet no longer takes buffer, and a sender that was paused for it may go on.
    #[inline]
    pub(crate) fn free_buffer(&mut self, switch: SwitchId, class: usize, id: PacketId) {
        let packet = &self.packets[id];
        let wire = packet.wire_before;
        let account = &mut self.ports[wire.index()];
        let limits = self.link_kinds[account.kind].limits;
        let held = account.held(class);
        let buffer = &mut self.switches[switch.index()].buffer;
        buffer.release(held, u64::from(packet.wire));
        if buffer.should_resume(held, limits) {
            self.send_pause(switch, wire, class, false);
        }
    }

    /// Tells the sender at the other end of `wire` to stop or to go on.
    fn send_pause(&mut self, switch: SwitchId, wire: PortId, class: usize, pause: bool) {
        self.ports[wire.index()].held(class).paused = pause;
        let id = self.packets.take();
        self.totals.created += 1;
        let packet = &mut self.packets[id];
        packet.kind = if pause { Kind::Pause } else { Kind::Resume };
        packet.sequence = class as u64;
        packet.wire = PAUSE_BYTES as u16;
        let count = if pause { &mut self.totals.pauses } else { &mut self.totals.resumes };
        *count += 1;
        let back = wire.reverse();
        self.ports[back.index()].enqueue(&mut self.packets, CONTROL, id);
        self.serve_switch_port(switch, back);
    }

    /// Writes the state of the port into a data packet that asks for it.
    #[inline]
    fn record_hop(&mut self, port: PortId, id: PacketId) {
        let packet = &mut self.packets[id];
        if packet.kind != Kind::Data || packet.telemetry == TelemetryId::NONE {
            return;
        }
        let state = &self.ports[port.index()];
        let rate = self.link_kinds[state.kind].rate;
        let record = hop_record(self.now, state.transmitted, state.queued(), rate);
        self.telemetry.push(packet, if self.compatible { quantised(record) } else { record });
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
