//! Sprout (Winstein, Sivaraman, Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks",
//! NSDI 2013): the receiver infers from arrivals how fast the link may be, and forecasts how many packets it will let pass with a
//! probability of 95 %; the sender sends what will have left the queue 100 ms from now by that forecast.
//!
//! Departures from the paper: a tick in which the sender did not always have packets on the way tells that the link can do as much at
//! least, where the paper takes no notice of it; silence while nothing is due is no observation, so that no heartbeats are sent, but the
//! packet that was promised leaves even where the forecast has become worse; and
//! packets are retransmitted, as on every flow here.

mod filter;
mod forecast;
mod half;

use trialwise_units::{Bytes, Duration, Rate, Time};

use self::filter::{HORIZON, TICK};
use self::forecast::{Forecast, PACKET};
use self::half::Half;
use crate::declared::settings;
use crate::quota::Quota;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, ReceiverHalf, Sent,
    Setting, Timeout,
};

const NAME: &str = "sprout";
/// The queue is to be empty so many ticks from now (section 3.4: 100 ms).
const LOOKAHEAD: usize = 5;
/// Above that, forecasts are no lower bounds.
const HIGHEST_RISK: f64 = 0.5;

/// The parameters of [`Sprout`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SproutSettings {
    /// The probability with which less passes than is forecast.
    pub risk: f64,
}

impl Default for SproutSettings {
    fn default() -> Self {
        Self { risk: 0.05 }
    }
}

/// The half at the sender.
#[derive(Clone, Debug)]
pub struct Sprout {
    quota: Quota,
    /// The latest forecast: its number, and payload that will have passed at the end of each tick, from 0 on.
    tick: Option<u32>,
    passed: [u64; HORIZON + 1],
    /// Ticks since it was made, and when the next one begins; none once it is used up.
    ticks: usize,
    next_tick: Option<Time>,
    /// What is thought to be in the queue.
    queue: u64,
    /// When a packet leaves, as the receiver has been told.
    promise: Option<Time>,
    now: Time,
}

impl Sprout {
    /// A flow that starts with a packet, as nothing is forecast yet.
    ///
    /// # Errors
    /// The risk is above 0.5.
    pub fn new(settings: &SproutSettings, context: &Context) -> Result<Self, BuildError> {
        if settings.risk > HIGHEST_RISK {
            return Err(BuildError::Setting { controller: NAME, setting: "risk", wanted: "of 0.5 at most" });
        }
        Ok(Self {
            quota: Quota::new(context.segment),
            tick: None,
            passed: [0; HORIZON + 1],
            ticks: HORIZON,
            next_tick: None,
            queue: 0,
            promise: None,
            now: context.now,
        })
    }

    /// Takes a forecast that is newer than the one at hand, or comes when that is used up.
    fn take(&mut self, now: Time, forecast: &Forecast) {
        let is_newer = self.tick.is_none_or(|tick| forecast.tick.wrapping_sub(tick).cast_signed() > 0);
        if !is_newer && self.next_tick.is_some() {
            return;
        }
        self.tick = Some(forecast.tick);
        for (passed, packets) in self.passed[1..].iter_mut().zip(forecast.packets) {
            *passed = PACKET * u64::from(packets);
        }
        // In flight as the forecast was made.
        self.queue = self.quota.in_flight().saturating_add(forecast.bytes);
        self.ticks = 0;
        self.next_tick = Some(now + TICK.saturating_sub(forecast.age));
        self.fill();
    }

    /// What will have passed until then.
    fn passed(&self, ticks: usize) -> u64 {
        self.passed[ticks.min(HORIZON)]
    }

    /// What leaves the queue between now and then, beyond what is in it.
    fn room(&self, queue: u64, ticks: usize) -> u64 {
        (self.passed(ticks + LOOKAHEAD) - self.passed(ticks)).saturating_sub(queue)
    }

    fn fill(&mut self) {
        self.quota.set(self.room(self.queue, self.ticks));
    }

    fn drained(&self, queue: u64, tick: usize) -> u64 {
        queue.saturating_sub(self.passed(tick + 1) - self.passed(tick))
    }

    /// In how many ticks a packet may leave by this forecast, if nothing else comes.
    fn ticks_until_room(&self) -> Option<u64> {
        let mut queue = self.queue;
        for tick in self.ticks..HORIZON {
            queue = self.drained(queue, tick);
            if self.room(queue, tick + 1) >= self.quota.segment() {
                return Some((tick - self.ticks) as u64);
            }
        }
        None
    }

    /// Nothing is known any more.
    fn forget(&mut self) {
        self.passed = [0; HORIZON + 1];
        self.ticks = HORIZON;
        self.next_tick = None;
        self.promise = None;
        self.quota.set(0);
    }
}

impl Declared for Sprout {
    type Settings = SproutSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| SproutSettings::default() }];
    const WORDS: &'static str = "Sends what the receiver forecasts that the link will let pass, at most 12 Mbit/s (Winstein et al., NSDI 2013).";
    const NEEDS: Needs = Needs { receiver_half: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {risk: Weight};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn receiver_half(settings: &Self::Settings) -> Option<Box<dyn ReceiverHalf>> {
        Some(Box::new(Half::new(settings.risk)))
    }
}

impl Controller for Sprout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
        self.quota.on_sent(sent.bytes, sent.in_flight);
        self.queue = self.queue.saturating_add(sent.bytes.get());
        let next = self.next_tick.filter(|_| !self.quota.has_packet()).zip(self.ticks_until_room());
        self.promise = next.map(|(tick, ticks)| tick + TICK * ticks);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.quota.set_in_flight(acknowledgement.in_flight);
        if let Some(forecast) = Forecast::read(acknowledgement.note) {
            self.take(acknowledgement.now, &forecast);
        }
    }

    /// What is lost is in no queue (section 3.4).
    fn on_loss(&mut self, loss: &Loss) {
        self.quota.set_in_flight(loss.in_flight);
        self.queue = self.queue.saturating_sub(loss.bytes.get());
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.quota.set_in_flight(Bytes::ZERO);
        self.queue = 0;
        self.forget();
    }

    fn next_timer(&self) -> Option<Time> {
        [self.next_tick, self.promise].into_iter().flatten().min()
    }

    /// Whatever is forecast since: a promise is kept with one packet, as silence then would tell the receiver that the link is slow.
    fn on_timer(&mut self, now: Time) {
        while let Some(next) = self.next_tick.filter(|next| *next <= now) {
            self.queue = self.drained(self.queue, self.ticks);
            self.ticks += 1;
            self.next_tick = Some(next + TICK).filter(|_| self.ticks < HORIZON);
        }
        self.fill();
        if self.promise.take_if(|time| *time <= now).is_some() && !self.quota.has_packet() {
            self.quota.set(self.quota.segment());
        }
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.quota.window())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn next_departure(&self) -> Option<Duration> {
        if self.quota.has_packet() {
            return Some(Duration::ZERO);
        }
        self.promise.map(|time| time.since(self.now))
    }
}

#[cfg(test)]
mod tests {
    use trialwise_units::Seed;

    use super::*;
    use crate::testing::acknowledgement;

    const SEGMENT: u64 = PACKET;
    const AT: fn(u64) -> Time = Time::from_milliseconds;

    fn flow() -> Sprout {
        let context = Context {
            now: Time::ZERO,
            segment: Bytes::new(SEGMENT),
            line_rate: None,
            base_rtt: None,
            path_window: None, hops: None,
            seed: Seed::new(1),
        };
        Sprout::new(&SproutSettings::default(), &context).unwrap()
    }

    /// An answer at this time with this in flight: two packets a tick, made at the beginning of the present one.
    fn forecast(tick: u32) -> Forecast {
        Forecast { tick, age: Duration::ZERO, bytes: 0, packets: [2, 4, 6, 8, 10, 12, 14, 16] }
    }

    fn answer(flow: &mut Sprout, now: Time, in_flight: u64, note: &[u8]) {
        let in_flight = Bytes::new(in_flight * SEGMENT);
        flow.on_acknowledgement(&Acknowledgement { now, in_flight, note, ..acknowledgement(0, 0) });
    }

    /// Sends what may leave now; with each packet, when the next one is said to be due.
    fn send(flow: &mut Sprout, now: Time) -> Vec<Option<u64>> {
        let mut said = Vec::new();
        while flow.quota.in_flight() + SEGMENT <= flow.window().unwrap().get() {
            let in_flight = Bytes::new(flow.quota.in_flight() + SEGMENT);
            let bytes = Bytes::new(SEGMENT);
            flow.on_sent(&Sent { now, number: 0, bytes, in_flight, retransmission: false });
            said.push(flow.next_departure().map(Duration::milliseconds));
        }
        said
    }

    #[test]
    fn what_leaves_the_queue_in_the_next_100_ms_is_sent() {
        let mut flow = flow();
        // Nothing is known: one packet, and no promise of another.
        assert_eq!(send(&mut flow, AT(0)), [None]);
        answer(&mut flow, AT(40), 0, &forecast(1).to_note());
        let mut said = vec![Some(0); 9];
        said.push(Some(20));
        assert_eq!(send(&mut flow, AT(40)), said);
        assert_eq!(flow.next_timer(), Some(AT(60)));
        flow.on_timer(AT(60));
        assert_eq!(send(&mut flow, AT(60)), [Some(0), Some(20)]);
        // The same forecast again opens nothing.
        answer(&mut flow, AT(61), 11, &forecast(1).to_note());
        assert_eq!(send(&mut flow, AT(61)), []);
        // A later one counts what is in flight as queued, and what has come since it was made.
        let later = Forecast { bytes: 3 * SEGMENT, age: Duration::from_milliseconds(5), ..forecast(2) };
        answer(&mut flow, AT(65), 3, &later.to_note());
        assert_eq!(send(&mut flow, AT(65)).len(), 4);
        assert_eq!(flow.next_timer(), Some(AT(80)));
    }

    #[test]
    fn a_forecast_that_no_other_follows_is_used_up() {
        let mut flow = flow();
        answer(&mut flow, AT(0), 0, &forecast(1).to_note());
        let mut sent = send(&mut flow, AT(0)).len();
        while let Some(timer) = flow.next_timer() {
            flow.on_timer(timer);
            sent += send(&mut flow, timer).len();
        }
        // All that was forecast, and not a packet more.
        assert_eq!((sent, flow.next_departure()), (16, None));
        let mut late = self::flow();
        answer(&mut late, AT(0), 0, &forecast(1).to_note());
        late.on_timer(AT(10_000));
        assert_eq!((send(&mut late, AT(10_000)).len(), late.next_timer()), (1, None));
    }

    #[test]
    fn an_older_forecast_is_taken_only_when_the_newer_is_used_up() {
        let mut flow = flow();
        let few = Forecast { packets: [1; HORIZON], ..forecast(u32::MAX) };
        answer(&mut flow, AT(0), 0, &few.to_note());
        answer(&mut flow, AT(1), 0, &forecast(u32::MAX - 1).to_note());
        assert_eq!(send(&mut flow, AT(1)).len(), 1);
        // Numbers go on from 0.
        answer(&mut flow, AT(2), 0, &forecast(0).to_note());
        assert_eq!(send(&mut flow, AT(2)).len(), 10);
        flow.on_timer(AT(500));
        answer(&mut flow, AT(501), 0, &forecast(0).to_note());
        assert_eq!(send(&mut flow, AT(501)).len(), 10);
    }

    #[test]
    fn a_receiver_that_lies_gets_no_more_than_the_highest_rate() {
        let mut flow = flow();
        for note in [&[][..], &[0xff; 26], &[0xff; 64], &[1; 3]] {
            answer(&mut flow, AT(0), 0, note);
            assert_eq!((flow.window(), flow.next_timer()), (Some(Bytes::new(SEGMENT)), None));
        }
        let most = |tick| Forecast { packets: std::array::from_fn(|tick| 20 * (tick as u16 + 1)), ..forecast(tick) };
        let mut sent = 0;
        for tick in 0..500_u32 {
            let now = AT(2 * u64::from(tick));
            // Whatever it is called, and whatever else it says.
            let forecast = Forecast { age: TICK, bytes: 0, ..most(tick.wrapping_mul(0x0fff_ffff)) };
            let in_flight = flow.quota.in_flight() / SEGMENT;
            answer(&mut flow, now, in_flight, &forecast.to_note());
            sent += send(&mut flow, now).len();
        }
        assert!(sent <= 100, "{sent} packets that nobody acknowledges");
    }

    #[test]
    fn after_a_timeout_nothing_is_forecast() {
        let mut flow = flow();
        answer(&mut flow, AT(0), 0, &forecast(1).to_note());
        send(&mut flow, AT(0));
        let in_flight = Bytes::new(flow.quota.in_flight());
        flow.on_timeout(&Timeout { now: AT(500), in_flight, next_sequence: 0, repetition: 1 });
        assert_eq!((flow.window(), flow.next_timer()), (Some(Bytes::new(SEGMENT)), None));
        answer(&mut flow, AT(600), 0, &forecast(2).to_note());
        assert_eq!(send(&mut flow, AT(600)).len(), 10);
    }

    #[test]
    fn what_is_lost_is_in_no_queue() {
        let mut flow = flow();
        answer(&mut flow, AT(0), 0, &forecast(1).to_note());
        send(&mut flow, AT(0));
        let in_flight = Bytes::new(6 * SEGMENT);
        let bytes = Bytes::new(4 * SEGMENT);
        flow.on_loss(&Loss { now: AT(10), bytes, new_episode: true, in_flight, next_sequence: 0, reports: &[] });
        flow.on_timer(AT(20));
        assert_eq!(send(&mut flow, AT(20)).len(), 6);
    }

    #[test]
    fn a_risk_of_more_than_a_half_is_refused() {
        let context = crate::testing::context();
        let error = Sprout::new(&SproutSettings { risk: 0.6 }, &context).err().unwrap().to_string();
        assert!(error.contains("risk") && error.contains("0.5"), "{error}");
    }
}
