//! How delays change from one group of packets to the next, and what that says of the path: sections 5.2 to 5.4 of
//! draft-ietf-rmcat-gcc-02, and the trendline that libwebrtc has in the place of its filter. All in milliseconds.

use trialwise_units::Time;

/// `burst_time`: packets that were sent within this time, or that came within it and faster than they were sent, are a group.
const BURST: f64 = 5.0;
/// No group takes longer to arrive (libwebrtc).
const LONGEST_BURST: f64 = 100.0;
/// What changes by more was no queue: a clock was set (libwebrtc).
const LARGEST_CHANGE: f64 = 3000.0;
/// `del_var_th(0)`, and its bounds (section 5.4).
const FIRST_THRESHOLD: f64 = 12.5;
const THRESHOLDS: (f64, f64) = (6.0, 600.0);
/// The threshold does not follow what is farther away (section 5.4), nor for a longer time at once (libwebrtc).
const FARTHEST: f64 = 15.0;
const LONGEST_STEP: f64 = 100.0;
/// `overuse_time_th`.
const OVERUSE: f64 = 10.0;
/// An estimate counts so many times, or as often as there were changes: what libwebrtc compares with the threshold, with the filter of
/// the draft as with the trendline (`kMinNumDeltas`). By itself, as the draft's text has it, no queue of a link grows fast enough.
const WEIGHT: u32 = 60;
/// Groups that the trendline goes through, by how much the delay is smoothed, and by what a slope counts more
/// (libwebrtc: `kDefaultTrendlineWindowSize`, `kDefaultTrendlineSmoothingCoeff`, `kDefaultTrendlineThresholdGain`).
const LINE: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
/// `q`, `e(0)`, and `chi`, of which the draft has the range 0.001 to 0.1 (section 5.3).
const STATE_NOISE: f64 = 1e-3;
const FIRST_ERROR: f64 = 0.1;
const CHI: f64 = 0.01;

/// Milliseconds from one time to another, negative where the other is earlier.
fn between(earlier: Time, later: Time) -> f64 {
    (later.picoseconds() as i128 - earlier.picoseconds() as i128) as f64 * 1e-9
}

/// From one group to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Between departures of their last packets.
    pub(crate) sent: f64,
    /// Between arrivals.
    pub(crate) arrived: f64,
    /// When the last packet of the second one arrived.
    pub(crate) at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    first_arrival: Time,
    sent: Time,
    arrival: Time,
}

impl Group {
    fn new(sent: Time, arrival: Time) -> Self {
        Self { first_sent: sent, first_arrival: arrival, sent, arrival }
    }

    fn takes(&self, sent: Time, arrival: Time) -> bool {
        let (gap, since) = (between(self.arrival, arrival), between(self.sent, sent));
        let is_burst =
            gap - since < 0.0 && gap <= BURST && between(self.first_arrival, arrival) < LONGEST_BURST;
        between(self.first_sent, sent) <= BURST || is_burst
    }
}

/// The groups of a flow (section 5.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Groups {
    last: Option<Group>,
    current: Option<Group>,
}

impl Groups {
    /// A packet that begins another group closes the one before it: how that differs from the one before. Packets that were sent before
    /// the group began are left out.
    pub(crate) fn push(&mut self, sent: Time, arrival: Time) -> Option<Change> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::new(sent, arrival));
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if current.takes(sent, arrival) {
            current.sent = current.sent.max(sent);
            current.arrival = current.arrival.max(arrival);
            return None;
        }
        let closed = std::mem::replace(current, Group::new(sent, arrival));
        let last = self.last.replace(closed)?;
        let (sent, arrived) = (between(last.sent, closed.sent), between(last.arrival, closed.arrival));
        if (arrived - sent).abs() > LARGEST_CHANGE {
            *self = Self { last: None, current: self.current };
            return None;
        }
        Some(Change { sent, arrived, at: closed.arrival })
    }
}

/// Least squares through the last groups, of delay against time of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trendline {
    /// A ring of arrivals and smoothed delays.
    points: [(f64, f64); LINE],
    count: usize,
    origin: Option<Time>,
    accumulated: f64,
    smoothed: f64,
}

impl Default for Trendline {
    fn default() -> Self {
        Self { points: [(0.0, 0.0); LINE], count: 0, origin: None, accumulated: 0.0, smoothed: 0.0 }
    }
}

impl Trendline {
    fn push(&mut self, change: &Change) -> Option<f64> {
        self.accumulated += change.arrived - change.sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        let origin = *self.origin.get_or_insert(change.at);
        self.points[self.count % LINE] = (between(origin, change.at), self.smoothed);
        self.count += 1;
        let is_whole = self.count >= LINE;
        is_whole.then(|| self.slope()).flatten().map(|slope| GAIN * slope)
    }

    fn slope(&self) -> Option<f64> {
        let mean = |part: fn(&(f64, f64)) -> f64| self.points.iter().map(part).sum::<f64>() / LINE as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let (mut over, mut under) = (0.0, 0.0);
        for point in &self.points {
            over += (point.0 - x) * (point.1 - y);
            under += (point.0 - x) * (point.0 - x);
        }
        (under > 0.0).then(|| over / under)
    }
}

/// The scalar Kalman filter of section 5.3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kalman {
    estimate: f64,
    error: f64,
    variance: f64,
    /// A ring of times between departures of groups: the shortest gives their highest rate.
    gaps: [f64; LINE],
    count: usize,
}

impl Default for Kalman {
    fn default() -> Self {
        Self { estimate: 0.0, error: FIRST_ERROR, variance: 1.0, gaps: [f64::INFINITY; LINE], count: 0 }
    }
}

impl Kalman {
    fn push(&mut self, change: &Change) -> f64 {
        self.gaps[self.count % LINE] = change.sent.max(1.0);
        self.count = (self.count + 1) % LINE;
        let shortest = self.gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let residual = change.arrived - change.sent - self.estimate;
        // "If z(i) > 3 sqrt(var_v_hat) the filter is updated with 3 sqrt(var_v_hat) rather than z(i)."
        let most = 3.0 * self.variance.sqrt();
        let residual = residual.clamp(-most, most);
        let alpha = (1.0 - CHI).powf(30.0 * shortest / 1000.0);
        self.variance = (alpha * self.variance + (1.0 - alpha) * residual * residual).max(1.0);
        let error = self.error + STATE_NOISE;
        let gain = error / (self.variance + error);
        self.estimate += gain * residual;
        self.error = (1.0 - gain) * error;
        self.estimate
    }
}

/// What estimates how delays change.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Estimator {
    Trendline(Trendline),
    Kalman(Kalman),
}

/// The arrival-time filter (section 5.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    estimator: Estimator,
    /// Changes so far.
    count: u32,
}

impl Filter {
    pub(crate) const fn new(estimator: Estimator) -> Self {
        Self { estimator, count: 0 }
    }

    /// The estimate after this change, weighted for the threshold; none before there is one.
    pub(crate) fn push(&mut self, change: &Change) -> Option<f64> {
        self.count = (self.count + 1).min(WEIGHT);
        let estimate = match &mut self.estimator {
            Estimator::Trendline(trendline) => trendline.push(change),
            Estimator::Kalman(kalman) => Some(kalman.push(change)),
        };
        estimate.map(|estimate| f64::from(self.count) * estimate)
    }
}

/// What the detector makes of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Usage {
    #[default]
    Normal,
    Over,
    Under,
}

/// The over-use detector with its threshold (section 5.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detector {
    /// `K_u` and `K_d`; none for a threshold that stays.
    gains: Option<(f64, f64)>,
    threshold: f64,
    estimate: f64,
    /// For how long the estimate has been above the threshold, and how often it was found so.
    above: (f64, u32),
    updated: Option<Time>,
    usage: Usage,
}

impl Detector {
    pub(crate) fn new(gains: Option<(f64, f64)>) -> Self {
        let usage = Usage::Normal;
        Self { gains, threshold: FIRST_THRESHOLD, estimate: 0.0, above: (0.0, 0), updated: None, usage }
    }

    pub(crate) const fn usage(&self) -> Usage {
        self.usage
    }

    #[cfg(test)]
    pub(crate) const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The estimate after this change.
    pub(crate) fn update(&mut self, estimate: f64, change: &Change) {
        if estimate > self.threshold {
            // It rose above somewhere between this group and the last: in the middle.
            let part = if self.above.1 == 0 { 0.5 } else { 1.0 };
            self.above = (self.above.0 + part * change.sent, self.above.1 + 1);
            if self.above.0 > OVERUSE && self.above.1 > 1 && estimate >= self.estimate {
                self.above = (0.0, 0);
                self.usage = Usage::Over;
            }
        } else {
            self.above = (0.0, 0);
            self.usage = if estimate < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.estimate = estimate;
        self.adapt(change.at);
    }

    fn adapt(&mut self, at: Time) {
        let span = self.updated.map_or(0.0, |updated| between(updated, at)).clamp(0.0, LONGEST_STEP);
        self.updated = Some(at);
        let beyond = self.estimate.abs() - self.threshold;
        if let Some((up, down)) = self.gains.filter(|_| beyond <= FARTHEST) {
            let gain = if beyond > 0.0 { up } else { down };
            self.threshold = (self.threshold + span * gain * beyond).clamp(THRESHOLDS.0, THRESHOLDS.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_milliseconds;

    #[test]
    fn packets_sent_or_received_in_a_burst_are_a_group() {
        let mut groups = Groups::default();
        // Sent within 5 ms; then two whose queue drains: they come 1 ms apart though sent 20 ms apart.
        for (sent, arrival) in [(0, 50), (5, 56), (20, 90), (40, 91)] {
            assert_eq!(groups.push(AT(sent), AT(arrival)), None);
        }
        // One that was overtaken tells nothing.
        assert_eq!(groups.push(AT(2), AT(92)), None);
        let change = groups.push(AT(60), AT(112)).unwrap();
        assert_eq!(change, Change { sent: 35.0, arrived: 35.0, at: AT(91) });
        let change = groups.push(AT(80), AT(130)).unwrap();
        assert_eq!(change, Change { sent: 20.0, arrived: 21.0, at: AT(112) });
    }

    #[test]
    fn a_clock_that_is_set_begins_anew() {
        let mut groups = Groups::default();
        let arrivals = [50, 70, 90, 5000, 5020, 5040, 5060];
        let changes =
            arrivals.iter().zip(0..).map(|(arrival, place)| groups.push(AT(20 * place), AT(*arrival)));
        let found: Vec<_> = changes.map(|change| change.map(|change| change.arrived)).collect();
        assert_eq!(found, [None, None, Some(20.0), Some(20.0), None, None, Some(20.0)]);
    }

    #[test]
    fn a_trend_is_the_slope_of_the_smoothed_delay() {
        // Each group comes 21 ms after the last one and was sent 20 ms after it: in the end delays grow by 1 ms in 21.
        let mut line = Filter::new(Estimator::Trendline(Trendline::default()));
        let mut found = None;
        for place in 1..=300 {
            found = line.push(&Change { sent: 20.0, arrived: 21.0, at: AT(21 * place) });
            assert_eq!(found.is_some(), place >= 20);
        }
        assert!((found.unwrap() - 240.0 / 21.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_kalman_filter_follows_the_equations() {
        let mut filter = Kalman::default();
        // By hand: alpha = 0.99^0.6, z = 2, var = max(0.99399... + 0.00601... 4, 1), k = 0.101 / (var + 0.101).
        let alpha = 0.99_f64.powf(0.6);
        let variance = alpha + (1.0 - alpha) * 4.0;
        let gain = 0.101 / (variance + 0.101);
        let found = filter.push(&Change { sent: 20.0, arrived: 22.0, at: AT(0) });
        assert!((found - 2.0 * gain).abs() < 1e-12, "{found}");
        assert!((filter.error - (1.0 - gain) * 0.101).abs() < 1e-12);
        // What differs by more than three standard deviations counts as that much.
        let mut filter = Kalman::default();
        let most = filter.push(&Change { sent: 20.0, arrived: 23.0, at: AT(0) });
        let mut other = Kalman::default();
        assert_eq!(other.push(&Change { sent: 20.0, arrived: 500.0, at: AT(0) }), most);
    }

    #[test]
    fn over_use_is_what_lasts_for_ten_milliseconds_and_does_not_shrink() {
        let usages = |estimates: &[f64]| {
            let mut detector = Detector::new(None);
            let mut at = 0;
            let mut found = Vec::new();
            for estimate in estimates {
                at += 6;
                detector.update(*estimate, &Change { sent: 6.0, arrived: 6.0, at: AT(at) });
                found.push(detector.usage());
            }
            found
        };
        use Usage::{Normal, Over, Under};
        // 3 ms, 9 ms, 15 ms.
        assert_eq!(usages(&[13.0, 13.0, 13.0, 12.5]), [Normal, Normal, Over, Normal]);
        assert_eq!(usages(&[13.0, 13.0, 12.9, 13.0]), [Normal, Normal, Normal, Over]);
        assert_eq!(usages(&[-12.5, -12.6, 0.0]), [Normal, Under, Normal]);
    }

    #[test]
    fn the_threshold_follows_the_estimate_slowly_and_not_everything() {
        let threshold = |gains, estimate: f64, span: u64| {
            let mut detector = Detector::new(Some(gains));
            for at in [0, span] {
                detector.update(estimate, &Change { sent: 5.0, arrived: 5.0, at: AT(at) });
            }
            detector.threshold()
        };
        let draft = (0.01, 0.00018);
        assert!((threshold(draft, 22.5, 10) - 13.5).abs() < 1e-12, "12.5 + 10 0.01 10");
        assert!((threshold(draft, 2.5, 10) - 12.482).abs() < 1e-12, "12.5 - 10 0.00018 10");
        assert_eq!(threshold(draft, 27.6, 10), 12.5, "farther away than 15 ms");
        assert!((threshold(draft, 22.5, 5000) - 22.5).abs() < 1e-12, "100 ms at once");
        assert_eq!(threshold((0.0087, 0.039), 0.0, 100), 6.0);
    }
}
