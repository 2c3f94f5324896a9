//! Pseudo-random streams, the same on every machine.

use trialwise_units::{Seed, Time};

use crate::index::PortId;

/// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2021), seeded by
/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: Seed) -> Self {
        let mut counter = seed.get();
        Self { state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// The next 64 bits.
    pub const fn next_bits(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number in [0, 1) with 53 random bits.
    pub const fn uniform(&mut self) -> f64 {
        to_unit(self.next_bits())
    }

    /// A whole number below `limit`, each as likely (Lemire 2019, without the rejection: the bias is below
    /// `limit` / 2^64).
    pub const fn below(&mut self, limit: u64) -> u64 {
        ((self.next_bits() as u128 * limit as u128) >> 64) as u64
    }
}

/// Draws for what happens at ports.
#[derive(Clone, Debug)]
pub(crate) enum Chance {
    /// From one stream, in the order of what happens anywhere.
    Stream(Random),
    /// From the port and the instant, whatever happens elsewhere.
    Instant(u64),
}

impl Chance {
    pub(crate) fn new(seed: Seed, by_instant: bool) -> Self {
        if by_instant { Self::Instant(seed.get()) } else { Self::Stream(Random::new(seed)) }
    }

    /// The draw of this port at this instant.
    pub(crate) const fn uniform(&mut self, port: PortId, now: Time) -> f64 {
        match self {
            Self::Stream(random) => random.uniform(),
            Self::Instant(seed) => {
                let mut counter = *seed ^ port.get() as u64;
                let mut counter = split_mix(&mut counter) ^ now.picoseconds();
                to_unit(split_mix(&mut counter))
            }
        }
    }
}

const fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
const fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *counter;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Marsaglia's xorshift64 with the shifts 13, 7, 17 ("Xorshift RNGs", 2003): the stream of marks in
/// compatible mode.
#[derive(Clone, Debug)]
pub(crate) struct Xorshift(u64);

impl Xorshift {
    /// The state that the paper starts with.
    pub(crate) const fn of_the_paper() -> Self {
        Self(88_172_645_463_325_252)
    }

    pub(crate) const fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        to_unit(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_reference_implementation() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(std::array::from_fn(|_| random.next_bits()), expected);
    }

    #[test]
    fn split_mix_gives_its_published_first_value() {
        assert_eq!(split_mix(&mut 1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn numbers_below_a_limit_reach_all_of_it() {
        let mut random = Random::new(Seed::new(1));
        let mut seen = [0; 5];
        (0..5000).for_each(|_| seen[random.below(5) as usize] += 1);
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
