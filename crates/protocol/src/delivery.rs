//! Samples of the delivery rate (draft-ietf-ccwg-bbr, section 4.1, before it draft-cheng-iccrg-delivery-rate-estimation).

use trialwise_units::{Bytes, Duration, Rate, Time};

/// The state of a connection, `C` in the draft, and what a packet keeps of it, `P`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    /// `C.delivered`: payload delivered, in packets of whatever content.
    delivered: u64,
    /// `C.delivered_time`.
    time: Time,
    /// `C.first_send_time`: when the packet that was most recently delivered was sent.
    first_sent: Time,
}

impl Delivery {
    /// A packet leaves: what it keeps. "If no packets are in flight, then the time of this packet transmission" begins the
    /// interval (section 4.1.2.2).
    pub(crate) fn on_sent(&mut self, now: Time, is_first: bool) -> Self {
        if is_first {
            self.time = now;
            self.first_sent = now;
        }
        *self
    }

    /// Payload has arrived.
    pub(crate) fn on_delivered(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.time = now;
    }

    /// The rate over the flight of the newest packet delivered, sent at `sent` with `kept` (section 4.1.2.3).
    pub(crate) fn sample(&mut self, sent: Time, kept: &Self) -> Option<Rate> {
        let send_elapsed = sent - kept.first_sent;
        let ack_elapsed = self.time - kept.time;
        self.first_sent = sent;
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = Bytes::new(self.delivered - kept.delivered);
        (interval > Duration::ZERO).then(|| {
            let bits = delivered.get() as f64 * 8.0 / interval.as_seconds();
            Rate::from_bits_per_second(bits as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four packets of 1250 bytes sent a millisecond apart, acknowledged `stretch` milliseconds apart.
    fn rate_of_fourth(stretch: u64) -> Option<Rate> {
        let at = Time::from_milliseconds;
        let mut delivery = Delivery::default();
        let kept: Vec<_> = (0..4).map(|index| delivery.on_sent(at(index), index == 0)).collect();
        let mut last = None;
        for index in 0..4 {
            delivery.on_delivered(at(50 + stretch * index), 1250);
            last = delivery.sample(at(index), &kept[index as usize]);
        }
        last
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_arriving() {
        // 5000 bytes within 52 ms (from the first departure, as nothing was delivered before).
        assert_eq!(rate_of_fourth(0), Some(Rate::from_bits_per_second(800_000)));
        let slower = rate_of_fourth(10).unwrap();
        assert_eq!(slower, Rate::from_bits_per_second(500_000));
    }
}
