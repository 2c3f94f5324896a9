//! A controller over a network, from names and texts.

use trialwise_congestion::{Algorithm, BuildError};
use trialwise_units::{Rate, Seed};

use crate::fabric::Fabric;
use crate::index::HostId;
use crate::parameters::{ParameterError, set_controller};
use crate::settings::{Mode, Settings};

/// Parameters of the network that switch a part of it on or off, of which others are values.
const NETWORK_SWITCHES: [&str; 2] = ["marking", "pfc"];

/// What a trial needs beside its flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The controller of every flow.
    pub algorithm: Algorithm,
    /// The parameters of the network.
    pub settings: Settings,
}

/// Why there is no configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigurationError {
    /// No such controller.
    #[error(transparent)]
    Controller(#[from] BuildError),
    /// It needs a receiver that does more than hosts of a network do.
    #[error(
        "{0} needs receivers that forecast or answer at a pace, which hosts of a network do not do: simulate a path, or take one of \
         {known}",
        known = Algorithm::in_fabrics().join(", ")
    )]
    PathsOnly(String),
    /// A parameter cannot be set.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl Configuration {
    /// The controller of this name with what goes with it at the line rate of the fabric's first host, then
    /// each pair of a key and a text (see [`set_controller`] and [`Settings::set`]); their order means nothing.
    pub fn new<'a>(
        fabric: &Fabric,
        mode: Mode,
        seed: Seed,
        controller: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
        network: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigurationError> {
        let line = line_rate(fabric);
        let mut algorithm = Algorithm::written(controller, Some(line))?.with_fidelity(mode.fidelity());
        if algorithm.needs().paths_only() {
            return Err(ConfigurationError::PathsOnly(controller.to_owned()));
        }
        for (key, text) in parameters {
            set_controller(&mut algorithm, key, text)?;
        }
        let settings = Settings::for_algorithm(&algorithm, line);
        let settings = adjusted(settings, fabric, mode, seed, network)?;
        Ok(Self { algorithm, settings })
    }
}

/// The parameters of a network for controllers that are no [`Algorithm`]: the defaults at the line rate of the fabric's
/// first host, then each pair of a key and a text (see [`Settings::set`]); their order means nothing.
pub fn settings_for<'a>(
    fabric: &Fabric,
    mode: Mode,
    seed: Seed,
    network: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Settings, ParameterError> {
    adjusted(Settings::for_line_rate(line_rate(fabric)), fabric, mode, seed, network)
}

fn adjusted<'a>(
    defaults: Settings,
    fabric: &Fabric,
    mode: Mode,
    seed: Seed,
    network: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Settings, ParameterError> {
    let mut settings = Settings { seed, ..defaults.with_mode(mode) };
    settings.marking = settings.marking.map(|marking| marking.at(line_rate(fabric)));
    // What is switched off stays off, wherever the lengths and shares stand that it would have.
    let (switches, values): (Vec<_>, Vec<_>) =
        network.into_iter().partition(|(key, _)| NETWORK_SWITCHES.contains(key));
    for (key, text) in values.into_iter().chain(switches) {
        settings.set(key, text, fabric.topology())?;
    }
    Ok(settings)
}

fn line_rate(fabric: &Fabric) -> Rate {
    if fabric.host_count() == 0 { Rate::ZERO } else { fabric.host_rate(HostId::new(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Bytes;

    #[test]
    fn lengths_of_queues_are_those_at_the_rate_of_the_hosts() {
        let fabric = Fabric::new("dumbbell:2x2,10Gbit/s,1us".parse().unwrap()).unwrap();
        let configuration = |network: &[(&'static str, &'static str)]| {
            let pairs = network.iter().copied();
            Configuration::new(&fabric, Mode::Clean, Seed::new(1), "dcqcn", [], pairs).unwrap()
        };
        let plain = configuration(&[]).settings.marking.unwrap();
        assert_eq!((plain.minimum, plain.maximum), (Bytes::new(40_000), Bytes::new(160_000)));
        let own = configuration(&[("kmin", "70kB")]).settings.marking.unwrap();
        assert_eq!((own.minimum, own.rate), (Bytes::new(70_000), Rate::from_megabits_per_second(10_000)));
    }

    #[test]
    fn what_is_switched_off_stays_off_in_any_order() {
        let fabric = Fabric::new("dumbbell:2x2,10Gbit/s,1us".parse().unwrap()).unwrap();
        let mut network = [("marking", "false"), ("kmin", "7kB"), ("pfc", "false"), ("pfc_shift", "2")];
        for _ in 0..2 {
            let settings = settings_for(&fabric, Mode::Clean, Seed::new(1), network).unwrap();
            assert_eq!((settings.marking, settings.flow_control), (None, None));
            network.reverse();
        }
    }

    #[test]
    fn what_is_unknown_is_refused() {
        let fabric = Fabric::new("dumbbell:2x2,10Gbit/s,1us".parse().unwrap()).unwrap();
        let message = |controller, key| {
            let refused =
                Configuration::new(&fabric, Mode::Clean, Seed::new(1), controller, [(key, "1")], []);
            refused.unwrap_err().to_string()
        };
        assert!(message("vegas", "gain").contains("hpcc"));
        assert!(message("dctcp", "gian").contains("gain, increase"));
    }
}
