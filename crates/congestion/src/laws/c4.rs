//! C4, Christian's congestion control code (draft-huitema-ccwg-c4-spec). Constants, and what the draft leaves open, are those of picoquic's
//! `c4.c` (MIT, August 2026).
//!
//! Left out are careful resume, and what picoquic takes from trains of packets in the initial state. Beyond both: time-outs in a row begin
//! the flow anew (RFC 9002, section 7.6), and the share of marks is taken over some packets where acknowledgements come one by one.

mod parts;
mod signals;
mod stages;
#[cfg(test)]
mod tests;

use trialwise_units::{Bytes, Duration, Ecn, Rate};

use self::parts::{Era, Growth, LossShare, MarkShare, Push, Signal, Stage};
use crate::declared::settings;
use crate::segments::MAXIMUM_WINDOW;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketOutcome,
    RateSample, Sent, Setting, State, Timeout,
};

const NAME: &str = "c4";
/// Pacing over the nominal rate in Initial, Recovery, a longer Recovery, Probing after marks, Probing, and Pushing.
const INITIAL: f64 = 2.0;
const RECOVERY: f64 = 15.0 / 16.0;
/// Eras without growth that end Initial, and those after which delay does.
const FLAT_ERAS: u32 = 3;
/// Each flat era of Initial divides the growth of the window by two to the power of this.
const FLAT_SHIFT: u32 = 3;
/// The rate of Initial is this at least, in bytes per second.
const LOWEST_INITIAL_RATE: f64 = 131_072.0;
/// The window holds this time's worth of the rate more, or this share of the nominal round trip where that is less.
const MARGIN: f64 = 15e-3;
const MARGIN_SHARE: f64 = 0.25;
/// The nominal round trip is no shorter.
const SHORTEST_ROUND_TRIP: f64 = 1e-3;
/// What may leave together: so many seconds of the rate, within bounds.
const QUANTUM: f64 = 4e-3 / 1.024;
const LARGEST_QUANTUM: f64 = 65_536.0;
const SMALLEST_QUANTUM: f64 = 2.0;
/// The fewest segments that may be in flight, as in the draft.
const LEAST_WINDOW: f64 = 2.0;
/// Bytes per second.
const MOST_RATE: f64 = 1e12 / 8.0;

/// The parameters of [`C4`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct C4Settings {
    /// The initial window in segments.
    pub initial_window: u32,
}

impl Default for C4Settings {
    /// Ten segments, as in the draft.
    fn default() -> Self {
        Self { initial_window: 10 }
    }
}

/// The controller: keeps a rate and the longest round trip of a path without queues, and pushes the rate every few round trips.
#[derive(Clone, Debug)]
pub struct C4 {
    segment: f64,
    stage: Stage,
    /// Nominal rate in bytes per second; 0 before the first measurement.
    rate: f64,
    /// Nominal longest round trip in seconds; 0 before the first.
    longest: f64,
    /// An average of the least round trip.
    least: f64,
    /// Pacing over the nominal rate.
    alpha: f64,
    era: Era,
    push: Push,
    /// Number of the next packet.
    next: u64,
    /// The window of Initial in bytes.
    initial: f64,
    packets: u64,
    flat_eras: u32,
    cruises: u32,
    /// Recoveries that saw growth, one after the other; none where the last probe met marks.
    growths: Option<u32>,
    met_marks: bool,
    /// Recoveries with a signal and without growth, one after the other, and the highest rate measured since the last one.
    congestions: u32,
    measured: f64,
    /// Delay beyond its threshold, in seconds.
    excess: f64,
    losses: LossShare,
    marks: MarkShare,
    has_begun_anew: bool,
}

impl C4 {
    /// A flow in Initial.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &C4Settings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        let segment = context.segment.get() as f64;
        let initial = f64::from(settings.initial_window).max(LEAST_WINDOW) * segment;
        Ok(Self::beginning(segment, initial, 0))
    }

    fn beginning(segment: f64, initial: f64, next: u64) -> Self {
        Self {
            segment,
            stage: Stage::Initial,
            rate: 0.0,
            longest: 0.0,
            least: f64::INFINITY,
            alpha: INITIAL,
            era: Era { first: next, alpha: INITIAL, least: f64::INFINITY, longest: 0.0 },
            push: Push { rate: 0.0, alpha: INITIAL, met_signal: false, was_full: false },
            next,
            initial,
            packets: 0,
            flat_eras: 0,
            cruises: 0,
            growths: Some(0),
            met_marks: false,
            congestions: 0,
            measured: 0.0,
            excess: 0.0,
            losses: LossShare::default(),
            marks: MarkShare::default(),
            has_begun_anew: false,
        }
    }

    /// The nominal rate; none before the first measurement.
    pub fn nominal_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.rate))
    }

    /// The nominal longest round trip; none before the first sample.
    pub fn nominal_round_trip(&self) -> Option<Duration> {
        (self.longest > 0.0).then(|| Duration::from_seconds(self.longest))
    }

    fn set_longest(&mut self, seconds: f64) {
        self.longest = seconds.max(SHORTEST_ROUND_TRIP);
    }

    /// The nominal rate follows a measured one at once, upwards.
    fn measure(&mut self, sample: &RateSample) {
        let measured = (sample.rate().bits_per_second() as f64 / 8.0).min(MOST_RATE);
        let delivered = sample.delivered.get().saturating_sub(sample.prior_delivered.get()) as f64;
        self.measured = self.measured.max(measured);
        let echoes = self.stage == Stage::Recovery && self.push.met_signal;
        if measured > self.rate && !echoes {
            self.rate = measured;
            self.push.was_full = true;
        } else if delivered > self.least * self.rate {
            self.push.was_full = true;
        }
    }

    /// Bytes per second.
    fn pacing(&self) -> f64 {
        let paced = self.alpha * self.rate;
        if self.stage == Stage::Initial { paced.max(LOWEST_INITIAL_RATE) } else { paced }
    }

    fn window_bytes(&self) -> f64 {
        let paced = self.alpha * self.rate;
        let path = paced * self.longest;
        let window = match self.stage {
            Stage::Initial => path.max(self.initial),
            _ => path + paced * MARGIN.min(MARGIN_SHARE * self.longest) + self.spare(),
        };
        window.clamp(LEAST_WINDOW * self.segment, MAXIMUM_WINDOW)
    }

    /// A push is worth a segment at least.
    fn spare(&self) -> f64 {
        let pushed = (self.alpha - 1.0) * self.rate * self.longest;
        if self.alpha > 1.0 { (self.segment - pushed).max(0.0) } else { 0.0 }
    }

    fn on_arrivals(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let sample = acknowledgement.rate_sample;
        let is_limited = sample.map_or(acknowledgement.application_limited, |sample| sample.application_limited);
        if self.stage == Stage::Initial {
            self.packets += u64::from(acknowledgement.packets);
            let divisor = f64::from(1_u32 << (FLAT_SHIFT * self.flat_eras.min(FLAT_ERAS)));
            let grown = self.window_bytes() + acknowledgement.acknowledged.get() as f64 / divisor;
            self.initial = grown.min(MAXIMUM_WINDOW);
        }
        let arrived = acknowledgement.reports.iter().filter(|report| report.outcome != PacketOutcome::Lost);
        let newest = arrived.map(|report| report.number).max();
        if newest.is_some_and(|number| number >= self.era.first) {
            self.end_era(is_limited);
        } else if self.stage == Stage::Pushing && self.growth() == Growth::Fast {
            self.push_on();
        }
    }
}

fn bits(rate: f64) -> Rate {
    Rate::from_bits_per_second((8.0 * rate).max(1.0) as u64)
}

impl Declared for C4 {
    type Settings = C4Settings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| C4Settings::default() }];
    const WORDS: &'static str = "Keeps a rate and the longest round trip without a queue, for media that vary (C4; draft-huitema-ccwg-c4-spec).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Packets, ecn: Ecn::Capable1, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for C4 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.next = sent.number.saturating_add(1);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if let Some(rtt) = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.observe(rtt.as_seconds());
        }
        if let Some(sample) = &acknowledgement.rate_sample {
            self.measure(sample);
        }
        self.on_marks(acknowledgement.packets, acknowledgement.marked_packets);
        self.on_arrivals(acknowledgement);
    }

    fn on_loss(&mut self, loss: &Loss) {
        loss.reports.iter().for_each(|report| self.on_lost(report.number));
    }

    /// One time-out is a loss; more of them show that nothing is known of the path any more.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repetition > 1 || self.rate <= 0.0 {
            *self = Self::beginning(self.segment, LEAST_WINDOW * self.segment, self.next);
        } else if self.stage == Stage::Initial {
            self.leave_initial();
        } else {
            self.on_signal(Signal::Losses);
        }
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(self.window_bytes() as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.pacing()))
    }

    fn burst(&self) -> Option<Bytes> {
        let quantum = (QUANTUM * self.pacing()).min(LARGEST_QUANTUM).max(SMALLEST_QUANTUM * self.segment);
        Some(Bytes::new(quantum as u64))
    }

    /// The nominal rate, and what a push asks for: Recovery is too short for a source to follow.
    fn target_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.alpha.max(1.0) * self.rate))
    }

    fn state(&self) -> State {
        State {
            window: self.window(),
            slow_start_threshold: None,
            pacing_rate: self.pacing_rate(),
            phase: self.stage.phase(),
        }
    }
}
