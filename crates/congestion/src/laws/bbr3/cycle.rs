//! ProbeBW and ProbeRTT: when to probe for more, when to make room, and when to see the empty path.

use trialwise_units::{Duration, Time};

use super::parts::{Feedbacks, FullPipe, Sample, Stage};
use super::{Bbr3, MAXIMUM_ROUNDS, MAXIMUM_UP_ROUNDS, MIN_RTT_FILTER, PROBE_RTT_CWND, PROBE_RTT_DURATION, PROBE_RTT_INTERVAL, SHORTEST_WAIT};
use crate::segments::MAXIMUM_WINDOW;

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.up_step = f64::INFINITY;
        self.rounds_since_up = u64::from(self.draw() < 0.5);
        self.wait = Duration::from_seconds(SHORTEST_WAIT + self.draw());
        self.cycle_stamp = now;
        self.feedbacks = Feedbacks::Stopping;
        self.start_round();
        self.stage = Stage::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        self.up_rounds = 0;
        self.up_acknowledged = 0.0;
        self.was_precautionary = false;
        self.feedbacks = Feedbacks::Refilling;
        self.start_round();
        self.stage = Stage::Refill;
    }

    pub(super) fn start_up(&mut self, sample: &Sample) {
        self.feedbacks = Feedbacks::Starting;
        self.start_round();
        self.full = FullPipe { rate: sample.rate, ..FullPipe::default() };
        self.stage = Stage::Up;
        self.raise_slope();
    }

    /// `RaiseInflightLongtermSlope`.
    pub(super) fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MAXIMUM_UP_ROUNDS);
        self.up_step = (self.cwnd / growth).max(self.segment);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, now: Time, in_flight: f64, acknowledged: f64, sample: &Sample) {
        if !self.is_full_reached || self.adapt_long_term(acknowledged, sample) {
            return;
        }
        let stage = self.stage;
        match stage {
            Stage::Down | Stage::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Stage::Down if self.is_time_to_cruise(in_flight) => self.stage = Stage::Cruise,
            Stage::Refill if self.round_start => {
                self.is_probe_sample = true;
                self.start_up(sample);
            }
            Stage::Up if self.is_time_to_go_down(in_flight, sample) => {
                self.was_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.target_inflight() / self.segment).min(MAXIMUM_ROUNDS);
        now.since(self.cycle_stamp) > self.wait || self.rounds_since_up as f64 >= rounds
    }

    pub(super) fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    pub(super) fn uses_window(&self) -> bool {
        self.is_cwnd_limited.contains(&true) && self.cwnd >= self.inflight_long
    }

    pub(super) fn is_time_to_go_down(&mut self, in_flight: f64, sample: &Sample) -> bool {
        if self.was_too_high && in_flight >= self.inflight_long {
            self.was_precautionary = true;
            return true;
        }
        if self.uses_window() {
            self.full = FullPipe { rate: sample.rate, ..FullPipe::default() };
            return false;
        }
        self.full.is_full
    }

    /// Whether it has decided the next state.
    pub(super) fn adapt_long_term(&mut self, acknowledged: f64, sample: &Sample) -> bool {
        if self.feedbacks == Feedbacks::Starting && self.round_start {
            self.feedbacks = Feedbacks::Feedback;
        }
        if self.feedbacks == Feedbacks::Stopping && self.round_start {
            self.is_probe_sample = false;
            self.feedbacks = Feedbacks::Init;
            if self.stage.is_probe_bw() && !sample.is_limited {
                self.max_bw = [self.max_bw[1], 0.0];
            }
            if self.stage.is_probe_bw() && self.was_precautionary && !self.was_too_high {
                self.start_refill();
                return true;
            }
        }
        if !sample.is_inflight_too_high() && self.inflight_long.is_finite() {
            self.inflight_long = self.inflight_long.max(sample.in_flight);
            if self.stage == Stage::Up {
                self.probe_upward(acknowledged);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    pub(super) fn probe_upward(&mut self, acknowledged: f64) {
        if !self.uses_window() {
            return;
        }
        self.up_acknowledged += acknowledged;
        if self.up_acknowledged >= self.up_step {
            let steps = (self.up_acknowledged / self.up_step).floor();
            self.up_acknowledged -= steps * self.up_step;
            self.inflight_long = (self.inflight_long + steps * self.segment).min(MAXIMUM_WINDOW);
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    pub(super) fn update_min_rtt(&mut self, now: Time, rtt: Option<Duration>) {
        let is_older = |known: Option<(Duration, Time)>, than| known.is_some_and(|(_, at)| now.since(at) > than);
        self.is_probe_rtt_expired = is_older(self.probe_rtt_min, PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt
            && (self.is_probe_rtt_expired || self.probe_rtt_min.is_none_or(|(least, _)| rtt < least))
        {
            self.probe_rtt_min = Some((rtt, now));
        }
        let is_expired = is_older(self.min_rtt, MIN_RTT_FILTER);
        if let Some((least, _)) = self.probe_rtt_min
            && (is_expired || self.min_rtt.is_none_or(|(rtt, _)| least < rtt))
        {
            self.min_rtt = self.probe_rtt_min;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, now: Time, in_flight: f64, sample: &Sample) {
        if self.stage != Stage::ProbeRtt && self.is_probe_rtt_expired && !self.is_idle_restart {
            self.save_cwnd();
            self.stage = Stage::ProbeRtt;
            self.probe_rtt_done = None;
            self.feedbacks = Feedbacks::Stopping;
            self.start_round();
            self.held_low = Some((self.delivered, self.delivered));
        }
        if self.stage == Stage::ProbeRtt {
            self.handle_probe_rtt(now, in_flight);
        }
        if sample.delivered > 0.0 {
            self.is_idle_restart = false;
        }
    }

    pub(super) fn handle_probe_rtt(&mut self, now: Time, in_flight: f64) {
        let end = self.delivered + in_flight;
        self.held_low = self.held_low.map(|(from, _)| (from, end));
        if self.probe_rtt_done.is_none() && in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done = Some(now + PROBE_RTT_DURATION);
            self.is_probe_rtt_round_done = false;
            self.start_round();
        } else if self.probe_rtt_done.is_some() {
            self.is_probe_rtt_round_done |= self.round_start;
            if self.is_probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_some_and(|done| now > done) {
            self.probe_rtt_min = self.probe_rtt_min.map(|(rtt, _)| (rtt, now));
            self.restore_cwnd();
            self.reset_short_term();
            if self.is_full_reached {
                self.start_down(now);
                self.stage = Stage::Cruise;
            } else {
                self.stage = Stage::Startup;
            }
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw, PROBE_RTT_CWND).max(self.minimum_pipe())
    }
}
