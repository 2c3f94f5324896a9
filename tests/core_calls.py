"""A process that calls `trialwise._core` as it is told: what comes of hostile arguments, in memory that is limited.

`Calls` starts it and asks; it reads pickled `Call`s and answers with pickled `Answer`s (`serve`).
"""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import select
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

ADDRESS_SPACE = 2 << 30
"""Bytes that the process may ask the system for beside what it has."""
MEMORY = 512
"""MiB that a call may hold beside what there was before."""
SECONDS = 60.0
"""Wall time that a call may take on a busy machine."""
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); import core_calls; core_calls.serve(sys.argv[2])"


@dataclass(frozen=True)
class Made:
    """An argument that the called process makes itself: `MAKERS[how](*of)`."""

    how: str
    of: tuple[object, ...] = ()


@dataclass(frozen=True)
class Call:
    """`name`, or the method `method` of an object of that class, with these arguments."""

    name: str
    arguments: tuple[object, ...]
    keywords: dict[str, object]
    method: str | None = None
    made: Made | None = None
    closed: bool = False
    """Whether the object is closed before."""


@dataclass(frozen=True)
class Answer:
    """What came of a call: the names of the exception's classes, from its own on; none where it returned."""

    raised: tuple[str, ...] = ()
    text: str = ""
    memory: float = 0.0
    """MiB."""


@dataclass(frozen=True)
class Lost:
    """The process ended, or did not answer in time."""

    how: str


@dataclass
class Calls:
    """A process that is asked for one call after the other, and started anew when one ends it."""

    folder: Path
    _process: subprocess.Popen[bytes] | None = None
    _log: Path = field(init=False)

    def __post_init__(self) -> None:
        self._log = self.folder / "stderr"

    def ask(self, call: Call) -> Answer | Lost:
        """What comes of a call."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            _send(process.stdin, call)
            if not select.select([process.stdout], [], [], SECONDS)[0]:
                self.end()
                return Lost(f"no answer in {SECONDS:g} s")
            with suppress(EOFError):
                answer = _received(process.stdout)
                assert isinstance(answer, Answer)
                return answer
        code = process.wait()
        self.end()
        return Lost(f"ended with {code}: {self._log.read_text(errors='replace')[-2000:]}")

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(Path(__file__).parent), str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )


def _send(stream: BinaryIO | Any, value: object) -> None:
    packed = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(packed)) + packed)
    stream.flush()


def _received(stream: BinaryIO | Any) -> object:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0]))  # noqa: S301 of our own process


# What runs in the called process.


class Impatient(Exception):  # noqa: N818
    """Raised by what is asked whether to go on: long simulations are ended by it."""


def _goes_on(*_: object) -> bool:
    return False


def _impatient(*_: object) -> object:
    raise Impatient


class _Constant:
    """A congestion control in Python that shows what it was told to."""

    shown: object = 10_000

    def __init__(self, context: object) -> None:
        self.window = self.pacing_rate = self.next_timer_ps = self.shown
        self.in_slow_start = context

    def on_acknowledgement(self, event: object) -> None:
        """Let it be."""

    on_loss = on_timeout = on_acknowledgement


def _controller(shown: object) -> type[_Constant]:
    return type("Controller", (_Constant,), {"shown": shown})


def _path(kind: str) -> Callable[[], str]:
    def make() -> str:
        folder = Path(tempfile.mkdtemp())
        place = folder / "x"
        if kind == "folder":
            place.write_text("1\n2\n9\n")
            return str(folder)
        if kind == "text":
            place.write_text("1\n2\n18446744073709551615\n")
        elif kind == "bytes":
            place.write_bytes(bytes(range(256)) * 8)
        elif kind == "empty":
            place.touch()
        elif kind == "topology":
            place.write_text("3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 18446744073709551615bps 213d 0.5\n")
        elif kind == "log":
            head = struct.pack("<8sIIQQ", b"TWPACKET", 1, 32, 1, 0)
            place.write_bytes(
                head + struct.pack("<QQQIHBB", 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**32 - 1, 65535, 6, 255)
            )
        return str(place)

    return make


def _fabric(topology: str) -> object:
    from trialwise import _core

    return _core.Fabric(topology)


def _flow_graph(job: str) -> object:
    from trialwise import _core

    return _core.FlowGraph.of_job(job, _core.Fabric("dumbbell:2x2,10Gbit/s,1us"), seed=1)


def _client() -> object:
    from trialwise import _linux

    where = Path(tempfile.mkdtemp()) / "x"
    return _linux.StreamClient(
        "app", ["--oml-id", "a", "--oml-domain", "d", "--oml-collect", f"file:{where}"], {}
    )


_FIELDS = ("int32", "uint32", "int64", "uint64", "double", "bool", "string", "blob", "guid", "[double]")


def _point(fields: tuple[str, ...]) -> object:
    client: Any = _client()
    point = client.point("p", [(f"f{at}", kind) for at, kind in enumerate(fields)])
    client.start()
    return point


def _collector() -> object:
    from trialwise import _linux

    return _linux.Collector("127.0.0.1:0", f"sqlite:{tempfile.mkdtemp()}")


def _of_core(name: str, *arguments: object, **keywords: object) -> object:
    from trialwise import _core

    return getattr(_core, name)(*arguments, **keywords)


def _emulated(name: str) -> object:
    return _of_core(name, [[("delay", "1ms")]], [[("delay", "1ms")]], directory=tempfile.mkdtemp(), seed=1)


def _simulated() -> object:
    import numpy as np

    columns = ("flow_id", "src", "dst", "size_bytes", "start_ps")
    flows = {
        name: np.array([value], np.int64) for name, value in zip(columns, (0, 0, 1, 5000, 0), strict=True)
    }
    fabric = _fabric("dumbbell:1x1,10Gbit/s,1us")
    return _of_core("simulate", fabric, flows, controller="dctcp", sample_interval_ps=10**9, ports=[0])


def _captured() -> object:
    return _of_core("PacketCapture", _client(), "lo", "udp", [9], 1)


def _sightings() -> object:
    return _of_core("PacketSightings", str(Path(tempfile.mkdtemp()) / "seen"), "lo", (1, 2), [(9, 1)])


_PATHS = ("folder", "text", "bytes", "empty", "nothing", "topology", "log")
MAKERS: dict[str, Callable[..., object]] = {
    "impatient": lambda: _impatient,
    "goes on": lambda: _goes_on,
    "controller": _controller,
    "not a controller": lambda: int,
    **{f"path of {kind}": _path(kind) for kind in _PATHS},
    "store": lambda: f"sqlite:{tempfile.mkdtemp()}",
    "Fabric": _fabric,
    "FlowGraph": _flow_graph,
    "StreamClient": _client,
    "StreamPoint": _point,
    "Collector": _collector,
    "PacketCapture": _captured,
    "PacketSightings": _sightings,
    "Path": lambda: _emulated("Path"),
    "OuterPath": lambda: _emulated("OuterPath"),
    "ProgramCounters": lambda: _of_core("ProgramCounters", ["task-clock"]),
    "SimulationResult": _simulated,
    "AttachedCongestion": lambda: _of_core("attach_congestion", "vegas"),
}


def _made(value: Any) -> Any:
    if isinstance(value, Made):
        return MAKERS[value.how](*value.of)
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value)
        return {key: _made(one) for key, one in pairs.items()}
    if isinstance(value, list | tuple):
        parts = [_made(one) for one in cast("Sequence[object]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _look(found: object) -> None:
    """Read all that an object of the core shows."""
    if type(found).__module__ == "trialwise._core":
        for name in dir(found):
            if not name.startswith("_"):
                getattr(found, name)


@contextmanager
def _ended(found: Any) -> Generator[None]:
    """Close what runs on threads of its own."""
    try:
        yield
    finally:
        for name in ("stop", "close"):
            if name in dir(found):
                with suppress(Exception):
                    getattr(found, name)(*((0.1,) if type(found).__name__ == "StreamClient" else ()))


def _call(call: Call) -> None:
    from trialwise import _core

    arguments, keywords = _made(call.arguments), _made(call.keywords)
    if call.method is None:
        found = getattr(_core, call.name)(*arguments, **keywords)
        with _ended(found):
            _look(found)
        return
    this = _made(call.made) if call.made else getattr(_core, call.name)
    with _ended(this):
        if call.closed:
            with _ended(this):
                pass
        _look(getattr(this, call.method)(*arguments, **keywords))


def _answer(call: Call) -> Answer:
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    raised, text = (), ""
    try:
        _call(call)
    except BaseException as error:  # a panic is no Exception
        raised, text = tuple(kind.__name__ for kind in type(error).__mro__), str(error)
    return Answer(raised, text, (_status("VmHWM") - before) / 1024)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def serve(folder: str) -> None:
    """Answer the calls that come on standard input until it ends."""
    importlib.import_module("trialwise._core")  # its memory is there before it is limited

    tempfile.tempdir = folder
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = _status("VmSize") * 1024 + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with suppress(EOFError):
        while True:
            call = _received(asked)
            assert isinstance(call, Call)
            answer = _answer(call)
            for left in Path(folder).iterdir():
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
            _send(told, answer)
