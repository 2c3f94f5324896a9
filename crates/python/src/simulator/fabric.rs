//! Topologies made ready.

use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{Fabric, FlowRoute, PortId, RouteOrder, Topology};

use super::flow_lists::flows_of;
use super::result::table;
use super::{refused, signed};

/// A row for each flow, a column for each hop.
type Ports = Py<PyArray2<i64>>;

fn text_of(path: &Path) -> PyResult<String> {
    std::fs::read_to_string(path).map_err(|error| match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string(), path.to_path_buf())),
        None => refused(format!("{} is no text", path.display())),
    })
}

/// A topology made ready: checked, routed, measured. Trials may share one.
///
/// Parameters
/// ----------
/// topology
///     A shape, such as `dumbbell:10x10,100Gbit/s,1us`.
///
/// Raises
/// ------
/// ValueError
///     What is wrong with the shape, and what to write.
#[pyclass(frozen, module = "trialwise._core", name = "Fabric")]
pub(super) struct PyFabric(pub(super) Fabric, Vec<String>);

#[entry]
#[pymethods]
impl PyFabric {
    #[new]
    fn new(python: Python<'_>, topology: &str) -> PyResult<Self> {
        let topology: Topology = topology.parse().map_err(refused)?;
        Ok(Self(python.detach(|| Fabric::new(topology)).map_err(refused)?, Vec::new()))
    }

    /// The topology of a file in the format of the HPCC simulator or one of its relatives; `routes` is a file with the order of equal next hops.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     A file cannot be read.
    /// ValueError
    ///     Which line is wrong; hosts that cannot reach each other.
    #[staticmethod]
    #[pyo3(signature = (path, *, routes=None))]
    fn from_file(python: Python<'_>, path: PathBuf, routes: Option<PathBuf>) -> PyResult<Self> {
        let (topology, cautions) = Topology::from_file(&text_of(&path)?).map_err(refused)?;
        let order = match routes {
            Some(routes) => {
                let order = RouteOrder::parse(&text_of(&routes)?);
                Some(order.map_err(|error| refused(format!("{}: {error}", routes.display())))?)
            }
            None => None,
        };
        Ok(Self(python.detach(|| Fabric::with_route_order(topology, order)).map_err(refused)?, cautions))
    }

    /// The liberties taken with the topology's file, a sentence each.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        self.1.clone()
    }

    /// The numbers of the nodes that are hosts.
    #[getter]
    fn hosts<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let hosts: Vec<_> = self.0.topology().hosts().map(|host| i64::from(host.get())).collect();
        hosts.into_pyarray(python)
    }

    /// Links, each first node, second node, rate (bit/s), delay (ps): link `n` from its first end is port `2n`, from its
    /// second end port `2n + 1`.
    #[getter]
    fn links(&self) -> Vec<(u32, u32, u64, u64)> {
        let links = self.0.topology().links.iter();
        links
            .map(|link| {
                let (rate, delay) = (link.rate.bits_per_second(), link.delay.picoseconds());
                (link.first.get(), link.second.get(), rate, delay)
            })
            .collect()
    }

    /// The probability that a link loses a packet, in the order of `links`, shape (links,).
    #[getter]
    fn losses<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let losses: Vec<_> = self.0.topology().links.iter().map(|link| link.loss).collect();
        losses.into_pyarray(python)
    }

    /// The rate of the link that all one-way traffic shares (bit/s); None where there is none.
    #[getter]
    fn bottleneck(&self) -> Option<u64> {
        self.0.topology().bottleneck.map(|rate| rate.bits_per_second())
    }

    /// The longest round trip of an empty path in picoseconds.
    #[getter]
    fn round_trip_ps(&self) -> u64 {
        self.0.extremes().round_trip.picoseconds()
    }

    /// The routes that the packets of a flow list take while all links work: ports of the data of each flow, and of what its
    /// receiver sends back, each from the sender's own on.
    ///
    /// Returns
    /// -------
    /// tuple
    ///     Two arrays of int64 with a row for each flow and as many columns as the longest route has ports; -1 beyond its end.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Which flow cannot be.
    fn flow_routes<'py>(&self, python: Python<'py>, flows: &Bound<'py, PyDict>) -> PyResult<(Ports, Ports)> {
        let flows = flows_of(flows)?;
        let routes = python.detach(|| self.0.flow_routes(&flows)).map_err(refused)?;
        let longest = routes.iter().map(|route| route.data.len().max(route.replies.len())).max().unwrap_or(0);
        let padded = |ports: &dyn Fn(&FlowRoute) -> &[PortId]| {
            let numbers = |route| {
                let numbers = ports(route).iter().map(|port| i64::from(port.get()));
                numbers.chain(std::iter::repeat(-1)).take(longest)
            };
            table(python, routes.iter().flat_map(numbers).collect(), [routes.len(), longest])
        };
        Ok((padded(&|route| &route.data)?, padded(&|route| &route.replies)?))
    }

    /// The approximate time of each flow of a list alone in picoseconds, shape (flows,).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Which flow cannot be.
    fn ideal_times<'py>(
        &self,
        python: Python<'py>,
        flows: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let flows = flows_of(flows)?;
        let times = python.detach(|| self.0.ideal_times(&flows)).map_err(refused)?;
        let times: Vec<_> = times.iter().map(|time| signed(time.picoseconds())).collect();
        Ok(times.into_pyarray(python))
    }

    /// The text of a topology file in the HPCC simulator's format.
    fn to_hpcc(&self) -> String {
        self.0.topology().to_hpcc()
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFabric>()
}
