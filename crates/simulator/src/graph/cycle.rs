//! When steps can start at the earliest, and which wait for one another where none can.

use trialwise_units::Time;

use super::FlowGraph;
use super::pending::Pending;
use crate::refusal::SimulationError;

/// Flows of a cycle that a message names at most.
const NAMED: usize = 8;

impl FlowGraph {
    /// When each step can start, or is over where it has no flow, as if flows took no time.
    pub(super) fn earliest(&self) -> Result<Vec<Time>, SimulationError> {
        let mut pending = Pending::new(self);
        let mut due = pending.roots();
        let mut earliest = vec![Time::ZERO; self.steps.len()];
        let mut reached = 0;
        while let Some((step, time)) = due.pop() {
            earliest[step as usize] = time;
            reached += 1;
            pending.pass(step, time, &mut due);
        }
        if reached < self.steps.len() { Err(self.cycle(&pending)) } else { Ok(earliest) }
    }

    /// Going from a step that waits to one that it waits for comes to a step for the second time.
    fn cycle(&self, pending: &Pending<'_>) -> SimulationError {
        let mut place = vec![usize::MAX; self.steps.len()];
        let mut way = Vec::new();
        let mut next = (0..self.steps.len() as u32).find(|step| pending.waits(*step));
        while let Some(step) = next.filter(|step| place[*step as usize] == usize::MAX) {
            place[step as usize] = way.len();
            way.push(step);
            let mut awaited = self.awaited_by(step as usize).iter().map(|awaited| awaited.step);
            next = awaited.find(|awaited| pending.waits(*awaited));
        }
        let mut cycle = way.split_off(next.map_or(0, |step| place[step as usize]));
        cycle.reverse();
        let first = (0..cycle.len()).min_by_key(|place| cycle[*place]).unwrap_or(0);
        cycle.rotate_left(first);
        SimulationError::Cycle(self.named(&cycle))
    }

    /// The flows of a cycle, each behind the one that it waits for, and the first once more.
    fn named(&self, cycle: &[u32]) -> String {
        let flows = cycle.iter().filter_map(|step| self.steps[*step as usize].flow.map(|flow| flow.id));
        let mut named: Vec<_> = flows.clone().take(NAMED).map(|id| id.to_string()).collect();
        let more = flows.count() - named.len();
        let first = named.first().cloned().unwrap_or_default();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named.push(first);
        named.join(", then ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::step;
    use super::super::{Awaited, FlowGraph};

    fn message(graph: &FlowGraph) -> String {
        graph.flows().unwrap_err().to_string()
    }

    #[test]
    fn a_cycle_is_named_and_what_leads_to_it_is_not() {
        let mut graph = FlowGraph::default();
        graph.add(step(10), &[]);
        graph.add(step(11), &[Awaited::received(0), Awaited::received(3)]);
        graph.add(step(12), &[Awaited::received(1)]);
        graph.add(step(13), &[Awaited::received(2)]);
        graph.add(step(14), &[Awaited::received(3)]);
        let named = message(&graph);
        assert!(named.contains("11, then 12, then 13, then 11"), "{named}");
        assert!(!named.contains("10") && !named.contains("14"), "{named}");
    }

    #[test]
    fn a_flow_that_waits_for_itself_is_a_cycle() {
        let mut graph = FlowGraph::default();
        graph.add(step(5), &[Awaited::received(0)]);
        assert!(message(&graph).contains("5, then 5"));
    }

    #[test]
    fn a_long_cycle_is_cut_in_its_middle() {
        let mut graph = FlowGraph::default();
        (0..1000).for_each(|place| {
            graph.add(step(place), &[Awaited::received((place as u32 + 999) % 1000)]);
        });
        assert!(message(&graph).contains(", then 992 more, then "));
    }
}
