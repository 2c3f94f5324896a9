//! Operations on a ring: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
//! Journal of Parallel and Distributed Computing 69 (2009).

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key};

use super::DeclaredJob;
use super::team::{COMPUTE, Group, HOSTS, PLACEMENT, REPEAT, SIZE, Team, part, size_of};
use crate::graph::Awaited;

/// Data that go round a ring in as many chunks as there are hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    bytes: u64,
    group: Group,
}

impl Ring {
    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { bytes: size_of(written)?, group: Group::read(written)? })
    }

    /// In each of so many rounds each host sends a chunk to the next host when it has the one before from the last host.
    fn add(&self, team: &mut Team<'_>, rounds: usize) {
        let hosts = team.hosts();
        let mut last: Vec<Option<u32>> = vec![None; hosts];
        for round in 0..rounds {
            let mut sent = vec![None; hosts];
            for (host, before) in last.iter().enumerate() {
                let to = (host + 1) % hosts;
                let chunk = (host + hosts - round % hosts) % hosts;
                let bytes = part(self.bytes, chunk as u64, hosts as u64);
                let awaited = match before {
                    Some(step) => vec![Awaited::received(*step)],
                    None => team.ready(host).to_vec(),
                };
                sent[to] = Some(team.send(host, to, bytes, &awaited));
            }
            last = sent;
        }
        for (host, step) in last.into_iter().enumerate() {
            team.set_ready(host, step);
        }
    }
}

macro_rules! ring {
    ($(#[$documentation:meta])* $name:ident, $form:expr, $rounds:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Ring);

        impl Declared for $name {
            const FORMS: &'static [Form] = &[$form];

            fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
                Ring::read(written).map(Self)
            }
        }

        impl DeclaredJob for $name {
            fn group(&self) -> &Group {
                &self.0.group
            }

            fn flows(&self, hosts: u64) -> u128 {
                $rounds * u128::from(hosts) * u128::from(hosts - 1)
            }

            fn cut(&self, hosts: u64) -> (u64, u64) {
                (self.0.bytes, hosts)
            }

            fn add(&self, team: &mut Team<'_>) {
                self.0.add(team, $rounds * (team.hosts() - 1));
            }
        }
    };
}

const KEYS: &[Key] = &[HOSTS, PLACEMENT, REPEAT, COMPUTE];

ring!(
    /// Reduce-scatter, then all-gather.
    RingAllReduce,
    Form {
        name: "ring-all-reduce",
        words: "All-reduce on a ring of n hosts: 2(n − 1) rounds in which each sends a chunk of size/n to the next, when it has \
                the chunk before (Patarasuk and Yuan, JPDC 2009).",
        head: Some(SIZE),
        keys: KEYS,
        example: "ring-all-reduce:8MB",
    },
    2
);
ring!(
    /// Each host ends with the sum of its chunk.
    RingReduceScatter,
    Form {
        name: "ring-reduce-scatter",
        words: "The first half of that: n − 1 rounds.",
        head: Some(SIZE),
        keys: KEYS,
        example: "ring-reduce-scatter:8MB",
    },
    1
);
ring!(
    /// Each host ends with all chunks.
    RingAllGather,
    Form {
        name: "ring-all-gather",
        words: "The second half: n − 1 rounds; the size is that of all chunks together.",
        head: Some(SIZE),
        keys: KEYS,
        example: "ring-all-gather:8MB",
    },
    1
);
