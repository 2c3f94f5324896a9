//! Whole links as written.

use trialwise_units::element::{ElementError, Kind, ReadFile, unknown};
use trialwise_units::{Duration, Rate, Seed, Time};

use crate::delay::{BatchSpec, DelaySpec, FlowDelay};
use crate::error::SpecError;
use crate::link::Link;
use crate::loss::LossSpec;
use crate::outage::OutageSpec;
use crate::packet::Packet;
use crate::policer::PolicerSpec;
use crate::queue::QueueSpec;
use crate::queue::Surroundings;
use crate::rate::RateSpec;

/// What a link is made of, in the order in which [`LinkSpec::from_pairs`] has it.
const KINDS: [&Kind; 7] = [
    &PolicerSpec::KIND,
    &RateSpec::KIND,
    &QueueSpec::KIND,
    &OutageSpec::KIND,
    &LossSpec::KIND,
    &DelaySpec::KIND,
    &BatchSpec::KIND,
];

/// One element of a link as written.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementSpec {
    /// Drops what exceeds a rate.
    Policer(PolicerSpec),
    /// A queue and what serves it.
    Bottleneck(RateSpec, QueueSpec),
    /// Drops what arrives while off.
    Outage(OutageSpec),
    /// Drops whatever the load.
    Loss(LossSpec),
    /// Delays.
    Delay(DelaySpec),
    /// Releases in batches.
    Batches(BatchSpec),
    /// Delays the packets of single flows, each by a time of its own.
    FlowDelay(Vec<(u16, Duration)>),
}

/// The elements of a one-way link in the order in which a packet meets them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSpec {
    /// The elements.
    pub elements: Vec<ElementSpec>,
}

impl LinkSpec {
    /// What a link is made of, by the keys of [`Self::from_pairs`].
    pub fn kinds() -> impl Iterator<Item = &'static Kind> {
        KINDS.into_iter()
    }

    /// A link from pairs such as `("rate", "12Mbit/s")`, `("delay", "28ms")`, `("queue",
    /// "droptail:packets=50")`, in any order.
    ///
    /// A packet meets them in this order: policer, rate with its queue (`infinite` unless given), outage,
    /// loss, delay, batches: what is lost has taken its time at the bottleneck. Mahimahi's nested shells have
    /// this order from the inside out. `read_file` reads the files that are named, such as in `trace:FILE`.
    ///
    /// # Errors
    /// An unknown key, one given twice, a value that is refused, or a queue without a rate.
    pub fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        read_file: ReadFile<'_>,
    ) -> Result<Self, SpecError> {
        let mut values = [None; KINDS.len()];
        for (key, value) in pairs {
            let known = Self::kinds().position(|kind| kind.name == key);
            let not_known = || unknown("key of a link", key, Self::kinds().map(|kind| kind.name).collect());
            let slot = &mut values[known.ok_or_else(not_known)?];
            if slot.replace(value).is_some() {
                return Err(ElementError::Twice { what: "link".to_owned(), key: key.to_owned() }.into());
            }
        }
        let [policer, rate, queue, outage, loss, delay, batches] = values;
        let elements = [
            policer.map(|text| PolicerSpec::read(text, read_file).map(ElementSpec::Policer)),
            bottleneck(rate, queue, read_file),
            outage.map(|text| OutageSpec::read(text, read_file).map(ElementSpec::Outage)),
            loss.map(|text| LossSpec::read(text, read_file).map(ElementSpec::Loss)),
            delay.map(|text| DelaySpec::read(text, read_file).map(ElementSpec::Delay)),
            batches.map(|text| BatchSpec::read(text, read_file).map(ElementSpec::Batches)),
        ];
        Ok(Self { elements: elements.into_iter().flatten().collect::<Result<_, ElementError>>()? })
    }

    /// The same elements from the far end on, as mahimahi's nested shells have them from the outside in.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.elements.reverse();
        self
    }

    /// The same link with the flows of these numbers ([`Packet::is_of`]) so much further away: they meet the delay where they
    /// enter, or, if `at_exit`, where they leave.
    #[must_use]
    pub fn with_flow_delays(mut self, delays: &[(u16, Duration)], at_exit: bool) -> Self {
        if !delays.is_empty() {
            let place = if at_exit { self.elements.len() } else { 0 };
            self.elements.insert(place, ElementSpec::FlowDelay(delays.to_vec()));
        }
        self
    }

    /// The delays of the elements together, without jitter: this way's part of the round-trip time.
    pub fn base_delay(&self) -> Duration {
        self.elements.iter().fold(Duration::ZERO, |sum, element| match element {
            ElementSpec::Delay(delay) => sum + delay.base(),
            _ => sum,
        })
    }

    /// The smallest mean rate among the bottlenecks and policers, in the long run and without regard to outages; nothing
    /// where the link has neither.
    pub fn capacity(&self) -> Option<Rate> {
        let rates = self.elements.iter().filter_map(|element| match element {
            ElementSpec::Bottleneck(rate, _) => Some(rate.mean()),
            ElementSpec::Policer(policer) => Some(policer.rate()),
            _ => None,
        });
        rates.min()
    }

    /// The names of the elements in their order, as a built link counts its packets under.
    pub fn names(&self) -> Vec<String> {
        let name = |(index, element): (usize, &ElementSpec)| {
            let name = element.name();
            match self.elements[..index].iter().filter(|other| other.name() == name).count() {
                0 => name.to_owned(),
                before => format!("{name}-{}", before + 1),
            }
        };
        self.elements.iter().enumerate().map(name).collect()
    }

    /// The link, empty, starting at `start`. Seeds derive from `seed` by the kind of the element and how many
    /// of it come before, so that adding an element of another kind changes no other element's numbers.
    /// `round_trip` is needed for limits in BDPs.
    ///
    /// # Errors
    /// A limit in BDPs without `round_trip`, or a generated rate for which there is no trace.
    pub fn build<P: Packet>(
        &self,
        start: Time,
        seed: Seed,
        round_trip: Option<Duration>,
    ) -> Result<Link<P>, SpecError> {
        let mut link = Link::new();
        for (element, name) in self.elements.iter().zip(self.names()) {
            link = element.add_to(link, &name, start, seed.named(&name), round_trip)?;
        }
        Ok(link)
    }
}

fn bottleneck(
    rate: Option<&str>,
    queue: Option<&str>,
    read_file: ReadFile<'_>,
) -> Option<Result<ElementSpec, ElementError>> {
    match (rate, queue) {
        (None, None) => None,
        (None, Some(_)) => {
            let what = "a queue".to_owned();
            Some(Err(ElementError::Missing {
                what,
                missing: "a rate that it waits for",
                example: "rate 12Mbit/s",
            }))
        }
        (Some(rate), queue) => Some(
            RateSpec::read(rate, read_file)
                .and_then(|rate| Ok(ElementSpec::Bottleneck(rate, queue.unwrap_or("infinite").parse()?))),
        ),
    }
}

impl ElementSpec {
    /// The key under which [`LinkSpec::from_pairs`] has it, which has no [`Self::FlowDelay`].
    fn name(&self) -> &'static str {
        match self {
            Self::Policer(_) => "policer",
            Self::Bottleneck(..) => "rate",
            Self::Outage(_) => "outage",
            Self::Loss(_) => "loss",
            Self::Delay(_) => "delay",
            Self::Batches(_) => "batches",
            Self::FlowDelay(_) => "flow-delay",
        }
    }

    fn add_to<P: Packet>(
        &self,
        link: Link<P>,
        name: &str,
        start: Time,
        seed: Seed,
        round_trip: Option<Duration>,
    ) -> Result<Link<P>, SpecError> {
        Ok(match self {
            Self::Policer(spec) => link.gate(name, spec.build(start)),
            Self::Outage(spec) => link.gate(name, spec.build(start, seed)),
            Self::Loss(spec) => link.gate(name, spec.build(start, seed)),
            Self::Delay(spec) => link.stage(name, spec.build(start, seed)),
            Self::Batches(spec) => link.stage(name, spec.build(start)),
            Self::FlowDelay(delays) => link.stage(name, FlowDelay::new(delays.clone())),
            Self::Bottleneck(rate, queue) => {
                let server = rate.server(seed)?;
                let seed = seed.named("queue");
                let surroundings = Surroundings { rate: server.mean_rate(), round_trip, start, seed };
                link.stage(name, server.serve(queue.build(&surroundings)?, start))
            }
        })
    }
}
