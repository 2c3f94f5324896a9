"""The sections on verdicts and on when to stop: what they say is what `compare` and `status` say, also of many treatments."""

from __future__ import annotations

import csv
import dataclasses
import html
import json
import re
from itertools import combinations
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import numpy as np
import polars as pl
import pytest

from example_directory import analyse_example, write_example
from report_page import ReportPage
from trialwise import study
from trialwise.analysis.comparison.between import VerdictSummary, between_treatments
from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.exchange.comparison_json import comparison_csv
from trialwise.experiment.model import Better, Extent, Looks
from trialwise.report import comparison_words as words
from trialwise.report.document import Document, Figures, Note, Table, plain
from trialwise.report.documents import stopping as stops
from trialwise.report.documents import verdicts
from trialwise.report.documents.verdicts import MAX_PAIRS, shown_pairs
from trialwise.report.html import html_report
from trialwise.report.latex import latex_files
from trialwise.report.numbers import estimate_of
from trialwise.report.printed import print_figures
from trialwise.rules import CCEVAL


def bench(count: int, better: Better | None = "lower", margin: float | None = 3.0) -> VerdictSummary:
    """Treatments k=0, k=1 … with means 100, 102 …, twelve trials each."""
    rng = np.random.default_rng(4)
    cells = [
        ("time", f"k={at}", 100 + 2 * at + rng.normal(), "h", "h/b", "h/b/", *[f"{at}.{turn}"] * 2, "1", f"1.{turn}", None, 2.0)
        for at in range(count)
        for turn in range(12)
    ]  # fmt: skip
    names = [f"k={at}" for at in range(count)]
    facts = MetricFacts("time", "ms", better, Extent(margin, relative=True) if margin else None)
    table = pl.DataFrame(cells, schema=SCHEMA, orient="row")
    trials = TrialSet("bench", {"time": facts}, {name: {"k": name[2:]} for name in names}, table)
    return between_treatments(trials, list(combinations(names, 2)))


def section(view: VerdictSummary) -> Document:
    found = verdicts.document(view, {}, {})
    assert found
    return found


def notes_of(found: Document) -> list[str]:
    return [plain(block.text) for block in found.evidence if isinstance(block, Note)]


def cells_of(table: Table, place: int = 0) -> dict[str, str]:
    return dict(zip([column.title for column in table.columns], map(plain, table.rows[place]), strict=True))


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page)).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verdicts") / "results"
    return write_example(path, algorithms=("a", "<b>"), levels=(1, 2), rounds=8, series=2)


def test_the_page_says_each_verdict_as_compare_does(directory: Path) -> None:
    analysis, view = analyse_example(directory), study.verdict_view(directory)
    assert view.comparison
    assert len(view.comparison.rows) == 6 * len(analysis.metrics)
    page = html_report(analysis, "test", verdicts=view)
    said = text_of(page)
    assert words.counts_of(view.comparison) in said
    for row in view.comparison.rows:
        assert words.verdict_of(row) in said
    percents = [row.difference.percent for row in view.comparison.rows if row.difference]
    assert percents
    for one in percents:
        assert estimate_of(one, "", "%", sign=True).text in said
    assert '<a href="#verdicts">' in page
    assert "<b> ·" not in page
    assert 'id="stopping"' not in page
    keys = {str(figure["data-figure"]) for figure in ReportPage(page).figures}
    assert {f"verdicts-{found.metric.name}" for found in analysis.metrics} <= keys
    assert "ranks-speed" in keys


def test_figures_and_tables_for_print_are_those_of_the_page(directory: Path, tmp_path: Path) -> None:
    analysis, view = analyse_example(directory), study.verdict_view(directory)
    names = {path.stem for path in print_figures(analysis, tmp_path, "svg", verdicts=view)}
    assert {"verdicts-speed", "verdicts-latency", "ranks-speed"} <= names
    assert r"\label{tab:verdicts}" in latex_files(analysis, verdicts=view)["tables.tex"]


def test_all_pairs_stand_in_the_page_as_a_file(directory: Path) -> None:
    analysis, view = analyse_example(directory), study.verdict_view(directory)
    assert view.comparison
    page = html_report(analysis, "test", verdicts=view, pairs=comparison_csv(view.comparison))
    found = re.search(r'download="verdicts.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    assert found
    rows = list(csv.DictReader(unquote(found[1]).splitlines()))
    assert [row["treatment"] for row in rows] == [row.treatment for row in view.comparison.rows]


def test_of_many_treatments_those_with_the_best_are_shown_and_the_rest_counted() -> None:
    view = bench(60)
    found = section(view)
    [shown] = shown_pairs(view)
    assert shown.against == "k=0"
    assert (shown.total, len(shown.rows)) == (1770, 59)
    assert len(shown.rows) <= MAX_PAIRS
    closest = [abs(row.summary.percent_difference) for row in shown.rows]
    assert closest == sorted(closest)
    assert plain(found.answer).startswith("1770 comparisons: ")
    assert "59 of 1770 pairs are shown" in notes_of(found)[0]
    assert len(found.tables[0].rows) == 59


@pytest.mark.parametrize("count", [2, 3, 40])
def test_the_axis_of_ranks_has_whole_ranks_alone(count: int) -> None:
    figure = next(one for one in section(bench(count)).figures if one.key == "ranks-time")
    ticks = re.findall(r'"values": (\[[\d, ]+\])', json.dumps(figure.spec))
    assert len(ticks) == 1
    whole = json.loads(ticks[0])
    assert whole[0] == 1
    assert set(whole) <= set(range(1, count + 1))
    assert len(whole) <= 12


def test_each_method_is_named_once() -> None:
    view = bench(3)
    assert view.comparison
    first, *others = view.comparison.rows
    assert first.difference
    bare = dataclasses.replace(first.difference, method="Welch", margin=None)
    rows = (dataclasses.replace(first, difference=bare), *others)
    text = words.method_of(dataclasses.replace(view.comparison, rows=rows))
    assert text.startswith("B − A: Welch; two one-sided tests; Hodges–Lehmann shift")


def test_where_nobody_knows_what_is_better_the_first_treatment_is_the_reference() -> None:
    view = bench(12, better=None)
    assert [one.against for one in shown_pairs(view)] == ["k=0"]
    assert "the first of the file" in notes_of(section(view))[0]
    groups = [block.title for block in section(view).evidence if isinstance(block, Figures)]
    assert groups == ["Differences and their margin"]


def test_without_a_margin_the_page_says_what_that_costs() -> None:
    found = section(bench(3, margin=None))
    assert "nothing can be equivalent without a margin" in notes_of(found)[0]
    assert "Grey" not in found.figures[0].caption
    assert "Grey" in section(bench(3)).figures[0].caption


def test_an_undecided_pair_has_its_bill() -> None:
    view = bench(3)
    assert view.comparison
    row = next(row for row in view.comparison.rows if row.verdict == "undecided" and row.more)
    summary, intervals = section(view).tables[:2]
    place = [plain(each[0]) for each in summary.rows].index(f"{row.treatment}")
    assert cells_of(summary, place)["verdict"] == "undecided"
    assert cells_of(intervals, place)["more"] == words.short_bill(row)


def test_one_treatment_has_no_section_and_a_refusal_is_said(tmp_path: Path) -> None:
    assert verdicts.document(VerdictSummary(), {}, {}) is None
    path = write_example(tmp_path / "results", algorithms=("a",), levels=(1,), rounds=3, series=1)
    assert 'id="verdicts"' not in html_report(
        analyse_example(path), "test", verdicts=study.verdict_view(path)
    )
    refused = section(VerdictSummary(refusal="Treatments cannot be compared: too many."))
    assert (plain(refused.answer), refused.evidence) == ("Treatments cannot be compared: too many.", ())


# When to stop


def claim(**known: object) -> ClaimState:
    values: dict[str, object] = {
        "kind": "metric", "metric": "time", "unit": "ms", "subject": "k=0", "what": "mean", "asked": "±2 %", "state": "decided",
        "verdict": None, "estimate": 10.0, "low": 9.9, "high": 10.1, "width": 0.1, "target": 0.2, "n": (26,), "wanted": 25,
        "level": "trial", "confidence": 95.0, "method": "two stages: Student's t", "note": "",
    }  # fmt: skip
    return ClaimState(**{**values, **known})  # type: ignore[arg-type]


def stopping(*claims: ClaimState, **known: object) -> StoppingState:
    values: dict[str, object] = {
        "looks": "two-stage", "phase": "judged", "decided": True, "reason": "everything asked for is known (1 claim)", "rounds": 46,
        "forecast": 46, "most": 400, "seconds": 12.0, "budget": 600.0, "correction": "", "claims": claims, "warnings": (),
    }  # fmt: skip
    return StoppingState(**{**values, **known})  # type: ignore[arg-type]


def test_the_end_its_reason_and_each_claim_are_said() -> None:
    found = stops.document(stopping(claim()), None)
    assert plain(found.answer) == "Stopped: everything asked for is known (1 claim)."
    assert found.answer.outcome == "good"
    said = [plain(block.text) for block in found.method if isinstance(block, Note)]
    assert "46 rounds of at most 400 · forecast: 46 rounds · 12s used of a budget of 10min" in said[0]
    cells = cells_of(found.tables[0])
    assert (cells["claim"], cells["asked"], cells["state"]) == ("time [ms], k=0", "mean ±2 %", "narrow")
    assert [plain(cell) for cell in found.tables[0].rows[0][3:10]] == [
        "10",
        "9.9",
        "10.1",
        "0.1",
        "0.2",
        "26",
        "25",
    ]
    assert (cells["confidence"], cells["method"]) == ("95 %", "two stages: Student's t")


def test_a_claim_has_its_estimand_its_looks_and_the_interval_of_its_forecast() -> None:
    pooled = claim(
        state="open",
        estimand="pooled",
        convention="nearest_rank",
        looks=3,
        wanted=250,
        wanted_low=200,
        wanted_high=320,
    )
    cells = cells_of(stops.document(stopping(pooled, decided=False), None).tables[0])
    assert (cells["n"], cells["level"]) == ("26", "trial")
    assert (cells["forecast"], cells["looks"]) == ("250 (200 to 320)", "3")
    assert (cells["estimand"], cells["convention"]) == ("pooled", "nearest rank")


def test_what_is_open_says_what_would_lift_it() -> None:
    wide = claim(
        kind="difference", state="undecided", verdict="undecided", n=(26, 24), note="about the margin"
    )
    state = stopping(wide, decided=False, reason="max_trials is reached (400 rounds): 0 of 1 claim known")
    found = stops.document(state, "raise max_trials")
    assert found.answer.outcome == "open"
    assert notes_of(found) == ["raise max_trials"]
    cells = cells_of(found.tables[0])
    assert (cells["state"], cells["n"], cells["note"]) == ("undecided", "26 and 24", "about the margin")


@pytest.mark.parametrize("looks", get_args(Looks))
def test_every_way_to_look_is_said(looks: Looks) -> None:
    first = stops.document(stopping(claim(), looks=looks), None).method[0]
    assert isinstance(first, Note)
    assert plain(first.text).startswith("looks ")


def test_while_it_runs_nothing_is_told_and_cceval_warns() -> None:
    blank = claim(state="open", estimate=None, low=None, high=None, width=None, target=None, wanted=None)
    found = stops.document(
        stopping(
            blank, reason=None, decided=False, looks="cceval", warnings=(CCEVAL.warning,), forecast=None
        ),
        None,
    )
    assert plain(found.answer) == "Goes on: 0 of 1 claim known."
    assert notes_of(found) == [CCEVAL.warning]
    assert not any("forecast" in plain(block.text) for block in found.method if isinstance(block, Note))
