"""What tells files of one tool apart."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import gather
from trialwise.readers.records import Note, listed
from trialwise.study.looking import trials_of


def _export(path: Path, command: str, time: float) -> Path:
    result = {
        "command": command,
        "mean": time,
        "times": [time, time],
        "exit_codes": [0, 0],
        "parameters": {"size": "9"},
    }
    path.write_text(json.dumps({"results": [result]}))
    return path


@pytest.mark.parametrize("other", ["sort -r 9", "sort 9"])
def test_equal_parameters_of_other_commands_are_no_one_treatment(tmp_path: Path, other: str):
    files = [_export(tmp_path / "1.json", "sort 9", 1.0), _export(tmp_path / "2.json", other, 3.0)]
    group, _ = told_apart(gather(files).groups[0], "{rep}.json")
    found = trials_of(group)
    means = found.table.group_by("treatment").agg(mean=pl.col("value").mean())
    wanted = [2.0] if other == "sort 9" else [1.0, 3.0]
    assert sorted(means["mean"]) == wanted
    assert all(("command" in levels) == (other != "sort 9") for levels in found.treatments.values())


@pytest.mark.parametrize(
    ("unit", "metrics", "said"),
    [
        (
            "kbit/s",
            {"rate": [5e6, 7e6, 7e6, 9e6]},
            ["rate is in Mbit/s and kbit/s, by file: all were brought to bit/s"],
        ),
        ("ms", {"rate (Mbit/s)": [5, 7], "rate (ms)": [7000, 9000]}, []),
        ("x/y", {"rate (Mbit/s)": [5, 7], "rate (x/y)": [7000, 9000]}, []),
    ],
)
def test_files_in_units_of_one_kind_have_one_metric(tmp_path: Path, unit: str, metrics: object, said: object):
    (tmp_path / "1.csv").write_text("scheme,rate [Mbit/s]\nx,5\ny,7\n")
    (tmp_path / "2.csv").write_text(f"scheme,rate [{unit}]\nx,7000\ny,9000\n")
    group, _ = told_apart(gather([tmp_path / "1.csv", tmp_path / "2.csv"]).groups[0])
    table = trials_of(group).table
    assert {name: sorted(own["value"]) for (name,), own in table.group_by("metric")} == metrics
    for reading in group.readings:
        assert [note.text for note in reading.notes if "brought" in note.text] == said


def test_sentences_of_files_that_list_different_names_are_one():
    notes = [
        Note("", "few beyond p99", ("p99",)),
        Note("x", "other"),
        Note("", "few beyond p90, p99", ("p90", "p99")),
    ]
    assert list(Note.joined([*notes, notes[1]])) == ["few beyond p99, p90", "other"]
    assert list(Note.joined([Note("", f"of {listed(list('abcdefghijkl'))}", tuple("abcdefghijkl"))])) == [
        "of a, b, c, d, e, f, g, h, i, j and 2 more"
    ]


def _iperf3(path: Path, version: str, rate: float) -> Path:
    start = {"version": f"iperf {version}", "test_start": {"protocol": "TCP"}}
    end = {"sum_received": {"bytes": 1, "bits_per_second": rate}, "sender_tcp_congestion": "cubic"}
    path.write_text(json.dumps({"start": start, "intervals": [], "end": end}))
    return path


@pytest.mark.parametrize(("later", "means"), [("3.12", [2.0]), ("3.16", [1.0, 3.0])])
def test_versions_of_a_tool_are_no_one_treatment(tmp_path: Path, later: str, means: list[float]):
    files = [_iperf3(tmp_path / "x_1.json", "3.12", 1.0), _iperf3(tmp_path / "x_2.json", later, 3.0)]
    group, _ = told_apart(gather(files).groups[0])
    found = trials_of(group)
    assert sorted(found.table.group_by("treatment").agg(mean=pl.col("value").mean())["mean"]) == means
    said = {note.text for reading in group.readings for note in reading.notes}
    assert any("several versions" in text for text in said) == (later == "3.16")


def test_a_treatment_with_one_version_needs_no_name_of_it(tmp_path: Path):
    files = [_iperf3(tmp_path / "a_1.json", "3.12", 1.0), _iperf3(tmp_path / "b_1.json", "3.16", 3.0)]
    group, _ = told_apart(gather(files).groups[0])
    assert not any("version" in levels for levels in trials_of(group).treatments.values())


@pytest.mark.parametrize("hosts", [("h1", "h1"), ("h1", "h2")])
def test_files_of_several_hosts_are_said(tmp_path: Path, hosts: tuple[str, str]):
    for number, host in enumerate(hosts):
        run = {"values": [1.0 + number], "metadata": {"hostname": host}}
        document = {"version": "1.0", "benchmarks": [{"metadata": {"name": "b"}, "runs": [run]}]}
        (tmp_path / f"r_{number}.json").write_text(json.dumps(document))
    group, _ = told_apart(gather([tmp_path]).groups[0])
    said = [note.text for reading in group.readings for note in reading.notes if "hosts" in note.text]
    assert len(said) == len(set(hosts)) - 1
    assert all("h1, h2" in text or "h1 and h2" in text for text in said)
