//! Flow lists as columns, and as texts.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_simulator::{FlowSpecification, NodeId, read_flows, write_csv, write_hpcc};
use trialwise_units::{Bytes, Time};

use super::{refused, signed};

const COLUMNS: [&str; 5] = ["flow_id", "src", "dst", "size_bytes", "start_ps"];

/// The flows of a mapping of columns `flow_id`, `src`, `dst`, `size_bytes`, `start_ps`.
pub(super) fn flows_of(columns: &Bound<'_, PyDict>) -> PyResult<Vec<FlowSpecification>> {
    let column = |name: &str| {
        let found = columns.get_item(name)?.ok_or_else(|| refused(format!("the flows have no {name}")))?;
        let array = found.extract::<PyReadonlyArray1<'_, i64>>();
        array.map_err(|_| refused(format!("{name} of the flows is no array of int64")))
    };
    let [ids, sources, destinations, sizes, starts] = COLUMNS.map(column);
    let (ids, sources, destinations, sizes, starts) = (ids?, sources?, destinations?, sizes?, starts?);
    let ids = ids.as_slice()?;
    let rest = [sources.as_slice()?, destinations.as_slice()?, sizes.as_slice()?, starts.as_slice()?];
    if rest.iter().any(|column| column.len() != ids.len()) {
        return Err(refused("the columns of the flows differ in length"));
    }
    let flow = |place: usize| {
        let [source, destination, size, start] = rest.map(|column| column[place]);
        Some(FlowSpecification {
            id: u64::try_from(ids[place]).ok()?,
            source: NodeId::new(u32::try_from(source).ok()?),
            destination: NodeId::new(u32::try_from(destination).ok()?),
            size: Bytes::new(u64::try_from(size).ok()?),
            start: Time::from_picoseconds(u64::try_from(start).ok()?),
        })
    };
    let number = |place| flow(place).ok_or_else(|| refused(format!("flow {place} has a number below 0")));
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
    Ok(columns)
}

/// The flows of a text: comma-separated values with the columns flow_id, src, dst, size_bytes, start_ns, or the HPCC
/// simulator's format. Arrays `flow_id`, `src`, `dst`, `size_bytes`, `start_ps` of int64.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write.
#[pyfunction]
fn parse_flows<'py>(python: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let flows = python.detach(|| read_flows(text)).map_err(refused)?;
    columns_of(python, &flows)
}

/// The text of a flow list: comma-separated values, or the HPCC simulator's format. Starts are rounded down to nanoseconds.
///
/// Raises
/// ------
/// ValueError
///     The flows are no columns as `parse_flows` gives them.
#[pyfunction]
#[pyo3(signature = (flows, *, hpcc=false))]
fn format_flows(python: Python<'_>, flows: &Bound<'_, PyDict>, hpcc: bool) -> PyResult<String> {
    let flows = flows_of(flows)?;
    Ok(python.detach(|| if hpcc { write_hpcc(&flows) } else { write_csv(&flows) }))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(format_flows, module)?)?;
    module.add_function(wrap_pyfunction!(parse_flows, module)?)
}
