"""The profile of a path from planted records, and what is refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from path_conditions import ABOUT, MIDNIGHT, day_of_path, write_conditions
from trialwise.analysis.conditions.path import Round, path_profile
from trialwise.cli.schema import json_schema
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.exchange.condition_json import condition_document
from trialwise.experiment.model import Extent
from trialwise.measurement.condition_files import ConditionFile, profiled_rates, read_conditions_of_path
from trialwise.measurement.condition_rows import COLUMNS, Condition
from trialwise.report.document import plain
from trialwise.report.documents.path_profile import document

MINUTE = 60.0
FIVE_PERCENT = {"delay": Extent(5.0, relative=True), "rate": Extent(5.0, relative=True)}


def profiled(tmp_path, rows, margins=FIVE_PERCENT):
    path = write_conditions(tmp_path / "x.conditions.csv", rows)
    return path_profile(path, read_conditions_of_path(path), Round(12, 60.0, 74.0), margins)


def test_a_planted_day_is_told_and_rounds_are_spread_over_it(tmp_path):
    found = profiled(tmp_path, day_of_path())
    trip = found.quantities[0]
    assert (trip.name, trip.n) == ("round_trip", 4320)
    assert trip.usual == pytest.approx(30, abs=0.1)
    # Medians of the hours around 06:00 and 18:00, of 2 ms times the mean of a cosine half an hour to each side.
    assert (trip.quietest, trip.busiest) == (pytest.approx(28, abs=0.1), pytest.approx(32, abs=0.1))
    assert trip.quietest_hour in (5, 6)
    assert trip.busiest_hour in (17, 18)
    assert trip.margin == pytest.approx(1.5, abs=0.01)
    # Twelve trials in random order are 13/3 places of 74 s apart on average: the day moves by 0.05 ms meanwhile.
    assert trip.rounds.deviation == pytest.approx(0.4 * np.sqrt(2), rel=0.03)
    assert [period.name for period in found.moves[0].periods] == ["day"]
    assert found.decided_by in ("up_p95", "down_p95")
    assert found.rounds == max(one.rounds.rounds for one in found.quantities if one.rounds)
    assert found.span % 86_400 == 0
    assert found.spacing == found.span / found.rounds
    assert found.design_lines == (f"rounds = {found.rounds}", 'span = "7d"')
    assert len(found.hours) == 24
    assert found.hours[18].medians["round_trip"] == pytest.approx(32, abs=0.1)
    assert (found.probes_sent, found.skew_ppm) == ((4320 * 1200,) * 2, 12.5)
    text = plain(document(found).answer)
    assert text.startswith("The lowest round trip is usually")
    assert f"asks for {found.rounds} rounds or more" in " ".join(text.split())
    Draft202012Validator(json_schema("path-profile")).validate(
        json.loads(json.dumps(condition_document(found)))
    )


def test_other_routes_other_ttls_and_steps_of_clocks_are_counted(tmp_path):
    rows = day_of_path(0.1)
    rows[20] = dataclasses.replace(rows[20], route_ms=5.0)
    rows[30] = dataclasses.replace(rows[30], clock_steps=2)
    rows[40:] = [dataclasses.replace(row, up_ttl=55) for row in rows[40:]]
    found = profiled(tmp_path, rows)
    assert (found.route_changes, found.ttl_changes, found.clock_steps) == (1, 1, 2)
    assert any("of a day" in note for note in found.notes)


def test_an_absolute_margin_and_one_of_loss_are_taken_as_they_are(tmp_path):
    margins = {"delay": Extent(2.0, relative=False), "loss": Extent(0.1, relative=False)}
    found = profiled(tmp_path, day_of_path(1), margins=margins)
    of = {one.name: one.margin for one in found.quantities}
    assert of == {"round_trip": 2.0, "up_p95": 2.0, "down_p95": 2.0, "up_loss": 0.1, "down_loss": 0.1}
    # The share of 1200 probes that are lost with a chance of 0.2 %.
    loss = next(one for one in found.quantities if one.name == "up_loss")
    assert loss.rounds.deviation == pytest.approx(100 * np.sqrt(2 * 0.002 * 0.998 / 1200), rel=0.05)


def test_a_path_of_which_one_direction_is_silent_is_profiled(tmp_path):
    rows = [
        Condition(MIDNIGHT + 60 * at, 60.0, up_p95_ms=1.0, up_p50_ms=0.5, up_sent=1200, up_lost=0)
        for at in range(100)
    ]
    found = profiled(tmp_path, rows)
    assert {one.name for one in found.quantities} == {"up_p95", "up_loss"}
    assert plain(document(found).answer)


def test_what_is_added_is_read_again(tmp_path):
    rows = day_of_path(0.01)
    path = write_conditions(tmp_path / "x.csv", rows[:5])
    write_conditions(path, rows[5:])
    again = read_conditions_of_path(path)
    assert again.about == ABOUT
    for one, other in zip(again.rows, rows, strict=True):
        for name in COLUMNS:
            value = getattr(other, name)
            assert getattr(one, name) == (None if value is None else pytest.approx(value, rel=1e-8))


def test_a_line_without_its_end_is_cut_off(tmp_path):
    path = write_conditions(tmp_path / "x.csv", day_of_path(0.01))
    whole = path.read_bytes()
    path.write_bytes(whole + b"2026-11-02T10:00:00.000,60,30")
    assert len(read_conditions_of_path(path).rows) == 15
    with ConditionFile(path, ABOUT):
        assert path.read_bytes() == whole
        with pytest.raises(TrialwiseError, match="another process"):
            ConditionFile(path, ABOUT)


@pytest.mark.parametrize("other", [{"path": "elsewhere"}, {"every": 30.0}, {"ends": "e" * 16}])
def test_rows_of_another_path_are_not_mixed(tmp_path, other):
    path = write_conditions(tmp_path / "x.csv", day_of_path(0.01))
    with pytest.raises(TrialwiseError, match="this file holds 60-second rows of the path 'to-berlin'"):
        ConditionFile(path, dataclasses.replace(ABOUT, **other))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no record of the condition"),
        (b"a,b\n1,2\n", "no record of the condition"),
        (b"# trialwise.conditions/1 {}\n", "no record of the condition"),
        (b"# trialwise.conditions/1 " + b"[" * 100_000 + b"\n", "no record of the condition"),
        (b"# trialwise.conditions/1 \xff\n", "no record of the condition"),
        (ABOUT.line.encode() + b"time\n", "does not name the columns"),
        (ABOUT.line.encode() + ",".join(COLUMNS).encode() + b"\n1,2\n", "line 3 is damaged: 2 values"),
        (
            ABOUT.line.encode() + ",".join(COLUMNS).encode() + b"\nnow" + b"," * 17 + b"\n",
            "line 3 is damaged",
        ),
        (
            ABOUT.line.encode()
            + ",".join(COLUMNS).encode()
            + b"\n2026-11-02T10:00:00,60,nan"
            + b"," * 15
            + b"\n",
            "round_trip_ms is nan",
        ),
        (
            ABOUT.line.encode()
            + ",".join(COLUMNS).encode()
            + b"\n2026-11-02T10:00:00,60,-1"
            + b"," * 15
            + b"\n",
            "round_trip_ms is below 0",
        ),
    ],
)
def test_damaged_files_are_refused_and_left_alone(tmp_path, content, says):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(AnalysisError, match=says):
        read_conditions_of_path(path)
    if content:
        with pytest.raises(AnalysisError):
            ConditionFile(path, ABOUT)
        assert path.read_bytes() == content


def test_a_quantity_that_no_number_of_rounds_will_do_for_decides(tmp_path):
    found = profiled(tmp_path, day_of_path(1), {"delay": Extent(1e-3, relative=False)})
    assert (found.rounds, found.spacing) == (None, None)
    assert "No number of rounds will do" in plain(document(found).answer)


@pytest.mark.parametrize("apart", [120.0, 1800.0])
def test_rates_that_are_measured_now_and_then_ask_for_rounds_of_their_own(tmp_path, apart):
    rng = np.random.default_rng(3)
    rated = [
        Condition(MIDNIGHT + 1 + apart * at, 11.0, up_mbps=20 + rng.normal(), down_mbps=50.0)
        for at in range(100)
    ]
    found = profiled(tmp_path, [*day_of_path(0.2), *rated])
    up, down = (
        next(one for one in found.quantities if one.name == name) for name in ("up_rate", "down_rate")
    )
    assert up.margin == pytest.approx(1, abs=0.02)
    assert up.rounds.deviation == pytest.approx(np.sqrt(2), rel=0.2)
    assert up.rounds.rounds > 20 > down.rounds.rounds
    assert found.decided_by == "up_rate"
    assert found.rates == (pytest.approx(20, abs=0.3), 50.0)
    assert profiled_rates(tmp_path / "x.conditions.csv") == (found.rates[0] * 1e6, 50e6)


def test_a_record_without_rows_says_how_to_get_some(tmp_path):
    path = write_conditions(tmp_path / "x.csv", [])
    with pytest.raises(AnalysisError, match="no condition of the path was recorded yet"):
        path_profile(path, read_conditions_of_path(path), Round(2, 60.0, 74.0), FIVE_PERCENT)
