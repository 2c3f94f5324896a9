//! The flows of sampled paths, each simulated with what crosses its path.

use std::collections::HashMap;

use super::lots::{Crossings, lot};
use super::run::run_all;
use super::{Estimate, Look, Whole};
use crate::index::PortId;
use crate::random::Random;
use crate::refusal::SimulationError;

/// How many of the paths of a list are simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// All, if the list has no more paths than this.
    pub paths: usize,
    /// Else the share of this number in so many flows, so that each flow is as likely in a long list as in a short one.
    pub expected: f64,
}

impl Sample {
    /// How many of so many paths.
    fn among(self, paths: usize) -> usize {
        if paths <= self.paths {
            return paths;
        }
        let share = self.paths as f64 / self.expected.max(self.paths as f64);
        (libm::round(share * paths as f64) as usize).clamp(1, paths)
    }
}

/// A path with the flows that take it and those that cross it.
struct Lot<'a> {
    path: &'a [PortId],
    wanted: Vec<u32>,
    crossing: Vec<u32>,
}

/// A path, and the flows that take it.
type Taken<'a> = (&'a [PortId], Vec<u32>);

/// Completion times of the flows of some paths of the list, each path as likely, by [`Settings::seed`](crate::Settings::seed).
pub fn estimate_paths(
    whole: &Whole<'_>,
    sample: Sample,
    look: Look<'_>,
) -> Result<Estimate, SimulationError> {
    whole.check()?;
    let routes: Vec<_> = whole.fabric.flow_routes(whole.flows)?.into_iter().map(|route| route.data).collect();
    let crossings = Crossings::new(&routes);
    let (of, chosen) = sampled(whole, &routes, sample);
    let lots = merged(whole, &routes, &crossings, chosen);
    let make = |number: usize| {
        let Lot { path, crossing, .. } = &lots[number];
        lot(whole, &routes, path, crossing)
    };
    let ran = run_all(whole, lots.len(), &make, look)?;
    let mut found = Vec::new();
    for (lot, ran) in lots.iter().zip(&ran) {
        for flow in &lot.wanted {
            if let Ok(place) = lot.crossing.binary_search(flow) {
                found.push((*flow as usize, ran.times[place]));
            }
        }
    }
    found.sort_unstable_by_key(|(flow, _)| *flow);
    let (flows, times) = found.into_iter().unzip();
    Ok(Estimate { flows, times, of, networks: lots.len(), hops: ran.iter().map(|each| each.hops).sum() })
}

/// How many paths the list has, and those of the sample with their flows, in the order of the list.
fn sampled<'a>(whole: &Whole<'_>, routes: &'a [Vec<PortId>], sample: Sample) -> (usize, Vec<Taken<'a>>) {
    let mut numbers: HashMap<&[PortId], usize> = HashMap::new();
    let mut paths: Vec<Taken<'_>> = Vec::new();
    for (flow, route) in routes.iter().enumerate() {
        let number = *numbers.entry(route).or_insert(paths.len());
        if number == paths.len() {
            paths.push((route, Vec::new()));
        }
        paths[number].1.push(flow as u32);
    }
    let (of, count) = (paths.len(), sample.among(paths.len()));
    let mut random = Random::new(whole.settings.seed.named("paths"));
    let mut order: Vec<usize> = (0..of).collect();
    for place in 0..count.min(of) {
        let other = place + random.below((of - place) as u64) as usize;
        order.swap(place, other);
    }
    order.truncate(count);
    order.sort_unstable();
    let mut paths: Vec<Option<_>> = paths.into_iter().map(Some).collect();
    (of, order.into_iter().filter_map(|place| paths[place].take()).collect())
}

/// The lots of these paths, equal ones once: on a dumbbell all are.
fn merged<'a>(
    whole: &Whole<'_>,
    routes: &[Vec<PortId>],
    crossings: &Crossings,
    chosen: Vec<Taken<'a>>,
) -> Vec<Lot<'a>> {
    let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut lots: Vec<Lot<'a>> = Vec::new();
    for (path, wanted) in chosen {
        let crossing = crossings.of_path(path);
        let same = known.get(&crossing).copied().filter(|number| {
            lot(whole, routes, path, &crossing) == lot(whole, routes, lots[*number].path, &crossing)
        });
        match same {
            Some(number) => lots[number].wanted.extend(wanted),
            None => {
                known.insert(crossing.clone(), lots.len());
                lots.push(Lot { path, wanted, crossing });
            }
        }
    }
    lots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_as_likely_in_a_long_list() {
        let sample = Sample { paths: 100, expected: 1000.0 };
        let counts = [100, 101, 1000, 1500].map(|paths| sample.among(paths));
        assert_eq!(counts, [100, 10, 100, 150]);
    }
}
