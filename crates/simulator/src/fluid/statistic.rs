//! What is kept of a surrogate trial.

use std::ops::Range;

use trialwise_units::{Duration, Time};

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;

/// A number of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Seconds from start to end.
    CompletionTime,
    /// Completion time over that of the flow alone ([`crate::PathFacts::ideal`]).
    Slowdown,
    /// Payload over completion time, in bits per second.
    Throughput,
}

/// How the numbers of many flows become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Summary {
    /// How many there are.
    Count,
    /// Their sum.
    Sum,
    /// How many are above this.
    Above(f64),
    /// The arithmetic mean.
    Mean,
    /// The value of rank `ceil(p n)`, at least 1, among n sorted ones: the nearest rank (Hyndman and Fan,
    /// "Sample Quantiles in Statistical Packages", 1996, type 1), without interpolation.
    Quantile(f64),
    /// Between the values of ranks around `1 + p (n - 1)`, in proportion (the same, type 7).
    Linear(f64),
}

/// One number for each trial: a summary of a quantity over some of its flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Of what.
    pub quantity: Quantity,
    /// How many become one.
    pub summary: Summary,
    /// Only flows with so many bytes of payload.
    pub sizes: Range<u64>,
    /// Only flows that start then.
    pub starts: Range<Time>,
}

impl Statistic {
    /// Over all flows.
    pub const fn of_all(quantity: Quantity, summary: Summary) -> Self {
        Self { quantity, summary, sizes: 0..u64::MAX, starts: Time::ZERO..Time::MAX }
    }

    /// Whether a quantile is one.
    pub(super) fn is_sound(&self) -> bool {
        match self.summary {
            Summary::Quantile(p) | Summary::Linear(p) => (0.0..=1.0).contains(&p),
            _ => true,
        }
    }

    /// Whether it is one of completion times, without which flows can be counted.
    pub(super) fn needs_times(&self) -> bool {
        self.summary != Summary::Count
    }

    /// The numbers of the flows that are meant, in `values` in place of what is there.
    pub(super) fn fill(
        &self,
        fabric: &Fabric,
        flows: &[FlowSpecification],
        completion: &[Duration],
        values: &mut Vec<f64>,
    ) {
        let of = |place: usize| self.quantity.of(fabric, &flows[place], completion[place]);
        values.clear();
        values.extend(self.meant(flows).map(of));
    }

    /// The places of the flows that are meant.
    fn meant(&self, flows: &[FlowSpecification]) -> impl Iterator<Item = usize> {
        let (sizes, starts) = (&self.sizes, &self.starts);
        let is_meant = move |(place, flow): (usize, &FlowSpecification)| {
            (sizes.contains(&flow.size.get()) && starts.contains(&flow.start)).then_some(place)
        };
        flows.iter().enumerate().filter_map(is_meant)
    }

    /// The number of this trial; none where no flow is meant, of which there is no mean or quantile. `values` is
    /// memory to use again, and `completion` may be empty where no times are needed.
    pub(super) fn of(
        &self,
        fabric: &Fabric,
        flows: &[FlowSpecification],
        completion: &[Duration],
        values: &mut Vec<f64>,
    ) -> Option<f64> {
        if !self.needs_times() {
            return Some(self.meant(flows).count() as f64);
        }
        self.fill(fabric, flows, completion, values);
        self.summary.of(values)
    }
}

impl Quantity {
    fn of(self, fabric: &Fabric, flow: &FlowSpecification, time: Duration) -> f64 {
        match self {
            Self::CompletionTime => time.as_seconds(),
            Self::Throughput => flow.size.get() as f64 * 8.0 / time.as_seconds(),
            Self::Slowdown => {
                let ends = fabric.host(flow.source).zip(fabric.host(flow.destination));
                let ideal =
                    ends.map(|(source, destination)| fabric.path(source, destination).ideal(flow.size.get()));
                ideal.map_or(f64::NAN, |ideal| time.picoseconds() as f64 / ideal.picoseconds() as f64)
            }
        }
    }
}

impl Summary {
    fn of(self, values: &mut [f64]) -> Option<f64> {
        let count = values.len();
        match self {
            Self::Count => Some(count as f64),
            Self::Sum => Some(values.iter().sum()),
            Self::Above(level) => Some(values.iter().filter(|value| **value > level).count() as f64),
            _ if count == 0 => None,
            Self::Mean => Some(values.iter().sum::<f64>() / count as f64),
            Self::Quantile(p) => {
                let rank = nearest_rank(p, count);
                Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
            }
            Self::Linear(p) => Some(between_ranks(p, values)),
        }
    }
}

/// The value at the place `p (n - 1)`, counted from 0, with straight lines between the values.
fn between_ranks(p: f64, values: &mut [f64]) -> f64 {
    let place = p * (values.len() - 1) as f64;
    let below = libm::floor(place);
    let (_, low, rest) = values.select_nth_unstable_by(below as usize, f64::total_cmp);
    let high = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    *low + (place - below) * (high - *low)
}

/// `ceil(p n)` from 1 to n, with `p n` taken as whole where it is so but for the rounding of `p`.
fn nearest_rank(p: f64, count: usize) -> usize {
    let rank = p * count as f64;
    let whole = libm::round(rank);
    let rank = if (rank - whole).abs() <= whole * 4.0 * f64::EPSILON { whole } else { libm::ceil(rank) };
    (rank as usize).clamp(1, count)
}

/// What a flow list asks for: the workload's own control variates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Features {
    /// How many flows.
    pub flows: u64,
    /// Payload of all.
    pub bytes: u64,
    /// Payload of the largest.
    pub largest: u64,
    /// Sum of the squares of payloads.
    pub squares: f64,
}

impl Features {
    /// Those of a list.
    pub fn of(flows: &[FlowSpecification]) -> Self {
        flows.iter().fold(Self::default(), |so_far, flow| {
            let size = flow.size.get();
            Self {
                flows: so_far.flows + 1,
                bytes: so_far.bytes + size,
                largest: so_far.largest.max(size),
                squares: so_far.squares + (size as f64) * (size as f64),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest_from_above() {
        let ranks = [(0.99, 100), (0.07, 100), (0.99, 44), (0.5, 5), (0.0, 5), (1.0, 5), (0.999, 1000)];
        let expected = [99, 7, 44, 3, 1, 5, 999];
        assert_eq!(ranks.map(|(p, count)| nearest_rank(p, count)), expected);
    }

    #[test]
    fn summaries_need_values() {
        assert_eq!(Summary::Mean.of(&mut []), None);
        assert_eq!(Summary::Mean.of(&mut [1.0, 3.0]), Some(2.0));
        assert_eq!(Summary::Quantile(0.5).of(&mut [3.0, 1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(Summary::Linear(0.5).of(&mut []), None);
    }

    #[test]
    fn what_is_counted_may_be_nothing() {
        let counts = [Summary::Count, Summary::Sum, Summary::Above(1.0)];
        assert_eq!(counts.map(|summary| summary.of(&mut [])), [Some(0.0); 3]);
        assert_eq!(counts.map(|summary| summary.of(&mut [1.0, 3.0, 2.0])), [3.0, 6.0, 2.0].map(Some));
    }

    #[test]
    fn linear_quantiles_lie_between_values() {
        let at = |p| Summary::Linear(p).of(&mut [40.0, 10.0, 30.0, 20.0]);
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(at), [10.0, 17.5, 25.0, 40.0].map(Some));
        assert_eq!(Summary::Linear(0.99).of(&mut [7.0]), Some(7.0));
    }
}
