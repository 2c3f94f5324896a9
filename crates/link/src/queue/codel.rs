//! CoDel (RFC 8289), and mm-link's variant of it.

use trialwise_units::{Bytes, Duration, Time};

use crate::element::{Cause, Drops};
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::{Limit, Queue, Waiting};

/// Which CoDel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoDelVariant {
    /// RFC 8289 section 5.
    #[default]
    Rfc,
    /// As mm-link does it: times in whole milliseconds (the control law rounds down), no ECN, and where the RFC drops the packet at the head
    /// and sends the one behind it, it sends the head and drops the one behind it.
    Mahimahi,
}

/// What CoDel goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelParameters {
    /// TARGET: the standing delay that is accepted (RFC 8289 section 4.3: 5 ms).
    pub target: Duration,
    /// INTERVAL: how long the delay may stay above it (RFC 8289 section 4.2: 100 ms).
    pub interval: Duration,
    /// MAXPACKET: never drop when no more than this is left (RFC 8289 section 4.4: the link's MTU).
    pub maximum_packet: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Which CoDel.
    pub variant: CoDelVariant,
}

impl Default for CoDelParameters {
    fn default() -> Self {
        Self {
            target: Duration::from_milliseconds(5),
            interval: Duration::from_milliseconds(100),
            maximum_packet: Bytes::new(1500),
            ecn: false,
            variant: CoDelVariant::Rfc,
        }
    }
}

impl CoDelParameters {
    /// mm-link's CoDel with this target and interval; its largest packet is 1504 bytes.
    pub fn mahimahi(target: Duration, interval: Duration) -> Self {
        Self {
            target,
            interval,
            maximum_packet: Bytes::new(1504),
            ecn: false,
            variant: CoDelVariant::Mahimahi,
        }
    }

    /// The instant as the variant's clock shows it.
    fn clock(&self, time: Time) -> Time {
        match self.variant {
            CoDelVariant::Rfc => time,
            CoDelVariant::Mahimahi => Time::from_milliseconds(time.milliseconds()),
        }
    }

    /// RFC 8289 section 5.6: `t + INTERVAL / sqrt(count)`.
    fn control_law(&self, time: Time, count: u32) -> Time {
        let root = f64::from(count).sqrt();
        time + match self.variant {
            CoDelVariant::Rfc => {
                Duration::from_picoseconds((self.interval.picoseconds() as f64 / root).round() as u64)
            }
            CoDelVariant::Mahimahi => {
                Duration::from_milliseconds((self.interval.milliseconds() as f64 / root) as u64)
            }
        }
    }
}

/// What CoDel takes packets from.
pub(super) trait Source<P> {
    /// The packet at the head.
    fn take(&mut self) -> Option<Waiting<P>>;

    /// `bytes()`: what is left after it.
    fn bytes_left(&self) -> Bytes;
}

/// CoDel's state (RFC 8289 section 5.2).
#[derive(Clone, Debug, Default)]
pub(super) struct Controller {
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    pub(super) marked: u64,
}

impl Controller {
    /// `dequeue()` of RFC 8289 section 5.5.
    pub(super) fn dequeue<P: Packet>(
        &mut self,
        parameters: &CoDelParameters,
        now: Time,
        source: &mut impl Source<P>,
        drops: &mut Drops<P>,
    ) -> Option<Waiting<P>> {
        let clock = parameters.clock(now);
        let (mut head, mut may_drop) = self.examine(parameters, clock, source);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && clock >= self.drop_next {
                self.count += 1;
                // A mark takes the place of the drop, and the packet goes (RFC 8290 section 5.2.6 has it on by default).
                if self.mark(parameters, &mut head) {
                    self.drop_next = parameters.control_law(self.drop_next, self.count);
                    break;
                }
                (head, may_drop) = self.drop_one(parameters, now, head, source, drops);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = parameters.control_law(self.drop_next, self.count);
                }
            }
        } else if may_drop {
            if !self.mark(parameters, &mut head) {
                (head, _) = self.drop_one(parameters, now, head, source, drops);
            }
            self.start_dropping(parameters, clock);
        }
        head
    }

    /// `dodequeue()` of RFC 8289 section 5.6: the packet at the head, and whether it may be dropped.
    fn examine<P>(
        &mut self,
        parameters: &CoDelParameters,
        clock: Time,
        source: &mut impl Source<P>,
    ) -> (Option<Waiting<P>>, bool) {
        let Some(head) = source.take() else {
            self.first_above = None;
            return (None, false);
        };
        let sojourn = clock - parameters.clock(head.arrival);
        if sojourn < parameters.target || source.bytes_left() <= parameters.maximum_packet {
            self.first_above = None;
            return (Some(head), false);
        }
        let first_above = *self.first_above.get_or_insert(clock + parameters.interval);
        (Some(head), clock >= first_above)
    }

    fn drop_one<P>(
        &mut self,
        parameters: &CoDelParameters,
        now: Time,
        head: Option<Waiting<P>>,
        source: &mut impl Source<P>,
        drops: &mut Drops<P>,
    ) -> (Option<Waiting<P>>, bool) {
        let (next, may_drop) = self.examine(parameters, parameters.clock(now), source);
        let (kept, lost) = match parameters.variant {
            CoDelVariant::Rfc => (next, head),
            CoDelVariant::Mahimahi => (head, next),
        };
        if let Some(lost) = lost {
            drops.record(now, lost.packet, Cause::Managed);
        }
        (kept, may_drop)
    }

    /// Goes on where the last dropping state ended, when that is not long ago (RFC 8289 section 5.5).
    fn start_dropping(&mut self, parameters: &CoDelParameters, clock: Time) {
        let delta = self.count.wrapping_sub(self.last_count);
        // mm-link subtracts without sign, so that a next drop still ahead counts as long ago.
        let is_ahead = parameters.variant == CoDelVariant::Mahimahi && self.drop_next > clock;
        let is_recent = clock - self.drop_next < parameters.interval * 16 && !is_ahead;
        self.dropping = true;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = parameters.control_law(clock, self.count);
        self.last_count = self.count;
    }

    fn mark<P: Packet>(&mut self, parameters: &CoDelParameters, head: &mut Option<Waiting<P>>) -> bool {
        let is_marked =
            parameters.ecn && head.as_mut().is_some_and(|waiting| mark_congestion(&mut waiting.packet));
        self.marked += u64::from(is_marked);
        is_marked
    }
}

/// A queue under CoDel, with a limit at its tail.
#[derive(Debug)]
pub struct CoDel<P> {
    parameters: CoDelParameters,
    limit: Limit,
    buffer: Buffer<P>,
    controller: Controller,
}

impl<P> CoDel<P> {
    /// An empty queue.
    pub fn new(parameters: CoDelParameters, limit: Limit) -> Self {
        Self { parameters, limit, buffer: Buffer::default(), controller: Controller::default() }
    }
}

impl<P> Source<P> for Buffer<P> {
    fn take(&mut self) -> Option<Waiting<P>> {
        self.pop()
    }

    fn bytes_left(&self) -> Bytes {
        self.tally().bytes
    }
}

impl<P: Packet> Queue<P> for CoDel<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        match self.limit.admits(self.buffer.tally(), waiting.size) {
            true => self.buffer.push(waiting),
            false => drops.record(waiting.arrival, waiting.packet, Cause::Overflow),
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.controller.dequeue(&self.parameters, now, &mut self.buffer, drops)
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }

    fn marked(&self) -> u64 {
        self.controller.marked
    }
}
