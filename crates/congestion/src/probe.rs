//! Probes of libwebrtc: packets that leave faster than the rest show whether the path carries more (`ProbeController`,
//! `ProbeBitrateEstimator`). Up to 5 Mbit/s they are padded where the source has no more to send.

use trialwise_units::{Duration, Time};

/// `kMinProbePacketsSent` and `kMinProbeDuration`.
const PACKETS: u32 = 5;
const SPAN: f64 = 0.015;
/// `first_exponential_probe_scale`, `further_exponential_probe_scale`, `further_probe_threshold`.
const FIRST: f64 = 3.0;
const FURTHER: f64 = 2.0;
const WORTH: f64 = 0.7;
/// `kMinReceivedProbesRatio`, `kMaxValidRatio`, `kMinRatioForUnsaturatedLink`, `kTargetUtilizationFraction`.
const ENOUGH: f64 = 0.8;
const IMPLAUSIBLE: f64 = 2.0;
const UNSATURATED: f64 = 0.9;
const UTILISATION: f64 = 0.95;
/// No faster probe is padded (`kDefaultMaxProbingBitrate`).
const MOST_PADDED: f64 = 5e6;
/// What is not over by then tells nothing (`kMaxProbeInterval`).
const LONGEST: Duration = Duration::from_milliseconds(1000);

/// Bytes between two times, without those of the packet that opens or closes the span.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: Option<(Time, u64)>,
    last: Option<(Time, u64)>,
    bytes: u64,
    packets: u32,
}

impl Span {
    fn add(&mut self, time: Time, bytes: u64) {
        if self.first.is_none_or(|(first, _)| time < first) {
            self.first = Some((time, bytes));
        }
        if self.last.is_none_or(|(last, _)| time >= last) {
            self.last = Some((time, bytes));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets += 1;
    }

    /// Bits per second, where `outside` is not counted.
    fn rate(&self, outside: u64) -> Option<f64> {
        let seconds = self.last?.0.since(self.first?.0).as_seconds();
        (seconds > 0.0).then(|| self.bytes.saturating_sub(outside) as f64 * 8.0 / seconds)
    }
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Bits per second.
    rate: f64,
    packets: u32,
    first: Option<u64>,
    sent: Span,
    arrived: Span,
}

impl Cluster {
    fn new(rate: f64, segment: u64) -> Self {
        let packets = (rate * SPAN / 8.0 / segment as f64).ceil().min(1e6) as u32;
        let (sent, arrived) = (Span::default(), Span::default());
        Self { rate, packets: packets.max(PACKETS), first: None, sent, arrived }
    }

    fn is_sent(&self) -> bool {
        self.sent.packets >= self.packets
    }

    /// What it shows that the path carries.
    fn result(&self) -> Option<f64> {
        if !self.is_sent() || f64::from(self.arrived.packets) < ENOUGH * f64::from(self.packets) {
            return None;
        }
        let sent = self.sent.rate(self.sent.last?.1)?;
        let arrived = self.arrived.rate(self.arrived.first?.1)?;
        if arrived > IMPLAUSIBLE * sent {
            return None;
        }
        Some(if arrived < UNSATURATED * sent { UTILISATION * arrived } else { sent.min(arrived) })
    }
}

/// One probe after another, each twice as fast as what the last one has shown, until one shows less than 0.7 of its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    segment: u64,
    cluster: Option<Cluster>,
}

impl Probes {
    /// The first is three times as fast as this rate.
    pub(crate) fn new(rate: f64, segment: u64) -> Self {
        Self { segment, cluster: Some(Cluster::new(FIRST * rate, segment)) }
    }

    /// None at all.
    pub(crate) const fn none() -> Self {
        Self { segment: 1, cluster: None }
    }

    /// At which packets are to leave, while a probe does.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.cluster.filter(|cluster| !cluster.is_sent()).map(|cluster| cluster.rate)
    }

    /// Whether a probe that has begun to leave takes padding.
    pub(crate) fn pads(&self) -> bool {
        self.cluster.is_some_and(|cluster| {
            !cluster.is_sent() && cluster.first.is_some() && cluster.rate <= MOST_PADDED
        })
    }

    /// A packet leaves.
    pub(crate) fn on_sent(&mut self, now: Time, number: u64, bytes: u64) {
        let Some(cluster) = self.cluster.as_mut().filter(|cluster| !cluster.is_sent()) else { return };
        cluster.first.get_or_insert(number);
        cluster.sent.add(now, bytes);
    }

    /// A packet has arrived.
    pub(crate) fn on_arrived(&mut self, number: u64, arrival: Time, bytes: u64) {
        let Some(cluster) = &mut self.cluster else { return };
        let place = cluster.first.and_then(|first| number.checked_sub(first));
        if place.is_some_and(|place| place < u64::from(cluster.sent.packets)) {
            cluster.arrived.add(arrival, bytes);
        }
    }

    /// What a probe has shown, in bits per second; the next one goes by that.
    pub(crate) fn take(&mut self, now: Time) -> Option<f64> {
        let cluster = self.cluster?;
        if let Some(result) = cluster.result() {
            let goes_on = result > WORTH * cluster.rate;
            self.cluster = goes_on.then(|| Cluster::new(FURTHER * result, self.segment));
            return Some(result);
        }
        if cluster.sent.first.is_some_and(|(first, _)| now.since(first) > LONGEST) {
            self.cluster = None;
        }
        None
    }

    /// No more of them.
    pub(crate) fn end(&mut self) {
        self.cluster = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1250;

    /// Sends probes over a link of this rate, of which each packet passes in its turn, until there is no more; what they show.
    fn shown(link: f64, lose: impl Fn(u64) -> bool) -> Vec<f64> {
        let mut probes = Probes::new(300_000.0, BYTES);
        let (mut now, mut number, mut results) = (Time::ZERO, 0, Vec::new());
        while probes.cluster.is_some() {
            let (mut free, mut arrivals) = (now, Vec::new());
            while let Some(rate) = probes.rate() {
                probes.on_sent(now, number, BYTES);
                free = free.max(now) + Duration::from_seconds(BYTES as f64 * 8.0 / link);
                arrivals.push((number, free));
                number += 1;
                now += Duration::from_seconds(BYTES as f64 * 8.0 / rate);
            }
            now = now.max(free) + Duration::from_milliseconds(50);
            for (number, arrival) in arrivals.into_iter().filter(|(number, _)| !lose(*number)) {
                probes.on_arrived(number, arrival, BYTES);
            }
            results.extend(probes.take(now));
            now += LONGEST * u64::from(probes.rate().is_none());
            results.extend(probes.take(now));
        }
        results
    }

    #[test]
    fn probes_double_until_the_link_is_full() {
        let found = shown(10e6, |_| false);
        let wanted = [0.9e6, 1.8e6, 3.6e6, 7.2e6, 9.5e6];
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert!(
            found.iter().zip(wanted).all(|(found, wanted)| (found / wanted - 1.0).abs() < 1e-6),
            "{found:?}"
        );
    }

    #[test]
    fn one_packet_of_five_may_be_lost_and_not_two() {
        assert_eq!(shown(10e6, |number| number % 5 == 2).len(), 5);
        assert!(shown(10e6, |number| number % 5 < 2).is_empty());
    }

    #[test]
    fn arrivals_faster_than_departures_show_nothing() {
        let mut probes = Probes::new(300_000.0, BYTES);
        for number in 0..5 {
            probes.on_sent(Time::from_milliseconds(11 * number), number, BYTES);
            probes.on_arrived(number, Time::from_milliseconds(100 + number), BYTES);
        }
        assert_eq!(probes.take(Time::from_milliseconds(200)), None);
    }
}
