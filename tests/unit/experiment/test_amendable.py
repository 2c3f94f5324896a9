"""Every key of the experiment file has a stated effect on an experiment that has begun."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from trialwise.experiment.amendable import SECTIONS, WORDS, Effect, differences, effect_of, stated_keys
from trialwise.experiment.design import Design
from trialwise.experiment.file.document import Document, trial_tables
from trialwise.experiment.file.sections import Section, keys_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.model import ExperimentTable
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.results import ResultsTable

FILE = """
[experiment]
name = "x"

[factors]
a = [1, 2]

[trial]
command = "sleep {a}"
timeout = "5s"

[metrics.m]
stdout = "v (.)"
unit = "ms"

[design]
rounds = 3
"""


def names(record: type[Section]) -> set[str]:
    return {field.name for field in keys_of(record).values()}


def test_every_section_is_stated():
    assert set(SECTIONS) | {"trial"} == names(Document)


@pytest.mark.parametrize(
    ("section", "record"),
    [
        ("experiment", ExperimentTable),
        ("metrics", MetricTable),
        ("design", Design),
        ("results", ResultsTable),
    ],
)
def test_every_key_of_a_section_is_stated(section: str, record: type[Section]):
    assert stated_keys(section) == names(record)


@pytest.mark.parametrize("kind", ["command", "python", "path", "simulation"])
def test_every_key_of_a_kind_of_trials_is_stated(kind: str):
    assert stated_keys("trial", kind) == names(trial_tables()[kind])


def test_every_effect_has_words():
    assert set(WORDS) == set(get_args(Effect))


def test_a_kind_from_another_package_is_another_experiment_but_for_its_retries():
    assert effect_of("other", "trial", "anything") == "refused"
    assert effect_of("other", "trial", "retry") == "nothing"


def test_keys_that_differ_are_told_with_their_values_and_what_follows():
    now = FILE
    for old, new in (
        ("sleep {a}", "sleep {a} 1"),
        ("[1, 2]", "[1, 2, 3]"),
        ("5s", "7s"),
        ('unit = "ms"', 'kpi = { percentile = 50, confidence = 75 }\n[metrics.n]\nstdout = "n (.)"'),
    ):
        assert old in now
        now = now.replace(old, new)
    found = differences(*(parse_experiment(text, Path("e.toml")) for text in (FILE, now)))
    assert [(each.key, each.then, each.now, each.effect) for each in found] == [
        ("factors.a", "[1, 2]", "[1, 2, 3]", "trials"),
        ("trial.command", "\"sleep '{a}'\"", "\"sleep '{a}' 1\"", "asked epoch"),
        ("trial.timeout", "5.0", "7.0", "epoch"),
        ("metrics.m.unit", '"ms"', "", "nothing"),
        ("metrics.m.kpi", "", "[{ percentile = 50.0, confidence = 75.0 }]", "claims"),
        ("metrics.n.stdout", "", '"n (.)"', "reread"),
    ]
    assert not differences(*[parse_experiment(FILE, Path("e.toml"))] * 2)
