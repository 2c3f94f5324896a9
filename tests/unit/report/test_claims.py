from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from example_directory import analyse_example, write_example
from json_pointer import resolve
from trialwise.analysis.results import Analysis
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.analysis.trial_columns import Trials
from trialwise.exchange.plain import Json
from trialwise.experiment.model import Better, Kpi, Metric, Variability
from trialwise.experiment.sources import ReturnSource
from trialwise.report.claim_words import counts_remark
from trialwise.report.claim_writing import claims
from trialwise.report.claims import Claim
from trialwise.report.html import html_report


def _table(path: Path, values: list[float], **options: object) -> Analysis:
    path.write_text("delay\n" + "".join(f"{value!r}\n" for value in values))
    metric = Metric("delay", ReturnSource("value"), unit="ms", **options)  # type: ignore[arg-type]
    return analyse_table(path, TableColumns(), [metric])


def _about(analysis: Analysis, standing: str) -> list[Claim]:
    return [claim for claim in claims(analysis) if claim.standing == standing]


MIXED = [6.0, 1.0, 9.0, 10.0, 2.0, 8.0, 11.0, 3.0, 5.0, 7.0, 4.0]


def test_a_lower_bound_says_at_least_of_at_least(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", MIXED, kpis=(Kpi(25, 95, "lower"),), better="higher")
    (claim,) = _about(found, "claim")
    assert claim.text == (
        "With 95 % confidence, at least 75 % of trials have a delay of at least 1 ms (n = 11 trials, series 1); "
        "25th percentile, lower bound, exact binomial ranks."
    )


def test_an_upper_bound_says_at_least_of_at_most(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", MIXED, kpis=(Kpi(75, 95, "upper"),))
    (claim,) = _about(found, "claim")
    assert "at least 75 % of trials have a delay of at most 11 ms" in claim.text


@pytest.mark.parametrize("better", ["higher", "lower", None])
def test_the_bound_decides_the_words_whatever_is_better(tmp_path: Path, better: Better | None) -> None:
    found = _table(tmp_path / "t.csv", MIXED, kpis=(Kpi(25, 90, "upper"),), better=better)
    (claim,) = _about(found, "claim")
    assert "at least 25 % of trials have a delay of at most" in claim.text


def test_a_refusal_says_what_would_lift_it(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", MIXED, kpis=(Kpi(95, 95, "upper"),))
    (claim,) = _about(found, "refusal")
    assert "needs 59 trials; there are 11" in claim.text
    assert "What lifts this: 48 more rounds" in claim.text


def test_dependent_trials_are_described_and_the_reason_is_given(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", [float(value) for value in range(30)], kpis=(Kpi(50, 95, "lower"),))
    assert not _about(found, "claim")
    (claim,) = _about(found, "descriptive")
    assert claim.text.startswith(
        "Descriptive only: the 95 % lower bound on the median of delay comes out at "
    )
    assert "predicts no others, because a test failed: series 1: " in claim.text


def test_constant_trials_hold_and_say_that_independence_is_untested(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", [3.0] * 20, kpis=(Kpi(50, 95, "upper"),))
    (claim,) = _about(found, "claim")
    assert "Independence could not be tested: " in claim.text


def test_a_metric_without_objective_says_how_to_give_one(tmp_path: Path) -> None:
    (claim,) = _about(_table(tmp_path / "t.csv", MIXED), "refusal")
    assert "no KPI is asked for" in claim.text
    assert "--objective" in claim.text


def test_few_series_are_refused_with_their_number(tmp_path: Path) -> None:
    found = _table(tmp_path / "t.csv", MIXED, kpis=(Kpi(50, 75, "upper"),), variability=Variability(25, 75))
    (claim,) = _about(found, "refusal")
    assert (
        "the middle 50 % of series at 75 % confidence needs 5 series with this KPI; there is 1" in claim.text
    )
    assert "4 more series" in claim.text


def test_scores_state_joint_confidence_and_the_next_series(analysis: Analysis) -> None:
    found = [
        claim
        for claim in _about(analysis, "claim")
        if claim.topic.startswith("from series to series: median")
    ]
    assert len(found) == 6
    assert all("both bounds together: 75 % confidence" in claim.text for claim in found)
    assert all("with a chance of 50 %" in claim.text for claim in found)


def test_claims_extend_to_what_factors_were_drawn_from(analysis: Analysis) -> None:
    claim = _about(analysis, "claim")[0]
    assert "prefix drawn from the 40 values of prefixes.txt." in claim.text


def test_failed_trials_and_changes_of_the_environment_are_told(analysis: Analysis) -> None:
    told = [claim.text for claim in _about(analysis, "remark")]
    assert told[0] == "Of 216 planned trials, 210 finished and 6 failed; each attempt is listed."
    assert "environment changed: kernel: 6.1.0 → 6.1.2." in told


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (1, "1 was abandoned (and run again where the plan went on) and 1 has not run"),
        (2, "2 were abandoned (and run again where the plan went on) and 2 have not run"),
    ],
)
def test_one_trial_was_and_several_were(analysis: Analysis, number: int, told: str) -> None:
    counts = {"finished": 216 - 2 * number, "abandoned": number, "planned": number}
    assert counts_remark(replace(analysis, counts=counts)).text.startswith(
        f"Of 216 planned trials, {216 - 2 * number} finished, {told};"
    )


def test_every_number_of_a_claim_is_that_of_the_document(
    analysis: Analysis, document: dict[str, Json]
) -> None:
    numbers = [number for claim in claims(analysis) for number in claim.numbers]
    assert len(numbers) > 100
    for number in numbers:
        assert resolve(document, number.pointer) == number.value


def test_bounds_carry_what_they_rest_on(analysis: Analysis) -> None:
    claim = _about(analysis, "claim")[0]
    bound = next(number for number in claim.numbers if number.basis)
    assert bound.basis is not None
    assert (bound.basis.n, bound.basis.level, bound.basis.method) == (12, 95, "exact binomial ranks")
    assert (bound.unit, bound.rounding) == ("MB/s", "down")


def test_macros_are_unique_over_all_claims(analysis: Analysis) -> None:
    names = [number.macro for claim in claims(analysis) for number in claim.numbers if number.macro]
    assert len(names) == len(set(names))


def test_claims_of_the_same_directory_are_the_same_twice(tmp_path: Path) -> None:
    path = write_example(tmp_path / "a" / "results", rounds=4, series=1)
    first, second = (claims(analyse_example(path)) for _ in range(2))
    assert first == second


def test_an_experiment_without_results_yet_claims_nothing(analysis: Analysis) -> None:
    nothing = {
        "trials": Trials.of([]),
        "independence": (),
        "kpis": (),
        "variability": (),
        "distributions": (),
        "traces": (),
    }
    metrics = tuple(dataclasses.replace(found, **nothing) for found in analysis.metrics)  # type: ignore[arg-type]
    empty = dataclasses.replace(analysis, metrics=metrics)
    assert not _about(empty, "claim")
    assert all("no trial has given a value yet" in claim.text for claim in _about(empty, "refusal"))
    [told] = [claim.text for claim in _about(empty, "refusal")]
    assert told.startswith(f"Nothing is claimed about {len(metrics)} metrics (")
    assert all(found.metric.name in told for found in metrics)
    assert told.partition(":")[0] in html_report(empty, "test")
    one = dataclasses.replace(empty, metrics=metrics[:1])
    assert [claim.metric for claim in _about(one, "refusal")] == [metrics[0].metric.name]
