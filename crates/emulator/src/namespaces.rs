//! The two ends of a path: namespaces that hang on descriptors of this process and on nothing else.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};

use crate::device::{Device, DeviceKind};
use crate::end::End;
use crate::error::{Error, Stage};
use crate::handover::{Block, Handover, Made};
use crate::helper;

/// What the devices carry at least: every host of IPv4 takes such packets (RFC 791 section 3.1).
pub const MINIMUM_MTU: u16 = 576;
/// What the devices carry at most: jumbo frames.
pub const MAXIMUM_MTU: u16 = 9000;
/// What the devices carry unless told otherwise: packets in frames of Ethernet.
const USUAL_MTU: u16 = 1500;

/// Packets that a device keeps for us: at ten gigabits a few milliseconds of whole frames.
const DEVICE_QUEUE: u32 = 4096;
/// Of every end that is a namespace of ours.
const DEVICE: &str = "path0";
/// What making namespaces and devices takes: CAP_NET_ADMIN and CAP_SYS_ADMIN (capabilities(7)).
const CAPABILITIES: u64 = 1 << 12 | 1 << 21;

/// Which devices the ends have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// TUN devices where they may be made, else pairs.
    #[default]
    Auto,
    /// TUN devices: the faster ones.
    Tun,
    /// Pairs of veth devices, with `AF_PACKET` sockets.
    Packet,
}

/// How the ends are made.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceSettings {
    /// The largest IP packet in bytes. Below 1280 the ends have no IPv6 (RFC 8200 section 5).
    pub mtu: u16,
    /// Whether to make a user namespace: needed without root, and possible with it.
    pub user_namespace: bool,
    /// Which devices the ends have.
    pub device: DeviceChoice,
}

impl Default for NamespaceSettings {
    fn default() -> Self {
        Self { mtu: USUAL_MTU, user_namespace: !is_privileged(), device: DeviceChoice::Auto }
    }
}

/// Whether this process may make namespaces and devices without a user namespace.
fn is_privileged() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    effective.is_some_and(|effective| effective & CAPABILITIES == CAPABILITIES)
}

/// Where the two ends are. Kept in step with `helper/helper.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Both in namespaces of their own.
    Isolated,
    /// The receiver's in the network that this process is in.
    Direct,
    /// Both in namespaces of their own, the receiver's with a relay to the network that this process is in.
    Relayed,
}

/// Two network namespaces, and a process namespace for the programs in them. Dropping it, and the death of this process
/// by whatever cause, ends every program inside; then nothing is left.
#[derive(Debug)]
pub struct Namespaces {
    users: Option<OwnedFd>,
    processes: OwnedFd,
    networks: [OwnedFd; 2],
    block: Block,
    keeper: Child,
    /// Closing it ends the keeper. An option only so that dropping can close it first.
    handover: Option<Handover>,
}

impl Namespaces {
    /// Makes the ends and their devices, of the sender and of the receiver.
    ///
    /// # Errors
    /// `Mtu`; `Refused`, which names what is not permitted here and what would lift that.
    pub fn make(settings: NamespaceSettings) -> Result<(Self, [Device; 2]), Error> {
        Self::make_shaped(settings, Shape::Isolated)
    }

    pub(crate) fn make_shaped(
        settings: NamespaceSettings,
        shape: Shape,
    ) -> Result<(Self, [Device; 2]), Error> {
        let NamespaceSettings { mtu, user_namespace, device } = settings;
        if !(MINIMUM_MTU..=MAXIMUM_MTU).contains(&mtu) {
            return Err(Error::Mtu { mtu, minimum: MINIMUM_MTU, maximum: MAXIMUM_MTU });
        }
        let numbers = [u32::from(mtu), DEVICE_QUEUE, user_namespace.into(), shape as u32, device as u32];
        let (handover, mut keeper) = Handover::start(&numbers.map(|number| number.to_string()))?;
        let made = match handover.receive() {
            Ok(made) => made,
            Err(error) => {
                drop(handover); // else the helper, if it lives, would wait for it
                let _ = keeper.wait();
                return Err(error);
            }
        };
        let Made { processes, users, sender, receiver, kind, block } = made;
        let outer = if shape == Shape::Direct { outer_device(block) } else { DEVICE.to_owned() };
        let users = user_namespace.then_some(users);
        let networks = [sender.network, receiver.network];
        let namespaces = Self { users, processes, networks, block, keeper, handover: Some(handover) };
        let sender = make_device(sender.device, kind, DEVICE.to_owned(), "near0", mtu)?;
        let receiver = make_device(receiver.device, kind, outer, "near1", mtu)?;
        Ok((namespaces, [sender, receiver]))
    }

    /// The addresses of a path to the network that this process is in.
    pub(crate) fn block(&self) -> Block {
        self.block
    }

    /// Another handle of the helper.
    pub(crate) fn handover(&self) -> Result<Handover, Error> {
        self.handover.as_ref().ok_or(Error::HelperLost)?.try_clone()
    }

    /// What to put before a program and its arguments so that it runs at `end`. It may be used with any way to start a
    /// program while this value lives; the program cannot outlive it.
    ///
    /// # Errors
    /// `System`.
    pub fn prefix(&self, end: End) -> Result<Vec<OsString>, Error> {
        let users = self.users.as_ref().map_or_else(|| "-".into(), |users| helper::path_of(users).into());
        let network = helper::path_of(&self.networks[end as usize]);
        let processes = helper::path_of(&self.processes);
        Ok(vec![helper::path()?.into(), "enter".into(), users, network.into(), processes.into()])
    }

    /// A command that runs `program` at `end`, with the addresses of the other end in `TRIALWISE_PEER` and `TRIALWISE_PEER6`.
    ///
    /// # Errors
    /// `System`.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        let prefix = self.prefix(end)?;
        let mut command = Command::new(&prefix[0]);
        let peer = end.other();
        command.args(&prefix[1..]).arg(program);
        command.env("TRIALWISE_PEER", peer.address().to_string());
        command.env("TRIALWISE_PEER6", peer.address6().to_string());
        Ok(command)
    }

    /// Moves the calling thread to `end`, for good: what it opens from now on is there.
    ///
    /// # Errors
    /// `System`: without root a thread cannot enter the user namespace that the end is in.
    pub fn enter(&self, end: End) -> Result<(), Error> {
        // SAFETY: changes the network namespace of this thread alone.
        match unsafe { libc::setns(self.networks[end as usize].as_raw_fd(), libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(Error::last("moving a thread into a network namespace")),
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.handover = None;
        let _ = self.keeper.wait();
    }
}

/// Kept in step with `OUTER_DEVICE_FORMAT` in `helper/ends.c`.
fn outer_device(block: Block) -> String {
    format!("twpath{}", block.index())
}

fn make_device(
    [descriptor, netlink]: [OwnedFd; 2],
    kind: DeviceKind,
    name: String,
    near: &str,
    mtu: u16,
) -> Result<Device, Error> {
    match kind {
        DeviceKind::Tun => Ok(Device::tun(descriptor, netlink, name, mtu)),
        DeviceKind::Packet => Device::packet(descriptor, netlink, name, near, mtu)
            .map_err(|source| Error::Refused { stage: Stage::PacketSocket, source }),
    }
}
