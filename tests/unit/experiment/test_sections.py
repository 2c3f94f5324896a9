"""A key of the experiment file is one field of one record: reading, words, schema and writing follow from it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from trialwise.errors import PlanError
from trialwise.experiment import model
from trialwise.experiment.file.document import Document, document_schema
from trialwise.experiment.file.sections import (
    RECORDS,
    Limits,
    Section,
    adapter,
    key,
    keys_of,
    made_of,
    schema_of,
    table_of,
)
from trialwise.experiment.file.values import Argv, PositiveDuration, Text, several
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment


@dataclass(frozen=True, slots=True)
class Oven(Section):
    """What bakes."""

    bread: Text = key(..., "What is baked.", "rye")
    heat: Annotated[int, Limits(ge=0, le=300)] = key(200, "Degrees.", 250)
    time: PositiveDuration | None = key(None, "How long.", "45min")
    before: Argv | None = key(None, "Command run before.", "light --gas 'all of it'")
    racks: Annotated[tuple[str, ...], several(Text)] = key((), "Which racks.", ["top"], name="rack")
    fan: Literal["on", "off"] = key("off", "Depends on the heat.", derived=True)
    inside: float = 0.5


def test_a_table_is_read_into_the_record():
    table = {"bread": "rye", "time": "1h 30min", "before": "a 'b c'", "rack": ["top", "low"]}
    read = made_of(Oven, adapter(Oven).validate_python(table))
    assert read == Oven("rye", time=5400.0, before=("a", "b c"), racks=("top", "low"))


@pytest.mark.parametrize(
    ("table", "place", "kind"),
    [
        ({}, ("bread",), "missing"),
        ({"bread": ""}, ("bread",), "string_too_short"),
        ({"bread": 3}, ("bread",), "string_type"),
        ({"bread": "rye", "heat": 301}, ("heat",), "less_than_equal"),
        ({"bread": "rye", "heat": True}, ("heat",), "int_type"),
        ({"bread": "rye", "heat": "200"}, ("heat",), "int_type"),
        ({"bread": "rye", "time": 0}, ("time",), "value_error"),
        ({"bread": "rye", "racks": []}, ("racks",), "unexpected_keyword_argument"),
        ({"bread": "rye", "inside": 0.7}, ("inside",), "unexpected_keyword_argument"),
        ({"bread": "rye", "rack": ["top", 1]}, ("rack", 1), "string_type"),
    ],
)
def test_what_is_no_such_table_is_refused_at_its_key(table, place, kind):
    with pytest.raises(ValidationError) as refused:
        adapter(Oven).validate_python(table)
    assert [(error["loc"], error["type"]) for error in refused.value.errors()] == [(place, kind)]


def test_a_record_is_written_as_it_was_read():
    oven = Oven("rye", heat=250, before=("a", "b c"), racks=("top",))
    written = {"bread": "rye", "heat": 250, "before": "a 'b c'", "rack": ["top"]}
    assert table_of(oven) == written
    assert made_of(Oven, adapter(Oven).validate_python(written)) == oven
    assert table_of(Oven("rye"), whole=True) == {"bread": "rye", "heat": 200, "rack": [], "fan": "off"}
    assert table_of(Oven("rye", fan="on"), fan="on") == {"bread": "rye"}


def test_the_schema_has_the_words_the_limits_and_the_defaults():
    schema = schema_of(Oven)
    assert schema["description"] == "What bakes."
    assert schema["required"] == ["bread"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["bread", "heat", "time", "before", "rack", "fan"]
    heat = schema["properties"]["heat"]
    assert (heat["description"], heat["examples"], heat["default"]) == ("Degrees.", [250], 200)
    assert (heat["minimum"], heat["maximum"]) == (0, 300)
    assert schema["properties"]["fan"]["default"] is None


def test_elsewhere_a_record_is_the_plain_dataclass_that_it_is():
    plain = TypeAdapter(Oven)
    assert plain.json_schema()["properties"]["time"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert "racks" in plain.json_schema()["properties"]
    assert dataclasses.asdict(Oven("rye"))["inside"] == 0.5
    assert dataclasses.replace(Oven("rye"), heat=7).heat == 7


OURS = {name: record for name, record in RECORDS.items() if record.__module__.startswith("trialwise.")}
EXAMPLES = [
    pytest.param(field, example, id=f"{name}.{field.name}")
    for name, record in OURS.items()
    for field in keys_of(record).values()
    for example in field.key.examples
]


@pytest.mark.parametrize(("field", "example"), EXAMPLES)
def test_every_example_may_stand_there(field, example):
    adapter(field.hint).validate_python(example)


@pytest.mark.parametrize("name", OURS)
def test_every_key_has_words(name):
    assert document_schema()
    for field in keys_of(OURS[name]).values():
        table = isinstance(field.hint, type) and issubclass(field.hint, Section)
        assert field.key.words or table or OURS[name] is Document, field.name


@pytest.mark.parametrize("name", OURS)
def test_every_default_may_be_written_and_reads_back(name):
    for field in keys_of(OURS[name]).values():
        if field.default not in (dataclasses.MISSING, None, "") and (
            written := field.write(field.default)
        ) not in (None, [], {}):
            assert adapter(field.hint).validate_python(written) == field.default, field.name


BASE = '[experiment]\nname = "x"\n[trial]\n{}\n[metrics.m]\n{}\n'


def said(trial, metric='resource = "wall"'):
    with pytest.raises(PlanError) as refused:
        parse_experiment(BASE.format(trial, metric), Path("experiment.toml"))
    return str(refused.value)


def test_what_is_misspelt_is_not_missing_as_well():
    assert said('comand = "true"').startswith(
        'experiment.toml:4: trial.comand: unknown key; did you mean "command"?'
    )


def test_keys_of_another_kind_hide_no_other_problem():
    text = said('command = "true"\nscheme = "cubic"', 'stdout = "[0-9]+"')
    assert 'trial.scheme: only valid with kind = "path" or "simulation"' in text
    assert "metrics.m.stdout: must have exactly one group" in text


def test_what_a_trial_lacks_hides_no_other_problem():
    text = said('kind = "path"\nwarmup = "2s"', 'quantity = "thruput"')
    for place in (
        "trial.path: missing",
        "trial.runtime: missing",
        "trial.scheme: missing",
        "metrics.m.quantity",
    ):
        assert place in text


def test_a_kind_that_is_none_is_said_at_its_key():
    assert 'trial.kind: must be "command", "python", "path", or "simulation"; given: 3' in said("kind = 3")


@pytest.mark.parametrize(
    "kind", ["0x" + "F" * 6000, "[[]]", "{ a = 1 }", '"<command>"', "nan", '"' + "x" * 9999 + '"']
)
def test_a_hostile_kind_is_refused_in_a_line(kind):
    for metric in ('resource = "wall"', "no_such_key = 1"):
        assert max(map(len, said(f"kind = {kind}", metric).splitlines())) < 300


def test_an_experiment_is_made_by_position_as_before():
    experiment = model.Experiment("x", Path(), model_trial(), ())
    assert (experiment.seed, experiment.description, experiment.factors) == (0, "", ())
    assert '[experiment]\nname = "x"\nseed = 0\n' in write_experiment(experiment)


def model_trial():
    from trialwise.experiment.trials import CommandTrial

    return CommandTrial(("true",))
