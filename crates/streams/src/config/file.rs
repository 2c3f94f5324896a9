//! A configuration file: TOML, or the same records out of OML's XML.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::{Collect, ConfigError, StreamChoice, xml};
use crate::filter::{FilterChoice, Properties, Window};
use crate::protocol::Content;
use crate::shown::shown;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) domain: Option<String>,
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) collect: Vec<FileCollect>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileCollect {
    pub(super) url: String,
    pub(super) encoding: Option<String>,
    #[serde(default)]
    pub(super) stream: Vec<FileStream>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStream {
    pub(super) point: String,
    pub(super) name: Option<String>,
    pub(super) samples: Option<u64>,
    pub(super) interval: Option<f64>,
    #[serde(default)]
    pub(super) filter: Vec<FileFilter>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileFilter {
    pub(super) field: String,
    /// Empty: the field's default filter.
    #[serde(default)]
    pub(super) operation: String,
    pub(super) rename: Option<String>,
    #[serde(default)]
    pub(super) properties: BTreeMap<String, Property>,
}

/// A property may be written as text or as a number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Property {
    Text(String),
    Integer(i64),
    Number(f64),
}

impl Property {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1 << 22;

/// Reads a file: TOML if its name ends so, else XML.
pub(super) fn read(path: &Path) -> Result<File, ConfigError> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let parse = |text: String| if is_toml { parse_toml(&text) } else { xml::parse(&text) };
    text_of(path).and_then(parse).map_err(|reason| ConfigError::File {
        path: shown(&path.display().to_string()),
        reason: shown(&reason),
    })
}

fn text_of(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read.map_err(|error| error.to_string())? as u64 {
        ..=LARGEST => Ok(text),
        _ => Err(format!("is larger than {LARGEST} bytes, which no configuration is")),
    }
}

fn parse_toml(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: {}", before.matches('\n').count() + 1, error.message())
    })
}

impl FileCollect {
    /// Binary by default, as OML has it for its files.
    pub(super) fn resolve(self) -> Result<Collect, ConfigError> {
        let destination = self.url.parse()?;
        let content = match self.encoding.as_deref() {
            None | Some("binary") => Content::Binary,
            Some("text") => Content::Text,
            Some(other) => return Err(option("encoding", &format!("needs text or binary, not {other:?}"))),
        };
        let streams = self.stream.into_iter().map(FileStream::resolve).collect::<Result<Vec<_>, _>>()?;
        Ok(Collect { destination, content, streams: Some(streams).filter(|streams| !streams.is_empty()) })
    }
}

impl FileStream {
    fn resolve(self) -> Result<StreamChoice, ConfigError> {
        let window = match (self.samples, self.interval) {
            (Some(samples), None) => Window::Samples(samples.max(1)),
            (None, Some(seconds)) if seconds > 0.0 && seconds.is_finite() => Window::Seconds(seconds),
            (None, Some(seconds)) => {
                let reason = format!("interval is {seconds}: it needs a positive number of seconds");
                return Err(option("collect", &reason));
            }
            _ => {
                let reason = format!("stream of {:?} needs either samples or interval", self.point);
                return Err(option("collect", &reason));
            }
        };
        let filters = self.filter.into_iter().map(FileFilter::resolve).collect();
        Ok(StreamChoice { point: self.point, name: self.name, window, filters })
    }
}

impl FileFilter {
    fn resolve(self) -> FilterChoice {
        let properties = self.properties.into_iter().map(|(name, value)| (name, value.into_text()));
        FilterChoice {
            field: self.field,
            operation: self.operation,
            rename: self.rename,
            properties: Properties(properties.collect()),
        }
    }
}

pub(super) fn option(option: &str, reason: &str) -> ConfigError {
    ConfigError::Option { option: option.to_owned(), reason: reason.to_owned() }
}
