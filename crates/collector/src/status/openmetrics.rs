//! OpenMetrics 1.0 text (<https://github.com/prometheus/OpenMetrics>, "Text Format").

use std::fmt::Write;

use super::{Clock, SenderStatus, Status};

const PREFIX: &str = "trialwise_collector";

/// The whole exposition.
pub(crate) fn openmetrics(status: &Status) -> String {
    let mut text = String::new();
    let counters = &status.counters;
    for (name, help, value) in [
        ("connections", "Connections accepted.", counters.connections),
        ("received_bytes", "Bytes received.", counters.bytes),
        ("rows", "Rows stored.", counters.rows),
        ("repeated_rows", "Rows of stream 0 that were stored before.", counters.repeated),
        ("unstorable_rows", "Rows that no table of the store can hold.", counters.unstorable),
        ("store_failures", "How often a database could not be written.", counters.suspensions),
        ("replaced_strings", "Strings that the store's texts cannot hold as they are.", counters.replaced),
        ("nulled_rows", "Rows stored with NULL for values that were none.", counters.nulled),
        ("spool_damaged_bytes", "Bytes of the spool passed over for damage.", counters.spool_damage),
    ] {
        family(&mut text, name, "counter", help);
        sample(&mut text, &format!("{name}_total"), &[], value as f64);
    }
    for (name, help, value) in [
        ("open_connections", "Connections open now.", counters.open),
        ("domains_put_off", "Domains that cannot be stored now.", status.troubles.len() as u64),
        ("spool_backlog_bytes", "Bytes of the spool that wait for the store.", counters.backlog),
        ("spool_capacity_bytes", "Bytes of the spool that may wait.", status.spool_capacity),
    ] {
        family(&mut text, name, "gauge", help);
        sample(&mut text, name, &[], value as f64);
    }
    by_reason(&mut text, "damaged_rows", "Damaged rows and stretches.", &counters.damaged_by_reason());
    by_reason(&mut text, "refused_connections", "Connections refused.", &counters.refused_by_reason());
    per_sender(&mut text, &status.senders);
    text.push_str("# EOF\n");
    text
}

fn by_reason(text: &mut String, name: &str, help: &str, counts: &std::collections::BTreeMap<String, u64>) {
    family(text, name, "counter", help);
    for (reason, count) in counts {
        sample(text, &format!("{name}_total"), &[("reason", reason)], *count as f64);
    }
}

type Reading = fn(&SenderStatus) -> Option<f64>;

/// Each family, its kind and its value of one sender.
const PER_SENDER: [(&str, &str, &str, Reading); 9] = [
    ("sender_rows", "counter", "Rows stored.", |sender| Some(sender.rows as f64)),
    ("sender_damaged_rows", "counter", "Damaged rows.", |sender| Some(sender.damaged as f64)),
    ("sender_nulled_rows", "counter", "Rows stored with NULL for values that were none.", |sender| {
        Some(sender.nulled as f64)
    }),
    ("sender_missing_rows", "counter", "Sequence numbers left out.", |sender| Some(sender.missing as f64)),
    ("sender_dropped", "counter", "What the client says it dropped.", |sender| Some(sender.dropped as f64)),
    ("sender_open_connections", "gauge", "Connections open now.", |sender| Some(sender.open as f64)),
    ("sender_clock_offset_seconds", "gauge", "The sender's clock minus ours.", |sender| {
        match sender.clock? {
            Clock::Exchange { offset, .. } => Some(offset),
            Clock::UpperBound { .. } => None,
        }
    }),
    ("sender_clock_error_seconds", "gauge", "Bound on the error of the offset.", |sender| {
        match sender.clock? {
            Clock::Exchange { error, .. } => Some(error),
            Clock::UpperBound { .. } => None,
        }
    }),
    ("sender_clock_behind_seconds", "gauge", "Upper bound on how far the clock is behind.", |sender| {
        match sender.clock? {
            Clock::UpperBound { behind_at_most } => Some(behind_at_most),
            Clock::Exchange { .. } => None,
        }
    }),
];

fn per_sender(text: &mut String, senders: &[SenderStatus]) {
    for (name, kind, help, read) in PER_SENDER {
        family(text, name, kind, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        for sender in senders {
            if let Some(value) = read(sender) {
                let labels = [("domain", &*sender.domain), ("sender", &*sender.sender)];
                sample(text, &format!("{name}{suffix}"), &labels, value);
            }
        }
    }
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# TYPE {PREFIX}_{name} {kind}\n# HELP {PREFIX}_{name} {help}");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let _ = write!(text, "{PREFIX}_{name}");
    if !labels.is_empty() {
        let labels: Vec<_> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let _ = write!(text, "{{{}}}", labels.join(","));
    }
    let _ = writeln!(text, " {value}");
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
