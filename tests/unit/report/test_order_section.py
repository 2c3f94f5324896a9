"""The section on order in the report and in the page of `trialwise order`: what it says is what --json says."""

from __future__ import annotations

import csv
import json
import re
import runpy
from dataclasses import dataclass
from decimal import Decimal
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from example_directory import analyse_example, write_example
from json_pointer import resolve
from report_page import ReportPage
from trialwise import study
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.order.summary import OrderSummary, view_of
from trialwise.analysis.order.trials import OrderColumns, read_order_table
from trialwise.exchange.order_json import order_document
from trialwise.report.document import Figure, Heading, Note, plain
from trialwise.report.documents import order
from trialwise.report.figures.order import order_figures
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.html import html_report, order_page
from trialwise.report.latex import latex_files
from trialwise.report.numbers import write
from trialwise.report.plot_rows import Row
from trialwise.report.printed import print_figures, write_order_figures
from trialwise.wording import order as wording

ROOT = Path(__file__).resolve().parents[3]
HEADER = ["treatment", "order", "round", "position", "value"]


def viewed(path: Path) -> OrderSummary:
    trials = read_order_table(path, OrderColumns())
    return view_of(trials, analyse_order(trials))


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> OrderSummary:
    """The table of the page on order: scan is a tenth slower right after sort."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        runpy.run_path(str(ROOT / "docs/how-to/order_trials.py"))
    path = tmp_path_factory.mktemp("order") / "trials.csv"
    path.write_text(text.getvalue())
    return viewed(path)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> OrderSummary:
    """Sixty treatments, of which one is slower right after another."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("many") / "trials.csv"
    with path.open("w") as file:
        rows = csv.writer(file)
        rows.writerow(HEADER)
        for turn in range(60):
            order = rng.permutation(60)
            # The culprit often runs right before its victim.
            order = [one for one in order if one != 7]
            order.insert(order.index(3) + 1 if turn % 2 else 30, 7)
            for position, one in enumerate(order):
                slow = -30 if one == 7 and position and order[position - 1] == 3 else 0
                rows.writerow([f"t{one}", "random", turn, position, 100 + slow + rng.normal()])
    return viewed(path)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure with the rows of its marks, and everything that its description says."""

    figure: Figure
    rows: list[Row]

    @property
    def names(self) -> list[str]:
        """The treatments of its rows, or of its axes."""
        ups = (layer["encoding"].get("y", {}) for layer in self.figure.spec["layer"])
        axis = next(up for up in ups if "sort" in up or "scale" in up)
        return axis.get("sort") or axis["scale"]["domain"]


def named(view: OrderSummary) -> dict[str, Drawn]:
    sheets: dict[str, ColumnData] = {}
    found: dict[str, Drawn] = {}
    for group in order_figures(view, {}, sheets):
        for figure in group.figures:
            data = figure.spec.get("data") or figure.spec["layer"][0]["data"]
            found[figure.file] = Drawn(figure, unpacked(sheets[data["name"]]))
    return found


def agrees(shown: str, value: float, rounding: str) -> bool:
    """Whether what is printed is a value rounded to its last digit, a bound outward."""
    if shown.startswith("< "):
        return value < float(shown[2:])
    unit = Decimal(1).scaleb(int(Decimal(shown).as_tuple().exponent))
    distance = Decimal(shown) - Decimal(value)
    least, most = {"nearest": (-unit / 2, unit / 2), "down": (-unit, 0), "up": (0, unit)}[rounding]
    return least <= distance <= most or (rounding == "nearest" and 0 <= distance < unit)  # p-values round up


def test_every_number_of_the_page_is_that_of_json(view: OrderSummary) -> None:
    assert view.found
    document = json.loads(json.dumps(order_document(view.found), allow_nan=False))
    numbers = ReportPage(order_page(view), "data-order-path").numbers
    exact = [one for one in numbers if one[2] == write(resolve(document, one[0]), one[1], one[3])]  # type: ignore[arg-type]
    assert len(exact) >= 4 * 10 + 5
    for path, rounding, shown, _ in numbers:
        assert agrees(shown, float(resolve(document, path)), rounding), path  # type: ignore[arg-type]


def test_the_page_says_the_verdict_each_treatment_and_each_pair(view: OrderSummary) -> None:
    page = unescape(re.sub(r"<[^>]+>", "", order_page(view))).replace("\u00a0", " ")
    found = view.found
    assert found
    for sentence in (wording.sentence(found), *wording.next_steps(found)):
        assert sentence in page
    rows = [row for table in order.document(found).tables for row in table.rows]
    assert len(rows) >= len(found.treatments) + len(found.conclusions) + len(found.carry_over[0].pairs)
    for row in rows:
        for cell in row:
            assert plain(cell) in page


def test_the_matrix_has_the_cells_of_json_and_marks_what_stands_out(view: OrderSummary) -> None:
    assert view.found
    matrix = view.found.carry_over[0].matrix
    assert matrix
    picture = named(view)["carry-over-0"]
    for row in picture.rows:
        at = (
            matrix.treatments.index(str(row["treatment"])),
            matrix.treatments.index(str(row["predecessor"])),
        )
        assert row["percent"] == pytest.approx(matrix.percent[at[0]][at[1]], rel=1e-6)
        assert row["n"] == matrix.counts[at[0]][at[1]] > 0
    assert [(row["treatment"], row["predecessor"]) for row in picture.rows if row["named"]] == [
        ("scan", "sort")
    ]
    scale = picture.figure.spec["layer"][0]["encoding"]["color"]["scale"]
    most = max(abs(float(row["percent"] or 0)) for row in picture.rows)
    assert scale["domain"] == pytest.approx([-most, most], rel=1e-6)


def test_a_treatment_that_is_always_0_has_its_place_in_every_figure(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "trials.csv"
    with path.open("w") as file:
        rows = csv.writer(file)
        rows.writerow(HEADER)
        for turn in range(60):
            order = np.arange(4) if turn % 2 else rng.permutation(4)
            for position, one in enumerate(order):
                value = 0 if one == 0 else 100 + rng.normal()
                rows.writerow([f"t{one}", "fixed" if turn % 2 else "random", turn, position, value])
    zero = viewed(path)
    assert "t0" in named(zero)["carry-over-0"].names
    assert order_page(zero)  # JSON without NaN, or it raises
    assert tmp_path / "carry-over-0.svg" in write_order_figures(zero, tmp_path, "svg")


def test_curves_are_sorted_and_cases_counted(view: OrderSummary) -> None:
    assert view.found
    shown, treatments = named(view), view.found.treatments
    effects = [row["effect"] for row in shown["p-values"].rows]
    assert effects == pytest.approx(
        sorted(one.eta_squared for one in treatments if one.eta_squared is not None), rel=1e-6
    )
    differences = [row["difference"] for row in shown["differences"].rows]
    assert differences == pytest.approx(
        sorted(one.percent_difference for one in treatments if one.percent_difference is not None), rel=1e-6
    )
    assert [row["treatments"] for row in shown["cases"].rows] == [
        sum(one.case == case for one in treatments) for case in (1, 2, 3)
    ]
    level = shown["p-values"].figure.spec["layer"][0]["encoding"]["x"]["datum"]
    assert level == treatments[0].alpha_corrected


def test_many_treatments_give_their_pairs_instead_of_a_matrix(many: OrderSummary) -> None:
    picture = named(many)["carry-over-0"]
    assert picture.figure.title == "Pairs that stand out"
    assert picture.names[0] == "t7 after t3"
    assert len(picture.names) <= 20
    assert "a matrix of so many treatments cannot be read" in order_page(many)
    positions = named(many)["position-0"]
    assert len(positions.rows) <= 60


def test_the_report_of_an_experiment_has_the_numbers_of_the_command(tmp_path: Path) -> None:
    path = write_example(tmp_path / "results", algorithms=("a", "b", "c"), levels=(1,), rounds=10, series=2)
    analysis, view = analyse_example(path), study.order_view(path)
    text = html_report(analysis, "test", view)
    found = analyse_order(study.order_trials(path))
    assert view.found
    assert view.found.carry_over[0].matrix == found.carry_over[0].matrix
    assert wording.sentence(view.found) in text
    assert '<a href="#order">' in text
    figures = {str(figure["data-figure"]) for figure in ReportPage(text).figures}
    assert {f"by-order-{name}" for name in named(view)} <= figures
    names = {written.stem for written in print_figures(analysis, tmp_path / "svg", "svg", order=view)}
    assert {f"order-{name}" for name in named(view)} <= names


def test_a_report_that_knows_nothing_of_order_has_no_section(tmp_path: Path) -> None:
    path = write_example(tmp_path / "results", algorithms=("a",), levels=(1,), rounds=3, series=1)
    analysis = analyse_example(path)
    assert 'id="order"' not in html_report(analysis, "test")
    text = html_report(analysis, "test", study.order_view(path))
    assert "The order cannot be judged: there is one treatment; with a second one there is an order." in text
    assert "by-order-trials-0" in text
    assert "order-treatments" not in text


def test_without_a_value_there_is_a_sentence_and_nothing_else() -> None:
    view = OrderSummary(None, "The order cannot be judged: nothing ran.")
    assert named(view) == {}
    assert "nothing ran" in order_page(view)


def test_tables_for_latex(view: OrderSummary, tmp_path: Path) -> None:
    path = write_example(tmp_path / "results", algorithms=("a",), levels=(1,), rounds=3, series=1)
    tables = latex_files(analyse_example(path), view)["tables.tex"]
    assert r"\label{tab:order-treatments}" in tables
    assert r"\texttt{scan} & \texttt{sort} & \ensuremath{-" in tables
    assert "η" not in tables


def test_the_same_view_gives_the_same_page_and_figures(view: OrderSummary, tmp_path: Path) -> None:
    assert order_page(view) == order_page(view)
    first, second = (write_order_figures(view, tmp_path / name, "svg") for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_metrics_without_carry_over_share_a_sentence_and_a_table(tmp_path: Path) -> None:
    """Three metrics: in one `b` is a half slower right after `a`, one is noise, one never varies."""
    draw = np.random.default_rng(7)
    path = tmp_path / "runs.csv"
    with path.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["metric", *HEADER])
        for at in range(40):
            sequence = draw.permutation(["a", "b", "c"]).tolist()
            for position, name in enumerate(sequence, 1):
                slow = 1.5 if name == "b" and position > 1 and sequence[position - 2] == "a" else 1.0
                for metric, value in (
                    ("time", slow * draw.normal(10, 0.1)),
                    ("noise", draw.normal(5, 1)),
                    ("size", 7),
                ):
                    write.writerow([metric, name, "random", at + 1, position, value])
    found = viewed(path).found
    assert found is not None
    told = order.document(found)
    titles = [plain(block.text) for block in told.evidence if isinstance(block, Heading)]
    assert titles[0].startswith("Carry-over of time (6 pairs right after")
    assert titles[1] == "Carry-over of the others"
    notes = [plain(block.text) for block in told.evidence if isinstance(block, Note)]
    assert any(
        note.startswith("noise, size: no pair stands out (each: 6 pairs right after") for note in notes
    )
    (trends,) = (table for table in told.tables if table.key == "order-trends")
    assert [plain(row[0]) for row in trends.rows] == ["time"] * 3 + ["noise"] * 3 + ["size"] * 3
    document = json.loads(json.dumps(order_document(found)))
    for row in trends.rows:
        assert resolve(document, row[3].pointer) == row[3].value  # type: ignore[union-attr]


def test_names_are_escaped(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "trials.csv"
    with path.open("w") as file:
        rows = csv.writer(file)
        rows.writerow(HEADER)
        for turn in range(20):
            for position, one in enumerate(rng.permutation(["<b>x</b>", "<script>alert(1)</script>", "c"])):
                rows.writerow([one, ("fixed", "random")[turn % 2], turn, position, rng.normal()])
    page = order_page(viewed(path))
    assert "<b>x" not in page
    assert "<script>alert" not in page
