//! What each congestion control is known by, on real packets over an emulated path; needs root.

#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/mod.rs"]
mod support;
mod transfer;

use std::thread;

use support::{quantile, settings};
use transfer::{Transfer, transfer};
use trialwise_kernel_congestion::{Algorithm, Attached, attach, is_available};

/// Attached, or none with the reason printed where this machine or user may not.
fn attached(algorithm: Algorithm) -> Option<Attached> {
    match is_available() {
        Ok(()) => Some(attach(algorithm).unwrap()),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// Both at the same time, each over a path of its own like this.
fn side_by_side(pairs: &[(&str, &str)], controls: [&str; 2]) -> Option<[Transfer; 2]> {
    thread::scope(|scope| {
        let running = controls.map(|control| scope.spawn(move || transfer(&settings(pairs), control)));
        let [first, second] = running.map(|one| one.join().unwrap());
        Some([first?, second?])
    })
}

#[test]
fn vegas_holds_the_queue_down_where_cubic_fills_it() {
    let Some(_vegas) = attached(Algorithm::Vegas) else { return };
    let path = [("rate", "20Mbit/s"), ("delay", "15ms"), ("queue", "droptail:packets=300")];
    let Some([vegas, cubic]) = side_by_side(&path, ["tw_vegas", "cubic"]) else { return };
    let delay = |transfer: &Transfer| quantile(&mut transfer.queueing_milliseconds(15.0), 0.95);
    eprintln!(
        "vegas {:.2} Mbit/s, p95 queueing {:.2} ms; cubic {:.2} Mbit/s, {:.2} ms",
        vegas.megabits_per_second(),
        delay(&vegas),
        cubic.megabits_per_second(),
        delay(&cubic)
    );
    assert!(vegas.megabits_per_second() > 0.85 * 20.0);
    // Between ALPHA = 2 and BETA = 4 packets of 0.6 ms in the queue, and the burst of a segment or two.
    assert!(delay(&vegas) < 6.0);
    assert!(delay(&cubic) > 5.0 * delay(&vegas));
}

/// Marks every packet that finds some more than 20 before it.
const MARKING: &str = "red:packets=500,min=20,max=70,probability=1,weight=1,gentle=true,ecn=true";

#[test]
fn dctcp_keeps_the_queue_at_the_threshold_and_answers_in_proportion() {
    let Some(_dctcp) = attached(Algorithm::Dctcp) else { return };
    let path = [("rate", "50Mbit/s"), ("delay", "5ms"), ("queue", MARKING)];
    let Some(dctcp) = transfer(&settings(&path), "tw_dctcp") else { return };
    let mut queue = dctcp.queueing_milliseconds(5.0);
    let packets = [0.05, 0.5, 0.95].map(|fraction| quantile(&mut queue, fraction) / 0.24);
    let (predicted, observed) = dctcp.alphas();
    eprintln!(
        "dctcp {:.2} Mbit/s, {packets:.1?} packets queued, {:.4} marked, {} dropped, alpha {predicted:.3} predicted, \
         {observed:.3} observed",
        dctcp.megabits_per_second(),
        dctcp.marked_fraction(),
        dctcp.dropped
    );
}
