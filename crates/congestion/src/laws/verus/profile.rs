//! The delay profile: how long packets took with so much in flight.

/// Windows that are told apart.
const BINS: usize = 512;
/// Of an older delay of the same window, against a new one.
const WEIGHT: f64 = 0.875;
/// The profile is smoothed over this part of its windows, each way.
const SMOOTHING: usize = 15;

type Bins = [f64; BINS];

/// Delays in seconds by windows in packets. The authors fit a penalised spline, which the paper leaves open; this is an isotonic
/// regression (pool adjacent violators) from the smallest delay at window 0 on, and a moving average of it, which is as monotone.
/// Nothing allocates.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Packets from one bin to the next.
    width: f64,
    /// 0 for windows that nobody has seen.
    seen: Box<Bins>,
    /// Bins up to the last one that was seen.
    length: usize,
    fit: Box<Bins>,
    fitted: usize,
    /// Seconds for each packet beyond the last window.
    slope: f64,
}

impl Profile {
    pub(super) fn new() -> Self {
        let bins = || Box::new([0.0; BINS]);
        Self { width: 1.0, seen: bins(), length: 0, fit: bins(), fitted: 0, slope: 0.0 }
    }

    pub(super) fn add(&mut self, window: f64, delay: f64) {
        while window / self.width >= BINS as f64 {
            self.halve();
        }
        let bin = (window / self.width) as usize;
        let seen = &mut self.seen[bin];
        *seen = if *seen > 0.0 { WEIGHT * *seen + (1.0 - WEIGHT) * delay } else { delay };
        self.length = self.length.max(bin + 1);
    }

    /// Bins of twice the width.
    fn halve(&mut self) {
        for bin in 0..BINS / 2 {
            let pair = [self.seen[2 * bin], self.seen[2 * bin + 1]];
            let known = pair.iter().filter(|delay| **delay > 0.0).count();
            self.seen[bin] = if known > 0 { (pair[0] + pair[1]) / known as f64 } else { 0.0 };
            self.fit[bin] = self.fit[2 * bin];
        }
        self.seen[BINS / 2..].fill(0.0);
        self.width *= 2.0;
        self.length = self.length.div_ceil(2);
        self.fitted = self.fitted.div_ceil(2);
    }

    /// Fits the curve anew, where anything has been seen.
    pub(super) fn refit(&mut self, smallest: f64) {
        let mut monotone = [0.0; BINS];
        self.regress(smallest, &mut monotone);
        let reach = self.length / SMOOTHING;
        for bin in 0..self.length {
            // The same reach each way, less at the ends.
            let reach = reach.min(bin).min(self.length - 1 - bin);
            let part = &monotone[bin - reach..=bin + reach];
            self.fit[bin] = part.iter().sum::<f64>() / part.len() as f64;
        }
        self.fitted = self.length;
        self.slope = self.slope_beyond(smallest);
    }

    /// Blocks of equal delay, each the mean of what was seen in it, and straight lines across what was not seen.
    fn regress(&self, smallest: f64, monotone: &mut Bins) {
        // Sum, count, and last bin of each block.
        let mut blocks = [(0.0, 0.0, 0_usize); BINS + 1];
        blocks[0] = (smallest, 1.0, 0);
        let mut count = 1;
        for bin in (0..self.length).filter(|bin| self.seen[*bin] > 0.0) {
            blocks[count] = (self.seen[bin].max(smallest), 1.0, bin);
            count += 1;
            while count > 1 && blocks[count - 2].0 * blocks[count - 1].1 > blocks[count - 1].0 * blocks[count - 2].1 {
                let (sum, number, last) = blocks[count - 1];
                let before = &mut blocks[count - 2];
                *before = (before.0 + sum, before.1 + number, last);
                count -= 1;
            }
        }
        let (mut bin, mut delay) = (0, smallest);
        for (sum, number, last) in &blocks[..count] {
            let (start, from) = (bin, delay);
            delay = sum / number;
            while bin <= *last {
                let part = (bin - start + 1) as f64 / (last - start + 1) as f64;
                monotone[bin] = from + (delay - from) * part;
                bin += 1;
            }
        }
    }

    /// That of the last tenth, but at least as on a link that was just full.
    fn slope_beyond(&self, smallest: f64) -> f64 {
        let Some(last) = self.fitted.checked_sub(1) else { return smallest };
        let first = last * 9 / 10;
        let steepness = (self.fit[last] - self.fit[first]) / (last.saturating_sub(first).max(1) as f64 * self.width);
        steepness.max(smallest / (self.fitted as f64 * self.width))
    }

    /// The largest window, in packets, of which packets take no longer.
    pub(super) fn window(&self, delay: f64) -> f64 {
        let fit = &self.fit[..self.fitted];
        let above = fit.partition_point(|other| *other <= delay);
        let Some(below) = above.checked_sub(1) else { return 0.0 };
        let bins = match fit.get(above) {
            Some(next) => below as f64 + (delay - fit[below]) / (next - fit[below]),
            None => return below as f64 * self.width + (delay - fit[below]) / self.slope,
        };
        bins * self.width
    }

    /// How long packets take with this window, in packets.
    pub(super) fn delay(&self, window: f64) -> Option<f64> {
        let last = self.fitted.checked_sub(1)?;
        let bins = window / self.width;
        let below = bins as usize;
        if below >= last {
            return Some(self.fit[last] + (window - last as f64 * self.width) * self.slope);
        }
        Some(self.fit[below] + (self.fit[below + 1] - self.fit[below]) * (bins - below as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of a packet in each millisecond and 50 ms.
    fn of_link(windows: impl IntoIterator<Item = u32>) -> Profile {
        let mut profile = Profile::new();
        for window in windows {
            let window = f64::from(window);
            profile.add(window, f64::max(0.05, window * 1e-3));
        }
        profile.refit(0.05);
        profile
    }

    #[test]
    fn a_delay_is_that_of_its_window_and_back() {
        for profile in [of_link(0..200), of_link((0..200).step_by(7)), of_link((0..200).rev())] {
            for delay in [0.08, 0.1, 0.15] {
                let window = profile.window(delay);
                assert!((window * 1e-3 / delay - 1.0).abs() < 0.08, "{window} {delay}");
                assert!((profile.delay(window).unwrap() / delay - 1.0).abs() < 1e-9);
            }
            // Beyond what was seen it goes on.
            assert!((profile.window(0.4) / 400.0 - 1.0).abs() < 0.15, "{}", profile.window(0.4));
        }
    }

    #[test]
    fn it_is_monotone_whatever_was_seen() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        for _ in 0..200 {
            let mut profile = Profile::new();
            let reach = 10_f64.powf(4.0 * random());
            (0..100).for_each(|_| profile.add(reach * random(), 0.02 + random()));
            profile.refit(0.02);
            assert!(profile.fit[..profile.fitted].is_sorted() && profile.slope > 0.0);
            let windows: Vec<f64> = (0..300).map(|step| profile.window(0.01 * f64::from(step))).collect();
            assert!(windows.is_sorted() && windows.iter().all(|window| window.is_finite()));
        }
    }

    #[test]
    fn blocks_are_means_of_what_violates_the_order() {
        let mut profile = Profile::new();
        for (window, delay) in [(1.0, 0.3), (2.0, 0.1), (3.0, 0.17), (4.0, 0.5), (5.0, 0.4), (6.0, 0.6)] {
            profile.add(window, delay);
        }
        let mut found = [0.0; BINS];
        profile.regress(0.05, &mut found);
        // By hand: 0.3, 0.1 and 0.17 are pooled, and 0.5 and 0.4.
        assert_eq!(found[..7].iter().map(|delay| (delay * 1e3).round()).collect::<Vec<_>>(), [50.0, 97.0, 143.0, 190.0, 320.0, 450.0, 600.0]);
    }

    #[test]
    fn long_windows_share_bins() {
        let profile = of_link((0..20_000).step_by(3));
        assert!(profile.width > 16.0 && profile.length <= BINS);
        assert!((profile.window(10.0) / 10_000.0 - 1.0).abs() < 0.08);
    }
}
