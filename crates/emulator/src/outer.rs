//! A path whose outer end is the network that this process is in.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;

use crate::device::Device;
use crate::emulator::Emulator;
use crate::end::End;
use crate::error::{Error, Stage};
use crate::log::PacketLog;
use crate::namespaces::{Namespaces, Shape};
use crate::path::{PathError, PathSettings};
use crate::relay::Relay;
use crate::report::Report;

/// How packets get from a path to the network that it was started in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// The path has a device there: servers at any address of the host answer, and see the inner end's address.
    Direct,
    /// A relay carries TCP and UDP on to the host's loopback addresses, and servers see a program of the host. The host's
    /// side of a connection is the relay's: between the ends, its kernel chooses the congestion control.
    Relay,
}

/// A path between programs that run inside, at the sender's end, and the network that this process is in, where the
/// host's servers answer at [`address`](Self::address). Dropping it ends every program inside; then nothing is left of it.
#[derive(Debug)]
pub struct OuterPath {
    emulator: Emulator,
    relay: Option<Relay>,
    namespaces: Namespaces,
}

impl OuterPath {
    /// Makes the inner end, and a way to this network: a device where that is permitted (and `user_namespace` is not asked
    /// for), else a relay. `log` takes a record of each packet.
    ///
    /// # Errors
    /// `Spec` as [`Path::open`](crate::Path::open); `System` as [`Namespaces::make`].
    pub fn open(settings: &PathSettings, log: Option<PacketLog>) -> Result<Self, PathError> {
        let links = settings.links()?;
        let (namespaces, devices, relayed) = make_ends(settings)?;
        let (relay, gate) = if relayed { Some(start_relay(&namespaces, &devices)?) } else { None }.unzip();
        let emulator = Emulator::start_with_gate(devices, links, log, gate)?;
        Ok(Self { emulator, relay, namespaces })
    }

    /// How packets cross to this network.
    pub fn crossing(&self) -> Crossing {
        if self.relay.is_some() { Crossing::Relay } else { Crossing::Direct }
    }

    /// The outer end's IPv4 address, at which this network's servers answer.
    pub fn address(&self) -> Ipv4Addr {
        self.namespaces.block().address(1)
    }

    /// The outer end's IPv6 address.
    pub fn address6(&self) -> Ipv6Addr {
        version_6(self.address())
    }

    /// The address of the outermost end: of this path, or of the path that it was started in, or of the one around that.
    pub fn base(&self) -> Ipv4Addr {
        self.namespaces.block().outermost().address(1)
    }

    /// What the environment of a program inside has more: `TRIALWISE_PEER` and `TRIALWISE_PEER6`, the outer end's addresses,
    /// and `MAHIMAHI_BASE`, that of the outermost.
    pub fn environment(&self) -> [(&'static str, String); 3] {
        [
            ("TRIALWISE_PEER", self.address().to_string()),
            ("TRIALWISE_PEER6", self.address6().to_string()),
            ("MAHIMAHI_BASE", self.base().to_string()),
        ]
    }

    /// What to put before a program and its arguments so that it runs inside, as [`Namespaces::prefix`].
    ///
    /// # Errors
    /// `System`.
    pub fn prefix(&self) -> Result<Vec<OsString>, Error> {
        self.namespaces.prefix(End::Sender)
    }

    /// A command that runs `program` inside, with [`environment`](Self::environment).
    ///
    /// # Errors
    /// `System`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        let mut command = self.namespaces.command(End::Sender, program)?;
        command.envs(self.environment());
        Ok(command)
    }

    /// Stops the emulator, then ends what still runs inside.
    ///
    /// # Errors
    /// `System` when the emulator's thread died.
    pub fn close(self) -> Result<Report, Error> {
        let mut report = self.emulator.stop()?;
        if let Some(relay) = self.relay {
            let dropped = relay.stop();
            report.forward.refused += dropped.forward;
            report.backward.overrun += dropped.backward;
        }
        Ok(report)
    }
}

/// The ends, and whether the outer one needs a relay.
fn make_ends(settings: &PathSettings) -> Result<(Namespaces, [Device; 2], bool), Error> {
    if !settings.namespaces.user_namespace {
        match Namespaces::make_shaped(settings.namespaces, Shape::Direct) {
            Err(Error::Refused { stage: Stage::OuterDevice, .. }) => {}
            made => return made.map(|(namespaces, devices)| (namespaces, devices, false)),
        }
    }
    let (namespaces, devices) = Namespaces::make_shaped(settings.namespaces, Shape::Relayed)?;
    Ok((namespaces, devices, true))
}

fn start_relay(namespaces: &Namespaces, devices: &[Device; 2]) -> Result<(Relay, crate::relay::Gate), Error> {
    let writer = devices[End::Receiver as usize].writer();
    let writer = writer.map_err(Error::from_io("copying the descriptor of a device"))?;
    let own = namespaces.block().address(1);
    Relay::start(writer, namespaces.handover()?, [own.into(), version_6(own).into()])
}

/// The IPv6 address beside an IPv4 address of a block. Kept in step with `give_of_block` in `helper/ends.c`.
fn version_6(address: Ipv4Addr) -> Ipv6Addr {
    const NETWORK: u128 = 0xfd74_7269_616c_0001 << 64;
    Ipv6Addr::from_bits(NETWORK | u128::from(address.to_bits()))
}
