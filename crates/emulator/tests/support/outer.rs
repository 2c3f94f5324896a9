//! Paths to a network that stands for the host's: one of the test's own, so that tests do not meet there.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::thread;

use trialwise_emulator::{Crossing, DeviceChoice, Error, OuterPath, PathError, PathSettings, Stage};

use super::settings;

/// How a path crosses to the host's network, and what its devices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub crossing: Crossing,
    pub device: DeviceChoice,
}

pub const MODES: [Mode; 4] = [
    Mode { crossing: Crossing::Direct, device: DeviceChoice::Tun },
    Mode { crossing: Crossing::Relay, device: DeviceChoice::Tun },
    Mode { crossing: Crossing::Direct, device: DeviceChoice::Packet },
    Mode { crossing: Crossing::Relay, device: DeviceChoice::Packet },
];

impl Mode {
    pub fn settings(self, pairs: &[(&str, &str)]) -> PathSettings {
        let mut settings = settings(pairs);
        settings.namespaces.device = self.device;
        settings.namespaces.user_namespace |= self.crossing == Crossing::Relay;
        settings
    }

    /// Such a path, or none with the reason printed where this machine or user may not make one.
    pub fn open(self, pairs: &[(&str, &str)]) -> Option<OuterPath> {
        let settings = self.settings(pairs);
        if self.crossing == Crossing::Direct && settings.namespaces.user_namespace {
            eprintln!("skipped: only root may make a device in this network");
            return None;
        }
        match OuterPath::open(&settings, None) {
            Ok(path) => {
                assert_eq!(path.crossing(), self.crossing);
                Some(path)
            }
            Err(PathError::System(Error::Refused { stage, source })) if stage != Stage::Block => {
                eprintln!("skipped: {stage:?} is not permitted here: {source}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs a test in a network of its own, which nothing but a loopback device is in; in this one without root.
pub fn in_own_network(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        // SAFETY: moves this thread alone.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 {
            set_up(c"lo");
        } else {
            eprintln!("in the host's own network: {}", io::Error::last_os_error());
        }
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn set_up(device: &CStr) {
    // SAFETY: all fields of the request may be zero; the name fits; the request lives through the call.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.to_bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        assert_eq!(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request), 0);
        libc::close(socket);
    }
}

/// Devices of the network that this thread is in.
pub fn devices() -> Vec<String> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let names = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
    names.collect()
}

/// IPv4 routes of the network that this thread is in.
pub fn routes() -> String {
    fs::read_to_string("/proc/thread-self/net/route").unwrap()
}
