//! Congestion control by name or by Python class, and what else a trial is set to.

use std::sync::Arc;

use pyo3::prelude::*;
use trialwise_congestion::{Algorithm, Factory, Listed};
use trialwise_python_macros::entry;
use trialwise_simulator::{Configuration, Fabric, Framing, Mode, Settings, settings_for};
use trialwise_units::{Rate, Seed};

use super::{Pairs, refused};
use crate::python_controller::{Failure, PythonFactory};

/// The names of the parameters of a network.
#[entry]
#[pyfunction]
fn network_parameters() -> Vec<&'static str> {
    trialwise_simulator::NETWORK_PARAMETERS.to_vec()
}

/// The names of the controllers that can be simulated, beside Python classes.
#[entry]
#[pyfunction]
fn simulation_controllers() -> Vec<&'static str> {
    Algorithm::in_fabrics()
}

/// A controller: its names, what it does, and its settings with what each takes.
type Law = (Vec<&'static str>, &'static str, Vec<(&'static str, String)>);

/// The controllers in the order of the register.
#[entry]
#[pyfunction]
fn controllers() -> Vec<Law> {
    let law = |listed: Listed| {
        let settings = listed.settings.iter().map(|(name, quantity)| (*name, quantity.to_string())).collect();
        (listed.names, listed.words, settings)
    };
    Algorithm::listed().into_iter().map(law).collect()
}

/// The names of the controllers that flows over paths can have, and whether a rate belongs to the name: `NAME:RATE`.
#[entry]
#[pyfunction]
fn path_controllers() -> Vec<(&'static str, bool)> {
    Algorithm::over_paths().into_iter().map(|(name, needs)| (name, needs.rate)).collect()
}

/// The names of the parameters of a controller that has a name; ValueError where none is called so.
#[entry]
#[pyfunction]
fn controller_parameters(name: &str) -> PyResult<Vec<&'static str>> {
    let algorithm = Algorithm::named(name, Rate::ZERO).map_err(refused)?;
    Ok(trialwise_simulator::controller_parameters(&algorithm))
}

/// The congestion control of all flows.
#[derive(FromPyObject)]
pub(super) enum Congestion<'py> {
    #[pyo3(transparent)]
    Named(String),
    #[pyo3(transparent)]
    Class(Bound<'py, PyAny>),
}

impl Default for Congestion<'_> {
    fn default() -> Self {
        Self::Named("dctcp".to_owned())
    }
}

/// What a trial runs with.
pub(super) struct Setup {
    pub(super) factory: Box<dyn Factory + Send>,
    pub(super) settings: Settings,
    /// Of controllers in Python.
    pub(super) failure: Arc<Failure>,
}

impl Setup {
    pub(super) fn new(
        fabric: &Fabric,
        congestion: &Congestion<'_>,
        parameters: &Pairs,
        network: &Pairs,
        mode: &str,
        seed: u64,
    ) -> PyResult<Self> {
        let (mode, seed) = (mode_named(mode)?, Seed::new(seed));
        let failure = Arc::new(Failure::default());
        let (factory, settings): (Box<dyn Factory + Send>, _) = match congestion {
            Congestion::Named(name) => {
                let (own, network) = (texts_of(parameters), texts_of(network));
                let configuration = Configuration::new(fabric, mode, seed, name, own, network);
                let Configuration { algorithm, settings } = configuration.map_err(refused)?;
                (Box::new(algorithm), settings)
            }
            Congestion::Class(class) => {
                if let Some((key, _)) = parameters.first() {
                    return Err(refused(format!(
                        "{key}: a congestion control in Python takes no parameters: write it into the class"
                    )));
                }
                let settings = settings_for(fabric, mode, seed, texts_of(network)).map_err(refused)?;
                (Box::new(PythonFactory::new(class, Arc::clone(&failure))?), settings)
            }
        };
        Ok(Self { factory, settings, failure })
    }

    /// What packets are like under this congestion control.
    pub(super) fn framing(
        fabric: &Fabric,
        congestion: &Congestion<'_>,
        network: &Pairs,
    ) -> PyResult<Framing> {
        let setup = Self::new(fabric, congestion, &Vec::new(), network, "clean", 0)?;
        Ok(Framing::new(&setup.settings, setup.factory.feedback()))
    }
}

fn mode_named(name: &str) -> PyResult<Mode> {
    match name {
        "clean" => Ok(Mode::Clean),
        "compatible" => Ok(Mode::Compatible),
        _ => Err(refused(format!("a mode is clean or compatible, not {name:?}"))),
    }
}

fn texts_of(pairs: &Pairs) -> impl Iterator<Item = (&str, &str)> {
    pairs.iter().map(|(key, text)| (key.as_str(), text.as_str()))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(controller_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(network_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(controllers, module)?)?;
    module.add_function(wrap_pyfunction!(path_controllers, module)?)?;
    module.add_function(wrap_pyfunction!(simulation_controllers, module)?)
}
