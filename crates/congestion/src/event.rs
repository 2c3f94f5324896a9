//! What a driver tells a controller.

use trialwise_units::{Bytes, Duration, Rate, Time};

/// A packet that has just been handed to the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Of this packet: the first of a flow is 0, and each one sent has the next number, whatever it carries.
    pub number: u64,
    /// Payload of this packet.
    pub bytes: Bytes,
    /// Payload sent and neither acknowledged nor deemed lost, with this packet.
    pub in_flight: Bytes,
    /// Whether this is a retransmission.
    pub retransmission: bool,
}

/// What a source has written that has not been sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Payload, with what is to be sent again.
    pub bytes: Bytes,
    /// Since the source made the oldest of it that was never sent; 0 where all was.
    pub age: Duration,
}

/// One acknowledgement that has just arrived. It may acknowledge nothing new and still carry marks or
/// records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// When it arrived at the sender.
    pub now: Time,
    /// Payload that this acknowledgement is the first to report as received, cumulatively or selectively.
    pub acknowledged: Bytes,
    /// Every byte below this offset has been received.
    pub cumulative: u64,
    /// The offset that the next new packet will have (`snd_nxt`): what is sent now is acknowledged one round
    /// trip later.
    pub next_sequence: u64,
    /// Payload sent and neither acknowledged nor deemed lost, after this acknowledgement.
    pub in_flight: Bytes,
    /// Whether the sender still repairs a loss: until what was sent before the episode began is acknowledged
    /// (RFC 6582, section 3.2; RFC 9002, section 7.3.2). Window-based controllers do not grow meanwhile.
    pub in_recovery: bool,
    /// Round-trip time of the newest packet acknowledged; none where it was retransmitted (Karn) or nothing
    /// is new.
    pub rtt: Option<Duration>,
    /// One-way delay of that packet, up to a constant: clocks of two machines differ, so only differences
    /// mean something. The driver fixes the origin for a flow such that the value is never negative.
    pub one_way_delay: Option<Duration>,
    /// Packets whose arrival this acknowledgement reports, new or not; 1 where each packet is acknowledged by
    /// itself.
    pub packets: u32,
    /// How many of them carried a congestion mark (ECN CE; a congestion notification packet counts as one).
    pub marked_packets: u32,
    /// How many of them carried ECT(0), as the receiver saw them.
    pub ect0_packets: u32,
    /// How many of them carried ECT(1), as the receiver saw them: with the marked ones, the packets that a path which leaves the ECN
    /// field alone carries for a sender of ECT(1).
    pub ect1_packets: u32,
    /// What was delivered over the newest packet's flight; a driver that does not measure it says none.
    pub rate_sample: Option<RateSample>,
    /// Whether that packet was sent while the application, not the window or the pacing, held the flow back:
    /// then a window should not grow (RFC 9438, section 5.8; RFC 9002, section 7.8).
    pub application_limited: bool,
    /// In-band telemetry that the packet collected, first switch first; empty where there is none.
    pub hops: &'a [HopRecord],
    /// Each packet whose arrival this is the first to report, those too that were deemed lost before; empty
    /// where the controller does not ask for it ([`Feedback::Packets`](crate::Feedback::Packets)).
    pub reports: &'a [PacketReport],
    /// What the receiver's half of the scheme wrote into the answer ([`ReceiverHalf::note`](crate::ReceiverHalf::note)), as it came: any
    /// bytes, up to 64. Empty where there is no such half.
    pub note: &'a [u8],
}

/// What became of a packet. Only of packets that were sent, and never with an arrival that cannot be: the driver
/// leaves out what a receiver cannot know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// [`Sent::number`].
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// Its payload.
    pub bytes: Bytes,
    /// Whether it has arrived, or is deemed lost.
    pub outcome: PacketOutcome,
}

/// See [`PacketReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// At this time of the receiver's clock, where the receiver has told it. Only differences mean something: the
    /// driver fixes the origin for a flow such that no packet arrives before it is sent.
    Arrived(Option<Time>),
    /// It may be reported once more, as returned.
    Lost,
    /// It has arrived after it was deemed lost.
    Returned,
}

/// A sample of the delivery rate, for the newest packet that an acknowledgement reports (draft-ietf-ccwg-bbr,
/// section "Delivery Rate Samples"; in its words `RS`, of a connection `C` and this packet `P`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// `C.delivered`: payload delivered in all.
    pub delivered: Bytes,
    /// `P.delivered`: what that was when the packet was sent.
    pub prior_delivered: Bytes,
    /// `RS.interval`: the longer of the times in which that was sent and acknowledged; above 0.
    pub interval: Duration,
    /// `RS.lost`: payload deemed lost since the packet was sent.
    pub lost: Bytes,
    /// `P.tx_in_flight`: payload in flight when the packet was sent, with it.
    pub in_flight_when_sent: Bytes,
    /// `P.is_app_limited`: whether the rate is a lower bound, as the application held the flow back until what was
    /// in flight then was delivered.
    pub application_limited: bool,
}

impl RateSample {
    /// `RS.delivery_rate`.
    pub fn rate(&self) -> Rate {
        let delivered = self.delivered.get().saturating_sub(self.prior_delivered.get());
        Rate::from_bits_per_second((delivered as f64 * 8.0 / self.interval.as_seconds()) as u64)
    }
}

/// What a switch wrote into a packet as it left (in-band network telemetry; HPCC, SIGCOMM 2019, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRecord {
    /// When the packet left the egress queue.
    pub time: Time,
    /// Bytes that the egress port had sent before this packet, since it came up.
    pub transmitted: u64,
    /// Bytes left in the egress port's queues.
    pub queue: Bytes,
    /// Rate of the egress link.
    pub rate: Rate,
}

/// Packets deemed lost (not by a time-out).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss<'a> {
    /// When the sender learnt it.
    pub now: Time,
    /// Payload newly deemed lost.
    pub bytes: Bytes,
    /// Whether this opens a new episode: the first loss among packets sent after the last reduction. A
    /// controller reduces once for an episode.
    pub new_episode: bool,
    /// Payload still in flight without what is lost.
    pub in_flight: Bytes,
    /// The offset that the next new packet will have.
    pub next_sequence: u64,
    /// Each packet newly deemed lost; empty where the controller does not ask for it
    /// ([`Feedback::Packets`](crate::Feedback::Packets)).
    pub reports: &'a [PacketReport],
}

/// The retransmission timer has expired: everything in flight is deemed lost (RFC 6298, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub now: Time,
    /// Payload that was in flight.
    pub in_flight: Bytes,
    /// The offset from which the sender starts again.
    pub next_sequence: u64,
    /// Time-outs in a row for the same data, this one included: 1 for the first. The slow-start threshold is
    /// lowered at the first only (RFC 5681, section 3.1).
    pub repetition: u32,
}
