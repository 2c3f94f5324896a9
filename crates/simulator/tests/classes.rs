//! Classes of traffic and ports of flows: what a list says of them decides what comes out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::{Algorithm, Factory};
use trialwise_simulator::{
    Fabric, FlowSpecification, Mode, NodeId, Outcome, Random, Scheduling, Settings, Weights, simulate,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

fn fabric(text: &str) -> Fabric {
    Fabric::new(text.parse().unwrap()).unwrap()
}

fn flow(source: u32, destination: u32, size: u64, class: u8) -> FlowSpecification {
    let (source, destination) = (NodeId::new(source), NodeId::new(destination));
    let flow = FlowSpecification::new(0, source, destination, Bytes::new(size), Time::ZERO);
    FlowSpecification { class: Some(class), ..flow }
}

fn run(topology: &str, settings: &Settings, controller: &str, flows: &[FlowSpecification]) -> Outcome {
    let algorithm = Algorithm::named(controller, LINE).unwrap().with_fidelity(settings.mode.fidelity());
    let factory: &dyn Factory = &algorithm;
    simulate(&fabric(topology), settings, factory, flows).unwrap()
}

fn completion(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.completion_time().unwrap().nanoseconds()).collect()
}

fn settings(controller: &str, mode: Mode, scheduling: Scheduling) -> Settings {
    let algorithm = Algorithm::named(controller, LINE).unwrap();
    let mut settings = Settings::for_algorithm(&algorithm, LINE).with_mode(mode);
    settings.priorities.scheduling = scheduling;
    settings
}

/// By the reference's hash, two flows that leave the same edge switch share an uplink if both go to port 100, and do not if
/// one goes to port 101. The time of a flow alone on its way is that of the reference.
#[test]
fn the_receivers_port_decides_the_way() {
    let settings = settings("dctcp", Mode::Compatible, Scheduling::RoundRobin);
    let times = |port| {
        let first = FlowSpecification { destination_port: port, ..flow(0, 15, 2_000_000, 3) };
        completion(&run("fat-tree:4,100Gbit/s,1us", &settings, "dctcp", &[first, flow(1, 14, 2_000_000, 3)]))
    };
    // Both replies take one uplink by their hash, where the second waits for an acknowledgement of 60 bytes, 4 ns.
    assert_eq!(times(101), [178_439, 178_443]);
    assert!(times(100).iter().all(|time| *time > 340_000));
}

/// 20 packets of one class beside a queue of another: two packets go out for each of theirs, so that their last leaves the
/// switch 40 transmissions after the first, and the rest is the way there and back.
#[test]
fn a_class_does_not_wait_in_the_queue_of_another() {
    for (mode, controller) in [(Mode::Compatible, "fixed_rate"), (Mode::Clean, "fixed_rate")] {
        let settings = settings(controller, mode, Scheduling::RoundRobin);
        let small = FlowSpecification { start: Time::from_nanoseconds(100_000), ..flow(2, 8, 20_000, 5) };
        let flows = [flow(0, 8, 2_000_000, 3), flow(1, 8, 2_000_000, 3), small];
        let together = completion(&run("dumbbell:8x1,100Gbit/s,1us", &settings, controller, &flows));
        assert!((9_000..10_000).contains(&together[2]), "{together:?}");
        let same = FlowSpecification { class: Some(3), ..small };
        let shared = completion(&run(
            "dumbbell:8x1,100Gbit/s,1us",
            &settings,
            controller,
            &[flows[0], flows[1], same],
        ));
        assert!(shared[2] > 100_000, "{shared:?}");
    }
}

/// One long flow in a class and two of half its size in another: each class has half of the link, so that all end together.
#[test]
fn classes_share_a_link_evenly_whatever_their_flows() {
    for mode in [Mode::Clean, Mode::Compatible] {
        let settings = settings("hpcc", mode, Scheduling::RoundRobin);
        // Fixed rates keep both queues filled; pauses hold each class by itself.
        let flows = [flow(0, 3, 8_000_000, 2), flow(1, 3, 4_000_000, 6), flow(2, 3, 4_000_000, 6)];
        let outcome = run("dumbbell:3x1,100Gbit/s,1us", &settings, "fixed_rate", &flows);
        assert_eq!(outcome.totals.dropped(), 0);
        let whole = 16_000_000.0 * 1.048 * 8.0 / 100.0;
        for time in completion(&outcome) {
            assert!((time as f64 / whole - 1.0).abs() < 0.03, "{time} of {whole}");
        }
    }
}

/// Mean waits of two classes with deterministic service by strict priority without preemption (Cobham, "Priority assignment in
/// waiting line problems", Operations Research 2, 1954): the residual service over (1 - higher load) and over that times
/// (1 - load).
#[test]
fn strict_priority_has_the_waits_of_queueing_theory() {
    let (hosts, count, service) = (200_u32, 120_000, 83.84);
    let mut random = Random::new(Seed::new(7));
    let mut now = 0.0;
    let flows: Vec<_> = (0..count)
        .map(|_| {
            now -= (1.0 - random.uniform()).ln() * service / 0.7 * 1000.0;
            let class = if random.uniform() < 3.0 / 7.0 { 6 } else { 2 };
            let source = (random.uniform() * f64::from(hosts)) as u32;
            FlowSpecification {
                start: Time::from_picoseconds(now as u64),
                ..flow(source, hosts, 1000, class)
            }
        })
        .collect();
    let settings = settings("fixed_rate", Mode::Clean, Scheduling::Strict);
    let outcome = run(&format!("dumbbell:{hosts}x1,100Gbit/s,1us"), &settings, "fixed_rate", &flows);
    let alone = outcome.flows.iter().map(|flow| flow.completion_time().unwrap()).min().unwrap();
    let mean_wait = |class: u8| {
        let waits = outcome.flows.iter().filter(|flow| flow.specification.class == Some(class));
        let waits: Vec<_> =
            waits.map(|flow| (flow.completion_time().unwrap() - alone).as_seconds() * 1e9).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    let residual = 0.7 * service / 2.0;
    for (class, expected) in [(6, residual / 0.7), (2, residual / (0.7 * 0.3))] {
        let found = mean_wait(class);
        assert!((found / expected - 1.0).abs() < 0.05, "class {class}: {found} of {expected}");
    }
}

fn weighted(weights: &[(u8, u8)]) -> Scheduling {
    let mut found = Weights::EQUAL;
    assert!(weights.iter().all(|(class, weight)| found.set(*class, *weight)));
    Scheduling::Weighted(found)
}

/// Classes that always have packets get bytes in proportion to their weights (Shreedhar and Varghese, theorem 4.2: to within a
/// quantum and the largest packet), so that with sizes in that proportion all end within one round. The link is never idle.
#[test]
fn weights_share_a_link_to_within_a_round() {
    let service = 83.84;
    for weights in [[(5, 3), (2, 1)], [(5, 1), (2, 7)], [(3, 2), (6, 5)]] {
        let mut settings = settings("fixed_rate", Mode::Clean, weighted(&weights));
        settings.buffer = Bytes::new(1_000_000_000);
        let sizes = weights.map(|(_, weight)| u64::from(weight) * 400_000);
        let flows: Vec<_> = (0..)
            .zip(weights)
            .zip(sizes)
            .map(|((source, (class, _)), size)| flow(source, 2, size, class))
            .collect();
        let ends = |settings: &Settings| {
            completion(&run("dumbbell:2x1,100Gbit/s,1us", settings, "fixed_rate", &flows))
        };
        let times = ends(&settings);
        let round = weights.iter().map(|(_, weight)| f64::from(*weight) * service).sum::<f64>();
        assert!((times[0].abs_diff(times[1]) as f64) < round + service, "{weights:?}: {times:?}");
        for other in [Scheduling::RoundRobin, Scheduling::Strict] {
            settings.priorities.scheduling = other;
            let others = ends(&settings);
            assert!(others[0].abs_diff(others[1]) > 10_000, "{other:?}: {others:?}");
            assert_eq!(others.iter().max(), times.iter().max(), "{other:?} has the link idle as long");
        }
    }
}

/// With one class there is nothing to share: every time is that of a queue without classes, in any class.
#[test]
fn one_class_has_the_same_times_however_classes_are_scheduled() {
    for (mode, class) in [(Mode::Clean, 3), (Mode::Clean, 6), (Mode::Compatible, 3)] {
        let flows: Vec<_> =
            (0..6).map(|source| flow(source, 6, 300_000 + u64::from(source), class)).collect();
        let times =
            [Scheduling::RoundRobin, Scheduling::Strict, weighted(&[(class, 9), (1, 2)])].map(|scheduling| {
                let settings = settings("hpcc", mode, scheduling);
                run("dumbbell:6x1,100Gbit/s,1us", &settings, "hpcc", &flows)
                    .flows
                    .iter()
                    .map(|flow| flow.completion_time().unwrap().picoseconds())
                    .collect::<Vec<_>>()
            });
        assert_eq!((&times[0], &times[0]), (&times[1], &times[2]));
    }
}

/// Pauses of one class are no pauses of another, and each class has room for what is on the way when it is paused.
#[test]
fn classes_are_paused_by_themselves_and_lose_nothing() {
    let mut settings = settings("fixed_rate", Mode::Clean, Scheduling::RoundRobin);
    settings.buffer = Bytes::new(700_000);
    let incast = |class| (0..6).map(move |source| flow(source, 6, 300_000, class));
    let flows: Vec<_> = incast(1).chain(incast(4)).chain(incast(7)).collect();
    let outcome = run("dumbbell:6x1,100Gbit/s,1us", &settings, "fixed_rate", &flows);
    assert!(outcome.totals.pauses > 0);
    assert_eq!((outcome.totals.dropped(), outcome.unfinished()), (0, 0));
    assert!(outcome.totals.peak_buffer.get() <= 700_000);
}

/// Hosts too serve the highest class first where that is asked for: its flow of the same host is done as if alone.
#[test]
fn a_host_serves_the_highest_class_first() {
    let flows = [flow(0, 1, 1_000_000, 2), flow(0, 1, 1_000_000, 5)];
    let times = |scheduling| {
        completion(&run(
            "dumbbell:1x1,100Gbit/s,1us",
            &settings("fixed_rate", Mode::Clean, scheduling),
            "fixed_rate",
            &flows,
        ))
    };
    let (turns, strict) = (times(Scheduling::RoundRobin), times(Scheduling::Strict));
    let alone = Duration::from_nanoseconds(83_840 + 6_261).nanoseconds();
    assert!(turns.iter().all(|time| *time > 160_000), "{turns:?}");
    assert!(strict[1] < alone + 200 && strict[0] > 160_000, "{strict:?}");
}

#[test]
fn a_class_that_is_none_of_data_is_refused() {
    let settings = Settings::for_line_rate(LINE);
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let refusal = simulate(&fabric("dumbbell:1x1,100Gbit/s,1us"), &settings, &algorithm, &[flow(0, 1, 1, 0)]);
    assert_eq!(refusal.unwrap_err().to_string(), "flow 0 is in class 0: classes of data are 1 to 7");
}
