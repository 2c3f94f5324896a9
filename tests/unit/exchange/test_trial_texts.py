"""The JSON of an analysis in pieces is that of its objects, and takes no object for each trial."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.analysis.trial_columns import Trials
from trialwise.exchange.analysis_json import analysis_document, analysis_texts
from trialwise.exchange.trial_texts import trial_texts
from trialwise.experiment.model import Convergence, Metric
from trialwise.experiment.sources import ReturnSource
from trialwise.visible import visible_json
from unit.analysis.test_trial_columns import OWN, trial

MANY = 20_000


@pytest.mark.parametrize("asked", [None, Convergence(95, 5)])
def test_the_text_is_that_of_the_document(tmp_path: Path, asked: Convergence | None):
    path = tmp_path / "t.csv"
    rows = (f'%s \u202e"{"ab"[row % 2]}",{row // 40},{row},{row % 7}.25' for row in range(200))
    path.write_text("\n".join(["cc,run,time,rate", *rows, ""]))
    metrics = [Metric(name, ReturnSource(name), convergence=asked) for name in ("rate", "time")]
    found = analyse_table(path, TableColumns(groups=("cc",), trial="run"), metrics)
    whole = json.dumps(analysis_document(found), indent=2, allow_nan=False, ensure_ascii=False)
    assert "".join(analysis_texts(found)) == visible_json(whole) + "\n"


def test_trials_that_differ_in_more_than_numbers_are_written_by_themselves():
    strange = [replace(OWN[0], value=float("inf")), trial(5, "b", "2", float("nan"), started=2.5, samples=0)]
    for own in ([*OWN, *strange], []):
        told = json.loads("".join(trial_texts(Trials.of(own), 6)))
        assert [(each["number"], each["started"], each["converged"], each["reason"]) for each in told] == [
            (each.number, each.started, each.converged, each.reason) for each in own
        ]
        assert [each["value"] for each in told] == [
            each.value if each.value is not None and np.isfinite(each.value) else None for each in own
        ]


def test_many_trials_take_no_record_each(monkeypatch: pytest.MonkeyPatch):
    trials = Trials.of(trial(number, "ab"[number % 2], "1", number / 7) for number in range(MANY))
    made, make = list[int](), Trials.made
    monkeypatch.setattr(
        Trials, "made", lambda self, begin, end: made.append(end - begin) or make(self, begin, end)
    )
    told = json.loads("".join(trial_texts(trials, 6)))
    assert [each["value"] for each in told] == [number / 7 for number in range(MANY)]
    assert sum(made) == 2
