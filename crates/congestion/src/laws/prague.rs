//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP (RFC 8257) for the Internet, with ECT(1), pacing, growth that does
//! not depend on the round-trip time, and a classic response where the path leaves no ECN.
//!
//! The draft leaves numbers to implementations. Those of this one are of udp_prague (L4STeam, Apache-2.0) unless something else is said:
//! when growth is faster, what 2 ms and 3 % stand for, the limits of the rate. Slow start is that of RFC 5681 and ends with the first
//! mark or loss. Smaller packets at low rates (draft, section 2.4.5) are left out, as the driver cuts the stream: two whole packets
//! may always be in flight.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::segments::SegmentWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Phase, RoundTrip, Sent,
    Setting, State, Timeout,
};

const NAME: &str = "prague";
/// `RTT_VIRT_MIN` (draft, section 2.4.4): a flow with a shorter round trip takes what one with this would.
const VIRTUAL_MINIMUM: Duration = Duration::from_milliseconds(25);
/// `g` (RFC 8257, section 4.2; draft, section 2.4.2).
const GAIN: f64 = 1.0 / 16.0;
/// With a shorter round trip, or less than a packet in it, the rate and not the window stays when the round trip changes.
const RATE_BASED: Duration = Duration::from_milliseconds(2);
/// Growth is faster after so many virtual round trips without a mark, and one more for each of so many bytes in a second.
const QUIET_ROUNDS: f64 = 7.0;
const QUIET_RATE: f64 = 1.92e6;
/// Faster growth adds this time's worth of the rate in a round trip.
const FASTER: f64 = 1e-3;
/// By so much the rate is higher in the first half of a virtual round trip, and lower in the second.
const RIPPLE: f64 = 0.03;
/// So much of the rate may leave at once, and no more is made up for (250 us in udp_prague).
const BURST: Duration = Duration::from_microseconds(250);
/// No rate is lower or higher.
const MINIMUM_RATE: f64 = 100e3;
const MAXIMUM_RATE: f64 = 100e9;
/// Packets that may always be in flight.
const MINIMUM_FLIGHT: f64 = 2.0;
/// The lowest window; what there is of it makes the rate.
const MINIMUM_WINDOW: f64 = 0.01;
/// In slow start packets leave so much faster than the window asks for (`tcp_pacing_ss_ratio` of Linux).
const SLOW_START_PACING: f64 = 2.0;
/// So many packets that arrive without a trace of ECN show that the path takes it away: the number that RFC 9000, section 13.4.2 tests
/// a path with.
const BLEACHED: u32 = 10;
/// The lowest time-out after which the window of a silent flow is that of its beginning (RFC 5681, section 4.1; RFC 6298, section 2.4).
const MINIMUM_TIMEOUT: Duration = Duration::from_milliseconds(1000);

/// The parameters of [`Prague`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PragueSettings {
    /// The initial window in segments.
    pub initial_window: u32,
    /// `alpha` before the first round: 1 is what RFC 8257, section 3.3 has, 0 what udp_prague has.
    pub alpha: f64,
}

impl Default for PragueSettings {
    /// Ten segments (RFC 6928, section 2), and an `alpha` of 1.
    fn default() -> Self {
        Self { initial_window: 10, alpha: 1.0 }
    }
}

/// Something that ends when all that was sent before has been acknowledged, and a virtual round trip is over.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Time,
    /// The offset that was next to be sent.
    end: u64,
}

impl Span {
    fn is_over(&self, acknowledgement: &Acknowledgement<'_>, virtual_rtt: Duration) -> bool {
        acknowledgement.cumulative > self.end && acknowledgement.now - self.since >= virtual_rtt
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Prague {
    window: SegmentWindow,
    initial: f64,
    /// `ssthresh` in segments; infinite at first.
    threshold: f64,
    round_trip: RoundTrip,
    alpha: f64,
    round: Span,
    round_packets: u64,
    round_marks: u64,
    /// Since the last reduction by a mark.
    reduced: Option<Span>,
    /// Virtual round trips until growth is faster.
    quiet_rounds: f64,
    /// The window before a loss halved it, in segments.
    before: Option<f64>,
    is_recovering: bool,
    /// Packets that have arrived without a trace of ECN; none where some had one.
    without_ecn: Option<u32>,
    /// When something happened last.
    now: Time,
}

impl Prague {
    /// A flow in slow start.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &PragueSettings, context: &Context) -> Result<Self, BuildError> {
        let window = SegmentWindow::new(settings.initial_window, MINIMUM_WINDOW, context, NAME)?;
        Ok(Self {
            window,
            initial: window.segments(),
            threshold: f64::INFINITY,
            round_trip: RoundTrip::new(),
            alpha: settings.alpha.clamp(0.0, 1.0),
            round: Span { since: context.now, end: 0 },
            round_packets: 0,
            round_marks: 0,
            reduced: None,
            quiet_rounds: QUIET_ROUNDS,
            before: None,
            is_recovering: false,
            without_ecn: Some(0),
            now: context.now,
        })
    }

    /// The estimate of the share of marked packets.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    fn smoothed(&self) -> Duration {
        self.round_trip.smoothed().unwrap_or(VIRTUAL_MINIMUM)
    }

    fn virtual_rtt(&self) -> Duration {
        self.smoothed().max(VIRTUAL_MINIMUM)
    }

    fn is_in_slow_start(&self) -> bool {
        self.window.segments() < self.threshold
    }

    /// Whether ten packets have arrived, and none with ECT(1) or a mark: then packets say no more that they can be marked, and the
    /// window is that of Reno (draft, section 2.4.1; RFC 9331, section 4.3).
    fn is_classic(&self) -> bool {
        self.without_ecn.is_some_and(|count| count >= BLEACHED)
    }

    /// Bits per second that fill the window in a smoothed round trip.
    fn rate(&self) -> f64 {
        let bits = 8.0 * self.window.bytes_of(1.0).get() as f64 * self.window.segments();
        (bits / self.smoothed().as_seconds()).clamp(MINIMUM_RATE, MAXIMUM_RATE)
    }

    /// Takes a sample of the round-trip time. Where round trips are too short to tell a queue from noise, the rate stays as it is.
    fn measure(&mut self, sample: Duration) {
        let before = self.round_trip.smoothed();
        self.round_trip.update(sample);
        let (Some(before), Some(after)) = (before, self.round_trip.smoothed()) else { return };
        if after <= RATE_BASED || self.window.segments() <= 1.0 {
            let change = after.as_seconds() / before.as_seconds();
            self.window.set(self.window.segments() * change);
            self.threshold *= change;
        }
    }

    /// Counts marks, and closes the round that ends: `alpha += (F - alpha) / 16` (RFC 8257, section 3.3; draft, section 2.4.2).
    fn observe(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.round_packets += u64::from(acknowledgement.packets);
        self.round_marks += u64::from(acknowledgement.marked_packets);
        let is_seen = acknowledgement.ect1_packets > 0 || acknowledgement.marked_packets > 0;
        let count = self.without_ecn.filter(|_| !is_seen || self.is_classic());
        self.without_ecn = count.map(|count| count.saturating_add(acknowledgement.packets));
        if self.round.is_over(acknowledgement, self.virtual_rtt()) {
            if self.round_packets > 0 {
                let share = (self.round_marks as f64 / self.round_packets as f64).min(1.0);
                self.alpha += GAIN * (share - self.alpha);
            }
            (self.round_packets, self.round_marks) = (0, 0);
            self.round = Span { since: acknowledgement.now, end: acknowledgement.next_sequence };
            self.quiet_rounds = (self.quiet_rounds - 1.0).max(0.0);
        }
        if self.reduced.is_some_and(|span| span.is_over(acknowledgement, self.virtual_rtt())) {
            self.reduced = None;
        }
    }

    /// Each packet that is not marked adds `MSS / W (srtt / vrtt)^2` (draft, section 2.4.3), in slow start itself, and never more: less
    /// than a packet in a round trip would grow at a bound.
    fn grow(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let packets = f64::from(acknowledgement.packets.max(1));
        let unmarked = 1.0 - (f64::from(acknowledgement.marked_packets) / packets).min(1.0);
        let segments = self.window.segments_in(acknowledgement.acknowledged) * unmarked;
        if self.is_in_slow_start() {
            return self.window.grow(segments);
        }
        self.window.grow(segments * (self.increment() / self.window.segments()).min(1.0));
    }

    /// Segments that a round trip adds.
    fn increment(&self) -> f64 {
        if self.is_classic() {
            return 1.0;
        }
        let ratio = self.smoothed().as_seconds() / self.virtual_rtt().as_seconds();
        let faster = self.window.segments_in(Bytes::new((self.rate() * FASTER / 8.0) as u64));
        let step = if self.quiet_rounds > 0.0 { 1.0 } else { faster.max(1.0) };
        step * ratio * ratio
    }

    /// The first mark of a round: `W *= 1 - alpha / 2` (RFC 8257, section 3.3); as by a loss where the path takes ECN away.
    fn answer_mark(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let share = if self.is_classic() { 1.0 } else { self.alpha };
        self.reduce(1.0 - share / 2.0);
        self.quiet_rounds = QUIET_ROUNDS + (self.rate() / 8.0 / QUIET_RATE).floor();
        self.reduced = Some(Span { since: acknowledgement.now, end: acknowledgement.next_sequence });
    }

    fn reduce(&mut self, factor: f64) {
        self.window.set(self.window.segments() * factor);
        self.threshold = self.window.segments();
    }

    /// Virtual round trips until a flow of the shortest virtual round trip would be back where a loss has halved it.
    fn rounds_to_recover(&self) -> f64 {
        let shortest = VIRTUAL_MINIMUM.as_seconds();
        let packets = self.rate() / 8.0 / 2.0 * shortest / self.window.bytes_of(1.0).get() as f64;
        (packets * shortest / self.virtual_rtt().as_seconds()).floor()
    }
}

impl Declared for Prague {
    type Settings = PragueSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| PragueSettings::default() }];
    const WORDS: &'static str =
        "Reduces its window by the share of marks, in ECT(1) for L4S (draft-briscoe-iccrg-prague-congestion-control-04).";
    const NEEDS: Needs = Needs { ecn: Ecn::Capable1, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {initial_window: Positive, alpha: Weight};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Prague {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.now = acknowledgement.now;
        self.is_recovering = acknowledgement.in_recovery;
        if let Some(rtt) = acknowledgement.rtt {
            self.measure(rtt);
        }
        self.observe(acknowledgement);
        if acknowledgement.in_recovery {
            return;
        }
        if !acknowledgement.application_limited {
            self.grow(acknowledgement);
        }
        if acknowledgement.marked_packets > 0 && self.reduced.is_none() {
            self.answer_mark(acknowledgement);
        }
    }

    /// Halves once for an episode (RFC 8257, section 3.5).
    fn on_loss(&mut self, loss: &Loss) {
        self.is_recovering = true;
        if loss.new_episode {
            self.quiet_rounds = self.rounds_to_recover();
            self.before = Some(self.window.segments());
            self.reduce(0.5);
        }
    }

    /// RFC 5681, section 3.1: half as the threshold at the first time-out for the same data, and a segment as the window.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repetition <= 1 {
            self.before = Some(self.window.segments());
            self.threshold = (self.window.segments() / 2.0).max(MINIMUM_FLIGHT);
        }
        self.is_recovering = false;
        self.quiet_rounds = QUIET_ROUNDS;
        self.window.set(1.0);
    }

    fn on_spurious(&mut self, _now: Time) {
        let current = self.window.segments();
        if let Some(before) = self.before.take_if(|before| current < *before) {
            self.window.set(before);
            self.threshold = before;
        }
    }

    fn on_idle_restart(&mut self, _now: Time, idle: Duration) {
        let timeout = self.round_trip.timeout(Duration::ZERO, MINIMUM_TIMEOUT).unwrap_or(MINIMUM_TIMEOUT);
        if idle > timeout {
            self.window.set(self.window.segments().min(self.initial));
        }
    }

    /// Not less than the rate asks for: it holds only where nothing comes back for a while.
    fn window(&self) -> Option<Bytes> {
        let segments = self.window.segments() * (1.0 + RIPPLE) + 1.0;
        Some(self.window.bytes_of(segments.max(MINIMUM_FLIGHT)))
    }

    /// `W / srtt`, 3 % more in the first half of a virtual round trip and less in the second; none before there is a round-trip time.
    fn pacing_rate(&self) -> Option<Rate> {
        self.round_trip.smoothed()?;
        let is_first_half = self.now - self.round.since < self.virtual_rtt() / 2;
        let ripple = if is_first_half { 1.0 + RIPPLE } else { 1.0 / (1.0 + RIPPLE) };
        let faster = if self.is_in_slow_start() { SLOW_START_PACING } else { 1.0 };
        Some(Rate::from_bits_per_second((self.rate() * ripple * faster) as u64))
    }

    fn lateness(&self) -> Option<Duration> {
        Some(BURST)
    }

    fn forgoes_ecn(&self) -> bool {
        self.is_classic()
    }

    fn state(&self) -> State {
        let threshold = self.threshold.is_finite().then(|| self.window.bytes_of(self.threshold));
        let phase = match (self.is_recovering, self.is_in_slow_start()) {
            (true, _) => Phase::Recovery,
            (false, true) => Phase::SlowStart,
            (false, false) => Phase::CongestionAvoidance,
        };
        State {
            window: self.window(),
            slow_start_threshold: threshold,
            pacing_rate: self.pacing_rate(),
            phase,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};

    /// A flow over a path of this round trip, whose packets of 1000 bytes are acknowledged one by one at the rate of the window.
    struct Flow {
        prague: Prague,
        rtt: Duration,
        now: Time,
        cumulative: u64,
    }

    impl Flow {
        fn new(rtt: Duration, alpha: f64) -> Self {
            let prague = Prague::new(&PragueSettings { alpha, ..PragueSettings::default() }, &context()).unwrap();
            Self { prague, rtt, now: context().now, cumulative: 0 }
        }

        /// After slow start, at a window of so many packets.
        fn steady(rtt: Duration, alpha: f64, window: f64) -> Self {
            let mut flow = Self::new(rtt, alpha);
            flow.next(false);
            flow.prague.window.set(window);
            flow.prague.threshold = window;
            flow
        }

        fn next(&mut self, is_marked: bool) {
            self.acknowledge(is_marked, !is_marked);
        }

        fn acknowledge(&mut self, is_marked: bool, is_capable: bool) {
            let window = self.prague.window.segments();
            self.now += Duration::from_seconds(self.rtt.as_seconds() / window);
            self.cumulative += 1000;
            self.prague.on_acknowledgement(&Acknowledgement {
                now: self.now,
                rtt: Some(self.rtt),
                packets: 1,
                marked_packets: u32::from(is_marked),
                ect1_packets: u32::from(is_capable),
                ..acknowledgement(self.cumulative, self.cumulative + 1000 * window as u64)
            });
        }

        /// Packets of the window in a virtual round trip.
        fn virtual_window(&self) -> f64 {
            let ratio = self.prague.virtual_rtt().as_seconds() / self.rtt.as_seconds();
            self.prague.window.segments() * ratio
        }
    }

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_milliseconds(count)
    }

    #[test]
    fn marks_of_two_packets_in_a_virtual_round_trip_hold_the_window() {
        // The law: a packet more in each, and alpha / 2 less, so that p W = 2 with W of a virtual round trip.
        for (rtt, virtual_rtt) in [(5, 25), (10, 25), (25, 25), (50, 50), (100, 100)] {
            for probability in [0.01, 0.024, 0.1] {
                let window = 2.0 / probability * rtt as f64 / virtual_rtt as f64;
                let mut flow = Flow::steady(milliseconds(rtt), probability, window);
                let (mut due, mut sum, mut time) = (0.0, 0.0, 0.0);
                for count in 0..400_000 {
                    due += probability;
                    let before = flow.now;
                    flow.next(due >= 1.0);
                    due -= due.floor();
                    if count >= 100_000 {
                        let span = (flow.now - before).as_seconds();
                        sum += span * flow.virtual_window();
                        time += span;
                    }
                }
                assert_eq!(flow.prague.virtual_rtt(), milliseconds(virtual_rtt));
                let marks = probability * sum / time;
                // Marked packets add nothing. Marks at even distances: a reduction waits for the first one after a virtual round trip, so that for 2 < p W <= 3
                // it comes every 3 / (p W), and p W / 2 = 3 / (p W) at 2.45.
                assert!((1.9..2.6).contains(&(marks / (1.0 - probability))), "{rtt} ms, {probability}: {marks}");
            }
        }
    }

    #[test]
    fn alpha_moves_by_a_sixteenth_once_in_a_round_and_a_virtual_round() {
        let mut flow = Flow::steady(milliseconds(5), 0.0, 10.0);
        // The first answers close the round that began with the flow.
        while flow.prague.round_packets > 0 {
            flow.next(false);
        }
        flow.prague.alpha = 0.0;
        let mut count = 0;
        while flow.prague.alpha == 0.0 {
            flow.next(true);
            count += 1;
        }
        assert!((flow.prague.alpha - 1.0 / 16.0).abs() < 1e-12);
        // A virtual round trip of 25 ms at 10 packets in 5 ms.
        assert!((49..=52).contains(&count), "{count}");
    }

    #[test]
    fn the_first_mark_of_a_virtual_round_takes_half_of_alpha() {
        let mut flow = Flow::steady(milliseconds(5), 0.5, 40.0);
        flow.prague.alpha = 0.5;
        let grown = 40.0 + 0.0;
        flow.next(true);
        assert!((flow.prague.window.segments() - grown * 0.75).abs() < 1e-9);
        let after = flow.prague.window.segments();
        // For 25 ms, 120 packets and more, further marks take nothing.
        (0..100).for_each(|_| flow.next(true));
        assert!((flow.prague.window.segments() - after).abs() < 1e-9);
        (0..60).for_each(|_| flow.next(true));
        assert!(flow.prague.window.segments() < after * 0.9);
    }

    #[test]
    fn growth_is_that_of_a_round_trip_of_25_milliseconds() {
        // In each 25 ms a rate of one packet in 25 ms is added, however short the round trip; with longer ones, one in each.
        for (rtt, virtual_rtt) in [(5, 25), (20, 25), (25, 25), (60, 60)] {
            let mut flow = Flow::steady(milliseconds(rtt), 0.0, 50.0);
            let (start, before) = (flow.now, flow.virtual_window());
            while flow.now - start < milliseconds(5 * virtual_rtt) {
                flow.next(false);
            }
            let grown = flow.virtual_window() - before;
            assert!((4.8..5.2).contains(&grown), "{rtt}: {grown}");
        }
    }

    #[test]
    fn growth_is_faster_after_virtual_rounds_without_a_mark() {
        // 1000 packets of 1000 bytes in 25 ms are 320 Mbit/s: 7 + 20 rounds, then a millisecond's worth of 40 packets.
        let mut flow = Flow::steady(milliseconds(25), 0.0, 1000.0);
        flow.prague.alpha = 0.0;
        flow.next(true);
        assert!((flow.prague.quiet_rounds - 27.0).abs() < 1e-9);
        let grown = |flow: &mut Flow, rounds: u64| {
            let (start, before) = (flow.now, flow.prague.window.segments());
            while flow.now - start < milliseconds(25 * rounds) {
                flow.next(false);
            }
            (flow.prague.window.segments() - before, before)
        };
        let (slow, _) = grown(&mut flow, 26);
        assert!((25.0..28.0).contains(&slow), "{slow}");
        grown(&mut flow, 3);
        let (fast, window) = grown(&mut flow, 1);
        assert!((0.039..0.042).contains(&(fast / window)), "{fast} of {window}");
    }

    #[test]
    fn a_loss_halves_once_and_is_undone_if_it_was_none() {
        let mut flow = Flow::steady(milliseconds(20), 0.1, 30.0);
        flow.prague.on_loss(&crate::testing::loss(true));
        assert!((flow.prague.window.segments() - 15.0).abs() < 1e-9);
        flow.prague.on_loss(&crate::testing::loss(false));
        assert!((flow.prague.window.segments() - 15.0).abs() < 1e-9);
        flow.prague.on_spurious(flow.now);
        assert!((flow.prague.window.segments() - 30.0).abs() < 1e-9);
        flow.prague.on_spurious(flow.now);
        assert!((flow.prague.window.segments() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn where_no_ect_1_arrives_it_is_reno_and_asks_for_no_marks() {
        let mut flow = Flow::new(milliseconds(5), 0.1);
        (0..9).for_each(|_| flow.acknowledge(false, false));
        assert!(!flow.prague.forgoes_ecn());
        flow.acknowledge(false, false);
        assert!(flow.prague.forgoes_ecn());
        flow.prague.window.set(20.0);
        flow.prague.threshold = 20.0;
        (0..20).for_each(|_| flow.acknowledge(false, false));
        // A packet in a round trip of 5 ms, where Prague adds a twenty-fifth.
        let grown = flow.prague.window.segments() - 20.0;
        assert!((0.95..=1.0).contains(&grown), "{grown}");
        let before = flow.prague.window.segments();
        flow.acknowledge(true, false);
        assert!((flow.prague.window.segments() / before - 0.5).abs() < 1e-9);
    }

    #[test]
    fn one_packet_with_ect_1_or_a_mark_shows_that_the_path_leaves_ecn() {
        for is_marked in [false, true] {
            let mut flow = Flow::new(milliseconds(5), 0.1);
            flow.acknowledge(is_marked, !is_marked);
            (0..1000).for_each(|_| flow.acknowledge(false, false));
            assert!(!flow.prague.forgoes_ecn());
        }
    }

    #[test]
    fn the_rate_ripples_by_3_percent_in_a_virtual_round_trip() {
        let mut flow = Flow::steady(milliseconds(25), 0.0, 100.0);
        let mut rates = Vec::new();
        for _ in 0..400 {
            flow.next(false);
            let plain = flow.prague.rate();
            rates.push(flow.prague.pacing_rate().unwrap().bits_per_second() as f64 / plain);
        }
        let high = rates.iter().filter(|ratio| (**ratio - 1.03).abs() < 1e-4).count();
        let low = rates.iter().filter(|ratio| (**ratio - 1.0 / 1.03).abs() < 1e-4).count();
        assert_eq!(high + low, 400);
        assert!((150..=250).contains(&high), "{high}");
    }

    #[test]
    fn where_round_trips_are_too_short_the_rate_stays_as_they_change() {
        let mut flow = Flow::steady(milliseconds(1), 0.0, 10.0);
        let before = flow.prague.rate();
        flow.prague.measure(milliseconds(3));
        let after = flow.prague.rate();
        assert!((after / before - 1.0).abs() < 1e-9, "{before} {after}");
        assert!(flow.prague.window.segments() > 12.0);
    }
}
