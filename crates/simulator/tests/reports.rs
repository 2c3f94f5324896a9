//! A controller that asks for it is told of each packet, in a fabric as over a path.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use trialwise_congestion::{
    Acknowledgement, AnyController, BuildError, Context, Controller, Factory, Feedback, Loss, PacketOutcome,
    PacketReport, RateSample, Sent, Timeout,
};
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Manner, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
use trialwise_simulator::{Fabric, FlowSpecification, NodeId, Settings, simulate};
use trialwise_units::{Bytes, Duration, Ecn, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

/// What was told.
#[derive(Default)]
struct Told {
    seeds: Vec<Seed>,
    sent: Vec<Sent>,
    arrived: Vec<PacketReport>,
    lost: Vec<PacketReport>,
    /// When the acknowledgements came.
    acknowledged: Vec<Time>,
    samples: Vec<RateSample>,
}

/// A window of ten packets that never changes.
#[derive(Clone)]
struct Listeners(Arc<Mutex<Told>>, Feedback);

impl Controller for Listeners {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.lock().unwrap().sent.push(*sent);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let mut told = self.0.lock().unwrap();
        told.arrived.extend_from_slice(acknowledgement.reports);
        told.acknowledged.extend(acknowledgement.reports.iter().map(|_| acknowledgement.now));
        told.samples.extend(acknowledgement.rate_sample);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.0.lock().unwrap().lost.extend_from_slice(loss.reports);
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(10_000))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

impl Factory for Listeners {
    fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
        self.0.lock().unwrap().seeds.push(context.seed);
        Ok(AnyController::Custom(Box::new(self.clone())))
    }

    fn feedback(&self) -> Feedback {
        self.1
    }
}

/// A flow of 2 MB in a fabric that loses packets with this probability.
fn in_fabric(feedback: Feedback, loss: f64, seed: u64) -> Told {
    let fabric = Fabric::new("dumbbell:1x1,100Gbit/s,1us".parse().unwrap()).unwrap();
    let settings = Settings {
        loss: Some(loss),
        flow_control: None,
        seed: Seed::new(seed),
        ..Settings::for_line_rate(LINE)
    };
    let told = Arc::new(Mutex::new(Told::default()));
    let flow = FlowSpecification::new(0, NodeId::new(0), NodeId::new(1), Bytes::new(2_000_000), Time::ZERO);
    let outcome = simulate(&fabric, &settings, &Listeners(Arc::clone(&told), feedback), &[flow]).unwrap();
    assert_eq!(outcome.unfinished(), 0);
    std::mem::take(&mut told.lock().unwrap())
}

/// A flow of 2 MB over a path, each packet answered by itself.
fn over_path(loss: &str, seed: u64) -> Told {
    over_path_at_pace(Duration::ZERO, loss, seed)
}

/// The same, answered at this pace.
fn over_path_at_pace(pace: Duration, loss: &str, seed: u64) -> Told {
    let told = Arc::new(Mutex::new(Told::default()));
    let factory = Arc::new(Listeners(Arc::clone(&told), Feedback::Packets));
    let none = |path: &str| Err(format!("{path} is not read"));
    let link = |loss| {
        let pairs =
            [("rate", "12Mbit/s"), ("delay", "28ms"), ("loss", loss), ("queue", "droptail:packets=100")];
        LinkSpec::from_pairs(pairs, &none).unwrap()
    };
    let flow = PathFlow {
        scheme: Scheme::new(
            factory,
            1500,
            IpVersion::Four,
            Manner { ecn: Ecn::NotCapable, spreads_window: false, pace },
        )
        .unwrap(),
        congestion: "listener".to_owned(),
        load: Load::read("bytes:2MB", &|_| Err("no file".to_owned())).unwrap(),
        load_text: "bytes:2MB".to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(100_000),
    };
    let path =
        SimulatedPath { forward: link(loss), backward: link("0%"), seed: Seed::new(seed), interval: None };
    path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap();
    std::mem::take(&mut told.lock().unwrap())
}

fn assert_faithful(told: &Told) {
    assert!(told.sent.iter().map(|sent| sent.number).eq(0..told.sent.len() as u64));
    let mut arrivals = vec![0; told.sent.len()];
    for report in told.arrived.iter().chain(&told.lost) {
        let sent = &told.sent[report.number as usize];
        assert_eq!((report.sent, report.bytes), (sent.now, sent.bytes));
        if let PacketOutcome::Arrived(time) = report.outcome {
            assert!(time.is_some_and(|time| time > report.sent), "{report:?}");
            arrivals[report.number as usize] += 1;
        }
    }
    assert!(arrivals.iter().all(|count| *count <= 1));
    assert!(!told.samples.is_empty());
}

#[test]
fn in_a_fabric() {
    let calm = in_fabric(Feedback::Packets, 0.0, 1);
    assert_faithful(&calm);
    // All but the acknowledgement that ends the flow.
    assert_eq!((calm.sent.len(), calm.arrived.len(), calm.lost.len()), (2000, 1999, 0));
    assert!(
        calm.arrived
            .iter()
            .zip(&calm.acknowledged)
            .all(|(report, now)| matches!(report.outcome, PacketOutcome::Arrived(Some(time)) if time < *now))
    );
    // Ten packets are in flight for a round trip of a little over 6 us: the rate is that of the window.
    let sample = calm.samples[1000];
    let expected = 8e4 / sample.interval.as_seconds();
    assert!((sample.rate().bits_per_second() as f64 / expected - 1.0).abs() < 0.11, "{sample:?}");
    let lossy = in_fabric(Feedback::Packets, 0.01, 1);
    assert_faithful(&lossy);
    assert!(lossy.lost.len() > 20, "{}", lossy.lost.len());
}

#[test]
fn over_a_path() {
    let calm = over_path("0%", 1);
    assert_faithful(&calm);
    assert_eq!((calm.sent.len(), calm.lost.len()), (calm.arrived.len(), 0));
    let lossy = over_path("1%", 1);
    assert_faithful(&lossy);
    assert_eq!(lossy.lost.len() + lossy.arrived.len(), lossy.sent.len());
    assert!((5..40).contains(&lossy.lost.len()), "{}", lossy.lost.len());
}

#[test]
fn answers_at_a_pace_tell_each_arrival() {
    let pace = Duration::from_milliseconds(50);
    for (loss, most) in [("0%", 0), ("1%", 2)] {
        let mut told = over_path_at_pace(pace, loss, 1);
        // An arrival is not known where the answer that listed it was lost, which this path does to none.
        assert_faithful(&told);
        let returned = told.arrived.iter().filter(|report| report.outcome == PacketOutcome::Returned).count();
        assert!(returned <= most, "{returned}");
        told.acknowledged.dedup();
        // Answers leave at the pace or later; longer ones take longer on the way back.
        let closest = told.acknowledged.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(closest.is_some_and(|gap| gap + Duration::from_milliseconds(1) > pace), "{closest:?}");
    }
}

#[test]
fn who_does_not_ask_is_told_of_none() {
    let told = in_fabric(Feedback::Timestamps, 0.01, 1);
    assert_eq!((told.arrived.len(), told.lost.len(), told.samples.len()), (0, 0, 0));
    assert!(told.sent.len() > 2000);
}

#[test]
fn the_seed_of_a_controller_is_that_of_the_trial_and_the_flow() {
    let seeds = |seed| in_fabric(Feedback::Marks, 0.0, seed).seeds;
    assert_eq!(seeds(1).last(), seeds(1).last());
    assert_ne!(seeds(1).last(), seeds(2).last());
    assert_eq!(over_path("0%", 1).seeds, over_path("0%", 1).seeds);
    assert_ne!(over_path("0%", 1).seeds, over_path("0%", 2).seeds);
}
