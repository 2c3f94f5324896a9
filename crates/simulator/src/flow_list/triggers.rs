//! Triggers of HTSIM's connection matrices, brought into the form of a graph.

use std::collections::BTreeMap;

use trialwise_units::{Duration, Time};

use super::{FlowListError, LARGEST, quoted, whole};
use crate::flow::FlowSpecification;
use crate::graph::{Awaited, FlowGraph, Moment, Step};

/// What a line of its own says of a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Starts all its flows when it is fired, which happens once.
    OneShot,
    /// Starts one of its flows, in their order, each time that it is fired.
    MultiShot,
    /// Starts all its flows when it was fired so often.
    Barrier(u64),
}

/// The triggers of a file: how they are declared, and which flows fire them.
#[derive(Default)]
pub(super) struct Triggers {
    /// And the line.
    declared: BTreeMap<u64, (usize, Kind)>,
    fired_by: BTreeMap<u64, Vec<Awaited>>,
}

impl Triggers {
    /// A line `trigger id 3 barrier count 8` without its first word.
    pub(super) fn declare(&mut self, line: usize, words: &[&str]) -> Result<(), String> {
        let lower: Vec<_> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let lower: Vec<_> = lower.iter().map(String::as_str).collect();
        let (id, kind) = match lower[..] {
            ["id", id, "oneshot"] => (id, Kind::OneShot),
            ["id", id, "multishot"] => (id, Kind::MultiShot),
            ["id", id, "barrier", "count", count] => (id, Kind::Barrier(whole("count", count, LARGEST)?)),
            _ => {
                return Err("a trigger is: trigger id 1 oneshot, trigger id 1 multishot, or trigger id 1 barrier count 8".to_owned());
            }
        };
        match self.declared.insert(whole("id", id, LARGEST)?, (line, kind)) {
            Some((first, _)) => Err(format!("trigger {} is on line {first} already", quoted(id))),
            None => Ok(()),
        }
    }

    /// A flow fires this trigger.
    pub(super) fn fire(&mut self, trigger: u64, flow: u32, moment: Moment) {
        self.fired_by.entry(trigger).or_default().push(Awaited { step: flow, moment });
    }

    /// The flows, which stand on these lines and are started by these triggers, as one job.
    pub(super) fn graph(
        &self,
        flows: &[(usize, FlowSpecification)],
        started_by: &[Option<u64>],
    ) -> Result<FlowGraph, FlowListError> {
        let mut starts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, trigger) in started_by.iter().enumerate() {
            if let Some(trigger) = trigger {
                starts.entry(*trigger).or_default().push(place);
            }
        }
        // Flows keep their places, so that what fires is known by its place; pauses stand behind them.
        let mut awaited: Vec<Vec<Awaited>> = vec![Vec::new(); flows.len()];
        let mut pauses = Vec::new();
        for (trigger, targets) in starts {
            let by = self.check(trigger, targets.len(), flows[targets[0]].0)?;
            let one = if let [one] = by {
                *one
            } else {
                pauses.push(by);
                Awaited::received((flows.len() + pauses.len() - 1) as u32)
            };
            targets.into_iter().for_each(|target| awaited[target].push(one));
        }
        let mut graph = FlowGraph::default();
        let step = |flow: Option<FlowSpecification>| Step {
            flow,
            earliest: flow.map_or(Time::ZERO, |flow| flow.start),
            delay: Duration::ZERO,
            job: Some(0),
        };
        for ((_, flow), awaited) in flows.iter().zip(&awaited) {
            graph.add(step(Some(*flow)), awaited);
        }
        for by in pauses {
            graph.add(step(None), by);
        }
        Ok(graph)
    }

    /// What fires a trigger that starts so many flows, the first of them on this line.
    fn check(&self, trigger: u64, targets: usize, line: usize) -> Result<&[Awaited], FlowListError> {
        let wrong = |line, problem: String| Err(FlowListError::line(line, problem));
        let Some(by) = self.fired_by.get(&trigger) else {
            return wrong(line, format!("trigger {trigger} starts this flow, and no flow fires it"));
        };
        match self.declared.get(&trigger) {
            None => {
                wrong(line, format!("trigger {trigger} is not declared: write trigger id {trigger} oneshot"))
            }
            Some((line, Kind::OneShot)) if by.len() > 1 => {
                let count = by.len();
                wrong(
                    *line,
                    format!(
                        "trigger {trigger} is oneshot and {count} flows fire it: write barrier count {count}"
                    ),
                )
            }
            Some((line, Kind::MultiShot)) if by.len() > 1 || targets > 1 => wrong(
                *line,
                format!(
                    "trigger {trigger} starts a flow each time that one ends, whichever that is, which is not simulated: \
                         have each flow wait for one"
                ),
            ),
            Some((line, Kind::Barrier(count))) if *count != by.len() as u64 => wrong(
                *line,
                format!(
                    "trigger {trigger} is a barrier of {count} and {} flows fire it: these numbers have to be equal",
                    by.len()
                ),
            ),
            Some(_) => Ok(by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_matrix;
    use super::*;

    const HEAD: &str = "Nodes 16\nConnections 3\nTriggers 1\n";
    const FLOWS: &str = "0->9 id 1 start 0 size 5 send_done_trigger 4\n1->9 id 2 start 7 size 5 recv_done_trigger 4\n\
                         9->0 id 3 trigger 4 size 6\n";

    fn message(text: &str) -> String {
        read_matrix(text).unwrap_err().to_string()
    }

    #[test]
    fn a_barrier_waits_for_all_that_fire_it() {
        let list = read_matrix(&format!("{HEAD}{FLOWS}trigger id 4 barrier count 2\n")).unwrap();
        let graph = list.graph.unwrap();
        assert_eq!(graph.awaited_by(2), [Awaited::received(3)]);
        let moments: Vec<_> = graph.awaited_by(3).iter().map(|awaited| awaited.moment).collect();
        assert_eq!(moments, [Moment::Acknowledged, Moment::Received]);
        assert_eq!(list.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(list.cautions, Vec::<String>::new());
    }

    #[test]
    fn a_trigger_of_one_flow_needs_no_pause() {
        let text = "0->9 id 1 start 0 size 5 send_done_trigger 4\n9->0 id 3 trigger 4 size 6\ntrigger id 4 oneshot\n";
        let graph = read_matrix(text).unwrap().graph.unwrap();
        assert_eq!(graph.awaited_by(1), [Awaited { step: 0, moment: Moment::Acknowledged }]);
        assert!(read_matrix(&text.replace("oneshot", "multishot")).is_ok());
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let with = |trigger: &str| message(&format!("{FLOWS}{trigger}\n"));
        assert!(with("").starts_with("line 3: trigger 4 is not declared"));
        assert!(with("trigger id 4 oneshot").contains("2 flows fire it: write barrier count 2"));
        assert!(with("trigger id 4 multishot").contains("is not simulated"));
        assert!(with("trigger id 4 barrier count 3").contains("a barrier of 3 and 2 flows fire it"));
        assert!(with("trigger id 4 barrier").contains("a trigger is: trigger id 1 oneshot"));
        assert!(with("trigger id 4 oneshot\ntrigger id 4 oneshot").contains("is on line 4 already"));
        assert!(message("0->9 id 1 trigger 4 size 5\n").contains("no flow fires it"));
        let round = "0->9 id 1 trigger 2 size 5 recv_done_trigger 1\n9->0 id 2 trigger 1 size 5 recv_done_trigger 2\n\
                     trigger id 1 oneshot\ntrigger id 2 oneshot\n";
        assert!(message(round).contains("1, then 2, then 1"), "{}", message(round));
    }
}
