//! Looking into a trial while it runs.

use std::ops::ControlFlow;

use trialwise_congestion::Controller;
use trialwise_units::{Bytes, Time};

use crate::flow::{FlowView, Stage};
use crate::index::{FlowId, PortId};
use crate::network::Network;

/// How far a trial has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The simulated time.
    pub now: Time,
    /// Packets of data that flows have to send for the first time yet: of a list all flows, of a source those that it
    /// has given.
    pub unsent: u64,
    /// Flows that have not ended.
    pub unfinished: usize,
}

/// Sees a trial while it runs.
pub trait Observer {
    /// The network as it is now, at the interval of [`crate::Settings::sample_interval`].
    fn on_sample(&mut self, _snapshot: &Snapshot<'_>) {}

    /// So many intervals lie between a look and the next.
    fn stride(&self) -> u64 {
        1
    }

    /// How far the trial has come, every [`EVENTS_BETWEEN_LOOKS`] events; to break ends it with
    /// [`crate::SimulationError::Interrupted`].
    fn on_progress(&mut self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// So many events lie between two calls of [`Observer::on_progress`]: some milliseconds.
pub const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

/// Nobody looks.
impl Observer for () {}

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
        (Bytes::new(state.queued()), Bytes::new(state.transmitted))
    }

    /// Bytes that each switch holds, in the order of node numbers.
    pub fn buffers(&self) -> impl Iterator<Item = Bytes> {
        self.network.switches.iter().map(|switch| Bytes::new(switch.buffer.occupied()))
    }

    /// The flows in progress, host by host.
    pub fn flows(&self) -> impl Iterator<Item = FlowView> {
        let active = self.network.cards.iter().flat_map(|card| card.active());
        active.filter(|flow| !self.network.flows[flow.index()].is_finished()).map(|flow| self.view(*flow))
    }

    /// A flow, where it is in progress.
    pub fn flow(&self, flow: FlowId) -> Option<FlowView> {
        let state = self.network.flows.get(flow.index())?;
        (state.stage == Stage::Active).then(|| self.view(flow))
    }

    /// Payload of a flow that is acknowledged, also before and after its time.
    pub fn acknowledged(&self, flow: FlowId) -> Bytes {
        // A flow that has not begun is not there yet.
        Bytes::new(self.network.flows.get(flow.index()).map_or(0, |state| state.acknowledged))
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
