//! The fluid surrogate of a trial: the same flow list with rates instead of packets, thousands of times
//! faster.
//!
//! Flows share links max-min fairly at every instant (Bertsekas and Gallager, "Data Networks", 6.5.2), over
//! the routes that the packets would take; where all share one bottleneck that is processor sharing. A flow
//! carries its payload and the headers of its packets, and its completion time has the round-trip time of the
//! empty path on top, so that a lone flow takes what [`crate::PathFacts::ideal`] says. Queues, controllers,
//! losses and failures have no place here.

mod batch;
mod max_min;
mod route;
mod sharing;
mod statistic;

use std::ops::ControlFlow;

use trialwise_units::{Bytes, Duration};

pub use batch::{
    Surrogate, SurrogateError, surrogate_batch, surrogate_batch_observed, surrogate_samples_observed,
};
pub use statistic::{Features, Quantity, Statistic, Summary};

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::framing::Framing;
use crate::refusal::{SimulationError, check_flows};
use max_min::MaxMin;
use route::RouteTable;
use sharing::ProcessorSharing;

/// What the model takes from a trial besides its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidSettings {
    /// How bytes become packets.
    pub framing: Framing,
    /// The least time between two searches for rates, as of [`fluid`].
    pub window: Duration,
}

impl From<Framing> for FluidSettings {
    /// The exact model.
    fn from(framing: Framing) -> Self {
        Self { framing, window: Duration::ZERO }
    }
}

/// A flow as the two models see it; times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Job {
    start: f64,
    /// Bits to carry.
    work: f64,
}

/// Completion times of a flow list under ideal sharing, one for each flow: from its start to its last
/// acknowledgement. The same arguments give the same bits on every machine.
///
/// The list must be one that [`crate::simulate`] takes. With a `window` rates are found anew at most once in it, except
/// where all flows share one bottleneck, which costs nothing to be exact; zero is exact everywhere.
pub fn fluid(
    fabric: &Fabric,
    framing: Framing,
    flows: &[FlowSpecification],
    window: Duration,
) -> Result<Vec<Duration>, SimulationError> {
    fluid_observed(fabric, framing, flows, window, &mut || ControlFlow::Continue(()))
}

/// The same; `look` is called each time that rates were found, and to break ends it with
/// [`SimulationError::Interrupted`].
pub fn fluid_observed(
    fabric: &Fabric,
    framing: Framing,
    flows: &[FlowSpecification],
    window: Duration,
    look: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Duration>, SimulationError> {
    let mut model = FluidModel::new(fabric, FluidSettings { framing, window });
    model.run_observed(flows, look)?;
    Ok(model.completion)
}

/// The model with memory that trials use again.
pub(crate) struct FluidModel<'a> {
    fabric: &'a Fabric,
    settings: FluidSettings,
    routes: RouteTable,
    jobs: Vec<Job>,
    sharing: ProcessorSharing,
    max_min: MaxMin,
    completion: Vec<Duration>,
}

impl<'a> FluidModel<'a> {
    pub(crate) fn new(fabric: &'a Fabric, settings: FluidSettings) -> Self {
        Self {
            fabric,
            settings,
            routes: RouteTable::new(fabric),
            jobs: Vec::new(),
            sharing: ProcessorSharing::default(),
            max_min: MaxMin::new(fabric),
            completion: Vec::new(),
        }
    }

    /// What the trials so far took of the max-min model, in flows and links looked at.
    pub(crate) const fn steps(&self) -> u64 {
        self.max_min.steps
    }

    /// The completion times of these flows.
    pub(crate) fn run(&mut self, flows: &[FlowSpecification]) -> Result<&[Duration], SimulationError> {
        self.run_observed(flows, &mut || ControlFlow::Continue(()))
    }

    fn run_observed(
        &mut self,
        flows: &[FlowSpecification],
        look: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<&[Duration], SimulationError> {
        let FluidSettings { framing, window } = self.settings;
        check_flows(self.fabric, flows)?;
        self.routes.lay(self.fabric, flows)?;
        self.jobs.clear();
        self.jobs.extend(flows.iter().map(|flow| Job {
            start: flow.start.picoseconds() as f64,
            work: Bytes::new(framing.wire(flow.size.get())).get() as f64 * 8.0,
        }));
        let (jobs, routes, completion) = (&self.jobs, &self.routes, &mut self.completion);
        completion.clear();
        completion.resize(flows.len(), Duration::ZERO);
        let departs = |flow: usize, time: f64| {
            let shared = Duration::from_picoseconds(libm::round(time - jobs[flow].start) as u64);
            completion[flow] = shared + routes.round_trip(flow);
        };
        if let Some(rate) = routes.shared_bottleneck(self.fabric) {
            self.sharing.run(jobs, rate, departs);
        } else if self.max_min.run(jobs, routes, window.picoseconds() as f64, look, departs).is_break() {
            return Err(SimulationError::Interrupted);
        }
        Ok(&self.completion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Arrivals, Load, Pattern, Workload};
    use trialwise_units::Seed;

    /// Where all share one bottleneck the two models are one.
    #[test]
    fn processor_sharing_is_max_min_on_one_link() {
        let fabric = Fabric::new("dumbbell:10x10,100Gbit/s,1us".parse().unwrap()).unwrap();
        let workload = Workload {
            sizes: "websearch".parse().unwrap(),
            arrivals: Arrivals::POISSON,
            pattern: Pattern::ONE_WAY,
            load: Load::Bottleneck(0.7),
            duration: Duration::from_milliseconds(50),
        };
        let flows = workload.generate(&fabric, Seed::new(1)).unwrap();
        let framing = Framing { segment: 1000, header: 48, acknowledgement: 60 };
        let mut model = FluidModel::new(&fabric, framing.into());
        let shared = model.run(&flows).unwrap().to_vec();
        let mut filled = vec![0.0; flows.len()];
        let mut look = || ControlFlow::Continue(());
        let _ = model.max_min.run(&model.jobs, &model.routes, 0.0, &mut look, |flow, end| filled[flow] = end);
        for (flow, end) in filled.iter().enumerate() {
            let time = (end - model.jobs[flow].start) + model.routes.round_trip(flow).picoseconds() as f64;
            let difference = time - shared[flow].picoseconds() as f64;
            assert!(difference.abs() <= 1.0 + 1e-9 * time, "flow {flow}: {difference}");
        }
    }
}
