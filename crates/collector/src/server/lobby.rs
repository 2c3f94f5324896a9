//! Where connections are before the end of their header: for a while, on seats of their own and on places that nobody has yet. Where
//! all are taken, the oldest that says nothing goes when another wants to come in. So a crowd that says nothing keeps out neither a
//! sender nor who asks for the status.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::time::Instant;

/// Who has just come has so long to say something before another can have the seat.
const GRACE: Duration = Duration::from_millis(100);
/// Turns of the other tasks before one of them is sent away.
const TURNS: usize = 8;

/// The lobby.
#[derive(Clone, Debug)]
pub(crate) struct Lobby {
    /// Those of the lobby and the places, of which each connection has one to its end.
    seats: Arc<Semaphore>,
    guests: Arc<Mutex<Guests>>,
    /// Seats that are never places.
    size: usize,
}

#[derive(Debug, Default)]
struct Guests {
    /// Those that have said nothing complete, by the order in which they came, and how to send them away.
    silent: BTreeMap<u64, (Instant, oneshot::Sender<()>)>,
    came: u64,
    waiting: usize,
}

/// A seat, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    lobby: Lobby,
    number: u64,
    waiting: bool,
    /// Told when another has to have the seat.
    pub(super) sent_away: oneshot::Receiver<()>,
    /// The descriptor is counted while this is held.
    permit: Option<OwnedSemaphorePermit>,
}

impl Lobby {
    /// A lobby of so many seats beside so many places.
    pub(crate) fn new(size: usize, places: usize) -> Self {
        Self { seats: Arc::new(Semaphore::new(size + places)), guests: Arc::default(), size }
    }

    /// Takes a seat; where there is none, the oldest that is silent has to go.
    pub(super) async fn enter(&self) -> Option<Seat> {
        let permit = loop {
            match Arc::clone(&self.seats).try_acquire_owned() {
                Ok(permit) => break permit,
                Err(TryAcquireError::Closed) => return None,
                Err(TryAcquireError::NoPermits) => self.make_room().await,
            }
        };
        let (send_away, sent_away) = oneshot::channel();
        let mut guests = self.lock();
        guests.came += 1;
        let number = guests.came;
        guests.silent.insert(number, (Instant::now(), send_away));
        drop(guests);
        Some(Seat { lobby: self.clone(), number, waiting: false, sent_away, permit: Some(permit) })
    }

    /// Waits until somebody leaves, or the oldest has had its time and is sent away.
    async fn make_room(&self) {
        let oldest = self.lock().silent.first_key_value().map(|(_, (since, _))| *since + GRACE);
        let due = async {
            match oldest {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.seats.acquire() => return,
            () = due => {}
        }
        // What those in the lobby have said by now is read first, however late this thread comes to it.
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let mut guests = self.lock();
        let is_due = |place: &OccupiedEntry<'_, u64, (Instant, oneshot::Sender<()>)>| {
            self.seats.available_permits() == 0 && oldest.is_some_and(|due| place.get().0 + GRACE <= due)
        };
        if let Some((_, send_away)) = guests.silent.first_entry().filter(is_due).map(OccupiedEntry::remove) {
            let _ = send_away.send(()); // it may have left by itself
        }
    }

    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Leaves the lobby; what is returned is held as long as the connection.
    pub(super) fn leave(mut self) -> Option<OwnedSemaphorePermit> {
        self.permit.take()
    }

    /// Stays until there is a place, having said who it is; false when too many do: half of the seats are for those to come.
    pub(super) fn wait(&mut self) -> bool {
        let mut guests = self.lobby.lock();
        let may = guests.waiting < self.lobby.size / 2;
        if may {
            guests.waiting += 1;
            guests.silent.remove(&self.number);
            self.waiting = true;
        }
        may
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut guests = self.lobby.lock();
        guests.silent.remove(&self.number);
        guests.waiting -= usize::from(self.waiting);
    }
}
