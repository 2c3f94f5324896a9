//! Flows of real packets: the kernel's TCP, and a transport of our own over UDP whose senders obey the controllers of
//! [`trialwise_congestion`].
//!
//! The one entry is [`program::main`], which people start as `python -m trialwise.schemes.flow`.
//!
//! # Command lines
//! ```text
//! tcp receive --port P [--address A] [--buffer SIZE]
//! tcp send ADDRESS PORT --congestion NAME [options]
//! udp receive --port P [--address A] [--buffer SIZE] [--report FILE]   when frames of media had arrived
//! udp send ADDRESS PORT --congestion NAME [options]   of `trialwise_protocol::scheme::known`
//!
//! --load LOAD      bulk (default), or
//!                  rate:5Mbit/s                          the application writes so much payload and no more
//!                  bytes:10MB                            ends when all is acknowledged
//!                  requests:request=200B,response=10kB,think=100ms[,count=N]
//!                                                        the receiver answers each request; the next follows after a pause
//!                  flows:FILE                            CSV with columns start_ns, size_bytes: each line a connection
//!                                                        of its own, so long after the start of the sender
//!                  media:rate=150kbit/s..1.5Mbit/s       frames (`trialwise_protocol::media`), udp only
//! --time TIME      end after this time (else: at SIGTERM or SIGINT, or when the load is done)
//! --report FILE    the report; without it the summary goes to standard output
//! --interval TIME  between samples (10ms)
//! --timeout TIME   give up when nothing answers for so long (5s)
//! --buffer SIZE    send buffer of the socket
//! --mtu BYTES      udp: the largest IP packet (1500)
//! --ecn on|off|ect0|ect1
//!                  udp: the ECN field of packets with data: on is what the congestion control declares (which is the default), or
//!                  ECT(0) where it answers no marks
//! ```
//! A receiver prints `ready` once it listens. The rate of `fixed_rate:RATE` is one of whole IP packets; sizes and rates of loads
//! are payload. Over TCP each connection carries 64 bytes before its load, over UDP the first packet does
//! (what the other end is to do). A sender whose time is over ends its connections at once: what is still
//! in the socket's buffer is not sent any more.
//!
//! # UDP
//! All flows of a UDP sender share one socket, and so, for queues and packet logs that tell flows by addresses and ports,
//! are one flow; each has its own controller. NewReno and CUBIC spread their windows over the round trip (RFC 9002, section
//! 7.7), Copa and fixed rates are paced by their own rates, LEDBAT is clocked by acknowledgements. Packets are stamped by
//! the kernel, so that a busy machine adds little to round-trip times and one-way delays. A receiver that reads too slowly
//! says at its end how many packets that cost.
//!
//! With `TRIALWISE_SIGHTINGS=KEY FLOW FILE` in the environment, an end notes each packet in the file as a capture does.
//!
//! # Report
//! JSON, a line for each thing, handed to the system at least every half second (a killed program leaves a whole prefix, its
//! last line perhaps cut). All times are nanoseconds of `CLOCK_MONOTONIC`. A field that is not known is `null`.
//!
//! A sample, for each connection at each interval (window, round-trip time and rates as the sender sees them: over TCP
//! `TCP_INFO`, over UDP the controller's; `rtt_ms` is smoothed):
//! ```text
//! {"time_ns":…,"flow":0,"cwnd_bytes":…,"rtt_ms":…,"retransmits":…,"delivery_rate_bps":…,"in_flight_bytes":…,"pacing_rate_bps":…}
//! ```
//! A transfer that is complete: of load `bytes` (flow 0), `flows` (the line, from 0) or `requests` (the request, from 0; its
//! size is that of request and response together). It starts when the application starts it, over TCP before the handshake,
//! and ends when the sender knows that everything has arrived:
//! ```text
//! {"flow":3,"start_ns":…,"end_ns":…,"size_bytes":…}
//! ```
//! A frame of media, captured or left out (`is_skipped`), and, in the report of the receiver, the arrival of its last byte:
//! ```text
//! {"frame":0,"captured_ns":…,"size_bytes":…,"is_key":true,"is_skipped":false,"target_bps":…}
//! {"frame":0,"arrived_ns":…}
//! ```
//! The last line (`ended` is `complete`, `time`, `signal` or `error`; `timeouts` and `marked`, the packets with congestion
//! marks, are known over UDP; `rtt_mean_ms` is the mean of the samples over TCP, of all acknowledgements over UDP):
//! ```text
//! {"summary":{"protocol":"udp","congestion":"copa","load":"bulk","ended":"time","start_ns":…,"end_ns":…,"duration_s":10.0,
//!  "flows":1,"completed":0,"bytes_acknowledged":…,"bytes_received":…,"retransmits":…,"timeouts":0,"marked":0,
//!  "rtt_min_ms":…,"rtt_mean_ms":…}}
//! ```

mod arguments;
mod clock;
mod error;
mod output;
pub mod program;
mod report;
mod session;
mod settings;
mod system;
mod tcp;
mod udp;
mod wait;
