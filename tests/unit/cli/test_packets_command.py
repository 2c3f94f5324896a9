"""`trialwise packets`: what it says of each kind of log, and what it writes."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from packet_logs import RECORD, flow_word, write_log
from sighting_files import Crossed, write_sightings
from trialwise.cli.main import app
from trialwise.errors import TrialwiseError
from trialwise.exchange.mahimahi_log import read_mahimahi_log
from trialwise.measurement.sightings import HEADER
from trialwise.measurement.sightings import RECORD as SIGHTING


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


CAPTURES = Path(__file__).parents[1] / "exchange" / "captures"
A, B = str(CAPTURES / "end-a.pcap"), str(CAPTURES / "end-b.pcap")


def test_captures_of_both_ends_have_delays_and_losses(capsys: pytest.CaptureFixture[str]):
    found = document(capsys, A, B, "--port", "5201", "--port", "5202")
    assert found["kind"] == "captures of both ends"
    up = {one["flow"]: one for one in found["metrics"] if one["direction"] == "uplink"}
    lost = json.loads((CAPTURES / "lost.json").read_text())["lost"]
    assert (up[None]["dropped"], up[1]["dropped"], up[2]["dropped"]) == (lost, lost, 0)
    assert 0 < up[None]["delay_median"] <= up[None]["delay_p95"] < 10
    assert (found["ends"]["delay"], found["ends"]["lost"]) == ("absolute", 0)
    assert found["ends"]["bound"] == pytest.approx(found["ends"]["round_trip"] / 2, rel=0.01)
    # The packets leave room for an error of microseconds; what the user says of the clocks may leave less.
    told = document(capsys, A, B, "--clock-error", "0.5us")
    assert told["ends"]["bound"] < 0.5 * found["ends"]["bound"]
    packets(A, B)
    assert "the uplink is what 10.1.0.2 sends" in capsys.readouterr().out


def test_one_capture_says_what_passed(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    found = document(capsys, A, "--port", "5202", "--host", "10.1.0.2")
    up = found["metrics"][0]
    assert (found["kind"], up["direction"]) == ("capture", "uplink")
    assert up["throughput"] > 0
    unknown = ("delay_median", "delay_p95", "queueing_p95", "loss", "pantheon_delay", "pantheon_loss")
    assert [up[name] for name in unknown] == [None] * 6
    with pytest.raises(TrialwiseError, match="delays or losses of these packets are not known"):
        packets(A, "--to", "parquet", "--out", str(tmp_path / "x.parquet"))
    assert not (tmp_path / "x.parquet").exists()


def test_joined_captures_are_written_in_other_formats(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    wanted = document(capsys, A, B, "--port", "5201")
    packets(A, B, "--port", "5201", "--to", "parquet", "--out", str(tmp_path / "x.parquet"))
    capsys.readouterr()
    found = document(capsys, str(tmp_path / "x.parquet"))
    for own, other in zip(found["metrics"], wanted["metrics"], strict=True):
        assert own["delivered"] == other["delivered"]
        assert own["pantheon_throughput"] == pytest.approx(other["pantheon_throughput"])


def test_both_ends_of_a_tunnel_in_either_order(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    ingress, egress = tmp_path / "x.ingress", tmp_path / "x.egress"
    egress.write_text(
        "# 'mm-tunnelclient' egress: 1000.000\n1.000 - 1 - 1000\n2.000 - 2 - 1000\n30.000 - 3 - 1000\n"
    )
    ingress.write_text("# 'mm-tunnelserver' ingress: 1000.000\n21.000 - 1 - 1000\n60.000 - 3 - 1000\n")
    found = [document(capsys, *map(str, pair)) for pair in ((ingress, egress), (egress, ingress))]
    for one in found:
        assert (one["metrics"][0]["delivered"], one["metrics"][0]["dropped"]) == (2, 1)
        assert one["metrics"][0]["pantheon_delay"] == pytest.approx(30)
    with pytest.raises(TrialwiseError, match="are both ingress logs"):
        packets(str(ingress), str(ingress))
    with pytest.raises(TrialwiseError, match="is the other end"):
        packets(str(ingress), str(egress), "--egress", str(egress))
    with pytest.raises(TrialwiseError, match="--host is for captures"):
        packets(str(ingress), str(egress), "--host", "10.0.0.1")


def test_a_packed_capture_is_refused_with_what_to_do(tmp_path: Path):
    path = tmp_path / "x.pcap.gz"
    path.write_bytes(gzip.compress(Path(A).read_bytes()))
    with pytest.raises(TrialwiseError, match="this is not a packet file") as raised:
        packets(str(path))
    assert "gunzip" in (raised.value.hint or "")


def crossed(**given: object) -> Crossed:
    """What two ends saw, in the files `a.seen` and `b.seen`."""
    made = Crossed(**given)  # pyright: ignore[reportArgumentType]
    for name, end in zip("ab", made.ends(), strict=True):
        write_sightings(Path(f"{name}.seen"), end.records)
    return made


def test_two_ends_are_joined(folder: Path, capsys: pytest.CaptureFixture[str]):
    made = crossed()
    found = document(capsys, "a.seen", "b.seen", "--stop", "18s")
    ends = found["ends"]
    up = next(one for one in found["metrics"] if (one["direction"], one["flow"]) == ("uplink", None))
    truth = made.truth[0]
    delays = (truth["came"] - truth["sent"])[truth["came"] < 18] * 1e3
    assert found["kind"] == "packets of two ends"
    assert up["delay_median"] == pytest.approx(np.median(delays), abs=0.1)
    assert up["loss"] == pytest.approx(1, abs=0.3)
    assert (ends["delay"], ends["steps"], ends["routes"], ends["lost"]) == ("absolute", 0, 0, 0)
    assert (ends["proxied"], ends["alike"], ends["contradicted"]) == (False, False, False)
    assert ends["round_trip"] == pytest.approx(56, abs=0.1)
    assert ends["bound"] == pytest.approx(28, abs=0.1)
    assert ends["skew_low"] <= 50 <= ends["skew_high"]
    assert ends["uplink"]["delivered"] == int(np.isfinite(truth["came"]).sum())


def test_what_two_ends_say_in_words(folder: Path, capsys: pytest.CaptureFixture[str]):
    crossed()
    packets("a.seen", "b.seen", "--max-asymmetry", "1ms")
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("a.seen: packets of two ends")
    assert "One-way delays hold within ±0.5" in text
    assert "The clock of the second end gains +50.0" in text
    assert "measure again" not in text


def test_packets_that_look_alike_have_no_delays(folder: Path, capsys: pytest.CaptureFixture[str]):
    crossed(alike=0.02, tcp_passes=False)
    found = document(capsys, "a.seen", "b.seen")
    assert {one["delay_p95"] for one in found["metrics"]} == {None}
    assert all(one["throughput"] > 0 for one in found["metrics"])
    packets("a.seen", "b.seen")
    text = " ".join(capsys.readouterr().out.split())
    assert "Delays are left out: more than 0.1 % of the packets look like others" in text
    assert "a proxy on the way ends its connections" in text


def test_one_way_alone_has_delays_above_the_lowest(folder: Path, capsys: pytest.CaptureFixture[str]):
    crossed(rates=(2000, 0))
    found = document(capsys, "a.seen", "b.seen")
    assert (found["ends"]["delay"], found["ends"]["bound"], found["ends"]["round_trip"]) == (
        "difference",
        None,
        None,
    )
    packets("a.seen", "b.seen")
    assert "Only one direction has packets" in " ".join(capsys.readouterr().out.split())


def test_one_end_alone_is_refused(folder: Path):
    crossed()
    with pytest.raises(TrialwiseError, match=r"a\.seen: this is what one end of a path saw") as refused:
        packets("a.seen")
    assert "its other end behind it" in str(refused.value.hint)


def test_a_file_that_was_cut_off_is_refused_or_told(folder: Path, capsys: pytest.CaptureFixture[str]):
    crossed()
    assert not document(capsys, "a.seen", "b.seen")["notes"]
    whole = Path("a.seen").read_bytes()
    records = HEADER.size + len(whole) // 2 // SIGHTING.itemsize * SIGHTING.itemsize
    Path("a.seen").write_bytes(whole[: records + 5])
    with pytest.raises(
        TrialwiseError, match=r"a\.seen: ends in the middle of a record, although its capture"
    ):
        packets("a.seen", "b.seen")
    Path("a.seen").write_bytes(whole[:records])
    (told,) = document(capsys, "a.seen", "b.seen")["notes"]
    assert re.match(r"uplink: \d+ of \d+ packets that came were not seen to leave, and are left out", told)


def test_a_time_of_day_without_a_whole_capture_is_refused(folder: Path):
    made = crossed()
    write_sightings(Path("b.seen"), made.ends()[1].records, clocks=(1, 1, 0, 0))
    with pytest.raises(
        TrialwiseError,
        match=r"b\.seen: the time of day of its packets is not known: it did not come to its end",
    ):
        packets("a.seen", "b.seen", "--clock-error", "2ms")
    with pytest.raises(TrialwiseError, match="--clock-error 2furlongs"):
        packets("a.seen", "b.seen", "--clock-error", "2furlongs")


def test_joined_packets_are_written_in_other_formats(folder: Path):
    crossed()
    packets("a.seen", "b.seen", "--to", "parquet", "--out", "joined.parquet")
    packets("joined.parquet")


@pytest.mark.parametrize("option", ["--clock-error", "--max-asymmetry"])
def test_bounds_of_clocks_are_for_two_ends(folder: Path, option: str):
    with pytest.raises(
        TrialwiseError,
        match=f"{option} is for what both ends of a path saw, and packets.log is a packet log",
    ):
        packets("packets.log", option, "1ms")
