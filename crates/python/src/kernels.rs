//! What Python sees of `trialwise-kernels`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trialwise_kernels as kernels;
use trialwise_python_macros::entry;

use crate::border::{Whole, finite, wholes};

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(window_percentiles, module)?)?;
    module.add_function(wrap_pyfunction!(slope_order_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(inversions, module)?)?;
    module.add_function(wrap_pyfunction!(differences_at, module)?)?;
    module.add_function(wrap_pyfunction!(part_means, module)?)?;
    module.add_function(wrap_pyfunction!(lag_product_exceedances, module)?)?;
    module.add_function(wrap_pyfunction!(score_exceedances, module)?)?;
    module.add_function(wrap_pyfunction!(term_exceedances, module)?)
}

/// So many orders or shuffles are looked at, at most.
const MAX_DRAWS: usize = 1_000_000_000;
/// And so many values, or pairs of them, in all of these together: that takes minutes, which nothing interrupts.
const MAX_STEPS: u128 = 100_000_000_000;
/// Values of which every order is looked at, at most: they have 479,001,600.
const MAX_ORDERED: usize = 12;
const MAX_THREADS: usize = 1024;

/// Quantile at `fraction` (type 7) of `values[start:end]` for each pair of `starts` and `ends`.
#[entry]
#[pyfunction]
fn window_percentiles<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    fraction: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = finite("values", values.as_slice()?)?;
    let (starts, ends) = (starts.as_slice()?, ends.as_slice()?);
    if starts.len() != ends.len() {
        return Err(PyValueError::new_err("starts and ends differ in length"));
    }
    let pairs = starts.iter().zip(ends);
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
#[entry]
#[pyfunction]
fn slope_order_statistics<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    ranks: Vec<Whole>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, y) = (finite("x", x.as_slice()?)?, finite("y", y.as_slice()?)?);
    if x.len() != y.len() {
        return Err(PyValueError::new_err("x and y differ in length"));
    }
    let ranks = wholes("a rank", ranks, 0..=usize::MAX)?;
    let found = py.detach(|| kernels::slope_order_statistics(x, y, &ranks));
    let beyond = || PyValueError::new_err("a rank is beyond the pairs of points with different x");
    Ok(found.ok_or_else(beyond)?.into_pyarray(py))
}

/// How many pairs of values stand in strictly descending order.
#[entry]
#[pyfunction]
fn inversions(py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<u64> {
    let values = finite("values", values.as_slice()?)?;
    Ok(py.detach(|| kernels::inversions(values)))
}

/// The differences `first - second` of the given ranks (from 1), of samples in ascending order.
#[entry]
#[pyfunction]
fn differences_at<'py>(
    py: Python<'py>,
    first: PyReadonlyArray1<'py, f64>,
    second: PyReadonlyArray1<'py, f64>,
    ranks: Vec<Whole>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (first, second) = (finite("first", first.as_slice()?)?, finite("second", second.as_slice()?)?);
    if !first.is_sorted() || !second.is_sorted() {
        return Err(PyValueError::new_err("the values of a sample are not in ascending order"));
    }
    let ranks = wholes("a rank", ranks, 1..=u64::MAX)?;
    let found = py.detach(|| kernels::differences_at(first, second, &ranks));
    Ok(found.ok_or_else(|| PyValueError::new_err("a rank is beyond the pairs"))?.into_pyarray(py))
}

/// The mean of each part of values, which lie between two of the bounds: its sum is rounded once; NaN where there is none.
#[entry]
#[pyfunction]
fn part_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    bounds: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (values, bounds) = (values.as_slice()?, bounds.as_slice()?);
    let wrong = || PyValueError::new_err("the bounds do not ascend within the values");
    let bounds: Vec<usize> =
        bounds.iter().map(|bound| usize::try_from(*bound)).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let found = py.detach(|| kernels::part_means(values, &bounds));
    Ok(found.ok_or_else(wrong)?.into_pyarray(py))
}

/// In how many orders `|sum of products of neighbours + offset| >= threshold`, and of how many: all orders when
/// `shuffles` is None, else so many seeded shuffles.
#[entry]
#[pyfunction]
#[pyo3(signature = (values, offset, threshold, *, shuffles, seed))]
fn lag_product_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    offset: f64,
    threshold: f64,
    shuffles: Option<Whole>,
    seed: u64,
) -> PyResult<(u64, u64)> {
    let values = finite("values", values.as_slice()?)?;
    let draws = orders_of(values, shuffles, seed, values.len())?;
    Ok(py.detach(|| kernels::lag_product_exceedances(values, offset, threshold, draws)))
}

/// In how many orders Kendall's score is at least `threshold` from zero, and of how many.
#[entry]
#[pyfunction]
#[pyo3(signature = (values, threshold, *, shuffles, seed))]
fn score_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    threshold: i64,
    shuffles: Option<Whole>,
    seed: u64,
) -> PyResult<(u64, u64)> {
    let values = finite("values", values.as_slice()?)?;
    let draws = orders_of(values, shuffles, seed, values.len().saturating_mul(values.len()) / 2)?;
    Ok(py.detach(|| kernels::score_exceedances(values, threshold, draws)))
}

/// For each term, in how many arrangements of the rows of `values` over cells of the given sizes its F is at least the observed
/// one, and of how many: all distinct arrangements when `shuffles` is None, else so many seeded shuffles.
///
/// A basis has a row for each direction and a column for each cell, so has `unfitted`; `columns` says which column of
/// `values` a term permutes. As many threads as there are processors when `threads` is None: the result is the same.
#[entry]
#[pyfunction]
#[pyo3(signature = (values, sizes, unfitted, bases, columns, *, shuffles, seed, threads=None))]
#[expect(clippy::too_many_arguments, reason = "a design and how it is permuted")]
fn term_exceedances(
    py: Python<'_>,
    values: PyReadonlyArray2<'_, f64>,
    sizes: Vec<Whole>,
    unfitted: PyReadonlyArray2<'_, f64>,
    bases: Vec<PyReadonlyArray2<'_, f64>>,
    columns: Vec<Whole>,
    shuffles: Option<Whole>,
    seed: u64,
    threads: Option<Whole>,
) -> PyResult<(Vec<u64>, u64)> {
    let [trials, width] = [values.shape()[0], values.shape()[1]];
    let sizes = wholes("the size of a cell", sizes, 1..=u32::MAX as usize)?;
    let columns = wholes("a column", columns, 0..=u32::MAX as usize)?;
    let of_cells = |array: &PyReadonlyArray2<'_, f64>| array.shape()[1] == sizes.len();
    let fits = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size)) == Some(trials)
        && u32::try_from(trials).is_ok()
        && !sizes.is_empty()
        && width > 0
        && of_cells(&unfitted)
        && bases.iter().all(of_cells)
        && bases.len() == columns.len()
        && columns.iter().all(|column| *column < width);
    if !fits {
        return Err(PyValueError::new_err("values, cells and terms do not fit together"));
    }
    let draws = draws(shuffles, seed, trials)?;
    if matches!(draws, kernels::Draws::Every) && !are_few(&sizes) {
        return Err(too_many_orders("cells of these sizes"));
    }
    let pairs = columns.iter().zip(&bases);
    let terms = pairs
        .map(|(column, basis)| {
            Ok(kernels::Term { column: *column, basis: finite("a basis", basis.as_slice()?)? })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let design = kernels::Factorial {
        values: finite("values", values.as_slice()?)?,
        columns: width,
        sizes: &sizes,
        unfitted: finite("unfitted", unfitted.as_slice()?)?,
        terms: &terms,
    };
    let threads = threads_of(threads)?;
    Ok(py.detach(|| kernels::term_exceedances(design, draws, threads)))
}

/// As many as were asked for, or as there are processors.
pub(crate) fn threads_of(asked: Option<Whole>) -> PyResult<usize> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(|| Ok(processors()), |threads| threads.within("threads", 1..=MAX_THREADS))
}

/// The draws that are asked for; each takes so many steps.
fn draws(shuffles: Option<Whole>, seed: u64, steps: usize) -> PyResult<kernels::Draws> {
    let most = usize::try_from(MAX_STEPS / steps.max(1) as u128).unwrap_or(MAX_DRAWS).min(MAX_DRAWS);
    let count = shuffles.map(|shuffles| shuffles.within("shuffles", 0..=most)).transpose()?;
    Ok(count.map_or(kernels::Draws::Every, |count| kernels::Draws::Shuffles { count, seed }))
}

fn orders_of(values: &[f64], shuffles: Option<Whole>, seed: u64, steps: usize) -> PyResult<kernels::Draws> {
    let draws = draws(shuffles, seed, steps)?;
    if matches!(draws, kernels::Draws::Every) && values.len() > MAX_ORDERED {
        return Err(too_many_orders(&format!("{} values", values.len())));
    }
    Ok(draws)
}

fn too_many_orders(what: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{what} have more than {MAX_DRAWS} orders: shuffles says how many are drawn"
    ))
}

/// Whether the trials of cells of these sizes have no more than [`MAX_DRAWS`] arrangements: the product of binomials, each of
/// which grows by whole steps.
fn are_few(sizes: &[usize]) -> bool {
    let (mut trials, mut arrangements) = (0_u128, 1_u128);
    for size in sizes {
        for chosen in 1..=*size as u128 {
            trials += 1;
            arrangements = arrangements * trials / chosen;
            if arrangements > MAX_DRAWS as u128 {
                return false;
            }
        }
    }
    true
}
