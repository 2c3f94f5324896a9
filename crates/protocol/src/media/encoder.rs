//! When an encoder captures frames, and how large they are.

use std::sync::Arc;

use trialwise_units::{Duration, Rate, Seed, Time};

/// `tau_v` (RFC 8593, section 5.1): requests within it after the last reaction are ignored.
const REACTION_LATENCY: Duration = Duration::from_milliseconds(200);
/// `K_B` (section 5.2): frames of the burst after an abrupt change of the target, of which the first is large; together they keep
/// the target.
const BURST_FRAMES: u32 = 8;
/// `B_B` (section 5.2), the first of them, in frames of the target: the 13.5 kB at 1 Mbit/s and 30 frames/s that the RFC gives, whose
/// `B_0` it rounds to 4.17 kB.
const BURST_FIRST: f64 = 13_500.0 / (1e6 / 8.0 / 30.0);
/// `SCALE_t` and `SCALE_B` (section 5.3): Laplace noise of intervals and sizes, relative. It is cut at one, where nothing would be
/// left, on both sides, so that the mean stays.
const NOISE: f64 = 0.15;
/// The RFC leaves open what an abrupt change is. Cisco's syncodecs takes a tenth.
const ABRUPT: f64 = 0.1;

/// How large frames are.
#[derive(Clone, Debug, PartialEq)]
pub enum Frames {
    /// As the target has it.
    Encoded {
        /// Rates of the target, payload.
        slowest: Rate,
        /// See `slowest`.
        fastest: Rate,
        /// How the encoder follows it.
        model: Model,
        /// A key frame each so many frames; none for the first only, and those that are asked for.
        gop: Option<u64>,
        /// Size of a key frame of a group, in other frames.
        key_ratio: f64,
    },
    /// Recorded sizes, from the first again after the last, whatever the target.
    Recorded(Arc<[u32]>),
}

/// How an encoder follows its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The statistical model of RFC 8593, section 5.
    Rfc8593,
    /// Every frame has what the target leaves for it, at equal distances.
    Constant,
}

/// A frame that has been encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) number: u32,
    pub(crate) captured: Time,
    pub(crate) size: u32,
    /// Whether it needs no frame before it.
    pub(crate) is_key: bool,
    /// The target that the encoder follows.
    pub(crate) target: Option<Rate>,
}

/// An encoder at work.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    frames: Frames,
    fps: f64,
    seed: Seed,
    start: Time,
    /// The next frame.
    number: u64,
    /// The noise of all intervals before it, in intervals.
    drift: f64,
    next: Time,
    target: f64,
    reacted: Option<Time>,
    /// Frames of the burst still to come.
    burst: u32,
    since_key: Option<u64>,
    is_key_wanted: bool,
}

impl Encoder {
    /// Captures its first frame at `start`.
    pub(crate) fn new(frames: Frames, fps: f64, seed: Seed, start: Time) -> Self {
        let target = match &frames {
            Frames::Encoded { slowest, .. } => slowest.bits_per_second() as f64,
            Frames::Recorded(_) => 0.0,
        };
        Self {
            frames,
            fps,
            seed,
            start,
            number: 0,
            drift: 0.0,
            next: start,
            target,
            reacted: None,
            burst: 0,
            since_key: None,
            is_key_wanted: true,
        }
    }

    /// When the next frame is captured.
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Between frames, as it should be.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_picoseconds((1e12 / self.fps).round() as u64)
    }

    /// The receiver cannot decode what comes until there is a key frame. It comes at once, unless the last one came within a burst.
    pub(crate) const fn want_key(&mut self) {
        self.is_key_wanted = true;
    }

    /// The next frame is not encoded.
    pub(crate) fn skip(&mut self) -> (u32, Time) {
        let (number, captured) = (self.number as u32, self.next);
        self.since_key = self.since_key.map(|frames| frames + 1);
        self.step(0.0);
        (number, captured)
    }

    /// Encodes the next frame; `wanted` is what the congestion control wants of the encoder, if it wants anything.
    pub(crate) fn encode(&mut self, wanted: Option<Rate>) -> Encoded {
        let (number, captured) = (self.number, self.next);
        let (size, is_key, noise) = match &self.frames {
            Frames::Recorded(sizes) => {
                (f64::from(sizes[(number % sizes.len() as u64) as usize]), number == 0, 0.0)
            }
            Frames::Encoded { slowest, fastest, model, gop, key_ratio } => {
                let wanted = wanted.map(|rate| rate.clamp(*slowest, *fastest).bits_per_second() as f64);
                let (model, gop, key_ratio) = (*model, *gop, *key_ratio);
                self.react(wanted, model);
                self.shape(model, gop, key_ratio)
            }
        };
        self.since_key = if is_key { Some(0) } else { self.since_key.map(|frames| frames + 1) };
        self.step(noise);
        let target = (self.target > 0.0).then(|| Rate::from_bits_per_second(self.target.round() as u64));
        Encoded { number: number as u32, captured, size: size.round().max(1.0) as u32, is_key, target }
    }

    /// Section 5.1. The first request is a change like others.
    fn react(&mut self, wanted: Option<f64>, model: Model) {
        let Some(wanted) = wanted.filter(|wanted| *wanted != self.target) else { return };
        if model == Model::Constant {
            self.target = wanted;
            return;
        }
        if self.reacted.is_some_and(|reacted| self.next < reacted + REACTION_LATENCY) {
            return;
        }
        if (wanted / self.target - 1.0).abs() > ABRUPT {
            self.burst = BURST_FRAMES;
        }
        self.target = wanted;
        self.reacted = Some(self.next);
    }

    /// Size of the next frame, whether it is a key frame, and the noise of the interval after it.
    fn shape(&mut self, model: Model, gop: Option<u64>, key_ratio: f64) -> (f64, bool, f64) {
        let even = self.target / 8.0 / self.fps;
        // In a group of n, one key frame of r others: together n even ones.
        let other = gop.map_or(1.0, |gop| gop as f64 / (gop as f64 - 1.0 + key_ratio));
        let is_first = self.since_key.is_none();
        if is_first || gop.is_some_and(|gop| self.since_key.is_some_and(|frames| frames + 1 >= gop)) {
            self.is_key_wanted = false;
            if gop.is_some() {
                return (even * other * key_ratio, true, 0.0);
            }
        }
        if model == Model::Constant {
            let is_key = is_first || std::mem::take(&mut self.is_key_wanted);
            return (even * other, is_key, 0.0);
        }
        let is_asked_for = self.is_key_wanted && self.since_key >= Some(u64::from(BURST_FRAMES));
        if is_first || is_asked_for {
            // Section 5.2: the burst also stands for a key frame on demand.
            self.is_key_wanted = false;
            self.burst = BURST_FRAMES;
        }
        let even = even * other;
        if let Some(left) = self.burst.checked_sub(1) {
            self.burst = left;
            let frames = f64::from(BURST_FRAMES);
            let is_large = left + 1 == BURST_FRAMES;
            let size = if is_large { BURST_FIRST } else { (frames - BURST_FIRST) / (frames - 1.0) };
            return (even * size, is_first || is_asked_for, 0.0);
        }
        (even * (1.0 + self.noise("size")), false, self.noise("interval"))
    }

    /// Laplace noise of the next frame, by its number alone.
    fn noise(&self, of: &str) -> f64 {
        let word = self.seed.named(of).numbered(self.number).get() >> 11;
        let centred = (word as f64 + 0.5) / (1_u64 << 53) as f64 - 0.5;
        let size = -NOISE * (1.0 - 2.0 * centred.abs()).ln();
        size.min(1.0).copysign(centred)
    }

    /// Goes on to the next frame, without rounding that adds up.
    fn step(&mut self, noise: f64) {
        self.number += 1;
        self.drift += noise;
        let since = (self.number as f64 + self.drift) * 1e12 / self.fps;
        self.next = self.start + Duration::from_picoseconds(since.round() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder(model: Model, gop: Option<u64>) -> Encoder {
        let slowest = Rate::from_bits_per_second(150_000);
        let fastest = Rate::from_bits_per_second(1_500_000);
        let frames = Frames::Encoded { slowest, fastest, model, gop, key_ratio: 4.0 };
        Encoder::new(frames, 30.0, Seed::new(1), Time::ZERO)
    }

    fn kilobits(kilobits: u64) -> Option<Rate> {
        Some(Rate::from_bits_per_second(1000 * kilobits))
    }

    fn sizes(encoder: &mut Encoder, wanted: u64, count: usize) -> Vec<u32> {
        (0..count).map(|_| encoder.encode(kilobits(wanted)).size).collect()
    }

    #[test]
    fn a_burst_is_that_of_rfc_8593_and_keeps_the_target() {
        // 13.5 kB, then (8 · 1 Mbit/s / 8 / 30 − 13.5 kB) / 7.
        let mut encoder = encoder(Model::Rfc8593, None);
        let burst = sizes(&mut encoder, 1000, 8);
        assert_eq!(burst, [13_500, 2833, 2833, 2833, 2833, 2833, 2833, 2833]);
        let ninth = sizes(&mut encoder, 1000, 1)[0];
        assert_ne!(ninth, 2833);
    }

    #[test]
    fn a_change_within_the_latency_waits_for_its_end() {
        let mut encoder = encoder(Model::Rfc8593, None);
        encoder.encode(kilobits(1000));
        let mut reacted = None;
        while reacted.is_none() {
            let frame = encoder.encode(kilobits(500));
            reacted = (frame.target == kilobits(500)).then_some(frame);
        }
        let frame = reacted.unwrap();
        // Frames of the burst come each 1/30 s: the first at 200 ms or later.
        assert_eq!((frame.captured.milliseconds(), frame.size, frame.number), (200, 6750, 6));
        // Long after, there is nothing to wait for, and small changes make no burst.
        sizes(&mut encoder, 500, 60);
        let frame = encoder.encode(kilobits(545));
        assert_eq!(frame.target, kilobits(545));
        assert!(frame.size < 6000, "{frame:?}");
    }

    #[test]
    fn targets_stay_in_the_range() {
        let mut encoder = encoder(Model::Constant, None);
        assert_eq!(sizes(&mut encoder, 1, 1), [625]);
        assert_eq!(sizes(&mut encoder, 90_000, 1), [6250]);
        assert_eq!(encoder.encode(None).size, 6250);
    }

    #[test]
    fn constant_frames_stay_on_their_grid() {
        let mut encoder = encoder(Model::Constant, None);
        let last = (0..3000).map(|_| encoder.encode(kilobits(1500)).captured).last().unwrap();
        assert_eq!(last.nanoseconds(), 99_966_666_666);
        assert_eq!(encoder.next(), Time::from_milliseconds(100_000));
    }

    #[test]
    fn a_group_keeps_the_target_too() {
        let mut encoder = encoder(Model::Constant, Some(10));
        let frames: Vec<Encoded> = (0..20).map(|_| encoder.encode(kilobits(1200))).collect();
        let keys: Vec<u32> = frames.iter().filter(|frame| frame.is_key).map(|frame| frame.number).collect();
        assert_eq!(keys, [0, 10]);
        // 5000 B each, of ten; 4 + 9 parts.
        assert_eq!((frames[0].size, frames[1].size, frames[10].size), (15_385, 3846, 15_385));
    }

    #[test]
    fn a_key_frame_comes_on_request_but_not_one_after_the_other() {
        let mut encoder = encoder(Model::Rfc8593, None);
        sizes(&mut encoder, 1000, 20);
        encoder.want_key();
        let frame = encoder.encode(kilobits(1000));
        assert!(frame.is_key && frame.size == 13_500);
        encoder.want_key();
        let next: Vec<bool> = (0..9).map(|_| encoder.encode(kilobits(1000)).is_key).collect();
        assert_eq!(next.iter().position(|is_key| *is_key), Some(8));
    }

    #[test]
    fn noise_is_that_of_laplace() {
        let mut encoder = encoder(Model::Rfc8593, None);
        sizes(&mut encoder, 1000, 8);
        let count = 100_000;
        let began = encoder.next();
        let sizes = sizes(&mut encoder, 1000, count);
        let even = 1e6 / 8.0 / 30.0;
        let relative: Vec<f64> = sizes.iter().map(|size| f64::from(*size) / even - 1.0).collect();
        let mean = relative.iter().sum::<f64>() / count as f64;
        let deviation = relative.iter().map(|each| each.abs()).sum::<f64>() / count as f64;
        // The mean distance of a Laplace distribution is its scale; five standard errors.
        assert!(mean.abs() < 5.0 * 0.212 / (count as f64).sqrt(), "{mean}");
        assert!((deviation - 0.15).abs() < 5.0 * 0.15 / (count as f64).sqrt(), "{deviation}");
        let interval = (encoder.next() - began).as_seconds() / count as f64;
        assert!((interval * 30.0 - 1.0).abs() < 5.0 * 0.212 / (count as f64).sqrt(), "{interval}");
    }

    #[test]
    fn recorded_sizes_begin_again() {
        let mut encoder = Encoder::new(Frames::Recorded([7, 9].into()), 25.0, Seed::new(1), Time::ZERO);
        assert_eq!(sizes(&mut encoder, 1, 5), [7, 9, 7, 9, 7]);
        assert_eq!(encoder.next(), Time::from_milliseconds(200));
    }
}
