"""What comes back from workers is cut where it was joined; one number stands in the ledger; keys are for this run alone."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.execution.recording import is_single
from trialwise.execution.runner import _unfollowed
from trialwise.execution.workers.tasks import _contents
from trialwise.measurement.followed import Seen
from trialwise.measurement.samples import Samples
from trialwise.trials.base import TrialOutcome

PARTS = st.binary(max_size=5)


@given(PARTS, PARTS, st.lists(st.tuples(PARTS, PARTS, PARTS), max_size=3), PARTS)
def test_outputs_files_and_archive_are_what_was_joined(
    output: bytes, errors: bytes, files: list[tuple[bytes, bytes, bytes]], archive: bytes
):
    head: dict[str, Any] = {
        "sizes": [len(output), len(errors)],
        "files": [
            {"path": f"f{n}", "sizes": list(map(len, parts)), "added": n == 1}
            for n, parts in enumerate(files)
        ],
    }
    body = b"".join([output, errors, *(part for parts in files for part in parts), archive])
    outputs, found, rest = _contents(head, body)
    assert outputs == (output, errors)
    assert rest == archive
    assert [(each.data, each.heading, each.before) for each in found.values()] == files
    assert [each.added for each in found.values()] == [n == 1 for n in range(len(files))]


def test_files_of_older_workers_come_as_one_part():
    outputs, found, rest = _contents({"files": [{"path": "f", "size": 3}]}, b"abcd")
    assert (outputs, found["f"].data, rest) == ((b"", b""), b"abc", b"d")


@pytest.mark.parametrize(
    ("values", "times", "single"),
    [([1.0], None, True), ([1.0, 2.0], None, False), ([], None, False), ([1.0], [0.0], False)],
)
def test_one_number_without_a_time_is_no_file(values: list[float], times: list[float] | None, single: bool):
    assert is_single(Samples(np.array(values), None if times is None else np.array(times))) is single


@pytest.mark.parametrize("seen", [Seen([], problem="no ptrace here"), Seen([], spoiled="no ptrace here")])
def test_what_keeps_trials_from_being_followed_is_told(seen: Seen):
    (remark,) = _unfollowed(TrialOutcome("finished", 0.0, 1.0, seen=seen))
    assert "(no ptrace here)" in remark
    assert list(_unfollowed(TrialOutcome("finished", 0.0, 1.0, seen=Seen([], stops=2)))) == []


def test_keys_of_a_run_are_in_files_of_its_user_while_it_runs_and_insist_on_encryption(tmp_path: Path):
    pytest.importorskip("distributed")
    from trialwise.execution.tasks.certificates import security_in_files

    with security_in_files(tmp_path) as security:
        made: Any = security
        assert made.require_encryption is True
        keys = {Path(getattr(made, f"tls_{role}_key")) for role in ("scheduler", "worker", "client")}
        assert all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in keys)
        assert all("PRIVATE KEY" in key.read_text() for key in keys)
    assert list(tmp_path.iterdir()) == []
