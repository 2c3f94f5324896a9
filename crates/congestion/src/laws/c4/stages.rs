//! Stages: when one begins, what is judged at its end, and which one is next.

use super::parts::{Era, Growth, MarkShare, Push, Signal, Stage};
use super::{C4, FLAT_ERAS, INITIAL, RECOVERY};

const CAREFUL_PROBE: f64 = 33.0 / 32.0;
const PROBE: f64 = 17.0 / 16.0;
const PUSH: f64 = 1256.0 / 1024.0;
/// Eras of Cruising before a probe, and after one that met marks.
const CRUISES: u32 = 2;
const CAREFUL_CRUISES: u32 = 1;
/// Growth in so many Recoveries one after the other leads back to Initial.
const GROWTHS: u32 = 3;
/// The nominal round trip is longer than the least by no more than this.
const MOST_JITTER: f64 = 0.25;
/// What of an average remains in an era.
const MEMORY: f64 = 7.0 / 8.0;
/// High jitter, which begins Initial once more: a nominal round trip above this, this many times the least, at less than this rate.
const LONG_ROUND_TRIP: f64 = 50e-3;
const HIGH_JITTER: f64 = 2.5;
const SLOW: f64 = 1e6;
/// After so many Recoveries with a signal in a row, the rate is what was measured in the last one at most.
const CONGESTIONS: u32 = 2;

impl C4 {
    pub(super) fn begin_era(&mut self) {
        self.marks.close();
        self.era = Era { first: self.next, alpha: self.alpha, least: f64::INFINITY, longest: 0.0 };
    }

    pub(super) fn begin_push(&mut self) {
        self.push = Push { rate: self.rate, alpha: self.alpha, met_signal: false, was_full: false };
    }

    pub(super) fn enter_initial(&mut self) {
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

    pub(super) fn leave_initial(&mut self) {
        if self.rate <= 0.0 {
            return;
        }
        self.set_longest(self.initial / 2.0 / self.rate);
        self.flat_eras = 0;
        self.growths = Some(0);
        self.begin_push();
        self.enter_recovery(None);
    }

    pub(super) fn enter_recovery(&mut self, signal: Option<Signal>) {
        if self.stage == Stage::Recovery {
            return;
        }
        self.met_marks = signal == Some(Signal::Marks);
        self.stage = Stage::Recovery;
        self.begin_era();
        self.alpha = RECOVERY;
    }

    pub(super) fn enter_cruising(&mut self) {
        self.begin_era();
        if self.cruises == 0 {
            self.cruises = if self.growths.is_none() { CAREFUL_CRUISES } else { CRUISES };
        }
        self.alpha = 1.0;
        self.stage = Stage::Cruising;
    }

    pub(super) fn enter_probing(&mut self) {
        self.alpha = if self.growths.is_none() { CAREFUL_PROBE } else { PROBE };
        self.push.alpha = self.alpha;
        self.begin_era();
        self.stage = Stage::Probing;
    }

    pub(super) fn enter_pushing(&mut self) {
        self.alpha = PUSH;
        self.stage = Stage::Pushing;
        self.begin_push();
        self.begin_era();
    }

    /// Whether the rate has grown as a push lets expect; after a small one, at all.
    pub(super) fn growth(&self) -> Growth {
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
    pub(super) fn leave_recovery(&mut self) {
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
    pub(super) fn settle(&mut self) {
        if self.push.was_full {
            self.growths = (!self.met_marks).then_some(0);
        }
        self.congestions = if self.push.met_signal { self.congestions + 1 } else { 0 };
        if self.congestions >= CONGESTIONS && self.measured > 0.0 {
            self.rate = self.rate.min(self.measured);
        }
    }

    /// The round trips of an era that added no queue show what the path itself takes.
    pub(super) fn learn_round_trips(&mut self) {
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
    pub(super) fn is_jittery(&self) -> bool {
        let is_long = self.longest > LONG_ROUND_TRIP && self.longest > HIGH_JITTER * self.least;
        !self.has_begun_anew && is_long && self.rate < SLOW
    }

    pub(super) fn end_era(&mut self, is_limited: bool) {
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

    pub(super) fn push_on(&mut self) {
        self.begin_push();
        self.begin_era();
    }

    pub(super) fn end_initial_era(&mut self) {
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
}
