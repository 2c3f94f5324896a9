"""What commands import before their first trial: not the parts of SciPy that take longer than all else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trialwise import statistics as st

LATER = {"scipy.optimize", "scipy.signal", "scipy.stats", "scipy.sparse", "scipy.linalg", "scipy.interpolate"}


def test_ab_starts_without_what_only_some_analyses_use() -> None:
    code = "import sys, trialwise.cli.ab, trialwise.study; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "trialwise.study.running" in loaded
    assert not loaded & LATER


def test_names_of_statistics_come_with_their_first_use() -> None:
    code = "import sys; from trialwise import statistics as st; print(*sys.modules); print(st.samples_needed(95, 95))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, number = done.stdout.splitlines()
    assert not [
        name for name in modules.split() if name.startswith(("scipy", "numpy", "trialwise.statistics."))
    ]
    assert int(number) == 59
    assert {"kpi", "Difference", "variability"} <= set(dir(st))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = st.nothing  # pyright: ignore[reportAttributeAccessIssue]


def test_each_name_of_the_stub_is_in_its_module() -> None:
    assert all(getattr(st, name) is not None for name in dir(st))
