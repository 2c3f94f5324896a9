//! Many paths at once in one process share threads, and nothing else. A program of its own: it counts the threads.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::thread;
use std::time::Duration;

use support::measuring::{until_undisturbed, within};
use support::{datagrams, open, quantile, settings};
use trialwise_emulator::Path;

const DATAGRAMS: u64 = 100;

/// Threads of this process that carry packets.
fn carriers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    names.filter(|name| name.trim_end() == "emulator").count()
}

/// The delay of the path of this number, ms: each has another.
fn delay(number: usize) -> usize {
    10 + 3 * number
}

/// The median in ms by which datagrams over each path come later than its model has it. All paths carry at the same time, each
/// another number of datagrams.
fn errors(paths: &[Path]) -> Vec<f64> {
    let error_of = |number: usize, path: &Path| {
        let count = DATAGRAMS + number as u64;
        let found = datagrams(path, count, Duration::from_millis(2), 200);
        assert_eq!(found.len() as u64, count);
        let mut errors: Vec<f64> =
            found.iter().map(|(_, took)| *took as f64 / 1e6 - delay(number) as f64).collect();
        quantile(&mut errors, 0.5)
    };
    let error_of = &error_of;
    thread::scope(|scope| {
        let all: Vec<_> = paths
            .iter()
            .enumerate()
            .map(|(number, path)| scope.spawn(move || error_of(number, path)))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn many_paths_share_as_many_threads_as_there_are_processors_and_nothing_else() {
    let processors = thread::available_parallelism().unwrap().get();
    until_undisturbed(|| {
        let pairs = |number: usize| format!("{}ms", delay(number));
        let opened =
            (0..2 * processors + 1).map(|number| open(&settings(&[("delay", &pairs(number))]), None));
        let Some(mut paths) = opened.collect::<Option<Vec<_>>>() else { return Ok(()) };
        assert_eq!(carriers(), processors);
        let mut found = errors(&paths);
        // One ends, and the others go on.
        let last = paths.pop().unwrap().close().unwrap();
        let number = paths.len();
        assert_eq!(last.forward.delivered.packets, DATAGRAMS + number as u64);
        found.extend(errors(&paths));
        for (number, path) in paths.into_iter().enumerate() {
            let report = path.close().unwrap();
            assert_eq!(report.forward.delivered.packets, 2 * (DATAGRAMS + number as u64), "path {number}");
            assert!(report.processor_time < report.duration, "{report:?}");
        }
        assert_eq!(carriers(), 0);
        found.iter().try_for_each(|error| within("how late the median of a path is in ms", *error, 0.0..=0.5))
    });
}
