//! Switches: store and forward, output queues, shared buffer, marks, telemetry, pauses.

use trialwise_congestion::HopRecord;
use trialwise_units::{Bytes, Rate, Time};

use crate::buffer::{CONTROL, PAUSE_BYTES};
use crate::index::{PacketId, PortId, SwitchId};
use crate::network::Network;
use crate::packet::Kind;
use crate::routing::{data_hash, reply_hash};

/// Quanta of the telemetry of the HPCC simulator, for each 25 Gbit/s of the link.
const TRANSMITTED_QUANTUM: u64 = 128;
const QUEUE_QUANTUM: u64 = 80;
const QUANTUM_RATE: u64 = 25_000_000_000;

impl Network<'_> {
    /// A packet has come in through `ingress`.
    pub(crate) fn arrive_at_switch(&mut self, switch: SwitchId, ingress: PortId, id: PacketId) {
        match self.packets[id].kind {
            Kind::Pause | Kind::Resume => {
                self.obey_pause(ingress, id);
                self.serve_switch_port(switch, ingress);
            }
            Kind::Data | Kind::Acknowledgement | Kind::NegativeAcknowledgement => {
                match self.egress(switch, id) {
                    Some(egress) => self.forward(switch, ingress, egress, id),
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

    /// The way to the packet's destination: by the hash of its addresses and ports where several are as
    /// short.
    fn egress(&self, switch: SwitchId, id: PacketId) -> Option<PortId> {
        let packet = &self.packets[id];
        let flow = &self.flows[packet.flow.index()];
        let node = self.switches[switch.index()].node;
        if packet.kind == Kind::Data {
            let hash = || data_hash(node, flow.source_node, flow.destination_node, flow.source_port);
            self.routes().next(node, flow.destination.index(), hash)
        } else {
            let hash = || reply_hash(node, flow.source_node, flow.destination_node, flow.source_port);
            self.routes().next(node, flow.source.index(), hash)
        }
    }

    fn forward(&mut self, switch: SwitchId, ingress: PortId, egress: PortId, id: PacketId) {
        let first = self.settings.priorities.acknowledgements_first_in_switches;
        let packet = &mut self.packets[id];
        packet.ingress = ingress;
        let class = if first && packet.kind != Kind::Data { CONTROL } else { usize::from(packet.class) };
        let size = u64::from(packet.wire);
        if class != CONTROL {
            let buffer = &mut self.switches[switch.index()].buffer;
            let port = &mut self.ports[ingress.index()];
            if !buffer.admit(&mut port.held[class], port.limits, size) {
                self.totals.dropped_buffer += 1;
                self.discard(id);
                return;
            }
            if buffer.should_pause(&port.held[class], port.limits) {
                self.send_pause(switch, ingress, class, true);
            }
        }
        self.ports[egress.index()].enqueue(&mut self.packets, class, id);
        self.serve_switch_port(switch, egress);
    }

    /// Sends the next packet of a port, if its wire is idle and some class may go.
    pub(crate) fn serve_switch_port(&mut self, switch: SwitchId, port: PortId) {
        let state = &self.ports[port.index()];
        if !state.up {
            return;
        }
        let Some(class) = state.next_class() else { return };
        if self.is_busy(port) {
            self.serve_when_free(port);
            return;
        }
        let Some(id) = self.ports[port.index()].dequeue(&self.packets, class) else { return };
        if class != CONTROL {
            self.let_go(switch, port, class, id);
        }
        self.record_hop(port, id);
        self.transmit(port, id);
        if self.ports[port.index()].next_class().is_some() {
            self.serve_when_free(port);
        }
    }

    /// What happens when a packet leaves its queue: its buffer is free, it may be marked by what stays
    /// behind, and a paused sender may go on.
    fn let_go(&mut self, switch: SwitchId, port: PortId, class: usize, id: PacketId) {
        self.release_buffer(switch, class, id);
        let egress = &self.ports[port.index()];
        if self.marker.marks(&egress.thresholds, egress.queued_in(class)) {
            self.packets[id].marked = true;
            self.totals.marks += 1;
        }
        let ingress = self.packets[id].ingress;
        let account = &self.ports[ingress.index()];
        if self.switches[switch.index()].buffer.should_resume(&account.held[class], account.limits) {
            self.send_pause(switch, ingress, class, false);
        }
    }

    pub(crate) fn release_buffer(&mut self, switch: SwitchId, class: usize, id: PacketId) {
        let packet = &self.packets[id];
        let account = &mut self.ports[packet.ingress.index()];
        self.switches[switch.index()].buffer.release(&mut account.held[class], u64::from(packet.wire));
    }

    /// Tells the sender behind `ingress` to stop or to go on.
    fn send_pause(&mut self, switch: SwitchId, ingress: PortId, class: usize, pause: bool) {
        self.ports[ingress.index()].held[class].paused = pause;
        let id = self.packets.take();
        self.totals.created += 1;
        let packet = &mut self.packets[id];
        packet.kind = if pause { Kind::Pause } else { Kind::Resume };
        packet.sequence = class as u64;
        packet.wire = PAUSE_BYTES as u16;
        let count = if pause { &mut self.totals.pauses } else { &mut self.totals.resumes };
        *count += 1;
        self.ports[ingress.index()].enqueue(&mut self.packets, CONTROL, id);
        self.serve_switch_port(switch, ingress);
    }

    /// Writes the state of the port into a data packet that asks for it.
    fn record_hop(&mut self, port: PortId, id: PacketId) {
        if self.packets[id].kind != Kind::Data {
            return;
        }
        if let Some(block) = self.telemetry.get_mut(self.packets[id].telemetry) {
            let state = &self.ports[port.index()];
            let record = hop_record(self.now, state.statistics.transmitted, state.queued(), state.rate);
            block.push(if self.compatible { quantised(record) } else { record });
        }
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
