//! What Python sees of `trialwise-json`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use trialwise_json::{self as json, Column, LongList, Sizes, Step};
use trialwise_python_macros::entry;

use crate::border::Whole;

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(long_lists, module)?)?;
    module.add_function(wrap_pyfunction!(list_columns, module)?)?;
    module.add_function(wrap_pyfunction!(list_numbers, module)?)
}

/// A path, where the list begins and ends, its length, and of each block after the first one its first entry and where that begins.
type Place<'py> = (Bound<'py, PyTuple>, usize, usize, usize, Vec<(usize, usize)>);
/// Kinds, numbers, codes and texts, and the numbers of lists with their bounds.
type Cells<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
    Vec<String>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// The columns with their paths.
type Columns<'py> = Vec<(Bound<'py, PyTuple>, Cells<'py>)>;
/// Numbers, how often null stands among them, and whether all are whole.
type Numbers<'py> = (Bound<'py, PyArray1<f64>>, usize, bool);

/// Where the long lists of a JSON document stand: of at least `least` bytes, with entries of at most `longest` and blocks of at least
/// `block`. None if it is refused.
#[entry]
#[pyfunction]
fn long_lists<'py>(
    py: Python<'py>,
    text: &[u8],
    least: Whole,
    longest: Whole,
    block: Whole,
) -> PyResult<Option<Vec<Place<'py>>>> {
    let sizes = Sizes {
        least: least.within("least", 0..=usize::MAX)?,
        longest_entry: longest.within("longest", 0..=usize::MAX)?,
        block: block.within("block", 1..=usize::MAX)?,
    };
    let Some(found) = py.detach(|| json::long_lists(text, sizes)) else { return Ok(None) };
    found.into_iter().map(|list| place(py, list)).collect::<PyResult<_>>().map(Some)
}

fn place(py: Python<'_>, list: LongList) -> PyResult<Place<'_>> {
    let steps = list.path.into_iter().map(|step| match step {
        Step::Key(key) => key.into_bound_py_any(py),
        Step::Place(place) => place.into_bound_py_any(py),
    });
    let path = PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
    Ok((path, list.begin, list.end, list.length, list.blocks))
}

/// The columns of the list of JSON objects from `begin` to `end`, with their paths. None if it is refused.
#[entry]
#[pyfunction]
fn list_columns<'py>(
    py: Python<'py>,
    text: &[u8],
    begin: Whole,
    end: Whole,
) -> PyResult<Option<Columns<'py>>> {
    let list = part(text, begin, end)?;
    let Some(found) = py.detach(|| json::columns(list)) else { return Ok(None) };
    found
        .into_iter()
        .map(|column| Ok((PyTuple::new(py, &column.path)?, cells(py, column))))
        .collect::<PyResult<_>>()
        .map(Some)
}

fn cells(py: Python<'_>, column: Column) -> Cells<'_> {
    (
        column.kinds.into_pyarray(py),
        column.values.into_pyarray(py),
        column.codes.into_pyarray(py),
        column.texts,
        column.inner.into_pyarray(py),
        column.bounds.into_pyarray(py),
    )
}

/// The numbers of the list of JSON from `begin` to `end`, how often null stands there, and whether all are whole. None if it is refused.
#[entry]
#[pyfunction]
fn list_numbers<'py>(
    py: Python<'py>,
    text: &[u8],
    begin: Whole,
    end: Whole,
) -> PyResult<Option<Numbers<'py>>> {
    let list = part(text, begin, end)?;
    let found = py.detach(|| json::numbers(list));
    Ok(found.map(|found| (found.values.into_pyarray(py), found.nulls, found.are_whole)))
}

fn part(text: &[u8], begin: Whole, end: Whole) -> PyResult<&[u8]> {
    let begin = begin.within("begin", 0..=text.len())?;
    let end = end.within("end", 0..=text.len())?;
    text.get(begin..end).ok_or_else(|| PyValueError::new_err("the end lies before the beginning"))
}
