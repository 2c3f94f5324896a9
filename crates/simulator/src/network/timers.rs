//! Timers of flows: those of the controller, and the retransmission timer.

use trialwise_congestion::Controller;
use trialwise_units::Time;

use super::Network;
use crate::event::Event;
use crate::flow::{CONTROLLER_TIMERS, RETRANSMISSION};
use crate::index::FlowId;

impl Network<'_> {
    /// Arms, moves or stops a timer. A timer that is armed anew gets the next place among events of its
    /// instant.
    pub(super) fn set_timer(&mut self, flow_id: FlowId, slot: usize, deadline: Option<Time>) {
        let timer = &mut self.flows.transport_mut(flow_id).timers[slot];
        timer.deadline = deadline;
        let Some(time) = deadline else { return };
        timer.order = self.clock.reserve(Event::Timer(flow_id));
        // An event that stands earlier will find the new deadline and go on from there.
        if timer.queued_at.is_none_or(|(standing, _)| time < standing) {
            timer.queued_at = Some((time, timer.order));
            self.clock.push(time, timer.order);
        }
    }

    /// Takes over the timers that the controller changed.
    pub(super) fn take_over_timers(&mut self, flow_id: FlowId) {
        let transport = self.flows.transport(flow_id);
        let count = transport.controller.timers().len();
        if count == 0 {
            let next = transport.controller.next_timer();
            if transport.timers[0].deadline != next {
                self.set_timer(flow_id, 0, next);
            }
            return;
        }
        for slot in 0..count.min(CONTROLLER_TIMERS) {
            let transport = self.flows.transport(flow_id);
            let wanted = transport.controller.timers()[slot];
            if transport.timers[slot].deadline != wanted {
                self.set_timer(flow_id, slot, wanted);
            }
        }
    }

    pub(super) fn on_timer(&mut self, flow_id: FlowId) {
        if self.flows[flow_id].is_finished() {
            return;
        }
        let Some(slot) = self.find_timer(flow_id) else { return };
        let timer = &mut self.flows.transport_mut(flow_id).timers[slot];
        timer.queued_at = None;
        match timer.deadline {
            None => {}
            Some(deadline) if (deadline, timer.order) == (self.clock.now(), self.clock.running()) => {
                self.fire(flow_id, slot);
            }
            Some(deadline) => {
                timer.queued_at = Some((deadline, timer.order));
                self.clock.push(deadline, timer.order);
            }
        }
    }

    /// The timer whose event is running; none where it has been overtaken by an earlier one.
    fn find_timer(&self, flow_id: FlowId) -> Option<usize> {
        let transport = self.flows.transport(flow_id);
        transport
            .timers
            .iter()
            .position(|timer| timer.queued_at == Some((self.clock.now(), self.clock.running())))
    }

    fn fire(&mut self, flow_id: FlowId, slot: usize) {
        let (flow, transport) = self.flows.both(flow_id);
        let card = flow.card;
        transport.timers[slot].deadline = None;
        if slot == RETRANSMISSION {
            self.on_retransmission_timer(flow_id);
        } else {
            transport.controller.on_timer(self.clock.now());
        }
        self.take_over(flow_id);
        if !self.terms.compatible || slot == RETRANSMISSION {
            self.serve_card(card);
        }
    }
}
