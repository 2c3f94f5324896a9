"""Long lists of large documents, beside the same lists as objects of Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trialwise import _core
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import numbered_trial_set, trial_set
from trialwise.readers import long_lists
from trialwise.readers.content import Content, read_content
from trialwise.readers.long_lists import LongList, columns_of, with_long_lists
from trialwise.readers.records import Reading
from trialwise.readers.register import recognised

SAMPLES = Path(__file__).parents[2] / "golden/formats"


def samples() -> Iterator[Path]:
    for path in sorted(SAMPLES.rglob("*.json")):
        if path.name != "expected.json" and path.stat().st_size < 200_000:
            yield path


def reading_of(content: Content) -> Reading | None:
    try:
        reader = recognised(content)
        return None if reader is None else reader.reading(content)
    except AnalysisError:
        return None


def short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every list a long one."""
    monkeypatch.setattr(long_lists, "LEAST", 1)


def told(reading: Reading | None) -> object:
    """What a reading says, with samples as lists."""
    if reading is None:
        return None
    rows = [
        replace(row, samples=row.samples and replace(row.samples, values=list(row.samples.values)))
        for row in reading.rows
    ]
    return replace(reading, rows=rows)


def test_samples_read_the_same_with_their_lists_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {path: told(reading_of(read_content(path))) for path in samples()}
    short_lists(monkeypatch)
    seen = 0
    for path, reading in expected.items():
        content = read_content(path)
        found = with_long_lists(content.data.strip())
        seen += found is not None
        assert repr(told(reading_of(content))) == repr(reading), path
    assert seen > 20


def test_a_long_list_is_the_sequence_that_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    short_lists(monkeypatch)
    expected = [{"a": n, "b": ["x,]", None, 1.5], "é": "\U0001f600"} for n in range(20)]
    document = {"first": 1, "k": {"list": expected}, "empty": []}
    for indent in (None, 2):
        found = with_long_lists(json.dumps(document, indent=indent, ensure_ascii=indent is None).encode())
        entries = found["k"]["list"]
        assert isinstance(entries, LongList)
        assert found == document | {"k": {"list": entries}}
        assert list(entries) == expected
        assert [entries[place] for place in (0, 7, 19, -1)] == [expected[place] for place in (0, 7, 19, -1)]
        assert entries[3:5] == expected[3:5]
        assert repr(entries) == repr(expected)
        with pytest.raises(IndexError):
            entries[20]


def test_equal_keys_are_left_to_the_other_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    short_lists(monkeypatch)
    assert with_long_lists(b'{"a": [1], "a": [2]}') is None
    content = Content(Path("x.json"), b'{"a": [1], "a": [2]}')
    assert repr(content.document) == "{'a': a key that stands twice, with different values}"


def test_columns_of_objects_of_python_are_those_of_their_text() -> None:
    columns = columns_of([{"a": 1, "b": {"c": "x"}}, {"a": float("nan")}, {"a": [1, 2.5]}, {"a": True}])
    assert columns is not None
    a, c = columns["a",], columns["b", "c"]
    assert a.kinds.tolist() == [4, 5, 7, 3]
    assert a.inner.tolist() == [1.0, 2.5]
    assert a.bounds.tolist() == [0, 0, 0, 2, 2]
    assert [c.text(row) for row in range(4)] == ["x", None, None, None]
    assert columns_of([{"a": 1}, 2]) is None


def pyperf(runs: int) -> bytes:
    rng = np.random.default_rng(1)
    made = [
        {
            "metadata": {"date": f"2026-01-01 00:{run // 60:02}:{run % 60:02}.5", "duration": 0.25}
            | ({"hostname": f"h{run % 3}"} if run % 2 else {}),
            "values": rng.normal(0.1, 0.01, run % 4).tolist(),
        }
        for run in range(runs)
    ]
    document = {
        "version": "1.0",
        "metadata": {"hostname": "lab", "unit": "second"},
        "benchmarks": [{"metadata": {"name": name}, "runs": made} for name in ("a", "b")],
    }
    return json.dumps(document).encode()


def test_samples_of_blocks_become_the_same_trials_as_those_of_rows() -> None:
    reading = reading_of(Content(Path("x.json"), pyperf(50)))
    assert reading is not None
    rows = replace(reading, rows=list(reading.rows))
    found, expected = trial_set([reading], "x"), trial_set([rows], "x")
    assert found.table.height == sum(run % 4 for run in range(50)) * 2
    assert found.table.equals(expected.table)
    assert found.treatments == expected.treatments
    numbered = numbered_trial_set([reading], "x").table
    for level in ("host", "process", "trial"):
        assert numbered[level].n_unique() == expected.table[level].n_unique()


def test_trials_of_one_process_have_its_number() -> None:
    runs = [
        {"name": "a", "run_type": "iteration", "real_time": time, "cpu_time": time, "time_unit": "s"}
        for time in (1.5, 2)
    ]
    reading = reading_of(Content(Path("x.json"), json.dumps({"context": {}, "benchmarks": runs}).encode()))
    assert reading is not None
    table = numbered_trial_set([reading], "x").table.filter(metric="real_time")
    assert table["value"].to_list() == [1.5, 2.0]
    assert (table["process"].n_unique(), table["trial"].n_unique()) == (1, 2)


def test_means_of_parts_have_the_sums_of_python() -> None:
    """`math.fsum` rounds once, whatever cancels; beyond the range of doubles there is none."""
    rng = np.random.default_rng(3)
    parts = [
        rng.normal(size=length) * 2.0 ** rng.integers(-60, 60, length) for length in rng.integers(1, 30, 400)
    ]
    parts += [
        np.array(own)
        for own in ([0.1] * 10, [1e16, 1.0, -1e16], [2.0**53, 1.0, 1e-300], [-0.0], [5e-324] * 3)
    ]
    bounds = np.cumsum([0, *map(len, parts)])
    found = _core.part_means(np.concatenate(parts), bounds)
    assert found.tolist() == [math.fsum(own) / len(own) for own in parts]
    beyond = _core.part_means(np.array([1.0, np.inf, np.nan, 1e308, 1e308]), np.array([0, 2, 3, 5, 5]))
    assert np.isnan(beyond).all()
    for wrong in ([1, 0], [0, 6], [-1, 1]):
        with pytest.raises(ValueError, match="bounds"):
            _core.part_means(np.ones(5), np.array(wrong))
