"""`trialwise trace` on recordings of paths: what each command makes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from captures import framed, ipv4, pcap
from packet_logs import RECORD, flow_word, write_log
from trialwise.cli.schema import json_schema
from trialwise.cli.trace import app
from trialwise.errors import TrialwiseError
from trialwise.exchange.recording_files import read_recording


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "up.trace").write_text("".join(f"{time}\n" for time in range(1, 2001)))
    (tmp_path / "down.trace").write_text("".join(f"{time}\n" for time in range(2, 2001, 2)))
    return tmp_path


def trace(*words: str) -> int:
    return app(words, exit_on_error=False, result_action="return_value")


def test_a_recording_is_made_shown_and_changed(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert trace("import", "mahimahi", "up.trace", "down.trace", "--delay", "28ms", "--out", "a.path") == 0
    assert "uplink opportunities, base_delay_us (12 Mbit/s in the mean)" in capsys.readouterr().err
    header = read_recording(folder / "a.path").header
    assert header["origin"] == "mahimahi: up.trace, down.trace"
    assert len(header["source_sha256"]["up.trace"]) == 64
    trace("show", "a.path")
    shown = capsys.readouterr().out
    assert "uplink: 12 Mbit/s in the mean" in shown
    assert "downlink: base delay 28 to 28 ms" in shown
    trace("show", "a.path", "--json")
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json_schema("recording"))
    assert document["downlink"]["mean_rate"] == pytest.approx(6)
    assert trace("scale", "a.path", "0.5", "--delay", "-8ms", "--out", "b.path") == 0
    assert trace("cut", "b.path", "--from", "500ms", "--to", "1500ms", "--out", "c.path") == 0
    assert trace("join", "c.path", "c.path", "--out", "d.path") == 0
    found = read_recording(folder / "d.path")
    assert (found.length, found.uplink.opportunities.size) == (2000, 1000)
    capsys.readouterr()
    trace("compare", "a.path", "d.path", "--json")
    compared = json.loads(capsys.readouterr().out)
    jsonschema.validate(compared, json_schema("recording-comparison"))
    assert compared["ways"]["uplink"]["least_delays"] == [28, 20]
    assert compared["ways"]["uplink"]["rate_distance"] == 1
    trace("compare", "a.path", "d.path")
    assert "uplink: least base delay 28 and 20 ms" in capsys.readouterr().out
    assert trace("plot", "a.path", "--out", "a.svg") == 0
    assert (folder / "a.svg").read_text().count("Mbit/s") >= 1


def test_a_recording_goes_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]):
    trace("import", "mahimahi", "up.trace")
    assert capsys.readouterr().out.startswith('# trialwise.path/1 {"fill": "constant", "mtu": 1500')


def test_filled_rates_say_so(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "rates").write_text("0 5\n1 2\n2 0\n4 3\n")
    words = (
        "import",
        "pensieve",
        "rates",
        "--fill",
        "poisson",
        "--seed",
        "3",
        "--out",
        "a.path",
        "--licence",
        "CC0",
    )
    assert trace(*words) == 0
    said = capsys.readouterr().err
    assert "note: downlink: nothing leaves for 2 s from 2 s on" in said
    assert "filled as poisson with seed 3" in said
    header = read_recording(folder / "a.path").header
    assert (header["fill"], header["licence"]) == ("poisson", "CC0")
    assert len(header["notes"]) == 2


def test_a_packet_log_makes_a_recording_of_both_ways(folder: Path):
    places = [(time, way) for time in range(30, 3000) for way in (0, 1) if way == 0 or time % 2 == 0]
    records = np.zeros(len(places), RECORD)
    records["time"] = [time * 1_000_000 for time, _ in places]
    records["delay"], records["size"], records["flow"] = 20_000_000, 1500, flow_word(40000, 5201)
    records["rest"] = [way for _, way in places]
    write_log(folder / "packets.log", records)
    assert trace("import", "log", "packets.log", "--out", "a.path") == 0
    found = read_recording(folder / "a.path")
    assert found.uplink.opportunities.size == 2 * found.downlink.opportunities.size
    assert found.uplink.steps["base_delay_us"].values.tolist() == [20_000] * 30


def test_a_capture_makes_the_opportunities_of_one_direction(folder: Path):
    down = [
        (second * 10**9, framed(ipv4("192.0.2.1", "192.0.2.2", 1472, (9, 5201)), 1)) for second in (1, 2, 3)
    ]
    up = [(2 * 10**9, framed(ipv4("192.0.2.2", "192.0.2.1", 1472, (5201, 9)), 1))]
    (folder / "down.pcap").write_bytes(pcap(sorted(down + up), 1))
    assert (
        trace("import", "capture", "down.pcap", "--host", "192.0.2.2", "--port", "5201", "--out", "a.csv")
        == 0
    )
    found = read_recording(folder / "a.csv")
    assert (found.downlink.opportunities.tolist(), found.uplink.columns) == ([1000, 2000], ())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("import", "mahimahi", "up.trace", "--port", "1"), "choose packets of a capture"),
        (("import", "mahimahi"), "no file to import"),
        (("import", "mahimahi", "up.trace", "--delay", "0s"), "a time above 0"),
        (("import", "mahimahi", "nowhere"), "nowhere"),
        (("import", "columns", "up.trace"), "up.trace: --columns does not say what is what in"),
        (("scale", "a.path", "--delay", "-1ms"), "a base delay of 0 ms cannot be shorter by 1 ms"),
        (("import", "hypatia", "rtt", "--rate", "fast"), "--rate fast"),
        (("import", "hypatia", "rtt", "--delay", "5ms"), "the files say the delay"),
        (("scale", "a.path", "--to", "1Mbit/s"), "takes a factor"),
        (("scale", "up.trace", "2", "--delay", "1ms"), "a trace has no delay"),
        (("cut", "a.path", "--from", "1h"), "nothing from"),
        (("join", "a.path"), "two recordings or more"),
        (("join", "a.path", "one.path"), "number 2 has nothing of the downlink"),
        (("compare", "a.path", "up.trace"), "does not begin with"),
        (("show", "bad.path"), "unknown column"),
        (("show", "later.path"), "does not begin with `# trialwise.path/1`"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, words: tuple[str, ...], message: str):
    (folder / "rtt").write_text("0,50000000\n100000000,60000000\n")
    (folder / "later.path").write_text("# trialwise.path/2 {}\n")
    (folder / "bad.path").write_text("# trialwise.path/1 {}\ntime,direction\n")
    trace("import", "mahimahi", "up.trace", "down.trace", "--out", "a.path")
    trace("import", "mahimahi", "up.trace", "--direction", "uplink", "--out", "one.path")
    with pytest.raises(TrialwiseError) as caught:
        trace(*words)
    assert message in f"{caught.value} {caught.value.hint or ''}"
