//! Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! What the paper leaves open is settled here and marked "beyond the paper". Losses change the rate in the
//! competitive mode only.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::copa_delay::{Delays, Sample};
use crate::declared::{choice, settings};
use crate::segments::SegmentWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Phase, Setting,
    State, Timeout,
};

const NAME: &str = "copa";
/// The window never falls below this, in segments (beyond the paper; the authors' implementation has it).
const MINIMUM_WINDOW: f64 = 2.0;
/// The velocity doubles once the direction has been the same for so many windows (section 2.1, step 4).
const STEADY_WINDOWS: u32 = 3;
/// The queue of Copa flows is nearly empty once in so many round trips (section 2.2).
const EMPTY_WITHIN: u64 = 5;

/// The parameters of [`Copa`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopaSettings {
    /// `delta` of the default mode: the flow aims at `1 / delta` packets of its own in the queue.
    pub delta: f64,
    /// Whether the mode for flows that fill the queue may be entered (section 2.2).
    pub mode: CopaMode,
    /// Whether the window doubles in a round trip at first (section 2.1); else the law holds from the beginning.
    pub slow_start: bool,
    /// The queue also counts as nearly empty while no more of the flow's own packets than this are in it; 0
    /// is the paper's rule. That asks for less than a tenth of the swing of the delay, often less than one
    /// packet: a few flows of Copa alone miss the moment, take each other for flows that fill the queue, and
    /// hardly find back ("Improvement of Copa", IEEE/ACM Transactions on Networking 2023, has the analysis).
    /// On 108 paths of 12 to 50 Mbit/s and 10 to 120 ms with two to five flows this befell 73 under the
    /// paper's rule and 28 with one packet, most of them of 10 ms. Beside flows that do fill the queue,
    /// `1 / delta` own packets wait, so 1 hides none of them while `delta` is well below 1.
    pub own_packets: f64,
    /// The initial window in segments.
    pub initial_window: u32,
}

impl Default for CopaSettings {
    /// `delta = 0.5`, slow start, mode switching (section 2.2) with one own packet, ten segments (RFC 6928, section 2).
    fn default() -> Self {
        let mode = CopaMode::Switch;
        Self { delta: 0.5, mode, slow_start: true, own_packets: 1.0, initial_window: 10 }
    }
}

/// Which modes [`Copa`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopaMode {
    /// Both, as the queue asks for (section 2.2).
    Switch,
    /// The default mode only: `delta` is constant.
    Default,
}

choice! { CopaMode, "write switch or default"; "switch" => Switch, "default" => Default }

/// The velocity and what decides about it (section 2.1, step 4).
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    rises: bool,
    same_windows: u32,
    window_start: Option<(Time, f64)>,
}

impl Velocity {
    const fn new() -> Self {
        Self { value: 1.0, rises: true, same_windows: 0, window_start: None }
    }

    /// "Once per window, the sender compares the current cwnd to the cwnd value at the time that the latest
    /// acknowledged packet was sent".
    fn update(&mut self, now: Time, cwnd: f64, rtt: Duration) {
        let (start, before) = *self.window_start.get_or_insert((now, cwnd));
        if now.since(start) >= rtt {
            self.window_start = Some((now, cwnd));
            self.judge(cwnd > before);
        }
    }

    /// "If direction is the same as in the previous window, then double v. If not, then reset v to 1.
    /// However, start doubling v only after the direction has remained the same for three RTTs", the one that
    /// turned being the first.
    fn judge(&mut self, rises: bool) {
        if rises == self.rises {
            self.same_windows = self.same_windows.saturating_add(1);
            if self.same_windows >= STEADY_WINDOWS {
                self.value *= 2.0;
            }
        } else {
            *self = Self { rises, same_windows: 1, value: 1.0, ..*self };
        }
    }

    /// Beyond the paper (and as in its second implementation, mvfst): a velocity gained in one direction is
    /// not spent in the other.
    fn turn(&mut self, rises: bool) {
        if rises != self.rises && self.value > 1.0 {
            *self = Self { rises, same_windows: 0, value: 1.0, ..*self };
        }
    }
}

/// The controller: moves the window so that the rate nears `1 / (delta dq)`.
#[derive(Clone, Debug)]
pub struct Copa {
    settings: CopaSettings,
    window: SegmentWindow,
    delays: Delays,
    latest: Option<Sample>,
    velocity: Velocity,
    slow_start: bool,
    /// `1 / delta` of the competitive mode; none in the default mode.
    competitive: Option<f64>,
    last_empty: Option<Time>,
    /// Since when there has been neither a loss nor a change of mode nor an increase of `1 / delta`.
    undisturbed: Time,
}

impl Copa {
    /// A flow in slow start.
    pub fn new(settings: &CopaSettings, context: &Context) -> Result<Self, BuildError> {
        if !(settings.delta > 0.0 && settings.delta.is_finite()) {
            let wanted = "above 0 and finite";
            return Err(BuildError::Setting { controller: NAME, setting: "delta", wanted });
        }
        Ok(Self {
            settings: *settings,
            window: SegmentWindow::new(settings.initial_window, MINIMUM_WINDOW, context, NAME)?,
            delays: Delays::new(),
            latest: None,
            velocity: Velocity::new(),
            slow_start: settings.slow_start,
            competitive: None,
            last_empty: None,
            undisturbed: context.now,
        })
    }

    /// `delta` as it is now.
    pub fn delta(&self) -> f64 {
        self.competitive.map_or(self.settings.delta, |inverse| 1.0 / inverse)
    }

    /// `v` as it is now.
    pub fn velocity(&self) -> f64 {
        self.velocity.value
    }

    /// `dq = RTTstanding - RTTmin` (section 2.1); none before the first sample.
    pub fn queueing_delay(&self) -> Option<Duration> {
        self.latest.map(|sample| sample.queueing)
    }

    /// `lambda = cwnd / RTTstanding` in packets per second (section 2.1, step 3).
    fn rate(&self, standing: Duration) -> f64 {
        self.window.segments() / standing.as_seconds()
    }

    /// Section 2.1, step 2, `lambda_t = 1 / (delta dq)`, and step 3: whether `lambda <= lambda_t`.
    fn is_below_target(&self, sample: &Sample) -> bool {
        self.rate(sample.standing) <= 1.0 / (self.delta() * sample.queueing.as_seconds())
    }

    /// Section 2.2, and beyond the paper what [`CopaSettings::own_packets`] says.
    fn is_queue_nearly_empty(&self, sample: &Sample) -> bool {
        let own_packets = self.rate(sample.standing) * sample.queueing.as_seconds();
        sample.nearly_empty || own_packets <= self.settings.own_packets
    }

    /// Section 2.1, step 3: `v / (delta cwnd)` for each packet acknowledged. Beyond the paper: what comes to
    /// no more than a window in a window, as the authors bound it too.
    fn steer(&mut self, rises: bool, acknowledged: f64) {
        self.velocity.turn(rises);
        let window = self.window.segments();
        self.velocity.value = self.velocity.value.min((self.delta() * window).max(1.0));
        let step = self.velocity.value / (self.delta() * window) * acknowledged;
        self.window.set(if rises { window + step } else { window - step });
    }

    /// Section 2.2: competitive as soon as the queue has not been nearly empty for five round trips, default
    /// when it is again.
    fn choose_mode(&mut self, now: Time, sample: &Sample) {
        let last_empty = *self.last_empty.get_or_insert(now);
        if self.is_queue_nearly_empty(sample) {
            self.last_empty = Some(now);
            // "When Copa switches from competitive mode to default mode, it resets delta to 0.5."
            self.competitive = None;
        } else if self.settings.mode == CopaMode::Switch
            && self.competitive.is_none()
            && now.since(last_empty) > sample.smoothed * EMPTY_WITHIN
        {
            self.competitive = Some(1.0 / self.settings.delta);
            self.undisturbed = now;
        }
    }

    /// Section 2.2: additive increase of `1 / delta`, by 1 for each round trip of the competitive mode
    /// without loss.
    fn compete(&mut self, now: Time, rtt: Duration) {
        if let Some(inverse) = self.competitive.as_mut().filter(|_| now.since(self.undisturbed) >= rtt) {
            *inverse = (*inverse + 1.0).min(f64::from(u32::MAX));
            self.undisturbed = now;
        }
    }

    /// Section 2.2: multiplicative decrease of `1 / delta`, never below that of the default mode.
    fn on_congestion(&mut self, now: Time) {
        self.undisturbed = now;
        if let Some(inverse) = &mut self.competitive {
            *inverse = (*inverse / 2.0).max(1.0 / self.settings.delta);
        }
    }
}

impl Declared for Copa {
    type Settings = CopaSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| CopaSettings::default() }];
    const WORDS: &'static str =
        "Aims at a rate of one over delta times the queueing delay (Arun and Balakrishnan, NSDI 2018).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, many_round_trips: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {delta: Weight, mode: CopaMode::CHOICE, slow_start: Switch, own_packets: Number, initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn respelt(name: &str, text: &str) -> Option<(&'static str, &'static str)> {
        match (name, text) {
            ("competitive", "true") => Some(("mode", "switch")),
            ("competitive", "false") => Some(("mode", "default")),
            _ => None,
        }
    }
}

impl Controller for Copa {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        let now = acknowledgement.now;
        let sample = self.delays.update(now, rtt);
        self.latest = Some(sample);
        self.choose_mode(now, &sample);
        self.compete(now, sample.smoothed);
        self.velocity.update(now, self.window.segments(), sample.smoothed);
        let rises = self.is_below_target(&sample);
        let acknowledged = self.window.segments_in(acknowledgement.acknowledged);
        let grows = rises && !acknowledgement.application_limited;
        // Section 2.1: "Copa performs slow-start where cwnd doubles once per RTT until lambda exceeds
        // lambda_t".
        self.slow_start &= rises;
        if self.slow_start && grows {
            self.window.grow(acknowledged);
        } else if grows || !rises {
            self.steer(rises, acknowledged);
        }
    }

    /// The default mode ignores losses (section 2.2).
    fn on_loss(&mut self, loss: &Loss) {
        if loss.new_episode {
            self.on_congestion(loss.now);
        }
    }

    /// Beyond the paper: starts again, as a path that answers no more asks for (RFC 8085, section 3.1).
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.on_congestion(timeout.now);
        self.window.set(MINIMUM_WINDOW);
        self.velocity = Velocity::new();
        self.slow_start = self.settings.slow_start;
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.window.bytes())
    }

    /// `2 cwnd / RTTstanding` (section 2.1); none before the first sample.
    fn pacing_rate(&self) -> Option<Rate> {
        let standing = self.latest?.standing;
        let bits = 8.0 * self.window.bytes().get() as f64;
        Some(Rate::from_bits_per_second((2.0 * bits / standing.as_seconds()).max(1.0) as u64))
    }

    fn state(&self) -> State {
        let mode = if self.competitive.is_some() { Phase::Competitive } else { Phase::Default };
        State {
            window: self.window(),
            slow_start_threshold: None,
            pacing_rate: self.pacing_rate(),
            phase: if self.slow_start { Phase::SlowStart } else { mode },
        }
    }
}
