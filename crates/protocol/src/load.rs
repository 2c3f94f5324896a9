//! Kinds of load, as people write them.

use std::num::NonZeroU64;

use trialwise_units::{Bytes, Duration, ParseQuantityError, Rate};

/// The grammar, for help texts.
pub const GRAMMAR: &str = "bulk | rate:5Mbit/s | bytes:10MB | requests:request=200B,response=10kB,think=100ms[,count=N] | flows:FILE";

/// What the application of a sender does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// As much as passes.
    Bulk,
    /// So much and no more; payload.
    Rate(Rate),
    /// So many bytes.
    Bytes(NonZeroU64),
    /// A request, its response, a pause; again.
    Requests(Exchange),
    /// Flows of their own, each with its time and size.
    Flows(Vec<PlannedFlow>),
}

/// Requests and responses over one connection.
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

/// A line of a flow list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFlow {
    /// After the sender's start.
    pub start: Duration,
    /// Bytes.
    pub size: NonZeroU64,
}

/// Why a load cannot be had.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// It is of no kind.
    #[error("no load is called `{0}`; write one of {GRAMMAR}")]
    Unknown(String),
    /// A number that is none.
    #[error("load {kind}: {source}")]
    Quantity {
        /// Of which load or key.
        kind: &'static str,
        /// What is wrong.
        source: ParseQuantityError,
    },
    /// A number that is zero.
    #[error("load {0} must be greater than zero")]
    Zero(&'static str),
    /// Keys of requests.
    #[error("load requests: {0}; write requests:request=200B,response=10kB,think=100ms")]
    Requests(String),
    /// A list that cannot be read.
    #[error("flow list {path}: {problem}")]
    Flows {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

impl Load {
    /// Reads a load; `read_file` gives a file's text.
    pub fn parse(text: &str, read_file: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, LoadError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "bulk" if rest.is_empty() => Ok(Self::Bulk),
            "rate" => rate(rest).map(Self::Rate),
            "bytes" => size("bytes", rest).map(Self::Bytes),
            "requests" => Exchange::parse(rest).map(Self::Requests),
            "flows" => {
                let flows = |problem| LoadError::Flows { path: rest.to_owned(), problem };
                let list = read_file(rest).map_err(flows)?;
                parse_flows(&list).map(Self::Flows).map_err(flows)
            }
            _ => Err(LoadError::Unknown(text.to_owned())),
        }
    }
}

fn rate(text: &str) -> Result<Rate, LoadError> {
    let rate: Rate = text.parse().map_err(|source| LoadError::Quantity { kind: "rate", source })?;
    if rate == Rate::ZERO { Err(LoadError::Zero("rate")) } else { Ok(rate) }
}

fn size(kind: &'static str, text: &str) -> Result<NonZeroU64, LoadError> {
    let size: Bytes = text.parse().map_err(|source| LoadError::Quantity { kind, source })?;
    NonZeroU64::new(size.get()).ok_or(LoadError::Zero(kind))
}

impl Exchange {
    fn parse(text: &str) -> Result<Self, LoadError> {
        let (mut request, mut response, mut think, mut count) = (None, None, Duration::ZERO, None);
        for pair in text.split(',') {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| LoadError::Requests(format!("`{pair}` is no pair key=value")))?;
            match key.trim() {
                "request" => request = Some(size("request", value)?),
                "response" => response = Some(size("response", value)?),
                "think" => think = pause(value)?,
                "count" => count = Some(number(value)?),
                other => return Err(LoadError::Requests(format!("no key is called `{other}`"))),
            }
        }
        let lacking = |key: &str| LoadError::Requests(format!("`{key}` is missing"));
        Ok(Self {
            request: request.ok_or_else(|| lacking("request"))?.get(),
            response: response.ok_or_else(|| lacking("response"))?.get(),
            think,
            count,
        })
    }
}

fn pause(text: &str) -> Result<Duration, LoadError> {
    text.parse().map_err(|source| LoadError::Quantity { kind: "think", source })
}

fn number(text: &str) -> Result<u64, LoadError> {
    let count = text.trim().parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| LoadError::Requests(format!("`{text}` is no count")))
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
            cell.parse().map_err(|_| format!("line {}: `{cell}` is no whole number for {name}", line + 1))
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
        Load::parse(text, &files).map_err(|error| error.to_string())
    }

    #[test]
    fn loads_read_as_written() {
        assert_eq!(parse("bulk"), Ok(Load::Bulk));
        assert_eq!(parse("rate:5Mbit/s"), Ok(Load::Rate(Rate::from_megabits_per_second(5))));
        assert_eq!(parse("bytes:10MB"), Ok(Load::Bytes(NonZeroU64::new(10_000_000).unwrap())));
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
        assert_eq!(parse("flows:good.csv"), Ok(Load::Flows(vec![flow(5, 1000), flow(0, 2000)])));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| parse(text).unwrap_err();
        assert!(message("burst").contains("bulk | rate"));
        assert!(message("bulk:1").contains("no load is called"));
        assert!(message("rate:0bit/s").contains("greater than zero"));
        assert!(message("bytes:ten").contains("does not start with a number"));
        assert!(message("requests:response=1kB").contains("`request` is missing"));
        assert!(message("requests:request=0B,response=1kB").contains("greater than zero"));
        assert!(message("requests:wish=1").contains("no key is called `wish`"));
        assert!(message("flows:none.csv").contains("no such file"));
        assert!(message("flows:bad.csv").contains("line 3: `-1`"));
        assert!(message("flows:zero.csv").contains("line 2: size_bytes is 0"));
        assert!(message("flows:head.csv").contains("no column start_ns"));
    }
}
