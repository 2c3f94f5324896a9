//! Exchanges between all hosts, alone and around the experts of a model.

use trialwise_units::Duration;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};

use super::DeclaredJob;
use super::team::{COMPUTE, Group, HOSTS, PLACEMENT, REPEAT, SIZE, Team, part, size_of};

/// Each host has a part of its data for each host, and sends all that are not its own at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllToAll {
    bytes: u64,
    group: Group,
}

impl Declared for AllToAll {
    const FORMS: &'static [Form] = &[Form {
        name: "all-to-all",
        words: "Each of n hosts sends size/n to each other, all at once.",
        head: Some(SIZE),
        keys: &[HOSTS, PLACEMENT, REPEAT, COMPUTE],
        example: "all-to-all:8MB",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { bytes: size_of(written)?, group: Group::read(written)? })
    }
}

impl DeclaredJob for AllToAll {
    fn group(&self) -> &Group {
        &self.group
    }

    fn flows(&self, hosts: u64) -> u128 {
        u128::from(hosts) * u128::from(hosts - 1)
    }

    fn cut(&self, hosts: u64) -> (u64, u64) {
        (self.bytes, hosts)
    }

    fn add(&self, team: &mut Team<'_>) {
        exchange(team, self.bytes);
    }
}

/// Two exchanges around a computation, layer by layer: tokens go to their experts and come back (D. Lepikhin et al., "GShard",
/// ICLR 2021, section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixtureOfExperts {
    bytes: u64,
    layers: u64,
    expert: Duration,
    group: Group,
}

impl Declared for MixtureOfExperts {
    const FORMS: &'static [Form] = &[Form {
        name: "mixture-of-experts",
        words: "Layers of an all-to-all that brings tokens to their experts, the experts' computation, and an all-to-all back \
                (GShard: Lepikhin and others, ICLR 2021).",
        head: Some(SIZE),
        keys: &[
            HOSTS,
            PLACEMENT,
            Key { name: "layers", takes: Takes::Count, words: "How many layers there are; default 1." },
            Key {
                name: "expert",
                takes: Takes::Time,
                words: "What an expert computes in a layer; default 0s.",
            },
            REPEAT,
            COMPUTE,
        ],
        example: "mixture-of-experts:8MB,layers=4,expert=100us",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self {
            bytes: size_of(written)?,
            layers: written.count("layers")?.unwrap_or(1),
            expert: written.time("expert")?.unwrap_or(Duration::ZERO),
            group: Group::read(written)?,
        })
    }
}

impl DeclaredJob for MixtureOfExperts {
    fn group(&self) -> &Group {
        &self.group
    }

    fn flows(&self, hosts: u64) -> u128 {
        2 * u128::from(self.layers) * u128::from(hosts) * u128::from(hosts - 1)
    }

    fn cut(&self, hosts: u64) -> (u64, u64) {
        (self.bytes, hosts)
    }

    fn add(&self, team: &mut Team<'_>) {
        for _ in 0..self.layers {
            exchange(team, self.bytes);
            team.compute(self.expert);
            exchange(team, self.bytes);
        }
    }
}

/// Every host sends its part to every other, the next one first, when it is ready; it is ready again when it has all of its own.
fn exchange(team: &mut Team<'_>, bytes: u64) {
    team.compute(Duration::ZERO); // one thing to wait for, instead of one for each pair
    let hosts = team.hosts();
    let mut received = vec![Vec::new(); hosts];
    for host in 0..hosts {
        let awaited = team.ready(host).to_vec();
        for offset in 1..hosts {
            let to = (host + offset) % hosts;
            let bytes = part(bytes, to as u64, hosts as u64);
            received[to].push(team.send(host, to, bytes, &awaited));
        }
    }
    for (host, steps) in received.into_iter().enumerate() {
        team.set_ready(host, steps);
    }
}
