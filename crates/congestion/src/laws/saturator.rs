//! Saturators: a window that keeps the round-trip time in a band, so that the queue neither empties nor grows without end
//! (Winstein, Sivaraman, Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI
//! 2013, section 4.1, has the band of 750 ms to 3000 ms; the gains are ours).

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::segments::SegmentWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Setting, State,
    Timeout,
};

const NAME: &str = "saturator";
const GREG: &str = "greg_saturator";
const CELLULAR: &str = "cellular_saturator";
/// The window never falls below this, in segments.
const MINIMUM_WINDOW: f64 = 20.0;
/// By how much a round may change the window: it doubles at most, and loses an eighth, as a path that is slow for a moment
/// must find a queue when it is fast again.
const GROWTH: f64 = 2.0;
const REDUCTION: f64 = 7.0 / 8.0;

/// The parameters of [`Saturator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SaturatorSettings {
    name: &'static str,
    /// The lowest round-trip time of the band.
    pub low: Duration,
    /// The highest.
    pub high: Duration,
    /// The largest window in segments.
    pub maximum_window: u32,
}

impl SaturatorSettings {
    /// A band in milliseconds, and 65,536 segments.
    const fn band(name: &'static str, low: u64, high: u64) -> Self {
        let (low, high) = (Duration::from_milliseconds(low), Duration::from_milliseconds(high));
        Self { name, low, high, maximum_window: 1 << 16 }
    }

    fn check(&self) -> Result<(), BuildError> {
        let refuse = |setting, wanted| Err(BuildError::Setting { controller: self.name, setting, wanted });
        if self.low >= self.high {
            return refuse("high", "above low");
        }
        if f64::from(self.maximum_window) < MINIMUM_WINDOW {
            return refuse("maximum_window", "of 20 or more");
        }
        Ok(())
    }
}

/// What was sent since the window last changed.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// When the first of it came back.
    start: Time,
    smallest: Duration,
    largest: Duration,
}

/// The controller: once in two round trips it looks at the round-trip times of what was sent since the last change; where one is
/// out of the band, the window changes as if they were proportional to it, so that they lie about the middle of the band.
#[derive(Clone, Debug)]
pub struct Saturator {
    settings: SaturatorSettings,
    window: SegmentWindow,
    /// When the window last changed: earlier packets tell nothing of it.
    changed: Time,
    round: Option<Round>,
    /// Payload acknowledged in the round.
    acknowledged: u64,
    /// The highest rate of a round, in segments per second.
    highest_rate: f64,
}

impl Saturator {
    /// A flow that starts with 20 segments.
    ///
    /// # Errors
    /// The band is empty, or the largest window below 20 segments.
    pub fn new(settings: &SaturatorSettings, context: &Context) -> Result<Self, BuildError> {
        settings.check()?;
        Ok(Self {
            settings: *settings,
            window: SegmentWindow::new(MINIMUM_WINDOW as u32, MINIMUM_WINDOW, context, settings.name)?,
            changed: context.now,
            round: None,
            acknowledged: 0,
            highest_rate: 0.0,
        })
    }

    fn judge(&mut self, round: &Round) {
        let (low, high) = (self.settings.low, self.settings.high);
        if low <= round.smallest && round.largest <= high {
            return;
        }
        // Rates vary by factors: the middle is that of the logarithms.
        let wanted = low.as_seconds() * high.as_seconds();
        let found = round.smallest.as_seconds() * round.largest.as_seconds();
        let factor = (wanted / found).sqrt().clamp(REDUCTION, GROWTH);
        self.window.set((self.window.segments() * factor).min(self.most()));
    }

    /// What the upper end of the band holds at the highest rate that was seen, and what the settings allow: where a short queue
    /// keeps the time below the band, the window does not grow for ever.
    fn most(&self) -> f64 {
        let fits = self.highest_rate * self.settings.high.as_seconds();
        fits.min(f64::from(self.settings.maximum_window))
    }

    fn begin(&mut self, now: Time) {
        self.changed = now;
        self.round = None;
        self.acknowledged = 0;
    }
}

impl Declared for Saturator {
    type Settings = SaturatorSettings;
    const NAMES: &'static [Named<Self::Settings>] = &[
        Named { name: NAME, settings: |_| SaturatorSettings::band(NAME, 230, 245) },
        Named { name: GREG, settings: |_| SaturatorSettings::band(GREG, 305, 320) },
        Named { name: CELLULAR, settings: |_| SaturatorSettings::band(CELLULAR, 750, 3000) },
    ];
    const WORDS: &'static str = "Keeps the round-trip time in a band, so that the queue never empties and a trace can be recorded (Winstein et al., NSDI 2013).";
    /// A window that is spread fills a round trip or two after it has grown, and would grow once more in between.
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {low: Interval, high: Interval, maximum_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Saturator {
    fn name(&self) -> &'static str {
        self.settings.name
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        self.acknowledged = self.acknowledged.saturating_add(acknowledgement.acknowledged.get());
        let Some(rtt) = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        if now - rtt < self.changed {
            self.acknowledged = 0;
            return;
        }
        let round = self.round.get_or_insert(Round { start: now, smallest: rtt, largest: rtt });
        round.smallest = round.smallest.min(rtt);
        round.largest = round.largest.max(rtt);
        let round = *round;
        let span = now.since(round.start);
        if span >= round.smallest && !acknowledgement.application_limited {
            let rate = self.window.segments_in(Bytes::new(self.acknowledged)) / span.as_seconds();
            self.highest_rate = self.highest_rate.max(rate);
            self.judge(&round);
            self.begin(now);
        }
    }

    /// It measures the path; losses tell nothing of its rate.
    fn on_loss(&mut self, _loss: &Loss) {}

    /// Nothing comes back: what is sent then is half as much each time.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.window.set(self.window.segments() / 2.0);
        self.begin(timeout.now);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.window.bytes())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn state(&self) -> State {
        State { window: self.window(), ..State::default() }
    }
}
