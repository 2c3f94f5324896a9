//! What a link is made of: gates, which decide at once, and stages, which hold packets for a time.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use trialwise_units::{Bytes, Duration, Ecn, Time};

use crate::packet::Tally;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Random, patterned or recorded loss.
    Loss,
    /// It arrived while the link was off.
    Outage,
    /// The token bucket held too little for it.
    Policed,
    /// A queue was at its limit.
    Overflow,
    /// Active queue management chose it.
    Managed,
    /// Its bits were changed on the way, so that its checksum is wrong.
    Corrupt,
    /// Packets of its kind are not let through.
    Filtered,
}

impl Cause {
    /// All of them, in the order in which packet logs number them.
    pub const ALL: [Self; 7] = [
        Self::Loss,
        Self::Outage,
        Self::Policed,
        Self::Overflow,
        Self::Managed,
        Self::Corrupt,
        Self::Filtered,
    ];

    /// Its place in [`Self::ALL`].
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// What a gate says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, at once.
    Pass,
    /// It goes on, at once, with this ECN field.
    PassAs(Ecn),
    /// It goes on, at once, with one bit of its payload changed ([`Packet::change_bit`](crate::Packet::change_bit)).
    PassChanged(NonZeroU16),
    /// It is dropped.
    Drop(Cause),
}

/// An element that decides on each packet at once and holds none: loss, outage, policer, what rewrites or filters by a header.
pub trait Gate: Send {
    /// Decides on a packet of `size` with this ECN field that arrives at `now`, which never goes back.
    fn judge(&mut self, now: Time, size: Bytes, ecn: Ecn) -> Verdict;
}

/// An element that holds packets for a time: a bottleneck with its queue, a delay.
///
/// Who drives a stage takes out everything that is due by `now` before pushing at `now`.
pub trait Stage<P>: Send {
    /// Takes a packet in at `now`.
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>);

    /// The next packet that leaves at or before `now`, with the instant at which it leaves. When there is none
    /// any more, [`next_event`](Self::next_event) is after `now`.
    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)>;

    /// No packet leaves before this instant unless another arrives; `None`: nothing is to be awaited.
    fn next_event(&self) -> Option<Time>;

    /// What is inside now.
    fn held(&self) -> Tally;

    /// How many packets it has marked with congestion experienced.
    fn marked(&self) -> u64 {
        0
    }

    /// No packet passes in less time than this.
    fn minimum_delay(&self) -> Duration {
        Duration::ZERO
    }
}

impl<G: Gate + ?Sized> Gate for Box<G> {
    fn judge(&mut self, now: Time, size: Bytes, ecn: Ecn) -> Verdict {
        (**self).judge(now, size, ecn)
    }
}

impl<P, S: Stage<P> + ?Sized> Stage<P> for Box<S> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        (**self).push(now, packet, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        (**self).pop(now, drops)
    }

    fn next_event(&self) -> Option<Time> {
        (**self).next_event()
    }

    fn held(&self) -> Tally {
        (**self).held()
    }

    fn marked(&self) -> u64 {
        (**self).marked()
    }

    fn minimum_delay(&self) -> Duration {
        (**self).minimum_delay()
    }
}

/// A packet that was dropped inside a stage.
#[derive(Debug)]
pub struct Dropped<P> {
    /// When.
    pub time: Time,
    /// Which.
    pub packet: P,
    /// Why.
    pub cause: Cause,
}

/// Where a stage puts what it drops, in order of time.
#[derive(Debug)]
pub struct Drops<P> {
    dropped: VecDeque<Dropped<P>>,
}

impl<P> Default for Drops<P> {
    fn default() -> Self {
        // Room for what a managed queue drops in a row now and then.
        Self { dropped: VecDeque::with_capacity(64) }
    }
}

impl<P> Drops<P> {
    /// Puts a dropped packet in.
    pub fn record(&mut self, time: Time, packet: P, cause: Cause) {
        self.dropped.push_back(Dropped { time, packet, cause });
    }

    /// Takes the earliest dropped packet out.
    pub fn take(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }
}
