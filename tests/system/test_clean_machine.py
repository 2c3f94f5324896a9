"""A packed demo on a clean machine: another user, a home of its own, a network namespace without network, and two commands."""

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

import artifacts
import strangers


@pytest.fixture
def home():
    """A home below /tmp itself: another user does not reach pytest's folders."""
    if not strangers.can_be():
        pytest.skip("takes root, unshare and setpriv")
    with tempfile.TemporaryDirectory(prefix="stranger-") as name:
        os.chown(name, strangers.NOBODY, strangers.NOBODY)
        if strangers.ran([sys.executable, "-c", "import trialwise"], Path(name)).returncode:
            pytest.skip("another user does not reach this Python, or there are no network namespaces")
        yield Path(name)


def test_another_user_without_network_verifies_the_demo_with_two_commands(tmp_path, home):
    strangers.packed_demo(home, tmp_path / "work")
    command = [sys.executable, "-c", artifacts.RUN, "verify", "artifact.zip"]
    read = strangers.ran(command, home)
    assert read.returncode == 0, read.stderr
    ran = strangers.ran([*command, "--kick", "--report", "ae.md", "--json"], home)
    assert ran.returncode == 0, ran.stderr
    assert [claim["word"] for claim in json.loads(ran.stdout)["rerun"]["claims"]] == ["reproduced"]
    assert "| C1 | reproduced |" in (home / "ae.md").read_text()
    assert {each.name for each in home.iterdir()} == {"artifact.zip", "ae.md", "verify-1"}
    assert all(each.owner() == "nobody" for each in (home / "verify-1").rglob("*"))
