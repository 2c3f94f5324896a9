//! BBRv3: draft-ietf-ccwg-bbr (working copy of 3 August 2026), under the names of its pseudocode. There is no reaction to marks, as in
//! the draft.

mod cycle;
mod model;
mod parts;

use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use self::parts::{Aggregation, Feedbacks, FullPipe, Kept, Sample, Stage, Undo};
use crate::declared::settings;
use crate::in_flight::InFlight;
use crate::segments::MAXIMUM_WINDOW;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketReport,
    RoundTrip, Sent, Setting, State, Timeout,
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
    kept: InFlight<Kept>,
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
            kept: InFlight::default(),
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
        let Some(kept) = self.kept.take(report.number).filter(|_| self.is_probe_sample) else { return };
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
        self.kept.push(sent.number, Kept { in_flight, lost: self.lost });
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        for report in acknowledgement.reports {
            self.kept.take(report.number);
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
        self.kept.clear();
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
