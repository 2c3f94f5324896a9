//! HPCC: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1, with one rate for
//! all hops and a reaction to every acknowledgement.

use trialwise_units::{Bytes, Duration, Rate};

use crate::declared::settings;
use crate::hop_memory::HopMemory;
use crate::paced::PacedRate;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Fidelity, HopRecord, Loss, Named,
    Needs, Setting, Timeout, WindowRule,
};

const NAME: &str = "hpcc";
/// The clock in the records of the reference simulator wraps after 2^24 ns.
const CLOCK_WRAP: u64 = 1 << 24;

/// The parameters of [`Hpcc`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccSettings {
    /// Exact or as the reference simulator.
    pub fidelity: Fidelity,
    /// `eta`, the target utilisation.
    pub target_utilisation: f64,
    /// `maxStage`: additive steps before the rate is set from the utilisation again; 0 sets it always.
    pub maximum_stage: u32,
    /// `W_AI` as a rate.
    pub increase: Rate,
    /// The rate stays above this.
    pub minimum: Rate,
    /// The window beside the rate.
    pub window: WindowRule,
}

impl HpccSettings {
    /// What the HPCC simulator uses at this line rate: 0.95, stage 0, 10 Mbit/s for each 25 Gbit/s of the
    /// line, a floor of one hundredth of it, a scaled window. (The paper's text has 5 stages.)
    pub const fn for_line_rate(line: Rate) -> Self {
        Self {
            fidelity: Fidelity::Clean,
            target_utilisation: 0.95,
            maximum_stage: 0,
            increase: Rate::from_bits_per_second(10 * (line.bits_per_second() / 25_000)),
            minimum: Rate::from_bits_per_second(line.bits_per_second() / 100),
            window: WindowRule::Scaled,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Hpcc {
    settings: HpccSettings,
    path_window: f64,
    base_rtt: Duration,
    rate: PacedRate,
    reference_rate: f64,
    utilisation: f64,
    stage: u32,
    round_end: u64,
    hops: HopMemory,
}

impl Hpcc {
    /// A flow that starts at line rate.
    pub fn new(settings: &HpccSettings, context: &Context) -> Result<Self, BuildError> {
        let HpccSettings { fidelity, minimum, window, .. } = *settings;
        let rate = PacedRate::new(fidelity, minimum, window, context, NAME)?;
        Ok(Self {
            settings: *settings,
            path_window: context.path_window_for(NAME)? as f64,
            base_rtt: context.base_rtt_for(NAME)?,
            rate,
            reference_rate: rate.line(),
            utilisation: 1.0,
            stage: 0,
            round_end: 0,
            hops: HopMemory::default(),
        })
    }

    /// The estimate of inflight bytes over those that fill the path (`U` of the paper).
    pub const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    fn elapsed(&self, from: &HopRecord, to: &HopRecord) -> Duration {
        match self.settings.fidelity {
            Fidelity::Clean => to.time - from.time,
            Fidelity::Compatible => {
                let difference = to.time.nanoseconds().wrapping_sub(from.time.nanoseconds());
                Duration::from_nanoseconds(difference % CLOCK_WRAP)
            }
        }
    }

    /// `qlen / (B T) + txRate / B` of one hop (algorithm 1, lines 2 to 5; the queue is the smaller of both
    /// records).
    fn hop_utilisation(&self, before: &HopRecord, after: &HopRecord, elapsed: Duration) -> f64 {
        let seconds = match self.settings.fidelity {
            Fidelity::Clean => elapsed.as_seconds(),
            Fidelity::Compatible => elapsed.nanoseconds() as f64 * 1e-9,
        };
        let sent = (after.transmitted - before.transmitted) as f64;
        let capacity = after.rate.bits_per_second() as f64;
        let queue = before.queue.min(after.queue).get() as f64;
        sent * 8.0 / seconds / capacity + queue * self.rate.line() / capacity / self.path_window
    }

    /// Algorithm 1, `MeasureInflight`: the busiest hop, averaged over a base round trip.
    fn measure(&mut self, hops: &[HopRecord]) {
        let mut busiest = (0.0, Duration::ZERO);
        for (before, after) in self.hops.pairs(hops) {
            let elapsed = self.elapsed(before, after);
            if elapsed == Duration::ZERO {
                continue;
            }
            let utilisation = self.hop_utilisation(before, after, elapsed);
            if utilisation > busiest.0 {
                busiest = (utilisation, elapsed);
            }
        }
        let base = self.base_rtt.picoseconds() as f64;
        let span = busiest.1.min(self.base_rtt).picoseconds() as f64;
        self.utilisation = (self.utilisation * (base - span) + busiest.0 * span) / base;
    }

    /// Algorithm 1, `ComputeWind`, on the rate: the new rate and stage.
    fn compute(&self) -> (f64, u32) {
        let excess = self.utilisation / self.settings.target_utilisation;
        let increase = self.settings.increase.bits_per_second() as f64;
        let multiplicative = excess >= 1.0 || self.stage >= self.settings.maximum_stage;
        if multiplicative {
            (self.reference_rate / excess + increase, 0)
        } else {
            (self.reference_rate + increase, self.stage + 1)
        }
    }
}

impl Declared for Hpcc {
    type Settings = HpccSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: HpccSettings::for_line_rate }];
    const WORDS: &'static str =
        "Keeps the bytes in flight just below what the busiest link carries, by in-band telemetry (Li et al., SIGCOMM 2019).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Telemetry, fabric: true, acknowledgements_wait: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {target_utilisation: Weight, maximum_stage: Count, increase: Rate, minimum: Rate, window: WindowRule::CHOICE};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn with_fidelity(settings: Self::Settings, fidelity: Fidelity) -> Self::Settings {
        Self::Settings { fidelity, ..settings }
    }
}

impl Controller for Hpcc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let hops = acknowledgement.hops;
        if hops.is_empty() {
            return;
        }
        if self.round_end == 0 || self.hops.is_other_path(hops) {
            self.hops.remember(hops);
            self.round_end = self.round_end.max(acknowledgement.next_sequence);
            return;
        }
        self.measure(hops);
        self.hops.remember(hops);
        let (rate, stage) = self.compute();
        self.rate.set(rate);
        // Algorithm 1, `NewAck`: the reference moves once for a round trip.
        if acknowledgement.cumulative > self.round_end {
            self.reference_rate = self.rate.get();
            self.stage = stage;
            self.round_end = acknowledgement.next_sequence;
        }
    }

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_loss(&mut self, _loss: &Loss) {}

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        self.rate.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.pacing_rate()
    }

    fn repaces_waiting_packet(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};
    use trialwise_units::Time;

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn build(maximum_stage: u32) -> Hpcc {
        let settings = HpccSettings {
            fidelity: Fidelity::Compatible,
            maximum_stage,
            ..HpccSettings::for_line_rate(LINE)
        };
        Hpcc::new(&settings, &context()).unwrap()
    }

    fn record(nanoseconds: u64, transmitted: u64, queue: u64) -> HopRecord {
        HopRecord {
            time: Time::from_nanoseconds(nanoseconds),
            transmitted,
            queue: Bytes::new(queue),
            rate: LINE,
        }
    }

    fn feed(controller: &mut Hpcc, cumulative: u64, next_sequence: u64, hop: HopRecord) -> u64 {
        let hops = [hop];
        controller.on_acknowledgement(&Acknowledgement {
            hops: &hops,
            ..acknowledgement(cumulative, next_sequence)
        });
        controller.rate.get() as u64
    }

    #[test]
    fn a_full_link_without_queue_settles_at_the_target() {
        let mut controller = build(0);
        assert_eq!(feed(&mut controller, 1000, 78_000, record(1000, 0, 0)), 100_000_000_000);
        // 78 000 B in 6240 ns is the line rate: U = 1, k = 1 / 0.95, R = 95 Gbit/s + 40 Mbit/s.
        let rate = feed(&mut controller, 79_000, 150_000, record(7240, 78_000, 0));
        assert!(rate.abs_diff(95_040_000_000) <= 1, "{rate}");
        assert!(controller.window().unwrap().get().abs_diff(74_131) <= 1);
    }

    #[test]
    fn a_queue_counts_as_bytes_in_flight() {
        let mut controller = build(0);
        feed(&mut controller, 1000, 78_000, record(1000, 0, 78_000));
        feed(&mut controller, 79_000, 150_000, record(7240, 78_000, 90_000));
        assert!((controller.utilisation() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_reference_moves_once_for_a_round() {
        let mut controller = build(0);
        feed(&mut controller, 1000, 78_000, record(1000, 0, 0));
        feed(&mut controller, 2000, 79_000, record(1084, 1050, 0));
        assert_eq!(controller.reference_rate, 100e9);
        feed(&mut controller, 78_001, 150_000, record(1168, 2100, 0));
        assert_eq!(controller.reference_rate, controller.rate.get());
    }

    #[test]
    fn stages_add_while_the_path_has_room() {
        let mut controller = build(5);
        controller.reference_rate = 10e9;
        controller.utilisation = 0.1;
        feed(&mut controller, 1000, 2000, record(1000, 0, 0));
        assert_eq!(feed(&mut controller, 3000, 5000, record(7240, 7800, 0)), 10_040_000_000);
        assert_eq!(controller.stage, 1);
    }

    #[test]
    fn records_of_another_path_only_start_anew() {
        let mut controller = build(0);
        feed(&mut controller, 1000, 78_000, record(1000, 900_000, 0));
        assert_eq!(feed(&mut controller, 79_000, 150_000, record(7240, 78_000, 0)), 100_000_000_000);
        assert!(feed(&mut controller, 151_000, 220_000, record(13_480, 156_000, 0)) < 96_000_000_000);
    }

    #[test]
    fn the_clock_of_the_records_may_wrap() {
        let controller = build(0);
        let (before, after) = (record(CLOCK_WRAP - 100, 0, 0), record(40, 0, 0));
        assert_eq!(controller.elapsed(&before, &after), Duration::from_nanoseconds(140));
    }
}
