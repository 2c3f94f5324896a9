"""Logs of packets that nobody's program wrote: refused with file and line, and no array as large as a number in them."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.log_lines import read_log
from trialwise.exchange.mahimahi_log import read_mahimahi_log
from trialwise.exchange.packet_files import read_packet_file
from trialwise.exchange.pantheon_log import FORMS

MERGED = "# init timestamp: 1000\n0.000 # 1504\n"
LINK = "# mahimahi mm-link (downlink)\n# init timestamp: 1\n# base timestamp: 0\n"


@pytest.fixture
def little_memory():
    """As much memory as there is now, and 1.5 GiB."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:  # noqa: PTH123 a file of the system
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 3 * 2**29, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MERGED + "10.0 - 1504 10.0 3000000000\n", r":3: FLOW is 3000000000, and at most 65535 can be"),
        (MERGED + "10.0 + 1504 65536\n", r":3: FLOW is 65536"),
        (MERGED + "10.0 - 1504 10.0 184467440737095516161\n", r":3: FLOW is 1844"),
        (MERGED + "10.0 - 4294967296 10.0 1\n", r":3: SIZE is 4294967296"),
        (MERGED + "1" * 20 + " + 1504 1\n", r":3: TIME is 1+, and at most 9000000000000 can be"),
        (MERGED + "10.0 - 1504 -" + "9" * 30 + " 1\n", r":3: DELAY is -9+"),
        (MERGED + "1.0 # 1504 NaN\n", r":3: `1.0 # 1504 NaN` is not a line"),
        (MERGED + "inf + 1504 1\n", r":3: `inf \+ 1504 1` is not a line"),
        (MERGED.replace("1000", "9" * 400) + "1.0 + 1504 1\n", r":1: `9{40}` is not the time"),
        (MERGED.replace("1000", "nan") + "1.0 + 1504 1\n", r":1: `nan` is not the time"),
        (
            LINK.replace("stamp: 1", "stamp: " + "1" * 400) + "0 # 1504\n",
            "init timestamp `1{40}` is not a number",
        ),
        (LINK.replace("base timestamp: 0", "base timestamp: inf") + "0 # 1504\n", "base timestamp `inf`"),
        (LINK + "5 d 99999999999999999999 1504\n", r":4: PACKETS is 9+"),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_its_line(tmp_path, little_memory, text, said):
    path = tmp_path / "x.log"
    path.write_text(text)
    with pytest.raises(AnalysisError, match=said):
        read_packet_file(path)


def test_drops_are_not_more_than_packets_came(tmp_path, little_memory):
    """Each of 20,000 lines says that a thousand million packets were dropped; 20,000 came."""
    path = tmp_path / "x.log"
    lines = "".join(f"{t} + 1504\n{t} d 1000000000 1504000000000\n" for t in range(20_000))
    path.write_text(LINK + lines)
    packets = read_mahimahi_log(path).packets()
    assert len(packets) == 20_000
    assert int(packets.dropped.sum()) == 20_000


@pytest.mark.parametrize("kind", ["fifo", "zero", "folder"])
def test_what_is_no_file_is_refused(tmp_path, kind):
    import os

    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(AnalysisError, match="a file is expected"):
        read_packet_file(path)


def test_a_long_log_is_read_in_pieces_as_it_is_at_once(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    path = tmp_path / "x.log"
    rows = [
        f"{t:.3f} + {s} {f}"
        for t, s, f in zip(
            rng.uniform(0, 9, 999), rng.integers(1, 1500, 999), rng.integers(1, 4, 999), strict=True
        )
    ]
    path.write_text("# init timestamp: 5\n" + "\n".join(rows) + "\n\n7.5 - 100 1.5")
    whole = read_log(path, FORMS, "a log")
    monkeypatch.setattr("trialwise.exchange.log_lines._AT_ONCE", 100)
    pieces = read_log(path, FORMS, "a log")
    assert pieces.header == whole.header == ("init timestamp: 5",)
    for kind in FORMS:
        np.testing.assert_array_equal(pieces.lines[kind].time, whole.lines[kind].time)
        for one, other in zip(pieces.lines[kind].numbers, whole.lines[kind].numbers, strict=True):
            np.testing.assert_array_equal(one, other)
    assert pieces.lines["+"].time.size == 999
