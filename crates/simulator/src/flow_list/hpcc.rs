//! The format of the HPCC simulator, and of those made from it.

use std::fmt::Write as _;

use trialwise_units::{Bytes, Time};

use super::{FlowList, FlowListError, LARGEST, class, miscounted, node, port, quoted, whole};
use crate::flow::FlowSpecification;
use crate::timing::floor_to_nanoseconds;

/// Seconds at which the traffic of the HPCC simulator begins; its list files count from there.
const HPCC_ORIGIN: u64 = 2;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// The class that is written for flows that name none.
const USUAL_CLASS: u8 = 3;

/// The fields of a line. ConWeave's simulator has no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    WithPort,
    WithoutPort,
}

/// Reads a count, then `<src> <dst> <class> <port> <bytes> <start in seconds>` (or no port) for each flow.
///
/// Starts go through binary fractions as in the HPCC simulator (some are a nanosecond early). They count from 2 s as there,
/// or from 0 where the first flow starts before. As there, flows beyond the count are not taken; what stands below may
/// also be notes.
pub fn read_hpcc(text: &str) -> Result<FlowList, FlowListError> {
    let mut lines = text.lines().enumerate().map(|(line, text)| (line + 1, text.trim()));
    let count = lines.next().and_then(|(_, text)| text.parse::<usize>().ok());
    let count = count.ok_or_else(|| FlowListError::line(1, "here stands the number of flows"))?;
    let lines: Vec<_> = lines.filter(|(_, text)| !text.is_empty()).collect();
    let (announced, beyond) = lines.split_at(count.min(lines.len()));
    let layout = lines.first().map_or(Layout::WithPort, |(_, text)| layout(text));
    let read = |&(line, text): &(usize, &str)| {
        read_line(text, layout).map_err(|problem| FlowListError::line(line, problem))
    };
    let read_flows: Vec<_> = announced.iter().map(read).collect::<Result<_, _>>()?;
    let there = read_flows.len() + beyond.iter().filter(|line| read(line).is_ok()).count();
    let origin = read_flows.first().map_or(0, |(_, start)| *start);
    let origin = if origin < HPCC_ORIGIN * NANOSECONDS_PER_SECOND { 0 } else { HPCC_ORIGIN };
    let mut flows = Vec::with_capacity(read_flows.len());
    for (id, (flow, start)) in read_flows.into_iter().enumerate() {
        let since = start.checked_sub(origin * NANOSECONDS_PER_SECOND).ok_or_else(|| {
            let problem = "it starts before 2 s and the first flow does not: give all starts one origin";
            FlowListError::line(announced[id].0, problem)
        })?;
        flows.push(FlowSpecification { id: id as u64, start: Time::from_nanoseconds(since), ..flow });
    }
    Ok(FlowList { flows, cautions: miscounted(count, there).into_iter().collect(), ..FlowList::default() })
}

fn layout(line: &str) -> Layout {
    if line.split_whitespace().count() == 5 { Layout::WithoutPort } else { Layout::WithPort }
}

/// A flow without its start, and its start in nanoseconds from whatever origin.
fn read_line(text: &str, layout: Layout) -> Result<(FlowSpecification, u64), String> {
    let fields: Vec<_> = text.split_whitespace().collect();
    let (source, destination, of_class, of_port, bytes, start) = match (&fields[..], layout) {
        ([source, destination, class, port, bytes, start], Layout::WithPort) => {
            (source, destination, class, Some(*port), bytes, start)
        }
        ([source, destination, class, bytes, start], Layout::WithoutPort) => {
            (source, destination, class, None, bytes, start)
        }
        _ => {
            return Err(
                "a flow is: source, destination, class, port, bytes, start in seconds; all lines have a port, or none"
                    .to_owned(),
            );
        }
    };
    if has_stop(&fields) {
        return Err(
            "these are packets, a start and a stop, as ns3-rdma has them, and a stop is not simulated: write source, \
             destination, class, port, bytes, start in seconds"
                .to_owned(),
        );
    }
    let seconds = start.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| format!("the start is {}: write seconds, below 1e6", quoted(start)))?;
    let flow = FlowSpecification {
        class: class("the class", of_class)?,
        destination_port: of_port.map_or(Ok(FlowSpecification::USUAL_PORT), |text| port("the port", text))?,
        ..FlowSpecification::new(
            0,
            node(whole("the source", source, LARGEST)?)?,
            node(whole("the destination", destination, LARGEST)?)?,
            Bytes::new(whole("the size", bytes, LARGEST)?),
            Time::ZERO,
        )
    };
    Ok((flow, floor_to_nanoseconds(seconds)))
}

/// Whether the last two of six fields are times: the fifth is a fraction, or the fourth is no port.
fn has_stop(fields: &[&str]) -> bool {
    let [_, _, _, packets, start, stop] = fields else { return false };
    let is_time = |text: &str| text.parse::<f64>().is_ok();
    let no_port = packets.parse::<u64>().is_ok_and(|number| number > u64::from(u16::MAX));
    is_time(start) && is_time(stop) && (start.contains('.') || no_port)
}

/// Writes that format; flows that name no class are in class 3.
pub fn write_hpcc(flows: &[FlowSpecification]) -> String {
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let start = flow.start.nanoseconds() + HPCC_ORIGIN * NANOSECONDS_PER_SECOND;
        let (seconds, rest) = (start / NANOSECONDS_PER_SECOND, start % NANOSECONDS_PER_SECOND);
        let (source, destination) = (flow.source.get(), flow.destination.get());
        let (class, port) = (flow.class.unwrap_or(USUAL_CLASS), flow.destination_port);
        let bytes = flow.size.get();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{source} {destination} {class} {port} {bytes} {seconds}.{rest:09}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{classed, flow};
    use super::*;

    fn read(text: &str) -> Vec<FlowSpecification> {
        let list = read_hpcc(text).unwrap();
        assert_eq!(list.cautions, Vec::<String>::new());
        list.flows
    }

    fn message(text: &str) -> String {
        read_hpcc(text).unwrap_err().to_string()
    }

    #[test]
    fn a_start_in_seconds_may_come_a_nanosecond_early() {
        let flows = read(&write_hpcc(&[flow(0, 39_213), flow(1, 76_748)]));
        assert_eq!(flows, [classed(0, 39_212), classed(1, 76_748)]);
    }

    #[test]
    fn class_and_port_are_kept() {
        let other = FlowSpecification { class: Some(5), destination_port: 4791, ..flow(0, 76_748) };
        assert_eq!(read(&write_hpcc(&[other])), [other]);
        assert_eq!(read("1\n0 10 5 1000 2.000076748\n")[0].class, Some(5));
        assert_eq!(read("1\n0 10 5 1000 2.000076748\n")[0].destination_port, 100);
    }

    #[test]
    fn starts_before_two_seconds_count_from_zero() {
        let starts = |text: &str| read(text).iter().map(|flow| flow.start.nanoseconds()).collect::<Vec<_>>();
        assert_eq!(starts("2\n0 1 3 100 5 0\n0 1 3 100 5 2\n"), [0, 2_000_000_000]);
        assert_eq!(starts("2\n0 1 3 100 5 2\n0 1 3 100 5 3\n"), [0, 1_000_000_000]);
        assert!(message("2\n0 1 3 100 5 2.5\n0 1 3 100 5 0.5\n").starts_with("line 3: it starts before 2 s"));
    }

    #[test]
    fn the_count_decides_and_another_number_of_flows_is_told() {
        let list = |text: &str| {
            let FlowList { flows, cautions, .. } = read_hpcc(text).unwrap();
            (flows.len(), cautions.join("; "))
        };
        let lines = "0 1 3 100 5 2.0\n0 1 3 100 5 2.1\n0 1 3 100 5 2.2\n";
        let more = "the flow list announces 2 flows and has 3: the first of them are taken";
        assert_eq!(list(&format!("2\n{lines}")), (2, more.to_owned()));
        // An estimate that a shorter number was written over: 30 over 998 leaves 308.
        let fewer = "the flow list announces 308 flows and has 3: all of them are taken";
        assert_eq!(list(&format!("308\n{lines}")), (3, fewer.to_owned()));
        let notes = "\nFirst line: # of flows\nsrc0 dst0 3 port0\n...\n";
        assert_eq!(list(&format!("3\n{lines}{notes}")), (3, String::new()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message("x\n").starts_with("line 1: here stands the number of flows"));
        assert!(message("2\n0 1 3 100 5 2.0\n0 1 3 5 2.0\n").starts_with("line 3: a flow is: source"));
        assert!(message("1\n2 1 3 10000000 2.0 9.5\n").starts_with("line 2: these are packets"));
        assert!(message("1\n2 1 3 70000 2 9\n").starts_with("line 2: these are packets"));
        assert!(message("1\n0 1 0 100 5 2.0\n").ends_with("classes of data are 1 to 7"));
        assert!(message("1\n0 1 3 100 5 -2.0\n").contains("the start is \"-2.0\""));
    }
}
