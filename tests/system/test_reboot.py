"""Resets by reboot, of a real machine: virtual, with a kernel of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.system.conftest import Bench
from tests.system.virtual_machine import VirtualMachine, virtual_machine

from trialwise import study
from trialwise.store.ledger import Ledger

# The files of the folder are gone with each boot, but for those below /root.
COMMAND = "sh -c 'echo {x}; cat /proc/sys/kernel/random/boot_id >> /root/boots; test -e /run/seen && echo seen; touch /run/seen'"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualMachine]:
    with virtual_machine(tmp_path_factory.mktemp("virtual")) as made:
        yield made


@pytest.fixture(autouse=True)
def configuration(machine: VirtualMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(machine.configuration))


def rebooting(bench: Bench, reset: str, *, rounds: int, command: str = COMMAND, more: str = "") -> Bench:
    """An experiment that reboots; what it waits for a lost connection is less than a boot takes."""
    return bench.write(
        command, "stdout = '([0-9]+)'", factors="x = [1, 2]", rounds=rounds,
        rest=f'[reset]\nreboot = true\n{reset}\n[workers]\nreconnect = "2s"\n{more}',
    )  # fmt: skip


def run(bench: Bench, machine: VirtualMachine) -> study.RunResult:
    return bench.run(workers=[machine.name])


def boots_in_ledger(bench: Bench) -> list[str]:
    """The boot id of each trial's session, in the order of the trials."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        boots = {session.number: session.boot for session in ledger.sessions()}
        return [boots[row.session] for row in ledger.trials()]
    finally:
        ledger.close()


@pytest.mark.soak
def test_a_reboot_that_does_not_happen_stops_the_worker(bench: Bench, machine: VirtualMachine):
    machine.run("mv /usr/local/sbin/reboot /run/kept; ln -s /bin/true /usr/local/sbin/reboot")
    boot = machine.run("cat /proc/sys/kernel/random/boot_id")
    try:
        result = run(rebooting(bench, 'timeout = "6s"', rounds=1), machine)
    finally:
        machine.run("mv /run/kept /usr/local/sbin/reboot")
    assert (result.ending.reason, result.counts) == ("reset failed", {"planned": 2})
    assert result.ending.text.startswith(
        f"{machine.name}: reset.reboot: the machine has not rebooted within 6 s: its boot id is still {boot}"
    )
    assert "try: " in result.ending.text


@pytest.mark.soak
def test_a_user_who_may_not_reboot_stops_the_worker(bench: Bench, machine: VirtualMachine):
    machine.run("mv /usr/local/sbin/reboot /run/kept; ln -s /bin/false /usr/local/sbin/reboot")
    try:
        result = run(rebooting(bench, 'timeout = "60s"', rounds=1), machine)
    finally:
        machine.run("mv /run/kept /usr/local/sbin/reboot")
    assert result.ending.reason == "reset failed"
    assert "reset.reboot: ended with exit code " in result.ending.text
    assert "try: let the user reboot it" in result.ending.text


def check_boots(bench: Bench, machine: VirtualMachine, rounds: int) -> None:
    result = run(rebooting(bench, 'timeout = "5min"', rounds=rounds), machine)
    assert (result.ending.reason, result.counts) == ("complete", {"finished": 2 * rounds}), result.ending
    boots = boots_in_ledger(bench)
    assert boots[0::2] == boots[1::2]  # both trials of a round
    assert len(set(boots)) == rounds
    assert machine.run("cat /root/boots").split()[-2 * rounds :] == boots
    assert len({row.epoch for row in bench.rows()}) == 1  # another boot of the same machine can be compared


def test_trials_after_a_reboot_run_on_another_boot(bench: Bench, machine: VirtualMachine):
    before, boots = machine.run("cat /proc/sys/kernel/random/boot_id"), machine.boots
    check_boots(bench, machine, 1)
    assert machine.boots == boots + 1
    assert boots_in_ledger(bench)[0] != before


@pytest.mark.soak
def test_every_round_runs_on_a_boot_of_its_own(bench: Bench, machine: VirtualMachine):
    check_boots(bench, machine, 3)


@pytest.mark.soak
def test_a_folder_that_does_not_outlive_the_reboot_is_named(bench: Bench, machine: VirtualMachine):
    more = 'folder = "/run/trialwise"'
    result = run(rebooting(bench, 'timeout = "5min"', rounds=1, more=more), machine)
    assert result.ending.reason == "reset failed"
    assert "did not survive the reboot; try: name a folder on a disk" in result.ending.text


@pytest.mark.soak
def test_a_machine_that_stays_away_after_its_reboot_is_named(bench: Bench, machine: VirtualMachine):
    """The last: it is switched off for good."""
    machine.run("rm /usr/local/sbin/reboot; echo '/run/busybox poweroff -f' > /usr/local/sbin/reboot")
    machine.run("chmod +x /usr/local/sbin/reboot")
    began = time.monotonic()
    result = run(rebooting(bench, 'timeout = "8s"', rounds=1), machine)
    assert time.monotonic() - began < 60
    assert (result.ending.reason, result.counts) == ("reset failed", {"planned": 2})
    assert f"{machine.name}: reset.reboot: the machine has not come back within 8 s" in result.ending.text
    assert "nothing listens there" in result.ending.text
