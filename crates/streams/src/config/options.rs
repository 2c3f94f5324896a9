//! OML's options on the command line and in the environment.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::file::{self, option};
use super::{Collect, Config, ConfigError, DEFAULT_BUFFER, Destination, MIN_BUFFER};
use crate::filter::Window;
use crate::protocol::{Content, is_domain, is_name};

/// What the options ask for.
#[derive(Clone, Debug, PartialEq)]
pub enum Disposition {
    /// Measure so.
    Run(Box<Config>),
    /// `--oml-noop`: measure nothing.
    Disabled,
    /// `--oml-help`: print [`usage`] and leave.
    Help,
    /// `--oml-list-filters`: print the filters' names and leave.
    ListFilters,
}

/// Options as they were given; nothing is checked against the rest yet.
#[derive(Debug, Default)]
struct Given {
    id: Option<String>,
    domain: Option<String>,
    collect: Option<String>,
    config: Option<String>,
    samples: Option<u64>,
    interval: Option<f64>,
    content: Option<Content>,
    buffer_bytes: Option<usize>,
    instrumentation: Option<u64>,
    log_level: Option<i32>,
    log_file: Option<PathBuf>,
    noop: bool,
    help: bool,
    list_filters: bool,
}

impl Config {
    /// Reads OML's options from `arguments` (without the program's own name), removing them, and from the environment
    /// that `variable` gives. The command line goes before the environment, and that before a file's attributes. What is
    /// left in `arguments` are the caller's own items, whatever they carry besides their text.
    ///
    /// # Errors
    /// A wrong option, destination or file; `arguments` keeps what was not read.
    pub fn from_arguments<T: AsRef<str>>(
        app: &str,
        arguments: &mut Vec<T>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Disposition, ConfigError> {
        let app = app.rsplit('/').next().unwrap_or(app);
        if !is_name(app) {
            return Err(ConfigError::Name { what: "program", name: app.to_owned() });
        }
        let given = take_arguments(arguments)?;
        match (given.help, given.list_filters, given.noop) {
            (true, ..) => Ok(Disposition::Help),
            (_, true, _) => Ok(Disposition::ListFilters),
            (.., true) => Ok(Disposition::Disabled),
            _ => Ok(Disposition::Run(Box::new(given.resolve(app, variable)?))),
        }
    }

    /// As [`Self::from_arguments`] with the process's own environment.
    ///
    /// # Errors
    /// The same.
    pub fn from_environment<T: AsRef<str>>(
        app: &str,
        arguments: &mut Vec<T>,
    ) -> Result<Disposition, ConfigError> {
        Self::from_arguments(app, arguments, &|name| std::env::var(name).ok())
    }
}

/// The options that have a value.
const VALUED: [&str; 13] = [
    "--oml-id",
    "--oml-domain",
    "--oml-exp-id",
    "--oml-collect",
    "--oml-server",
    "--oml-file",
    "--oml-config",
    "--oml-samples",
    "--oml-interval",
    "--oml-bufsize",
    "--oml-instr-interval",
    "--oml-log-level",
    "--oml-log-file",
];

fn take_arguments<T: AsRef<str>>(arguments: &mut Vec<T>) -> Result<Given, ConfigError> {
    let mut given = Given::default();
    let mut rest = Vec::with_capacity(arguments.len());
    let mut words = std::mem::take(arguments).into_iter();
    while let Some(word) = words.next() {
        if !word.as_ref().starts_with("--oml-") {
            rest.push(word);
            continue;
        }
        let (name, value) = match word.as_ref().split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_ref(), None),
        };
        if !given.take_flag(name) {
            if !VALUED.contains(&name) {
                return Err(option(name, "is not known; --oml-help lists all"));
            }
            let value = value.or_else(|| words.next().map(|value| value.as_ref().to_owned()));
            given.take_option(name, value.ok_or_else(|| option(name, "needs a value"))?)?;
        }
    }
    *arguments = rest;
    Ok(given)
}

impl Given {
    fn take_flag(&mut self, name: &str) -> bool {
        match name {
            "--oml-text" => self.content = Some(Content::Text),
            "--oml-binary" => self.content = Some(Content::Binary),
            "--oml-noop" => self.noop = true,
            "--oml-help" => self.help = true,
            "--oml-list-filters" => self.list_filters = true,
            _ => return false,
        }
        true
    }

    fn take_option(&mut self, name: &str, value: String) -> Result<(), ConfigError> {
        match name {
            "--oml-id" => self.id = Some(value),
            "--oml-domain" | "--oml-exp-id" => self.domain = Some(value),
            "--oml-collect" | "--oml-server" => self.collect = Some(value),
            "--oml-file" => self.collect = Some(format!("file:{value}")),
            "--oml-config" => self.config = Some(value),
            "--oml-samples" => self.samples = Some(number(name, &value)?),
            "--oml-interval" => self.interval = Some(number(name, &value)?),
            "--oml-bufsize" => self.buffer_bytes = Some(number(name, &value)?),
            "--oml-instr-interval" => self.instrumentation = Some(number(name, &value)?),
            "--oml-log-level" => self.log_level = Some(number(name, &value)?),
            "--oml-log-file" => self.log_file = Some(PathBuf::from(value)),
            _ => {}
        }
        Ok(())
    }

    fn resolve(self, app: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
        let either = |given: Option<String>, names: &[&str]| {
            given.or_else(|| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty())))
        };
        let file = match either(self.config, &["OML_CONFIG"]) {
            Some(path) => file::read(Path::new(&path))?,
            None => file::File::default(),
        };
        let id = either(self.id, &["OML_NAME"]).or(file.id);
        let domain = either(self.domain, &["OML_DOMAIN", "OML_EXP_ID"]).or(file.domain);
        let collect = either(self.collect, &["TRIALWISE_COLLECT", "OML_COLLECT", "OML_SERVER"]);
        let mut collects =
            file.collect.into_iter().map(file::FileCollect::resolve).collect::<Result<Vec<_>, _>>()?;
        if collects.is_empty() {
            let usual =
                || Destination::default_file(app, id.as_deref(), domain.as_deref(), SystemTime::now());
            let destination = collect.map_or_else(|| Ok(usual()), |uri| uri.parse())?;
            collects.push(Collect::all(destination, self.content));
        }
        Ok(Config {
            sender_id: id.unwrap_or_else(|| app.to_owned()),
            domain: check_domain(domain.unwrap_or_else(|| app.to_owned()))?,
            collects,
            window: choose_window(self.samples, self.interval)?,
            buffer_bytes: self.buffer_bytes.unwrap_or(DEFAULT_BUFFER).max(MIN_BUFFER),
            instrumentation: Duration::from_secs(self.instrumentation.unwrap_or(1)),
            token: variable("TRIALWISE_TOKEN").unwrap_or_default(),
            certificate: variable("TRIALWISE_CERTIFICATE").filter(|path| !path.is_empty()).map(PathBuf::from),
            log_file: self.log_file,
            log_level: self.log_level.unwrap_or(0),
        })
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, ConfigError> {
    value.trim().parse().map_err(|_| option(name, &format!("needs a number, not {value:?}")))
}

fn check_domain(domain: String) -> Result<String, ConfigError> {
    if is_domain(&domain) { Ok(domain) } else { Err(ConfigError::Name { what: "domain", name: domain }) }
}

/// The interval wins over the samples, as in OML.
fn choose_window(samples: Option<u64>, interval: Option<f64>) -> Result<Window, ConfigError> {
    match (samples, interval.filter(|&seconds| seconds != 0.0)) {
        (_, Some(seconds)) if seconds > 0.0 && seconds.is_finite() => Ok(Window::Seconds(seconds)),
        (_, Some(_)) => Err(option("--oml-interval", "needs a positive number of seconds")),
        (samples, None) => Ok(Window::Samples(samples.unwrap_or(1).max(1))),
    }
}

/// What `--oml-help` prints.
pub const fn usage() -> &'static str {
    "OML measurement options, also for this program:\n\
     \x20 --oml-id ID              name of this sender [OML_NAME]\n\
     \x20 --oml-domain DOMAIN      domain, one database each [OML_DOMAIN]\n\
     \x20 --oml-collect URI        tcp:HOST[:PORT], native:HOST[:PORT], tls:HOST[:PORT], file:PATH, file:- [OML_COLLECT];\n\
     \x20                          TRIALWISE_COLLECT goes before it, for what only Trialwise understands\n\
     \x20 --oml-file PATH          as --oml-collect file:PATH\n\
     \x20 --oml-config FILE        OML's XML, or TOML if the name ends in .toml [OML_CONFIG]\n\
     \x20 --oml-samples N          a row for every N samples (default 1)\n\
     \x20 --oml-interval SECONDS   a row for every so many seconds\n\
     \x20 --oml-text, --oml-binary encoding (default: binary to a collector, text to a file)\n\
     \x20 --oml-bufsize BYTES      buffer of each thread and destination (default 4 MiB, at least 64 KiB)\n\
     \x20 --oml-instr-interval S   seconds between rows about the client itself (default 1, 0: none)\n\
     \x20 --oml-log-level N        -2 (errors alone) to 4 (everything), default 0\n\
     \x20 --oml-log-file FILE      log there\n\
     \x20 --oml-noop               measure nothing\n\
     \x20 --oml-list-filters       list the filters\n\
     \x20 --oml-help               this text\n\
     A native collector may want a token: TRIALWISE_TOKEN. For tls: name the certificates to trust: TRIALWISE_CERTIFICATE.\n"
}
