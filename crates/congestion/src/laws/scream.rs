//! SCReAM, version 1: RFC 8298. Where the source does not say what waits before the sender, something does if the sender never had to wait for
//! it in an interval.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::segments::MAXIMUM_WINDOW;
use crate::scream_delay::{ANSWERS, HIGHEST, MostInFlight, PACE, QueueDelay, Recent, ScreamSettings, bounded_window, smoothed};
use crate::{
    Acknowledgement, Backlog, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Phase,
    RoundTrip, Sent, Setting, State, Timeout,
};

const NAME: &str = "scream";
/// Section 4.1.1.1: `QDELAY_TARGET_LO` and `QDELAY_TARGET_HI`, in seconds.
const TARGETS: (f64, f64) = (0.1, 0.4);
/// `QDELAY_WEIGHT`, `QDELAY_TREND_TH` and `QDELAY_TREND_LO`.
const WEIGHT: f64 = 0.1;
const TREND: f64 = 0.2;
const LOW_TREND: f64 = 0.2;
/// Of how many delays the trend is.
const TREND_SAMPLES: usize = 20;
/// By how much the largest trend is forgotten.
const MEMORY: f64 = 0.99;
/// `MAX_BYTES_IN_FLIGHT_HEAD_ROOM`, and over how many seconds.
const HEAD_ROOM: f64 = 1.1;
const SECONDS: usize = 5;
const SECOND: Duration = Duration::from_milliseconds(1000);
/// `GAIN`, `BETA_LOSS`, `BETA_ECN` and `BETA_R`.
const GAIN: f64 = 1.0;
const AFTER_LOSS: f64 = 0.8;
const AFTER_MARK: f64 = 0.9;
const RATE_AFTER_LOSS: f64 = 0.9;
/// `RATE_ADJUST_INTERVAL`, `RAMP_UP_SPEED` in bits per second and second, `PRE_CONGESTION_GUARD`, `RTP_QDELAY_TH` in seconds,
/// `TARGET_RATE_SCALE_RTP_QDELAY`.
const RATE_INTERVAL: Duration = Duration::from_milliseconds(200);
const RAMP: f64 = 200_000.0;
const GUARD: f64 = 0.1;
const WAIT: f64 = 0.02;
const AFTER_WAIT: f64 = 0.95;
/// `T_RESUME_FAST_INCREASE`.
const RESUME: Duration = Duration::from_milliseconds(5000);
/// How the delay moves (section 4.1.2.1).
#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    average: f64,
    fractions: Recent<TREND_SAMPLES>,
    value: f64,
    memory: f64,
}

impl Trend {
    fn push(&mut self, fraction: f64) {
        self.average += WEIGHT * (fraction - self.average);
        self.fractions.push(fraction);
        self.value = (self.fractions.autocorrelation() * self.average).clamp(0.0, 1.0);
        self.memory = (MEMORY * self.memory).max(self.value);
    }
}

/// What the source is to produce (section 4.1.3).
#[derive(Clone, Copy, Debug)]
struct MediaRate {
    target: f64,
    /// `target_bitrate_last_max`.
    last: f64,
    least: f64,
    since: Option<Time>,
    sent: u64,
    acknowledged: u64,
    /// Whether the source has let the sender wait.
    has_waited: bool,
    /// Bits that wait before the sender, where the source says.
    backlog: Option<f64>,
}

impl MediaRate {
    /// A loss or a mark.
    fn reduce(&mut self, factor: f64) {
        self.last = self.target;
        self.target = (factor * self.target).max(self.least);
    }

    fn adjust(&mut self, now: Time, trend: &Trend, is_fast: bool) {
        let since = *self.since.get_or_insert(now);
        let span = now.since(since);
        if span < RATE_INTERVAL {
            return;
        }
        let current = self.sent.max(self.acknowledged) as f64 * 8.0 / span.as_seconds();
        let ramp = RAMP.min(self.target / 2.0) * RATE_INTERVAL.as_seconds();
        let scale = (4.0 * (self.target - self.last) / self.last).powi(2).clamp(0.2, 1.0);
        if is_fast {
            self.target += ramp * scale;
        } else if self.has_waited || self.backlog.is_some() {
            let backlog = self.backlog.unwrap_or_default();
            let change = current * (1.0 - GUARD * trend.value) - backlog;
            self.target += if change > 0.0 { (change * scale).min(ramp) } else { change };
            if backlog > WAIT * current {
                self.target *= AFTER_WAIT;
            }
        } else {
            self.target = self.target.min(current) * AFTER_WAIT;
        }
        self.target = self.target.min(current * (2.0 - trend.memory)).clamp(self.least, HIGHEST);
        *self = Self { since: Some(now), sent: 0, acknowledged: 0, has_waited: false, ..*self };
    }
}

/// The controller: a window that aims at a delay of the queue, and a rate for the source.
#[derive(Clone, Debug)]
pub struct Scream {
    segment: f64,
    window: f64,
    round_trip: RoundTrip,
    queue: QueueDelay,
    trend: Trend,
    is_fast: bool,
    /// When the trend was last high, or something was lost or marked.
    risen: Option<Time>,
    /// When a mark last reduced the window.
    marked: Option<Time>,
    in_flight: MostInFlight<SECONDS>,
    media: MediaRate,
}

impl Scream {
    /// A flow that starts with the smallest window.
    ///
    /// # Errors
    /// The segment is empty; the first rate is below the lowest, or that one zero.
    pub fn new(settings: &ScreamSettings, context: &Context) -> Result<Self, BuildError> {
        let (segment, target, least) =
            settings.checked(NAME, context)?;
        let media = MediaRate { target, last: 1.0, least, since: None, sent: 0, acknowledged: 0, has_waited: false, backlog: None };
        Ok(Self {
            segment,
            window: bounded_window(0.0, segment),
            round_trip: RoundTrip::new(),
            queue: QueueDelay::new(TARGETS, settings.competing),
            trend: Trend::default(),
            is_fast: true,
            risen: None,
            marked: None,
            in_flight: MostInFlight::new(),
            media,
        })
    }

    fn rtt(&self) -> Duration {
        smoothed(&self.round_trip)
    }

    /// Fast growth is over, and does not go on before so long a time is over again as after a delay that rose.
    fn reduce(&mut self, now: Time, factor: f64) {
        self.set_window(factor * self.window);
        self.is_fast = false;
        self.risen = Some(now);
    }

    /// A NaN gives the least.
    fn set_window(&mut self, window: f64) {
        self.window = bounded_window(window, self.segment);
    }

    /// Section 4.1.2.2.
    fn grow(&mut self, acknowledged: f64, in_flight: f64) {
        if self.is_fast && self.trend.value < TREND {
            if 1.5 * in_flight + acknowledged > self.window {
                self.set_window(self.window + acknowledged);
            }
            return;
        }
        self.is_fast = false;
        let off = (self.queue.target() - self.queue.delay()) / self.queue.target();
        let is_used = 1.25 * in_flight + acknowledged > self.window;
        if off <= 0.0 || is_used {
            self.set_window(self.window + GAIN * off * acknowledged * self.segment / self.window);
        }
        self.set_window(self.window.min(HEAD_ROOM * self.in_flight.all()));
    }

    /// Looks at how delays have moved; whether fast growth may go on (section 4.1.2.6).
    fn look(&mut self, now: Time) {
        self.trend.push(self.queue.delay() / self.queue.target());
        if self.trend.value >= LOW_TREND {
            self.risen = Some(now);
        }
        self.is_fast |= now.since(*self.risen.get_or_insert(now)) >= RESUME;
    }
}

impl Declared for Scream {
    type Settings = ScreamSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| ScreamSettings::default() }];
    const WORDS: &'static str = "Keeps the delay of the queue at 100 ms by a window, and names a rate for media (SCReAM; RFC 8298).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Timestamps, pace: ANSWERS, ecn: Ecn::Capable0, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {start_rate: Rate, minimum_rate: Rate, competing: Switch};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Scream {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight.update(sent.now, sent.in_flight.get(), SECOND);
        self.media.sent = self.media.sent.saturating_add(sent.bytes.get());
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        if let Some(rtt) = acknowledgement.rtt {
            self.round_trip.update(rtt);
        }
        let (acknowledged, rtt) = (acknowledgement.acknowledged.get(), self.rtt());
        self.media.acknowledged = self.media.acknowledged.saturating_add(acknowledged);
        self.media.has_waited |= acknowledgement.application_limited;
        if self.queue.update(now, acknowledgement.one_way_delay, rtt) {
            self.look(now);
        }
        let is_marked = acknowledgement.marked_packets > 0;
        if is_marked && self.marked.is_none_or(|marked| now.since(marked) >= rtt) {
            self.marked = Some(now);
            self.reduce(now, AFTER_MARK);
            self.media.reduce(AFTER_MARK);
        } else if acknowledged > 0 {
            self.grow(acknowledged as f64, acknowledgement.in_flight.get() as f64);
        }
        self.media.adjust(now, &self.trend, self.is_fast);
    }

    fn on_backlog(&mut self, _now: Time, backlog: &Backlog) {
        self.media.backlog = Some(8.0 * backlog.bytes.get() as f64);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.queue.on_loss();
        if loss.new_episode {
            self.reduce(loss.now, AFTER_LOSS);
            self.media.reduce(RATE_AFTER_LOSS);
        }
    }

    /// Nothing comes back: the least that is sent, from which both grow fast.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.set_window(0.0);
        self.is_fast = true;
        if timeout.repetition == 1 {
            self.media.reduce(0.5);
        }
    }

    /// Section 4.1.2.5: a segment more while the delay is below what is aimed at.
    fn window(&self) -> Option<Bytes> {
        let more = if self.queue.delay() <= self.queue.target() { self.segment } else { 0.0 };
        Some(Bytes::new((self.window + more).min(MAXIMUM_WINDOW) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = 8.0 * self.window / self.rtt().as_seconds().max(1e-6);
        Some(Rate::from_bits_per_second(rate.clamp(PACE, HIGHEST) as u64))
    }

    fn target_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.media.target as u64))
    }

    fn state(&self) -> State {
        let phase = if self.is_fast { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { window: self.window(), pacing_rate: self.pacing_rate(), phase, ..State::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context, loss};

    const STEP: u64 = 20;

    /// A source that follows the target, and fills the window, over a path whose queue has this delay in milliseconds; answers each 20 ms.
    struct Flow {
        scream: Scream,
        now: u64,
        sent: f64,
    }

    impl Flow {
        fn new(settings: &ScreamSettings) -> Self {
            Self { scream: Scream::new(settings, &context()).unwrap(), now: 0, sent: 0.0 }
        }

        fn target(&self) -> f64 {
            self.scream.target_rate().unwrap().bits_per_second() as f64
        }

        fn lose(&mut self, new_episode: bool) {
            let now = Time::from_milliseconds(self.now);
            self.scream.on_loss(&Loss { now, ..loss(new_episode) });
        }

        fn step(&mut self, delay: u64, marked_packets: u32) {
            self.now += STEP;
            let now = Time::from_milliseconds(self.now);
            self.sent += self.target() * STEP as f64 / 8000.0;
            let bytes = Bytes::new(self.sent as u64);
            self.sent = self.sent.fract();
            let in_flight = Bytes::new(self.scream.window as u64);
            self.scream.on_sent(&Sent { now, number: 0, bytes, in_flight, retransmission: false });
            let way = Duration::from_milliseconds(28 + delay);
            self.scream.on_acknowledgement(&Acknowledgement {
                now,
                acknowledged: bytes,
                in_flight,
                rtt: Some(way + Duration::from_milliseconds(28)),
                one_way_delay: Some(way),
                marked_packets,
                application_limited: true,
                ..acknowledgement(0, 0)
            });
        }
    }

    #[test]
    fn the_rate_of_the_source_grows_by_200_kbit_in_a_second() {
        let mut flow = Flow::new(&ScreamSettings::default());
        // From 1 Mbit/s on, as half of a lower target is less.
        while flow.target() < 1e6 {
            flow.step(0, 0);
        }
        let before = flow.target();
        (0..500).for_each(|_| flow.step(0, 0));
        let grown = flow.target() - before;
        assert!((grown - 2e6).abs() < 0.05e6, "{grown} in 10 s");
    }

    #[test]
    fn losses_and_marks_reduce_window_and_rate_once_in_a_round_trip() {
        let mut flow = Flow::new(&ScreamSettings::default());
        (0..500).for_each(|_| flow.step(0, 0));
        let (window, target) = (flow.scream.window, flow.target());
        flow.lose(true);
        flow.lose(false);
        assert!((flow.scream.window / window - 0.8).abs() < 1e-9);
        assert!((flow.target() / target - 0.9).abs() < 1e-5);
        let window = flow.scream.window;
        flow.step(0, 1);
        flow.step(0, 1);
        // Two marks in 20 ms are one event, and the second answer grows the window by little.
        assert!((flow.scream.window / window - 0.9).abs() < 0.02, "{} of {window}", flow.scream.window);
    }

    #[test]
    fn after_a_loss_the_source_grows_by_no_more_than_40_kbit_in_a_fifth_of_a_second() {
        let mut flow = Flow::new(&ScreamSettings::default());
        while flow.target() < 2e6 {
            flow.step(0, 0);
        }
        flow.lose(true);
        let before = flow.target();
        (0..50).for_each(|_| flow.step(0, 0));
        let grown = flow.target() - before;
        assert!((grown - 200_000.0).abs() < 40_001.0, "{grown} in a second");
    }

    #[test]
    fn what_waits_before_the_sender_lowers_the_rate_of_the_source() {
        let mut flow = Flow::new(&ScreamSettings::default());
        while flow.target() < 2e6 {
            flow.step(0, 0);
        }
        flow.lose(true);
        let mut change = |bytes: u64| {
            let before = flow.target();
            let backlog = Backlog { bytes: Bytes::new(bytes), age: Duration::ZERO };
            flow.scream.on_backlog(Time::from_milliseconds(flow.now), &backlog);
            (0..10).for_each(|_| flow.step(0, 0));
            flow.target() / before
        };
        assert!(change(0) > 1.02);
        // 0.2 s of the rate: after a step of 40 kbit/s a twentieth less, and no more than that.
        let found = change(45_000);
        assert!((found - 0.95 * 1.02).abs() < 0.01, "{found}");
    }

    #[test]
    fn a_queue_beyond_the_target_shrinks_the_window() {
        let mut flow = Flow::new(&ScreamSettings { competing: false, ..ScreamSettings::default() });
        (0..500).for_each(|_| flow.step(0, 0));
        (0..20).for_each(|step| flow.step(10 * step, 0));
        assert_eq!(flow.scream.state().phase, Phase::CongestionAvoidance);
        let before = flow.scream.window;
        (0..50).for_each(|_| flow.step(190, 0));
        assert!(flow.scream.window < before, "{} after {before}", flow.scream.window);
        let window = flow.scream.window().unwrap().get();
        assert_eq!(window, flow.scream.window as u64, "no segment more than the window");
    }
}
