"""What is read and judged of many trials together is what trial by trial gives; an overview says the same in fewer parts."""

from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path

import pytest

from simulation_directory import run_simulation, simulation_text
from trialwise import study
from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.cli.compare import compare
from trialwise.cli.spinner import StatusLine
from trialwise.execution import replay
from trialwise.execution.replay import recalled
from trialwise.execution.stopping import StopByResults
from trialwise.store import samples
from trialwise.store.samples import Array, Wanted
from trialwise.study.stopping import stopping_state

FILE = simulation_text(
    """
[metrics.p90]
quantity = "fct"
measure = "p90"
stop = { precision = "3%", confidence = 95 }
[metrics.mean_fct]
quantity = "fct"
estimand = "per_trial"
stop = { precision = "3%", confidence = 95 }
[metrics.large]
quantity = "fct"
sizes = "100kB.."
estimand = "per_trial"
few_samples = "allow"
[design]
max_trials = 60
""",
    workload='sizes = "lognormal:mean=20kB,sigma=0.8", load = "30%", duration = "4ms"',
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_simulation(tmp_path_factory.mktemp("stopping"), FILE)


def test_claims_are_judged_as_trial_by_trial(directory: Path) -> None:
    experiment, place, ledger = study.open_directory(directory)
    judge = StoppingMonitor(experiment)
    past = StopByResults(judge, lambda _: None)
    for event in recalled(place, ledger):
        past.notice(event)
    said: list[tuple[str, int, int]] = []
    found = stopping_state(place, told=lambda what, done, total: said.append((what, done, total)))
    assert found == judge.state(ledger.next_open())
    assert found is not None
    assert any(claim.looks > 1 for claim in found.claims)
    trials = len(ledger.trials("finished"))
    ledger.close()
    assert ("reading trials", trials, trials) in said


def test_trials_that_are_recalled_are_read_together(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, place, ledger = study.open_directory(directory)
    reads: list[int] = []

    def read_many(folder: Path, wanted: Sequence[Wanted]) -> Iterator[tuple[Array, Array | None]]:
        reads.append(len(wanted))
        return samples.read_many(folder, wanted)

    monkeypatch.setattr(replay, "read_many", read_many)
    events = list(recalled(place, ledger))
    assert not reads, "nobody has asked"
    found = [event.samples() for event in events]
    assert len(reads) == ceil(len(events) / 100)
    reported = {(number, source): file for number, _, source, _, _, file in ledger.values()}
    for event, own in zip(events[::20], found[::20], strict=True):
        row, file = event.row, reported[event.row.number, "simulation:fct"]
        assert file is not None
        alone, _ = samples.read_samples(place.path / file, row.number, row.attempt, "simulation:fct")
        assert own["simulation:fct"].values.tolist() == alone.tolist()
    ledger.close()


def test_comparing_says_how_far_its_reading_is(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, int, int]] = []
    monkeypatch.setattr(StatusLine, "going", lambda _, what, done, total: said.append((what, done, total)))
    assert not compare(directory, rank=True, json=True)
    trials = study.state(directory).counts["finished"]
    assert ("reading p90", 0, trials) in said


def test_an_overview_leaves_out_and_changes_nothing(directory: Path) -> None:
    whole, short = (study.analyse(directory, overview=each) for each in (False, True))
    assert whole.estimation is not None
    assert short.estimation is not None
    assert short.estimation.estimates == whole.estimation.estimates
    assert short.estimation.notes == whole.estimation.notes
    assert whole.estimation.sizes
    assert whole.estimation.durations
    assert whole.estimation.courses
    assert (short.estimation.sizes, short.estimation.durations, short.estimation.courses) == ((), (), ())
    assert [one.trials for one in short.metrics] == [one.trials for one in whole.metrics]
