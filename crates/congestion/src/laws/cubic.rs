//! CUBIC: RFC 9438, with the Reno-friendly region, fast convergence, and HyStart++ (RFC 9406) if wanted.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::hystart::{HyStart, Stage};
use crate::threshold::ThresholdWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Phase, Setting, State,
    Timeout,
};

const NAME: &str = "cubic";
/// `beta_cubic` (RFC 9438, section 4.6).
const BETA: f64 = 0.7;
/// `C` in segments for each cubed second (section 5.1).
const C: f64 = 0.4;
/// `alpha_cubic` that makes the additive increase as fair as Reno's: `3 (1 - beta) / (1 + beta)` (section
/// 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The window grows by half within a round trip at most (section 4.2: `target <= 1.5 cwnd`).
const MAXIMUM_TARGET: f64 = 1.5;

/// The parameters of [`Cubic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicSettings {
    /// The initial window in segments.
    pub initial_window: u32,
    /// By how many segments one acknowledgement may make the window grow in slow start (`L` of RFC 3465 and
    /// 9406).
    pub burst_limit: u32,
    /// Whether a flow whose plateau sinks gives way to newer ones (section 4.7).
    pub fast_convergence: bool,
    /// Whether the first slow start ends when the delay rises (section 4.10; RFC 9406).
    pub hystart: bool,
}

impl Default for CubicSettings {
    /// Ten segments (RFC 6928, section 2), eight for each acknowledgement (RFC 9406, section 4.3, where
    /// packets are not paced), fast convergence and HyStart++.
    fn default() -> Self {
        Self { initial_window: 10, burst_limit: 8, fast_convergence: true, hystart: true }
    }
}

/// One stage of congestion avoidance: the curve from its beginning on. Windows are in segments, times in
/// seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// `t_epoch`, moved on by what does not count.
    start: Time,
    /// The last acknowledgement of the stage.
    latest: Time,
    /// `W_max`.
    plateau: f64,
    /// `K`.
    rise: f64,
    /// `W_est`.
    reno: f64,
}

impl Epoch {
    /// The stage that begins now with this window: towards the plateau of the last reduction, or, where slow
    /// start came after a time-out or has not met a loss, away from the present window (section 4.8 and 4.10:
    /// `K = 0`, `W_max = cwnd`).
    fn new(now: Time, window: f64, plateau: Option<f64>) -> Self {
        let plateau = plateau.unwrap_or(window);
        // Figure 2: K = cbrt((W_max - cwnd_epoch) / C), negative where the window is already beyond W_max.
        let rise = libm::cbrt((plateau - window) / C);
        // Section 4.3: W_est begins at cwnd_epoch.
        Self { start: now, latest: now, plateau, rise, reno: window }
    }

    /// Figure 1: `W_cubic(t) = C (t - K)^3 + W_max`.
    fn curve(&self, seconds: f64) -> f64 {
        let distance = seconds - self.rise;
        C * distance * distance * distance + self.plateau
    }

    fn elapsed(&self, now: Time) -> f64 {
        now.since(self.start).as_seconds()
    }

    /// Takes out of `t` the time in which the application held the flow back (section 5.8).
    fn pause_until(&mut self, now: Time) {
        self.start += now.since(self.latest);
        self.latest = self.latest.max(now);
    }
}

/// All that a reduction changes, to be put back where it was for nothing (section 4.9).
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    threshold: f64,
    plateau: Option<f64>,
    prior: f64,
    epoch: Option<Epoch>,
}

/// The controller: a cubic function of the time since the last reduction, and never less than Reno would
/// have.
#[derive(Clone, Debug)]
pub struct Cubic {
    core: ThresholdWindow,
    burst_limit: f64,
    fast_convergence: bool,
    hystart: Option<HyStart>,
    /// `W_max` of the last reduction; none before the first one and after a time-out.
    plateau: Option<f64>,
    /// `cwnd_prior`; below every window before the first reduction (section 4.10 has it equal to the window
    /// then, which comes to the same).
    prior: f64,
    epoch: Option<Epoch>,
    reno_friendly: bool,
    before: Option<Before>,
}

impl Cubic {
    /// A flow in slow start.
    pub fn new(settings: &CubicSettings, context: &Context) -> Result<Self, BuildError> {
        Ok(Self {
            core: ThresholdWindow::new(settings.initial_window, context, NAME)?,
            burst_limit: f64::from(settings.burst_limit.max(1)),
            fast_convergence: settings.fast_convergence,
            hystart: settings.hystart.then(HyStart::new),
            plateau: None,
            prior: 0.0,
            epoch: None,
            reno_friendly: false,
            before: None,
        })
    }

    /// RFC 5681, equation 2 with `L`, or RFC 9406, section 4.2 in the initial slow start.
    fn slow_start(&mut self, segments: f64, acknowledgement: &Acknowledgement<'_>) {
        let mut divisor = 1.0;
        if let Some(hystart) = &mut self.hystart {
            divisor = hystart.growth_divisor();
            hystart.update(acknowledgement);
            if hystart.stage() == Stage::Done {
                // RFC 9406, section 4.2: "enter congestion avoidance by setting the ssthresh to the current
                // cwnd".
                self.core.threshold = self.core.window.segments();
                self.hystart = None;
                return;
            }
        }
        self.core.window.grow(segments.min(self.burst_limit) / divisor);
    }

    /// Sections 4.2 to 4.5.
    fn avoid_congestion(&mut self, segments: f64, now: Time) {
        let window = self.core.window.segments();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, window, self.plateau));
        epoch.latest = epoch.latest.max(now);
        let elapsed = epoch.elapsed(now);
        // Section 4.2: target = W_cubic(t + RTT), at least cwnd and at most 1.5 cwnd.
        let rtt = self.core.round_trip.smoothed().unwrap_or(Duration::ZERO).as_seconds();
        let target = epoch.curve(elapsed + rtt).max(window).min(MAXIMUM_TARGET * window);
        // Section 4.3: alpha_cubic until W_est reaches cwnd_prior, then Reno's own 1.
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        // Figure 4: W_est = W_est + alpha_cubic segments_acked / cwnd.
        epoch.reno += alpha * segments / window;
        self.reno_friendly = epoch.curve(elapsed) < epoch.reno;
        if self.reno_friendly {
            // Section 4.3: cwnd = W_est; an acknowledgement takes nothing away.
            self.core.window.set(epoch.reno.max(window));
        } else {
            // Sections 4.4 and 4.5: (target - cwnd) / cwnd for each segment, and not beyond the target.
            self.core.window.set((window + (target - window) * segments / window).min(target));
        }
    }

    /// Sections 4.6 and 4.7.
    fn reduce(&mut self, flight: f64) {
        self.remember();
        let window = self.core.window.segments();
        self.lower_plateau(window);
        // Section 4.6: ssthresh = flight_size beta_cubic, cwnd_prior = cwnd, cwnd = max(ssthresh, 2).
        self.prior = window;
        self.core.reduce(flight * BETA);
        self.epoch = None;
        self.hystart = None;
    }

    /// Section 4.7: `W_max = cwnd (1 + beta_cubic) / 2` where `cwnd < W_max` and fast convergence is on, else
    /// `cwnd`.
    fn lower_plateau(&mut self, window: f64) {
        let sinks = self.fast_convergence && self.plateau.is_some_and(|plateau| window < plateau);
        self.plateau = Some(if sinks { window * (1.0 + BETA) / 2.0 } else { window });
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            window: self.core.window.segments(),
            threshold: self.core.threshold,
            plateau: self.plateau,
            prior: self.prior,
            epoch: self.epoch,
        });
    }

    fn phase(&self) -> Phase {
        match self.hystart.map(|hystart| hystart.stage()) {
            Some(Stage::Conservative { .. }) => Phase::ConservativeSlowStart,
            _ if self.core.is_in_slow_start() => Phase::SlowStart,
            _ if self.reno_friendly => Phase::RenoFriendly,
            _ => Phase::CongestionAvoidance,
        }
    }
}

impl Declared for Cubic {
    type Settings = CubicSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| CubicSettings::default() }];
    const WORDS: &'static str =
        "A cubic window with a Reno-friendly region (RFC 9438), and HyStart++ (RFC 9406).";
    const NEEDS: Needs = Needs { ecn: Ecn::Capable0, spreads_window: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {initial_window: Positive, burst_limit: Positive, fast_convergence: Switch, hystart: Switch};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    /// Slow start counts all that an answer acknowledges, as RFC 9406, section 4.3 has it where windows are spread, and Linux does
    /// (`tcp_slow_start`).
    fn over_udp(settings: Self::Settings, _payload: f64) -> Self::Settings {
        Self::Settings { burst_limit: u32::MAX, ..settings }
    }
}

impl Controller for Cubic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if self.core.observe(acknowledgement) {
            // Section 4.6: a mark is answered as a loss is. Its minimum of one segment instead of two is not
            // used.
            return self.reduce(self.core.flight_before(acknowledgement));
        }
        match self.core.growth(acknowledgement) {
            Some(segments) if self.core.is_in_slow_start() => self.slow_start(segments, acknowledgement),
            Some(segments) => self.avoid_congestion(segments, acknowledgement.now),
            None if acknowledgement.application_limited => {
                if let Some(epoch) = &mut self.epoch {
                    epoch.pause_until(acknowledgement.now);
                }
            }
            None => {}
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if let Some(flight) = self.core.flight_of_new_episode(loss) {
            self.reduce(flight);
        }
    }

    /// Section 4.8: as RFC 5681, section 3.1, with `beta_cubic` for one half.
    fn on_timeout(&mut self, timeout: &Timeout) {
        let first = timeout.repetition <= 1;
        if first {
            self.remember();
            self.prior = self.core.window.segments();
        }
        let flight = self.core.window.segments_in(timeout.in_flight);
        self.core.collapse(first.then_some(flight * BETA));
        self.plateau = None;
        self.epoch = None;
        self.hystart = None;
    }

    /// Section 4.9: everything as before the reduction, if `cwnd < prior_cwnd`.
    fn on_spurious(&mut self, _now: Time) {
        let window = self.core.window.segments();
        let Some(before) = self.before.take_if(|before| window < before.window) else { return };
        self.core.window.set(before.window);
        self.core.threshold = before.threshold;
        self.plateau = before.plateau;
        self.prior = before.prior;
        self.epoch = before.epoch;
    }

    /// RFC 5681, section 4.1; the idle time is none of the curve's (section 5.8).
    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        self.core.restart(idle);
        match &mut self.epoch {
            Some(epoch) if !self.core.is_in_slow_start() => epoch.pause_until(now),
            epoch => *epoch = None,
        }
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.core.bytes())
    }

    /// None: acknowledgements clock the packets.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn state(&self) -> State {
        self.core.state(self.phase())
    }
}
