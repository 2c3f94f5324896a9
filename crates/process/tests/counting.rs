//! Counters read while real programs run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::{Command, Stdio};

use trialwise_process::{Count, Counter, Counting, threads_of};

/// None where this kernel lets nobody count.
fn counting(name: &str, threads: Option<&[i32]>) -> Option<Counting> {
    let counter = Counter::named(name).unwrap();
    let made = threads.map_or_else(|| Counting::of_next(&counter), |ids| Counting::of_threads(&counter, ids));
    made.ok()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null());
    command
}

#[test]
fn what_is_started_is_counted_with_its_children_and_its_starter_is_not() {
    let Some(faults) = counting("page-faults", None) else { return };
    assert_eq!(faults.read().unwrap(), Count::default());
    std::hint::black_box(vec![1_u8; 64 << 20]);
    assert_eq!(faults.read().unwrap(), Count::default());
    assert!(shell("for n in $(seq 40); do /bin/true; done").status().unwrap().success());
    let count = faults.read().unwrap();
    // Becoming a program alone takes some tens of them.
    assert!((40 * 20..40 * 1000).contains(&count.raw), "{count:?}");
    assert!(count.enabled_ns > 0);
    assert_eq!(count.enabled_ns, count.running_ns);
    assert_eq!(count.scaled(), Some(count.raw as f64));
}

#[test]
fn a_process_that_is_there_is_counted_from_then_on() {
    let mut child = shell("read line; for n in $(seq 40); do /bin/true; done");
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    let threads = threads_of(i32::try_from(child.id()).unwrap()).unwrap();
    assert_eq!(threads, [i32::try_from(child.id()).unwrap()]);
    let Some(faults) = counting("minor-faults", Some(&threads)) else {
        drop(child.stdin.take());
        child.wait().unwrap();
        return;
    };
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(faults.read().unwrap().raw > 40 * 20);
    let gone = Counting::of_threads(&Counter::named("minor-faults").unwrap(), &threads);
    assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ESRCH));
}

#[test]
fn what_took_turns_is_scaled_and_what_never_had_one_is_no_count() {
    let scaled = |raw, enabled_ns, running_ns| Count { raw, enabled_ns, running_ns }.scaled();
    assert_eq!(scaled(300, 4000, 1000), Some(1200.0));
    assert_eq!(scaled(0, 4000, 0), None);
    assert_eq!(scaled(0, 0, 0), Some(0.0));
}
