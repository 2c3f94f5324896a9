//! Emulated one-way links without I/O: traces, queues, delay and loss, generic over the packet.
//!
//! A [`Link`] is a row of elements. Whoever holds it passes `now` in: an emulator with real packets and a clock, or a
//! simulator with neither. There is no clock, socket, thread or file here, and no allocation for each packet once the
//! rings have grown to what the link holds.
//!

mod element;
mod link;
mod packet;
mod queue;
mod random;
mod rate;
mod trace;

pub use element::{Cause, Dropped, Drops, Gate, Stage, Verdict};
pub use link::{Counters, Exit, Fate, Link};
pub use packet::{Ecn, Packet, Tally};
pub use queue::{DropHead, DropTail, Limit, Queue, Waiting};
pub use rate::{ConstantRate, TraceRate};
pub use trace::{
    ByteConvention, Cellular, MAXIMUM_MILLISECOND, MAXIMUM_OPPORTUNITIES, OnOff, Phases, Repeat, Schedule,
    Trace, TraceError,
};
