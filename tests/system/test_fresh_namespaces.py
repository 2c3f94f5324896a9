"""Resets by a fresh namespace: what trials leave behind is there until the next reset, and gone after it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise._linux import StartError, run_command
from trialwise.errors import PlanError
from trialwise.execution.namespaces import END_SECONDS, FreshNamespace

LEAVES = """
import os, socket, subprocess, sys, time
def state():
    places = ("/tmp/left", "/var/tmp/left", "/dev/shm/left")
    files = sum(os.path.exists(place) for place in places)
    segments = len(open("/proc/sysvipc/shm").readlines()) - 1
    processes = sum(name.isdigit() for name in os.listdir("/proc")) - 2  # the namespace's first, and we
    return files, segments, processes, int(socket.gethostname() == "left")
print("found", *state())
for place in ("/tmp/left", "/var/tmp/left", "/dev/shm/left"):
    open(place, "w").close()
subprocess.run(["ipcmk", "-M", "4096"], check=True, stdout=subprocess.DEVNULL)
if os.geteuid() == 0:
    socket.sethostname("left")
"""


def possible() -> str | None:
    namespace = FreshNamespace([])
    reading, writing = os.pipe()
    try:
        return namespace.renew(os.environ, time.monotonic() + 20, reading)
    finally:
        namespace.end()
        os.close(reading)
        os.close(writing)


pytestmark = pytest.mark.skipif(possible() is not None, reason=f"no namespaces here: {possible()}")


def program(bench: Bench, text: str) -> str:
    (bench.folder / "program.py").write_text(text)
    return f"{sys.executable} program.py"


def printed(bench: Bench) -> list[str]:
    return (bench.folder / "printed").read_text().splitlines()


def test_what_a_round_leaves_is_there_for_its_trials_and_gone_for_the_next(bench: Bench):
    command = program(bench, LEAVES)
    bench.write(
        f"sh -c '{command} | tee -a printed'", "stdout = 'found ([0-9])'", rounds=2,
        factors="x = [1, 2]", trial='environment = { X = "{x}" }', rest="[reset]\nnamespace = true",
    )  # fmt: skip
    assert bench.run().counts == {"finished": 4}, bench.rows()[0].reason
    root = int(os.geteuid() == 0)
    # In the namespace are sh and tee, too.
    assert printed(bench) == ["found 0 0 2 0", f"found 3 1 2 {root}"] * 2
    assert not Path("/tmp/left").exists()  # noqa: S108
    assert not Path("/dev/shm/left").exists()  # noqa: S108


def test_a_process_in_the_background_ends_with_its_trial_also_where_it_has_hidden(bench: Bench):
    """A daemon: in another session, without the marker, an orphan of the namespace's first process."""
    sleep = f"sleep 4321.{os.getpid()}"
    daemon = f"setsid env -i sh -c '{sleep} & {sleep}; true' >/dev/null 2>&1 &"
    both = '[ "$(cat /proc/[0-9]*/comm | grep -c "^sleep$")" = 2 ]'
    (bench.folder / "leave.sh").write_text(f"{daemon}\nuntil {both}; do sleep 0.01; done\necho 1\n")
    bench.write("sh leave.sh", "stdout = '([0-9])'", rest="[reset]\nnamespace = true", rounds=2)
    assert bench.run().counts == {"failed": 2}
    assert str(bench.rows()[0].reason).startswith("left 3 process(es) running, which were ended")
    assert sleep not in processes()


def test_what_is_measured_is_the_program_and_nothing_of_its_namespace(bench: Bench):
    bench.write("true", 'resource = "wall"', rest="[reset]\nnamespace = true\n", rounds=9)
    assert bench.run().counts == {"finished": 9}
    assert min(bench.values()) < 0.05


def test_the_command_and_the_check_of_the_reset_run_inside(bench: Bench):
    (bench.folder / "work").mkdir()
    bench.write(
        "cat /tmp/ready/here", "stdout = '([0-9])'", rounds=2,
        rest='[reset]\nnamespace = true\ndirectory = "work"\n'
        "command = \"sh -c 'mkdir /tmp/ready && echo 7 > /tmp/ready/here'\"\ncheck = \"test -e /tmp/ready/here\"",
    )  # fmt: skip
    assert bench.run().counts == {"finished": 2}, bench.rows()[0].reason
    assert bench.values() == [7.0, 7.0]
    assert not Path("/tmp/ready").exists()  # noqa: S108


def test_python_callables_run_inside_too(bench: Bench):
    (bench.folder / "work.py").write_text(
        "import os\ndef run():\n    n = len(os.listdir('/dev/shm'))\n    open('/dev/shm/x', 'w').close()\n    return n\n"
    )
    bench.write(
        "", "", trial='kind = "python"\ncall = "work:run"', rest='[reset]\nnamespace = true\nevery = "trial"'
    )
    assert bench.run().counts == {"finished": 2}, bench.rows()[0].reason
    assert bench.values() == [0.0, 0.0]


def test_nothing_of_a_namespace_outlives_a_killed_run(bench: Bench):
    sleep = f"sleep 54321.{os.getpid()}"
    bench.write(f"sh -c 'touch started; {sleep}; true'", rest="[reset]\nnamespace = true")
    run = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), "--quiet"]
    )
    try:
        wait_for((bench.folder / "started").exists)
        wait_for(lambda: sleep in processes())
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    wait_for(lambda: sleep not in processes())
    wait_for(lambda: str(bench.folder) not in processes())


def test_what_cannot_be_reset_so_is_refused_before_anything_runs(bench: Bench, tmp_path: Path):
    bench.write("true", rest="[reset]\nnamespace = true")
    with pytest.raises(PlanError, match=r"reset\.namespace: does not work on workers reached by ssh"):
        bench.run(workers=["ssh://nowhere"])
    shared = Bench(Path(f"/dev/shm/{tmp_path.name}-{os.getpid()}"))  # noqa: S108
    shared.folder.mkdir()
    try:
        shared.write("true", rest="[reset]\nnamespace = true")
        with pytest.raises(PlanError, match="stands in /dev/shm, which would be empty"):
            shared.run()
        assert not shared.directory.exists()
    finally:
        shared.file.unlink()
        shared.folder.rmdir()


def test_a_machine_that_gives_none_stops_the_run_and_says_why(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    (bench.folder / "unshare").write_text(
        "#!/bin/sh\necho unshare: unshare failed: Operation not permitted >&2\nexit 1\n"
    )
    (bench.folder / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bench.folder}:{os.environ['PATH']}")
    result = bench.write("true", rest="[reset]\nnamespace = true").run()
    assert (result.ending.reason, result.counts) == ("reset failed", {"planned": 2})
    assert (
        "cannot create one: unshare: unshare failed: Operation not permitted; try: run as root"
        in result.ending.text
    )


def test_one_that_is_not_new_is_not_believed(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """An unshare that makes nothing but a namespace of processes and of mounts."""
    script = '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec /usr/bin/unshare --mount --pid --mount-proc --fork "$@"\n'
    (bench.folder / "unshare").write_text(script)
    (bench.folder / "unshare").chmod(0o755)
    if os.geteuid() != 0:
        pytest.skip("needs root")
    monkeypatch.setenv("PATH", f"{bench.folder}:{os.environ['PATH']}")
    result = bench.write("true", rest="[reset]\nnamespace = true").run()
    assert result.ending.reason == "reset failed"
    assert "reset.namespace: ipc is not a new one" in result.ending.text


def test_a_namespace_that_was_killed_is_not_entered():
    namespace = FreshNamespace([])
    reading, writing = os.pipe()
    assert namespace.renew(os.environ, time.monotonic() + 20, reading) is None
    first = namespace.first
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{first}").exists())
    with pytest.raises(StartError, match="or enter them"):
        run_command(["true"], environment=os.environ, working_directory="/", inside=first)
    assert namespace.renew(os.environ, time.monotonic() + 20, reading) is None
    namespace.end()
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_ordinary_user_has_one_through_a_namespace_of_users(tmp_path: Path):
    script = f"""
import os, time
from pathlib import Path
from trialwise._linux import run_command
from trialwise.execution.namespaces import FreshNamespace
reading, writing = os.pipe()
namespace = FreshNamespace([])
problem = namespace.renew(os.environ, time.monotonic() + {END_SECONDS}, reading)
if problem:
    print("none:", problem)
else:
    for _ in range(2):
        run = run_command(["sh", "-c", "id -u; ls /tmp | wc -l; touch /tmp/x; sleep 9876 & echo $$"],
            environment=os.environ, working_directory="/", isolate=["network"], inside=namespace.first)
        print(*run.stdout.decode().split()[:2], run.leftover_processes)
    namespace.renew(os.environ, time.monotonic() + {END_SECONDS}, reading)
    run = run_command(["ls", "/tmp"], environment=os.environ, working_directory="/", inside=namespace.first)
    print("after", run.stdout)
"""
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", script],
        capture_output=True, text=True, check=False, cwd="/", env={**os.environ, "HOME": "/nonexistent"},
    )  # fmt: skip
    if "Permission denied" in done.stderr and "python" in done.stderr:
        pytest.skip("nobody may not read this Python")
    if done.stdout.startswith("none:"):
        pytest.skip(done.stdout)
    assert done.stdout.splitlines() == ["65534 0 1", "65534 1 1", "after b''"], done.stderr


def processes() -> str:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(found)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
