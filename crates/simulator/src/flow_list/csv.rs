//! Comma-separated values whose first line names the columns.

use std::collections::HashMap;

use trialwise_units::{Bytes, Time};

use super::{FlowListError, LARGEST, MAX_START, check_new, class, node, port, quoted, whole};
use crate::flow::FlowSpecification;
use crate::index::NodeId;
use crate::metrics::FlowRecord;

/// Takes the text of a cell over into a flow.
type Take = fn(&mut FlowSpecification, &'static str, &str) -> Result<(), String>;

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
const COLUMNS: [Column; 11] = [
    Column {
        name: "flow_id",
        use_of: Use::Needed(|flow, name, text| put(&mut flow.id, whole(name, text, LARGEST))),
    },
    Column {
        name: "src",
        use_of: Use::Needed(|flow, name, text| {
            put(&mut flow.source, whole(name, text, LARGEST).and_then(node))
        }),
    },
    Column {
        name: "dst",
        use_of: Use::Needed(|flow, name, text| {
            put(&mut flow.destination, whole(name, text, LARGEST).and_then(node))
        }),
    },
    Column {
        name: "size_bytes",
        use_of: Use::Needed(|flow, name, text| {
            put(&mut flow.size, whole(name, text, LARGEST).map(Bytes::new))
        }),
    },
    Column { name: START, use_of: Use::Needed(start) },
    Column { name: "class", use_of: Use::Optional(class_if_any) },
    Column {
        name: "dst_port",
        use_of: Use::Optional(|flow, name, text| put(&mut flow.destination_port, port(name, text))),
    },
    Column { name: RECORDED_START, use_of: Use::Result },
    Column { name: "start_ns_requested", use_of: Use::Result },
    Column { name: "fct_ns", use_of: Use::Result },
    Column { name: "standalone_fct_ns", use_of: Use::Result },
];

const START: &str = "start_ns";
/// Starts under another name: recordings of the HPCC simulator tell them from the starts that were asked for.
const RECORDED_START: &str = "start_ns_actual";
/// Columns that every written list has, and those that it has where a flow names a class or a port.
const WRITTEN: usize = 5;
const WRITTEN_WITH_CLASSES: usize = 7;

fn put<T>(place: &mut T, found: Result<T, String>) -> Result<(), String> {
    *place = found?;
    Ok(())
}

fn start(flow: &mut FlowSpecification, name: &'static str, text: &str) -> Result<(), String> {
    put(&mut flow.start, whole(name, text, MAX_START).map(Time::from_nanoseconds))
}

/// The class; none where the cell is empty.
fn class_if_any(flow: &mut FlowSpecification, name: &'static str, text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { put(&mut flow.class, class(name, text)) }
}

/// Reads comma-separated values whose first line names the columns `flow_id, src, dst, size_bytes, start_ns`
/// (or `start_ns_actual`) in any order, and may name `class` and `dst_port`. Columns of results are passed over, any other is
/// refused.
pub fn read_csv(text: &str) -> Result<Vec<FlowSpecification>, FlowListError> {
    let mut lines = text.lines();
    let columns = cells_of(lines.next().unwrap_or(""))?;
    let numbered = lines.enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut known = HashMap::new();
    numbered
        .map(|(number, line)| {
            let flow =
                read_line(line, &columns).map_err(|problem| FlowListError::line(number + 2, problem))?;
            check_new(flow.id, number + 2, &mut known)?;
            Ok(flow)
        })
        .collect()
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

fn read_line(line: &str, columns: &[Cells]) -> Result<FlowSpecification, String> {
    let mut flow = FlowSpecification::new(0, NodeId::new(0), NodeId::new(0), Bytes::ZERO, Time::ZERO);
    let mut cells = line.split(',').map(str::trim);
    for column in columns {
        match (column, cells.next()) {
            (Cells::Taken(name, take), Some(text)) => take(&mut flow, name, text)?,
            (Cells::Taken(name, _), None) => return Err(format!("{name} is missing")),
            (Cells::Empty, Some(text)) if !text.is_empty() => return Err(nameless(text)),
            (Cells::Empty | Cells::PassedOver, _) => {}
        }
    }
    match cells.find(|cell| !cell.is_empty()) {
        Some(cell) => Err(nameless(cell)),
        None => Ok(flow),
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

    fn message(text: &str) -> String {
        read_csv(text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let usual = vec![flow(0, 5), flow(1, 1_000_000)];
        assert_eq!(write_csv(&usual).lines().next(), Some(HEADER));
        assert_eq!(read_csv(&write_csv(&usual)), Ok(usual.clone()));
        let other = FlowSpecification { class: Some(5), destination_port: 101, ..usual[1] };
        let mixed = vec![usual[0], other];
        assert_eq!(read_csv(&write_csv(&mixed)), Ok(mixed));
    }

    #[test]
    fn every_column_decides_something_or_is_refused() {
        let line =
            |header: &str, cells: &str| read_csv(&format!("{HEADER},{header}\n0,0,10,1000,5,{cells}\n"));
        for column in COLUMNS.iter().skip(WRITTEN) {
            let [first, second] = ["4", "5"].map(|cell| line(column.name, cell).unwrap());
            assert_eq!(first == second, matches!(column.use_of, Use::Result), "{}", column.name);
        }
        let refused = message(&format!("{HEADER},tos\n0,0,10,1000,5,4\n"));
        assert!(refused.starts_with("the column \"tos\" of the list is not used"), "{refused}");
        assert!(refused.ends_with("start_ns, class, dst_port"), "{refused}");
        assert_eq!(line("", ""), Ok(vec![flow(0, 5)]));
        assert!(line("", "7").is_err());
        assert!(message(&format!("{HEADER}\n0,0,10,1000,5,7\n")).contains("does not name"));
        assert!(message(&format!("{HEADER},src\n0,0,10,1000,5,0\n")).contains("\"src\" stands twice"));
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
