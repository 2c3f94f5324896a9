"""Which runs of a Pantheon folder count: Pantheon's own rules, held against a reading of the logs line by line."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import read_trials

METRICS = ("pantheon_throughput", "pantheon_delay", "pantheon_loss")


def tunnel(path: Path, seconds: float, gap: float, delay: float = 20.0, lost: int = 0) -> None:
    """A merged log: a packet of 1500 bytes every `gap` ms, each `lost`-th of which does not come out."""
    events: list[tuple[float, str]] = []
    for k in range(int(seconds * 1000 / gap)):
        t = k * gap
        events.append((t, f"{t:.3f} + 1500 1"))
        if not lost or k % lost:
            events.append((t + delay, f"{t + delay:.3f} - 1500 {delay:.3f} 1"))
    lines = "".join(f"{line}\n" for _, line in sorted(events))
    path.write_text(f"# init timestamp: 1744936429546.000\n{lines}")


def link(path: Path, seconds: float, gap: int) -> None:
    """A log of mm-link: whole milliseconds, packets four bytes larger, delay in the queue alone, drops."""
    lines = ["# mahimahi mm-link (Uplink) [one.trace]", "# command line: x", "# queue: droptail [packets=5]"]
    lines += ["# init timestamp: 1744936429546", "# base timestamp: 0"]
    for t in range(0, int(seconds * 1000), gap):
        lines += [f"{t} + 1504", f"{t} # 1504", f"{t} - 1504 0"]
        if not t % 100:
            lines += [f"{t} + 1504", f"{t} d 1 1504"]
    path.write_text("\n".join(lines) + "\n")


def metadata(folder: Path, **facts: object) -> None:
    (folder / "pantheon_metadata.json").write_text(json.dumps(facts))


def by_hand(path: Path) -> tuple[float, float, int]:
    """Seconds between first and last departure, Mbit/s, and departures, as Pantheon's tunnel_graph has them."""
    out = [line.split() for line in path.read_text().splitlines() if line.split()[1] == "-"]
    span = (float(out[-1][0]) - float(out[0][0])) / 1000
    return span, sum(int(words[2]) for words in out) * 8 / 1e6 / span, len(out)


@pytest.fixture(params=["folder", "tar.gz"])
def trials_of(request, tmp_path):
    """Read a folder, as it is or packed."""

    def read(folder: Path):
        if request.param == "folder":
            return read_trials(folder)
        packed = tmp_path / f"packed.{request.param}"
        with tarfile.open(packed, f"w:{request.param[4:]}") as archive:
            archive.add(folder, "results")
        return read_trials(packed)

    return read


@pytest.mark.parametrize(("seconds", "counts"), [(3, False), (23.9, False), (24.1, True), (30, True)])
def test_a_run_that_ended_before_four_fifths_of_its_time_is_no_run(tmp_path, trials_of, seconds, counts):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    tunnel(folder / "cubic_datalink_run2.log", seconds, 10)
    metadata(folder, runtime=30, flows=1, cc_schemes=["cubic"], run_times=2)
    span, rate, _ = by_hand(folder / "cubic_datalink_run2.log")
    assert (span >= 0.8 * 30) is counts
    found = trials_of(folder)
    rates = found.of("pantheon_throughput")["value"].to_list()
    assert rates == pytest.approx([by_hand(folder / "cubic_datalink_run1.log")[1]] + [rate] * counts)
    assert {found.of(metric).height for metric in METRICS} == {1 + counts}
    said = any("run 2 of cubic: its departures span" in note for note in found.notes)
    assert said is not counts


def test_a_run_of_which_nothing_came_out_is_no_run_of_no_throughput(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    (folder / "cubic_datalink_run2.log").write_text("")
    (folder / "cubic_datalink_run3.log").write_text("# init timestamp: 1744936429546.000\n")
    tunnel(folder / "cubic_datalink_run4.log", 30, 25, lost=1)
    (folder / "cubic_datalink_run5.log").write_text("# init timestamp: 1.0\n1.0 + 1500 1\n2.0 - 1500 1.0 1\n")
    for facts in ({"runtime": 30}, {}):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert {found.of(metric).height for metric in METRICS} == {1}
        note = next(note for note in found.notes if note.startswith("4 runs are ignored"))
        assert "run 2 of cubic: its log is empty" in note
        assert "run 3 of cubic: nothing came out; run 4 of cubic: nothing came out; run 5 of cubic: " in note
    assert any("runs that ended early cannot be told" in note for note in found.notes)


def test_the_links_own_logs_are_no_schemes(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    for scheme in ("cubic", "bbr_mm_acklink"):
        for run in (1, 2):
            tunnel(folder / f"{scheme}_datalink_run{run}.log", 30, 100)
            tunnel(folder / f"{scheme}_acklink_run{run}.log", 30, 100)
            link(folder / f"{scheme}_mm_datalink_run{run}.log", 30, 100)
            link(folder / f"{scheme}_mm_acklink_run{run}.log", 30, 100)
    for facts in (
        {"runtime": 30, "flows": 1},
        {"runtime": 30, "flows": [{"scheme": "cubic"}]},
        {"runtime": 30},
    ):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert sorted(found.treatments) == ["scheme=bbr_mm_acklink", "scheme=cubic"]
        rate = by_hand(folder / "cubic_datalink_run1.log")[1]
        assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx([rate] * 4)
        assert set(found.of("pantheon_delay")["value"]) == {20.0}


def test_a_scheme_may_be_called_as_the_links_logs_are(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_mm_datalink_run1.log", 30, 100)
    tunnel(folder / "x_datalink_run7_datalink_run1.log", 30, 200)
    link(folder / "cubic_mm_mm_datalink_run1.log", 30, 100)
    metadata(folder, runtime=30, flows=1)
    assert sorted(trials_of(folder).treatments) == ["scheme=cubic_mm", "scheme=x_datalink_run7"]


def test_without_tunnels_the_links_logs_are_the_runs(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    for run in (1, 2):
        link(folder / f"cubic_mm_datalink_run{run}.log", 30, 50)
    for facts in ({"runtime": 30, "flows": 0}, {}):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert list(found.treatments) == ["scheme=cubic"]
        _, rate, departures = by_hand(folder / "cubic_mm_datalink_run1.log")
        assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx([rate] * 2)
        loss = 100 * (1 - departures / (departures + 300))
        assert found.of("pantheon_loss")["value"].to_list() == pytest.approx([loss] * 2)
        assert any("no tunnels" in note for note in found.notes)
    metadata(folder, runtime=30, flows=1)
    with pytest.raises(AnalysisError, match="its logs are the link's alone"):
        trials_of(folder)


def test_runs_that_pantheons_file_lacks_and_that_are_missing_are_named(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 100)
    tunnel(folder / "cubic_datalink_run2.log", 3, 1)
    metadata(folder, runtime=30, cc_schemes=["cubic", "vegas"], run_times=3)
    notes = trials_of(folder).notes
    assert "cubic: 2 of 3 runs are there" in notes
    assert "vegas: it has no runs, although the metadata name the scheme" in notes
    perf = {"cubic": {"1": {"all": {"tput": 1.2, "delay": 20.0, "loss": 0.0}}}}
    (folder / "pantheon_perf.json").write_text(json.dumps(perf))
    found = trials_of(folder)
    assert found.of("pantheon_throughput")["value"].to_list() == [1.2]
    assert found.notes == (
        "1 run is ignored, as by Pantheon (run 2 of cubic: it is not in pantheon_perf.json)",
    )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null"])
def test_a_run_without_one_metric_is_no_run_of_another(tmp_path, value):
    whole = '{"all": {"tput": 1, "delay": 2, "loss": 0.1}}'
    broken = whole.replace("2", value)
    path = tmp_path / "pantheon_perf.json"
    path.write_text(f'{{"a": {{"1": {whole}, "2": {broken}, "3": {{}}}}, "b": {{"1": {broken}}}}}')
    found = read_trials(tmp_path)
    assert list(found.treatments) == ["scheme=a"]
    assert {found.of(metric).height for metric in METRICS} == {1}
    assert "3 runs are left out (run 2 of a: it has no delay" in found.notes[0]


@pytest.mark.parametrize(
    "facts", ["[", '{"runtime": "soon"}', '{"runtime": -1}', '{"runtime": 1e400}', '{"flows": -3}']
)
def test_metadata_that_are_none_are_said_and_cost_no_run(tmp_path, facts):
    tunnel(tmp_path / "cubic_datalink_run1.log", 30, 25)
    (tmp_path / "pantheon_metadata.json").write_text(facts)
    found = read_trials(tmp_path)
    assert found.of("pantheon_throughput").height == 1
    assert "pantheon_metadata.json: is not what Pantheon writes" in found.notes[0]


def test_nothing_outside_of_the_folder_is_read(tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(tmp_path / "outside.log", 30, 25)
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    (folder / "cubic_datalink_run2.log").symlink_to(tmp_path / "outside.log")
    os.mkfifo(folder / "cubic_datalink_run3.log")
    found = read_trials(folder)
    assert found.of("pantheon_throughput").height == 1
    assert [note.split(": ", 1)[0] for note in found.notes].count("left out") == 2
    (folder / "pantheon_perf.json").symlink_to("/dev/zero")
    with pytest.raises(AnalysisError, match="is a link"):
        read_trials(folder)
