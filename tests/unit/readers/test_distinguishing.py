"""What tells files of one tool apart."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import gather
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
