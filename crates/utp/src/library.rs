//! libutp behind a safe face: one context with its UDP socket.
//!
//! libutp calls back while it is called; the callbacks only write down what happened and send packets, so that nothing of it
//! is entered twice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::time::Duration;

use libutp_sys as c;

use crate::address::{self, RawAddress};
use crate::report::{INTERVAL, Sample};

/// Larger than any packet of libutp's.
const PACKET: usize = 4096;
/// So many packets at most before acknowledgements and timers get their turn.
const BATCH: usize = 64;
/// Bytes that libutp is offered at a time.
const BLOCK: usize = 1 << 16;

/// A connection; may be named after it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow(NonNull<c::utp_socket>);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The other end took the connection.
    Connected,
    /// The other end sends no more.
    Ended(Flow),
    /// No answer any more, or a reset.
    Failed(Flow),
    /// Everything is delivered and closed, or given up.
    Gone(Flow),
    /// The other machine says that nobody listens there.
    Refused,
}

/// A context of libutp.
pub(crate) struct Library {
    context: NonNull<c::utp_context>,
    shared: Box<Shared>,
}

/// What the callbacks reach.
struct Shared {
    socket: UdpSocket,
    events: RefCell<Vec<Event>>,
    /// Flows that are there, and whether they are being closed.
    flows: RefCell<BTreeMap<Flow, bool>>,
    samples: RefCell<Vec<Sample>>,
    /// When the last sample was taken.
    sampled: Cell<u64>,
}

impl Library {
    /// Takes connections at this port, of IPv6 and IPv4 alike where there is IPv6.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub(crate) fn listen(port: u16) -> io::Result<Self> {
        let socket = match UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)) {
            Err(error) if error.kind() != ErrorKind::AddrInUse => {
                UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?
            }
            result => result?,
        };
        Self::new(socket)
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// When there is no way to the peer.
    pub(crate) fn connect(peer: SocketAddr) -> io::Result<(Self, Flow)> {
        let any: IpAddr =
            if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(peer)?;
        let library = Self::new(socket)?;
        let flow = library.create();
        let address = RawAddress::from(peer);
        // SAFETY: a new flow and a valid address.
        let result = unsafe { c::utp_connect(flow.0.as_ptr(), address.pointer().cast(), address.length()) };
        if result == 0 { Ok((library, flow)) } else { Err(io::Error::other("libutp cannot connect")) }
    }

    fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let shared = Box::new(Shared {
            socket,
            events: RefCell::default(),
            flows: RefCell::default(),
            samples: RefCell::default(),
            sampled: Cell::default(),
        });
        // SAFETY: 2 is the version of the interface.
        let context = NonNull::new(unsafe { c::utp_init(2) }).ok_or(ErrorKind::OutOfMemory)?;
        let userdata = ptr::from_ref::<Shared>(&shared).cast_mut().cast::<c_void>();
        // SAFETY: the box stays where it is and lives as long as the context; callbacks only read through it.
        unsafe { c::utp_context_set_userdata(context.as_ptr(), userdata) };
        let callbacks: [(u32, Callback); 6] = [
            (c::UTP_SENDTO, on_send),
            (c::UTP_ON_ACCEPT, on_accept),
            (c::UTP_ON_STATE_CHANGE, on_state),
            (c::UTP_ON_ERROR, on_error),
            (c::UTP_ON_READ, on_read),
            (c::UTP_LOG, on_log),
        ];
        for (name, callback) in callbacks {
            // SAFETY: a callback's number and a function of its form.
            unsafe { c::utp_set_callback(context.as_ptr(), name.cast_signed(), Some(callback)) };
        }
        Ok(Self { context, shared })
    }

    fn create(&self) -> Flow {
        // SAFETY: the context lives.
        let flow =
            Flow(NonNull::new(unsafe { c::utp_create_socket(self.context.as_ptr()) }).expect("a new object"));
        self.shared.flows.borrow_mut().insert(flow, false);
        flow
    }

    /// Has libutp tell what its congestion control does.
    pub(crate) fn take_samples(&self) {
        // SAFETY: the context lives; the option is one.
        unsafe { c::utp_context_set_option(self.context.as_ptr(), c::UTP_LOG_NORMAL.cast_signed(), 1) };
    }

    /// What it told since it was last asked.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.shared.samples.take()
    }

    /// Offers up to so many bytes; how many it took.
    pub(crate) fn write(&self, flow: Flow, count: u64) -> u64 {
        static DATA: [u8; BLOCK] = [0x5a; BLOCK];
        if self.shared.flows.borrow().get(&flow) != Some(&false) {
            return 0;
        }
        let length = count.min(BLOCK as u64) as usize;
        // SAFETY: the flow is there, and libutp only reads that many bytes (its interface lacks the const).
        let taken = unsafe { c::utp_write(flow.0.as_ptr(), DATA.as_ptr().cast_mut().cast(), length as _) };
        u64::try_from(taken).unwrap_or(0)
    }

    /// Ends a flow after what was taken; `Gone` follows.
    pub(crate) fn close(&self, flow: Flow) {
        match self.shared.flows.borrow_mut().get_mut(&flow) {
            Some(is_closing) if !*is_closing => *is_closing = true,
            _ => return,
        }
        // SAFETY: the flow is there and was not closed before.
        unsafe { c::utp_close(flow.0.as_ptr()) };
    }

    /// Waits up to so long for packets, hands them over, lets libutp do what is due, and tells what happened.
    ///
    /// # Errors
    /// When the socket fails.
    pub(crate) fn turn(&self, timeout: Duration) -> io::Result<Vec<Event>> {
        wait(&self.shared.socket, libc::POLLIN, timeout)?;
        for _ in 0..BATCH {
            if !self.receive()? {
                break;
            }
        }
        // SAFETY: the context lives.
        unsafe {
            c::utp_issue_deferred_acks(self.context.as_ptr());
            c::utp_check_timeouts(self.context.as_ptr());
        }
        Ok(self.shared.events.take())
    }

    /// Hands one packet over; whether there was one.
    fn receive(&self) -> io::Result<bool> {
        let mut packet = [0; PACKET];
        let (length, from) = match self.shared.socket.recv_from(&mut packet) {
            Ok((length, from)) => (length, SocketAddr::new(from.ip().to_canonical(), from.port())),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => return Ok(false),
                ErrorKind::ConnectionRefused => {
                    self.shared.note(Event::Refused);
                    return Ok(true);
                }
                _ => return Err(error),
            },
        };
        let address = RawAddress::from(from);
        // SAFETY: a packet of that length, and a valid address.
        unsafe {
            c::utp_process_udp(
                self.context.as_ptr(),
                packet.as_ptr(),
                length as _,
                address.pointer().cast(),
                address.length(),
            )
        };
        Ok(true)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the context lives, and nothing uses it afterwards.
        unsafe { c::utp_destroy(self.context.as_ptr()) };
    }
}

impl Shared {
    fn note(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    /// Sends a packet; waits while the kernel has no room for it, since a packet that is dropped here was not lost by the path.
    fn send(&self, packet: &[u8], to: SocketAddr) {
        let is_mapped = to.is_ipv4() && self.socket.local_addr().is_ok_and(|own| own.is_ipv6());
        let to = match to.ip() {
            IpAddr::V4(ip) if is_mapped => SocketAddr::new(ip.to_ipv6_mapped().into(), to.port()),
            _ => to,
        };
        while let Err(error) = self.socket.send_to(packet, to) {
            match error.kind() {
                ErrorKind::WouldBlock
                    if wait(&self.socket, libc::POLLOUT, Duration::from_secs(1)).is_ok() => {}
                ErrorKind::Interrupted => {}
                ErrorKind::ConnectionRefused => return self.note(Event::Refused),
                // As if the path had lost it: libutp sends it again.
                _ => return,
            }
        }
    }

    /// Whether it is time for another sample.
    fn is_due(&self, now: u64) -> bool {
        let is_due = u128::from(now - self.sampled.get()) >= INTERVAL.as_nanos();
        if is_due {
            self.sampled.set(now);
        }
        is_due
    }
}

type Arguments = c::utp_callback_arguments;
type Callback = unsafe extern "C" fn(*mut Arguments) -> u64;

/// What the callbacks share, and the flow that this call is about (none for calls about the context).
///
/// # Safety
/// `arguments` is what libutp gave to a callback.
unsafe fn parts<'a>(arguments: *mut Arguments) -> (&'a Shared, Option<Flow>, &'a Arguments) {
    // SAFETY: libutp's own, valid during the callback.
    let arguments = unsafe { &*arguments };
    // SAFETY: what `Library::new` set, which outlives the context.
    let shared = unsafe { &*c::utp_context_get_userdata(arguments.context).cast::<Shared>() };
    (shared, NonNull::new(arguments.socket).map(Flow), arguments)
}

unsafe extern "C" fn on_send(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp.
    let (shared, _, arguments) = unsafe { parts(arguments) };
    // SAFETY: a packet of that length.
    let packet = unsafe { std::slice::from_raw_parts(arguments.buf, arguments.len as usize) };
    // SAFETY: for this callback it is the address.
    if let Some(to) = unsafe { address::read(arguments.args1.address.cast()) } {
        shared.send(packet, to);
    }
    0
}

unsafe extern "C" fn on_accept(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp.
    let (shared, flow, _) = unsafe { parts(arguments) };
    shared.flows.borrow_mut().extend(flow.map(|flow| (flow, false)));
    0
}

unsafe extern "C" fn on_state(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp.
    let (shared, Some(flow), arguments) = (unsafe { parts(arguments) }) else { return 0 };
    // SAFETY: for this callback it is the state.
    match unsafe { arguments.args1.state }.cast_unsigned() {
        c::UTP_STATE_CONNECT => shared.note(Event::Connected),
        c::UTP_STATE_EOF => shared.note(Event::Ended(flow)),
        c::UTP_STATE_DESTROYING => {
            shared.flows.borrow_mut().remove(&flow);
            shared.note(Event::Gone(flow));
        }
        _ => {}
    }
    0
}

unsafe extern "C" fn on_error(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp.
    let (shared, flow, _) = unsafe { parts(arguments) };
    flow.into_iter().for_each(|flow| shared.note(Event::Failed(flow)));
    0
}

/// What arrives is not looked at; libutp is told that there is room for more.
unsafe extern "C" fn on_read(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp about a flow, which may be told so here (as its ucat does).
    unsafe { c::utp_read_drained((*arguments).socket) };
    0
}

unsafe extern "C" fn on_log(arguments: *mut Arguments) -> u64 {
    // SAFETY: called by libutp.
    let (shared, _, arguments) = unsafe { parts(arguments) };
    let now = monotonic();
    if shared.is_due(now) {
        // SAFETY: a line that ends with a zero.
        let line = unsafe { CStr::from_ptr(arguments.buf.cast()) }.to_string_lossy();
        shared.samples.borrow_mut().extend(Sample::from_log(&line, now));
    }
    0
}

/// Waits until the socket can do that, the time is over or a signal comes.
fn wait(socket: &UdpSocket, what: libc::c_short, timeout: Duration) -> io::Result<()> {
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: what, revents: 0 };
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one valid structure.
    let result = unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    let error = io::Error::last_os_error();
    if result >= 0 || error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).unsigned_abs()
}
