"""What workers tell of counters, as this machine's own runs have it."""

import errno

from trialwise.execution.workers.connection import Reply
from trialwise.execution.workers.tasks import _report, counted_rows, run_of


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


def test_moments_are_by_our_clock_and_durations_by_theirs():
    run = dict.fromkeys(("user_ns", "system_ns", "max_rss_bytes", "leftover_processes", "stdout_total"), 0)
    run |= {"started_realtime": 1_000_003_600.5, "wall_ns": 7, "exit_code": 0, "signal": None, "errors": ""}
    run |= {"timed_out": False, "cancelled": False, "readings": []}
    reply = Reply({"state": "result", "runs": {"command": run}, "files": [], "sizes": [2, 0]}, b"5\n")
    found = run_of(_report(reply, 3600.0, ()), "command")
    assert (found.started_realtime_ns, found.wall_ns, found.stdout) == (1_000_000_000_500_000_000, 7, b"5\n")
