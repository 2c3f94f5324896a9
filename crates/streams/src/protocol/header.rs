//! The header: `key: value` lines before the blank line.

use super::schema::{Schema, SchemaError, excerpt};

/// The encoding of the rows after the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// One line for each row.
    #[default]
    Text,
    /// One packet for each row.
    Binary,
}

/// What a client says of itself before its first row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// 1 to 5; the encodings of all versions are read alike.
    pub protocol: u8,
    /// Groups the senders of one experiment: one domain, one database.
    pub domain: String,
    /// UNIX seconds to which the rows' time stamps are relative, when the client said so.
    pub start_time: Option<i64>,
    /// Name of the node or instance; empty when absent.
    pub sender_id: String,
    /// Name of the program; empty when absent.
    pub app_name: String,
    /// Streams defined before the first row, in the order given; an index may occur again.
    pub schemas: Vec<Schema>,
    /// How the rows are encoded.
    pub content: Content,
}

/// Why a connection cannot go on: nothing after a bad header can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A line that is not `key: value`.
    #[error("header line {0:?} has no colon{hint}", hint = if .0 == "\r" { "; lines end with LF alone, not CRLF" } else { "" })]
    NoColon(String),
    /// A line that is not UTF-8.
    #[error("header line {0} is not UTF-8")]
    NotText(usize),
    /// More than the limit without a blank line.
    #[error("the header has more than {0} bytes; no blank line ended it")]
    TooLong(usize),
    /// Outside 1 to 5.
    #[error("protocol version {0:?} is not supported; 1 to 5 are")]
    Version(String),
    /// `content` is neither of two.
    #[error("content {0:?} is not supported; text and binary are")]
    Content(String),
    /// Something that needs the domain before it.
    #[error("{0} came before domain; send the domain first")]
    NoDomain(&'static str),
    /// A domain that could not name a database.
    #[error(
        "{0:?} cannot name a domain; letters, digits and -_.+: make one, the first a letter, digit or _, 128 bytes at most{hint}",
        hint = if .0 == "(null)" { " (the program was started without a domain: give --oml-domain)" } else { "" }
    )]
    Domain(String),
    /// Not whole UNIX seconds.
    #[error("start time {0:?} is not a number of UNIX seconds")]
    StartTime(String),
    /// A stream's definition.
    #[error("schema line: {0}")]
    Schema(#[from] SchemaError),
    /// More streams than the limit.
    #[error("more than {0} streams, or {1} fields, on one connection")]
    TooManyStreams(usize, usize),
}

/// Longest domain that is taken, in bytes (a real server cuts at 64).
const MAX_DOMAIN: usize = 128;

/// Whether `text` may name a domain, and so a database: no path can be made of it.
///
/// Wider than OML's documented `[-_A-Za-z0-9]+`, because experiment controllers put dots, colons and plus signs
/// of dates in.
pub fn is_domain(text: &str) -> bool {
    text.len() <= MAX_DOMAIN
        && text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+:".contains(&byte))
}

impl Header {
    /// Takes one line without its LF; unknown keys are skipped (OML.md section 2).
    ///
    /// # Errors
    /// What a real server closes the connection for, and a domain that could not name a database.
    pub fn read_line(&mut self, line: &str) -> Result<(), HeaderError> {
        let (key, value) = line.split_once(':').ok_or_else(|| HeaderError::NoColon(excerpt(line)))?;
        let value = value.trim_start_matches(' ').trim_end();
        match key {
            "protocol" => self.protocol = parse_version(value)?,
            "domain" | "experiment-id" => self.domain = parse_domain(value)?,
            "content" => self.content = parse_content(value)?,
            "app-name" => value.clone_into(&mut self.app_name),
            "start-time" | "start_time" => {
                self.need_domain("start-time")?;
                self.start_time = Some(parse_start_time(value)?);
            }
            "sender-id" => {
                self.need_domain("sender-id")?;
                value.clone_into(&mut self.sender_id);
            }
            "schema" => {
                self.need_domain("schema")?;
                self.schemas.push(value.parse()?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the blank line may come.
    ///
    /// # Errors
    /// No domain or no version was given.
    pub fn finish(&self) -> Result<(), HeaderError> {
        if self.protocol == 0 {
            return Err(HeaderError::Version(String::new()));
        }
        self.need_domain("the end of the header")
    }

    /// Appends the lines in liboml2's order, with the blank line. Control characters in names become `?`: no name can
    /// make a line of its own.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_text().as_bytes());
    }

    fn to_text(&self) -> String {
        let late = self.protocol >= 4;
        let (domain, start) = if late { ("domain", "start-time") } else { ("experiment-id", "start_time") };
        let mut text = format!("protocol: {}\n{domain}: {}\n", self.protocol, one_line(&self.domain));
        if let Some(seconds) = self.start_time {
            text += &format!("{start}: {seconds}\n");
        }
        text +=
            &format!("sender-id: {}\napp-name: {}\n", one_line(&self.sender_id), one_line(&self.app_name));
        for schema in &self.schemas {
            text += &format!("schema: {schema} \n");
        }
        text += match self.content {
            Content::Text => "content: text\n\n",
            Content::Binary => "content: binary\n\n",
        };
        text
    }

    fn need_domain(&self, what: &'static str) -> Result<(), HeaderError> {
        if self.domain.is_empty() { Err(HeaderError::NoDomain(what)) } else { Ok(()) }
    }
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, "?")
}

fn parse_version(value: &str) -> Result<u8, HeaderError> {
    let version = value.parse().ok().filter(|version| (1..=5).contains(version));
    version.ok_or_else(|| HeaderError::Version(excerpt(value)))
}

fn parse_domain(value: &str) -> Result<String, HeaderError> {
    if is_domain(value) { Ok(value.to_owned()) } else { Err(HeaderError::Domain(excerpt(value))) }
}

fn parse_content(value: &str) -> Result<Content, HeaderError> {
    match value {
        "text" => Ok(Content::Text),
        "binary" => Ok(Content::Binary),
        _ => Err(HeaderError::Content(excerpt(value))),
    }
}

fn parse_start_time(value: &str) -> Result<i64, HeaderError> {
    value.parse().map_err(|_| HeaderError::StartTime(excerpt(value)))
}
