//! Why the kernel does not get a congestion control.

/// Why a congestion control cannot be attached, and what would help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// This build has no libbpf.
    #[error(
        "this build of Trialwise has no congestion controls for the kernel; build it with \
         `make setup FEATURES=bpf` (on Debian that needs libelf-dev, zlib1g-dev and pkg-config)"
    )]
    NotBuilt,
    /// The user may not.
    #[error(
        "only root (CAP_BPF and CAP_NET_ADMIN, outside any user namespace) may give the kernel a congestion \
         control; run this as root, or choose a scheme that needs no such permission"
    )]
    NotPermitted,
    /// The kernel does not describe itself.
    #[error(
        "this kernel does not describe its types (there is no {path}); take one built with \
         CONFIG_DEBUG_INFO_BTF, as the distributions' are"
    )]
    NoTypes {
        /// Where the description would be.
        path: &'static str,
    },
    /// The kernel has no congestion controls as BPF programs.
    #[error(
        "this kernel ({release}) takes no congestion controls as BPF programs; take 6.4 or newer with \
         CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT, as the distributions' are"
    )]
    NotSupported {
        /// The kernel's version.
        release: String,
    },
    /// The kernel refused the program itself.
    #[error("the kernel ({release}) refuses {name}; please report this with what libbpf says:\n{messages}")]
    Refused {
        /// The name of the congestion control.
        name: &'static str,
        /// The kernel's version.
        release: String,
        /// What libbpf and the kernel's verifier said.
        messages: String,
    },
    /// Somebody else has registered the name and cannot be joined.
    #[error(
        "the kernel has another congestion control named {name} already; `bpftool struct_ops list` shows it and \
         `bpftool struct_ops unregister name {name}` removes it"
    )]
    NameTaken {
        /// The name of the congestion control.
        name: &'static str,
    },
}

impl Reason {
    /// One word for the reason, for programs to act on.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotBuilt => "not_built",
            Self::NotPermitted => "not_permitted",
            Self::NoTypes { .. } => "no_types",
            Self::NotSupported { .. } => "not_supported",
            Self::Refused { .. } => "refused",
            Self::NameTaken { .. } => "name_taken",
        }
    }
}
