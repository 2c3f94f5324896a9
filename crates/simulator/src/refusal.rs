//! What the simulator refuses, and why.

use trialwise_congestion::BuildError;

use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::HostId;
use crate::settings::{Dropping, Settings};
use crate::topology::TopologyError;

/// Payload and headers of a packet stay below this.
const MAX_SEGMENT: u64 = 65_000;

/// Why a trial cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// More than the simulator can number.
    #[error("{count} {what} are more than the {limit} that fit: split the trial")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many fit.
        limit: usize,
    },
    /// A flow begins before the one above it.
    #[error("flow {0} starts before the flow above it: sort the list by start")]
    Unsorted(u64),
    /// Flows wait for one another.
    #[error("flows wait for one another and none can start: {0}; take one of these waits away")]
    Cycle(String),
    /// A flow without payload.
    #[error("flow {0} has size 0: a flow carries at least one byte")]
    Empty(u64),
    /// A flow with an end that is no host, or two ends that are the same.
    #[error(
        "flow {flow} goes from node {from} to node {to}: both must be hosts of the topology, and different ones"
    )]
    Ends {
        /// The flow.
        flow: u64,
        /// Its source.
        from: u32,
        /// Its destination.
        to: u32,
    },
    /// A flow in a class that is none of data.
    #[error("flow {flow} is in class {class}: classes of data are 1 to 7")]
    Class {
        /// The flow.
        flow: u64,
        /// Its class.
        class: u8,
    },
    /// A parameter of the network is out of range.
    #[error("{name} is {value}: {allowed}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A parameter that decides nothing beside the others.
    #[error("alpha goes with pfc=false: with pfc, pfc_shift says what a class may hold of the free buffer")]
    UnusedAlpha,
    /// Faults are not in order of time, or name no link.
    #[error("fault {0}: give faults in order of time, each with a link of the topology")]
    Fault(usize),
    /// A part of the network cannot stand by itself.
    #[error("a part of the network: {0}")]
    Part(#[from] TopologyError),
    /// The observer ended it.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The controller refuses its path.
    #[error(transparent)]
    Controller(#[from] BuildError),
}

/// Refuses settings that do not go with each other or with the fabric.
pub(crate) fn check_settings(fabric: &Fabric, settings: &Settings) -> Result<(), SimulationError> {
    let setting = |name, value, allowed| Err(SimulationError::Setting { name, value, allowed });
    let segment = settings.segment.get();
    if !(1..=MAX_SEGMENT).contains(&segment) {
        return setting("segment", segment, "a packet carries from 1 to 65000 bytes");
    }
    let overhead = settings.header.get().max(settings.acknowledgement.get());
    if overhead > 400 {
        return setting("header", overhead, "headers and acknowledgements have at most 400 bytes");
    }
    if !(1..=7).contains(&settings.priorities.data) {
        return setting("priorities.data", u64::from(settings.priorities.data), "classes of data are 1 to 7");
    }
    if let Some(marking) = settings.marking.filter(|marking| marking.minimum > marking.maximum) {
        return setting("kmin", marking.minimum.get(), "it is at most kmax");
    }
    if settings.flow_control.is_some() && settings.dropping != Dropping::DEFAULT {
        return Err(SimulationError::UnusedAlpha);
    }
    let links = fabric.topology().links.len();
    let ordered = |place: usize| place == 0 || settings.faults[place - 1].time <= settings.faults[place].time;
    let unsound = |place: &usize| settings.faults[*place].link >= links || !ordered(*place);
    match (0..settings.faults.len()).find(unsound) {
        Some(place) => Err(SimulationError::Fault(place)),
        None => Ok(()),
    }
}

/// Refuses a list that cannot run; every trial and every surrogate of one asks here. A list may be empty, as a random
/// one is now and then: that trial ends as it begins.
pub(crate) fn check_flows(fabric: &Fabric, flows: &[FlowSpecification]) -> Result<(), SimulationError> {
    check_count(flows.len())?;
    if let Some(pair) = flows.windows(2).find(|pair| pair[1].start < pair[0].start) {
        return Err(SimulationError::Unsorted(pair[1].id));
    }
    flows.iter().try_for_each(|flow| check_flow(fabric, flow).map(|_| ()))
}

pub(crate) const fn check_count(count: usize) -> Result<(), SimulationError> {
    if count >= INDEX_LIMIT {
        return Err(SimulationError::TooMany { what: "flows", count, limit: INDEX_LIMIT });
    }
    Ok(())
}

/// The ends of a sound flow.
pub(crate) fn check_flow(
    fabric: &Fabric,
    flow: &FlowSpecification,
) -> Result<(HostId, HostId), SimulationError> {
    if flow.size.get() == 0 {
        return Err(SimulationError::Empty(flow.id));
    }
    if let Some(class) = flow.class.filter(|class| !(1..=7).contains(class)) {
        return Err(SimulationError::Class { flow: flow.id, class });
    }
    let ends = fabric.host(flow.source).zip(fabric.host(flow.destination));
    ends.filter(|(source, destination)| source != destination).ok_or(SimulationError::Ends {
        flow: flow.id,
        from: flow.source.get(),
        to: flow.destination.get(),
    })
}
