"""Measurement points of Python programs: the person who runs the program decides where samples go.

>>> from trialwise.measurement import Point
>>> transfer = Point("transfer", size="uint64", rate=float)
>>> transfer.inject(size=1 << 20, rate=93.7)
True

Nothing is sent unless requested: in the environment (``OML_COLLECT=native:HOST:PORT``, as inside a trial), on the command
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
from trialwise.numbers import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CLOSE_SECONDS = 2.0
"""Seconds that the end of a program waits for its last samples to be sent; `Client.close` can override it."""
_LOG = logging.getLogger("trialwise.measurement")


class Client:
    """Sends the samples of a program's measurement points.

    Parameters
    ----------
    app
        The program's name, which begins the names of its streams; the script's name by default.
    id, domain, collect, config, samples, interval, buffer_bytes
        As OML's options of these names: the sender, the domain, the destination (``native:HOST:PORT``, ``tcp:HOST:PORT``,
        ``file:PATH``), an XML or TOML file of streams, the number of samples or seconds per row, bytes of each buffer.
        Options not given here are taken from `arguments`, then from the environment.
    arguments
        A command line such as ``sys.argv``; OML's options are removed from it.

    Raises
    ------
    ValueError
        A name, option, destination or file is wrong. With `arguments`, where the mistake is the user's and not the program's,
        it is reported on standard error instead, and the program exits with code 2.

    Notes
    -----
    Samples without a destination are discarded at next to no cost. A client belongs to the process that made it.
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
        # The last option of a name counts, so the program's own options override the command line's.
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
        """Attach metadata to the experiment, a measurement point, or one of its fields.

        Raises
        ------
        ValueError
            The key is not a valid name, or this client does not have the point or field.
        """
        known = None if point is None else self.declare(point)
        self.start()
        self._client.metadata(key, str(value), known, field)

    def capture(
        self, interface: str, protocol: str, ports: Sequence[int], count: int | None
    ) -> PacketCapture:
        """Start capturing packets into points of this client (see `trialwise.measurement.adapters.packets`)."""
        capture = PacketCapture(self._client, interface, protocol, ports, count)
        self.start()
        return capture

    def counters(self) -> Counters:
        """Return the counts of what was injected, sent and dropped so far."""
        return counters_of(*self._client.counters())

    def close(self, seconds: float = CLOSE_SECONDS) -> CloseReport:
        """Send pending samples, for at most `seconds`. Samples injected later are dropped and counted."""
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
            lost = (
                f"{counted(dropped, 'sample or row was', 'samples or rows were')} lost"
                if dropped
                else "what was on its way may be lost"
            )
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
        """Register a point, once."""
        if point.name not in self._points:
            with said_by_the_user() if self._configured else nullcontext():
                self._points[point.name] = self._client.point(point.name, list(point.fields.items()))
        return self._points[point.name]

    def start(self) -> None:
        """Start sending; called by the first sample. Points declared before are in the stream's header."""
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
        Fields whose names are not Python identifiers, or that are called ``client``: a mapping of names to types.
    client
        Owner of the point; by default the process's own client, which starts with the first sample.
    **fields
        Names and types: ``int32 uint32 int64 uint64 double string blob guid bool``, vectors ``[int32]`` and so on, or Python's
        ``int`` (int64), ``float`` (double), ``str``, ``bytes`` (blob), ``bool``.

    Raises
    ------
    ValueError
        There are no fields, or a type is unknown.
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

        Never blocks. Returns False if the sample was dropped because the buffer is full or the client closed; dropped
        samples are counted, and the count is sent.

        Raises
        ------
        TypeError, OverflowError
            The fields cannot hold the values.
        """
        return self._point().inject(self._in_order(values, named))

    def inject_at(self, time: float, /, *values: Any, **named: Any) -> bool:  # noqa: ANN401 as above
        """Take one sample with a time that the program knows, in seconds since 1970."""
        return self._point().inject(self._in_order(values, named), time)

    def inject_batch(
        self, *columns: ArrayLike, times: ArrayLike | None = None, wait: float = 1.0, **named: ArrayLike
    ) -> int:
        """Take many samples: for each field an array, shape (n,), in order or by name; `times` in seconds since 1970.

        Waits up to `wait` seconds for room in the buffer (releasing the GIL). Returns the number taken; the others are
        dropped and counted.

        Raises
        ------
        TypeError, OverflowError, ValueError
            The fields cannot hold the columns, or the columns differ in length.
        """
        import numpy as np

        given = self._in_order(columns, named)
        arrays = [field_array(column, kind) for column, kind in zip(given, self.fields.values(), strict=True)]
        moments = None if times is None else np.ascontiguousarray(times, dtype=np.float64)
        return self._point().inject_columns(arrays, moments, wait)

    @contextmanager
    def timed(self, field: str = "seconds", /, **values: Any) -> Generator[MutableMapping[str, Any]]:  # noqa: ANN401
        """Measure the duration of a block or, as a decorator, of each call of a function; `field` (a double) holds the seconds.

        The block may add values of other fields to the mapping it gets. A block that raises gives no sample.
        """
        filled = dict(values)
        began = clock.perf_counter()
        yield filled
        filled[field] = clock.perf_counter() - began
        self.inject(**filled)

    @property
    def dropped(self) -> int:
        """Number of this point's samples dropped at the inject so far."""
        return 0 if self._declared is None else self._declared[1].dropped

    def _point(self) -> StreamPoint:
        """Return the point as declared to its client, which differs in a forked process."""
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
    """Return the process's own client, created at the first call from the environment and closed when the program ends.

    A mistake in the environment is reported on standard error, and the program exits with code 2.
    """
    global _default  # noqa: PLW0603 one for each process
    if _default is None:
        with said_by_the_user():
            _default = Client()
        atexit.register(_default.__exit__, None, None, None)
    return _default


def _forget() -> None:
    """Reset a forked process: it has no writer, so it starts with its own client and does not end its parent's."""
    global _default  # noqa: PLW0603 one for each process
    if _default is not None:
        atexit.unregister(_default.__exit__)
    _default = None


os.register_at_fork(after_in_child=_forget)
