"""The course of an interval ends with the interval that `analyze` prints."""

from __future__ import annotations

from pathlib import Path

from example_directory import analyse_example, write_example
from trialwise import study
from trialwise.analysis.interval_courses import MOST_POINTS, interval_courses, latest_courses
from trialwise.study.locating import opened


def test_courses_end_with_the_intervals_of_the_analysis(folder: Path) -> None:
    analysis = study.analyse(folder / "hostile.results")
    courses = interval_courses(analysis)
    ends = {(each.metric, each.treatment): each.points[-1] for each in courses}
    told = {
        (found.metric.name, mean.treatment): (mean.n, mean.interval.low, mean.interval.high)
        for found in analysis.metrics
        for mean in found.means
        if mean.interval is not None
    }
    assert {key: (end.n, end.low, end.high) for key, end in ends.items()} == told
    assert len(told) == 2
    for course in courses:
        numbers = [point.n for point in course.points]
        assert numbers == sorted(set(numbers))
        assert len(numbers) <= MOST_POINTS


def test_courses_from_the_rows_are_those_of_the_analysis(tmp_path: Path) -> None:
    """Over several series and environments, with failed trials; what has samples in files needs the analysis."""
    path = write_example(tmp_path / "compressors.results", more_metrics=2)
    expected = [each for each in interval_courses(analyse_example(path)) if each.metric != "latency"]
    with opened(path) as (experiment, _, ledger):
        found = latest_courses(experiment, ledger)
    assert [course for each in found.values() for course in each] == expected
    assert list(found) == ["speed", "ratio", "m0", "m1"]
    assert len(expected) == 24
