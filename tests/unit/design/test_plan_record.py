"""What a directory is recognised by: equal for what it always was equal for, and another where a key that came later is given."""

from dataclasses import replace
from pathlib import Path

from trialwise.design.plan_record import plan_record
from trialwise.experiment.model import Design, Experiment, FreshDirectory, Metric, Reset, Workers
from trialwise.experiment.sources import ResourceSource
from trialwise.experiment.trials import CommandTrial, PythonTrial

PLAIN = Experiment("x", Path("/a"), CommandTrial(("true",)), (Metric("m", ResourceSource("wall")),))


def test_what_decides_nothing_does_not_stand_in_it():
    other = replace(
        PLAIN, folder=Path("/b"), workers=Workers(use=("ssh://w",)), design=Design(rounds=9, stop="verdict")
    )
    assert plan_record(other) == plan_record(PLAIN)


def test_what_decides_trials_does():
    for changed in (
        replace(PLAIN, seed=1),
        replace(PLAIN, design=Design(order="fixed")),
        replace(PLAIN, trial=CommandTrial(("false",))),
        replace(PLAIN, reset=Reset(command=("sync",))),
    ):
        assert plan_record(changed) != plan_record(PLAIN)


def test_a_reset_has_the_shape_that_it_always_had():
    record = plan_record(replace(PLAIN, reset=Reset(directory=FreshDirectory("work", "clean"))))["reset"]
    assert (record["directory"], record["template"]) == ("work", "clean")
    assert len(record) == 11


def test_a_key_that_came_later_counts_where_it_is_given():
    fresh, shared = (replace(PLAIN, trial=PythonTrial("m:f", process=each)) for each in ("trial", "shared"))
    assert "process" not in plan_record(fresh)["trial"]
    assert plan_record(shared)["trial"]["process"] == "shared"
    kept = replace(PLAIN, trial=CommandTrial(("true",), keep=("out/",)))
    assert "keep" not in plan_record(PLAIN)["trial"]
    assert plan_record(kept)["trial"]["keep"] == ["out/"]
