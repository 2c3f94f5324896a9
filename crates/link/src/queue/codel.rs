//! CoDel (RFC 8289), and mm-link's variant of it.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Bytes, Duration, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};

/// Which CoDel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoDelVariant {
    /// RFC 8289 section 5.
    #[default]
    Rfc,
    /// As mm-link does it: times in whole milliseconds (the control law rounds down), no ECN, and where the
    /// RFC drops the packet at the head and sends the one behind it, it sends the head and drops the one
    /// behind it (source of these facts: its `codel_packet_queue.cc` at commit 2ac8d1c).
    Mahimahi,
}

/// What CoDel goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelParameters {
    /// TARGET: the standing delay that is accepted (RFC 8289 section 5.3: 5 ms).
    pub target: Duration,
    /// INTERVAL: how long the delay may stay above it (RFC 8289 section 5.3: 100 ms).
    pub interval: Duration,
    /// MAXPACKET: never drop when no more than this is left (RFC 8289 section 5.3: the MTU). A larger packet that was seen takes
    /// its place, but in mm-link's.
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
    largest: Bytes,
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
                // A mark takes the place of the drop, and the packet goes (RFC 8290 section 5.2.6 has it on
                // by default).
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
    fn examine<P: Packet>(
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
        if parameters.variant == CoDelVariant::Rfc {
            self.largest = self.largest.max(head.packet.size());
        }
        let spared = parameters.maximum_packet.max(self.largest);
        if sojourn < parameters.target || source.bytes_left() <= spared {
            self.first_above = None;
            return (Some(head), false);
        }
        let first_above = *self.first_above.get_or_insert(clock + parameters.interval);
        (Some(head), clock >= first_above)
    }

    fn drop_one<P: Packet>(
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

/// Keys of CoDel, wherever it stands.
pub(super) const TARGET: Key =
    Key { name: "target", takes: Takes::Span, words: "Accepted standing delay; default 5 ms." };
pub(super) const INTERVAL: Key = Key {
    name: "interval",
    takes: Takes::Span,
    words: "How long the delay may stay above target; default 100 ms.",
};
/// Of every queue that marks.
pub(super) const ECN: Key = Key {
    name: "ecn",
    takes: Takes::Flag,
    words: "Mark packets that can be marked instead of dropping them.",
};

/// `codel:packets=1000,target=5ms,interval=100ms`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDelSpec {
    /// 1000 packets unless given.
    pub(crate) limit: LimitSpec,
    /// What it goes by.
    pub(crate) parameters: CoDelParameters,
}

impl Declared for CoDelSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "codel",
        words: "CoDel (RFC 8289); default limit 1000 packets.",
        head: None,
        keys: &[LimitSpec::PACKETS, LimitSpec::BYTES, LimitSpec::BDP, TARGET, INTERVAL, ECN],
        example: "codel:packets=1000,target=5ms,interval=100ms",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let parameters = CoDelParameters::read(arguments, CoDelParameters::default())?;
        Ok(Self { limit: LimitSpec::read(arguments)?.or_packets(1000), parameters })
    }
}

impl DeclaredQueue for CoDelSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(CoDel::new(self.parameters, self.limit.resolve(surroundings)?)))
    }
}

impl CoDelParameters {
    /// What is set of CoDel, and the rest as in `default`.
    pub(super) fn read(arguments: &Arguments<'_>, default: Self) -> Result<Self, ElementError> {
        Ok(Self {
            target: arguments.span("target")?.unwrap_or(default.target),
            interval: arguments.span("interval")?.unwrap_or(default.interval),
            ecn: arguments.flag("ecn")?.unwrap_or(default.ecn),
            ..default
        })
    }
}

/// `codel-mahimahi:packets=1000,target=5ms,interval=100ms`, as mm-link has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MahimahiCoDelSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
    /// What it goes by.
    pub(crate) parameters: CoDelParameters,
}

impl Declared for MahimahiCoDelSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "codel-mahimahi",
        words: "CoDel as in mm-link; needs a limit, target and interval.",
        head: None,
        keys: &[LimitSpec::PACKETS, LimitSpec::BYTES, LimitSpec::BDP, TARGET, INTERVAL],
        example: "codel-mahimahi:packets=1000,target=5ms,interval=100ms",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let limit = LimitSpec::required(arguments)?;
        match (arguments.span("target")?, arguments.span("interval")?) {
            (Some(target), Some(interval)) => {
                Ok(Self { limit, parameters: CoDelParameters::mahimahi(target, interval) })
            }
            _ => Err(arguments.missing("target and interval")),
        }
    }
}

impl DeclaredQueue for MahimahiCoDelSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(CoDel::new(self.parameters, self.limit.resolve(surroundings)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::testing::Bench;

    fn bench(parameters: CoDelParameters) -> Bench<CoDel<crate::queue::testing::Numbered>> {
        Bench::new(CoDel::new(parameters, Limit::NONE))
    }

    fn mahimahi() -> CoDelParameters {
        CoDelParameters::mahimahi(Duration::from_milliseconds(5), Duration::from_milliseconds(100))
    }

    /// 2000 packets come at 0 and leave one in each millisecond from 10 on: milliseconds of the drops before
    /// `end`.
    fn drop_times(parameters: CoDelParameters, end: u64) -> Vec<u64> {
        let mut bench = bench(parameters);
        (0..2_000).for_each(|_| bench.enqueue(0, 0));
        (10..end).for_each(|now| assert!(bench.dequeue(now).is_some()));
        bench.take_drops().iter().map(|(time, ..)| *time).collect()
    }

    #[test]
    fn drops_follow_the_control_law() {
        // Above target from 10 on, so that the first drop is at 110, the next an interval later, and then
        // after 100/√2 = 70.71, 100/√3 = 57.74, 50, 44.72, 40.82, 37.80, 35.36, 33.33: 280.71, 338.45,
        // 388.45, 433.17, 473.99, ...
        let times = drop_times(CoDelParameters::default(), 590);
        assert_eq!(times, [110, 210, 281, 339, 389, 434, 474, 512, 548, 581]);
    }

    #[test]
    fn the_law_of_mm_link_rounds_down_to_milliseconds() {
        // 210 + 70 + 57 + 50 + 44 + 40 + 37
        assert_eq!(drop_times(mahimahi(), 510), [110, 210, 280, 337, 387, 431, 471, 508]);
    }

    #[test]
    fn the_head_is_dropped_and_in_mm_link_the_one_behind_it() {
        for (parameters, dropped, sent) in [(CoDelParameters::default(), 100, 101), (mahimahi(), 101, 100)] {
            let mut bench = bench(parameters);
            (0..2_000).for_each(|_| bench.enqueue(0, 0));
            // Numbers 0 to 99 leave from 10 to 109.
            let last = (10..=110).map(|now| bench.dequeue(now)).last().unwrap();
            assert_eq!(last.unwrap().number, sent);
            assert_eq!(bench.take_drops(), [(110, dropped, Cause::Managed)]);
        }
    }

    #[test]
    fn a_new_dropping_state_goes_on_where_the_last_one_ended() {
        let mut bench = bench(CoDelParameters::default());
        // Up to 349, 340 packets leave and 4 are dropped (110, 210, 281, 339); what is left came at 349.
        (0..344).for_each(|_| bench.enqueue(0, 0));
        (0..500).for_each(|_| bench.enqueue(349, 0));
        (10..600).for_each(|now| assert!(bench.dequeue(now).is_some()));
        let times: Vec<u64> = bench.take_drops().iter().map(|(time, ..)| *time).collect();
        // Below target at 350, above again at 354, dropping at 454 with count 4 − 1 = 3, not 1: then after
        // 57.74 (count 3), 50, 44.72.
        assert_eq!(times, [110, 210, 281, 339, 454, 512, 562]);
    }

    #[test]
    fn a_next_drop_still_ahead_counts_as_recent_but_not_in_mm_link() {
        for (parameters, count) in [(CoDelParameters::default(), 4), (mahimahi(), 1)] {
            let drop_next = Time::from_milliseconds(1_010);
            let mut controller = Controller { count: 5, last_count: 1, drop_next, ..Controller::default() };
            controller.start_dropping(&parameters, Time::from_milliseconds(1_000));
            assert_eq!(controller.count, count);
        }
    }

    #[test]
    fn the_last_packets_are_never_dropped() {
        let mut bench = bench(CoDelParameters::default());
        // With every dequeue, 1500 bytes are left: no more than a full packet, however long it waited.
        bench.enqueue(0, 0);
        for round in 1..50 {
            bench.enqueue(round * 100, 0);
            assert!(bench.dequeue(round * 100).is_some());
        }
        assert_eq!(bench.take_drops(), []);
    }

    #[test]
    fn neither_is_the_last_packet_of_9000_bytes_but_in_mm_link() {
        for (parameters, is_spared) in [(CoDelParameters::default(), true), (mahimahi(), false)] {
            let mut bench = bench(parameters);
            bench.size = 9000;
            bench.enqueue(0, 0);
            for round in 1..50 {
                bench.enqueue(round * 100, 0);
                bench.dequeue(round * 100);
            }
            assert_eq!(bench.take_drops().is_empty(), is_spared);
        }
    }

    #[test]
    fn capable_packets_are_marked_at_the_same_instants_instead() {
        let mut bench = bench(CoDelParameters { ecn: true, ..CoDelParameters::default() });
        bench.ecn = Ecn::Capable0;
        (0..2_000).for_each(|_| bench.enqueue(0, 0));
        let marked = |now: &u64| bench.dequeue(*now).unwrap().ecn == Ecn::CongestionExperienced;
        let times: Vec<u64> = (10..400).filter(marked).collect();
        assert_eq!(times, [110, 210, 281, 339, 389]);
        assert_eq!((bench.take_drops().len(), bench.queue.marked()), (0, 5));
    }
}
