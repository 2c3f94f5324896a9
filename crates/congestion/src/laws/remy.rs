//! RemyCC and TaoVA (Winstein and Balakrishnan, SIGCOMM 2013; Sivaraman et al., SIGCOMM 2014): a table of rules, made by a program that
//! simulates, says at each acknowledgement what becomes of the window and how far apart packets leave.
//!
//! Beyond the papers: at least one segment may be in flight, and a time-out or a pause begins the flow anew.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::rule_table::{Action, RuleTable};
use crate::segments::MAXIMUM_WINDOW;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Setting, Timeout,
};

const NAME: &str = "remy";
/// Weights of a new gap in the averages.
const WEIGHT: f64 = 1.0 / 8.0;
const SLOW_WEIGHT: f64 = 1.0 / 256.0;
/// An acknowledgement that reports more packets counts as one of so many.
const MOST_PACKETS: u32 = 64;
/// The largest window in segments.
const MOST_SEGMENTS: f64 = 1e6;

/// The parameters of [`Remy`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RemySettings {
    /// The rules.
    pub table: RuleTable,
}

/// What a flow remembers; times in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    values: [f64; 4],
    /// When the last acknowledgement arrived, and when its packet was sent.
    last: Option<(f64, f64)>,
    least_rtt: Option<f64>,
}

impl Memory {
    /// An acknowledgement of so many packets.
    fn update(&mut self, now: f64, rtt: f64, packets: u32) {
        let sent = now - rtt;
        if let Some((last_now, last_sent)) = self.last {
            let [ack, send, _, slow] = &mut self.values;
            let count = f64::from(packets);
            let (between_acks, between_departures) = ((now - last_now).max(0.0), (sent - last_sent).max(0.0));
            average(ack, between_acks / count, WEIGHT, packets);
            average(send, between_departures / count, WEIGHT, packets);
            average(slow, between_acks / count, SLOW_WEIGHT, packets);
        }
        self.last = Some((now, sent));
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least);
        self.values[2] = rtt / least;
    }
}

/// Adds a value to an average so many times.
fn average(average: &mut f64, value: f64, weight: f64, times: u32) {
    for _ in 0..times {
        *average += weight * (value - *average);
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Remy {
    table: RuleTable,
    segment: f64,
    memory: Memory,
    /// In segments.
    window: f64,
    gap_ms: f64,
}

impl Remy {
    /// A flow that remembers nothing.
    ///
    /// # Errors
    /// A segment of nothing.
    pub fn new(settings: &RemySettings, context: &Context) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller: NAME, field: "segment" });
        }
        let segment = context.segment.get() as f64;
        let memory = Memory::default();
        let mut remy = Self { table: settings.table, segment, memory, window: 0.0, gap_ms: 0.0 };
        remy.begin();
        Ok(remy)
    }

    fn begin(&mut self) {
        self.memory = Memory::default();
        self.window = 0.0;
        self.follow(&self.table.action(&self.memory.values), 1);
    }

    /// Does what a rule says, once for each packet.
    fn follow(&mut self, action: &Action, packets: u32) {
        for _ in 0..packets {
            let window = action.multiple * self.window + action.increment;
            self.window = window.clamp(1.0, MOST_SEGMENTS);
        }
        self.gap_ms = action.gap_ms;
    }
}

impl Declared for Remy {
    type Settings = RemySettings;
    const NAMES: &'static [Named<Self::Settings>] = &[Named { name: NAME, settings: |_| RemySettings::default() }];
    const WORDS: &'static str = "Follows a table of rules that was trained in simulations (RemyCC; Winstein and Balakrishnan, SIGCOMM 2013).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {table: Table};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Remy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        let packets = acknowledgement.packets.clamp(1, MOST_PACKETS);
        self.memory.update(1e3 * acknowledgement.now.as_seconds(), 1e3 * rtt.as_seconds(), packets);
        self.follow(&self.table.action(&self.memory.values), packets);
    }

    /// Losses change nothing, as in the paper.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.begin();
        self.window = 1.0;
    }

    fn on_idle_restart(&mut self, _now: Time, _idle: Duration) {
        self.begin();
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window * self.segment).min(MAXIMUM_WINDOW) as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let bits = 8.0 * self.segment / (1e-3 * self.gap_ms);
        Some(Rate::from_bits_per_second(bits.max(1.0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};

    /// Below twice the least round trip a segment more for each packet, above it a tenth less.
    const HALVES: &str = r#"{"format": "remy-table", "version": 1, "memory": ["ack_ewma_ms", "send_ewma_ms", "rtt_ratio", "slow_ack_ewma_ms"],
        "rules": [
            {"low": [0, 0, 0, 0], "high": [16384, 16384, 2, 16384], "window_multiple": 1, "window_increment": 1, "gap_ms": 2},
            {"low": [0, 0, 2, 0], "high": [16384, 16384, 16384, 16384], "window_multiple": 0.9, "window_increment": 0, "gap_ms": 4}]}"#;

    fn remy() -> Remy {
        let table = RuleTable::parse("halves", HALVES).unwrap();
        Remy::new(&RemySettings { table }, &context()).unwrap()
    }

    fn acknowledge(remy: &mut Remy, now: u64, rtt: u64, packets: u32) {
        let event = acknowledgement(0, 0);
        let rtt = Some(Duration::from_milliseconds(rtt));
        remy.on_acknowledgement(&Acknowledgement { now: Time::from_milliseconds(now), rtt, packets, ..event });
    }

    #[test]
    fn memory_is_what_the_papers_say() {
        let mut remy = remy();
        acknowledge(&mut remy, 100, 20, 1);
        assert_eq!(remy.memory.values, [0.0, 0.0, 1.0, 0.0]);
        // 8 ms later, of a packet that was sent 4 ms later.
        acknowledge(&mut remy, 108, 24, 1);
        assert_eq!(remy.memory.values, [1.0, 0.5, 1.2, 8.0 / 256.0]);
        acknowledge(&mut remy, 116, 24, 1);
        assert_eq!(remy.memory.values[..3], [1.875, 1.4375, 1.2]);
    }

    #[test]
    fn the_rule_is_that_for_the_memory() {
        let mut remy = remy();
        assert_eq!((remy.window(), remy.pacing_rate()), (Some(Bytes::new(1000)), Some(Rate::from_megabits_per_second(4))));
        for step in 0..9 {
            acknowledge(&mut remy, 100 + step, 20, 1);
        }
        assert_eq!(remy.window(), Some(Bytes::new(10_000)));
        acknowledge(&mut remy, 120, 40, 1);
        assert_eq!((remy.window(), remy.pacing_rate()), (Some(Bytes::new(9000)), Some(Rate::from_megabits_per_second(2))));
    }

    #[test]
    fn an_acknowledgement_of_many_packets_counts_for_each() {
        let (mut one, mut many) = (remy(), remy());
        for remy in [&mut one, &mut many] {
            acknowledge(remy, 100, 20, 1);
        }
        for step in 1..=4 {
            acknowledge(&mut one, 100 + step, 20, 1);
        }
        acknowledge(&mut many, 104, 20, 4);
        assert_eq!((one.window, one.memory.values), (many.window, many.memory.values));
    }

    #[test]
    fn at_least_a_segment_and_at_most_a_million_may_be_in_flight() {
        let mut remy = remy();
        acknowledge(&mut remy, 100, 20, 1);
        for step in 0..100 {
            acknowledge(&mut remy, 200 + step, 60, u32::MAX);
        }
        assert_eq!(remy.window(), Some(Bytes::new(1000)));
        let grow = Action { multiple: 2.0, increment: 256.0, gap_ms: 1.0 };
        remy.follow(&grow, 64);
        assert_eq!(remy.window(), Some(Bytes::new(1_000_000_000)));
    }

    #[test]
    fn silence_and_pauses_begin_the_flow_anew() {
        let mut remy = remy();
        (0..50).for_each(|step| acknowledge(&mut remy, 100 + step, 20, 1));
        let timeout = Timeout { now: Time::ZERO, in_flight: Bytes::ZERO, next_sequence: 0, repetition: 1 };
        remy.on_timeout(&timeout);
        assert_eq!((remy.window(), remy.memory.last, remy.memory.values), (Some(Bytes::new(1000)), None, [0.0; 4]));
        (0..50).for_each(|step| acknowledge(&mut remy, 200 + step, 20, 1));
        remy.on_idle_restart(Time::ZERO, Duration::ZERO);
        assert_eq!(remy.window(), Some(Bytes::new(1000)));
    }

    #[test]
    fn a_table_is_given_behind_the_name() {
        let written = crate::Algorithm::written("remy:table=trialwise-1x", None).unwrap();
        assert_eq!(written, crate::Algorithm::Remy(RemySettings::default()));
        let said = crate::Algorithm::written("remy:table=none", None).unwrap_err().to_string();
        assert!(said.contains("remy:table: the table none: cannot be read"), "{said}");
    }
}
