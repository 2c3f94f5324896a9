//! What C4 keeps beside its rate: its stage, eras, pushes, and the shares of packets lost and marked.

use crate::Phase;

/// Weight of one packet in the share lost, and how many packets without a loss are looked back over.
const LOSS_WEIGHT: f64 = 1.0 / 16.0;
const LOSS_SCOPE: u64 = 32;
/// Weight of one share of marks, the share from which on it counts at once, and of how many packets it is one.
const MARKS_WEIGHT: f64 = 1.0 / 16.0;
const MANY_MARKS: f64 = 0.5;
const MARKS_OF: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Initial,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

impl Stage {
    pub(super) const fn phase(self) -> Phase {
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
pub(super) enum Signal {
    Delay,
    Marks,
    Losses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Growth {
    None,
    Slow,
    Fast,
}

/// A round trip by packets: it ends with the arrival of the first packet sent in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Era {
    /// Number of that packet.
    pub(super) first: u64,
    /// Pacing over the nominal rate when the packets were sent whose arrival it sees.
    pub(super) alpha: f64,
    pub(super) least: f64,
    pub(super) longest: f64,
}

/// What has happened since growth was judged last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Push {
    /// The nominal rate before.
    pub(super) rate: f64,
    pub(super) alpha: f64,
    pub(super) met_signal: bool,
    /// Whether the network and not the application bounded the rate.
    pub(super) was_full: bool,
}

/// The share of packets lost, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    pub(super) last: u64,
    pub(super) share: f64,
}

impl LossShare {
    pub(super) fn add(&mut self, number: u64) {
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
pub(super) struct MarkShare {
    pub(super) packets: u32,
    pub(super) marked: u32,
    pub(super) share: f64,
}

impl MarkShare {
    pub(super) fn add(&mut self, packets: u32, marked: u32) {
        self.packets = self.packets.saturating_add(packets);
        self.marked = self.marked.saturating_add(marked.min(packets));
        if self.packets >= MARKS_OF {
            self.close();
        }
    }

    pub(super) fn close(&mut self) {
        if self.packets == 0 {
            return;
        }
        let fresh = f64::from(self.marked) / f64::from(self.packets);
        let jumps = fresh > self.share && fresh >= MANY_MARKS;
        self.share = if jumps { fresh } else { self.share + (fresh - self.share) * MARKS_WEIGHT };
        (self.packets, self.marked) = (0, 0);
    }
}
