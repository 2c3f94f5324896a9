//! What Python sees of `trialwise-kernels`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trialwise_kernels as kernels;

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(window_percentiles, module)?)?;
    module.add_function(wrap_pyfunction!(slope_order_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(inversions, module)?)?;
    module.add_function(wrap_pyfunction!(lag_product_exceedances, module)?)?;
    module.add_function(wrap_pyfunction!(score_exceedances, module)?)?;
    module.add_function(wrap_pyfunction!(term_exceedances, module)?)
}

/// Quantile at `fraction` (type 7) of `values[start:end]` for each pair of `starts` and `ends`.
#[pyfunction]
fn window_percentiles<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    fraction: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    let pairs = starts.as_slice()?.iter().zip(ends.as_slice()?);
    let windows =
        pairs.map(|(start, end)| window(*start, *end, values.len())).collect::<PyResult<Vec<_>>>()?;
    if !(0.0..=1.0).contains(&fraction) {
        return Err(PyValueError::new_err("the fraction of a quantile lies between 0 and 1"));
    }
    Ok(py.detach(|| kernels::window_percentiles(values, &windows, fraction)).into_pyarray(py))
}

fn window(start: i64, end: i64, length: usize) -> PyResult<kernels::Window> {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    bounds
        .filter(|(start, end)| start < end && *end <= length)
        .map(|(start, end)| kernels::Window { start, end })
        .ok_or_else(|| PyValueError::new_err("a window is empty or reaches beyond the values"))
}

/// The slopes of the given ranks (from 0) among those between all pairs of points with different `x`.
#[pyfunction]
fn slope_order_statistics<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    ranks: Vec<usize>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, y) = (x.as_slice()?, y.as_slice()?);
    if x.len() != y.len() {
        return Err(PyValueError::new_err("x and y differ in length"));
    }
    Ok(py.detach(|| kernels::slope_order_statistics(x, y, &ranks)).into_pyarray(py))
}

/// How many pairs of values stand in strictly descending order.
#[pyfunction]
fn inversions(py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<u64> {
    let values = values.as_slice()?;
    Ok(py.detach(|| kernels::inversions(values)))
}

/// In how many orders `|sum of products of neighbours + offset| >= threshold`, and of how many: all orders when
/// `shuffles` is None, else so many seeded shuffles.
#[pyfunction]
#[pyo3(signature = (values, offset, threshold, *, shuffles, seed))]
fn lag_product_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    offset: f64,
    threshold: f64,
    shuffles: Option<usize>,
    seed: u64,
) -> PyResult<(u64, u64)> {
    let values = values.as_slice()?;
    Ok(py.detach(|| kernels::lag_product_exceedances(values, offset, threshold, draws(shuffles, seed))))
}

/// In how many orders Kendall's score is at least `threshold` from zero, and of how many.
#[pyfunction]
#[pyo3(signature = (values, threshold, *, shuffles, seed))]
fn score_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    threshold: i64,
    shuffles: Option<usize>,
    seed: u64,
) -> PyResult<(u64, u64)> {
    let values = values.as_slice()?;
    Ok(py.detach(|| kernels::score_exceedances(values, threshold, draws(shuffles, seed))))
}

/// For each term, in how many arrangements of the rows of `values` over cells of the given sizes its F is at least the observed
/// one, and of how many: all distinct arrangements when `shuffles` is None, else so many seeded shuffles.
///
/// A basis has a row for each direction and a column for each cell, so has `unfitted`; `columns` says which column of
/// `values` a term permutes. As many threads as there are processors when `threads` is None: the result is the same.
#[pyfunction]
#[pyo3(signature = (values, sizes, unfitted, bases, columns, *, shuffles, seed, threads=None))]
#[expect(clippy::too_many_arguments, reason = "a design and how it is permuted")]
fn term_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray2<'_, f64>,
    sizes: Vec<usize>,
    unfitted: PyReadonlyArray2<'_, f64>,
    bases: Vec<PyReadonlyArray2<'_, f64>>,
    columns: Vec<usize>,
    shuffles: Option<usize>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(Vec<u64>, u64)> {
    let of_cells = |array: &PyReadonlyArray2<'_, f64>| array.shape()[1] == sizes.len();
    let [trials, width] = [values.shape()[0], values.shape()[1]];
    let fits = sizes.iter().sum::<usize>() == trials
        && u32::try_from(trials).is_ok()
        && sizes.iter().all(|size| *size > 0)
        && of_cells(&unfitted)
        && bases.iter().all(of_cells)
        && bases.len() == columns.len()
        && columns.iter().all(|column| *column < width);
    if !fits {
        return Err(PyValueError::new_err("values, cells and terms do not fit together"));
    }
    let pairs = columns.iter().zip(&bases);
    let terms = pairs
        .map(|(column, basis)| Ok(kernels::Term { column: *column, basis: basis.as_slice()? }))
        .collect::<PyResult<Vec<_>>>()?;
    let design = kernels::Factorial {
        values: values.as_slice()?,
        columns: width,
        sizes: &sizes,
        unfitted: unfitted.as_slice()?,
        terms: &terms,
    };
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    Ok(py.detach(|| kernels::term_exceedances(design, draws(shuffles, seed), threads)))
}

fn draws(shuffles: Option<usize>, seed: u64) -> kernels::Draws {
    shuffles.map_or(kernels::Draws::Every, |count| kernels::Draws::Shuffles { count, seed })
}
