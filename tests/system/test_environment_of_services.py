"""Services start from the same stated environment as trials, get the same secrets, and give none away; nor do resets."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_environment_and_secrets import (
    FORMS,
    SECRET,
    assert_on_no_command_line,
    files_with_secret,
    one,
)
from tests.system.test_services import events, service
from tests.system.worker_machines import Machines

from trialwise.errors import TrialwiseError
from trialwise.execution.services.output import KEPT, Kept
from trialwise.measurement.masking import Masks
from trialwise.trials.marked import MARKER

__all__ = ["one"]
NAMES = f"{sys.executable} {{folder}}/names.py"
WRITES_NAMES = """
import json, os, signal, sys, time
folder = os.path.dirname(__file__)
with open(os.path.join(folder, sys.argv[1]), "w") as file:
    json.dump(dict(os.environ), file)
print("version 1.2", flush=True)
if sys.argv[1] == "start":
    open(os.path.join(folder, "process"), "w").write(str(os.getpid()))
    time.sleep(600)
if sys.argv[1] == "stop":
    os.kill(int(open(os.path.join(folder, "process")).read()), signal.SIGTERM)
"""
PRINTS = """
import base64, os, sys, time
secret = os.environ["PGPASSWORD"]
open("server.log", "w").write("log " + secret + "\\n")
if sys.argv[1] == "version":
    sys.exit("version of " + secret)
print("plain", secret, file=sys.stderr)
print(base64.b64encode(f"me:{secret}".encode()).decode(), "x" * 65000, flush=True)
sys.stdout.write(("y" * 300 + secret) * 500 + "\\nup\\n")
sys.stdout.flush()
if sys.argv[1] == "dies":
    sys.exit("cannot log in as " + secret)
time.sleep(600)
"""


def environments(bench: Bench) -> dict[str, dict[str, str]]:
    return {
        name: json.loads((bench.folder / name).read_text()) for name in ("start", "ready", "stop", "version")
    }


def write_names(bench: Bench, trial: str = "", rest: str = "") -> Bench:
    (bench.folder / "names.py").write_text(WRITES_NAMES)
    words = NAMES.format(folder=bench.folder)
    more = f'version = "{words} version"\nstop = "{words} stop"\nenvironment = {{ MINE = "{{series}}" }}'
    ready = f'ready = {{ command = "{words} ready" }}'
    return bench.write("true", trial=trial, rest=service(more, f'"{words} start"', ready) + rest, rounds=1)


def assert_stated(bench: Bench, other: str) -> None:
    for found in environments(bench).values():
        assert found["MINE"] == "1"
        assert found["PGPASSWORD"] == SECRET
        assert found[other] == "passed"
        assert "OMP_NUM_THREADS" not in found
        assert found[MARKER].endswith(":service:s")


def test_services_get_what_trials_get(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"PGPASSWORD": SECRET, "LAB_SITE": "passed", "OMP_NUM_THREADS": "3"}.items():
        monkeypatch.setenv(name, value)
    write_names(bench, 'pass = ["LAB_*"]\nsecret = ["PGPASSWORD"]')
    assert bench.run().counts == {"finished": 1}
    assert_stated(bench, "LAB_SITE")
    plan = bench.compute("plan", bench.file).stdout
    assert "trials and services get the variables LAB_* of the machine and the secrets PGPASSWORD" in plan


def test_services_of_a_directory_that_began_before_go_on_to_inherit_everything(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    write_names(bench)
    assert bench.run().failed == 0
    assert all("OMP_NUM_THREADS" not in found for found in environments(bench).values())
    with sqlite3.connect(bench.directory / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM meta WHERE key = 'environment'")
    bench.file.write_text(bench.file.read_text().replace("rounds = 1", "rounds = 2"))
    assert bench.run(extend=True).failed == 0
    assert all(
        found["OMP_NUM_THREADS"] == "3" for name, found in environments(bench).items() if name != "version"
    )


def test_services_on_workers_get_what_trials_get_there(
    bench: Bench, one: Machines, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    one[0].environment = "LAB_SITE=passed OMP_NUM_THREADS=3"
    one[0].stop()
    one[0].start()
    write_names(bench, 'pass = ["LAB_*"]\nsecret = ["PGPASSWORD"]', workers(one))
    assert bench.run().counts == {"finished": 1}
    assert_stated(bench, "LAB_SITE")


def workers(one: Machines) -> str:
    return f'[workers]\nuse = ["{one[0].name}"]\nfolder = "{one[0].home}"\nheartbeat = "1s"\n'


def write_printing(bench: Bench, what: str, more: str = "", ready: str = "^up$", rest: str = "") -> Bench:
    (bench.folder / "prints.py").write_text(PRINTS)
    words = f"{sys.executable} {bench.folder}/prints.py"
    more += f'\nlog = "server.log"\nversion = "{words} version"\ndirectory = "{bench.folder}/own/scratch"'
    (bench.folder / "own/scratch").mkdir(parents=True, exist_ok=True)
    text = service(more, f'"{words} {what}"', f'ready = {{ log = "{ready}", timeout = "3s" }}')
    return bench.write("sleep 0.5", trial='secret = ["PGPASSWORD"]', rest=text + rest, rounds=1)


def run_and_watch(bench: Bench, *places: Path) -> int:
    """Run with a process of its own; all the time no file of the places and no command line has the secret."""
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), "--quiet"]
    with (bench.folder / "said").open("wb") as said, subprocess.Popen(words, stderr=said) as runner:
        while runner.poll() is None:
            assert files_with_secret(*places) == []
            assert_on_no_command_line()
            time.sleep(0.5)
    assert not [form for form in FORMS if form in (bench.folder / "said").read_bytes()]
    return runner.returncode


def assert_masked(bench: Bench, *places: Path) -> None:
    (kept,) = bench.directory.glob("logs/service-s-*")
    text = kept.read_text()
    assert "plain [secret PGPASSWORD]\n" in text
    assert "log [secret PGPASSWORD]\n" in text
    assert "bytes left out" in text
    assert SECRET[-4:] not in text
    assert SECRET[:4] not in text
    told = "service s printed or wrote the secret PGPASSWORD, masked in what is kept"
    assert told in events(bench, "remark")
    for words in (["report"], ["status", "--json"]):
        said = bench.compute(words[0], bench.directory, *words[1:]).stdout
        assert not [form for form in FORMS if form in said.encode()]
    assert files_with_secret(bench.directory, *places) == []


def test_what_a_service_prints_of_a_secret_is_written_nowhere(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("TMPDIR", str(bench.folder / "temporary"))
    (bench.folder / "temporary").mkdir()
    write_printing(bench, "stays")
    assert run_and_watch(bench, bench.folder) == 0
    assert events(bench, "service")[0].endswith("version of [secret PGPASSWORD]")
    assert_masked(bench, bench.folder)


def test_what_a_service_prints_on_a_worker_is_written_nowhere(
    bench: Bench, one: Machines, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    write_printing(bench, "stays", rest=workers(one))
    assert run_and_watch(bench, bench.folder, one[0].home) == 0
    assert events(bench, "service")[0].endswith("version of [secret PGPASSWORD]")
    assert_masked(bench, one[0].home)


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_service_that_dies_does_not_tell_the_secret(
    bench: Bench, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, where: str
):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    rest = workers(request.getfixturevalue("one")) if where == "there" else ""
    write_printing(bench, "dies", ready="^never$", rest=rest)
    assert run_and_watch(bench, bench.directory) != 0
    (told,) = events(bench, "service failed")
    assert told.endswith("cannot log in as [secret PGPASSWORD]") or "[secret PGPASSWORD]" in told
    assert_masked(bench)


@pytest.mark.parametrize("part", ["reset", "prepare"])
def test_a_step_that_fails_does_not_tell_the_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch, part: str):
    """Not even its beginning, where the message is cut off after 300 characters."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    says = """["sh", "-c", "printf '%0290dno%s\\\\n' 0 \\"$PGPASSWORD\\" >&2; exit 1"]"""
    trial = 'secret = ["PGPASSWORD"]' + (f"\nprepare = {says}" if part == "prepare" else "")
    bench.write(
        "true", trial=trial, rest=f'[reset]\nevery = "trial"\ncommand = {says}' if part == "reset" else ""
    )
    result = bench.run()
    told = result.ending.text if part == "reset" else str(bench.rows()[0].reason)
    assert "no[secret" in told
    assert SECRET[:5] not in told
    assert files_with_secret(bench.directory) == []


def test_a_service_cannot_have_the_secret_in_the_file(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    text = service('environment = { PGPASSWORD = "letmein" }')
    with pytest.raises(TrialwiseError, match="PGPASSWORD is a secret, which services get"):
        bench.write("true", trial='secret = ["PGPASSWORD"]', rest=text).run()


@pytest.mark.parametrize("size", range(4, len(SECRET)))
def test_a_secret_at_the_edges_of_what_is_kept_is_masked(size: int):
    masks, kept = Masks({"KEY": SECRET}), Kept()
    head = b"a" * (KEPT - size) + SECRET.encode()
    tail = SECRET.encode()[-size:] + b"z" * (KEPT - 1 - size) + b"\n"
    kept.add(head + b"-" * KEPT + SECRET.encode()[:-size] + tail)
    text = kept.text(masks)
    assert text.startswith(b"a" * (KEPT - size) + b"[secret KEY]\n")
    assert "left out …\n[secret KEY]z".encode() in text


def test_a_secret_between_the_first_and_the_last_part_is_masked():
    masks, kept = Masks({"KEY": SECRET}), Kept()
    kept.add(b"a" * (KEPT - 3) + SECRET.encode() + b"z")
    assert kept.text(masks) == b"a" * (KEPT - 3) + b"[secret KEY]z"
