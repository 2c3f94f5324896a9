//! What an observer sees.

use trialwise_congestion::Controller;
use trialwise_units::{Bytes, Time};

use super::Network;
use crate::flow::{FlowView, Stage};
use crate::index::{FlowId, PortId};

/// The network at one instant.
pub struct Snapshot<'a> {
    network: &'a Network<'a>,
}

impl<'a> Snapshot<'a> {
    pub(super) const fn new(network: &'a Network<'a>) -> Self {
        Self { network }
    }

    /// When.
    pub fn now(&self) -> Time {
        self.network.clock.now()
    }

    /// Bytes that wait before a port, and bytes that it has sent since the trial began.
    pub fn port(&self, port: PortId) -> (Bytes, Bytes) {
        let state = &self.network.wires[port];
        (Bytes::new(state.queued()), Bytes::new(state.transmitted))
    }

    /// Bytes that each switch holds, in the order of node numbers.
    pub fn buffers(&self) -> impl Iterator<Item = Bytes> {
        self.network.switches.occupied()
    }

    /// The flows in progress, host by host.
    pub fn flows(&self) -> impl Iterator<Item = FlowView> {
        let active = self.network.cards.active();
        active.filter(|flow| !self.network.flows[**flow].is_finished()).map(|flow| self.view(*flow))
    }

    /// A flow, where it is in progress.
    pub fn flow(&self, flow: FlowId) -> Option<FlowView> {
        let state = self.network.flows.get(flow)?;
        (state.stage == Stage::Active).then(|| self.view(flow))
    }

    /// Payload of a flow that is acknowledged, also before and after its time.
    pub fn acknowledged(&self, flow: FlowId) -> Bytes {
        // A flow that has not begun is not there yet.
        Bytes::new(self.network.flows.get(flow).map_or(0, |state| state.acknowledged))
    }

    fn view(&self, flow: FlowId) -> FlowView {
        let state = &self.network.flows[flow];
        let controller = &self.network.flows.transport(flow).controller;
        FlowView {
            flow,
            rate: controller.pacing_rate(),
            window: controller.window(),
            in_flight: Bytes::new(state.in_flight()),
            acknowledged: Bytes::new(state.acknowledged),
        }
    }
}
