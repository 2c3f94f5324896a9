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
from trialwise import report, study
from trialwise.analysis.comparison.between import VerdictView, between_treatments
from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.exchange.comparison_json import comparison_csv
from trialwise.experiment.model import Better, Extent, Looks
from trialwise.report import comparison_words as words
from trialwise.report.html import html_report
from trialwise.report.latex import latex_files
from trialwise.report.print_figures import print_figures
from trialwise.report.section import Section
from trialwise.report.stopping_section import stopping_section
from trialwise.report.verdict_section import MOST_PAIRS, shown_pairs, verdict_section
from trialwise.rules import CCEVAL


def bench(count: int, better: Better | None = "lower", margin: float | None = 3.0) -> VerdictView:
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


def section(view: VerdictView) -> Section:
    found = verdict_section(view, {}, {})
    assert found
    return found


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
        assert words.difference_of(row) in said
        assert words.verdict_of(row) in said
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
    assert len(shown.rows) <= MOST_PAIRS
    closest = [abs(row.summary.percent_difference) for row in shown.rows]
    assert closest == sorted(closest)
    assert found.verdict.startswith("1770 comparisons: ")
    assert "59 of 1770 pairs are shown" in found.notes[0]
    assert len(found.tables[0].rows) == 59
    assert found.parts[0].more == "… and 29 more; the table has them"
    assert not found.parts[0].is_open


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
    assert "the first of the file" in section(view).notes[0]
    assert [group.title for group in section(view).groups] == ["Differences and their margin"]


def test_without_a_margin_the_page_says_what_that_costs() -> None:
    found = section(bench(3, margin=None))
    assert "nothing can be equivalent without a margin" in found.notes[0]
    assert "Grey" not in found.figures[0].caption
    assert "Grey" in section(bench(3)).figures[0].caption


def test_an_undecided_pair_has_its_bill() -> None:
    view = bench(3)
    assert view.comparison
    row = next(row for row in view.comparison.rows if row.verdict == "undecided" and row.more)
    line = next(line for line in section(view).parts[0].lines if line.text.startswith(row.treatment))
    assert (line.mark, line.standing) == ("undecided", "refusal")
    assert (words.bill_of(row) or "no bill") in line.text
    assert words.CHANCE in line.text


def test_one_treatment_has_no_section_and_a_refusal_is_said(tmp_path: Path) -> None:
    assert verdict_section(VerdictView(), {}, {}) is None
    path = write_example(tmp_path / "results", algorithms=("a",), levels=(1,), rounds=3, series=1)
    assert 'id="verdicts"' not in html_report(
        analyse_example(path), "test", verdicts=study.verdict_view(path)
    )
    refused = section(VerdictView(refusal="Treatments cannot be compared: too many."))
    assert (refused.verdict, refused.parts) == ("Treatments cannot be compared: too many.", ())


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
    found = stopping_section(stopping(claim()), None)
    assert (found.verdict, found.look) == ("Stopped: everything asked for is known (1 claim).", "fine")
    assert "46 rounds of at most 400 · forecast: 46 rounds · 12s used of a budget of 10min" in found.facts
    [line] = found.parts[0].lines
    assert (
        line.text
        == "time k=0: mean ±2 %, 10 (9.9 to 10.1) ms, n = 26 trials (forecast 25), 95 %, two stages: Student's t"
    )
    assert (line.mark, line.standing) == ("narrow", "claim")
    assert found.tables[0].rows[0][3:10] == ("10", "9.9", "10.1", "0.1", "0.2", "26", "25")


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
    found = stopping_section(stopping(pooled, decided=False), None)
    [line] = found.parts[0].lines
    assert "n = 26 trials (forecast 250 (200 to 320), 3 looks)" in line.text
    assert line.text.endswith("two stages: Student's t, pooled, nearest rank")
    cells = {
        column.title: cell
        for column, cell in zip(found.tables[0].columns, found.tables[0].rows[0], strict=True)
    }
    assert (cells["forecast"], cells["looks"]) == ("250 (200 to 320)", "3")
    assert (cells["estimand"], cells["convention"]) == ("pooled", "nearest rank")


def test_what_is_open_says_what_would_lift_it() -> None:
    wide = claim(
        kind="difference", state="undecided", verdict="undecided", n=(26, 24), note="about the margin"
    )
    state = stopping(wide, decided=False, reason="max_trials is reached (400 rounds): 0 of 1 claim known")
    found = stopping_section(state, "raise max_trials")
    assert found.look == ""
    assert found.parts[0].lines[0].text == "raise max_trials"
    [line] = found.parts[1].lines
    assert (line.mark, line.standing) == ("undecided", "refusal")
    assert "n = 26 and 24 trials" in line.text
    assert line.text.endswith("; about the margin")


@pytest.mark.parametrize("looks", get_args(Looks))
def test_every_way_to_look_is_said(looks: Looks) -> None:
    found = stopping_section(stopping(claim(), looks=looks), None)
    assert found.facts.startswith("looks ")


def test_while_it_runs_nothing_is_told_and_cceval_warns() -> None:
    blank = claim(state="open", estimate=None, low=None, high=None, width=None, target=None, wanted=None)
    found = stopping_section(
        stopping(
            blank, reason=None, decided=False, looks="cceval", warnings=(CCEVAL.warning,), forecast=None
        ),
        None,
    )
    assert found.verdict == "Goes on: 0 of 1 claim known."
    assert found.warnings == (CCEVAL.warning,)
    assert "forecast" not in found.facts
    assert found.parts[0].lines[0].text == "time k=0: mean ±2 %, n = 26 trials, 95 %, two stages: Student's t"


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_what_is_worse_is_not_green_and_is_told_without_colours(better: str) -> None:
    """Of a difference the direction decides on the colour, with a sign and a word beside it."""
    view = bench(6)
    assert view.comparison
    rows = view.comparison.rows
    told = tuple(
        dataclasses.replace(row, metric=dataclasses.replace(row.metric, better=better)) for row in rows
    )
    view = dataclasses.replace(view, comparison=dataclasses.replace(view.comparison, rows=told))
    lines = [line for part in section(view).parts for line in part.lines if line.mark.startswith("different")]
    assert lines
    signs = {"worse": "▼", "better": "▲"}
    assert all(line.mark == f"different, {line.tone} {signs[line.tone]}" for line in lines)
    differing = [row.direction for row in told if row.verdict == "different"]
    assert sorted(line.tone for line in lines) == sorted(filter(None, differing))
    assert section(view).look == ("matters" if "worse" in differing else "")


def test_no_colour_of_a_page_says_better_of_what_is_worse() -> None:
    style = (Path(report.__file__).parent / "templates/report.css").read_text()
    template = (Path(report.__file__).parent / "templates/section.html.j2").read_text()
    assert "line.tone" in template
    assert re.search(r"\.worse \{[^}]*var\(--worse\)", style)
    assert not re.search(r"\.worse[^{]*\{[^}]*var\(--holds\)", style)
