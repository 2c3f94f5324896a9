"""`--extend` makes an experiment longer, never shorter, and leaves what was planned as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialwise import study
from trialwise.errors import PlanError
from trialwise.store.ledger import Ledger

TEXT = """
[experiment]
name = "x"
[factors]
a = [1, 2]
[trial]
command = "true {{a}}"
[metrics.m]
resource = "wall"
[design]
rounds = {rounds}
series = {series}
"""


def planned(directory: Path) -> list[tuple[int, str, int, int, str]]:
    ledger = Ledger.open(directory / "ledger.sqlite", read_only=True)
    try:
        return [(row.number, row.treatment, row.series, row.round, row.status) for row in ledger.trials()]
    finally:
        ledger.close()


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The file of an experiment of two rounds and two series, which has run."""
    file = tmp_path / "e.toml"
    file.write_text(TEXT.format(rounds=2, series=2))
    study.run(file, tmp_path / "r")
    return file


@pytest.mark.parametrize(("rounds", "series"), [(1, 2), (2, 1), (1, 1), (1, 3), (3, 1)])
def test_no_experiment_becomes_shorter(begun: Path, rounds: int, series: int):
    directory = begun.parent / "r"
    before, frozen = planned(directory), (directory / "experiment.toml").read_text()
    begun.write_text(TEXT.format(rounds=rounds, series=series))
    with pytest.raises(PlanError, match="number of trials differs") as caught:
        study.run(begun, directory, extend=True)
    assert "can only become longer" in str(caught.value.hint)
    assert (planned(directory), (directory / "experiment.toml").read_text()) == (before, frozen)


@pytest.mark.parametrize(("rounds", "series"), [(3, 2), (2, 3), (3, 3)])
def test_a_longer_one_has_just_as_many_trials_as_its_plan_says(begun: Path, rounds: int, series: int):
    directory = begun.parent / "r"
    before = planned(directory)
    begun.write_text(TEXT.format(rounds=rounds, series=series))
    assert study.run(begun, directory, extend=True).counts == {"finished": 2 * rounds * series}
    found = planned(directory)
    assert found[: len(before)] == before
    assert len({row[1:4] for row in found}) == len(found) == 2 * rounds * series
