//! Which queues there are: a line for each, here and nowhere else. What is to be said of one stands beside its law.

use trialwise_units::element::Declared;
use trialwise_units::elements;

use super::Queue;
use super::codel::{CoDelSpec, MahimahiCoDelSpec};
use super::drop_head::DropHeadSpec;
use super::drop_tail::{DropTailSpec, InfiniteSpec};
use super::dualpi2::DualPi2Spec;
use super::fq_codel::FqCoDelSpec;
use super::pie::PieSpec;
use super::pie_mahimahi::MahimahiPieSpec;
use super::red::RedSpec;
use crate::error::SpecError;
use crate::packet::Packet;
use crate::queue::Surroundings;

/// A queue that can be chosen by name.
pub(crate) trait DeclaredQueue: Declared {
    /// The queue, empty.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError>;
}

elements! {
    /// A queue as written. Defaults are those of its RFC; where that has none, of Linux (limits of 1000 packets, fq_codel 10240).
    #[derive(Clone, Debug, PartialEq)]
    pub enum QueueSpec of "queue", queue! {
        Infinite(InfiniteSpec),
        DropTail(DropTailSpec),
        DropHead(DropHeadSpec),
        CoDel(CoDelSpec),
        Pie(PieSpec),
        FqCoDel(FqCoDelSpec),
        Red(RedSpec),
        DualPi2(DualPi2Spec),
        MahimahiCoDel(MahimahiCoDelSpec),
        MahimahiPie(MahimahiPieSpec),
    }
}

impl QueueSpec {
    /// The queue, empty.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    pub fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        queue!(self, spec => spec.build(surroundings))
    }
}
