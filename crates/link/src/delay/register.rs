//! Which delays there are: a line for each, here and nowhere else. What is to be said of one stands beside its law.

use trialwise_units::element::{Declared, Key, Takes};
use trialwise_units::{Duration, Seed, Time, elements};

use super::lines::{OrderedDelay, ReorderingDelay};
use super::source::{Delay, DelayedSpec, VaryingDelaySpec};
use crate::element::Stage;
use crate::packet::Packet;

/// A delay that can be chosen by name.
pub(crate) trait DeclaredDelay: Declared {
    /// How long each packet is delayed, from `start` on.
    fn delay(&self, start: Time, seed: Seed) -> Delay;

    /// Whether later packets may overtake.
    fn reorders(&self) -> bool;

    /// What the delay is without jitter, at the start.
    fn base(&self) -> Duration;
}

/// Of every delay that varies.
pub(super) const REORDER: Key =
    Key { name: "reorder", takes: Takes::Flag, words: "Whether later packets may overtake; default no." };

elements! {
    /// A one-way delay as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum DelaySpec of "delay", delay! {
        Delayed(DelayedSpec),
        Varying(VaryingDelaySpec),
    }
}

impl DelaySpec {
    pub(crate) fn build<P: Packet>(&self, start: Time, seed: Seed) -> Box<dyn Stage<P>> {
        delay!(self, spec => {
            let delay = spec.delay(start, seed);
            if spec.reorders() { Box::new(ReorderingDelay::new(delay)) } else { Box::new(OrderedDelay::new(delay)) }
        })
    }

    /// What the delay is without jitter, at the start: half of what a round trip takes.
    pub fn base(&self) -> Duration {
        delay!(self, spec => spec.base())
    }
}
