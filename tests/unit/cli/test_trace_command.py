"""`trialwise trace`: what each of its commands makes, says and refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from captures import framed, ipv4, pcap
from packet_logs import RECORD, flow_word, write_log
from trialwise import _core
from trialwise.cli.trace import app
from trialwise.errors import TrialwiseError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.trace").write_text("".join(f"{time}\n" for time in range(2, 2001, 2)))
    return tmp_path


def trace(*words: str) -> int:
    return app(words, exit_on_error=False, result_action="return_value")


def read(path: Path) -> list[int]:
    return _core.parse_trace(path.read_text()).tolist()


@pytest.mark.parametrize(
    "rate", ["3Mbit/s", "poisson:rate=3Mbit/s", "on-off:rate=6Mbit/s,on=1s,off=1s", "cellular:rate=3Mbit/s"]
)
def test_make_is_that_of_the_link_and_the_seed(folder: Path, capsys: pytest.CaptureFixture[str], rate: str):
    assert trace("make", rate, "--length", "4s", "--seed", "7", "--out", "a.trace") == 0
    assert read(folder / "a.trace") == _core.make_trace(rate, length="4s", seed=7).tolist()
    assert "opportunities in" in capsys.readouterr().err
    trace("make", rate, "--length", "4s", "--seed", "7")
    assert capsys.readouterr().out == (folder / "a.trace").read_text()
    trace("make", rate, "--length", "4s", "--seed", "8", "--out", "b.trace")
    assert (read(folder / "a.trace") == read(folder / "b.trace")) == (rate == "3Mbit/s")


def test_make_of_rates(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    (folder / "rates").write_text("24\n0\n12\n")
    trace("make", "--rates", "rates")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"24\n0\n12\n")))
    trace("make", "--rates", "-")
    assert capsys.readouterr().out == "1\n1\n3\n" * 2


def test_show_says_and_prints_the_summary(folder: Path, capsys: pytest.CaptureFixture[str]):
    trace("show", "some.trace", "--bin", "100ms")
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Trace some.trace: 6 Mbit/s of IP packets in the mean (mm-link, which counts 4 bytes more, 6.016)",
        "",
        "  1000 opportunities, repeated every 2000 ms",
    ]
    trace("show", "some.trace", "--json")
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["mean_rate"], document["longest_gap_ms"]) == (
        "trialwise.trace/1",
        6,
        2,
    )


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_plot_writes_a_figure(folder: Path, ending: str):
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert trace("plot", "some.trace", "--out", f"a.{ending}") == 0
    assert (folder / f"a.{ending}").read_bytes().startswith(starts[ending])


def test_scale_and_cut(folder: Path):
    trace("scale", "some.trace", "0.5", "--out", "half")
    trace("scale", "some.trace", "--to", "3Mbit/s", "--out", "three")
    assert read(folder / "half") == read(folder / "three") == list(range(4, 2001, 4))
    trace("cut", "some.trace", "--from", "1s", "--to", "1.01s", "--out", "cut")
    assert read(folder / "cut") == [2, 4, 6, 8, 10]
    trace("cut", "some.trace", "--from", "1990ms", "--out", "rest")
    assert read(folder / "rest") == [2, 4, 6, 8, 10]


def test_from_capture(folder: Path, capsys: pytest.CaptureFixture[str]):
    up = [(place * 2_000_000, framed(ipv4("10.0.0.1", "10.0.0.2", 1472, (9, 5201)), 1)) for place in range(6)]
    down = [
        (place * 1_000_000, framed(ipv4("10.0.0.2", "10.0.0.1", 1472, (5201, 9)), 1)) for place in range(4)
    ]
    (folder / "x.pcap").write_bytes(pcap(sorted(up + down), 1))
    trace(
        "from-capture", "x.pcap", "--host", "10.0.0.2", "--port", "5201", "--direction", "to", "--out", "up"
    )
    assert read(folder / "up") == [2, 4, 6, 8, 10]
    assert "6 of 10 IP packets, 0 others" in capsys.readouterr().err
    trace("from-capture", "x.pcap", "--host", "10.0.0.1", "--direction", "to", "--out", "down")
    assert read(folder / "down") == [1, 2, 3]


def test_from_logs(folder: Path):
    (folder / "mm.log").write_text(
        "# base timestamp: 5\n6 # 1504\n7 # 1504\n7 + 1504\n9 # 1504\n9 - 1504 2\n12 - 1504 1\n"
    )
    trace("from-log", "mm.log", "--out", "a")
    trace("from-log", "mm.log", "--lines", "departures", "--out", "b")
    assert (read(folder / "a"), read(folder / "b")) == ([1, 2, 4], [3])
    rows = [(time * 1_000_000, 0, flow_word(1, 2), 0, 1500, event, way) for time, event, way in
            [(1, 0, 0), (2, 0, 1), (3, 0, 0), (4, 5, 0), (8, 0, 0), (9, 0, 1)]]  # fmt: skip
    write_log(folder / "packets.log", np.array(rows, RECORD))
    trace("from-log", "packets.log", "--out", "up")
    trace("from-log", "packets.log", "--direction", "downlink", "--out", "down")
    assert (read(folder / "up"), read(folder / "down")) == ([2, 7], [7])


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("make", "either a rate or --rates FILE", "trialwise trace make 12Mbit/s"),
        ("make 12Mbit/s --rates x", "either a rate or --rates FILE", None),
        ("make 12", "the unit is missing", "write one like 12Mbit/s"),
        ("make 0bit/s", "at rate 0 nothing would ever pass", "12Mbit/s"),
        ("make 12Mbit/s --length 0s", "the trace is empty", None),
        ("make 1Pbit/s", "unknown unit `Pbit/s`", None),
        ("make 900Gbit/s", "more than 50000000 lines", None),
        ("make 12Mbit/s --seed -1", "--seed -1", None),
        ("make trace:x", "this is a trace already", "scale"),
        ("make 12Mbit/s --out some.trace", "some.trace: there is such a file", "--force"),
        ("make 12Mbit/s --out none/x", "there is no folder none", None),
        ("make 12Mbit/s --out .", "this is a folder", None),
        ("show some.trace --bin 0ms", "--bin 0ms: expected at least 1ms", None),
        ("show some.trace --bin x", "--bin x: not a duration", None),
        ("show lost.trace", "lost.trace: cannot be read", None),
        ("plot some.trace --out a.jpg", "allowed: .svg, .pdf, .png", None),
        ("scale some.trace", "either a factor or --to RATE", None),
        ("scale some.trace 0", "the factor 0.0 is not a number above 0", None),
        ("scale some.trace inf", "the factor inf is not", None),
        ("scale some.trace 0.0001", "the trace is empty", "scale it less"),
        ("scale some.trace 1e9", "more than 50000000 lines", "scale it less"),
        ("scale some.trace --to 5", "the unit is missing", None),
        ("cut some.trace --from 9s", "no opportunity from 9000 ms", "from 2 ms to 2000 ms"),
        ("cut some.trace --from 9", "--from 9: not a duration", None),
        ("from-capture some.trace", "neither pcap nor pcapng", "tcpdump"),
        ("from-capture some.trace --direction to", "--direction to: to whom?", "--host or --port"),
        ("from-log some.trace", "this is not a packet file", "known: packet logs"),
    ],
)
def test_refusals_say_what_and_what_to_try(folder: Path, words: str, problem: str, hint: str | None):
    with pytest.raises(TrialwiseError) as refusal:
        trace(*words.split())
    assert problem in str(refusal.value)
    assert hint is None or hint in str(refusal.value)


def test_force_overwrites(folder: Path):
    trace("make", "12Mbit/s", "--length", "2ms", "--out", "some.trace", "--force")
    assert read(folder / "some.trace") == [1, 2]
