//! Aurora (Jay et al., "A Deep Reinforcement Learning Perspective on Internet Congestion Control", ICML 2019, section 3): after each
//! interval of about a round trip, a network says by how much the rate changes.
//!
//! Beyond the paper: bounds of the rate, a window of two round trips, half the rate after a time-out, and no higher one where the
//! application holds the flow back.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::policy::{Asked, Form, MOST_IDLE, Policy};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Quantity, Sent, Setting,
    Timeout,
};

const NAME: &str = "aurora";
/// Intervals that the policy sees.
const HISTORY: usize = 10;
const FEATURES: usize = 3;
/// What an action of 1 changes.
const STEP: f64 = 0.025;
/// An action that doubles or halves the rate; a stronger one counts as this.
const STRONGEST: f64 = 40.0;
/// In bits per second.
const FIRST_RATE: f64 = 1e6;
const LEAST_RATE: f64 = 64e3;
const MOST_RATE: f64 = 1e9;
const FIRST_WAIT: f64 = 1e11;
/// An interval is at least as long as these take at the rate.
const LEAST_PACKETS: f64 = 4.0;
/// What may be in flight before a round trip is known (RFC 6928).
const FIRST_PACKETS: f64 = 10.0;
const ROUND_TRIPS_IN_FLIGHT: f64 = 2.0;
/// In bytes.
const MOST_WINDOW: f64 = (1_u64 << 40) as f64;
/// Bound of the ratios, and of the gradient.
const MOST: f64 = 10.0;
const LEAST_GRADIENT: f64 = -1.0;
/// Round-trip times of an interval that count: the first ones.
const MOST_ROUND_TRIPS: usize = 1 << 16;
/// Latency gradient, latency ratio and send ratio of a path without a queue.
const NOTHING: [f64; FEATURES] = [0.0, 1.0, 1.0];
const FORM: Form = Form {
    inputs: FEATURES * HISTORY,
    outputs: 1,
    shipped: &[("trialwise-1x", include_bytes!("../../policies/aurora.onnx"))],
};

/// The parameters of [`Aurora`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuroraSettings {
    /// What decides: the action.
    pub policy: Policy,
}

impl Default for AuroraSettings {
    fn default() -> Self {
        Self { policy: Policy::shipped(&FORM) }
    }
}

/// The controller; times in picoseconds.
#[derive(Clone, Debug)]
pub struct Aurora {
    policy: Asked,
    segment: f64,
    /// Of the last intervals, oldest first.
    history: [[f64; FEATURES]; HISTORY],
    /// Mean of the last interval that had any.
    round_trip: Option<f64>,
    least_round_trip: f64,
    /// In bits per second.
    rate: f64,
    /// Length of an interval before a round trip is known.
    first_wait: f64,
    began: Time,
    timer: Time,
    sent: u64,
    acknowledged: u64,
    round_trips: Vec<u64>,
    is_limited: bool,
    /// Intervals in a row in which nothing was sent or acknowledged.
    idle: u32,
}

/// Where somebody knows the round trip, as in a data centre, a window of ten packets (RFC 6928) in each.
fn first_rate(context: &Context) -> f64 {
    let of_window = |rtt: Duration| 80.0 * context.segment.get() as f64 * 1e12 / rtt.picoseconds() as f64;
    context.base_rtt.filter(|rtt| *rtt > Duration::ZERO).map_or(FIRST_RATE, |rtt| of_window(rtt).max(FIRST_RATE))
}

impl Aurora {
    /// A flow that has seen nothing.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &AuroraSettings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        let mut aurora = Self {
            policy: settings.policy.begin(),
            segment: context.segment.get() as f64,
            history: [NOTHING; HISTORY],
            round_trip: None,
            least_round_trip: f64::INFINITY,
            rate: first_rate(context),
            first_wait: context.base_rtt.map_or(FIRST_WAIT, |rtt| rtt.picoseconds() as f64),
            began: context.now,
            timer: context.now,
            sent: 0,
            acknowledged: 0,
            round_trips: Vec::with_capacity(1 << 10),
            is_limited: true,
            idle: 0,
        };
        aurora.begin(context.now);
        Ok(aurora)
    }

    fn begin(&mut self, now: Time) {
        self.began = now;
        self.sent = 0;
        self.acknowledged = 0;
        self.round_trips.clear();
        self.is_limited = true;
        let packets = LEAST_PACKETS * self.segment * 8e12 / self.rate;
        let span = self.round_trip.unwrap_or(self.first_wait).max(packets);
        self.timer = now + Duration::from_picoseconds(span.round() as u64);
    }

    /// What the interval that ends says, of a flow whose round trip is known.
    fn interval(&self, now: Time, round_trip: f64) -> [f64; FEATURES] {
        let ratio = if self.acknowledged == 0 { MOST } else { self.sent as f64 / self.acknowledged as f64 };
        let send_ratio = ratio.min(MOST);
        if self.round_trips.is_empty() {
            let [gradient, latency_ratio, _] = self.history[HISTORY - 1];
            return [gradient, latency_ratio, send_ratio];
        }
        let (earlier, later) = self.round_trips.split_at(self.round_trips.len() / 2);
        let span = now.since(self.began).picoseconds() as f64;
        let gradient = if earlier.is_empty() { 0.0 } else { (mean(later) - mean(earlier)) / span };
        [gradient.clamp(LEAST_GRADIENT, MOST), (round_trip / self.least_round_trip).min(MOST), send_ratio]
    }

    /// The action of the policy; none where it is no number.
    fn action(&mut self, interval: [f64; FEATURES]) -> Option<f64> {
        self.history.rotate_left(1);
        self.history[HISTORY - 1] = interval;
        let mut seen = [0.0; FEATURES * HISTORY];
        seen.iter_mut().zip(self.history.as_flattened()).for_each(|(seen, value)| *seen = *value as f32);
        self.policy.ask(&seen).map(|outputs| f64::from(outputs[0]))
    }

    fn act(&mut self, action: f64) {
        let action = if self.is_limited { action.min(0.0) } else { action }.clamp(-STRONGEST, STRONGEST);
        let rate = if action >= 0.0 { self.rate * (1.0 + STEP * action) } else { self.rate / (1.0 - STEP * action) };
        self.rate = rate.clamp(LEAST_RATE, MOST_RATE);
    }
}

fn mean(round_trips: &[u64]) -> f64 {
    round_trips.iter().map(|each| u128::from(*each)).sum::<u128>() as f64 / round_trips.len() as f64
}

impl Declared for Aurora {
    type Settings = AuroraSettings;
    const NAMES: &'static [Named<Self::Settings>] = &[Named { name: NAME, settings: |_| AuroraSettings::default() }];
    const WORDS: &'static str =
        "Lets a network change the rate after each round trip (Aurora; Jay et al., ICML 2019).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {policy: Quantity::Policy(&FORM)};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Aurora {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.idle >= MOST_IDLE {
            self.idle = 0;
            self.begin(sent.now);
        }
        self.sent = self.sent.saturating_add(sent.bytes.get());
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.acknowledged = self.acknowledged.saturating_add(acknowledgement.acknowledged.get());
        self.is_limited &= acknowledgement.application_limited;
        if let Some(rtt) = acknowledgement.rtt.filter(|_| self.round_trips.len() < MOST_ROUND_TRIPS) {
            self.round_trips.push(rtt.picoseconds());
        }
    }

    /// What is lost is sent and not acknowledged.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.rate = (self.rate / 2.0).max(LEAST_RATE);
    }

    fn next_timer(&self) -> Option<Time> {
        (self.idle < MOST_IDLE).then_some(self.timer)
    }

    fn on_timer(&mut self, now: Time) {
        let is_idle = self.sent == 0 && self.acknowledged == 0;
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        if !self.round_trips.is_empty() {
            // Ratios need more than none.
            let round_trip = mean(&self.round_trips).max(1.0);
            self.round_trip = Some(round_trip);
            self.least_round_trip = self.least_round_trip.min(round_trip);
        }
        if let Some(round_trip) = self.round_trip.filter(|_| self.sent > 0) {
            let interval = self.interval(now, round_trip);
            if let Some(action) = self.action(interval) {
                self.act(action);
            }
        }
        self.begin(now);
    }

    fn window(&self) -> Option<Bytes> {
        let flight = self.round_trip.map_or(0.0, |round_trip| ROUND_TRIPS_IN_FLIGHT * self.rate * round_trip / 8e12);
        Some(Bytes::new(flight.round().max(FIRST_PACKETS * self.segment).min(MOST_WINDOW) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.rate.round() as u64))
    }
}

#[cfg(test)]
mod tests;
