//! BBRv3: draft-ietf-ccwg-bbr (working copy of 3 August 2026), under the names of its pseudocode. There is no reaction to marks, as in
//! the draft.

use std::collections::VecDeque;

use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::declared::settings;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketReport, Phase,
    RateSample, RoundTrip, Sent, Setting, State, Timeout,
};

const NAME: &str = "bbr3";
/// `StartupPacingGain`, `4 ln 2`.
const STARTUP_PACING: f64 = 2.77;
const DEFAULT_CWND: f64 = 2.0;
const DRAIN_PACING: f64 = 0.5;
const DOWN_PACING: f64 = 0.9;
const UP_PACING: f64 = 1.25;
const UP_CWND: f64 = 2.25;
const PROBE_RTT_CWND: f64 = 0.5;
/// `PacingMarginPercent`.
const MARGIN: f64 = 0.99;
/// `LossThresh`.
const LOSS_THRESHOLD: f64 = 0.02;
/// `Beta`.
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd` in segments.
const MINIMUM_PIPE: f64 = 4.0;
/// `ExtraAckedFilterLen` in rounds.
const AGGREGATION_ROUNDS: usize = 10;
const MIN_RTT_FILTER: Duration = Duration::from_milliseconds(10_000);
const PROBE_RTT_INTERVAL: Duration = Duration::from_milliseconds(5_000);
const PROBE_RTT_DURATION: Duration = Duration::from_milliseconds(200);
/// `StartupFullLossCnt`: separate ranges of numbers lost in a round.
const STARTUP_LOSSES: u32 = 6;
/// The growth of the delivery rate without which a round counts as full, and so many rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const DRAIN_ROUNDS: u64 = 3;
/// Rounds between probes at most, and the time between them (`PickProbeWait`).
const MAXIMUM_ROUNDS: f64 = 63.0;
const SHORTEST_WAIT: f64 = 2.0;
/// A round of `ProbeBW_UP` grows by 2^30 at most.
const MAXIMUM_UP_ROUNDS: u32 = 30;
/// `SetSendQuantum`.
const QUANTUM_SECONDS: f64 = 1e-3;
const MAXIMUM_QUANTUM: f64 = 65_536.0;
/// The round-trip time for the first rate (`InitPacingRate`).
const FIRST_RTT: f64 = 1e-3;
const MAXIMUM_WINDOW: f64 = (1_u64 << 40) as f64;
const MAXIMUM_RATE: f64 = 1e12;

/// The parameters of [`Bbr3`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bbr3Settings {
    /// `InitialCwnd` in segments.
    pub initial_window: u32,
}

impl Default for Bbr3Settings {
    /// Ten segments (RFC 6928, section 2).
    fn default() -> Self {
        Self { initial_window: 10 }
    }
}

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Stage {
    const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING,
            Self::Drain => DRAIN_PACING,
            Self::Down => DOWN_PACING,
            Self::Up => UP_PACING,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => UP_CWND,
            Self::ProbeRtt => PROBE_RTT_CWND,
            _ => DEFAULT_CWND,
        }
    }

    /// `IsInAProbeBWState`.
    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    const fn phase(self) -> Phase {
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
enum Feedbacks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a packet in flight keeps.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// `P.tx_in_flight`.
    in_flight: f64,
    /// `P.lost`.
    lost: f64,
    is_reported: bool,
}

/// The packets in flight by number.
#[derive(Clone, Debug, Default)]
struct Ring {
    base: u64,
    packets: VecDeque<Kept>,
}

impl Ring {
    fn push(&mut self, number: u64, kept: Kept) {
        if self.base.checked_add(self.packets.len() as u64) != Some(number) {
            self.packets.clear();
            self.base = number;
        }
        self.packets.push_back(kept);
    }

    /// Takes a packet that is reported.
    fn take(&mut self, number: u64) -> Option<Kept> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let kept = self.packets.get_mut(place).filter(|kept| !kept.is_reported)?;
        kept.is_reported = true;
        let taken = *kept;
        while self.packets.front().is_some_and(|kept| kept.is_reported) {
            self.packets.pop_front();
            self.base += 1;
        }
        Some(taken)
    }
}

/// `RS`, as far as an acknowledgement or a lost packet has it; bytes and bytes per second.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    delivered: f64,
    prior_delivered: f64,
    /// 0 where there is none.
    rate: f64,
    lost: f64,
    in_flight: f64,
    is_limited: bool,
}

impl Sample {
    fn is_inflight_too_high(&self) -> bool {
        self.lost > self.in_flight * LOSS_THRESHOLD
    }
}

/// `BBR.full_bw` and what decides about it.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    rate: f64,
    rounds: u32,
    is_full: bool,
}

/// What was before a loss that may turn out to be none.
#[derive(Clone, Copy, Debug)]
struct Undo {
    stage: Option<Stage>,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// The largest excess of acknowledged over expected payload, of the last rounds.
#[derive(Clone, Copy, Debug)]
struct Aggregation {
    start: Time,
    delivered: f64,
    rounds: [f64; AGGREGATION_ROUNDS],
}

impl Aggregation {
    const fn new(now: Time) -> Self {
        Self { start: now, delivered: 0.0, rounds: [0.0; AGGREGATION_ROUNDS] }
    }

    fn begin_round(&mut self, round: u64) {
        self.rounds[round as usize % AGGREGATION_ROUNDS] = 0.0;
    }

    /// `UpdateACKAggregation`.
    fn update(&mut self, now: Time, round: u64, bw: f64, acknowledged: f64, cwnd: f64) {
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
    fn extra(&self, round: u64, is_full: bool) -> f64 {
        if is_full {
            return self.rounds.iter().fold(0.0, |most, extra| most.max(*extra));
        }
        self.rounds[round as usize % AGGREGATION_ROUNDS]
    }
}

/// The controller: paces at the delivery rate that it has measured, probes for more every few seconds, and keeps in flight what the
/// path was seen to bear.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    segment: f64,
    initial_cwnd: f64,
    seed: Seed,
    draws: u64,
    stage: Stage,
    feedbacks: Feedbacks,
    ring: Ring,
    round_trip: RoundTrip,
    /// `C.delivered` and `C.lost`.
    delivered: f64,
    lost: f64,
    cwnd: f64,
    /// Bits per second.
    pacing: f64,
    prior_cwnd: f64,
    is_in_recovery: bool,
    /// Whether the window was used up in the last round, and in this one.
    is_cwnd_limited: [bool; 2],
    /// Delivered when what ProbeRTT kept low began and will be through.
    held_low: Option<(f64, f64)>,
    round_count: u64,
    next_round: f64,
    round_start: bool,
    /// `BBR.max_bw_filter`: of the last cycle and of this one.
    max_bw: [f64; 2],
    bw: f64,
    bw_short: f64,
    bw_latest: f64,
    inflight_long: f64,
    inflight_short: f64,
    inflight_latest: f64,
    min_rtt: Option<(Duration, Time)>,
    probe_rtt_min: Option<(Duration, Time)>,
    is_probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    is_probe_rtt_round_done: bool,
    is_idle_restart: bool,
    aggregation: Aggregation,
    full: FullPipe,
    is_full_reached: bool,
    drain_round: u64,
    cycle_stamp: Time,
    wait: Duration,
    rounds_since_up: u64,
    up_rounds: u32,
    up_acknowledged: f64,
    up_step: f64,
    is_probe_sample: bool,
    was_too_high: bool,
    was_precautionary: bool,
    loss_round: f64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Separate ranges lost in this round, and the last number of the last one.
    losses_in_round: u32,
    last_lost: Option<u64>,
    undo: Undo,
}

impl Bbr3 {
    /// A flow in Startup.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &Bbr3Settings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        let segment = context.segment.get() as f64;
        let initial_cwnd = (f64::from(settings.initial_window) * segment).clamp(segment, MAXIMUM_WINDOW);
        let infinite = f64::INFINITY;
        let undo = Undo { stage: None, bw_short: 0.0, inflight_short: 0.0, inflight_long: 0.0 };
        Ok(Self {
            segment,
            initial_cwnd,
            seed: context.seed,
            draws: 0,
            stage: Stage::Startup,
            feedbacks: Feedbacks::Init,
            ring: Ring::default(),
            round_trip: RoundTrip::new(),
            delivered: 0.0,
            lost: 0.0,
            cwnd: initial_cwnd,
            pacing: first_rate(initial_cwnd, FIRST_RTT),
            prior_cwnd: 0.0,
            is_in_recovery: false,
            is_cwnd_limited: [false; 2],
            held_low: None,
            round_count: 0,
            next_round: 0.0,
            round_start: false,
            max_bw: [0.0; 2],
            bw: 0.0,
            bw_short: infinite,
            bw_latest: 0.0,
            inflight_long: infinite,
            inflight_short: infinite,
            inflight_latest: 0.0,
            min_rtt: None,
            probe_rtt_min: None,
            is_probe_rtt_expired: false,
            probe_rtt_done: None,
            is_probe_rtt_round_done: false,
            is_idle_restart: false,
            aggregation: Aggregation::new(context.now),
            full: FullPipe::default(),
            is_full_reached: false,
            drain_round: 0,
            cycle_stamp: context.now,
            wait: Duration::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acknowledged: 0.0,
            up_step: infinite,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            loss_round: 0.0,
            loss_round_start: false,
            is_loss_in_round: false,
            losses_in_round: 0,
            last_lost: None,
            undo,
        })
    }

    /// `BBR.max_bw` in bits per second.
    pub fn maximum_bandwidth(&self) -> f64 {
        8.0 * self.max_bw()
    }

    /// `BBR.min_rtt`; none before the first sample.
    pub fn minimum_round_trip(&self) -> Option<Duration> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// `BBR.inflight_longterm` in bytes; infinite while no loss has bounded it.
    pub const fn inflight_longterm(&self) -> f64 {
        self.inflight_long
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.draws += 1;
        (self.seed.numbered(self.draws).get() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `BDPMultiple`.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_cwnd, |(rtt, _)| gain * bw * rtt.as_seconds())
    }

    fn minimum_pipe(&self) -> f64 {
        MINIMUM_PIPE * self.segment
    }

    /// `C.send_quantum`, which is the offload budget of a sender whose packets leave one by one.
    fn quantum(&self) -> f64 {
        (self.pacing / 8.0 * QUANTUM_SECONDS).min(MAXIMUM_QUANTUM).max(2.0 * self.segment)
    }

    /// `QuantizationBudget`.
    fn budget(&self, inflight: f64) -> f64 {
        let spare = if self.stage == Stage::Up { 2.0 * self.segment } else { 0.0 };
        inflight.max(self.quantum()).max(self.minimum_pipe()) + spare
    }

    /// `Inflight`.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.budget(self.bdp(bw, gain))
    }

    /// `InflightWithHeadroom`.
    fn inflight_with_headroom(&self) -> f64 {
        let headroom = self.segment.max(HEADROOM * self.inflight_long);
        if self.inflight_long.is_infinite() {
            return self.inflight_long;
        }
        (self.inflight_long - headroom).max(self.minimum_pipe())
    }

    /// `TargetInflight`.
    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw, 1.0).min(self.cwnd)
    }

    fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    fn reset_short_term(&mut self) {
        self.bw_short = f64::INFINITY;
        self.inflight_short = f64::INFINITY;
    }

    fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.up_step = f64::INFINITY;
        self.rounds_since_up = u64::from(self.draw() < 0.5);
        self.wait = Duration::from_seconds(SHORTEST_WAIT + self.draw());
        self.cycle_stamp = now;
        self.feedbacks = Feedbacks::Stopping;
        self.start_round();
        self.stage = Stage::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_term();
        self.up_rounds = 0;
        self.up_acknowledged = 0.0;
        self.was_precautionary = false;
        self.feedbacks = Feedbacks::Refilling;
        self.start_round();
        self.stage = Stage::Refill;
    }

    fn start_up(&mut self, sample: &Sample) {
        self.feedbacks = Feedbacks::Starting;
        self.start_round();
        self.full = FullPipe { rate: sample.rate, ..FullPipe::default() };
        self.stage = Stage::Up;
        self.raise_slope();
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MAXIMUM_UP_ROUNDS);
        self.up_step = (self.cwnd / growth).max(self.segment);
    }

    /// `GenerateRateSample`, of what the driver has measured.
    fn sample(&self, measured: &RateSample) -> Sample {
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

    fn update_latest_delivery(&mut self, sample: &Sample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = self.delivered;
        }
    }

    fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_up += 1;
            self.is_cwnd_limited = [self.is_cwnd_limited[1], false];
            self.aggregation.begin_round(self.round_count);
        }
    }

    fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.is_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    fn update_congestion_signals(&mut self, sample: &Sample) {
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
    fn lower_bounds(&mut self) {
        let bw = if self.bw_short.is_infinite() { self.max_bw() } else { self.bw_short };
        let inflight = if self.inflight_short.is_infinite() { self.cwnd } else { self.inflight_short };
        self.bw_short = self.bw_latest.max(BETA * bw);
        self.inflight_short = self.inflight_latest.max(BETA * inflight);
    }

    fn check_full(&mut self, sample: &Sample) {
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

    fn check_startup(&mut self, sample: &Sample) {
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

    fn check_drain(&mut self, now: Time, in_flight: f64) {
        let is_drained = in_flight <= self.inflight(self.bw, 1.0);
        if self.stage == Stage::Drain && (is_drained || self.round_count > self.drain_round + DRAIN_ROUNDS) {
            self.start_down(now);
        }
    }

    /// `UpdateProbeBWCyclePhase`.
    fn update_cycle(&mut self, now: Time, in_flight: f64, acknowledged: f64, sample: &Sample) {
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

    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.target_inflight() / self.segment).min(MAXIMUM_ROUNDS);
        now.since(self.cycle_stamp) > self.wait || self.rounds_since_up as f64 >= rounds
    }

    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    fn uses_window(&self) -> bool {
        self.is_cwnd_limited.contains(&true) && self.cwnd >= self.inflight_long
    }

    fn is_time_to_go_down(&mut self, in_flight: f64, sample: &Sample) -> bool {
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
    fn adapt_long_term(&mut self, acknowledged: f64, sample: &Sample) -> bool {
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
    fn probe_upward(&mut self, acknowledged: f64) {
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

    fn update_min_rtt(&mut self, now: Time, rtt: Option<Duration>) {
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

    fn check_probe_rtt(&mut self, now: Time, in_flight: f64, sample: &Sample) {
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

    fn handle_probe_rtt(&mut self, now: Time, in_flight: f64) {
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

    fn check_probe_rtt_done(&mut self, now: Time) {
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

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw, PROBE_RTT_CWND).max(self.minimum_pipe())
    }

    fn set_pacing(&mut self, gain: f64) {
        let bits = 8.0 * gain * self.bw * MARGIN;
        if bits > 0.0 && (self.is_full_reached || bits > self.pacing) {
            self.pacing = bits.min(MAXIMUM_RATE);
        }
    }

    fn set_cwnd(&mut self, acknowledged: f64) {
        let gained = self.bdp(self.bw, self.stage.cwnd_gain());
        let extra = self.aggregation.extra(self.round_count, self.is_full_reached);
        let most = self.budget(gained + extra);
        if self.is_full_reached {
            self.cwnd = (self.cwnd + acknowledged).min(most);
        } else if self.cwnd < most || self.delivered < self.initial_cwnd {
            self.cwnd += acknowledged;
        }
        self.cwnd = self.cwnd.max(self.minimum_pipe());
        if self.stage == Stage::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd(&mut self) {
        let cap = match self.stage {
            Stage::Down | Stage::Refill | Stage::Up => self.inflight_long,
            Stage::Cruise | Stage::ProbeRtt => self.inflight_with_headroom(),
            Stage::Startup | Stage::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.inflight_short).max(self.minimum_pipe());
        self.cwnd = self.cwnd.min(cap).min(MAXIMUM_WINDOW);
    }

    fn save_cwnd(&mut self) {
        let is_whole = !self.is_in_recovery && self.stage != Stage::ProbeRtt;
        self.prior_cwnd = if is_whole { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            stage: None,
            bw_short: self.bw_short,
            inflight_short: self.inflight_short,
            inflight_long: self.inflight_long,
        };
    }

    /// `HandleLostPacket`.
    fn on_lost_packet(&mut self, now: Time, report: &PacketReport) {
        let size = report.bytes.get() as f64;
        self.lost += size;
        if !self.is_loss_in_round {
            self.loss_round = self.delivered;
            self.save_state();
        }
        self.is_loss_in_round = true;
        let follows = self.last_lost.is_some_and(|last| last.checked_add(1) == Some(report.number));
        self.losses_in_round += u32::from(!follows);
        self.last_lost = Some(report.number);
        let Some(kept) = self.ring.take(report.number).filter(|_| self.is_probe_sample) else { return };
        let sample = Sample { lost: self.lost - kept.lost, in_flight: kept.in_flight, ..Sample::default() };
        if sample.is_inflight_too_high() {
            self.on_inflight_too_high(now, inflight_at_loss(&sample, size));
        }
    }

    /// `HandleInflightTooHigh`. What the application limits is not known of a packet that is lost; the bound is set then too, as the
    /// draft's test case "Exiting PROBE_UP on Loss When Application-Limited" has it.
    fn on_inflight_too_high(&mut self, now: Time, in_flight: f64) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        self.inflight_long = in_flight.max(self.target_inflight() * BETA);
        if self.stage == Stage::Up {
            self.start_down(now);
            self.undo.stage = Some(Stage::Up);
        }
    }

    fn update_model(&mut self, acknowledgement: &Acknowledgement<'_>, sample: &Sample) {
        let now = acknowledgement.now;
        let in_flight = acknowledgement.in_flight.get() as f64;
        let acknowledged = acknowledgement.acknowledged.get() as f64;
        self.update_latest_delivery(sample);
        self.update_congestion_signals(sample);
        self.aggregation.update(now, self.round_count, self.bw, acknowledged, self.cwnd);
        self.check_full(sample);
        self.check_startup(sample);
        self.check_drain(now, in_flight);
        self.update_cycle(now, in_flight, acknowledged, sample);
        self.update_min_rtt(now, acknowledgement.rtt);
        self.check_probe_rtt(now, in_flight, sample);
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
        }
        self.bw = self.max_bw().min(self.bw_short);
    }

    /// The end of a recovery gives back the window that it began with.
    fn follow_recovery(&mut self, is_in_recovery: bool) {
        if self.is_in_recovery && !is_in_recovery {
            self.restore_cwnd();
        }
        self.is_in_recovery = is_in_recovery;
    }
}

/// `InflightAtLoss`: at what prefix of the packet the losses exceeded the threshold.
fn inflight_at_loss(sample: &Sample, size: f64) -> f64 {
    let before = sample.in_flight - size;
    let lost_before = sample.lost - size;
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    (before + prefix).max(0.0)
}

/// `InitPacingRate` in bits per second.
fn first_rate(cwnd: f64, seconds: f64) -> f64 {
    (STARTUP_PACING * 8.0 * cwnd / seconds).clamp(1.0, MAXIMUM_RATE)
}

impl Declared for Bbr3 {
    type Settings = Bbr3Settings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| Bbr3Settings::default() }];
    const WORDS: &'static str =
        "Paces at the delivery rate that it measures and bounds what is in flight by loss (BBRv3; draft-ietf-ccwg-bbr).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Bbr3 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        let in_flight = sent.in_flight.get() as f64;
        self.is_cwnd_limited[1] |= in_flight + self.segment > self.cwnd;
        self.ring.push(sent.number, Kept { in_flight, lost: self.lost, is_reported: false });
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        for report in acknowledgement.reports {
            self.ring.take(report.number);
        }
        if let Some(rtt) = acknowledgement.rtt {
            if self.round_trip.smoothed().is_none() && rtt > Duration::ZERO {
                self.pacing = first_rate(self.cwnd, rtt.as_seconds());
            }
            self.round_trip.update(rtt);
        }
        if let Some(measured) = &acknowledgement.rate_sample {
            self.delivered = measured.delivered.get() as f64;
            let sample = self.sample(measured);
            self.follow_recovery(acknowledgement.in_recovery);
            self.update_model(acknowledgement, &sample);
        }
        self.set_pacing(self.stage.pacing_gain());
        self.set_cwnd(acknowledgement.acknowledged.get() as f64);
    }

    fn on_loss(&mut self, loss: &Loss) {
        for report in loss.reports {
            self.on_lost_packet(loss.now, report);
        }
        if loss.new_episode && !self.is_in_recovery {
            self.save_state();
            self.is_in_recovery = true;
        }
    }

    /// `OnEnterRTO`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.save_state();
        self.lost += timeout.in_flight.get() as f64;
        self.ring = Ring::default();
        self.is_in_recovery = true;
        self.cwnd = self.segment;
    }

    /// `HandleSpuriousLossDetection`.
    fn on_spurious(&mut self, _now: Time) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.full = FullPipe::default();
        self.bw_short = self.bw_short.max(self.undo.bw_short);
        self.inflight_short = self.inflight_short.max(self.undo.inflight_short);
        self.inflight_long = self.inflight_long.max(self.undo.inflight_long);
        match (self.undo.stage.take(), self.stage) {
            (Some(Stage::Startup), Stage::ProbeRtt) => self.is_full_reached = false,
            (Some(Stage::Startup), _) => {
                self.is_full_reached = false;
                self.stage = Stage::Startup;
            }
            (Some(Stage::Up), Stage::Down | Stage::Cruise | Stage::Refill | Stage::Drain) => self.start_refill(),
            _ => {}
        }
    }

    /// `HandleRestartFromIdle`.
    fn on_idle_restart(&mut self, now: Time, _idle: Duration) {
        self.is_idle_restart = true;
        self.aggregation.start = now;
        if self.stage.is_probe_bw() {
            self.set_pacing(1.0);
        } else if self.stage == Stage::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(self.cwnd as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.pacing.max(1.0) as u64))
    }

    fn burst(&self) -> Option<Bytes> {
        Some(Bytes::new(self.quantum() as u64))
    }

    fn state(&self) -> State {
        State {
            window: self.window(),
            slow_start_threshold: None,
            pacing_rate: self.pacing_rate(),
            phase: self.stage.phase(),
        }
    }
}
