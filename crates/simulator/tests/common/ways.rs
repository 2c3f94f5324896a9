//! Flows over a simulated path with packets of the UDP transport, and what came of these.

use std::ops::ControlFlow;

use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PacketColumns, PathFlow, SimulatedPath};
use trialwise_units::{Seed, Time};

const DELIVERED: u8 = 0;

/// A flow forward: without end, from the beginning, as its scheme marks its packets, where nothing else is said.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) load: &'a str,
    /// When it starts, in seconds.
    pub(crate) start: u64,
    pub(crate) marking: Marking,
}

impl Default for Flow<'_> {
    fn default() -> Self {
        Self { scheme: "cubic", load: "bulk", start: 0, marking: Marking::Declared }
    }
}

/// What the links of both ways are made of, and what is in the files that they name.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'a> {
    pub(crate) forward: &'a [(&'a str, &'a str)],
    pub(crate) backward: &'a [(&'a str, &'a str)],
    pub(crate) read: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Ways<'_> {
    /// These flows for so many seconds.
    pub(crate) fn run(&self, flows: &[Flow<'_>], seconds: u64) -> Arrivals {
        let link = |pairs: &[(&str, &str)]| LinkSpec::from_pairs(pairs.iter().copied(), self.read).unwrap();
        let path = SimulatedPath {
            forward: link(self.forward),
            backward: link(self.backward),
            seed: Seed::new(1),
            interval: None,
        };
        let planned = |flow: &Flow<'_>| PathFlow {
            scheme: Scheme::named(flow.scheme, 1500, IpVersion::Four, flow.marking).unwrap(),
            congestion: flow.scheme.to_owned(),
            load: Load::read(flow.load, self.read).unwrap(),
            load_text: flow.load.to_owned(),
            direction: Direction::Forward,
            start: Time::from_milliseconds(1000 * flow.start),
            stop: Time::from_milliseconds(1000 * seconds),
        };
        let flows: Vec<PathFlow> = flows.iter().map(planned).collect();
        Arrivals(path.simulate(&flows, &mut |_| ControlFlow::Continue(())).unwrap().packets)
    }
}

/// The packets of a run. Flows are numbered from 1 on.
pub(crate) struct Arrivals(pub(crate) PacketColumns);

impl Arrivals {
    /// Places of the packets of a flow that left the link between these seconds and arrived.
    pub(crate) fn of(&self, flow: u64, from: f64, to: f64) -> impl Iterator<Item = usize> {
        let packets = &self.0;
        (0..packets.time.len()).filter(move |index| {
            packets.event[*index] == DELIVERED
                && packets.direction[*index] == Direction::Forward as u8
                && packets.flow[*index] == flow
                && (from..to).contains(&(packets.time[*index] as f64 * 1e-9))
        })
    }

    /// Mbit/s of IP packets.
    pub(crate) fn megabits(&self, flow: u64, from: f64, to: f64) -> f64 {
        let bytes: u64 = self.of(flow, from, to).map(|index| u64::from(self.0.size[index])).sum();
        bytes as f64 * 8e-6 / (to - from)
    }

    /// The one-way delay (ms) from this second on that such a share does not exceed.
    pub(crate) fn delay(&self, flow: u64, from: f64, share: f64) -> f64 {
        let arrived = self.of(flow, from, f64::INFINITY);
        let mut delays: Vec<f64> = arrived.map(|index| self.0.delay[index] as f64 * 1e-6).collect();
        delays.sort_by(f64::total_cmp);
        delays[(delays.len() as f64 * share) as usize]
    }
}
