//! Whole links as written.

use std::sync::Arc;

use trialwise_units::element::{ElementError, Kind, ReadFile, unknown};
use trialwise_units::{Duration, Rate, Seed, Time};

use crate::corruption::CorruptSpec;
use crate::course::{Course, CourseSpec, Part};
use crate::delay::{BatchSpec, Delay, DelaySpec, FlowDelay, OrderedDelay, ReorderingDelay};
use crate::duplication::DuplicateSpec;
use crate::ecn_gate::{EcnGate, EcnSpec};
use crate::error::SpecError;
use crate::handover::{Going, Handover, HandoverSpec};
use crate::link::Link;
use crate::loss::{LossSpec, VaryingLoss};
use crate::outage::{ListedOutage, OutageSpec};
use crate::packet::Packet;
use crate::path_mtu::PathMtuSpec;
use crate::policer::PolicerSpec;
use crate::queue::QueueSpec;
use crate::queue::Surroundings;
use crate::radio::RadioSpec;
use crate::rate::{RateSpec, Server};
use crate::spans::Spans;

/// What a link is made of, in the order in which [`LinkSpec::from_pairs`] has it.
const KINDS: [&Kind; 14] = [
    &CourseSpec::KIND,
    &PolicerSpec::KIND,
    &RateSpec::KIND,
    &QueueSpec::KIND,
    &OutageSpec::KIND,
    &HandoverSpec::KIND,
    &RadioSpec::KIND,
    &PathMtuSpec::KIND,
    &EcnSpec::KIND,
    &LossSpec::KIND,
    &CorruptSpec::KIND,
    &DuplicateSpec::KIND,
    &DelaySpec::KIND,
    &BatchSpec::KIND,
];

/// One element of a link as written.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementSpec {
    /// What a course says of one part.
    Course {
        /// The course.
        course: Arc<CourseSpec>,
        /// Which part.
        part: Part,
        /// Of a rate, what waits for it.
        queue: Option<QueueSpec>,
    },
    /// Drops what exceeds a rate.
    Policer(PolicerSpec),
    /// A queue and what serves it.
    Bottleneck(RateSpec, QueueSpec),
    /// Drops what arrives while off.
    Outage(OutageSpec),
    /// Holds what arrives during handovers.
    Handover(HandoverSpec),
    /// Lets packets go as a radio link does.
    Radio(RadioSpec),
    /// Drops by the size.
    PathMtu(PathMtuSpec),
    /// Rewrites or drops by the ECN field.
    Ecn(EcnSpec),
    /// Drops whatever the load.
    Loss(LossSpec),
    /// Corrupts whatever the load.
    Corrupt(CorruptSpec),
    /// Copies whatever the load.
    Duplicate(DuplicateSpec),
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
    /// A course stands for the keys of its parts, at their places. A packet meets them in this order: policer, rate with its queue (`infinite` unless given), outage,
    /// handover, radio, path MTU, ECN, loss, corruption, duplication, delay, batches: what is lost has taken its time at the bottleneck. Mahimahi's nested shells have
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
        let [
            course,
            policer,
            rate,
            queue,
            outage,
            handover,
            radio,
            pmtu,
            ecn,
            loss,
            corrupt,
            duplicate,
            delay,
            batches,
        ] = values;
        let course = course.map(|text| CourseSpec::read(text, read_file)).transpose()?;
        let course = Parts::of(course);
        let paced = course.has(Part::Rate).then(|| queue.unwrap_or("infinite").parse()).transpose()?;
        let elements = [
            policer.map(|text| PolicerSpec::read(text, read_file).map(ElementSpec::Policer)),
            match paced {
                Some(queue) => course.part(Part::Rate, Some(queue), rate),
                None => bottleneck(rate, queue, read_file),
            },
            course
                .or(Part::Outage, outage, |text| OutageSpec::read(text, read_file).map(ElementSpec::Outage)),
            course.or(Part::Handover, handover, |text| {
                HandoverSpec::read(text, read_file).map(ElementSpec::Handover)
            }),
            radio.map(|text| RadioSpec::read(text, read_file).map(ElementSpec::Radio)),
            pmtu.map(|text| PathMtuSpec::read(text, read_file).map(ElementSpec::PathMtu)),
            ecn.map(|text| EcnSpec::read(text, read_file).map(ElementSpec::Ecn)),
            course.or(Part::Loss, loss, |text| LossSpec::read(text, read_file).map(ElementSpec::Loss)),
            corrupt.map(|text| CorruptSpec::read(text, read_file).map(ElementSpec::Corrupt)),
            duplicate.map(|text| DuplicateSpec::read(text, read_file).map(ElementSpec::Duplicate)),
            course.or(Part::Delay, delay, |text| DelaySpec::read(text, read_file).map(ElementSpec::Delay)),
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
            ElementSpec::Course { course, part: Part::Delay, .. } => sum + course.base(),
            _ => sum,
        })
    }

    /// The smallest mean rate among the bottlenecks and policers, in the long run and without regard to outages; nothing
    /// where the link has neither.
    pub fn capacity(&self) -> Option<Rate> {
        let rates = self.elements.iter().filter_map(|element| match element {
            ElementSpec::Bottleneck(rate, _) => Some(rate.mean()),
            ElementSpec::Course { course, part: Part::Rate, .. } => course.mean(),
            ElementSpec::Policer(policer) => Some(policer.rate()),
            _ => None,
        });
        rates.min()
    }

    /// Whether payloads are changed on the way so that no checksum tells.
    pub fn changes_payloads(&self) -> bool {
        let changes =
            |element: &ElementSpec| matches!(element, ElementSpec::Corrupt(spec) if spec.changes_payloads());
        self.elements.iter().any(changes)
    }

    /// What becomes of the ECN field of packets with ECT(1) where no queue marks them, or nothing where they keep it.
    pub fn ecn_gate(&self) -> Option<EcnGate> {
        self.elements.iter().find_map(|element| match element {
            ElementSpec::Ecn(spec) => Some(spec.build()),
            _ => None,
        })
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
            let place = Place { name: &name, start, root: seed, seed: seed.named(&name), round_trip };
            // All parts of one course are of one draw, from the seed of the link.
            link = element.add_to(link, place)?;
        }
        Ok(link)
    }
}

/// A course with the parts that it says.
struct Parts {
    course: Option<Arc<CourseSpec>>,
    parts: Vec<Part>,
}

impl Parts {
    fn of(course: Option<CourseSpec>) -> Self {
        let parts = course.as_ref().map(CourseSpec::parts).unwrap_or_default();
        Self { course: course.map(Arc::new), parts }
    }

    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// The part as an element, where the course says it, and then nothing else may.
    fn part(
        &self,
        part: Part,
        queue: Option<QueueSpec>,
        text: Option<&str>,
    ) -> Option<Result<ElementSpec, ElementError>> {
        let course = self.course.as_ref().filter(|_| self.has(part))?;
        Some(match text {
            None => Ok(ElementSpec::Course { course: Arc::clone(course), part, queue }),
            Some(_) => {
                let what = "a link whose course says it already".to_owned();
                Err(ElementError::Twice { what, key: part.key().to_owned() })
            }
        })
    }

    /// The part, or else what is written.
    fn or(
        &self,
        part: Part,
        text: Option<&str>,
        read: impl Fn(&str) -> Result<ElementSpec, ElementError>,
    ) -> Option<Result<ElementSpec, ElementError>> {
        self.part(part, None, text).or_else(|| text.map(read))
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
            Self::Course { part, .. } => part.key(),
            Self::Policer(_) => "policer",
            Self::Bottleneck(..) => "rate",
            Self::Outage(_) => "outage",
            Self::Handover(_) => "handover",
            Self::Radio(_) => "radio",
            Self::PathMtu(_) => "pmtu",
            Self::Ecn(_) => "ecn",
            Self::Loss(_) => "loss",
            Self::Corrupt(_) => "corrupt",
            Self::Duplicate(_) => "duplicate",
            Self::Delay(_) => "delay",
            Self::Batches(_) => "batches",
            Self::FlowDelay(_) => "flow-delay",
        }
    }

    fn add_to<P: Packet>(&self, link: Link<P>, place: Place<'_>) -> Result<Link<P>, SpecError> {
        let Place { name, start, seed, .. } = place;
        Ok(match self {
            Self::Course { course, part, queue } => {
                add_part(course.drawn(place.root.named("course")), *part, queue.as_ref(), link, place)?
            }
            Self::Policer(spec) => link.gate(name, spec.build(start)),
            Self::Outage(spec) => link.gate(name, spec.build(start, seed)),
            Self::Handover(spec) => link.stage(name, spec.build(start, seed)),
            Self::Radio(spec) => link.stage(name, spec.build(start, seed)),
            Self::PathMtu(spec) => link.gate(name, spec.build()),
            Self::Ecn(spec) => link.gate(name, spec.build()),
            Self::Loss(spec) => link.gate(name, spec.build(start, seed)),
            Self::Corrupt(spec) => link.gate(name, spec.build(seed)),
            Self::Duplicate(spec) => link.duplication(name, spec.build(seed)),
            Self::Delay(spec) => link.stage(name, spec.build(start, seed)),
            Self::Batches(spec) => link.stage(name, spec.build(start)),
            Self::FlowDelay(delays) => link.stage(name, FlowDelay::new(delays.clone())),
            Self::Bottleneck(rate, queue) => add_served(rate.server(seed)?, queue, link, place)?,
        })
    }
}

/// Where an element goes, and what is around it.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    start: Time,
    /// Of the link, and of the element.
    root: Seed,
    seed: Seed,
    round_trip: Option<Duration>,
}

fn add_served<P: Packet>(
    server: Server,
    queue: &QueueSpec,
    link: Link<P>,
    Place { name, start, seed, round_trip, .. }: Place<'_>,
) -> Result<Link<P>, SpecError> {
    let surroundings =
        Surroundings { rate: server.mean_rate(), round_trip, start, seed: seed.named("queue") };
    Ok(link.stage(name, server.serve(queue.build(&surroundings)?, start)))
}

/// The link with what one part of a drawn course does; a part that the course does not have does nothing.
fn add_part<P: Packet>(
    course: Course,
    part: Part,
    queue: Option<&QueueSpec>,
    link: Link<P>,
    place: Place<'_>,
) -> Result<Link<P>, SpecError> {
    let Place { name, start, seed, .. } = place;
    let nothing = || Spans::listed(Vec::new(), None);
    Ok(match part {
        Part::Rate => match (course.pace, queue) {
            (Some(pace), Some(queue)) => add_served(pace.server(), queue, link, place)?,
            _ => link,
        },
        Part::Outage => link.gate(name, ListedOutage::new(course.outages.unwrap_or_else(nothing), start)),
        Part::Handover => {
            link.stage(name, Handover::new(course.holds.unwrap_or_else(nothing), Going::AT_ONCE, start, seed))
        }
        Part::Loss => match course.loss {
            Some(loss) => link.gate(name, VaryingLoss::new(&loss, start, seed)),
            None => link,
        },
        Part::Delay => match course.delay.map(|series| Delay::varying(&series, start)) {
            Some(delay) if course.reorders => link.stage(name, ReorderingDelay::new(delay)),
            Some(delay) => link.stage(name, OrderedDelay::new(delay)),
            None => link,
        },
    })
}
