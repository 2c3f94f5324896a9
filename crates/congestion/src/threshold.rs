//! What NewReno and CUBIC have in common: a window with a slow-start threshold (RFC 5681).

use trialwise_units::{Bytes, Duration};

use crate::episodes::Episodes;
use crate::segments::SegmentWindow;
use crate::{Acknowledgement, BuildError, Context, Loss, Phase, RoundTrip, State};

/// `LW`: the window after a time-out, in segments (RFC 5681, section 3.1).
const LOSS_WINDOW: f64 = 1.0;
/// The lowest slow-start threshold, in segments (RFC 5681, equation 4; RFC 9438, section 4.6).
const MINIMUM_THRESHOLD: f64 = 2.0;
/// The lowest retransmission time-out (RFC 6298, section 2.4).
const MINIMUM_TIMEOUT: Duration = Duration::from_milliseconds(1000);

/// A window, its slow-start threshold, and what both depend on.
#[derive(Clone, Debug)]
pub(crate) struct ThresholdWindow {
    pub(crate) window: SegmentWindow,
    /// `ssthresh` in segments; infinite at first (RFC 5681, section 3.1: arbitrarily high).
    pub(crate) threshold: f64,
    pub(crate) round_trip: RoundTrip,
    episodes: Episodes,
    initial: f64,
    recovering: bool,
}

impl ThresholdWindow {
    pub(crate) fn new(initial: u32, context: &Context, controller: &'static str) -> Result<Self, BuildError> {
        let window = SegmentWindow::new(initial, LOSS_WINDOW, context, controller)?;
        Ok(Self {
            window,
            threshold: f64::INFINITY,
            round_trip: RoundTrip::new(),
            episodes: Episodes::default(),
            initial: window.segments(),
            recovering: false,
        })
    }

    /// Whether slow start is in force: `cwnd < ssthresh` (RFC 5681, section 3.1, which leaves the case of
    /// equality open; RFC 9438, section 4.10 counts it as slow start, but then each reduction would be
    /// followed by a step of it).
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.window.segments() < self.threshold
    }

    /// Takes note of an acknowledgement; whether its marks call for a reduction.
    pub(crate) fn observe(&mut self, acknowledgement: &Acknowledgement<'_>) -> bool {
        self.recovering = acknowledgement.in_recovery;
        if let Some(rtt) = acknowledgement.rtt {
            self.round_trip.update(rtt);
        }
        self.episodes.marked(acknowledgement)
    }

    /// How many segments this acknowledgement counts for growth: none while a loss is repaired (RFC 6582,
    /// section 3.2), where the application holds the flow back (RFC 9438, section 5.8), or where nothing new
    /// is acknowledged.
    pub(crate) fn growth(&self, acknowledgement: &Acknowledgement<'_>) -> Option<f64> {
        let counts = !acknowledgement.in_recovery && !acknowledgement.application_limited;
        let segments = self.window.segments_in(acknowledgement.acknowledged);
        (counts && segments > 0.0).then_some(segments)
    }

    /// `FlightSize` in segments as it was before this acknowledgement.
    pub(crate) fn flight_before(&self, acknowledgement: &Acknowledgement<'_>) -> f64 {
        self.window.segments_in(acknowledgement.in_flight)
            + self.window.segments_in(acknowledgement.acknowledged)
    }

    /// `FlightSize` in segments as it was before these packets were deemed lost; none where they call for no
    /// reduction.
    pub(crate) fn flight_of_new_episode(&mut self, loss: &Loss) -> Option<f64> {
        self.recovering = true;
        let flight = self.window.segments_in(loss.in_flight) + self.window.segments_in(loss.bytes);
        self.episodes.lost(loss).then_some(flight)
    }

    /// Sets `cwnd = ssthresh`, the latter at least two segments. The driver counts what is in flight without
    /// what is lost, so nothing is inflated or deflated meanwhile (RFC 5681, section 3.2 and RFC 6582,
    /// section 3.2 by RFC 6675, section 5).
    pub(crate) fn reduce(&mut self, threshold: f64) {
        self.threshold = threshold.max(MINIMUM_THRESHOLD);
        self.window.set(self.threshold);
    }

    /// The window of a time-out (RFC 5681, section 3.1); `threshold` at the first time-out for the same data
    /// only.
    pub(crate) fn collapse(&mut self, threshold: Option<f64>) {
        if let Some(threshold) = threshold {
            self.threshold = threshold.max(MINIMUM_THRESHOLD);
        }
        self.recovering = false;
        self.window.set(LOSS_WINDOW);
    }

    /// `cwnd = min(IW, cwnd)` after more than a time-out without sending (RFC 5681, section 4.1).
    pub(crate) fn restart(&mut self, idle: Duration) {
        let timeout = self.round_trip.timeout(Duration::ZERO, MINIMUM_TIMEOUT).unwrap_or(MINIMUM_TIMEOUT);
        if idle > timeout {
            self.window.set(self.window.segments().min(self.initial));
        }
    }

    pub(crate) fn state(&self, growing: Phase) -> State {
        let threshold = self.threshold.is_finite().then(|| self.window.bytes_of(self.threshold));
        let phase = if self.recovering { Phase::Recovery } else { growing };
        State { window: Some(self.window.bytes()), slow_start_threshold: threshold, pacing_rate: None, phase }
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.window.bytes()
    }
}
