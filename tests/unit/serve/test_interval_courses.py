"""The course of an interval ends with the interval that `analyze` prints."""

from __future__ import annotations

from pathlib import Path

from trialwise import study
from trialwise.analysis.interval_courses import MOST_POINTS, interval_courses


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
