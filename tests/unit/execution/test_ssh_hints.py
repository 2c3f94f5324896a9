"""What a person is told about a connection that ssh refuses."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from trialwise.execution.workers.address import addresses
from trialwise.execution.workers.ssh import explain

CHANGED = """@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Host key for {entry} has changed and you have requested strict checking.
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("address", "entry", "told"),
    [
        ("ssh://me@127.0.0.1:2222", "[127.0.0.1]:2222", True),
        ("ssh://me@127.0.0.1:2222", "[127.0.0.1]:2222", False),
        ("ssh://127.0.0.1", "127.0.0.1", False),
        ("ssh://127.0.0.1:22", "127.0.0.1", False),
        ("ssh://w2", "[10.0.0.2]:2200", True),  # name and port come from the configuration of ssh
    ],
)
def test_the_hint_removes_the_key_that_ssh_has_found(tmp_path: Path, address: str, entry: str, told: bool):
    known, key = tmp_path / "known_hosts", tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    known.write_text(f"{entry} {(tmp_path / 'key.pub').read_text()}")
    errors = CHANGED.format(entry=entry) if told else "REMOTE HOST IDENTIFICATION HAS CHANGED!"
    command = explain(addresses([address])[0], errors, 255).hint.rpartition(": ")[2]
    subprocess.run([*shlex.split(command), "-f", str(known)], check=True, capture_output=True)
    assert known.read_text() == ""


def test_a_peer_writes_no_command_into_the_hint():
    errors = CHANGED.format(entry="$(reboot);x")
    assert "reboot" not in explain(addresses(["ssh://w2"])[0], errors, 255).hint


def test_the_hint_names_the_file_that_ssh_has_read(tmp_path: Path):
    """As OpenSSH 9.2 writes it for a UserKnownHostsFile, or for the one of the machine."""
    known = tmp_path / "hosts of the bench"
    told = f"Offending ED25519 key in {known}:3\n"
    errors = told + CHANGED.format(entry="[10.0.0.2]:2200")
    command = explain(addresses(["ssh://w2"])[0], errors, 255).hint.rpartition(": ")[2]
    assert shlex.split(command) == ["ssh-keygen", "-R", "[10.0.0.2]:2200", "-f", str(known)]


def test_the_hint_leaves_out_the_file_that_ssh_keygen_takes_by_itself():
    usual = Path("~/.ssh/known_hosts").expanduser()
    errors = f"Offending ED25519 key in {usual}:3\n" + CHANGED.format(entry="w2")
    assert explain(addresses(["ssh://w2"])[0], errors, 255).hint.endswith("ssh-keygen -R w2")


@pytest.mark.parametrize(
    ("errors", "exit_code", "message", "lasting"),
    [
        ("sh: 1: python3: not found\n", 127, "there is no python3 (sh: 1: python3: not found)", True),
        ("trialwise: Python 3.8 or newer is needed; this is 3.6.9\n", 1, "its Python is too old (", True),
        ("    if x := 1:\nSyntaxError: invalid syntax\n", 1, "its Python is too old (SyntaxError", True),
        ("client_loop: send disconnect\n", None, "the connection was lost (client_loop: send", False),
        ("", 255, "ssh ended with exit code 255", False),
        ("connect to host w2 port 22: Connection refused\n", 255, "nothing listens there (connect to", False),
    ],
)
def test_what_trying_again_will_not_mend_is_told_from_what_it_may(
    errors: str, exit_code: int | None, message: str, lasting: bool
):
    found = explain(addresses(["ssh://w2"])[0], errors, exit_code)
    assert found.message.startswith(f"ssh://w2: {message}")
    assert found.lasting is lasting


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        (
            '  File "/opt/trialwise/execution/workers/agent/frames.py", line 19\nUnicodeDecodeError: 0xac\n',
            "another agent answers there than the one that was sent",
        ),
        ("only rsync is allowed\n", "the agent that was sent has not started (only rsync is allowed)"),
        ("", "the agent that was sent has not started"),
    ],
)
def test_what_starts_in_place_of_the_agent_is_not_taken_for_ssh(errors: str, message: str):
    found = explain(addresses(["ssh://w2"])[0], errors, 1, started=False)
    assert found.message == f"ssh://w2: {message}"
    assert "ForceCommand in sshd_config" in found.hint
