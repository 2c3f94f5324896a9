//! NewReno: RFC 5681 (slow start, congestion avoidance, fast recovery) with the episodes of RFC 6582.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::threshold::ThresholdWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Phase, Setting, State,
    Timeout,
};

const NAME: &str = "newreno";

/// The parameters of [`NewReno`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRenoSettings {
    /// The initial window in segments.
    pub initial_window: u32,
    /// By how many segments one acknowledgement may make the window grow in slow start (`L` of RFC 3465,
    /// section 2.2).
    pub burst_limit: u32,
}

impl Default for NewRenoSettings {
    /// Ten segments (RFC 6928, section 2), and two for each acknowledgement (RFC 3465, section 2.3: what
    /// delayed acknowledgements need).
    fn default() -> Self {
        Self { initial_window: 10, burst_limit: 2 }
    }
}

/// The controller: adds a segment for each round trip, halves at each loss episode.
#[derive(Clone, Debug)]
pub struct NewReno {
    core: ThresholdWindow,
    burst_limit: f64,
    /// Window and threshold before the last reduction, in segments.
    before: Option<(f64, f64)>,
}

impl NewReno {
    /// A flow in slow start.
    pub fn new(settings: &NewRenoSettings, context: &Context) -> Result<Self, BuildError> {
        let core = ThresholdWindow::new(settings.initial_window, context, NAME)?;
        Ok(Self { core, burst_limit: f64::from(settings.burst_limit.max(1)), before: None })
    }

    /// `ssthresh = max(FlightSize / 2, 2 SMSS)` (RFC 5681, equation 4), `cwnd = ssthresh` (section 3.2, step
    /// 6; RFC 6582, section 3.2, step 3).
    fn reduce(&mut self, flight: f64) {
        self.remember();
        self.core.reduce(flight / 2.0);
    }

    fn remember(&mut self) {
        self.before = Some((self.core.window.segments(), self.core.threshold));
    }
}

impl Declared for NewReno {
    type Settings = NewRenoSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| NewRenoSettings::default() }];
    const WORDS: &'static str = "Additive increase, halving at a loss (RFC 5681, 6582; RFC 9002, section 7).";
    const NEEDS: Needs = Needs { ecn: Ecn::Capable0, spreads_window: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {initial_window: Positive, burst_limit: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    /// Slow start counts all that an answer acknowledges, as RFC 9406, section 4.3 has it where windows are spread, and Linux does
    /// (`tcp_slow_start`).
    fn over_udp(settings: Self::Settings, _payload: f64) -> Self::Settings {
        Self::Settings { burst_limit: u32::MAX, ..settings }
    }
}

impl Controller for NewReno {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if self.core.observe(acknowledgement) {
            // RFC 3168, section 6.1.2: a mark is answered like the loss of a packet.
            return self.reduce(self.core.flight_before(acknowledgement));
        }
        let Some(segments) = self.core.growth(acknowledgement) else { return };
        let window = &mut self.core.window;
        if window.segments() < self.core.threshold {
            // RFC 5681, equation 2, `cwnd += min(N, SMSS)`, with L of RFC 3465, section 2.2 for SMSS.
            window.grow(segments.min(self.burst_limit));
        } else {
            // RFC 5681, equation 3, `cwnd += SMSS SMSS / cwnd`, for each segment acknowledged (RFC 3465,
            // section 2.1).
            window.grow(segments / window.segments());
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if let Some(flight) = self.core.flight_of_new_episode(loss) {
            self.reduce(flight);
        }
    }

    /// RFC 5681, section 3.1: equation 4 at the first time-out for the same data, then `cwnd = LW`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        let first = timeout.repetition <= 1;
        if first {
            self.remember();
        }
        let flight = self.core.window.segments_in(timeout.in_flight);
        self.core.collapse(first.then_some(flight / 2.0));
    }

    /// Puts back what was reduced for nothing (RFC 4015), as RFC 9438, section 4.9 does it.
    fn on_spurious(&mut self, _now: Time) {
        let current = self.core.window.segments();
        if let Some((window, threshold)) = self.before.take_if(|(window, _)| current < *window) {
            self.core.window.set(window);
            self.core.threshold = threshold;
        }
    }

    fn on_idle_restart(&mut self, _now: Time, idle: Duration) {
        self.core.restart(idle);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.core.bytes())
    }

    /// None: acknowledgements clock the packets.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn state(&self) -> State {
        let slow_start = self.core.is_in_slow_start();
        self.core.state(if slow_start { Phase::SlowStart } else { Phase::CongestionAvoidance })
    }
}
