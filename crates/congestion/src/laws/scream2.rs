//! SCReAM, version 2: draft-johansson-ccwg-rfc8298bis-screamv2-06, with ECT(1) for L4S, and as a flow that is not capable of it where the path
//! takes the ECN field away. What waits before the sender, and how large frames are, is not known here.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::segments::MAXIMUM_WINDOW;
use crate::scream_delay::{ANSWERS, HIGHEST, MostInFlight, PACE, QueueDelay, ScreamSettings, bounded_window, smoothed};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Phase,
    RoundTrip, Sent, Setting, State, Timeout,
};

const NAME: &str = "scream2";
/// `QDELAY_TARGET_LO` and `QDELAY_TARGET_HI`, in seconds.
const TARGETS: (f64, f64) = (0.06, 0.4);
/// `BETA_LOSS` and `BETA_ECN`.
const AFTER_LOSS: f64 = 0.7;
const AFTER_MARK: f64 = 0.8;
/// `REF_WND_OVERHEAD`, `BYTES_IN_FLIGHT_HEAD_ROOM` and `PACKET_PACING_HEADROOM`.
const OVERHEAD: f64 = 1.5;
const HEAD_ROOM: f64 = 2.0;
const PACING: f64 = 1.5;
/// `L4S_AVG_G`, and how often the share of marks is taken.
const SHARE_WEIGHT: f64 = 1.0 / 16.0;
const SHARE_INTERVAL: Duration = Duration::from_milliseconds(10);
/// `QDELAY_AVG_G`.
const DELAY_WEIGHT: f64 = 0.25;
/// `POST_CONGESTION_DELAY` in seconds, and `MUL_INCREASE_FACTOR`.
const CAUTION: f64 = 4.0;
const MULTIPLICATIVE: f64 = 0.02;
/// `VIRTUAL_RTT`.
const VIRTUAL: Duration = Duration::from_milliseconds(25);
/// After so long without congestion the window is that which was used, and goes down by so much at least.
const QUIET: Duration = Duration::from_milliseconds(5000);
const AFTER_QUIET: f64 = 0.25;
/// Packets without ECT(1) and CE, after which the path is one that takes the field away.
const BLEACHED: u32 = 10;
/// The share of packets with marks.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    alpha: f64,
    packets: u32,
    marked: u32,
    taken: Option<Time>,
}

impl Share {
    fn update(&mut self, now: Time, acknowledgement: &Acknowledgement<'_>, rtt: Duration) {
        self.packets = self.packets.saturating_add(acknowledgement.packets);
        self.marked = self.marked.saturating_add(acknowledgement.marked_packets);
        let is_early = self.taken.is_some_and(|taken| now.since(taken) < SHARE_INTERVAL.min(rtt));
        if is_early || self.packets == 0 {
            return;
        }
        let share = f64::from(self.marked.min(self.packets)) / f64::from(self.packets);
        *self = Self { alpha: self.alpha + SHARE_WEIGHT * (share - self.alpha), taken: Some(now), ..Self::default() };
    }
}

/// The controller: a reference window, around which is what is in flight, and from it a rate for the source.
#[derive(Clone, Debug)]
pub struct Scream2 {
    segment: f64,
    start: f64,
    least_rate: f64,
    window: f64,
    /// The window at the last congestion: near it, it grows slowly.
    inflection: f64,
    round_trip: RoundTrip,
    queue: QueueDelay,
    /// The delay of the queue, averaged, in seconds, and when that was.
    average: f64,
    averaged: Option<Time>,
    share: Share,
    /// Packets seen without ECT(1) and CE since the start; none once one has been seen with them.
    bleached: Option<u32>,
    has_lost: bool,
    is_marked: bool,
    /// When the window was last reduced.
    reduced: Option<Time>,
    in_flight: MostInFlight<2>,
    /// What was in flight at the last acknowledgement.
    present: f64,
}

impl Scream2 {
    /// A flow that starts with the smallest window.
    ///
    /// # Errors
    /// The segment is empty; the first rate is below the lowest, or that one zero.
    pub fn new(settings: &ScreamSettings, context: &Context) -> Result<Self, BuildError> {
        let (segment, start, least_rate) =
            settings.checked(NAME, context)?;
        Ok(Self {
            segment,
            start,
            least_rate,
            window: bounded_window(0.0, segment),
            inflection: 1.0,
            round_trip: RoundTrip::new(),
            queue: QueueDelay::new(TARGETS, settings.competing),
            average: 0.0,
            averaged: None,
            share: Share::default(),
            bleached: Some(0),
            has_lost: false,
            is_marked: false,
            reduced: None,
            in_flight: MostInFlight::new(),
            present: 0.0,
        })
    }

    fn rtt(&self) -> Duration {
        smoothed(&self.round_trip)
    }

    fn is_l4s(&self) -> bool {
        self.bleached.is_none_or(|count| count < BLEACHED)
    }

    /// Whether the path marks as L4S does: what it marks is near the two marks of a round trip of the steady state.
    fn is_l4s_active(&self) -> bool {
        self.is_l4s() && self.share.alpha >= self.segment / self.window
    }

    /// A NaN gives the least.
    fn set_window(&mut self, window: f64) {
        self.window = bounded_window(window, self.segment);
    }

    fn average_delay(&mut self, now: Time, rtt: Duration) {
        if self.averaged.is_some_and(|averaged| now.since(averaged) < rtt) {
            return;
        }
        self.averaged = Some(now);
        let delay = self.queue.delay();
        let weight = if delay < self.average { 1.0 } else { DELAY_WEIGHT };
        self.average += weight * (delay - self.average);
    }

    /// How near the window is to that of the last congestion: 0.1 at it, 1 far away; the more marks there are, the less that counts.
    fn nearness(&self) -> f64 {
        let distance = (self.window - self.inflection) / self.inflection;
        let scale = (4.0 * distance).powi(2).clamp(0.1, 1.0);
        let least = if self.is_l4s_active() { (MULTIPLICATIVE * self.window / self.segment).min(1.0) } else { 0.0 };
        scale.max(least)
    }

    /// By what a congestion event of now multiplies the window, if there is one.
    fn factor(&self, quiet: bool) -> Option<f64> {
        if self.has_lost {
            return Some(AFTER_LOSS);
        }
        if self.is_marked && !self.is_l4s() {
            return Some(AFTER_MARK);
        }
        if self.is_marked {
            let back_off = self.share.alpha / 2.0 * (1.0 - 2.0 * self.segment / self.window).max(0.8);
            return Some(1.0 - if quiet { back_off.max(AFTER_QUIET) } else { back_off });
        }
        let half = self.queue.target() / 2.0;
        let virtual_share = ((self.average - half) / half).min(1.0);
        (virtual_share > 0.0 && !self.is_l4s_active()).then(|| 1.0 - virtual_share / 2.0)
    }

    fn reduce(&mut self, now: Time, rtt: Duration) {
        if self.reduced.is_some_and(|reduced| now.since(reduced) < VIRTUAL.min(rtt)) {
            return;
        }
        let quiet = self.reduced.is_none_or(|reduced| now.since(reduced) > QUIET);
        let Some(factor) = self.factor(quiet) else { return };
        self.inflection = self.window;
        if quiet && self.is_marked && self.is_l4s() {
            self.set_window(self.window.min(self.in_flight.all()));
        }
        self.set_window(factor * self.window);
        self.reduced = Some(now);
        (self.has_lost, self.is_marked) = (false, false);
    }

    /// `unmarked` bytes have arrived without a mark.
    fn grow(&mut self, now: Time, unmarked: f64, rtt: Duration) {
        let since = self.reduced.map_or(CAUTION, |reduced| now.since(reduced).as_seconds());
        let (near, segments) = (self.nearness(), self.window / self.segment);
        let fair = (rtt.as_seconds() / VIRTUAL.as_seconds()).min(1.0).powi(2);
        let growth = 1.0 + MULTIPLICATIVE * segments * (since / CAUTION).min(1.0) * near;
        let grown = self.window + unmarked / segments * fair * near * growth;
        if grown <= self.segment + HEAD_ROOM * self.in_flight.all() {
            self.set_window(grown);
        }
    }

    fn count_bleached(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let is_seen = acknowledgement.ect1_packets > 0 || acknowledgement.marked_packets > 0;
        let count = self.bleached.filter(|_| !is_seen || !self.is_l4s());
        self.bleached = count.map(|count| count.saturating_add(acknowledgement.packets));
    }

    /// What the source is to produce, in bits per second.
    fn target(&self) -> f64 {
        let Some(rtt) = self.round_trip.smoothed() else { return self.start };
        let small = (self.segment / self.window - 0.1).clamp(0.0, 0.8);
        let full = if self.is_l4s_active() { 0.0 } else { self.present / self.window };
        let crowded = if full > 0.9 { (full / 0.9).min(1.5) } else { 1.0 };
        let target = 8.0 * self.window / rtt.as_seconds().max(1e-6) * (1.0 - small) / crowded;
        target.clamp(self.least_rate, HIGHEST)
    }
}

impl Declared for Scream2 {
    type Settings = ScreamSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| ScreamSettings::default() }];
    const WORDS: &'static str = "Keeps a window by losses, the share of marks in ECT(1) and delay, and names a rate for media (SCReAM v2; draft-johansson-ccwg-rfc8298bis-screamv2-06).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Timestamps, pace: ANSWERS, ecn: Ecn::Capable1, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {start_rate: Rate, minimum_rate: Rate, competing: Switch};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Scream2 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight.update(sent.now, sent.in_flight.get(), self.rtt());
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        if let Some(rtt) = acknowledgement.rtt {
            self.round_trip.update(rtt);
        }
        let rtt = self.rtt();
        self.present = acknowledgement.in_flight.get() as f64;
        self.count_bleached(acknowledgement);
        self.share.update(now, acknowledgement, rtt);
        self.queue.update(now, acknowledgement.one_way_delay, rtt);
        self.average_delay(now, rtt);
        self.is_marked |= acknowledgement.marked_packets > 0;
        self.reduce(now, rtt);
        let marked = f64::from(acknowledgement.marked_packets) / f64::from(acknowledgement.packets.max(1));
        self.grow(now, acknowledgement.acknowledged.get() as f64 * (1.0 - marked).max(0.0), rtt);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.queue.on_loss();
        self.has_lost |= loss.new_episode;
    }

    /// Nothing comes back: the least that is sent.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repetition == 1 {
            self.inflection = self.window;
        }
        self.set_window(0.0);
        self.reduced = Some(timeout.now);
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((OVERHEAD * self.window).min(MAXIMUM_WINDOW) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second((PACING * self.target().max(PACE)) as u64))
    }

    fn target_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.target() as u64))
    }

    fn forgoes_ecn(&self) -> bool {
        !self.is_l4s()
    }

    fn state(&self) -> State {
        let phase = if self.reduced.is_none() { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { window: self.window(), pacing_rate: self.pacing_rate(), phase, ..State::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context, loss};

    /// A flow that has what its window allows in flight, over a round trip of 50 ms and a queue of this delay; answers each 10 ms.
    struct Flow {
        scream: Scream2,
        now: u64,
    }

    impl Flow {
        fn new() -> Self {
            let scream = Scream2::new(&ScreamSettings::default(), &context()).unwrap();
            Self { scream, now: 0 }
        }

        fn step(&mut self, delay: u64, marked_packets: u32, is_capable: bool) {
            self.now += 10;
            let now = Time::from_milliseconds(self.now);
            let in_flight = Bytes::new(self.scream.window as u64);
            let bytes = Bytes::new((self.scream.window / 5.0) as u64);
            self.scream.on_sent(&Sent { now, number: 0, bytes, in_flight, retransmission: false });
            let way = Duration::from_milliseconds(25 + delay);
            let packets = (self.scream.window / 5000.0) as u32 + 1;
            self.scream.on_acknowledgement(&Acknowledgement {
                now,
                acknowledged: bytes,
                in_flight,
                rtt: Some(way + Duration::from_milliseconds(25)),
                one_way_delay: Some(way),
                packets,
                marked_packets,
                ect1_packets: if is_capable { packets - marked_packets } else { 0 },
                ..acknowledgement(0, 0)
            });
        }
    }

    #[test]
    fn losses_multiply_the_window_by_0_7_once_in_25_ms() {
        let mut flow = Flow::new();
        (0..200).for_each(|_| flow.step(0, 0, true));
        let before = flow.scream.window;
        flow.scream.on_loss(&loss(true));
        flow.step(0, 0, true);
        assert!((flow.scream.window / before - 0.7).abs() < 0.01, "{} of {before}", flow.scream.window);
        let before = flow.scream.window;
        flow.scream.on_loss(&loss(true));
        flow.step(0, 0, true);
        assert!(flow.scream.window >= before, "10 ms later");
        (0..2).for_each(|_| flow.step(0, 0, true));
        assert!(flow.scream.window < 0.75 * before, "30 ms later");
    }

    #[test]
    fn the_share_of_marks_is_averaged_and_halves_the_window_at_most() {
        let mut flow = Flow::new();
        (0..200).for_each(|_| flow.step(0, 0, true));
        // The first mark after a long time: a quarter.
        let before = flow.scream.window;
        flow.step(0, 1, true);
        assert!((flow.scream.window / before - 0.75).abs() < 0.01, "{} of {before}", flow.scream.window);
        // All packets: 15/16 of the rest each time.
        let share = flow.scream.share.alpha;
        let packets = (flow.scream.window / 5000.0) as u32 + 1;
        flow.step(0, packets, true);
        assert!((flow.scream.share.alpha - (share + (1.0 - share) / 16.0)).abs() < 1e-9);
    }

    #[test]
    fn a_delay_beyond_half_its_target_counts_as_marks_where_the_path_makes_none() {
        let mut flow = Flow::new();
        (0..200).for_each(|_| flow.step(0, 0, true));
        let before = flow.scream.window;
        // Averaged over round trips, 45 ms come to more than the half of 60 ms.
        (0..300).for_each(|_| flow.step(45, 0, true));
        assert!(flow.scream.window < before, "{} of {before}", flow.scream.window);
        assert!((flow.scream.average - 0.045).abs() < 0.001);
    }

    #[test]
    fn a_path_that_takes_the_field_away_makes_it_a_classic_flow() {
        let mut flow = Flow::new();
        (0..100).for_each(|_| flow.step(0, 0, false));
        assert!(flow.scream.forgoes_ecn());
        let before = flow.scream.window;
        flow.step(0, 1, false);
        assert!((flow.scream.window / before - 0.8).abs() < 0.01);
        let mut other = Flow::new();
        other.step(0, 0, true);
        (0..100).for_each(|_| other.step(0, 0, false));
        assert!(!other.scream.forgoes_ecn(), "one has come with it");
    }

    #[test]
    fn the_target_is_the_window_in_a_round_trip() {
        let mut flow = Flow::new();
        (0..300).for_each(|_| flow.step(0, 0, true));
        let wanted = 8.0 * flow.scream.window / 0.05;
        // What is in flight is the window: 1 / 0.9 of what leaves the target as it is.
        assert!((flow.scream.target() / (wanted * 0.9) - 1.0).abs() < 0.02);
    }
}
