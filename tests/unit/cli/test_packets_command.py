"""`trialwise packets`: what it says of each kind of log, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from packet_logs import RECORD, flow_word, write_log
from trialwise.cli.main import app
from trialwise.errors import TrialwiseError
from trialwise.exchange.mahimahi_log import read_mahimahi_log


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of one packet for each millisecond of a second up, every tenth dropped; small ones down."""
    monkeypatch.chdir(tmp_path)
    up = [(30 + time, 28 if time % 10 else 0, 40_000, 1500, 0 if time % 10 else 5, 0) for time in range(1000)]
    down = [(40 + time, 30, 40_001, 40, 0, 1) for time in range(0, 1000, 2)]
    rows = [
        (time * 1_000_000, delay * 1_000_000, flow_word(port, 5001), 0, size, event, way)
        for time, delay, port, size, event, way in sorted(up + down)
    ]
    write_log(tmp_path / "packets.log", np.array(rows, RECORD))
    return tmp_path


def packets(*words: str) -> int:
    return app(["packets", *words], exit_on_error=False, result_action="return_value")


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    packets(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_metrics_of_a_packet_log(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ("packets.log", "--port", "5001", "--stop", "2s", "--rate", "12Mbit/s", "--propagation", "28ms")
    found = document(capsys, *words)
    up, flow, down, _ = found["metrics"]
    assert (up["direction"], up["flow"], flow["flow"], down["direction"]) == ("uplink", None, 1, "downlink")
    assert (up["delivered"], up["dropped"], up["held"]) == (900, 100, 0)
    assert up["throughput"] == pytest.approx(900 * 12_000 / 2 / 1e6)
    assert up["utilisation"] == pytest.approx(100 * 5.4 / 12)
    assert up["pantheon_throughput"] == pytest.approx(900 * 12_000 / 0.998 / 1e6)
    assert (up["loss"], up["pantheon_loss"]) == (pytest.approx(10), pytest.approx(10))
    assert (up["delay_p95"], down["delay_p95"]) == (pytest.approx(28), pytest.approx(30))
    assert up["queueing_p95"] == pytest.approx(0, abs=1e-9)
    assert down["utilisation"] is None


def test_the_table(folder: Path, capsys: pytest.CaptureFixture[str]):
    packets("packets.log", "--stop", "1s")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "packets.log: packet log"
    assert lines[1:3] == ["", "Uplink, 0 s to 1 s"]
    assert lines[3].split()[:4] == ["flow", "Mbit/s", "p50", "ms"]
    assert "use" not in lines[3]
    assert lines[4].split()[:2] == ["all", "10.476"]


def test_without_a_stop_the_last_packet_counts(folder: Path, capsys: pytest.CaptureFixture[str]):
    found = document(capsys, "packets.log")
    assert [one["delivered"] for one in found["metrics"]] == [900, 500]
    assert found["stop"] == pytest.approx(1.038)


def test_conversions(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "12.trace").write_text("1\n")
    words = ("packets.log", "--rate", "trace:12.trace", "--propagation", "28ms")
    packets(*words, "--to", "mahimahi", "--out", "up.log")
    log = read_mahimahi_log(folder / "up.log")
    assert (log.departures.size, log.drops.size, set(log.delays.tolist())) == (900, 100, {0})
    assert log.opportunities.tolist() == list(range(1, 1039))
    capsys.readouterr()
    found = document(capsys, "up.log", "--to", "pantheon", "--out", "merged.log")
    again = document(capsys, "merged.log")
    assert found["kind"] == "mm-link log"
    assert (found["capacities"]["uplink"]["scheduled"], again["kind"]) == (
        pytest.approx(12, rel=0.002),
        "merged log",
    )
    for key in ("throughput", "pantheon_throughput", "pantheon_loss", "delivered"):
        assert again["metrics"][0][key] == pytest.approx(found["metrics"][0][key]), key
    packets("packets.log", "--to", "parquet", "--out", "x.parquet")
    packets("x.parquet", "--to", "csv", "--out", "x.csv")
    assert len((folder / "x.csv").read_text().splitlines()) == 1501


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("lost.log", "lost.log: cannot be read"),
        ("packets.log --to parquet", "--to and --out belong together"),
        ("packets.log --out x", "--to and --out belong together"),
        ("packets.log --to csv --out packets.log", "packets.log: there is such a file"),
        ("packets.log --port 70000", "--port 70000"),
        ("packets.log --start 2s --stop 1s", "from 2 s to 1 s there is no time"),
        ("packets.log --start soon", "--start soon: not a duration"),
        ("packets.log --rate 12", "--rate: rate: 12: `12` is not a rate"),
        ("packets.log --rate trace:lost", "lost: cannot be read"),
    ],
)
def test_refusals(folder: Path, words: str, problem: str):
    with pytest.raises(TrialwiseError) as refusal:
        packets(*words.split())
    assert problem in refusal.value.message
