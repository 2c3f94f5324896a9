//! All domains that are forwarded: one that is refused waits, the others go on.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trialwise_streams::protocol::Limits;

use super::Shared;
use super::domain::Domain;
use crate::config::Access;
use crate::counters::Counting;
use crate::spool::record::{Body, Record};

/// A domain that was refused is tried again after so long.
const REFUSED: Duration = Duration::from_secs(5);
/// A domain without connections is forgotten after so long.
const IDLE: Duration = Duration::from_secs(2);

/// What every domain needs.
pub(super) struct Place {
    pub(super) access: Access,
    pub(super) limits: Limits,
    /// Of the spool, where the notes are too.
    pub(super) folder: PathBuf,
    /// The spool's name.
    pub(super) spool: String,
    pub(super) shared: Rc<Shared>,
}

enum Slot {
    Ready(Box<Domain>),
    /// Everything from `position` on is yet to be forwarded.
    Refused {
        position: u64,
        until: Instant,
    },
}

pub(super) struct Domains {
    slots: HashMap<String, Slot>,
    place: Place,
    counting: Arc<Counting>,
    /// Where the last start of this collector stands in the spool.
    epoch: u64,
}

impl Domains {
    pub(super) fn new(place: Place, counting: Arc<Counting>) -> Self {
        Self { slots: HashMap::new(), place, counting, epoch: 0 }
    }

    /// Passes on the record from `begin` to `end`.
    pub(super) fn pass(&mut self, record: &Record<'_>, begin: u64, end: u64) -> io::Result<()> {
        if record.body == Body::Restart {
            self.epoch = self.epoch.max(begin);
            self.ready().for_each(|domain| domain.end_before(begin));
            return Ok(());
        }
        if record.domain.is_empty() {
            return Ok(());
        }
        if !self.slots.contains_key(record.domain) {
            let domain = self.open(record.domain, begin)?;
            self.slots.insert(record.domain.to_owned(), Slot::Ready(domain));
        }
        if let Some(Slot::Ready(domain)) = self.slots.get_mut(record.domain) {
            domain.pass(record, begin, end, &self.place);
        }
        Ok(())
    }

    fn open(&self, domain: &str, begin: u64) -> io::Result<Box<Domain>> {
        // Going back behind that start, the connections before it have records yet.
        let epoch = if self.epoch <= begin { self.epoch } else { 0 };
        Domain::open(domain, begin, epoch, &self.place).map(Box::new)
    }

    fn ready(&mut self) -> impl Iterator<Item = &mut Domain> {
        self.slots.values_mut().filter_map(|slot| match slot {
            Slot::Ready(domain) => Some(&mut **domain),
            Slot::Refused { .. } => None,
        })
    }

    /// Whether the other collector has everything that was passed on.
    pub(super) fn are_settled(&mut self) -> bool {
        self.ready().all(|domain| domain.is_settled())
    }

    /// Notes how far every domain is; the position from which refused ones are yet to be forwarded.
    pub(super) fn note(&mut self) -> io::Result<Option<u64>> {
        let (folder, counting) = (self.place.folder.clone(), Arc::clone(&self.counting));
        self.ready().try_for_each(|domain| domain.note(&folder, &counting))?;
        self.slots.retain(|_, slot| !matches!(slot, Slot::Ready(domain) if domain.is_idle_for(IDLE)));
        let refused = self.slots.values().filter_map(|slot| match slot {
            Slot::Refused { position, .. } => Some(*position),
            Slot::Ready(_) => None,
        });
        Ok(refused.min())
    }

    /// Puts off domains that the other collector refuses.
    pub(super) fn put_off_refused(&mut self) {
        for (name, slot) in &mut self.slots {
            let Slot::Ready(domain) = slot else { continue };
            let Some(reason) = domain.refusal() else { continue };
            self.place.shared.forwarding.change(|status| {
                status.refused.insert(name.clone(), reason);
            });
            *slot = Slot::Refused { position: domain.noted, until: Instant::now() + REFUSED };
        }
    }

    /// Forgets the refusals whose time has come; the position to go back to for them.
    pub(super) fn take_up(&mut self) -> Option<u64> {
        let now = Instant::now();
        let mut back: Option<u64> = None;
        let shared = Rc::clone(&self.place.shared);
        self.slots.retain(|name, slot| match slot {
            Slot::Refused { position, until } if *until <= now => {
                back = Some(back.map_or(*position, |earlier| earlier.min(*position)));
                shared.forwarding.change(|status| drop(status.refused.remove(name)));
                false
            }
            _ => true,
        });
        back
    }
}
