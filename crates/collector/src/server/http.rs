//! What a collector says of itself over HTTP: `GET /status` (JSON) and `GET /metrics` (OpenMetrics), on the same port.
//!
//! Only peers on this machine are answered, unless they show the token of all domains: names of domains and senders are
//! nobody else's business.

use std::net::IpAddr;
use std::time::Duration;

use super::{Context, Source};
use crate::counters::Refusal;
use crate::status::openmetrics;

/// What requests begin with; no header of OML does.
const METHODS: [&[u8]; 2] = [b"GET /", b"POST /"];
/// Longest head of a request that is read.
const MAX_HEAD: usize = 8 << 10;
/// A request has so long to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a connection that begins so may be, or is, HTTP: nothing while it cannot be told.
pub(super) fn is_request(first: &[u8]) -> Option<bool> {
    let may_be = |method: &&[u8]| {
        let seen = first.len().min(method.len());
        first[..seen] == method[..seen]
    };
    let method = METHODS.iter().find(|method| may_be(method));
    match method {
        None => Some(false),
        Some(method) => (first.len() >= method.len()).then_some(true),
    }
}

/// Answers one request.
pub(super) async fn serve(mut source: Source, context: &Context, mut head: Vec<u8>) -> Result<(), Refusal> {
    let rest = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MAX_HEAD {
            if !source.read_anyway(context, |piece| head.extend_from_slice(piece)).await {
                break;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, rest).await;
    let request = String::from_utf8_lossy(&head).into_owned();
    let answer = match in_time {
        Ok(()) if is_allowed(&source, context, &request) => answer(context, &request),
        Ok(()) => Answer::text(
            "403 Forbidden",
            "ask on this machine, by localhost or an address, or send Authorization: Bearer TOKEN\n",
        ),
        Err(_) => Answer::text("408 Request Timeout", "\n"),
    };
    let refused = !answer.status.starts_with('2');
    let _ = tokio::time::timeout(PATIENCE, source.write_all(&answer.bytes())).await; // a peer that is gone needs no answer
    if refused { Err(Refusal::Http) } else { Ok(()) }
}

fn is_allowed(source: &Source, context: &Context, request: &str) -> bool {
    let field = |name: &str| {
        request.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    };
    // A page in a browser here is not somebody here: it names its origin, or the host that it made to lead here.
    if source.is_local() && field("origin").is_none() && field("host").is_none_or(is_own_host) {
        return true;
    }
    let bearer = field("authorization").and_then(|value| value.strip_prefix("Bearer "));
    bearer.is_some_and(|token| context.config.access.is_token(token.as_bytes()))
}

/// Whether a host is said in a way that no name of others can lead to: an address, or `localhost` (RFC 9110, 7.2; RFC 6761, 6.3).
fn is_own_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: body.to_owned() }
    }

    fn bytes(&self) -> Vec<u8> {
        let Self { status, kind, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

fn answer(context: &Context, request: &str) -> Answer {
    let mut words = request.split_ascii_whitespace();
    match (words.next(), words.next().map(|path| path.split('?').next().unwrap_or(path))) {
        (Some("GET"), Some("/status")) => {
            Answer { status: "200 OK", kind: "application/json", body: context.watch.status().to_json() }
        }
        (Some("GET"), Some("/metrics")) => Answer {
            status: "200 OK",
            kind: "application/openmetrics-text; version=1.0.0; charset=utf-8",
            body: openmetrics(&context.watch.status()),
        },
        (Some("POST"), Some(path @ ("/pause" | "/resume"))) => match &context.watch.forwarding {
            Some(forwarding) => match forwarding.pause(path == "/pause") {
                Ok(()) => Answer::text("200 OK", "\n"),
                Err(error) => Answer::text("500 Internal Server Error", &format!("{error}\n")),
            },
            None => Answer::text("409 Conflict", "this collector forwards nothing\n"),
        },
        _ => Answer::text("404 Not Found", "there are /status and /metrics\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_localhost() {
        for own in ["127.0.0.1", "127.0.0.1:3003", "localhost:3003", "LOCALHOST", "[::1]:3003", "[::1]"] {
            assert!(is_own_host(own), "{own}");
        }
        for other in
            ["evil.example", "evil.example:3003", "127.0.0.1.evil.example", "localhost.evil", "", ":80"]
        {
            assert!(!is_own_host(other), "{other}");
        }
    }
}
