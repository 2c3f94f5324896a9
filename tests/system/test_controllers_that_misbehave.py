"""Congestion controls in Python that print, or end their process: what the command makes of them."""

from __future__ import annotations

import json

import pytest
from tests.system.conftest import Bench

TEXT = """
[experiment]
name = "own"
[factors]
scheme = ["udp-newreno", "python:own:Own"]
[trial]
kind = "path"
engine = "simulated"
runtime = "100ms"
scheme = "{scheme}"
path = { rate = "12Mbit/s", delay = "5ms" }
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 1
"""
OWN = """
import os
class Own:
    def __init__(self, context):
        self.window = 10 * context.segment
    def on_acknowledgement(self, event): {}
    def on_loss(self, event): pass
    def on_timeout(self, event): pass
"""


@pytest.mark.parametrize("statement", ['print("hello")', 'os.write(1, b"hello")'])
def test_what_one_prints_stands_among_the_errors(bench: Bench, statement: str):
    bench.file.write_text(TEXT)
    (bench.folder / "own.py").write_text(OWN.format(statement))
    done = bench.command_line("run", bench.file, "-d", bench.directory, "--json")
    assert json.loads(done.stdout)["counts"] == {"finished": 2}
    assert "hello" in done.stderr


@pytest.mark.parametrize(
    ("statement", "said"), [("os.abort()", "by a signal (Aborted)"), ("os._exit(5)", "with exit code 5")]
)
def test_one_that_ends_its_process_fails_and_says_how(bench: Bench, statement: str, said: str):
    bench.file.write_text(TEXT)
    (bench.folder / "own.py").write_text(OWN.format(statement))
    assert bench.command_line("run", bench.file, "-d", bench.directory, "-q").returncode == 4
    (failure,) = json.loads(bench.compute("status", bench.directory, "--json").stdout)["failures"]
    assert failure["reason"] == f"the process that computed it ended {said} (3 times)"
