//! Emulated one-way links without I/O: traces, queues, delay and loss, generic over the packet.
//!
//! A [`Link`] is a row of elements. Whoever holds it passes `now` in: an emulator with real packets and a
//! clock, or a simulator with neither. There is no clock, socket, thread or file here, and no allocation for
//! each packet once the rings have grown to what the link holds.
//!
//! ```
//! use trialwise_link::{ConstantRate, Delay, DropTail, Fate, Limit, Link, OrderedDelay, Packet};
//! use trialwise_units::{Bytes, Duration, Rate, Time};
//!
//! #[derive(Clone)]
//! struct Full;
//! impl Packet for Full {
//!     fn size(&self) -> Bytes {
//!         Bytes::new(1500)
//!     }
//! }
//!
//! let queue = DropTail::new(Limit::packets(1));
//! let mut link = Link::new()
//!     .stage("rate", ConstantRate::new(Rate::from_megabits_per_second(12), Bytes::ZERO, queue))
//!     .stage("delay", OrderedDelay::new(Delay::fixed(Duration::from_milliseconds(28))));
//! for _ in 0..3 {
//!     link.push(Time::ZERO, Full);
//! }
//! // One is sent, one waits, one finds the queue full. However late we ask, times are those of the model.
//! let late = Time::from_milliseconds(500);
//! let exits = std::iter::from_fn(|| link.pop(late));
//! let exits: Vec<_> = exits.map(|exit| (exit.time.milliseconds(), exit.fate)).collect();
//! assert!(matches!(exits[0], (0, Fate::Dropped { element: 0, .. })));
//! assert_eq!(exits[1..], [(29, Fate::Delivered), (30, Fate::Delivered)]);
//! ```

mod corruption;
mod course;
mod delay;
mod duplication;
mod ecn_gate;
mod element;
mod error;
mod handover;
mod link;
pub mod log;
mod loss;
mod outage;
mod packet;
mod path_mtu;
mod policer;
mod queue;
mod radio;
mod random;
mod range;
mod rate;
mod series;
mod spans;
mod spec;
mod trace;

pub use corruption::{Checksum, CorruptSpec, Corruption};
pub use course::{CourseSpec, Part, RecordingError, check_recording};
pub use delay::{BatchSpec, Batches, Delay, DelaySpec, Distribution, OrderedDelay, ReorderingDelay};
pub use duplication::{DuplicateSpec, Duplication};
pub use ecn_gate::{EcnGate, EcnSpec};
pub use element::{Cause, Dropped, Drops, Gate, Stage, Verdict};
pub use error::SpecError;
pub use handover::{Handover, HandoverSpec};
pub use link::{Counters, Exit, Fate, Link};
pub use loss::{
    Bernoulli, GilbertElliott, GilbertElliottParameters, LossSpec, Pattern, PatternError, PatternLoss,
    VaryingLoss,
};
pub use outage::{Outage, OutageSpec};
pub use packet::{Packet, Tally};
pub use path_mtu::{BlackHole, PathMtuSpec};
pub use policer::{Policer, PolicerSpec};
pub use queue::{
    CoDel, CoDelParameters, CoDelVariant, DropHead, DropTail, DualPi2, DualPi2Parameters, FqCoDel,
    FqCoDelParameters, Limit, LimitSpec, MahimahiPie, MahimahiPieParameters, Pie, PieParameters, Queue,
    QueueSpec, Red, RedParameters, Surroundings, Waiting,
};
pub use radio::RadioSpec;
pub use rate::{ConstantRate, RateSpec, TraceRate};
pub use series::{Series, SeriesError};
pub use spec::{ElementSpec, LinkSpec};
pub use trace::{
    ByteConvention, Cellular, MAXIMUM_MILLISECOND, MAXIMUM_OPPORTUNITIES, OnOff, Phases, Repeat, Schedule,
    Trace, TraceError,
};
pub use trialwise_units::Ecn;
