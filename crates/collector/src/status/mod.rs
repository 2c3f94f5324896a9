//! What a running collector says of itself, to people and to programs that watch it.

mod forwarding;
mod gaps;
mod openmetrics;
mod rate;
mod senders;
mod watch;
mod watched;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use gaps::{Gap, Gaps, Streams};
pub(crate) use openmetrics::openmetrics;
pub use senders::{Clock, SenderStatus};
pub(crate) use senders::{Guard, Senders};
pub(crate) use watch::Watch;
pub(crate) use watched::Watched;

use crate::counters::Counters;
pub(crate) use forwarding::Forwarding;

/// The format of [`Status`] as JSON.
const FORMAT: &str = "trialwise.collector/1";

/// A collector at one moment. Rows are counted since it started, what is missing of a sender's over restarts too.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `trialwise.collector/1`.
    pub format: &'static str,
    /// Now: seconds of UNIX time.
    pub time: f64,
    /// When the collector started.
    pub started: f64,
    /// What was counted.
    pub counters: Counters,
    /// Bytes that the spool may hold for the store.
    pub spool_capacity: u64,
    /// What the store said last when it could not be written.
    pub store_error: Option<Trouble>,
    /// Why domains cannot be stored now, by domain. Their rows wait in the spool.
    pub troubles: BTreeMap<String, String>,
    /// Why nothing is taken any more.
    pub failure: Option<String>,
    /// How forwarding goes, where the collector forwards.
    pub forward: Option<ForwardStatus>,
    /// Every sender that was heard of, by domain and name.
    pub senders: Vec<SenderStatus>,
}

impl Status {
    /// As JSON.
    pub fn to_json(&self) -> String {
        // Strings for keys, and no value that refuses: this never fails.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trouble {
    /// When: seconds of UNIX time.
    pub time: f64,
    /// What was said.
    pub text: String,
}

/// A collector that forwards to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForwardStatus {
    /// Where to.
    pub to: String,
    /// Whether it was told to wait.
    pub paused: bool,
    /// Connections that the other collector has welcomed.
    pub connected: u64,
    /// Bytes that the other collector has acknowledged.
    pub acknowledged: u64,
    /// Domains that the other collector refuses, and why.
    pub refused: BTreeMap<String, String>,
    /// Why the last connection was lost or not made.
    pub last_error: Option<Trouble>,
}
