//! The fluid surrogate against closed forms, and against the packets that it stands for.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::{Algorithm, Feedback};
use trialwise_simulator::{
    Arrivals, Fabric, Features, FlowSpecification, FluidSettings, Framing, Load, NodeId, Pattern, Quantity,
    Settings, SimulationError, Statistic, Summary, SurrogateError, Workload, fluid, fluid_observed, simulate,
    surrogate_batch, surrogate_samples_observed,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

fn fabric(text: &str) -> Fabric {
    Fabric::new(text.parse().unwrap()).unwrap()
}

fn framing() -> Framing {
    Framing::new(&Settings::for_line_rate(LINE), Feedback::Marks)
}

fn flow(source: u32, destination: u32, size: u64, start: Time) -> FlowSpecification {
    let (source, destination) = (NodeId::new(source), NodeId::new(destination));
    FlowSpecification::new(0, source, destination, Bytes::new(size), start)
}

fn websearch(pattern: Pattern, load: Load, milliseconds: u64) -> Workload {
    Workload {
        sizes: "websearch".parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern,
        load,
        duration: Duration::from_milliseconds(milliseconds),
    }
}

#[test]
fn a_lone_flow_takes_its_ideal_time() {
    for (topology, source, destination) in [
        ("dumbbell:2x2,100Gbit/s,1us", 0, 2),
        ("dumbbell:1x1,100Gbit/s,1us,10Gbit/s", 0, 1),
        ("fat-tree:4,100Gbit/s,1us", 0, 15),
    ] {
        let fabric = fabric(topology);
        for size in [1, 1000, 1001, 30_000_000] {
            let list = [flow(source, destination, size, Time::from_milliseconds(3))];
            let ends = fabric.host(list[0].source).zip(fabric.host(list[0].destination)).unwrap();
            let ideal = fabric.path(ends.0, ends.1).ideal(size);
            let time = fluid(&fabric, framing(), &list, Duration::ZERO).unwrap()[0];
            assert!(
                time.picoseconds().abs_diff(ideal.picoseconds()) <= 1,
                "{topology} {size}: {time} {ideal}"
            );
        }
    }
}

/// Headers count as they do in the packet simulator: telemetry makes packets larger.
#[test]
fn telemetry_makes_flows_longer() {
    let fabric = fabric("dumbbell:1x1,100Gbit/s,1us");
    let telemetry = Framing::new(&Settings::for_line_rate(LINE), Feedback::Telemetry);
    let time =
        |framing| fluid(&fabric, framing, &[flow(0, 1, 1_000_000, Time::ZERO)], Duration::ZERO).unwrap()[0];
    let extra = LINE.transmission_time(Bytes::new(42 * 1000));
    assert_eq!(time(telemetry) - time(framing()), extra);
}

#[test]
fn two_flows_share_what_they_share() {
    let fabric = fabric("dumbbell:2x2,100Gbit/s,1us");
    let wire = |bytes| LINE.transmission_time(Bytes::new(bytes));
    let path = Duration::from_nanoseconds(6240);
    let late = Time::ZERO + wire(500 * 1048);
    let flows = [flow(0, 2, 1_000_000, Time::ZERO), flow(1, 3, 1_000_000, late)];
    // Alone for 500 packets, then both have 500 packets at half the rate; the second is alone for its rest.
    let times = fluid(&fabric, framing(), &flows, Duration::ZERO).unwrap();
    assert_eq!(times, [wire(1500 * 1048) + path, wire(1500 * 1048) + path]);
}

/// M/G/1 processor sharing: E[T] = E[x] / (1 - rho), whatever the sizes (Kleinrock, Queueing Systems, volume
/// 2, chapter 4).
#[test]
fn the_mean_under_load_is_that_of_processor_sharing() {
    let fabric = fabric("dumbbell:4x4,100Gbit/s,0ns");
    for (sizes, load) in [("lognormal:mean=100kB,sigma=1", 0.5), ("fixed:100kB", 0.5), ("websearch", 0.3)] {
        let workload = Workload {
            sizes: sizes.parse().unwrap(),
            load: Load::Bottleneck(load),
            ..websearch(Pattern::ONE_WAY, Load::Bottleneck(load), 1000)
        };
        let stretches: Vec<_> = (0..20)
            .map(|seed| {
                let flows = workload.generate(&fabric, Seed::new(seed)).unwrap();
                let path = Duration::from_nanoseconds(240);
                let shared = fluid(&fabric, framing(), &flows, Duration::ZERO).unwrap();
                let time: f64 = shared.iter().map(|time| (*time - path).as_seconds()).sum();
                let wire: u64 = flows.iter().map(|flow| framing().wire(flow.size.get())).sum();
                time / LINE.transmission_time(Bytes::new(wire)).as_seconds()
            })
            .collect();
        let mean = stretches.iter().sum::<f64>() / 20.0;
        let variance = stretches.iter().map(|stretch| (stretch - mean).powi(2)).sum::<f64>() / 19.0;
        let error = (variance / 20.0).sqrt();
        let expected = 1.0 / (1.0 - load * 1.048);
        assert!(
            (mean - expected).abs() < 3.0 * error + 0.005 * expected,
            "{sizes}: {mean} ± {error}, not {expected}"
        );
        assert!(error < 0.03 * expected, "{sizes}: too few flows to tell, {error}");
    }
}

/// n flows that begin together on one link of n hosts: each takes n times its own bytes there. All other links of a
/// leaf-spine would let them be faster.
#[test]
fn n_flows_into_one_host_share_its_link() {
    let fabric = fabric("leaf-spine:4x4x8,100Gbit/s,1us");
    let flows: Vec<_> = (8..16).map(|source| flow(source, 0, 1_000_000, Time::ZERO)).collect();
    let alone = fluid(&fabric, framing(), &flows[..1], Duration::ZERO).unwrap()[0];
    let wire = LINE.transmission_time(Bytes::new(1_048_000));
    for window in [Duration::ZERO, Duration::from_microseconds(10)] {
        let times = fluid(&fabric, framing(), &flows, window).unwrap();
        assert!(
            times.iter().all(|time| time.as_seconds() - (alone + wire * 7).as_seconds() < 1e-12),
            "{times:?}"
        );
        assert!(
            times.iter().all(|time| (alone + wire * 7).as_seconds() - time.as_seconds() < 1e-12),
            "{times:?}"
        );
    }
}

/// Rates that are found anew seldom: a window of a nanosecond gives the exact model, one of 10 us its mean within a
/// hundredth; and nothing is lost on the way.
#[test]
fn windows_keep_the_mean() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    let mean =
        |times: &[Duration]| times.iter().map(|time| time.as_seconds()).sum::<f64>() / times.len() as f64;
    let (mut exact, mut coarse) = (Vec::new(), Vec::new());
    for seed in 0..6 {
        let flows =
            websearch(Pattern::ALL_TO_ALL, Load::Host(0.3), 4).generate(&fabric, Seed::new(seed)).unwrap();
        let run = |window| fluid(&fabric, framing(), &flows, window).unwrap();
        let times = run(Duration::ZERO);
        for (fine, time) in run(Duration::from_nanoseconds(1)).iter().zip(&times) {
            let off = (fine.as_seconds() - time.as_seconds()).abs();
            assert!(off <= 1e-8 + 1e-4 * time.as_seconds(), "{fine} {time}");
        }
        exact.extend(times);
        coarse.extend(run(Duration::from_microseconds(10)));
    }
    let off = mean(&coarse) / mean(&exact) - 1.0;
    assert!(off.abs() < 0.01, "{off}");
    assert!(coarse != exact);
}

#[test]
fn a_look_that_breaks_ends_it() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    let flows = websearch(Pattern::ALL_TO_ALL, Load::Host(0.3), 1).generate(&fabric, Seed::new(1)).unwrap();
    let mut looks = 0;
    let mut look = || {
        looks += 1;
        if looks == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let ended = fluid_observed(&fabric, framing(), &flows, Duration::ZERO, &mut look);
    assert_eq!((ended, looks), (Err(SimulationError::Interrupted), 3));
}

/// What it is for: trial by trial the mean completion time follows that of the packets.
#[test]
fn it_follows_the_packets() {
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let settings = Settings::for_algorithm(&algorithm, LINE);
    for (topology, workload) in [
        ("dumbbell:10x10,100Gbit/s,1us", websearch(Pattern::ONE_WAY, Load::Bottleneck(0.4), 4)),
        ("fat-tree:4,100Gbit/s,1us", websearch(Pattern::ALL_TO_ALL, Load::Host(0.2), 1)),
    ] {
        let fabric = fabric(topology);
        let mean =
            |times: &[Duration]| times.iter().map(|time| time.as_seconds()).sum::<f64>() / times.len() as f64;
        let pairs: Vec<_> = (0..8)
            .map(|seed| {
                let flows = workload.generate(&fabric, Seed::new(seed)).unwrap();
                let outcome = simulate(&fabric, &settings, &algorithm, &flows).unwrap();
                let packets: Vec<_> =
                    outcome.flows.iter().map(|record| record.completion_time().unwrap()).collect();
                (mean(&packets), mean(&fluid(&fabric, framing(), &flows, Duration::ZERO).unwrap()))
            })
            .collect();
        let (packets, rates): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let correlation = correlation(&packets, &rates);
        assert!(correlation > 0.95, "{topology}: {correlation}");
    }
}

fn correlation(first: &[f64], second: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(first), mean(second));
    let product: f64 = first.iter().zip(second).map(|(x, y)| (x - a) * (y - b)).sum();
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    product / (squares(first, a) * squares(second, b)).sqrt()
}

#[test]
fn a_batch_is_its_trials_with_any_number_of_threads() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    let workload = websearch(Pattern::ALL_TO_ALL, Load::Host(0.3), 1);
    let seeds: Vec<_> = (0..600).map(Seed::new).collect();
    let large = Statistic {
        sizes: 1_000_000..u64::MAX,
        ..Statistic::of_all(Quantity::Slowdown, Summary::Quantile(0.5))
    };
    let statistics = [Statistic::of_all(Quantity::CompletionTime, Summary::Mean), large];
    let run = |threads| surrogate_batch(&fabric, framing(), &workload, &seeds, threads, &statistics).unwrap();
    let batch = run(1);
    assert_eq!(batch, run(2));
    assert_eq!(batch, run(5));

    let flows = workload.generate(&fabric, seeds[7]).unwrap();
    let times = fluid(&fabric, framing(), &flows, Duration::ZERO).unwrap();
    let mean = times.iter().map(|time| time.as_seconds()).sum::<f64>() / times.len() as f64;
    assert_eq!((batch[7].values[0], batch[7].features), (Some(mean), Features::of(&flows)));
    assert_eq!(batch[7].features.bytes, flows.iter().map(|flow| flow.size.get()).sum::<u64>());
    let slowdown = batch[7].values[1].unwrap();
    assert!(slowdown > 1.0 && slowdown < 20.0, "{slowdown}");
    assert!(batch.iter().all(|surrogate| surrogate.steps > surrogate.features.flows));

    let window = Duration::from_microseconds(20);
    let settings = FluidSettings { framing: framing(), window };
    let coarse = surrogate_batch(&fabric, settings, &workload, &seeds[7..8], 1, &statistics).unwrap();
    let times = fluid(&fabric, framing(), &flows, window).unwrap();
    let rough = times.iter().map(|time| time.as_seconds()).sum::<f64>() / times.len() as f64;
    assert_eq!(coarse[0].values[0], Some(rough));
    assert!(rough != mean && coarse[0].steps < batch[7].steps);
}

#[test]
fn samples_are_what_a_batch_summarises() {
    let fabric = fabric("dumbbell:4x4,100Gbit/s,1us");
    let workload = websearch(Pattern::ONE_WAY, Load::Bottleneck(0.3), 1);
    let seeds: Vec<_> = (0..100).map(Seed::new).collect();
    let small =
        |summary| Statistic { sizes: 0..1_000_000, ..Statistic::of_all(Quantity::CompletionTime, summary) };
    let summaries = [Summary::Count, Summary::Sum, Summary::Above(1e-4), Summary::Linear(0.9)].map(small);
    let batch = surrogate_batch(&fabric, framing(), &workload, &seeds, 1, &summaries).unwrap();
    let samples = |threads| {
        let mut look = || std::ops::ControlFlow::Continue(());
        let any = small(Summary::Mean);
        surrogate_samples_observed(&fabric, framing(), &workload, &seeds, threads, &any, &mut look).unwrap()
    };
    assert_eq!(samples(1), samples(3));
    for (surrogate, samples) in batch.iter().zip(samples(1)) {
        let above = samples.iter().filter(|sample| **sample > 1e-4).count();
        let expected = [samples.len() as f64, samples.iter().sum(), above as f64].map(Some);
        assert_eq!(surrogate.values[..3], expected);
        assert_eq!(surrogate.values[3].is_none(), samples.is_empty());
        assert_eq!(surrogate.steps, 0);
    }
}

#[test]
fn flows_are_counted_without_the_model() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    let workload = websearch(Pattern::ALL_TO_ALL, Load::Host(0.3), 1);
    let count = Statistic::of_all(Quantity::CompletionTime, Summary::Count);
    let batch = surrogate_batch(&fabric, framing(), &workload, &[Seed::new(1)], 1, &[count]).unwrap();
    assert_eq!(batch[0].values, [Some(batch[0].features.flows as f64)]);
    assert_eq!(batch[0].steps, 0);
}

#[test]
fn trials_without_flows_have_no_numbers() {
    let fabric = fabric("dumbbell:2x2,100Gbit/s,1us");
    let workload = Workload {
        duration: Duration::from_microseconds(10),
        ..websearch(Pattern::ONE_WAY, Load::Bottleneck(0.1), 1)
    };
    let mean = Statistic::of_all(Quantity::Throughput, Summary::Mean);
    let batch = surrogate_batch(&fabric, framing(), &workload, &[Seed::new(1)], 1, &[mean]).unwrap();
    assert_eq!((batch[0].values[0], batch[0].features), (None, Features::default()));
}

#[test]
fn what_cannot_run_is_refused() {
    let fabric = fabric("dumbbell:2x2,100Gbit/s,1us");
    let refuse = |flows: &[_]| fluid(&fabric, framing(), flows, Duration::ZERO).unwrap_err();
    assert_eq!(fluid(&fabric, framing(), &[], Duration::ZERO), Ok(Vec::new()));
    assert_eq!(refuse(&[flow(0, 2, 0, Time::ZERO)]), SimulationError::Empty(0));
    assert!(matches!(refuse(&[flow(0, 0, 1, Time::ZERO)]), SimulationError::Ends { .. }));
    let workload = websearch(Pattern::ONE_WAY, Load::Bottleneck(0.3), 1);
    let beyond = Statistic::of_all(Quantity::Slowdown, Summary::Quantile(99.0));
    assert_eq!(
        surrogate_batch(&fabric, framing(), &workload, &[Seed::new(1)], 1, &[beyond]),
        Err(SurrogateError::Quantile(0))
    );
}
