//! Queues: what waits before a bottleneck, and what is dropped or marked there.

mod buffer;
pub(crate) mod codel;
pub(crate) mod drop_head;
pub(crate) mod drop_tail;
pub(crate) mod dualpi2;
pub(crate) mod fq_codel;
mod limit;
pub(crate) mod pie;
pub(crate) mod pie_mahimahi;
pub(crate) mod red;
pub(crate) mod register;
#[cfg(test)]
mod testing;
mod written;

pub use codel::{CoDel, CoDelParameters, CoDelVariant};
pub use drop_head::DropHead;
pub use drop_tail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Parameters};
pub use fq_codel::{FqCoDel, FqCoDelParameters};
pub use limit::Limit;
pub use pie::{Pie, PieParameters};
pub use pie_mahimahi::{MahimahiPie, MahimahiPieParameters};
pub use red::{Red, RedParameters};
pub use register::QueueSpec;
pub use written::{LimitSpec, Surroundings};

use trialwise_units::{Bytes, Time};

use crate::element::Drops;
use crate::packet::Tally;

/// A packet that waits.
#[derive(Debug)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// What it occupies: its size and what the bottleneck adds to each packet.
    pub size: Bytes,
    /// When it came.
    pub arrival: Time,
}

/// What waits before a bottleneck. `now` never goes back.
pub trait Queue<P>: Send {
    /// Takes a packet in at its arrival, or drops it or others.
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>);

    /// The packet that goes next, at `now`; `None` only when the queue is empty.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Waiting<P>>;

    /// What waits, in packets and in the bytes that they occupy.
    fn backlog(&self) -> Tally;

    /// How many packets it has marked with congestion experienced.
    fn marked(&self) -> u64 {
        0
    }
}

impl<P, Q: Queue<P> + ?Sized> Queue<P> for Box<Q> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        (**self).enqueue(waiting, drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Waiting<P>> {
        (**self).dequeue(now, drops)
    }

    fn backlog(&self) -> Tally {
        (**self).backlog()
    }

    fn marked(&self) -> u64 {
        (**self).marked()
    }
}
