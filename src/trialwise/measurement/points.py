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
import sys
import time as clock
from collections.abc import Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from trialwise._linux import PacketCapture, StreamClient, StreamPoint
from trialwise.measurement.client_counts import CloseReport, Counters, counters_of
from trialwise.measurement.field_types import FieldTypes, field_array, type_name
from trialwise.measurement.stream_options import said_by_the_user, says_where, script_name, stream_variables

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CLOSE_SECONDS = 2.0
"""How long the end of a program waits for its last samples to go out, unless `Client.close` says otherwise."""
_LOG = logging.getLogger("trialwise.measurement")


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
        with said_by_the_user() if arguments else nullcontext():
            self._client = StreamClient(app or script_name(), words, stream_variables(), _LOG.warning)
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
        return counters_of(*self._client.counters())

    def close(self, seconds: float = CLOSE_SECONDS) -> CloseReport:
        """Send what waits, for `seconds` at most. Samples injected later are dropped, and counted."""
        self.start()
        self._closed = True
        for warning in self._client.warnings():
            _LOG.warning(warning)
        finished, counts = self._client.close(seconds)
        report = CloseReport(finished, counters_of(*counts))
        for changed in report.counters.changes:
            _LOG.warning(changed)
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
            with said_by_the_user() if self._configured else nullcontext():
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
        self.fields = {field: type_name(kind) for field, kind in wanted.items()}
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
        arrays = [field_array(column, kind) for column, kind in zip(given, self.fields.values(), strict=True)]
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
        with said_by_the_user():
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
