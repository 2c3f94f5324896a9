"""The experiment that is made of flavours."""

import subprocess

import pytest

from trialwise.design.observer import flavour_command, observer_experiment, rounds_of
from trialwise.errors import PlanError
from trialwise.experiment.model import Extent
from trialwise.experiment.option_words import extent_of, levels_of, metric_of
from trialwise.experiment.placeholders import fill
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment

BARE = {"none": "printf '%s|' a b", "probe": "printf %s {rate}"}


def printed(command, **values):
    return subprocess.run(
        [fill(word, values) for word in command], capture_output=True, text=True, check=True
    ).stdout


def test_the_shell_becomes_the_program_with_the_words_that_were_given():
    command = flavour_command(
        {
            "none": r"printf '%s|' 'it is' \"x\" {{rate}} '$HOME' a{rate}b",
            "of a kind": "printf '%s|' {seed} '' '{rate} {rate}'",
        },
        ["rate"],
    )
    assert (
        printed(command, flavour="none", rate="1; echo no", seed=7) == 'it is|"x"|{rate}|$HOME|a1; echo nob|'
    )
    assert printed(command, flavour="of a kind", rate='"$(id)"', seed=7) == '7||"$(id)" "$(id)"|'


def test_the_file_reads_back_as_the_experiment(tmp_path):
    metric = metric_of("served", r"stdout:served ([0-9]+)")
    experiment, rounds = observer_experiment(
        "o", BARE, {"rate": levels_of("1,2.5,many")}, [metric], reset="rm -f cache"
    )
    read = parse_experiment(write_experiment(experiment), tmp_path / "o.toml")
    assert read.trial.command == experiment.trial.command
    assert read.factors == experiment.factors
    assert read.design == experiment.design
    assert read.design.base == ("flavour", "none")
    assert read.reset.command == ("rm", "-f", "cache")
    assert (rounds.number, rounds.order) == (24, "balanced")


@pytest.mark.parametrize(
    ("treatments", "trials", "number", "order"),
    [
        (2, None, 20, "balanced"),
        (3, None, 24, "balanced"),
        (4, None, 20, "balanced"),
        (8, None, 24, "balanced"),
        (15, None, 20, "random"),
        (40, None, 20, "random"),
        (4, 8, 8, "balanced"),
        (4, 5, 5, "random"),
    ],
)
def test_rounds(treatments, trials, number, order):
    found = rounds_of(treatments, trials)
    assert (found.number, found.order) == (number, order)


@pytest.mark.parametrize(
    ("flavours", "loads", "said"),
    [
        ({"none": "true"}, {}, "nothing to be compared"),
        (BARE, {"flavour": [1]}, "given with --flavour"),
        ({"a": "true", "b": "true 'x"}, {}, "cannot be split"),
        ({"a": "true", "b": " "}, {}, "empty"),
        ({"a": "true", "b": "false"}, {"rate": [1]}, "uses {rate}"),
    ],
)
def test_what_makes_no_experiment_is_refused(flavours, loads, said):
    with pytest.raises(PlanError, match=said):
        observer_experiment("o", flavours, loads, [metric_of("time", "wall")])


def test_metrics_and_margins_in_a_word():
    assert metric_of("t", "wall").source.key == "resource:wall"
    assert metric_of("t", "json:/a/b").source.key == "stdout|json:/a/b"
    assert metric_of("t", "csv:x").source.key == "stdout|csv:x"
    assert metric_of("t", "stream:a_b.c").source.key == "stream:a_b.c"
    assert metric_of("t", "instrument:user").source.key == "instrument:user"
    for words in ("", "wal", "stdout:", "stream:x", "what:x"):
        with pytest.raises(PlanError, match="does not say"):
            metric_of("t", words)
    assert extent_of("5%") == Extent(5.0, relative=True)
    assert extent_of("0.5") == Extent(0.5, relative=False)
    for text in ("0", "-1%", "x", "nan", "inf", ""):
        with pytest.raises(PlanError, match="not a valid margin"):
            extent_of(text)
