//! A whole path: two ends and the emulator between them.

use std::ffi::OsStr;
use std::process::Command;

use trialwise_link::{Link, LinkSpec, SpecError};
use trialwise_units::{Seed, Time};

use crate::datagram::Datagram;
use crate::emulator::Emulator;
use crate::end::End;
use crate::error::Error;
use crate::log::PacketLog;
use crate::namespaces::{NamespaceSettings, Namespaces};
use crate::report::Report;

/// What a path is like.
#[derive(Clone, Debug)]
pub struct PathSettings {
    /// From the sender to the receiver.
    pub forward: LinkSpec,
    /// From the receiver to the sender.
    pub backward: LinkSpec,
    /// Of everything random in the links.
    pub seed: Seed,
    /// How the ends are made.
    pub namespaces: NamespaceSettings,
}

impl PathSettings {
    /// The links, to the receiver and back, which start at [`Time::ZERO`].
    pub(crate) fn links(&self) -> Result<[Link<Datagram>; 2], SpecError> {
        let round_trip = Some(self.forward.base_delay() + self.backward.base_delay());
        Ok([
            self.forward.build(Time::ZERO, self.seed.named("forward"), round_trip)?,
            self.backward.build(Time::ZERO, self.seed.named("backward"), round_trip)?,
        ])
    }
}

/// Why a path could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A link that cannot be built.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// What the machine does not permit.
    #[error(transparent)]
    System(#[from] Error),
}

/// A path that packets cross. Dropping it ends every program inside; then nothing is left of it.
#[derive(Debug)]
pub struct Path {
    emulator: Emulator,
    namespaces: Namespaces,
}

impl Path {
    /// Makes both ends and starts the emulator between them; `log` takes a record of each packet.
    ///
    /// # Errors
    /// `Spec` for a limit in BDPs without delay or a rate that cannot be made; `System` as [`Namespaces::make`].
    pub fn open(settings: &PathSettings, log: Option<PacketLog>) -> Result<Self, PathError> {
        let links = settings.links()?;
        let (namespaces, devices) = Namespaces::make(settings.namespaces)?;
        Ok(Self { emulator: Emulator::start(devices, links, log)?, namespaces })
    }

    /// The ends.
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// A command that runs `program` at `end`, as [`Namespaces::command`].
    ///
    /// # Errors
    /// `System`.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        self.namespaces.command(end, program)
    }

    /// Stops the emulator, then ends what still runs inside.
    ///
    /// # Errors
    /// `System` when the emulator's thread died.
    pub fn close(self) -> Result<Report, Error> {
        self.emulator.stop()
    }
}
