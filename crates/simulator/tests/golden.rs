//! Every flow of the recorded runs of the HPCC simulator, equal in every nanosecond.
//!
//! The recordings stand beside the repository in `../shared/data/simulator` and are no part of it; where they
//! are absent these tests say so and pass.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use trialwise_congestion::{
    Algorithm, DcqcnSettings, DctcpSettings, Fidelity, HpccSettings, TimelySettings, WindowRule,
};
use trialwise_simulator::{
    Fabric, FlowSpecification, Marking, Mode, Outcome, RouteOrder, Settings, Topology, parse_rate, read_csv,
    read_hpcc, simulate, write_hpcc,
};
use trialwise_units::{Bytes, Duration, Rate, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

/// A recorded run: what was asked for, what came out, the parameters.
struct Recording {
    name: String,
    requested: Vec<FlowSpecification>,
    actual: Vec<FlowSpecification>,
    completion: Vec<u64>,
    ideal: Vec<u64>,
    parameters: HashMap<String, String>,
}

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/simulator");
    // A worktree stands one level deeper.
    let deeper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/simulator");
    [folder, deeper].into_iter().find(|folder| folder.is_dir())
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// All recordings of one controller.
fn recordings(folder: &Path, controller: &str) -> Vec<Recording> {
    let ending = format!("_{controller}.csv");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.to_string_lossy().ends_with(&ending));
    files.iter().map(|path| read_recording(path)).collect()
}

fn read_recording(path: &Path) -> Recording {
    let text = read(path);
    let parameters = read(&path.with_extension("conf"));
    let words = parameters.lines().filter_map(|line| line.split_once(' '));
    Recording {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        requested: read_csv(&text.replacen("start_ns_requested", "start_ns", 1)).unwrap().flows,
        actual: read_csv(&text).unwrap().flows,
        completion: column(&text, 6),
        ideal: column(&text, 7),
        parameters: words.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    }
}

fn column(text: &str, place: usize) -> Vec<u64> {
    text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

impl Recording {
    fn text(&self, key: &str) -> &str {
        self.parameters[key].trim()
    }

    fn number(&self, key: &str) -> f64 {
        self.text(key).parse().unwrap()
    }

    fn rate(&self, key: &str) -> Rate {
        parse_rate(self.text(key)).unwrap()
    }

    fn microseconds(&self, key: &str) -> Duration {
        Duration::from_microseconds(self.number(key) as u64)
    }

    /// The last field of a map of one link rate.
    fn mapped(&self, key: &str) -> f64 {
        self.text(key).split(' ').next_back().unwrap().parse().unwrap()
    }

    fn window(&self) -> WindowRule {
        match (self.text("HAS_WIN"), self.text("VAR_WIN")) {
            ("0", _) => WindowRule::Unlimited,
            (_, "0") => WindowRule::Fixed,
            _ => WindowRule::Scaled,
        }
    }

    fn algorithm(&self) -> Algorithm {
        let (fidelity, window, minimum) = (Fidelity::Compatible, self.window(), self.rate("MIN_RATE"));
        match self.text("CC_MODE") {
            "8" => Algorithm::Dctcp(DctcpSettings {
                fidelity,
                window,
                minimum,
                gain: self.number("EWMA_GAIN"),
                increase: self.rate("DCTCP_RATE_AI"),
            }),
            "1" => Algorithm::Dcqcn(DcqcnSettings {
                fidelity,
                window,
                minimum,
                gain: self.number("EWMA_GAIN"),
                alpha_interval: self.microseconds("ALPHA_RESUME_INTERVAL"),
                decrease_interval: self.microseconds("RATE_DECREASE_INTERVAL"),
                increase_interval: self.microseconds("RP_TIMER"),
                recovery_steps: self.number("FAST_RECOVERY_TIMES") as u32,
                increase: self.rate("RATE_AI"),
                hyper_increase: self.rate("RATE_HAI"),
                clamp_target: self.text("CLAMP_TARGET_RATE") == "1",
            }),
            "7" => Algorithm::Timely(TimelySettings {
                fidelity,
                window,
                minimum,
                increase: self.rate("RATE_AI"),
                hyper_increase: self.rate("RATE_HAI"),
                ..TimelySettings::for_line_rate(LINE)
            }),
            "3" => Algorithm::Hpcc(HpccSettings {
                fidelity,
                window,
                minimum,
                target_utilisation: self.number("U_TARGET"),
                maximum_stage: self.number("MI_THRESH") as u32,
                increase: self.rate("RATE_AI"),
            }),
            other => panic!("no controller has the mode {other}"),
        }
    }

    fn settings(&self) -> Settings {
        let kilobytes = |key| Bytes::new(self.mapped(key) as u64 * 1000);
        let mut settings = Settings::for_line_rate(LINE).with_mode(Mode::Compatible);
        settings.segment = Bytes::new(self.number("PACKET_PAYLOAD_SIZE") as u64);
        settings.buffer = Bytes::new((self.number("BUFFER_SIZE") as u64) << 20);
        settings.priorities.acknowledgements_pass_pause = self.text("ACK_HIGH_PRIO") == "1";
        settings.marking = Some(Marking {
            minimum: kilobytes("KMIN_MAP"),
            maximum: kilobytes("KMAX_MAP"),
            probability: self.mapped("PMAX_MAP"),
            rate: LINE,
        });
        settings
    }

    fn run(&self, folder: &Path) -> Outcome {
        let fat_tree = self.name.starts_with("ft4");
        let file = if fat_tree { "topo_fattree4.txt" } else { "topo_dumbbell10x10.txt" };
        let topology = Topology::from_hpcc(&read(&folder.join(file))).unwrap();
        let order =
            fat_tree.then(|| RouteOrder::parse(&read(&folder.join("topo_fattree4_routes.txt"))).unwrap());
        let fabric = Fabric::with_route_order(topology, order).unwrap();
        simulate(&fabric, &self.settings(), &self.algorithm(), &self.actual).unwrap()
    }
}

fn completion_times(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|record| record.completion_time().unwrap().nanoseconds()).collect()
}

/// Runs all recordings of a controller and names those that differ.
fn assert_equal(controller: &str) {
    let Some(folder) = folder() else {
        println!("skipped: the recorded runs (../shared/data/simulator) are not here");
        return;
    };
    let mut wrong = Vec::new();
    let recordings = recordings(&folder, controller);
    for recording in &recordings {
        let times = completion_times(&recording.run(&folder));
        let different =
            times.iter().zip(&recording.completion).filter(|(ours, theirs)| ours != theirs).count();
        if different > 0 {
            wrong.push(format!("{}: {different} of {} flows", recording.name, times.len()));
        }
    }
    assert!(wrong.is_empty() && recordings.len() == 19, "{} runs, different: {wrong:#?}", recordings.len());
}

#[test]
fn dctcp_is_equal_in_every_nanosecond() {
    assert_equal("dctcp");
}

#[test]
fn timely_is_equal_in_every_nanosecond() {
    assert_equal("timely");
}

#[test]
fn hpcc_is_equal_in_every_nanosecond() {
    assert_equal("hpcc");
}

#[test]
fn dcqcn_is_equal_in_every_nanosecond_with_the_documented_marks() {
    assert_equal("dcqcnx");
}

/// The reference's own random marks are another stream: the completion times must agree in distribution only.
#[test]
fn dcqcn_agrees_in_distribution_with_other_marks() {
    let Some(folder) = folder() else {
        println!("skipped: the recorded runs (../shared/data/simulator) are not here");
        return;
    };
    for recording in recordings(&folder, "dcqcn") {
        let mut ours = completion_times(&recording.run(&folder));
        let mut theirs = recording.completion.clone();
        let total = |times: &[u64]| times.iter().sum::<u64>() as f64;
        let ratio = total(&ours) / total(&theirs);
        assert!((0.8..1.25).contains(&ratio), "{}: mean {ratio}", recording.name);
        if ours.len() >= 30 {
            let distance = kolmogorov_smirnov(&mut ours, &mut theirs);
            // The two-sample bound at 0.1 percent, which paired flow lists stay far below.
            let bound = 1.95 * (2.0 / ours.len() as f64).sqrt();
            assert!(distance < bound / 2.0, "{}: {distance} of {bound}", recording.name);
        }
    }
}

fn kolmogorov_smirnov(first: &mut [u64], second: &mut [u64]) -> f64 {
    first.sort_unstable();
    second.sort_unstable();
    let below =
        |sorted: &[u64], value| sorted.partition_point(|other| *other <= value) as f64 / sorted.len() as f64;
    let values = first.iter().chain(second.iter());
    values.map(|value| (below(first, *value) - below(second, *value)).abs()).fold(0.0, f64::max)
}

#[test]
fn starts_and_ideal_times_are_those_of_the_reference() {
    let Some(folder) = folder() else {
        println!("skipped: the recorded runs (../shared/data/simulator) are not here");
        return;
    };
    for recording in recordings(&folder, "dctcp") {
        let read_back: Vec<Time> = read_hpcc(&write_hpcc(&recording.requested))
            .unwrap()
            .flows
            .iter()
            .map(|flow| flow.start)
            .collect();
        let actual: Vec<Time> = recording.actual.iter().map(|flow| flow.start).collect();
        assert_eq!(read_back, actual, "{}", recording.name);
        let outcome = recording.run(&folder);
        let ideal: Vec<u64> = outcome.flows.iter().map(|record| record.ideal.nanoseconds()).collect();
        assert_eq!(ideal, recording.ideal, "{}", recording.name);
    }
}
