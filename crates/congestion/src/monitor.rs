//! Monitor intervals of performance-oriented congestion control: what became of the packets that were sent at one rate (Dong et
//! al., "PCC: Re-architecting Congestion Control for Consistent High Performance", NSDI 2015, section 3.1).

use std::collections::VecDeque;

use trialwise_units::{Bytes, Duration, Time};

use crate::{PacketOutcome, PacketReport};

/// Intervals whose packets are not all reported; beyond that the last one goes on.
const MAXIMUM_PENDING: usize = 16;

/// The sums of a least-squares line through the round-trip times of an interval, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// 0 where the points are no line.
    fn slope(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        if spread > 0.0 { (self.count * self.xy - self.x * self.y) / spread } else { 0.0 }
    }
}

/// Packets sent at one rate, and what became of them.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// The number of its trial; none where nothing hangs on it.
    pub(crate) trial: Option<u32>,
    /// The rate that was wanted, in bits per second.
    pub(crate) rate: f64,
    /// Whether the application held it back.
    pub(crate) is_limited: bool,
    first: u64,
    start: Time,
    deadline: Time,
    /// When the next one began.
    end: Option<Time>,
    sent_bytes: u64,
    sent: u64,
    arrived: u64,
    lost: u64,
    round_trips: Line,
}

impl Interval {
    /// The rate at which its packets left, in bits per second.
    pub(crate) fn sent_rate(&self) -> f64 {
        let span = self.end.map_or(0.0, |end| end.since(self.start).as_seconds());
        if span > 0.0 { self.sent_bytes as f64 * 8.0 / span } else { self.rate }
    }

    /// The share of its packets that was lost.
    pub(crate) fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }

    /// The same without one of the losses: what a single packet, which chance may have lost, would else say of a short interval.
    pub(crate) fn loss_but_one(&self) -> f64 {
        Self { lost: self.lost.saturating_sub(1), ..*self }.loss()
    }

    /// The mean round-trip time of its packets, in seconds; none where none was measured.
    pub(crate) fn round_trip(&self) -> Option<f64> {
        (self.round_trips.count > 0.0).then(|| self.round_trips.y / self.round_trips.count)
    }

    /// Seconds by which the round-trip time grew in a second, by least squares.
    pub(crate) fn gradient(&self) -> f64 {
        self.round_trips.slope()
    }

    fn is_complete(&self) -> bool {
        self.end.is_some() && self.arrived + self.lost >= self.sent
    }
}

/// The intervals of a flow, oldest first; the last one goes on.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    intervals: VecDeque<Interval>,
    /// No interval has fewer packets.
    minimum_packets: u64,
}

impl Monitor {
    pub(crate) fn new(minimum_packets: u64) -> Self {
        Self { intervals: VecDeque::with_capacity(MAXIMUM_PENDING), minimum_packets }
    }

    /// Whether the packet that leaves now begins another interval.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        self.intervals.back().is_none_or(|last| {
            let has_room = self.intervals.len() < MAXIMUM_PENDING;
            has_room && now >= last.deadline && last.sent >= self.minimum_packets
        })
    }

    /// The packet of this number begins an interval that lasts for `span`.
    pub(crate) fn begin(&mut self, now: Time, first: u64, span: Duration, (trial, rate): (Option<u32>, f64)) {
        if let Some(last) = self.intervals.back_mut() {
            last.end = Some(now);
        }
        self.intervals.push_back(Interval {
            trial,
            rate,
            is_limited: false,
            first,
            start: now,
            deadline: now + span,
            end: None,
            sent_bytes: 0,
            sent: 0,
            arrived: 0,
            lost: 0,
            round_trips: Line::default(),
        });
    }

    /// A packet leaves.
    pub(crate) fn on_sent(&mut self, bytes: Bytes) {
        if let Some(last) = self.intervals.back_mut() {
            last.sent += 1;
            last.sent_bytes = last.sent_bytes.saturating_add(bytes.get());
        }
    }

    /// What became of a packet; one of an interval that is over counts no more.
    pub(crate) fn on_report(&mut self, report: &PacketReport) {
        let Some(interval) = self.interval_of(report.number) else { return };
        match report.outcome {
            PacketOutcome::Arrived(_) => interval.arrived += 1,
            PacketOutcome::Lost => interval.lost += 1,
            PacketOutcome::Returned => {
                interval.arrived += 1;
                interval.lost = interval.lost.saturating_sub(1);
            }
        }
    }

    /// A packet that was sent at `sent` took so long, and the application held the flow back, or did not.
    pub(crate) fn on_round_trip(&mut self, report: &PacketReport, rtt: Option<Duration>, is_limited: bool) {
        let Some(interval) = self.interval_of(report.number) else { return };
        interval.is_limited |= is_limited;
        if let Some(rtt) = rtt {
            interval.round_trips.add(report.sent.since(interval.start).as_seconds(), rtt.as_seconds());
        }
    }

    fn interval_of(&mut self, number: u64) -> Option<&mut Interval> {
        self.intervals.iter_mut().rev().find(|interval| interval.first <= number)
    }

    /// The oldest interval, once it is over and all its packets are reported.
    pub(crate) fn take(&mut self) -> Option<Interval> {
        if self.intervals.front()?.is_complete() { self.intervals.pop_front() } else { None }
    }

    /// Forgets all: nothing will be reported of what is in flight.
    pub(crate) fn restart(&mut self) {
        self.intervals.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_milliseconds;
    const MILLISECOND: Duration = Duration::from_milliseconds(1);

    fn report(number: u64, outcome: PacketOutcome) -> PacketReport {
        PacketReport { number, sent: AT(number), bytes: Bytes::new(1000), outcome }
    }

    /// Two intervals of ten packets, one for each millisecond; the second goes on.
    fn monitor() -> Monitor {
        let mut monitor = Monitor::new(5);
        for number in 0..20 {
            if monitor.is_over(AT(number)) {
                monitor.begin(AT(number), number, MILLISECOND * 10, (Some(number as u32 / 10), 8e6));
            }
            monitor.on_sent(Bytes::new(1000));
        }
        monitor
    }

    #[test]
    fn an_interval_is_known_when_all_its_packets_are() {
        let mut monitor = monitor();
        for number in (0..10).filter(|number| *number != 3) {
            monitor.on_report(&report(number, PacketOutcome::Arrived(None)));
        }
        assert!(monitor.take().is_none());
        monitor.on_report(&report(3, PacketOutcome::Lost));
        let interval = monitor.take().unwrap();
        assert_eq!((interval.trial, interval.loss(), interval.sent_rate()), (Some(0), 0.1, 8e6));
        assert!(monitor.take().is_none());
    }

    #[test]
    fn a_packet_that_returns_was_not_lost() {
        let mut monitor = monitor();
        (0..9).for_each(|number| monitor.on_report(&report(number, PacketOutcome::Lost)));
        monitor.on_report(&report(4, PacketOutcome::Returned));
        monitor.on_report(&report(9, PacketOutcome::Arrived(None)));
        assert_eq!(monitor.take().unwrap().loss(), 0.8);
        // Its interval is over.
        monitor.on_report(&report(5, PacketOutcome::Returned));
        assert!(monitor.take().is_none());
    }

    #[test]
    fn the_gradient_is_that_of_the_round_trip_times() {
        let mut monitor = monitor();
        for number in 0..10 {
            let arrived = report(number, PacketOutcome::Arrived(None));
            monitor.on_report(&arrived);
            monitor.on_round_trip(&arrived, Some(MILLISECOND * 40 + MILLISECOND * number / 20), number == 7);
        }
        let interval = monitor.take().unwrap();
        assert!((interval.gradient() - 0.05).abs() < 1e-12, "{}", interval.gradient());
        assert!(interval.is_limited);
    }

    #[test]
    fn short_intervals_wait_for_their_packets_and_pending_ones_are_few() {
        let mut monitor = Monitor::new(5);
        for number in 0..1000 {
            if monitor.is_over(AT(number)) {
                monitor.begin(AT(number), number, MILLISECOND, (None, 8e6));
            }
            monitor.on_sent(Bytes::new(1000));
        }
        assert_eq!(monitor.intervals.len(), MAXIMUM_PENDING);
        assert!(monitor.intervals.iter().rev().skip(1).all(|interval| interval.sent == 5));
    }
}
