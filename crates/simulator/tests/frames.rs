//! Frames of media over simulated paths against what arithmetic says of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use trialwise_congestion::{
    Acknowledgement, AnyController, Backlog, BuildError, Context, Controller, Factory, Feedback, Loss, Sent,
    Timeout,
};
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Manner, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
use trialwise_units::{Bytes, Duration, Ecn, Rate, Seed, Time};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Bytes of a packet before the payload of a frame: IPv4 and UDP, then the header of data and which frame it is of.
const OVERHEAD: u64 = 20 + 8 + 32 + 12;
const OPENING: u64 = 64;
const MTU: u64 = 1500;
const AMPLE: Pairs<'static> = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=100")];

/// A frame: captured, size, skipped, arrived.
#[derive(Clone, Copy, Debug)]
struct Shown {
    captured: u64,
    size: u64,
    target: Option<u64>,
    is_key: bool,
    is_skipped: bool,
    arrived: Option<u64>,
}

fn run(path: Pairs<'_>, congestion: &str, load: &str, sizes: &str, seconds: u64) -> Vec<Shown> {
    let scheme = Scheme::named(congestion, MTU as u16, IpVersion::Four, Marking::Declared).unwrap();
    run_scheme(path, scheme, load, sizes, seconds)
}

fn run_scheme(path: Pairs<'_>, scheme: Scheme, load: &str, sizes: &str, seconds: u64) -> Vec<Shown> {
    let outage = |_: &str| Err("no file is read".to_owned());
    let forward = LinkSpec::from_pairs(path.iter().copied(), &outage).unwrap();
    let backward = LinkSpec::from_pairs([("rate", "12Mbit/s"), ("delay", "28ms")], &outage).unwrap();
    let flow = PathFlow {
        scheme,
        congestion: "any".to_owned(),
        load: Load::read(load, &|_| Ok(sizes.to_owned())).unwrap(),
        load_text: load.to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(1000 * seconds),
    };
    let path = SimulatedPath { forward, backward, seed: Seed::new(3), interval: None };
    let outcome = path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap();
    // What is captured as the flow stops is no part of its time.
    let stop = 1_000_000_000 * seconds;
    frames(&outcome.flows[0].report).into_iter().filter(|frame| frame.captured < stop).collect()
}

fn frames(report: &[u8]) -> Vec<Shown> {
    let mut frames = BTreeMap::new();
    for line in report.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        let Some(number) = line["frame"].as_u64() else { continue };
        if let Some(captured) = line["captured_ns"].as_u64() {
            let shown = Shown {
                captured,
                size: line["size_bytes"].as_u64().unwrap(),
                target: line["target_bps"].as_u64(),
                is_key: line["is_key"].as_bool().unwrap(),
                is_skipped: line["is_skipped"].as_bool().unwrap(),
                arrived: None,
            };
            assert!(frames.insert(number, shown).is_none(), "frame {number} twice");
        } else {
            let arrived = &mut frames.get_mut(&number).unwrap().arrived;
            assert!(arrived.replace(line["arrived_ns"].as_u64().unwrap()).is_none(), "frame {number} twice");
        }
    }
    assert!(frames.keys().copied().eq(0..frames.len() as u64));
    frames.into_values().collect()
}

/// Bytes of all packets of a frame.
fn on_the_wire(size: u64, opens: bool) -> u64 {
    let first = MTU - OVERHEAD - if opens { OPENING } else { 0 };
    let packets = 1 + size.saturating_sub(first).div_ceil(MTU - OVERHEAD);
    size + packets * OVERHEAD + if opens { OPENING } else { 0 }
}

#[test]
fn a_frame_takes_serialisation_and_propagation() {
    for size in [1, 1363, 1364, 1365, 1428, 2791, 2792, 2793, 4170, 13_500] {
        let frames = run(AMPLE, "fixed_rate:10Gbit/s", "media:file=SIZES,fps=2", &size.to_string(), 2);
        assert_eq!(frames.len(), 4);
        for (number, frame) in frames.iter().enumerate() {
            // 12 Mbit/s are 1500 bytes a millisecond.
            let bytes = on_the_wire(size, number == 0);
            let expected = (bytes * 2_000_000).div_ceil(3000) + 28_000_000;
            let delay = frame.arrived.unwrap() - frame.captured;
            assert!(delay.abs_diff(expected) <= 1, "{size} B, frame {number}: {delay} ns, not {expected}");
        }
    }
}

#[test]
fn an_ample_path_carries_every_frame_at_the_highest_rate() {
    for congestion in ["cubic", "fixed_rate:8Mbit/s", "copa"] {
        for (model, mean) in [("constant", 0.0), ("rfc8593", 0.02)] {
            let load = format!("media:rate=150kbit/s..1.5Mbit/s,fps=30,model={model},seed=5");
            let frames = run(AMPLE, congestion, &load, "", 60);
            if model == "constant" {
                assert_eq!(frames.len(), 1800, "{congestion}");
            }
            assert!(frames.iter().all(|frame| !frame.is_skipped), "{congestion}");
            let missing = frames.iter().filter(|frame| frame.arrived.is_none()).count();
            assert!(missing <= 3, "{congestion}: {missing} frames missing");
            let later: Vec<&Shown> = frames.iter().filter(|frame| frame.captured >= 2_000_000_000).collect();
            assert!(later.iter().all(|frame| frame.target == Some(1_500_000)), "{congestion}");
            let bits: u64 = later.iter().map(|frame| 8 * frame.size).sum();
            assert!((bits as f64 / 58.0 / 1.5e6 - 1.0).abs() <= mean, "{congestion}, {model}: {bits}");
        }
    }
}

#[test]
fn an_encoder_follows_a_path_that_has_less() {
    let load = "media:rate=150kbit/s..1.5Mbit/s,fps=30,seed=5";
    let narrow: Pairs<'_> = &[("rate", "1Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=20")];
    let frames = run(narrow, "cubic", load, "", 60);
    let bits: u64 = frames.iter().filter(|frame| frame.arrived.is_some()).map(|frame| 8 * frame.size).sum();
    let share = bits as f64 / 60.0 / 1e6;
    assert!((0.6..1.0).contains(&share), "{share}");
    // Never more than two frames and the one of the moment before the pacer: what waits longer was left out.
    assert!(frames.iter().any(|frame| frame.is_skipped));
}

#[test]
fn a_silent_path_pauses_the_encoder_and_a_key_frame_ends_that() {
    let dark: Pairs<'_> = &[
        ("rate", "12Mbit/s"),
        ("delay", "28ms"),
        ("queue", "droptail:packets=100"),
        ("outage", "fixed:on=5s,off=2s"),
    ];
    let load = "media:rate=150kbit/s..1.5Mbit/s,fps=30,seed=5,deadline=150ms";
    let frames = run(dark, "newreno", load, "", 11);
    let seconds = |frame: &Shown| frame.captured as f64 / 1e9;
    let skipped: Vec<f64> = frames.iter().filter(|frame| frame.is_skipped).map(seconds).collect();
    assert!(!skipped.is_empty(), "nothing was left out");
    // Feedback is silent for 500 ms at first; it is back with the first probe after the outage.
    assert!(skipped.iter().all(|time| (5.4..9.0).contains(time)), "{skipped:?}");
    let pause = frames.iter().position(|frame| frame.is_skipped).unwrap();
    let resumed = frames[pause..].iter().find(|frame| !frame.is_skipped).unwrap();
    assert!(resumed.is_key, "{resumed:?}");
    assert!(frames.iter().rev().skip(3).take(30).all(|frame| frame.arrived.is_some()));
}

#[test]
fn a_frame_is_abandoned_after_its_deadline() {
    let lossy: Pairs<'_> =
        &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=100"), ("loss", "1%")];
    let load = |deadline: &str| format!("media:rate=150kbit/s..1.5Mbit/s,fps=30,seed=5{deadline}");
    let late = |frames: &[Shown], limit: u64| {
        frames
            .iter()
            .filter(|frame| frame.arrived.is_some_and(|arrived| arrived - frame.captured > limit))
            .count()
    };
    // A lost packet takes more than a round trip of 56 ms.
    let reliable = run(lossy, "fixed_rate:8Mbit/s", &load(""), "", 30);
    assert!(late(&reliable, 60_000_000) > 20);
    assert!(reliable.iter().rev().skip(6).all(|frame| frame.arrived.is_some()));
    let strict = run(lossy, "fixed_rate:8Mbit/s", &load(",deadline=40ms"), "", 30);
    // What was sent before the deadline may arrive 28 ms after it.
    assert_eq!(late(&strict, 70_000_000), 0);
    let lost = strict.iter().filter(|frame| frame.arrived.is_none()).count();
    assert!(lost > 20, "{lost}");
    assert!(strict.iter().filter(|frame| frame.is_key).count() > 10);
}

/// What a controller was told, and when.
type Told = Arc<Mutex<Vec<(Time, Backlog)>>>;

/// Names targets at planted times, paces at a constant rate, and keeps what it is told of the backlog.
struct Planted {
    now: Time,
    targets: &'static [(u64, u64)],
    pace: Rate,
    told: Told,
}

impl Controller for Planted {
    fn name(&self) -> &'static str {
        "planted"
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.now = acknowledgement.now;
    }

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_backlog(&mut self, now: Time, backlog: &Backlog) {
        self.told.lock().unwrap().push((now, *backlog));
    }

    fn window(&self) -> Option<Bytes> {
        None
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pace)
    }

    fn target_rate(&self) -> Option<Rate> {
        let (_, rate) = self.targets.iter().rfind(|(from, _)| Time::from_milliseconds(*from) <= self.now)?;
        Some(Rate::from_bits_per_second(*rate))
    }
}

struct Plant {
    targets: &'static [(u64, u64)],
    pace: Rate,
    told: Told,
}

impl Factory for Plant {
    fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
        let (targets, pace, told) = (self.targets, self.pace, Arc::clone(&self.told));
        Ok(AnyController::Custom(Box::new(Planted { now: context.now, targets, pace, told })))
    }

    fn feedback(&self) -> Feedback {
        Feedback::Marks
    }
}

fn planted(targets: &'static [(u64, u64)], pace: u64) -> (Scheme, Told) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let plant = Plant { targets, pace: Rate::from_bits_per_second(pace), told: Arc::clone(&told) };
    let manner = Manner { ecn: Ecn::NotCapable, spreads_window: false, pace: Duration::ZERO };
    (Scheme::new(Arc::new(plant), MTU as u16, IpVersion::Four, manner).unwrap(), told)
}

#[test]
fn a_planted_step_is_followed_after_the_latency() {
    // One step long after the last change, and one 50 ms after that.
    let (scheme, _) = planted(&[(0, 1_000_000), (5_010, 600_000), (5_060, 1_200_000)], 10_000_000);
    let load = "media:rate=150kbit/s..1.5Mbit/s,fps=30,seed=9";
    let frames = run_scheme(AMPLE, scheme, load, "", 7);
    let first = |target| frames.iter().position(|frame| frame.target == Some(target)).unwrap();
    let (down, up) = (first(600_000), first(1_200_000));
    // The frame after the step, where the last acknowledgement had come by then, or the one after it.
    let fell = frames[down].captured;
    assert!((5_010_000_000..5_110_000_000).contains(&fell), "{fell}");
    let rose = frames[up].captured - fell;
    // A frame of the burst each 33.3 ms: the sixth or seventh.
    assert!((200_000_000..233_400_000).contains(&rose), "{rose}");
    // Bursts as the formula has them: 3.24 even frames, then 0.68 of one each.
    let even = 1_200_000.0 / 8.0 / 30.0;
    let sizes: Vec<u64> = frames[up..up + 8].iter().map(|frame| frame.size).collect();
    let rest = (even * (8.0 - 3.24) / 7.0_f64).round() as u64;
    assert_eq!(sizes, [&[(3.24 * even).round() as u64][..], &[rest; 7]].concat());
}

#[test]
fn a_controller_is_told_what_waits_before_the_pacer() {
    // Frames of 5000 B each 100 ms, which a pace of 320 kbit/s lets out in 125 ms.
    let (scheme, told) = planted(&[], 320_000);
    let frames = run_scheme(AMPLE, scheme, "media:file=SIZES,fps=10", "5000", 20);
    let told = told.lock().unwrap();
    assert_eq!(told[0], (Time::ZERO, Backlog { bytes: Bytes::new(5000), age: Duration::ZERO }));
    let oldest = told.iter().map(|(_, backlog)| backlog.age).max().unwrap();
    // A frame is made while the oldest is at most 200 ms old: then there are at most two before it, and all three take 375 ms.
    assert!((200..=375).contains(&oldest.milliseconds()), "{oldest:?}");
    assert!(frames.iter().any(|frame| frame.is_skipped));
    let most = told.iter().map(|(_, backlog)| backlog.bytes.get()).max().unwrap();
    assert!((10_000..=15_000).contains(&most), "{most}");
}
