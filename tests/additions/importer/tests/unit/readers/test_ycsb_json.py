"""What YCSB exports is read as one trial."""

from __future__ import annotations

import json
from pathlib import Path

from trialwise.exchange.result_files import read_trials


def test_throughput_and_latencies_are_read(tmp_path: Path):
    rows = [
        ("OVERALL", "Throughput(ops/sec)", 1250.5),
        ("READ", "Operations", 500),
        ("READ", "AverageLatency(us)", 731.2),
    ]
    file = tmp_path / "run.json"
    file.write_text(
        json.dumps([dict(zip(("metric", "measurement", "value"), row, strict=True)) for row in rows])
    )
    found = read_trials(file)
    values = {(metric.name, metric.unit, metric.better) for metric in found.metrics.values()}
    assert values == {("overall_throughput", "1/s", "higher"), ("read_averagelatency", "s", "lower")}
