//! Seeds that derive from names, never from the order of calls.

/// A seed of a pseudo-random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(u64);

impl Seed {
    /// A seed with this value.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The value.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The seed of the part called `name`: it depends on this seed and the name alone (FNV-1a, then the
    /// finaliser of SplitMix64), so that a further part changes no other part's seed.
    pub const fn named(self, name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.0;
        let mut index = 0;
        while index < bytes.len() {
            hash = (hash ^ bytes[index] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            index += 1;
        }
        Self(finalise(hash.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    /// The seed of the part with this number, of parts that all have the same name.
    pub const fn numbered(self, number: u64) -> Self {
        Self(finalise(self.0.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }
}

const fn finalise(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_seeds_of_their_own() {
        let root = Seed::new(7);
        assert_eq!(root.named("loss"), root.named("loss"));
        assert_ne!(root.named("loss"), root.named("delay"));
        assert_ne!(root.named("loss"), Seed::new(8).named("loss"));
        assert_ne!(root.numbered(0), root);
        assert_ne!(root.numbered(0), root.numbered(1));
        assert_ne!(root.numbered(0), Seed::new(8).numbered(0));
    }
}
