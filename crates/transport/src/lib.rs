//! draft
mod opening;
mod protocol;
