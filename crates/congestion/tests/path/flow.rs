//! One sender: what is outstanding, what is lost, when it may send.

use std::collections::VecDeque;

use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, Context, Controller, Factory, Loss, PacketLog, RoundTrip,
    Sent, Timeout,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

/// Every packet, payload and wire alike.
pub(crate) const SEGMENT: Bytes = Bytes::new(1500);
/// A packet is lost when one sent this many later has arrived (RFC 9002, section 6.1.1).
const REORDERING: u64 = 3;
const MINIMUM_TIMEOUT: Duration = Duration::from_milliseconds(200);

/// A flow to run.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) algorithm: Algorithm,
    pub(crate) start: Time,
    /// Added to the way back.
    pub(crate) extra_delay: Duration,
    /// The rate at which the application writes; none for as fast as may be.
    pub(crate) application: Option<Rate>,
}

impl Plan {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, start: Time::ZERO, extra_delay: Duration::ZERO, application: None }
    }

    pub(crate) fn starting_at(self, seconds: f64) -> Self {
        Self { start: Time::ZERO + Duration::from_seconds(seconds), ..self }
    }

    pub(crate) fn farther_by(self, extra_delay: Duration) -> Self {
        Self { extra_delay, ..self }
    }

    pub(crate) fn writing(self, rate: Rate) -> Self {
        Self { application: Some(rate), ..self }
    }
}

/// A flow with the defaults of this algorithm.
pub(crate) fn named(name: &str) -> Plan {
    Plan::new(Algorithm::named(name, Rate::ZERO).unwrap())
}

/// What a packet carries, and its acknowledgement echoes.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) flow: usize,
    pub(crate) number: u64,
    pub(crate) sent: Time,
    pub(crate) application_limited: bool,
}

/// A packet that has arrived, on its way back.
#[derive(Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) header: Header,
    pub(crate) received: Time,
    pub(crate) arrival: Time,
}

pub(crate) struct Flow {
    pub(crate) plan: Plan,
    pub(crate) controller: AnyController,
    pub(crate) replies: VecDeque<Reply>,
    pub(crate) lost: u64,
    pub(crate) episodes: u64,
    pub(crate) timeouts: u64,
    outstanding: VecDeque<u64>,
    next_number: u64,
    recover: u64,
    next_departure: Time,
    timeout: Option<Time>,
    round_trip: RoundTrip,
    log: PacketLog,
    repetition: u32,
}

impl Flow {
    pub(crate) fn new(plan: Plan, seed: Seed) -> Self {
        let context = Context {
            now: plan.start,
            segment: SEGMENT,
            line_rate: None,
            base_rtt: None,
            path_window: None,
            hops: None,
            seed,
        };
        Self {
            plan,
            controller: plan.algorithm.build(&context).unwrap(),
            replies: VecDeque::new(),
            lost: 0,
            episodes: 0,
            timeouts: 0,
            outstanding: VecDeque::new(),
            next_number: 0,
            recover: 0,
            next_departure: plan.start,
            timeout: None,
            round_trip: RoundTrip::new(),
            log: PacketLog::default(),
            repetition: 0,
        }
    }

    /// When something happens here next.
    pub(crate) fn next_event(&self) -> Option<Time> {
        let departure = self.has_window().then(|| self.next_departure.max(self.next_writing()));
        let reply = self.replies.front().map(|reply| reply.arrival);
        [departure, reply, self.timeout, self.controller.next_timer()].into_iter().flatten().min()
    }

    /// Takes what has come back by now, and lets the timers run.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(reply) = self.replies.front().copied().filter(|reply| reply.arrival <= now) {
            self.replies.pop_front();
            self.receive(&reply);
        }
        if self.timeout.is_some_and(|time| time <= now) {
            self.time_out(now);
        }
        if self.controller.next_timer().is_some_and(|time| time <= now) {
            self.controller.on_timer(now);
        }
    }

    /// The next packet, if one may leave now.
    pub(crate) fn send(&mut self, flow: usize, now: Time) -> Option<Header> {
        if !self.has_window() || self.next_departure > now || self.next_writing() > now {
            return None;
        }
        let number = self.next_number;
        self.outstanding.push_back(number);
        self.next_number += 1;
        let gap =
            self.controller.pacing_rate().map_or(Duration::ZERO, |rate| rate.transmission_time(SEGMENT));
        self.next_departure = now + gap;
        let in_flight = self.in_flight();
        self.log.on_sent(now, SEGMENT.get(), in_flight.get());
        self.controller.on_sent(&Sent { now, number, bytes: SEGMENT, in_flight, retransmission: false });
        self.timeout.get_or_insert(now + self.timeout_after());
        let application_limited = self.has_window() && self.next_writing() > now;
        if application_limited {
            self.log.on_application_limited(in_flight.get());
        }
        Some(Header { flow, number, sent: now, application_limited })
    }

    fn in_flight(&self) -> Bytes {
        Bytes::new(self.outstanding.len() as u64 * SEGMENT.get())
    }

    fn has_window(&self) -> bool {
        self.controller.window().is_none_or(|window| self.in_flight() + SEGMENT <= window)
    }

    /// When the application writes the next packet.
    fn next_writing(&self) -> Time {
        let gap = self.plan.application.map_or(Duration::ZERO, |rate| rate.transmission_time(SEGMENT));
        self.plan.start + gap * self.next_number
    }

    fn offset(number: u64) -> u64 {
        number * SEGMENT.get()
    }

    fn receive(&mut self, reply: &Reply) {
        let (now, number) = (reply.arrival, reply.header.number);
        let Some(index) = self.outstanding.iter().position(|outstanding| *outstanding == number) else {
            return;
        };
        self.outstanding.remove(index);
        let rtt = now - reply.header.sent;
        self.round_trip.update(rtt);
        self.repetition = 0;
        self.log.on_arrived(now, number, reply.received);
        self.declare_lost(now, number);
        self.timeout = (!self.outstanding.is_empty()).then(|| now + self.timeout_after());
        let cumulative = self.outstanding.front().copied().unwrap_or(self.next_number);
        self.controller.on_acknowledgement(&Acknowledgement {
            now,
            acknowledged: SEGMENT,
            cumulative: Self::offset(cumulative),
            next_sequence: Self::offset(self.next_number),
            in_flight: self.in_flight(),
            in_recovery: number < self.recover,
            rtt: Some(rtt),
            one_way_delay: Some(reply.received - reply.header.sent),
            packets: 1,
            marked_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            rate_sample: self.log.sample(),
            application_limited: reply.header.application_limited,
            hops: &[],
            reports: self.log.arrivals(),
            note: &[],
        });
    }

    /// What is sent anew for a lost packet is a new packet, as in QUIC.
    fn declare_lost(&mut self, now: Time, arrived: u64) {
        while let Some(&number) = self.outstanding.front().filter(|number| **number + REORDERING <= arrived) {
            self.outstanding.pop_front();
            let new_episode = number >= self.recover;
            if new_episode {
                self.recover = self.next_number;
                self.episodes += 1;
            }
            self.lost += 1;
            self.log.on_lost_below(number + 1);
            self.controller.on_loss(&Loss {
                now,
                bytes: SEGMENT,
                new_episode,
                in_flight: self.in_flight(),
                next_sequence: Self::offset(self.next_number),
                reports: self.log.losses(),
            });
        }
    }

    fn time_out(&mut self, now: Time) {
        let in_flight = self.in_flight();
        self.lost += self.outstanding.len() as u64;
        self.timeouts += 1;
        self.outstanding.clear();
        self.log.on_lost_below(u64::MAX);
        self.repetition += 1;
        self.timeout = None;
        self.next_departure = now;
        self.controller.on_timeout(&Timeout {
            now,
            in_flight,
            next_sequence: Self::offset(self.next_number),
            repetition: self.repetition,
        });
    }

    fn timeout_after(&self) -> Duration {
        let timeout = self.round_trip.timeout(Duration::ZERO, MINIMUM_TIMEOUT);
        timeout.unwrap_or(MINIMUM_TIMEOUT * 5) * (1 << self.repetition.min(6))
    }
}
