"""What `trialwise collect` shows people: its status, and one line of progress that a narrow terminal holds."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from trialwise.cli.collector_status import document
from trialwise.cli.text import size
from trialwise.report.render.terminal import terminal

SENDER = {
    "domain": "demo",
    "sender": "node-with-a-long-name.example.org",
    "protocol": "native",
    "open": 1,
    "rows": 550,
    "rows_per_second": 45.2,
    "damaged": 0,
    "missing": 5,
    "dropped": 0,
    "clock": {"method": "exchange", "offset": -0.000327, "error": 0.000924},
}
STATUS = {
    "started": 0.0,
    "time": 10.0,
    "spool_capacity": 64 << 30,
    "counters": {
        "rows": 550, "bytes": 93_477, "open": 1, "connections": 2, "backlog": 2299, "damaged": {"prefix": 1},
        "refused_for": {}, "unstorable": 0, "spool_damage": 0, "replaced": 0, "suspensions": 0,
    },
    "troubles": {},
    "store_error": None,
    "failure": None,
    "forward": None,
    "senders": [SENDER],
}  # fmt: skip


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (2299, "2.2 KiB"),
        (2**20 - 1, "1 MiB"),
        (64 << 30, "64 GiB"),
        (3 << 50, "3072 TiB"),
    ],
)
def test_sizes_are_short(count: int, text: str):
    assert size(count) == text


def told(status: dict[str, object], width: int | None = None) -> list[str]:
    return ["".join(span.text for span in line) for line in terminal(document(status), width)]


def test_senders_stand_in_a_table():
    text = told(STATUS)
    assert text[0].endswith(": 550 rows stored, 91.3 KiB received, 1 of 2 connections open")
    assert text[1:3] == ["  spool: 2.2 KiB of 64 GiB wait", "! damaged rows: 1 prefix"]
    assert text[4].split()[:3] == ["domain", "sender", "protocol"]
    assert text[5].endswith("  -0.327 ± 0.924 ms")


def test_what_is_forwarded_is_not_called_stored_and_a_refusal_names_what_would_lift_it():
    forward = {
        "to": "home:3003", "paused": False, "connected": 0, "acknowledged": 3 << 10, "last_error": None,
        "refused": {"demo": "this token may not write; set TRIALWISE_TOKEN to one that the collector knows"},
    }  # fmt: skip
    text = told({**STATUS, "forward": forward})
    assert ": 550 rows brought there, " in text[0]
    assert "  forwards to home:3003: 0 connections there, 3 KiB acknowledged" in text
    assert "set TRIALWISE_FORWARD_TOKEN to one" in text[text.index("! damaged rows: 1 prefix") + 2]


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_narrow_terminal_has_every_number_of_a_sender(width: int):
    shown = " ".join(" ".join(told(STATUS, width)).split())
    for piece in ("native", "550", "45", "-0.327", "± 0.924 ms"):
        assert piece in shown


def test_the_line_of_progress_fits_the_terminal():
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    code = "from trialwise.cli.collect import _fitting; print(_fitting('w' * 39), _fitting('w' * 20 + ' ' + 'w' * 20), sep='|')"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, text=True, check=True
    )
    os.close(slave)
    os.close(master)
    assert done.stdout.rstrip() == "w" * 39 + "|" + "w" * 20 + " …"
