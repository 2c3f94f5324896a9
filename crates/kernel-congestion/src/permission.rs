//! What this machine and this user allow, found out before libbpf is asked, whose errors do not tell these apart.

use std::fs;
use std::path::Path;

use crate::Reason;

const TYPES: &str = "/sys/kernel/btf/vmlinux";
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_BPF: u64 = 1 << 39;
/// The map of users of the namespace in which everything begins (user_namespaces(7)).
const EVERYBODY: [&str; 3] = ["0", "0", "4294967295"];

/// Refuses what cannot work whatever the program.
pub(crate) fn check() -> Result<(), Reason> {
    if !has_capabilities() || !is_outside_user_namespaces() {
        return Err(Reason::NotPermitted);
    }
    if !Path::new(TYPES).exists() {
        return Err(Reason::NoTypes { path: TYPES });
    }
    Ok(())
}

/// Whether the kernel's types have those of congestion controls as BPF programs with links (since 6.4).
pub(crate) fn is_supported() -> bool {
    let types = fs::read(TYPES).unwrap_or_default();
    [&b"bpf_struct_ops_tcp_congestion_ops\0"[..], b"bpf_struct_ops_link\0"]
        .iter()
        .all(|name| types.windows(name.len()).any(|window| window == *name))
}

/// The kernel's version.
pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    set & CAP_SYS_ADMIN != 0 || set & (CAP_BPF | CAP_NET_ADMIN) == CAP_BPF | CAP_NET_ADMIN
}

fn is_outside_user_namespaces() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(EVERYBODY)
}
