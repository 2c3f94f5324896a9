//! Networks: nodes, links, and the shapes that have names.

use std::str::FromStr;

use trialwise_units::{Duration, Rate};

use crate::index::NodeId;
use crate::quantity::{QuantityError, parse_duration, parse_rate};

/// A cable between two nodes, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub first: NodeId,
    /// The other end.
    pub second: NodeId,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on it, each direction and packet for itself.
    pub loss: f64,
}

/// A network of hosts and switches. Nodes are numbered from 0; ports of a node stand in the order of `links`.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Whether each node is a switch.
    pub is_switch: Vec<bool>,
    /// The cables.
    pub links: Vec<Link>,
    /// Nodes that send in one-way workloads; empty where every host is both.
    pub senders: Vec<NodeId>,
    /// Nodes that receive in one-way workloads; empty where every host is both.
    pub receivers: Vec<NodeId>,
    /// The link that all one-way traffic shares, if there is one.
    pub bottleneck: Option<Rate>,
}

/// Why there is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// No shape has this name.
    #[error(
        "no topology is called {0:?}: write dumbbell:10x10,100Gbit/s,1us, fat-tree:4,100Gbit/s,1us or \
         leaf-spine:4x2x8,100Gbit/s,1us (leaves, spines, hosts of a leaf)"
    )]
    Unknown(String),
    /// The numbers of a shape are wrong.
    #[error("{text:?} is no {shape}: write {example}")]
    Shape {
        /// The shape.
        shape: &'static str,
        /// What was written.
        text: String,
        /// What would be right.
        example: &'static str,
    },
    /// A rate or a delay is wrong.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A file does not hold what it should.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// An order of next hops does not go with the topology.
    #[error("routes, line {line}: {problem}")]
    Routes {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A file ends too early.
    #[error(
        "the file ends before all links are there: its first line says how many nodes, switches and links it has"
    )]
    Short,
    /// Some host cannot reach another.
    #[error(
        "host {from} cannot reach host {to}: the topology is not connected by switches (hosts forward nothing); add a link"
    )]
    NotConnected {
        /// A host.
        from: u32,
        /// A host that it cannot reach.
        to: u32,
    },
    /// Routes would not fit into memory.
    #[error(
        "{nodes} nodes with {hosts} hosts are too many: switches times switches with hosts may be 2^27 (fat-tree:64 has 2^23), links \
         2^21, and of hosts with several links some 11,000 may differ in them; take a smaller network"
    )]
    TooLarge {
        /// Nodes.
        nodes: usize,
        /// Hosts among them.
        hosts: usize,
    },
    /// A link that no packet could cross, or a loss that is no probability.
    #[error("link {0} needs a rate above zero, a loss in [0, 1), and two different ends that exist")]
    Link(usize),
    /// A host without a cable.
    #[error("host {0} has no link: a host has one or more")]
    HostLinks(u32),
}

impl TopologyError {
    pub(crate) fn too_large(topology: &Topology) -> Self {
        Self::TooLarge { nodes: topology.is_switch.len(), hosts: topology.hosts().count() }
    }
}

impl Topology {
    /// `senders` hosts on one switch and `receivers` on another, with one link between them: nodes `0 ..
    /// senders` send, those after receive, then come the two switches.
    pub fn dumbbell(senders: u32, receivers: u32, rate: Rate, delay: Duration, bottleneck: Rate) -> Self {
        let hosts = senders + receivers;
        let (left, right) = (hosts, hosts + 1);
        let mut builder = Builder::new(hosts, 2);
        (0..senders).for_each(|host| builder.link(host, left, rate, delay));
        (senders..hosts).for_each(|host| builder.link(host, right, rate, delay));
        builder.link(left, right, bottleneck, delay);
        let mut topology = builder.topology;
        topology.senders = (0..senders).map(NodeId::new).collect();
        topology.receivers = (senders..hosts).map(NodeId::new).collect();
        topology.bottleneck = Some(bottleneck);
        topology
    }

    /// The k-ary fat-tree (Al-Fares et al., SIGCOMM 2008): k^3/4 hosts, then k^2/2 edge, k^2/2 aggregation
    /// and k^2/4 core switches, all links alike. Aggregation switch `a` of each pod is joined to cores `a
    /// k/2` to `(a + 1) k/2 - 1`.
    pub fn fat_tree(k: u32, rate: Rate, delay: Duration) -> Self {
        let half = k / 2;
        let hosts = k * half * half;
        let (edges, aggregations) = (hosts, hosts + k * half);
        let cores = aggregations + k * half;
        let mut builder = Builder::new(hosts, k * k + half * half);
        for pod in 0..k {
            for edge in pod * half..(pod + 1) * half {
                (0..half).for_each(|host| builder.link(edge * half + host, edges + edge, rate, delay));
                (0..half)
                    .for_each(|up| builder.link(edges + edge, aggregations + pod * half + up, rate, delay));
            }
            for up in 0..half {
                let aggregation = aggregations + pod * half + up;
                (0..half).for_each(|core| builder.link(aggregation, cores + up * half + core, rate, delay));
            }
        }
        builder.topology
    }

    /// `leaves` switches with `hosts` hosts each, every leaf joined to each of `spines` switches at `uplink`.
    pub fn leaf_spine(
        leaves: u32,
        spines: u32,
        hosts: u32,
        rate: Rate,
        uplink: Rate,
        delay: Duration,
    ) -> Self {
        let count = leaves * hosts;
        let mut builder = Builder::new(count, leaves + spines);
        for leaf in 0..leaves {
            (0..hosts).for_each(|host| builder.link(leaf * hosts + host, count + leaf, rate, delay));
            (0..spines).for_each(|spine| builder.link(count + leaf, count + leaves + spine, uplink, delay));
        }
        builder.topology
    }

    /// The hosts, in the order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.is_switch.iter().enumerate();
        nodes.filter(|(_, is_switch)| !**is_switch).map(|(node, _)| NodeId::new(node as u32))
    }

    /// The same network with this probability of loss on every link.
    pub fn with_loss(mut self, loss: f64) -> Self {
        self.links.iter_mut().for_each(|link| link.loss = loss);
        self
    }
}

struct Builder {
    topology: Topology,
}

impl Builder {
    /// Hosts first, then switches.
    fn new(hosts: u32, switches: u32) -> Self {
        let is_switch = (0..hosts + switches).map(|node| node >= hosts).collect();
        let (senders, receivers) = (Vec::new(), Vec::new());
        Self { topology: Topology { is_switch, links: Vec::new(), senders, receivers, bottleneck: None } }
    }

    fn link(&mut self, first: u32, second: u32, rate: Rate, delay: Duration) {
        let (first, second) = (NodeId::new(first), NodeId::new(second));
        self.topology.links.push(Link { first, second, rate, delay, loss: 0.0 });
    }
}

const DUMBBELL: &str = "dumbbell:10x10,100Gbit/s,1us (1 to 4096 on each side), and after it the rate of the middle link if it is another";
const FAT_TREE: &str = "fat-tree:4,100Gbit/s,1us, with an even number from 2 to 64";
const LEAF_SPINE: &str = "leaf-spine:4x2x8,100Gbit/s,1us (leaves, spines, hosts of a leaf, each 1 to 512), and last the uplinks' rate if another";

/// `name:size,rate,delay[,other rate]`.
impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let (name, rest) = text.split_once(':').ok_or_else(|| TopologyError::Unknown(text.to_owned()))?;
        let (shape, example) = match name {
            "dumbbell" => ("dumbbell", DUMBBELL),
            "fat-tree" => ("fat-tree", FAT_TREE),
            "leaf-spine" => ("leaf-spine", LEAF_SPINE),
            _ => return Err(TopologyError::Unknown(text.to_owned())),
        };
        let wrong = || TopologyError::Shape { shape, text: text.to_owned(), example };
        let fields: Vec<_> = rest.split(',').map(str::trim).collect();
        let [size, rate, delay, other @ ..] = &fields[..] else { return Err(wrong()) };
        let numbers =
            size.split('x').map(str::parse).collect::<Result<Vec<u32>, _>>().map_err(|_| wrong())?;
        let (rate, delay) = (parse_rate(rate)?, parse_duration(delay)?);
        let other = match other {
            [] => rate,
            [other] if shape != "fat-tree" => parse_rate(other)?,
            _ => return Err(wrong()),
        };
        match (shape, &numbers[..]) {
            ("dumbbell", [senders @ 1..=4096, receivers @ 1..=4096]) => {
                Ok(Self::dumbbell(*senders, *receivers, rate, delay, other))
            }
            ("fat-tree", [k @ 2..=64]) if k % 2 == 0 => Ok(Self::fat_tree(*k, rate, delay)),
            ("leaf-spine", [leaves @ 1..=512, spines @ 1..=512, hosts @ 1..=512]) => {
                Ok(Self::leaf_spine(*leaves, *spines, *hosts, rate, other, delay))
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fat_tree_has_the_published_counts() {
        let topology: Topology = "fat-tree:8,100Gbit/s,1us".parse().unwrap();
        assert_eq!(topology.hosts().count(), 128);
        assert_eq!(topology.is_switch.iter().filter(|is_switch| **is_switch).count(), 80);
        assert_eq!(topology.links.len(), 3 * 128);
    }

    #[test]
    fn a_leaf_spine_joins_every_leaf_to_every_spine() {
        let topology: Topology = "leaf-spine:4x2x8,25Gbit/s,1us,100Gbit/s".parse().unwrap();
        assert_eq!((topology.hosts().count(), topology.links.len()), (32, 32 + 8));
        assert_eq!(topology.links.last().unwrap().rate, Rate::from_megabits_per_second(100_000));
    }

    #[test]
    fn what_is_wrong_with_a_shape_is_said() {
        let message = |text: &str| text.parse::<Topology>().unwrap_err().to_string();
        assert!(message("ring:5").contains("dumbbell:10x10"));
        assert!(message("dumbbell:10,100Gbit/s,1us").contains("10x10"));
        assert!(message("fat-tree:5,100Gbit/s,1us").contains("even"));
        assert!(message("dumbbell:10x10,100G,1us").contains("unknown unit `G` (units: bit/s"));
    }
}
