//! Hosts: the network card that chooses which flow sends next.

use trialwise_units::Time;

use crate::event::{Event, Order};
use crate::index::{FlowId, HostId, PacketId, PortId};
use crate::network::Network;
use crate::packet::{Kind, PacketList};

/// A host and its network card.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) port: PortId,
    /// Acknowledgements that wait.
    pub(crate) acknowledgements: PacketList,
    /// Flows in progress, in the order in which they began; ended ones leave when the scheduler next passes.
    active: Vec<FlowId>,
    /// Where the round robin stands.
    last_served: usize,
    /// The event that wakes the card for the next departure, if one is scheduled.
    wake: Option<(Time, Order)>,
}

impl Host {
    pub(crate) const fn new(port: PortId) -> Self {
        Self { port, acknowledgements: PacketList::EMPTY, active: Vec::new(), last_served: 0, wake: None }
    }

    pub(crate) fn active(&self) -> &[FlowId] {
        &self.active
    }
}

impl Network<'_> {
    pub(crate) fn arrive_at_host(&mut self, host: HostId, id: PacketId) {
        match self.packets[id].kind {
            Kind::Data => self.receive_data(host, id),
            Kind::Acknowledgement | Kind::NegativeAcknowledgement => self.receive_acknowledgement(id),
            Kind::Pause | Kind::Resume => {
                self.obey_pause(self.hosts[host.index()].port, id);
                self.serve_host(host);
            }
        }
    }

    pub(crate) fn add_active(&mut self, host: HostId, flow: FlowId) {
        self.hosts[host.index()].active.push(flow);
        self.serve_host(host);
    }

    pub(crate) fn queue_acknowledgement(&mut self, host: HostId, id: PacketId) {
        self.hosts[host.index()].acknowledgements.push(&mut self.packets, id);
        self.serve_host(host);
    }

    pub(crate) fn on_wake(&mut self, host: HostId) {
        let wake = &mut self.hosts[host.index()].wake;
        if *wake == Some((self.now, self.running)) {
            *wake = None;
            self.serve_host(host);
        }
    }

    /// Sends what is next, if the wire is idle: acknowledgements first, then the flows in turn. Where nothing
    /// may go yet, the card wakes at the next departure.
    pub(crate) fn serve_host(&mut self, host: HostId) {
        let state = &self.hosts[host.index()];
        let port = state.port;
        if !self.ports[port.index()].up || !self.has_work(host) {
            return;
        }
        if self.is_busy(port) {
            self.serve_when_free(port);
            return;
        }
        if self.may_acknowledge(host) {
            if let Some(id) = self.hosts[host.index()].acknowledgements.pop(&self.packets) {
                self.transmit(port, id);
            }
        } else if let Some(flow) = self.choose_flow(host) {
            self.send_data(port, flow);
        } else {
            self.schedule_wake(host);
            return;
        }
        if self.has_work(host) {
            self.serve_when_free(port);
        }
    }

    fn has_work(&self, host: HostId) -> bool {
        let state = &self.hosts[host.index()];
        !state.active.is_empty() || !state.acknowledgements.is_empty()
    }

    fn may_acknowledge(&self, host: HostId) -> bool {
        let state = &self.hosts[host.index()];
        let priorities = &self.settings.priorities;
        let held_back = !priorities.acknowledgements_pass_pause
            && self.ports[state.port.index()].is_paused(usize::from(priorities.data));
        !state.acknowledgements.is_empty() && !held_back
    }

    /// The next flow in turn that may send now. Flows that ended are swept out on the way, which does not
    /// move the turn.
    fn choose_flow(&mut self, host: HostId) -> Option<FlowId> {
        let state = &mut self.hosts[host.index()];
        let count = state.active.len();
        if count == 0 {
            return None;
        }
        let paused = self.ports[state.port.index()].is_paused(usize::from(self.settings.priorities.data));
        let mut position = state.last_served % count;
        let mut chosen = None;
        let mut first_finished = None;
        for _ in 0..count {
            position = if position + 1 == count { 0 } else { position + 1 };
            let flow = &self.flows[state.active[position].index()];
            if !paused && flow.has_data() && flow.window_is_open() {
                if flow.next_departure <= self.now {
                    chosen = Some(state.active[position]);
                    break;
                }
            } else if flow.is_finished() {
                first_finished = Some(first_finished.map_or(position, |first: usize| first.min(position)));
            }
        }
        if let Some(first) = first_finished {
            position = self.sweep(host, first, position);
        }
        if chosen.is_some() {
            self.hosts[host.index()].last_served = position;
        }
        chosen
    }

    /// Takes ended flows out from place `first` on; gives the new place of what stood at `position`.
    fn sweep(&mut self, host: HostId, first: usize, position: usize) -> usize {
        let active = &mut self.hosts[host.index()].active;
        let (mut kept, mut moved) = (first, position);
        for place in first..active.len() {
            let flow = active[place];
            if self.flows[flow.index()].is_finished() {
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
    fn schedule_wake(&mut self, host: HostId) {
        let state = &self.hosts[host.index()];
        let flows = state.active.iter().map(|flow| &self.flows[flow.index()]).filter(|flow| flow.has_data());
        let departure = if self.compatible {
            flows.map(|flow| flow.next_departure).min()
        } else {
            flows.filter(|flow| flow.window_is_open()).map(|flow| flow.next_departure).min()
        };
        let Some(departure) = departure.filter(|departure| *departure > self.now) else { return };
        match state.wake {
            Some((standing, _)) if self.compatible || standing <= departure => {}
            _ => self.set_wake(host, departure),
        }
    }

    fn set_wake(&mut self, host: HostId, time: Time) {
        let order = self.events.schedule(time, Event::Wake(host));
        self.hosts[host.index()].wake = Some((time, order));
    }

    /// A departure has moved: a wake-up that stands later comes earlier.
    pub(crate) fn advance_wake(&mut self, host: HostId, departure: Time) {
        if self.hosts[host.index()].wake.is_some_and(|(standing, _)| departure < standing) {
            self.set_wake(host, departure.max(self.now));
        }
    }
}
