"""One end of a trial over a real path: meets the other end, runs its side of the flows, and notes packets and clocks.

The task says which end this is, the key of the trial, and the programs. Everything here ends by itself: when the other end is silent,
when the runner has not renewed its lease, when a cap is exceeded, or when the trial is over.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import time
import zlib

from trialwise.execution.workers.agent.caps import Caps
from trialwise.execution.workers.agent.meeting import (
    APART,
    CANCELLED,
    CONNECTING,
    DONE,
    FAILED,
    MET,
    QUIET,
    RUNNING,
    SECOND,
    Meeting,
)
from trialwise.execution.workers.agent.path_capture import Capture, Recorder, RecorderError
from trialwise.execution.workers.agent.path_own_records import CAME, SENT, SIGHTINGS, OwnRecords
from trialwise.execution.workers.agent.path_programs import LINGER, Place, Side
from trialwise.execution.workers.agent.path_settings import Settings
from trialwise.execution.workers.agent.path_sizes import PathSizes
from trialwise.execution.workers.agent.path_socket import FAMILIES, PathSocket
from trialwise.execution.workers.agent.path_tunnel import Tunnel
from trialwise.execution.workers.agent.raw_clock import raw_now
from trialwise.execution.workers.agent.sleeping import Sleep
from trialwise.measurement.details.interfaces import interface_facts
from trialwise.trials.marked import MARKER, end_left
from trialwise.trials.removing import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

HEARD = struct.Struct("<QQBB")
"""A probe: its number, when it came (ns of CLOCK_MONOTONIC_RAW), TTL (0 if unknown), the other end's phase."""
TURN = 0.05
"""Seconds between looks at programs, lease and caps."""
CHECK = SECOND // 2
DEVICE_FIRST_SECONDS = 1.0
"""How long the end of a killed tunnel may come after that of its device."""
MOST_PEERS = 1000
OTHERWISE = {
    "capture": 'or see packets another way: see = "tunnel" beside from and to, or "programs" for schemes udp-…',
    "tunnel": 'or see packets another way: see = "capture" beside from and to, or "programs" for schemes udp-…',
    "programs": None,
}
"""What to try where a way to see packets is not permitted."""
FREE_SOME = "free some space there, or choose another place with workers.folder"
_KNOWN_MTU = {socket.AF_INET: (socket.IPPROTO_IP, 14), socket.AF_INET6: (socket.IPPROTO_IPV6, 24)}
"""IP_MTU."""


def hint_for(problem: str, otherwise: str | None) -> str | None:
    """Return what to try: room where the disk is full, else what is given."""
    return FREE_SOME if os.strerror(errno.ENOSPC) in problem else otherwise


class PathEnd:
    """Runs one end, from before the first frame to after the last.

    `lease` is a file that the runner touches, `listening` one that is made when this end hears; `settings` keeps what programs change.
    """

    def __init__(self, task: Json, lease: str, listening: str, settings: Settings) -> None:
        self.task = task
        self.settings = settings
        self.end: Json = task["path"]
        self.connects = self.end["role"] == CONNECTING
        self.lease = lease
        self.renewed = (0, raw_now())
        self.listening = listening
        self.cancelled = False
        self.key = bytes.fromhex(self.end["key"])
        self.probes = bytearray()
        self.recorder: Recorder | OwnRecords | None = None
        self.recorder_counts: Json = {}
        self.records = b""
        self.interface: Json = {}
        self.peer: tuple[Any, ...] | None = None
        self.peers: list[str] = []
        self.sides = [Side(flow, task, self.end["directory"]) for flow in self.end["flows"]]
        wanted = [side.flow["packets"] for side in self.sides if side.flow["packets"]]
        self.sizes = PathSizes(wanted)
        self.sleep = Sleep()
        self.place = Place((), "/proc/net", "")
        self.link: PathSocket | Tunnel | None = None
        self.meeting: Meeting | None = None
        self.running_since = 0
        self.met_since = 0
        self.monotonic = 0
        self.realtime = 0.0
        self.quiet_since = 0
        self.looked = 0
        self.caps = Caps(self.end["most"]["rate"], self.end["most"]["bytes"])
        signal.signal(signal.SIGTERM, lambda number, stack: self.cancel())

    def cancel(self) -> None:
        self.cancelled = True

    # From beginning to end

    def run(self) -> tuple[Json, bytes]:
        """Run this end; return what came of it, and its records, compressed, with their sizes in the head."""
        problem = None
        guard(self.task["environment"][MARKER], self.settings, self.end["directory"])
        try:
            self.settings.keep(self.end["settings"])
            remove_tree(self.end["directory"])
            os.makedirs(self.end["directory"])
            with contextlib.closing(self.open()) as sock:
                self.meeting = Meeting(
                    self.key, self.end["role"], raw_now(), silence=round(self.end["silence"] * SECOND)
                )
                with open(self.listening, "wb"):
                    pass
                self.link = sock
                self.loop(sock, self.meeting)
                problem = self.meeting.problem
        except OSError as error:
            problem = f"{error.filename or 'network'}: {error.strerror or error}"
        finally:
            self.wind_down()
        report = self.report(problem)
        remove_tree(self.end["directory"])
        return report

    def open(self) -> PathSocket:
        """Return the socket of the probes, bound where this end listens."""
        version, port = self.end["family"], self.end["port"]
        sock = PathSocket(version, 0 if self.connects else port)
        if self.connects:
            kind, flags = socket.SOCK_DGRAM, socket.AI_NUMERICHOST
            self.peer = socket.getaddrinfo(self.end["peer"], port, FAMILIES[version], kind, flags=flags)[0][4]
            self.note_peer()
        return sock

    def loop(self, sock: PathSocket, meeting: Meeting) -> None:
        while meeting.phase != DONE:
            now = raw_now()
            self.hear(meeting)
            self.step(sock, meeting, now)
            self.say(sock, meeting)
            if meeting.phase == FAILED:
                self.say_failed(sock, meeting)
                return
            due = meeting.next if meeting.next is not None else now + SECOND
            wait = min(max((due - raw_now()) / SECOND, 0), TURN)
            select.select([self.link or sock], [], [], wait)

    def hear(self, meeting: Meeting) -> None:
        while self.link is not None and (found := self.link.receive()) is not None:
            came = raw_now()
            heard = meeting.on_frame(came, found.data)
            if heard is None:
                continue
            if found.address[:2] != (self.peer or ())[:2]:
                self.peer = found.address
                self.note_peer()
            self.probes += HEARD.pack(heard.number, came, found.ttl, heard.phase)
            if isinstance(self.recorder, OwnRecords):
                self.recorder.note(found.data, came, CAME, found.ttl)

    def note_peer(self) -> None:
        """Note the address of the other end, which changes where a NAT forgets what it knew."""
        if self.peer is not None and len(self.peers) < MOST_PEERS:
            self.peers.append(f"{self.peer[0]} port {self.peer[1]}")

    def say(self, sock: PathSocket, meeting: Meeting) -> None:
        if self.peer is None:
            return
        now = raw_now()
        data = meeting.frame(now)
        if data is not None:
            if isinstance(self.recorder, OwnRecords):
                self.recorder.note(data, raw_now(), SENT)
            (self.link or sock).send(data, self.peer)
        if meeting.phase == MET and meeting.is_mutual:
            self.try_sizes(sock, meeting, now)

    def try_sizes(self, sock: PathSocket, meeting: Meeting, now: int) -> None:
        """Send packets of sizes of which it is not known yet whether they pass."""
        if meeting.passes:
            self.sizes.confirm(meeting.passes + sock.headers)
        for size in self.sizes.due(now):
            if not sock.send(meeting.sized(size - sock.headers), self.peer or ()):
                self.sizes.refuse(size)

    def say_failed(self, sock: PathSocket, meeting: Meeting) -> None:
        """Tell the other end a few times, so that it need not wait for silence."""
        for _ in range(5):
            meeting.next = 0
            self.say(sock, meeting)
            time.sleep(0.02)

    # What there is to do in each phase

    def step(self, sock: PathSocket, meeting: Meeting, now: int) -> None:
        meeting.check(now)
        self.look(sock, meeting, now)
        if self.cancelled:
            meeting.fail(CANCELLED)
        phase = meeting.phase
        if phase == MET:
            self.prepare(sock, meeting)
        elif phase == RUNNING:
            self.conduct(meeting, now)
        elif phase == QUIET and now - self.quiet_since >= round(self.end["quiet"] * SECOND):
            meeting.done()

    def prepare(self, sock: PathSocket, meeting: Meeting) -> None:
        """Begin to write packets down, and start the programs that wait; some turns later they are ready."""
        if self.recorder is None and (self.end["see"] != "tunnel" or self.sizes.is_known(raw_now())):
            self.begin_recording(sock, meeting)
        if meeting.phase != MET or self.recorder is None:
            return
        self.met_since = self.met_since or raw_now()
        for side in self.sides:
            if (problem := side.prepare(self.place)) is not None:
                meeting.fail(problem, hint_for(problem, None))
                return
        now = raw_now()
        is_quiet = now - self.met_since >= round(self.end["quiet"] * SECOND)
        if is_quiet and self.sizes.is_known(now) and all(side.is_ready for side in self.sides):
            self.check_sizes(meeting)
            meeting.ready(now)

    def check_sizes(self, meeting: Meeting) -> None:
        """Fail if what the flows of this end send is too large for the path."""
        for side in self.sides:
            if side.flow["side"] == "sender" and meeting.problem is None:
                found = self.sizes.problem(side.flow["packets"], mtu_towards(self.peer))
                if found is not None:
                    meeting.fail(f"{side.name}: {found[0]}", found[1])

    def begin_recording(self, sock: PathSocket, meeting: Meeting) -> None:
        """See packets the way that the task says."""
        file = os.path.join(self.end["directory"], "sightings")
        environment = dict(os.environ, **self.task["environment"])
        see, key = self.end["see"], self.key
        try:
            interface = interface_towards(self.peer)
            self.interface = interface_facts(interface)
            if see == "tunnel":
                self.recorder = self.link = tunnel = Tunnel(self.end, key, sock, file, environment)
                self.place = tunnel.place
                return
            if see == "programs":
                files = [side.path("sightings") for side in self.sides]
                for side, noted in zip(self.sides, files):
                    side.environment[SIGHTINGS] = f"{key[:16].hex()} {side.flow['number']} {noted}"
                self.recorder = OwnRecords(file, files, key, self.end["tunnel"]["frames"], sock.headers)
            else:
                program, ports = self.end["program"], self.end["ports"]
                self.recorder = Capture(program, interface, file, key[:16].hex(), ports, environment)
            self.place = self.place._replace(peer=str(self.peer[0]) if self.peer is not None else "")
        except (OSError, RecorderError) as error:
            said = f"{see}: {getattr(error, 'strerror', None) or error}"
            meeting.fail(said, hint_for(said, OTHERWISE[see]))

    def conduct(self, meeting: Meeting, now: int) -> None:
        """Start and stop flows at their times, until the last has ended."""
        if not self.running_since:
            self.running_since = now
            self.monotonic = time.monotonic_ns()
            self.realtime = time.time()
        elapsed = (now - self.running_since) / SECOND
        for side in self.sides:
            if (problem := side.conduct(elapsed, self.place)) is not None:
                meeting.fail(self.lost_before() or problem, hint_for(problem, None))
                return
        if elapsed >= self.end["runtime"] + LINGER:
            for side in self.sides:
                side.stop()
            self.quiet_since = now
            meeting.ended()

    def look(self, sock: PathSocket, meeting: Meeting, now: int) -> None:
        """Look at the caps each time, and at the lease and whether the machine slept now and then."""
        if self.recorder is not None and meeting.phase != FAILED:
            if (lost := self.lost()) is not None:
                meeting.fail(lost, hint_for(lost, None))
                self.link = sock
            elif (problem := self.caps.exceeded(now, self.recorder.sent_bytes)) is not None:
                meeting.fail(problem, hint_for(problem, None))
        if now - self.looked >= CHECK:
            self.looked = now
            if not self.is_leased(now):
                meeting.fail(
                    "nobody has renewed the lease: the connection to the runner is gone",
                    "run again with --again, or let an end go on for longer without it: lease beside from and to",
                )
            if slept := self.sleep.seconds:
                meeting.fail(
                    f"this machine slept for {slept:.3g} s", "keep it awake, as systemd-inhibit does"
                )

    def lost(self) -> str | None:
        """Return why what sees packets has ended; None if it has not."""
        problem = None if self.recorder is None else self.recorder.look()
        return None if problem is None else f"the {self.end['see']} failed: {problem}"

    def lost_before(self) -> str | None:
        """Return why what sees packets has ended, if a flow may have failed because of it; None if it has not.

        The kernel takes the device of a tunnel that was killed away, and then tells of the end of its process.
        """
        until = time.monotonic() + (DEVICE_FIRST_SECONDS if self.end["see"] == "tunnel" else 0.0)
        while (lost := self.lost()) is None and time.monotonic() < until:
            time.sleep(0.01)
        return lost

    def is_leased(self, now: int) -> bool:
        """Return True if the lease was touched not too long ago, by a clock that nobody sets."""
        with contextlib.suppress(OSError):
            touched = os.stat(self.lease).st_mtime_ns
            if touched != self.renewed[0]:
                self.renewed = touched, now
        return now - self.renewed[1] < self.end["lease"] * SECOND

    # Its end

    def wind_down(self) -> None:
        for side in self.sides:
            side.stop()
        for side in self.sides:
            side.wait()
        if self.recorder is not None:
            problem = self.recorder.stop()
            told = None if problem is None else f"the {self.end['see']} failed: {problem}"
            self.recorder_counts = dict(self.recorder.counts, problem=told, sent=self.recorder.sent_bytes)
            with contextlib.suppress(OSError), open(self.recorder.file, "rb") as file:
                self.records = file.read()
        end_left(self.task["environment"][MARKER])
        self.settings.put_back()

    def report(self, problem: str | None) -> tuple[Json, bytes]:
        parts = {"probes": bytes(self.probes), "sightings": self.records}
        for side in self.sides:
            parts.update(side.files())
        packed = {name: zlib.compress(content, 1) for name, content in parts.items()}
        head: Json = {
            "phase": self.meeting.phase if self.meeting is not None else APART,
            "problem": problem,
            "cancelled": self.cancelled,
            "monotonic": self.monotonic,
            "began": self.running_since,
            "realtime": self.realtime,
            "ended": [time.monotonic_ns(), raw_now()],
            "capture": self.recorder_counts,
            "hint": self.meeting.hint if self.meeting is not None else None,
            "passes": self.sizes.passes,
            "peers": self.peers,
            "interface": self.interface,
            "parts": [[name, len(content)] for name, content in packed.items()],
        }
        return head, b"".join(packed.values())


def guard(marker: str, settings: Settings, directory: str) -> None:
    """Leave a process behind that ends the programs of the trial if this one is killed, puts settings back, and removes its folder.

    It goes when this one ends.
    """
    reader, writer = os.pipe()
    if os.fork():
        os.close(reader)
        os.set_inheritable(writer, False)
        return
    os.close(writer)
    os.setsid()
    os.read(reader, 1)
    end_left(marker)
    settings.put_back()
    remove_tree(directory)
    os._exit(0)


def mtu_towards(peer: tuple[Any, ...] | None) -> int:
    """Return the largest packet towards the other end, by what the kernel knows of the device and from routers; 0 if nothing."""
    if peer is None:
        return 0
    family = socket.AF_INET6 if len(peer) == 4 else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect(peer)
        return sock.getsockopt(*_KNOWN_MTU[family])
    return 0


def interface_towards(peer: tuple[Any, ...] | None) -> str:
    """Return the interface from which packets to the other end leave.

    Raises
    ------
    OSError
        There is no route, or no interface has the address that the route gives.
    """
    if peer is None:
        raise OSError(0, "the other end has no address yet")
    family = socket.AF_INET6 if len(peer) == 4 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect(peer)
        own = sock.getsockname()[0]
    for _, name in socket.if_nameindex():
        if own in addresses_of(name, family):
            return name
    raise OSError(0, f"no interface has the address {own}")


def addresses_of(interface: str, family: int) -> list[str]:
    """Return the addresses of an interface."""
    if family == socket.AF_INET6:
        with open("/proc/net/if_inet6") as file:
            rows = [line.split() for line in file]
        return [
            socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0])) for row in rows if row[5] == interface
        ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("256s", interface.encode()[:15])
        try:
            answer = fcntl.ioctl(sock, 0x8915, request)  # SIOCGIFADDR
        except OSError:
            return []
    return [socket.inet_ntoa(answer[20:24])]
