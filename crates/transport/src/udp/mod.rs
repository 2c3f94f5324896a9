//! Flows of our own protocol over UDP.

mod connection;
mod noted;
mod outbox;
mod receive;
mod send;
mod socket;

pub(crate) use receive::receive;
pub(crate) use send::send;
