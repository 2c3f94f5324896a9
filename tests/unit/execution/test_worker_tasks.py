"""What workers tell of counters, as this machine's own runs have it."""

import errno

import pytest

from trialwise.execution.workers.connection import Reply
from trialwise.execution.workers.tasks import _NOTHING, _report, counted_rows, run_of


def test_counters_that_took_turns_are_scaled_and_those_that_never_ran_are_named():
    names = ["cycles", "instructions", "page-faults", "branches"]
    readings = [[100, 40, 10, 0], [0, 40, 0, 0], [3, 0, 0, 0], [0, 0, 0, errno.ENOENT]]
    assert counted_rows(names, readings) == (
        ("cycles", 400.0, 0.25, None),
        ("instructions", None, 0.0, errno.EBUSY),
        ("page-faults", 3.0, 1.0, None),
        ("branches", None, 0.0, errno.ENOENT),
    )


def test_without_a_supervisor_nothing_is_counted():
    assert counted_rows(["cycles"], []) == (("cycles", None, 0.0, errno.ENOSYS),)


def _reply(run: dict[str, object], sizes: list[int], body: bytes) -> Reply:
    """The answer of a worker whose task had a command alone."""
    full = dict.fromkeys(("user_ns", "system_ns", "max_rss_bytes", "leftover_processes", "stdout_total"), 0)
    full |= {"started_realtime": 0.0, "wall_ns": 7, "exit_code": 0, "signal": None, "errors": ""}
    full |= {"timed_out": False, "cancelled": False, "readings": [], **run}
    return Reply({"state": "result", "runs": {"command": full}, "files": [], "sizes": sizes}, body)


def test_moments_are_by_our_clock_and_durations_by_theirs():
    reply = _reply({"started_realtime": 1_000_003_600.5}, [2, 0], b"5\n")
    found = run_of(_report(reply, 3600.0, ()), "command")
    assert (found.started_realtime_ns, found.wall_ns, found.stdout) == (1_000_000_000_500_000_000, 7, b"5\n")


@pytest.mark.parametrize(
    ("errors", "raw", "found"), [("", b"\xff!", b"\xff!"), ("cut", b"\xff!", b"\xff!"), ("cut", b"", b"cut")]
)
def test_errors_are_those_that_came_raw_or_else_those_of_the_report(errors: str, raw: bytes, found: bytes):
    reply = _reply({"errors": errors}, [0, len(raw)], raw)
    assert run_of(_report(reply, 0.0, ()), "command").stderr == found


def test_what_was_set_up_before_ended_well_and_took_nothing():
    skipped = _report(Reply({"state": "result", "skipped": True}, b""), 0.0, ())
    assert (skipped.skipped, skipped.lost, dict(skipped.runs)) == (True, None, {})
    assert (_NOTHING.exit_code, _NOTHING.signal, _NOTHING.wall_ns, _NOTHING.timed_out) == (0, None, 0, False)
