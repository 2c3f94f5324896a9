"""Measurement points of Python programs: what they measure goes where the experimenter says when they run.

>>> from trialwise.measurement import Point
>>> transfer = Point("transfer", size="uint64", rate=float)
>>> transfer.inject(size=1 << 20, rate=93.7)
True

Nothing is sent until somebody asks: in the environment (``OML_COLLECT=native:HOST:PORT``, as inside a trial), on the command
line (``Client(arguments=sys.argv)``, then ``--oml-collect …``), or in the program (``Client(collect="file:samples.txt")``).
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import time as clock
from collections.abc import Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from trialwise._core import PacketCapture, PointCount, StreamClient, StreamCount, StreamPoint

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CLOSE_SECONDS = 2.0
"""How long the end of a program waits for its last samples to go out, unless `Client.close` says otherwise."""

_TYPES: dict[type, str] = {int: "int64", float: "double", str: "string", bytes: "blob", bool: "bool"}
_ARRAYS = {
    "int32": "int32",
    "int": "int32",
    "integer": "int32",
    "long": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "guid": "uint64",
    "double": "float64",
    "float": "float64",
    "real": "float64",
    "bool": "bool",
    "boolean": "bool",
}
_WHERE = ("TRIALWISE_COLLECT", "OML_COLLECT", "OML_SERVER", "OML_CONFIG")
_LOG = logging.getLogger("trialwise.measurement")

FieldTypes: TypeAlias = Mapping[str, str | type]


@dataclass(frozen=True, slots=True)
class Counters:
    """What a client has done: samples by measurement point, rows by stream, and why a destination takes nothing."""

    points: tuple[PointCount, ...]
    streams: tuple[StreamCount, ...]
    errors: tuple[str, ...]

    @property
    def dropped(self) -> int:
        """Samples and rows lost so far, anywhere."""
        return sum(count.dropped for count in (*self.points, *self.streams))


@dataclass(frozen=True, slots=True)
class CloseReport:
    """How a client ended: whether everything went out in time, and the last counts."""

    finished: bool
    counters: Counters


class Client:
    """Sends what a program's measurement points take.

    Parameters
    ----------
    app
        The program's name, which begins the names of its streams; that of the script where not given.
    id, domain, collect, config, samples, interval, buffer_bytes
        As OML's options of these names: who sends, to which domain, where to (``native:HOST:PORT``, ``tcp:HOST:PORT``,
        ``file:PATH``), an XML or TOML file of streams, a row for so many samples or seconds, bytes of each buffer.
        What is not given here is asked from `arguments`, then from the environment.
    arguments
        A command line such as ``sys.argv``; OML's options are removed from it.

    Raises
    ------
    ValueError
        A name, option, destination or file that is wrong. With `arguments`, whose author runs the program and has not written
        it, that is said on standard error instead, and the program ends with code 2.

    Notes
    -----
    Where nobody says where samples go, they go nowhere, at next to no cost. A client belongs to the process that made it.
    """

    def __init__(
        self,
        app: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 OML's word
        domain: str | None = None,
        collect: str | None = None,
        config: str | os.PathLike[str] | None = None,
        samples: int | None = None,
        interval: float | None = None,
        buffer_bytes: int | None = None,
        arguments: list[str] | None = None,
    ) -> None:
        given = {
            "id": id,
            "domain": domain,
            "collect": collect,
            "config": None if config is None else os.fspath(config),
            "samples": samples,
            "interval": interval,
            "bufsize": buffer_bytes,
        }
        # The last option of a name counts: what the program says goes after the command line's.
        words = list((arguments or [""])[1:])
        words += [f"--oml-{name}={value}" for name, value in given.items() if value is not None]
        if not says_where(words):
            words.append("--oml-noop")
        options = [*words, *(["--oml-config"] if os.environ.get("OML_CONFIG") else [])]
        self._configured = config is None and any(word.startswith("--oml-config") for word in options)
        with _said_by_the_user() if arguments else nullcontext():
            self._client = StreamClient(app or _script_name(), words, _variables())
        if arguments:
            arguments[1:] = self._client.arguments
        if self._client.answer is not None:
            sys.stdout.write(self._client.answer)
            raise SystemExit(0)
        self._points: dict[str, StreamPoint] = {}
        self._started = False
        self._closed = False

    def point(self, name: str, types: FieldTypes | None = None, /, **fields: str | type) -> Point:
        """Declare a measurement point of this client; see `Point`."""
        return Point(name, types, client=self, **fields)

    def metadata(
        self, key: str, value: object, *, point: Point | None = None, field: str | None = None
    ) -> None:
        """Say something about the experiment, a measurement point, or one of its fields.

        Raises
        ------
        ValueError
            A key that is no name, or a point or field that this client does not have.
        """
        known = None if point is None else self.declare(point)
        self.start()
        self._client.metadata(key, str(value), known, field)

    def capture(
        self, interface: str, protocol: str, ports: Sequence[int], count: int | None
    ) -> PacketCapture:
        """Begin to capture packets into points of this client (see `trialwise.measurement.adapters.packets`)."""
        capture = PacketCapture(self._client, interface, protocol, ports, count)
        self.start()
        return capture

    def counters(self) -> Counters:
        """Count what was injected, sent and dropped so far."""
        return _counters(*self._client.counters())

    def close(self, seconds: float = CLOSE_SECONDS) -> CloseReport:
        """Send what waits, for `seconds` at most. Samples injected later are dropped, and counted."""
        self.start()
        self._closed = True
        for warning in self._client.warnings():
            _LOG.warning(warning)
        finished, counts = self._client.close(seconds)
        report = CloseReport(finished, _counters(*counts))
        dropped, errors = report.counters.dropped, report.counters.errors
        if dropped or errors:
            lost = f"{dropped} samples or rows were lost" if dropped else "what was on its way may be lost"
            _LOG.warning("; ".join([lost, *errors]))
        return report

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            self.close()

    def declare(self, point: Point) -> StreamPoint:
        """Make a point known, once."""
        if point.name not in self._points:
            with _said_by_the_user() if self._configured else nullcontext():
                self._points[point.name] = self._client.point(point.name, list(point.fields.items()))
        return self._points[point.name]

    def start(self) -> None:
        """Begin to send; the first sample does it. Points declared before are in the stream's header."""
        if not self._started:
            self._started = True
            self._client.start()


class Point:
    """A measurement point: a name and typed fields.

    Parameters
    ----------
    name
        Letters, digits and ``_``. The stream is called after the program and the point.
    types
        Fields that are no Python names, or are called ``client``: a mapping of names to types.
    client
        Whose point it is; the process's own client where not given, which begins with the first sample.
    **fields
        Names and types: ``int32 uint32 int64 uint64 double string blob guid bool``, vectors ``[int32]`` and so on, or Python's
        ``int`` (int64), ``float`` (double), ``str``, ``bytes`` (blob), ``bool``.

    Raises
    ------
    ValueError
        No fields, or a type that is unknown.
    """

    def __init__(
        self,
        name: str,
        types: FieldTypes | None = None,
        /,
        *,
        client: Client | None = None,
        **fields: str | type,
    ) -> None:
        wanted = dict(types or {}) | fields
        self.name = name
        self.fields = {field: _type_name(kind) for field, kind in wanted.items()}
        self._client = client
        self._declared: tuple[Client, StreamPoint] | None = None
        if not self.fields:
            raise ValueError(f"measurement point {name!r} has no fields; write Point({name!r}, size=int)")
        if client is not None:
            client.declare(self)

    def inject(self, *values: Any, **named: Any) -> bool:  # noqa: ANN401 whatever the fields hold
        """Take one sample now: the values of the fields in order, or by name.

        Never waits. Returns False where the sample was dropped, because the buffer is full or the client closed; what is
        dropped is counted, and sent as a count.

        Raises
        ------
        TypeError, OverflowError
            Values that the fields do not hold.
        """
        return self._point().inject(self._in_order(values, named))

    def inject_at(self, time: float, /, *values: Any, **named: Any) -> bool:  # noqa: ANN401 as above
        """Take one sample of a time that the program knows, in seconds since 1970."""
        return self._point().inject(self._in_order(values, named), time)

    def inject_batch(
        self, *columns: ArrayLike, times: ArrayLike | None = None, wait: float = 1.0, **named: ArrayLike
    ) -> int:
        """Take many samples: for each field an array, shape (n,), in order or by name; `times` in seconds since 1970.

        Waits up to `wait` seconds for room in the buffer (releasing the GIL). Returns how many were taken; the others were
        dropped, and counted.

        Raises
        ------
        TypeError, OverflowError, ValueError
            Columns that the fields do not hold, or of different lengths.
        """
        import numpy as np

        given = self._in_order(columns, named)
        arrays = [_array(column, kind) for column, kind in zip(given, self.fields.values(), strict=True)]
        moments = None if times is None else np.ascontiguousarray(times, dtype=np.float64)
        return self._point().inject_columns(arrays, moments, wait)

    @contextmanager
    def timed(self, field: str = "seconds", /, **values: Any) -> Generator[MutableMapping[str, Any]]:  # noqa: ANN401
        """Measure how long a block or, as a decorator, each call of a function takes; `field` (a double) holds the seconds.

        The block may add values of other fields to the mapping it gets. A block that raises gives no sample.
        """
        filled = dict(values)
        began = clock.perf_counter()
        yield filled
        filled[field] = clock.perf_counter() - began
        self.inject(**filled)

    @property
    def dropped(self) -> int:
        """Samples of this point that were lost at the inject so far."""
        return 0 if self._declared is None else self._declared[1].dropped

    def _point(self) -> StreamPoint:
        """The point as it was declared to its client, which is another one in a process forked off."""
        client = self._client or default_client()
        if self._declared is None or self._declared[0] is not client:
            self._declared = client, client.declare(self)
            client.start()
        return self._declared[1]

    def _in_order(self, values: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        if not named and len(values) == len(self.fields):
            return values
        names = list(self.fields)[len(values) :]
        if len(values) + len(named) != len(self.fields) or not all(name in named for name in names):
            wanted = ", ".join(self.fields)
            given = ", ".join([*map(repr, values), *named])
            raise TypeError(f"{self.name} has the fields {wanted}; given: {given}")
        return (*values, *(named[name] for name in names))


_default: Client | None = None


def default_client() -> Client:
    """The process's own client, made at the first call from the environment and closed at the end of the program.

    What is wrong in the environment is said on standard error, and ends the program with code 2.
    """
    global _default  # noqa: PLW0603 one for each process
    if _default is None:
        with _said_by_the_user():
            _default = Client()
        atexit.register(_default.__exit__, None, None, None)
    return _default


def _forget() -> None:
    """A process forked off has no writer: it begins with a client of its own, and does not end its parent's."""
    global _default  # noqa: PLW0603 one for each process
    if _default is not None:
        atexit.unregister(_default.__exit__)
    _default = None


os.register_at_fork(after_in_child=_forget)


@contextmanager
def _said_by_the_user() -> Generator[None]:
    """End the program, as a wrong option does, where what its user says (an option, a file of streams) cannot be."""
    try:
        yield
    except ValueError as error:
        sys.stderr.write(f"{Path(sys.argv[0] or 'python').name}: {error}\n")
        raise SystemExit(2) from None


def says_where(words: Sequence[str]) -> bool:
    """Whether OML's options among these words, or the environment, say where samples go."""
    options = ("--oml-collect", "--oml-server", "--oml-file", "--oml-config", "--oml-help", "--oml-list")
    return any(word.startswith(options) for word in words) or any(os.environ.get(name) for name in _WHERE)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(("OML_", "TRIALWISE_"))}


def _script_name() -> str:
    """The name of the script, as a name of the protocol."""
    name = re.sub(r"\W", "_", Path(sys.argv[0] or "python").stem, flags=re.ASCII).lstrip("_0123456789")
    return name or "python"


def _type_name(kind: str | type) -> str:
    if isinstance(kind, str):
        return kind
    if kind not in _TYPES:
        known = ", ".join(known.__name__ for known in _TYPES)
        raise ValueError(f"{kind!r} is no type of a field; write one of {known}, or a name such as 'uint32'")
    return _TYPES[kind]


def _array(column: ArrayLike, kind: str) -> NDArray[Any] | ArrayLike:
    """A column in the field's own type; strings, blobs and vectors stay as they are."""
    import numpy as np

    if kind not in _ARRAYS:
        return column
    array = np.asarray(column)
    wanted = np.dtype(_ARRAYS[kind])
    narrower = wanted.kind in "iu" and not np.can_cast(array.dtype, wanted, casting="safe")
    if array.size and (narrower or not np.can_cast(array.dtype, wanted, casting="same_kind")):
        _check_range(array, wanted)
    return np.ascontiguousarray(array, dtype=wanted)


def _check_range(array: NDArray[Any], wanted: Any) -> None:  # noqa: ANN401 a dtype
    """Raise where integers would not be the same in the field's type."""
    import numpy as np

    if array.dtype.kind not in "iub" or wanted.kind not in "iu":
        raise TypeError(f"values of type {array.dtype} do not fit a field of type {wanted}")
    limits = np.iinfo(wanted)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise OverflowError(f"a value is outside {limits.min} to {limits.max}")


def _counters(points: list[PointCount], streams: list[StreamCount], errors: list[str]) -> Counters:
    return Counters(tuple(points), tuple(streams), tuple(errors))
