"""The build of a version: what it prints is kept to itself unless it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialwise.errors import TrialError
from trialwise.execution.checkouts import build


def test_a_build_that_succeeds_has_run_in_its_folder_and_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    build("echo working; echo more >&2; echo done > built", tmp_path)
    assert (tmp_path / "built").read_text() == "done\n"
    assert capfd.readouterr() == ("", "")


def test_a_build_that_fails_tells_its_exit_code_and_what_it_printed_last(tmp_path: Path):
    with pytest.raises(TrialError) as refused:
        build("seq 1000; echo no such compiler >&2; exit 3", tmp_path)
    assert str(refused.value).startswith(f"the build failed with 3 in {tmp_path}: seq 1000;")
    assert str(refused.value).endswith("\n  1000\n  no such compiler")
    assert "  1\n" not in str(refused.value)
