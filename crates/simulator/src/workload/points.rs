//! Numbers from outside that decide a flow list.

use crate::random::Random;

/// Numbers in [0, 1), one after the other.
pub trait Uniforms {
    /// The next.
    fn next_uniform(&mut self) -> f64;
}

impl Uniforms for Random {
    fn next_uniform(&mut self) -> f64 {
        self.uniform()
    }
}

/// The coordinates of a point, then a pseudo-random stream.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    coordinates: std::slice::Iter<'a, f64>,
    rest: Random,
}

impl<'a> Point<'a> {
    /// Coordinates at or beyond 1, which rounding may make, count as the largest number below.
    pub fn new(coordinates: &'a [f64], rest: Random) -> Self {
        Self { coordinates: coordinates.iter(), rest }
    }
}

impl Uniforms for Point<'_> {
    fn next_uniform(&mut self) -> f64 {
        const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
        self.coordinates.next().map_or_else(|| self.rest.uniform(), |u| u.clamp(0.0, BELOW_ONE))
    }
}

/// The smallest count whose Poisson distribution function with this mean is above `u`: a walk from the mode,
/// where the probability is the largest and underflows nowhere.
pub(super) fn poisson_quantile(mean: f64, u: f64) -> u64 {
    let mode = libm::floor(mean);
    let at_mode = libm::exp(mode * libm::log(mean) - mean - libm::lgamma(mode + 1.0));
    let below_mode = below(mean, mode, at_mode);
    if u < below_mode {
        walk_down(mean, mode, at_mode, below_mode, u)
    } else {
        walk_up(mean, mode, at_mode, below_mode, u)
    }
}

/// The probability of less than `mode`.
fn below(mean: f64, mode: f64, at_mode: f64) -> f64 {
    let (mut count, mut probability, mut total) = (mode, at_mode, 0.0);
    while count > 0.0 && probability > 0.0 {
        probability *= count / mean;
        count -= 1.0;
        total += probability;
    }
    total
}

fn walk_down(mean: f64, mode: f64, at_mode: f64, below_mode: f64, u: f64) -> u64 {
    let (mut count, mut probability, mut below) = (mode, at_mode, below_mode);
    while count > 0.0 && u < below {
        probability *= count / mean;
        count -= 1.0;
        below -= probability;
    }
    count as u64
}

fn walk_up(mean: f64, mode: f64, at_mode: f64, below_mode: f64, u: f64) -> u64 {
    let (mut count, mut probability, mut upto) = (mode, at_mode, below_mode + at_mode);
    while u >= upto && probability > 0.0 {
        count += 1.0;
        probability *= mean / count;
        upto += probability;
    }
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Seed;

    #[test]
    fn counts_are_those_of_tables() {
        // From scipy.stats.poisson.ppf.
        let table = [
            (43.8, 0.001, 25),
            (43.8, 0.5, 44),
            (43.8, 0.999, 66),
            (0.5, 0.3, 0),
            (0.5, 0.95, 2),
            (1e4, 0.025, 9804),
            (1e4, 0.975, 10_196),
        ];
        for (mean, u, count) in table {
            assert_eq!(poisson_quantile(mean, u), count, "{mean} {u}");
        }
    }

    #[test]
    fn a_point_is_followed_by_its_stream() {
        let random = || Random::new(Seed::new(1));
        let mut point = Point::new(&[0.25, 1.0], random());
        let first = [point.next_uniform(), point.next_uniform(), point.next_uniform()];
        assert!(first[0] == 0.25 && first[1] < 1.0 && first[1] > 0.999_999);
        assert_eq!(first[2], random().uniform());
    }
}
