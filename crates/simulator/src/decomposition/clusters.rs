//! Links that are alike, of which one is simulated for all.
//!
//! Of two directions of links the distance is the largest of: the relative difference of their bytes, and the relative differences
//! (summed over percentiles, as Parsimon's) of the sizes of their flows and of the times between them; of two links it is
//! the larger of both directions. Links of other rates, delays or kinds of ends are never alike. A link joins the first one before it
//! that is near enough and joined none itself, so that the choice is one of the list alone.

use std::collections::HashMap;

use trialwise_units::Duration;

use super::Whole;
use super::lots::Crossings;
use crate::index::PortId;

const PERCENTILES: usize = 20;

/// Who stands for whom.
pub(super) struct Clusters {
    leaders: Vec<u32>,
    leader_of: HashMap<u32, u32>,
}

/// A direction of a link.
struct Direction {
    bytes: f64,
    sizes: Vec<f64>,
    gaps: Vec<f64>,
}

/// What must be equal: rate, delay, and which ends are switches.
type Kind = (u64, u64, bool, bool);

impl Clusters {
    pub(super) fn new(
        whole: &Whole<'_>,
        crossings: &Crossings,
        routes: &[Vec<PortId>],
        links: &[u32],
        distance: f64,
    ) -> Self {
        let mut clusters = Self { leaders: Vec::new(), leader_of: HashMap::new() };
        let mut known: HashMap<Kind, Vec<(u32, [Direction; 2])>> = HashMap::new();
        for link in links {
            if distance <= 0.0 {
                clusters.lead(*link, *link);
                continue;
            }
            let own = [0, 1].map(|side| direction(whole, routes, *link * 2 + side, crossings.of(*link)));
            let others = known.entry(kind(whole, *link)).or_default();
            let is_near = |(_, other): &&(u32, [Direction; 2])| {
                own.iter().zip(other).all(|(own, other)| own.distance(other) <= distance)
            };
            match others.iter().find(is_near).map(|(leader, _)| *leader) {
                Some(leader) => clusters.lead(leader, *link),
                None => {
                    clusters.lead(*link, *link);
                    others.push((*link, own));
                }
            }
        }
        clusters
    }

    fn lead(&mut self, leader: u32, link: u32) {
        if leader == link {
            self.leaders.push(link);
        }
        self.leader_of.insert(link, leader);
    }

    /// The links that are simulated, in order.
    pub(super) fn leaders(&self) -> &[u32] {
        &self.leaders
    }

    /// The link that stands for this one.
    pub(super) fn leader(&self, link: u32) -> u32 {
        self.leader_of.get(&link).copied().unwrap_or(link)
    }
}

impl Direction {
    fn distance(&self, other: &Self) -> f64 {
        let most = self.bytes.max(other.bytes);
        let bytes = if most > 0.0 { (self.bytes - other.bytes).abs() / most } else { 0.0 };
        bytes.max(difference(&self.sizes, &other.sizes)).max(difference(&self.gaps, &other.gaps))
    }
}

fn kind(whole: &Whole<'_>, link: u32) -> Kind {
    let (link, is_switch) = (whole.fabric.link(PortId::new(2 * link)), &whole.fabric.topology().is_switch);
    let [first, second] = [link.first, link.second].map(|node| is_switch[node.index()]);
    (link.rate.bits_per_second(), link.delay.picoseconds(), first, second)
}

fn direction(whole: &Whole<'_>, routes: &[Vec<PortId>], port: u32, flows: &[u32]) -> Direction {
    let own = in_direction(routes, PortId::new(port), flows);
    let sizes: Vec<_> = own.iter().map(|flow| whole.flows[*flow as usize].size.get() as f64).collect();
    let starts: Vec<_> = own.iter().map(|flow| whole.flows[*flow as usize].start.picoseconds()).collect();
    let gaps = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    Direction { bytes: sizes.iter().sum(), sizes: percentiles(sizes), gaps: percentiles(gaps) }
}

fn in_direction(routes: &[Vec<PortId>], port: PortId, flows: &[u32]) -> Vec<u32> {
    flows.iter().copied().filter(|flow| routes[*flow as usize].contains(&port)).collect()
}

/// Some percentiles, by nearest rank; none of nothing.
fn percentiles(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let place = |percentile| (percentile * (values.len() - 1) + PERCENTILES / 2) / PERCENTILES;
    if values.is_empty() { values } else { (0..=PERCENTILES).map(|each| values[place(each)]).collect() }
}

/// The sum of absolute differences over that of the larger values; 1 where one side has nothing.
fn difference(own: &[f64], other: &[f64]) -> f64 {
    if own.is_empty() || other.is_empty() {
        return f64::from(u8::from(own.len() != other.len()));
    }
    let (mut apart, mut most) = (0.0, 0.0);
    for (own, other) in own.iter().zip(other) {
        apart += (own - other).abs();
        most += own.max(*other);
    }
    if most > 0.0 { apart / most } else { 0.0 }
}

/// Delays of the flows of a link from those of its leader: flows of the same rank by size in the same direction, in proportion to
/// their packets.
pub(super) fn borrowed(
    whole: &Whole<'_>,
    routes: &[Vec<PortId>],
    (link, own): (u32, &[u32]),
    (leader, others): (u32, &[u32]),
    delays: &[Option<Duration>],
) -> Vec<Option<Duration>> {
    debug_assert_eq!(others.len(), delays.len());
    let mut found: HashMap<u32, Option<Duration>> = HashMap::new();
    let packets = |flow: u32| whole.flows[flow as usize].size.get().div_ceil(whole.settings.segment.get());
    for side in 0..2 {
        let ranked = |link: u32, flows: &[u32]| {
            let mut ranked = in_direction(routes, PortId::new(2 * link + side), flows);
            ranked.sort_by_key(|flow| (whole.flows[*flow as usize].size, *flow));
            ranked
        };
        let (own, others_ranked) = (ranked(link, own), ranked(leader, others));
        for (rank, flow) in own.iter().enumerate() {
            let like = others_ranked.get(rank * others_ranked.len() / own.len().max(1));
            let place = like.and_then(|like| others.binary_search(like).ok().map(|place| (*like, place)));
            let delay = place.map_or(Some(Duration::ZERO), |(like, place)| {
                let scaled = |delay: Duration| {
                    let product = u128::from(delay.picoseconds()) * u128::from(packets(*flow));
                    Duration::from_picoseconds((product / u128::from(packets(like))) as u64)
                };
                delays[place].map(scaled)
            });
            found.insert(*flow, delay);
        }
    }
    own.iter().map(|flow| found.get(flow).copied().unwrap_or(Some(Duration::ZERO))).collect()
}
