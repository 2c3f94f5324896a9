"""Documents of commands: each number stands in the JSON document of the same command where it says, with that value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from calibration_data import bench
from comparison_data import hyperfine
from condition_data import condition_csv, pilot_csv
from effects_data import normal, trial_set
from json_pointer import resolve
from order_data import fixed_and_random
from trialwise.analysis.calibration.calibrating import calibrate
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.conditions.profile import profile_of
from trialwise.analysis.conditions.table import read_conditions
from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
from trialwise.analysis.effects.trials import factor_trials
from trialwise.analysis.observing.observing import observe as observed
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.runtime.advising import runtime_advice
from trialwise.analysis.runtime.pilots import Question, pilots_of_table
from trialwise.analysis.versions.gate import judged_outcome, together
from trialwise.analysis.versions.results import VersionsResult
from trialwise.exchange.calibration_json import calibration_document
from trialwise.exchange.comparison_json import comparison_document
from trialwise.exchange.condition_json import condition_document
from trialwise.exchange.effects_json import effects_document
from trialwise.exchange.observe_json import observe_document
from trialwise.exchange.order_json import order_document
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.versions_json import versions_document
from trialwise.experiment.model import Extent
from trialwise.report import numbers as numbers_module
from trialwise.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Items,
    Listing,
    Note,
    Table,
    Text,
    pieces,
    plain,
)
from trialwise.report.documents import aa as aa_words
from trialwise.report.documents import ab as ab_words
from trialwise.report.documents import compare as compare_words
from trialwise.report.documents import effects as effects_words
from trialwise.report.documents import observe as observe_words
from trialwise.report.documents import order as order_words
from trialwise.report.documents import profile as profile_words
from trialwise.report.documents import runtime as runtime_words
from trialwise.report.numbers import Estimate, Number
from trialwise.report.render.terminal import terminal
from trialwise.visible import cell_width

Made = tuple[Document, dict[str, Any]]


def ab(folder: Path, head: tuple[float, float, int] = (1.2, 0.01, 20)) -> Made:
    """Head against base in one metric with margin 5 %."""
    base = hyperfine(folder / "a.json", {"x": (1.0, 0.01, 20)})
    other = hyperfine(folder / "b.json", {"x": head}, seed=2)
    comparison = compare(
        read_trials(base), read_trials(other), CompareOptions(margin=Extent(5, relative=True))
    )
    outcomes = tuple(
        judged_outcome(row.verdict, row.difference, "lower") for row in comparison.rows if row.difference
    )
    words = {
        "ending": "every planned trial has come to an end",
        "directory": "ab.results/x_<b>",
        "method": "one judgement",
    }
    found = VersionsResult(
        outcome=together(outcomes), outcomes=outcomes, stage="all", pilot=20, forecast=None, comparison=comparison, confidence=95.0,
        complete=True, failed=0, **words,
    )  # fmt: skip
    return ab_words.document(found), versions_document(found)


def aa(folder: Path) -> Made:
    found = calibrate(bench(1, rounds=20, hosts=2, shift=0.5, metrics=("time", "memory")))
    return aa_words.document(found), calibration_document(found)


def profile(folder: Path) -> Made:
    found = profile_of(read_conditions(condition_csv(folder / "a.csv"), time=None, value=None))
    return profile_words.document(found), condition_document(found)


def runtime(folder: Path) -> Made:
    table = read_conditions(
        pilot_csv(folder / "p.csv", seeds=(4, 5)), time="time", value="throughput", trial="trial"
    )
    found = runtime_advice("p.csv", pilots_of_table(table, Question()))
    return runtime_words.document(found), condition_document(found)


def observe(folder: Path) -> Made:
    trials = bench(1, rounds=20, sides=False, treatments=("x=1", "x=2"))
    found = observed(trials, "x", "1")
    return observe_words.document(found), observe_document(found)


def effects(folder: Path) -> Made:
    slower = normal(1, lambda levels: 8.0 if levels["flavour"] == "<b>" and levels["load"] == 10 else 0.0)
    trials = trial_set({"flavour": ["none", "<b>"], "load": [1, 10]}, slower)
    found = analyse_effects(
        factor_trials(trials), EffectsOptions(margins={"delay": Extent(5, relative=True)})
    )
    return effects_words.document(found), effects_document(found)


def compared(folder: Path) -> Made:
    commands = {"x": (1.0, 0.01, 20), "y": (2.0, 0.1, 20), "z": (3.0, 0.1, 1)}
    base = hyperfine(folder / "a.json", commands)
    head = hyperfine(folder / "b.json", commands | {"x": (1.2, 0.01, 20)}, seed=2)
    found = compare(read_trials(base), read_trials(head), CompareOptions(margin=Extent(5, relative=True)))
    return compare_words.document(found, has_gate=True), comparison_document(found)


def order(folder: Path) -> Made:
    found = analyse_order(fixed_and_random(1, shift=4.0))
    return order_words.document(found), order_document(found)


MADE = {
    "order": order,
    "compare": compared,
    "effects": effects,
    "ab": ab,
    "aa": aa,
    "profile": profile,
    "runtime": runtime,
    "observe": observe,
}


@pytest.fixture(scope="module", params=MADE)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return MADE[request.param](tmp_path_factory.mktemp(request.param))


def texts(blocks: Sequence[Block]) -> Iterator[Text]:
    for block in blocks:
        match block:
            case Heading(text) | Note(text):
                yield text
            case Items(lines):
                yield from lines
            case Table():
                yield from (
                    block.caption,
                    *block.facts,
                    *(pieces(cell) for row in block.rows for cell in row),
                )
            case Listing(_, caption):
                yield caption
            case Details(_, inner):
                yield from texts(inner)


def numbers(document: Document) -> Iterator[Number]:
    for text in (document.answer.text, *texts(document.blocks)):
        for piece in text:
            if isinstance(piece, Number):
                yield piece
            elif isinstance(piece, Estimate):
                yield from (piece.value, piece.low, piece.high)


def test_each_number_stands_in_the_json_document(made: Made) -> None:
    document, found = made
    kept = json.loads(json.dumps(found))
    named = [number for number in numbers(document) if number.pointer]
    assert len(named) >= 4
    for number in named:
        value = resolve(kept, number.pointer)
        shown = None if number.value is not None and math.isnan(number.value) else number.value
        assert value == shown or (value is not None and value == pytest.approx(shown, rel=1e-9)), (
            number.pointer
        )


def test_the_answer_is_one_sentence_and_the_method_is_there(made: Made) -> None:
    document, _ = made
    answer = plain(document.answer)
    assert answer.endswith(".")
    assert "\n" not in answer
    assert document.method


@pytest.mark.parametrize("width", [80, 120, None])
def test_no_line_is_wider_than_the_terminal(made: Made, width: int | None) -> None:
    lines = ["".join(span.text for span in line) for line in terminal(made[0], width)]
    assert lines[0].removeprefix("· ")[2:10] in plain(made[0].answer)
    assert all(cell_width(line) <= (width or 1000) for line in lines)
    assert not any(before == after == "" for before, after in pairwise(lines))


def test_a_gate_that_fails_names_the_change_with_its_interval(tmp_path: Path) -> None:
    document, _ = ab(tmp_path)
    assert document.answer.outcome == "bad"
    assert plain(document.answer).startswith("Head is worse: time +")
    assert " % (+" in plain(document.answer)


def test_digits_are_made_by_the_one_writer_alone() -> None:
    """No format of a float in documents and renderers: `numbers` rounds bounds outward, and a format does not."""
    form = re.compile(r"[:][-+,#0-9.]*[efgEFG%][}]")
    folder = Path(numbers_module.__file__).parent
    files = [path for name in ("documents", "render") for path in (folder / name).glob("*.py")]
    assert len(files) > 12
    assert [path.name for path in files if form.search(path.read_text())] == []
