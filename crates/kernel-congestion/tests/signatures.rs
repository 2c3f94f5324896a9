//! What each congestion control is known by, on real packets over an emulated path; needs root.

#![cfg(feature = "bpf")]
#![allow(clippy::cast_possible_wrap, clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/mod.rs"]
mod support;
mod transfer;

use std::thread;

use support::{quantile, settings};
use transfer::{Reduction, Transfer, transfer};
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

/// Mark ever more of the packets that find more than 20 before them, and each of them.
const MARKING: [&str; 2] =
    ["red:packets=500,min=20,max=200,probability=1,weight=1,ecn=yes", "droptail:packets=500,mark=20"];

#[test]
fn dctcp_keeps_the_queue_at_the_threshold_and_answers_in_proportion() {
    let Some(_dctcp) = attached(Algorithm::Dctcp) else { return };
    for queue in MARKING {
        let path = [("rate", "50Mbit/s"), ("delay", "5ms"), ("queue", queue)];
        let Some(dctcp) = transfer(&settings(&path), "tw_dctcp") else { return };
        check_queue(&dctcp, queue);
        check_proportion(&dctcp.reductions());
    }
}

/// It stays about 20 packets, by marks that come back to the sender and without a loss.
fn check_queue(dctcp: &Transfer, queue: &str) {
    let mut delays = dctcp.queueing_milliseconds(5.0);
    let packets = [0.05, 0.5, 0.95].map(|fraction| quantile(&mut delays, fraction) / 0.24);
    let marked = dctcp.marked_fraction();
    eprintln!(
        "{queue}: {:.2} Mbit/s, {packets:.1?} packets queued, {marked:.4} marked, {:.4} echoed",
        dctcp.megabits_per_second(),
        dctcp.echoed_fraction()
    );
    assert!(dctcp.megabits_per_second() > 0.9 * 50.0);
    assert_eq!(dctcp.dropped, 0);
    assert!(packets[0] > 5.0 && packets[1] > 15.0 && packets[2] < 40.0);
    assert!(marked > 0.0 && marked < 0.2);
    assert!((dctcp.echoed_fraction() / marked - 1.0).abs() < 0.25, "{}", dctcp.echoed_fraction());
}

/// Each cut is Alpha / 2 of the window, be Alpha near 1 as at the start, or small.
fn check_proportion(reductions: &[Reduction]) {
    for Reduction { alpha, from, to } in reductions {
        assert!((0.0..=1.0).contains(alpha));
        let expected = f64::from(*from) * (1.0 - alpha / 2.0);
        // Samples of the sender's state are a tenth of a round trip apart.
        let tolerance = 2.0 + 0.06 * f64::from(*from);
        assert!((f64::from(*to) - expected).abs() < tolerance, "{from} to {to}, not {expected}");
    }
    let alphas = || reductions.iter().map(|reduction| reduction.alpha);
    eprintln!("{} reductions, {:?}", reductions.len(), reductions.first());
    assert!(alphas().any(|alpha| alpha > 0.5) && alphas().any(|alpha| alpha < 0.1));
}
