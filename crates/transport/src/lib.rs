//! draft
mod application;
mod arguments;
mod clock;
mod error;
mod load;
mod opening;
mod output;
pub mod program;
mod protocol;
mod report;
mod session;
mod settings;
mod system;
mod tcp;
mod udp;
mod wait;
