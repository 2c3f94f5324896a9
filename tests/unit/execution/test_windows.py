"""Windows of the local day, also where clocks are set; expected moments are written by hand, from the zones' rules."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from trialwise.errors import PlanError
from trialwise.execution.windows import next_window, opening, zone_text
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.windows import Between
from trialwise.experiment.writing import write_experiment
from trialwise.study.artifact.rerun_folder import rerun_text

BERLIN = ZoneInfo("Europe/Berlin")
"""In 2026 UTC+1; from 29 March 01:00 UTC to 25 October 01:00 UTC UTC+2."""
NIGHT, DAY = Between(22 * 60, 6 * 60), Between(9 * 60, 17 * 60)


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("between", "now", "opens", "closes"),
    [
        (DAY, "2026-01-10 07:59", "2026-01-10 08:00", "2026-01-10 16:00"),
        (DAY, "2026-01-10 08:00", "2026-01-10 08:00", "2026-01-10 16:00"),
        (DAY, "2026-01-10 15:59", "2026-01-10 08:00", "2026-01-10 16:00"),
        (DAY, "2026-01-10 16:00", "2026-01-11 08:00", "2026-01-11 16:00"),
        (NIGHT, "2026-01-10 12:00", "2026-01-10 21:00", "2026-01-11 05:00"),
        (NIGHT, "2026-01-10 23:30", "2026-01-10 21:00", "2026-01-11 05:00"),
        (NIGHT, "2026-01-11 04:59", "2026-01-10 21:00", "2026-01-11 05:00"),
        (NIGHT, "2026-03-29 00:30", "2026-03-28 21:00", "2026-03-29 04:00"),  # the night has 7 hours
        (NIGHT, "2026-10-25 02:00", "2026-10-24 20:00", "2026-10-25 05:00"),  # and 9
        (
            Between(150, 240),
            "2026-03-29 00:00",
            "2026-03-29 01:30",
            "2026-03-29 02:00",
        ),  # 02:30 does not occur
        (Between(60, 150), "2026-03-28 23:59", "2026-03-29 00:00", "2026-03-29 01:30"),
        (Between(60, 150), "2026-10-25 00:00", "2026-10-24 23:00", "2026-10-25 00:30"),  # 02:30 occurs twice
        (Between(60, 150), "2026-10-25 00:30", "2026-10-26 00:00", "2026-10-26 01:30"),
    ],
)
def test_the_window_is_that_of_the_local_clock(between: Between, now: str, opens: str, closes: str):
    found = next_window(between, utc(now), BERLIN)
    assert (found.opens, found.closes) == (utc(opens), utc(closes))


def test_every_moment_of_a_year_is_in_its_window_or_before_it():
    """Windows follow each other: none ends before it opens, and a moment after the last one belongs to the next."""
    moment, last = utc("2026-01-01"), utc("2027-01-01")
    while moment < last:
        found = next_window(NIGHT, moment, BERLIN)
        assert found.closes - found.opens in (7 * 3600, 8 * 3600, 9 * 3600)
        assert moment < found.closes <= moment + 33 * 3600
        moment = found.closes


@pytest.mark.parametrize(
    ("moment", "text"), [("2026-01-10", "CET, UTC+01:00"), ("2026-07-10", "CEST, UTC+02:00")]
)
def test_the_zone_is_named_with_its_distance(moment: str, text: str):
    assert zone_text(utc(moment), BERLIN) == text


@pytest.mark.parametrize(
    ("now", "takes", "begins"),
    [
        ("2026-01-10 15:00", 3600, "2026-01-10 15:00"),
        ("2026-01-10 15:00", 3601, "2026-01-11 08:00"),
        ("2026-01-10 03:00", 8 * 3600, "2026-01-10 08:00"),
        ("2026-01-10 09:00", 8 * 3600, "2026-01-11 08:00"),
        ("2026-01-10 09:00", 8 * 3600 + 1, None),
    ],
)
def test_a_trial_begins_where_it_ends_in_the_window(now: str, takes: float, begins: str | None):
    assert opening(DAY, utc(now), takes, BERLIN) == (None if begins is None else utc(begins))


def test_a_night_too_short_for_a_trial_is_passed_over():
    """The night of 29 March has 7 hours; the next one has 8 again."""
    assert opening(NIGHT, utc("2026-03-28 21:00"), 7.5 * 3600, BERLIN) == utc("2026-03-29 20:00")


@pytest.mark.parametrize("text", ["22-06", "24:00-06:00", "22:00-22:00", "22:60-23:00", "٢٢:٠٠-06:00", ""])
def test_what_is_no_window_is_refused(text: str, tmp_path: Path):
    with pytest.raises(PlanError, match=r"design\.between"):
        parse_experiment(EXPERIMENT.replace("TIMES", text), tmp_path / "experiment.toml")


def test_a_window_is_read_and_written_as_it_is(tmp_path: Path):
    experiment = parse_experiment(EXPERIMENT.replace("TIMES", "22:00-06:30"), tmp_path / "experiment.toml")
    assert experiment.design.between == Between(22 * 60, 6 * 60 + 30)
    assert 'between = "22:00-06:30"' in write_experiment(experiment)


def test_a_re_run_by_others_waits_for_no_window_of_the_authors(tmp_path: Path):
    text = rerun_text(EXPERIMENT.replace("TIMES", "22:00-06:30"), seed=7, rounds=3)
    design = parse_experiment(text, tmp_path / "experiment.toml").design
    assert (design.between, design.rounds) == (None, 3)


EXPERIMENT = """
[experiment]
name = "w"
[trial]
command = "true"
[metrics.wall]
resource = "wall"
[design]
series = 1
rounds = 1
between = "TIMES"
"""
