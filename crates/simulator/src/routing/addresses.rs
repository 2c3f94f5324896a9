//! What the choice among equal ways (equal-cost multipath) depends on.

use std::collections::HashMap;

use crate::flow::FlowSpecification;
use crate::index::{HostId, NodeId};

/// The first source port of a pair, as in the HPCC simulator.
const FIRST_SOURCE_PORT: u16 = 10_000;

/// Source ports of flows: those of a pair count up, and begin again at 0 after 65,535.
#[derive(Debug, Default)]
pub(crate) struct SourcePorts(HashMap<(HostId, HostId), u16>);

impl SourcePorts {
    /// The port of the next flow of this pair.
    pub(crate) fn take(&mut self, source: HostId, destination: HostId) -> u16 {
        let next = self.0.entry((source, destination)).or_insert(FIRST_SOURCE_PORT);
        std::mem::replace(next, next.wrapping_add(1))
    }

    /// Begins again, in the same memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The seed of ns-3's hash of any bytes.
const CARD_SEED: u32 = 0x8bad_f00d;

/// What tells the packets of a flow from those of others where a way is chosen by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

impl Addresses {
    /// Those of a flow whose source port is given.
    pub(crate) const fn new(flow: &FlowSpecification, source_port: u16) -> Self {
        let FlowSpecification { source, destination, destination_port, .. } = *flow;
        Self { source, destination, source_port, destination_port }
    }

    /// Those of what the receiver sends back.
    #[must_use]
    pub(crate) const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }

    /// The hash by which `node` chooses a way.
    pub(crate) fn hash(self, node: NodeId) -> u32 {
        let ports = u32::from(self.source_port) | u32::from(self.destination_port) << 16;
        murmur3([address(self.source), address(self.destination), ports], node.get())
    }

    /// The hash by which the source chooses among its own links. The reference hashes the same words there, by the seed of
    /// its general-purpose hash.
    pub(crate) fn card_hash(self) -> u32 {
        self.hash(NodeId::new(CARD_SEED))
    }
}

/// The hash by which the HPCC simulator's switches choose: MurmurHash3 (Appleby, public domain), 32 bits,
/// over three words.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = words.iter().fold(seed, |hash, word| {
        let scrambled = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ scrambled).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// The address that the HPCC simulator gives to a host.
const fn address(host: NodeId) -> u32 {
    0x0b00_0001 + (host.get() / 256) * 0x1_0000 + (host.get() % 256) * 0x100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3() {
        // MurmurHash3_x86_32 of the twelve bytes "abcdefghijkl" with seed 0, by the reference implementation.
        let words = [*b"abcd", *b"efgh", *b"ijkl"].map(u32::from_le_bytes);
        assert_eq!(murmur3(words, 0), REFERENCE);
    }

    const REFERENCE: u32 = 0xa36f_3d27;
}
