//! HyStart++ (RFC 9406): slow start that ends when the delay rises, before a loss ends it.

use trialwise_units::Duration;

use crate::Acknowledgement;

/// `MIN_RTT_THRESH` (RFC 9406, section 4.3).
const MINIMUM_RISE: Duration = Duration::from_milliseconds(4);
/// `MAX_RTT_THRESH` (section 4.3).
const MAXIMUM_RISE: Duration = Duration::from_milliseconds(16);
/// `MIN_RTT_DIVISOR` (section 4.3).
const RTT_DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE` (section 4.3).
const SAMPLES: u32 = 8;
/// `CSS_GROWTH_DIVISOR` (section 4.3).
const GROWTH_DIVISOR: f64 = 4.0;
/// `CSS_ROUNDS` (section 4.3).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// How far slow start has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Standard slow start.
    Standard,
    /// Conservative slow start, with the round-trip time at which it began and the rounds since.
    Conservative { baseline: Duration, rounds: u32 },
    /// Congestion avoidance is due.
    Done,
}

/// The detector of one initial slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HyStart {
    stage: Stage,
    round_end: Option<u64>,
    last_minimum: Option<Duration>,
    minimum: Option<Duration>,
    samples: u32,
}

impl HyStart {
    pub(crate) const fn new() -> Self {
        Self { stage: Stage::Standard, round_end: None, last_minimum: None, minimum: None, samples: 0 }
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    /// By what the growth of this stage is divided (section 4.2: `cwnd += min(N, L SMSS) /
    /// CSS_GROWTH_DIVISOR`).
    pub(crate) const fn growth_divisor(&self) -> f64 {
        match self.stage {
            Stage::Conservative { .. } => GROWTH_DIVISOR,
            Stage::Standard | Stage::Done => 1.0,
        }
    }

    /// Takes a sample, judges it, and ends the round when its window has been acknowledged (section 4.2).
    pub(crate) fn update(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let round_end = *self.round_end.get_or_insert(acknowledgement.next_sequence);
        if let Some(rtt) = acknowledgement.rtt {
            // currentRoundMinRTT = min(currentRoundMinRTT, currRTT); rttSampleCount += 1
            self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        self.judge();
        if acknowledgement.cumulative >= round_end {
            self.start_round(acknowledgement.next_sequence);
        }
    }

    fn judge(&mut self) {
        // "For rounds where at least N_RTT_SAMPLE RTT samples have been obtained"
        let Some(minimum) = self.minimum.filter(|_| self.samples >= SAMPLES) else { return };
        match self.stage {
            Stage::Standard if self.last_minimum.is_some_and(|last| minimum >= last + threshold(last)) => {
                self.stage = Stage::Conservative { baseline: minimum, rounds: 0 };
            }
            // The rise was jitter: "if (currentRoundMinRTT < cssBaselineMinRtt) resume slow start".
            Stage::Conservative { baseline, .. } if minimum < baseline => self.stage = Stage::Standard,
            _ => {}
        }
    }

    fn start_round(&mut self, next_sequence: u64) {
        self.last_minimum = self.minimum.take();
        self.samples = 0;
        self.round_end = Some(next_sequence);
        // A partial round counts too: "that partial round counts towards the limit".
        if let Stage::Conservative { baseline, rounds } = self.stage {
            let rounds = rounds + 1;
            let over = rounds >= CONSERVATIVE_ROUNDS;
            self.stage = if over { Stage::Done } else { Stage::Conservative { baseline, rounds } };
        }
    }
}

/// `RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))` (section 4.2).
fn threshold(last: Duration) -> Duration {
    (last / RTT_DIVISOR).min(MAXIMUM_RISE).max(MINIMUM_RISE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::acknowledgement;

    /// A round of ten packets at this round-trip time; the next ten leave with the last acknowledgement.
    fn round(detector: &mut HyStart, number: u64, milliseconds: u64) {
        for packet in 1..=10 {
            let cumulative = (number * 10 + packet) * 1000;
            let next_sequence = (number + 1 + packet / 10) * 10_000;
            let event = Acknowledgement {
                rtt: Some(Duration::from_milliseconds(milliseconds)),
                ..acknowledgement(cumulative, next_sequence)
            };
            detector.update(&event);
        }
    }

    fn stages(milliseconds: &[u64]) -> Vec<Stage> {
        let mut detector = HyStart::new();
        let rounds = milliseconds.iter().enumerate();
        rounds
            .map(|(number, milliseconds)| {
                round(&mut detector, number as u64, *milliseconds);
                detector.stage()
            })
            .collect()
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_milliseconds() {
        for (last, expected) in [(8, 4), (64, 8), (400, 16)] {
            let expected = Duration::from_milliseconds(expected);
            assert_eq!(threshold(Duration::from_milliseconds(last)), expected);
        }
    }

    #[test]
    fn a_rise_by_an_eighth_leads_to_five_conservative_rounds() {
        assert_eq!(stages(&[80, 89]), [Stage::Standard, Stage::Standard]);
        let stages = stages(&[80, 90, 90, 90, 90, 90]);
        assert_eq!(stages[0], Stage::Standard);
        assert_eq!(stages[1], Stage::Conservative { baseline: Duration::from_milliseconds(90), rounds: 1 });
        assert!(matches!(stages[4], Stage::Conservative { rounds: 4, .. }));
        assert_eq!(stages[5], Stage::Done);
    }

    #[test]
    fn a_rise_that_goes_away_resumes_slow_start() {
        assert_eq!(stages(&[80, 90, 85])[2], Stage::Standard);
    }

    #[test]
    fn fewer_than_eight_samples_say_nothing() {
        let mut detector = HyStart::new();
        round(&mut detector, 0, 80);
        for packet in 1..=7 {
            let rtt = Some(Duration::from_milliseconds(200));
            detector.update(&Acknowledgement { rtt, ..acknowledgement(10_000 + packet * 1000, 30_000) });
        }
        assert_eq!(detector.stage(), Stage::Standard);
    }
}
