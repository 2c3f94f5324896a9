//! DCTCP as a rate: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257.
//!
//! The window law of the paper is applied to a pacing rate, with a window that follows the rate, and without
//! slow start: a flow begins at line rate (the form in which the HPCC simulator runs DCTCP).

use trialwise_units::{Bytes, Ecn, Rate};

use crate::declared::settings;
use crate::paced::PacedRate;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Fidelity, Loss, Marks, Named, Needs, Setting,
    Timeout, WindowRule,
};

const NAME: &str = "dctcp";

/// The parameters of [`Dctcp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpSettings {
    /// Exact or as the reference simulator.
    pub fidelity: Fidelity,
    /// `g`, the weight of a new estimate (paper, equation 1: 1/16).
    pub gain: f64,
    /// Additive increase for each round trip.
    pub increase: Rate,
    /// No cut goes below this.
    pub minimum: Rate,
    /// The window beside the rate.
    pub window: WindowRule,
}

impl DctcpSettings {
    /// What the HPCC simulator uses at this line rate: g = 1/16, one packet of 1000 bytes for each 13 us
    /// (615 Mbit/s), a floor of one hundredth of the line, a scaled window.
    pub const fn for_line_rate(line: Rate) -> Self {
        Self {
            fidelity: Fidelity::Clean,
            gain: 1.0 / 16.0,
            increase: Rate::from_megabits_per_second(615),
            minimum: Rate::from_bits_per_second(line.bits_per_second() / 100),
            window: WindowRule::Scaled,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    settings: DctcpSettings,
    segment: u64,
    rate: PacedRate,
    alpha: f64,
    round_end: u64,
    round_marks: u64,
    round_packets: u64,
    reduced_until: Option<u64>,
}

impl Dctcp {
    /// A flow that starts at line rate with `alpha = 1` (RFC 8257, section 3.3).
    pub fn new(settings: &DctcpSettings, context: &Context) -> Result<Self, BuildError> {
        let DctcpSettings { fidelity, minimum, window, .. } = *settings;
        Ok(Self {
            settings: *settings,
            segment: context.segment.get(),
            rate: PacedRate::new(fidelity, minimum, window, context, NAME)?,
            alpha: 1.0,
            round_end: 0,
            round_marks: 0,
            round_packets: 0,
            reduced_until: None,
        })
    }

    /// The estimate of the fraction of marked packets.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Closes the round that ends with `acknowledgement`, if one does: `alpha = (1 - g) alpha + g F` (paper,
    /// equation 1; RFC 8257, section 3.3, item 6). The first round only opens the next one in compatible
    /// fidelity.
    fn close_round(&mut self, acknowledgement: &Acknowledgement<'_>) -> bool {
        if acknowledgement.cumulative <= self.round_end {
            return false;
        }
        let first = self.round_end == 0;
        let compatible = self.settings.fidelity == Fidelity::Compatible;
        if !(first && compatible) && self.round_packets > 0 {
            let fraction = (self.round_marks as f64 / self.round_packets as f64).min(1.0);
            self.alpha = (1.0 - self.settings.gain) * self.alpha + self.settings.gain * fraction;
            self.round_marks = 0;
        }
        self.round_packets = if compatible { self.estimated_packets(acknowledgement, first) } else { 0 };
        self.round_end = acknowledgement.next_sequence;
        true
    }

    /// How many packets the reference simulator expects in the next round: whole segments in flight, and one.
    fn estimated_packets(&self, acknowledgement: &Acknowledgement<'_>, first: bool) -> u64 {
        let from = if first { 0 } else { acknowledgement.cumulative };
        (acknowledgement.next_sequence - from) / self.segment + 1
    }

    fn count(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.round_marks += u64::from(acknowledgement.marked_packets);
        if self.settings.fidelity == Fidelity::Clean {
            self.round_packets += u64::from(acknowledgement.packets);
        }
    }

    /// A cut, at most one for each window of data (RFC 8257, section 3.3): until what is sent by now is
    /// acknowledged.
    fn cut(&mut self, factor: f64, next_sequence: u64) {
        self.rate.multiply(factor);
        self.reduced_until = Some(next_sequence);
    }
}

impl Declared for Dctcp {
    type Settings = DctcpSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: DctcpSettings::for_line_rate }];
    const WORDS: &'static str =
        "Reduces its window by the share of marked bytes (Alizadeh et al., SIGCOMM 2010; RFC 8257).";
    const NEEDS: Needs = Needs {
        fabric: true,
        ecn: Ecn::Capable0,
        marks: Marks::Step,
        acknowledgements_wait: true,
        ..Needs::NOTHING
    };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {gain: Weight, increase: Rate, minimum: Rate, window: WindowRule::CHOICE};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn with_fidelity(settings: Self::Settings, fidelity: Fidelity) -> Self::Settings {
        Self::Settings { fidelity, ..settings }
    }
}

impl Controller for Dctcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.count(acknowledgement);
        let new_round = self.close_round(acknowledgement);
        if self.reduced_until.is_some_and(|end| acknowledgement.cumulative > end) {
            self.reduced_until = None;
        }
        if acknowledgement.marked_packets > 0 && self.reduced_until.is_none() {
            // Paper, equation 2; RFC 8257, section 3.3, item 9.
            self.cut(1.0 - self.alpha / 2.0, acknowledgement.next_sequence);
        }
        if self.reduced_until.is_none() && new_round {
            self.rate.add(self.settings.increase);
        }
    }

    /// Halves once for an episode (RFC 8257, section 3.5); the reference simulator has no losses and no
    /// reaction.
    fn on_loss(&mut self, loss: &Loss) {
        if self.settings.fidelity == Fidelity::Clean && loss.new_episode {
            self.cut(0.5, loss.next_sequence);
        }
    }

    /// Starts again from the lowest rate, as RFC 5681, section 3.1 starts from one segment.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if self.settings.fidelity == Fidelity::Clean {
            self.cut(0.0, timeout.next_sequence);
        }
    }

    fn window(&self) -> Option<Bytes> {
        self.rate.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.pacing_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};

    fn build(fidelity: Fidelity) -> Dctcp {
        let line = Rate::from_megabits_per_second(100_000);
        let settings = DctcpSettings { fidelity, ..DctcpSettings::for_line_rate(line) };
        Dctcp::new(&settings, &context()).unwrap()
    }

    fn feed(controller: &mut Dctcp, cumulative: u64, next_sequence: u64, marked: u32) -> u64 {
        let event = Acknowledgement { marked_packets: marked, ..acknowledgement(cumulative, next_sequence) };
        controller.on_acknowledgement(&event);
        controller.rate.get() as u64
    }

    #[test]
    fn a_mark_cuts_once_for_a_window() {
        let mut controller = build(Fidelity::Compatible);
        // alpha is 1: the first mark halves; a second one in the same window does nothing.
        assert_eq!(feed(&mut controller, 1000, 78_000, 1), 50_000_000_000);
        assert_eq!(feed(&mut controller, 2000, 79_000, 1), 50_000_000_000);
        assert_eq!(controller.window(), Some(Bytes::new(39_000)));
        // The mark at 79 000 is in the next window; two marks of 79 expected packets close the round:
        // alpha = 15/16 + (1/16) (3/79), as the mark that closes the round counts in it.
        let rate = feed(&mut controller, 79_000, 120_000, 1);
        let alpha = 15.0 / 16.0 + 3.0 / 79.0 / 16.0;
        assert_eq!(controller.alpha(), alpha);
        assert_eq!(rate, (50e9 * (1.0 - alpha / 2.0)) as u64);
    }

    #[test]
    fn rounds_without_marks_add_and_the_line_bounds() {
        let mut controller = build(Fidelity::Compatible);
        assert_eq!(feed(&mut controller, 1000, 10_000, 1), 50_000_000_000);
        assert_eq!(feed(&mut controller, 11_000, 20_000, 0), 50_615_000_000);
        assert_eq!(feed(&mut controller, 12_000, 21_000, 0), 50_615_000_000);
        for round in 2..200 {
            feed(&mut controller, round * 10_000 + 1000, (round + 1) * 10_000, 0);
        }
        assert_eq!(controller.pacing_rate(), Some(Rate::from_megabits_per_second(100_000)));
    }

    #[test]
    fn the_clean_form_counts_packets() {
        let mut controller = build(Fidelity::Clean);
        feed(&mut controller, 1000, 4000, 0);
        assert_eq!(controller.alpha(), 15.0 / 16.0);
        feed(&mut controller, 2000, 5000, 0);
        feed(&mut controller, 3000, 6000, 1);
        feed(&mut controller, 4000, 7000, 0);
        feed(&mut controller, 5000, 8000, 0);
        // One of the four packets of the round was marked.
        assert_eq!(controller.alpha(), 15.0 / 16.0 * 15.0 / 16.0 + 0.25 / 16.0);
    }

    #[test]
    fn losses_cut_only_in_the_clean_form() {
        let loss = crate::testing::loss(true);
        let mut clean = build(Fidelity::Clean);
        clean.on_loss(&loss);
        assert_eq!(clean.rate.get(), 50e9);
        clean.on_loss(&crate::testing::loss(false));
        assert_eq!(clean.rate.get(), 50e9);
        let mut compatible = build(Fidelity::Compatible);
        compatible.on_loss(&loss);
        assert_eq!(compatible.rate.get(), 100e9);
    }
}
