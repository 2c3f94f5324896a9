"""The report of an experiment over paths: page, print, tables, looks."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from json_pointer import resolve
from path_directory import LATE, analyse_paths, write_paths
from report_page import ReportPage
from trialwise.analysis.path.results import PathFacts, PathScheme, TreatmentPath
from trialwise.analysis.results import Analysis
from trialwise.exchange.analysis_json import analysis_document
from trialwise.report.documents import analyze, paper
from trialwise.report.figures import axes as path_axes
from trialwise.report.figures import path_labels
from trialwise.report.figures.axes import Axis
from trialwise.report.figures.paths import PathBoard, course_figures, plane_figures, printed_planes
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.figures.styles import styles
from trialwise.report.html import html_report
from trialwise.report.latex import latex_files
from trialwise.report.numbers import write
from trialwise.report.path_tables import path_tables
from trialwise.report.render.typst import pdf

RATES = ("12Mbit/s", "24Mbit/s")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """KPIs, two flows, two paths, one trial that is not valid; cubic's file gives a colour."""
    folder = write_paths(tmp_path_factory.mktemp("asked") / "results", rates=RATES, flows=2, invalid=(3,))
    facts = PathFacts(
        schemes=(PathScheme("cubic", "TCP <CUBIC>", "#0072B2"), PathScheme("bbr", "TCP BBR")),
        paths=(
            TreatmentPath("scheme=cubic rate=12Mbit/s", "rate 12Mbit/s", "rate 1Mbit/s", 1500, "somewhere"),
        ),
    )
    return analyse_paths(folder, facts)


@pytest.fixture(scope="module")
def text(asked: Analysis) -> str:
    return html_report(asked, "1.2.3")


def board_of(analysis: Analysis) -> PathBoard:
    assert analysis.path is not None
    return PathBoard(analysis, analysis.path, {})


# The page


def test_planes_stand_on_top_and_every_number_is_that_of_the_document(asked: Analysis, text: str) -> None:
    page = ReportPage(text)
    keys = [figure["data-figure"] for figure in page.figures]
    assert keys[:5] == ["plane-0", "plane-1", "over-time-throughput", "over-time-delay", "delays"]
    assert text.index('id="plane"') < text.index('id="claims"')
    document = analysis_document(asked)
    paths = [number for number in page.numbers if number[0].startswith("/path/")]
    assert len(paths) > 150
    for pointer, rounding, shown, power in paths:
        assert shown == write(resolve(document, pointer), rounding, power)  # type: ignore[arg-type]
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_a_trial_that_is_not_valid_is_told_with_its_reason_and_escaped(text: str) -> None:
    assert "1 trial is not valid" in text
    assert "Trial 3: the emulator was late: &lt;b&gt;1 %&lt;/b&gt;" in text.replace("\u00a0", " ")
    assert "<b>1" not in text


def test_captions_state_level_method_and_n(asked: Analysis, tmp_path: Path) -> None:
    kpi = plane_figures(board_of(asked))[0].caption
    for words in (
        "p25 is at least this with 75 %",
        "both together with at least 50 % (Bonferroni)",
        "n = 8",
        "exact binomial ranks",
    ):
        assert words in kpi
    assert "Crosses: 1 trial not valid" in kpi + plane_figures(board_of(asked))[1].caption
    few = analyse_paths(write_paths(tmp_path / "few", rounds=6, kpi=False))
    assert (
        "No region for cubic, bbr: it needs 7 trials, there are 6." in plane_figures(board_of(few))[0].caption
    )
    enough = analyse_paths(write_paths(tmp_path / "enough", rounds=7, kpi=False))
    caption = plane_figures(board_of(enough))[0].caption
    assert (
        "with at least 95 % confidence both medians lie in the rectangle (97.5 % each, Bonferroni" in caption
    )


def test_the_delay_axis_is_reversed_and_the_data_are_there(asked: Analysis) -> None:
    context = board_of(asked)
    for figure in (*plane_figures(context), *course_figures(context)):
        named = set(re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(figure.spec)))
        assert named <= set(context.sheets)
        assert named
    for figure in plane_figures(context):
        scales = [
            layer["encoding"]["x"].get("scale")
            for layer in figure.spec["layer"]
            if "scale" in layer["encoding"]["x"]
        ]
        assert scales
        assert all(scale["reverse"] for scale in scales)


def test_delays_that_differ_by_much_stand_on_a_logarithmic_axis() -> None:
    assert path_axes.padded([10.0, 100.0], logarithmic=True) == pytest.approx((10 / 10**0.08, 100 * 10**0.08))
    low, high = path_axes.padded([99.0, 100.0])
    assert high - low == pytest.approx(5)
    assert (low + high) / 2 == pytest.approx(99.5)


def test_an_experiment_without_packets_or_valid_trials_has_a_page(tmp_path: Path) -> None:
    dropped = analyse_paths(write_paths(tmp_path / "dropped", rounds=1, packets="drop"))
    assert "packets were not kept" in html_report(dropped, "1")
    late = analyse_paths(write_paths(tmp_path / "late", schemes=("cubic",), rounds=2, invalid=(1, 2)))
    page = html_report(late, "1")
    assert "2 trials are not valid" in page
    assert "No valid trial of cubic." in page
    assert len(analyze.document(late).evidence) > 2
    sheets: dict[str, ColumnData] = {}
    assert pdf(paper.document(late, sheets, "1"), sheets, "late").startswith(b"%PDF")


def test_a_report_of_many_trials_stays_small(tmp_path: Path) -> None:
    schemes = tuple(f"scheme-{place}" for place in range(10))
    analysis = analyse_paths(write_paths(tmp_path / "many", schemes=schemes, rounds=8, runtime="30s"))
    assert len(html_report(analysis, "1").encode()) < 3_000_000


# Looks


def test_a_scheme_has_one_colour_on_all_paths_and_shapes_tell_treatments_apart(asked: Analysis) -> None:
    seen = styles(asked)
    colours = {name: style.colour for name, style in seen.items()}
    assert {colours[f"scheme=cubic rate={rate}"] for rate in RATES} == {"#0072B2"}
    assert len({colours[f"scheme=bbr rate={rate}"] for rate in RATES}) == 1
    assert colours["scheme=bbr rate=12Mbit/s"] != "#0072B2"
    assert len({look.shape for look in seen.values()}) == 4


def test_labels_do_not_lie_upon_each_other_where_there_is_room() -> None:
    axes = (Axis("x", 0, 100), Axis("y", 0, 10))
    points = [("cubic", 50.0, 5.0), ("bbr", 50.5, 5.05), ("reno", 49.5, 4.95)]
    found = path_labels.placed(points, axes, 400, 400)
    assert len({(label.right, label.down) for label in found}) == 3


# Print and tables


def test_the_printed_report_is_whole_and_short(tmp_path: Path) -> None:
    """Twenty-seven trials fit on eight pages, each of them drawn over time."""
    folder = write_paths(
        tmp_path / "results", schemes=("cubic", "bbr", "reno"), rounds=9, flows=2, invalid=(3,)
    )
    sheets: dict[str, ColumnData] = {}
    document = paper.document(analyse_paths(folder, all_trials=True), sheets, "1.2.3")
    assert [chapter.key for chapter in document.chapters] == ["plane", "tables", "trials"]
    drawn = {figure.file for figure in document.figures}
    assert {"plane", "plane-runs", "plane-mean", "delays"} <= drawn
    assert {f"trial-{number}-1" for number in range(1, 28)} <= drawn
    content = pdf(document, sheets, "paths – report")
    assert content == pdf(document, sheets, "paths – report")
    assert len(re.findall(rb"/Type ?/Page\b", content)) <= 8
    assert len(content) < 500_000
    assert b"CreationDate" not in content


def test_the_printed_report_can_be_read_as_text(asked: Analysis, tmp_path: Path) -> None:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    assert asked.path is not None
    short = dataclasses.replace(asked.path, series=asked.path.series[:4])
    sheets: dict[str, ColumnData] = {}
    document = paper.document(dataclasses.replace(asked, path=short), sheets, "1.2.3")
    (tmp_path / "report.pdf").write_bytes(pdf(document, sheets, "paths – report"))
    done = subprocess.run(
        ["pdftotext", "-layout", "report.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    said = " ".join(done.stdout.split())
    for text in (
        "paths – report",
        "Trialwise 1.2.3",
        "one-way delay of packets [ms]",
        "<b>1 %</b>",
        "24Mbit/s",
    ):
        assert text in said


def test_planes_are_printed_in_both_variants_of_pantheon_too(asked: Analysis) -> None:
    context = board_of(asked)
    figures = {figure.file: figure for _, variants in printed_planes(context) for figure in variants}
    names = list(figures)
    assert names == [
        "plane-0",
        "plane-runs-0",
        "plane-mean-0",
        "plane-1",
        "plane-runs-1",
        "plane-mean-1",
    ]
    name = figures["plane-mean-0"].spec["layer"][0]["data"]["name"]
    shown = {(row["delay"], row["throughput"]) for row in unpacked(context.sheets[name])}
    assert asked.path is not None
    regions = asked.path.planes[0].regions
    wanted = {(float(f"{one.mean_delay:.7g}"), float(f"{one.mean_throughput:.7g}")) for one in regions}
    assert shown == wanted


def test_tables_have_their_numbers_in_html_latex_and_text_alike(asked: Analysis) -> None:
    flows = path_tables(asked)[0]
    cell = flows.rows[0][4]
    shown = getattr(cell, "text", "")
    assert shown in latex_files(asked)["tables.tex"]
    assert [table.key for table in path_tables(asked)] == [
        "flows",
        "jain",
        "shares",
        "plane",
        "emulator",
        "paths",
    ]
    assert LATE not in latex_files(asked)["tables.tex"]


@pytest.mark.parametrize(("rounds", "are_shown"), [(5, False), (6, True)])
def test_intervals_that_trials_are_too_few_for_are_no_columns(
    tmp_path: Path, rounds: int, are_shown: bool
) -> None:
    """The two-sided 95 % interval of a median takes 6 values: 1 - 2/2^6 = 0.969, and of 5 there are 1 - 2/2^5 = 0.938."""
    found = analyse_paths(write_paths(tmp_path / "few", flows=2, rounds=rounds, kpi=False))
    (shares,) = (table for table in path_tables(found) if table.key == "shares")
    assert [column.title for column in shares.columns].count("low") == (2 if are_shown else 0)
