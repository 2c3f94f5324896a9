//! Queues and rates over time, of chosen ports and flows.

use trialwise_units::Time;

use crate::index::{FlowId, PortId};
use crate::network::{Observer, Snapshot};

/// Samples of chosen ports and flows at every look; tables have a row for each look and a column for each port
/// or flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    ports: Vec<PortId>,
    flows: Vec<FlowId>,
    most_looks: usize,
    stride: u64,
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
        Self {
            ports,
            flows,
            most_looks: usize::MAX,
            stride: 1,
            times: Vec::new(),
            queues: Vec::new(),
            sent: Vec::new(),
            acknowledged: Vec::new(),
            rates: Vec::new(),
            windows: Vec::new(),
        }
    }

    /// The same with `most` looks at most (an even number, at least two): where there would be more, every second
    /// one is dropped and later ones lie twice as far apart, so that at least half of them cover a trial of any length.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        Self { most_looks: (most & !1).max(2), ..self }
    }

    fn thin(&mut self) {
        let (ports, flows) = (self.ports.len(), self.flows.len());
        keep_every_second(&mut self.times, 1);
        keep_every_second(&mut self.queues, ports);
        keep_every_second(&mut self.sent, ports);
        keep_every_second(&mut self.acknowledged, flows);
        keep_every_second(&mut self.rates, flows);
        keep_every_second(&mut self.windows, flows);
        self.stride *= 2;
    }
}

/// Keeps the first, the third, … row of a table.
fn keep_every_second<T: Copy>(table: &mut Vec<T>, columns: usize) {
    if columns == 0 {
        return;
    }
    *table = table.chunks(columns).step_by(2).flatten().copied().collect();
}

impl Observer for Series {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        // The look that does not fit any more is a multiple of the next interval.
        if self.times.len() == self.most_looks {
            self.thin();
        }
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

    fn stride(&self) -> u64 {
        self.stride
    }
}
