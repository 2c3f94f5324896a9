//! Links that fail and come back.

use crate::event::Event;
use crate::flow::Stage;
use crate::index::{FlowId, PortId};
use crate::network::Network;
use crate::paths::Path;
use crate::port::Side;

impl Network<'_> {
    /// The next fault of the list, and others of the same instant by their own events.
    pub(crate) fn on_fault(&mut self) {
        let fault = self.settings.faults[self.next_fault];
        self.next_fault += 1;
        if let Some(next) = self.settings.faults.get(self.next_fault) {
            self.events.schedule(next.time, Event::Fault);
        }
        let ports = [PortId::new(2 * fault.link as u32), PortId::new(2 * fault.link as u32 + 1)];
        for port in ports {
            self.ports[port.index()].up = fault.up;
        }
        if !fault.up {
            ports.iter().for_each(|port| self.lose_everything(*port));
        }
        self.reroute();
        self.change_cards();
        if self.next_fault == self.settings.faults.len() {
            self.count_connected();
        }
        ports.iter().for_each(|port| self.serve(*port));
    }

    /// What is on the wire or waits for it is lost, and so are pauses. Acknowledgements and flows of a host
    /// wait.
    fn lose_everything(&mut self, port: PortId) {
        while let Some(id) = self.ports[port.index()].flight.lose(&self.packets) {
            self.totals.dropped_fault += 1;
            self.discard(id);
        }
        while let Some((class, id)) = self.ports[port.index()].dequeue_any(&self.packets) {
            if let Side::Switch(switch) = self.ports[port.index()].owner
                && class != crate::buffer::CONTROL
            {
                self.free_buffer(switch, class, id);
            }
            self.totals.dropped_fault += 1;
            self.discard(id);
        }
        self.ports[port.index()].forget_pauses(self.now);
    }

    fn reroute(&mut self) {
        let links = self.fabric.topology().links.len();
        let up: Vec<_> = (0..links).map(|link| self.ports[2 * link].up).collect();
        self.rerouted = Some(self.fabric.routes_over(&up));
        self.paths.fill(Path::UNKNOWN);
    }

    /// Flows whose routes now begin elsewhere go on by another card of their host.
    fn change_cards(&mut self) {
        if !self.fabric.has_choice_at_hosts() {
            return;
        }
        for place in 0..self.flows.len() {
            let flow = &self.flows[place];
            let card = self.card_of(flow);
            if flow.stage == Stage::Active && card != flow.card {
                self.move_active(FlowId::new(place as u32), card);
            }
        }
    }

    fn serve(&mut self, port: PortId) {
        match self.ports[port.index()].owner {
            Side::Switch(switch) => self.serve_switch_port(switch, port),
            Side::Card(card) => self.serve_card(card),
        }
    }
}
