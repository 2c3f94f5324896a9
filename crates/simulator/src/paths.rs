//! The path of each flow through the switches, worked out once: a packet only follows it.

use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::groups::Groups;
use crate::index::{HostId, PortId, SwitchId};
use crate::routing::{Addresses, End};

/// Switches of a path that is remembered; packets of a longer one ask the routes at each switch.
const MAX_SWITCHES: usize = 8;
/// No number of a port.
const UNKNOWN: u8 = u8::MAX;

/// The port that each switch takes, by its number among the ports of that switch: of data, then of what the receiver
/// sends back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path([u8; 2 * MAX_SWITCHES]);

impl Path {
    /// Every switch has to be asked.
    pub(crate) const UNKNOWN: Self = Self([UNKNOWN; 2 * MAX_SWITCHES]);
    /// The step that data begin with, and the one that replies do.
    pub(crate) const DATA: u8 = 0;
    pub(crate) const REPLY: u8 = MAX_SWITCHES as u8;

    /// The path of this flow while all links work.
    pub(crate) fn new(fabric: &Fabric, flow: &Flow) -> Self {
        let there = flow.addresses;
        let mut path = Self::UNKNOWN;
        let (data, replies) = path.0.split_at_mut(MAX_SWITCHES);
        follow(fabric, (flow.source, flow.destination), || there, data);
        follow(fabric, (flow.destination, flow.source), || there.reversed(), replies);
        path
    }

    /// The number of the port that the switch in this step takes, where it is known.
    #[inline]
    pub(crate) fn port(&self, step: u8) -> Option<usize> {
        let number = self.0[usize::from(step)];
        (number != UNKNOWN).then_some(usize::from(number))
    }
}

/// Notes the port that each switch takes; nothing where there is no room for all of them.
fn follow(
    fabric: &Fabric,
    (from, to): (HostId, HostId),
    addresses: impl FnMut() -> Addresses,
    numbers: &mut [u8],
) {
    let (mut crossed, mut fits) = (0, true);
    fabric.walk(from, to, addresses, |port| {
        let End::Switch(switch) = fabric.end(port.reverse()) else { return };
        let number = fabric.switch_ports.number(switch, port).filter(|number| *number < UNKNOWN);
        match (numbers.get_mut(crossed), number) {
            (Some(place), Some(number)) => *place = number,
            _ => fits = false,
        }
        crossed += 1;
    });
    if !fits {
        numbers.fill(UNKNOWN);
    }
}

/// The ports of all switches, of each in the order of the links.
#[derive(Clone, Debug)]
pub(crate) struct SwitchPorts(Groups<PortId>);

impl SwitchPorts {
    pub(crate) const fn new(of_each: Groups<PortId>) -> Self {
        Self(of_each)
    }

    /// The ports of one switch.
    #[inline]
    pub(crate) fn of(&self, switch: SwitchId) -> &[PortId] {
        self.0.of(switch.index())
    }

    /// The port with this number among those of its switch.
    #[inline]
    pub(crate) fn port(&self, switch: SwitchId, number: usize) -> PortId {
        *self.0.item(switch.index(), number)
    }

    fn number(&self, switch: SwitchId, port: PortId) -> Option<u8> {
        let place = self.of(switch).iter().position(|own| *own == port)?;
        u8::try_from(place).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowSpecification;
    use crate::index::NodeId;
    use crate::routing::SourcePorts;
    use crate::run::simulate;
    use crate::settings::Settings;
    use crate::topology::{Link, Topology};
    use trialwise_congestion::Algorithm;
    use trialwise_units::{Bytes, Rate, Time};

    /// The ports that a packet takes which begins at this step behind that port.
    fn followed(fabric: &Fabric, path: &Path, first: PortId, mut step: u8) -> Vec<PortId> {
        let mut crossed = vec![first];
        while let End::Switch(switch) = fabric.end(crossed[crossed.len() - 1]) {
            crossed.push(fabric.switch_ports.port(switch, path.port(step).unwrap()));
            step += 1;
        }
        crossed
    }

    #[test]
    fn a_path_is_the_route_of_its_flow() {
        for shape in
            ["fat-tree:4,100Gbit/s,1us", "leaf-spine:3x2x4,100Gbit/s,1us", "dumbbell:3x2,100Gbit/s,1us"]
        {
            let fabric = Fabric::new(shape.parse().unwrap()).unwrap();
            let last = fabric.host_count() as u32 - 1;
            let mut source_ports = SourcePorts::default();
            for (from, to) in (0..last).map(|host| (host, last)).chain([(last, 0)]) {
                let (source, destination) = (HostId::new(from), HostId::new(to));
                let asked = FlowSpecification::new(
                    0,
                    fabric.node(source),
                    fabric.node(destination),
                    Bytes::new(1),
                    Time::ZERO,
                );
                let flow =
                    Flow::new(&asked, (source, destination), source_ports.take(source, destination), 3);
                let path = Path::new(&fabric, &flow);
                let routes = fabric.flow_routes(&[asked]).unwrap();
                let ports = |step, host: u32| followed(&fabric, &path, fabric.cards[host as usize], step);
                assert_eq!(ports(Path::DATA, from), routes[0].data, "{shape}");
                assert_eq!(ports(Path::REPLY, to), routes[0].replies, "{shape}");
            }
        }
    }

    #[test]
    fn a_path_without_room_is_not_remembered_in_part() {
        // A chain of nine switches between two hosts.
        let line: Topology = "dumbbell:1x1,100Gbit/s,1us".parse().unwrap();
        let link =
            |first, second| Link { first: NodeId::new(first), second: NodeId::new(second), ..line.links[0] };
        let nodes: Vec<_> = std::iter::once(0).chain(2..11).chain([1]).collect();
        let topology = Topology {
            is_switch: (0..11).map(|node| node > 1).collect(),
            links: nodes.windows(2).map(|pair| link(pair[0], pair[1])).collect(),
            ..line
        };
        let fabric = Fabric::new(topology).unwrap();
        let asked = FlowSpecification::new(0, NodeId::new(0), NodeId::new(1), Bytes::new(1), Time::ZERO);
        let path = Path::new(&fabric, &Flow::new(&asked, (HostId::new(0), HostId::new(1)), 0, 3));
        assert!((0..2 * MAX_SWITCHES as u8).all(|step| path.port(step).is_none()));
        let line = Rate::from_megabits_per_second(100_000);
        let algorithm = Algorithm::named("hpcc", line).unwrap();
        let outcome = simulate(&fabric, &Settings::for_line_rate(line), &algorithm, &[asked]).unwrap();
        assert_eq!((outcome.unfinished(), outcome.totals.hops), (0, 20));
    }
}
