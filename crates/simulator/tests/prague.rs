//! Prague and CUBIC over DualPI2, on simulated paths: what L4S promises (RFC 9332, draft-briscoe-iccrg-prague-congestion-control).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use trialwise_link::{Ecn, LinkSpec};
use trialwise_protocol::load::{Bulk, Load};
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PacketColumns, PathFlow, SimulatedPath};
use trialwise_units::{Seed, Time};

/// The shortest virtual round trip in milliseconds (draft, section 2.4.4).
const VIRTUAL: f64 = 25.0;

/// A path of this many Mbit/s and milliseconds of round trip.
#[derive(Clone, Copy, Debug)]
struct Path {
    megabits: u64,
    milliseconds: u64,
    queue: &'static str,
    seconds: u64,
}

/// What a flow came to after the first third of the trial.
#[derive(Clone, Debug, Default)]
struct Flow {
    bytes: u64,
    /// Packets of each ECN field, by its bits.
    fields: [usize; 4],
    /// Milliseconds in the queue, sorted.
    waits: Vec<f64>,
}

impl Flow {
    fn quantile(&self, share: f64) -> f64 {
        self.waits[((self.waits.len() - 1) as f64 * share) as usize]
    }

    fn mean(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len() as f64
    }

    fn marked(&self) -> usize {
        self.fields[usize::from(Ecn::CongestionExperienced.bits())]
    }
}

impl Path {
    fn measured(&self) -> f64 {
        self.seconds as f64 * 2.0 / 3.0
    }

    /// Mbit/s of IP packets.
    fn rate(&self, flow: &Flow) -> f64 {
        flow.bytes as f64 * 8e-6 / self.measured()
    }

    fn utilisation(&self, flows: &[Flow]) -> f64 {
        flows.iter().map(|flow| self.rate(flow)).sum::<f64>() / self.megabits as f64
    }

    /// Milliseconds that a packet takes.
    fn sending(&self) -> f64 {
        1500.0 * 8e-3 / self.megabits as f64
    }

    /// Marks of a flow in a virtual round trip.
    fn marks(&self, flow: &Flow) -> f64 {
        let rtt = (self.milliseconds as f64 + flow.mean()).max(VIRTUAL);
        flow.marked() as f64 * rtt / (self.measured() * 1e3)
    }

    fn run(&self, schemes: &[&str]) -> Vec<Flow> {
        self.run_marking(schemes, Marking::Declared)
    }

    /// Bulk flows of these schemes, of which the first has this marking.
    fn run_marking(&self, schemes: &[&str], marking: Marking) -> Vec<Flow> {
        let none = |path: &str| Err(format!("{path} is not read"));
        let (rate, delay) = (format!("{}Mbit/s", self.megabits), format!("{}us", self.milliseconds * 500));
        let forward = [("rate", rate.as_str()), ("queue", self.queue), ("delay", delay.as_str())];
        let path = SimulatedPath {
            forward: LinkSpec::from_pairs(forward, &none).unwrap(),
            backward: LinkSpec::from_pairs([("delay", delay.as_str())], &none).unwrap(),
            seed: Seed::new(1),
            interval: None,
        };
        let markings = std::iter::once(marking).chain(std::iter::repeat(Marking::Declared));
        let flows: Vec<PathFlow> =
            schemes.iter().zip(markings).map(|(scheme, marking)| self.flow(scheme, marking)).collect();
        let packets = path.simulate(&flows, &mut |_| ControlFlow::Continue(())).unwrap().packets;
        (1..=schemes.len() as u64).map(|flow| self.judge(&packets, flow)).collect()
    }

    fn flow(&self, scheme: &str, marking: Marking) -> PathFlow {
        PathFlow {
            scheme: Scheme::named(scheme, 1500, IpVersion::Four, marking).unwrap(),
            congestion: scheme.to_owned(),
            load: Load::Bulk(Bulk),
            load_text: "bulk".to_owned(),
            direction: Direction::Forward,
            start: Time::ZERO,
            stop: Time::from_milliseconds(1000 * self.seconds),
        }
    }

    fn judge(&self, packets: &PacketColumns, flow: u64) -> Flow {
        let start = self.seconds as f64 - self.measured();
        let way = self.milliseconds as f64 / 2.0;
        let mut found = Flow::default();
        for index in 0..packets.time.len() {
            let counts = packets.flow[index] == flow
                && packets.direction[index] == 0
                && packets.event[index] == 0
                && packets.time[index] as f64 / 1e9 >= start;
            if counts {
                let sending = f64::from(packets.size[index]) * 8.0 / self.megabits as f64 / 1e3;
                found.waits.push(packets.delay[index] as f64 / 1e6 - way - sending);
                found.bytes += u64::from(packets.size[index]);
                found.fields[usize::from(packets.ecn[index])] += 1;
            }
        }
        found.waits.sort_by(f64::total_cmp);
        found
    }
}

const MEGABITS: [u64; 5] = [4, 12, 40, 120, 200];
const MILLISECONDS: [u64; 5] = [5, 10, 25, 50, 100];

fn paths(queue: &'static str) -> impl Iterator<Item = Path> {
    MEGABITS.into_iter().flat_map(move |megabits| {
        let seconds = if megabits < 40 { 90 } else { 45 };
        MILLISECONDS.map(|milliseconds| Path { megabits, milliseconds, queue, seconds })
    })
}

#[test]
fn prague_and_cubic_share_dualpi2_within_a_factor_of_two() {
    for path in paths("dualpi2") {
        let flows = path.run(&["prague", "cubic"]);
        let [prague, cubic] = &flows[..] else { panic!("two flows") };
        let ratio = path.rate(prague) / path.rate(cubic);
        assert!((0.5..=2.0).contains(&ratio), "{path:?}: {ratio}");
        let utilisation = path.utilisation(&flows);
        assert!(utilisation > 0.95, "{path:?}: {utilisation}");
        // L waits for the packet that is being sent, and little more.
        let wait = prague.quantile(0.99);
        assert!(wait < f64::max(2.0, 2.0 * path.sending()), "{path:?}: {wait} ms in L");
        // 15 +- 3 ms, to half a packet, as long as round trips with the queue are those that the controller is tuned for (100 ms).
        let (wait, part) = (cubic.quantile(0.5), path.sending() / 2.0);
        let least = if path.milliseconds < 100 { 12.0 } else { 10.0 };
        assert!((least - part..=18.0 + part).contains(&wait), "{path:?}: {wait} ms in C");
        // Marks are spread by the coupling, so that the law of two in a virtual round trip holds.
        let marks = path.marks(prague);
        assert!((1.0..=4.1).contains(&marks), "{path:?}: {marks} marks");
        assert_eq!([0, 2].map(|field| prague.fields[field]), [0, 0], "{path:?}: ECT(1) or CE");
        assert_eq!([0, 1].map(|field| cubic.fields[field]), [0, 0], "{path:?}: ECT(0) or CE");
    }
}

#[test]
fn prague_alone_fills_the_link_and_waits_for_less_than_a_millisecond() {
    for path in paths("dualpi2").filter(|path| path.megabits >= 12) {
        let flows = path.run(&["prague"]);
        let (utilisation, wait) = (path.utilisation(&flows), flows[0].mean());
        assert!(wait < 1.0, "{path:?}: {wait} ms");
        assert!(utilisation > 0.92, "{path:?}: {utilisation}");
        if path.milliseconds <= 10 {
            assert!(utilisation > 0.98 && flows[0].quantile(0.99) < 2.0, "{path:?}: {utilisation}");
            let marks = path.marks(&flows[0]);
            assert!((2.0..=5.0).contains(&marks), "{path:?}: {marks} marks");
        }
    }
}

#[test]
fn where_the_path_takes_ecn_away_prague_is_one_of_the_classic_flows() {
    for milliseconds in [10, 25, 50] {
        let path = Path { megabits: 12, milliseconds, queue: "dualpi2", seconds: 90 };
        let flows = path.run_marking(&["prague", "newreno"], Marking::Field(Ecn::NotCapable));
        let [prague, reno] = &flows[..] else { panic!("two flows") };
        assert_eq!(prague.fields[1..], [0, 0, 0], "nothing says that it can be marked");
        let ratio = path.rate(prague) / path.rate(reno);
        assert!((0.5..=2.0).contains(&ratio), "{path:?}: {ratio}");
        assert!((12.0..=18.5).contains(&prague.quantile(0.5)), "{path:?}: {} ms", prague.quantile(0.5));
    }
}
