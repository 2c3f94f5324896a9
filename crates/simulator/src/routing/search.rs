//! Breadth-first searches over switches.

use super::Wiring;
use crate::index::{PortId, SwitchId};

const FAR: u32 = u32::MAX;

/// What the last search found; the memory serves all of them.
#[derive(Debug)]
pub(crate) struct Search {
    distance: Vec<u32>,
    /// The port by which a switch was found first; none where the search began.
    found_by: Vec<PortId>,
    /// In the order in which they were found.
    found: Vec<SwitchId>,
}

impl Search {
    pub(crate) fn new(wiring: &Wiring) -> Self {
        let switches = wiring.switch_count();
        Self { distance: vec![FAR; switches], found_by: vec![PortId::NONE; switches], found: Vec::new() }
    }

    /// Searches from these switches over links that are up, in the order of the links.
    pub(crate) fn run(&mut self, wiring: &Wiring, up: &[bool], from: impl IntoIterator<Item = SwitchId>) {
        self.distance.fill(FAR);
        self.found.clear();
        for switch in from {
            self.find(switch, 0, PortId::NONE);
        }
        let mut next = 0;
        while let Some(switch) = self.found.get(next).copied() {
            let beyond = self.distance[switch.index()] + 1;
            for wire in wiring.of_switch(switch) {
                if self.distance[wire.to.index()] == FAR && up[wire.port.index() / 2] {
                    self.find(wire.to, beyond, wire.port);
                }
            }
            next += 1;
        }
    }

    fn find(&mut self, switch: SwitchId, distance: u32, port: PortId) {
        if self.distance[switch.index()] == FAR {
            self.distance[switch.index()] = distance;
            self.found_by[switch.index()] = port;
            self.found.push(switch);
        }
    }

    /// Links between a switch and where the search began.
    pub(crate) fn distance(&self, switch: SwitchId) -> Option<u32> {
        Some(self.distance[switch.index()]).filter(|distance| *distance != FAR)
    }

    /// The switches found, in order, each with the port that led to it.
    pub(crate) fn found(&self) -> impl Iterator<Item = (SwitchId, PortId)> {
        self.found.iter().map(|switch| (*switch, self.found_by[switch.index()]))
    }
}
