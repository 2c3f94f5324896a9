//! Faults of links: which, how, and when.

use std::collections::HashSet;

use trialwise_units::Time;

use super::{ValueError, wanted};
use crate::quantity::parse_duration;
use crate::settings::Fault;
use crate::topology::{Link, Topology};

const FAULTS: &str = "write the two nodes of a link, what befalls it and when, with commas between: \
                      20-21 down 5ms, 20-21 up 8ms";

/// The faults that a text names, in order of time.
pub(super) fn faults(text: &str, topology: &Topology) -> Result<Vec<Fault>, ValueError> {
    let written = text.split(',').filter(|fault| !fault.trim().is_empty());
    let mut faults: Vec<_> =
        written.map(|fault| read_fault(fault.trim(), topology)).collect::<Result<_, _>>()?;
    faults.sort_by_key(|fault| fault.time);
    if some_change_nothing(&faults) {
        return Err(wanted(
            text,
            "a link that is up goes down, and one that is down comes up, in order of time",
        ));
    }
    Ok(faults)
}

/// Whether a fault finds its link as it would leave it: a slip of times or nodes.
fn some_change_nothing(faults: &[Fault]) -> bool {
    let mut down = HashSet::new();
    let changes = |fault: &Fault| if fault.up { down.remove(&fault.link) } else { down.insert(fault.link) };
    !faults.iter().all(changes)
}

fn read_fault(text: &str, topology: &Topology) -> Result<Fault, ValueError> {
    let (ends, up, time) = split_fault(text).ok_or_else(|| wanted(text, FAULTS))?;
    let link =
        topology.links.iter().position(|link| ends_of(link) == ends || ends_of(link) == [ends[1], ends[0]]);
    match link {
        Some(link) => Ok(Fault { time, link, up }),
        None => Err(ValueError::NoLink { fault: text.to_owned(), ends, there: links_of(ends, topology) }),
    }
}

/// The two nodes, whether the link comes up, and when.
fn split_fault(text: &str) -> Option<([u32; 2], bool, Time)> {
    let words: Vec<_> = text.split_whitespace().collect();
    let [link, state, time] = &words[..] else { return None };
    let (first, second) = link.split_once('-')?;
    let up = match *state {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    Some(([first.parse().ok()?, second.parse().ok()?], up, Time::ZERO + parse_duration(time).ok()?))
}

const fn ends_of(link: &Link) -> [u32; 2] {
    [link.first.get(), link.second.get()]
}

/// The links of two nodes in words, a few of each.
fn links_of(nodes: [u32; 2], topology: &Topology) -> String {
    let of_node = |node: u32| {
        if node as usize >= topology.is_switch.len() {
            return format!("there is no node {node}: nodes are 0 to {}", topology.is_switch.len() - 1);
        }
        let own = topology.links.iter().map(ends_of).filter(|ends| ends.contains(&node));
        let names: Vec<_> = own.map(|[first, second]| format!("{first}-{second}")).collect();
        let more = if names.len() > SHOWN_LINKS { ", …" } else { "" };
        format!("node {node} has {}{more}", names[..names.len().min(SHOWN_LINKS)].join(", "))
    };
    nodes.map(of_node).join("; ")
}

/// Links of a node that a message names.
const SHOWN_LINKS: usize = 8;
