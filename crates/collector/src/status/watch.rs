//! Where the parts of a status come from.

use std::sync::Arc;

use super::Forwarding;
use super::{FORMAT, Status};
use crate::clock::now_micros;
use crate::counters::Counting;
use crate::spool::Spool;

/// Looks at a running collector.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) spool: Arc<Spool>,
    pub(crate) counting: Arc<Counting>,
    pub(crate) spool_capacity: u64,
    /// Microseconds of UNIX time.
    pub(crate) started: u64,
    pub(crate) forwarding: Option<Arc<Forwarding>>,
}

impl Watch {
    pub(crate) fn status(&self) -> Status {
        Status {
            format: FORMAT,
            time: now_micros() as f64 / 1e6,
            started: self.started as f64 / 1e6,
            counters: self.counting.read(self.spool.backlog()),
            spool_capacity: self.spool_capacity,
            store_error: self.counting.store_error(),
            troubles: self.counting.troubles(),
            failure: self.spool.progress().borrow().failure.clone(),
            forward: self.forwarding.as_ref().map(|forwarding| forwarding.status()),
            senders: self.counting.senders.status(),
        }
    }
}
