"""Values whose squares are no numbers of 64 bits are refused before anything is computed of them."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import in_process
from trialwise.range import beyond_range


@pytest.mark.parametrize("values", [[1e300, 2.0], [-1e71], [1e-310, 3e-310], [1e-71, 0.0, float("nan")]])
def test_what_is_beyond_is_said(values):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert beyond_range(values)


@pytest.mark.parametrize("values", [[], [0.0], [float("nan")], [1e70, -1e70], [1e-70], [1e-310, 1.0], [5, 7]])
def test_what_can_be_squared_is_not(values):
    assert not beyond_range(values)


@pytest.mark.parametrize("factor", ["e300", "e-310"])
@pytest.mark.parametrize("command", ["compare", "effects", "analyze"])
def test_a_table_of_such_values_is_refused_in_one_line(tmp_path, factor, command):
    rows = "".join(f"{side},{1 + place / 100}{factor}\n" for side in "ab" for place in range(9))
    (tmp_path / "t.csv").write_text("treatment,value\n" + rows)
    words = {
        "compare": ("--a", "treatment=a", "--b", "treatment=b"),
        "effects": ("--group", "treatment", "--value", "value"),
        "analyze": ("--value", "value", "--group", "treatment"),
    }[command]
    done = in_process.trialwise(command, "t.csv", *words, cwd=tmp_path)
    assert done.returncode == 7
    assert "another unit" in done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("factor", ["e69", "e-69"])
@pytest.mark.parametrize("command", ["compare", "effects", "analyze"])
def test_what_is_just_within_is_computed_without_a_warning(tmp_path, factor, command):
    rows = "".join(
        f"{side},{1 + place**2 / 9 + (side == 'b')}{factor}\n" for side in "ab" for place in range(9)
    )
    (tmp_path / "t.csv").write_text("treatment,value\n" + rows)
    words = {
        "compare": ("--a", "treatment=a", "--b", "treatment=b"),
        "effects": ("--group", "treatment", "--value", "value"),
        "analyze": ("--value", "value", "--group", "treatment", "--objective", "percentile=50,confidence=75"),
    }[command]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = in_process.trialwise(command, "t.csv", *words, cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert "Warning" not in done.stderr


def test_a_file_of_another_tool_is_refused_too(tmp_path):
    for name in ("a", "b"):
        results = [{"command": "x", "mean": 1e300, "times": [1e300, 1.1e300, 1.2e300]}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": results}))
    done = in_process.trialwise("compare", "a.json", "b.json", cwd=tmp_path)
    assert (done.returncode, "is beyond 1e+70" in done.stderr) == (7, True)
