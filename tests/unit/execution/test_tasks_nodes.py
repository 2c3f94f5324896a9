"""A node of a cluster is a host, however many of Dask's workers it has; what it says is told in a line."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from trialwise.execution.tasks.clusters import _first_line
from trialwise.execution.tasks.dask_executor import _host


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("tcp://10.0.0.5:40123", "10.0.0.5"),
        ("tls://10.0.0.5:40124", "10.0.0.5"),
        ("tls://[fd00::5]:40123", "fd00::5"),
        ("tcp://node7.cluster:8786", "node7.cluster"),
        ("somewhere", "somewhere"),
    ],
)
def test_a_worker_is_on_the_host_of_its_address(address: str, host: str):
    assert _host(address) == host


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError("no route\nto host"), "no route"),
        (OSError("no route"), "no route"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_an_error_is_told_in_its_first_line_or_by_its_name(error: Exception, line: str):
    assert _first_line(error) == line
