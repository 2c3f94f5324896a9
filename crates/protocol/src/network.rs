//! Both machines over a model of a network, under a virtual clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, Context, Controller, Factory, Feedback, Loss, Note,
    PacketOutcome, PacketReport, RateSample, Received, ReceiverHalf, Sent, Timeout,
};
use trialwise_units::{Bytes, Duration, Ecn, Rate, Seed, Time};

use crate::frame::{
    Answer, Arrival, Frame, MAX_ANSWER, Name, Pace, PacketCounts, Way, write_answer, write_data,
};
use crate::message::{Message, Whole};
use crate::receiver::Receiver;
use crate::sender::{Segments, Sender};

mod hostile;

const SEGMENT: u64 = 1440;
const NAME: Name = Name { session: 1, flow: 2 };
const MILLISECOND: Duration = Duration::from_milliseconds(1);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What the network does to datagrams, each way.
#[derive(Clone, Copy, Debug)]
struct Weather {
    delay: Duration,
    /// Added to some, so that others overtake them.
    jitter: Duration,
    loss: f64,
    duplication: f64,
    marking: f64,
    /// Nothing passes in this span.
    outage: (Time, Time),
}

const CALM: Weather = Weather {
    delay: Duration::from_milliseconds(20),
    jitter: Duration::ZERO,
    loss: 0.0,
    duplication: 0.0,
    marking: 0.0,
    outage: (Time::MAX, Time::MAX),
};

/// Arrival, order of sending, whether a mark is on it, datagram.
type Flying = (Time, u64, bool, Vec<u8>);

/// A sender and a receiver with datagrams between them.
struct Network {
    now: Time,
    weather: Weather,
    random: Random,
    sender: Sender,
    receiver: Receiver,
    flying: BinaryHeap<Reverse<Flying>>,
    sent: u64,
    /// Numbers of data packets that are lost whatever the weather.
    doomed: Vec<u64>,
    departures: Vec<(Time, u64, u64)>,
    /// Departures after which more was in flight than the window allows.
    beyond_window: u64,
    events: u64,
    /// A link before the delay of data, where there is one.
    link: Option<Link>,
    /// How far the receiver's clock is ahead.
    ahead: Duration,
    /// What the receiver makes of its answers.
    lie: fn(&mut Random, &mut Answer),
}

/// A link that carries a packet at a time.
#[derive(Clone, Copy)]
struct Link {
    rate: Rate,
    /// Longest queue.
    queue: Duration,
    /// When it is free.
    free: Time,
}

impl Link {
    /// When a packet that comes now has left, unless it is dropped.
    fn carry(&mut self, now: Time, bytes: usize) -> Option<Time> {
        let begin = self.free.max(now);
        if begin - now > self.queue {
            return None;
        }
        self.free = begin + self.rate.transmission_time(Bytes::new(bytes as u64));
        Some(self.free)
    }
}

impl Network {
    fn new(algorithm: &str, weather: Weather, seed: u64) -> Self {
        let rate = Rate::from_megabits_per_second(10);
        let algorithm = Algorithm::named(algorithm, rate).unwrap();
        let controller = algorithm.build(&context(seed)).unwrap();
        let segments = Segments { full: SEGMENT, first: SEGMENT - 64 };
        let sender = Sender::new(controller, segments, Time::ZERO).answered_every(algorithm.needs().pace);
        Self {
            now: Time::ZERO,
            weather,
            random: Random(seed),
            sender: if algorithm.feedback() == Feedback::Packets {
                sender.reporting_packets()
            } else {
                sender
            },
            receiver: Receiver::new(algorithm.receiver_half()),
            flying: BinaryHeap::new(),
            sent: 0,
            doomed: Vec::new(),
            departures: Vec::new(),
            beyond_window: 0,
            events: 0,
            link: None,
            ahead: Duration::ZERO,
            lie: |_, _| {},
        }
    }

    /// The receiver's clock, in nanoseconds.
    fn there(&self) -> u64 {
        (self.now + self.ahead).nanoseconds()
    }

    /// One whose sender sends at this rate.
    fn at_rate(rate: Rate, weather: Weather) -> Self {
        let network = Self::new("newreno", weather, 1);
        let algorithm = Algorithm::named("fixed_rate", rate).unwrap();
        let controller = algorithm.build(&context(1)).unwrap();
        let segments = Segments { full: SEGMENT, first: SEGMENT - 64 };
        Self { sender: Sender::new(controller, segments, Time::ZERO).keeping_answers_apart(), ..network }
    }

    fn spreading_windows(self) -> Self {
        Self { sender: self.sender.spreading_windows(), ..self }
    }

    fn throw(&mut self, bytes: &[u8], can_be_marked: bool) {
        let Weather { delay, jitter, loss, duplication, marking, outage } = self.weather;
        self.sent += 1;
        if self.random.next() < loss || (outage.0 <= self.now && self.now < outage.1) {
            return;
        }
        let left = match &mut self.link {
            Some(link) if can_be_marked => link.carry(self.now, bytes.len()),
            _ => Some(self.now),
        };
        let Some(left) = left else { return };
        let is_marked = can_be_marked && self.random.next() < marking;
        let copies = if self.random.next() < duplication { 2 } else { 1 };
        for _ in 0..copies {
            let extra = Duration::from_seconds(jitter.as_seconds() * self.random.next());
            self.flying.push(Reverse((left + delay + extra, self.sent, is_marked, bytes.to_vec())));
        }
    }

    fn transmit(&mut self) {
        while let Some(departure) = self.sender.poll(self.now) {
            self.departures.push((self.now, departure.number, departure.length));
            self.beyond_window += u64::from(!self.is_within_window());
            if self.doomed.contains(&departure.number) {
                continue;
            }
            let data = departure.data((departure.offset == 0).then(|| crate::opening::Opening {
                task: crate::opening::Task::Take,
                mtu: 1500,
                congestion: "x".into(),
            }));
            let mut bytes = vec![0; 1500];
            let length = write_data(&mut bytes, NAME, Way::Out, &data);
            bytes.truncate(length);
            self.throw(&bytes, true);
        }
    }

    fn deliver(&mut self) {
        while self.flying.peek().is_some_and(|Reverse((arrival, ..))| *arrival <= self.now) {
            let Some(Reverse((_, _, is_marked, bytes))) = self.flying.pop() else { return };
            match Frame::read(&bytes) {
                Some((NAME, Frame::Data(Way::Out, data))) => {
                    let ecn = if is_marked { Ecn::CongestionExperienced } else { Ecn::Capable0 };
                    self.receiver.on_data(self.there(), &data, ecn);
                    self.answer();
                }
                Some((NAME, Frame::Answer(Way::Out, answer))) => {
                    self.sender.on_answer(self.now, self.now, &answer);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn answer(&mut self) {
        let Some(mut answer) = self.receiver.answer(self.there()) else { return };
        (self.lie)(&mut self.random, &mut answer);
        let mut bytes = vec![0; MAX_ANSWER];
        let length = write_answer(&mut bytes, NAME, Way::Out, &answer);
        bytes.truncate(length);
        self.throw(&bytes, false);
    }

    /// Goes on until this time, or until nothing is to be done any more.
    fn run_until(&mut self, end: Time) {
        loop {
            self.events += 1;
            self.deliver();
            self.answer();
            if self.sender.next_timer().is_some_and(|time| time <= self.now) {
                self.sender.on_timer(self.now);
            }
            self.transmit();
            let arrival = self.flying.peek().map(|Reverse((arrival, ..))| *arrival);
            let answer = self
                .receiver
                .next_answer()
                .map(|time| Time::from_nanoseconds(time.saturating_sub(self.ahead.nanoseconds())));
            let events = [arrival, answer, self.sender.next_event()];
            let Some(next) = events.into_iter().flatten().min() else { return };
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
        }
    }

    fn is_within_window(&self) -> bool {
        let window = self.sender.state().window.map_or(u64::MAX, Bytes::get);
        self.sender.in_flight() <= window.max(SEGMENT)
    }
}

fn context(seed: u64) -> Context {
    Context {
        now: Time::ZERO,
        segment: Bytes::new(SEGMENT),
        line_rate: None,
        base_rtt: None,
        path_window: None,
        hops: None,
        seed: Seed::new(seed),
    }
}

/// Counts of packets that are not to be marked.
fn of_plain(all: u32) -> PacketCounts {
    PacketCounts { all, ..PacketCounts::default() }
}

/// Answers of one range.
fn ranges(range: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(range).collect()
}

fn weather() -> impl Strategy<Value = Weather> {
    (0_u64..60, 0_u64..30, 0.0..0.3, 0.0..0.1, 0.0..0.1).prop_map(
        |(delay, jitter, loss, duplication, marking)| Weather {
            delay: MILLISECOND * delay + Duration::from_microseconds(50),
            jitter: MILLISECOND * jitter,
            loss,
            duplication,
            marking,
            outage: (Time::MAX, Time::MAX),
        },
    )
}

/// Whatever is registered for paths, the tests' own controller too.
fn over_paths() -> Vec<&'static str> {
    Algorithm::over_paths().into_iter().map(|(name, _)| name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn everything_arrives_exactly_once_whatever_the_weather(
        weather in weather(),
        algorithm in prop::sample::select(over_paths()),
        spreads: bool,
        size in 1_u64..400_000,
        seed: u64,
    ) {
        let mut network = Network::new(algorithm, weather, seed);
        if spreads {
            network = network.spreading_windows();
        }
        network.sender.write(size);
        network.run_until(Time::from_milliseconds(3_600_000));
        prop_assert_eq!(network.receiver.received(), size);
        prop_assert_eq!((network.sender.acknowledged(), network.sender.delivered()), (size, size));
        prop_assert_eq!(network.sender.in_flight(), 0);
        let counters = network.sender.counters();
        prop_assert_eq!(counters.packets, network.departures.len() as u64);
        prop_assert!(network.departures.is_sorted_by_key(|(time, ..)| *time));
        // Each datagram makes a few events: nothing spins.
        prop_assert!(network.events < 20 * (network.sent + 10), "{} events", network.events);
    }

    #[test]
    fn every_message_becomes_whole_once_and_none_that_is_late_holds_others_up(
        weather in weather(),
        algorithm in prop::sample::select(over_paths()),
        sizes in prop::collection::vec(1_u32..20_000, 1..40),
        deadline in prop::option::of(1_u64..400),
        seed: u64,
    ) {
        let mut network = Network::new(algorithm, weather, seed);
        for (number, size) in (0..).zip(&sizes) {
            let captured = Time::ZERO + MILLISECOND * 20 * u64::from(number);
            network.run_until(captured);
            let deadline = deadline.map(|span| captured + MILLISECOND * span);
            network.sender.write_message(network.now, Message { number, size: *size, captured, deadline });
        }
        network.run_until(Time::from_milliseconds(3_600_000));
        let whole: Vec<Whole> = std::iter::from_fn(|| network.receiver.take_whole()).collect();
        let numbers: std::collections::BTreeSet<u32> = whole.iter().map(|whole| whole.message).collect();
        prop_assert_eq!(numbers.len(), whole.len(), "one of them twice");
        prop_assert!(whole.iter().all(|whole| sizes[whole.message as usize] == whole.size));
        if deadline.is_none() {
            prop_assert_eq!(whole.len(), sizes.len());
        }
        // All is acknowledged or given up, and nothing is kept.
        let written: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        prop_assert_eq!((network.sender.acknowledged(), network.sender.in_flight()), (written, 0));
        prop_assert_eq!(network.sender.queued_since(), None);
        prop_assert!(network.events < 20 * (network.sent + 10), "{} events", network.events);
    }

    #[test]
    fn only_probes_go_beyond_the_window(weather in weather(), seed: u64) {
        let mut network = Network::new("newreno", weather, seed);
        network.sender.write(u64::MAX / 2);
        network.run_until(Time::from_milliseconds(2_000));
        prop_assert!(network.beyond_window <= network.sender.counters().probes);
    }
}

#[test]
fn a_calm_network_needs_nothing_twice() {
    for algorithm in over_paths() {
        let mut network = Network::new(algorithm, CALM, 1);
        network.sender.write(2_000_000);
        network.run_until(Time::from_milliseconds(60_000));
        assert_eq!(network.sender.acknowledged(), 2_000_000, "{algorithm}");
        let counters = *network.sender.counters();
        assert_eq!((counters.retransmits, counters.lost, counters.timeouts), (0, 0, 0), "{algorithm}");
        // Ends read their clocks in whole nanoseconds, and what an answer was held for is the difference of two readings.
        let shortest = network.sender.round_trip().minimum().unwrap();
        assert!(
            shortest <= MILLISECOND * 40 && shortest + Duration::from_nanoseconds(1) >= MILLISECOND * 40,
            "{algorithm}: {shortest}"
        );
    }
}

#[test]
fn a_fixed_rate_is_exact() {
    let mut network = Network::new("fixed_rate", CALM, 1);
    network.sender.write(u64::MAX / 2);
    network.run_until(Time::from_milliseconds(10_000));
    let bits: u64 = network.departures.iter().map(|(_, _, length)| 8 * length).sum();
    assert!((bits as f64 / 1e8 - 1.0).abs() < 1e-3, "{bits}");
    let rate = network.sender.delivery_rate().unwrap().bits_per_second() as f64;
    assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_loss_is_known_when_three_later_packets_have_arrived() {
    let mut network = Network::new("newreno", CALM, 1);
    network.doomed = vec![4];
    network.sender.write(10 * SEGMENT - 64);
    network.run_until(Time::from_milliseconds(39));
    assert_eq!(network.departures.len(), 10);
    network.run_until(Time::from_milliseconds(41));
    assert_eq!((network.sender.counters().lost, network.departures.len()), (1, 11));
    // Halved: the ten in flight, of which four had arrived before the loss was known.
    assert!(network.sender.state().window.unwrap() < Bytes::new(10 * SEGMENT));
    network.run_until(Time::from_milliseconds(1000));
    assert_eq!(network.receiver.received(), 10 * SEGMENT - 64);
}

#[test]
fn a_loss_that_few_later_packets_show_is_known_after_nine_eighths_of_a_round_trip() {
    let mut network = Network::new("newreno", CALM, 1);
    network.doomed = vec![8];
    network.sender.write(10 * SEGMENT - 64);
    network.run_until(Time::from_milliseconds(44));
    assert_eq!(network.sender.counters().lost, 0);
    network.run_until(Time::from_milliseconds(45));
    assert_eq!((network.sender.counters().lost, network.sender.counters().timeouts), (1, 0));
}

#[test]
fn a_lost_tail_is_found_by_probes() {
    let mut network = Network::new("newreno", CALM, 1);
    network.doomed = vec![8, 9];
    network.sender.write(10 * SEGMENT - 64);
    network.run_until(Time::from_milliseconds(1000));
    assert_eq!(network.receiver.received(), 10 * SEGMENT - 64);
    assert_eq!(network.sender.counters().timeouts, 0);
    // srtt + 4 rttvar = 40 + at least 10 ms after the last packet, then a round trip.
    let probe = network.departures[10].0;
    assert!((50..130).contains(&probe.milliseconds()), "{probe:?}");
}

#[test]
fn an_outage_is_a_timeout_and_then_everything_is_sent_again() {
    let outage = (Time::from_milliseconds(100), Time::from_milliseconds(3_000));
    let mut network = Network::new("cubic", Weather { outage, ..CALM }, 1);
    network.sender.write(3_000_000);
    network.run_until(Time::from_milliseconds(2_900));
    let counters = *network.sender.counters();
    assert!((2..6).contains(&counters.timeouts), "{counters:?}");
    assert_eq!(network.sender.state().window, Some(Bytes::new(SEGMENT)));
    network.run_until(Time::from_milliseconds(30_000));
    assert_eq!(network.sender.acknowledged(), 3_000_000);
}

#[test]
fn a_path_that_answers_no_more_is_not_flooded() {
    let outage = (Time::from_milliseconds(200), Time::from_milliseconds(6_000));
    for (algorithm, _) in Algorithm::over_paths().into_iter().filter(|(_, needs)| !needs.rate) {
        let mut network = Network::new(algorithm, Weather { outage, ..CALM }, 1);
        network.sender.write(3_000_000);
        network.run_until(outage.0);
        let window = network.sender.state().window.unwrap().get() / SEGMENT + 1;
        let before = network.departures.len() as u64;
        network.run_until(outage.1);
        // What the window still lets go, and then ever less.
        let sent = network.departures.len() as u64 - before;
        assert!(
            sent < 2 * window + 200,
            "{algorithm}: {sent} packets into an outage with a window of {window}"
        );
        network.run_until(Time::from_milliseconds(60_000));
        assert_eq!(network.sender.acknowledged(), 3_000_000, "{algorithm} never comes back");
    }
}

#[test]
fn what_was_reduced_for_a_packet_that_was_only_late_is_undone() {
    let mut network = Network::new("newreno", CALM, 1);
    network.sender.write(10 * SEGMENT - 64);
    let before = network.sender.state().window.unwrap();
    network.transmit();
    let answer =
        |from| Answer { largest: 9, packets: of_plain(10), ranges: ranges(from..10), ..Answer::default() };
    let now = Time::from_milliseconds(40);
    network.sender.on_answer(now, now, &answer(1));
    assert_eq!(network.sender.counters().lost, 1);
    assert!(network.sender.state().window.unwrap() < before);
    network.sender.on_answer(now + MILLISECOND, now + MILLISECOND, &answer(0));
    assert!(network.sender.state().window.unwrap() >= before);
    assert_eq!(network.sender.counters().returned, 1);
    // Nothing is sent again: what was to be has arrived.
    assert_eq!(network.sender.poll(now + MILLISECOND), None);
    assert_eq!(network.sender.acknowledged(), 10 * SEGMENT - 64);
}

#[test]
fn a_window_is_spread_over_its_round_trip() {
    let gaps = |network: Network| {
        let mut network = network;
        network.sender.write(10 * SEGMENT - 64);
        network.transmit();
        network.sender.write(u64::MAX / 2);
        network.now = Time::from_milliseconds(40);
        let answer = Answer { largest: 9, packets: of_plain(10), ranges: ranges(0..10), ..Answer::default() };
        network.sender.on_answer(network.now, network.now, &answer);
        network.flying.clear();
        network.run_until(Time::from_milliseconds(79));
        let spans = network.departures.windows(2).map(|pair| pair[1].0 - pair[0].0);
        spans.skip(10).collect::<Vec<_>>()
    };
    let window = gaps(Network::new("newreno", CALM, 1));
    assert!(window.len() >= 9 && window.iter().all(|gap| *gap == Duration::ZERO), "{window:?}");
    let spread = gaps(Network::new("newreno", CALM, 1).spreading_windows());
    // Twice the window in a round trip of 40 ms.
    let wanted = 40_000_000 / 2 / (spread.len() as u64 + 1);
    assert!(spread.iter().all(|gap| gap.nanoseconds().abs_diff(wanted) < wanted / 10), "{spread:?}");
}

#[test]
fn reordering_is_learnt() {
    let weather = Weather { jitter: MILLISECOND * 4, ..CALM };
    let mut network = Network::new("fixed_rate", weather, 1);
    network.sender.write(u64::MAX / 2);
    network.run_until(Time::from_milliseconds(10_000));
    let counters = network.sender.counters();
    // Packets of 1.15 ms each are overtaken by three at most, now and then.
    assert!(counters.returned == counters.lost && counters.lost < 20, "{counters:?}");
}

#[test]
fn an_application_that_writes_little_does_not_make_the_window_grow() {
    let mut network = Network::new("newreno", CALM, 1);
    let before = network.sender.state().window;
    for step in 1..200 {
        network.sender.write(step * 100);
        network.run_until(Time::from_milliseconds(10 * step));
    }
    assert_eq!(network.sender.state().window, before);
}

#[test]
fn marks_are_answered() {
    let mut network = Network::new("cubic", Weather { marking: 1.0, ..CALM }, 1);
    network.sender.write(200_000);
    let before = network.sender.state().window.unwrap();
    network.run_until(Time::from_milliseconds(42));
    assert!(network.sender.state().window.unwrap() < before);
    assert!(network.sender.counters().marked > 0);
}

#[test]
fn marks_that_cannot_be_are_not_believed() {
    let mut network = Network::new("cubic", CALM, 1);
    network.sender.write(10 * SEGMENT);
    network.transmit();
    let sent = network.sender.counters().packets;
    let mut claim = |all, ect0, ect1, marked| {
        let packets = PacketCounts { all, ect0, ect1, marked };
        let answer = Answer { largest: 0, packets, ranges: ranges(0..1), ..Answer::default() };
        network.sender.on_answer(network.now, network.now, &answer);
        network.sender.counters().marked
    };
    // More fields than packets; then marks of more packets than were sent; then counts that go back.
    assert_eq!(claim(1, 1, 0, 1), 0);
    assert_eq!(claim(1_000_000, 0, 0, 1_000_000), sent);
    assert_eq!(claim(5, 0, 0, 5), sent);
}

#[test]
fn what_busy_ends_add_is_no_part_of_the_round_trip() {
    let mut network = Network::new("copa", CALM, 1);
    network.sender.write(SEGMENT - 64);
    network.transmit();
    // It was 40 ms on the way, 7 ms at the receiver, and 11 ms unread.
    let packets = of_plain(1);
    let answer = Answer { held: 7_000_000, packets, ranges: ranges(0..1), ..Answer::default() };
    let [arrival, now] = [47, 58].map(Time::from_milliseconds);
    network.sender.on_answer(now, arrival, &answer);
    assert_eq!(network.sender.round_trip().latest(), Some(MILLISECOND * 40));
}

#[test]
fn an_answer_to_what_was_never_sent_changes_nothing() {
    let mut network = Network::new("cubic", CALM, 1);
    network.sender.write(SEGMENT);
    network.transmit();
    let answer = Answer { largest: 99, packets: of_plain(1), ranges: ranges(0..100), ..Answer::default() };
    network.sender.on_answer(Time::from_milliseconds(1), Time::from_milliseconds(1), &answer);
    assert_eq!(network.sender.acknowledged(), 0);
}

/// What a controller is told of packets.
#[derive(Default)]
struct Told {
    sent: Vec<Sent>,
    arrived: Vec<PacketReport>,
    lost: Vec<PacketReport>,
    lost_bytes: u64,
    samples: Vec<RateSample>,
    /// Packets that each acknowledgement reports, and the note with it.
    notes: Vec<(u32, Vec<u8>)>,
    /// What its half at the receiver is told.
    received: Vec<Received>,
}

/// Lets ten packets be in flight, and notes what it is told.
struct Listener(Arc<Mutex<Told>>);

impl Controller for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.lock().unwrap().sent.push(*sent);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let mut told = self.0.lock().unwrap();
        told.arrived.extend_from_slice(acknowledgement.reports);
        told.samples.extend(acknowledgement.rate_sample);
        told.notes.push((acknowledgement.packets, acknowledgement.note.to_vec()));
    }

    fn on_loss(&mut self, loss: &Loss) {
        let mut told = self.0.lock().unwrap();
        told.lost_bytes += loss.bytes.get();
        told.lost.extend_from_slice(loss.reports);
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(10 * SEGMENT))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn next_departure(&self) -> Option<Duration> {
        Some(MILLISECOND * 7)
    }
}

/// Its half: says what has come and which tick of 15 ms it is, for five ticks.
#[derive(Debug)]
struct Counter(Arc<Mutex<Told>>, u8);

impl std::fmt::Debug for Told {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("what was told")
    }
}

impl ReceiverHalf for Counter {
    fn on_data(&mut self, received: &Received) {
        self.0.lock().unwrap().received.push(*received);
    }

    fn next_timer(&self) -> Option<Time> {
        (self.1 < 5).then(|| Time::from_milliseconds(15) + MILLISECOND * 15 * u64::from(self.1))
    }

    fn on_timer(&mut self, now: Time) {
        assert_eq!(Some(now), self.next_timer());
        self.1 += 1;
    }

    fn note(&self, now: Time) -> Note {
        let count = self.0.lock().unwrap().received.len() as u8;
        Note::new(&[count, self.1, now.milliseconds() as u8]).unwrap()
    }
}

/// A network with a listener that is told of each packet.
fn listening(weather: Weather, seed: u64) -> (Network, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(Told::default()));
    let controller = AnyController::Custom(Box::new(Listener(Arc::clone(&told))));
    let segments = Segments { full: SEGMENT, first: SEGMENT - 64 };
    let sender = Sender::new(controller, segments, Time::ZERO).reporting_packets();
    (Network { sender, ..Network::new("newreno", weather, seed) }, told)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_packet_is_reported_as_it_was_sent(weather in weather(), size in 1_u64..400_000, seed: u64) {
        let (mut network, told) = listening(weather, seed);
        network.sender.write(size);
        network.run_until(Time::from_milliseconds(3_600_000));
        let told = told.lock().unwrap();
        let numbers: Vec<u64> = told.sent.iter().map(|sent| sent.number).collect();
        prop_assert_eq!(numbers, (0..network.departures.len() as u64).collect::<Vec<_>>());
        let mut arrivals = vec![0; told.sent.len()];
        let mut losses = vec![0; told.sent.len()];
        for report in told.arrived.iter().chain(&told.lost) {
            let sent = &told.sent[report.number as usize];
            prop_assert_eq!((report.sent, report.bytes), (sent.now, sent.bytes));
            match report.outcome {
                PacketOutcome::Arrived(time) => {
                    prop_assert!(time.is_none_or(|time| time >= report.sent));
                    arrivals[report.number as usize] += 1;
                }
                PacketOutcome::Lost => losses[report.number as usize] += 1,
                PacketOutcome::Returned => arrivals[report.number as usize] += 1,
            }
        }
        prop_assert!(arrivals.iter().chain(&losses).all(|count| *count <= 1));
        prop_assert!(losses.iter().sum::<u64>() <= network.sender.counters().lost);
        prop_assert_eq!(told.lost.iter().map(|report| report.bytes.get()).sum::<u64>(), told.lost_bytes);
        for sample in &told.samples {
            prop_assert!(sample.delivered > sample.prior_delivered && sample.interval > Duration::ZERO);
            prop_assert!(sample.in_flight_when_sent <= Bytes::new(12 * SEGMENT));
        }
    }
}

#[test]
fn the_half_at_the_receiver_is_told_of_packets_and_tells_the_sender_at_its_own_times_too() {
    let (network, told) = listening(CALM, 1);
    let receiver = Receiver::new(Some(Box::new(Counter(Arc::clone(&told), 0))));
    let mut network = Network { receiver, ..network };
    network.sender.write(2 * SEGMENT - 64);
    network.run_until(Time::from_milliseconds(1_000));
    let told = told.lock().unwrap();
    let received = |number, bytes, next| Received {
        number,
        arrival: Time::ZERO,
        bytes: Bytes::new(bytes),
        ecn: Ecn::Capable0,
        next,
    };
    // After the last packet the application has nothing more.
    assert_eq!(told.received, [received(0, SEGMENT - 64, Some(MILLISECOND * 7)), received(1, SEGMENT, None)]);
    let note = |packets, count, tick, milliseconds| (packets, vec![count, tick, milliseconds]);
    let ticks = (1..=5).map(|tick| note(0, 2, tick, 15 * tick));
    assert_eq!(told.notes, [note(1, 1, 0, 0), note(1, 2, 0, 0)].into_iter().chain(ticks).collect::<Vec<_>>());
    assert_eq!((network.sender.acknowledged(), network.sender.counters().timeouts), (2 * SEGMENT - 64, 0));
}

#[test]
fn an_answer_without_news_says_nothing_but_its_note() {
    let (mut network, told) = listening(CALM, 1);
    network.sender.write(SEGMENT - 64);
    network.transmit();
    let note = Note::new(&[9]).unwrap();
    let answer = |largest, note| Answer { largest, note, ..Answer::default() };
    let at = Time::from_milliseconds(30);
    for (largest, note) in [(0, Note::EMPTY), (0, note), (7, note)] {
        network.sender.on_answer(at, at, &answer(largest, note));
    }
    assert_eq!(told.lock().unwrap().notes, [(0, vec![9])]);
    assert_eq!((network.sender.in_flight(), network.sender.round_trip().latest()), (SEGMENT - 64, None));
}

#[test]
fn packets_are_reported_only_to_whom_asks() {
    let (mut network, told) = listening(CALM, 1);
    network.sender.write(20 * SEGMENT);
    network.run_until(Time::from_milliseconds(1_000));
    assert_eq!(told.lock().unwrap().arrived.len(), network.departures.len());
    let told = Arc::new(Mutex::new(Told::default()));
    let controller = AnyController::Custom(Box::new(Listener(Arc::clone(&told))));
    let segments = Segments { full: SEGMENT, first: SEGMENT - 64 };
    let mut network =
        Network { sender: Sender::new(controller, segments, Time::ZERO), ..Network::new("newreno", CALM, 1) };
    network.doomed = vec![4];
    network.sender.write(20 * SEGMENT);
    network.run_until(Time::from_milliseconds(1_000));
    assert_eq!(network.sender.counters().lost, 1);
    let told = told.lock().unwrap();
    assert!(told.arrived.is_empty() && told.lost.is_empty() && told.sent.len() == network.departures.len());
}

#[test]
fn what_a_receiver_cannot_know_is_not_passed_on() {
    let (mut network, told) = listening(CALM, 1);
    network.sender.write(u64::MAX / 2);
    network.transmit();
    let mut answer = |milliseconds, answer: Answer| {
        let now = Time::from_milliseconds(milliseconds);
        network.sender.on_answer(now, now, &answer);
        network.now = now;
        network.transmit();
        std::mem::take(&mut told.lock().unwrap().arrived)
    };
    // Numbers that were never sent.
    assert_eq!(answer(40, Answer { largest: 99, ranges: ranges(0..100), ..Answer::default() }), []);
    let arrival = |milliseconds: u64| milliseconds * 1_000_000;
    let first =
        answer(40, Answer { largest: 0, arrival: arrival(520), ranges: ranges(0..1), ..Answer::default() });
    assert!(matches!(first[..], [PacketReport { number: 0, outcome: PacketOutcome::Arrived(Some(_)), .. }]));
    // Sent at 40, it would have come at 20 or at 90 by the same clock, and back at 80.
    for (largest, told) in [(10, 479), (11, 625)] {
        let found = answer(
            80,
            Answer {
                largest,
                arrival: arrival(told),
                ranges: ranges(largest..largest + 1),
                ..Answer::default()
            },
        );
        assert_eq!(
            found.iter().map(|report| report.outcome).collect::<Vec<_>>(),
            [PacketOutcome::Arrived(None)]
        );
    }
    // Of those that came meanwhile, some before they were sent, after their answer, or never sent; then times are as from a clock
    // that was set, and so forth.
    let runs = [(13, 478), (14, 480), (15, 640), (16, 642), (99, 641)]
        .map(|(number, told)| Arrival { numbers: number..number + 1, age: 1000 * (650 - told) as u32 });
    let found = answer(
        85,
        Answer {
            largest: 16,
            arrival: arrival(642),
            held: arrival(8),
            ranges: ranges(13..17),
            arrivals: runs.to_vec(),
            ..Answer::default()
        },
    );
    let is_dated = found.iter().map(|report| matches!(report.outcome, PacketOutcome::Arrived(Some(_))));
    assert_eq!(is_dated.collect::<Vec<_>>(), [false, true, false, true]);
    // Held for longer than it was away.
    let before = network.sender.round_trip().latest();
    let now = Time::from_milliseconds(85);
    let held = Answer {
        largest: 12,
        arrival: arrival(640),
        held: arrival(900),
        ranges: ranges(12..13),
        ..Answer::default()
    };
    network.sender.on_answer(now, now, &held);
    assert_eq!(network.sender.round_trip().latest(), before);
}

#[test]
fn answers_at_a_pace_tell_each_arrival_and_are_waited_for() {
    let (network, told) = listening(CALM, 1);
    let mut network = Network { sender: network.sender.answered_every(MILLISECOND * 50), ..network };
    network.sender.write(100 * SEGMENT);
    network.run_until(Time::from_milliseconds(2_000));
    let told = told.lock().unwrap();
    let delays: Vec<Duration> = told
        .arrived
        .iter()
        .map(|report| match report.outcome {
            PacketOutcome::Arrived(Some(time)) => time - report.sent,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(delays.len(), network.departures.len());
    assert!(delays.iter().all(|delay| *delay == delays[0]), "all took 20 ms: {delays:?}");
    assert_eq!(network.sender.round_trip().minimum(), Some(MILLISECOND * 40), "less the time of waiting");
    let counters = network.sender.counters();
    assert_eq!((counters.retransmits, counters.probes, counters.timeouts), (0, 0, 0));
}

#[test]
fn answers_are_kept_apart_by_150_us_or_an_eighth_of_the_round_trip_and_no_slow_packet_waits() {
    let answers = |delay: u64, rate: u64| {
        let weather = Weather { delay: Duration::from_microseconds(delay), ..CALM };
        let mut network = Network::at_rate(Rate::from_megabits_per_second(rate), weather);
        network.sender.write(u64::MAX / 2);
        network.run_until(Time::from_milliseconds(100));
        let before = (network.sent, network.departures.len() as u64);
        network.run_until(Time::from_milliseconds(130));
        let packets = network.departures.len() as u64 - before.1;
        (
            packets,
            network.sent - before.0 - packets,
            network.sender.poll(network.now + MILLISECOND).unwrap().pace,
        )
    };
    // 30 ms of a packet each 1.152 ms, then of one each 5.8 us.
    assert_eq!(answers(20_000, 10), (26, 26, Pace::Apart(150)));
    let (packets, answered, pace) = answers(20_000, 2_000);
    assert!((5_180..5_235).contains(&packets) && (198..=202).contains(&answered), "{packets} {answered}");
    assert_eq!(pace, Pace::Apart(150));
    assert_eq!(answers(100, 10).2, Pace::Apart(25));
}

#[test]
fn padding_fills_a_probe_and_is_no_payload() {
    let mut network = Network::new("gcc", CALM, 1);
    network.sender.write(2 * SEGMENT);
    network.run_until(Time::from_milliseconds(2_000));
    let counters = *network.sender.counters();
    // A probe is five packets; when it has come back, nothing is in flight that could pad the next.
    assert_eq!((counters.packets, counters.retransmits, counters.lost), (5, 0, 0));
    assert_eq!((network.receiver.received(), network.sender.delivered()), (2 * SEGMENT, 2 * SEGMENT));
    assert_eq!(network.sender.in_flight(), 0);
}

#[test]
fn a_burst_leaves_together_and_no_faster() {
    struct Bursting(u64);
    impl Controller for Bursting {
        fn name(&self) -> &'static str {
            "bursting"
        }
        fn on_acknowledgement(&mut self, _: &Acknowledgement<'_>) {}
        fn on_loss(&mut self, _: &Loss) {}
        fn on_timeout(&mut self, _: &Timeout) {}
        fn window(&self) -> Option<Bytes> {
            None
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_bits_per_second(8 * SEGMENT * 1000))
        }
        fn burst(&self) -> Option<Bytes> {
            Some(Bytes::new(self.0 * SEGMENT))
        }
    }
    for packets in [1, 4] {
        let controller = AnyController::Custom(Box::new(Bursting(packets)));
        let segments = Segments { full: SEGMENT, first: SEGMENT };
        let sender = Sender::new(controller, segments, Time::ZERO);
        let mut network = Network { sender, ..Network::new("newreno", CALM, 1) };
        network.sender.write(u64::MAX / 2);
        network.run_until(Time::from_milliseconds(30));
        // After the first, a packet each millisecond, or four each four.
        let at = |millisecond| {
            network.departures.iter().filter(|(time, ..)| time.milliseconds() == millisecond).count() as u64
        };
        let found: Vec<u64> = (8..16).map(at).collect();
        let wanted: Vec<u64> =
            (8..16).map(|millisecond| if millisecond % packets == 0 { packets } else { 0 }).collect();
        assert_eq!(found, wanted);
    }
}
