//! Kinds of load, as people write them, and the connections that they take: a line for each, here and nowhere else.

use std::num::NonZeroU64;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, Rate, elements};

use crate::media::Media;
use crate::opening::Task;

elements! {
    /// What the application of a sender does.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Load of "load", load! {
        Bulk(Bulk),
        Rate(Steady),
        Bytes(Transfer),
        Requests(Exchange),
        Flows(PlannedFlows),
        Media(Media),
    }
}

impl Load {
    /// The connections of a load, the first to start first.
    pub fn jobs(&self) -> Vec<Job> {
        load!(self, load => load.jobs())
    }
}

/// A load that can be chosen by name.
trait DeclaredLoad: Declared {
    /// Its connections, the first to start first.
    fn jobs(&self) -> Vec<Job>;
}

/// Where the payload of a connection comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// As much as passes.
    Endless,
    /// So much and no more.
    Rate(Rate),
    /// So many bytes.
    Size(u64),
    /// Requests, each of which is answered.
    Requests(Exchange),
    /// Frames.
    Media(Media),
}

/// A connection to open, so long after the start of the sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its place in the load.
    pub flow: usize,
    /// After the start of the sender.
    pub start: Duration,
    /// What it carries.
    pub supply: Supply,
}

impl Supply {
    /// What the other end is to do.
    pub const fn task(&self) -> Task {
        match self {
            Self::Requests(exchange) => {
                Task::Answer { request: exchange.request, response: exchange.response }
            }
            _ => Task::Take,
        }
    }
}

impl Job {
    /// The only connection of a load.
    fn only(supply: Supply) -> Vec<Self> {
        vec![Self { flow: 0, start: Duration::ZERO, supply }]
    }
}

/// As much as passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk;

impl Declared for Bulk {
    const FORMS: &'static [Form] =
        &[Form { name: "bulk", words: "Send as much as passes.", head: None, keys: &[], example: "bulk" }];

    fn read(_written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredLoad for Bulk {
    fn jobs(&self) -> Vec<Job> {
        Job::only(Supply::Endless)
    }
}

/// So much and no more; payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady(pub Rate);

impl Declared for Steady {
    const FORMS: &'static [Form] = &[Form {
        name: "rate",
        words: "Send at this rate.",
        head: Some(Key { name: "rate", takes: Takes::Rate, words: "Payload of the flow." }),
        keys: &[],
        example: "rate:5Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        written.needed(written.rate(HEAD)?, "a rate").map(Self)
    }
}

impl DeclaredLoad for Steady {
    fn jobs(&self) -> Vec<Job> {
        Job::only(Supply::Rate(self.0))
    }
}

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer(pub NonZeroU64);

impl Declared for Transfer {
    const FORMS: &'static [Form] = &[Form {
        name: "bytes",
        words: "Send this many bytes, then end.",
        head: Some(Key { name: "size", takes: Takes::Amount, words: "Payload of the flow." }),
        keys: &[],
        example: "bytes:10MB",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        written.needed(written.amount(HEAD)?, "a size").map(Self)
    }
}

impl DeclaredLoad for Transfer {
    fn jobs(&self) -> Vec<Job> {
        Job::only(Supply::Size(self.0.get()))
    }
}

/// A request, its response, a pause; again, over one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of a response.
    pub response: u64,
    /// From the end of a response to the next request.
    pub think: Duration,
    /// How many; none for no end.
    pub count: Option<u64>,
}

impl Declared for Exchange {
    const FORMS: &'static [Form] = &[Form {
        name: "requests",
        words: "A request, its response and a pause, repeated.",
        head: None,
        keys: &[
            Key { name: "request", takes: Takes::Amount, words: "Size of a request; required." },
            Key { name: "response", takes: Takes::Amount, words: "Size of a response; required." },
            Key {
                name: "think",
                takes: Takes::Time,
                words: "Time from the end of a response to the next request; default 0.",
            },
            Key { name: "count", takes: Takes::Count, words: "Number of requests; unlimited by default." },
        ],
        example: "requests:request=200B,response=10kB,think=100ms",
    }];
    const LAST_HOLDS: bool = true;

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self {
            request: written.needed(written.amount("request")?, "a request")?.get(),
            response: written.needed(written.amount("response")?, "a response")?.get(),
            think: written.time("think")?.unwrap_or(Duration::ZERO),
            count: written.count("count")?,
        })
    }
}

impl DeclaredLoad for Exchange {
    fn jobs(&self) -> Vec<Job> {
        Job::only(Supply::Requests(*self))
    }
}

/// Flows of their own, each with its time and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFlows(pub Vec<PlannedFlow>);

/// A line of a flow list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFlow {
    /// After the sender's start.
    pub start: Duration,
    /// Bytes.
    pub size: NonZeroU64,
}

impl Declared for PlannedFlows {
    const FORMS: &'static [Form] = &[Form {
        name: "flows",
        words: "Start the flows of a list, each at its time and with its size.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "CSV whose first line names at least start_ns and size_bytes.",
        }),
        keys: &[],
        example: "flows:FILE",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        written.file(HEAD, parse_flows).map(Self)
    }
}

impl DeclaredLoad for Media {
    fn jobs(&self) -> Vec<Job> {
        Job::only(Supply::Media(self.clone()))
    }
}

impl DeclaredLoad for PlannedFlows {
    fn jobs(&self) -> Vec<Job> {
        let jobs = self.0.iter().enumerate();
        let jobs = jobs.map(|(flow, planned)| Job {
            flow,
            start: planned.start,
            supply: Supply::Size(planned.size.get()),
        });
        let mut jobs: Vec<Job> = jobs.collect();
        jobs.sort_by_key(|job| job.start);
        jobs
    }
}

/// Reads a flow list: CSV whose first line names at least `start_ns` and `size_bytes`.
fn parse_flows(text: &str) -> Result<Vec<PlannedFlow>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or("it is empty; its first line must be start_ns,size_bytes")?;
    let column = |name: &str| {
        let place = head.split(',').position(|column| column.trim() == name);
        place
            .ok_or_else(|| format!("its first line names no column {name}: it must have start_ns,size_bytes"))
    };
    let (start, size) = (column("start_ns")?, column("size_bytes")?);
    let mut flows = Vec::new();
    for (line, text) in lines {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let cell = |place: usize, name: &str| -> Result<u64, String> {
            let cell = cells.get(place).copied().unwrap_or_default();
            cell.parse().map_err(|_| format!("line {}: `{cell}` is not a whole number for {name}", line + 1))
        };
        let size = NonZeroU64::new(cell(size, "size_bytes")?);
        flows.push(PlannedFlow {
            start: Duration::from_nanoseconds(cell(start, "start_ns")?),
            size: size.ok_or_else(|| format!("line {}: size_bytes is 0", line + 1))?,
        });
    }
    if flows.is_empty() { Err("it has no flows".to_owned()) } else { Ok(flows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Load, String> {
        let files = |path: &str| match path {
            "good.csv" => Ok("size_bytes,name,start_ns\n1000,a,5\n\n2000,b,0\n".to_owned()),
            "bad.csv" => Ok("start_ns,size_bytes\n5,1000\n-1,3\n".to_owned()),
            "zero.csv" => Ok("start_ns,size_bytes\n5,0\n".to_owned()),
            "head.csv" => Ok("5,1000\n".to_owned()),
            _ => Err("no such file".to_owned()),
        };
        Load::read(text, &files).map_err(|error| error.to_string())
    }

    #[test]
    fn loads_read_as_written() {
        assert_eq!(parse("bulk"), Ok(Load::Bulk(Bulk)));
        assert_eq!(parse("rate:5Mbit/s"), Ok(Load::Rate(Steady(Rate::from_megabits_per_second(5)))));
        assert_eq!(parse("bytes:10MB"), Ok(Load::Bytes(Transfer(NonZeroU64::new(10_000_000).unwrap()))));
        let exchange = Exchange {
            request: 200,
            response: 10_000,
            think: Duration::from_milliseconds(100),
            count: Some(3),
        };
        assert_eq!(
            parse("requests:request=200B,response=10kB,think=100ms,count=3"),
            Ok(Load::Requests(exchange))
        );
        let flow = |nanoseconds, size| PlannedFlow {
            start: Duration::from_nanoseconds(nanoseconds),
            size: NonZeroU64::new(size).unwrap(),
        };
        assert_eq!(
            parse("flows:good.csv"),
            Ok(Load::Flows(PlannedFlows(vec![flow(5, 1000), flow(0, 2000)])))
        );
        let twice = parse("requests:request=1B,request=200B,response=10kB,think=100ms,count=3");
        assert_eq!(twice, Ok(Load::Requests(exchange)), "the last holds");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| parse(text).unwrap_err();
        assert!(message("burst").ends_with("known: bulk, rate, bytes, requests, flows, media"));
        assert_eq!(message("bulk:1"), "load bulk takes nothing, not `1`");
        assert!(message("rate:0bit/s").contains("nothing would ever pass"));
        assert!(message("bytes:ten").contains("does not start with a number"));
        assert!(
            message("requests:response=1kB")
                .starts_with("load requests needs a request; write one like requests:")
        );
        assert!(message("requests:request=0B,response=1kB").contains("must be above zero"));
        assert!(message("requests:wish=1").starts_with("unknown key of load requests `wish`"));
        assert!(message("flows:none.csv").contains("no such file"));
        assert!(message("flows:bad.csv").contains("line 3: `-1`"));
        assert!(message("flows:zero.csv").contains("line 2: size_bytes is 0"));
        assert!(message("flows:head.csv").contains("no column start_ns"));
    }

    #[test]
    fn flows_are_started_in_the_order_of_their_times() {
        let flow = |start, size| PlannedFlow {
            start: Duration::from_nanoseconds(start),
            size: NonZeroU64::new(size).unwrap(),
        };
        let jobs = Load::Flows(PlannedFlows(vec![flow(9, 1), flow(2, 5)])).jobs();
        assert_eq!(jobs.iter().map(|job| job.flow).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(jobs[0].supply, Supply::Size(5));
    }
}
