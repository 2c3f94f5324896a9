//! A trial: its owners of state, and the loop that runs it.
//!
//! Each owner keeps its fields to itself: [`Clock`] the present and the events to come, [`Packets`] what is on its way, [`Wires`]
//! the ports and what is on their wires, [`Switches`] buffers and marks, [`Cards`] whose turn it is at a host, [`Ways`] routes and
//! paths, [`Flows`] what was asked for and how far it is, [`Faults`] the failures to come, [`Ending`] when and why it ends. What
//! needs several of them is an action of [`Network`], beside the owner that it is most about.

mod cards;
mod clock;
mod ending;
mod faults;
mod flows;
mod launch;
mod mail;
mod observer;
mod packets;
mod parts;
mod snapshot;
mod switches;
mod terms;
#[cfg(test)]
mod tests;
mod threads;
mod timers;
mod transport;
mod ways;
mod windows;
mod wires;

use trialwise_congestion::Factory;
use trialwise_units::{Bytes, Duration, Time};

pub use self::observer::{EVENTS_BETWEEN_LOOKS, Observer, Progress};
pub use self::snapshot::Snapshot;

use self::cards::Cards;
use self::clock::Clock;
use self::ending::Ending;
use self::faults::Faults;
use self::flows::Flows;
use self::mail::Mail;
use self::packets::Packets;
use self::parts::Parts;
use self::switches::Switches;
use self::terms::Terms;
pub(crate) use self::threads::run_on_threads;
use self::threads::{Seat, Tally};
use self::ways::Ways;
use self::wires::Wires;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::{Flow, FlowSpecification, Stage};
use crate::index::{PacketId, PartId, PortId};
use crate::metrics::{FlowRecord, Outcome, Totals};
use crate::port::Side;
use crate::refusal::SimulationError;
use crate::settings::Settings;
use crate::source::FlowSource;

/// A trial.
pub(crate) struct Network<'a> {
    terms: Terms<'a>,
    clock: Clock,
    /// The parts that are stepped in windows; none where all events stand in one queue.
    parts: Option<Vec<PartId>>,
    packets: Packets,
    wires: Wires,
    switches: Switches,
    cards: Cards,
    ways: Ways<'a>,
    flows: Flows,
    faults: Faults<'a>,
    ending: Ending,
    totals: Totals,
}

impl<'a> Network<'a> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        settings: &'a Settings,
        factory: &'a dyn Factory,
        listed: &[FlowSpecification],
    ) -> Self {
        let terms = Terms::new(fabric, settings, factory);
        let parts = Parts::new(&terms);
        Self::in_parts(terms, &parts, listed)
    }

    /// One queue of events, however large the network is: what happens in one place may start flows in another at once.
    pub(crate) fn in_order(
        fabric: &'a Fabric,
        settings: &'a Settings,
        factory: &'a dyn Factory,
        listed: &[FlowSpecification],
    ) -> Self {
        let terms = Terms::new(fabric, settings, factory);
        Self::in_parts(terms, &Parts::one(fabric.topology()), listed)
    }

    fn in_parts(terms: Terms<'a>, parts: &Parts, listed: &[FlowSpecification]) -> Self {
        let (fabric, settings) = (terms.fabric, terms.settings);
        let wires = Wires::new(&terms, parts);
        Self {
            clock: Clock::new(&terms, parts),
            parts: parts.lookahead().map(|_| parts.all().collect()),
            packets: Packets::new(),
            switches: Switches::new(&terms, parts, &wires, listed),
            wires,
            cards: Cards::new(&fabric.cards),
            ways: Ways::new(fabric, listed.len()),
            flows: Flows::new(settings, listed),
            faults: Faults::new(&settings.faults),
            ending: Ending::new(settings),
            totals: Totals::default(),
            terms,
        }
    }

    /// Runs until the last flow ends, the time to stop comes, or nothing is left to happen that helps a flow.
    pub(crate) fn run(&mut self, observer: &mut impl Observer, source: &mut impl FlowSource) {
        self.run_at(&Seat::ALONE, observer, source);
    }

    /// The same, as one of several threads.
    fn run_at(&mut self, seat: &Seat<'_>, observer: &mut impl Observer, source: &mut impl FlowSource) {
        self.schedule_first_events(source);
        match self.parts.take() {
            Some(parts) => _ = self.run_in_windows(&parts, seat, observer, source),
            None => self.run_in_order(observer, source),
        }
        self.flows.tell_ends(source);
    }

    /// Has only those parts that this thread has, and letters for the others.
    fn share(&mut self, mail: Mail) {
        self.parts = self.parts.take().map(|parts| threads::own_parts(parts, &mail));
        self.wires.share(mail);
    }

    /// All events one after another.
    fn run_in_order(&mut self, observer: &mut impl Observer, source: &mut impl FlowSource) {
        while self.flows.are_unfinished(self.flows.ended()) && !self.ending.is_refused() {
            let Some(event) = self.clock.advance(self.ending.by()) else { break };
            self.totals.events += 1;
            if self.totals.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) && self.is_ended_by(observer) {
                break;
            }
            self.happen(event, observer, source);
        }
    }

    /// Whether the observer ends the trial, or it cannot get on.
    #[cold]
    fn is_ended_by(&mut self, observer: &mut impl Observer) -> bool {
        let tally = self.tally(self.clock.now());
        self.look(&tally, observer);
        self.ending.is_over() || self.is_stalled(tally.acknowledged, Self::longest_way)
    }

    /// Part by part through each window, then what is common to all. A trial ends with a window. None where nothing more is
    /// to happen by the end, or another thread has gone.
    fn run_in_windows(
        &mut self,
        parts: &[PartId],
        seat: &Seat<'_>,
        observer: &mut impl Observer,
        source: &mut impl FlowSource,
    ) -> Option<()> {
        let mut look_at = EVENTS_BETWEEN_LOOKS;
        loop {
            let all = seat.meet(self.tally(self.clock.now()))?;
            if all.is_over || !self.flows.are_unfinished(all.ended) {
                return Some(());
            }
            let end = self.clock.open_window(all.first, self.ending.by())?;
            let last = self.step(parts, end, observer, source);
            self.clock.close_window(last);
            seat.post(self.wires.mail().boxes());
            let all = seat.meet(self.tally(last))?;
            seat.collect(|letters| self.wires.deliver(letters, &mut self.packets, &mut self.clock));
            self.clock.close_window(all.last);
            self.do_common(end, seat, observer, source);
            if all.events >= look_at {
                look_at = all.events + EVENTS_BETWEEN_LOOKS;
                self.look(&all, observer);
                let own = |network: &Self| Tally { way: network.longest_way(), ..all };
                let way = |network: &Self| seat.meet(own(network)).map_or(Duration::MAX, |all| all.way);
                if self.is_stalled(all.acknowledged, way) {
                    return Some(());
                }
            }
        }
    }

    /// Each part to the end of the window; gives when the last thing happened.
    fn step(
        &mut self,
        parts: &[PartId],
        end: Time,
        observer: &mut impl Observer,
        source: &mut impl FlowSource,
    ) -> Time {
        let mut last = self.clock.now();
        for part in parts {
            if !self.clock.enter(*part, end) {
                continue;
            }
            while let Some(event) = self.clock.advance(Time::MAX) {
                self.totals.events += 1;
                self.happen(event, observer, source);
            }
            last = last.max(self.clock.now());
        }
        last
    }

    /// What is common to all parts, in each thread; the first counts it.
    fn do_common(
        &mut self,
        end: Time,
        seat: &Seat<'_>,
        observer: &mut impl Observer,
        source: &mut impl FlowSource,
    ) {
        while let Some(event) = self.clock.next_common(end) {
            self.totals.events += u64::from(seat.is_first());
            self.happen(event, observer, source);
        }
    }

    /// What is known here.
    fn tally(&self, last: Time) -> Tally {
        Tally {
            first: self.clock.earliest(),
            last,
            ended: self.flows.ended(),
            events: self.totals.events,
            sent: self.totals.data_sent - self.totals.data_resent,
            acknowledged: self.ending.acknowledged(),
            way: Duration::ZERO,
            is_over: self.ending.is_over(),
        }
    }

    #[inline]
    fn happen(&mut self, event: Event, observer: &mut impl Observer, source: &mut impl FlowSource) {
        match event {
            Event::Arrival(port) => self.on_arrival(port),
            Event::Free(port) => self.on_free(port),
            Event::Wake(host) => self.on_wake(host),
            Event::Timer(flow) => self.on_timer(flow),
            Event::Launch => self.on_launch(source),
            Event::Stage(flow) => self.on_stage(flow),
            Event::Fault => self.on_fault(),
            Event::Sample => self.on_sample(observer),
        }
    }

    /// Lets the observer look, which may end the trial.
    fn look(&mut self, all: &Tally, observer: &mut impl Observer) {
        let unsent = self.flows.unsent(all.sent);
        let progress = Progress { now: self.clock.now(), unsent, unfinished: self.flows.to_end(all.ended) };
        if observer.on_progress(progress).is_break() {
            self.ending.interrupt();
        }
    }

    fn schedule_first_events(&mut self, source: &mut impl FlowSource) {
        self.flows.expect_first(source);
        if let Some(start) = self.flows.next_start() {
            self.expect_launch(start);
        }
        self.expect_fault();
        if self.terms.settings.sample_interval.is_some() {
            self.clock.schedule(Time::ZERO, Event::Sample);
        }
    }

    fn on_sample(&mut self, observer: &mut impl Observer) {
        observer.on_sample(&Snapshot::new(self));
        if self.clock.is_idle() {
            return; // looking alone must not keep a trial going
        }
        let interval = self.terms.settings.sample_interval.unwrap_or(Duration::MAX);
        self.clock.schedule(self.clock.now() + interval * observer.stride(), Event::Sample);
    }

    /// The first packet on the wire has arrived, unless the wire has lost it meanwhile.
    fn on_arrival(&mut self, port: PortId) {
        let Some((id, end)) = self.wires.land(port, &self.packets, &mut self.clock) else { return };
        self.totals.hops += 1;
        if self.wires.loses(port, self.packets[id].kind, self.clock.now()) {
            self.totals.dropped_link += 1;
            self.packets.give_back(id);
            return;
        }
        match end {
            Side::Switch(switch) => self.arrive_at_switch(switch, port, id),
            Side::Card(card) => self.arrive_at_card(card, id),
        }
    }

    fn on_free(&mut self, port: PortId) {
        match self.wires.fall_free(port) {
            Side::Switch(switch) => self.serve_switch_port(switch, port),
            Side::Card(card) => self.serve_card(card),
        }
    }

    /// Ends a packet that did what it should.
    fn consume(&mut self, id: PacketId) {
        self.totals.consumed += 1;
        self.packets.give_back(id);
    }

    /// The time of the last event.
    pub(crate) const fn now(&self) -> Time {
        self.clock.now()
    }

    /// What came of the flows; those that did not begin before the end are part of it.
    pub(crate) fn outcome(mut self, flows: &[FlowSpecification]) -> Result<Outcome, SimulationError> {
        self.ending.verdict()?;
        for flow in flows.iter().skip(self.flows.admitted()) {
            self.admit(flow)?;
        }
        let record = |(flow, specification): (&Flow, &FlowSpecification)| FlowRecord {
            specification: *specification,
            delivered: Bytes::new(flow.acknowledged),
            finish: match flow.stage {
                Stage::Finished(time) => Some(time),
                Stage::Waiting(_) | Stage::Active => None,
            },
            ideal: self.terms.fabric.path(flow.source, flow.destination).ideal(flow.size),
        };
        Ok(Outcome {
            flows: self.flows.iter().zip(flows).map(record).collect(),
            totals: Totals {
                held: self.packets.held(),
                peak_buffer: Bytes::new(self.switches.peak()),
                ..self.totals
            },
            ports: self.wires.statistics(self.clock.now()),
            end: self.clock.now(),
        })
    }
}
