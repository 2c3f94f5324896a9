//! Links as people write them: `12Mbit/s`, `28ms`, `0.4%`, `codel:packets=1000,target=5ms,interval=100ms`.

mod link;

pub use link::{ElementSpec, LinkSpec};

#[cfg(test)]
mod tests;
