"""What makes trials trials of the same thing, and what does not: real programs, two sessions of one experiment."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths

from trialwise.execution.events import EnvironmentChanged, RunEvent, TrialEnded, TrialRecalled
from trialwise.store.records import TrialRow

Act = Callable[[Path, pytest.MonkeyPatch], object]


class Half:
    """A rule that stops after the first two of four rounds, and an observer of changes."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.seen: set[int] = set()
        self.changes: list[str] = []

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded | TrialRecalled):
            self.seen.add(event.row.round)
        if isinstance(event, EnvironmentChanged):
            self.changes.append(event.text)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        return "half" if upcoming.round > self.rounds else None


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def project(bench: Bench) -> Bench:
    executable(bench.folder / "prog", "exit 0")
    executable(bench.folder / "dir/prog", "exit 0")
    executable(bench.folder / "v1/tool", "exit 0")
    executable(bench.folder / "v2/tool", "exit 0 # other")
    (bench.folder / "link").symlink_to("v1/tool")
    (bench.folder / "config.toml").write_text("a = 1\n")
    (bench.folder / "main.py").write_text("import helper\n")
    (bench.folder / "helper.py").write_text("x = 1\n")
    executable(bench.folder / "outer", "./prog; true")
    (bench.folder / "Makefile").write_text("run:\n\t./prog\n")
    return bench


def epochs_of_halves(
    bench: Bench, between: Callable[[], object], *, after: int = 2, of: int = 4
) -> tuple[list[int | None], list[str]]:
    """The epochs of some trials, something happening after the first of them, and what was told of it."""
    bench.run(stopping=Half(after))
    between()
    rule = Half(of)
    bench.run(stopping=rule, observers=[rule])
    return [row.epoch for row in bench.rows("finished")], rule.changes


PYTHON = "python3 -B"
CHANGED = {
    "program": ("./prog", "prog"),
    "behind a shell": ("sh -c 'exec ./prog'", "prog"),
    "behind a script": ("./outer", "prog"),
    "make": ("make -s run", "prog"),
    "behind cd": ("sh -c 'cd dir && ./prog'", "dir/prog"),
    "behind env": ("env X=Y ./prog", "prog"),
    "makefile": ("make -s run", "Makefile"),
    "script": (f"{PYTHON} main.py", "main.py"),
    "imported": (f"{PYTHON} main.py", "helper.py"),
    "module": (f"{PYTHON} -m main", "helper.py"),
    "input": ("./prog --config=config.toml", "config.toml"),
    "input of a shell": ("sh -c './prog < config.toml'", "config.toml"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_content_of_a_file_begins_a_series(project: Bench, what: str):
    command, name = CHANGED[what]
    file = project.folder / name
    project.write(command, rounds=4)
    epochs, said = epochs_of_halves(project, lambda: file.write_text(file.read_text() + "# changed\n"))
    assert (epochs, said) == ([1, 1, 2, 2], [f"{name} is another"])


@pytest.mark.parametrize("name", ["tool", "read.py", "config.toml"])
def test_files_on_a_file_system_in_memory_belong_to_what_was_measured(
    project: Bench, name: str, monkeypatch: pytest.MonkeyPatch
):
    """However shortly before the session they were written: a long tick makes them all young."""
    monkeypatch.setattr("trialwise.execution.session.CLOCK_STEP", 0.5)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        executable(Path(place, "tool"), "exit 0")
        Path(place, "read.py").write_text("x = 1\n")
        Path(place, "config.toml").write_text("a = 1\n")
        executable(
            project.folder / "outer",
            f"cd {place}; ./tool --config=config.toml; {PYTHON} read.py; true",
        )
        project.write("./outer", rounds=4)
        file = Path(place, name)
        epochs, said = epochs_of_halves(project, lambda: file.write_text(file.read_text() + "# changed\n"))
    assert (epochs, said) == ([1, 1, 2, 2], [f"{file} is another"])


def test_an_input_that_is_younger_than_a_tick_when_a_trial_begins_is_none_that_trials_write(
    project: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trialwise.execution.session.CLOCK_STEP", 60.0)
    monkeypatch.setattr("trialwise.execution.session.wait_a_tick", lambda: None)
    test_another_content_of_a_file_begins_a_series(project, "input")


@pytest.mark.parametrize("what", CHANGED)
def test_the_same_content_written_again_does_not(project: Bench, what: str):
    command, name = CHANGED[what]
    file = project.folder / name

    def build_again() -> None:
        new = file.with_name("new")
        new.write_bytes(file.read_bytes())
        new.chmod(file.stat().st_mode)
        new.rename(file)

    project.write(command, rounds=4)
    assert epochs_of_halves(project, build_again) == ([1, 1, 1, 1], [])


@pytest.mark.parametrize("command", ["./link", "sh -c ./link"])
def test_a_link_that_points_elsewhere_begins_a_series(project: Bench, command: str):
    def repoint() -> None:
        (project.folder / "link").unlink()
        (project.folder / "link").symlink_to("v2/tool")

    project.write(command, rounds=4)
    assert epochs_of_halves(project, repoint) == ([1, 1, 2, 2], ["link is another"])


def library(folder: Path, value: int) -> None:
    source = folder / f"value{value}.c"
    source.write_text(f"int value(void) {{ return {value}; }}\n")
    folder.joinpath("lib").mkdir(exist_ok=True)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / f"lib/libvalue.so.{value}", source], check=True, timeout=60
    )


@pytest.mark.parametrize("how", ["rebuilt", "re-pointed"])
def test_another_shared_library_begins_a_series(project: Bench, how: str):
    folder = project.folder
    library(folder, 1)
    library(folder, 2)
    (folder / "lib/libvalue.so").symlink_to("libvalue.so.1")
    (folder / "main.c").write_text("int value(void);\nint main(void) { return value() < 1; }\n")
    words = ["cc", "-o", folder / "linked", folder / "main.c", f"-L{folder / 'lib'}", "-lvalue"]
    subprocess.run(words, check=True, timeout=60)
    executable(folder / "outer", "LD_LIBRARY_PATH=lib ./linked")

    def change() -> None:
        if how == "rebuilt":
            (folder / "lib/libvalue.so.2").rename(folder / "lib/libvalue.so.1")
        else:
            (folder / "lib/libvalue.so").unlink()
            (folder / "lib/libvalue.so").symlink_to("libvalue.so.2")

    project.write("./outer", rounds=4)
    epochs, (change_text,) = epochs_of_halves(project, change)
    assert epochs == [1, 1, 2, 2]
    assert "libvalue.so" in change_text


def test_an_earlier_program_on_the_search_path_begins_a_series(
    project: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", f"{project.folder / 'first'}:{project.folder / 'v1'}:{os.environ['PATH']}")
    executable(project.folder / "outer", "tool")
    project.write("./outer", rounds=4)
    epochs, changes = epochs_of_halves(
        project, lambda: executable(project.folder / "first/tool", "exit 0 # new")
    )
    assert (epochs, changes) == ([1, 1, 2, 2], ["tool: v1/tool → first/tool"])


INHERITED: dict[str, tuple[Act, str]] = {
    "variable": (lambda _, m: m.setenv("OMP_NUM_THREADS", "8"), "OMP_NUM_THREADS: 1 → 8"),
    "another": (lambda _, m: m.setenv("PYTHONHASHSEED", "0"), "PYTHONHASHSEED is set now"),
    "no more": (lambda _, m: m.delenv("OMP_NUM_THREADS"), "OMP_NUM_THREADS is not set now"),
    "secret": (lambda _, m: m.setenv("MY_TOKEN", "tell-nobody-2"), "MY_TOKEN: hidden "),
    "escapes": (lambda _, m: m.setenv("OMP_NUM_THREADS", "\x1b[2J"), r'OMP_NUM_THREADS: 1 → "\u001b[2J"'),
}


@pytest.mark.parametrize("what", INHERITED)
def test_another_variable_begins_a_series(project: Bench, monkeypatch: pytest.MonkeyPatch, what: str):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MY_TOKEN", "tell-nobody-1")
    act, said = INHERITED[what]
    project.write("true", trial='pass = ["OMP_*", "PYTHON*", "MY_TOKEN"]', rounds=4)
    epochs, changes = epochs_of_halves(project, lambda: act(project.folder, monkeypatch))
    assert epochs == [1, 1, 2, 2]
    (change,) = changes
    assert change.startswith(said)
    assert "tell-nobody" not in "".join(path.read_text() for path in project.directory.glob("environments/*"))


def test_what_the_experiment_sets_itself_and_what_says_nothing_does_not(
    project: Bench, monkeypatch: pytest.MonkeyPatch
):
    def another_login() -> None:
        for name in (
            "TERM",
            "COLUMNS",
            "LINES",
            "SSH_CONNECTION",
            "SSH_TTY",
            "SHLVL",
            "PWD",
            "OLDPWD",
            "OMP_NUM_THREADS",
        ):
            monkeypatch.setenv(name, "another")

    project.write("true", trial='environment = { OMP_NUM_THREADS = "4" }', rounds=4)
    assert epochs_of_halves(project, another_login) == ([1, 1, 1, 1], [])


def test_other_limits_begin_a_series(project: Bench):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    project.write("true", rounds=4)
    try:
        found = epochs_of_halves(
            project, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == ([1, 1, 2, 2], [f"limit nofile: {soft} → {soft - 1}"])


def test_other_processors_begin_a_series(project: Bench):
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one processor")
    project.write("true", rounds=4)
    try:
        epochs, changes = epochs_of_halves(project, lambda: os.sched_setaffinity(0, {min(before)}))
    finally:
        os.sched_setaffinity(0, before)
    assert epochs == [1, 1, 2, 2]
    assert changes[0].startswith("cpus allowed: ")


WRAPPER = """
title = "a scheme behind a wrapper"
[receiver]
command = "{folder}/wrap receiver {{port}}"
ready = {{ line = "ready" }}
[sender]
command = "{folder}/wrap sender {{peer}} {{port}}"
"""
SIDES = """
import socket, sys
import helper
import ctypes
ctypes.CDLL("{folder}/lib/libvalue.so.1")
if sys.argv[1] == "sender":
    connection = socket.create_connection((sys.argv[2], int(sys.argv[3])))
    while True:
        connection.sendall(bytes(65536))
listener = socket.create_server(("", int(sys.argv[2])))
print("ready", flush=True)
connection, _ = listener.accept()
while connection.recv(1 << 20):
    pass
"""


def write_wrapped_scheme(bench: Bench) -> None:
    """An experiment over a path, whose scheme starts a tool, which runs a script, which imports a module and loads a library."""
    folder = bench.folder
    library(folder, 1)
    executable(folder / "wrap", f'exec {folder}/tool "$@"')
    executable(folder / "tool", f'exec python3 -B {folder}/sides.py "$@"')
    (folder / "sides.py").write_text(SIDES.format(folder=folder))
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "schemes").mkdir()
    (folder / "schemes/wrapped.toml").write_text(WRAPPER.format(folder=folder))
    bench.file.write_text(
        '[experiment]\nname = "paths"\n[trial]\nkind = "path"\nscheme = "wrapped"\nruntime = "0.5s"\n'
        'path = { rate = "12Mbit/s", delay = "5ms" }\nlateness = "500ms"\n[metrics.throughput]\n'
        '[design]\nseries = 1\nrounds = 2\n[schemes]\nfolders = ["schemes"]\n'
    )


@needs_paths
@pytest.mark.parametrize("name", ["tool", "helper.py", "lib/libvalue.so.1", "nothing"])
def test_what_a_scheme_runs_behind_its_wrapper_belongs_to_trials_of_paths(bench: Bench, name: str):
    def change() -> None:
        file = bench.folder / name
        if name.startswith("lib/"):
            library(bench.folder, 2)
            file.with_name("libvalue.so.2").rename(file)
        elif file.exists():
            file.write_text(file.read_text() + "# changed\n")

    write_wrapped_scheme(bench)
    found = epochs_of_halves(bench, change, after=1, of=2)
    assert found == (([1, 1], []) if name == "nothing" else ([1, 2], [f"{name} is another"]))


MAIN = """
import ctypes, importlib
helper = importlib.import_module("hel" + "per")
installed = importlib.import_module("inst" + "alled")
ctypes.CDLL("{folder}/lib/libvalue.so.1")

def run():
    return 1.0

def starts_a_program():
    import subprocess
    subprocess.run(["{folder}/tool"])
    return 1.0

def starts_by_a_shell():
    import os, subprocess
    os.system("exec {folder}/tool")
    subprocess.run("./tool; true", shell=True, cwd="{folder}")
    return 1.0

def starts_a_fork():
    import os
    if os.fork() == 0:
        os.execv("{folder}/tool", ["tool"])
    os.wait()
    return 1.0
"""


def write_callable(bench: Bench, process: str, function: str = "run", rounds: int = 4) -> None:
    """An experiment that calls a function, whose module loads by computed names a module, a package and a library."""
    library(bench.folder, 1)
    site = bench.folder / "site-packages"
    (site / "installed-1.dist-info").mkdir(parents=True, exist_ok=True)
    (site / "installed-1.dist-info/RECORD").write_text("installed.py,sha256=1,6\n")
    (site / "installed.py").write_text("x = 1\n")
    (bench.folder / "main.py").write_text(MAIN.format(folder=bench.folder))
    (bench.folder / "helper.py").write_text("x = 1\n")
    trial = f'kind = "python"\ncall = "main:{function}"\nprocess = "{process}"'
    environment = f'environment = {{ PYTHONPATH = "{site}", PYTHONDONTWRITEBYTECODE = "1" }}'
    bench.write("", "", trial=f"{trial}\n{environment}", rounds=rounds)


RECORD = "site-packages/installed-1.dist-info/RECORD"


@pytest.mark.parametrize("process", ["trial", "shared"])
@pytest.mark.parametrize("name", ["helper.py", "lib/libvalue.so.1", RECORD, "site-packages/installed.py"])
def test_what_a_callable_has_loaded_belongs_to_its_trials(bench: Bench, process: str, name: str):
    def change() -> None:
        file = bench.folder / name
        if name.startswith("lib/"):
            library(bench.folder, 2)
            file.with_name("libvalue.so.2").rename(file)
        else:
            file.write_text(file.read_text() + "# changed\n")

    write_callable(bench, process)
    found = epochs_of_halves(bench, change)
    # For an installed package its list of files stands, which an installer writes.
    assert found == (
        ([1, 1, 1, 1], []) if name.endswith("installed.py") else ([1, 1, 2, 2], [f"{name} is another"])
    )


def test_programs_that_a_shared_process_starts_by_itself_are_said_not_to_be_followed(bench: Bench):
    executable(bench.folder / "tool", "exit 0")
    remarks: dict[str, list[str]] = {}
    for function in ("run", "starts_a_program", "starts_a_fork"):
        write_callable(bench, "shared", function, rounds=1)
        said = bench.compute("run", bench.file, "--directory", bench.folder / function).stderr
        remarks[function] = [line for line in said.splitlines() if "not followed" in line]
    assert [len(each) for each in remarks.values()] == [0, 0, 1]


@pytest.mark.parametrize("function", ["starts_a_program", "starts_by_a_shell"])
@pytest.mark.parametrize("name", ["tool", "inner", "nothing"])
def test_programs_that_a_shared_process_starts_belong_to_its_trials(bench: Bench, function: str, name: str):
    def change() -> None:
        if name != "nothing":
            executable(bench.folder / name, "exit 0 # changed" if name == "inner" else "./inner # changed")

    executable(bench.folder / "tool", "./inner")
    executable(bench.folder / "inner", "exit 0")
    write_callable(bench, "shared", function)
    found = epochs_of_halves(bench, change)
    assert found == (([1, 1, 1, 1], []) if name == "nothing" else ([1, 1, 2, 2], [f"{name} is another"]))


BESIDE = {
    "prepare": ('prepare = "./start"', "", ("server", "start", "config.toml")),
    "conclude": ('conclude = "./start"', "", ("server", "start")),
    "reset": ("", '[reset]\ncommand = "./start"', ("server", "start", "config.toml")),
    "check": ("", '[reset]\ncommand = "true"\ncheck = "./start"', ("start", "config.toml")),
}


@pytest.mark.parametrize(("how", "name"), [(how, name) for how, each in BESIDE.items() for name in each[2]])
def test_what_runs_beside_trials_belongs_to_them(project: Bench, how: str, name: str):
    """A script starts a program that its text does not name; of one that is not followed the program lives beside trials."""

    def change() -> None:
        file = project.folder / name
        file.write_bytes(file.read_bytes() + b"# changed\n")

    subprocess.run(["cp", "/bin/sleep", project.folder / "server"], check=True)
    linger = "setsid ./$name 5 &" if how in ("prepare", "reset") else "./$name 0"
    executable(project.folder / "start", f"name=$(printf ser%s ver)\n{linger}\ncat config.toml")
    trial, reset, _ = BESIDE[how]
    project.write("sleep 0.1", trial=trial, rest=reset, rounds=4)
    assert epochs_of_halves(project, change) == ([1, 1, 2, 2], [f"{name} is another"])


@pytest.mark.parametrize("every", ["round", "trial"])
def test_a_file_that_resets_write_is_no_input(project: Bench, every: str):
    """Such as the number of the process of a server: what the reset runs counts, and not what it writes."""
    reset = (
        f'[reset]\nevery = "{every}"\ncommand = "sh -c \'date +%N > state.txt; cat config.toml > copy.txt\'"'
    )
    project.write("sh -c 'cat state.txt copy.txt {a}'", factors='a = ["", " "]', rest=reset, rounds=4)
    rows, changes = epochs_of_halves(project, lambda: None)
    assert (set(rows), changes) == ({1}, [])


def test_what_resets_read_is_an_input(project: Bench):
    reset = "[reset]\ncommand = \"sh -c 'date +%N > state.txt; cat config.toml > copy.txt'\""
    project.write("sh -c 'cat state.txt copy.txt'", rest=reset, rounds=4)
    file = project.folder / "config.toml"
    epochs, (said,) = epochs_of_halves(project, lambda: file.write_text("a = 2\n"))
    assert (epochs, said) == ([1, 1, 2, 2], "config.toml is another")


def test_another_template_of_a_reset_begins_a_series(project: Bench):
    template = project.folder / "template"
    template.mkdir()
    (template / "data").write_text("1\n")
    reset = '[reset]\ndirectory = { path = "work", template = "template" }'
    project.write("cat work/data", rest=reset, rounds=4)
    epochs, (said,) = epochs_of_halves(project, lambda: (template / "data").write_text("2\n"))
    assert (epochs, said) == ([1, 1, 2, 2], "template/data is another")


def test_a_file_that_trials_write_is_no_input(project: Bench):
    (project.folder / "out.txt").write_text("before\n")
    project.write("sh -c 'date +%N >> out.txt; ./prog --log=out.txt'", rounds=4)
    assert epochs_of_halves(project, lambda: None)[0] == [1, 1, 1, 1]


def test_a_directory_without_these_records_goes_on_as_not_known(
    project: Bench, monkeypatch: pytest.MonkeyPatch
):
    def make_old() -> None:
        (file,) = project.directory.glob("environments/*")
        document = json.loads(file.read_text())
        fingerprint = document["fingerprint"]
        for name in ("environment", "limits", "build", "volatile", "governor"):
            fingerprint.pop(name)
        keys = ("path", "sha256", "size")
        document["executables"] = [
            {key: each[key] for key in keys} | {"modified": 0.0}
            for each in document["executables"]
            if each["role"] in ("program", "interpreter", "script")
        ]
        file.write_text(json.dumps(document))
        monkeypatch.setenv("OMP_NUM_THREADS", "another")

    project.write("./prog", trial='pass = ["OMP_*"]', rounds=4)
    assert epochs_of_halves(project, make_old) == ([1, 1, 1, 1], [])
    assert "OMP_NUM_THREADS" in max(project.directory.glob("environments/*")).read_text()
