//! Flows that a source gives while the trial runs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Fabric, FlowId, FlowSource, FlowSpecification, Load, Outcome, Pattern, Settings,
    SimulationError, Workload, simulate, simulate_source,
};
use trialwise_units::{Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

/// A list that notes what it is told, and when.
struct Noting {
    flows: Vec<FlowSpecification>,
    given: usize,
    finishes: Vec<(FlowId, Time)>,
    /// How many ends were known when each flow was asked for.
    known: Vec<usize>,
}

impl FlowSource for Noting {
    fn next_start(&mut self) -> Option<Time> {
        self.flows.get(self.given).map(|flow| flow.start)
    }

    fn next_flow(&mut self) -> FlowSpecification {
        self.known.push(self.finishes.len());
        self.given += 1;
        self.flows[self.given - 1]
    }

    fn on_finish(&mut self, flow: FlowId, finish: Time) {
        self.finishes.push((flow, finish));
    }
}

fn fabric() -> Fabric {
    Fabric::new("dumbbell:4x4,100Gbit/s,1us".parse().unwrap()).unwrap()
}

fn flows(fabric: &Fabric) -> Vec<FlowSpecification> {
    let workload = Workload {
        sizes: "websearch".parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern: Pattern::ONE_WAY,
        load: Load::Bottleneck(0.5),
        duration: Duration::from_milliseconds(4),
    };
    workload.generate(fabric, Seed::new(3)).unwrap()
}

fn run(fabric: &Fabric, source: &mut Noting) -> Result<Outcome, SimulationError> {
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    simulate_source(fabric, &Settings::for_algorithm(&algorithm, LINE), &algorithm, source, &mut ())
}

#[test]
fn a_source_that_gives_a_list_is_that_list() {
    let fabric = fabric();
    let flows = flows(&fabric);
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let listed = simulate(&fabric, &Settings::for_algorithm(&algorithm, LINE), &algorithm, &flows).unwrap();
    let mut source = Noting { flows, given: 0, finishes: Vec::new(), known: Vec::new() };
    assert_eq!(run(&fabric, &mut source).unwrap(), listed);

    let mut ends: Vec<_> =
        listed.flows.iter().enumerate().map(|(place, flow)| (flow.finish.unwrap(), place)).collect();
    ends.sort_unstable();
    let told: Vec<_> = source.finishes.iter().map(|(flow, finish)| (*finish, flow.index())).collect();
    assert_eq!(told, ends);
    for (flow, known) in source.flows.iter().zip(&source.known) {
        assert_eq!(*known, ends.iter().filter(|(finish, _)| *finish < flow.start).count());
    }
}

#[test]
fn a_source_out_of_order_is_refused() {
    let fabric = fabric();
    let mut flows = flows(&fabric);
    flows.swap(1, 2);
    let id = flows[2].id;
    let mut source = Noting { flows, given: 0, finishes: Vec::new(), known: Vec::new() };
    assert_eq!(run(&fabric, &mut source).unwrap_err(), SimulationError::Unsorted(id));
}

#[test]
fn a_source_without_flows_gives_an_empty_outcome() {
    let mut source = Noting { flows: Vec::new(), given: 0, finishes: Vec::new(), known: Vec::new() };
    assert!(run(&fabric(), &mut source).unwrap().flows.is_empty());
}
