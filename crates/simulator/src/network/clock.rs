//! The present, and what is to happen.

use trialwise_units::Time;

use super::parts::Parts;
use super::terms::Terms;
use super::windows::Windows;
use crate::event::{Entry, Event, EventQueue, Order, Ties};
use crate::index::PartId;

/// The clock: the running event's time and its place, and the events to come.
///
/// With [`Windows`] the events are those of one part in one window; what is to happen elsewhere or later waits there.
pub(super) struct Clock {
    now: Time,
    running: Order,
    events: EventQueue,
    /// The part that acts, and the end of its window.
    part: PartId,
    end: Time,
    windows: Windows,
}

impl Clock {
    pub(super) fn new(terms: &Terms<'_>, parts: &Parts) -> Self {
        let (spacing, ties, end) = match parts.lookahead() {
            Some(lookahead) => (Windows::spacing(lookahead), Ties::Place, Time::ZERO),
            None => (terms.event_spacing(), Ties::Reserved, Time::MAX),
        };
        Self {
            now: Time::ZERO,
            running: Order::FIRST,
            events: EventQueue::new(spacing, ties),
            part: PartId::FIRST,
            end,
            windows: Windows::new(parts),
        }
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
        let order = self.events.reserve(event);
        match event {
            Event::Launch | Event::Fault | Event::Sample if self.end != Time::MAX => {
                self.windows.push_common(Entry::new(time, order));
            }
            _ => self.push(time, order),
        }
        order
    }

    /// The next place of this event among those of the same time.
    #[inline]
    pub(super) const fn reserve(&mut self, event: Event) -> Order {
        self.events.reserve(event)
    }

    /// Schedules an event of the part that acts in a place reserved before.
    #[inline]
    pub(super) fn push(&mut self, time: Time, order: Order) {
        self.push_to(self.part, time, order);
    }

    /// The same of any part.
    #[inline]
    pub(super) fn push_to(&mut self, part: PartId, time: Time, order: Order) {
        let entry = Entry::new(time, order);
        if time < self.end && part == self.part {
            self.events.push(entry);
        } else {
            self.windows.push(part, entry);
        }
    }

    /// Whether nothing is to happen any more.
    pub(super) fn is_idle(&self) -> bool {
        self.events.is_empty() && self.windows.are_empty()
    }

    /// Lets a part act outside of a window.
    pub(super) const fn act_for(&mut self, part: PartId) {
        self.part = part;
    }

    /// When the first thing is to happen anywhere.
    pub(super) fn earliest(&self) -> u64 {
        self.windows.earliest()
    }

    /// The end of the window that begins with what comes first, where that is due by then.
    pub(super) fn open_window(&self, first: u64, by: Time) -> Option<Time> {
        self.windows.open(first, by)
    }

    /// Goes to a part that has something to do before the end of the window.
    pub(super) fn enter(&mut self, part: PartId, end: Time) -> bool {
        let Some(start) = self.windows.first(part).filter(|first| *first < end) else { return false };
        (self.part, self.end) = (part, end);
        self.events.restart(start);
        while let Some(entry) = self.windows.take(part, end) {
            self.events.push(entry);
        }
        true
    }

    /// Closes the window of all parts at what happened last.
    pub(super) const fn close_window(&mut self, last: Time) {
        (self.now, self.end) = (last, Time::ZERO);
    }

    /// Takes what is common to all and due before the end of a window.
    pub(super) fn next_common(&mut self, end: Time) -> Option<Event> {
        let due = self.events.due(self.windows.take_common(end)?);
        (self.now, self.running) = (due.time, due.order);
        Some(due.event)
    }
}
