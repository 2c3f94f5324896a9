//! HTSIM's connection matrices: `Nodes 128`, `Connections 8`, then `0->100 id 1 start 0 size 2000000` on each line.

use std::collections::HashMap;

use trialwise_units::{Bytes, Time};

use super::triggers::Triggers;
use super::{FlowList, FlowListError, LARGEST, check_new, node, quoted, whole};
use crate::flow::FlowSpecification;
use crate::graph::Moment;
use crate::index::NodeId;

/// What a word of a connection is for.
enum Use {
    /// The name of the flow.
    Id,
    /// A name of the message on its connection, which may be left empty: nothing that a flow is asked for by.
    Message,
    /// Picoseconds.
    Start,
    Size,
    /// The trigger that starts the flow.
    Trigger,
    /// A trigger that the flow fires at this moment.
    Fires(Moment),
    /// Not simulated, and why.
    Refused(&'static str),
}

/// Words of a connection, each with a number behind it.
const WORDS: [(&str, Use); 8] = [
    ("id", Use::Id),
    ("msg", Use::Message),
    ("start", Use::Start),
    ("size", Use::Size),
    ("prio", Use::Refused("priorities of HTSIM order the flows of a sender, which is not simulated")),
    ("trigger", Use::Trigger),
    ("send_done_trigger", Use::Fires(Moment::Acknowledged)),
    ("recv_done_trigger", Use::Fires(Moment::Received)),
];

/// Words that begin a line of their own.
const HEADERS: [&str; 4] = ["nodes", "connections", "triggers", "failures"];

/// Whether the first line that is no note begins a connection matrix.
pub(super) fn begins(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or("");
    HEADERS.contains(&word.to_ascii_lowercase().as_str()) || ends(word).is_some()
}

fn ends(word: &str) -> Option<(&str, &str)> {
    word.split_once("->").filter(|(from, _)| from.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a connection matrix. Flows come in order of start; where every connection has an id of its own, it is the flow's
/// number, else its place in the file.
pub fn read_matrix(text: &str) -> Result<FlowList, FlowListError> {
    let mut matrix = Matrix::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            matrix.read(number + 1, line).map_err(|problem| FlowListError::line(number + 1, problem))?;
        }
    }
    matrix.list()
}

/// What was read so far.
#[derive(Default)]
struct Matrix {
    nodes: Option<u64>,
    connections: Option<u64>,
    /// And the lines on which they stand.
    flows: Vec<(usize, FlowSpecification)>,
    /// Of the flows that have one.
    ids: Vec<u64>,
    /// Of each flow, the trigger that starts it.
    started_by: Vec<Option<u64>>,
    triggers: Triggers,
}

impl Matrix {
    fn read(&mut self, number: usize, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or("");
        if let Some((from, to)) = ends(first) {
            return self.connection(number, (from, to), &words.collect::<Vec<_>>());
        }
        let header = first.to_ascii_lowercase();
        let mut counted = || whole(first, words.next().unwrap_or(""), LARGEST);
        match header.as_str() {
            "nodes" => self.nodes = Some(counted()?),
            "connections" => self.connections = Some(counted()?),
            "triggers" | "failures" => {
                counted()?;
            }
            "trigger" => return self.triggers.declare(number, &words.collect::<Vec<_>>()),
            "failure" => {
                return Err("failures are no part of a flow list: write network = { faults = … }".to_owned());
            }
            _ => {
                return Err(format!(
                    "{} begins no line: write Nodes, Connections, or a flow as in 0->100 id 1 start 0 size 2000000",
                    quoted(first)
                ));
            }
        }
        match words.next() {
            Some(more) => Err(format!("{} stands behind the number of {header}", quoted(more))),
            None => Ok(()),
        }
    }

    fn connection(&mut self, number: usize, (from, to): (&str, &str), words: &[&str]) -> Result<(), String> {
        let (mut id, mut start, mut size, mut trigger) = (None, None, None, None);
        let place = self.flows.len() as u64;
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let lower = word.to_ascii_lowercase();
            let known = WORDS.iter().find(|(name, _)| *name == lower);
            let Some((name, use_of)) = known else {
                let known: Vec<_> = WORDS.iter().map(|(name, _)| *name).collect();
                return Err(format!("{} is no word of a flow: they are {}", quoted(word), known.join(", ")));
            };
            let mut value = || whole(name, words.next().copied().unwrap_or(""), LARGEST);
            match use_of {
                Use::Id => id = Some(value()?),
                Use::Start => start = Some(value()?),
                Use::Size => size = Some(value()?),
                Use::Trigger => trigger = Some(value()?),
                Use::Fires(moment) => self.triggers.fire(value()?, place as u32, *moment),
                Use::Message => {
                    words.next_if(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
                }
                Use::Refused(why) => return Err(format!("{name}: {why}")),
            }
        }
        let start = match (start, trigger) {
            (Some(_), Some(_)) => {
                return Err("the flow has a start and a trigger: write one of them".to_owned());
            }
            (None, None) => return Err("the flow has no start: write start and picoseconds".to_owned()),
            (start, _) => start.unwrap_or(0),
        };
        let size = size.ok_or("the flow has no size: write size and bytes")?;
        let (from, to) = (self.node(from)?, self.node(to)?);
        let flow = FlowSpecification::new(place, from, to, Bytes::new(size), Time::from_picoseconds(start));
        self.flows.push((number, flow));
        self.ids.extend(id);
        self.started_by.push(trigger);
        Ok(())
    }

    fn node(&self, text: &str) -> Result<NodeId, String> {
        let number = whole("the node", text, LARGEST)?;
        match self.nodes.filter(|nodes| number >= *nodes) {
            Some(nodes) => Err(format!("there is no node {number}: the file has {nodes}")),
            None => node(number),
        }
    }

    fn list(mut self) -> Result<FlowList, FlowListError> {
        if self.ids.len() == self.flows.len() {
            let mut known = HashMap::new();
            for ((line, flow), id) in self.flows.iter_mut().zip(&self.ids) {
                check_new(*id, *line, &mut known)?;
                flow.id = *id;
            }
        }
        let announced = self.connections.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let there = self.flows.len();
        let caution = announced.filter(|count| *count != there).map(|count| {
            format!("the connection matrix announces {count} flows and has {there}: all of them are taken")
        });
        let cautions = caution.into_iter().collect();
        if self.started_by.iter().any(Option::is_some) {
            return FlowList::waiting(self.triggers.graph(&self.flows, &self.started_by)?, cautions);
        }
        let mut flows: Vec<_> = self.flows.into_iter().map(|(_, flow)| flow).collect();
        flows.sort_by_key(|flow| flow.start);
        Ok(FlowList { flows, cautions, ..FlowList::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        read_matrix(text).unwrap_err().to_string()
    }

    #[test]
    fn a_matrix_is_read_in_order_of_start() {
        let text = "# eight to one\nNodes 16\nConnections 2\nTriggers 48\n3->9 id 7 start 2000 size 10 # last\n0->9 ID 8 msg start 1000 size 5\n";
        let list = read_matrix(text).unwrap();
        let flow = |id, from, bytes, start| {
            let (from, to) = (NodeId::new(from), NodeId::new(9));
            FlowSpecification::new(id, from, to, Bytes::new(bytes), Time::from_picoseconds(start))
        };
        assert_eq!(list.flows, [flow(8, 0, 5, 1000), flow(7, 3, 10, 2000)]);
        assert_eq!(list.cautions, Vec::<String>::new());
    }

    #[test]
    fn another_number_of_connections_is_told() {
        let list = read_matrix("Nodes 16\nConnections 3\n3->9 start 2000 size 10\n").unwrap();
        assert_eq!(
            list.cautions,
            ["the connection matrix announces 3 flows and has 1: all of them are taken"]
        );
    }

    #[test]
    fn every_word_decides_something_or_is_refused() {
        let with = |word: &str| format!("Nodes 16\n0->9 start 5 size 6 {word} 4\n");
        for (word, use_of) in &WORDS {
            match use_of {
                Use::Trigger => assert!(message(&with(word)).contains("a start and a trigger")),
                Use::Refused(why) => assert!(message(&with(word)).ends_with(why), "{word}"),
                _ => assert!(read_matrix(&with(word)).is_ok(), "{word}"),
            }
        }
        assert!(message(&with("tos")).contains("\"tos\" is no word of a flow"));
        assert!(message("Nodes 16 17\n").ends_with("\"17\" stands behind the number of nodes"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message("Nodes 16\n0->9 size 6\n").ends_with("write start and picoseconds"));
        assert!(message("Nodes 16\n0->9 start 6\n").ends_with("write size and bytes"));
        assert!(message("Nodes 16\n0->16 start 6 size 5\n").starts_with("line 2: there is no node 16"));
        assert!(message("Nodes 16\n0->x start 6 size 5\n").contains("the node is \"x\""));
        assert!(message("Nodes 16\n0->9 start size 5\n").contains("start is \"size\""));
        assert!(
            message("0->9 start 6 trigger 1 size 5\n").ends_with("a start and a trigger: write one of them")
        );
        assert!(message("Nodes 16\nfailure switch_type TOR\n").contains("faults"));
        assert!(message("0->9 id 1 start 6 size 5\n1->9 id 1 start 6 size 5\n").contains("line 1 already"));
    }
}
