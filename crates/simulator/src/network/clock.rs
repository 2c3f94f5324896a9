//! The present, and what is to happen.

use trialwise_units::{Duration, Time};

use crate::event::{Event, EventQueue, Order};

/// The clock: the running event's time and its place, and the events to come.
pub(super) struct Clock {
    now: Time,
    running: Order,
    events: EventQueue,
}

impl Clock {
    /// At the beginning; fastest where events lie about so far apart.
    pub(super) fn new(spacing: Duration) -> Self {
        Self { now: Time::ZERO, running: Order::FIRST, events: EventQueue::new(spacing) }
    }

    /// The time of the running event.
    #[inline]
    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// The place of the running event among those of its time.
    #[inline]
    pub(super) const fn running(&self) -> Order {
        self.running
    }

    /// Goes on to the next event that is due by then.
    #[inline]
    pub(super) fn advance(&mut self, by: Time) -> Option<Event> {
        let due = self.events.pop().filter(|due| due.time <= by)?;
        self.now = due.time;
        self.running = due.order;
        Some(due.event)
    }

    /// Schedules an event in the next place.
    pub(super) fn schedule(&mut self, time: Time, event: Event) -> Order {
        self.events.schedule(time, event)
    }

    /// The next place among events of the same time.
    #[inline]
    pub(super) const fn reserve(&mut self) -> Order {
        self.events.reserve()
    }

    /// Schedules an event in a place reserved before.
    #[inline]
    pub(super) fn push(&mut self, time: Time, order: Order, event: Event) {
        self.events.push(time, order, event);
    }

    /// Whether nothing is to happen any more.
    pub(super) fn is_idle(&self) -> bool {
        self.events.is_empty()
    }
}
