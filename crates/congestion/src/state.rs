//! What a controller shows of itself, for logs and debugging.

use std::fmt;

use trialwise_units::{Bytes, Rate};

/// In which part of its algorithm a controller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// One law at all times.
    #[default]
    Steady,
    /// Exponential growth (RFC 5681, section 3.1).
    SlowStart,
    /// Slower exponential growth after the delay rose (RFC 9406, section 4.2).
    ConservativeSlowStart,
    /// Growth by the law of the controller (RFC 5681, section 3.1).
    CongestionAvoidance,
    /// Congestion avoidance that follows what Reno would have (RFC 9438, section 4.3).
    RenoFriendly,
    /// A loss is being repaired; nothing grows (RFC 6582).
    Recovery,
    /// BBR empties the queue that its start has filled (draft-ietf-ccwg-bbr, section "Drain").
    Drain,
    /// BBR ("ProbeBW_DOWN") or C4 ("Recovery") sends less than it has measured, so that queues empty.
    ProbeDown,
    /// BBR ("ProbeBW_CRUISE") or C4 ("Cruising") sends what it has measured.
    ProbeCruise,
    /// The same, before a probe ("ProbeBW_REFILL").
    ProbeRefill,
    /// BBR ("ProbeBW_UP") or C4 ("Probing", "Pushing") sends more than it has measured.
    ProbeUp,
    /// BBR has little in flight, to see the round-trip time of an empty path ("ProbeRTT").
    ProbeRtt,
    /// Copa between flows that keep the queue short (NSDI 2018, section 2.1).
    Default,
    /// Copa beside flows that fill the queue (NSDI 2018, section 2.2).
    Competitive,
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Steady => "steady",
            Self::SlowStart => "slow start",
            Self::ConservativeSlowStart => "conservative slow start",
            Self::CongestionAvoidance => "congestion avoidance",
            Self::RenoFriendly => "Reno-friendly",
            Self::Recovery => "recovery",
            Self::Drain => "drain",
            Self::ProbeDown => "probe down",
            Self::ProbeCruise => "cruise",
            Self::ProbeRefill => "refill",
            Self::ProbeUp => "probe up",
            Self::ProbeRtt => "probe RTT",
            Self::Default => "default mode",
            Self::Competitive => "competitive mode",
        })
    }
}

/// A controller at one instant: prints as `window 14600 B, threshold 7300 B, recovery`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What [`Controller::window`](crate::Controller::window) says.
    pub window: Option<Bytes>,
    /// `ssthresh`; none where there is none, or none yet.
    pub slow_start_threshold: Option<Bytes>,
    /// What [`Controller::pacing_rate`](crate::Controller::pacing_rate) says.
    pub pacing_rate: Option<Rate>,
    /// In which part of the algorithm.
    pub phase: Phase,
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(window) = self.window {
            write!(formatter, "window {window}, ")?;
        }
        if let Some(threshold) = self.slow_start_threshold {
            write!(formatter, "threshold {threshold}, ")?;
        }
        if let Some(rate) = self.pacing_rate {
            write!(formatter, "pacing {rate}, ")?;
        }
        write!(formatter, "{}", self.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_prints_what_there_is() {
        let state = State {
            window: Some(Bytes::new(14_600)),
            slow_start_threshold: Some(Bytes::new(7300)),
            pacing_rate: None,
            phase: Phase::Recovery,
        };
        assert_eq!(state.to_string(), "window 14600 B, threshold 7300 B, recovery");
        let rate = Some(Rate::from_bits_per_second(5));
        assert_eq!(State { pacing_rate: rate, ..State::default() }.to_string(), "pacing 5 bit/s, steady");
    }
}
