//! What the program's handles and the writer share.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::clock::Ticks;
use super::counters::{Counters, Losses, PointCounters, Route, Status};
use super::point::PointState;
use super::ring::Consumer;
use super::sample;
use super::stream::Stream;

/// What an inject does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closed,
    Disabled,
}

/// A point and its streams on the way to the writer.
pub(super) struct NewPoint {
    pub(super) point: Arc<PointState>,
    pub(super) streams: Vec<Stream>,
    /// Declared after the start: its streams are defined by rows of stream 0.
    pub(super) late: bool,
}

/// What waits for the writer to take it over.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) rings: Vec<Consumer>,
    pub(super) points: Vec<NewPoint>,
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    /// When the writer gives up.
    pub(super) deadline: Option<Instant>,
    pub(super) finished: bool,
}

/// One client's common state.
pub(super) struct Shared {
    pub(super) id: u64,
    pub(super) ticks: Ticks,
    pub(super) ring_bytes: usize,
    state: AtomicU8,
    news: AtomicBool,
    /// First values that encodings did not carry.
    pub(super) losses: Losses,
    inbox: Mutex<Inbox>,
    /// Every point and route that there ever was, for the counters.
    points: Mutex<Vec<Arc<PointState>>>,
    routes: Mutex<Vec<Arc<Route>>>,
    destinations: Vec<Status>,
    /// Rings that the writer left at its end; what is in them is lost.
    left: Mutex<Vec<Consumer>>,
    pub(super) closing: Mutex<Closing>,
    pub(super) finished: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Gives every client a number of its own.
static NEXT_CLIENT: AtomicU64 = AtomicU64::new(0);

impl Shared {
    pub(super) fn new(ring_bytes: usize, state: State, destinations: Vec<Status>) -> Arc<Self> {
        Arc::new(Self {
            id: NEXT_CLIENT.fetch_add(1, Ordering::Relaxed),
            ticks: Ticks::choose(),
            ring_bytes,
            state: AtomicU8::new(state as u8),
            news: AtomicBool::new(false),
            losses: Losses::default(),
            inbox: Mutex::default(),
            points: Mutex::default(),
            routes: Mutex::default(),
            destinations,
            left: Mutex::default(),
            closing: Mutex::default(),
            finished: Condvar::new(),
        })
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        match self.state.load(Ordering::Relaxed) {
            0 => State::Open,
            1 => State::Closed,
            _ => State::Disabled,
        }
    }

    pub(super) fn set_closed(&self) {
        self.state.store(State::Closed as u8, Ordering::SeqCst);
    }

    /// Hands a new ring to the writer.
    pub(super) fn adopt(&self, ring: Consumer) {
        lock(&self.inbox).rings.push(ring);
        self.news.store(true, Ordering::Release);
    }

    /// Hands a new point to the writer; its counters are seen from now on.
    pub(super) fn add_point(&self, new: NewPoint) {
        let counters = new.streams.iter().flat_map(|stream| stream.routes.iter());
        lock(&self.routes).extend(counters.map(|route| Arc::clone(&route.counters)));
        lock(&self.points).push(Arc::clone(&new.point));
        lock(&self.inbox).points.push(new);
        self.news.store(true, Ordering::Release);
    }

    /// What came since the last call, if anything did.
    pub(super) fn take_news(&self) -> Option<Inbox> {
        self.news.swap(false, Ordering::Acquire).then(|| std::mem::take(&mut *lock(&self.inbox)))
    }

    /// Leaves rings behind: an inject that raced with the end may still have put something in.
    pub(super) fn leave(&self, rings: Vec<Consumer>) {
        lock(&self.left).extend(rings);
    }

    /// What encodings do not carry, a sentence for each stream of the program's that lost its first value since the last call.
    pub(super) fn first_losses(&self) -> Vec<String> {
        if !self.losses.take() {
            return Vec::new();
        }
        let routes = lock(&self.routes);
        routes.iter().filter(|route| !route.is_of_client()).filter_map(|route| route.first_loss()).collect()
    }

    pub(super) fn counters(&self) -> Counters {
        let mut points: Vec<_> = lock(&self.points).iter().map(|point| read_point(point)).collect();
        let ids: Vec<_> = lock(&self.points).iter().map(|point| point.id).collect();
        let inbox = lock(&self.inbox);
        let unread = if lock(&self.closing).finished { &inbox.rings[..] } else { &[] };
        for ring in lock(&self.left).iter().chain(unread) {
            count_left(ring, |id| {
                if let Some(place) = ids.iter().position(|known| *known == id) {
                    points[place].dropped += 1;
                }
            });
        }
        let routes = lock(&self.routes).iter().map(|route| route.read()).collect();
        Counters { points, routes, destinations: self.destinations.iter().map(Status::read).collect() }
    }
}

fn read_point(point: &PointState) -> PointCounters {
    PointCounters {
        point: point.name.clone(),
        injected: point.injected.load(Ordering::Acquire),
        dropped: point.dropped.load(Ordering::Acquire),
    }
}

/// Calls `count` with the point of every sample left in a ring.
fn count_left(ring: &Consumer, mut count: impl FnMut(u32)) {
    let mut offset = 0;
    while offset < ring.len() {
        let head = sample::head_at(ring, offset);
        count(head.point);
        offset += head.words;
    }
}

/// Locks; a thread that panicked with the lock leaves nothing half done here.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
