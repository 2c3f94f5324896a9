//! The shared buffer of a switch: what each ingress port and class holds, and when its sender must pause.
//!
//! A class of an ingress port fills a reserve first, then the shared part up to a threshold that falls as the
//! shared part fills, then the headroom that takes what is on the wire when the pause is sent.

use trialwise_units::{Duration, Rate};

use crate::flow::FlowSpecification;
use crate::settings::{Dropping, Mode, Settings};

/// The class of control frames, outside the accounts.
pub(crate) const CONTROL: usize = 0;

/// Bytes of the largest header that a controller adds.
const MAX_FEEDBACK: u64 = 42;
/// Bytes of a pause frame.
pub(crate) const PAUSE_BYTES: u64 = 43;

/// What one class holds that came through one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// In reserve and shared part.
    regular: u64,
    headroom: u64,
    /// Whether its sender has been told to pause.
    pub(crate) paused: bool,
}

impl Held {
    pub(crate) const NOTHING: Self = Self { regular: 0, headroom: 0, paused: false };
}

/// The fixed part of an ingress port's account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IngressLimits {
    headroom: u64,
    shift: u32,
}

impl IngressLimits {
    /// A share that doubles with each doubling of the port's rate over that of the hosts, and headroom for
    /// what may still come after the decision to pause: twice the link's delay, a packet that the pause frame
    /// waits for, one that its receiver has begun, and the one that decided. The reference takes three
    /// delays, which is less on short or slow links.
    pub(crate) fn new(rate: Rate, delay: Duration, host_rate: Rate, settings: &Settings) -> Self {
        let three_delays = rate.bytes_in(delay * 3).get();
        let headroom = match settings.mode {
            Mode::Compatible => three_delays,
            Mode::Clean => {
                let packet = settings.segment.get() + settings.header.get() + MAX_FEEDBACK;
                three_delays.max(rate.bytes_in(delay * 2).get() + 3 * packet + PAUSE_BYTES)
            }
        };
        let mut shift = settings.flow_control.map_or(0, |control| control.shift);
        let mut port_rate = rate.bits_per_second();
        while port_rate > host_rate.bits_per_second() && shift > 0 {
            port_rate /= 2;
            shift -= 1;
        }
        Self { headroom, shift }
    }
}

/// The accounts of a switch.
#[derive(Clone, Debug)]
pub(crate) struct SharedBuffer {
    reserve: u64,
    /// What all may share: the buffer without reserves and headrooms.
    shareable: u64,
    shared: u64,
    hysteresis: u64,
    pauses: bool,
    dropping: Dropping,
    peak: u64,
    occupied: u64,
}

/// For how many classes each port has a part of the buffer to itself: those of the flows, since each may have to be
/// stopped by itself without loss. The reference sets apart as much as one class takes.
pub(crate) fn classes_set_apart(settings: &Settings, flows: &[FlowSpecification]) -> u64 {
    if settings.mode == Mode::Compatible {
        return 1;
    }
    let class = |flow: &FlowSpecification| 1_u8 << (flow.class.unwrap_or(settings.priorities.data) & 7);
    u64::from(flows.iter().fold(0, |found, flow| found | class(flow)).count_ones().max(1))
}

impl SharedBuffer {
    /// An empty buffer; each ingress has a part to itself for so many classes.
    pub(crate) fn new(
        settings: &Settings,
        classes: u64,
        ingresses: impl Iterator<Item = IngressLimits>,
    ) -> Self {
        Self {
            reserve: settings.reserve.get(),
            shareable: settings.buffer.get().saturating_sub(Self::set_apart(settings, classes, ingresses)),
            shared: 0,
            hysteresis: settings.flow_control.map_or(0, |control| control.hysteresis.get()),
            pauses: settings.flow_control.is_some(),
            dropping: settings.dropping,
            peak: 0,
            occupied: 0,
        }
    }

    /// Bytes that ports have to themselves.
    pub(crate) fn set_apart(
        settings: &Settings,
        classes: u64,
        ingresses: impl Iterator<Item = IngressLimits>,
    ) -> u64 {
        let (reserve, pauses) = (settings.reserve.get(), settings.flow_control.is_some());
        ingresses.map(|limits| classes * (reserve + if pauses { limits.headroom } else { 0 })).sum()
    }

    /// How much of the shared part one class of this port may hold now, `held` among it.
    fn threshold(&self, held: &Held, limits: IngressLimits) -> u64 {
        let free = self.shareable.saturating_sub(self.shared);
        match self.dropping {
            _ if self.pauses => free >> limits.shift,
            Dropping::Dynamic { alpha } => (free as f64 * alpha) as u64,
            Dropping::Tail => free + self.in_shared(held),
        }
    }

    const fn in_shared(&self, held: &Held) -> u64 {
        held.regular.saturating_sub(self.reserve)
    }

    /// Takes a packet in, or says that there is no room.
    pub(crate) fn admit(&mut self, held: &mut Held, limits: IngressLimits, size: u64) -> bool {
        let after = held.regular + size;
        if after > self.reserve {
            let threshold = self.threshold(held, limits);
            let headroom_full = !self.pauses || held.headroom + size > limits.headroom;
            // The shared part is measured before this packet, as the reference does it.
            let shared_full = size + self.in_shared(held) > threshold;
            if headroom_full && shared_full {
                return false;
            }
            if self.pauses && after - self.reserve > threshold {
                held.headroom += size;
            } else {
                held.regular = after;
                self.shared += size.min(after - self.reserve);
            }
        } else {
            held.regular = after;
        }
        self.occupied += size;
        self.peak = self.peak.max(self.occupied);
        true
    }

    /// Lets a packet go: from the headroom first, then from the shared part, then from the reserve.
    pub(crate) fn release(&mut self, held: &mut Held, size: u64) {
        let from_headroom = held.headroom.min(size);
        let from_shared = (size - from_headroom).min(self.in_shared(held));
        held.headroom -= from_headroom;
        held.regular -= size - from_headroom;
        self.shared -= from_shared;
        self.occupied -= size;
    }

    /// Whether the sender of this class should be told to pause now.
    pub(crate) fn should_pause(&self, held: &Held, limits: IngressLimits) -> bool {
        self.pauses
            && !held.paused
            && (held.headroom > 0 || self.in_shared(held) >= self.threshold(held, limits))
    }

    /// Whether a paused sender may be told to go on.
    pub(crate) fn should_resume(&self, held: &Held, limits: IngressLimits) -> bool {
        if !held.paused || held.headroom > 0 {
            return false;
        }
        let shared = self.in_shared(held);
        shared == 0 || shared + self.hysteresis <= self.threshold(held, limits)
    }

    /// Bytes held now.
    pub(crate) const fn occupied(&self) -> u64 {
        self.occupied
    }

    /// The most bytes ever held.
    pub(crate) const fn peak(&self) -> u64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn limits() -> IngressLimits {
        IngressLimits::new(LINE, Duration::from_microseconds(1), LINE, &Settings::for_line_rate(LINE))
    }

    fn buffer(bytes: u64) -> SharedBuffer {
        let settings =
            Settings { buffer: trialwise_units::Bytes::new(bytes), ..Settings::for_line_rate(LINE) };
        SharedBuffer::new(&settings, 1, std::iter::once(limits()))
    }

    #[test]
    fn headroom_covers_three_delays_and_fast_ports_have_a_larger_share() {
        assert_eq!(limits().headroom, 37_500);
        let settings = Settings::for_line_rate(LINE);
        let fast =
            IngressLimits::new(Rate::from_megabits_per_second(400_000), Duration::ZERO, LINE, &settings);
        assert_eq!((fast.shift, fast.headroom), (1, 3 * 1090 + 43));
        let compatible = settings.with_mode(Mode::Compatible);
        assert_eq!(IngressLimits::new(LINE, Duration::ZERO, LINE, &compatible).headroom, 0);
    }

    #[test]
    fn a_class_pauses_at_its_share_and_resumes_below_it() {
        // 41 596 bytes are set apart, 80 000 shared: the class holds s while s < (80 000 - s) / 8, so up to
        // 8889.
        let mut buffer = buffer(121_596);
        let mut held = Held::NOTHING;
        let mut count = 0;
        while !buffer.should_pause(&held, limits()) {
            assert!(buffer.admit(&mut held, limits(), 1000));
            count += 1;
        }
        assert_eq!(count, 13);
        held.paused = true;
        while !buffer.should_resume(&held, limits()) {
            buffer.release(&mut held, 1000);
            count -= 1;
        }
        // It goes on when s + 3072 <= (80 000 - s) / 8, so at 6158 and the reserve.
        assert_eq!(count, 10);
    }

    #[test]
    fn without_flow_control_a_full_share_drops() {
        let settings = Settings {
            flow_control: None,
            buffer: trialwise_units::Bytes::new(14_096),
            ..Settings::for_line_rate(LINE)
        };
        let limits = IngressLimits::new(LINE, Duration::ZERO, LINE, &settings);
        let mut buffer = SharedBuffer::new(&settings, 1, std::iter::once(limits));
        let mut held = Held::NOTHING;
        let admitted = (0..20).filter(|_| buffer.admit(&mut held, limits, 1000)).count();
        assert!((9..=14).contains(&admitted), "{admitted}");
        assert!(!buffer.should_pause(&held, limits));
    }

    /// N ports that send more than leaves hold N alpha / (1 + N alpha) of the shared buffer together (Choudhury and Hahne,
    /// equation 2), by tail drop all of it.
    #[test]
    fn busy_ports_fill_what_theory_says() {
        let filled = |dropping, ports: usize| {
            let settings = Settings {
                flow_control: None,
                dropping,
                reserve: trialwise_units::Bytes::ZERO,
                buffer: trialwise_units::Bytes::new(10_000_000),
                ..Settings::for_line_rate(LINE)
            };
            let limits = IngressLimits::new(LINE, Duration::ZERO, LINE, &settings);
            let mut buffer = SharedBuffer::new(&settings, 1, std::iter::repeat_n(limits, ports));
            let mut held = vec![Held::NOTHING; ports];
            let mut taken = true;
            while taken {
                taken =
                    held.iter_mut().filter_map(|held| buffer.admit(held, limits, 1000).then_some(())).count()
                        > 0;
            }
            buffer.occupied() as f64 / 1e7
        };
        for (alpha, ports) in [(1.0, 1), (1.0, 4), (0.5, 2), (8.0, 3)] {
            let expected = alpha * ports as f64 / (1.0 + alpha * ports as f64);
            let found = filled(Dropping::Dynamic { alpha }, ports);
            assert!((found - expected).abs() < 0.005, "{alpha} {ports}: {found} of {expected}");
        }
        assert!(filled(Dropping::Tail, 1) > 0.999 && filled(Dropping::Tail, 4) > 0.999);
    }

    proptest! {
        #[test]
        fn no_account_creates_bytes(sizes in prop::collection::vec(40_u64..1500, 1..300), size in 50_000_u64..500_000) {
            let mut buffer = buffer(size);
            let mut held = Held::NOTHING;
            let mut inside = std::collections::VecDeque::new();
            for bytes in sizes {
                if buffer.admit(&mut held, limits(), bytes) {
                    inside.push_back(bytes);
                } else if let Some(first) = inside.pop_front() {
                    buffer.release(&mut held, first);
                }
                prop_assert_eq!(buffer.occupied(), inside.iter().sum::<u64>());
                prop_assert_eq!(held.regular + held.headroom, buffer.occupied());
                prop_assert!(buffer.occupied() <= size);
            }
            inside.iter().for_each(|bytes| buffer.release(&mut held, *bytes));
            prop_assert_eq!((buffer.occupied(), buffer.shared, held.regular, held.headroom), (0, 0, 0, 0));
        }
    }
}
