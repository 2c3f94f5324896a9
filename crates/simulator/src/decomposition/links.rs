//! Every link on its own, and the delays of a flow added over the links that it crosses.

use std::collections::HashMap;

use trialwise_units::{Duration, Time};

use super::clusters::{Clusters, borrowed};
use super::lanes::lanes;
use super::lots::Crossings;
use super::run::run_all;
use super::{Estimate, Look, Whole};
use crate::flow::FlowSpecification;
use crate::index::PortId;
use crate::refusal::SimulationError;

/// Completion times of all flows of the list: that of the flow alone, and what each link adds to it when it is the only one where
/// flows meet: FCT = alone + Σ max(0, `FCT_link` − alone).
///
/// Links that are as like as `distance` ([`Clusters`]; 0 for none) lend each other the delays of their flows.
pub fn estimate_links(whole: &Whole<'_>, distance: f64, look: Look<'_>) -> Result<Estimate, SimulationError> {
    whole.check()?;
    let routes: Vec<_> = whole.fabric.flow_routes(whole.flows)?.into_iter().map(|route| route.data).collect();
    let crossings = Crossings::new(&routes);
    let links = crossings.links();
    let clusters = Clusters::new(whole, &crossings, &routes, &links, distance);
    let (alone, lone_hops) = alone(whole, &routes, look)?;
    // A link with a single flow delays nobody.
    let busy: Vec<u32> =
        clusters.leaders().iter().copied().filter(|link| crossings.of(*link).len() > 1).collect();
    let make = |number: usize| lanes(whole, &routes, busy[number], crossings.of(busy[number]));
    let ran = run_all(whole, busy.len(), &make, look)?;
    let hops = lone_hops + ran.iter().map(|each| each.hops).sum::<u64>();
    let mut delays: HashMap<u32, Vec<Option<Duration>>> = HashMap::new();
    for (link, ran) in busy.iter().zip(ran) {
        let lost = |(flow, time): (&u32, Option<Duration>)| {
            let over = |time: Duration, alone: Duration| {
                let over = time.picoseconds().saturating_sub(alone.picoseconds());
                Duration::from_picoseconds(over)
            };
            time.zip(alone[*flow as usize]).map(|(time, alone)| over(time, alone))
        };
        delays.insert(*link, crossings.of(*link).iter().zip(ran.times).map(lost).collect());
    }
    let mut times = alone;
    for link in &links {
        let leader = clusters.leader(*link);
        let Some(of_leader) = delays.get(&leader) else { continue };
        let own: Vec<_> = if leader == *link {
            of_leader.clone()
        } else {
            borrowed(whole, &routes, (*link, crossings.of(*link)), (leader, crossings.of(leader)), of_leader)
        };
        for (flow, delay) in crossings.of(*link).iter().zip(own) {
            let time = &mut times[*flow as usize];
            *time = time.zip(delay).map(|(time, delay)| time + delay);
        }
    }
    Ok(Estimate {
        flows: (0..whole.flows.len()).collect(),
        times,
        of: links.len(),
        networks: busy.len(),
        hops,
    })
}

/// The completion time of each flow alone, and the hops that finding them took; equal flows on equal paths are one.
fn alone(
    whole: &Whole<'_>,
    routes: &[Vec<PortId>],
    look: Look<'_>,
) -> Result<(Vec<Option<Duration>>, u64), SimulationError> {
    let mut known = HashMap::new();
    let (mut first, mut kind_of) = (Vec::new(), Vec::new());
    for (place, (flow, route)) in whole.flows.iter().zip(routes).enumerate() {
        let like = |port: &PortId| {
            let link = whole.fabric.link(*port);
            (link.rate.bits_per_second(), link.delay.picoseconds())
        };
        let key = (flow.size, flow.class, route.iter().map(like).collect::<Vec<_>>());
        let kind = *known.entry(key).or_insert(first.len());
        if kind == first.len() {
            first.push(place);
        }
        kind_of.push(kind);
    }
    let flows: Vec<_> =
        first.iter().map(|place| FlowSpecification { start: Time::ZERO, ..whole.flows[*place] }).collect();
    let lone = Whole { flows: &flows, ..*whole };
    let own: Vec<_> = first.iter().map(|place| routes[*place].clone()).collect();
    let make = |number: usize| lanes(&lone, &own, own[number][0].get() / 2, &[number as u32]);
    let ran = run_all(&lone, flows.len(), &make, look)?;
    let hops = ran.iter().map(|each| each.hops).sum();
    let time = |kind: usize| ran[kind].times.first().copied().flatten();
    Ok((kind_of.into_iter().map(time).collect(), hops))
}
