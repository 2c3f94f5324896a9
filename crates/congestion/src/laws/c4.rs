//! C4, Christian's congestion control code (draft-huitema-ccwg-c4-spec). Constants, and what the draft leaves open, are those of picoquic's
//! `c4.c` (MIT, August 2026).
//!
//! Left out are careful resume, and what picoquic takes from trains of packets in the initial state. Beyond both: time-outs in a row begin
//! the flow anew (RFC 9002, section 7.6), and the share of marks is taken over some packets where acknowledgements come one by one.

use trialwise_units::{Bytes, Duration, Ecn, Rate};

use crate::declared::settings;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, PacketOutcome, Phase,
    RateSample, Sent, Setting, State, Timeout,
};

const NAME: &str = "c4";
/// Pacing over the nominal rate in Initial, Recovery, a longer Recovery, Probing after marks, Probing, and Pushing.
const INITIAL: f64 = 2.0;
const RECOVERY: f64 = 15.0 / 16.0;
const LONGER_RECOVERY: f64 = 7.0 / 8.0;
const CAREFUL_PROBE: f64 = 33.0 / 32.0;
const PROBE: f64 = 17.0 / 16.0;
const PUSH: f64 = 1256.0 / 1024.0;
/// Eras of Cruising before a probe, and after one that met marks.
const CRUISES: u32 = 2;
const CAREFUL_CRUISES: u32 = 1;
/// Growth in so many Recoveries one after the other leads back to Initial.
const GROWTHS: u32 = 3;
/// Eras without growth that end Initial, and those after which delay does.
const FLAT_ERAS: u32 = 3;
const FLAT_ERAS_BEFORE_DELAY: u32 = 1;
/// Each flat era of Initial divides the growth of the window by two to the power of this.
const FLAT_SHIFT: u32 = 3;
/// Losses end Initial only once so many packets were acknowledged or lost.
const PACKETS_BEFORE_LOSS: u64 = 20;
/// The rate of Initial is this at least, in bytes per second.
const LOWEST_INITIAL_RATE: f64 = 131_072.0;
/// The window holds this time's worth of the rate more, or this share of the nominal round trip where that is less.
const MARGIN: f64 = 15e-3;
const MARGIN_SHARE: f64 = 0.25;
/// The nominal round trip is no shorter.
const SHORTEST_ROUND_TRIP: f64 = 1e-3;
/// The nominal round trip is longer than the least by no more than this.
const MOST_JITTER: f64 = 0.25;
/// What of an average remains in an era.
const MEMORY: f64 = 7.0 / 8.0;
/// The most that one signal takes away.
const BETA: f64 = 0.25;
/// Delay beyond the nominal round trip that is a signal: this at most, and these shares of it.
const DELAY_THRESHOLD: f64 = 25e-3;
const DELAY_SHARE: f64 = 64.0 / 1024.0;
const DELAY_SHARE_INSENSITIVE: f64 = 196.0 / 1024.0;
const LOSS_THRESHOLD: f64 = 0.02;
const LOSS_THRESHOLD_INSENSITIVE: f64 = 0.5;
const MARKS_THRESHOLD: f64 = 192.0 / 1024.0;
const MARKS_THRESHOLD_SENSITIVE: f64 = 96.0 / 1024.0;
/// Weight of one packet in the share lost, and how many packets without a loss are looked back over.
const LOSS_WEIGHT: f64 = 1.0 / 16.0;
const LOSS_SCOPE: u64 = 32;
/// Weight of one share of marks, the share from which on it counts at once, and of how many packets it is one.
const MARKS_WEIGHT: f64 = 1.0 / 16.0;
const MANY_MARKS: f64 = 0.5;
const MARKS_OF: u32 = 16;
/// Points of the sensitivity: bytes per second, and its value there.
const SENSITIVITY: [(f64, f64); 3] = [(50e3, 0.0), (1e6, 963.0 / 1024.0), (10e6, 1.0)];
/// High jitter, which begins Initial once more: a nominal round trip above this, this many times the least, at less than this rate.
const LONG_ROUND_TRIP: f64 = 50e-3;
const HIGH_JITTER: f64 = 2.5;
const SLOW: f64 = 1e6;
/// After so many Recoveries with a signal in a row, the rate is what was measured in the last one at most.
const CONGESTIONS: u32 = 2;
/// What may leave together: so many seconds of the rate, within bounds.
const QUANTUM: f64 = 4e-3 / 1.024;
const LARGEST_QUANTUM: f64 = 65_536.0;
const SMALLEST_QUANTUM: f64 = 2.0;
/// The fewest segments that may be in flight, as in the draft.
const LEAST_WINDOW: f64 = 2.0;
const MOST_WINDOW: f64 = (1_u64 << 40) as f64;
/// Bytes per second.
const MOST_RATE: f64 = 1e12 / 8.0;

/// The parameters of [`C4`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct C4Settings {
    /// The initial window in segments.
    pub initial_window: u32,
}

impl Default for C4Settings {
    /// Ten segments, as in the draft.
    fn default() -> Self {
        Self { initial_window: 10 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Initial,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

impl Stage {
    const fn phase(self) -> Phase {
        match self {
            Self::Initial => Phase::SlowStart,
            Self::Recovery => Phase::ProbeDown,
            Self::Cruising => Phase::ProbeCruise,
            Self::Probing | Self::Pushing => Phase::ProbeUp,
        }
    }
}

/// What shows congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Delay,
    Marks,
    Losses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Growth {
    None,
    Slow,
    Fast,
}

/// A round trip by packets: it ends with the arrival of the first packet sent in it.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// Number of that packet.
    first: u64,
    /// Pacing over the nominal rate when the packets were sent whose arrival it sees.
    alpha: f64,
    least: f64,
    longest: f64,
}

/// What has happened since growth was judged last.
#[derive(Clone, Copy, Debug)]
struct Push {
    /// The nominal rate before.
    rate: f64,
    alpha: f64,
    met_signal: bool,
    /// Whether the network and not the application bounded the rate.
    was_full: bool,
}

/// The share of packets lost, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
struct LossShare {
    last: u64,
    share: f64,
}

impl LossShare {
    fn add(&mut self, number: u64) {
        if number <= self.last {
            return;
        }
        let without = (number - self.last).min(LOSS_SCOPE) as i32;
        self.share *= (1.0 - LOSS_WEIGHT).powi(without);
        self.share += (1.0 - self.share) * LOSS_WEIGHT;
        self.last = number;
    }
}

/// The share of packets marked.
#[derive(Clone, Copy, Debug, Default)]
struct MarkShare {
    packets: u32,
    marked: u32,
    share: f64,
}

impl MarkShare {
    fn add(&mut self, packets: u32, marked: u32) {
        self.packets = self.packets.saturating_add(packets);
        self.marked = self.marked.saturating_add(marked.min(packets));
        if self.packets >= MARKS_OF {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.packets == 0 {
            return;
        }
        let fresh = f64::from(self.marked) / f64::from(self.packets);
        let jumps = fresh > self.share && fresh >= MANY_MARKS;
        self.share = if jumps { fresh } else { self.share + (fresh - self.share) * MARKS_WEIGHT };
        (self.packets, self.marked) = (0, 0);
    }
}

/// The controller: keeps a rate and the longest round trip of a path without queues, and pushes the rate every few round trips.
#[derive(Clone, Debug)]
pub struct C4 {
    segment: f64,
    stage: Stage,
    /// Nominal rate in bytes per second; 0 before the first measurement.
    rate: f64,
    /// Nominal longest round trip in seconds; 0 before the first.
    longest: f64,
    /// An average of the least round trip.
    least: f64,
    /// Pacing over the nominal rate.
    alpha: f64,
    era: Era,
    push: Push,
    /// Number of the next packet.
    next: u64,
    /// The window of Initial in bytes.
    initial: f64,
    packets: u64,
    flat_eras: u32,
    cruises: u32,
    /// Recoveries that saw growth, one after the other; none where the last probe met marks.
    growths: Option<u32>,
    met_marks: bool,
    /// Recoveries with a signal and without growth, one after the other, and the highest rate measured since the last one.
    congestions: u32,
    measured: f64,
    /// Delay beyond its threshold, in seconds.
    excess: f64,
    losses: LossShare,
    marks: MarkShare,
    has_begun_anew: bool,
}

impl C4 {
    /// A flow in Initial.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &C4Settings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        let segment = context.segment.get() as f64;
        let initial = f64::from(settings.initial_window).max(LEAST_WINDOW) * segment;
        Ok(Self::beginning(segment, initial, 0))
    }

    fn beginning(segment: f64, initial: f64, next: u64) -> Self {
        Self {
            segment,
            stage: Stage::Initial,
            rate: 0.0,
            longest: 0.0,
            least: f64::INFINITY,
            alpha: INITIAL,
            era: Era { first: next, alpha: INITIAL, least: f64::INFINITY, longest: 0.0 },
            push: Push { rate: 0.0, alpha: INITIAL, met_signal: false, was_full: false },
            next,
            initial,
            packets: 0,
            flat_eras: 0,
            cruises: 0,
            growths: Some(0),
            met_marks: false,
            congestions: 0,
            measured: 0.0,
            excess: 0.0,
            losses: LossShare::default(),
            marks: MarkShare::default(),
            has_begun_anew: false,
        }
    }

    /// The nominal rate; none before the first measurement.
    pub fn nominal_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.rate))
    }

    /// The nominal longest round trip; none before the first sample.
    pub fn nominal_round_trip(&self) -> Option<Duration> {
        (self.longest > 0.0).then(|| Duration::from_seconds(self.longest))
    }

    /// From 0 to 1: flows with more of the path answer lesser signals.
    fn sensitivity(&self) -> f64 {
        let [mut from, rest @ ..] = SENSITIVITY;
        for to in rest {
            if self.rate < to.0 {
                let way = ((self.rate - from.0) / (to.0 - from.0)).max(0.0);
                return from.1 + way * (to.1 - from.1);
            }
            from = to;
        }
        from.1
    }

    fn delay_threshold(&self) -> f64 {
        let share = DELAY_SHARE + DELAY_SHARE_INSENSITIVE * (1.0 - self.sensitivity());
        (share * self.longest).min(DELAY_THRESHOLD)
    }

    fn loss_threshold(&self) -> f64 {
        LOSS_THRESHOLD + LOSS_THRESHOLD_INSENSITIVE * (1.0 - self.sensitivity())
    }

    fn marks_threshold(&self) -> f64 {
        MARKS_THRESHOLD - MARKS_THRESHOLD_SENSITIVE * self.sensitivity()
    }

    fn set_longest(&mut self, seconds: f64) {
        self.longest = seconds.max(SHORTEST_ROUND_TRIP);
    }

    fn begin_era(&mut self) {
        self.marks.close();
        self.era = Era { first: self.next, alpha: self.alpha, least: f64::INFINITY, longest: 0.0 };
    }

    fn begin_push(&mut self) {
        self.push = Push { rate: self.rate, alpha: self.alpha, met_signal: false, was_full: false };
    }

    fn enter_initial(&mut self) {
        self.initial = self.window_bytes();
        self.stage = Stage::Initial;
        self.growths = Some(0);
        self.alpha = INITIAL;
        self.packets = 0;
        self.flat_eras = 0;
        self.marks = MarkShare::default();
        self.begin_era();
        self.begin_push();
    }

    fn leave_initial(&mut self) {
        if self.rate <= 0.0 {
            return;
        }
        self.set_longest(self.initial / 2.0 / self.rate);
        self.flat_eras = 0;
        self.growths = Some(0);
        self.begin_push();
        self.enter_recovery(None);
    }

    fn enter_recovery(&mut self, signal: Option<Signal>) {
        if self.stage == Stage::Recovery {
            return;
        }
        self.met_marks = signal == Some(Signal::Marks);
        self.stage = Stage::Recovery;
        self.begin_era();
        self.alpha = RECOVERY;
    }

    fn enter_cruising(&mut self) {
        self.begin_era();
        if self.cruises == 0 {
            self.cruises = if self.growths.is_none() { CAREFUL_CRUISES } else { CRUISES };
        }
        self.alpha = 1.0;
        self.stage = Stage::Cruising;
    }

    fn enter_probing(&mut self) {
        self.alpha = if self.growths.is_none() { CAREFUL_PROBE } else { PROBE };
        self.push.alpha = self.alpha;
        self.begin_era();
        self.stage = Stage::Probing;
    }

    fn enter_pushing(&mut self) {
        self.alpha = PUSH;
        self.stage = Stage::Pushing;
        self.begin_push();
        self.begin_era();
    }

    /// Whether the rate has grown as a push lets expect; after a small one, at all.
    fn growth(&self) -> Growth {
        let Push { rate, alpha, met_signal, .. } = self.push;
        let share = (self.rate - rate) / ((alpha - 1.0) * rate);
        match alpha > PROBE {
            true if self.rate <= 0.0 => Growth::None,
            true if rate <= 0.0 || share > 0.75 => Growth::Fast,
            true if share >= 0.25 => Growth::Slow,
            false if self.rate > rate && !met_signal => Growth::Fast,
            _ => Growth::None,
        }
    }

    /// What of a probe or push has come back is judged at the end of Recovery.
    fn leave_recovery(&mut self) {
        if self.growth() > Growth::None {
            self.growths = match (self.growths, self.met_marks) {
                (known, true) => known,
                (known, false) => Some(known.map_or(0, |growths| growths + 1)),
            };
            self.congestions = 0;
        } else {
            self.settle();
        }
        self.measured = 0.0;
        self.begin_push();
        self.excess = 0.0;
        self.losses.share = 0.0;
        self.marks = MarkShare::default();
        match self.growths {
            Some(growths) if growths >= GROWTHS => self.enter_initial(),
            Some(1..) => self.enter_pushing(),
            _ => self.enter_cruising(),
        }
    }

    /// Nothing has grown.
    fn settle(&mut self) {
        if self.push.was_full {
            self.growths = (!self.met_marks).then_some(0);
        }
        self.congestions = if self.push.met_signal { self.congestions + 1 } else { 0 };
        if self.congestions >= CONGESTIONS && self.measured > 0.0 {
            self.rate = self.rate.min(self.measured);
        }
    }

    /// The nominal rate follows a measured one at once, upwards.
    fn measure(&mut self, sample: &RateSample) {
        let measured = (sample.rate().bits_per_second() as f64 / 8.0).min(MOST_RATE);
        let delivered = sample.delivered.get().saturating_sub(sample.prior_delivered.get()) as f64;
        self.measured = self.measured.max(measured);
        let echoes = self.stage == Stage::Recovery && self.push.met_signal;
        if measured > self.rate && !echoes {
            self.rate = measured;
            self.push.was_full = true;
        } else if delivered > self.least * self.rate {
            self.push.was_full = true;
        }
    }

    /// A round-trip time of so many seconds.
    fn observe(&mut self, rtt: f64) {
        self.era.longest = self.era.longest.max(rtt);
        self.era.least = self.era.least.min(rtt);
        self.least = self.least.min(rtt);
        if self.longest == 0.0 {
            self.set_longest(rtt);
        }
        self.excess = (rtt - self.longest - self.delay_threshold()).max(0.0);
        let is_flat = self.flat_eras > FLAT_ERAS_BEFORE_DELAY && self.push.rate >= self.rate;
        if self.excess > 0.0 && self.stage == Stage::Initial && is_flat {
            self.leave_initial();
        } else if self.excess > 0.0 && self.stage != Stage::Initial && self.era.alpha > 1.0 {
            self.on_signal(Signal::Delay);
        }
    }

    /// The round trips of an era that added no queue show what the path itself takes.
    fn learn_round_trips(&mut self) {
        let Era { alpha, least, longest, .. } = self.era;
        if alpha > 1.0 || longest <= 0.0 {
            return;
        }
        self.least = if least < self.least { least } else { MEMORY * self.least + (1.0 - MEMORY) * least };
        let longest = longest.min(self.least + MOST_JITTER);
        let fading = MEMORY * self.longest + (1.0 - MEMORY) * longest;
        self.set_longest(if longest > self.longest { longest } else { fading });
    }

    /// Initial may have ended too early where delays vary much.
    fn is_jittery(&self) -> bool {
        let is_long = self.longest > LONG_ROUND_TRIP && self.longest > HIGH_JITTER * self.least;
        !self.has_begun_anew && is_long && self.rate < SLOW
    }

    fn end_era(&mut self, is_limited: bool) {
        if self.stage == Stage::Initial {
            self.end_initial_era();
            return;
        }
        self.learn_round_trips();
        if self.is_jittery() {
            self.has_begun_anew = true;
            self.enter_initial();
            return;
        }
        match self.stage {
            Stage::Recovery => self.leave_recovery(),
            Stage::Cruising => {
                self.cruises = self.cruises.saturating_sub(1);
                self.begin_era();
                if self.cruises == 0 && !is_limited {
                    self.enter_probing();
                }
            }
            Stage::Pushing if self.growth() == Growth::Fast => self.push_on(),
            Stage::Initial | Stage::Probing | Stage::Pushing => self.enter_recovery(None),
        }
    }

    fn push_on(&mut self) {
        self.begin_push();
        self.begin_era();
    }

    fn end_initial_era(&mut self) {
        if self.growth() > Growth::None {
            self.flat_eras = 0;
        } else if self.push.was_full && self.rate > 0.0 {
            self.flat_eras += 1;
        }
        self.begin_era();
        if self.flat_eras >= FLAT_ERAS {
            self.leave_initial();
        } else {
            self.begin_push();
        }
    }

    /// By how much a signal lowers the rate.
    fn beta(&self, signal: Signal) -> f64 {
        let beta = match signal {
            Signal::Losses => BETA * (1.0 + self.sensitivity()) / 2.0,
            Signal::Marks => self.marks.share / self.marks_threshold() - 1.0,
            Signal::Delay => self.excess / self.delay_threshold(),
        };
        beta.clamp(0.0, BETA)
    }

    fn on_signal(&mut self, signal: Signal) {
        let beta = self.beta(signal);
        self.push.met_signal = true;
        if signal != Signal::Delay {
            self.excess = 0.0;
        }
        match self.stage {
            Stage::Recovery => {
                if self.alpha > LONGER_RECOVERY {
                    self.alpha = LONGER_RECOVERY;
                    self.era.first = self.next;
                }
                self.met_marks |= signal == Signal::Marks;
                return;
            }
            // Only the push was too much.
            Stage::Probing | Stage::Pushing => {}
            Stage::Initial | Stage::Cruising => {
                self.rate *= 1.0 - beta;
                if signal == Signal::Losses {
                    self.set_longest(self.longest * (1.0 - beta));
                }
            }
        }
        self.enter_recovery(Some(signal));
    }

    fn on_lost(&mut self, number: u64) {
        // Whatever led to Recovery has been answered.
        if self.stage == Stage::Recovery && number < self.era.first {
            return;
        }
        self.losses.add(number);
        let is_much = self.losses.share > self.loss_threshold();
        if self.stage == Stage::Initial {
            self.packets += u64::from(is_much);
            if is_much && self.packets > PACKETS_BEFORE_LOSS {
                self.leave_initial();
            }
        } else if is_much {
            self.on_signal(Signal::Losses);
        }
    }

    fn on_marks(&mut self, packets: u32, marked: u32) {
        self.marks.add(packets, marked);
        if marked == 0 || self.marks.share <= self.marks_threshold() {
            return;
        }
        if self.stage != Stage::Initial {
            self.on_signal(Signal::Marks);
        } else if self.flat_eras > FLAT_ERAS_BEFORE_DELAY && self.excess > 0.0 && self.push.rate >= self.rate {
            self.leave_initial();
        }
    }

    /// Bytes per second.
    fn pacing(&self) -> f64 {
        let paced = self.alpha * self.rate;
        if self.stage == Stage::Initial { paced.max(LOWEST_INITIAL_RATE) } else { paced }
    }

    fn window_bytes(&self) -> f64 {
        let paced = self.alpha * self.rate;
        let path = paced * self.longest;
        let window = match self.stage {
            Stage::Initial => path.max(self.initial),
            _ => path + paced * MARGIN.min(MARGIN_SHARE * self.longest) + self.spare(),
        };
        window.clamp(LEAST_WINDOW * self.segment, MOST_WINDOW)
    }

    /// A push is worth a segment at least.
    fn spare(&self) -> f64 {
        let pushed = (self.alpha - 1.0) * self.rate * self.longest;
        if self.alpha > 1.0 { (self.segment - pushed).max(0.0) } else { 0.0 }
    }

    fn on_arrivals(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let sample = acknowledgement.rate_sample;
        let is_limited = sample.map_or(acknowledgement.application_limited, |sample| sample.application_limited);
        if self.stage == Stage::Initial {
            self.packets += u64::from(acknowledgement.packets);
            let divisor = f64::from(1_u32 << (FLAT_SHIFT * self.flat_eras.min(FLAT_ERAS)));
            let grown = self.window_bytes() + acknowledgement.acknowledged.get() as f64 / divisor;
            self.initial = grown.min(MOST_WINDOW);
        }
        let arrived = acknowledgement.reports.iter().filter(|report| report.outcome != PacketOutcome::Lost);
        let newest = arrived.map(|report| report.number).max();
        if newest.is_some_and(|number| number >= self.era.first) {
            self.end_era(is_limited);
        } else if self.stage == Stage::Pushing && self.growth() == Growth::Fast {
            self.push_on();
        }
    }
}

fn bits(rate: f64) -> Rate {
    Rate::from_bits_per_second((8.0 * rate).max(1.0) as u64)
}

impl Declared for C4 {
    type Settings = C4Settings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| C4Settings::default() }];
    const WORDS: &'static str = "Keeps a rate and the longest round trip without a queue, for media that vary (C4; draft-huitema-ccwg-c4-spec).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Packets, ecn: Ecn::Capable1, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for C4 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.next = sent.number.saturating_add(1);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if let Some(rtt) = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.observe(rtt.as_seconds());
        }
        if let Some(sample) = &acknowledgement.rate_sample {
            self.measure(sample);
        }
        self.on_marks(acknowledgement.packets, acknowledgement.marked_packets);
        self.on_arrivals(acknowledgement);
    }

    fn on_loss(&mut self, loss: &Loss) {
        loss.reports.iter().for_each(|report| self.on_lost(report.number));
    }

    /// One time-out is a loss; more of them show that nothing is known of the path any more.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repetition > 1 || self.rate <= 0.0 {
            *self = Self::beginning(self.segment, LEAST_WINDOW * self.segment, self.next);
        } else if self.stage == Stage::Initial {
            self.leave_initial();
        } else {
            self.on_signal(Signal::Losses);
        }
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(self.window_bytes() as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.pacing()))
    }

    fn burst(&self) -> Option<Bytes> {
        let quantum = (QUANTUM * self.pacing()).min(LARGEST_QUANTUM).max(SMALLEST_QUANTUM * self.segment);
        Some(Bytes::new(quantum as u64))
    }

    /// The nominal rate, and what a push asks for: Recovery is too short for a source to follow.
    fn target_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| bits(self.alpha.max(1.0) * self.rate))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PacketReport;
    use crate::testing::{acknowledgement, context, loss};

    fn c4() -> C4 {
        C4::new(&C4Settings::default(), &context()).unwrap()
    }

    fn at(rate: f64, longest: f64) -> C4 {
        let mut c4 = C4 { rate, longest, stage: Stage::Recovery, alpha: RECOVERY, least: longest, ..c4() };
        c4.enter_cruising();
        c4
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn flows_with_more_are_more_sensitive() {
        for (rate, sensitivity) in [(0.0, 0.0), (50e3, 0.0), (525e3, 0.4702), (1e6, 0.9404), (10e6, 1.0), (1e9, 1.0)] {
            assert!((at(rate, 0.1).sensitivity() - sensitivity).abs() < 1e-4, "{rate}");
        }
        let (slow, fast) = (at(50e3, 0.1), at(10e6, 0.1));
        near(slow.loss_threshold(), 0.52);
        near(fast.loss_threshold(), 0.02);
        near(slow.marks_threshold(), 0.1875);
        near(fast.marks_threshold(), 0.09375);
        near(slow.delay_threshold(), 0.025);
        near(fast.delay_threshold(), 0.00625);
    }

    #[test]
    fn a_cruising_flow_paces_at_its_rate_and_has_a_margin_in_its_window() {
        near(at(1e6, 0.1).window_bytes(), 115e3);
        near(at(1e6, 0.02).window_bytes(), 25e3);
        assert_eq!(at(1e6, 0.1).pacing_rate(), Some(Rate::from_megabits_per_second(8)));
        assert_eq!(at(1e6, 0.1).target_rate(), Some(Rate::from_megabits_per_second(8)));
    }

    #[test]
    fn signals_lower_the_rate_while_cruising_only() {
        let mut cruising = at(10e6, 0.1);
        cruising.on_signal(Signal::Losses);
        near(cruising.rate, 7.5e6);
        near(cruising.longest, 0.075);
        assert_eq!(cruising.stage, Stage::Recovery);
        near(cruising.alpha, 0.9375);
        // Once more: the rate stays, and less is sent.
        cruising.on_signal(Signal::Losses);
        near(cruising.rate, 7.5e6);
        near(cruising.alpha, 0.875);
        let mut probing = at(10e6, 0.1);
        probing.enter_probing();
        near(probing.alpha, 1.0625);
        probing.on_signal(Signal::Losses);
        near(probing.rate, 10e6);
        assert_eq!(probing.stage, Stage::Recovery);
    }

    #[test]
    fn the_response_to_delay_and_marks_is_in_proportion() {
        let mut delayed = at(10e6, 0.1);
        delayed.excess = 0.1 * delayed.delay_threshold();
        near(delayed.beta(Signal::Delay), 0.1);
        delayed.excess = 1.0;
        near(delayed.beta(Signal::Delay), 0.25);
        delayed.marks.share = 1.1 * 0.09375;
        near(delayed.beta(Signal::Marks), 0.1);
    }

    #[test]
    fn delay_counts_only_after_a_push() {
        let mut c4 = at(10e6, 0.1);
        c4.observe(0.2);
        assert_eq!(c4.stage, Stage::Cruising);
        c4.enter_probing();
        c4.observe(0.2);
        assert_eq!(c4.stage, Stage::Recovery);
        near(c4.rate, 10e6);
    }

    #[test]
    fn growth_after_a_probe_leads_to_a_push_and_three_of_them_to_the_beginning() {
        let mut c4 = at(1e6, 0.1);
        c4.enter_probing();
        c4.begin_push();
        for (grown, stage, alpha) in [(1.01, Stage::Pushing, 1256.0 / 1024.0), (1.2, Stage::Pushing, 1256.0 / 1024.0), (1.2, Stage::Initial, 2.0)] {
            c4.enter_recovery(None);
            c4.rate *= grown;
            c4.leave_recovery();
            assert_eq!((c4.stage, c4.alpha), (stage, alpha));
        }
    }

    #[test]
    fn less_than_a_quarter_of_a_push_is_no_growth() {
        let mut c4 = at(1e6, 0.1);
        c4.enter_pushing();
        for (grown, growth) in [(1.05, Growth::None), (1.06, Growth::Slow), (1.2, Growth::Fast)] {
            c4.rate = grown * 1e6;
            assert_eq!(c4.growth(), growth, "{grown}");
        }
    }

    #[test]
    fn the_longest_round_trip_follows_up_at_once_and_down_slowly() {
        let mut c4 = at(1e6, 0.1);
        for (seen, expected) in [(0.15, 0.15), (0.07, 0.14), (9.0, 0.35)] {
            c4.era = Era { longest: seen, least: 0.1, ..c4.era };
            c4.learn_round_trips();
            near(c4.longest, expected);
        }
        c4.era = Era { alpha: 1.0625, longest: 0.4, least: 0.1, ..c4.era };
        c4.learn_round_trips();
        near(c4.longest, 0.35);
    }

    #[test]
    fn shares_are_averages_of_sixteen_packets() {
        let mut losses = LossShare::default();
        losses.add(100);
        near(losses.share, 1.0 / 16.0);
        losses.add(100);
        losses.add(99);
        losses.add(101);
        near(losses.share, (15.0_f64 / 16.0).powi(2) / 16.0 + 1.0 / 16.0);
        let mut marks = MarkShare::default();
        marks.add(15, 9);
        near(marks.share, 0.0);
        marks.add(1, 0);
        near(marks.share, 9.0 / 16.0);
        marks.add(16, 0);
        near(marks.share, 9.0 / 16.0 * 15.0 / 16.0);
        // A receiver that tells of more marks than packets.
        marks.add(16, u32::MAX);
        near(marks.share, 1.0);
    }

    #[test]
    fn losses_from_before_a_recovery_are_answered_already() {
        let mut c4 = at(10e6, 0.1);
        c4.next = 1000;
        c4.enter_recovery(None);
        let report = |number| PacketReport {
            number,
            sent: trialwise_units::Time::ZERO,
            bytes: Bytes::new(1000),
            outcome: PacketOutcome::Lost,
        };
        c4.on_loss(&Loss { reports: &[report(999)], ..loss(true) });
        near(c4.alpha, 0.9375);
        c4.on_loss(&Loss { reports: &[report(1000)], ..loss(true) });
        near(c4.alpha, 0.875);
    }

    #[test]
    fn silence_begins_the_flow_anew() {
        let mut c4 = at(10e6, 0.1);
        let timeout = |repetition| Timeout {
            now: trialwise_units::Time::ZERO,
            in_flight: Bytes::new(1_000_000),
            next_sequence: 0,
            repetition,
        };
        c4.on_timeout(&timeout(1));
        near(c4.rate, 7.5e6);
        c4.on_timeout(&timeout(2));
        assert_eq!((c4.window(), c4.pacing_rate(), c4.target_rate()), (Some(Bytes::new(2000)), None, None));
        let mut sample = acknowledgement(1000, 2000);
        sample.rate_sample = Some(RateSample {
            delivered: Bytes::new(u64::MAX),
            prior_delivered: Bytes::ZERO,
            interval: Duration::from_picoseconds(1),
            lost: Bytes::ZERO,
            in_flight_when_sent: Bytes::ZERO,
            application_limited: false,
        });
        c4.on_acknowledgement(&sample);
        assert!(c4.nominal_rate() <= Some(Rate::from_megabits_per_second(1_000_000)), "what nobody can have delivered");
    }
}
