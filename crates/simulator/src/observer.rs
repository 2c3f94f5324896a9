//! Looking into a trial while it runs.

use trialwise_congestion::Controller;
use trialwise_units::{Bytes, Time};

use crate::flow::FlowView;
use crate::index::{FlowId, PortId};
use crate::network::Network;

/// Sees the network at the interval of [`crate::Settings::sample_interval`]: for queue and rate traces.
pub trait Observer {
    /// The network as it is now.
    fn on_sample(&mut self, snapshot: &Snapshot<'_>);
}

/// Nobody looks.
impl Observer for () {
    fn on_sample(&mut self, _snapshot: &Snapshot<'_>) {}
}

impl<F: FnMut(&Snapshot<'_>)> Observer for F {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        self(snapshot);
    }
}

/// The network at one instant.
pub struct Snapshot<'a> {
    network: &'a Network<'a>,
}

impl<'a> Snapshot<'a> {
    pub(crate) const fn new(network: &'a Network<'a>) -> Self {
        Self { network }
    }

    /// When.
    pub const fn now(&self) -> Time {
        self.network.now
    }

    /// Bytes that wait before a port, and bytes that it has sent since the trial began.
    pub fn port(&self, port: PortId) -> (Bytes, Bytes) {
        let state = &self.network.ports[port.index()];
        (Bytes::new(state.queued()), Bytes::new(state.statistics.transmitted))
    }

    /// How many ports there are; port `2n` is link `n` from its first end.
    pub const fn port_count(&self) -> usize {
        self.network.ports.len()
    }

    /// Bytes that each switch holds, in the order of node numbers.
    pub fn buffers(&self) -> impl Iterator<Item = Bytes> {
        self.network.switches.iter().map(|switch| Bytes::new(switch.buffer.occupied()))
    }

    /// The flows in progress, host by host.
    pub fn flows(&self) -> impl Iterator<Item = FlowView> {
        let active = self.network.hosts.iter().flat_map(|host| host.active());
        active.filter(|flow| !self.network.flows[flow.index()].is_finished()).map(|flow| self.view(*flow))
    }

    fn view(&self, flow: FlowId) -> FlowView {
        let state = &self.network.flows[flow.index()];
        let controller = &self.network.transports[state.transport].controller;
        FlowView {
            flow,
            rate: controller.pacing_rate(),
            window: controller.window(),
            in_flight: Bytes::new(state.in_flight()),
            acknowledged: Bytes::new(state.acknowledged),
        }
    }
}
