//! The native protocol: rows in numbered, checksummed frames that the collector acknowledges, without input or output.
//!
//! A connection begins with [`PREFACE`] (its first byte begins no OML header, so one port serves both). Then both sides
//! send frames: `type: u8 | length: u32 | crc: u32 | payload`, big-endian, the CRC-32 over type, length and payload.
//!
//! | type | from | payload |
//! |---|---|---|
//! | 1 hello | client | session: 16 bytes, base: u64, token length: u16, token, header text as in OML |
//! | 2 data | client | number: u64, rows |
//! | 3 bye | client | last number: u64 |
//! | 4 clock answer | client | asked: u64, answered: u64 (microseconds of UNIX time) |
//! | 5, 6 relay | collector | as in hello: for native rows, for bytes of OML |
//! | 16 welcome | collector | through: u64 |
//! | 17 acknowledgement | collector | through: u64 |
//! | 18 refusal | collector | reason in UTF-8 |
//! | 19 clock question | collector | asked: u64 (microseconds of UNIX time) |
//!
//! Data frames of a session are numbered from 1. The client keeps each until it is acknowledged, and after a
//! reconnect sends from behind what the welcome says is on disk. `base` is the oldest number that the client still has: a collector
//! that does not know the session takes all before as received elsewhere. The collector acknowledges what is on disk, and
//! passes over numbers that it has. So while the client's process lives nothing is lost or doubled.
//!
//! A collector passes on what it received with a relay in place of a hello, one session for each connection; its numbers grow,
//! but not by one.
//!
//! Rows are OML's binary packets with two more tags: 0F, an IEEE 754 double (also the time stamp's), and 10, a string
//! with a 32-bit length; so doubles and strings arrive as they were.

mod frame;
mod receiver;
mod rows;
mod sender;

pub use frame::{Frame, FrameDecoder, FrameError, MAX_FRAME, Relayed};
pub use receiver::{Receiver, ReceiverError, Request};
pub use rows::RowDecoder;
pub use sender::{Sender, SenderError, Sent};

/// What a native connection begins with; the last byte is the version.
pub const PREFACE: [u8; 8] = *b"\x89TWMS\r\n\x01";

/// Names a client's process to the collector; random.
pub type SessionId = [u8; 16];
