"""Files: what is written reads back, and nothing that is read raises anything but PlanError."""

import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trialwise.errors import PlanError
from trialwise.experiment import model
from trialwise.experiment.file.positions import key_lines
from trialwise.experiment.reading import parse_experiment, read_experiment
from trialwise.experiment.toml_writing import toml_value
from trialwise.experiment.writing import write_experiment

from .strategies import experiments

FILE = Path("/nowhere/experiment.toml")


def refused_or_read(text: str) -> None:
    """Read it; a refusal must be ours and in our words, and anything else fails the test."""
    try:
        parse_experiment(text, FILE)
        said = str(FILE)
    except PlanError as error:
        said = str(error)
    assert said.startswith(str(FILE))
    assert "pydantic" not in said


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(experiments(FILE.parent))
def test_an_experiment_survives_its_file(experiment):
    assert parse_experiment(write_experiment(experiment), FILE) == experiment


def test_a_factor_drawn_from_a_file_survives(tmp_path):
    (tmp_path / "prefixes.txt").write_text("10.0.0.0/8\n\n 192.168.0.0/16 \r\n")
    file = tmp_path / "experiment.toml"
    file.write_text(
        '[experiment]\nname = "x"\n[factors]\np = { draw = "prefixes.txt" }\n'
        '[trial]\ncommand = "ping {p}"\n[metrics.m]\nresource = "wall"\n'
    )
    experiment = read_experiment(file)
    drawn = model.DrawnFactor("p", values=("10.0.0.0/8", "192.168.0.0/16"), origin="prefixes.txt")
    assert experiment.factors == (drawn,)
    assert parse_experiment(write_experiment(experiment), file) == experiment


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory, content):
    file = tmp_path_factory.getbasetemp() / "experiment.toml"
    file.write_bytes(content)
    with pytest.raises(PlanError):
        read_experiment(file)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from(list("[]{}=.,'\"\\#\n\t ab1-_e:Tx")), max_size=60))
def test_any_text_of_toml_characters(text):
    refused_or_read(text)


KEYS = [
    "experiment",
    "name",
    "seed",
    "factors",
    "draw",
    "low",
    "high",
    "trial",
    "command",
    "environment",
    "metrics",
]
KEYS += [
    "m",
    "stdout",
    "json",
    "csv",
    "time",
    "kpi",
    "percentile",
    "confidence",
    "variability",
    "convergence",
]
KEYS += [
    "limits",
    "measure",
    "design",
    "rounds",
    "series",
    "span",
    "reset",
    "every",
    "<table>",
    "[key]",
    "ä",
    "",
]
values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.datetimes(),
        st.dates(),
        st.times(),
        st.text(st.characters(codec="utf-8"), max_size=8),
        st.sampled_from(["auto", "wall", "10s", "{m}", "a 'b", "([0-9]+)", "p95"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
def test_any_toml(table):
    refused_or_read(tomlkit.dumps(table))


BASE = tomllib.loads(
    """
experiment = { name = "x", seed = 3 }
factors = { a = [1, 2], b = { draw = { low = 1, high = 3 } } }
trial = { command = "true {a} {b}", environment = { A = "1" }, timeout = "3s", exit_codes = [0] }
metrics = { m = { stdout = "(.)", kpi = [{ percentile = 5 }], variability = { confidence = 75 }, limits = [0, 1] } }
design = { rounds = 3, span = "1h" }
reset = { command = ["sync"], every = "round" }
"""
)


def places(value, key=()):
    """The keys of everything inside of a table."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield (*key, name)
        yield from places(item, (*key, name))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(places(BASE))), values)
def test_anything_in_the_place_of_anything(key, value):
    table = tomllib.loads(tomlkit.dumps(BASE))
    parent = table
    for part in key[:-1]:
        parent = parent[part]
    parent[key[-1]] = value
    refused_or_read(tomlkit.dumps(table))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=6), st.booleans())
def test_every_key_has_its_line(table, inline):
    text = "".join(
        f"{tomlkit.key(k).as_string()} = {tomlkit.item(v).as_string()}\n" for k, v in table.items()
    )
    text = text if inline and _is_valid(text) else tomlkit.dumps(table)
    lines = key_lines(text)
    assert set(places(tomllib.loads(text))) <= set(lines)
    for key, line in lines.items():
        assert 1 <= line <= text.count("\n") + 1
        if isinstance(key[-1], str) and key[-1] in "abm" and key[-1]:
            assert key[-1] in text.split("\n")[line - 1]


def _is_valid(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


plain = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(plain)
def test_values_are_written_on_one_line(value):
    written = toml_value(value)
    assert "\n" not in written
    assert tomllib.loads(f"key = {written}") == {"key": value}
