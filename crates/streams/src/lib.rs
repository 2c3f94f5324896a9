//! Measurement streams: what a program measures, filtered on the way, sent to a collector.
//!
//! [`client`] is what a program measures with; [`config`] says what is streamed where; [`filter`] reduces windows of samples;
//! [`native`] is the protocol between our own client and collector; [`protocol`] speaks OML's wire protocol (versions 1 to 5) in both directions.

pub mod client;
pub mod config;
pub mod filter;
pub mod native;
pub mod protocol;
mod shown;
pub mod tls;
