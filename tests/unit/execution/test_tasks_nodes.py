"""A node of a cluster is a host, however many of Dask's workers it has."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from trialwise.execution.tasks.dask_crew import _host


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
