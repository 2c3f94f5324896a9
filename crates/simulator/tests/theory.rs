//! Against closed forms: lone flows, and processor sharing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::{
    Acknowledgement, AnyController, BuildError, Context, Controller, Factory, Feedback, Loss, Timeout,
};
use trialwise_simulator::{
    Arrivals, Fabric, FlowSpecification, Load, NodeId, Pattern, Settings, Workload, simulate,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

/// A window that never changes, without pacing: a controller that the crate does not know.
#[derive(Clone, Copy)]
struct FixedWindow(Bytes);

impl Controller for FixedWindow {
    fn name(&self) -> &'static str {
        "fixed_window"
    }

    fn on_acknowledgement(&mut self, _acknowledgement: &Acknowledgement<'_>) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        Some(self.0)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

impl Factory for FixedWindow {
    fn build(&self, _context: &Context) -> Result<AnyController, BuildError> {
        Ok(AnyController::Custom(Box::new(*self)))
    }

    fn feedback(&self) -> Feedback {
        Feedback::Marks
    }
}

fn fabric(text: &str) -> Fabric {
    Fabric::new(text.parse().unwrap()).unwrap()
}

fn flow(id: u64, source: u32, destination: u32, size: u64) -> FlowSpecification {
    FlowSpecification::new(id, NodeId::new(source), NodeId::new(destination), Bytes::new(size), Time::ZERO)
}

fn completion(fabric: &Fabric, window: u64, size: u64) -> Duration {
    let outcome = simulate(
        fabric,
        &Settings::for_line_rate(LINE),
        &FixedWindow(Bytes::new(window)),
        &[flow(0, 0, 1, size)],
    );
    outcome.unwrap().flows[0].completion_time().unwrap()
}

fn wire(bytes: u64) -> Duration {
    LINE.transmission_time(Bytes::new(bytes))
}

/// Store and forward: `n` packets leave one after the other, the last crosses the other links, its
/// acknowledgement three.
#[test]
fn a_lone_flow_takes_exactly_what_store_and_forward_says() {
    let fabric = fabric("dumbbell:1x1,100Gbit/s,1us");
    let path = Duration::from_microseconds(6) + wire(1048) * 2 + wire(60) * 3;
    for packets in [1, 2, 10, 1000] {
        assert_eq!(completion(&fabric, 1 << 40, packets * 1000), path + wire(1048) * packets);
    }
    let short = Duration::from_microseconds(6) + wire(49) * 3 + wire(60) * 3;
    assert_eq!(completion(&fabric, 1 << 40, 1), short);
}

/// A window of one packet sends one packet for each round trip.
#[test]
fn a_small_window_sends_a_window_for_each_round_trip() {
    let fabric = fabric("dumbbell:1x1,100Gbit/s,1us");
    let round_trip = Duration::from_microseconds(6) + wire(1048) * 3 + wire(60) * 3;
    assert_eq!(completion(&fabric, 1000, 50_000), round_trip * 50);
}

/// A slower middle link paces the flow.
#[test]
fn the_bottleneck_sets_the_pace() {
    let fabric = fabric("dumbbell:1x1,100Gbit/s,1us,10Gbit/s");
    let slow = |bytes| Rate::from_megabits_per_second(10_000).transmission_time(Bytes::new(bytes));
    let expected =
        Duration::from_microseconds(6) + wire(1048) * 2 + slow(1048) * 100 + wire(60) * 2 + slow(60);
    assert_eq!(completion(&fabric, 1 << 40, 100_000), expected);
}

/// Equal windows in one queue share it equally: flows of one size that start together end together.
#[test]
fn equal_windows_share_equally() {
    let fabric = fabric("dumbbell:8x8,100Gbit/s,1us");
    let flows: Vec<_> = (0..8).map(|sender| flow(u64::from(sender), sender, 8 + sender, 1_000_000)).collect();
    let window = FixedWindow(Bytes::new(30_000));
    let outcome = simulate(&fabric, &Settings::for_line_rate(LINE), &window, &flows).unwrap();
    let times: Vec<_> = outcome.flows.iter().map(|record| record.completion_time().unwrap()).collect();
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    let total = wire(1048) * 8000;
    assert!(*most >= total && *most <= total + Duration::from_microseconds(8));
    assert!(*most - *least <= wire(1048) * 8 * 30);
}

/// M/G/1 processor sharing: the mean time is `x / (1 - rho)` for a flow of service time `x`, whatever the
/// distribution of sizes (Kleinrock, Queueing Systems, volume 2, chapter 4). Many senders with equal windows
/// before one link are such a queue once the window covers the path.
fn processor_sharing(sizes: &str, load: f64, trials: u64) -> (f64, f64) {
    // Short links, so that the path adds next to nothing to the time in the queue.
    let fabric = fabric("dumbbell:40x40,100Gbit/s,10ns");
    let workload = Workload {
        sizes: sizes.parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern: Pattern::ONE_WAY,
        load: Load::Bottleneck(load),
        duration: Duration::from_milliseconds(40),
    };
    // No pause and no mark touches the flows: the queue is as long as the windows make it.
    let settings = Settings {
        marking: None,
        flow_control: None,
        buffer: Bytes::new(1 << 30),
        ..Settings::for_line_rate(LINE)
    };
    let mut stretches = Vec::new();
    for trial in 0..trials {
        let flows = workload.generate(&fabric, Seed::new(100 + trial)).unwrap();
        let outcome = simulate(&fabric, &settings, &FixedWindow(Bytes::new(4000)), &flows).unwrap();
        // Each trial is one draw: its flows are not independent.
        let (mut time, mut service) = (0.0, 0.0);
        for record in
            outcome.flows.iter().filter(|record| record.specification.start > Time::from_milliseconds(2))
        {
            let packets = record.specification.size.get().div_ceil(1000);
            time += record.completion_time().unwrap().as_seconds();
            service += wire(record.specification.size.get() + 48 * packets).as_seconds();
        }
        stretches.push(time / service);
    }
    let mean = stretches.iter().sum::<f64>() / trials as f64;
    let variance =
        stretches.iter().map(|stretch| (stretch - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
    (mean, (variance / trials as f64).sqrt())
}

#[test]
fn the_mean_under_load_is_that_of_processor_sharing() {
    for sizes in ["lognormal:mean=100kB,sigma=1", "fixed:100kB"] {
        let (mean, error) = processor_sharing(sizes, 0.5, 10);
        // Headers raise the load of the wire by 4.8 percent.
        let expected = 1.0 / (1.0 - 0.5 * 1.048);
        println!("{sizes}: {mean} ± {error}, {expected}");
        assert!(
            (mean - expected).abs() < 3.0 * error + 0.02 * expected,
            "{sizes}: {mean} ± {error}, not {expected}"
        );
        assert!(error < 0.06 * expected, "{sizes}: too few trials to tell, {error}");
    }
}
