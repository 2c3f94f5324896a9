from __future__ import annotations

import pytest

from trialwise.report.numbers import Number
from trialwise.report.plot_rows import in_unit
from trialwise.report.units import Scale, scale, standing_alone


@pytest.mark.parametrize(
    ("values", "unit", "shown"),
    [
        ([0.000009], "s", "9 µs"),
        ([0.0000000004], "s", "400 ps"),
        ([0.3876], "s", "0.3876 s"),
        ([0.0996], "s", "99.6 ms"),
        ([0.0996, 2.0], "s", "0.0996 s"),
        ([-0.0004], "s", "-400 µs"),
        ([250_000.0], "s", "250000 s"),
        ([0.0005], "ms", "500 ns"),
        ([123_000.0], "ms", "123 s"),
        ([94_371.5], "Mbit/s", "94372 Mbit/s"),
        ([250_000.0], "Mbit/s", "250 Gbit/s"),
        ([0.05], "Mbit/s", "50 kbit/s"),
        ([33_554_432.0], "B", "33.55 MB"),
        ([0.02], "B", "0.02 B"),
        ([0.00002], "%", "2e-05 %"),
        ([0.0002], "requests/s", "0.0002 requests/s"),
        ([200_000.0], "min", "200000 min"),
        ([0.00002], "", "2e-05"),
        ([0.0], "s", "0 s"),
        ([None, float("inf"), 0.00025], "s", "– µs"),
    ],
)
def test_the_largest_value_chooses_the_prefix_for_all(
    values: list[float | None], unit: str, shown: str
) -> None:
    assert scale(values, unit).with_unit(values[0]) == shown


def test_bounds_stay_rounded_outward_in_another_unit() -> None:
    found = scale([0.00012344, 0.00012346], "s")
    assert found == Scale("µs", -6)
    assert [found.write(0.00012344, "down"), found.write(0.00012346, "up")] == ["123.4", "123.5"]


def test_a_number_of_a_sentence_has_its_own_prefix_and_keeps_its_place_and_value() -> None:
    number = Number(0.0024441, "/metrics/0/kpis/0/result/value", "s", "up")
    assert standing_alone(number).with_unit == "2.445 ms"
    assert (number.with_unit, standing_alone(number).value) == ("0.002445 s", 0.0024441)


def test_points_are_drawn_in_the_unit_of_their_axis() -> None:
    rows = in_unit([{"value": 0.0002, "share": 0.5, "treatment": "a", "low": None}], Scale("µs", -6))
    assert rows == [{"value": pytest.approx(200.0), "share": 0.5, "treatment": "a", "low": None}]
