//! Parts in windows: nothing depends on the order in which they are stepped, and one queue gives the same.

use trialwise_congestion::Algorithm;
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use super::threads::run_parts;
use super::{Network, Parts, Terms};
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::NodeId;
use crate::metrics::Outcome;
use crate::random::Random;
use crate::settings::{Fault, Settings};
use crate::source::List;
use crate::workload::{Arrivals, Load, Pattern, Workload};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

/// A network, its parameters and its flows.
struct Case {
    fabric: Fabric,
    settings: Settings,
    algorithm: Algorithm,
    flows: Vec<FlowSpecification>,
}

impl Case {
    fn new(topology: &str, controller: &str, seed: u64) -> Self {
        let fabric = Fabric::new(topology.parse().unwrap()).unwrap();
        let algorithm = Algorithm::named(controller, LINE).unwrap();
        let seed = Seed::new(seed);
        let settings = Settings { seed, ..Settings::for_algorithm(&algorithm, LINE) };
        let workload = Workload {
            sizes: "websearch".parse().unwrap(),
            arrivals: Arrivals::POISSON,
            pattern: Pattern::ALL_TO_ALL,
            load: Load::Host(0.6),
            duration: Duration::from_microseconds(150),
        };
        let flows = workload.generate(&fabric, seed).unwrap();
        Self { fabric, settings, algorithm, flows }
    }

    /// What comes out where parts are stepped in an order of this seed, or all are one and stand in one queue.
    fn run(&self, order: Option<u64>) -> Outcome {
        let terms = Terms::new(&self.fabric, &self.settings, &self.algorithm);
        let mut parts = Parts::around_switches(&terms).unwrap();
        if order.is_none() {
            parts = parts.joined();
        }
        let mut network = Network::in_parts(terms, &parts, &self.flows);
        let mut random = Random::new(Seed::new(order.unwrap_or(0)));
        if let Some(stepped) = network.parts.as_mut().filter(|_| order != Some(0)) {
            (1..stepped.len()).for_each(|place| stepped.swap(place, random.below(place as u64 + 1) as usize));
        }
        network.run(&mut (), &mut List::new(&self.flows));
        network.outcome(&self.flows).unwrap()
    }

    /// What comes out on so many threads.
    fn run_on(&self, threads: usize) -> Outcome {
        let terms = || Terms::new(&self.fabric, &self.settings, &self.algorithm);
        let parts = Parts::around_switches(&terms()).unwrap();
        run_parts(&terms, &parts, &self.flows, &mut (), threads).unwrap()
    }
}

const CONTROLLERS: [&str; 5] = ["dctcp", "dcqcn", "timely", "hpcc", "cubic"];

/// Losses, failures that heal and one that does not, full buffers with and without pauses, flows that begin together.
fn harden(case: &mut Case, seed: u64) {
    let settings = &mut case.settings;
    let links = case.fabric.topology().links.len() as u64;
    let mut random = Random::new(Seed::new(seed));
    if seed.is_multiple_of(2) {
        settings.loss = Some(0.002);
    }
    if seed.is_multiple_of(3) {
        settings.buffer = Bytes::new(400_000);
    }
    if seed % 4 == 1 {
        settings.flow_control = None;
        settings.buffer = Bytes::new(150_000);
    }
    if seed % 5 < 2 {
        let link = random.below(links) as usize;
        let fault = |microseconds: u64, link, up| Fault {
            time: Time::from_nanoseconds(1000 * microseconds),
            link,
            up,
        };
        settings.faults =
            vec![fault(30, link, false), fault(60, link, true), fault(90, links as usize - 1, false)];
    }
    if seed % 3 == 1 {
        let hosts = case.fabric.host_count() as u32;
        let receiver = NodeId::new(random.below(u64::from(hosts)) as u32);
        for source in (0..hosts).map(NodeId::new).filter(|source| *source != receiver) {
            let start = Time::from_nanoseconds(20_000);
            case.flows.push(FlowSpecification::new(0, source, receiver, Bytes::new(30_000), start));
        }
        case.flows.sort_by_key(|flow| flow.start);
    }
}

#[test]
fn the_order_in_which_parts_are_stepped_changes_no_bit() {
    let mut seen = (0, 0, 0, 0);
    for seed in 0..40 {
        let topology = ["fat-tree:4,100Gbit/s,1us", "leaf-spine:4x2x4,100Gbit/s,2us"][seed as usize % 2];
        let mut case = Case::new(topology, CONTROLLERS[seed as usize % 5], seed);
        harden(&mut case, seed / 2);
        let listed = case.run(Some(0));
        assert_eq!(listed, case.run(Some(seed + 1)), "another order: {seed}");
        assert_eq!(listed, case.run(None), "one queue: {seed}");
        let totals = listed.totals;
        seen.0 += totals.pauses;
        seen.1 += totals.dropped_link;
        seen.2 += totals.dropped_fault;
        seen.3 += totals.dropped_buffer;
        // Threads meet at each window, which takes long where others are at work.
        case.settings.stop = Some(Time::from_nanoseconds(100_000));
        assert_eq!(case.run(Some(0)), case.run_on(2 + seed as usize % 2), "threads: {seed}");
    }
    assert!(seen.0 > 0 && seen.1 > 0 && seen.2 > 0 && seen.3 > 0, "{seen:?}");
}
