"""What workers tell of counters, as this machine's own runs have it."""

import errno

from trialwise.execution.workers.tasks import counted_rows


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
