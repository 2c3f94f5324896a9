//! What writes the payload of one connection: no sockets, `now` is passed in.

use trialwise_units::{Duration, Rate, Time};

use crate::load::{Exchange, Supply};
use crate::media::Source;
use crate::opening::ENDLESS;
use crate::report::Captured;
use crate::sender::Sender;

/// Something that was to be transferred, and has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which of the connection's transfers: 0, or the number of the request.
    pub index: u64,
    /// When the application began it.
    pub start: Time,
    /// When the sender knew that everything had arrived.
    pub end: Time,
    /// Bytes.
    pub size: u64,
}

/// The application at one end of a connection.
#[derive(Clone, Debug)]
pub struct Application {
    supply: Supply,
    start: Time,
    /// Bytes of one write where the application sets the rate.
    chunk: u64,
    /// Requests written.
    requests: u64,
    /// When the last of them was.
    asked: Time,
    /// When the next is to be; none while a response is outstanding.
    next_request: Option<Time>,
    heard: Time,
    received: u64,
    is_finished: bool,
    /// Of media.
    source: Option<Source>,
}

impl Application {
    /// Starts now; writes of `chunk` bytes where the application sets the rate.
    pub fn new(supply: Supply, start: Time, chunk: u64) -> Self {
        let (asked, heard, next_request) = (start, start, Some(start));
        let (requests, received, is_finished) = (0, 0, false);
        let source = if let Supply::Media(media) = &supply { Some(Source::new(media, start)) } else { None };
        Self { supply, start, chunk, requests, asked, next_request, heard, received, is_finished, source }
    }

    /// Writes what is due to a sender of ours.
    pub fn write(&mut self, now: Time, sender: &mut Sender) {
        match &mut self.source {
            Some(source) => source.advance(now, sender),
            None => sender.write(self.written(now)),
        }
    }

    /// The next frame of media that has been captured, or left out.
    pub fn take_captured(&mut self) -> Option<Captured> {
        self.source.as_mut()?.take_captured()
    }

    /// Bytes written by now, in all; media write to senders of ours only ([`Self::write`]).
    pub fn written(&mut self, now: Time) -> u64 {
        match self.supply {
            Supply::Endless => ENDLESS,
            Supply::Media(_) => 0,
            Supply::Rate(rate) => self.chunks(now, rate).saturating_mul(self.chunk),
            Supply::Size(size) => size,
            Supply::Requests(exchange) => {
                if self.next_request.is_some_and(|time| time <= now) && !self.is_finished {
                    self.next_request = None;
                    self.requests += 1;
                    self.asked = now;
                    self.heard = now;
                }
                self.requests.saturating_mul(exchange.request)
            }
        }
    }

    /// When the application writes again by itself.
    pub fn next_write(&self, now: Time) -> Option<Time> {
        match self.supply {
            Supply::Rate(rate) => Some(self.start + self.gap(rate) * self.chunks(now, rate)),
            Supply::Requests(_) => self.next_request.filter(|_| !self.is_finished),
            Supply::Media(_) => self.source.as_ref().map(Source::next),
            Supply::Endless | Supply::Size(_) => None,
        }
    }

    /// Takes note of how much is acknowledged and how much has come back, in all; what that completes.
    pub fn on_progress(&mut self, now: Time, acknowledged: u64, received: u64) -> Option<Completion> {
        if received > self.received {
            self.received = received;
            self.heard = now;
        }
        match self.supply {
            Supply::Size(size) if acknowledged >= size && !self.is_finished => {
                self.is_finished = true;
                Some(Completion { index: 0, start: self.start, end: now, size })
            }
            Supply::Requests(exchange) if self.is_answered(&exchange) => {
                self.next_request = Some(now + exchange.think);
                self.is_finished = exchange.count == Some(self.requests);
                let size = exchange.request.saturating_add(exchange.response);
                Some(Completion { index: self.requests - 1, start: self.asked, end: now, size })
            }
            _ => None,
        }
    }

    /// Whether all is done.
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Since when a response is awaited and nothing of it has come.
    pub fn waits_since(&self) -> Option<Time> {
        let waits = matches!(self.supply, Supply::Requests(_)) && self.next_request.is_none();
        waits.then_some(self.heard)
    }

    fn is_answered(&self, exchange: &Exchange) -> bool {
        self.next_request.is_none() && self.received >= self.requests.saturating_mul(exchange.response)
    }

    fn gap(&self, rate: Rate) -> Duration {
        rate.transmission_time(trialwise_units::Bytes::new(self.chunk))
    }

    /// Chunks written by now: the first at once.
    fn chunks(&self, now: Time, rate: Rate) -> u64 {
        let gap = self.gap(rate).picoseconds();
        1 + (now - self.start).picoseconds() / gap.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(milliseconds: u64) -> Time {
        Time::from_milliseconds(milliseconds)
    }

    #[test]
    fn a_rate_is_kept_from_the_start_on() {
        let supply = Supply::Rate(Rate::from_bits_per_second(8_000_000));
        let mut application = Application::new(supply, at(10), 1000);
        assert_eq!(application.written(at(10)), 1000);
        assert_eq!(application.next_write(at(10)), Some(at(11)));
        assert_eq!(application.written(at(1010)), 1_001_000);
    }

    #[test]
    fn a_transfer_completes_once() {
        let mut application = Application::new(Supply::Size(500), at(3), 1);
        assert_eq!(application.written(at(3)), 500);
        assert_eq!(application.on_progress(at(4), 499, 0), None);
        let completion = Completion { index: 0, start: at(3), end: at(5), size: 500 };
        assert_eq!(application.on_progress(at(5), 500, 0), Some(completion));
        assert_eq!(application.on_progress(at(6), 500, 0), None);
        assert!(application.is_finished());
    }

    #[test]
    fn requests_wait_for_their_responses_and_think() {
        let think = Duration::from_milliseconds(100);
        let exchange = Exchange { request: 200, response: 1000, think, count: Some(2) };
        let mut application = Application::new(Supply::Requests(exchange), at(0), 1);
        assert_eq!(application.written(at(0)), 200);
        assert_eq!((application.next_write(at(0)), application.waits_since()), (None, Some(at(0))));
        assert_eq!(application.on_progress(at(20), 200, 999), None);
        assert_eq!(application.waits_since(), Some(at(20)));
        let first = Completion { index: 0, start: at(0), end: at(30), size: 1200 };
        assert_eq!(application.on_progress(at(30), 200, 1000), Some(first));
        assert_eq!((application.written(at(129)), application.next_write(at(129))), (200, Some(at(130))));
        assert_eq!(application.written(at(130)), 400);
        assert_eq!(application.on_progress(at(150), 400, 2000).unwrap().index, 1);
        assert!(application.is_finished());
        assert_eq!((application.written(at(900)), application.next_write(at(900))), (400, None));
    }
}
