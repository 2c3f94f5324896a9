"""Trials that are left out, against the same trials that had failed, and against a ledger that never had their values."""

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from example_directory import write_example
from trialwise import study
from trialwise.analysis.order.analysing import analyse_order
from trialwise.errors import PlanError, TrialwiseError
from trialwise.exchange.plain import plain
from trialwise.numbers import write
from trialwise.report.figures.metric import figures
from trialwise.store.directory import ExperimentDirectory
from trialwise.study.claims import check_claims
from trialwise.study.excluding import exclude

NUMBERS = range(1, 73)
FAILED = (31, 68)
"""The trials that fail in the example."""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exclusions")
    return write_example(folder / "results", algorithms=("xz", "bz2"), levels=(1, 6), rounds=6, series=3)


def without_values(results, numbers) -> None:
    """Turn trials into failed ones by SQL alone, as if they had never reported anything."""
    marks = ",".join("?" * len(numbers))
    with closing(sqlite3.connect(results / "ledger.sqlite")) as ledger:
        ledger.execute(f"DELETE FROM value WHERE number IN ({marks})", numbers)  # noqa: S608
        ledger.execute(f"UPDATE trial SET status = 'failed' WHERE number IN ({marks})", numbers)  # noqa: S608
        ledger.commit()


def analysed(results):
    """What is concluded, apart from what became of which attempt."""
    found = study.analyse(results)
    return plain(replace(found, failures=(), counts={}, notes=(), exclusions=(), changes=(), chain=None))


def compared(results):
    """The trials of comparisons, effects and calibrations, and their turns."""
    found = study.trial_set(results, ())
    return found.table.rows(), dict(found.treatments)


def ordered(results):
    trials = study.order_trials(results, ())
    with suppress(TrialwiseError):
        return plain(replace(analyse_order(trials), source="", problems=(), notes=()))
    return None


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(chosen=st.sets(st.sampled_from([n for n in NUMBERS if n not in FAILED]), min_size=1, max_size=20))
def test_what_is_left_out_is_as_if_it_had_failed(example, tmp_path_factory, chosen):
    folder = tmp_path_factory.mktemp("one")
    out, failed = (shutil.copytree(example, folder / name / "results") for name in ("out", "failed"))
    numbers = sorted(chosen)
    exclude(out, [str(number) for number in numbers], "a reason")
    without_values(failed, numbers)
    for look in (analysed, compared, ordered):
        assert look(out) == look(failed), look.__name__
    with closing(ExperimentDirectory(out).ledger()) as ledger:
        assert ledger.counts() == {"finished": 70 - len(numbers), "failed": 2, "excluded": len(numbers)}
        assert [row.number for row in ledger.trials("excluded")] == numbers
    before = analysed(example)
    exclude(out, [str(number) for number in numbers], "", undo=True)
    assert analysed(out) == before
    shutil.rmtree(folder)


def test_the_answer_with_them_is_the_one_from_before(example, tmp_path):
    results = shutil.copytree(example, tmp_path / "results")
    before = {
        (one.metric.name, kpi.treatment, kpi.series, kpi.objective.percentile): kpi
        for one in study.analyse(results).metrics
        for kpi in one.kpis
    }
    exclude(results, ["1-20"], "a reason")
    found = study.analyse(results)
    touched = {(row.treatment, row.series) for row in found.failures if row.status == "excluded"}
    assert {(each.treatment, each.series) for each in found.exclusions} == touched
    for each in found.exclusions:
        percentile = float(each.what.removeprefix("KPI p").split(",")[0])
        kpi = before[each.metric, each.treatment, each.series, percentile]
        assert each.with_them is not None
        assert (each.with_them.n, each.with_them.value) == (kpi.n, kpi.result and kpi.result.value)
        assert (each.without.n if each.without else 0) < each.with_them.n


@pytest.mark.parametrize(
    ("trials", "because", "undo", "said"),
    [
        (["1"], " \n", False, "a trial is left out for a reason"),
        (["0"], "x", False, "there is no trial 0"),
        (["73"], "x", False, "there is no trial 73"),
        (["71-74"], "x", False, "there is no trial 73"),
        (["1", "31"], "x", False, "trial 31 (.*) cannot be left out: it is failed"),
        (["1"], "x", True, "trial 1 (.*) is not left out"),
        ([], "x", False, "no trial is named"),
        (["9-7"], "x", False, "'9-7' is not a number of a trial"),
        (["1.1"], "x", False, "'1.1' is not a number of a trial"),
        (["\x1b[31m"], "x", False, r"x1b\[31m' is not a number of a trial"),
        (["1-999999999999"], "x", False, "is not a number of a trial"),
        (["1"], "x" * 2001, False, "2001 characters"),
    ],
)
def test_what_cannot_be_left_out_is_refused_and_nothing_is_written(example, trials, because, undo, said):
    before = (example / "ledger.sqlite").read_bytes()
    with pytest.raises(PlanError, match=said):
        exclude(example, trials, because, undo=undo)
    assert (example / "ledger.sqlite").read_bytes() == before


def test_the_figure_of_trials_tells_the_excluded_from_the_failed(example, tmp_path):
    results = shutil.copytree(example, tmp_path / "results")
    exclude(results, ["3-5"], "the fan stood still")
    found = study.analyse(results)
    failed = sum(row.status != "excluded" for row in found.failures)
    (caption,) = (
        one.caption for one in figures(found, found.metrics[0], {}) if one.title == "Trials in order"
    )
    assert f"Crosses at the foot: {failed} attempts without a result and 3 excluded trials." in caption


def test_means_are_told_with_and_without_what_is_left_out(example, tmp_path):
    results = shutil.copytree(example, tmp_path / "results")
    before = study.trial_set(results)
    assert not [note for note in before.notes if note.startswith("left out: ")]
    metric, facts = next(iter(before.metrics.items()))
    numbers = sorted(int(name.rpartition("/")[2]) for name in before.of(metric)["trial"])[:2]
    exclude(results, [str(number) for number in numbers], "the fan failed")
    for found in (
        study.trial_set(results, [metric]),
        study.comparison_set(results, [metric]),
        study.effects_input(results, [metric]).trials,
    ):
        sides = {
            name: (found.of(metric, name)["value"], before.of(metric, name)["value"])
            for name in before.treatments
        }
        expected = {
            f"left out: the mean {metric} of {name} is {write(now.mean())} {facts.unit} of {now.len()} trials; "
            f"with the trials that were left out {write(then.mean())} {facts.unit} of {then.len()}"
            for name, (now, then) in sides.items()
            if now.len() != then.len()
        }
        assert expected
        assert {note for note in found.notes if note.startswith("left out: ")} == expected
    (note,) = [each for each in study.order_trials(results, ()).notes if each.startswith("left out: ")]
    assert note.endswith("with the trials that were left out") or "whether order matters" in note


CLAIM = """format = "trialwise-claims-1"

[data]
directory = "results"

[[claim]]
id = "C1"
text = "No trial is slower"
metric = "{metric}"
every = {{ at_most = {bound!r} }}
"""


@pytest.mark.parametrize(
    ("is_between", "said"), [(False, "every verdict is the same"), (True, "claim C1 is ")]
)
def test_claims_say_whether_their_verdicts_rest_on_what_is_left_out(example, tmp_path, is_between, said):
    results = shutil.copytree(example, tmp_path / "results")
    trials = study.trial_set(results)
    metric = next(iter(trials.metrics))
    *_, second, largest = trials.of(metric).sort("value").iter_rows(named=True)
    bound = (second["value"] + largest["value"]) / 2 if is_between else 2 * largest["value"]
    (tmp_path / "claims.toml").write_text(CLAIM.format(metric=metric, bound=bound))
    with_it = check_claims(tmp_path / "claims.toml").verdict
    exclude(results, [largest["trial"].rpartition("/")[2]], "the fan failed")
    found = check_claims(tmp_path / "claims.toml")
    (note,) = [each for each in found.notes if each.startswith("left out: ") and "mean" not in each]
    assert said in note
    assert (found.verdict != with_it) == is_between
    assert not is_between or note.endswith(f"with the trials that were left out {with_it}")
