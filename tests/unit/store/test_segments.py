"""Samples of trials that share files are read many files at a time, whatever the files hold."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.errors import StoreError
from trialwise.store import samples


def written(folder: Path, sizes: tuple[int, ...]) -> list[samples.Wanted]:
    """Segments of one trial each and then of two, with values that say whose they are."""
    (folder / "samples").mkdir(exist_ok=True)
    wanted: list[samples.Wanted] = []
    number = 0
    for trials in (1, 1, 2):
        file = samples.segment_name(number, 1)
        entries: list[samples.Entry] = []
        for size in sizes[number : number + trials]:
            entries += [
                (number, 1, "fct", np.full(size, float(number)), None),
                (number, 1, "queue", np.full(2, -float(number)), np.arange(2.0)),
            ]
            wanted.append((file, number, 1, "fct"))
            number += 1
        samples.write_segment(folder / file, entries)
    return wanted


def test_segments_of_one_trial_and_of_several_are_read_together(tmp_path, monkeypatch):
    wanted = written(tmp_path, (3, 5, 0, 4))
    monkeypatch.setattr(samples, "read_samples", None)  # one after the other is not needed
    found = list(samples.read_many(tmp_path, wanted))
    assert [values.tolist() for values, _ in found] == [[0.0] * 3, [1.0] * 5, [], [3.0] * 4]
    assert all(times is None for _, times in found)
    (_, times) = next(samples.read_many(tmp_path, [(wanted[1][0], 1, 1, "queue")]))
    assert times.tolist() == [0.0, 1.0]


def test_segments_of_fixed_width_are_read_one_after_the_other(tmp_path):
    wanted = written(tmp_path, (3, 5, 2, 4))
    first = tmp_path / wanted[0][0]
    frame = pl.read_parquet(first)
    fixed = frame.filter(pl.col("source") == "fct").with_columns(pl.col("value").list.to_array(3))
    fixed.write_parquet(first)
    found = list(samples.read_many(tmp_path, wanted))
    assert [len(values) for values, _ in found] == [3, 5, 2, 4]


@pytest.mark.parametrize("timed", [False, True])
def test_files_of_one_trial_each_come_apart_where_they_were_joined(tmp_path, monkeypatch, timed):
    values = [[1.0, 2.0, 3.0], [], [4.0], [5.0, 6.0]]
    times = [[0.0, 0.5, 1.0], [], [0.25], [0.0, 2.0]]
    (tmp_path / "samples").mkdir()
    wanted: list[samples.Wanted] = []
    for number, (own, moments) in enumerate(zip(values, times, strict=True)):
        wanted.append((samples.file_name(number, 1, "fct"), number, 1, "fct"))
        samples.write_samples(tmp_path / wanted[-1][0], np.array(own), np.array(moments) if timed else None)
    monkeypatch.setattr(samples, "read_samples", None)  # one after the other is not needed
    found = list(samples.read_many(tmp_path, wanted))
    assert [part.tolist() for part, _ in found] == values
    assert [part if part is None else part.tolist() for _, part in found] == (times if timed else [None] * 4)


def test_a_trial_that_a_segment_lacks_is_named(tmp_path):
    wanted = [*written(tmp_path, (3, 5, 2, 4)), (samples.segment_name(0, 1), 9, 1, "fct")]
    with pytest.raises(StoreError, match="no samples of fct of trial 9"):
        list(samples.read_many(tmp_path, wanted))


def test_lists_of_more_elements_than_are_read_are_refused(tmp_path, monkeypatch):
    wanted = written(tmp_path, (3, 100, 2, 4))
    monkeypatch.setattr(samples, "MAX_VALUES", 99)
    with pytest.raises(StoreError, match="values, more than the 99"):
        list(samples.read_many(tmp_path, wanted[1:2]))
    assert [len(values) for values, _ in samples.read_many(tmp_path, wanted[:1])] == [3]
