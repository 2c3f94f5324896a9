//! How flows come into a trial: admitted in order of start, begun, and told to their source when they have ended.

use trialwise_congestion::{Context, Controller};

use crate::event::Event;
use crate::flow::{Flow, FlowSpecification, Stage, Transport};
use crate::index::{CardId, FlowId};
use crate::network::{Network, packets_of};
use crate::paths::Path;
use crate::run::{SimulationError, check_count, check_flow};
use crate::settings::PathKnowledge;
use crate::source::FlowSource;

impl Network<'_> {
    /// The next flows begin: at once, or as the reference does it after two more events each.
    pub(crate) fn on_launch(&mut self, source: &mut impl FlowSource) {
        self.tell_finishes(source);
        while self.next_start.is_some_and(|start| start <= self.now) {
            match self.take_flow(source) {
                Ok(flow) if self.compatible => {
                    self.flows[flow.index()].stage = Stage::Waiting(1);
                    self.events.schedule(self.now, Event::Stage(flow));
                }
                Ok(flow) => self.begin(flow),
                Err(refusal) => {
                    self.refused = Some(refusal);
                    return;
                }
            }
        }
        match self.next_start {
            Some(start) => {
                self.events.schedule(start, Event::Launch);
            }
            None => self.end_without_connected(),
        }
    }

    /// The flow that the source has announced for now.
    fn take_flow(&mut self, source: &mut impl FlowSource) -> Result<FlowId, SimulationError> {
        let specification = source.next_flow();
        if self.flows.len() >= self.listed {
            let own = packets_of(std::slice::from_ref(&specification), self.settings);
            self.packets_known = self.packets_known.saturating_add(own);
        }
        if specification.start != self.now {
            return Err(SimulationError::Unsorted(specification.id));
        }
        let flow = self.admit(&specification);
        self.expect_flow(source);
        flow
    }

    /// Asks when the next flow starts.
    pub(crate) fn expect_flow(&mut self, source: &mut impl FlowSource) {
        self.next_start = source.next_start();
        self.unfinished += usize::from(self.next_start.is_some());
    }

    /// Tells the source what has ended since it was told last.
    pub(crate) fn tell_finishes(&mut self, source: &mut impl FlowSource) {
        for flow in self.finished.drain(..) {
            if let Stage::Finished(time) = self.flows[flow.index()].stage {
                source.on_finish(flow, time);
            }
        }
    }

    pub(crate) fn on_stage(&mut self, flow: FlowId) {
        match self.flows[flow.index()].stage {
            Stage::Waiting(more) if more > 0 => {
                self.flows[flow.index()].stage = Stage::Waiting(more - 1);
                self.events.schedule(self.now, Event::Stage(flow));
            }
            _ => self.begin(flow),
        }
    }

    /// Takes a flow into the books, without beginning it.
    pub(crate) fn admit(&mut self, flow: &FlowSpecification) -> Result<FlowId, SimulationError> {
        check_count(self.flows.len())?;
        let (source, destination) = check_flow(self.fabric, flow)?;
        let source_port = self.source_ports.take(source, destination);
        let flow = Flow::new(flow, (source, destination), source_port, self.settings.priorities.data);
        self.count_admitted(&flow);
        self.flows.push(flow);
        self.paths.push(Path::UNKNOWN);
        Ok(FlowId::new(self.flows.len() as u32 - 1))
    }

    /// The flow gets its controller and joins its host.
    pub(crate) fn begin(&mut self, id: FlowId) {
        let flow = &self.flows[id.index()];
        let card = self.card_of(flow);
        let context = self.context(flow, card);
        if self.rerouted.is_none() {
            self.paths[id.index()] = Path::new(self.fabric, flow);
        }
        match self.factory.build(&context) {
            Ok(controller) => {
                debug_assert!(controller.timers().len() <= crate::flow::CONTROLLER_TIMERS);
                let transport = self.transports.insert(Transport::new(controller));
                let flow = &mut self.flows[id.index()];
                flow.transport = transport;
                flow.card = card;
                flow.stage = Stage::Active;
                flow.next_departure = self.now;
                self.take_over(id);
                self.add_active(card, id);
            }
            Err(refusal) => self.refused = Some(refusal.into()),
        }
    }

    /// The card by which the data of a flow leave while the routes stand as they do.
    pub(crate) fn card_of(&self, flow: &Flow) -> CardId {
        let hash = || flow.addresses.card_hash();
        self.fabric.card_towards(self.routes(), flow.source, flow.destination, hash)
    }

    /// The card by which its acknowledgements leave.
    pub(crate) fn reply_card(&self, flow: &Flow) -> CardId {
        let hash = || flow.addresses.reversed().card_hash();
        self.fabric.card_towards(self.routes(), flow.destination, flow.source, hash)
    }

    /// What the controller of this flow is told about its path.
    fn context(&self, flow: &Flow, card: CardId) -> Context {
        let (round_trip, window) = match self.settings.path_knowledge {
            PathKnowledge::Largest => self.fabric.extremes(),
            PathKnowledge::Own => {
                let path = self.fabric.path(flow.source, flow.destination);
                (path.round_trip, path.window())
            }
        };
        Context {
            now: self.now,
            segment: self.settings.segment,
            line_rate: Some(self.fabric.link(self.fabric.cards[card.index()]).rate),
            base_rtt: Some(round_trip),
            path_window: Some(window),
        }
    }
}
