//! Hosts: the network card that chooses which flow sends next.

use std::ops::{Index, IndexMut};

use trialwise_units::Time;

use super::Network;
use crate::event::{Event, Order};
use crate::index::{CardId, FlowId, PacketId, PortId};
use crate::packet::{Kind, PacketList, PacketSlab};
use crate::scheduling::choose_class;
use crate::settings::{CLASSES, Scheduling};

/// A network card of a host: one for each of its links.
#[derive(Debug)]
pub(super) struct Card {
    port: PortId,
    acknowledgements: Acknowledgements,
    /// Flows in progress, in the order in which they began; ended ones leave when the scheduler next passes.
    active: Vec<FlowId>,
    /// Where the round robin stands.
    last_served: usize,
    /// The event that wakes the card for the next departure, if one is scheduled.
    wake: Option<(Time, Order)>,
}

/// Acknowledgements that wait, by class.
#[derive(Debug)]
struct Acknowledgements {
    queues: [PacketList; CLASSES],
    /// One bit for each class.
    waiting: u8,
    last_served: u8,
}

impl Acknowledgements {
    const EMPTY: Self = Self { queues: [PacketList::EMPTY; CLASSES], waiting: 0, last_served: 0 };

    fn push(&mut self, packets: &mut PacketSlab, class: u8, id: PacketId) {
        self.queues[usize::from(class)].push(packets, id);
        self.waiting |= 1 << class;
    }

    /// Takes out the next of a class that is not among `held_back`.
    fn pop(&mut self, packets: &PacketSlab, scheduling: Scheduling, held_back: u8) -> Option<PacketId> {
        let class = choose_class(scheduling, self.waiting & !held_back, self.last_served)?;
        let id = self.queues[class].pop(packets);
        if self.queues[class].is_empty() {
            self.waiting &= !(1 << class);
        }
        self.last_served = class as u8;
        id
    }
}

impl Card {
    const fn new(port: PortId) -> Self {
        Self {
            port,
            acknowledgements: Acknowledgements::EMPTY,
            active: Vec::new(),
            last_served: 0,
            wake: None,
        }
    }
}

/// All network cards.
pub(super) struct Cards(Vec<Card>);

impl Cards {
    /// Those that send through these ports.
    pub(super) fn new(ports: &[PortId]) -> Self {
        Self(ports.iter().map(|port| Card::new(*port)).collect())
    }

    /// The flows in progress, host by host, and some that have just ended.
    pub(super) fn active(&self) -> impl Iterator<Item = &FlowId> {
        self.0.iter().flat_map(|card| &card.active)
    }
}

impl Index<CardId> for Cards {
    type Output = Card;

    #[inline]
    fn index(&self, card: CardId) -> &Card {
        &self.0[card.index()]
    }
}

impl IndexMut<CardId> for Cards {
    #[inline]
    fn index_mut(&mut self, card: CardId) -> &mut Card {
        &mut self.0[card.index()]
    }
}

impl Network<'_> {
    pub(super) fn arrive_at_card(&mut self, card: CardId, id: PacketId) {
        match self.packets[id].kind {
            Kind::Data => self.receive_data(card, id),
            Kind::Acknowledgement | Kind::NegativeAcknowledgement => self.receive_acknowledgement(id),
            Kind::Pause | Kind::Resume => {
                self.obey_pause(self.cards[card].port, id);
                self.serve_card(card);
            }
        }
    }

    pub(super) fn add_active(&mut self, card: CardId, flow: FlowId) {
        self.cards[card].active.push(flow);
        self.serve_card(card);
    }

    /// Has a flow in progress go on by another card of its host.
    pub(super) fn move_active(&mut self, id: FlowId, card: CardId) {
        let before = std::mem::replace(&mut self.flows[id].card, card);
        self.cards[before].active.retain(|other| *other != id);
        self.add_active(card, id);
    }

    pub(super) fn queue_acknowledgement(&mut self, card: CardId, id: PacketId) {
        // The reference has one queue for those of all classes, which waits when the usual class is paused.
        let own = self.packets[id].class;
        let class = if self.terms.compatible { self.terms.settings.priorities.data } else { own };
        self.cards[card].acknowledgements.push(self.packets.slab_mut(), class, id);
        self.serve_card(card);
    }

    pub(super) fn on_wake(&mut self, card: CardId) {
        let wake = &mut self.cards[card].wake;
        if *wake == Some((self.clock.now(), self.clock.running())) {
            *wake = None;
            self.serve_card(card);
        }
    }

    /// Sends what is next, if the wire is idle: acknowledgements first, then the flows in turn. Where nothing
    /// may go yet, the card wakes at the next departure.
    pub(super) fn serve_card(&mut self, card: CardId) {
        let port = self.cards[card].port;
        if !self.wires[port].up || !self.has_work(card) {
            return;
        }
        if self.wires.is_busy(port, &self.clock) {
            self.wires.serve_when_free(port, &mut self.clock);
            return;
        }
        if let Some(id) = self.next_acknowledgement(card) {
            self.wires.transmit(port, id, &mut self.packets, &mut self.clock);
        } else if let Some(flow) = self.choose_flow(card) {
            self.send_data(port, flow);
        } else {
            self.schedule_wake(card);
            return;
        }
        if self.has_work(card) {
            self.wires.serve_when_free(port, &mut self.clock);
        }
    }

    fn has_work(&self, card: CardId) -> bool {
        let state = &self.cards[card];
        !state.active.is_empty() || state.acknowledgements.waiting != 0
    }

    fn next_acknowledgement(&mut self, card: CardId) -> Option<PacketId> {
        let state = &mut self.cards[card];
        if state.acknowledgements.waiting == 0 {
            return None;
        }
        let priorities = &self.terms.settings.priorities;
        let paused = self.wires[state.port].paused();
        let held_back = if priorities.acknowledgements_pass_pause { 0 } else { paused };
        state.acknowledgements.pop(self.packets.slab(), priorities.scheduling, held_back)
    }

    /// The next flow in turn that may send now; where classes go first by their number, the next in turn of the highest
    /// class. Flows that ended are swept out on the way, which does not move the turn.
    fn choose_flow(&mut self, card: CardId) -> Option<FlowId> {
        let state = &mut self.cards[card];
        let count = state.active.len();
        if count == 0 {
            return None;
        }
        let paused = self.wires[state.port].paused();
        let strict = self.terms.settings.priorities.scheduling == Scheduling::Strict;
        let mut position = state.last_served % count;
        let mut chosen: Option<(FlowId, usize)> = None;
        let mut first_finished = None;
        for _ in 0..count {
            position = if position + 1 == count { 0 } else { position + 1 };
            let id = state.active[position];
            let flow = &self.flows[id];
            if (paused == 0 || paused & 1 << flow.class == 0) && flow.has_data() && flow.window_is_open() {
                if flow.next_departure <= self.clock.now() {
                    let overtakes = |(other, _): (FlowId, usize)| flow.class > self.flows[other].class;
                    if !strict || chosen.is_none_or(overtakes) {
                        chosen = Some((id, position));
                    }
                    if !strict {
                        break;
                    }
                }
            } else if flow.is_finished() {
                first_finished = Some(first_finished.map_or(position, |first: usize| first.min(position)));
            }
        }
        let mut served = chosen.map_or(position, |(_, place)| place);
        if let Some(first) = first_finished {
            served = self.sweep(card, first, served);
        }
        if chosen.is_some() {
            self.cards[card].last_served = served;
        }
        chosen.map(|(id, _)| id)
    }

    /// Takes ended flows out from place `first` on; gives the new place of what stood at `position`.
    fn sweep(&mut self, card: CardId, first: usize, position: usize) -> usize {
        let active = &mut self.cards[card].active;
        let (mut kept, mut moved) = (first, position);
        for place in first..active.len() {
            let flow = active[place];
            if self.flows[flow].is_finished() {
                continue;
            }
            if place == position {
                moved = kept;
            }
            active[kept] = flow;
            kept += 1;
        }
        active.truncate(kept);
        moved
    }

    /// Schedules the card's next look. The reference takes the earliest departure of all flows with data,
    /// also of those whose window is closed, forgets it where that is past, and never moves a wake-up that
    /// stands.
    fn schedule_wake(&mut self, card: CardId) {
        let state = &self.cards[card];
        let flows = state.active.iter().map(|flow| &self.flows[*flow]).filter(|flow| flow.has_data());
        let departure = if self.terms.compatible {
            flows.map(|flow| flow.next_departure).min()
        } else {
            flows.filter(|flow| flow.window_is_open()).map(|flow| flow.next_departure).min()
        };
        let Some(departure) = departure.filter(|departure| *departure > self.clock.now()) else { return };
        match state.wake {
            Some((standing, _)) if self.terms.compatible || standing <= departure => {}
            _ => self.set_wake(card, departure),
        }
    }

    fn set_wake(&mut self, card: CardId, time: Time) {
        let order = self.clock.schedule(time, Event::Wake(card));
        self.cards[card].wake = Some((time, order));
    }

    /// A departure has moved: a wake-up that stands later comes earlier.
    pub(super) fn advance_wake(&mut self, card: CardId, departure: Time) {
        if self.cards[card].wake.is_some_and(|(standing, _)| departure < standing) {
            self.set_wake(card, departure.max(self.clock.now()));
        }
    }
}
