//! Queues and rates over time, of chosen ports and flows.

use trialwise_units::Time;

use crate::index::{FlowId, PortId};
use crate::observer::{Observer, Snapshot};

/// Samples of chosen ports and flows at every look; tables have a row for each look and a column for each port
/// or flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    ports: Vec<PortId>,
    flows: Vec<FlowId>,
    /// When.
    pub times: Vec<Time>,
    /// Bytes that wait before each port.
    pub queues: Vec<u64>,
    /// Bytes that each port has sent since the trial began.
    pub sent: Vec<u64>,
    /// Payload of each flow that is acknowledged.
    pub acknowledged: Vec<u64>,
    /// The pacing rate of each flow in bits per second; not a number where it is not in progress or not paced.
    pub rates: Vec<f64>,
    /// The window of each flow in bytes; not a number where it is not in progress or has none.
    pub windows: Vec<f64>,
}

impl Series {
    /// Empty series of these ports and of the flows at these places of the flow list.
    pub fn new(ports: Vec<PortId>, flows: Vec<FlowId>) -> Self {
        Self { ports, flows, ..Self::default() }
    }
}

impl Observer for Series {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        self.times.push(snapshot.now());
        for port in &self.ports {
            let (queue, sent) = snapshot.port(*port);
            self.queues.push(queue.get());
            self.sent.push(sent.get());
        }
        for flow in &self.flows {
            let view = snapshot.flow(*flow);
            let rate = view.and_then(|view| view.rate).map(|rate| rate.bits_per_second() as f64);
            let window = view.and_then(|view| view.window).map(|window| window.get() as f64);
            self.acknowledged.push(snapshot.acknowledged(*flow).get());
            self.rates.push(rate.unwrap_or(f64::NAN));
            self.windows.push(window.unwrap_or(f64::NAN));
        }
    }
}
