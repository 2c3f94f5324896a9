"""DCTCP of the kernel under the workload of a data centre: marked at a threshold, nothing lost, and both estimands told."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths, numbers, packets

from trialwise import study
from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

pytestmark = [needs_paths, pytest.mark.alone]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/datacentre-testbed"
BASE, PACKET = 1.5e-3, 60e-6
"""Seconds: the delay of the example's path, and what a full packet takes on it."""
THRESHOLD = 65
"""Packets; the example's mark."""


@pytest.fixture
def bench(bench: Bench) -> Bench:
    """Skips where DCTCP cannot run here."""
    if lacks := missing(scheme_named("dctcp")):
        pytest.skip("; ".join(lacks))
    return bench


def shortened(name: str, changes: dict[str, str]) -> str:
    """An experiment of the example with other texts; each must be there."""
    text = (EXAMPLE / name).read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def test_dctcp_holds_the_queue_at_the_threshold(bench: Bench) -> None:
    """One transfer that lasts: a queue without marks would hold all that the window takes, many times the threshold."""
    text = shortened(
        "again.toml",
        {
            "flows:lists/{list}.csv": "bytes:40MB",
            "[factors]\nlist = [1, 2, 3, 4]\n": "",
            "rounds = 5": "rounds = 1",
            'packets = "drop"': "",
        },
    )
    bench.file.write_text(text)
    assert bench.run().counts.get("failed", 0) == 0
    rows = packets(bench)
    data = rows.filter((rows["direction"] == "uplink") & (rows["size"] > 200))
    assert set(data["event"]) == {"delivered"}
    steady = data.filter(pl.col("time") > pl.col("time").min() + 0.5)
    waiting = (steady["delay"] - BASE) / PACKET
    assert 0.3 * THRESHOLD < float(waiting.quantile(0.5) or 0) < 1.5 * THRESHOLD
    assert float(waiting.quantile(0.95) or 0) < 2.5 * THRESHOLD
    assert numbers(bench)["emulator:unlogged"] == 0


def test_the_testbed_in_small_tells_both_estimands(bench: Bench) -> None:
    stop = 'stop = { precision = "1%", confidence = 95, of = "mean" }\n'
    text = shortened(
        "experiment.toml",
        {
            "for=10s": "for=1s",
            stop: "",
            'looks = "geometric"\n': "",
            "max_trials = 60": "rounds = 3",
            # A busy machine delays some packets; how long transfers take is not what is asked here.
            'packets = "drop"': 'lateness = "1s"',
        },
    )
    bench.file.write_text(text)
    assert bench.run().counts == {"finished": 3}
    estimation = study.analyse(bench.directory).estimation
    assert estimation is not None
    own = {one.metric: one.own for one in estimation.estimates}
    assert {one.estimand for one in own.values()} == {"per_trial", "pooled"}
    assert own["p50"].trials == own["pooled_p50"].trials == 3
    assert own["p50"].estimate is not None
    assert own["p50"].estimate > 2 * BASE, "a round trip at least"
    assert own["p99"].note.startswith("forced")


def test_the_twins_have_the_same_rate_load_and_threshold() -> None:
    real, simulated = ((EXAMPLE / name).read_text() for name in ("experiment.toml", "simulated.toml"))
    for each in ("200Mbit/s", "30%", "websearch", "10s", "97500B", "32MiB"):
        assert each in real
        assert each in simulated
