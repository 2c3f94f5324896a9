//! What each congestion control is known by, on real packets over an emulated path; needs root.

#![cfg(feature = "bpf")]
#![allow(clippy::cast_possible_wrap, clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/mod.rs"]
mod support;
mod transfer;

use std::thread;

use support::measuring::{until_undisturbed, within};
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
    until_undisturbed(|| {
        let path = [("rate", "20Mbit/s"), ("delay", "15ms"), ("queue", "droptail:packets=300")];
        let Some([vegas, cubic]) = side_by_side(&path, ["tw_vegas", "cubic"]) else { return Ok(()) };
        let throughput = vegas.megabits_per_second();
        // The median: what the queue is between two standstills of the machine.
        let [delay, beside] =
            [&vegas, &cubic].map(|transfer| quantile(&mut transfer.queueing_milliseconds(15.0), 0.5));
        eprintln!("vegas {throughput:.2} Mbit/s, median queueing {delay:.2} ms; cubic {beside:.2} ms");
        within("the throughput of vegas in Mbit/s", throughput, 0.85 * 20.0..=20.1)?;
        // Between ALPHA = 2 and BETA = 4 packets of 0.6 ms in the queue, and the burst of a segment or two.
        within("the median queueing delay of vegas in ms", delay, 0.0..6.0)?;
        within("the delay of cubic over that of vegas", beside / delay, 5.0..)
    });
}

/// Mark ever more of the packets that find more than 20 before them, and each of them.
const MARKING: [&str; 2] =
    ["red:packets=500,min=20,max=200,probability=1,weight=1,ecn=yes", "droptail:packets=500,mark=20"];

#[test]
fn dctcp_keeps_the_queue_at_the_threshold_and_answers_in_proportion() {
    let Some(_dctcp) = attached(Algorithm::Dctcp) else { return };
    for queue in MARKING {
        until_undisturbed(|| {
            let path = [("rate", "50Mbit/s"), ("delay", "5ms"), ("queue", queue)];
            let Some(dctcp) = transfer(&settings(&path), "tw_dctcp") else { return Ok(()) };
            check_queue(&dctcp, queue)?;
            check_proportion(&dctcp.reductions())
        });
    }
}

/// It stays about 20 packets, by marks that come back to the sender and without a loss.
fn check_queue(dctcp: &Transfer, queue: &str) -> Result<(), String> {
    let mut delays = dctcp.queueing_milliseconds(5.0);
    let [middle, high] = [0.5, 0.95].map(|fraction| quantile(&mut delays, fraction) / 0.24);
    let (throughput, marked, echoed) =
        (dctcp.megabits_per_second(), dctcp.marked_fraction(), dctcp.echoed_fraction());
    eprintln!(
        "{queue}: {throughput:.2} Mbit/s, {middle:.1}, {high:.1} packets queued, {marked:.4} marked, {echoed:.4} echoed"
    );
    within("the throughput in Mbit/s", throughput, 0.9 * 50.0..=50.1)?;
    within("the count of losses", dctcp.dropped, 0..1)?;
    within("the median of packets queued", middle, 12.0..32.0)?;
    within("the 95th percentile of packets queued", high, 15.0..45.0)?;
    within("the fraction that is marked", marked, 0.001..0.2)?;
    within("marks echoed over marks made", echoed / marked, 0.75..1.25)
}

/// Each cut is Alpha / 2 of the window, be Alpha near 1 as at the start, or small.
fn check_proportion(reductions: &[Reduction]) -> Result<(), String> {
    for Reduction { alpha, from, to } in reductions {
        within("alpha", *alpha, 0.0..=1.0)?;
        let expected = f64::from(*from) * (1.0 - alpha / 2.0);
        // Samples of the sender's state are a tenth of a round trip apart.
        let tolerance = 2.0 + 0.06 * f64::from(*from);
        let range = expected - tolerance..expected + tolerance;
        within(
            format_args!("the window after a cut from {from} by an alpha of {alpha}"),
            f64::from(*to),
            range,
        )?;
    }
    let alphas = || reductions.iter().map(|reduction| reduction.alpha);
    eprintln!("{} reductions, {:?}", reductions.len(), reductions.first());
    within("the greatest alpha", alphas().fold(0.0, f64::max), 0.5..)?;
    within("the least alpha", alphas().fold(1.0, f64::min), 0.0..0.1)
}
