//! Where a stream goes, as a URI.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::ConfigError;
use crate::protocol::Content;

/// A collector, a file or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// An OML collector over TCP.
    Tcp {
        /// Name or address.
        host: String,
        /// 3003 by default.
        port: u16,
    },
    /// A Trialwise collector, acknowledged.
    Native {
        /// Name or address.
        host: String,
        /// 3003 by default.
        port: u16,
    },
    /// A Trialwise collector, acknowledged, inside TLS.
    Tls {
        /// Name or address, as the collector's certificate has it.
        host: String,
        /// 3003 by default.
        port: u16,
    },
    /// Appended to a file.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// OML's port.
const PORT: u16 = 3003;

impl Destination {
    /// Binary for a collector, text for people.
    pub const fn usual_content(&self) -> Content {
        match self {
            Self::Tcp { .. } | Self::Native { .. } | Self::Tls { .. } => Content::Binary,
            Self::File(_) | Self::Stdout => Content::Text,
        }
    }

    /// OML's file name when no destination is given: `<app>[_<id>][_<domain>]_<YYYY-mm-ddtHH.MM.SS+zzzz>`, in UTC.
    pub fn default_file(app: &str, id: Option<&str>, domain: Option<&str>, now: SystemTime) -> Self {
        let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let parts = [Some(app), id, domain].into_iter().flatten().collect::<Vec<_>>().join("_");
        Self::File(PathBuf::from(format!("{}_{}", parts.replace('/', "-"), time_stamp(seconds))))
    }
}

/// `1970-01-01t00.00.00+0000`.
fn time_stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}t{hour:02}.{minute:02}.{second:02}+0000")
}

/// Year, month, day of a day since 1970 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
const fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + (month <= 2) as u64, month, day)
}

impl FromStr for Destination {
    type Err = ConfigError;

    /// Reads `[tcp:][//]host[:port]`, `native:…`, `tls:…`, `file:path`, `flush:path` or `flushfile:path`, `file:-`; an IPv6 address
    /// stands in brackets.
    fn from_str(uri: &str) -> Result<Self, ConfigError> {
        let refuse =
            |reason: &str| ConfigError::Destination { uri: uri.to_owned(), reason: reason.to_owned() };
        for scheme in ["file:", "flushfile:", "flush:"] {
            match uri.strip_prefix(scheme) {
                Some("") => return Err(refuse("it names no file")),
                Some("-") => return Ok(Self::Stdout),
                Some(path) => return Ok(Self::File(PathBuf::from(path))),
                None => {}
            }
        }
        if let Some(rest) = uri.strip_prefix("native:") {
            let (host, port) = parse_host(rest).map_err(refuse)?;
            return Ok(Self::Native { host, port });
        }
        if let Some(rest) = uri.strip_prefix("tls:") {
            let (host, port) = parse_host(rest).map_err(refuse)?;
            return Ok(Self::Tls { host, port });
        }
        let (host, port) = parse_host(uri.strip_prefix("tcp:").unwrap_or(uri)).map_err(refuse)?;
        Ok(Self::Tcp { host, port })
    }
}

fn parse_host(text: &str) -> Result<(String, u16), &'static str> {
    let text = text.strip_prefix("//").unwrap_or(text);
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, rest))) => (host, rest.strip_prefix(':')),
        Some(None) => return Err("a bracket is not closed"),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("it names no host");
    }
    let port = port.filter(|port| !port.is_empty()).map_or(Ok(PORT), str::parse);
    Ok((host.to_owned(), port.map_err(|_| "the port is no number from 0 to 65535")?))
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => write!(formatter, "tcp:{}:{port}", bracketed(host)),
            Self::Native { host, port } => write!(formatter, "native:{}:{port}", bracketed(host)),
            Self::Tls { host, port } => write!(formatter, "tls:{}:{port}", bracketed(host)),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Stdout => formatter.write_str("file:-"),
        }
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_as_oml_reads_them() {
        let tcp = |host: &str, port| Destination::Tcp { host: host.into(), port };
        let cases = [
            ("h", tcp("h", 3003)),
            ("tcp:h", tcp("h", 3003)),
            ("tcp://h:4000", tcp("h", 4000)),
            ("h:4000", tcp("h", 4000)),
            ("[::1]:5", tcp("::1", 5)),
            ("tcp:[fe80::1]", tcp("fe80::1", 3003)),
            ("native://h", Destination::Native { host: "h".into(), port: 3003 }),
            ("tls:h:5", Destination::Tls { host: "h".into(), port: 5 }),
            ("file:a/b", Destination::File("a/b".into())),
            ("flushfile:a", Destination::File("a".into())),
            ("flush:a", Destination::File("a".into())),
            ("file:-", Destination::Stdout),
        ];
        for (uri, expected) in cases {
            assert_eq!(uri.parse::<Destination>().unwrap(), expected, "{uri}");
            assert_eq!(expected.to_string().parse::<Destination>().unwrap(), expected);
        }
        for wrong in ["", "tcp:", "file:", "h:port", "h:70000", "[::1"] {
            assert!(wrong.parse::<Destination>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_default_file_is_named_after_program_and_time() {
        let now = UNIX_EPOCH + std::time::Duration::from_secs(951_827_696);
        let file = Destination::default_file("app", Some("n1"), None, now);
        assert_eq!(file.to_string(), "file:app_n1_2000-02-29t12.34.56+0000");
    }
}
