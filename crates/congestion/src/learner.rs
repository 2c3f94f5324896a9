//! Controllers that try rates in monitor intervals and go by a utility: what PCC Allegro and PCC Vivace have in common.

use std::fmt::Debug;

use trialwise_units::{Bytes, Duration, Rate, Seed};

use crate::monitor::{Interval, Monitor};
use crate::segments::MAXIMUM_WINDOW;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Loss, PacketReport, Phase, RoundTrip, Sent, State,
    Timeout,
};

/// The round-trip time before there is a sample.
const INITIAL_RTT: Duration = Duration::from_milliseconds(100);
/// "starts at 2 MSS/RTT" (Allegro, section 3.2); no rate falls below it, so that an interval ends some day.
const MINIMUM_PER_ROUND_TRIP: f64 = 2.0;
const MAXIMUM_RATE: f64 = 1e12;
/// Beyond the papers: no more is in flight than the rate sends in so many round trips, and so many segments, so that a path that
/// answers no more is not flooded.
const ROUND_TRIPS_IN_FLIGHT: f64 = 3.0;
const SEGMENTS_IN_FLIGHT: f64 = 10.0;
/// Trials of a start whose outcome is not known: the next one would be the third doubling in the dark.
const UNKNOWN_AT_START: u32 = 2;

/// What a law needs to try rates.
#[derive(Clone, Debug)]
pub struct Bench {
    segment: Bytes,
    round_trip: RoundTrip,
    seed: Seed,
    draws: u64,
    trials: u32,
}

impl Bench {
    /// A number from 0 to 1.
    pub(crate) fn draw(&mut self) -> f64 {
        self.draws += 1;
        (self.seed.numbered(self.draws).get() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The number of a trial that begins.
    pub(crate) fn trial(&mut self) -> u32 {
        self.trials = self.trials.wrapping_add(1);
        self.trials
    }

    /// The smoothed round-trip time.
    pub(crate) fn round_trip(&self) -> Duration {
        self.round_trip.smoothed().unwrap_or(INITIAL_RTT)
    }

    /// A rate in bits per second as it may be; never NaN.
    pub(crate) fn bound(&self, rate: f64) -> f64 {
        rate.max(self.minimum()).min(MAXIMUM_RATE)
    }

    fn minimum(&self) -> f64 {
        let bits = MINIMUM_PER_ROUND_TRIP * 8.0 * self.segment.get() as f64;
        (bits / self.round_trip().as_seconds()).clamp(1.0, MAXIMUM_RATE)
    }
}

/// What tries rates, one after the other.
pub trait Law: Clone + Debug + Send {
    /// The name by which it is chosen.
    fn name(&self) -> &'static str;

    /// The fewest packets of an interval.
    const MINIMUM_PACKETS: u64;

    /// How long an interval lasts that begins now.
    fn span(&self, bench: &mut Bench) -> Duration;

    /// The rate of the interval that begins, in bits per second, and the number of the trial that it is.
    fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64);

    /// All is known of the interval of a trial.
    fn judge(&mut self, interval: &Interval, bench: &mut Bench);

    /// Starts again from this rate, in bits per second.
    fn restart(&mut self, rate: f64);

    /// In which part of the algorithm.
    fn phase(&self) -> Phase;
}

/// "doubles its rate at each consecutive monitor interval", until the utility falls (Allegro, section 3.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starting {
    /// Of the last interval that began; none before the first.
    rate: Option<f64>,
    /// From which it starts; none for the lowest.
    from: Option<f64>,
    /// Rate and utility of the last interval of which all is known.
    before: Option<(f64, f64)>,
    unknown: u32,
}

impl Starting {
    pub(crate) const fn new(from: Option<f64>) -> Self {
        Self { rate: None, from, before: None, unknown: 0 }
    }

    pub(crate) fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64) {
        let rate = match self.rate {
            Some(rate) if self.unknown >= UNKNOWN_AT_START => return (None, rate),
            Some(rate) => 2.0 * rate,
            None => self.from.unwrap_or(0.0),
        };
        let rate = bench.bound(rate);
        self.rate = Some(rate);
        self.unknown += 1;
        (Some(bench.trial()), rate)
    }

    /// The utility of an interval: the rate to go back to, where the utility has fallen.
    pub(crate) fn judge(&mut self, interval: &Interval, utility: f64) -> Option<f64> {
        self.unknown = self.unknown.saturating_sub(1);
        if interval.is_limited {
            // It tells nothing of higher rates.
            *self = Self::new(Some(interval.rate));
            return None;
        }
        let (rate, best) = self.before.replace((interval.rate, utility))?;
        (utility < best).then_some(rate)
    }
}

/// A controller that lets a law try rates.
#[derive(Clone, Debug)]
pub struct Learner<L> {
    law: L,
    bench: Bench,
    monitor: Monitor,
    rate: f64,
}

impl<L: Law> Learner<L> {
    pub(crate) fn new(law: L, context: &Context, name: &'static str) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: name, field: "segment" });
        }
        let bench = Bench {
            segment: context.segment,
            round_trip: RoundTrip::new(),
            seed: context.seed,
            draws: 0,
            trials: 0,
        };
        let rate = bench.minimum();
        Ok(Self { law, bench, monitor: Monitor::new(L::MINIMUM_PACKETS), rate })
    }

    fn take_reports(&mut self, reports: &[PacketReport]) {
        reports.iter().for_each(|report| self.monitor.on_report(report));
        while let Some(interval) = self.monitor.take() {
            if interval.trial.is_some() {
                self.law.judge(&interval, &mut self.bench);
            }
        }
    }
}

impl<L: Law> Controller for Learner<L> {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.bench.round_trip.smoothed().is_none() {
            return;
        }
        if self.monitor.is_over(sent.now) {
            let (trial, rate) = self.law.next(&mut self.bench);
            self.rate = rate;
            let span = self.law.span(&mut self.bench);
            self.monitor.begin(sent.now, sent.number, span, (trial, rate));
        }
        self.monitor.on_sent(sent.bytes);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let rtt = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO);
        if let Some(rtt) = rtt {
            self.bench.round_trip.update(rtt);
        }
        if let Some(newest) = acknowledgement.reports.last() {
            self.monitor.on_round_trip(newest, rtt, acknowledgement.application_limited);
        }
        self.take_reports(acknowledgement.reports);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.take_reports(loss.reports);
    }

    /// Beyond the papers: half the rate, as nothing comes back, and what was tried is forgotten.
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.monitor.restart();
        self.rate = self.bench.bound(self.rate / 2.0);
        self.law.restart(self.rate);
    }

    /// Two segments until a round trip is known: the lowest rate, whatever the path.
    fn window(&self) -> Option<Bytes> {
        if self.bench.round_trip.smoothed().is_none() {
            return Some(Bytes::new((MINIMUM_PER_ROUND_TRIP * self.bench.segment.get() as f64) as u64));
        }
        let bytes = self.rate / 8.0 * self.bench.round_trip().as_seconds() * ROUND_TRIPS_IN_FLIGHT;
        let spare = SEGMENTS_IN_FLIGHT * self.bench.segment.get() as f64;
        Some(Bytes::new((bytes + spare).min(MAXIMUM_WINDOW) as u64))
    }

    /// None until a round trip is known: a rate that suits a guess of it would hold back a first packet that was lost.
    fn pacing_rate(&self) -> Option<Rate> {
        self.bench.round_trip.smoothed()?;
        Some(Rate::from_bits_per_second(self.rate.max(1.0) as u64))
    }

    fn state(&self) -> State {
        State {
            window: self.window(),
            slow_start_threshold: None,
            pacing_rate: self.pacing_rate(),
            phase: self.law.phase(),
        }
    }
}
