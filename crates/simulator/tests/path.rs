//! Flows over simulated paths against what theory says of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trialwise_congestion::{AnyController, BuildError, Context, Factory, Feedback, NewReno, NewRenoSettings};
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::report::Ending;
use trialwise_protocol::scheme::{IpVersion, Manner, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathError, PathFlow, PathOutcome, SimulatedPath};
use trialwise_units::{Duration, Ecn, Seed, Time};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const DEEP: Pairs<'static> = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=100")];
const DELIVERED: u8 = 0;
const HELD: u8 = 1;
const OVERFLOW: u8 = 5;

fn path(pairs: Pairs<'_>, seed: u64) -> SimulatedPath {
    let none = |path: &str| Err(format!("{path} is not read"));
    let link = LinkSpec::from_pairs(pairs.iter().copied(), &none).unwrap();
    let interval = Some(Duration::from_milliseconds(10));
    SimulatedPath { forward: link.clone(), backward: link, seed: Seed::new(seed), interval }
}

fn flow(congestion: &str, load: &str, seconds: u64) -> PathFlow {
    PathFlow {
        scheme: Scheme::named(congestion, 1500, IpVersion::Four, Marking::Declared).unwrap(),
        congestion: congestion.to_owned(),
        load: Load::read(load, &|_| Ok("start_ns,size_bytes\n0,30000\n500000000,60000\n".to_owned()))
            .unwrap(),
        load_text: load.to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(1000 * seconds),
    }
}

fn run(path: &SimulatedPath, flows: &[PathFlow]) -> PathOutcome {
    path.simulate(flows, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Delays (ns) and sizes of the packets of a flow that arrived after `from` seconds, in one direction.
fn arrived(outcome: &PathOutcome, flow: u64, direction: Direction, from: f64) -> Vec<(u64, u16)> {
    let packets = &outcome.packets;
    (0..packets.time.len())
        .filter(|index| {
            packets.flow[*index] == flow
                && packets.event[*index] == DELIVERED
                && packets.direction[*index] == direction as u8
                && packets.time[*index] as f64 >= from * 1e9
        })
        .map(|index| (packets.delay[index], packets.size[index]))
        .collect()
}

fn megabits(arrived: &[(u64, u16)], seconds: f64) -> f64 {
    arrived.iter().map(|(_, size)| f64::from(*size)).sum::<f64>() * 8e-6 / seconds
}

#[test]
fn a_window_fills_its_link_to_the_bit() {
    for congestion in ["newreno", "cubic", "copa", "ledbat"] {
        let outcome = run(&path(DEEP, 1), &[flow(congestion, "bulk", 10)]);
        let rate = megabits(&arrived(&outcome, 1, Direction::Forward, 5.0), 5.0);
        assert!((rate / 12.0 - 1.0).abs() < 0.005, "{congestion}: {rate}");
    }
}

#[test]
fn a_full_queue_delays_by_its_length() {
    let outcome = run(&path(DEEP, 1), &[flow("fixed-rate:20Mbit/s", "bulk", 5)]);
    let delays = arrived(&outcome, 1, Direction::Forward, 2.0);
    // 28 ms, the packet itself (1 ms at 12 Mbit/s), what is left of the one before it, and 100 or 99 that wait.
    let (least, most) =
        (delays.iter().map(|(delay, _)| *delay).min(), delays.iter().map(|(delay, _)| *delay).max());
    assert!(least.unwrap() >= 127_000_000 && most.unwrap() <= 129_000_000, "{least:?} {most:?}");
    let dropped = outcome.packets.event.iter().filter(|event| **event == OVERFLOW).count() as f64;
    // Sent: 20 Mbit/s in packets of 1500 bytes; 12 of 20 pass.
    assert!((dropped / (5.0 * 20e6 / 12e3 * 0.4) - 1.0).abs() < 0.05, "{dropped}");
}

#[test]
fn an_empty_path_takes_its_delay_and_nothing_else() {
    let outcome = run(&path(DEEP, 1), &[flow("fixed-rate:1Mbit/s", "bulk", 2)]);
    let forward = arrived(&outcome, 1, Direction::Forward, 0.0);
    assert!(forward.iter().all(|packet| *packet == (29_000_000, 1500)), "{forward:?}");
    // An acknowledgement of one range: 28 bytes of headers, 16 that every frame has, 40 of facts, 8 of the range.
    let backward = arrived(&outcome, 1, Direction::Backward, 0.0);
    assert!(backward.iter().all(|packet| *packet == (28_061_333, 92)), "{backward:?}");
    let held = outcome.packets.event.iter().filter(|event| **event == HELD).count();
    assert!((4..=8).contains(&held), "{held}");
}

#[test]
fn a_transfer_takes_the_rounds_of_slow_start() {
    // 10, 20 and 40 packets of 1440 bytes, the first with 64 less: 100,736 bytes in three round trips of 56 ms, of which
    // the last waits for the 40 packets to be serialised (40 ms) and the first packet of each round takes 1 ms.
    let outcome = run(&path(DEEP, 1), &[flow("newreno", "bytes:100736B", 10)]);
    assert_eq!(outcome.flows[0].ended, Ending::Complete);
    let seconds = outcome.end.as_seconds();
    assert!((0.168..0.30).contains(&seconds), "{seconds}");
    let report = String::from_utf8(outcome.flows[0].report.clone()).unwrap();
    assert!(report.contains(r#""size_bytes":100736"#), "{report}");
    assert!(report.trim_end().lines().last().unwrap().contains(r#""ended":"complete""#), "{report}");
}

#[test]
fn flows_share_directions_and_loads() {
    let download = PathFlow { direction: Direction::Backward, ..flow("cubic", "bulk", 6) };
    let requests = flow("newreno", "requests:request=200B,response=30kB,think=50ms,count=5", 6);
    let list = flow("cubic", "flows:list", 6);
    let outcome = run(&path(DEEP, 1), &[download, requests, list]);
    assert_eq!(
        outcome.flows.iter().map(|flow| flow.ended).collect::<Vec<_>>(),
        [Ending::Time, Ending::Complete, Ending::Complete]
    );
    let down = megabits(&arrived(&outcome, 1, Direction::Backward, 3.0), 3.0);
    assert!(down > 11.0, "{down}");
    let report = String::from_utf8(outcome.flows[1].report.clone()).unwrap();
    assert_eq!(report.matches(r#""size_bytes":30200"#).count(), 5, "{report}");
    let report = String::from_utf8(outcome.flows[2].report.clone()).unwrap();
    assert!(report.contains(r#"{"flow":1,"start_ns":500000000"#), "{report}");
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_one_others() {
    const LOSSY: Pairs<'static> = &[
        ("rate", "poisson:rate=12Mbit/s"),
        ("delay", "28ms"),
        ("queue", "pie:packets=100"),
        ("loss", "0.4%"),
    ];
    let flows = [flow("cubic", "bulk", 4), flow("copa", "rate:3Mbit/s", 4), flow("ledbat", "bytes:1MB", 4)];
    let first = run(&path(LOSSY, 7), &flows);
    assert_eq!(first, run(&path(LOSSY, 7), &flows));
    assert_ne!(first.packets, run(&path(LOSSY, 8), &flows).packets);
    let kinds: std::collections::BTreeSet<u8> = first.packets.event.iter().copied().collect();
    assert!(kinds.contains(&2), "losses are there: {kinds:?}");
}

#[test]
fn a_controller_of_ones_own_takes_part() {
    struct Mine(AtomicU32);
    impl Factory for Mine {
        fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let settings = NewRenoSettings { burst_limit: u32::MAX, ..NewRenoSettings::default() };
            Ok(AnyController::Custom(Box::new(NewReno::new(&settings, context)?)))
        }
        fn feedback(&self) -> Feedback {
            Feedback::Marks
        }
    }
    let theirs = flow("newreno", "bulk", 5);
    let factory = Arc::new(Mine(AtomicU32::new(0)));
    let manner = Manner { ecn: Ecn::Capable0, spreads_window: true, pace: Duration::ZERO };
    let mine = PathFlow {
        scheme: Scheme::new(factory.clone(), 1500, IpVersion::Four, manner).unwrap(),
        ..theirs.clone()
    };
    assert_eq!(run(&path(DEEP, 1), &[theirs]), run(&path(DEEP, 1), &[mine]));
    assert_eq!(factory.0.load(Ordering::Relaxed), 1);
}

#[test]
fn whoever_watches_can_end_it() {
    let mut watch = |now: Time| {
        if now > Time::from_milliseconds(100) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = path(DEEP, 1).simulate(&[flow("cubic", "bulk", 1000)], &mut watch);
    assert!(matches!(outcome, Err(PathError::Interrupted)));
}

#[test]
fn what_cannot_be_is_said() {
    let standing = flow("fixed-rate:0bit/s", "bulk", 1);
    let error = path(DEEP, 1).simulate(&[standing], &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().starts_with("flow 1: ") && error.to_string().contains("greater than zero"),
        "{error}"
    );
}

#[test]
fn a_flow_that_nothing_holds_back_ends_in_words() {
    for (congestion, pairs) in
        [("cubic", &[][..]), ("newreno", &[("delay", "1ms")]), ("fixed_rate:1Tbit/s", &[("delay", "1s")])]
    {
        let path = SimulatedPath { interval: None, ..path(pairs, 1) };
        let error =
            path.simulate(&[flow(congestion, "bulk", 30)], &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, PathError::Boundless(_)), "{congestion}: {error}");
    }
}
