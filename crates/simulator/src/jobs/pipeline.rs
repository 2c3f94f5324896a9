//! Stages of a model behind one another: Y. Huang et al., "GPipe", NeurIPS 2019.

use trialwise_units::Duration;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};

use super::DeclaredJob;
use super::team::{COMPUTE, Group, HOSTS, PLACEMENT, REPEAT, Team};
use crate::graph::Awaited;

/// Microbatches go forward through all stages, a host each, then backward; a stage computes one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    bytes: u64,
    microbatches: u64,
    forward: Duration,
    backward: Duration,
    group: Group,
}

impl Declared for Pipeline {
    const FORMS: &'static [Form] = &[Form {
        name: "pipeline",
        words: "Microbatches go through stages, a host each: all forward, then all backward (GPipe: Huang and others, NeurIPS 2019).",
        head: Some(Key {
            name: "size",
            takes: Takes::Amount,
            words: "What a stage sends of a microbatch to the next one, and back.",
        }),
        keys: &[
            HOSTS,
            PLACEMENT,
            Key { name: "microbatches", takes: Takes::Count, words: "How many there are; default 1." },
            Key {
                name: "forward",
                takes: Takes::Time,
                words: "What a stage computes forward for each; default 0s.",
            },
            Key { name: "backward", takes: Takes::Time, words: "And backward; default twice as long." },
            REPEAT,
            COMPUTE,
        ],
        example: "pipeline:1MB,microbatches=8,forward=200us",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let forward = written.time("forward")?.unwrap_or(Duration::ZERO);
        Ok(Self {
            bytes: written.needed(written.amount(HEAD)?, "a size")?.get(),
            microbatches: written.count("microbatches")?.unwrap_or(1),
            forward,
            backward: written.time("backward")?.unwrap_or(forward * 2),
            group: Group::read(written)?,
        })
    }
}

impl DeclaredJob for Pipeline {
    fn group(&self) -> &Group {
        &self.group
    }

    /// And the computations of the stages, which are numbered as flows are.
    fn flows(&self, hosts: u64) -> u128 {
        4 * u128::from(self.microbatches) * u128::from(hosts)
    }

    fn cut(&self, _hosts: u64) -> (u64, u64) {
        (self.bytes, 1)
    }

    fn add(&self, team: &mut Team<'_>) {
        let stages: Vec<_> = (0..team.hosts()).collect();
        self.pass(team, &stages, self.forward);
        let back: Vec<_> = stages.into_iter().rev().collect();
        self.pass(team, &back, self.backward);
    }
}

impl Pipeline {
    /// All microbatches go through the stages in this order.
    fn pass(&self, team: &mut Team<'_>, stages: &[usize], compute: Duration) {
        for _ in 0..self.microbatches {
            let mut came: Option<u32> = None;
            for (place, stage) in stages.iter().enumerate() {
                let mut awaited = team.ready(*stage).to_vec();
                awaited.extend(came.map(Awaited::received));
                let computed = team.pause(compute, &awaited);
                team.set_ready(*stage, [computed]);
                came = stages
                    .get(place + 1)
                    .map(|next| team.send(*stage, *next, self.bytes, &[Awaited::received(computed)]));
            }
        }
    }
}
