//! Topologies of HTSIM (`.topo`): two or three tiers of switches, each described once.
//!
//! Of the lowest tier are the switches of hosts. `Bundle` is the number of parallel links downward; radices count links.

use trialwise_units::{Duration, Rate};

use super::check_counts;
use crate::index::NodeId;
use crate::topology::{Link, Topology, TopologyError};

/// Tiers at most.
const TIERS: usize = 3;
/// Words that begin a line before the first tier.
const HEADERS: [&str; 3] = ["nodes", "tiers", "podsize"];
/// Words that begin a line of a tier, in the order of [`Tier`]'s numbers, and the number that holds where none is given.
const WORDS: [(&str, Option<u32>); 9] = [
    ("downlink_speed_gbps", None),
    ("downlink_latency_ns", None),
    ("radix_down", None),
    ("radix_up", Some(0)),
    ("switch_latency_ns", Some(0)),
    ("bundle", Some(1)),
    ("oversubscribed", Some(0)),
    ("queue_down", Some(0)),
    ("queue_up", Some(0)),
];

/// What is said of a tier.
#[derive(Clone, Copy)]
struct Tier {
    speed: u32,
    latency: u32,
    down: u32,
    up: u32,
    switch_latency: u32,
    bundle: u32,
    oversubscribed: u32,
    queues: bool,
}

/// Whether a text is one of these: its first word that is no note begins a header.
pub(super) fn begins(text: &str) -> bool {
    let first = lines(text).next().and_then(|(_, words)| words.into_iter().next());
    first.is_some_and(|word| HEADERS.contains(&word.as_str()) || word == "tier")
}

/// Lines that are no notes, each with its number and its words in small letters.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<String>)> {
    let lines = text.lines().enumerate().map(|(line, text)| (line + 1, text.split('#').next().unwrap_or("")));
    let words = |text: &str| text.split_whitespace().map(str::to_ascii_lowercase).collect::<Vec<_>>();
    lines.map(move |(line, text)| (line, words(text))).filter(|(_, words)| !words.is_empty())
}

/// Reads the topology, and what of the text was not taken at its word.
pub(super) fn read(text: &str) -> Result<(Topology, Vec<String>), TopologyError> {
    let mut headers = [None; HEADERS.len()];
    let mut tiers = [[None; WORDS.len()]; TIERS];
    let mut tier = None;
    for (line, words) in lines(text) {
        let wrong = |problem: String| TopologyError::Line { line, problem };
        let [word, number] = &words[..] else {
            return Err(wrong("here stand a word and a number, as in Nodes 32".to_owned()));
        };
        let number = number.parse::<u32>();
        let number = number.map_err(|_| wrong(format!("{word} needs a whole number behind it")))?;
        if word == "tier" {
            tier = Some(number as usize).filter(|tier| *tier < TIERS);
            tier.ok_or_else(|| wrong("tiers are 0, 1 and 2".to_owned()))?;
            continue;
        }
        let place = match tier {
            None => HEADERS.iter().position(|known| known == word).map(|place| &mut headers[place]),
            Some(tier) => {
                WORDS.iter().position(|(known, _)| known == word).map(|place| &mut tiers[tier][place])
            }
        };
        let place = place.ok_or_else(|| wrong(format!("{word:?} says nothing here")))?;
        if place.replace(number).is_some() {
            return Err(wrong(format!("{word} stands twice")));
        }
    }
    let whole = |problem: String| TopologyError::Line { line: 1, problem };
    let header = |place: usize| {
        let word = HEADERS[place];
        headers[place].filter(|number| *number > 0).ok_or_else(|| whole(format!("{word} is missing, or 0")))
    };
    let (nodes, count, pod) = (header(0)?, header(1)? as usize, header(2)?);
    if !(2..=TIERS).contains(&count) {
        return Err(whole(format!("there are {count} tiers: there may be 2 or 3")));
    }
    let tiers =
        tiers[..count].iter().enumerate().map(|(number, given)| Tier::of(number, given).map_err(whole));
    let tiers = tiers.collect::<Result<Vec<_>, _>>()?;
    let shape = Shape::of(nodes, pod, &tiers).map_err(whole)?;
    check_counts(
        1,
        shape.nodes().ok_or_else(|| whole(TOO_MANY.to_owned()))?,
        shape.links(&tiers).ok_or_else(|| whole(TOO_MANY.to_owned()))?,
    )?;
    Ok((shape.topology(&tiers), cautions(&tiers)))
}

const TOO_MANY: &str = "these are too many nodes or links";

fn cautions(tiers: &[Tier]) -> Vec<String> {
    let latency = tiers.iter().any(|tier| tier.switch_latency > 0).then(|| {
        "half of the latency of a switch is added to the delay of each of its links, which is the same on every way".to_owned()
    });
    let queues = tiers.iter().any(|tier| tier.queues).then(|| {
        "Queue_Down and Queue_Up decide nothing: the buffer of a switch is shared, and set by network.buffer".to_owned()
    });
    latency.into_iter().chain(queues).collect()
}

impl Tier {
    fn of(number: usize, given: &[Option<u32>; WORDS.len()]) -> Result<Self, String> {
        let mut numbers = [0; WORDS.len()];
        for ((number_of, given), (word, otherwise)) in numbers.iter_mut().zip(given).zip(WORDS) {
            *number_of = given.or(otherwise).ok_or_else(|| format!("tier {number} has no {word}"))?;
        }
        let [speed, latency, down, up, switch_latency, bundle, oversubscribed, ..] = numbers;
        if speed == 0 || down == 0 || bundle == 0 || !down.is_multiple_of(bundle) {
            return Err(format!(
                "tier {number}: speed, radix and bundle are above 0, and Radix_Down a multiple of Bundle"
            ));
        }
        let queues = given[7].or(given[8]).is_some();
        Ok(Self { speed, latency, down, up, switch_latency, bundle, oversubscribed, queues })
    }

    /// How much more hosts can send into a switch of this tier than it can send on.
    fn ratio(&self, above: &Self) -> (u64, u64) {
        (u64::from(self.down) * u64::from(self.speed), u64::from(self.up) * u64::from(above.speed))
    }
}

/// How many there are of each.
struct Shape {
    hosts: u32,
    pods: u32,
    /// Of each pod.
    edges: u32,
    /// Of each pod; of two tiers all there are, above one pod.
    aggregations: u32,
    /// None of two tiers.
    cores: u32,
}

impl Shape {
    /// Counts switches from below, and refuses radices that give other numbers from above.
    fn of(hosts: u32, pod: u32, tiers: &[Tier]) -> Result<Self, String> {
        let pod = if tiers.len() == 2 { hosts } else { pod };
        let divided = |what: &str, number: u32, by: u32| {
            let whole = by > 0 && number.is_multiple_of(by) && number > 0;
            if whole {
                Ok(number / by)
            } else {
                Err(format!("{what} is {number}, which is no multiple of {by}"))
            }
        };
        if tiers[0].bundle != 1 {
            return Err("a host has one link here: Bundle of tier 0 is 1".to_owned());
        }
        let pods = divided("Nodes", hosts, pod)?;
        let edges = divided("Podsize", pod, tiers[0].down)?;
        let aggregations = divided("Radix_Up of tier 0", tiers[0].up, tiers[1].bundle)?;
        let expected = |number: usize, below: u32| {
            let (found, tier) = (u64::from(below) * u64::from(tiers[number].bundle), tiers[number]);
            if found == u64::from(tier.down) {
                return Ok(());
            }
            Err(format!(
                "Radix_Down of tier {number} is {} and {found} links come up to a switch of it",
                tier.down
            ))
        };
        expected(1, edges)?;
        let cores = if let Some(core) = tiers.get(2) {
            expected(2, pods)?;
            let each = divided("Radix_Up of tier 1", tiers[1].up, core.bundle)?;
            each.checked_mul(aggregations).ok_or_else(|| TOO_MANY.to_owned())?
        } else {
            0
        };
        for (number, pair) in tiers.windows(2).enumerate() {
            let ((into, on), said) = (pair[0].ratio(&pair[1]), u64::from(pair[0].oversubscribed));
            if said > 0 && into != said * on {
                return Err(format!(
                    "tier {number} says that it is {said}:1 oversubscribed, and by its radices and speeds it is {into}:{on}"
                ));
            }
        }
        Ok(Self { hosts, pods, edges, aggregations, cores })
    }

    fn nodes(&self) -> Option<u32> {
        let each = self.edges.checked_add(self.aggregations)?;
        self.pods.checked_mul(each)?.checked_add(self.cores)?.checked_add(self.hosts)
    }

    fn links(&self, tiers: &[Tier]) -> Option<u32> {
        let edges = self.pods.checked_mul(self.edges)?.checked_mul(tiers[0].up)?;
        let aggregations = self.pods.checked_mul(self.aggregations)?;
        let above = if tiers.len() > 2 { aggregations.checked_mul(tiers[1].up)? } else { 0 };
        self.hosts.checked_add(edges)?.checked_add(above)
    }

    /// Hosts, edge switches pod by pod, aggregation switches, cores; each aggregation switch of a pod has cores of its own.
    fn topology(&self, tiers: &[Tier]) -> Topology {
        let mut links = Vec::new();
        let mut join = |below: u32, above: u32, tier: usize| {
            let own = if tier == 0 { 0 } else { tiers[tier - 1].switch_latency };
            let half = Duration::from_nanoseconds(u64::from(own) + u64::from(tiers[tier].switch_latency)) / 2;
            let link = Link {
                first: NodeId::new(below),
                second: NodeId::new(above),
                rate: Rate::from_megabits_per_second(u64::from(tiers[tier].speed) * 1000),
                delay: Duration::from_nanoseconds(u64::from(tiers[tier].latency)) + half,
                loss: 0.0,
            };
            links.extend((0..tiers[tier].bundle).map(|_| link));
        };
        let first_edge = self.hosts;
        let first_aggregation = first_edge + self.pods * self.edges;
        let first_core = first_aggregation + self.pods * self.aggregations;
        (0..self.hosts).for_each(|host| join(host, first_edge + host / tiers[0].down, 0));
        for pod in 0..self.pods {
            for edge in 0..self.edges {
                for up in 0..self.aggregations {
                    let above = first_aggregation + pod * self.aggregations + up;
                    join(first_edge + pod * self.edges + edge, above, 1);
                }
            }
            let each = self.cores / self.aggregations;
            for up in 0..self.aggregations {
                for core in up * each..(up + 1) * each {
                    join(first_aggregation + pod * self.aggregations + up, first_core + core, 2);
                }
            }
        }
        let nodes = first_core + self.cores;
        let is_switch = (0..nodes).map(|node| node >= self.hosts).collect();
        Topology { is_switch, links, senders: Vec::new(), receivers: Vec::new(), bottleneck: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAVES: &str = "# four leaves\nNodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
                          Downlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
                          Downlink_Latency_ns 1000\n";

    fn fat_tree(core: &str) -> String {
        let tier = "Downlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000";
        format!(
            "nodes 16\ntiers 3\npodsize 4\ntier 0\n{tier}\ntier 1\n{tier}\ntier 2\nDownlink_speed_Gbps 100\n\
             Downlink_Latency_ns 1000\n{core}\n"
        )
    }

    fn message(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn two_tiers_are_a_leaf_spine_and_three_a_fat_tree() {
        let leaf_spine: Topology = "leaf-spine:4x2x8,100Gbit/s,1us".parse().unwrap();
        let sorted = |topology: &Topology| {
            let mut links: Vec<_> =
                topology.links.iter().map(|link| (link.first.get(), link.second.get())).collect();
            links.sort_unstable();
            links
        };
        assert!(begins(LEAVES));
        let (found, cautions) = read(LEAVES).unwrap();
        assert_eq!(
            (sorted(&found), &found.is_switch, cautions.len()),
            (sorted(&leaf_spine), &leaf_spine.is_switch, 0)
        );
        let (found, _) = read(&fat_tree("Radix_Down 4")).unwrap();
        let expected: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        assert_eq!(sorted(&found), sorted(&expected));
        assert_eq!(found.links[0], expected.links[0]);
    }

    /// Two links from each aggregation switch to one core instead of one to each of two.
    #[test]
    fn a_bundle_is_parallel_links() {
        let (found, _) = read(&fat_tree("Radix_Down 8\nBundle 2")).unwrap();
        assert_eq!(found.is_switch.len(), 16 + 8 + 8 + 2);
        assert_eq!(found.links.len(), 16 + 16 + 16);
        let between = found.links.iter().filter(|link| (link.first.get(), link.second.get()) == (24, 32));
        assert_eq!(between.count(), 2);
    }

    /// Up and down through five switches takes each of their latencies once.
    #[test]
    fn latencies_of_switches_are_on_the_way_once() {
        let text = fat_tree("Radix_Down 4\nSwitch_Latency_ns 500")
            .replace("tier 1\n", "tier 1\nSwitch_Latency_ns 30\nQueue_Up 7\n");
        let (found, cautions) = read(&text).unwrap();
        let delay = |first: u32, second: u32| {
            let mut links = found.links.iter();
            links
                .find(|link| (link.first.get(), link.second.get()) == (first, second))
                .unwrap()
                .delay
                .picoseconds()
        };
        // Host 0, edge 16, aggregation 24, core 32, and down again.
        let way = 2 * (delay(0, 16) + delay(16, 24) + delay(24, 32));
        assert_eq!(way, 6_000_000 + 500_000 + 2 * 30_000);
        assert_eq!(cautions.len(), 2);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert!(message(&LEAVES.replace("Radix_Down 4", "Radix_Down 5")).contains("4 links come up"));
        assert!(message(&LEAVES.replace("Oversubscribed 4", "Oversubscribed 2")).contains("it is 800:200"));
        assert!(message(&LEAVES.replace("Nodes 32", "Nodes 33")).contains("no multiple of 8"));
        assert!(message(&LEAVES.replace("Radix_Up 2\n", "")).contains("Radix_Up of tier 0 is 0"));
        assert!(message(&LEAVES.replace("Tiers 2", "Tiers 4")).contains("there may be 2 or 3"));
        assert!(message(&LEAVES.replace("Tier 1", "Tier 3")).starts_with("line 12: tiers are 0, 1 and 2"));
        assert!(
            message(&LEAVES.replace("Radix_Down 8", "Radix_Down 8\nRadix_Down 8")).contains("stands twice")
        );
        assert!(
            message(&LEAVES.replace("Radix_Down 8", "Colour 8")).contains("\"colour\" says nothing here")
        );
        assert!(message("Nodes 4000000000\nTiers 2\nPodsize 1\n").contains("tier 0 has no"));
        let huge = LEAVES.replace("32", "4294967288").replace("Radix_Down 4", "Radix_Down 536870911");
        assert!(message(&huge).contains("too many"), "{}", message(&huge));
    }
}
