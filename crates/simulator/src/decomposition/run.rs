//! Runs small networks one after another on some threads, whatever their number with the same results.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration as Elapsed;

use trialwise_units::Duration;

use super::builder::Plan;
use super::{Look, Whole};
use crate::metrics::FlowRecord;
use crate::network::{Observer, Progress};
use crate::refusal::SimulationError;
use crate::run::simulate_observed;
use crate::settings::Settings;

const LOOK_EVERY: Elapsed = Elapsed::from_millis(50);

/// The completion times of the flows of a small network, in the order of its list, and its hops.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) times: Vec<Option<Duration>>,
    pub(super) hops: u64,
}

/// Runs the networks that `make` makes of the numbers below `count`; the first refusal by number is that of all.
pub(super) fn run_all(
    whole: &Whole<'_>,
    count: usize,
    make: &(impl Fn(usize) -> Plan + Sync),
    look: Look<'_>,
) -> Result<Vec<Ran>, SimulationError> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let settings = whole.settings_of_parts();
    let (sender, receiver) = mpsc::channel();
    let mut found: Vec<Option<Result<Ran, SimulationError>>> = Vec::new();
    found.resize_with(count, || None);
    std::thread::scope(|scope| {
        for _ in 0..whole.threads.clamp(1, count.max(1)) {
            let (sender, next, is_over, settings) = (sender.clone(), &next, &is_over, &settings);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let ran = run_one(whole, settings, make(number), &mut Until(is_over));
                    if ran.is_err() {
                        is_over.store(true, Ordering::Relaxed);
                    }
                    if sender.send((number, ran)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok((number, ran)) => found[number] = Some(ran),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if look().is_break() {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    });
    let refused = found.iter().flatten().find_map(|ran| match ran {
        Err(error) if *error != SimulationError::Interrupted => Some(error.clone()),
        _ => None,
    });
    match refused {
        Some(refusal) => Err(refusal),
        None => found.into_iter().map(|ran| ran.unwrap_or(Err(SimulationError::Interrupted))).collect(),
    }
}

fn run_one(
    whole: &Whole<'_>,
    settings: &Settings,
    Plan { topology, flows }: Plan,
    until: &mut Until<'_>,
) -> Result<Ran, SimulationError> {
    let fabric = whole.fabric.part(topology)?;
    let outcome = simulate_observed(&fabric, settings, whole.factory, &flows, until)?;
    let times = outcome.flows.iter().map(FlowRecord::completion_time).collect();
    Ok(Ran { times, hops: outcome.totals.hops })
}

/// Ends a network when all are to end.
struct Until<'a>(&'a AtomicBool);

impl Observer for Until<'_> {
    fn on_progress(&mut self, _: Progress) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
