//! Which way packets go.

use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::index::{CardId, FlowId};
use crate::paths::Path;
use crate::routing::Routes;

/// The routes as they stand, and the path of each flow.
pub(super) struct Ways<'a> {
    fabric: &'a Fabric,
    /// Routes after a failure; those of the fabric before.
    rerouted: Option<Routes>,
    /// Of each flow; unknown before it begins and after a failure.
    paths: Vec<Path>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(fabric: &'a Fabric, flows: usize) -> Self {
        Self { fabric, rerouted: None, paths: Vec::with_capacity(flows) }
    }

    /// A flow is admitted: its path is not known yet.
    pub(super) fn admit(&mut self) {
        self.paths.push(Path::UNKNOWN);
    }

    /// A flow begins: its path is worked out once, while all links work.
    pub(super) fn begin(&mut self, id: FlowId, flow: &Flow) {
        if self.rerouted.is_none() {
            self.paths[id.index()] = Path::new(self.fabric, flow);
        }
    }

    /// The number of the port that the switch in this step of a flow's path takes, where it is known.
    #[inline]
    pub(super) fn port(&self, flow: FlowId, step: u8) -> Option<usize> {
        self.paths[flow.index()].port(step)
    }

    /// A link fails or comes back: works out the routes over those that are up; every switch is asked from now on.
    pub(super) fn reroute(&mut self, link: usize, up: bool) {
        let routes = self.rerouted.get_or_insert_with(|| self.fabric.routes.clone());
        self.fabric.change_routes(routes, link, up);
        self.paths.fill(Path::UNKNOWN);
    }

    /// The routes.
    pub(super) fn routes(&self) -> &Routes {
        self.rerouted.as_ref().unwrap_or(&self.fabric.routes)
    }

    /// Whether a flow has a way to its destination.
    pub(super) fn reach(&self, flow: &Flow) -> bool {
        !self.routes().departures(flow.source, flow.destination).is_empty()
    }

    /// The card by which the data of a flow leave.
    pub(super) fn card(&self, flow: &Flow) -> CardId {
        let hash = || flow.addresses.card_hash();
        self.fabric.card_towards(self.routes(), flow.source, flow.destination, hash)
    }

    /// The card by which its acknowledgements leave.
    pub(super) fn reply_card(&self, flow: &Flow) -> CardId {
        let hash = || flow.addresses.reversed().card_hash();
        self.fabric.card_towards(self.routes(), flow.destination, flow.source, hash)
    }
}
