"""Attempts that are followed by another one, with real programs and a real service."""

from __future__ import annotations

import json

from tests.system.conftest import Bench

ONCE = """sh -c 'echo x >> tries-{trial}; [ $(wc -l < tries-{trial}) -gt 1 ] || {first}; echo v {trial}'"""
"""A program whose first attempt at each trial does something else."""
VALUE = "stdout = 'v ([0-9]+)'"


def attempts(bench: Bench) -> list[tuple[int, int, str]]:
    return [(row.number, row.attempt, row.status) for row in bench.rows()]


def test_a_timeout_is_tried_again_and_every_attempt_stays(bench: Bench):
    command = ONCE.replace("{first}", "{ echo early; exec sleep 60; }")
    bench.write(command, VALUE, trial='timeout = "1s"\nretry = { on = ["timeout"], times = 2 }')
    result = bench.run()
    assert (result.ending.reason, result.failed, result.counts) == (
        "complete",
        0,
        {"failed": 2, "finished": 2},
    )
    assert attempts(bench) == [(n, a, s) for n in (1, 2) for a, s in ((1, "failed"), (2, "finished"))]
    assert bench.values() == [1.0, 2.0]
    kept = {path.name for path in (bench.directory / "outputs").iterdir()}
    assert {"000001-1.stdout.gz", "000001-2.stdout.gz"} <= kept
    assert "whole: 4 rows" in bench.compute("status", bench.directory, "--check").stderr
    analysis = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)
    (note,) = [text for text in analysis["notes"] if "retry" in text]
    assert (
        "2 trials measured in a retry, after 2 attempts without a value: 1 (attempt 2), 2 (attempt 2)" in note
    )


def test_what_the_rule_does_not_name_fails_as_before(bench: Bench):
    bench.write(
        ONCE.replace("{first}", "exit 3"), VALUE, trial='retry = { on = ["timeout", "service"] }', rounds=1
    )
    assert (bench.run().failed, attempts(bench)) == (1, [(1, 1, "failed")])


def test_a_trial_whose_service_died_is_tried_again_beside_a_new_one(bench: Bench):
    service = """[service.s]
start = ["sh", "-c", "echo $$ > pid; echo up; exec sleep 600"]
ready = { log = "^up$", timeout = "20s" }
restarts = 1
"""
    command = ONCE.replace("{first}", "kill $(cat pid)")
    bench.write(command, VALUE, trial='retry = { on = ["service"], times = 1 }', rest=service, rounds=1)
    assert bench.run().ending.reason == "complete"
    assert attempts(bench) == [(1, 1, "invalid"), (1, 2, "finished")]


def test_the_rule_may_be_added_on_the_way(bench: Bench):
    bench.write(ONCE.replace("{first}", "exit 3"), VALUE, rounds=1)
    bench.run()
    bench.file.write_text(
        bench.file.read_text().replace("[metrics", 'retry = { on = ["failed"] }\n[metrics', 1)
    )
    result = bench.run(again=True)
    assert (result.failed, attempts(bench)) == (0, [(1, 1, "failed"), (1, 2, "finished")])
    (epoch,) = {row.epoch for row in bench.rows()}
    assert epoch == 1
