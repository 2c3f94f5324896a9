//! Where the flows of a trial come from: a list, or something that decides while the trial runs.

use trialwise_units::Time;

use crate::flow::FlowSpecification;
use crate::index::FlowId;

/// Gives flows one by one, in order of start, and is told which have ended before it gives the next.
///
/// What a flow is like is asked only when it starts, so that it may depend on what has ended until then: a
/// switching change of measure draws sizes from another distribution after the first slow flow.
pub trait FlowSource {
    /// When the next flow starts, never before the one above it; none when there are no more. Asked when the
    /// flow above has started.
    fn next_start(&mut self) -> Option<Time>;

    /// The flow that starts at what [`Self::next_start`] said last.
    fn next_flow(&mut self) -> FlowSpecification;

    /// The flow `flow`, counted in the order in which flows were given, has ended. Ends are told in their
    /// order: before the next flow is asked for, and the last ones when the trial is over.
    fn on_finish(&mut self, flow: FlowId, finish: Time);

    /// Whether flows may start because others are over. Such a source is told of every end and receipt at its time, and
    /// asked for the next start again.
    fn waits(&self) -> bool {
        false
    }

    /// The last byte of a flow has reached its receiver. Told only to a source that waits.
    fn on_receipt(&mut self, _flow: FlowId, _time: Time) {}
}

/// A flow list that stands beforehand.
pub(crate) struct List<'a>(std::slice::Iter<'a, FlowSpecification>);

impl<'a> List<'a> {
    pub(crate) fn new(flows: &'a [FlowSpecification]) -> Self {
        Self(flows.iter())
    }
}

impl FlowSource for List<'_> {
    fn next_start(&mut self) -> Option<Time> {
        self.0.as_slice().first().map(|flow| flow.start)
    }

    #[expect(clippy::expect_used, reason = "asked for only after a start was given")]
    fn next_flow(&mut self) -> FlowSpecification {
        *self.0.next().expect("a start was given")
    }

    fn on_finish(&mut self, _flow: FlowId, _finish: Time) {}
}

/// Keeps what a source gives.
pub(crate) struct Recording<'a> {
    source: &'a mut dyn FlowSource,
    pub(crate) given: Vec<FlowSpecification>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(source: &'a mut dyn FlowSource) -> Self {
        Self { source, given: Vec::new() }
    }
}

impl FlowSource for Recording<'_> {
    fn next_start(&mut self) -> Option<Time> {
        self.source.next_start()
    }

    fn next_flow(&mut self) -> FlowSpecification {
        let flow = self.source.next_flow();
        self.given.push(flow);
        flow
    }

    fn on_finish(&mut self, flow: FlowId, finish: Time) {
        self.source.on_finish(flow, finish);
    }

    fn waits(&self) -> bool {
        self.source.waits()
    }

    fn on_receipt(&mut self, flow: FlowId, time: Time) {
        self.source.on_receipt(flow, time);
    }
}
