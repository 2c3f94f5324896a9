//! A source of media: what it does about the connection that carries it.

use std::collections::VecDeque;

use trialwise_units::{Duration, Time};

use crate::media::Media;
use crate::media::encoder::{Encoded, Encoder};
use crate::message::Message;
use crate::report::Captured;
use crate::sender::Sender;

/// Without feedback for so long, nothing is encoded.
const SILENCE: Duration = Duration::from_milliseconds(500);
/// A frame is left out while the oldest bytes before the pacer are older than so many frames.
const MOST_QUEUED: u64 = 2;

/// A source at work.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    encoder: Encoder,
    deadline: Option<Duration>,
    is_paused: bool,
    captured: VecDeque<Captured>,
}

impl Source {
    /// Captures its first frame at `start`.
    pub(crate) fn new(media: &Media, start: Time) -> Self {
        let encoder = Encoder::new(media.frames.clone(), media.fps, media.seed, start);
        Self { encoder, deadline: media.deadline, is_paused: false, captured: VecDeque::new() }
    }

    /// When the next frame is captured.
    pub(crate) const fn next(&self) -> Time {
        self.encoder.next()
    }

    /// The next frame that has been captured, or left out.
    pub(crate) fn take_captured(&mut self) -> Option<Captured> {
        self.captured.pop_front()
    }

    /// Captures what is due.
    pub(crate) fn advance(&mut self, now: Time, sender: &mut Sender) {
        while self.encoder.next() <= now {
            sender.abandon(now);
            if sender.take_abandoned() > 0 {
                self.encoder.want_key();
            }
            let was_paused = std::mem::replace(&mut self.is_paused, sender.silence(now) >= SILENCE);
            if was_paused && !self.is_paused {
                self.encoder.want_key();
            }
            if self.is_paused || self.is_queue_old(now, sender) {
                self.skip();
            } else {
                self.encode(now, sender);
            }
        }
    }

    fn is_queue_old(&self, now: Time, sender: &Sender) -> bool {
        sender.queued_since().is_some_and(|since| now - since > self.encoder.period() * MOST_QUEUED)
    }

    fn skip(&mut self) {
        let (frame, captured) = self.encoder.skip();
        self.captured.push_back(Captured {
            frame,
            captured,
            size: 0,
            is_key: false,
            is_skipped: true,
            target: None,
        });
    }

    fn encode(&mut self, now: Time, sender: &mut Sender) {
        let Encoded { number, captured, size, is_key, target } = self.encoder.encode(sender.source_rate());
        let deadline = self.deadline.map(|deadline| captured + deadline);
        sender.write_message(now, Message { number, size, captured, deadline });
        self.captured.push_back(Captured {
            frame: number,
            captured,
            size,
            is_key,
            is_skipped: false,
            target,
        });
    }
}
