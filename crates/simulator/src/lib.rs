//! Packet-level event simulator of data-centre networks: hosts with paced network cards, switches with a
//! shared buffer, priority flow control, ECN marks and telemetry, and any congestion controller of
//! `trialwise-congestion`.
//!
//! Time is whole picoseconds and a trial is a function of its arguments: the same flows, settings and seed
//! give the same bits on every machine and with any number of threads. [`Mode::Compatible`] follows the
//! public HPCC simulator flow by flow in nanoseconds. [`path`] simulates flows over an emulated path.
//!
//! ```
//! use trialwise_congestion::Algorithm;
//! use trialwise_simulator::{Arrivals, Fabric, Load, Pattern, Settings, Workload, simulate};
//! use trialwise_units::{Duration, Rate, Seed};
//!
//! let line = Rate::from_megabits_per_second(100_000);
//! let fabric = Fabric::new("dumbbell:10x10,100Gbit/s,1us".parse()?)?;
//! let workload = Workload {
//!     sizes: "websearch".parse()?,
//!     arrivals: Arrivals::POISSON,
//!     pattern: Pattern::ONE_WAY,
//!     load: Load::Bottleneck(0.3),
//!     duration: Duration::from_milliseconds(1),
//! };
//! let flows = workload.generate(&fabric, Seed::new(1))?;
//! let algorithm = Algorithm::named("hpcc", line)?;
//! let outcome = simulate(&fabric, &Settings::for_algorithm(&algorithm, line), &algorithm, &flows)?;
//! assert!(outcome.flows.iter().all(|record| record.slowdown().is_some_and(|slowdown| slowdown > 0.9)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The example of the page on controllers.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/add-a-controller.md")]
struct AddAController;

mod buffer;
mod cautions;
mod configuration;
mod crossings;
mod decomposition;
mod empty_paths;
mod event;
mod fabric;
mod flight;
mod flow;
mod flow_list;
mod flow_routes;
mod fluid;
mod framing;
mod graph;
mod groups;
mod index;
mod jobs;
mod link_kind;
mod marking;
mod metrics;
mod network;
mod packet;
mod parameters;
pub mod path;
mod paths;
mod port;
mod quantity;
mod random;
mod refusal;
mod routing;
mod run;
mod scheduling;
mod series;
mod settings;
mod source;
mod timing;
mod topology;
mod topology_file;
mod wheel;
mod workload;

pub use cautions::{Caution, cautions};
pub use configuration::{Configuration, ConfigurationError, settings_for};
pub use decomposition::{Estimate, Look, Sample, Whole, estimate_links, estimate_paths};
pub use empty_paths::{KnownPath, PathFacts};
pub use fabric::Fabric;
pub use flow::{FlowSpecification, FlowView};
pub use flow_list::{
    FlowList, FlowListError, read_csv, read_flows, read_hpcc, read_matrix, write_csv, write_hpcc,
    write_results_csv,
};
pub use flow_routes::FlowRoute;
pub use fluid::{
    Features, FluidSettings, Quantity, Statistic, Summary, Surrogate, SurrogateError, fluid, fluid_observed,
    surrogate_batch, surrogate_batch_observed, surrogate_samples_observed,
};
pub use framing::Framing;
pub use graph::{Awaited, FlowGraph, JobRecord, Moment, Step};
pub use index::{FlowId, HostId, NodeId, PortId};
pub use jobs::Job;
pub use metrics::{FlowRecord, Outcome, Phase, Phases, Totals};
pub use network::{EVENTS_BETWEEN_LOOKS, Observer, Progress, Snapshot};
pub use parameters::{NETWORK_PARAMETERS, ParameterError, ValueError, controller_parameters, set_controller};
pub use port::PortStatistics;
pub use quantity::{QuantityError, parse_bytes, parse_duration, parse_fraction, parse_rate};
pub use random::Random;
pub use refusal::SimulationError;
pub use routing::RouteOrder;
pub use run::{
    GraphOutcome, Trial, check, simulate, simulate_batch, simulate_graph, simulate_observed,
    simulate_on_threads, simulate_source,
};
pub use series::Series;
pub use settings::{
    Dropping, Fault, FlowControl, Marking, Mode, PathKnowledge, Priorities, Recovery, Scheduling, Settings,
    Weights,
};
pub use source::FlowSource;
pub use topology::{Link, Topology, TopologyError};
pub use workload::{
    Arrivals, Density, Fullest, Generator, Load, Pattern, Point, SizeDistribution, SizeError, SizeTable,
    SwitchingFlows, Uniforms, WeightedFinish, Workload, WorkloadError,
};
