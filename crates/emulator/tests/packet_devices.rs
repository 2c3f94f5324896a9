//! The cases of `traffic.rs` over packet devices instead of TUN devices (see `DEVICE` in `support`).

#[path = "traffic.rs"]
mod traffic;
