//! Flows over an emulated path, without real packets: the links of [`trialwise_link`] that an emulator would drive, and
//! the two ends of [`trialwise_protocol`] that the UDP transport would drive. What a controller of
//! [`trialwise_congestion`] does over real UDP, it does here.
//!
//! A trial is a function of its arguments. Time is whole picoseconds, what starts at the same instant does so in the
//! order of the flows, and nothing takes time but the links: machines are infinitely fast, each packet is acknowledged
//! by itself and at once.
//!
//! ```
//! use std::ops::ControlFlow;
//! use trialwise_link::LinkSpec;
//! use trialwise_protocol::{load::{Bulk, Load}, scheme::{IpVersion, Marking, Scheme}};
//! use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
//! use trialwise_units::{Duration, Seed, Time};
//!
//! let none = |path: &str| Err(format!("{path} is not read"));
//! let pairs = [("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
//! let link = LinkSpec::from_pairs(pairs, &none)?;
//! let flow = PathFlow {
//!     scheme: Scheme::named("cubic", 1500, IpVersion::Four, Marking::Declared)?,
//!     congestion: "cubic".to_owned(),
//!     load: Load::Bulk(Bulk),
//!     load_text: "bulk".to_owned(),
//!     direction: Direction::Forward,
//!     start: Time::ZERO,
//!     stop: Time::from_milliseconds(10_000),
//! };
//! let path = SimulatedPath {
//!     forward: link.clone(),
//!     backward: link,
//!     seed: Seed::new(1),
//!     interval: Some(Duration::from_milliseconds(10)),
//! };
//! let outcome = path.simulate(&[flow], &mut |_| ControlFlow::Continue(()))?;
//! assert!(outcome.packets.time.len() > 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connection;
mod flow;
mod log;
mod packet;
mod run;

use std::ops::ControlFlow;

use trialwise_link::{LinkSpec, SpecError};
use trialwise_protocol::load::Load;
use trialwise_protocol::report::Ending;
use trialwise_protocol::scheme::{Scheme, SchemeError};
use trialwise_units::{Duration, Seed, Time};

pub use log::PacketColumns;

use crate::path::run::Run;

/// A path to simulate.
#[derive(Clone, Debug)]
pub struct SimulatedPath {
    /// From the sender to the receiver.
    pub forward: LinkSpec,
    /// From the receiver to the sender.
    pub backward: LinkSpec,
    /// Of everything random in the links and the controllers.
    pub seed: Seed,
    /// Between samples of each connection in the reports; none for reports without samples.
    pub interval: Option<Duration>,
}

/// A sender and a receiver at work on a path; all connections of its load have the same controller, each its own.
#[derive(Clone)]
pub struct PathFlow {
    /// Its controller and packets.
    pub scheme: Scheme,
    /// The controller as it was asked for, for the report.
    pub congestion: String,
    /// What it carries.
    pub load: Load,
    /// The load as it was written, for the report.
    pub load_text: String,
    /// The way of its data.
    pub direction: Direction,
    /// When its sender starts.
    pub start: Time,
    /// When it is ended, whatever is left of its load.
    pub stop: Time,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Backward,
}

/// What a trial gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOutcome {
    /// What became of each packet.
    pub packets: PacketColumns,
    /// In the order of the flows.
    pub flows: Vec<FlowOutcome>,
    /// When the last flow had ended.
    pub end: Time,
}

/// What a flow came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// `Complete` where its load was done before it was ended, else `Time`.
    pub ended: Ending,
    /// The report of its sender, as the UDP transport writes it; its times are nanoseconds of the simulation.
    pub report: Vec<u8>,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A link that cannot be built.
    #[error(transparent)]
    Link(#[from] SpecError),
    /// A flow whose controller cannot be made.
    #[error("flow {flow}: {source}")]
    Scheme {
        /// Which, from 1.
        flow: usize,
        /// Why.
        source: SchemeError,
    },
    /// Nothing holds a flow back.
    #[error(
        "more than {0} packets are on the path or leave at once: nothing holds a flow back; give the links a rate and a delay, \
         or the flow a load that is not bulk"
    )]
    Boundless(u32),
    /// More packets than are kept.
    #[error("the flows send more than {0} packets: take a shorter time or a lower rate")]
    TooLong(u32),
    /// Whoever watched ended it.
    #[error("the simulation was interrupted")]
    Interrupted,
}

/// Sees the time after each instant at which something happened, and may end the trial.
pub type Watch<'a> = dyn FnMut(Time) -> ControlFlow<()> + 'a;

impl SimulatedPath {
    /// Runs the flows until the last of them has ended.
    ///
    /// # Errors
    /// `Link` for a limit in BDPs without delay or a rate that cannot be made, `Scheme` for a controller that cannot be,
    /// `Boundless` and `TooLong` for more packets than memory should hold, `Interrupted` where `watch` broke off.
    pub fn simulate(&self, flows: &[PathFlow], watch: &mut Watch<'_>) -> Result<PathOutcome, PathError> {
        let round_trip = Some(self.forward.base_delay() + self.backward.base_delay());
        // The names are those of the emulator: the same seed makes the same links there.
        let links = [
            self.forward.build(Time::ZERO, self.seed.named("forward"), round_trip)?,
            self.backward.build(Time::ZERO, self.seed.named("backward"), round_trip)?,
        ];
        Run::new(links, self.seed.named("controllers"), flows, self.interval).run(watch)
    }
}

impl Direction {
    const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}
