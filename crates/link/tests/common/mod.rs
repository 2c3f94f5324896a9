//! What the tests share: a packet, a small generator of their own, and driving a link.
#![allow(dead_code, reason = "each test file uses a part")]

use trialwise_link::{Ecn, Exit, Fate, Link, Packet};
use trialwise_units::{Bytes, Time};

/// A packet with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
    pub(crate) flow: u64,
    pub(crate) is_copy: bool,
}

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn copy(&mut self) -> Self {
        Self { is_copy: true, ..*self }
    }
}

pub(crate) fn packet(number: u64, size: u64) -> Numbered {
    Numbered { number, size, ecn: Ecn::NotCapable, flow: 0, is_copy: false }
}

/// Everything that has left by `now`.
pub(crate) fn drain<P: Packet>(link: &mut Link<P>, now: Time) -> Vec<Exit<P>> {
    std::iter::from_fn(|| link.pop(now)).collect()
}

pub(crate) fn is_delivered<P>(exit: &Exit<P>) -> bool {
    exit.fate == Fate::Delivered
}

/// SplitMix64, so that the tests' arrivals do not come from the generator under test.
pub(crate) struct Mix(pub(crate) u64);

impl Mix {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound
    }
}

/// For links that name no file.
pub(crate) fn no_file(path: &str) -> Result<String, String> {
    Err(format!("{path} is not read"))
}
