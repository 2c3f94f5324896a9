//! Trials: checked, run, and run many at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use trialwise_congestion::{BuildError, Context, Controller, Factory};
use trialwise_units::Time;

use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::{Flow, FlowSpecification, Stage, Transport, TransportId, UNLIMITED};
use crate::index::{FlowId, HostId, NodeId};
use crate::metrics::{FlowRecord, Outcome};
use crate::network::Network;
use crate::observer::Observer;
use crate::settings::{PathKnowledge, Settings};

/// The first source port of a pair, as in the HPCC simulator.
const FIRST_SOURCE_PORT: u32 = 10_000;
/// Payload and headers of a packet stay below this.
const LARGEST_SEGMENT: u64 = 65_000;

/// Why a trial cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// There is nothing to send.
    #[error("the flow list is empty: a longer duration or a higher load gives flows")]
    NoFlows,
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
    /// Faults are not in order of time, or name no link.
    #[error("fault {0}: give faults in order of time, each with a link of the topology")]
    Fault(usize),
    /// The observer ended it.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The controller refuses its path.
    #[error(transparent)]
    Controller(#[from] BuildError),
}

/// Runs one trial: the flows in order of start, until the last ends or [`Settings::stop`] comes.
///
/// The same arguments give the same bits on every machine.
pub fn simulate(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
) -> Result<Outcome, SimulationError> {
    simulate_observed(fabric, settings, factory, flows, &mut ())
}

/// The same, with somebody who looks.
pub fn simulate_observed(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
    observer: &mut impl Observer,
) -> Result<Outcome, SimulationError> {
    check_settings(fabric, settings)?;
    check_flows(flows)?;
    let states = flow_states(fabric, flows)?;
    let starts = flows.iter().map(|flow| flow.start).collect();
    let mut network = Network::new(fabric, settings, factory, states, starts);
    network.run(observer);
    match network.refused.take() {
        Some(refusal) => Err(refusal.into()),
        None if network.interrupted => Err(SimulationError::Interrupted),
        None => Ok(outcome(&network, flows)),
    }
}

/// Refuses what [`simulate`] refuses, and a controller that refuses the longest path; nothing runs. Flows may
/// come later.
pub fn check(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: Option<&[FlowSpecification]>,
) -> Result<(), SimulationError> {
    check_settings(fabric, settings)?;
    if let Some(flows) = flows {
        check_flows(flows)?;
        flow_states(fabric, flows)?;
    }
    let (round_trip, window) = fabric.extremes();
    let context = Context {
        now: Time::ZERO,
        segment: settings.segment,
        line_rate: (fabric.host_count() > 0).then(|| fabric.host_rate(HostId::new(0))),
        base_rtt: Some(round_trip),
        path_window: Some(window),
    };
    factory.build(&context)?;
    Ok(())
}

/// One trial of a batch.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The parameters of the network.
    pub settings: Settings,
    /// The flows.
    pub flows: Vec<FlowSpecification>,
}

/// Runs trials on `threads` threads; outcomes come in the order of the trials and do not depend on the number
/// of threads.
pub fn simulate_batch(
    fabric: &Fabric,
    factory: &dyn Factory,
    trials: &[Trial],
    threads: usize,
) -> Vec<Result<Outcome, SimulationError>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut outcomes: Vec<_> =
        std::iter::repeat_with(|| Err(SimulationError::NoFlows)).take(trials.len()).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, trials.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((place, trial)) = claim(trials, next) {
                    let outcome = simulate(fabric, &trial.settings, factory, &trial.flows);
                    if sender.send((place, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.iter().for_each(|(place, outcome)| outcomes[place] = outcome);
    });
    outcomes
}

fn claim<'a>(trials: &'a [Trial], next: &AtomicUsize) -> Option<(usize, &'a Trial)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    trials.get(place).map(|trial| (place, trial))
}

fn check_settings(fabric: &Fabric, settings: &Settings) -> Result<(), SimulationError> {
    let setting = |name, value, allowed| Err(SimulationError::Setting { name, value, allowed });
    let segment = settings.segment.get();
    if !(1..=LARGEST_SEGMENT).contains(&segment) {
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
    let links = fabric.topology().links.len();
    let ordered = |place: usize| place == 0 || settings.faults[place - 1].time <= settings.faults[place].time;
    let unsound = |place: &usize| settings.faults[*place].link >= links || !ordered(*place);
    match (0..settings.faults.len()).find(unsound) {
        Some(place) => Err(SimulationError::Fault(place)),
        None => Ok(()),
    }
}

fn check_flows(flows: &[FlowSpecification]) -> Result<(), SimulationError> {
    if flows.is_empty() {
        return Err(SimulationError::NoFlows);
    }
    if flows.len() >= INDEX_LIMIT {
        return Err(SimulationError::TooMany { what: "flows", count: flows.len(), limit: INDEX_LIMIT });
    }
    if let Some(pair) = flows.windows(2).find(|pair| pair[1].start < pair[0].start) {
        return Err(SimulationError::Unsorted(pair[1].id));
    }
    match flows.iter().find(|flow| flow.size.get() == 0) {
        Some(flow) => Err(SimulationError::Empty(flow.id)),
        None => Ok(()),
    }
}

fn flow_states(fabric: &Fabric, flows: &[FlowSpecification]) -> Result<Vec<Flow>, SimulationError> {
    let mut source_ports: HashMap<(NodeId, NodeId), u32> = HashMap::new();
    let state = |flow: &FlowSpecification| {
        let ends = fabric.host(flow.source).zip(fabric.host(flow.destination));
        let (source, destination) =
            ends.filter(|(source, destination)| source != destination).ok_or(SimulationError::Ends {
                flow: flow.id,
                from: flow.source.get(),
                to: flow.destination.get(),
            })?;
        let port = source_ports.entry((flow.source, flow.destination)).or_insert(FIRST_SOURCE_PORT);
        *port += 1;
        Ok(new_flow(flow, source, destination, *port - 1))
    };
    flows.iter().map(state).collect()
}

fn new_flow(flow: &FlowSpecification, source: HostId, destination: HostId, source_port: u32) -> Flow {
    Flow {
        size: flow.size.get(),
        sent: 0,
        acknowledged: 0,
        window: UNLIMITED,
        next_departure: Time::ZERO,
        rate: UNLIMITED,
        stage: Stage::Waiting(0),
        source,
        destination,
        destination_node: flow.destination,
        source_node: flow.source,
        last_wire: 0,
        transport: TransportId::NONE,
        source_port,
        expected: 0,
        gap: UNLIMITED,
        gap_report_after: Time::ZERO,
    }
}

fn outcome(network: &Network<'_>, flows: &[FlowSpecification]) -> Outcome {
    let record = |(flow, specification): (&Flow, &FlowSpecification)| FlowRecord {
        specification: *specification,
        finish: match flow.stage {
            Stage::Finished(time) => Some(time),
            Stage::Waiting(_) | Stage::Active => None,
        },
        ideal: network.fabric.path(flow.source, flow.destination).ideal(flow.size),
    };
    Outcome {
        flows: network.flows.iter().zip(flows).map(record).collect(),
        totals: network.final_totals(),
        ports: network.ports.iter().map(|port| port.statistics_until(network.now)).collect(),
        end: network.now,
    }
}

impl Network<'_> {
    /// The flow gets its controller and joins its host.
    pub(crate) fn begin(&mut self, id: FlowId) {
        let flow = &self.flows[id.index()];
        let host = flow.source;
        let context = self.context(flow);
        match self.factory.build(&context) {
            Ok(controller) => {
                debug_assert!(controller.timers().len() <= crate::flow::CONTROLLER_TIMERS);
                let transport = self.transports.insert(Transport::new(controller));
                let flow = &mut self.flows[id.index()];
                flow.transport = transport;
                flow.stage = Stage::Active;
                flow.next_departure = self.now;
                self.take_over(id);
                self.add_active(host, id);
            }
            Err(refusal) => self.refused = Some(refusal),
        }
    }

    /// What the controller of this flow is told about its path.
    fn context(&self, flow: &Flow) -> Context {
        let (round_trip, window) = match self.settings.path_knowledge {
            PathKnowledge::Largest => self.fabric.extremes(),
            PathKnowledge::Own => {
                let path = self.fabric.path(flow.source, flow.destination);
                (path.round_trip, path.window())
            }
        };
        Context {
            now: self.now,
            segment: self.settings.segment,
            line_rate: Some(self.fabric.host_rate(flow.source)),
            base_rtt: Some(round_trip),
            path_window: Some(window),
        }
    }
}
