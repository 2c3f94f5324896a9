"""The scheme works over an emulated path."""

from __future__ import annotations

import subprocess


def test_four_connections_send():
    command = ["trialwise", "schemes", "check", "iperf3-cubic-4"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.split(":")[:2]) == (
        0,
        ["iperf3-cubic-4", " works with load bulk"],
    ), found
