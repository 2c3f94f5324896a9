//! The sending end of one way: what may leave and when, what has arrived, what is lost (RFC 9002).

use std::collections::VecDeque;
use std::ops::Range;

use trialwise_congestion::{
    Acknowledgement, AnyController, Backlog, Controller, Delivery, Loss, Phase, RoundTrip, Sent, State,
    Timeout,
};
use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::episode::{Episodes, Lost, Outcome};
use crate::flight::{Flight, Packet};
use crate::frame::{Answer, Data, Pace, PacketCounts};
use crate::message::{Message, Messages, PART_BYTES, Part};
use crate::opening::Opening;
use crate::origin::{Origin, round_trip};
use crate::pacer::{Pacer, USUALLY_TOGETHER};
use crate::ranges::RangeSet;
use crate::report::RttTotals;
use crate::reports::Reports;

/// `kPacketThreshold` (RFC 9002, section 6.1.1) at the beginning; it grows to what reordering asks for, as RFC 8985, section
/// 7 has it, up to that of Linux (`tcp_max_reordering`).
const PACKET_THRESHOLD: u64 = 3;
const MAX_PACKET_THRESHOLD: u64 = 300;
/// `kGranularity` (RFC 9002, section 6.1.2).
const GRANULARITY: Duration = Duration::from_milliseconds(1);
/// The same for probe time-outs: a thread of a busy machine may wake so late.
const TIMEOUT_GRANULARITY: Duration = Duration::from_milliseconds(10);
/// `kInitialRtt` (section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_milliseconds(333);
/// Packets that a probe time-out may send beyond window and rate (section 6.2.4: one or two).
const PROBES: u32 = 2;
/// No time-out that gives up what is in flight comes earlier than this after the last packet (Linux's `TCP_RTO_MIN`).
const MINIMUM_TIMEOUT: Duration = Duration::from_milliseconds(200);
/// A time-out doubles at most so often.
const MAX_DOUBLINGS: u32 = 10;
/// What a rate of the controller misses because the thread woke late is made up for, up to so much.
const MAX_LATE: Duration = Duration::from_milliseconds(100);
/// Of a window that is spread over its round trip no more leaves together than ten packets (RFC 9002, section 7.7), or, as
/// threads do not wake more precisely, a millisecond's worth.
const BURST: u64 = 10;
const BURST_TIME: Duration = Duration::from_milliseconds(1);
/// `N` of RFC 9002, section 7.7, and, while the window doubles in a round trip, what it then takes.
const SPREAD: f64 = 1.25;
const SPREAD_IN_SLOW_START: f64 = 2.0;
/// However fast packets come, a round trip has so many answers.
const ANSWERS_IN_ROUND_TRIP: u64 = 8;

/// Payload that may leave now, under this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Of the packet.
    pub number: u64,
    /// Of its first byte.
    pub offset: u64,
    /// Payload.
    pub length: u64,
    /// See [`Data::pace`].
    pub pace: Pace,
    /// In how much time the next one is due, where the controller says so.
    pub next: Option<Duration>,
    /// Of which message it is, where it is of one.
    pub part: Option<Part>,
}

impl Departure {
    /// As it stands in a frame.
    pub const fn data(&self, opening: Option<Opening>) -> Data {
        let Self { number, offset, length, pace, next, part } = *self;
        Data { number, offset, length, pace, opening, next, part }
    }
}

/// What a sender has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub packets: u64,
    /// Those of them that carried payload sent before.
    pub retransmits: u64,
    /// Packets deemed lost.
    pub lost: u64,
    /// Packets deemed lost that arrived after all.
    pub returned: u64,
    /// Time-outs that gave up everything in flight.
    pub timeouts: u64,
    /// Probes sent beyond the window.
    pub probes: u64,
    /// Acknowledged packets with a congestion mark.
    pub marked: u64,
}

/// What an answer brought.
#[derive(Default)]
struct Arrived {
    /// Payload that no answer had reported before.
    payload: u64,
    packets: u32,
    newest: Option<(u64, Packet)>,
}

/// How much payload packets hold.
#[derive(Clone, Copy, Debug)]
pub struct Segments {
    /// Every packet.
    pub full: u64,
    /// The one that begins the stream.
    pub first: u64,
}

/// The sending end.
pub struct Sender {
    controller: AnyController,
    segments: Segments,
    flight: Flight,
    /// Payload that is to be sent again.
    lost: VecDeque<Range<u64>>,
    acknowledged: RangeSet,
    delivered: u64,
    written: u64,
    messages: Messages,
    next_offset: u64,
    largest: Option<u64>,
    packet_threshold: u64,
    pacer: Pacer,
    spreads_window: bool,
    /// When packets ask to be answered.
    pace: Pace,
    keeps_answers_apart: bool,
    reports: Reports,
    delivery: Delivery,
    episodes: Episodes,
    round_trip: RoundTrip,
    rtt_totals: RttTotals,
    delivery_rate: Option<Rate>,
    origin: Origin,
    /// What answers have counted.
    counted: PacketCounts,
    last_sent: Time,
    /// When an answer came last, or something was sent that nothing else awaited.
    heard: Time,
    /// Time-outs since something arrived.
    expiries: u32,
    probes: u32,
    idle_since: Option<Time>,
    counters: Counters,
}

impl Sender {
    /// A sender with nothing to send yet.
    pub fn new(controller: AnyController, segments: Segments, now: Time) -> Self {
        let mut pacer = Pacer::default();
        pacer.restart(now);
        Self {
            controller,
            segments,
            flight: Flight::default(),
            lost: VecDeque::new(),
            acknowledged: RangeSet::default(),
            delivered: 0,
            written: 0,
            messages: Messages::default(),
            next_offset: 0,
            largest: None,
            packet_threshold: PACKET_THRESHOLD,
            pacer,
            spreads_window: false,
            pace: Pace::default(),
            keeps_answers_apart: false,
            reports: Reports::default(),
            delivery: Delivery::default(),
            episodes: Episodes::default(),
            round_trip: RoundTrip::new(),
            rtt_totals: RttTotals::default(),
            delivery_rate: None,
            origin: Origin::default(),
            counted: PacketCounts::default(),
            last_sent: now,
            heard: now,
            expiries: 0,
            probes: 0,
            idle_since: None,
            counters: Counters::default(),
        }
    }

    /// Spreads windows over their round trips where the controller names no rate. Otherwise acknowledgements that are read
    /// together, as on a busy machine, let as many packets leave together.
    #[must_use]
    pub fn spreading_windows(self) -> Self {
        Self { spreads_window: true, ..self }
    }

    /// Asks for answers at this pace, in whole milliseconds, each with the arrivals of packets; zero for answers to whatever the
    /// receiver has read.
    #[must_use]
    pub fn answered_every(self, pace: Duration) -> Self {
        let milliseconds = u16::try_from(pace.milliseconds()).unwrap_or(u16::MAX).min(Pace::MAX_LISTING);
        let pace = if milliseconds == 0 { Pace::default() } else { Pace::Listing(milliseconds) };
        Self { pace, ..self }
    }

    /// Lets answers to whatever the receiver has read come 150 us apart, or an eighth of the round trip where that is shorter: for
    /// machines that each answer costs time, and that let as much leave together.
    #[must_use]
    pub fn keeping_answers_apart(self) -> Self {
        Self { keeps_answers_apart: true, ..self }
    }

    /// Tells the controller of each packet by itself.
    #[must_use]
    pub fn reporting_packets(self) -> Self {
        Self { reports: Reports::wanted(), ..self }
    }

    /// The application has written so many bytes in all.
    pub fn write(&mut self, written: u64) {
        self.note_application_limit();
        self.written = self.written.max(written);
    }

    /// The application has written a message. Nothing but messages is written to such a sender.
    pub fn write_message(&mut self, now: Time, message: Message) {
        self.messages.push(self.written, message);
        self.write(self.written + u64::from(message.size));
        self.tell_backlog(now);
    }

    /// Gives up the messages whose deadlines have passed.
    pub fn abandon(&mut self, now: Time) {
        let Some(end) = self.messages.expire(now) else { return };
        if self.next_offset < end {
            self.acknowledged.insert(self.next_offset..end);
            self.next_offset = end;
            self.settle();
        }
    }

    /// Messages given up since this was asked last.
    pub fn take_abandoned(&mut self) -> u64 {
        self.messages.take_abandoned()
    }

    /// When the oldest message of which something has never been sent came into being.
    pub fn queued_since(&self) -> Option<Time> {
        self.messages.captured_at(self.next_offset)
    }

    /// How long nothing has been heard, though something was awaited.
    pub fn silence(&self, now: Time) -> Duration {
        if self.is_waiting() { now - self.heard } else { Duration::ZERO }
    }

    /// What a source that adapts should produce: as the controller says, else what it lets out.
    pub fn source_rate(&self) -> Option<Rate> {
        let named = self.controller.target_rate().or_else(|| self.controller.pacing_rate());
        named.or_else(|| self.rate_of_window(1.0))
    }

    fn tell_backlog(&mut self, now: Time) {
        let again: u64 = self.lost.iter().map(|range| range.end - range.start).sum();
        let bytes = Bytes::new(self.written - self.next_offset + again);
        let age = self.queued_since().map_or(Duration::ZERO, |since| now - since);
        self.controller.on_backlog(now, &Backlog { bytes, age });
    }

    /// Forgets messages of which nothing is to be done any more.
    fn settle(&mut self) {
        if !self.messages.is_empty() {
            self.messages.settle(self.acknowledged.prefix());
        }
    }

    /// Payload acknowledged from the first byte on, without a gap.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.prefix()
    }

    /// Payload acknowledged in all.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Payload in flight.
    pub const fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    /// What it has done.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its estimate of the round trip.
    pub const fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// The latest sample of the delivery rate.
    pub const fn delivery_rate(&self) -> Option<Rate> {
        self.delivery_rate
    }

    /// What there is to see of the controller.
    pub fn state(&self) -> State {
        self.controller.state()
    }

    /// Whether nothing but acknowledgements says when packets leave.
    pub fn is_clocked_by_answers(&self) -> bool {
        !self.spreads_window && self.controller.pacing_rate().is_none()
    }

    /// The ECN field of its packets, where the flow's is `declared`.
    pub fn ecn(&self, declared: Ecn) -> Ecn {
        if self.controller.forgoes_ecn() { Ecn::NotCapable } else { declared }
    }

    /// Whether something is to come back: otherwise silence means nothing.
    pub fn is_waiting(&self) -> bool {
        !self.flight.is_empty() || !self.lost.is_empty()
    }

    /// All round-trip times.
    pub const fn rtt_totals(&self) -> &RttTotals {
        &self.rtt_totals
    }

    /// When something is to be done: [`Self::poll`] for a departure, [`Self::on_timer`] for the rest.
    pub fn next_event(&self) -> Option<Time> {
        let departure = self.may_send().then(|| self.pacer.next());
        [departure, self.next_timer()].into_iter().flatten().min()
    }

    /// Until when answers may lie unread, now: a packet leaves so soon that they are looked at together with it.
    pub fn rests_until(&self, now: Time) -> Option<Time> {
        let Pace::Apart(_) = self.pace else { return None };
        let departure = self.may_send().then(|| self.pacer.next())?;
        (now < departure && departure <= now + self.pace.span()).then_some(departure)
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn next_timer(&self) -> Option<Time> {
        let recovery = self.loss_time().or_else(|| self.timeout_time());
        [recovery, self.controller.next_timer()].into_iter().flatten().min()
    }

    /// The next payload to send, if any may leave now.
    pub fn poll(&mut self, now: Time) -> Option<Departure> {
        self.abandon(now);
        let is_probe = self.probes > 0;
        if !is_probe && !self.may_send() {
            self.pacer.interrupt();
            return None;
        }
        if !is_probe && !self.pacer.is_open(now) {
            return None;
        }
        let (payload, is_retransmission) = self.next_payload(is_probe)?;
        self.probes = self.probes.saturating_sub(1);
        self.counters.probes += u64::from(is_probe);
        self.end_idle(now);
        Some(self.depart(now, payload, is_retransmission))
    }

    fn may_send(&self) -> bool {
        (self.has_payload() || self.padding().is_some()) && self.has_window()
    }

    /// Payload to send once more, where the controller wants more than there is.
    fn padding(&self) -> Option<Range<u64>> {
        let newest = if self.controller.pads() { self.flight.newest() } else { None };
        newest.map(|packet| packet.payload.clone())
    }

    fn has_payload(&self) -> bool {
        !self.lost.is_empty() || self.next_offset < self.written
    }

    fn has_window(&self) -> bool {
        let after = Bytes::new(self.in_flight() + self.segments.full);
        self.flight.is_empty() || self.controller.window().is_none_or(|window| after <= window)
    }

    /// What is lost first, then what is new, then, as a probe, what has been in flight for the longest time, then padding.
    fn next_payload(&mut self, is_probe: bool) -> Option<(Range<u64>, bool)> {
        while let Some(range) = self.lost.pop_front() {
            if self.messages.is_expired_at(range.start) {
                self.acknowledged.insert(range);
                self.settle();
                continue;
            }
            let start = self.acknowledged.next_absent(range.start);
            if start < range.end {
                let missing = self.acknowledged.gap_in(start..range.end);
                let payload = start..missing.end.min(start + self.room_at(start));
                if payload.end < range.end {
                    self.lost.push_front(payload.end..range.end);
                }
                return Some((payload, true));
            }
        }
        let start = self.next_offset;
        if start < self.written {
            let end = self.messages.end_at(start).unwrap_or(self.written);
            self.next_offset = end.min(start + self.room_at(start));
            return Some((start..self.next_offset, false));
        }
        let oldest = self.flight.oldest().filter(|_| is_probe).map(|packet| (packet.payload.clone(), true));
        oldest.or_else(|| Some((self.padding()?, false)))
    }

    fn room_at(&self, offset: u64) -> u64 {
        let room = if offset == 0 { self.segments.first } else { self.segments.full };
        if self.messages.is_empty() { room } else { room - PART_BYTES as u64 }
    }

    fn end_idle(&mut self, now: Time) {
        if let Some(since) = self.idle_since.take() {
            self.controller.on_idle_restart(now, now - since);
        }
    }

    fn depart(&mut self, now: Time, payload: Range<u64>, retransmission: bool) -> Departure {
        if !self.is_waiting() {
            self.heard = now;
        }
        let (number, length) = (self.flight.next_number(), payload.end - payload.start);
        let in_flight = self.in_flight() + length;
        let departed = self.delivery.on_sent(now, length, in_flight);
        let (bytes, in_flight) = (Bytes::new(length), Bytes::new(in_flight));
        self.flight.push(Packet { payload: payload.clone(), departed, is_application_limited: false });
        self.controller.on_sent(&Sent { now, number, bytes, in_flight, retransmission });
        self.pace(now, bytes);
        self.last_sent = now;
        self.counters.packets += 1;
        self.counters.retransmits += u64::from(retransmission);
        let offset = payload.start;
        let part = self.messages.part_at(offset);
        if self.note_application_limit() {
            self.flight.limit_last();
        }
        let next = self.controller.next_departure().filter(|_| self.has_payload());
        Departure { number, offset, length, pace: self.pace, next, part }
    }

    /// Whether the application holds the flow back, which what is delivered from now on shows.
    fn note_application_limit(&mut self) -> bool {
        let is_limited = self.has_window() && !self.has_payload();
        if is_limited {
            self.delivery.on_application_limited(self.flight.bytes());
        }
        is_limited
    }

    fn pace(&mut self, now: Time, bytes: Bytes) {
        let rate = self.controller.pacing_rate();
        if let Some(rate) = rate {
            self.pacer.set_together(self.controller.burst().map(|burst| rate.transmission_time(burst)));
            let most_late = self.controller.lateness().unwrap_or(MAX_LATE);
            return self.pacer.on_sent(now, rate.transmission_time(bytes), most_late);
        }
        let gap = self.window_rate().map_or(Duration::ZERO, |rate| rate.transmission_time(bytes));
        self.pacer.on_sent(now, gap, BURST_TIME.max(gap * BURST));
    }

    /// `N congestion_window / smoothed_rtt` (RFC 9002, section 7.7), where that is wanted and known.
    fn window_rate(&self) -> Option<Rate> {
        let phase = self.spreads_window.then(|| self.controller.state().phase)?;
        let grows_fast = matches!(phase, Phase::SlowStart | Phase::ConservativeSlowStart);
        self.rate_of_window(if grows_fast { SPREAD_IN_SLOW_START } else { SPREAD })
    }

    /// So many windows in a round trip.
    fn rate_of_window(&self, windows: f64) -> Option<Rate> {
        let bits = windows * 8.0 * self.controller.window()?.get() as f64;
        Some(Rate::from_bits_per_second((bits / self.round_trip.smoothed()?.as_seconds()) as u64))
    }

    /// An answer is read now, that came at `arrival`: what passed in between, and at the receiver between the packet and the
    /// answer, is no part of the round-trip time.
    pub fn on_answer(&mut self, now: Time, arrival: Time, answer: &Answer) {
        if answer.largest >= self.flight.next_number() {
            return; // acknowledges what was never sent
        }
        self.heard = now;
        self.reports.begin_arrivals();
        let arrived = self.take_arrived(now, answer);
        let counted = self.count(answer.packets);
        if arrived.packets == 0 && counted.marked == 0 {
            if !answer.note.is_empty() {
                self.report(now, &arrived, None, None, counted, &answer.note);
            }
            return;
        }
        self.expiries = 0;
        self.probes = 0;
        self.largest = self.largest.max(Some(answer.largest));
        let newest = arrived.newest.as_ref().filter(|(number, _)| *number == answer.largest);
        let newest = newest.map(|(number, packet)| (*number, packet.sent()));
        let rtt = newest.and_then(|(_, sent)| round_trip(sent, arrival, answer.held));
        let one_way_delay = newest.and_then(|(_, sent)| self.origin.delay(sent, arrival, answer.arrival));
        if let Some(rtt) = rtt {
            self.round_trip.update(rtt);
            self.rtt_totals.add(rtt);
            if self.keeps_answers_apart {
                self.set_pace();
            }
        }
        self.detect_losses(now);
        if !self.messages.is_empty() {
            self.settle();
            self.tell_backlog(now);
        }
        self.reports.sort();
        if let Some(((number, _), delay)) = newest.zip(one_way_delay) {
            self.reports.date(number..number + 1, |sent| Some(sent + delay));
        }
        self.date(arrival, answer);
        self.report(now, &arrived, rtt, one_way_delay, counted, &answer.note);
        if self.flight.is_empty() && !self.has_payload() {
            self.idle_since = Some(now);
        }
    }

    fn set_pace(&mut self) {
        if let (Pace::Apart(_), Some(rtt)) = (self.pace, self.round_trip.minimum()) {
            let microseconds = (rtt / ANSWERS_IN_ROUND_TRIP).min(USUALLY_TOGETHER).nanoseconds() / 1000;
            self.pace = Pace::Apart(microseconds as u16);
        }
    }

    /// Says when each packet came that this answer is the first to acknowledge, as far as it can be so.
    fn date(&mut self, arrival: Time, answer: &Answer) {
        let answered = answer.arrival.saturating_add(answer.held);
        for run in &answer.arrivals {
            let came = answered.saturating_sub(u64::from(run.age) * 1000);
            let origin = &mut self.origin;
            let time = |sent| origin.delay(sent, arrival, came).map(|delay| sent + delay);
            self.reports.date(run.numbers.clone(), time);
        }
    }

    /// Packets that this answer is the first to count, by their ECN field. What cannot be is left out: counts that went back or do not
    /// add up, and more marks than packets have been sent.
    fn count(&mut self, told: PacketCounts) -> PacketCounts {
        let Some(new) = told.since(self.counted) else { return PacketCounts::default() };
        self.counted = told;
        let unmarked = self.counters.packets - self.counters.marked;
        let marked = new.marked.min(u32::try_from(unmarked).unwrap_or(u32::MAX));
        self.counters.marked += u64::from(marked);
        PacketCounts { marked, ..new }
    }

    /// Takes what has arrived out of what is in flight.
    fn take_arrived(&mut self, now: Time, answer: &Answer) -> Arrived {
        let mut arrived = Arrived::default();
        for numbers in &answer.ranges {
            let Self { flight, reports, delivery, acknowledged, .. } = self;
            flight.take(numbers, |number, packet| {
                reports.arrived(number, packet.sent(), packet.length());
                delivery.on_delivered(now, packet.length());
                arrived.packets += 1;
                arrived.payload += acknowledged.insert(packet.payload.clone());
                if arrived.newest.as_ref().is_none_or(|(newest, _)| number > *newest) {
                    arrived.newest = Some((number, packet.clone()));
                }
            });
            self.take_returned(now, numbers, answer.largest, &mut arrived);
        }
        self.flight.settle();
        arrived
    }

    /// Packets that were deemed lost and have arrived after all.
    fn take_returned(&mut self, now: Time, numbers: &Range<u64>, largest: u64, arrived: &mut Arrived) {
        while let Some((number, lost, outcome)) = self.episodes.take_arrived(numbers) {
            let Lost { payload, sent } = lost;
            self.counters.returned += 1;
            self.delivery.on_delivered(now, payload.end - payload.start);
            self.reports.returned(number, sent, payload.end - payload.start);
            arrived.packets += 1;
            arrived.payload += self.acknowledged.insert(payload);
            let distance = (largest + 1 - number).min(MAX_PACKET_THRESHOLD);
            self.packet_threshold = self.packet_threshold.max(distance);
            if outcome == Outcome::Spurious {
                self.controller.on_spurious(now);
            }
        }
    }

    /// Tells the controller what an answer brought.
    fn report(
        &mut self,
        now: Time,
        arrived: &Arrived,
        rtt: Option<Duration>,
        one_way_delay: Option<Duration>,
        counted: PacketCounts,
        note: &[u8],
    ) {
        self.delivered += arrived.payload;
        let newest = arrived.newest.as_ref();
        let rate_sample = newest.and_then(|(_, packet)| self.delivery.sample(&packet.departed));
        self.delivery_rate = rate_sample.map(|sample| sample.rate()).or(self.delivery_rate);
        self.controller.on_acknowledgement(&Acknowledgement {
            now,
            acknowledged: Bytes::new(arrived.payload),
            cumulative: self.acknowledged(),
            next_sequence: self.next_offset,
            in_flight: Bytes::new(self.in_flight()),
            in_recovery: newest.is_some_and(|(number, _)| self.episodes.is_in_recovery(*number)),
            rtt,
            one_way_delay,
            packets: arrived.packets,
            marked_packets: counted.marked,
            ect0_packets: counted.ect0,
            ect1_packets: counted.ect1,
            rate_sample,
            application_limited: newest.is_some_and(|(_, packet)| packet.is_application_limited),
            hops: &[],
            reports: self.reports.of_arrivals(),
            note,
        });
    }

    /// `max(kTimeThreshold max(smoothed_rtt, latest_rtt), kGranularity)` with 9/8 (section 6.1.2).
    fn loss_delay(&self) -> Option<Duration> {
        let rtt = self.round_trip.smoothed()?.max(self.round_trip.latest()?);
        Some((rtt * 9 / 8).max(GRANULARITY))
    }

    /// When the oldest packet in flight, of which a later one has arrived, is deemed lost.
    fn loss_time(&self) -> Option<Time> {
        let oldest = self.flight.oldest().filter(|_| self.largest > Some(self.flight.oldest_number()))?;
        Some(oldest.sent() + self.loss_delay()?)
    }

    /// Section 6.1: by the packet threshold, or by the time threshold.
    fn is_oldest_lost(&self, now: Time) -> bool {
        let later = self.largest.map_or(0, |largest| largest.saturating_sub(self.flight.oldest_number()));
        let is_in_flight = !self.flight.is_empty();
        is_in_flight && (later >= self.packet_threshold || self.loss_time().is_some_and(|time| time <= now))
    }

    fn detect_losses(&mut self, now: Time) {
        let (mut bytes, mut new_episode) = (0, false);
        self.reports.begin_losses();
        while self.is_oldest_lost(now) {
            let Some((lost, opens)) = self.give_up_oldest() else { break };
            bytes += lost.end - lost.start;
            new_episode |= opens;
            self.lost.push_back(lost);
        }
        if bytes > 0 {
            self.controller.on_loss(&Loss {
                now,
                bytes: Bytes::new(bytes),
                new_episode,
                in_flight: Bytes::new(self.in_flight()),
                next_sequence: self.next_offset,
                reports: self.reports.of_losses(),
            });
        }
    }

    /// Deems the oldest packet in flight lost: its payload, and whether that opens an episode.
    fn give_up_oldest(&mut self) -> Option<(Range<u64>, bool)> {
        let next_number = self.flight.next_number();
        let (number, packet) = self.flight.give_up_oldest()?;
        let lost = Lost { payload: packet.payload.clone(), sent: packet.sent() };
        let opens = self.episodes.on_lost(number, lost, next_number);
        self.delivery.on_lost(packet.length());
        self.reports.lost(number, packet.sent(), packet.length());
        self.counters.lost += 1;
        Some((packet.payload, opens))
    }

    /// `PTO = smoothed_rtt + max(4 rttvar, kGranularity) + max_ack_delay` (section 6.2.1), doubled at each expiry.
    fn timeout_time(&self) -> Option<Time> {
        if self.flight.is_empty() {
            return None;
        }
        let initial = INITIAL_RTT + INITIAL_RTT * 2;
        let base = self.round_trip.timeout(TIMEOUT_GRANULARITY, Duration::ZERO).unwrap_or(initial);
        let span = (base + self.pace.span()) * (1 << self.expiries.min(MAX_DOUBLINGS));
        let floor = if self.expiries == 0 { Duration::ZERO } else { MINIMUM_TIMEOUT };
        Some(self.last_sent + span.max(floor))
    }

    /// The time that [`Self::next_timer`] named has come.
    pub fn on_timer(&mut self, now: Time) {
        if self.loss_time().is_some() {
            self.detect_losses(now);
        } else if self.timeout_time().is_some_and(|time| time <= now) {
            self.expire(now);
        }
        if self.controller.next_timer().is_some_and(|time| time <= now) {
            self.controller.on_timer(now);
        }
    }

    /// The first expiry sends probes (section 6.2.4), so that a lost tail is repaired as any loss is. When these bring
    /// nothing either, nothing has come back for three periods, which is persistent congestion (section 7.6), and everything
    /// in flight is given up.
    fn expire(&mut self, now: Time) {
        self.expiries += 1;
        if self.expiries == 1 {
            self.probes = PROBES;
            return;
        }
        let in_flight = Bytes::new(self.in_flight());
        let next_number = self.flight.next_number();
        let before = std::mem::take(&mut self.lost);
        self.episodes.begin(next_number);
        while let Some((lost, _)) = self.give_up_oldest() {
            self.lost.push_back(lost);
        }
        self.lost.extend(before);
        self.counters.timeouts += 1;
        self.pacer.restart(now);
        self.controller.on_timeout(&Timeout {
            now,
            in_flight,
            next_sequence: self.next_offset,
            repetition: self.expiries - 1,
        });
    }
}
