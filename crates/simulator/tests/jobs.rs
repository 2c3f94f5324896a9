//! Flows that wait for others, against closed forms.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Awaited, Fabric, Fault, FlowGraph, FlowSpecification, GraphOutcome, Job, Load, Moment, NodeId,
    Pattern, Settings, Step, Workload, simulate, simulate_graph,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
/// Eight hosts on one switch.
const STAR: &str = "leaf-spine:1x1x8,100Gbit/s,1us";
/// Nanoseconds that a packet of 1000 bytes and its headers takes on a link, and an acknowledgement, which goes the other way.
const PACKET: f64 = 83.84;
const ACKNOWLEDGEMENT: f64 = 4.8;
/// Of a link that carries as much data one way as the other.
const BOTH: f64 = PACKET + ACKNOWLEDGEMENT;
/// From the begin of the last packet on the first link to its arrival behind a switch.
const WAY: f64 = PACKET + 2000.0;

fn fabric(text: &str) -> Fabric {
    Fabric::new(text.parse().unwrap()).unwrap()
}

fn run(topology: &str, graph: &FlowGraph, change: impl FnOnce(&mut Settings)) -> GraphOutcome {
    let fabric = fabric(topology);
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let mut settings = Settings::for_algorithm(&algorithm, LINE);
    change(&mut settings);
    simulate_graph(&fabric, &settings, &algorithm, graph, &mut ()).unwrap()
}

/// The job completion time in nanoseconds.
fn completion(topology: &str, job: &str) -> f64 {
    let job: Job = job.parse().unwrap();
    let graph = job.graph(&fabric(topology), Seed::new(1)).unwrap();
    let found = run(topology, &graph, |_| {});
    assert_eq!(found.records.len(), 1);
    found.records[0].completion_time().unwrap().picoseconds() as f64 / 1e3
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
}

/// Every round takes a chunk of 1 MB and the way of its last packet; every host sends and receives all the time, so that
/// acknowledgements take their part of every link.
#[test]
fn a_ring_takes_its_rounds() {
    let round = 1000.0 * BOTH + WAY;
    close(completion(STAR, "ring-all-reduce:8MB"), 14.0 * round, 2e-3);
    close(completion(STAR, "ring-all-gather:8MB"), 7.0 * round, 2e-3);
    // 2 (n - 1) / n of the data at the rate of the links.
    close(completion(STAR, "ring-all-reduce:80MB"), 14.0 / 8.0 * 80e6 / 1000.0 * BOTH, 0.01);
    let twice = completion(STAR, "ring-all-reduce:8MB,repeat=2,compute=1ms");
    close(twice, 2.0 * (14.0 * round + 1e6), 2e-3);
}

/// Of three hosts each tree has a root and two leaves: the root receives both leaves' halves on one link, and acknowledgements of the
/// half that it sends as a leaf of the other tree; then it sends as much.
#[test]
fn trees_take_what_their_roots_receive_and_send() {
    let direction = 8e6 / 1000.0 * (PACKET + ACKNOWLEDGEMENT / 2.0) + WAY;
    close(completion(STAR, "tree-all-reduce:8MB,hosts=3"), 2.0 * direction, 0.02);
    // Two hosts exchange half of the data, then the other half.
    close(completion(STAR, "tree-all-reduce:8MB,hosts=2"), 2.0 * (4e6 / 1000.0 * BOTH + WAY), 2e-3);
    let bound = 2.0 * 8e6 / 1000.0 * PACKET;
    let [whole, chunked] =
        ["", ",chunks=16"].map(|chunks| completion(STAR, &format!("tree-all-reduce:8MB{chunks}")));
    assert!(bound < chunked && chunked < whole, "{bound} {chunked} {whole}");
}

/// Every link of a host carries (n - 1) / n of its data.
#[test]
fn an_exchange_takes_what_a_link_carries() {
    let bound = 7.0 / 8.0 * 8e6 / 1000.0 * BOTH;
    let found = completion(STAR, "all-to-all:8MB");
    close(found, bound + WAY, 0.03);
    let layers = completion(STAR, "mixture-of-experts:8MB,layers=2,expert=1ms");
    close(layers, 2.0 * (2.0 * found + 1e6), 0.03);
}

/// GPipe: m microbatches over p stages take m + p - 1 turns each way, and the first and the last way between stages.
#[test]
fn a_pipeline_takes_its_turns_and_its_bubble() {
    let way = 1000.0 * PACKET + WAY;
    let found = completion(STAR, "pipeline:1MB,hosts=4,microbatches=6,forward=200us,backward=300us");
    close(found, (6.0 + 4.0 - 1.0) * 500e3 + 2.0 * 3.0 * way, 1e-3);
}

fn step(id: u64, source: u32, destination: u32, bytes: u64) -> Step {
    let ends = (NodeId::new(source), NodeId::new(destination));
    let flow = FlowSpecification::new(id, ends.0, ends.1, Bytes::new(bytes), Time::ZERO);
    Step { flow: Some(flow), earliest: Time::ZERO, delay: Duration::ZERO, job: Some(0) }
}

#[test]
fn a_flow_starts_when_what_it_waits_for_is_over() {
    let mut graph = FlowGraph::default();
    graph.add(step(0, 0, 1, 1000), &[]);
    graph.add(step(1, 1, 2, 1000), &[Awaited { step: 0, moment: Moment::Received }]);
    graph.add(step(2, 0, 2, 1000), &[Awaited { step: 0, moment: Moment::Acknowledged }]);
    let late = Step { delay: Duration::from_microseconds(50), ..step(3, 3, 4, 1000) };
    graph.add(late, &[Awaited::received(1), Awaited::received(2)]);
    let found = run(STAR, &graph, |_| {});
    let starts: Vec<_> =
        found.outcome.flows.iter().map(|flow| flow.specification.start.picoseconds() as f64 / 1e3).collect();
    let received = 2.0 * PACKET + 2000.0;
    let acknowledged = received + 2.0 * ACKNOWLEDGEMENT + 2000.0;
    assert_eq!(
        found.outcome.flows.iter().map(|flow| flow.specification.id).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    for (start, expected) in
        starts.into_iter().zip([0.0, received, acknowledged, acknowledged + received + 50e3])
    {
        assert!((start - expected).abs() < 0.01, "{start} instead of {expected}");
    }
}

#[test]
fn a_graph_without_waits_is_its_list() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    let workload = Workload {
        sizes: "websearch".parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern: Pattern::ALL_TO_ALL,
        load: Load::Host(0.5),
        duration: Duration::from_milliseconds(1),
    };
    let flows = workload.generate(&fabric, Seed::new(3)).unwrap();
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let settings = Settings::for_algorithm(&algorithm, LINE);
    let listed = simulate(&fabric, &settings, &algorithm, &flows).unwrap();
    let mut graph = FlowGraph::default();
    graph.add_flows(&flows);
    let found = simulate_graph(&fabric, &settings, &algorithm, &graph, &mut ()).unwrap();
    assert_eq!(found.outcome.flows, listed.flows);
    assert_eq!((found.jobs[0], found.records.len()), (None, 0));
}

#[test]
fn flows_that_never_started_are_unfinished() {
    let job: Job = "ring-all-reduce:8MB".parse().unwrap();
    let graph = job.graph(&fabric(STAR), Seed::new(1)).unwrap();
    let stop = Time::ZERO + Duration::from_microseconds(300);
    let found = run(STAR, &graph, |settings| settings.stop = Some(stop));
    assert_eq!((found.outcome.flows.len(), found.records[0].end), (8 * 14, None));
    // Three rounds of 86 us are over, and the fourth has begun.
    assert_eq!(found.outcome.unfinished(), 8 * 11);
    let last = found.outcome.flows.last().unwrap();
    assert_eq!((last.specification.start, last.delivered), (found.outcome.end, Bytes::ZERO));
}

/// The link of a host fails while the flow of another is on its way, which a third waits for.
#[test]
fn a_trial_goes_on_while_a_flow_that_waits_has_a_way() {
    let mut graph = FlowGraph::default();
    graph.add(step(0, 0, 1, 1_000_000), &[]);
    graph.add(step(1, 2, 3, 1_000_000), &[]);
    graph.add(step(2, 1, 4, 1_000_000), &[Awaited { step: 0, moment: Moment::Acknowledged }]);
    let fault = Fault { time: Time::ZERO + Duration::from_microseconds(5), link: 2, up: false };
    let found = run(STAR, &graph, |settings| settings.faults = vec![fault]);
    let finished: Vec<_> = found.outcome.flows.iter().map(|flow| flow.finish.is_some()).collect();
    assert_eq!(finished, [true, false, true]);
}
