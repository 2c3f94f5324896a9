//! LEDBAT: RFC 6817, low extra delay background transport.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::episodes::Episodes;
use crate::ledbat_delay::{BaseDelay, CurrentDelay, DelayFilter, MAXIMUM_FILTER, MAXIMUM_HISTORY};
use crate::segments::SegmentWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, RoundTrip,
    Setting, State, Timeout,
};

const NAME: &str = "ledbat";
/// `MIN_CWND` in segments (RFC 6817, section 2.5).
const MINIMUM_WINDOW: f64 = 2.0;

/// The parameters of [`Ledbat`], under the names of RFC 6817, section 2.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedbatSettings {
    /// `TARGET`: the queueing delay to hold, 100 ms at most.
    pub target: Duration,
    /// `GAIN`: how many segments the window grows in a round trip without queueing; above 0, 1 at most.
    pub gain: f64,
    /// `BASE_HISTORY`: for how many minutes the smallest delay is remembered.
    pub base_history: usize,
    /// `CURRENT_FILTER`: of how many samples the current delay is made; none is older than a round trip.
    pub current_filter: usize,
    /// `FILTER()`: how it is made of them.
    pub filter: DelayFilter,
    /// `ALLOWED_INCREASE`: by how many segments the window may exceed what is in flight.
    pub allowed_increase: f64,
    /// `INIT_CWND` in segments.
    pub initial_window: u32,
}

impl Default for LedbatSettings {
    /// 100 ms, gain 1, ten minutes, the minimum of four samples, an increase of 1 and a window of 2 segments.
    fn default() -> Self {
        Self {
            target: Duration::from_milliseconds(100),
            gain: 1.0,
            base_history: 10,
            current_filter: 4,
            filter: DelayFilter::Minimum,
            allowed_increase: 1.0,
            initial_window: 2,
        }
    }
}

impl LedbatSettings {
    fn check(&self) -> Result<(), BuildError> {
        let within = |sound: bool, setting, wanted| {
            let error = BuildError::Setting { controller: NAME, setting, wanted };
            if sound { Ok(()) } else { Err(error) }
        };
        let longest = Self::default().target;
        within(self.target > Duration::ZERO && self.target <= longest, "target", "above 0, 100 ms at most")?;
        within(self.gain > 0.0 && self.gain <= 1.0, "gain", "above 0, 1 at most")?;
        within((1..=MAXIMUM_HISTORY).contains(&self.base_history), "base_history", "from 1 to 16")?;
        within((1..=MAXIMUM_FILTER).contains(&self.current_filter), "current_filter", "from 1 to 16")?;
        let increase = self.allowed_increase;
        within(increase > 0.0 && increase.is_finite(), "allowed_increase", "above 0 and finite")
    }
}

/// The controller: moves the window in proportion to how far the queueing delay is from its target.
///
/// It needs one-way delays; an acknowledgement without one leaves the window as it is.
#[derive(Clone, Debug)]
pub struct Ledbat {
    settings: LedbatSettings,
    window: SegmentWindow,
    base: BaseDelay,
    current: CurrentDelay,
    round_trip: RoundTrip,
    episodes: Episodes,
}

impl Ledbat {
    /// A flow that starts with `INIT_CWND`, without slow start.
    pub fn new(settings: &LedbatSettings, context: &Context) -> Result<Self, BuildError> {
        settings.check()?;
        Ok(Self {
            settings: *settings,
            // Section 2.4.2: a time-out sets the window to one segment, below MIN_CWND.
            window: SegmentWindow::new(settings.initial_window, 1.0, context, NAME)?,
            base: BaseDelay::new(settings.base_history),
            current: CurrentDelay::new(settings.current_filter, settings.filter),
            round_trip: RoundTrip::new(),
            episodes: Episodes::default(),
        })
    }

    /// The queueing delay as last measured: `FILTER(current_delays) - MIN(base_delays)` (section 2.4.2); none
    /// before the first sample.
    pub fn queueing_delay(&self, now: Time) -> Option<Duration> {
        let oldest = self.round_trip.smoothed().unwrap_or(Duration::MAX);
        Some(self.current.get(now, oldest)?.saturating_sub(self.base.minimum()?))
    }

    /// Section 2.4.2, "on acknowledgment".
    fn steer(&mut self, acknowledgement: &Acknowledgement<'_>, queueing: Duration) {
        let target = self.settings.target.as_seconds();
        // off_target = (TARGET - queuing_delay) / TARGET
        let off_target = (target - queueing.as_seconds()) / target;
        if off_target > 0.0 && acknowledgement.application_limited {
            return;
        }
        // cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd
        let newly = self.window.segments_in(acknowledgement.acknowledged);
        let window = self.window.segments();
        let mut next = window + self.settings.gain * off_target * newly / window;
        if !acknowledgement.in_recovery {
            // max_allowed_cwnd = flightsize + ALLOWED_INCREASE * MSS, flightsize being what was outstanding
            // before. What is lost and sent again stays in that flightsize, but not in ours: hence not while
            // a loss is repaired.
            let flight = self.window.segments_in(acknowledgement.in_flight) + newly;
            next = next.min(flight + self.settings.allowed_increase);
        }
        // cwnd = max(cwnd, MIN_CWND * MSS)
        self.window.set(next.max(MINIMUM_WINDOW));
    }

    /// Section 2.4.2, "on data loss": `cwnd = min(cwnd, max(cwnd / 2, MIN_CWND MSS))`, once for a round trip.
    fn reduce(&mut self) {
        let window = self.window.segments();
        self.window.set(window.min((window / 2.0).max(MINIMUM_WINDOW)));
    }
}

impl Declared for Ledbat {
    type Settings = LedbatSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| LedbatSettings::default() }];
    /// It bounds its window by what is in flight (RFC 6817, section 2.4.2), which spreading would lower.
    const WORDS: &'static str = "Yields to others: aims at a fixed queueing delay (RFC 6817).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, ecn: Ecn::Capable0, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {target: Interval, gain: Weight, base_history: Positive, current_filter: Positive, filter: DelayFilter::CHOICE, allowed_increase: Number, initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Ledbat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let now = acknowledgement.now;
        if let Some(rtt) = acknowledgement.rtt {
            self.round_trip.update(rtt);
        }
        // A mark is answered like the loss of a packet (RFC 3168, section 6.1.2).
        if self.episodes.marked(acknowledgement) {
            self.reduce();
        }
        let Some(delay) = acknowledgement.one_way_delay else { return };
        self.base.update(now, delay);
        self.current.update(now, delay);
        if acknowledgement.acknowledged > Bytes::ZERO
            && let Some(queueing) = self.queueing_delay(now)
        {
            self.steer(acknowledgement, queueing);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.episodes.lost(loss) {
            self.reduce();
        }
    }

    /// Section 2.4.2: `if no ACKs are received within a CTO: cwnd = 1 MSS`. The time-out itself is the
    /// driver's.
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.window.set(1.0);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.window.bytes())
    }

    /// None: acknowledgements clock the packets.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn state(&self) -> State {
        State { window: self.window(), ..State::default() }
    }
}
