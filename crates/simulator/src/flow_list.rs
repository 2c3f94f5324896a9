//! Flow lists, read and written: comma-separated values, and the format of the HPCC simulator.

use std::collections::HashMap;
use std::fmt::Write as _;

use trialwise_units::{Bytes, Time};

use crate::flow::FlowSpecification;
use crate::index::NodeId;
use crate::metrics::FlowRecord;
use crate::timing::floor_to_nanoseconds;

/// Seconds at which the traffic of the HPCC simulator begins; its list files count from there.
const HPCC_ORIGIN: u64 = 2;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
const COLUMNS: [&str; 5] = ["flow_id", "src", "dst", "size_bytes", "start_ns"];
/// The largest number that tables of 64 bits with a sign hold, and the start of as many picoseconds (106 days).
const LARGEST: u64 = i64::MAX as u64;
const LARGEST_START: u64 = LARGEST / 1000;

/// The place of the start among the columns.
const START: usize = 4;

/// A flow list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowListError {
    /// The header lacks a column.
    #[error(
        "the list has no column {0}: its first line names flow_id,src,dst,size_bytes,start_ns, in any order, with commas between"
    )]
    Column(&'static str),
    /// A line is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// Starts under another name: recordings of the HPCC simulator tell them from the starts that were asked for.
const RECORDED_START: &str = "start_ns_actual";

/// Reads comma-separated values whose first line names the columns `flow_id, src, dst, size_bytes, start_ns`
/// (or `start_ns_actual`) in any order; others are passed over.
pub fn read_csv(text: &str) -> Result<Vec<FlowSpecification>, FlowListError> {
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap_or("").split(',').map(str::trim).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let named = |wanted: &str| header.iter().position(|name| *name == wanted);
        let recorded = || (column == "start_ns").then(|| named(RECORDED_START)).flatten();
        *place = named(column).or_else(recorded).ok_or(FlowListError::Column(column))?;
    }
    let numbered = lines.enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut known = HashMap::new();
    numbered
        .map(|(number, line)| {
            let flow = read_csv_line(number + 2, line, &places)?;
            check_new(flow.id, number + 2, &mut known)?;
            Ok(flow)
        })
        .collect()
}

/// Refuses a flow_id that stands on an earlier line.
fn check_new(id: u64, line: usize, known: &mut HashMap<u64, usize>) -> Result<(), FlowListError> {
    match known.insert(id, line) {
        Some(first) => {
            let problem = format!("flow_id {id} is on line {first} already: give each flow its own");
            Err(FlowListError::Line { line, problem })
        }
        None => Ok(()),
    }
}

fn read_csv_line(number: usize, line: &str, places: &[usize; 5]) -> Result<FlowSpecification, FlowListError> {
    let fields: Vec<_> = line.split(',').map(str::trim).collect();
    let field = |column: usize| {
        let wrong = |problem| FlowListError::Line { line: number, problem };
        let name = COLUMNS[column];
        let text = fields.get(places[column]).ok_or_else(|| wrong(format!("{name} is missing")))?;
        let limit = if column == START { LARGEST_START } else { LARGEST };
        let number = text.parse::<u64>().ok().filter(|number| *number <= limit);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let most = if is_number { format!(", {limit} at most") } else { String::new() };
        number.ok_or_else(|| wrong(format!("{name} is {text:?}: write a whole number{most}")))
    };
    Ok(FlowSpecification {
        id: field(0)?,
        source: node(number, field(1)?)?,
        destination: node(number, field(2)?)?,
        size: Bytes::new(field(3)?),
        start: Time::from_nanoseconds(field(4)?),
    })
}

fn node(line: usize, number: u64) -> Result<NodeId, FlowListError> {
    let problem = || format!("{number} is no number of a node");
    let number = u32::try_from(number).ok().filter(|number| *number < u32::MAX);
    number.map(NodeId::new).ok_or_else(|| FlowListError::Line { line, problem: problem() })
}

/// The same columns of what was asked for.
pub fn write_csv(flows: &[FlowSpecification]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    flows.iter().for_each(|flow| text += &format!("{}\n", csv_fields(flow)));
    text
}

/// The same columns and `fct_ns`, empty where a flow did not finish. Times are rounded down to nanoseconds.
pub fn write_results_csv(records: &[FlowRecord]) -> String {
    let mut text = COLUMNS.join(",") + ",fct_ns\n";
    for record in records {
        let time = record.completion_time().map(|time| time.nanoseconds().to_string());
        text += &format!("{},{}\n", csv_fields(&record.specification), time.unwrap_or_default());
    }
    text
}

fn csv_fields(flow: &FlowSpecification) -> String {
    let FlowSpecification { id, source, destination, size, start } = flow;
    format!("{id},{},{},{},{}", source.get(), destination.get(), size.get(), start.nanoseconds())
}

/// Reads the HPCC simulator's format: a count, then `<src> <dst> <class> <port> <bytes> <start in seconds>`.
/// Starts go through binary fractions as there (some are a nanosecond early) and count from its origin at 2
/// s. What stands below the flows is passed over where it is none, such as the notes in the files of that simulator.
pub fn read_hpcc(text: &str) -> Result<Vec<FlowSpecification>, FlowListError> {
    let mut lines = text.lines().enumerate().map(|(line, text)| (line + 1, text.trim()));
    let wrong = |line, problem: &str| FlowListError::Line { line, problem: problem.to_owned() };
    let count = lines.next().and_then(|(_, text)| text.parse::<usize>().ok());
    let count = count.ok_or_else(|| wrong(1, "here stands the number of flows"))?;
    let mut lines = lines.filter(|(_, text)| !text.is_empty()).enumerate();
    let mut read = |(id, (line, text))| read_hpcc_line(id as u64, line, text);
    let flows: Vec<_> = lines.by_ref().take(count).map(&mut read).collect::<Result<_, _>>()?;
    let there = flows.len() + lines.map(read).filter(Result::is_ok).count();
    if there != count {
        return Err(wrong(1, &format!("{count} flows are announced and {there} there")));
    }
    Ok(flows)
}

fn read_hpcc_line(id: u64, line: usize, text: &str) -> Result<FlowSpecification, FlowListError> {
    let wrong = || FlowListError::Line {
        line,
        problem: "a flow is: source, destination, class, port, bytes, start in seconds (2 or more)"
            .to_owned(),
    };
    let fields: Vec<_> = text.split_whitespace().collect();
    let [source, destination, _, _, bytes, start] = &fields[..] else { return Err(wrong()) };
    let whole = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let seconds =
        start.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds)).ok_or_else(wrong)?;
    let since_origin = floor_to_nanoseconds(seconds).checked_sub(HPCC_ORIGIN * NANOSECONDS_PER_SECOND);
    Ok(FlowSpecification {
        id,
        source: node(line, whole(source)?)?,
        destination: node(line, whole(destination)?)?,
        size: Bytes::new(whole(bytes)?),
        start: Time::from_nanoseconds(since_origin.ok_or_else(wrong)?),
    })
}

/// Reads a list in either format: the HPCC simulator's begins with a number alone.
pub fn read_flows(text: &str) -> Result<Vec<FlowSpecification>, FlowListError> {
    let first = text.lines().next().unwrap_or("").trim();
    if first.parse::<u64>().is_ok() { read_hpcc(text) } else { read_csv(text) }
}

/// Writes that format, every flow in class 3 and to port 100.
pub fn write_hpcc(flows: &[FlowSpecification]) -> String {
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let start = flow.start.nanoseconds() + HPCC_ORIGIN * NANOSECONDS_PER_SECOND;
        let (seconds, rest) = (start / NANOSECONDS_PER_SECOND, start % NANOSECONDS_PER_SECOND);
        let (source, destination) = (flow.source.get(), flow.destination.get());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{source} {destination} 3 100 {} {seconds}.{rest:09}", flow.size.get());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(id: u64, start: u64) -> FlowSpecification {
        let (source, destination) = (NodeId::new(0), NodeId::new(10));
        FlowSpecification {
            id,
            source,
            destination,
            size: Bytes::new(1000),
            start: Time::from_nanoseconds(start),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let flows = vec![flow(0, 5), flow(1, 1_000_000)];
        assert_eq!(read_csv(&write_csv(&flows)), Ok(flows));
    }

    #[test]
    fn either_format_is_told_by_its_first_line() {
        let flows = vec![flow(0, 76_748)];
        assert_eq!(read_flows(&write_hpcc(&flows)), Ok(flows.clone()));
        let recorded = write_csv(&flows).replace("start_ns", "start_ns_actual");
        assert_eq!(read_flows(&recorded), Ok(flows));
    }

    #[test]
    fn a_start_in_seconds_may_come_a_nanosecond_early() {
        let flows = read_hpcc(&write_hpcc(&[flow(0, 39_213), flow(1, 76_748)])).unwrap();
        assert_eq!(flows, [flow(0, 39_212), flow(1, 76_748)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| read_csv(text).unwrap_err().to_string();
        assert!(message("flow_id,src,dst,start_ns\n").contains("size_bytes"));
        let line = |fields: &str| message(&format!("flow_id,src,dst,size_bytes,start_ns\n{fields}\n"));
        assert!(line("0,1,2,1MB,3").ends_with("line 2: size_bytes is \"1MB\": write a whole number"));
        for beyond in
            ["9223372036854775808,1,2,5,3", "0,1,2,9223372036854775808,3", "0,1,2,5,9223372036854776"]
        {
            assert!(line(beyond).ends_with(" at most"), "{beyond}");
        }
        assert!(
            read_csv(&format!("{}\n9223372036854775807,1,2,5,9223372036854775\n", COLUMNS.join(","))).is_ok()
        );
        assert_eq!(line("0,1,2"), "line 2: size_bytes is missing");
        let twice = message("flow_id,src,dst,size_bytes,start_ns\n7,1,2,5,3\n8,1,2,5,3\n\n7,1,2,5,4\n");
        assert!(twice.starts_with("line 5: flow_id 7 is on line 2"), "{twice}");
        assert!(read_hpcc("2\n0 1 3 100 5 2.0\n").unwrap_err().to_string().contains("announced"));
        assert!(read_hpcc("1\n0 1 3 100 5 1.0\n").is_err());
        let more = read_hpcc("1\n0 1 3 100 5 2.0\n0 1 3 100 5 2.1\n").unwrap_err().to_string();
        assert_eq!(more, "line 1: 1 flows are announced and 2 there");
    }

    #[test]
    fn notes_below_the_flows_are_passed_over() {
        let flows = vec![flow(0, 76_748)];
        assert_eq!(
            read_hpcc(&(write_hpcc(&flows) + "\nFirst line: # of flows\nsrc0 dst0 3 port0\n...\n")),
            Ok(flows)
        );
    }
}
