//! The random numbers of the permutations.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for each index: its start depends on nothing else.
    pub(crate) fn stream(seed: u64, index: u64) -> Self {
        let start = Self(seed).next();
        Self(Self(start ^ index.wrapping_mul(0xd134_2543_de82_ef95)).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fisher–Yates; the bias of scaling 64 bits to a short range is below 2⁻⁵⁰.
    pub(crate) fn shuffle<T>(&mut self, order: &mut [T]) {
        for last in (1..order.len()).rev() {
            let other = ((u128::from(self.next()) * (last as u128 + 1)) >> 64) as usize;
            order.swap(other, last);
        }
    }
}
