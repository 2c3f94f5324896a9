//! Estimates of a trial from small networks that the packet simulator runs one by one: of sampled paths with their cross
//! traffic ([`estimate_paths`]; Li et al., "m3", SIGCOMM 2024, without its learned part), and of links one at a time
//! ([`estimate_links`]; Zhao et al., "Parsimon", NSDI 2023, with the delays of the same flow added instead of drawn ones).

mod builder;
mod clusters;
mod lanes;
mod links;
mod lots;
mod paths;
mod run;

use std::ops::ControlFlow;

use trialwise_congestion::Factory;
use trialwise_units::Duration;

pub use links::estimate_links;
pub use paths::{Sample, estimate_paths};

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::framing::Framing;
use crate::refusal::{SimulationError, check_flows, check_settings};
use crate::settings::Settings;

/// What small networks say of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The flows that are estimated, by their places in the list, in its order.
    pub flows: Vec<usize>,
    /// Their completion times; none for one that did not end.
    pub times: Vec<Option<Duration>>,
    /// How many paths, or links with flows, the list has.
    pub of: usize,
    /// How many of them were simulated: equal networks are once.
    pub networks: usize,
    /// Links that packets crossed in all of them.
    pub hops: u64,
}

/// What all small networks of a trial have in common.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// The network that they are parts of.
    pub fabric: &'a Fabric,
    /// Its parameters; failures, samples and an end are ignored.
    pub settings: &'a Settings,
    /// The controller of every flow.
    pub factory: &'a dyn Factory,
    /// The flows, in order of start.
    pub flows: &'a [FlowSpecification],
    /// So many networks run at a time, which changes no number.
    pub threads: usize,
}

/// Called now and then; to break ends it with [`SimulationError::Interrupted`].
pub type Look<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

impl Whole<'_> {
    fn check(&self) -> Result<(), SimulationError> {
        check_settings(self.fabric, self.settings)?;
        check_flows(self.fabric, self.flows)
    }

    /// The settings of each small network: losses stand with its links.
    fn settings_of_parts(&self) -> Settings {
        Settings {
            loss: None,
            faults: Vec::new(),
            stop: None,
            sample_interval: None,
            ..self.settings.clone()
        }
    }

    fn framing(&self) -> Framing {
        Framing::new(self.settings, self.factory.feedback())
    }
}
