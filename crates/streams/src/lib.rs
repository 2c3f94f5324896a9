//! Measurement streams: what a program measures, filtered on the way, sent to a collector.
//!
//! [`protocol`] speaks OML's wire protocol (versions 1 to 5) in both directions.

pub mod protocol;
