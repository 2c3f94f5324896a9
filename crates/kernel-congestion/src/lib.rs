//! Congestion controls for the kernel's own TCP that the kernel may lack, as BPF programs.
//!
//! [`attach`] makes one known to the kernel, for every network namespace, until what it gives is dropped or the process ends
//! by whatever death; connections that use it by then go on with it. A socket chooses it by its name with `TCP_CONGESTION`,
//! without privileges. The programs (`programs/`, under MIT OR GPL-2.0-only as the kernel asks) are embedded as they were
//! compiled, so that no compiler is needed; `programs/build.sh` compiles them again.
//!
//! A name belongs to the whole kernel: where another process has attached the same algorithm, this one holds the same
//! registration, and it lasts until the last of them lets go.
//!
//! Feature `bpf`; without it there is the same interface, which says how to build with it.

mod algorithm;
mod error;
#[cfg(feature = "bpf")]
mod messages;
#[cfg(feature = "bpf")]
mod permission;
#[cfg(feature = "bpf")]
mod registration;
#[cfg(not(feature = "bpf"))]
mod registration {
    //! What there is without libbpf.

    use crate::{Algorithm, Reason};

    /// Nothing holds a registration in this build.
    #[derive(Debug)]
    pub(crate) enum Registration {}

    impl Registration {
        pub(crate) fn outlast_exec(&self) -> std::io::Result<()> {
            match *self {}
        }
    }

    pub(crate) fn register(_: Algorithm) -> Result<Registration, Reason> {
        Err(Reason::NotBuilt)
    }

    pub(crate) fn check(_: Algorithm) -> Result<(), Reason> {
        Err(Reason::NotBuilt)
    }
}

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use error::Reason;

use registration::Registration;

/// A congestion control that the kernel knows for as long as this lives.
#[derive(Debug)]
pub struct Attached {
    algorithm: Algorithm,
    registration: Registration,
}

impl Attached {
    /// Which one.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Lets the program hold it, too, that this process becomes by execve(2): it is there until that program ends.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn outlast_exec(&self) -> std::io::Result<()> {
        self.registration.outlast_exec()
    }

    /// Lets go of it, as dropping it does.
    pub fn detach(self) {}
}

/// Makes `algorithm` known to the kernel, or holds what another process of this kernel has attached under its name.
///
/// # Errors
/// Any [`Reason`].
pub fn attach(algorithm: Algorithm) -> Result<Attached, Reason> {
    Ok(Attached { algorithm, registration: registration::register(algorithm)? })
}

/// Whether [`attach`] can work here: has the kernel check the program of `algorithm`, and does not attach it.
///
/// # Errors
/// Any [`Reason`] but [`Reason::NameTaken`].
pub fn check(algorithm: Algorithm) -> Result<(), Reason> {
    registration::check(algorithm)
}

#[cfg(all(test, not(feature = "bpf")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_it_says_how_to_build_with_it() {
        let reason = attach(Algorithm::Vegas).unwrap_err();
        assert!(reason.to_string().contains("make setup FEATURES=bpf"));
        assert!(matches!(check(Algorithm::Vegas), Err(Reason::NotBuilt)));
    }
}
