//! How flows come into a trial: admitted in order of start, begun, and told to their source when they have ended.

use trialwise_congestion::{Context, Controller};
use trialwise_units::Time;

use super::Network;
use crate::event::Event;
use crate::flow::{Flow, FlowSpecification, Stage, Transport};
use crate::index::{CardId, FlowId};
use crate::refusal::{SimulationError, check_count, check_flow};
use crate::settings::PathKnowledge;
use crate::source::FlowSource;

impl Network<'_> {
    /// The next flows begin: at once, or as the reference does it after two more events each.
    pub(super) fn on_launch(&mut self, source: &mut impl FlowSource) {
        self.flows.begin_launch(self.clock.now());
        for flow in self.flows.tell_ends(source) {
            self.count_finished(flow);
        }
        while self.flows.next_start().is_some_and(|start| start <= self.clock.now()) {
            match self.take_flow(source) {
                Ok(flow) if self.terms.compatible => {
                    self.flows[flow].stage = Stage::Waiting(1);
                    self.clock.schedule(self.clock.now(), Event::Stage(flow));
                }
                Ok(flow) => self.begin(flow),
                Err(refusal) => {
                    self.ending.refuse(refusal);
                    return;
                }
            }
        }
        match self.flows.next_start() {
            Some(start) => self.expect_launch(start),
            None => self.end_without_connected(),
        }
    }

    /// Flows are launched then, where it is not sooner.
    pub(super) fn expect_launch(&mut self, at: Time) {
        if self.flows.needs_launch(at) {
            self.clock.schedule(at, Event::Launch);
        }
    }

    /// The flow that the source has announced for now.
    fn take_flow(&mut self, source: &mut impl FlowSource) -> Result<FlowId, SimulationError> {
        let specification = self.flows.take(source);
        if specification.start != self.clock.now() {
            return Err(SimulationError::Unsorted(specification.id));
        }
        let flow = self.admit(&specification);
        self.flows.expect_next(source);
        flow
    }

    pub(super) fn on_stage(&mut self, flow: FlowId) {
        match self.flows[flow].stage {
            Stage::Waiting(more) if more > 0 => {
                self.flows[flow].stage = Stage::Waiting(more - 1);
                self.clock.schedule(self.clock.now(), Event::Stage(flow));
            }
            _ => self.begin(flow),
        }
    }

    /// Takes a flow into the books, without beginning it.
    pub(super) fn admit(&mut self, flow: &FlowSpecification) -> Result<FlowId, SimulationError> {
        check_count(self.flows.admitted())?;
        let (source, destination) = check_flow(self.terms.fabric, flow)?;
        let source_port = self.flows.source_port(source, destination);
        let flow = Flow::new(flow, (source, destination), source_port, self.terms.settings.priorities.data);
        self.count_admitted(&flow);
        self.ways.admit();
        Ok(self.flows.admit(flow))
    }

    /// The flow gets its controller and joins its host.
    pub(super) fn begin(&mut self, id: FlowId) {
        let flow = &self.flows[id];
        let (card, reply_card) = (self.ways.card(flow), self.ways.reply_card(flow));
        let context = self.context(id, flow, card);
        self.ways.begin(id, flow);
        let port = self.terms.fabric.cards[card.index()];
        if self.wires.is_elsewhere(port) {
            let flow = &mut self.flows[id];
            (flow.card, flow.reply_card) = (card, reply_card);
            return;
        }
        match self.terms.factory.build(&context) {
            Ok(controller) => {
                debug_assert!(controller.timers().len() <= crate::flow::CONTROLLER_TIMERS);
                let flow = self.flows.begin(id, Transport::new(controller, self.terms.reports_packets));
                flow.card = card;
                flow.reply_card = reply_card;
                flow.stage = Stage::Active;
                flow.next_departure = self.clock.now();
                self.clock.act_for(self.wires.part(port));
                self.take_over(id);
                self.add_active(card, id);
            }
            Err(refusal) => self.ending.refuse(refusal.into()),
        }
    }

    /// What the controller of this flow is told about its path.
    fn context(&self, id: FlowId, flow: &Flow, card: CardId) -> Context {
        let known = match self.terms.settings.path_knowledge {
            PathKnowledge::Largest => self.terms.fabric.extremes(),
            PathKnowledge::Own => self.terms.fabric.path(flow.source, flow.destination).known(),
        };
        Context {
            now: self.clock.now(),
            segment: self.terms.settings.segment,
            line_rate: Some(self.terms.fabric.link(self.terms.fabric.cards[card.index()]).rate),
            base_rtt: Some(known.round_trip),
            path_window: Some(known.window),
            hops: Some(known.switches()),
            seed: self.terms.settings.seed.named("controller").numbered(id.index() as u64),
        }
    }
}
