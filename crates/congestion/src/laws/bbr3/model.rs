//! What acknowledgements say of the path: samples, rounds, bandwidth, bounds, and whether the pipe is full.

use trialwise_units::{Time};

use super::parts::{FullPipe, Sample, Stage};
use super::{BETA, Bbr3, DRAIN_ROUNDS, FULL_GROWTH, FULL_ROUNDS, STARTUP_LOSSES};
use crate::{RateSample};

impl Bbr3 {
    /// `GenerateRateSample`, of what the driver has measured.
    pub(super) fn sample(&self, measured: &RateSample) -> Sample {
        let delivered = measured.delivered.get() as f64;
        let prior_delivered = measured.prior_delivered.get() as f64;
        let is_reliable = self.min_rtt.is_none_or(|(rtt, _)| measured.interval >= rtt);
        let held_low = self.held_low.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered));
        Sample {
            delivered: delivered - prior_delivered,
            prior_delivered,
            rate: if is_reliable { measured.rate().bits_per_second() as f64 / 8.0 } else { 0.0 },
            lost: measured.lost.get() as f64,
            in_flight: measured.in_flight_when_sent.get() as f64,
            is_limited: measured.application_limited || held_low,
        }
    }

    pub(super) fn update_latest_delivery(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = self.delivered;
        }
    }

    pub(super) fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_up += 1;
            self.is_cwnd_limited = [self.is_cwnd_limited[1], false];
            self.aggregation.begin_round(self.round_count);
        }
    }

    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.is_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        self.update_max_bw(sample);
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.stage.is_accelerating() {
            self.lower_bounds();
        }
        self.is_loss_in_round = false;
    }

    /// `InitLowerBounds` and `LossLowerBounds`.
    pub(super) fn lower_bounds(&mut self) {
        let bw = if self.bw_short.is_infinite() { self.max_bw() } else { self.bw_short };
        let inflight = if self.inflight_short.is_infinite() { self.cwnd } else { self.inflight_short };
        self.bw_short = self.bw_latest.max(BETA * bw);
        self.inflight_short = self.inflight_latest.max(BETA * inflight);
    }

    pub(super) fn check_full(&mut self, sample: &Sample) {
        if self.full.is_full || !self.round_start || sample.is_limited {
            return;
        }
        if sample.rate >= self.full.rate * FULL_GROWTH {
            self.full = FullPipe { rate: sample.rate, ..FullPipe::default() };
            return;
        }
        self.full.rounds += 1;
        self.full.is_full = self.full.rounds >= FULL_ROUNDS;
        self.is_full_reached |= self.full.is_full;
    }

    pub(super) fn check_startup(&mut self, sample: &Sample) {
        let has_losses = self.losses_in_round >= STARTUP_LOSSES && self.is_in_recovery;
        if self.stage == Stage::Startup
            && self.loss_round_start
            && has_losses
            && sample.is_inflight_too_high()
        {
            self.undo.stage = Some(Stage::Startup);
            self.is_full_reached = true;
            self.inflight_long = self.bdp(self.bw, 1.0).max(self.inflight_latest);
        }
        if self.loss_round_start {
            self.losses_in_round = 0;
        }
        if self.stage == Stage::Startup && self.is_full_reached {
            self.stage = Stage::Drain;
            self.drain_round = self.round_count;
        }
    }

    pub(super) fn check_drain(&mut self, now: Time, in_flight: f64) {
        let is_drained = in_flight <= self.inflight(self.bw, 1.0);
        if self.stage == Stage::Drain && (is_drained || self.round_count > self.drain_round + DRAIN_ROUNDS) {
            self.start_down(now);
        }
    }
}
