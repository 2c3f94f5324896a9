"""The figure of sizes and the families fitted to them."""

import re
from pathlib import Path

import numpy as np

from trialwise import statistics as st
from trialwise.report.size_fit_figure import write_size_fits


def test_sizes_are_labelled_with_plain_numbers(tmp_path: Path) -> None:
    sizes, shares = np.array([1e3, 1e4, 1e5, 1e7]), np.array([0.0, 40.0, 70.0, 100.0])
    file = tmp_path / "sizes.svg"
    write_size_fits(file, sizes, shares, [st.fit_sizes(sizes, shares, "lognormal")], "sizes")
    drawn = re.findall(r"<!-- (.*?) -->", file.read_text())
    assert {"1k", "100k", "10M"} <= set(drawn), drawn
    assert not [text for text in drawn if "$" in text]
