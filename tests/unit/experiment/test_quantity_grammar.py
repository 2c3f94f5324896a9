"""One grammar of quantities: what one place reads, every place reads, and as the same value."""

from __future__ import annotations

import itertools
import re
import time

import pytest

from trialwise import _core
from trialwise.experiment.quantity import duration_text, seconds
from trialwise.trials.trial_counts import bits_per_second, whole_bytes

NUMBERS = {"1": 1.0, "90": 90.0, "1.5": 1.5, "2.": 2.0, ".25": 0.25, "1e1": 10.0, "5E-1": 0.5, "+3": 3.0}
TIMES = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SIZES = {
    "": 1.0,
    **{f"{prefix}B": factor for prefix, factor in PREFIXES.items()},
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
GAPS = ("", " ")


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("unit", TIMES)
def test_times_are_the_same_in_experiments_and_simulations(unit: str, gap: str) -> None:
    for text, number in NUMBERS.items():
        expected = number * TIMES[unit]
        assert seconds(f"{text}{gap}{unit}") == pytest.approx(expected, rel=1e-12)
        assert _core.parse_picoseconds(f"{text}{gap}{unit}") == pytest.approx(expected * 1e12, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"), [("1min 30s", 90.0), ("1h 30min 10s", 5410.0), ("30s1min", 90.0), ("1s 500ms", 1.5)]
)
def test_times_of_several_parts_are_their_sum(text: str, expected: float) -> None:
    assert seconds(text) == expected
    assert _core.parse_picoseconds(text) == expected * 1e12


@pytest.mark.parametrize("text", ["1" * 100_000, " " * 100_000, "1s" * 50_000])
def test_a_text_of_any_length_is_refused_soon(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("unit", SIZES)
def test_sizes_are_the_same_of_loads_and_classes(unit: str, gap: str) -> None:
    for text, number in NUMBERS.items():
        expected = number * SIZES[unit]
        if expected >= 1 and expected == int(expected):
            assert whole_bytes(f"{text}{gap}{unit}") == expected
            assert _core.parse_size(f"{text}{gap}{unit}") == expected


@pytest.mark.parametrize(("prefix", "unit"), list(itertools.product(PREFIXES, ("bit/s", "bps", "b/s"))))
def test_rates_are_the_same_of_loads_and_topologies(prefix: str, unit: str) -> None:
    for text, number in NUMBERS.items():
        expected = number * PREFIXES[prefix]
        if expected == int(expected):
            rate = f"{text}{prefix}{unit}"
            assert bits_per_second(rate) == expected
            assert _core.Fabric(f"dumbbell:1x1,{rate},1us").bottleneck == expected


@pytest.mark.parametrize("text", ["5", "-1s", "1 fortnight", "s", "", "1.2.3s"])
def test_what_is_no_time_is_refused_everywhere(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        seconds(text)
    with pytest.raises(ValueError, match="not a"):
        _core.parse_picoseconds(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (59.9, "59.9s"),
        (59.97, "1min"),
        (119.7, "2min"),
        (3590, "59min 50s"),
        (3599.6, "1h"),
        (86399, "1d"),
        (603936, "1w"),
    ],
)
def test_a_duration_that_rounds_up_to_a_unit_is_written_in_it(value: float, text: str):
    assert duration_text(value) == text


def test_no_duration_has_as_much_of_a_unit_as_the_next_one_is():
    for exponent in range(7 * 500):
        text = duration_text(1.004**exponent)
        parts = {unit: float(number) for number, unit in re.findall(r"([0-9.]+)([a-z]+)", text)}
        for unit, most in {"s": 60, "min": 60, "h": 24, "d": 7}.items():
            assert parts.get(unit, 0) < most, text
