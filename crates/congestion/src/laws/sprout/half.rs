//! The half at the receiver: counts what comes in each tick, and forecasts.

use trialwise_units::{Duration, Time};

use super::filter::{Filter, HORIZON, TICK};
use super::forecast::{Forecast, PACKET};
use crate::{Note, Received, ReceiverHalf};

/// Ticks are made up for until here; a clock that is further ahead or behind has been set.
const MOST_LATE: u64 = 50;
/// Ticks end so long after the last packet.
const SILENCE: Duration = Duration::from_milliseconds(1000);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Half {
    filter: Filter,
    risk: f64,
    forecast: [u16; HORIZON],
    /// The number of the present tick, and its end.
    tick: u32,
    end: Time,
    /// What has come in it.
    bytes: u64,
    /// From when on the sender has more on the way, where it has said so.
    due: Option<Time>,
    /// Whether it had as the tick began.
    was_due: bool,
    last: Time,
}

impl Half {
    pub(super) fn new(risk: f64) -> Self {
        let filter = Filter::new();
        Self {
            forecast: filter.forecast(risk),
            filter,
            risk,
            tick: 0,
            end: Time::ZERO + TICK,
            bytes: 0,
            due: None,
            was_due: false,
            last: Time::ZERO,
        }
    }

    /// Ends the ticks that are over.
    fn advance(&mut self, now: Time) {
        for _ in 0..MOST_LATE {
            if self.end > now {
                break;
            }
            self.finish_tick();
        }
        if self.end <= now || self.end.since(now) > TICK * MOST_LATE {
            self.end = now + TICK;
            self.due = None;
            self.was_due = false;
        }
    }

    /// The sender always had packets on the way: as many came as the link let pass. It had not: the link could do as much at least
    /// (where section 3.2 takes no notice of the tick). Nothing was on the way: nothing is learnt.
    fn finish_tick(&mut self) {
        let is_due = self.due.is_some_and(|due| due <= self.end);
        let packets = self.bytes as f64 / PACKET as f64;
        self.filter.evolve();
        if self.was_due && is_due {
            self.filter.observe(packets);
        } else if self.bytes > 0 {
            self.filter.observe_at_least(packets);
        }
        self.forecast = self.filter.forecast(self.risk);
        self.was_due = is_due;
        self.bytes = 0;
        self.tick = self.tick.wrapping_add(1);
        self.end += TICK;
    }
}

impl ReceiverHalf for Half {
    fn on_data(&mut self, received: &Received) {
        self.advance(received.arrival);
        self.bytes = self.bytes.saturating_add(received.bytes.get());
        self.due = received.next.map(|span| received.arrival + span);
        self.last = received.arrival;
    }

    fn next_timer(&self) -> Option<Time> {
        (self.end.since(self.last) <= SILENCE).then_some(self.end)
    }

    fn on_timer(&mut self, now: Time) {
        self.advance(now);
    }

    fn note(&self, now: Time) -> Note {
        let age = now.since(self.end.max(Time::ZERO + TICK) - TICK);
        Forecast { tick: self.tick, age: age.min(TICK), bytes: self.bytes, packets: self.forecast }.to_note()
    }
}

#[cfg(test)]
mod tests {
    use trialwise_units::{Bytes, Ecn};

    use super::*;

    const SECOND: f64 = 1e12;

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn exponential(&mut self) -> f64 {
            -(1.0 - self.uniform()).ln()
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// Arrivals of a link of this rate (packets per second, by tick) that always has a packet to send: a Poisson process.
    fn arrivals(rates: impl IntoIterator<Item = f64>, random: &mut Random) -> Vec<Time> {
        let mut times = vec![Time::ZERO];
        let mut owed = random.exponential();
        for (tick, rate) in rates.into_iter().enumerate() {
            let mut at = 0.0;
            while owed <= rate * (0.02 - at) {
                at += owed / rate;
                times.push(Time::from_picoseconds(((tick as f64 * 0.02 + at) * SECOND) as u64));
                owed = random.exponential();
            }
            owed -= rate * (0.02 - at);
        }
        times
    }

    fn packet(arrival: Time, next: Option<Duration>) -> Received {
        Received { number: 0, arrival, bytes: Bytes::new(PACKET), ecn: Ecn::NotCapable, next }
    }

    /// The forecast of each tick.
    fn forecasts(times: &[Time]) -> Vec<[u16; HORIZON]> {
        let mut half = Half::new(0.05);
        let mut forecasts = Vec::new();
        for time in times {
            while half.end <= *time {
                half.on_timer(half.end);
                forecasts.push(half.forecast);
            }
            half.on_data(&packet(*time, Some(Duration::ZERO)));
        }
        forecasts
    }

    /// Packets of each tick.
    fn counts(times: &[Time]) -> Vec<u64> {
        let mut counts = vec![0; times.last().map_or(0, |last| (last.milliseconds() / 20) as usize) + 1];
        times.iter().for_each(|time| counts[(time.picoseconds() / TICK.picoseconds()) as usize] += 1);
        counts
    }

    /// Whether less came within so many ticks than was forecast, tick by tick.
    fn missed(counts: &[u64], forecasts: &[[u16; HORIZON]], ticks: usize) -> Vec<bool> {
        let later = |tick: usize| counts[tick + 1..=tick + ticks].iter().sum::<u64>();
        // The first second is that of an unknown link.
        let known = 50..counts.len() - HORIZON - 1;
        known.map(|tick| later(tick) < u64::from(forecasts[tick][ticks - 1])).collect()
    }

    fn share(missed: &[bool]) -> f64 {
        missed.iter().filter(|missed| **missed).count() as f64 / missed.len() as f64
    }

    /// The interval of 95 % by a bootstrap of blocks of two seconds.
    fn interval(missed: &[bool], random: &mut Random) -> (f64, f64) {
        let blocks: Vec<f64> = missed.chunks_exact(100).map(share).collect();
        let mut drawn = || blocks[(random.uniform() * blocks.len() as f64) as usize];
        let mut means: Vec<f64> = (0..1000)
            .map(|_| (0..blocks.len()).map(|_| drawn()).sum::<f64>() / blocks.len() as f64)
            .collect();
        means.sort_by(f64::total_cmp);
        (means[25], means[974])
    }

    /// Ten minutes of a link whose rate drifts as section 3.1 has it, between 0 and 1000 packets per second.
    fn drifting(random: &mut Random) -> Vec<f64> {
        let mut rate: f64 = 400.0;
        let mut next = || {
            rate = (rate + 200.0 * 0.02_f64.sqrt() * random.normal()).abs();
            rate = rate.min(2000.0 - rate);
            rate
        };
        (0..30_000).map(|_| next()).collect()
    }

    #[test]
    fn one_forecast_in_twenty_is_missed_on_a_link_that_drifts_as_the_model_does() {
        let mut random = Random(1);
        let times = arrivals(drifting(&mut random), &mut random);
        let (counts, forecasts) = (counts(&times), forecasts(&times));
        // Over few ticks a packet more or less makes a difference: then it is fewer.
        for ticks in [5, 8] {
            let missed = missed(&counts, &forecasts, ticks);
            let (share, (low, high)) = (share(&missed), interval(&missed, &mut random));
            assert!((0.04..0.065).contains(&share), "{ticks}: {share} in {low} to {high}");
            assert!(0.035 < low && high < 0.065, "{ticks}: {low} to {high}");
        }
    }

    #[test]
    fn fewer_are_missed_on_a_link_that_does_not_drift() {
        let times = arrivals(std::iter::repeat_n(400.0, 30_000), &mut Random(1));
        let (counts, forecasts) = (counts(&times), forecasts(&times));
        // Forecasts allow for a drift of 28 packets/s in a tick: by a Kalman filter of these variances the shares would be 2 % and 1 %.
        for (ticks, most) in [(5, 0.02), (8, 0.012)] {
            let share = share(&missed(&counts, &forecasts, ticks));
            assert!((0.005..most).contains(&share), "{ticks}: {share}");
        }
    }

    #[test]
    fn a_rate_that_falls_to_a_quarter_is_seen_within_180_milliseconds() {
        for seed in 0..100 {
            let rates = std::iter::repeat_n(400.0, 250).chain(std::iter::repeat_n(100.0, 50));
            let forecasts = forecasts(&arrivals(rates, &mut Random(seed)));
            assert!(forecasts[249][4] > 10, "{:?}", forecasts[249]);
            // No more than the ten packets that the link lets pass in 100 ms.
            let seen = forecasts[250..].iter().position(|packets| packets[4] <= 10);
            assert!(seen.is_some_and(|ticks| ticks < 9), "{seen:?}");
        }
    }

    #[test]
    fn the_filter_is_that_of_tests_golden_test_sprout() {
        let data = |name: &str| {
            let path = format!("{}/tests/data/sprout/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap()
        };
        let mut half = Half::new(0.05);
        let mut found = Vec::new();
        for line in data("arrivals.txt").lines().skip(1) {
            let [time, bytes, next] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let arrival = Time::from_nanoseconds(time.parse().unwrap());
            while half.end <= arrival {
                half.on_timer(half.end);
                found.push((half.filter.mean(), half.forecast));
            }
            let next = next.parse().ok().map(Duration::from_milliseconds);
            half.on_data(&Received { bytes: Bytes::new(bytes.parse().unwrap()), ..packet(arrival, next) });
        }
        let forecasts = data("forecasts.txt");
        assert_eq!(forecasts.lines().count() - 1, found.len());
        for (line, (mean, packets)) in forecasts.lines().skip(1).zip(found) {
            let (expected, numbers) = line.split_once(' ').unwrap();
            let expected: f64 = expected.parse().unwrap();
            assert!((mean / expected - 1.0).abs() < 1e-8, "{mean} {expected}");
            assert_eq!(packets.map(|number| number.to_string()).join(" "), numbers);
        }
    }

    #[test]
    fn what_a_link_could_do_at_least_is_no_bound_above() {
        // Eight packets in each tick, after which the sender waits for the next: the link may be as fast as any.
        let mut half = Half::new(0.05);
        for tick in 0..50 {
            for place in 0..8 {
                let arrival = Time::ZERO + TICK * tick + Duration::from_milliseconds(place);
                let next = if place < 7 { Duration::ZERO } else { TICK };
                half.on_data(&packet(arrival, Some(next)));
            }
        }
        assert!(half.filter.mean() > 600.0, "{}", half.filter.mean());
        // And silence where nothing is to come tells nothing.
        half.on_data(&packet(half.end - Duration::from_milliseconds(1), None));
        half.on_timer(half.end);
        let before = half.filter.mean();
        for _ in 0..10 {
            half.on_timer(half.end);
        }
        assert!((half.filter.mean() / before - 1.0).abs() < 0.1);
    }

    #[test]
    fn clocks_that_jump_cost_a_bounded_time_and_harm_nothing() {
        let mut half = Half::new(0.05);
        let year = Time::from_milliseconds(31_536_000_000) ;
        for arrival in [Time::ZERO, year, Time::from_milliseconds(5), Time::MAX, Time::ZERO, Time::MAX] {
            half.on_data(&packet(arrival, Some(Duration::ZERO)));
            half.on_timer(arrival);
            assert!(half.end >= arrival, "{arrival:?}");
            assert!(half.filter.shares().iter().all(|share| (0.0..=1.0).contains(share)));
            assert!(half.tick < 50 * 20);
            let _ = (half.note(Time::ZERO), half.note(arrival), half.next_timer());
        }
    }

    #[test]
    fn what_cannot_be_keeps_the_filter_whole() {
        let mut half = Half::new(0.05);
        let bytes = [0, 1, u64::MAX, 1440, u64::MAX / 2];
        for (tick, bytes) in (0_u64..).zip(bytes.into_iter().cycle().take(100)) {
            let arrival = Time::ZERO + TICK * tick;
            half.on_data(&Received { bytes: Bytes::new(bytes), ..packet(arrival, Some(Duration::ZERO)) });
            let sum: f64 = half.filter.shares().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && half.filter.mean() <= 1000.0, "{sum}");
        }
    }

    #[test]
    fn ticks_end_when_the_sender_is_silent() {
        let mut half = Half::new(0.05);
        half.on_data(&packet(Time::ZERO, Some(Duration::ZERO)));
        let mut ticks = 0;
        while let Some(timer) = half.next_timer() {
            half.on_timer(timer);
            ticks += 1;
        }
        assert_eq!((ticks, half.forecast), (50, [0; HORIZON]));
    }
}
