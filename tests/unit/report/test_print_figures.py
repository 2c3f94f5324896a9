from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from trialwise import statistics as st
from trialwise.analysis.results import Analysis
from trialwise.report.plot_rows import correlation_range, lag_rows
from trialwise.report.printed import Kind, print_figures

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def one_metric(analysis: Analysis) -> Analysis:
    import dataclasses

    return dataclasses.replace(analysis, metrics=analysis.metrics[1:2])


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_the_same_analysis_gives_the_same_bytes(one_metric: Analysis, tmp_path: Path, kind: Kind) -> None:
    first = print_figures(one_metric, tmp_path / "a", kind)
    second = print_figures(one_metric, tmp_path / "b", kind)
    assert [path.name for path in first] == [
        f"latency-{name}.{kind}"
        for name in ("order", "distribution", "kpi-0", "series-0", "autocorrelation", "samples")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert all(b"CreationDate" not in path.read_bytes() for path in first)


def test_fonts_are_embedded_as_outlines_that_scale(one_metric: Analysis, tmp_path: Path) -> None:
    for path in print_figures(one_metric, tmp_path, "pdf"):
        content = path.read_bytes()
        assert b"/FontFile2" in content
        assert b"/Type3" not in content
        assert re.search(rb"/MediaBox ?\[ ?0 0 239.76", content)  # 3.33 inches


def test_an_svg_has_a_title_and_its_text_as_text(one_metric: Analysis, tmp_path: Path) -> None:
    for path in print_figures(one_metric, tmp_path, "svg"):
        root = ET.fromstring(path.read_text())  # noqa: S314 our own
        (described,) = (each.text or "" for each in root.findall(f"{SVG}desc"))
        assert "latency" in described
        if path.stem == "latency-autocorrelation":
            assert root.findtext(f"{SVG}title") == "Autocorrelation"
        words = {"".join(each.itertext()) for each in root.iter(f"{SVG}text")}
        assert any("latency" in text or "autocorrelation" in text for text in words), words


@pytest.mark.parametrize(("n", "end"), [(3, 1.05 * 1.95 / 3**0.5), (4, 1.0), (100, 1.0)])
def test_the_band_of_few_trials_lies_within_the_frame(n: int, end: float) -> None:
    threshold = 1.95 / n**0.5
    low, high = correlation_range([{"threshold": threshold, "lag": 1}, {"threshold": threshold, "lag": 2}])
    assert (low, high) == pytest.approx((-end, end))
    assert threshold < high
    assert correlation_range([]) == (-1, 1)


def test_trials_that_all_gave_one_number_have_no_autocorrelation_to_draw() -> None:
    """Coefficients of 0 were drawn for them."""
    found: Any = SimpleNamespace(
        independence=[
            SimpleNamespace(treatment=name, series=1, result=st.independence(values))
            for name, values in (("equal", [2.5] * 12), ("varying", [1.0, 2.0, 4.0, 3.0, 5.0, 4.0]))
        ]
    )
    assert {row["treatment"] for row in lag_rows(found)} == {"varying"}
