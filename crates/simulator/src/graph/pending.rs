//! What the steps of a graph still wait for, while others end.

use trialwise_units::Time;

use super::{FlowGraph, Moment};
use crate::groups::Groups;

/// Who still waits, and since when nothing else held it back.
pub(super) struct Pending<'a> {
    graph: &'a FlowGraph,
    /// Of each step, those that wait for it.
    followers: Groups<(u32, Moment)>,
    /// Of each step, for how many it still waits, and when the last of those that ended did.
    left: Vec<u32>,
    ready: Vec<Time>,
}

impl<'a> Pending<'a> {
    pub(super) fn new(graph: &'a FlowGraph) -> Self {
        let steps = 0..graph.steps.len();
        Self {
            followers: followers(graph),
            left: steps.map(|step| graph.awaited_by(step).len() as u32).collect(),
            ready: vec![Time::ZERO; graph.steps.len()],
            graph,
        }
    }

    /// The steps that wait for nothing, and when they are due.
    pub(super) fn roots(&self) -> Vec<(u32, Time)> {
        let steps = 0..self.left.len() as u32;
        steps.filter(|step| self.left[*step as usize] == 0).map(|step| (step, self.due(step))).collect()
    }

    /// This moment of a step has come: adds the steps that waited for nothing else, and when they are due.
    pub(super) fn end(&mut self, step: u32, moment: Moment, time: Time, due: &mut Vec<(u32, Time)>) {
        for (follower, awaited) in self.followers.of(step as usize) {
            let place = *follower as usize;
            if *awaited == moment {
                self.left[place] -= 1;
                self.ready[place] = self.ready[place].max(time);
                if self.left[place] == 0 {
                    due.push((*follower, self.due(*follower)));
                }
            }
        }
    }

    /// Both moments of a step without a flow have come.
    pub(super) fn pass(&mut self, step: u32, time: Time, due: &mut Vec<(u32, Time)>) {
        self.end(step, Moment::Received, time, due);
        self.end(step, Moment::Acknowledged, time, due);
    }

    /// Whether a step waits for others.
    pub(super) fn waits(&self, step: u32) -> bool {
        self.left[step as usize] > 0
    }

    fn due(&self, step: u32) -> Time {
        let (place, step) = (step as usize, &self.graph.steps[step as usize]);
        step.earliest.max(self.ready[place]) + step.delay
    }
}

fn followers(graph: &FlowGraph) -> Groups<(u32, Moment)> {
    let mut lists = vec![0_usize; graph.steps.len()];
    let edges = || {
        let steps = 0..graph.steps.len() as u32;
        steps.flat_map(|step| graph.awaited_by(step as usize).iter().map(move |awaited| (step, awaited)))
    };
    edges().for_each(|(_, awaited)| lists[awaited.step as usize] += 1);
    let mut sorted: Vec<_> = edges().collect();
    sorted.sort_by_key(|(_, awaited)| awaited.step);
    let mut sorted = sorted.into_iter().map(|(step, awaited)| (step, awaited.moment));
    let mut groups = Groups::new([]);
    let mut list = Vec::new();
    for count in lists {
        list.clear();
        list.extend(sorted.by_ref().take(count));
        groups.push(&list);
    }
    groups
}
