"""Trials as columns: the records are those that went in, and many trials are analysed without a record each."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.analysis.trial_columns import TrialMetric, Trials
from trialwise.experiment.model import Metric
from trialwise.experiment.sources import ReturnSource
from trialwise.report.documents.analyze import document

MANY = 20_000


def trial(number: int, treatment: str, series: str, value: float | None, **named: object) -> TrialMetric:
    known = {
        "attempt": 1, "factors": {"cc": treatment}, "round": number, "position": 1, "started": None, "samples": 1,
        "converged": None, "convergence": None, "reason": None if value is not None else "no sample",
    }  # fmt: skip
    return TrialMetric(number=number, treatment=treatment, series=series, value=value, **{**known, **named})  # type: ignore[arg-type]


OWN: list[TrialMetric] = [
    trial(4, "b", "2", 1.0, started=9.0, converged=False),
    trial(1, "a", "1", None, started=3.0),
    trial(2, "a", "1", 5.0),
    trial(3, "b", "2", 2.0, started=7.0, attempt=2),
    trial(9, "a", "1", 6.0, started=0.0),
    trial(7, "c", "1", None),
]


def test_records_come_back():
    trials = Trials.of(OWN)
    assert list(trials) == OWN
    assert (trials[-1], trials[1:3]) == (OWN[-1], OWN[1:3])
    assert trials == Trials.of(OWN) != Trials.of(OWN[:2])
    with pytest.raises(IndexError):
        trials[len(OWN)]
    assert list(Trials.of([])) == []


def test_trials_are_divided_in_the_order_in_which_they_ran():
    """Those without a time come last; a treatment without a value is there, too."""
    trials = Trials.of(OWN)
    found = {
        key: [OWN[place].number for place in places.tolist()] for key, places in trials.in_series().items()
    }
    assert found == {("b", "2"): [3, 4], ("a", "1"): [9, 2], ("c", "1"): []}
    assert list(found) == [("b", "2"), ("a", "1"), ("c", "1")]
    assert trials.by_treatment() == {"b": [1.0, 2.0], "a": [5.0, 6.0]}
    assert (trials.places.treatments, trials.places.all_series) == (["b", "a", "c"], ["2", "1"])


def test_many_trials_take_no_record_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, made, init = tmp_path / "t.csv", list[int](), TrialMetric.__init__
    path.write_text("\n".join(["cc,rate", *(f"{'abc'[row % 3]},{row % 97}.5" for row in range(MANY)), ""]))

    def counted(*args: object, **named: object) -> None:
        made.append(1)
        init(*args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(TrialMetric, "__init__", counted)
        found = analyse_table(path, TableColumns(groups=("cc",)), [Metric("rate", ReturnSource("rate"))])
        document(found, full=False)
    assert len(made) < MANY / 100
    (metric,) = found.metrics
    assert [(one.number, one.treatment, one.round, one.value) for one in metric.trials[-2:]] == [
        (MANY - 1, "cc=a", 6667, (MANY - 2) % 97 + 0.5),
        (MANY, "cc=b", 6667, (MANY - 1) % 97 + 0.5),
    ]
