//! Google Congestion Control: draft-ietf-rmcat-gcc-02, controlled by the sender, with the constants and the filter of the draft or those of
//! libwebrtc. Probes, which libwebrtc alone has, are sent at the start.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::{choice, settings};
use crate::delay_gradient::{Detector, Estimator, Filter, Groups, Kalman, Trendline, Usage};
use crate::media_pace::MediaPace;
use crate::probe::Probes;
use crate::received_rate::ReceivedRate;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketOutcome,
    Phase, RoundTrip, Sent, Setting, State, Timeout,
};

const NAME: &str = "gcc";
/// `beta` (section 5.5).
const DECREASE: f64 = 0.85;
/// `eta` of a second (section 5.5).
const GROWTH: f64 = 1.08;
/// No rate grows beyond what arrives by this factor (section 5.5).
const MOST_OF_RECEIVED: f64 = 1.5;
/// Of the mean and the variance of what arrived when the rate was reduced (section 5.5).
const FORGETTING: f64 = 0.05;
/// The variance over the mean, in kbit/s, at first and within these bounds (libwebrtc, `LinkCapacityEstimator`).
const FIRST_VARIANCE: f64 = 0.4;
const VARIANCES: (f64, f64) = (0.4, 2.5);
/// `response_time_ms` beside the round-trip time, and what an encoder makes (section 5.5).
const RESPONSE: f64 = 0.1;
const FRAMES: f64 = 30.0;
const PACKET: f64 = 1200.0 * 8.0;
/// The rate changes no more often, but to go down at once: each answer may tell of one packet.
const INTERVAL: Duration = Duration::from_milliseconds(25);
/// It goes down again after a round trip within these bounds (libwebrtc, `AimdRateControl::TimeToReduceFurther`).
const FURTHER: (Duration, Duration) = (Duration::from_milliseconds(10), Duration::from_milliseconds(200));
/// Losses are judged over as many packets (libwebrtc, `kLimitNumPackets`), and no more often than answers are asked for.
const REPORT: u32 = 20;
const PACE: Duration = Duration::from_milliseconds(50);
/// What may be in flight beside a round trip and the pace of answers, so that a sender without answers ends.
const SLACK: Duration = Duration::from_milliseconds(500);
/// The least in flight, in packets.
const LEAST: u64 = 4;
/// No rate is higher: 10 Tbit/s.
const HIGHEST: f64 = 1e13;

/// Which constants and filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GccConstants {
    /// Those of libwebrtc, with its trendline.
    Libwebrtc,
    /// Those of the draft, with its Kalman filter.
    Draft,
}

choice! { GccConstants, "write libwebrtc or draft"; "libwebrtc" => Libwebrtc, "draft" => Draft }

impl GccConstants {
    /// `K_u` and `K_d` (section 5.4; libwebrtc, `TrendlineEstimator`).
    const fn gains(self) -> (f64, f64) {
        match self {
            Self::Libwebrtc => (0.0087, 0.039),
            Self::Draft => (0.01, 0.00018),
        }
    }

    fn filter(self) -> Filter {
        match self {
            Self::Libwebrtc => Filter::new(Estimator::Trendline(Trendline::default())),
            Self::Draft => Filter::new(Estimator::Kalman(Kalman::default())),
        }
    }
}

/// The parameters of [`Gcc`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GccSettings {
    /// Which constants and filter.
    pub constants: GccConstants,
    /// The first rate.
    pub start_rate: Rate,
    /// The lowest.
    pub minimum_rate: Rate,
    /// Whether the threshold follows the estimate; otherwise a flow beside one that fills the queue starves.
    pub adaptive_threshold: bool,
    /// Whether a flow looks at its start whether the path carries more, with the constants of libwebrtc.
    pub probes: bool,
    /// By how much faster than the target packets may leave for a moment.
    pub pacing: f64,
}

impl Default for GccSettings {
    fn default() -> Self {
        Self {
            constants: GccConstants::Libwebrtc,
            start_rate: Rate::from_bits_per_second(300_000),
            minimum_rate: Rate::from_bits_per_second(30_000),
            adaptive_threshold: true,
            probes: true,
            pacing: 2.5,
        }
    }
}

/// What arrived when the rate was reduced, in kbit/s: near it the rate grows slowly.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    variance: f64,
}

impl Capacity {
    fn add(before: Option<Self>, received: f64) -> Self {
        let sample = received / 1000.0;
        let before = before.filter(|before| sample >= before.mean - before.bound());
        let Some(Self { mean, variance }) = before else {
            return Self { mean: sample, variance: FIRST_VARIANCE };
        };
        let mean = mean + FORGETTING * (sample - mean);
        let error = mean - sample;
        let variance = (1.0 - FORGETTING) * variance + FORGETTING * error * error / mean.max(1.0);
        Self { mean, variance: variance.clamp(VARIANCES.0, VARIANCES.1) }
    }

    /// Three standard deviations.
    fn bound(&self) -> f64 {
        3.0 * (self.variance * self.mean).sqrt()
    }
}

/// The half that goes by delay: `A` (sections 5.2 to 5.5).
#[derive(Clone, Copy, Debug)]
struct DelayHalf {
    groups: Groups,
    filter: Filter,
    detector: Detector,
    /// Whether a group has come since the rate was last looked at.
    is_informed: bool,
    is_held: bool,
    rate: f64,
    capacity: Option<Capacity>,
    changed: Option<Time>,
    judged: Option<Time>,
}

/// The half that goes by losses: `As` (section 6).
#[derive(Clone, Copy, Debug)]
struct LossHalf {
    rate: f64,
    arrived: u32,
    lost: u32,
    judged: Option<Time>,
}

/// The controller: the lower one of two rates, of which one goes by how delays change and the other by losses.
#[derive(Clone, Debug)]
pub struct Gcc {
    settings: GccSettings,
    segment: u64,
    received: ReceivedRate,
    round_trip: RoundTrip,
    delay: DelayHalf,
    loss: LossHalf,
    pace: MediaPace,
    probes: Probes,
    /// What is left of the target while nothing comes back.
    brake: f64,
}

impl DelayHalf {
    fn new(settings: &GccSettings) -> Self {
        let gains = settings.adaptive_threshold.then(|| settings.constants.gains());
        Self {
            groups: Groups::default(),
            filter: settings.constants.filter(),
            detector: Detector::new(gains),
            is_informed: false,
            is_held: false,
            rate: settings.start_rate.bits_per_second() as f64,
            capacity: None,
            changed: None,
            judged: None,
        }
    }

    fn on_arrival(&mut self, sent: Time, arrival: Time) {
        let Some(change) = self.groups.push(sent, arrival) else { return };
        self.is_informed = true;
        if let Some(estimate) = self.filter.push(&change) {
            self.detector.update(estimate, &change);
        }
    }

    /// Changes the rate by what the detector says, where `received` arrived (section 5.5).
    fn judge(&mut self, now: Time, received: f64, rtt: Option<Duration>) {
        let is_over = self.detector.usage() == Usage::Over;
        let is_early = self.judged.is_some_and(|judged| now.since(judged) < INTERVAL);
        if !self.is_informed || (is_early && !is_over) {
            return;
        }
        self.is_informed = false;
        self.judged = Some(now);
        match self.detector.usage() {
            Usage::Over => self.decrease(now, received, rtt),
            Usage::Under => self.is_held = true,
            Usage::Normal if self.is_held => {
                self.is_held = false;
                self.changed = Some(now);
            }
            Usage::Normal => self.increase(now, received, rtt),
        }
    }

    fn decrease(&mut self, now: Time, received: f64, rtt: Option<Duration>) {
        self.is_held = true;
        let wait = rtt.unwrap_or(FURTHER.1).clamp(FURTHER.0, FURTHER.1);
        let waits = self.changed.is_some_and(|changed| now.since(changed) < wait);
        if waits && received >= self.rate / 2.0 {
            return;
        }
        self.capacity = Some(Capacity::add(self.capacity, received));
        self.rate = self.rate.min(DECREASE * received);
        self.changed = Some(now);
    }

    fn increase(&mut self, now: Time, received: f64, rtt: Option<Duration>) {
        self.capacity = self.capacity.filter(|known| received / 1000.0 <= known.mean + known.bound());
        let span = now.since(*self.changed.get_or_insert(now)).as_seconds().min(1.0);
        let grown = if self.capacity.is_some() {
            let response = RESPONSE + rtt.unwrap_or(Duration::ZERO).as_seconds();
            self.rate + (0.5 * (span / response).min(1.0) * expected_packet(self.rate)).max(1000.0)
        } else {
            self.rate * GROWTH.powf(span)
        };
        self.rate = self.rate.max(grown.min(MOST_OF_RECEIVED * received));
        self.changed = Some(now);
    }
}

/// `expected_packet_size_bits` (section 5.5).
fn expected_packet(rate: f64) -> f64 {
    let frame = rate / FRAMES;
    frame / (frame / PACKET).ceil().max(1.0)
}

impl LossHalf {
    /// Changes the rate by the share that was lost, where so many packets have been reported; `target` is what was sent at.
    fn judge(&mut self, now: Time, target: f64, received: f64) {
        let reported = self.arrived + self.lost;
        if reported < REPORT || self.judged.is_some_and(|judged| now.since(judged) < PACE) {
            return;
        }
        let share = f64::from(self.lost) / f64::from(reported);
        if share > 0.1 {
            self.rate = self.rate.min(target) * (1.0 - 0.5 * share);
        } else if share < 0.02 {
            let grown = 1.05 * (self.rate + 1000.0);
            self.rate = self.rate.max(grown.min(MOST_OF_RECEIVED * received));
        }
        *self = Self { rate: self.rate, arrived: 0, lost: 0, judged: Some(now) };
    }
}

impl Gcc {
    /// A flow that starts at its first rate.
    ///
    /// # Errors
    /// The segment is empty; the first rate is below the lowest, or that one zero; packets would leave more slowly than the target has it.
    pub fn new(settings: &GccSettings, context: &Context) -> Result<Self, BuildError> {
        let refuse = |setting, wanted| Err(BuildError::Setting { controller: NAME, setting, wanted });
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        if settings.minimum_rate == Rate::ZERO {
            return refuse("minimum_rate", "above 0");
        }
        if settings.start_rate < settings.minimum_rate {
            return refuse("start_rate", "that is not below minimum_rate");
        }
        if settings.pacing < 1.0 {
            return refuse("pacing", "of 1 or more");
        }
        let delay = DelayHalf::new(settings);
        let probes = match settings.constants {
            GccConstants::Libwebrtc if settings.probes => Probes::new(delay.rate, context.segment.get()),
            GccConstants::Libwebrtc | GccConstants::Draft => Probes::none(),
        };
        let mut gcc = Self {
            settings: *settings,
            segment: context.segment.get(),
            received: ReceivedRate::default(),
            round_trip: RoundTrip::new(),
            loss: LossHalf { rate: MOST_OF_RECEIVED * delay.rate, arrived: 0, lost: 0, judged: None },
            delay,
            pace: MediaPace::new(settings.pacing),
            probes,
            brake: 1.0,
        };
        gcc.bound();
        Ok(gcc)
    }

    fn target(&self) -> f64 {
        let least = self.settings.minimum_rate.bits_per_second() as f64;
        (self.brake * self.delay.rate.min(self.loss.rate)).max(least)
    }

    /// A probe has shown that the path carries so much. What arrived before tells nothing of that rate.
    fn jump(&mut self, now: Time, shown: f64) {
        self.delay.rate = shown;
        self.delay.changed = Some(now);
        self.loss.rate = self.loss.rate.max(MOST_OF_RECEIVED * shown);
        self.received = ReceivedRate::default();
        self.bound();
    }

    /// Keeps both rates within their bounds.
    fn bound(&mut self) {
        let least = self.settings.minimum_rate.bits_per_second() as f64;
        self.delay.rate = self.delay.rate.clamp(least, HIGHEST);
        self.loss.rate = self.loss.rate.clamp(least, HIGHEST);
    }
}

impl Declared for Gcc {
    type Settings = GccSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| GccSettings::default() }];
    const WORDS: &'static str = "Sends at the lower one of two rates, by how delays change and by losses, for media (WebRTC; draft-ietf-rmcat-gcc-02).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, pace: PACE, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {
        constants: GccConstants::CHOICE,
        start_rate: Rate,
        minimum_rate: Rate,
        adaptive_threshold: Switch,
        probes: Switch,
        pacing: Number,
    };

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Gcc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.pace.on_sent(sent.now, sent.bytes.get(), self.target());
        self.probes.on_sent(sent.now, sent.number, sent.bytes.get());
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        if let Some(rtt) = acknowledgement.rtt {
            self.round_trip.update(rtt);
        }
        for report in acknowledgement.reports {
            match report.outcome {
                PacketOutcome::Arrived(arrival) => {
                    self.brake = 1.0;
                    self.loss.arrived = self.loss.arrived.saturating_add(1);
                    self.received.add(arrival, report.bytes.get());
                    if let Some(arrival) = arrival {
                        self.delay.on_arrival(report.sent, arrival);
                        self.probes.on_arrived(report.number, arrival, report.bytes.get());
                    }
                }
                PacketOutcome::Returned => self.loss.lost = self.loss.lost.saturating_sub(1),
                PacketOutcome::Lost => {}
            }
        }
        if let Some(shown) = self.probes.take(now).filter(|shown| *shown > self.target()) {
            self.jump(now, shown);
        }
        let Some(received) = self.received.rate() else { return };
        let target = self.target();
        self.delay.judge(now, received, self.round_trip.smoothed());
        self.loss.judge(now, target, received);
        self.bound();
    }

    fn on_loss(&mut self, loss: &Loss) {
        let lost = u32::try_from(loss.reports.len()).unwrap_or(u32::MAX);
        self.loss.lost = self.loss.lost.saturating_add(lost);
    }

    /// Nothing comes back: what is sent then is half as much each time, and half as much as before when something does.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.probes.end();
        if timeout.repetition > 1 {
            self.brake /= 2.0;
            return;
        }
        self.delay.rate = self.target() / 2.0;
        self.delay.changed = Some(timeout.now);
        self.loss = LossHalf { rate: self.delay.rate, arrived: 0, lost: 0, judged: self.loss.judged };
        self.bound();
    }

    /// What the target sends in a round trip, between answers, and in half a second.
    fn window(&self) -> Option<Bytes> {
        let span = self.round_trip.smoothed().unwrap_or(SLACK) + PACE + SLACK;
        let bytes = (self.target() / 8.0 * span.as_seconds()) as u64;
        Some(Bytes::new(bytes.max(LEAST * self.segment)))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let probe = self.probes.rate().filter(|_| self.brake >= 1.0);
        Some(probe.map_or_else(|| self.pace.rate(self.target()), |rate| Rate::from_bits_per_second(rate as u64)))
    }

    fn burst(&self) -> Option<Bytes> {
        // Packets of a probe leave one by one.
        Some(if self.probes.rate().is_some() { Bytes::new(1) } else { self.pace.burst(self.target()) })
    }

    fn target_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.target() as u64))
    }

    fn pads(&self) -> bool {
        self.brake >= 1.0 && self.probes.pads()
    }

    fn state(&self) -> State {
        let phase = if self.delay.capacity.is_some() { Phase::CongestionAvoidance } else { Phase::SlowStart };
        State { window: self.window(), pacing_rate: self.pacing_rate(), phase, ..State::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PacketReport;
    use crate::testing::{acknowledgement, context};

    /// A path for packets of 1250 bytes, each 10 ms and so 1 Mbit/s where no other gap is given, that are answered each 50 ms, 20 ms after they arrive.
    struct Path {
        gcc: Gcc,
        number: u64,
        /// When the next packet leaves, and how long it takes, in microseconds.
        sent: u64,
        gap: u64,
        delay: u64,
        waiting: Vec<PacketReport>,
        arrivals: Vec<u64>,
    }

    fn at(microseconds: u64) -> Time {
        Time::from_nanoseconds(microseconds * 1000)
    }

    impl Path {
        fn new(settings: &GccSettings) -> Self {
            let gcc = Gcc::new(settings, &context()).unwrap();
            Self { gcc, number: 0, sent: 0, gap: 10_000, delay: 20_000, waiting: Vec::new(), arrivals: Vec::new() }
        }

        /// Sends a packet, which takes this much longer than the last one; the target.
        fn send(&mut self, longer: u64, is_lost: bool) -> u64 {
            self.delay += longer;
            let (arrival, bytes) = (self.sent + self.delay, Bytes::new(1250));
            let outcome = if is_lost { PacketOutcome::Lost } else { PacketOutcome::Arrived(Some(at(arrival))) };
            self.waiting.push(PacketReport { number: self.number, sent: at(self.sent), bytes, outcome });
            self.arrivals.extend(Some(arrival).filter(|_| !is_lost));
            self.number += 1;
            self.sent += self.gap;
            if self.number.is_multiple_of(50_000 / self.gap) {
                self.answer(at(arrival + 20_000));
            }
            self.target()
        }

        fn answer(&mut self, now: Time) {
            let (lost, arrived): (Vec<_>, Vec<_>) =
                self.waiting.drain(..).partition(|report| report.outcome == PacketOutcome::Lost);
            if !lost.is_empty() {
                self.gcc.on_loss(&Loss { now, reports: &lost, ..crate::testing::loss(true) });
            }
            let rtt = Some(Duration::from_milliseconds(40));
            self.gcc.on_acknowledgement(&Acknowledgement { now, rtt, reports: &arrived, ..acknowledgement(0, 0) });
        }

        fn target(&self) -> u64 {
            self.gcc.target_rate().unwrap().bits_per_second()
        }

        /// What arrived in the last half second, in parts of 10 ms.
        fn received(&self) -> f64 {
            let last = self.arrivals.last().unwrap() / 10_000;
            let count = self.arrivals.iter().filter(|time| **time / 10_000 + 50 > last).count();
            count as f64 * 1250.0 * 16.0
        }
    }

    fn settings(constants: GccConstants, start: u64) -> GccSettings {
        GccSettings { constants, start_rate: Rate::from_bits_per_second(start), probes: false, ..GccSettings::default() }
    }

    #[test]
    fn a_ramp_of_the_delay_cuts_the_rate_to_85_per_cent_of_what_arrives() {
        let mut path = Path::new(&settings(GccConstants::Libwebrtc, 1_400_000));
        // The first rate is near what arrives by half, so that it hardly grows.
        (0..200).for_each(|_| {
            path.send(0, false);
        });
        // Then each packet comes 1 ms later than the one before: of the k-th the smoothed delay is k - 9 (1 - 0.9^k) milliseconds.
        let smoothed = |k: i32| if k > 0 { f64::from(k) - 9.0 * (1.0 - 0.9_f64.powi(k)) } else { 0.0 };
        let time = |k: i32| f64::from(10 * k + k.max(0));
        let trend = |k: i32| {
            let (x, y) = (k - 19..=k).fold((0.0, 0.0), |sum, k| (sum.0 + time(k) / 20.0, sum.1 + smoothed(k) / 20.0));
            let sums = (k - 19..=k).fold((0.0, 0.0), |sum, k| {
                (sum.0 + (time(k) - x) * (smoothed(k) - y), sum.1 + (time(k) - x).powi(2))
            });
            240.0 * sums.0 / sums.1
        };
        // The threshold has fallen to 6 ms; it is passed for 5 ms at the first such group and for 16 ms, which is enough, at the second.
        let first = (1..).find(|k| trend(*k) > 6.1).unwrap();
        let mut before = path.target();
        for k in 1..=40 {
            let target = path.send(1000, false);
            // A group is complete when the next one begins, and the rate changes with the answer.
            let is_seen = k / 5 * 5 > first + 1;
            assert_eq!(target < before, is_seen, "{k}: {target} after {before}, seen at {first}");
            if is_seen {
                assert_eq!(target, (0.85 * path.received()) as u64);
                return;
            }
            before = target;
        }
        panic!("the ramp was not seen");
    }

    #[test]
    fn without_probes_the_rate_grows_by_8_per_cent_in_a_second() {
        for constants in [GccConstants::Libwebrtc, GccConstants::Draft] {
            let mut path = Path::new(&settings(constants, 300_000));
            let seconds = (1..).find(|_| path.send(0, false) >= 1_000_000).unwrap() as f64 / 100.0;
            // ln(1 / 0.3) / ln 1.08 = 15.64 s, after the half second that is measured first.
            let wanted = (10.0_f64 / 3.0).ln() / 1.08_f64.ln() + 0.5;
            assert!((seconds - wanted).abs() < 0.11, "{seconds} s");
        }
    }

    #[test]
    fn the_rate_is_at_most_one_and_a_half_times_what_arrives() {
        let mut path = Path::new(&settings(GccConstants::Libwebrtc, 300_000));
        (0..6000).for_each(|_| {
            path.send(0, false);
        });
        assert_eq!(path.target(), 1_500_000);
    }

    #[test]
    fn few_losses_are_borne_and_many_cut_the_rate_by_half_their_share() {
        // 25 packets in each report: of 200 are 3 lost, no two in one report, then 3 of 25.
        let mut path = Path { gap: 2000, ..Path::new(&settings(GccConstants::Libwebrtc, 1_000_000)) };
        let mut highest = 0;
        for number in 0..4000 {
            let target = path.send(0, number % 67 == 66);
            assert!(target >= highest, "{number}: {target} after {highest}");
            highest = highest.max(target);
        }
        assert!(highest > 1_600_000, "{highest}");
        let cut = |target: f64| (target * 0.94) as u64;
        for _ in 0..10 {
            let before = path.gcc.target();
            for number in 0..25 {
                path.send(0, number % 8 == 7);
            }
            assert_eq!(path.target(), cut(before));
        }
    }
}
