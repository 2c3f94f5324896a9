//! A controller over a network, from names and texts.

use trialwise_congestion::{Algorithm, BuildError};
use trialwise_units::{Rate, Seed};

use crate::fabric::Fabric;
use crate::index::HostId;
use crate::parameters::{ParameterError, set_controller};
use crate::settings::{Mode, Settings};

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
    /// A parameter cannot be set.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl Configuration {
    /// The controller of this name with what goes with it at the line rate of the fabric's first host, then
    /// each pair of a key and a text in its order (see [`set_controller`] and [`Settings::set`]).
    pub fn new<'a>(
        fabric: &Fabric,
        mode: Mode,
        seed: Seed,
        controller: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
        network: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigurationError> {
        let line = line_rate(fabric);
        let mut algorithm = Algorithm::named(controller, line)?.with_fidelity(mode.fidelity());
        for (key, text) in parameters {
            set_controller(&mut algorithm, key, text)?;
        }
        let mut settings = Settings { seed, ..Settings::for_algorithm(&algorithm, line).with_mode(mode) };
        if let Some(marking) = settings.marking {
            settings.marking = Some(marking.at(line));
        }
        for (key, text) in network {
            settings.set(key, text, fabric.topology())?;
        }
        Ok(Self { algorithm, settings })
    }
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
