//! Flow lists, read and written: comma-separated values, the format of the HPCC simulator and of its relatives, and the
//! connection matrices of HTSIM.
//!
//! Every value of a list decides something or is refused: each format declares its columns in one place.

mod csv;
mod hpcc;
mod matrix;
mod triggers;

use std::collections::HashMap;

use crate::flow::FlowSpecification;
use crate::graph::FlowGraph;
use crate::index::NodeId;
use crate::refusal::SimulationError;

pub use csv::{read_csv, write_csv, write_results_csv};
pub use hpcc::{read_hpcc, write_hpcc};
pub use matrix::read_matrix;

/// The largest number that tables of 64 bits with a sign hold, and the start of as many picoseconds (106 days).
const LARGEST: u64 = i64::MAX as u64;
const MAX_START: u64 = LARGEST / 1000;
/// Characters of a wrong value that a message repeats.
const SHOWN: usize = 40;

/// What a flow list says, and where it was read with indulgence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowList {
    /// The flows, in order of start; of those that wait, of the earliest possible one.
    pub flows: Vec<FlowSpecification>,
    /// What they wait for, where some do, or which jobs they are.
    pub graph: Option<FlowGraph>,
    /// What of the text was not taken at its word, a sentence each.
    pub cautions: Vec<String>,
}

impl FlowList {
    /// A list of flows that wait for others.
    fn waiting(graph: FlowGraph, cautions: Vec<String>) -> Result<Self, FlowListError> {
        let flows = graph.flows().map_err(FlowListError::Graph)?;
        let flows = flows.into_iter().map(|(flow, _)| flow).collect();
        Ok(Self { flows, graph: Some(graph), cautions })
    }
}

/// A flow list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowListError {
    /// The header lacks a column.
    #[error(
        "the list has no column {0}: its first line names flow_id,src,dst,size_bytes,start_ns, in any order, with commas between"
    )]
    Column(&'static str),
    /// The header has a column that decides nothing.
    #[error("the column {name} of the list is not used: leave it out, or call it {known}")]
    Unused {
        /// What it is called, in quotes.
        name: String,
        /// The columns that there are.
        known: String,
    },
    /// Flows wait for one another.
    #[error(transparent)]
    Graph(SimulationError),
    /// A line is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

impl FlowListError {
    fn line(line: usize, problem: impl Into<String>) -> Self {
        Self::Line { line, problem: problem.into() }
    }
}

/// Reads a list in any of the formats: that of the HPCC simulator begins with a number alone, a connection matrix with a
/// word such as `Nodes`.
pub fn read_flows(text: &str) -> Result<FlowList, FlowListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or("").trim();
    if first.parse::<u64>().is_ok() {
        read_hpcc(text)
    } else if matrix::begins(text) {
        read_matrix(text)
    } else {
        read_csv(text)
    }
}

/// A field that should be a whole number of at most `most`.
fn whole(name: &str, text: &str, most: u64) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number <= most);
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let limit = if is_number { format!(", {most} at most") } else { String::new() };
    number.ok_or_else(|| format!("{name} is {}: write a whole number{limit}", quoted(text)))
}

/// A wrong text as a message repeats it.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn node(number: u64) -> Result<NodeId, String> {
    let found = u32::try_from(number).ok().filter(|number| *number < u32::MAX);
    found.map(NodeId::new).ok_or_else(|| format!("{number} is no number of a node"))
}

/// The class of a flow; class 0 is that of control frames.
fn class(name: &str, text: &str) -> Result<Option<u8>, String> {
    let class = text.parse::<u8>().ok().filter(|class| (1..=7).contains(class));
    class.map(Some).ok_or_else(|| format!("{name} is {}: classes of data are 1 to 7", quoted(text)))
}

fn port(name: &str, text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("{name} is {}: ports are 0 to 65535", quoted(text)))
}

/// Refuses a flow_id that stands on an earlier line.
fn check_new(id: u64, line: usize, known: &mut HashMap<u64, usize>) -> Result<(), FlowListError> {
    match known.insert(id, line) {
        Some(first) => {
            let problem = format!("flow_id {id} is on line {first} already: give each flow its own");
            Err(FlowListError::line(line, problem))
        }
        None => Ok(()),
    }
}

/// How many flows were announced and how many are there, where these differ.
fn miscounted(announced: usize, there: usize) -> Option<String> {
    let taken = if there > announced { "the first of them are taken" } else { "all of them are taken" };
    (there != announced)
        .then(|| format!("the flow list announces {announced} flows and has {there}: {taken}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::{Bytes, Time};

    pub(super) fn flow(id: u64, start: u64) -> FlowSpecification {
        let (source, destination) = (NodeId::new(0), NodeId::new(10));
        FlowSpecification::new(id, source, destination, Bytes::new(1000), Time::from_nanoseconds(start))
    }

    /// As a list of the HPCC simulator has it, which names the class.
    pub(super) fn classed(id: u64, start: u64) -> FlowSpecification {
        FlowSpecification { class: Some(3), ..flow(id, start) }
    }

    #[test]
    fn the_format_is_told_by_the_first_line() {
        let flows = vec![flow(0, 76_748)];
        let read = |text: &str| read_flows(text).unwrap().flows;
        assert_eq!(read(&write_hpcc(&flows)), [classed(0, 76_748)]);
        assert_eq!(read(&write_csv(&flows).replace("start_ns", "start_ns_actual")), flows);
        assert_eq!(read(&format!("\u{feff}{}", write_csv(&flows))), flows);
        assert_eq!(read("Nodes 16\nConnections 1\n0->10 id 0 start 76748000 size 1000\n"), flows);
    }

    #[test]
    fn a_long_value_is_not_repeated_whole() {
        let message = whole("size_bytes", &"1".repeat(400), LARGEST).unwrap_err();
        assert!(message.len() < 120 && message.contains('…'), "{message}");
    }
}
