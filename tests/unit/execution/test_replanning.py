"""What a file that was changed on the way makes of the plan: nothing where no trial comes or goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trialwise import study
from trialwise.execution.amending import Changes, amendment
from trialwise.execution.replanning import Began, replanned
from trialwise.experiment.reading import parse_experiment
from trialwise.store.ledger import Ledger

TEXT = """
[experiment]
name = "x"
[factors]
a = {levels}
[trial]
command = "true {{a}}"
[metrics.m]
resource = "wall"
{unit}
[design]
rounds = 2
series = 1
"""
BEGAN = TEXT.format(levels="[1, 2]", unit="")


@pytest.fixture
def began(tmp_path: Path) -> Began:
    """An experiment of two treatments, which has run."""
    file = tmp_path / "e.toml"
    file.write_text(BEGAN)
    study.run(file, tmp_path / "r")
    return Began(parse_experiment(BEGAN, file), BEGAN, tmp_path / "r")


@pytest.fixture
def ledger(began: Began) -> Iterator[Ledger]:
    opened = Ledger.open(began.path / "ledger.sqlite")
    yield opened
    opened.close()


def _changed(began: Began, text: str) -> Changes:
    found = amendment(began.experiment, parse_experiment(text, began.path / "e.toml"))
    assert found is not None
    return found


def test_a_change_that_drops_no_trial_leaves_the_plan(began: Began, ledger: Ledger):
    text = TEXT.format(levels="[1, 2]", unit='better = "lower"')
    now = parse_experiment(text, began.path / "e.toml")
    assert replanned(began, now, text, ledger, _changed(began, text), extend=False) is None


def test_trials_of_a_treatment_that_is_dropped_stay_and_are_told_once(began: Began, ledger: Ledger):
    text = TEXT.format(levels="[1]", unit="")
    now = parse_experiment(text, began.path / "e.toml")
    step = replanned(began, now, text, ledger, _changed(began, text), extend=False)
    assert step is not None
    assert (list(step.rows), list(step.withdrawn)) == ([], [])
    assert "2 finished" in step.text
    # The next run begins with the file as it is, whose treatments are fewer than the ledger's.
    assert replanned(Began(now, text, began.path), now, text, ledger, None, extend=False) is None
