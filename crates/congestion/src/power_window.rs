//! The window of both laws of PowerTCP: Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022,
//! algorithms 1 and 2.

use trialwise_units::{Bytes, Duration, Rate};

use crate::{BuildError, Context};

/// What both laws can be given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerSettings {
    /// The weight of a new window (`γ`).
    pub gain: f64,
    /// How many flows are expected on the link of a host (`N`): the increase `β` is its bandwidth-delay product over this.
    pub flows: u32,
    /// The rate stays above this.
    pub minimum: Rate,
}

impl PowerSettings {
    /// The paper's γ = 0.9, and N = 10; a floor of one hundredth of the line.
    pub const fn for_line_rate(line: Rate) -> Self {
        Self { gain: 0.9, flows: 10, minimum: Rate::from_bits_per_second(line.bits_per_second() / 100) }
    }
}

/// A window, in bytes, and the power by which it is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PowerWindow {
    gain: f64,
    increase: f64,
    smallest: f64,
    largest: f64,
    line: f64,
    base_rtt: f64,
    window: f64,
    /// The window of a round trip ago.
    old: f64,
    power: f64,
    round_end: u64,
}

impl PowerWindow {
    /// One bandwidth-delay product, for the controller called `name`.
    pub(crate) fn new(
        settings: &PowerSettings,
        context: &Context,
        name: &'static str,
    ) -> Result<Self, BuildError> {
        let (line, base_rtt) = (context.line_rate_for(name)?, context.base_rtt_for(name)?.as_seconds());
        let product = line / 8.0 * base_rtt;
        let increase = product / f64::from(settings.flows.max(1));
        let smallest = settings.minimum.bits_per_second() as f64 / 8.0 * base_rtt;
        Ok(Self {
            gain: settings.gain,
            increase,
            smallest: smallest.clamp(1.0, product.max(1.0)),
            largest: (product + increase).max(1.0),
            line,
            base_rtt,
            window: product,
            old: product,
            power: 1.0,
            round_end: 0,
        })
    }

    /// `τ` in seconds.
    pub(crate) const fn base_rtt(&self) -> f64 {
        self.base_rtt
    }

    /// Algorithm 1, line 19: the power of the last `span` seconds, averaged over a base round trip.
    pub(crate) fn smooth(&mut self, power: f64, span: f64) {
        let span = span.min(self.base_rtt);
        self.power = (self.power * (self.base_rtt - span) + power * span) / self.base_rtt;
    }

    /// Algorithm 1, `UPDATEWINDOW`: `w = γ (w_old / Γ + β) + (1 − γ) w`.
    pub(crate) fn update(&mut self) {
        let wanted = self.old / self.power.max(f64::MIN_POSITIVE) + self.increase;
        let window = self.gain * wanted.min(self.largest) + (1.0 - self.gain) * self.window;
        self.window = window.clamp(self.smallest, self.largest);
    }

    /// Algorithm 1, `UPDATEOLD`, once for a round trip.
    pub(crate) fn end_round(&mut self, cumulative: u64, next_sequence: u64) {
        if self.round_ends(cumulative, next_sequence) {
            self.old = self.window;
        }
    }

    /// Algorithm 2, `UPDATEWINDOW`, once for a round trip. What was acknowledged in it left under the window before the last update, which is
    /// `w_old`: its power is what was measured.
    pub(crate) fn update_once(&mut self, cumulative: u64, next_sequence: u64) {
        if self.round_ends(cumulative, next_sequence) {
            let before = self.window;
            self.update();
            self.old = before;
        }
    }

    const fn round_ends(&mut self, cumulative: u64, next_sequence: u64) -> bool {
        let ends = cumulative > self.round_end;
        if ends {
            self.round_end = next_sequence;
        }
        ends
    }

    /// Half a window for a loss, the smallest for a time-out: the paper assumes a lossless fabric.
    pub(crate) fn reduce(&mut self, factor: f64) {
        self.window = (self.window * factor).max(self.smallest);
        self.old = self.window;
    }

    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }

    /// Algorithm 1, line 4: the window in a base round trip.
    pub(crate) fn pacing_rate(&self) -> Rate {
        Rate::from_bits_per_second((8.0 * self.window / self.base_rtt).min(self.line) as u64)
    }
}

/// The span in seconds, none where no time has passed.
pub(crate) fn seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO).then(|| span.as_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn the_window_follows_the_law_of_the_paper() {
        let line = Rate::from_megabits_per_second(100_000);
        let mut window = PowerWindow::new(&PowerSettings::for_line_rate(line), &context(), "test").unwrap();
        // 100 Gbit/s × 6.24 us = 78,000 bytes; β = 7,800.
        assert_eq!(window.bytes(), Bytes::new(78_000));
        assert_eq!(window.pacing_rate(), line);
        window.smooth(2.0, 6.24e-6);
        window.update();
        // 0.9 (78,000 / 2 + 7,800) + 0.1 × 78,000.
        assert_eq!(window.bytes(), Bytes::new(49_920));
        window.smooth(1.0, 3.12e-6);
        assert!((window.power - 1.5).abs() < 1e-12);
        window.smooth(0.0, 1.0);
        window.update();
        // No power at all: the most there can be, then a tenth of the old one.
        assert_eq!(window.bytes(), Bytes::new((0.9_f64 * 85_800.0 + 0.1 * 49_920.0) as u64));
    }
}
