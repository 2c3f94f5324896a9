//! Links that fail and come back.

use trialwise_units::Time;

use super::Network;
use crate::event::Event;
use crate::flow::Stage;
use crate::index::{FlowId, PortId};
use crate::port::Side;
use crate::settings::Fault;

/// The faults of a trial, in order of time.
pub(super) struct Faults<'a> {
    to_come: std::slice::Iter<'a, Fault>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(faults: &'a [Fault]) -> Self {
        Self { to_come: faults.iter() }
    }

    /// Takes out the next one.
    fn next(&mut self) -> Option<Fault> {
        self.to_come.next().copied()
    }

    /// When the next one comes.
    fn next_time(&self) -> Option<Time> {
        self.to_come.as_slice().first().map(|fault| fault.time)
    }

    /// Whether some are to come.
    pub(super) fn are_to_come(&self) -> bool {
        self.next_time().is_some()
    }
}

impl Network<'_> {
    /// Schedules the next fault, where there is one.
    pub(super) fn expect_fault(&mut self) {
        if let Some(time) = self.faults.next_time() {
            self.clock.schedule(time, Event::Fault);
        }
    }

    /// The next fault of the list, and others of the same instant by their own events.
    pub(super) fn on_fault(&mut self) {
        let Some(fault) = self.faults.next() else { return };
        self.expect_fault();
        let ports = [PortId::new(2 * fault.link as u32), PortId::new(2 * fault.link as u32 + 1)];
        for port in ports {
            self.wires[port].up = fault.up;
        }
        if !fault.up {
            ports.iter().for_each(|port| self.lose_everything(*port));
        }
        self.ways.reroute(fault.link, fault.up);
        self.change_cards();
        if !self.faults.are_to_come() {
            self.count_connected();
        }
        ports.iter().for_each(|port| self.serve(*port));
    }

    /// What is on the wire or waits for it is lost, and so are pauses. Acknowledgements and flows of a host
    /// wait.
    fn lose_everything(&mut self, port: PortId) {
        self.clock.act_for(self.wires.part(port));
        while let Some(id) = self.wires[port].flight.lose(self.packets.slab()) {
            self.totals.dropped_fault += 1;
            self.packets.give_back(id);
        }
        while let Some((class, id)) = self.wires[port].dequeue_any(self.packets.slab()) {
            if let Side::Switch(switch) = self.wires[port].owner
                && class != crate::buffer::CONTROL
            {
                self.free_buffer(switch, class, id);
            }
            self.totals.dropped_fault += 1;
            self.packets.give_back(id);
        }
        self.wires[port].forget_pauses(self.clock.now());
    }

    /// Flows whose routes now begin elsewhere go on by another card of their host.
    fn change_cards(&mut self) {
        if !self.terms.fabric.has_choice_at_hosts() {
            return;
        }
        for id in (0..self.flows.admitted()).map(|place| FlowId::new(place as u32)) {
            let flow = &mut self.flows[id];
            let card = self.ways.card(flow);
            flow.reply_card = self.ways.reply_card(flow);
            if flow.stage == Stage::Active && card != flow.card {
                self.clock.act_for(self.wires.part(self.terms.fabric.cards[card.index()]));
                self.move_active(id, card);
            }
        }
    }

    fn serve(&mut self, port: PortId) {
        self.clock.act_for(self.wires.part(port));
        match self.wires[port].owner {
            Side::Switch(switch) => self.serve_switch_port(switch, port),
            Side::Card(card) => self.serve_card(card),
        }
    }
}
