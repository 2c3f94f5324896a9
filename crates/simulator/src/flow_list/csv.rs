//! Comma-separated values whose first line names the columns.

use std::collections::HashMap;

use trialwise_units::{Bytes, Duration, Time};

use super::{FlowList, FlowListError, LARGEST, MAX_START, check_new, class, node, port, quoted, whole};
use crate::flow::FlowSpecification;
use crate::graph::{Awaited, FlowGraph, Moment, Step};
use crate::index::NodeId;
use crate::metrics::FlowRecord;

/// A line: the flow, and what it waits for.
pub(super) struct Row {
    flow: FlowSpecification,
    /// Whether its start is given.
    starts: bool,
    /// The flows before it, by their flow_id, and which moment of theirs it waits for.
    after: Vec<u64>,
    moment: Moment,
    delay: Duration,
    job: Option<u64>,
}

/// Takes the text of a cell over into a line.
type Take = fn(&mut Row, &'static str, &str) -> Result<(), String>;

/// A column that flow lists may have.
struct Column {
    name: &'static str,
    use_of: Use,
}

/// What a column is for.
enum Use {
    /// Every list has it.
    Needed(Take),
    /// Lists may leave it out.
    Optional(Take),
    /// What came of a flow in a trial before: nothing that a flow is asked for by.
    Result,
}

/// What the cells of a column of a list are read for.
enum Cells {
    Taken(&'static str, Take),
    PassedOver,
    /// Below no name, as behind a comma at the end of a line.
    Empty,
}

/// All columns. Those that are written stand in this order.
const COLUMNS: [Column; 15] = [
    Column {
        name: "flow_id",
        use_of: Use::Needed(|row, name, text| put(&mut row.flow.id, whole(name, text, LARGEST))),
    },
    Column {
        name: "src",
        use_of: Use::Needed(|row, name, text| {
            put(&mut row.flow.source, whole(name, text, LARGEST).and_then(node))
        }),
    },
    Column {
        name: "dst",
        use_of: Use::Needed(|row, name, text| {
            put(&mut row.flow.destination, whole(name, text, LARGEST).and_then(node))
        }),
    },
    Column {
        name: "size_bytes",
        use_of: Use::Needed(|row, name, text| {
            put(&mut row.flow.size, whole(name, text, LARGEST).map(Bytes::new))
        }),
    },
    Column { name: START, use_of: Use::Needed(start) },
    Column { name: "class", use_of: Use::Optional(class_if_any) },
    Column {
        name: "dst_port",
        use_of: Use::Optional(|row, name, text| put(&mut row.flow.destination_port, port(name, text))),
    },
    Column { name: AFTER, use_of: Use::Optional(after) },
    Column { name: ON, use_of: Use::Optional(moment) },
    Column {
        name: "delay_ns",
        use_of: Use::Optional(|row, name, text| {
            put(
                &mut row.delay,
                unless_empty(text, 0, |text| whole(name, text, MAX_START)).map(Duration::from_nanoseconds),
            )
        }),
    },
    Column {
        name: JOB,
        use_of: Use::Optional(|row, name, text| {
            put(&mut row.job, unless_empty(text, None, |text| whole(name, text, LARGEST).map(Some)))
        }),
    },
    Column { name: RECORDED_START, use_of: Use::Result },
    Column { name: "start_ns_requested", use_of: Use::Result },
    Column { name: "fct_ns", use_of: Use::Result },
    Column { name: "standalone_fct_ns", use_of: Use::Result },
];

const START: &str = "start_ns";
const AFTER: &str = "after";
const ON: &str = "on";
const JOB: &str = "job";
/// Columns by which flows wait or make a job.
const OF_GRAPHS: [&str; 4] = [AFTER, ON, "delay_ns", JOB];
/// Starts under another name: recordings of the HPCC simulator tell them from the starts that were asked for.
const RECORDED_START: &str = "start_ns_actual";
/// Columns that every written list has, and those that it has where a flow names a class or a port.
const WRITTEN: usize = 5;
const WRITTEN_WITH_CLASSES: usize = 7;

fn put<T>(place: &mut T, found: Result<T, String>) -> Result<(), String> {
    *place = found?;
    Ok(())
}

/// The start; none where the cell is empty, which a flow that waits may have.
fn start(row: &mut Row, name: &'static str, text: &str) -> Result<(), String> {
    row.starts = !text.is_empty();
    put(
        &mut row.flow.start,
        unless_empty(text, 0, |text| whole(name, text, MAX_START)).map(Time::from_nanoseconds),
    )
}

/// The class; none where the cell is empty.
fn class_if_any(row: &mut Row, name: &'static str, text: &str) -> Result<(), String> {
    put(&mut row.flow.class, unless_empty(text, None, |text| class(name, text)))
}

/// Numbers of flows with semicolons or blanks between.
fn after(row: &mut Row, name: &'static str, text: &str) -> Result<(), String> {
    let words = text.split([';', ' ']).filter(|word| !word.is_empty());
    put(&mut row.after, words.map(|word| whole(name, word, LARGEST)).collect())
}

fn moment(row: &mut Row, name: &'static str, text: &str) -> Result<(), String> {
    row.moment = match text {
        "" | "received" => Moment::Received,
        "acknowledged" => Moment::Acknowledged,
        _ => return Err(format!("{name} is {}: write received or acknowledged", quoted(text))),
    };
    Ok(())
}

fn unless_empty<T>(text: &str, empty: T, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, String> {
    if text.is_empty() { Ok(empty) } else { read(text) }
}

/// Reads comma-separated values whose first line names the columns `flow_id, src, dst, size_bytes, start_ns`
/// (or `start_ns_actual`) in any order, and may name `class` and `dst_port`, and `after`, `on`, `delay_ns` and `job` of flows
/// that wait for others. Columns of results are passed over, any other is refused.
pub fn read_csv(text: &str) -> Result<FlowList, FlowListError> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or("");
    let columns = cells_of(header)?;
    let numbered = lines.enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut known = HashMap::new();
    let mut rows = Vec::new();
    for (number, line) in numbered {
        let line_number = number + 2;
        let row = read_line(line, &columns).map_err(|problem| FlowListError::line(line_number, problem))?;
        check_new(row.flow.id, line_number, &mut known)?;
        rows.push((line_number, row));
    }
    if header.split(',').any(|name| OF_GRAPHS.contains(&name.trim())) {
        return graph_of(&rows);
    }
    Ok(FlowList { flows: rows.into_iter().map(|(_, row)| row.flow).collect(), ..FlowList::default() })
}

/// The rows as a graph. Without a column of jobs all of them are one; else rows that name none are of none.
fn graph_of(rows: &[(usize, Row)]) -> Result<FlowList, FlowListError> {
    let places: HashMap<_, _> = rows.iter().map(|(_, row)| row.flow.id).zip(0..).collect();
    let mut jobs: Vec<_> = rows.iter().filter_map(|(_, row)| row.job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let mut graph = FlowGraph::default();
    for (line, row) in rows {
        let awaited = row.after.iter().map(|id| match places.get(id) {
            Some(step) => Ok(Awaited { step: *step, moment: row.moment }),
            None => {
                let problem = format!("{AFTER} names flow {id}, which the list does not have");
                Err(FlowListError::line(*line, problem))
            }
        });
        let awaited = awaited.collect::<Result<Vec<_>, _>>()?;
        let own = row.job.and_then(|job| jobs.binary_search(&job).ok());
        let job = if jobs.is_empty() { Some(0) } else { own.map(|job| job as u32) };
        let step = Step { flow: Some(row.flow), earliest: row.flow.start, delay: row.delay, job };
        graph.add(step, &awaited);
    }
    FlowList::waiting(graph, Vec::new())
}

/// What the columns of the header are read for.
fn cells_of(header: &str) -> Result<Vec<Cells>, FlowListError> {
    let names: Vec<_> = header.split(',').map(str::trim).collect();
    let stand_in = !names.contains(&START) && names.contains(&RECORDED_START);
    let is_there = |name| names.contains(&name) || (stand_in && name == START);
    let needed = COLUMNS.iter().filter(|column| matches!(column.use_of, Use::Needed(_)));
    if let Some(missing) = needed.map(|column| column.name).find(|name| !is_there(*name)) {
        return Err(FlowListError::Column(missing));
    }
    if names.contains(&ON) && !names.contains(&AFTER) {
        return Err(FlowListError::line(
            1,
            format!("{ON} says for what of the flows in {AFTER} one waits: add that column"),
        ));
    }
    let cells = names.iter().enumerate().map(|(place, name)| {
        if name.is_empty() {
            return Ok(Cells::Empty);
        }
        if names[..place].contains(name) {
            return Err(FlowListError::line(1, format!("the column {} stands twice", quoted(name))));
        }
        if stand_in && *name == RECORDED_START {
            return Ok(Cells::Taken(RECORDED_START, start));
        }
        match COLUMNS.iter().find(|column| column.name == *name) {
            Some(Column { name, use_of: Use::Needed(take) | Use::Optional(take) }) => {
                Ok(Cells::Taken(name, *take))
            }
            Some(Column { use_of: Use::Result, .. }) => Ok(Cells::PassedOver),
            None => Err(FlowListError::Unused { name: quoted(name), known: names_used() }),
        }
    });
    cells.collect()
}

fn names_used() -> String {
    let used = COLUMNS.iter().filter(|column| !matches!(column.use_of, Use::Result));
    used.map(|column| column.name).collect::<Vec<_>>().join(", ")
}

fn read_line(line: &str, columns: &[Cells]) -> Result<Row, String> {
    let flow = FlowSpecification::new(0, NodeId::new(0), NodeId::new(0), Bytes::ZERO, Time::ZERO);
    let (after, moment, delay) = (Vec::new(), Moment::Received, Duration::ZERO);
    let mut row = Row { flow, starts: false, after, moment, delay, job: None };
    let mut cells = line.split(',').map(str::trim);
    for column in columns {
        match (column, cells.next()) {
            (Cells::Taken(name, take), Some(text)) => take(&mut row, name, text)?,
            (Cells::Taken(name, _), None) => return Err(format!("{name} is missing")),
            (Cells::Empty, Some(text)) if !text.is_empty() => return Err(nameless(text)),
            (Cells::Empty | Cells::PassedOver, _) => {}
        }
    }
    match cells.find(|cell| !cell.is_empty()) {
        Some(cell) => Err(nameless(cell)),
        None if !row.starts && row.after.is_empty() => {
            Err(format!("{START} is empty: write a whole number, or what the flow comes {AFTER}"))
        }
        None => Ok(row),
    }
}

fn nameless(cell: &str) -> String {
    format!("{} stands in a column that the first line does not name", quoted(cell))
}

/// The same columns of what was asked for: class and port where a flow has others than the usual ones.
pub fn write_csv(flows: &[FlowSpecification]) -> String {
    let columns = columns_written(flows.iter());
    let mut text = header(columns) + "\n";
    flows.iter().for_each(|flow| text += &format!("{}\n", fields(flow, columns)));
    text
}

/// The same columns and `fct_ns`, empty where a flow did not finish. Times are rounded down to nanoseconds.
pub fn write_results_csv(records: &[FlowRecord]) -> String {
    let columns = columns_written(records.iter().map(|record| &record.specification));
    let mut text = header(columns) + ",fct_ns\n";
    for record in records {
        let time = record.completion_time().map(|time| time.nanoseconds().to_string());
        text += &format!("{},{}\n", fields(&record.specification, columns), time.unwrap_or_default());
    }
    text
}

fn columns_written<'a>(mut flows: impl Iterator<Item = &'a FlowSpecification>) -> usize {
    let usual = |flow: &FlowSpecification| {
        flow.class.is_none() && flow.destination_port == FlowSpecification::USUAL_PORT
    };
    if flows.all(usual) { WRITTEN } else { WRITTEN_WITH_CLASSES }
}

fn header(columns: usize) -> String {
    COLUMNS[..columns].iter().map(|column| column.name).collect::<Vec<_>>().join(",")
}

fn fields(flow: &FlowSpecification, columns: usize) -> String {
    let FlowSpecification { id, source, destination, size, start, class, destination_port } = flow;
    let usual = format!("{id},{},{},{},{}", source.get(), destination.get(), size.get(), start.nanoseconds());
    if columns == WRITTEN {
        return usual;
    }
    let class = class.map(|class| class.to_string()).unwrap_or_default();
    format!("{usual},{class},{destination_port}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::flow;
    use super::*;

    const HEADER: &str = "flow_id,src,dst,size_bytes,start_ns";

    fn flows_of(text: &str) -> Vec<FlowSpecification> {
        read_csv(text).unwrap().flows
    }

    fn message(text: &str) -> String {
        read_csv(text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let usual = vec![flow(0, 5), flow(1, 1_000_000)];
        assert_eq!(write_csv(&usual).lines().next(), Some(HEADER));
        assert_eq!(flows_of(&write_csv(&usual)), usual);
        let other = FlowSpecification { class: Some(5), destination_port: 101, ..usual[1] };
        let mixed = vec![usual[0], other];
        assert_eq!(flows_of(&write_csv(&mixed)), mixed);
    }

    #[test]
    fn every_column_decides_something_or_is_refused() {
        let line =
            |header: &str, cells: &str| read_csv(&format!("{HEADER},{header}\n0,0,10,1000,5,{cells}\n"));
        for column in COLUMNS.iter().skip(WRITTEN) {
            let cells = match column.name {
                AFTER | ON | JOB => continue, // of flows that wait
                _ => ["4", "5"],
            };
            let [first, second] = cells.map(|cell| line(column.name, cell).unwrap());
            assert_eq!(first == second, matches!(column.use_of, Use::Result), "{}", column.name);
        }
        let refused = message(&format!("{HEADER},tos\n0,0,10,1000,5,4\n"));
        assert!(refused.starts_with("the column \"tos\" of the list is not used"), "{refused}");
        assert!(refused.ends_with("start_ns, class, dst_port, after, on, delay_ns, job"), "{refused}");
        assert_eq!(line("", "").unwrap().flows, [flow(0, 5)]);
        assert!(line("", "7").is_err());
        assert!(message(&format!("{HEADER}\n0,0,10,1000,5,7\n")).contains("does not name"));
        assert!(message(&format!("{HEADER},src\n0,0,10,1000,5,0\n")).contains("\"src\" stands twice"));
    }

    #[test]
    fn flows_that_wait_are_a_graph() {
        let text = format!(
            "{HEADER},after,on,delay_ns,job\n7,0,10,1000,0,,,,1\n8,0,10,1000,,7,,50,1\n9,0,10,1000,40,7;8,acknowledged,,\n"
        );
        let list = read_csv(&text).unwrap();
        let graph = list.graph.unwrap();
        assert_eq!(graph.awaited_by(1), [Awaited::received(0)]);
        assert_eq!(
            graph.awaited_by(2).iter().map(|awaited| awaited.moment).collect::<Vec<_>>(),
            [Moment::Acknowledged; 2]
        );
        assert_eq!(graph.steps().iter().map(|step| step.job).collect::<Vec<_>>(), [Some(0), Some(0), None]);
        assert_eq!(list.flows.iter().map(|flow| flow.start.nanoseconds()).collect::<Vec<_>>(), [0, 50, 50]);

        let wrong = |cells: &str| message(&format!("{HEADER},after,on\n7,0,10,1000,{cells}\n"));
        assert!(wrong(",,").contains("start_ns is empty"));
        assert!(wrong("0,3,").contains("line 2: after names flow 3, which the list does not have"));
        assert!(wrong("0,,later").contains("write received or acknowledged"));
        assert!(wrong(",7,").contains("7, then 7"), "{}", wrong(",7,"));
        // Without waits a start is needed as ever.
        assert!(message(&format!("{HEADER}\n7,0,10,1000,\n")).contains("start_ns is empty"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message("flow_id,src,dst,start_ns\n").contains("size_bytes"));
        let line = |fields: &str| message(&format!("flow_id,src,dst,size_bytes,start_ns\n{fields}\n"));
        assert!(line("0,1,2,1MB,3").ends_with("line 2: size_bytes is \"1MB\": write a whole number"));
        for beyond in
            ["9223372036854775808,1,2,5,3", "0,1,2,9223372036854775808,3", "0,1,2,5,9223372036854776"]
        {
            assert!(line(beyond).ends_with(" at most"), "{beyond}");
        }
        assert!(read_csv(&format!("{HEADER}\n9223372036854775807,1,2,5,9223372036854775\n")).is_ok());
        assert_eq!(line("0,1,2"), "line 2: size_bytes is missing");
        let twice = message("flow_id,src,dst,size_bytes,start_ns\n7,1,2,5,3\n8,1,2,5,3\n\n7,1,2,5,4\n");
        assert!(twice.starts_with("line 5: flow_id 7 is on line 2"), "{twice}");
        let classed = |cells: &str| message(&format!("{HEADER},class,dst_port\n0,1,2,5,3,{cells}\n"));
        assert!(classed("0,100").ends_with("class is \"0\": classes of data are 1 to 7"));
        assert!(classed("3,65536").ends_with("ports are 0 to 65535"));
    }
}
