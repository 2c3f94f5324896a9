//! Indigo (Yan et al., "Pantheon: the training ground for Internet congestion-control research", ATC 2018, section 5): every ten
//! milliseconds a network says what becomes of the window.
//!
//! Beyond the paper: the window has an upper bound, a time-out begins the flow anew with the least one, and what the application holds
//! back does not raise it. A step without acknowledgements decides nothing.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::policy::{Asked, Form, MOST_IDLE, Policy};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Quantity, Sent,
    Setting, Timeout,
};

const NAME: &str = "indigo";
const STEP: Duration = Duration::from_milliseconds(10);
/// Weight of a new value in an average.
const WEIGHT: f64 = 0.125;
/// What counts as 1: milliseconds, Mbit/s twice, and packets.
const SCALES: [f64; AVERAGES + 1] = [200.0, 200.0, 200.0, 5000.0];
const AVERAGES: usize = 3;
/// What may become of the window, in packets.
const ACTIONS: [fn(f64) -> f64; 5] =
    [|window| window / 2.0, |window| window - 10.0, |window| window, |window| window + 10.0, |window| window * 2.0];
const HOLD: usize = 2;
const FIRST_ACTION: usize = ACTIONS.len() - 1;
const FIRST_WINDOW: f64 = 10.0;
const LEAST_WINDOW: f64 = 2.0;
const MOST_WINDOW: f64 = 5000.0;
const INPUTS: usize = AVERAGES + 1 + ACTIONS.len();
const FORM: Form = Form {
    inputs: INPUTS,
    outputs: ACTIONS.len(),
    shipped: &[("trialwise-1x", include_bytes!("../../policies/indigo.onnx"))],
};

/// The parameters of [`Indigo`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndigoSettings {
    /// What decides: scores of the five actions.
    pub policy: Policy,
}

impl Default for IndigoSettings {
    fn default() -> Self {
        Self { policy: Policy::shipped(&FORM) }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Indigo {
    policy: Asked,
    segment: f64,
    timer: Time,
    last_sent: u64,
    least_rtt_ms: f64,
    /// Queueing delay in milliseconds, and delivery and sending rate in Mbit/s, of the present step.
    averages: Option<[f64; AVERAGES]>,
    is_limited: bool,
    /// Steps in a row in which nothing was sent or acknowledged, and whether something was in the present one.
    idle: u32,
    is_active: bool,
    /// In packets.
    window: f64,
    action: usize,
}

impl Indigo {
    /// A flow that has seen nothing.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &IndigoSettings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        Ok(Self {
            policy: settings.policy.begin(),
            segment: context.segment.get() as f64,
            timer: context.now + STEP,
            last_sent: 0,
            least_rtt_ms: f64::INFINITY,
            averages: None,
            is_limited: true,
            idle: 0,
            is_active: false,
            window: FIRST_WINDOW,
            action: FIRST_ACTION,
        })
    }

    fn seen(&self, averages: [f64; AVERAGES]) -> [f32; INPUTS] {
        let mut seen = [0.0; INPUTS];
        for (place, value) in averages.into_iter().chain([self.window]).enumerate() {
            seen[place] = (value / SCALES[place]) as f32;
        }
        seen[SCALES.len() + self.action] = 1.0;
        seen
    }

    /// The action with the highest score; none changes the window where scores are no numbers.
    fn decide(&mut self, seen: &[f32]) -> usize {
        let Some(scores) = self.policy.ask(seen) else { return HOLD };
        (0..ACTIONS.len()).fold(0, |best, action| if scores[action] > scores[best] { action } else { best })
    }
}

impl Declared for Indigo {
    type Settings = IndigoSettings;
    const NAMES: &'static [Named<Self::Settings>] = &[Named { name: NAME, settings: |_| IndigoSettings::default() }];
    const WORDS: &'static str =
        "Lets a network with memory change the window every 10 ms (Indigo; Yan et al., ATC 2018).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {policy: Quantity::Policy(&FORM)};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Indigo {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.last_sent = sent.number;
        self.is_active = true;
        if self.idle >= MOST_IDLE {
            self.idle = 0;
            self.timer = sent.now + STEP;
        }
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.is_active = true;
        let rtt = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO);
        let (Some(rtt), Some(newest)) = (rtt, acknowledgement.reports.last()) else { return };
        self.is_limited &= acknowledgement.application_limited;
        let rtt_ms = rtt.picoseconds() as f64 / 1e9;
        self.least_rtt_ms = self.least_rtt_ms.min(rtt_ms);
        let delivery = acknowledgement.rate_sample.map_or(0, |sample| sample.rate().bits_per_second());
        let since = self.last_sent.saturating_sub(newest.number) as f64 * self.segment;
        let values = [rtt_ms - self.least_rtt_ms, delivery as f64 / 1e6, 8e-3 * since / rtt_ms];
        match &mut self.averages {
            None => self.averages = Some(values),
            Some(averages) => averages.iter_mut().zip(values).for_each(|(old, new)| *old += WEIGHT * (new - *old)),
        }
    }

    /// Losses change nothing, as in the paper.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.policy.begin();
        self.averages = None;
        self.is_limited = true;
        self.window = LEAST_WINDOW;
        self.action = FIRST_ACTION;
    }

    fn next_timer(&self) -> Option<Time> {
        (self.idle < MOST_IDLE).then_some(self.timer)
    }

    fn on_timer(&mut self, now: Time) {
        self.timer = now + STEP;
        self.idle = if std::mem::take(&mut self.is_active) { 0 } else { self.idle + 1 };
        let Some(averages) = self.averages.take() else { return };
        self.action = self.decide(&self.seen(averages));
        let window = ACTIONS[self.action](self.window).clamp(LEAST_WINDOW, MOST_WINDOW);
        self.window = if self.is_limited { window.min(self.window) } else { window };
        self.is_limited = true;
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window * self.segment) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

#[cfg(test)]
mod tests;
