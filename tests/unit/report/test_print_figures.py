from __future__ import annotations

from pathlib import Path

import pytest

from trialwise.analysis.results import Analysis
from trialwise.report.print_figures import Kind, print_figures


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
        assert b"/MediaBox [ 0 0 239.76" in content  # 3.33 inches
