//! A driver without a path: whole windows of acknowledgements at a round-trip time of one's choice.

use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, Context, Controller, Factory, Loss, Timeout,
};
use trialwise_units::{Bytes, Duration, Seed, Time};

pub(crate) const SEGMENT: u64 = 1000;

pub(crate) struct Feeder {
    pub(crate) controller: AnyController,
    pub(crate) now: Time,
    pub(crate) rtt: Duration,
    acknowledged: u64,
}

impl Feeder {
    pub(crate) fn new(algorithm: Algorithm, rtt: Duration) -> Self {
        let now = Time::from_milliseconds(1000);
        let segment = Bytes::new(SEGMENT);
        let context = Context {
            now,
            segment,
            line_rate: None,
            base_rtt: None,
            path_window: None,
            hops: None,
            seed: Seed::new(1),
        };
        Self { controller: algorithm.build(&context).unwrap(), now, rtt, acknowledged: 0 }
    }

    /// The window in segments.
    pub(crate) fn window(&self) -> f64 {
        self.controller.window().unwrap().get() as f64 / SEGMENT as f64
    }

    pub(crate) fn threshold(&self) -> f64 {
        self.controller.state().slow_start_threshold.unwrap().get() as f64 / SEGMENT as f64
    }

    /// What is in flight in bytes while the window is full.
    fn flight(&self) -> u64 {
        self.controller.window().unwrap().get() / SEGMENT * SEGMENT
    }

    /// The acknowledgement of so many segments now, of a full window.
    pub(crate) fn event(&self, segments: u64) -> Acknowledgement<'static> {
        let cumulative = self.acknowledged + segments * SEGMENT;
        Acknowledgement {
            now: self.now,
            acknowledged: Bytes::new(segments * SEGMENT),
            cumulative,
            next_sequence: self.acknowledged + self.flight(),
            in_flight: Bytes::new(self.flight().saturating_sub(segments * SEGMENT)),
            in_recovery: false,
            rtt: Some(self.rtt),
            one_way_delay: Some(self.rtt / 2),
            packets: segments as u32,
            marked_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            rate_sample: None,
            application_limited: false,
            hops: &[],
            reports: &[],
            note: &[],
        }
    }

    pub(crate) fn feed(&mut self, event: &Acknowledgement<'_>) {
        self.acknowledged = event.cumulative;
        self.controller.on_acknowledgement(event);
    }

    /// One segment.
    pub(crate) fn acknowledge(&mut self) {
        let event = self.event(1);
        self.feed(&event);
    }

    /// As many segments as the window holds, evenly over a round trip.
    pub(crate) fn round(&mut self) {
        let count = self.flight() / SEGMENT;
        let (start, rtt) = (self.now, self.rtt);
        for index in 1..=count {
            self.now = start + rtt * index / count;
            self.acknowledge();
        }
    }

    /// A segment of the full window is lost.
    pub(crate) fn lose(&mut self) {
        self.lose_of(self.flight(), true);
    }

    /// A segment is lost of so many bytes in flight.
    pub(crate) fn lose_of(&mut self, flight: u64, new_episode: bool) {
        self.controller.on_loss(&Loss {
            now: self.now,
            bytes: Bytes::new(SEGMENT),
            new_episode,
            in_flight: Bytes::new(flight - SEGMENT),
            next_sequence: self.acknowledged + flight,
            reports: &[],
        });
    }

    pub(crate) fn time_out(&mut self, repetition: u32) {
        let in_flight = Bytes::new(self.flight());
        let next_sequence = self.acknowledged;
        self.controller.on_timeout(&Timeout { now: self.now, in_flight, next_sequence, repetition });
    }

    /// Slow start until the window holds so many segments.
    pub(crate) fn grow_to(&mut self, segments: f64) {
        while self.window() < segments {
            self.acknowledge();
        }
    }
}

/// Whether two numbers differ by no more than this.
pub(crate) fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} for {expected} within {tolerance}");
}
