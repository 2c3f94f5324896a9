//! Controllers fed by hand, against references computed here from the equations of their sources.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod copa;
mod cubic;
mod feeder;
mod ledbat;
mod newreno;
