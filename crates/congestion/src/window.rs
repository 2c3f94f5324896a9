//! The window beside a rate: none, one path's worth, or scaled with the rate.

use trialwise_units::Bytes;

/// What limits the payload in flight of a controller that steers a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// Nothing: as DCQCN and TIMELY are deployed.
    Unlimited,
    /// One bandwidth-delay product of the path, always.
    Fixed,
    /// That product times rate over line rate, at least one byte (HPCC, SIGCOMM 2019: `W = R T`).
    Scaled,
}

crate::declared::choice! { WindowRule, "write none, fixed or scaled"; "none" => Unlimited, "fixed" => Fixed, "scaled" => Scaled }

/// The window that goes with a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateWindow {
    rule: WindowRule,
    full: u64,
    line: u64,
}

impl RateWindow {
    pub(crate) const fn new(rule: WindowRule, full: u64, line: u64) -> Self {
        Self { rule, full, line }
    }

    pub(crate) fn at(&self, rate: f64) -> Option<Bytes> {
        match self.rule {
            WindowRule::Unlimited => None,
            WindowRule::Fixed => Some(Bytes::new(self.full)),
            WindowRule::Scaled => Some(Bytes::new(self.scaled(rate as u64).max(1))),
        }
    }

    fn scaled(&self, rate: u64) -> u64 {
        match self.full.checked_mul(rate) {
            Some(product) => product / self.line,
            None => (u128::from(self.full) * u128::from(rate) / u128::from(self.line)) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_scales_with_the_rate_and_keeps_a_byte() {
        let window = RateWindow::new(WindowRule::Scaled, 78_000, 100_000_000_000);
        assert_eq!(window.at(100e9), Some(Bytes::new(78_000)));
        assert_eq!(window.at(33e9), Some(Bytes::new(25_740)));
        assert_eq!(window.at(1000.0), Some(Bytes::new(1)));
    }

    #[test]
    fn a_product_beyond_64_bits_is_still_exact() {
        let window = RateWindow::new(WindowRule::Scaled, 1 << 40, 1 << 40);
        assert_eq!(window.at((1_u64 << 39) as f64), Some(Bytes::new(1 << 39)));
    }

    #[test]
    fn the_other_rules_ignore_the_rate() {
        assert_eq!(RateWindow::new(WindowRule::Unlimited, 1, 1).at(5.0), None);
        assert_eq!(RateWindow::new(WindowRule::Fixed, 7, 1).at(5.0), Some(Bytes::new(7)));
    }
}
