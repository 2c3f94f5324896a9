//! Who sends to whom: a line for each pattern, here and nowhere else.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::elements;

use crate::crossings::Ends;
use crate::fabric::Fabric;
use crate::index::{HostId, NodeId};
use crate::random::Random;

/// A source and a destination.
pub(super) type Pair = (NodeId, NodeId);

elements! {
    /// Who sends to whom.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pattern of "pattern", pattern! {
        OneWay(OneWay),
        AllToAll(AllToAll),
        Permutation(Permutation),
        Incast(Incast),
    }
}

/// A pattern that can be chosen by name.
trait DeclaredPattern: Declared {
    /// Between whom flows go. All patterns but one draw every pair of hosts equally often, seed by seed.
    fn ends(&self) -> Ends {
        Ends::Hosts
    }

    /// Flows of one arrival.
    fn together(&self) -> usize {
        1
    }

    /// How many hosts it needs.
    fn hosts(&self) -> usize {
        self.together() + 1
    }

    /// What is drawn once for a trial: of each host a number.
    fn prepare(&self, _fabric: &Fabric, _random: &mut Random) -> Vec<usize> {
        Vec::new()
    }

    /// Adds the pairs of one arrival.
    fn choose(&self, draw: &mut Draw<'_>, pairs: &mut impl Extend<Pair>);
}

impl Pattern {
    /// A sender of the topology to a receiver, each uniformly.
    pub const ONE_WAY: Self = Self::OneWay(OneWay);
    /// Any host to any other, uniformly.
    pub const ALL_TO_ALL: Self = Self::AllToAll(AllToAll);
    /// Each host to one other, the same for the whole trial; every host receives from one.
    pub const PERMUTATION: Self = Self::Permutation(Permutation);

    pub(super) fn ends(&self) -> Ends {
        pattern!(self, pattern => pattern.ends())
    }

    pub(super) fn together(&self) -> usize {
        pattern!(self, pattern => pattern.together())
    }

    pub(super) fn hosts(&self) -> usize {
        pattern!(self, pattern => pattern.hosts())
    }
}

/// What pairs are drawn from.
struct Draw<'a> {
    fabric: &'a Fabric,
    /// What was prepared.
    drawn: &'a mut Vec<usize>,
    random: &'a mut Random,
}

impl Draw<'_> {
    /// A number below this one.
    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    /// One of these nodes.
    fn one_of(&mut self, nodes: &[NodeId]) -> NodeId {
        nodes[self.below(nodes.len())]
    }

    /// The node of a host.
    fn node(&self, host: usize) -> NodeId {
        self.fabric.node(HostId::new(host as u32))
    }
}

/// Draws pairs.
pub(super) struct Chooser<'a> {
    pattern: Pattern,
    fabric: &'a Fabric,
    drawn: Vec<usize>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(pattern: Pattern, fabric: &'a Fabric, random: &mut Random) -> Self {
        let drawn = pattern!(&pattern, pattern => pattern.prepare(fabric, random));
        Self { pattern, fabric, drawn }
    }

    /// Adds the pairs of one arrival.
    pub(super) fn choose(&mut self, random: &mut Random, pairs: &mut impl Extend<Pair>) {
        let mut draw = Draw { fabric: self.fabric, drawn: &mut self.drawn, random };
        pattern!(&self.pattern, pattern => pattern.choose(&mut draw, pairs));
    }
}

/// A sender of the topology to a receiver, each uniformly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay;

impl Declared for OneWay {
    const FORMS: &'static [Form] = &[Form {
        name: "one-way",
        words: "A sender of the topology sends to a receiver, each drawn uniformly.",
        head: None,
        keys: &[],
        example: "one-way",
    }];

    fn read(_written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredPattern for OneWay {
    fn ends(&self) -> Ends {
        Ends::Sides
    }

    fn choose(&self, draw: &mut Draw<'_>, pairs: &mut impl Extend<Pair>) {
        let topology = draw.fabric.topology();
        pairs.extend([(draw.one_of(&topology.senders), draw.one_of(&topology.receivers))]);
    }
}

/// Any host to any other, uniformly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllToAll;

impl Declared for AllToAll {
    const FORMS: &'static [Form] = &[Form {
        name: "all-to-all",
        words: "Any host sends to any other, uniformly.",
        head: None,
        keys: &[],
        example: "all-to-all",
    }];

    fn read(_written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredPattern for AllToAll {
    fn choose(&self, draw: &mut Draw<'_>, pairs: &mut impl Extend<Pair>) {
        let count = draw.fabric.host_count();
        let (source, other) = (draw.below(count), draw.below(count - 1));
        pairs.extend([(draw.node(source), draw.node(other + usize::from(other >= source)))]);
    }
}

/// Each host to one other, the same for the whole trial; every host receives from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation;

impl Declared for Permutation {
    const FORMS: &'static [Form] = &[Form {
        name: "permutation",
        words: "Each host sends to one other, the same for the whole trial; every host receives from one.",
        head: None,
        keys: &[],
        example: "permutation",
    }];

    fn read(_written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredPattern for Permutation {
    /// The partner of each host, by Sattolo's algorithm: one cycle, so nobody is its own partner.
    fn prepare(&self, fabric: &Fabric, random: &mut Random) -> Vec<usize> {
        let mut partners: Vec<_> = (0..fabric.host_count()).collect();
        for last in (1..partners.len()).rev() {
            partners.swap(last, random.below(last as u64) as usize);
        }
        partners
    }

    fn choose(&self, draw: &mut Draw<'_>, pairs: &mut impl Extend<Pair>) {
        let source = draw.below(draw.fabric.host_count());
        pairs.extend([(draw.node(source), draw.node(draw.drawn[source]))]);
    }
}

/// Several different hosts to one at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incast {
    senders: usize,
}

impl Declared for Incast {
    const FORMS: &'static [Form] = &[Form {
        name: "incast",
        words: "Several different hosts send to one host at the same time.",
        head: Some(Key { name: "senders", takes: Takes::Count, words: "Number of senders." }),
        keys: &[],
        example: "incast:8",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let senders = written.needed(written.count(HEAD)?, "a number of senders")?;
        Ok(Self { senders: usize::try_from(senders).unwrap_or(usize::MAX) })
    }
}

impl DeclaredPattern for Incast {
    fn together(&self) -> usize {
        self.senders
    }

    fn hosts(&self) -> usize {
        self.senders.saturating_add(1)
    }

    /// The first of a partial shuffle receives, the next ones send.
    fn choose(&self, draw: &mut Draw<'_>, pairs: &mut impl Extend<Pair>) {
        let count = draw.fabric.host_count();
        draw.drawn.clear();
        draw.drawn.extend(0..count);
        for place in 0..=self.senders {
            let other = place + draw.below(count - place);
            draw.drawn.swap(place, other);
        }
        let receiver = draw.node(draw.drawn[0]);
        pairs.extend(draw.drawn[1..=self.senders].iter().map(|sender| (draw.node(*sender), receiver)));
    }
}
