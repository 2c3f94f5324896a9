//! What BBR keeps beside its estimates: its stage, packets in flight, samples, and the filter of aggregation.

use trialwise_units::{Time};

use super::{AGGREGATION_ROUNDS, DEFAULT_CWND, DOWN_PACING, DRAIN_PACING, LOSS_THRESHOLD, PROBE_RTT_CWND, STARTUP_PACING, UP_CWND, UP_PACING};
use crate::{Phase};

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Stage {
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING,
            Self::Drain => DRAIN_PACING,
            Self::Down => DOWN_PACING,
            Self::Up => UP_PACING,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => UP_CWND,
            Self::ProbeRtt => PROBE_RTT_CWND,
            _ => DEFAULT_CWND,
        }
    }

    /// `IsInAProbeBWState`.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    pub(super) const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Startup => Phase::SlowStart,
            Self::Drain => Phase::Drain,
            Self::Down => Phase::ProbeDown,
            Self::Cruise => Phase::ProbeCruise,
            Self::Refill => Phase::ProbeRefill,
            Self::Up => Phase::ProbeUp,
            Self::ProbeRtt => Phase::ProbeRtt,
        }
    }
}

/// `BBR.ack_phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedbacks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a packet in flight keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// `P.tx_in_flight`.
    pub(super) in_flight: f64,
    /// `P.lost`.
    pub(super) lost: f64,
}

/// `RS`, as far as an acknowledgement or a lost packet has it; bytes and bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) delivered: f64,
    pub(super) prior_delivered: f64,
    /// 0 where there is none.
    pub(super) rate: f64,
    pub(super) lost: f64,
    pub(super) in_flight: f64,
    pub(super) is_limited: bool,
}

impl Sample {
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.lost > self.in_flight * LOSS_THRESHOLD
    }
}

/// `BBR.full_bw` and what decides about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub(super) rate: f64,
    pub(super) rounds: u32,
    pub(super) is_full: bool,
}

/// What was before a loss that may turn out to be none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) stage: Option<Stage>,
    pub(super) bw_short: f64,
    pub(super) inflight_short: f64,
    pub(super) inflight_long: f64,
}

/// The largest excess of acknowledged over expected payload, of the last rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    pub(super) start: Time,
    pub(super) delivered: f64,
    pub(super) rounds: [f64; AGGREGATION_ROUNDS],
}

impl Aggregation {
    pub(super) const fn new(now: Time) -> Self {
        Self { start: now, delivered: 0.0, rounds: [0.0; AGGREGATION_ROUNDS] }
    }

    pub(super) fn begin_round(&mut self, round: u64) {
        self.rounds[round as usize % AGGREGATION_ROUNDS] = 0.0;
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update(&mut self, now: Time, round: u64, bw: f64, acknowledged: f64, cwnd: f64) {
        let mut expected = bw * now.since(self.start).as_seconds();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.start = now;
            expected = 0.0;
        }
        self.delivered += acknowledged;
        let extra = (self.delivered - expected).min(cwnd);
        let slot = &mut self.rounds[round as usize % AGGREGATION_ROUNDS];
        *slot = slot.max(extra);
    }

    /// In Startup of this round only.
    pub(super) fn extra(&self, round: u64, is_full: bool) -> f64 {
        if is_full {
            return self.rounds.iter().fold(0.0, |most, extra| most.max(*extra));
        }
        self.rounds[round as usize % AGGREGATION_ROUNDS]
    }
}
