//! What each congestion control is known by, on real packets over an emulated path; needs root.

#![cfg(feature = "bpf")]
#![allow(clippy::cast_possible_wrap, clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/mod.rs"]
mod support;
mod transfer;

use std::ops::RangeInclusive;
use std::thread;

use support::measuring::{until_undisturbed, within};
use support::{quantile, settings};
use transfer::{Reduction, Transfer, transfer};
use trialwise_kernel_congestion::{Algorithm, Attached, Reason, attach, check};

/// Attached, or none with the reason printed where this machine or user may not; a program that the kernel refuses is a fault.
fn attached(algorithm: Algorithm) -> Option<Attached> {
    match check(algorithm) {
        Ok(()) => Some(attach(algorithm).unwrap()),
        Err(reason @ Reason::Refused { .. }) => panic!("{reason}"),
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

/// Random loss says nothing of the path, and its bandwidth everything.
#[test]
fn westwood_goes_on_where_packets_are_lost_at_random() {
    let Some(_westwood) = attached(Algorithm::Westwood) else { return };
    until_undisturbed(|| {
        let path =
            [("rate", "10Mbit/s"), ("delay", "50ms"), ("loss", "1%"), ("queue", "droptail:packets=300")];
        let Some([westwood, reno]) = side_by_side(&path, ["tw_westwood", "reno"]) else { return Ok(()) };
        let [own, beside] = [&westwood, &reno].map(Transfer::megabits_per_second);
        eprintln!("westwood {own:.2} Mbit/s, reno {beside:.2} Mbit/s");
        within("the throughput of westwood over that of reno", own / beside, 2.0..)
    });
}

/// Delay alone makes CDG fall, and loss without delay hardly does.
#[test]
fn cdg_holds_the_queue_down_and_goes_on_where_packets_are_lost_at_random() {
    let Some(_cdg) = attached(Algorithm::Cdg) else { return };
    until_undisturbed(|| {
        let path =
            [("rate", "10Mbit/s"), ("delay", "20ms"), ("loss", "1%"), ("queue", "droptail:packets=300")];
        let Some([cdg, reno]) = side_by_side(&path, ["tw_cdg", "reno"]) else { return Ok(()) };
        let [own, beside] = [&cdg, &reno].map(Transfer::megabits_per_second);
        let delay = quantile(&mut cdg.queueing_milliseconds(20.0), 0.5);
        eprintln!("cdg {own:.2} Mbit/s, median queueing {delay:.2} ms; reno {beside:.2} Mbit/s");
        within("the throughput of cdg over that of reno", own / beside, 1.2..)?;
        within("the median queueing delay of cdg in ms", delay, 0.0..15.0)
    });
}

/// Each with the least share of the link that it fills, and the share of the window that it leaves at a loss (CDG: at a rise of
/// the delay): of a queue of 50 packets at 20 Mbit/s and 40 ms.
const KEPT: [(Algorithm, f64, RangeInclusive<f64>); 9] = [
    (Algorithm::Scalable, 0.8, 0.86..=0.89),
    // Slow start overshoots the 67 packets that the path holds by at most twice these and the queue.
    (Algorithm::Westwood, 0.8, 0.25..=0.9),
    // RFC 3649: 0.56 of 117 packets, which path and queue hold, and 0.60 of twice as many.
    (Algorithm::Highspeed, 0.8, 0.5..=0.65),
    (Algorithm::Hybla, 0.8, 0.48..=0.52),
    (Algorithm::Bic, 0.8, 0.78..=0.82),
    (Algorithm::Illinois, 0.8, 0.48..=0.89),
    (Algorithm::Htcp, 0.8, 0.48..=0.82),
    (Algorithm::Yeah, 0.8, 0.48..=0.89),
    (Algorithm::Cdg, 0.25, 0.66..=0.74),
];

/// So many at a time, each over a path of its own.
const AT_A_TIME: usize = 3;

#[test]
fn each_law_fills_a_path_and_leaves_its_own_share_of_the_window_at_a_loss() {
    for group in KEPT.chunks(AT_A_TIME) {
        let laws: Vec<_> = group.iter().filter_map(|(algorithm, ..)| attached(*algorithm)).collect();
        if laws.len() == group.len() {
            until_undisturbed(|| check_shares(group));
        }
    }
}

fn check_shares(group: &[(Algorithm, f64, RangeInclusive<f64>)]) -> Result<(), String> {
    let path = [("rate", "20Mbit/s"), ("delay", "20ms"), ("queue", "droptail:packets=50")];
    let transfers: Vec<_> = thread::scope(|scope| {
        let one = |name: &'static str| scope.spawn(move || transfer(&settings(&path), name));
        let running: Vec<_> = group.iter().map(|(algorithm, ..)| one(algorithm.name())).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for ((algorithm, filled, kept), transfer) in group.iter().zip(transfers) {
        let Some(law) = transfer else { return Ok(()) };
        let (name, throughput) = (algorithm.name(), law.megabits_per_second());
        let share = |one: &Reduction| f64::from(one.to) / f64::from(one.from);
        let mut shares: Vec<_> = law.reductions().iter().map(share).collect();
        eprintln!("{name}: {throughput:.2} Mbit/s, {} lost, {shares:.2?}", law.dropped);
        within(format_args!("the throughput of {name} in Mbit/s"), throughput, filled * 20.0..=20.1)?;
        let middle = quantile(&mut shares, 0.5);
        within(format_args!("the median share that {name} leaves"), middle, kept.clone())?;
    }
    Ok(())
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
