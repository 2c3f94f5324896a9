"""Experiments on workers that ssh reaches: real sshd, each in its own network namespace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.worker_machines import Machines, machines


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines"), 2) as made:
        yield made


@pytest.fixture(autouse=True)
def configuration(two: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(two.configuration))


def workers(two: Machines, rest: str = "", index: int = 0) -> str:
    return f'[workers]\nfolder = "{two[index].home}"\nheartbeat = "1s"\nreconnect = "5s"\n{rest}'


def test_two_workers_each_run_the_plan_in_orders_of_their_own(bench: Bench, two: Machines):
    bench.write(
        "sh -c 'echo 4{x}; pwd >&2'",
        "stdout = '([0-9]+)'",
        factors="x = [1, 2, 3, 4]",
        rest=workers(two),
        rounds=3,
    )
    result = bench.run(workers=two.names)
    assert (result.ending.word, result.counts) == ("complete", {"finished": 24}), result.ending
    assert sorted(set(bench.values())) == [41.0, 42.0, 43.0, 44.0]
    rows = bench.rows()
    assert {row.worker for row in rows} == set(two.names)
    orders = {name: [row.treatment for row in rows if row.worker == name] for name in two.names}
    assert orders[two.names[0]] != orders[two.names[1]]
    assert len({row.epoch for row in rows}) == 2
