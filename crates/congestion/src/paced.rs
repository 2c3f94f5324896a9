//! The rate that a controller of the data centre steers, with its bounds and the window beside it.

use trialwise_units::{Bytes, Rate};

use crate::window::RateWindow;
use crate::{BuildError, Context, Fidelity, WindowRule};

/// A pacing rate between a minimum and the line rate, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacedRate {
    fidelity: Fidelity,
    window: RateWindow,
    minimum: f64,
    line: f64,
    bits: f64,
}

impl PacedRate {
    /// Line rate, for the controller called `name`.
    pub(crate) fn new(
        fidelity: Fidelity,
        minimum: Rate,
        rule: WindowRule,
        context: &Context,
        name: &'static str,
    ) -> Result<Self, BuildError> {
        let line = context.line_rate_for(name)?;
        let minimum = (minimum.bits_per_second() as f64).min(line);
        Ok(Self { fidelity, window: context.rate_window(rule, name)?, minimum, line, bits: line })
    }

    pub(crate) const fn get(&self) -> f64 {
        self.bits
    }

    pub(crate) const fn line(&self) -> f64 {
        self.line
    }

    pub(crate) fn set(&mut self, bits: f64) {
        self.bits = self.fidelity.settle(bits).clamp(self.minimum, self.line);
    }

    pub(crate) fn multiply(&mut self, factor: f64) {
        self.set(self.bits * factor);
    }

    pub(crate) fn add(&mut self, rate: Rate) {
        self.set(self.bits + rate.bits_per_second() as f64);
    }

    pub(crate) fn window(&self) -> Option<Bytes> {
        self.window.at(self.bits)
    }

    pub(crate) const fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.bits as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn a_rate_stays_between_its_bounds() {
        let minimum = Rate::from_megabits_per_second(1000);
        let mut rate =
            PacedRate::new(Fidelity::Compatible, minimum, WindowRule::Scaled, &context(), "test").unwrap();
        rate.add(minimum);
        assert_eq!(rate.get(), 100e9);
        rate.multiply(1.0 / 3.0);
        assert_eq!(rate.get(), 33_333_333_333.0);
        assert_eq!(rate.window(), Some(Bytes::new(25_999)));
        rate.multiply(0.0);
        assert_eq!(rate.pacing_rate(), Some(minimum));
    }
}
