//! Flow lists from given numbers and from other densities.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Density, Fabric, Load, Pattern, Point, Random, Settings, SwitchingFlows, Workload,
    WorkloadError, simulate, simulate_source,
};
use trialwise_units::{Duration, Rate, Seed};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

fn fabric() -> Fabric {
    Fabric::new("dumbbell:4x4,100Gbit/s,1us".parse().unwrap()).unwrap()
}

fn workload() -> Workload {
    Workload {
        sizes: "websearch".parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern: Pattern::ONE_WAY,
        load: Load::Bottleneck(0.3),
        duration: Duration::from_milliseconds(20),
    }
}

/// A tenth of the quantiles, the largest, is drawn three times in ten.
fn heavy() -> Density {
    Density::new(vec![0.0, 0.9, 1.0], &[0.7 / 0.9, 3.0]).unwrap()
}

#[test]
fn given_numbers_decide_count_sizes_and_times() {
    let (fabric, workload) = (fabric(), workload());
    let generator = workload.prepare(&fabric).unwrap();
    let mut flows = Vec::new();
    // 0.3 * 100 Gbit/s / (8 * 1711250 B) * 20 ms: 43.8 arrivals in the mean, the median is 44.
    let numbers = [0.5, 0.15, 0.75, 0.985, 0.25];
    let mut point = Point::new(&numbers, Random::new(Seed::new(1)));
    generator.fill_from(&mut point, Seed::new(2), &mut flows).unwrap();
    assert_eq!(flows.len(), 44);
    let found = |size, microseconds| {
        flows
            .iter()
            .any(|flow| (flow.size.get(), flow.start.picoseconds() / 1_000_000) == (size, microseconds))
    };
    assert!(found(10_000, 15_000) && found(20_000_000, 5_000));
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    assert!(flows.iter().zip(0..).all(|(flow, id)| flow.id == id));
}

#[test]
fn random_numbers_give_the_same_process_as_seeds() {
    let (fabric, workload) = (fabric(), workload());
    let generator = workload.prepare(&fabric).unwrap();
    let (mut flows, mut random) = (Vec::new(), Random::new(Seed::new(4)));
    let (mut count, mut squares, mut bytes, mut starts) = (0.0, 0.0, 0.0, 0.0);
    let trials = 2000;
    for trial in 0..trials {
        generator.fill_from(&mut random, Seed::new(trial), &mut flows).unwrap();
        count += flows.len() as f64;
        squares += (flows.len() as f64).powi(2);
        bytes += flows.iter().map(|flow| flow.size.get() as f64).sum::<f64>();
        starts += flows.iter().map(|flow| flow.start.picoseconds() as f64 / 2e10).sum::<f64>();
    }
    let mean = count / trials as f64;
    let dispersion = (squares / trials as f64 - mean * mean) / mean;
    assert!((mean / 43.83 - 1.0).abs() < 0.02 && (dispersion - 1.0).abs() < 0.15, "{mean} {dispersion}");
    assert!((bytes / count / 1_711_250.0 - 1.0).abs() < 0.03 && (starts / count - 0.5).abs() < 0.01);
}

#[test]
fn only_poisson_arrivals_take_numbers() {
    let arrivals: Arrivals = "bursty:mean=3".parse().unwrap();
    let workload = Workload { arrivals, ..workload() };
    let fabric = fabric();
    let generator = workload.prepare(&fabric).unwrap();
    let refusal =
        generator.fill_from(&mut Random::new(Seed::new(1)), Seed::new(1), &mut Vec::new()).unwrap_err();
    assert_eq!(refusal, WorkloadError::NotPoisson("bursty"));
}

#[test]
fn weights_bring_the_workload_back() {
    let (fabric, workload, density) = (fabric(), workload(), heavy());
    let generator = workload.prepare(&fabric).unwrap();
    let (mut flows, mut log_ratios) = (Vec::new(), Vec::new());
    let (mut drawn, mut tail, mut weighted_tail, mut weights) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..400 {
        generator.fill_weighted(Seed::new(seed), &density, &mut flows, &mut log_ratios);
        assert_eq!(flows.len(), log_ratios.len());
        for (flow, log_ratio) in flows.iter().zip(&log_ratios) {
            let in_tail = f64::from(flow.size.get() > 5_000_000);
            (drawn, weights) = (drawn + 1.0, weights + log_ratio.exp());
            (tail, weighted_tail) = (tail + in_tail, weighted_tail + in_tail * log_ratio.exp());
        }
    }
    // WebSearch has a tenth of its flows above 5 MB.
    assert!((tail / drawn - 0.3).abs() < 0.02, "{}", tail / drawn);
    assert!((weighted_tail / drawn - 0.1).abs() < 0.007, "{}", weighted_tail / drawn);
    assert!((weights / drawn - 1.0).abs() < 0.02, "{}", weights / drawn);
}

#[test]
fn a_switch_goes_back_to_the_workload_after_the_first_slow_flow() {
    let (fabric, workload, density) = (fabric(), workload(), heavy());
    let generator = workload.prepare(&fabric).unwrap();
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let settings = Settings::for_algorithm(&algorithm, LINE);
    let seed = Seed::new(5);
    let run = |threshold| {
        let mut source = SwitchingFlows::new(generator, seed, &density, threshold);
        let outcome = simulate_source(&fabric, &settings, &algorithm, &mut source, &mut ()).unwrap();
        let switched = source.switched();
        (outcome, switched, source.into_finishes())
    };
    let (mut plain, mut weighted, mut log_ratios) = (Vec::new(), Vec::new(), Vec::new());
    generator.fill(seed, &mut plain);
    generator.fill_weighted(seed, &density, &mut weighted, &mut log_ratios);

    // Never: the whole trial is the weighted list, and the last end carries all weights.
    let (outcome, switched, finishes) = run(Duration::MAX);
    assert_eq!((outcome, switched), (simulate(&fabric, &settings, &algorithm, &weighted).unwrap(), None));
    let total: f64 = log_ratios.iter().sum();
    assert!((finishes.last().unwrap().log_ratio - total).abs() < 1e-12);

    // In the middle: flows that start before the switch are weighted ones, later ones the workload's.
    let (outcome, switched, finishes) = run(Duration::from_microseconds(300));
    let switched = switched.unwrap();
    for ((record, plain), weighted) in outcome.flows.iter().zip(&plain).zip(&weighted) {
        let expected = if record.specification.start <= switched { weighted } else { plain };
        assert_eq!(record.specification, *expected);
    }
    let before = outcome.flows.iter().filter(|record| record.specification.start <= switched).count();
    assert!(before > 0 && before < plain.len() / 2, "{before} of {}", plain.len());
    let frozen: f64 = log_ratios[..before].iter().sum();
    assert!((finishes.last().unwrap().log_ratio - frozen).abs() < 1e-12);
}
