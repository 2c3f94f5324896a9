//! Flow lists as columns, and as texts.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{FlowSpecification, NodeId, read_flows, write_csv, write_hpcc};
use trialwise_units::{Bytes, Time};

use super::graphs::PyFlowGraph;
use super::{refused, signed};

/// Columns, a graph where flows wait, cautions.
type ReadList<'py> = (Bound<'py, PyDict>, Option<PyFlowGraph>, Vec<String>);

const COLUMNS: [&str; 5] = ["flow_id", "src", "dst", "size_bytes", "start_ps"];
/// Columns that lists may lack; a class of 0 is that of the network.
const CLASS: &str = "class";
const PORT: &str = "dst_port";

/// The flows of a mapping of columns `flow_id`, `src`, `dst`, `size_bytes`, `start_ps`, and maybe `class` and `dst_port`.
pub(super) fn flows_of(columns: &Bound<'_, PyDict>) -> PyResult<Vec<FlowSpecification>> {
    let found = |name: &str| {
        let Some(found) = columns.get_item(name)? else { return Ok(None) };
        let array = found.extract::<PyReadonlyArray1<'_, i64>>();
        array.map(Some).map_err(|_| refused(format!("{name} of the flows is no array of int64")))
    };
    let column = |name| found(name)?.ok_or_else(|| refused(format!("the flows have no {name}")));
    let [ids, sources, destinations, sizes, starts] = COLUMNS.map(column);
    let (ids, sources, destinations, sizes, starts) = (ids?, sources?, destinations?, sizes?, starts?);
    let (classes, ports) = (found(CLASS)?, found(PORT)?);
    let ids = ids.as_slice()?;
    let needed = [sources.as_slice()?, destinations.as_slice()?, sizes.as_slice()?, starts.as_slice()?];
    let classes = classes.as_ref().map(|column| column.as_slice()).transpose()?;
    let ports = ports.as_ref().map(|column| column.as_slice()).transpose()?;
    if needed.into_iter().chain(classes).chain(ports).any(|column| column.len() != ids.len()) {
        return Err(refused("the columns of the flows differ in length"));
    }
    let flow = |place: usize| {
        let [source, destination, size, start] = needed.map(|column| column[place]);
        let class = classes.map_or(Some(0), |column| u8::try_from(column[place]).ok())?;
        Some(FlowSpecification {
            id: u64::try_from(ids[place]).ok()?,
            source: NodeId::new(u32::try_from(source).ok()?),
            destination: NodeId::new(u32::try_from(destination).ok()?),
            size: Bytes::new(u64::try_from(size).ok()?),
            start: Time::from_picoseconds(u64::try_from(start).ok()?),
            class: (class > 0).then_some(class),
            destination_port: match ports {
                Some(column) => u16::try_from(column[place]).ok()?,
                None => FlowSpecification::USUAL_PORT,
            },
        })
    };
    let number = |place| {
        let wrong = || refused(format!("flow {place} has a number below 0, or a class or port too large"));
        flow(place).ok_or_else(wrong)
    };
    (0..ids.len()).map(number).collect()
}

pub(super) fn columns_of<'py>(
    python: Python<'py>,
    flows: &[FlowSpecification],
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    let add = |name: &str, value: &dyn Fn(&FlowSpecification) -> u64| {
        let values: Vec<_> = flows.iter().map(|flow| signed(value(flow))).collect();
        columns.set_item(name, values.into_pyarray(python))
    };
    add(COLUMNS[0], &|flow| flow.id)?;
    add(COLUMNS[1], &|flow| u64::from(flow.source.get()))?;
    add(COLUMNS[2], &|flow| u64::from(flow.destination.get()))?;
    add(COLUMNS[3], &|flow| flow.size.get())?;
    add(COLUMNS[4], &|flow| flow.start.picoseconds())?;
    if flows.iter().any(|flow| flow.class.is_some()) {
        add(CLASS, &|flow| u64::from(flow.class.unwrap_or(0)))?;
    }
    if flows.iter().any(|flow| flow.destination_port != FlowSpecification::USUAL_PORT) {
        add(PORT, &|flow| u64::from(flow.destination_port))?;
    }
    Ok(columns)
}

/// Read a flow list: comma-separated values with the columns flow_id, src, dst, size_bytes, start_ns and maybe class and
/// dst_port, the format of the HPCC simulator, or a connection matrix of HTSIM.
///
/// Returns
/// -------
/// tuple
///     Arrays `flow_id`, `src`, `dst`, `size_bytes`, `start_ps` of int64, and `class` (0 for that of the network) and
///     `dst_port` where the list has them; the graph of the flows where some wait for others (starts are then the earliest
///     possible ones) or are of jobs; and a sentence for each liberty that was taken with the text.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write.
#[entry]
#[pyfunction]
fn read_flow_list<'py>(python: Python<'py>, text: &str) -> PyResult<ReadList<'py>> {
    let list = python.detach(|| read_flows(text)).map_err(refused)?;
    let graph = list.graph.map(PyFlowGraph);
    let columns = match &graph {
        Some(graph) => graph.flows(python)?,
        None => columns_of(python, &list.flows)?,
    };
    Ok((columns, graph, list.cautions))
}

/// Read a flow list as `read_flow_list` does, and give the flows alone.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write; flows wait for others.
#[entry]
#[pyfunction]
fn parse_flows<'py>(python: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    match read_flow_list(python, text)? {
        (flows, None, _) => Ok(flows),
        _ => Err(refused("flows of this list wait for others, and have no starts of their own")),
    }
}

/// The text of a flow list: comma-separated values, or the HPCC simulator's format. Starts are rounded down to nanoseconds.
///
/// Raises
/// ------
/// ValueError
///     The flows are no columns as `parse_flows` gives them.
#[entry]
#[pyfunction]
#[pyo3(signature = (flows, *, hpcc=false))]
fn format_flows(python: Python<'_>, flows: &Bound<'_, PyDict>, hpcc: bool) -> PyResult<String> {
    let flows = flows_of(flows)?;
    Ok(python.detach(|| if hpcc { write_hpcc(&flows) } else { write_csv(&flows) }))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(format_flows, module)?)?;
    module.add_function(wrap_pyfunction!(read_flow_list, module)?)?;
    module.add_function(wrap_pyfunction!(parse_flows, module)?)
}
