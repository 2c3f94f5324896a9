//! What a network can be and is hardly meant to be: defaults of data centres at rates and delays that are not theirs.

use std::cmp::Reverse;
use std::fmt;

use trialwise_congestion::Feedback;
use trialwise_units::Rate;

use crate::buffer::{IngressLimits, SharedBuffer, classes_set_apart};
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::{HostId, NodeId, PortId, SwitchId};
use crate::link_kind::LinkKind;
use crate::settings::Settings;

/// Something that decides a trial's results and that few would have chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// Marks begin before a whole packet waits.
    Marks {
        /// The queue in bytes up to which nothing is marked, on links of this rate.
        minimum: u64,
        /// Of the slowest link behind a switch.
        rate: Rate,
        /// Bytes of a full packet.
        packet: u64,
    },
    /// A switch has no buffer that its ports share.
    Buffer {
        /// Its node.
        switch: NodeId,
        /// Bytes that its ports have to themselves, `reserve` of each among them.
        set_apart: u64,
        /// Bytes of the whole buffer.
        buffer: u64,
        /// Bytes that a port has before anything happens.
        reserve: u64,
        /// Whether senders are paused then; otherwise packets are dropped.
        pauses: bool,
    },
}

impl fmt::Display for Caution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Marks { minimum, rate, packet } => write!(
                formatter,
                "on links of {} Mbit/s marks begin at queues of {minimum} bytes, less than a packet of {packet}: give kmin and kmax",
                rate.bits_per_second() as f64 / 1e6
            ),
            Self::Buffer { switch, set_apart, buffer, reserve, pauses } => {
                let what = if pauses { "has its sender paused" } else { "is dropped" };
                write!(
                    formatter,
                    "the buffer of switch {} has {buffer} bytes and its ports have {set_apart} to themselves, so that they share \
                     nothing: what comes to a port beyond {reserve} bytes {what}; give a larger buffer",
                    switch.get()
                )
            }
        }
    }
}

/// What is to be said of these settings on this network, each kind once: of the slowest link, and of the switch that
/// lacks the most. A `minimum` of 0 is somebody's choice and goes unsaid, as do marks that no controller sees.
///
/// `flows` are those of the trial, of which each class has a part of the buffer; none where they are not known.
pub fn cautions(
    fabric: &Fabric,
    settings: &Settings,
    feedback: Feedback,
    flows: &[FlowSpecification],
) -> Vec<Caution> {
    if fabric.host_count() == 0 {
        return Vec::new(); // nothing can be sent, and nothing has the rate that shares are measured by
    }
    let marks = if feedback == Feedback::Marks { marks(fabric, settings) } else { None };
    marks.into_iter().chain(buffer(fabric, settings, classes_set_apart(settings, flows))).collect()
}

fn marks(fabric: &Fabric, settings: &Settings) -> Option<Caution> {
    let slowest = switch_ports(fabric).map(|port| fabric.link(port).rate).min()?;
    let minimum = settings.marking?.at(slowest).minimum.get();
    let packet = settings.segment.get() + settings.header.get();
    (0 < minimum && minimum < packet).then_some(Caution::Marks { minimum, rate: slowest, packet })
}

fn buffer(fabric: &Fabric, settings: &Settings, classes: u64) -> Option<Caution> {
    let buffer = settings.buffer.get();
    let set_apart = |number| SharedBuffer::set_apart(settings, classes, limits(fabric, settings, number));
    let lacking = (0..fabric.switches.len()).map(|number| (set_apart(number), Reverse(number))).max();
    let (set_apart, Reverse(number)) = lacking.filter(|(set_apart, _)| *set_apart >= buffer)?;
    Some(Caution::Buffer {
        switch: fabric.switches[number],
        set_apart,
        buffer,
        reserve: settings.reserve.get(),
        pauses: settings.flow_control.is_some(),
    })
}

fn limits(fabric: &Fabric, settings: &Settings, switch: usize) -> impl Iterator<Item = IngressLimits> {
    let host_rate = fabric.host_rate(HostId::new(0));
    let own = fabric.switch_ports.of(SwitchId::new(switch as u32));
    own.iter().map(move |port| LinkKind::new(fabric.link(*port), host_rate, settings).limits)
}

fn switch_ports(fabric: &Fabric) -> impl Iterator<Item = PortId> {
    (0..fabric.switches.len())
        .flat_map(|number| fabric.switch_ports.of(SwitchId::new(number as u32)).iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::settings::Mode;
    use crate::topology::Topology;
    use trialwise_congestion::Factory;
    use trialwise_units::Seed;

    fn said(topology: &str, controller: &str, network: &[(&'static str, &'static str)]) -> Vec<Caution> {
        let fabric = Fabric::new(topology.parse().unwrap()).unwrap();
        let pairs = network.iter().copied();
        let configuration =
            Configuration::new(&fabric, Mode::Clean, Seed::new(1), controller, [], pairs).unwrap();
        cautions(&fabric, &configuration.settings, configuration.algorithm.feedback(), &[])
    }

    #[test]
    fn nothing_is_said_of_a_data_centre() {
        for topology in
            ["dumbbell:10x10,100Gbit/s,1us", "fat-tree:8,100Gbit/s,1us", "dumbbell:2x2,10Gbit/s,1us"]
        {
            for controller in ["dctcp", "dcqcn", "timely", "hpcc", "cubic"] {
                assert_eq!(said(topology, controller, &[]), []);
            }
        }
    }

    #[test]
    fn nothing_is_said_of_switches_without_hosts() {
        let fabric = Fabric::new(Topology::from_hpcc("2 2 1\n0 1\n0 1 1Mbps 1us 0\n").unwrap()).unwrap();
        assert_eq!(cautions(&fabric, &Settings::for_line_rate(Rate::ZERO), Feedback::Marks, &[]), []);
    }

    #[test]
    fn marks_below_a_packet_are_told_at_the_rate_of_the_slowest_link() {
        // 3 kB for each Gbit/s.
        let told = Caution::Marks { minimum: 600, rate: Rate::from_megabits_per_second(200), packet: 1048 };
        let slow = "dumbbell:2x2,200Mbit/s,1us";
        assert_eq!(said(slow, "dctcp", &[("buffer", "1MB")]), [told]);
        assert!(told.to_string().starts_with("on links of 200 Mbit/s marks begin at queues of 600 bytes"));
        assert_eq!(said(slow, "hpcc", &[("buffer", "1MB")]), []);
        assert_eq!(said(slow, "dctcp", &[("buffer", "1MB"), ("marking", "false")]), []);
        assert_eq!(said(slow, "dctcp", &[("buffer", "1MB"), ("kmin", "0B")]), []);
        assert_eq!(said(slow, "dctcp", &[("buffer", "1MB"), ("kmin", "30kB"), ("kmax", "30kB")]), []);
    }

    #[test]
    fn a_buffer_that_is_all_set_apart_is_told() {
        // Each of three ports has 4096 bytes, and 3 ms of 1 Gbit/s.
        let wide = "dumbbell:2x2,1Gbit/s,1ms";
        let set_apart = 3 * (4096 + 375_000);
        let [Caution::Buffer { set_apart: found, buffer, pauses: true, .. }] = said(wide, "dctcp", &[])[..]
        else {
            panic!()
        };
        assert_eq!((found, buffer), (set_apart, (32 << 20) / 100));
        assert_eq!(said(wide, "dctcp", &[("buffer", "1137289B")]), []);
        assert_eq!(said(wide, "dctcp", &[("buffer", "1137288B")]).len(), 1);
        assert_eq!(said(wide, "dctcp", &[("pfc", "false")]), []);
    }
}
