//! All-reduce over two trees: P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
//! and scan", Parallel Computing 35 (2009).

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};

use super::DeclaredJob;
use super::team::{COMPUTE, Group, HOSTS, PLACEMENT, REPEAT, SIZE, Team, part, size_of};
use crate::graph::Awaited;

/// Each half of the data goes up a binary tree and down again; who is a leaf of one tree is within the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeAllReduce {
    bytes: u64,
    chunks: u64,
    group: Group,
}

impl Declared for TreeAllReduce {
    const FORMS: &'static [Form] = &[Form {
        name: "tree-all-reduce",
        words: "All-reduce over two binary trees with half of the data each, up and down in chunks; the leaves of one tree are \
                within the other (Sanders, Speck and Träff, Parallel Computing 2009).",
        head: Some(SIZE),
        keys: &[
            HOSTS,
            PLACEMENT,
            Key {
                name: "chunks",
                takes: Takes::Count,
                words: "Into how many chunks each half is cut; each follows when the one before was received; default 1.",
            },
            REPEAT,
            COMPUTE,
        ],
        example: "tree-all-reduce:8MB,chunks=8",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let chunks = written.count("chunks")?.unwrap_or(1);
        Ok(Self { bytes: size_of(written)?, chunks, group: Group::read(written)? })
    }
}

impl DeclaredJob for TreeAllReduce {
    fn group(&self) -> &Group {
        &self.group
    }

    fn flows(&self, hosts: u64) -> u128 {
        4 * u128::from(self.chunks) * u128::from(hosts - 1)
    }

    fn cut(&self, _hosts: u64) -> (u64, u64) {
        (self.bytes, self.chunks.saturating_mul(2))
    }

    fn add(&self, team: &mut Team<'_>) {
        let hosts = team.hosts();
        let mut ends = vec![Vec::new(); hosts];
        for tree in 0..2 {
            // The second tree is the first one with its hosts in opposite order.
            let host = |place: usize| if tree == 0 { place } else { hosts - 1 - place };
            let half = part(self.bytes, tree, 2);
            let mut before = Before::new(hosts);
            for chunk in 0..self.chunks {
                let bytes = part(half, chunk, self.chunks);
                before = self.add_chunk(team, bytes, &before, &host);
            }
            before.ends(&host, &mut ends);
        }
        for (host, ends) in ends.into_iter().enumerate() {
            team.set_ready(host, ends);
        }
    }
}

/// The flows of the chunk before on each edge, by the lower end of the edge in the tree, whose root is 0.
struct Before {
    up: Vec<Option<u32>>,
    down: Vec<Option<u32>>,
}

impl Before {
    fn new(hosts: usize) -> Self {
        Self { up: vec![None; hosts], down: vec![None; hosts] }
    }

    /// What each host needs of the last chunk: the root its sums, the others what came down.
    fn ends(&self, host: &impl Fn(usize) -> usize, ends: &mut [Vec<u32>]) {
        ends[host(0)].extend(children(0, self.up.len()).filter_map(|child| self.up[child]));
        (1..self.down.len()).for_each(|place| ends[host(place)].extend(self.down[place]));
    }
}

impl TreeAllReduce {
    /// A chunk goes up from the leaves, each place waiting for its children, then down.
    fn add_chunk(
        &self,
        team: &mut Team<'_>,
        bytes: u64,
        before: &Before,
        host: &impl Fn(usize) -> usize,
    ) -> Before {
        let hosts = team.hosts();
        let mut now = Before::new(hosts);
        for place in (1..hosts).rev() {
            let sums = children(place, hosts).filter_map(|child| now.up[child]);
            let mut awaited: Vec<_> = sums.chain(before.up[place]).map(Awaited::received).collect();
            awaited.extend_from_slice(team.ready(host(place)));
            now.up[place] = Some(team.send(host(place), host(parent(place)), bytes, &awaited));
        }
        for place in 1..hosts {
            let above = parent(place);
            let whole: Vec<_> = if above == 0 {
                children(0, hosts).filter_map(|child| now.up[child]).collect()
            } else {
                now.down[above].into_iter().collect()
            };
            let mut awaited: Vec<_> =
                whole.into_iter().chain(before.down[place]).map(Awaited::received).collect();
            if above == 0 {
                awaited.extend_from_slice(team.ready(host(0)));
            }
            now.down[place] = Some(team.send(host(above), host(place), bytes, &awaited));
        }
        now
    }
}

const fn parent(place: usize) -> usize {
    (place - 1) / 2
}

fn children(place: usize, hosts: usize) -> impl Iterator<Item = usize> {
    (2 * place + 1..=2 * place + 2).filter(move |child| *child < hosts)
}
