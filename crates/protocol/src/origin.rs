//! What a receiver says of times, as far as it can be so.

use trialwise_units::{Duration, Time};

/// What a receiver says of the time between a packet and its answer is believed up to here, in nanoseconds; no round-trip
/// time is shorter than a clock can tell.
const MAX_HELD: u64 = 1_000_000_000;
const MIN_RTT: Duration = Duration::from_nanoseconds(1);
/// The first one-way delay of a flow counts as this much, in nanoseconds, so that later ones may be smaller.
const FIRST: i128 = 10_000_000_000;
/// Two clocks drift apart by no more than this part of the time, twice what NTP may slew (RFC 5905, section 11.3: 500 ppm), and
/// are no more precise than a millisecond.
const DRIFT: u64 = 1000;
const PRECISION: Duration = Duration::from_milliseconds(1);

/// The round-trip time of a packet whose answer came at `arrival` and had been held for `held` nanoseconds; none where it was
/// held for longer than it was away.
pub(crate) fn round_trip(sent: Time, arrival: Time, held: u64) -> Option<Duration> {
    let away = arrival - sent;
    let held = Duration::from_nanoseconds(held.min(MAX_HELD));
    (held <= away).then(|| (away - held).max(MIN_RTT))
}

/// Where the receiver's clock stands against ours, up to a constant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    fixed: Option<Fixed>,
}

#[derive(Clone, Copy, Debug)]
struct Fixed {
    /// Nanoseconds of its clock at an arrival less those of ours at the departure.
    difference: i128,
    sent: Time,
    /// The one-way delay behind the difference was no longer than this.
    round_trip: Duration,
}

impl Origin {
    /// The one-way delay of a packet that was sent at `sent` and whose answer was back at `back`, when its receiver says that
    /// its clock showed `arrival` nanoseconds; up to a constant that never makes it negative.
    ///
    /// None where it cannot be so, as it would have come before it was sent or after its answer: then the receiver lies, or its
    /// clock was set, and this packet is the origin of those that follow.
    pub(crate) fn delay(&mut self, sent: Time, back: Time, arrival: u64) -> Option<Duration> {
        let difference = i128::from(arrival) - i128::from(sent.nanoseconds());
        let here = Fixed { difference, sent, round_trip: back - sent };
        let fixed = *self.fixed.get_or_insert(here);
        let later = difference - fixed.difference;
        if !fixed.permits(later, &here) {
            self.fixed = Some(here);
            return None;
        }
        u64::try_from((later + FIRST).max(0)).ok().map(Duration::from_nanoseconds)
    }
}

impl Fixed {
    /// Whether a packet can have had a one-way delay so much longer than that of the origin.
    fn permits(&self, later: i128, packet: &Self) -> bool {
        let drift = packet.sent.since(self.sent) / DRIFT + PRECISION;
        let bound =
            |round_trip: Duration| i128::from(round_trip.nanoseconds()) + i128::from(drift.nanoseconds());
        -bound(self.round_trip) <= later && later <= bound(packet.round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_milliseconds;
    const MILLISECOND: Duration = Duration::from_milliseconds(1);
    /// Ours is so far behind, in milliseconds.
    const AHEAD: u64 = 7_000_000;

    /// Packets as (sent, arrived by our clock, answer back) in milliseconds.
    fn delays(packets: &[(u64, u64, u64)]) -> Vec<Option<u64>> {
        let mut origin = Origin::default();
        let delay = |&(sent, arrived, back): &(u64, u64, u64)| {
            origin.delay(AT(sent), AT(back), (AHEAD + arrived) * 1_000_000).map(Duration::milliseconds)
        };
        packets.iter().map(delay).collect()
    }

    #[test]
    fn delays_count_from_the_first() {
        let first = 10_000;
        assert_eq!(
            delays(&[(0, 20, 40), (10, 35, 60), (20, 25, 30)]),
            [Some(first), Some(first + 5), Some(first - 15)]
        );
    }

    #[test]
    fn what_comes_before_it_is_sent_or_after_its_answer_is_not_believed() {
        // The first took 40 ms at most, so that 42 ms less is a lie, drift or not; and so is an arrival behind its answer.
        assert_eq!(delays(&[(100, 120, 140), (200, 178, 240)])[1], None);
        assert_eq!(delays(&[(100, 120, 140), (200, 262, 240)])[1], None);
    }

    #[test]
    fn a_clock_that_is_set_costs_one_packet() {
        let found = delays(&[(0, 20, 40), (10, 5030, 50), (20, 5041, 61)]);
        assert_eq!(found, [Some(10_000), None, Some(10_001)]);
    }

    #[test]
    fn clocks_that_drift_are_believed() {
        // 100 ppm for an hour.
        let packets: Vec<_> = (0..3600)
            .map(|second| (1000 * second, 1000 * second + 20 + second / 10, 1000 * second + 40))
            .collect();
        assert!(delays(&packets).iter().all(Option::is_some));
    }

    #[test]
    fn nothing_is_held_for_longer_than_it_was_away() {
        assert_eq!(round_trip(AT(0), AT(40), 7_000_000), Some(MILLISECOND * 33));
        assert_eq!(round_trip(AT(0), AT(40), 40_000_000), Some(MIN_RTT));
        assert_eq!(round_trip(AT(0), AT(40), 40_000_001), None);
        assert_eq!(round_trip(AT(0), AT(0), 0), Some(MIN_RTT));
    }
}
