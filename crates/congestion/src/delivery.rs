//! Samples of the delivery rate (draft-ietf-ccwg-bbr, section "Delivery Rate Samples", before it
//! draft-cheng-iccrg-delivery-rate-estimation), for drivers.

use trialwise_units::{Bytes, Duration, Time};

use crate::RateSample;

/// The state of a connection, `C` in the draft.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// `C.delivered`: payload delivered, in packets of whatever content.
    delivered: u64,
    /// `C.delivered_time`.
    time: Time,
    /// `C.first_send_time`: when the packet that was most recently delivered was sent.
    first_sent: Time,
    /// `C.lost`.
    lost: u64,
    /// `C.app_limited`: until so much is delivered.
    limited_until: Option<u64>,
}

/// What a packet keeps of a [`Delivery`] while it is in flight, `P` in the draft.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departed {
    connection: Delivery,
    sent: Time,
    in_flight: u64,
}

impl Departed {
    /// When it was sent.
    pub const fn sent(&self) -> Time {
        self.sent
    }
}

impl Delivery {
    /// A packet leaves, and with it so much is in flight. "If no packets are in flight, then the time of this packet
    /// transmission" begins the interval.
    pub fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) -> Departed {
        if in_flight <= bytes {
            self.time = now;
            self.first_sent = now;
        }
        Departed { connection: *self, sent: now, in_flight }
    }

    /// The application has nothing to send though window and rate would let it: what is in flight now will be
    /// delivered at no more than its pace.
    pub fn on_application_limited(&mut self, in_flight: u64) {
        self.limited_until = Some(self.delivered + in_flight);
    }

    /// Payload has arrived.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.time = now;
        self.limited_until = self.limited_until.filter(|until| self.delivered <= *until);
    }

    /// Payload is deemed lost.
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// The sample of the newest packet that an acknowledgement reports, after [`Self::on_delivered`]; none where
    /// it took no time.
    pub fn sample(&mut self, packet: &Departed) -> Option<RateSample> {
        let before = &packet.connection;
        let send_elapsed = packet.sent - before.first_sent;
        let ack_elapsed = self.time - before.time;
        self.first_sent = packet.sent;
        let interval = send_elapsed.max(ack_elapsed);
        (interval > Duration::ZERO).then(|| RateSample {
            delivered: Bytes::new(self.delivered),
            prior_delivered: Bytes::new(before.delivered),
            interval,
            lost: Bytes::new(self.lost - before.lost),
            in_flight_when_sent: Bytes::new(packet.in_flight),
            application_limited: before.limited_until.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Rate;

    /// Four packets of 1250 bytes sent a millisecond apart, acknowledged `stretch` milliseconds apart.
    fn sample_of_fourth(delivery: &mut Delivery, stretch: u64) -> RateSample {
        let at = Time::from_milliseconds;
        let kept: Vec<_> =
            (0..4).map(|index| delivery.on_sent(at(index), 1250, 1250 * (index + 1))).collect();
        let mut last = None;
        for index in 0..4 {
            delivery.on_delivered(at(50 + stretch * index), 1250);
            last = delivery.sample(&kept[index as usize]);
        }
        last.unwrap()
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_arriving() {
        // 5000 bytes within 50 ms (from the first departure, as nothing was delivered before).
        let sample = sample_of_fourth(&mut Delivery::default(), 0);
        assert_eq!(sample.rate(), Rate::from_bits_per_second(800_000));
        assert_eq!((sample.delivered, sample.prior_delivered), (Bytes::new(5000), Bytes::ZERO));
        assert_eq!(
            (sample.interval, sample.in_flight_when_sent),
            (Duration::from_milliseconds(50), Bytes::new(5000))
        );
        let slower = sample_of_fourth(&mut Delivery::default(), 10).rate();
        assert_eq!(slower, Rate::from_bits_per_second(500_000));
    }

    #[test]
    fn losses_count_from_when_the_packet_was_sent() {
        let at = Time::from_milliseconds;
        let mut delivery = Delivery::default();
        delivery.on_lost(700);
        let packet = delivery.on_sent(at(1), 1250, 1250);
        delivery.on_lost(300);
        delivery.on_delivered(at(5), 1250);
        assert_eq!(delivery.sample(&packet).unwrap().lost, Bytes::new(300));
    }

    #[test]
    fn the_application_limits_until_what_was_in_flight_then_is_delivered() {
        let at = Time::from_milliseconds;
        let mut delivery = Delivery::default();
        let first = delivery.on_sent(at(0), 1250, 1250);
        delivery.on_application_limited(1250);
        let second = delivery.on_sent(at(1), 1250, 2500);
        let limited = |delivery: &mut Delivery, packet: &Departed, time| {
            delivery.on_delivered(at(time), 1250);
            delivery.sample(packet).unwrap().application_limited
        };
        assert!(!limited(&mut delivery, &first, 40));
        assert!(limited(&mut delivery, &second, 41));
        let third = delivery.on_sent(at(42), 1250, 1250);
        assert!(!limited(&mut delivery, &third, 80));
    }
}
