//! A connection in OML's protocol: the header is read here, the rows by the loader.

use trialwise_streams::protocol::{Advance, Decoder, Header, Limits};

use super::{Context, LAST_READ, MAX_HEADER, MAX_SENDER, Source};
use crate::counters::Refusal;
use crate::spool::record::Body;

/// Serves a connection whose first bytes are `first`.
pub(super) async fn serve(mut source: Source, context: &Context, first: Vec<u8>) -> Result<(), Refusal> {
    let limits = context.config.limits;
    let limits = Limits { header: limits.header.min(MAX_HEADER), ..limits };
    let mut reading = Reading { decoder: Decoder::new(limits), bytes: first, taken: 0 };
    let header = loop {
        match reading.header() {
            Ok(Some(header)) => break header,
            Ok(None) => {}
            Err(()) => return Err(Refusal::Header),
        }
        let bytes = &mut reading.bytes;
        if !source.read(context, |piece| bytes.extend_from_slice(piece)).await {
            return Err(source.why());
        }
    };
    if !context.config.access.allows(&header.domain, None) {
        return Err(Refusal::Access);
    }
    if header.sender_id.len() > MAX_SENDER {
        return Err(Refusal::Header);
    }
    source.settle(context).await?;
    let _guard = context.counting.senders.connected(&header.domain, &header.sender_id, "oml");
    let (head, rows) = reading.bytes.split_at(reading.taken);
    let connection = context.spool.begin(&header.domain, Body::BeginOml(head));
    if !rows.is_empty() {
        context.spool.append(connection, &header.domain, Body::Bytes(rows));
    }
    drop(reading);
    forward(&mut source, context, connection, &header.domain).await;
    context.spool.append(connection, &header.domain, Body::End);
    Ok(())
}

struct Reading {
    decoder: Decoder,
    bytes: Vec<u8>,
    taken: usize,
}

impl Reading {
    /// The header when it is complete.
    fn header(&mut self) -> Result<Option<Header>, ()> {
        loop {
            let (taken, found) = self.decoder.advance(&self.bytes[self.taken..]).map_err(drop)?;
            self.taken += taken;
            match found {
                Advance::Header => return Ok(Some(self.decoder.header().clone())),
                Advance::More => return Ok(None),
                _ => {}
            }
        }
    }
}

/// Brings what comes to the spool until the client ends, or the collector does and nothing more is there.
async fn forward(source: &mut Source, context: &Context, connection: u64, domain: &str) {
    let append = |piece: &[u8]| {
        if !piece.is_empty() {
            context.spool.append(connection, domain, Body::Bytes(piece));
        }
    };
    while !*source.stop.borrow() && source.read(context, append).await {}
    if *source.stop.borrow() {
        let rest = async { while source.read(context, append).await {} };
        let _ = tokio::time::timeout(LAST_READ, rest).await; // a client that never pauses is cut off
    }
}
