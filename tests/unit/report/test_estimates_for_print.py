"""Estimates of a simulation in print and in LaTeX: the numbers are those of JSON, with interval, n, level and method."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from json_pointer import resolve
from trialwise import statistics as st
from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.estimation.results import SizeBin
from trialwise.analysis.results import Analysis
from trialwise.exchange.analysis_json import analysis_document
from trialwise.report.document import plain
from trialwise.report.documents import estimates, paper, stopping
from trialwise.report.estimation_claims import estimate_claims
from trialwise.report.estimation_tables import size_table
from trialwise.report.estimation_text import estimate_blocks
from trialwise.report.figures.estimation import estimation_figures
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import styles
from trialwise.report.latex import latex_files
from trialwise.report.macros import MacroNames
from trialwise.report.notes import method_notes
from trialwise.report.plot_rows import labels
from trialwise.report.printed import print_figures
from trialwise.report.render.latex import latex_number
from trialwise.report.render.typst import typst_data
from trialwise.study import analyse, run, verdict_view

_FILE = """
[experiment]
name = "printed"
seed = 5
[factors]
scheme = ["dctcp", "hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,100Gbit/s,1us"
workload = { sizes = "websearch", load = "30%", duration = "2ms" }
[metrics.mean]
quantity = "fct"
[metrics.p90]
quantity = "fct"
measure = "p90"
[design]
series = 1
rounds = 8
"""
_LOOKED_AT = """
[metrics.tail]
quantity = "fct"
measure = "p99"
estimand = "per_trial"
few_samples = "allow"
stop = { precision = "80%", of = "mean" }
[metrics.mean]
quantity = "fct"
[design]
looks = "cceval"
max_trials = 30
"""
_COMMAND = re.compile(r"^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}$", re.MULTILINE)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("printed")
    file = folder / "experiment.toml"
    file.write_text(_FILE)
    return analyse(run(file, folder / "results").directory)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looked-at")
    file = folder / "experiment.toml"
    file.write_text(_FILE.partition("[metrics.mean]")[0] + _LOOKED_AT)
    return run(file, folder / "results").directory


@pytest.fixture(scope="module")
def looked_at(directory: Path) -> Analysis:
    return analyse(directory, controls="workload")


@pytest.fixture(scope="module")
def verdicts(directory: Path) -> VerdictSummary:
    return verdict_view(directory)


def test_every_number_of_a_sentence_is_that_of_the_document(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    document = analysis_document(simulated)
    numbers = [
        number for claim in estimate_claims(simulated.estimation, MacroNames()) for number in claim.numbers
    ]
    assert len(numbers) >= 4 * 5
    for number in numbers:
        # A bound that cannot be had is infinite, which JSON has no number for.
        value = number.value if number.value is not None and isfinite(number.value) else None
        assert resolve(document, number.pointer) == value, number.pointer


def test_a_sentence_says_estimand_interval_level_n_and_method(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    own = simulated.estimation.estimates[0].own
    told = next(estimate_claims(simulated.estimation, MacroNames())).text
    for part in (own.what, "95 % interval", f"n = {own.trials} trials", f"{own.samples} samples", own.method):
        assert part in told


def test_a_row_of_the_report_says_n_level_and_method(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    found = estimates.document(simulated.estimation, styles(simulated), labels(simulated), {})
    table = next(table for table in found.tables if table.key == "estimates")
    titles = [column.title for column in table.columns]
    for one, row in zip(simulated.estimation.estimates, table.rows, strict=True):
        cells = dict(zip(titles, map(plain, row), strict=True))
        known = (cells["estimand"], cells["trials"], cells["level"], cells["method"])
        assert known == (one.own.what, str(one.own.trials), "95 %", one.own.method)


def test_the_methods_are_those_of_the_numbers_there_are(simulated: Analysis) -> None:
    titles = [note.title for note in method_notes(simulated)]
    assert titles[0] == "Estimates"
    assert not {"KPIs", "Variability scores", "Control variates"} & set(titles)


def test_an_estimand_looks_the_same_in_every_figure(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    found = estimation_figures(simulated.estimation, styles(simulated), labels(simulated), {})
    seen: dict[str, set[tuple[str, str]]] = {}
    for figure in found:
        for encoding in _encodings(figure.spec):
            colour, shape = (encoding.get(kind, {}) for kind in ("color", "shape"))
            if colour.get("field") == shape.get("field") == "estimand":
                for name, *look in zip(
                    colour["scale"]["domain"], colour["scale"]["range"], shape["scale"]["range"], strict=True
                ):
                    seen.setdefault(name, set()).add(tuple(look))
    assert len(seen) == 2
    assert all(len(each) == 1 for each in seen.values())


def _encodings(spec: Any) -> Iterator[Any]:
    if isinstance(spec, dict):
        yield from [spec["encoding"]] if "encoding" in spec else []
        for part in spec.values():
            yield from _encodings(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from _encodings(part)


def test_the_title_page_says_what_a_trial_was(simulated: Analysis) -> None:
    facts = next(table for table in paper.document(simulated, {}, "1.2.3").tables if table.key == "facts")
    texts = [plain(cell) for row in facts.rows for cell in row]
    assert any("dumbbell:4x4,100Gbit/s,1us" in text and "websearch" in text for text in texts)


def test_what_is_refused_has_no_macro_and_says_why(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    found = list(estimate_claims(simulated.estimation, MacroNames()))
    refused = [claim for claim in found if claim.standing == "refusal"]
    assert len(refused) == 2  # the per-trial p90 of both treatments has too few flows
    assert all("5 are needed" in claim.text and not claim.numbers for claim in refused)


def test_estimates_are_macros_of_both_estimands_and_used_in_the_sentences(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    files = latex_files(simulated)
    commands = dict(_COMMAND.findall(files["numbers.tex"]))
    own = simulated.estimation.estimates[0].own
    assert own.estimand == "pooled"
    assert commands["twMeanSchemeDctcpPooledTrials"] == "8"
    assert commands["twMeanSchemeDctcpPooledSamples"] == str(own.samples)
    assert {"twMeanSchemeDctcpPooledLow", "twMeanSchemeDctcpPerTrialHigh"} <= commands.keys()
    shown = next(
        number
        for claim in estimate_claims(simulated.estimation, MacroNames())
        for number in claim.numbers
        if number.macro == "twMeanSchemeDctcpPooled"
    )
    assert commands["twMeanSchemeDctcpPooled"] == latex_number(shown.text)
    used = set(re.findall(r"\\(tw[A-Za-z]+)", files["claims.tex"]))
    assert used == commands.keys()


def test_a_name_that_a_claim_has_is_not_given_again(simulated: Analysis) -> None:
    assert simulated.estimation is not None
    first = next(estimate_claims(simulated.estimation, MacroNames(["twMeanSchemeDctcpPooled"])))
    assert first.numbers[0].macro == "twMeanSchemeDctcpPooledVariantB"


def test_the_document_and_single_figures_have_the_estimates(simulated: Analysis, tmp_path: Path) -> None:
    names = {path.name for path in print_figures(simulated, tmp_path, "pdf", "1.2.3")}
    assert {"report.pdf", "mean-estimates.pdf", "p90-estimates.pdf"} <= names
    content = (tmp_path / "report.pdf").read_bytes()
    assert len(re.findall(rb"/Type ?/Page\b", content)) <= 4
    assert b"CreationDate" not in content


def test_without_estimates_there_are_no_such_figures(simulated: Analysis, tmp_path: Path) -> None:
    bare = dataclasses.replace(simulated, estimation=None)
    names = {path.name for path in print_figures(bare, tmp_path, "pdf", "1.2.3")}
    assert not any(name == "report.pdf" or name.endswith("-estimates.pdf") for name in names)


def printed(analysis: Analysis, verdicts: VerdictSummary | None = None) -> dict[str, dict[str, Any]]:
    """The tables of the printed report by their captions."""
    sheets: dict[str, ColumnData] = {}
    data = typst_data(paper.document(analysis, sheets, "1.2.3", verdicts), sheets, "a title")
    return {_text(block["caption"]): block for block in data["blocks"] if block["kind"] == "table"}


def said(analysis: Analysis, verdicts: VerdictSummary | None = None) -> list[str]:
    """The sentences of the printed report."""
    sheets: dict[str, ColumnData] = {}
    data = typst_data(paper.document(analysis, sheets, "1.2.3", verdicts), sheets, "a title")
    return [_text(block["text"]) for block in data["blocks"] if block["kind"] in ("note", "heading")]


def _text(runs: list[list[str]]) -> str:
    return "".join(text for _, text in runs)


def _estimates_table(analysis: Analysis) -> dict[str, Any]:
    return next(table for caption, table in printed(analysis).items() if caption.startswith("Estimates"))


def test_footnotes_of_a_printed_table_are_named_by_their_rows(looked_at: Analysis) -> None:
    table = _estimates_table(looked_at)
    assert (table["heads"][0], table["heads"][-1]) == ("metric", "notes")
    (forced,) = (note for note in table["notes"] if "forced: a trial has" in note)
    number = forced.split()[0]
    marks = [_text(row[-1]).split(", ") for row in table["rows"]]
    assert [number in each for each in marks] == [True, True, False, False]
    coverage = [text for text in said(looked_at) if "intervals held in 93 to 95 %" in text]
    assert len(coverage) == 1, "CCEval's coverage, as measured"


def test_a_printed_table_has_all_footnotes_of_its_rows(looked_at: Analysis) -> None:
    assert looked_at.estimation is not None
    one = looked_at.estimation.estimates[0]
    members = [
        dataclasses.replace(one, own=dataclasses.replace(one.own, note=f"note {place} " * 20))
        for place in range(40)
    ]
    found = dataclasses.replace(looked_at.estimation, estimates=tuple(members))
    notes = _estimates_table(dataclasses.replace(looked_at, estimation=found))["notes"]
    for place in range(40):
        assert any(f"  note {place} " in note for note in notes)


def test_what_the_experiment_waits_for_is_printed_below_the_estimates(
    looked_at: Analysis, verdicts: VerdictSummary
) -> None:
    assert verdicts.stopping is not None
    state = dataclasses.replace(verdicts, lifts="raise max_trials")
    told = stopping.document(verdicts.stopping, "raise max_trials")
    table = printed(looked_at, state)[plain(told.tables[0].caption)]
    assert [list(map(_text, row[:10])) for row in table["rows"]] == [
        list(map(plain, row[:10])) for row in told.tables[0].rows
    ]
    sentences = said(looked_at, state)
    for text in (plain(told.answer), "raise max_trials", *verdicts.stopping.warnings):
        assert text in sentences
    methods = {claim.method for claim in verdicts.stopping.claims}
    assert all(any(note.endswith(f"  {method}") for note in table["notes"]) for method in methods)


def test_of_many_warnings_the_first_are_printed(looked_at: Analysis, verdicts: VerdictSummary) -> None:
    assert verdicts.stopping is not None
    warnings = tuple(f"warning {place} of many" for place in range(30))
    state = dataclasses.replace(verdicts, stopping=dataclasses.replace(verdicts.stopping, warnings=warnings))
    sentences = said(looked_at, state)
    shown = [text for text in sentences if text.endswith(" of many")]
    assert shown == list(warnings[: len(shown)])
    assert f"… and {30 - len(shown)} more warnings" in sentences


def test_what_speaks_against_a_controlled_interval_stands_beside_it(looked_at: Analysis) -> None:
    assert looked_at.estimation is not None
    found = estimates.document(looked_at.estimation, styles(looked_at), labels(looked_at), {})
    controls = next(table for table in found.tables if table.key == "controls")
    place = [column.title for column in controls.columns].index("warnings")
    rows = [plain(row[place]) for row in controls.rows]
    claims = [claim.text for claim in estimate_claims(looked_at.estimation, MacroNames())]
    warnings = [one.controlled.result.warnings for one in looked_at.estimation.estimates if one.controlled]
    assert len(warnings) == 4
    assert all(warnings)
    for controlled in (rows, [text for text in claims if "with control variates" in text]):
        for text, own in zip(controlled, warnings, strict=True):
            assert "; ".join(own) in text


def test_the_terminal_says_once_what_speaks_against_controlled_intervals_and_whose(
    looked_at: Analysis,
) -> None:
    found = looked_at.estimation
    assert found is not None
    names = labels(looked_at)
    mean = [one for one in found.estimates if one.metric == "mean" and one.controlled]
    notes = dict(zip(("tail", "mean"), (notes for _, notes in estimate_blocks(found, names)), strict=True))[
        "mean"
    ]
    everyone = set.intersection(*(set(one.controlled.result.warnings) for one in mean if one.controlled))
    assert everyone
    for warning in everyone:
        assert notes.count(f"with control variates: {warning}") == 1
    for one in mean:
        for warning in set(one.controlled.result.warnings if one.controlled else ()) - everyone:
            assert f"with control variates, {names[one.treatment]}: {warning}" in notes


def test_figures_with_bars_say_of_which_level(simulated: Analysis) -> None:
    found = simulated.estimation
    assert found is not None
    of_sizes = st.pooled_quantile([np.arange(1.0, 100.0)] * 40, 50)
    sizes = tuple(
        SizeBin(one.treatment, 1, 1000, 3960, {"p50": of_sizes})
        for one in found.estimates
        if one.metric == "mean"
    )
    sized = dataclasses.replace(found, sizes=sizes)
    assert (
        plain(size_table(sized, {}).caption).replace("\u00a0", " ").endswith("95 % intervals, each by itself")
    )
    figures = estimation_figures(sized, styles(simulated), labels(simulated), {})
    barred = {one.key: one.caption for one in figures if one.key != "phases"}
    assert {key.partition("-")[0] for key in barred} == {"estimates", "slowdowns", "duration"}
    for key, caption in barred.items():
        assert "bars are 95 % intervals of each by itself" in caption.lower().replace("\u00a0", " "), key
