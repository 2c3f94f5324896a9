"""Queries to a running collector: its status as text, and commands to it."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from trialwise.cli.text import clear_screen, echo, say_document, size
from trialwise.errors import TrialwiseError, WorkerError
from trialwise.numbers import counted
from trialwise.report.document import Block, Cell, Document, Items, Name, Note, Table, Verdict, table_of
from trialwise.report.numbers import decimals

_PATIENCE = 5.0
_PERIOD = 1.0
_PORT = "3003"


def ask(address: str, method: str, path: str) -> str:
    """Return the answer of the collector at `address` to one request.

    Raises
    ------
    TrialwiseError
        The address is invalid.
    WorkerError
        Nothing answers there, it is not a collector, or it refuses.
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
        raise TrialwiseError(
            f"{address!r} is not a valid address", hint="write HOST:PORT, such as 127.0.0.1:3003"
        )
    return host.strip("[]"), int(port)


def show(address: str, *, as_json: bool, watch: bool) -> None:
    """Print the status of the collector at `address`; with `watch`, every second."""
    while True:
        text = ask(address, "GET", "/status")
        if as_json:
            echo(text)
        else:
            if watch and sys.stdout.isatty():
                clear_screen()
            say_document(document(json.loads(text)))
            sys.stdout.flush()
        if not watch:
            return
        time.sleep(_PERIOD)


def document(status: dict[str, Any]) -> Document:
    """Return the status for people: what was stored, what waits, what is wrong, where it is forwarded, and a row for each sender."""
    counters = status["counters"]
    done = "brought there" if status["forward"] else "stored"
    since = datetime.fromtimestamp(status["started"], UTC).astimezone()
    answer = (
        f"since {since:%Y-%m-%d %H:%M:%S}: {counted(counters['rows'], 'row')} {done}, {size(counters['bytes'])} received, "
        f"{counters['open']} of {counters['connections']} connections open"
    )
    troubles = tuple(_troubles(status))
    spool = f"spool: {size(counters['backlog'])} of {size(status['spool_capacity'])} wait"
    evidence: list[Block] = [
        Note((spool,), is_aside=True),
        *(Note((text,), "warning") for text in troubles),
    ]
    if forward := status["forward"]:
        evidence.append(Items(tuple((text,) for text in _forward(forward)), most=None))
    if status["senders"]:
        evidence.append(_senders(status["senders"]))
    return Document("collector", Verdict("bad" if troubles else "good", (answer,)), tuple(evidence))


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
        yield f"the store could not be written {counted(counters['suspensions'], 'time')}, last {_ago(status, error)}"
    if status["failure"]:
        yield f"failed: {status['failure']}; nothing is taken any more"


def _ago(status: dict[str, Any], trouble: dict[str, Any]) -> str:
    return f"{round(status['time'] - trouble['time'])} s ago: {trouble['text']}"


def of_a_forwarder(reason: str) -> str:
    """Explain in terms of a forwarder's options why another collector refuses the forwarded data."""
    return reason.replace("TRIALWISE_TOKEN", "TRIALWISE_FORWARD_TOKEN")


def _forward(forward: dict[str, Any]) -> Iterator[str]:
    state = "paused" if forward["paused"] else f"{forward['connected']} connections there"
    yield f"forwards to {forward['to']}: {state}, {size(forward['acknowledged'])} acknowledged"
    for domain, reason in forward["refused"].items():
        yield f"domain {domain} is refused there: {of_a_forwarder(reason)}"
    if forward["last_error"]:
        yield f"last error: {forward['last_error']['text']}"


def _senders(senders: list[dict[str, Any]]) -> Table:
    counts = ("rows", "rows_per_second", "damaged", "missing", "dropped")
    titles = (
        "domain",
        "sender",
        "protocol",
        "open",
        *(each.replace("rows_per_second", "rows/s") for each in counts),
    )
    return table_of("senders", "", (*titles, "clock"), map(_sender, senders), range(3, 9))


def _sender(sender: dict[str, Any]) -> tuple[Cell, ...]:
    numbers = ("open", "rows", "rows_per_second", "damaged", "missing", "dropped")
    return (
        Name(sender["domain"]),
        Name(sender["sender"]),
        sender["protocol"],
        *(str(round(sender[key])) for key in numbers),
        _clock(sender["clock"]),
    )


def _clock(clock: dict[str, Any] | None) -> str:
    match clock:
        case {"method": "exchange", "offset": float(offset), "error": float(error)}:
            sign = "+" if offset >= 0 else ""
            return f"{sign}{decimals(offset * 1000, 3)} ± {decimals(error * 1000, 3)} ms"
        case {"method": "upper_bound", "behind_at_most": float(behind)}:
            seconds = decimals(abs(behind), 3)
            return f"behind by at most {seconds} s" if behind >= 0 else f"ahead by at least {seconds} s"
        case _:
            return "not known"
