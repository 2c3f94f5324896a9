//! Verus (Zaki, Pötsch, Chen, Subramanian, Görg, "Adaptive Congestion Control for Unpredictable Cellular Networks", SIGCOMM 2015): the
//! sender learns how packets are delayed with so much in flight, and each 5 ms wants a delay that is a little longer or shorter;
//! the window is that of which packets take so long. Constants are those of the authors' program.
//!
//! Departures: the fit of the profile ([`profile`]); windows are what was in flight when a packet was sent; no delay is wanted beyond twice
//! the largest ratio; and on a path whose smallest delay is long, slow start ends at twice that.

mod profile;

use trialwise_units::{Bytes, Duration, Rate, Time};

use self::profile::Profile;
use crate::declared::settings;
use crate::in_flight::InFlight;
use crate::quota::Quota;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketOutcome,
    PacketReport, Phase, Sent, Setting, State, Timeout,
};

const NAME: &str = "verus";
const EPOCH: Duration = Duration::from_milliseconds(5);
/// Epochs that are made up for; without an acknowledgement for so long none begins.
const MOST_LATE: u64 = 10;
const REFIT: Duration = Duration::from_milliseconds(1000);
/// Slow start ends when packets take so long.
const LONGEST_START: Duration = Duration::from_milliseconds(500);
const INITIAL_WINDOW: f64 = 2.0;
/// What a loss leaves of the window.
const DECREASE: f64 = 0.7;
/// Seconds by which the delay that is wanted changes in an epoch (`delta1`, `delta2`).
const SMALL_STEP: f64 = 0.001;
const LARGE_STEP: f64 = 0.002;
/// Of the longest delay of the last epoch, against those before.
const NEWEST: f64 = 0.8;
/// Of the round-trip time.
const SMOOTHING: f64 = 0.125;

/// The parameters of [`Verus`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerusSettings {
    /// `R`: the delay that is wanted falls when the longest of an epoch is more than so many times the smallest.
    pub ratio: f64,
}

impl Default for VerusSettings {
    fn default() -> Self {
        Self { ratio: 6.0 }
    }
}

/// The controller; delays in seconds, windows in packets.
#[derive(Clone, Debug)]
pub struct Verus {
    settings: VerusSettings,
    quota: Quota,
    /// Of each packet, what was in flight as it was sent.
    windows: InFlight<f64>,
    profile: Profile,
    phase: Phase,
    window: f64,
    /// Packets from this number on were sent after the loss.
    recover: u64,
    smallest: f64,
    round_trip: f64,
    wanted: f64,
    /// The longest of the epoch, and that of those before.
    longest: f64,
    before: f64,
    heard: Time,
    epoch: Option<Time>,
    refit: Time,
}

impl Verus {
    /// A flow that starts with two packets.
    ///
    /// # Errors
    /// The ratio is not above 1.
    pub fn new(settings: &VerusSettings, context: &Context) -> Result<Self, BuildError> {
        if !(settings.ratio > 1.0 && settings.ratio.is_finite()) {
            return Err(BuildError::Setting { controller: NAME, setting: "ratio", wanted: "above 1" });
        }
        let mut verus = Self {
            settings: *settings,
            quota: Quota::new(context.segment),
            windows: InFlight::default(),
            profile: Profile::new(),
            phase: Phase::SlowStart,
            window: INITIAL_WINDOW,
            recover: 0,
            smallest: f64::INFINITY,
            round_trip: 0.0,
            wanted: 0.0,
            longest: 0.0,
            before: 0.0,
            heard: context.now,
            epoch: None,
            refit: context.now,
        };
        verus.follow_window();
        Ok(verus)
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.quota.segment() as f64
    }

    /// What acknowledgements permit, where there are no epochs.
    fn follow_window(&mut self) {
        let window = (self.window * self.quota.segment() as f64) as u64;
        self.quota.set(window.saturating_sub(self.quota.in_flight()));
    }

    fn take_delay(&mut self, delay: f64, window: f64) {
        self.smallest = self.smallest.min(delay);
        self.longest = self.longest.max(delay);
        let is_first = self.round_trip == 0.0;
        self.round_trip += if is_first { delay } else { SMOOTHING * (delay - self.round_trip) };
        if self.phase != Phase::Recovery {
            self.profile.add(window, delay);
        }
    }

    fn take_report(&mut self, now: Time, report: &PacketReport, is_held_back: bool) {
        let Some(window) = self.windows.take(report.number) else { return };
        let delay = now.since(report.sent).as_seconds();
        if report.outcome == PacketOutcome::Lost || delay <= 0.0 {
            return;
        }
        self.take_delay(delay, window);
        match self.phase {
            Phase::SlowStart => {
                self.window += if is_held_back { 0.0 } else { 1.0 };
                if delay > LONGEST_START.as_seconds().max(2.0 * self.smallest) {
                    self.leave(now);
                }
            }
            Phase::Recovery => {
                self.window += 1.0 / self.window;
                if report.number >= self.recover {
                    self.leave(now);
                }
            }
            _ => {}
        }
    }

    /// Slow start, or what follows a loss, is over: from now on the profile says how much is sent.
    fn leave(&mut self, now: Time) {
        let was_start = self.phase == Phase::SlowStart;
        self.phase = Phase::CongestionAvoidance;
        self.refit(now);
        let wanted = if was_start { Some(self.longest) } else { self.profile.delay(self.window) };
        self.wanted = wanted.unwrap_or(self.smallest);
        self.before = self.longest;
        self.bound_wanted();
        self.epoch = Some(now + EPOCH);
        self.quota.set(0);
    }

    fn refit(&mut self, now: Time) {
        self.profile.refit(self.smallest);
        self.refit = now + REFIT;
    }

    fn bound_wanted(&mut self) {
        self.wanted = self.wanted.clamp(self.smallest, 2.0 * self.settings.ratio * self.smallest);
    }

    /// Decides on the delay that is wanted, and how much leaves in the next epoch.
    fn begin_epoch(&mut self, now: Time) {
        if self.longest == 0.0 {
            self.longest = self.before.max(now.since(self.heard).as_seconds());
        }
        let smoothed = NEWEST * self.longest + (1.0 - NEWEST) * self.before;
        self.wanted += if smoothed > self.settings.ratio * self.smallest {
            -LARGE_STEP
        } else if smoothed > self.before {
            -SMALL_STEP
        } else {
            LARGE_STEP
        };
        self.bound_wanted();
        (self.before, self.longest) = (smoothed, 0.0);
        self.window = self.profile.window(self.wanted).max(1.0);
        self.quota.set(self.allowance());
    }

    /// `S`, and what is left of a packet.
    fn allowance(&self) -> u64 {
        let in_flight = self.packets(self.quota.in_flight());
        let epochs = (self.round_trip / EPOCH.as_seconds()).ceil();
        let sent = if epochs > 1.0 { in_flight * (epochs - 2.0) / (epochs - 1.0) } else { in_flight };
        let rest = self.quota.left().min(self.quota.segment());
        rest.saturating_add(((self.window - sent).max(0.0) * self.quota.segment() as f64) as u64)
    }
}

impl Declared for Verus {
    type Settings = VerusSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| VerusSettings::default() }];
    const WORDS: &'static str = "Learns how long packets take with so much in flight, and goes by that, each 5 ms (Zaki et al., SIGCOMM 2015).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {ratio: Number};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Verus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.quota.on_sent(sent.bytes, sent.in_flight);
        self.windows.push(sent.number, self.packets(sent.in_flight.get()));
        if self.phase == Phase::CongestionAvoidance && self.epoch.is_none() {
            self.heard = sent.now;
            self.epoch = Some(sent.now + EPOCH);
        }
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        self.quota.set_in_flight(acknowledgement.in_flight);
        for report in acknowledgement.reports {
            self.take_report(now, report, acknowledgement.application_limited);
        }
        self.heard = now;
        if self.phase != Phase::CongestionAvoidance {
            self.follow_window();
        } else if now >= self.refit {
            self.refit(now);
        }
        if self.phase == Phase::CongestionAvoidance && self.epoch.is_none() {
            self.epoch = Some(now + EPOCH);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.quota.set_in_flight(loss.in_flight);
        let sent_with = loss.reports.iter().filter_map(|report| self.windows.take(report.number)).last();
        if loss.new_episode {
            self.window = (DECREASE * sent_with.unwrap_or(self.window)).max(1.0);
            self.phase = Phase::Recovery;
            self.recover = self.windows.next_number();
            self.epoch = None;
        }
        if self.phase != Phase::CongestionAvoidance {
            self.follow_window();
        }
    }

    /// Begins anew.
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.quota.set_in_flight(Bytes::ZERO);
        self.windows.clear();
        self.profile = Profile::new();
        self.phase = Phase::SlowStart;
        self.window = INITIAL_WINDOW;
        self.longest = 0.0;
        self.epoch = None;
        self.follow_window();
    }

    fn next_timer(&self) -> Option<Time> {
        self.epoch
    }

    fn on_timer(&mut self, now: Time) {
        let Some(time) = self.epoch.filter(|time| *time <= now) else { return };
        self.begin_epoch(now);
        // An epoch that comes late is not made up for.
        let next = if time + EPOCH > now { time + EPOCH } else { now + EPOCH };
        self.epoch = Some(next).filter(|_| now.since(self.heard) < EPOCH * MOST_LATE);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.quota.window())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn state(&self) -> State {
        State { window: self.window(), phase: self.phase, ..State::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use trialwise_units::Seed;

    use super::*;
    use crate::testing::acknowledgement;

    const SEGMENT: u64 = 1000;
    const AT: fn(u64) -> Time = Time::from_milliseconds;

    /// A flow whose packets are answered when the test says so.
    struct Flow {
        verus: Verus,
        sent: VecDeque<(u64, Time)>,
        next: u64,
    }

    impl Flow {
        fn new() -> Self {
            let context = Context {
                now: Time::ZERO,
                segment: Bytes::new(SEGMENT),
                line_rate: None,
                base_rtt: None,
                path_window: None, hops: None,
                seed: Seed::new(1),
            };
            let verus = Verus::new(&VerusSettings::default(), &context).unwrap();
            Self { verus, sent: VecDeque::new(), next: 0 }
        }

        fn in_flight(&self) -> Bytes {
            Bytes::new(SEGMENT * self.sent.len() as u64)
        }

        /// Sends what may leave; how many packets.
        fn send(&mut self, now: Time) -> usize {
            let before = self.sent.len();
            while self.in_flight() + Bytes::new(SEGMENT) <= self.verus.window().unwrap() {
                self.sent.push_back((self.next, now));
                let (bytes, in_flight) = (Bytes::new(SEGMENT), self.in_flight());
                self.verus.on_sent(&Sent { now, number: self.next, bytes, in_flight, retransmission: false });
                self.next += 1;
            }
            self.sent.len() - before
        }

        /// The oldest packets come back.
        fn answer(&mut self, now: Time, packets: usize) {
            for (number, sent) in self.sent.drain(..packets).collect::<Vec<_>>() {
                let outcome = PacketOutcome::Arrived(None);
                let reports = &[PacketReport { number, sent, bytes: Bytes::new(SEGMENT), outcome }];
                let in_flight = self.in_flight();
                self.verus.on_acknowledgement(&Acknowledgement { now, in_flight, reports, ..acknowledgement(0, 0) });
            }
        }

        fn lose(&mut self, now: Time) {
            let (number, sent) = self.sent.pop_front().unwrap();
            let reports = &[PacketReport { number, sent, bytes: Bytes::new(SEGMENT), outcome: PacketOutcome::Lost }];
            let (bytes, in_flight) = (Bytes::new(SEGMENT), self.in_flight());
            self.verus.on_loss(&Loss { now, bytes, new_episode: true, in_flight, next_sequence: 0, reports });
        }

        /// Doubles over rounds of this many milliseconds until slow start ends.
        fn start(&mut self, mut round: impl FnMut(usize) -> u64) -> Time {
            let mut now = Time::ZERO;
            while self.verus.phase == Phase::SlowStart {
                let sent = self.send(now);
                now += Duration::from_milliseconds(round(sent));
                self.answer(now, sent);
            }
            now
        }
    }

    #[test]
    fn slow_start_doubles_until_packets_take_half_a_second() {
        let mut flow = Flow::new();
        let mut sent = Vec::new();
        // 50 ms and 4 ms for each packet of the window.
        flow.start(|packets| {
            sent.push(packets);
            50 + 4 * packets as u64
        });
        assert_eq!(sent, [2, 4, 8, 16, 32, 64, 128]);
        assert_eq!((flow.verus.phase, flow.verus.smallest), (Phase::CongestionAvoidance, 0.058));
    }

    #[test]
    fn a_path_that_is_longer_than_that_starts_too() {
        let mut flow = Flow::new();
        let mut sent = Vec::new();
        flow.start(|packets| {
            sent.push(packets);
            800 + 20 * packets as u64
        });
        assert_eq!(sent.last(), Some(&64));
    }

    #[test]
    fn the_wanted_delay_goes_by_the_longest_of_each_epoch() {
        let mut flow = Flow::new();
        let now = flow.start(|packets| 50 + 4 * packets as u64);
        let smallest = flow.verus.smallest;
        // The longest was 562 ms: beyond six times the smallest it falls by 2 ms.
        let before = flow.verus.wanted;
        flow.verus.begin_epoch(now);
        assert!((before - flow.verus.wanted - LARGE_STEP).abs() < 1e-12);
        // Longer than before: 1 ms less. No longer: 2 ms more.
        for (last, longest, step) in [(0.1, 0.12, -SMALL_STEP), (0.12, 0.1, LARGE_STEP), (0.1, 0.1, LARGE_STEP)] {
            let verus = &mut flow.verus;
            (verus.before, verus.longest, verus.wanted) = (last, longest, 0.2);
            verus.begin_epoch(now);
            assert!((verus.wanted - 0.2 - step).abs() < 1e-12, "{last} {longest}");
            assert!((verus.before - (0.8 * longest + 0.2 * last)).abs() < 1e-12);
        }
        for wanted in [0.0, 1e9] {
            flow.verus.wanted = wanted;
            flow.verus.begin_epoch(now);
            assert!((smallest..=12.0 * smallest).contains(&flow.verus.wanted));
        }
    }

    #[test]
    fn in_an_epoch_leaves_its_part_of_the_window() {
        let mut flow = Flow::new();
        flow.start(|packets| 50 + 4 * packets as u64);
        let verus = &mut flow.verus;
        (verus.window, verus.round_trip) = (100.0, 0.048);
        // Ten epochs in a round trip: all is in flight, and a ninth of it comes back.
        verus.quota.set_in_flight(Bytes::new(100 * SEGMENT));
        assert_eq!(verus.allowance() / 10, (100.0 / 9.0 * SEGMENT as f64) as u64 / 10);
        // More than the window is in flight: nothing.
        verus.quota.set_in_flight(Bytes::new(200 * SEGMENT));
        assert_eq!(verus.allowance(), 0);
        // Within an epoch: what is missing.
        verus.round_trip = 0.004;
        verus.quota.set_in_flight(Bytes::new(40 * SEGMENT));
        assert_eq!(verus.allowance(), 60 * SEGMENT);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_of_what_was_in_flight_and_the_profile_as_it_was() {
        let mut flow = Flow::new();
        let now = flow.start(|packets| 50 + 4 * packets as u64);
        flow.verus.window = 100.0;
        flow.verus.quota.set(100 * SEGMENT);
        flow.send(now);
        let profile = flow.verus.profile.clone();
        // The first was sent with one in flight, itself; of the next, the tenth.
        flow.answer(now + EPOCH, 9);
        flow.verus.epoch = None;
        flow.verus.profile = profile;
        flow.lose(now + EPOCH);
        assert_eq!((flow.verus.phase, flow.verus.window), (Phase::Recovery, 7.0));
        assert_eq!(flow.verus.next_timer(), None);
        let before = flow.verus.profile.window(0.2);
        flow.answer(now + EPOCH * 2, 90);
        // 1/W for each.
        assert!(flow.verus.window > 7.0 + 90.0 / 17.0 && flow.verus.window < 7.0 + 90.0 / 7.0);
        assert!((flow.verus.profile.window(0.2) - before).abs() < 1e-12);
        // What was sent after the loss comes back: it is over.
        assert!(flow.send(now + EPOCH * 3) > 0);
        flow.answer(now + EPOCH * 15, 1);
        assert_eq!(flow.verus.phase, Phase::CongestionAvoidance);
        assert!(flow.verus.next_timer().is_some());
    }

    #[test]
    fn silence_ends_the_epochs_and_a_timeout_begins_anew() {
        let mut flow = Flow::new();
        let mut now = flow.start(|packets| 50 + 4 * packets as u64);
        let mut epochs = 0;
        while let Some(timer) = flow.verus.next_timer() {
            now = timer;
            flow.verus.on_timer(now);
            flow.send(now);
            epochs += 1;
            assert!(epochs < 1000);
        }
        assert!(epochs <= 200, "{epochs}");
        let timeout = Timeout { now, in_flight: flow.in_flight(), next_sequence: 0, repetition: 1 };
        flow.sent.clear();
        flow.verus.on_timeout(&timeout);
        assert_eq!((flow.send(now), flow.verus.phase), (2, Phase::SlowStart));
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let mut flow = Flow::new();
        flow.send(AT(100));
        for (number, sent) in [(0, AT(200)), (99, AT(1)), (u64::MAX, AT(1)), (0, AT(1))] {
            let outcome = PacketOutcome::Arrived(None);
            let reports = &[PacketReport { number, sent, bytes: Bytes::new(SEGMENT), outcome }];
            flow.verus.on_acknowledgement(&Acknowledgement { now: AT(150), reports, ..acknowledgement(0, 0) });
        }
        assert!(flow.verus.smallest.is_infinite() && flow.verus.round_trip == 0.0);
        let context = crate::testing::context();
        for ratio in [1.0, 0.0, f64::NAN, f64::INFINITY] {
            let error = Verus::new(&VerusSettings { ratio }, &context).err().unwrap().to_string();
            assert!(error.contains("ratio"), "{error}");
        }
    }
}
