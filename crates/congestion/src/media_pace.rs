//! When packets of a source that adapts leave: frames faster than their mean rate, but no more of them.

use trialwise_units::{Bytes, Duration, Rate, Time};

/// What leaves faster than the target is as much as the target sends in this time: the largest frames.
const AHEAD: f64 = 0.1;
/// Packets of so long a time leave together (libwebrtc).
const TOGETHER: Duration = Duration::from_milliseconds(5);

/// The pacer of libwebrtc lets the frames of an encoder, which follows the target, leave 2.5 times as fast. A source that always has
/// something to send is held to the target: what it is ahead of it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaPace {
    factor: f64,
    /// Bytes sent beyond the target, which go by at the target's rate.
    ahead: f64,
    sent: Option<Time>,
}

impl MediaPace {
    /// Packets may leave so many times as fast as the target has it.
    pub(crate) const fn new(factor: f64) -> Self {
        Self { factor, ahead: 0.0, sent: None }
    }

    /// A packet leaves while this is the target in bits per second.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64, target: f64) {
        let passed = self.sent.map_or(Duration::ZERO, |sent| now.since(sent)).as_seconds();
        self.ahead = (self.ahead - passed * target / 8.0).max(0.0) + bytes as f64;
        self.sent = Some(now);
    }

    /// At which the next packet may follow.
    pub(crate) fn rate(&self, target: f64) -> Rate {
        let factor = if self.ahead > AHEAD * target / 8.0 { 1.0 } else { self.factor };
        Rate::from_bits_per_second((target * factor) as u64)
    }

    /// How much may leave together.
    pub(crate) fn burst(&self, target: f64) -> Bytes {
        self.rate(target).bytes_in(TOGETHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_faster_and_a_source_without_end_at_the_target() {
        let target = 1e6;
        // Frames of 1/30 s: 4 packets, each of 1042 bytes.
        let mut pace = MediaPace::new(2.5);
        for frame in 0..100_u64 {
            for packet in 0..4 {
                pace.on_sent(Time::from_nanoseconds(frame * 33_333_333 + packet * 3_333_333), 1042, target);
                assert_eq!(pace.rate(target), Rate::from_bits_per_second(2_500_000));
            }
        }
        // Without end: within a tenth of a second's worth of the target, whenever one looks.
        let (mut pace, mut now, mut sent) = (MediaPace::new(2.5), Time::ZERO, 0.0);
        while now < Time::from_milliseconds(10_000) {
            pace.on_sent(now, 1250, target);
            now += pace.rate(target).transmission_time(Bytes::new(1250));
            sent += 1250.0;
        }
        assert!((1.25e6..1.25e6 + 12_500.0 + 2500.0).contains(&sent), "{sent}");
    }
}
