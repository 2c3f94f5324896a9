"""A running collector asked from outside: its status as text, and commands to it."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from trialwise.cli.text import clear_screen, columns, echo, room, say, size
from trialwise.errors import TrialwiseError, WorkerError
from trialwise.report.terminal_table import Line

_PATIENCE = 5.0
_PERIOD = 1.0
_PORT = "3003"


def ask(address: str, method: str, path: str) -> str:
    """What the collector at `address` answers to one request.

    Raises
    ------
    TrialwiseError
        It is no address.
    WorkerError
        Nobody answers there, or no collector, or it refuses.
    """
    connection = http.client.HTTPConnection(*_place(address), timeout=_PATIENCE)
    token = os.environ.get("TRIALWISE_TOKEN")
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise WorkerError(
            f"no collector answers at {address}: {error}", hint="trialwise collect says where it listens"
        ) from error
    finally:
        connection.close()
    if answer.status != 200:
        raise WorkerError(f"the collector at {address} says {answer.status} {answer.reason}: {text.strip()}")
    return text


def _place(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        host, port = address, _PORT
    if not host or not port.isdecimal() or int(port) > 65535:
        raise TrialwiseError(f"{address!r} is no address", hint="write HOST:PORT, such as 127.0.0.1:3003")
    return host.strip("[]"), int(port)


def show(address: str, *, as_json: bool, watch: bool) -> None:
    """Print the status of the collector at `address`, every second where it is watched."""
    while True:
        text = ask(address, "GET", "/status")
        if as_json:
            echo(text)
        else:
            if watch and sys.stdout.isatty():
                clear_screen()
            say(lines(json.loads(text), room()))
            sys.stdout.flush()
        if not watch:
            return
        time.sleep(_PERIOD)


def lines(status: dict[str, Any], width: int | None = None) -> Iterator[Line]:
    """The status for people; a table of senders that is wider than `width` becomes a paragraph for each."""
    counters = status["counters"]
    done = "brought there" if status["forward"] else "stored"
    since = datetime.fromtimestamp(status["started"], UTC).astimezone()
    yield (
        f"since {since:%Y-%m-%d %H:%M:%S}: {counters['rows']} rows {done}, {size(counters['bytes'])} received, "
        f"{counters['open']} of {counters['connections']} connections open"
    )
    yield f"spool: {size(counters['backlog'])} of {size(status['spool_capacity'])} wait"
    yield from _troubles(status)
    if forward := status["forward"]:
        yield from _forward(forward)
    yield from _senders(status["senders"], width)


def _troubles(status: dict[str, Any]) -> Iterator[str]:
    counters = status["counters"]
    for what, reasons in (("damaged rows", "damaged"), ("refused connections", "refused_for")):
        if counters[reasons]:
            yield f"{what}: " + ", ".join(f"{number} {name}" for name, number in counters[reasons].items())
    if counters["unstorable"]:
        yield f"rows that no table can hold: {counters['unstorable']}"
    if counters["spool_damage"]:
        yield f"damaged on disk, in the spool: {size(counters['spool_damage'])}"
    if nulled := counters.get("nulled"):
        yield f"rows stored with NULL for values that their fields cannot hold: {nulled}"
    if counters["replaced"]:
        yield f"strings that the store cannot hold as they are, stored with replacements: {counters['replaced']}"
    for domain, reason in status["troubles"].items():
        yield f"domain {domain} cannot be stored now, its rows wait in the spool: {reason}"
    if error := status["store_error"]:
        yield f"the store could not be written {counters['suspensions']} times, last {_ago(status, error)}"
    if status["failure"]:
        yield f"failed: {status['failure']}; nothing is taken any more"


def _ago(status: dict[str, Any], trouble: dict[str, Any]) -> str:
    return f"{status['time'] - trouble['time']:.0f} s ago: {trouble['text']}"


def of_a_forwarder(reason: str) -> str:
    """Why another collector refuses what is forwarded, which is told to clients, in the names of a forwarder's options."""
    return reason.replace("TRIALWISE_TOKEN", "TRIALWISE_FORWARD_TOKEN")


def _forward(forward: dict[str, Any]) -> Iterator[str]:
    state = "paused" if forward["paused"] else f"{forward['connected']} connections there"
    yield f"forwards to {forward['to']}: {state}, {size(forward['acknowledged'])} acknowledged"
    for domain, reason in forward["refused"].items():
        yield f"  domain {domain} is refused there: {of_a_forwarder(reason)}"
    if forward["last_error"]:
        yield f"  last error: {forward['last_error']['text']}"


def _senders(senders: list[dict[str, Any]], width: int | None) -> Iterator[Line]:
    if not senders:
        return
    rows = [
        ["domain", "sender", "protocol", "open", "rows", "rows/s", "damaged", "missing", "dropped", "clock"]
    ]
    rows.extend(
        [
            sender["domain"],
            sender["sender"],
            sender["protocol"],
            *(str(sender[key]) for key in ("open", "rows")),
            f"{sender['rows_per_second']:.0f}",
            *(str(sender[key]) for key in ("damaged", "missing", "dropped")),
            _clock(sender["clock"]),
        ]
        for sender in senders
    )
    table = columns(rows)
    if width is None or max(map(len, table)) <= width:
        yield table
        return
    for sender in senders:
        yield from _paragraph(sender)


def _paragraph(sender: dict[str, Any]) -> Iterator[str]:
    yield f"  {sender['domain']}, {sender['sender']}"
    losses = ", ".join(f"{sender[key]} {key}" for key in ("damaged", "missing", "dropped"))
    yield f"    {sender['protocol']}, {sender['open']} open: {sender['rows']} rows, {sender['rows_per_second']:.0f} rows/s"
    yield f"    {losses}"
    yield f"    clock: {_clock(sender['clock'])}"


def _clock(clock: dict[str, Any] | None) -> str:
    match clock:
        case {"method": "exchange", "offset": float(offset), "error": float(error)}:
            return f"{offset * 1000:+.3f} ± {error * 1000:.3f} ms"
        case {"method": "upper_bound", "behind_at_most": float(behind)}:
            return (
                f"behind by at most {behind:.3f} s" if behind >= 0 else f"ahead by at least {-behind:.3f} s"
            )
        case _:
            return "not known"
