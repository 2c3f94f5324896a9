"""Services beside trials, with real processes and real servers."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise.errors import PlanError
from trialwise.store.ledger import Ledger

MEMCACHED = pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed")
ASKS = """python3 -c '
import socket
with socket.create_connection(("127.0.0.1", {port})) as connection:
    connection.sendall(b"stats\\r\\n")
    text = connection.recv(65536).decode()
print(text.partition("STAT pid ")[2].split()[0])'"""
"""Prints the process of a memcached."""
PID = "stdout = '([0-9]+)'"
WRITES = """["sh", "-c", "echo $$ >> pids; echo up; exec sleep 600"]"""
"""A service that is up at once and stays."""
UP = 'ready = { log = "^up$", timeout = "20s" }'


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def memcached(port: int, more: str = "", name: str = "cache") -> str:
    user = "-u nobody" if os.geteuid() == 0 else ""
    start = f"memcached -l 127.0.0.1 -p {port} -U 0 {user}"
    return f'[service.{name}]\nstart = "{start}"\nready = {{ port = {port} }}\n{more}\n'


def service(more: str = "", start: str = WRITES, ready: str = UP, name: str = "s") -> str:
    return f"[service.{name}]\nstart = {start}\n{ready}\n{more}\n"


def events(bench: Bench, kind: str) -> list[str]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return [event.text for event in ledger.events() if event.kind == kind]
    finally:
        ledger.close()


def pids(bench: Bench) -> list[int]:
    file = bench.folder / "pids"
    return [int(text) for text in file.read_text().split()] if file.exists() else []


def alive(*processes: int) -> list[int]:
    def runs(process: int) -> bool:
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    return [process for process in processes if runs(process)]


def refused(bench: Bench, text: str) -> str:
    """Why a run did not begin for its service; nothing was measured, and nothing runs any more."""
    result = bench.write("true", rest=text).run()
    assert (result.ending.reason, result.counts) == ("service failed", {"planned": 2})
    assert events(bench, "service failed") == [result.ending.text]
    assert not alive(*pids(bench))
    return result.ending.text


@MEMCACHED
@pytest.mark.parametrize(("lifetime", "servers"), [("series", 1), ("round", 2), ("trial", 4)])
def test_trials_share_a_server_for_as_long_as_is_asked_for(bench: Bench, lifetime: str, servers: int):
    port = free_port()
    bench.write(
        ASKS.replace("{port}", str(port)) + " {side}", PID, factors="side = [1, 2]",
        rest=memcached(port, f'for = "{lifetime}"'),
    )  # fmt: skip
    assert bench.run().counts == {"finished": 4}
    found = [int(value) for value in bench.values() if value is not None]
    assert len(set(found)) == servers
    assert not alive(*found)
    assert len(events(bench, "service")) == servers
    assert f"services started: {servers}" in bench.compute("status", bench.directory).stdout


@MEMCACHED
def test_a_reset_restarts_a_service_and_those_that_need_it(bench: Bench):
    port = free_port()
    needs = service('needs = ["cache"]')
    reset = '[reset]\nservice = "cache"\nevery = "trial"\ncheck = "true"\n'
    bench.write(ASKS.replace("{port}", str(port)), PID, rest=memcached(port) + needs + reset, rounds=3)
    assert bench.run().counts == {"finished": 3}
    assert len(set(bench.values())) == len(set(pids(bench))) == 3
    assert not alive(*pids(bench))
    assert [text.split(":")[0] for text in events(bench, "service")] == ["cache", "s"] * 3


def test_services_start_and_end_in_the_order_of_their_needs(bench: Bench):
    def one(name: str, more: str) -> str:
        script = (
            f"trap 'echo -{name} >> course; exit' TERM; echo +{name} >> course; echo up; sleep 600 & wait"
        )
        return service(more, f'["sh", "-c", "{script}"]', name=name)

    bench.write("true", rest=one("c", 'needs = ["b", "a"]') + one("b", 'needs = ["a"]') + one("a", ""))
    assert bench.run().counts == {"finished": 2}
    assert (bench.folder / "course").read_text().split() == ["+a", "+b", "+c", "-c", "-b", "-a"]


def test_a_service_that_dies_makes_its_trial_invalid_and_is_started_again(bench: Bench):
    script = "sh -c 'test {round} != 2 || { kill -9 $(tail -n 1 pids); sleep 0.3; }'"
    bench.write(
        script,
        rest=service(start='["sh", "-c", "echo $$ >> pids; echo up; echo last; exec sleep 600"]'),
        rounds=3,
    )
    assert bench.run().counts == {"finished": 2, "invalid": 1}
    (row,) = bench.rows("invalid")
    assert (row.round, row.reason) == (
        2, "not all services lasted through the trial: s was ended by signal 9: up | last",
    )  # fmt: skip
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))
    assert events(bench, "service died") == ["s was ended by signal 9: up | last, during trial 2"]
    assert [file.read_text() for file in sorted(bench.directory.glob("logs/service-s-*"))] == [
        "up\nlast\n"
    ] * 2


def test_a_service_that_dies_again_and_again_ends_the_run(bench: Bench):
    bench.write("sh -c 'kill -9 $(tail -n 1 pids)'", rest=service("restarts = 1"), rounds=5)
    result = bench.run()
    assert (result.ending.reason, result.counts) == ("service failed", {"invalid": 2, "planned": 3})
    assert result.ending.text == "service s has died 2 times in a row, and service.s.restarts is 1"
    assert "service died: s was ended by signal 9" in bench.compute("status", bench.directory).stdout


def test_a_service_dies_between_trials_and_is_there_for_the_next(bench: Bench):
    """The process that kills it outlives the trial."""
    reset = """[reset]\ncommand = ["sh", "-c", "kill -9 $(tail -n 1 pids)"]\nevery = "trial"\n"""
    bench.write("sh -c 'kill -0 $(tail -n 1 pids)'", rest=service() + reset)
    assert bench.run().counts == {"finished": 2}
    assert len(events(bench, "service died")) == 2


def test_a_service_that_never_gets_ready_is_ended(bench: Bench):
    text = refused(bench, service(ready='ready = { log = "never", timeout = "300ms" }'))
    assert text == "service s: was not ready within 0.3 s: nothing that it has written matches 'never': up"


def test_a_service_that_exits_at_once_is_told_with_its_last_lines(bench: Bench):
    text = refused(
        bench, service(start="""["sh", "-c", "echo begins; echo 'no \\u001b[31mdisk' >&2; exit 3"]""")
    )
    assert text == "service s: ended with exit code 3 before it was ready: begins | no \\x1b[31mdisk"


def test_a_service_that_goes_into_the_background_is_ended(bench: Bench):
    start = """["sh", "-c", "setsid sh -c 'echo $$ >> pids; exec sleep 600' & sleep 0.2"]"""
    text = refused(bench, service(start=start, ready='ready = { command = "false" }'))
    assert "left 1 in the background, which were ended (it has to stay in the foreground" in text


def test_what_a_service_leaves_behind_is_ended(bench: Bench):
    stays = "setsid sh -c 'echo $$ >> pids; trap : TERM; while :; do sleep 1; done'"
    start = f"""["sh", "-c", "echo $$ >> pids; {stays} & echo up; wait"]"""
    assert bench.write("true", rest=service(start=start)).run().counts == {"finished": 2}
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))


def test_a_port_that_is_in_use_is_told_with_its_holder(bench: Bench):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        text = refused(bench, service(ready=f"ready = {{ port = {port} }}"))
    name = Path("/proc/self/comm").read_text().strip()
    assert (
        text
        == f"service s: port {port} is in use by process {os.getpid()} ({name}): end that, or take another port"
    )


@pytest.mark.parametrize("key", ["start", "stop", "version"])
def test_a_program_that_is_not_there_is_refused_before_anything_begins(bench: Bench, key: str):
    text = service() if key == "start" else service(f'{key} = "no-such-program"')
    bench.write("true", rest=text.replace(WRITES, '"no-such-program"') if key == "start" else text)
    with pytest.raises(PlanError, match=f"service.s.{key}: no program 'no-such-program' in PATH"):
        bench.run()
    assert not bench.directory.exists()


def test_an_address_that_answers_says_that_a_server_is_ready(bench: Bench):
    port = free_port()
    start = f'"{sys.executable} -m http.server --bind 127.0.0.1 {port}"'
    bench.write("true", rest=service(start=start, ready=f'ready = {{ http = "http://127.0.0.1:{port}/" }}'))
    assert bench.run().counts == {"finished": 2}
    assert '"GET / HTTP/1.1" 200' in next(bench.directory.glob("logs/service-s-*")).read_text()


def test_a_log_is_kept_and_searched(bench: Bench):
    start = """["sh", "-c", "echo $$ >> pids; echo old > own.log; sleep 0.1; echo up >> own.log; exec sleep 600"]"""
    (bench.folder / "own.log").write_text("up\n" * 3)
    bench.write("true", rest=service('log = "own.log"', start))
    assert bench.run().counts == {"finished": 2}
    assert next(bench.directory.glob("logs/service-s-*")).read_text() == "\n--- log\nold\nup\n"


def test_output_without_end_is_bounded(bench: Bench):
    bench.write("sleep 0.3", rest=service(start='["sh", "-c", "echo up; exec yes a-long-line"]'))
    assert bench.run().counts == {"finished": 2}
    log = next(bench.directory.glob("logs/service-s-*"))
    assert 120_000 < log.stat().st_size < 140_000
    assert "bytes left out" in log.read_text()


def test_a_command_ends_a_service(bench: Bench):
    waits = "until test -e end; do sleep 0.02; done"
    start = f"""["sh", "-c", "trap 'echo killed >> course' TERM; echo up; {waits}; echo ended >> course"]"""
    bench.write("true", rest=service('stop = "touch end"', start))
    assert bench.run().counts == {"finished": 2}
    assert (bench.folder / "course").read_text() == "ended\n"


def test_factors_belong_to_services_of_single_trials(bench: Bench):
    start = """["sh", "-c", "echo {side}.{trial} >> sides; echo up; exec sleep 600"]"""
    bench.write("true", factors="side = [1, 2]", rest=service('for = "trial"', start), rounds=1)
    assert bench.run().counts == {"finished": 2}
    sides = (bench.folder / "sides").read_text().split()
    assert sorted(side.split(".")[0] for side in sides) == ["1", "2"]
    assert [side.split(".")[1] for side in sides] == ["1", "2"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_runner_that_is_killed_takes_its_services_along(bench: Bench, number: signal.Signals):
    bench.write("sleep 600", rest=service())
    runner = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not (bench.directory / "ledger.sqlite").exists() or not bench.rows("running"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (process,) = pids(bench)
    assert alive(process)
    os.kill(runner.pid, number)
    runner.wait()
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.02)


WORKS = """
import os, resource, signal, subprocess, sys, time
def own():
    return sum(resource.getrusage(who)[field] for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for field in (0, 1))
def busy(*_):
    before, memory = own(), bytearray(80_000_000)
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
    while own() - before < 0.6: memory[0] ^= 1
    open("told.new", "w").write(str(own() - before)); os.rename("told.new", "told")
def idle(*_):
    open("told.new", "w").write("0"); os.rename("told.new", "told")
signal.signal(signal.SIGUSR1, busy); signal.signal(signal.SIGUSR2, idle)
open("pids", "w").write(str(os.getpid())); print("up", flush=True)
while True: time.sleep(600)
"""
ORDERS = "sh -c 'rm -f told; kill -{what} $(cat pids); until test -e told; do sleep 0.02; done; cat told'"
USED = """[metrics.cpu]
service = "s.cpu"
[metrics.memory]
service = "s.memory"
"""


def check_use(bench: Bench, rest: str) -> None:
    """What a service says that it used, beside what was measured."""
    (bench.folder / "works.py").write_text(WORKS)
    start = f'"{sys.executable} works.py"'
    bench.write(
        ORDERS,
        "stdout = '([0-9.]+)'",
        factors='what = ["USR1", "USR2"]',
        rest=USED + service(start=start) + rest,
    )
    result = bench.run()
    assert result.counts == {"finished": 4}, result.ending
    rows = {row.number: row for row in bench.rows()}
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        found = {(number, source.split("|")[0]): value for number, _, source, value, _, _ in ledger.values()}
    finally:
        ledger.close()
    for number, row in rows.items():
        told, cpu, memory = (
            found[number, source] for source in ("stdout", "service:s.cpu", "service:s.memory")
        )
        assert told is not None
        assert cpu is not None
        assert memory is not None
        # Waking, writing the file and importing nothing cost milliseconds; of the child, ticks are known.
        assert told - 0.03 <= cpu <= told + 0.15
        assert (memory > 80e6) is (row.factors["what"] == "USR1")


def test_what_a_service_uses_is_measured_apart(bench: Bench):
    check_use(bench, "")


def test_one_control_c_ends_the_wait_for_a_service(bench: Bench):
    bench.write("true", rest=service(ready='ready = { log = "never", timeout = "1h" }'))
    runner = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not pids(bench):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(60) == 130
    assert not alive(*pids(bench))
    assert {row.status for row in bench.rows()} == {"planned"}
    assert events(bench, "service failed") == []


def test_a_file_that_a_service_writes_begins_no_series_and_its_settings_do(bench: Bench):
    """The words of its command name both; a reader of them cannot tell which is written."""
    (bench.folder / "data.txt").write_text("")
    (bench.folder / "settings.txt").write_text("1\n")
    start = (
        """["sh", "-c", "cat settings.txt; echo $$ >> data.txt; echo $$ >> pids; echo up; exec sleep 600"]"""
    )
    bench.write("true", rest=service('for = "round"', start), rounds=4)
    assert bench.run().counts == {"finished": 4}
    assert {row.epoch for row in bench.rows()} == {1}
    (bench.folder / "settings.txt").write_text("2\n")
    bench.file.write_text(bench.file.read_text().replace("rounds = 4", "rounds = 6"))
    assert bench.run(extend=True).counts == {"finished": 6}
    assert {row.epoch for row in bench.rows()} == {1, 2}
