//! Both ends of a flow: sending, acknowledging, completing, repairing.

use trialwise_congestion::{Acknowledgement, Controller, Loss, Sent, Timeout};
use trialwise_units::{Bytes, Duration, Ecn, Rate};

use super::Network;
use crate::flow::{RETRANSMISSION, UNLIMITED};
use crate::index::{CardId, FlowId, PacketId, PortId};
use crate::packet::{Kind, Packet};
use crate::paths::Path;

/// The resolution of the retransmission clock.
const CLOCK_GRANULARITY: Duration = Duration::from_microseconds(1);
/// The time-out doubles at most this often.
const MAXIMUM_DOUBLINGS: u32 = 10;

impl Network<'_> {
    /// Sends the next packet of a flow through its host's port.
    pub(super) fn send_data(&mut self, port: PortId, flow_id: FlowId) {
        let flow = &mut self.flows[flow_id];
        let payload = self.terms.settings.segment.get().min(flow.size - flow.sent);
        let id = self.packets.take();
        let packet = &mut self.packets[id];
        packet.flow = flow_id;
        packet.sequence = flow.sent;
        packet.stamp = self.clock.now();
        packet.wire = (payload + self.terms.data_header) as u16;
        packet.step = Path::DATA;
        packet.class = flow.class;
        if self.terms.carries_telemetry {
            self.packets.add_telemetry(id);
        }
        flow.sent += payload;
        flow.last_wire = payload + self.terms.data_header;
        let (rate, wire) = (flow.rate, flow.last_wire);
        self.totals.created += 1;
        self.totals.data_sent += 1;
        self.wires.transmit(port, id, &mut self.packets, &mut self.clock);
        let interval = self.pacing_interval(flow_id, rate, wire);
        self.flows[flow_id].next_departure = self.clock.now() + interval;
        self.after_sending(flow_id, payload);
    }

    /// How long `wire` bytes take at the flow's rate.
    fn pacing_interval(&mut self, flow: FlowId, rate: u64, wire: u64) -> Duration {
        if rate == UNLIMITED {
            return Duration::ZERO;
        }
        let interval = &mut self.flows.transport_mut(flow).interval;
        if (interval.0, interval.1) != (rate, wire) {
            *interval = (rate, wire, self.terms.quantum.transmission(wire, rate));
        }
        interval.2
    }

    fn after_sending(&mut self, flow_id: FlowId, payload: u64) {
        let (flow, transport) = self.flows.both(flow_id);
        let retransmission = flow.sent <= transport.highest;
        transport.highest = transport.highest.max(flow.sent);
        self.totals.data_resent += u64::from(retransmission);
        let now = self.clock.now();
        if let Some(log) = &mut transport.log {
            log.on_sent(now, payload, flow.in_flight());
            if !flow.has_data() && flow.window_is_open() {
                log.on_application_limited(flow.in_flight());
            }
        }
        transport.packets += 1;
        transport.controller.on_sent(&Sent {
            now,
            number: transport.packets - 1,
            bytes: Bytes::new(payload),
            in_flight: Bytes::new(flow.in_flight()),
            retransmission,
        });
        if transport.timers[RETRANSMISSION].deadline.is_none() {
            self.arm_retransmission(flow_id);
        }
    }

    /// Whether data that came before are acknowledged again. The reference, which has no time-outs, ignores them; a
    /// time-out after a lost acknowledgement would send them for ever.
    const fn repeats_what_is_known(&self) -> bool {
        !self.terms.compatible || self.terms.settings.recovery.minimum_timeout.is_some()
    }

    /// Data have arrived: what was expected is acknowledged, a gap is reported, what came before is said
    /// again (or, in the reference, ignored).
    pub(super) fn receive_data(&mut self, card: CardId, id: PacketId) {
        let packet = self.packets[id];
        let repeats = self.repeats_what_is_known();
        let others_wait = self.flows.wait();
        let flow = &mut self.flows[packet.flow];
        let mut completes = false;
        let kind = match packet.sequence.cmp(&flow.expected) {
            std::cmp::Ordering::Equal => {
                flow.expected += u64::from(packet.wire) - self.terms.data_header;
                completes = others_wait && flow.expected >= flow.size;
                Some(Kind::Acknowledgement)
            }
            std::cmp::Ordering::Less => repeats.then_some(Kind::Acknowledgement),
            std::cmp::Ordering::Greater => {
                let report = flow.gap != flow.expected || self.clock.now() >= flow.gap_report_after;
                if report {
                    flow.gap = flow.expected;
                    flow.gap_report_after = self.clock.now() + self.terms.settings.recovery.repeat_after;
                }
                report.then_some(Kind::NegativeAcknowledgement)
            }
        };
        let expected = flow.expected;
        if completes {
            self.flows.note_receipt(packet.flow, self.clock.now());
            self.expect_launch(self.clock.now());
        }
        match kind {
            Some(kind) => self.acknowledge(card, id, kind, expected),
            None => self.consume(id),
        }
    }

    /// Turns a data packet into its acknowledgement and sends it back.
    fn acknowledge(&mut self, card: CardId, id: PacketId, kind: Kind, expected: u64) {
        self.totals.negative_acknowledgements += u64::from(kind == Kind::NegativeAcknowledgement);
        let wire = self.terms.acknowledgement_wire as u16;
        let packet = &mut self.packets[id];
        packet.kind = kind;
        packet.received = self.clock.now();
        packet.sequence = expected;
        packet.wire = wire;
        packet.step = Path::REPLY;
        packet.echoes_mark = packet.marked;
        packet.marked = false;
        let flow = packet.flow;
        let chosen = if self.terms.fabric.has_choice_at_hosts() { self.flows[flow].reply_card } else { card };
        self.queue_acknowledgement(chosen, id);
    }

    /// An acknowledgement has come back to the sender, which may send again whatever it says.
    pub(super) fn receive_acknowledgement(&mut self, id: PacketId) {
        let packet = self.packets[id];
        let flow_id = packet.flow;
        let flow = &mut self.flows[flow_id];
        if flow.is_finished() {
            self.consume(id);
            return;
        }
        let card = flow.card;
        let newly = packet.sequence.saturating_sub(flow.acknowledged);
        flow.acknowledged += newly;
        self.ending.acknowledge(newly);
        flow.sent = flow.sent.max(flow.acknowledged);
        if flow.acknowledged >= flow.size {
            self.complete(flow_id);
        } else {
            self.log_arrival(flow_id, &packet);
            if packet.kind == Kind::NegativeAcknowledgement {
                self.go_back(flow_id);
            }
            self.inform(flow_id, &packet, newly);
        }
        self.consume(id);
        self.serve_card(card);
    }

    fn complete(&mut self, flow_id: FlowId) {
        self.flows.finish(flow_id, self.clock.now());
        if self.flows.wait() {
            self.expect_launch(self.clock.now());
        } else {
            self.count_finished(flow_id);
        }
    }

    /// The receiver misses something: everything from there on is sent again.
    fn go_back(&mut self, flow_id: FlowId) {
        let (flow, transport) = self.flows.both(flow_id);
        let lost = flow.in_flight();
        let reports = transport.log.as_mut().map_or(&[][..], |log| {
            log.on_lost_below(u64::MAX);
            log.losses()
        });
        let new_episode = flow.acknowledged >= transport.recover;
        if new_episode {
            transport.recover = transport.highest;
            transport.repairing = true;
        }
        flow.sent = flow.acknowledged;
        transport.controller.on_loss(&Loss {
            now: self.clock.now(),
            bytes: Bytes::new(lost),
            new_episode,
            in_flight: Bytes::ZERO,
            next_sequence: transport.highest,
            reports,
        });
    }

    /// Takes the packet that is acknowledged out of those in flight, where the controller is told of each.
    fn log_arrival(&mut self, flow_id: FlowId, packet: &Packet) {
        let (_, transport) = self.flows.both(flow_id);
        if let Some(log) = &mut transport.log {
            // A host's port sends one packet after the other.
            let number = log.number_of(packet.stamp).unwrap_or(u64::MAX);
            log.on_arrived(self.clock.now(), number, packet.received);
        }
    }

    /// Tells the controller what the acknowledgement says, and takes over what it decides.
    fn inform(&mut self, flow_id: FlowId, packet: &Packet, newly: u64) {
        let (flow, transport) = self.flows.both(flow_id);
        let rtt = self.clock.now() - packet.stamp;
        if self.terms.settings.recovery.minimum_timeout.is_some() {
            transport.round_trip.update(rtt);
        }
        transport.controller.on_acknowledgement(&Acknowledgement {
            now: self.clock.now(),
            acknowledged: Bytes::new(newly),
            cumulative: flow.acknowledged,
            next_sequence: flow.sent,
            in_flight: Bytes::new(flow.in_flight()),
            in_recovery: transport.repairing && flow.acknowledged < transport.recover,
            rtt: Some(rtt),
            one_way_delay: Some(packet.received - packet.stamp),
            packets: 1,
            marked_packets: u32::from(packet.echoes_mark),
            ect0_packets: u32::from(!packet.echoes_mark && self.terms.ecn == Ecn::Capable0),
            ect1_packets: u32::from(!packet.echoes_mark && self.terms.ecn == Ecn::Capable1),
            rate_sample: transport.log.as_ref().and_then(|log| log.sample()),
            application_limited: !flow.has_data(),
            hops: self.packets.records(packet),
            reports: transport.log.as_ref().map_or(&[], |log| log.arrivals()),
            note: &[],
        });
        if newly > 0 {
            transport.repetition = 0;
            self.arm_retransmission(flow_id);
        }
        self.take_over(flow_id);
    }

    /// Takes over the controller's window, rate and timers.
    pub(super) fn take_over(&mut self, flow_id: FlowId) {
        let (flow, transport) = self.flows.both(flow_id);
        let controller = &transport.controller;
        flow.window = controller.window().map_or(UNLIMITED, Bytes::get);
        let rate = controller.pacing_rate().map_or(UNLIMITED, Rate::bits_per_second);
        let before = std::mem::replace(&mut flow.rate, rate);
        if controller.repaces_waiting_packet() {
            self.repace(flow_id, before, rate);
        }
        self.take_over_timers(flow_id);
    }

    /// Moves the next departure to where the new rate would have put it.
    fn repace(&mut self, flow_id: FlowId, before: u64, rate: u64) {
        let flow = &mut self.flows[flow_id];
        if before != rate && before != UNLIMITED && rate != UNLIMITED {
            let interval = |rate| self.terms.quantum.transmission(flow.last_wire, rate);
            flow.next_departure = flow.next_departure + interval(rate) - interval(before);
        }
        let (card, departure) = (flow.card, flow.next_departure);
        self.advance_wake(card, departure);
    }

    /// Restarts the retransmission timer, where the settings want one (RFC 6298, section 5).
    fn arm_retransmission(&mut self, flow_id: FlowId) {
        let Some(minimum) = self.terms.settings.recovery.minimum_timeout else { return };
        let flow = &self.flows[flow_id];
        let transport = self.flows.transport(flow_id);
        let deadline = (flow.in_flight() > 0).then(|| {
            let timeout = transport.round_trip.timeout(CLOCK_GRANULARITY, minimum).unwrap_or(minimum);
            self.clock.now() + timeout * (1 << transport.repetition.min(MAXIMUM_DOUBLINGS))
        });
        self.set_timer(flow_id, RETRANSMISSION, deadline);
    }

    /// Nothing came back in time: everything is sent again.
    pub(super) fn on_retransmission_timer(&mut self, flow_id: FlowId) {
        self.totals.timeouts += 1;
        let (flow, transport) = self.flows.both(flow_id);
        let lost = flow.in_flight();
        flow.sent = flow.acknowledged;
        transport.recover = transport.highest;
        transport.repairing = false;
        transport.repetition += 1;
        if let Some(log) = &mut transport.log {
            log.on_lost_below(u64::MAX);
        }
        transport.controller.on_timeout(&Timeout {
            now: self.clock.now(),
            in_flight: Bytes::new(lost),
            next_sequence: flow.sent,
            repetition: transport.repetition,
        });
    }
}
