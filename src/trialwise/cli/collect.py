"""`trialwise collect`."""

from __future__ import annotations

import ipaddress
import json as json_format
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from trialwise import _linux
from trialwise.cli.auth_tokens import tokens, without_password
from trialwise.cli.collector_status import ask, of_a_forwarder, show
from trialwise.cli.text import echo, rewrite_line, size, whole_words
from trialwise.errors import DISK_IS_FULL, MAKE_ROOM, StoreError, TrialwiseError
from trialwise.numbers import counted

_STOP = 2.0
"""Seconds during which a stop still loads; with the time for the spool, a TERM is answered within five."""


Flag = Annotated[bool, Parameter(negative="")]


def collect(
    address: str = "127.0.0.1:3003",
    /,
    *,
    listen: str = "127.0.0.1:3003",
    store: str | None = None,
    forward: str | None = None,
    spool: Path | None = None,
    spool_capacity: str = "64GiB",
    token: Annotated[str | None, Parameter(show=False)] = None,
    token_file: Path | None = None,
    allow_oml: Flag = False,
    tls_certificate: Path | None = None,
    tls_key: Path | None = None,
    forward_certificate: Path | None = None,
    forward_token_file: Path | None = None,
    connections: int = 10_000,
    json: Flag = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    status: Flag = False,
    watch: Flag = False,
    pause: Flag = False,
    resume: Flag = False,
) -> int:
    r"""Collect measurement streams from OML and Trialwise programs into a database, until INT or TERM.

    OML's protocol (text and binary, versions 1 to 5) and the native one are served on one port. What arrives is on disk, in
    the spool, before it is acknowledged, and comes from there to the store exactly once, also over crashes: start again
    with the same options, and it goes on where it was.

    For example:

    ```text
    trialwise collect --store sqlite:measurements
    trialwise collect --store parquet:measurements
    trialwise collect --store postgresql://experimenter@localhost/measurements \
        --spool /var/spool/trialwise
    trialwise collect --listen 0.0.0.0:3003 --store sqlite:measurements \
        --token-file tokens
    trialwise collect --listen 0.0.0.0:3003 --store sqlite:measurements \
        --tls-certificate cert.pem --tls-key key.pem
    trialwise collect --forward collector.example.org:3003 \
        --spool /var/spool/trialwise
    trialwise collect --listen 127.0.0.1:0 --store sqlite:measurements --json
    trialwise collect --status
    trialwise collect --status 127.0.0.1:4000 --watch
    ```

    Exit codes: 0 ended by INT or TERM, with everything that arrived in the store or in the spool; 2 wrong options, or an address
    that cannot be listened at; 5 the spool or the store cannot be used, or failed; 6 no collector answers (--status,
    --pause, --resume).

    Parameters
    ----------
    address
        HOST:PORT of a running collector, for --status, --pause and --resume.
    listen
        HOST:PORT; port 0 takes a free one. Other machines reach it only when told so: 0.0.0.0:3003 is every address.
    store
        Where rows go: sqlite:DIR has a file DIR/DOMAIN.sq3 for each domain, parquet:DIR files DIR/DOMAIN/TABLE/part-*.parquet,
        postgresql://USER@HOST/DATABASE a schema DOMAIN in that database (its password in the environment variable PGPASSWORD, TLS
        by ?sslmode=…&sslrootcert=FILE). A server may be away for a while: what waits is in the spool
        (docs/reference/collector-stores.md).
    forward
        Instead of --store: another collector, HOST:PORT, or tls:HOST:PORT, that gets everything as if the senders had connected
        to it. It may be away for days: what waits is in the spool.
    spool
        The folder in which what arrives is made durable first; default .spool in the store's folder, for PostgreSQL
        ./trialwise-spool; --forward needs one.
    spool_capacity
        How much of it may wait for the store, such as 500MiB; then clients wait.
    token_file
        Who may send: a line TOKEN for every native client, lines DOMAIN TOKEN for domains that take nobody else. Without it,
        the environment variable TRIALWISE_TOKEN is the token. Where there is any token, senders in OML's protocol, which have
        none, are kept out.
    allow_oml
        Take senders in OML's protocol all the same, to domains without a token of their own: anybody who reaches the collector can
        then write there.
    tls_certificate
        A file in PEM, with --tls-key: native clients may then come inside TLS (tls:HOST:PORT), and those of other machines must.
    tls_key
        The certificate's private key, a file in PEM.
    forward_certificate
        For --forward tls:…: the certificates to trust, authorities or the collector's own, a file in PEM.
    forward_token_file
        What to show there, as in --token-file. Without it, the environment variable TRIALWISE_FORWARD_TOKEN is the token.
    connections
        Clients at a time; more wait. The limit of open files (ulimit -n) may leave room for fewer, which is said.
    json
        Print events as lines of JSON: listening, progress, warning, stopped (docs/reference/collector.md).
    quiet
        No progress.
    status
        Ask a running collector on this machine how it goes, instead of starting one: what it stored, refused and found
        damaged, what the store cannot take now and why, and each sender's rate, gaps, losses and clock. Over HTTP, GET /metrics
        is the same for OpenMetrics.
    watch
        With --status: again every second.
    pause
        Tell a running collector that forwards to wait, also over restarts.
    resume
        Tell a running collector that forwards to go on.
    """
    if status or pause or resume:
        _ask(address, status=status, json=json, watch=watch, pause=pause)
        return 0
    if (store is None) == (forward is None):
        raise TrialwiseError(
            "a collector stores rows or forwards them",
            hint="write --store sqlite:DIR, parquet:DIR or postgresql://…, or --forward HOST:PORT --spool DIR",
        )
    if forward is not None and spool is None:
        raise TrialwiseError("--forward needs a folder for what waits", hint="write --spool DIR")
    voice = _Voice(json=json, quiet=quiet)
    general, domain_tokens = tokens(token_file, "TRIALWISE_TOKEN")
    if token is not None:
        voice.warn(
            "other users see the options of programs: give the token in --token-file or TRIALWISE_TOKEN"
        )
        general = token
    if store is not None and without_password(store) != store:
        voice.warn("other users see the options of programs: give the password in PGPASSWORD")
    shown, shown_domains = tokens(forward_token_file, "TRIALWISE_FORWARD_TOKEN")
    with _errors():
        collector = _linux.Collector(
            listen,
            store,
            spool=spool,
            spool_capacity=_bytes(spool_capacity),
            token=general,
            domain_tokens=domain_tokens,
            connections=connections,
            certificate=tls_certificate,
            key=tls_key,
            forward=forward,
            forward_certificate=forward_certificate,
            forward_token=shown,
            forward_domain_tokens=shown_domains,
            allow_oml=allow_oml,
        )
    with _ending() as end:
        voice.listening(collector.address, store and without_password(store), forward)
        if general is not None or domain_tokens:
            voice.tell_access(allow_oml=allow_oml)
        if collector.places < connections:
            voice.warn(
                f"the limit of open files leaves room for {collector.places} clients at a time, not {connections}: "
                "raise it with ulimit -n"
            )
        if general is None and not _is_loopback(collector.address):
            voice.warn(
                "other machines reach this collector, and anybody who does can write: give --token-file for native clients "
                "(OML's protocol proves nothing: with a token, its senders are kept out unless --allow-oml takes them)"
            )
        _watch(collector, voice, end)
        counters = collector.stop(_STOP)
    voice.stopped(counters, collector.failure)
    return 5 if collector.failure else 0


def _ask(address: str, *, status: bool, json: bool, watch: bool, pause: bool) -> None:
    if status:
        show(address, as_json=json, watch=watch)
    else:
        ask(address, "POST", "/pause" if pause else "/resume")


@contextmanager
def _errors() -> Generator[None]:
    """Convert the errors of a collector's start to errors of this program."""
    try:
        yield
    except ValueError as error:
        raise TrialwiseError(str(error)) from error
    except _linux.CollectorError as error:
        hint = MAKE_ROOM if str(error).endswith(DISK_IS_FULL) else None
        kind = TrialwiseError if error.reason == "address" else StoreError
        raise kind(str(error), hint=hint) from error


def _watch(collector: _linux.Collector, voice: _Voice, end: threading.Event) -> None:
    """Report progress until the end or a failure."""
    while not end.wait(1.0):
        if collector.failure:
            return
        voice.hold(collector.waits)
        voice.put_off(collector.troubles(), "cannot be stored now")
        voice.put_off(_refused(collector), "is refused by the other collector")
        voice.progress(collector.counters())


def _refused(collector: _linux.Collector) -> dict[str, str]:
    """Return the domains that the next collector refuses, with its reasons."""
    status: dict[str, Any] = json_format.loads(collector.status() or '{"forward": null}')
    refused: dict[str, str] = status["forward"]["refused"] if status["forward"] else {}
    return {domain: of_a_forwarder(reason) for domain, reason in refused.items()}


@contextmanager
def _ending() -> Generator[threading.Event]:
    """Yield an event that INT and TERM set."""
    end = threading.Event()

    def set_end(_number: int, _frame: object) -> None:
        end.set()

    before = {number: signal.signal(number, set_end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Voice:
    """Output for people on standard error, or for programs on standard output."""

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self._json = json
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._last = (time.monotonic(), 0)
        self._said = (0.0, "")
        self._waiting: dict[str, set[str]] = {}
        self._held: str | None = None
        self._done = "stored"

    def listening(self, address: str, store: str | None, forward: str | None) -> None:
        self._event("listening", address=address, store=store, forward=forward, process=os.getpid())
        self._done = "brought there" if forward else "stored"
        what = f"forwarding to {forward}" if forward else f"storing in {store}"
        self._line(f"listening at {address}, {what}; Ctrl-C ends it")

    def warn(self, text: str) -> None:
        self._event("warning", text=text)
        self._line(f"warning: {text}", always=True)

    def tell_access(self, *, allow_oml: bool) -> None:
        """Say at the start what the tokens restrict."""
        if allow_oml:
            self.warn(
                "senders in OML's protocol need no token, as --allow-oml says: anybody who reaches the collector can write"
            )
        else:
            self._line(
                "senders in OML's protocol are kept out, for they show no token; --allow-oml takes them"
            )

    def hold(self, reason: str | None) -> None:
        """Warn that clients wait for the disk of the spool, once per occurrence."""
        if reason and reason != self._held:
            self.warn(f"{reason}; clients wait until you have freed some space")
        self._held = reason

    def put_off(self, troubles: dict[str, str], what: str) -> None:
        """Warn of domains with a problem, once per occurrence."""
        if new := sorted(troubles.keys() - self._waiting.get(what, set())):
            others = f" and {len(new) - 1} more" if len(new) > 1 else ""
            self.warn(f"domain {new[0]}{others} {what}, its rows wait in the spool: {troubles[new[0]]}")
        self._waiting[what] = set(troubles)

    def progress(self, counters: _linux.CollectorCounters) -> None:
        now = time.monotonic()
        rate = (counters.rows - self._last[1]) / (now - self._last[0])
        self._last = (now, counters.rows)
        self._event("progress", rows_per_second=round(rate, 1), **_document(counters))
        text = f"{counted(counters.rows, 'row')}, {round(rate)} rows/s, {counted(counters.open, 'connection')}{_troubles(counters)}"
        if self._terminal and not self._json and not self._quiet:
            rewrite_line(_fitting(text))
        elif text != self._said[1] and now - self._said[0] >= 10:
            self._said = (now, text)
            self._line(text)

    def stopped(self, counters: _linux.CollectorCounters, failure: str | None) -> None:
        self._event("stopped", failure=failure, **_document(counters))
        if self._terminal and not self._json:
            echo(to=sys.stderr)
        self._line(f"stopped: {counted(counters.rows, 'row')} {self._done}{_troubles(counters)}")
        if counters.backlog:
            self._line("what waits is in the spool: the next start with the same options goes on with it")
        if failure:
            self._line(f"error: {failure}; free or mend the disk, and start again", always=True)

    def _event(self, name: str, **facts: object) -> None:
        if self._json:
            echo(json_format.dumps({"event": name, "time": time.time(), **facts}))

    def _line(self, text: str, *, always: bool = False) -> None:
        if always or not (self._json or self._quiet):
            if self._terminal and not self._json:
                rewrite_line(text, end="\n")
            else:
                echo(text, to=sys.stderr)


_COUNTS = [
    "connections",
    "open",
    "refused",
    "bytes",
    "rows",
    "repeated",
    "unstorable",
    "suspensions",
    "spool_damage",
    "replaced",
    "nulled",
    "backlog",
]


def _document(counters: _linux.CollectorCounters) -> dict[str, object]:
    counts: dict[str, object] = {name: getattr(counters, name) for name in _COUNTS}
    return counts | {
        "refused_for": counters.refused_for,
        "damaged": counters.damaged,
    }


def _troubles(counters: _linux.CollectorCounters) -> str:
    """List the counters that show problems, each with its number."""
    troubles = {
        "damaged": sum(counters.damaged.values()),
        "connections refused": counters.refused,
        "rows without a table": counters.unstorable,
        "attempts on a database that failed": counters.suspensions,
        "strings stored with replacements": counters.replaced,
        "rows with NULL for unreadable values": counters.nulled,
    }
    sizes = {"of the spool damaged": counters.spool_damage, "wait in the spool": counters.backlog}
    counted = [f"{number} {what}" for what, number in troubles.items() if number]
    counted += [f"{size(number)} {what}" for what, number in sizes.items() if number]
    return "".join(f", {each}" for each in counted)


def _fitting(text: str) -> str:
    """Shorten a line to fit the terminal on standard error, because a longer one could not be overwritten."""
    width = os.get_terminal_size(sys.stderr.fileno()).columns
    return whole_words(text, width - 1) if width else text


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_loopback


_UNITS = {
    "": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


def _bytes(text: str) -> int:
    digits = text.rstrip("BKMGTik")
    unit = text[len(digits) :]
    if not digits.strip().isdecimal() or unit not in _UNITS:
        raise TrialwiseError(f"{text!r} is not a number of bytes", hint="write one such as 500MiB or 64GiB")
    return int(digits) * _UNITS[unit]
