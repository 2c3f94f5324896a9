//! Signals of congestion: what is one, and what it takes of the rate.

use super::parts::{Signal, Stage};
use super::{C4, };

const LONGER_RECOVERY: f64 = 7.0 / 8.0;
const FLAT_ERAS_BEFORE_DELAY: u32 = 1;
/// Losses end Initial only once so many packets were acknowledged or lost.
const PACKETS_BEFORE_LOSS: u64 = 20;
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
/// Points of the sensitivity: bytes per second, and its value there.
const SENSITIVITY: [(f64, f64); 3] = [(50e3, 0.0), (1e6, 963.0 / 1024.0), (10e6, 1.0)];

impl C4 {
    /// From 0 to 1: flows with more of the path answer lesser signals.
    pub(super) fn sensitivity(&self) -> f64 {
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

    pub(super) fn delay_threshold(&self) -> f64 {
        let share = DELAY_SHARE + DELAY_SHARE_INSENSITIVE * (1.0 - self.sensitivity());
        (share * self.longest).min(DELAY_THRESHOLD)
    }

    pub(super) fn loss_threshold(&self) -> f64 {
        LOSS_THRESHOLD + LOSS_THRESHOLD_INSENSITIVE * (1.0 - self.sensitivity())
    }

    pub(super) fn marks_threshold(&self) -> f64 {
        MARKS_THRESHOLD - MARKS_THRESHOLD_SENSITIVE * self.sensitivity()
    }

    /// A round-trip time of so many seconds.
    pub(super) fn observe(&mut self, rtt: f64) {
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

    /// By how much a signal lowers the rate.
    pub(super) fn beta(&self, signal: Signal) -> f64 {
        let beta = match signal {
            Signal::Losses => BETA * (1.0 + self.sensitivity()) / 2.0,
            Signal::Marks => self.marks.share / self.marks_threshold() - 1.0,
            Signal::Delay => self.excess / self.delay_threshold(),
        };
        beta.clamp(0.0, BETA)
    }

    pub(super) fn on_signal(&mut self, signal: Signal) {
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

    pub(super) fn on_lost(&mut self, number: u64) {
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

    pub(super) fn on_marks(&mut self, packets: u32, marked: u32) {
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
}
