import json

import pytest
from jsonschema import Draft202012Validator

from trialwise import study
from trialwise.cli.new import new
from trialwise.cli.schema import json_schema, schema
from trialwise.errors import PlanError
from trialwise.experiment.model import FixedFactor
from trialwise.experiment.reading import read_experiment
from trialwise.experiment.sources import TextSource
from trialwise.experiment.trials import CommandTrial


def test_the_example_runs_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert new() == 0
    assert "next: trialwise plan experiment.toml" in capsys.readouterr().out
    result = study.run(tmp_path / "experiment.toml")
    assert result.ending.reason == "complete"
    assert result.counts == {"finished": 15}


def test_an_existing_file_is_left_as_it_is(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text("mine")
    with pytest.raises(PlanError, match="exists"):
        new(file)
    assert file.read_text() == "mine"


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(PlanError, match="cannot be written: No such file"):
        new(tmp_path / "absent" / "experiment.toml")


def test_options_come_out_as_the_experiment(tmp_path):
    file = tmp_path / "ping me.toml"
    command = "ping -c {count} -W 'a b' {host} {quiet}"
    new(
        file,
        command=command,
        factor=["count=1,5,2.5,1e3,-4", "quiet=true,no", "host=localhost, ::1"],
        metric=["rtt== [0-9.]+/([0-9.]+)/", 'loss="(\\d+)%"'],
    )
    experiment = read_experiment(file)
    assert experiment.name == "ping-me"
    assert experiment.factors == (
        FixedFactor("count", (1, 5, 2.5, 1000.0, -4)),
        FixedFactor("quiet", (True, "no")),
        FixedFactor("host", ("localhost", "::1")),
    )
    assert isinstance(experiment.trial, CommandTrial)
    assert experiment.trial.command == ("ping", "-c", "{count}", "-W", "a b", "{host}", "{quiet}")
    assert [metric.source for metric in experiment.metrics] == [
        TextSource(pattern="= [0-9.]+/([0-9.]+)/"),
        TextSource(pattern='"(\\d+)%"'),
    ]


def test_without_a_metric_the_wall_time_is_one(tmp_path):
    new(tmp_path / "x.toml", command="true")
    assert [metric.source.key for metric in read_experiment(tmp_path / "x.toml").metrics] == ["resource:wall"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": ["a=1"]}, "go with --command"),
        ({"command": "true {a}", "factor": ["a"]}, "--factor a: is not NAME=VALUE"),
        ({"command": "true {a}", "factor": ["a=1", "a=2"]}, "--factor a=2: stands twice"),
        ({"command": "true", "factor": ["a=1"]}, "no text of the trial uses this factor"),
        ({"command": "true {a}"}, "neither a factor nor built in"),
        ({"command": "true", "metric": ["m=x"]}, "exactly one group"),
        ({"command": "true 'a"}, "no closing quotation"),
    ],
)
def test_wrong_options_write_nothing(tmp_path, options, message):
    with pytest.raises(PlanError, match=message):
        new(tmp_path / "x.toml", **options)
    assert not (tmp_path / "x.toml").exists()


def test_schema_prints_json(capsys):
    assert schema() == 0
    assert json.loads(capsys.readouterr().out) == json_schema("experiment")


def test_the_schema_takes_what_is_read_and_refuses_what_is_not(tmp_path):
    import tomllib

    new(tmp_path / "x.toml")
    table = tomllib.loads((tmp_path / "x.toml").read_text())
    validator = Draft202012Validator(json_schema("experiment"))
    validator.validate(table)
    assert not validator.is_valid(table | {"desing": {}})
    assert not validator.is_valid(table | {"design": {"rounds": 0}})
    assert not validator.is_valid(table | {"factors": {"a b": [1]}})
    assert validator.is_valid(table | {"factors": {"a": {"draw": {"low": 1, "high": 2}}}})


def test_a_simulation_to_start_from_runs_as_it_is(tmp_path):
    file = tmp_path / "dumbbell.toml"
    assert new(file, simulation=True) == 0
    experiment = read_experiment(file)
    assert experiment.name == "dumbbell"
    assert experiment.trial.traits.computed
    short = file.read_text().replace("max_trials = 10000", "max_trials = 30").replace('"10%"', '"90%"')
    file.write_text(short)
    result = study.run(file, tmp_path / "results")
    assert result.counts == {"finished": 60}


def test_a_simulation_takes_no_command(tmp_path):
    with pytest.raises(PlanError, match="--simulation takes no other option"):
        new(tmp_path / "x.toml", command="true", simulation=True)
