//! A trial on several threads: each has some of the parts, and all meet at the end of each window.

use std::sync::{Condvar, Mutex, PoisonError};

use trialwise_congestion::Factory;
use trialwise_units::{Bytes, Duration, Time};

use super::mail::{Letters, Mail};
use super::parts::Parts;
use super::terms::Terms;
use super::{Network, Observer};
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::PartId;
use crate::metrics::{FlowRecord, Outcome, Totals};
use crate::port::PortStatistics;
use crate::refusal::SimulationError;
use crate::settings::Settings;
use crate::source::List;

/// What a thread knows when all meet; together, what all know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    /// When the first thing is to happen, and when the last has happened.
    pub(super) first: u64,
    pub(super) last: Time,
    pub(super) ended: usize,
    pub(super) events: u64,
    /// Packets of data that were sent for the first time, and payload acknowledged.
    pub(super) sent: u64,
    pub(super) acknowledged: u64,
    /// How long a packet may be on its way.
    pub(super) way: Duration,
    pub(super) is_over: bool,
}

impl Tally {
    fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            ended: self.ended + other.ended,
            events: self.events + other.events,
            sent: self.sent + other.sent,
            acknowledged: self.acknowledged + other.acknowledged,
            way: self.way.max(other.way),
            is_over: self.is_over || other.is_over,
        }
    }
}

/// Where threads meet: all wait for the last.
struct Table {
    threads: usize,
    state: Mutex<State>,
    arrived: Condvar,
    /// Letters by receiver and sender.
    boxes: Vec<Vec<Mutex<Letters>>>,
}

#[derive(Default)]
struct State {
    gathering: Option<Tally>,
    waiting: usize,
    /// How many meetings there were, and what came of the last.
    meetings: u64,
    agreed: Option<Tally>,
    /// Somebody will not come any more.
    is_broken: bool,
}

impl Table {
    fn new(threads: usize) -> Self {
        let boxes = || (0..threads).map(|_| Mutex::default()).collect();
        Self {
            threads,
            state: Mutex::default(),
            arrived: Condvar::new(),
            boxes: (0..threads).map(|_| boxes()).collect(),
        }
    }

    /// What all know together; none where one of them has panicked.
    fn meet(&self, own: Tally) -> Option<Tally> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.gathering = Some(state.gathering.map_or(own, |others| others.with(own)));
        state.waiting += 1;
        if state.waiting == self.threads {
            (state.agreed, state.gathering) = (state.gathering.take(), None);
            (state.waiting, state.meetings) = (0, state.meetings + 1);
            self.arrived.notify_all();
            return state.agreed;
        }
        let meeting = state.meetings;
        while state.meetings == meeting && !state.is_broken {
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_broken { None } else { state.agreed }
    }

    fn break_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_broken = true;
        self.arrived.notify_all();
    }
}

/// The place of one thread.
pub(super) struct Seat<'a> {
    number: usize,
    table: Option<&'a Table>,
}

impl Seat<'_> {
    /// Of a thread without others.
    pub(super) const ALONE: Self = Self { number: 0, table: None };

    pub(super) const fn is_first(&self) -> bool {
        self.number == 0
    }

    /// What all threads know together.
    pub(super) fn meet(&self, own: Tally) -> Option<Tally> {
        self.table.map_or(Some(own), |table| table.meet(own))
    }

    /// Puts out what goes to other threads.
    pub(super) fn post(&self, letters: &mut [Letters]) {
        let Some(table) = self.table else { return };
        for (receiver, letters) in letters.iter_mut().enumerate() {
            let mut place = table.boxes[receiver][self.number].lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *place, letters);
        }
    }

    /// Takes what has come from each thread.
    pub(super) fn collect(&self, mut take: impl FnMut(&mut Letters)) {
        let Some(table) = self.table else { return };
        for place in &table.boxes[self.number] {
            take(&mut place.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(table) = self.table.filter(|_| std::thread::panicking()) {
            table.break_up();
        }
    }
}

/// Runs a list on so many threads at most. Nothing in the outcome depends on their number.
pub(crate) fn run_on_threads(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
    observer: &mut impl Observer,
    threads: usize,
) -> Result<Outcome, SimulationError> {
    let terms = || Terms::new(fabric, settings, factory);
    let parts = Parts::new(&terms());
    run_parts(&terms, &parts, flows, observer, threads)
}

pub(super) fn run_parts<'a>(
    terms: &(impl Fn() -> Terms<'a> + Sync),
    parts: &Parts,
    flows: &[FlowSpecification],
    observer: &mut impl Observer,
    threads: usize,
) -> Result<Outcome, SimulationError> {
    let whole = terms();
    // What looks, and what fails, is everywhere at once.
    let is_common = whole.settings.sample_interval.is_some() || !whole.settings.faults.is_empty();
    let threads = if is_common || parts.lookahead().is_none() { 1 } else { threads };
    let of_parts = parts.shared(whole.fabric.topology(), threads);
    let threads = of_parts.iter().max().map_or(1, |last| usize::from(*last) + 1);
    if threads == 1 {
        let mut network = Network::in_parts(whole, parts, flows);
        network.run(observer, &mut List::new(flows));
        return network.outcome(flows);
    }
    let table = Table::new(threads);
    let run = |number, observer: Option<&mut _>| {
        let mut network = Network::in_parts(terms(), parts, flows);
        network.share(Mail::new(number, &of_parts));
        let seat = Seat { number, table: Some(&table) };
        match observer {
            Some(observer) => network.run_at(&seat, observer, &mut List::new(flows)),
            None => network.run_at(&seat, &mut (), &mut List::new(flows)),
        }
        network.outcome(flows)
    };
    std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> = (1..threads).map(|number| scope.spawn(move || run(number, None))).collect();
        let own = run(0, Some(observer));
        others.into_iter().fold(own, |together, other| {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(joined(together?, other?))
        })
    })
}

/// The outcome of two threads: a flow is known where it is sent from, a port where it sends.
fn joined(first: Outcome, second: Outcome) -> Outcome {
    let flow = |(one, other): (FlowRecord, FlowRecord)| FlowRecord {
        delivered: one.delivered.max(other.delivered),
        finish: one.finish.or(other.finish),
        ..one
    };
    let port = |(one, other): (PortStatistics, PortStatistics)| PortStatistics {
        transmitted: one.transmitted + other.transmitted,
        peak_queue: one.peak_queue.max(other.peak_queue),
        paused: one.paused.max(other.paused),
    };
    Outcome {
        flows: first.flows.into_iter().zip(second.flows).map(flow).collect(),
        totals: sum(first.totals, second.totals),
        ports: first.ports.into_iter().zip(second.ports).map(port).collect(),
        end: first.end.max(second.end),
    }
}

fn sum(first: Totals, second: Totals) -> Totals {
    Totals {
        created: first.created + second.created,
        consumed: first.consumed + second.consumed,
        held: first.held + second.held,
        dropped_buffer: first.dropped_buffer + second.dropped_buffer,
        dropped_link: first.dropped_link + second.dropped_link,
        dropped_fault: first.dropped_fault + second.dropped_fault,
        data_sent: first.data_sent + second.data_sent,
        data_resent: first.data_resent + second.data_resent,
        hops: first.hops + second.hops,
        events: first.events + second.events,
        marks: first.marks + second.marks,
        pauses: first.pauses + second.pauses,
        resumes: first.resumes + second.resumes,
        negative_acknowledgements: first.negative_acknowledgements + second.negative_acknowledgements,
        timeouts: first.timeouts + second.timeouts,
        peak_buffer: Bytes::new(first.peak_buffer.get().max(second.peak_buffer.get())),
    }
}

/// The parts that this thread has.
pub(super) fn own_parts(parts: Vec<PartId>, mail: &Mail) -> Vec<PartId> {
    parts.into_iter().filter(|part| !mail.is_elsewhere(*part)).collect()
}
