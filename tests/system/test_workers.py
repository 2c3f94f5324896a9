"""Experiments on workers that ssh reaches: real sshd, each in its own network namespace."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.test_identity import Half, executable
from tests.system.test_resuming import Listener, StopAfter
from tests.system.worker_machines import Machines, machines

from trialwise import study
from trialwise.errors import PlanError
from trialwise.execution.events import WorkerNotice
from trialwise.execution.workers.remote import Remote
from trialwise.store.ledger import Ledger


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines"), 2) as made:
        yield made


@pytest.fixture(autouse=True)
def configuration(two: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(two.configuration))


def workers(two: Machines, rest: str = "", index: int = 0) -> str:
    return f'[workers]\nfolder = "{two[index].home}"\nheartbeat = "1s"\nreconnect = "5s"\n{rest}'


def test_two_workers_each_run_the_plan_in_orders_of_their_own(bench: Bench, two: Machines):
    bench.write(
        "sh -c 'echo 4{x}; pwd >&2'",
        "stdout = '([0-9]+)'",
        factors="x = [1, 2, 3, 4]",
        rest=workers(two),
        rounds=3,
    )
    result = bench.run(workers=two.names)
    assert (result.ending.reason, result.counts) == ("complete", {"finished": 24}), result.ending
    assert sorted(set(bench.values())) == [41.0, 42.0, 43.0, 44.0]
    rows = bench.rows()
    assert {row.worker for row in rows} == set(two.names)
    orders = {name: [row.treatment for row in rows if row.worker == name] for name in two.names}
    assert orders[two.names[0]] != orders[two.names[1]]
    assert len({row.epoch for row in rows}) == 2


def test_metrics_that_a_worker_finds_are_those_of_the_harness(bench: Bench, two: Machines):
    text = "goos: linux\\npkg: m\\nBenchmarkA-8 1 {0} ns/op\\nBenchmarkB/c-8 1 7 ns/op\\nPASS\\n"
    command = f"sh -c 'printf \"{text.format('4{x}')}\" > {{directory}}/out'"
    bench.file.write_text(
        f'[experiment]\nname = "bench"\n[factors]\nx = [1, 2]\n[trial]\ncommand = {json.dumps(command)}\n'
        f'[results]\nformat = "go-bench"\nfrom = "{{directory}}/out"\n[design]\nrounds = 2\n{workers(two)}\n'
    )
    result = bench.run(workers=two.names)
    assert result.counts == {"finished": 8}, [row.reason for row in bench.rows("failed")]
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    found = Counter(
        (source, value)
        for _, _, source, value, _, _ in ledger.values()
        if not source.startswith("instrument:")
    )
    ledger.close()
    assert found == {
        ("results:A:ns/op|unit:ns/op|better:lower", 41.0): 4,
        ("results:A:ns/op|unit:ns/op|better:lower", 42.0): 4,
        ("results:B/c:ns/op|unit:ns/op|better:lower", 7.0): 8,
    }


def test_a_folder_that_is_one_result_comes_from_a_worker(bench: Bench, two: Machines):
    result = {
        "benchmark.json": {"group_id": "sum"},
        "sample.json": {"sampling_mode": "Flat", "iters": [1.0, 2.0], "times": [10.0, 20.0]},
    }
    program = bench.folder / "harness.py"
    program.write_text(
        "import json, pathlib, sys\nplace = pathlib.Path(sys.argv[1], 'sum', 'new')\nplace.mkdir(parents=True)\n"
        f"for name, content in {result!r}.items():\n    (place / name).write_text(json.dumps(content))\n"
    )
    bench.file.write_text(
        f'[experiment]\nname = "bench"\n[factors]\nx = [1]\n[trial]\n'
        f'command = "{sys.executable} {program} {{directory}}/criterion {{x}}"\n'
        f'[results]\nformat = "criterion"\nfrom = "{{directory}}/criterion"\n[design]\nrounds = 1\n{workers(two)}\n'
    )
    assert bench.run(workers=two.names[:1]).counts == {"finished": 1}, [
        row.reason for row in bench.rows("failed")
    ]
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    found = {source for _, _, source, _, _, _ in ledger.values() if source.startswith("results:")}
    ledger.close()
    assert found == {"results:sum:time|unit:s|better:lower"}


def test_the_plan_shows_what_each_worker_then_runs(bench: Bench, two: Machines):
    bench.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2, 3]", rest=workers(two), rounds=4)
    names = ",".join(two.names)
    planned = json.loads(bench.command_line("plan", bench.file, "--workers", names, "--json").stdout)
    bench.run(workers=two.names)
    begun = json.loads(bench.compute("plan", bench.directory, "--json").stdout)
    for document in (planned, begun):
        shown = [
            (trial["number"], trial["treatment"], trial["seed"], lane["worker"])
            for lane in document["lanes"]
            for trial in lane["trials"]
        ]
        assert shown == [(row.number, row.treatment, row.seed, row.worker) for row in bench.rows()]


def test_a_worker_that_joins_later_gets_a_lane_of_its_own(bench: Bench, two: Machines):
    bench.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2]", rest=workers(two), rounds=2)
    assert bench.run(workers=two.names[:1]).counts == {"finished": 4}
    assert bench.run(workers=two.names).counts == {"finished": 8}
    rows = bench.rows()
    assert [row.worker for row in rows] == [two.names[0]] * 4 + [two.names[1]] * 4
    alone = [row.seed for row in rows[:4]]
    assert not set(alone) & {row.seed for row in rows[4:]}
    bench.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2]", rest=workers(two), rounds=3)
    assert bench.run(workers=two.names, extend=True).counts == {"finished": 12}
    rounds = Counter((row.worker, row.round) for row in bench.rows())
    assert rounds == {(name, number): 2 for name in two.names for number in (1, 2, 3)}


def test_the_local_machine_works_beside_another_and_as_before_alone(bench: Bench, two: Machines):
    bench.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2]", rest=workers(two), rounds=2)
    alone = Bench(bench.folder / "alone")
    alone.folder.mkdir()
    alone.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2]", rounds=2).run()
    assert bench.run(workers=["local", two.names[0]]).counts == {"finished": 8}
    mine = [(row.number, row.treatment, row.seed) for row in bench.rows() if row.worker == "local"]
    assert mine == [(row.number, row.treatment, row.seed) for row in alone.rows()]


def test_a_new_worker_takes_over_what_a_missing_one_has_left(bench: Bench, two: Machines):
    bench.write("echo {x}", "stdout = '([0-9]+)'", factors="x = [1, 2]", rest=workers(two), rounds=3)
    rule = StopAfter(1)
    assert bench.run(workers=two.names[:1], stopping=rule, observers=[rule]).counts == {
        "finished": 2,
        "planned": 4,
    }
    result = bench.run(workers=two.names[1:])
    assert (result.ending.reason, result.counts) == ("complete", {"finished": 6})
    assert [row.worker for row in bench.rows()] == [two.names[0]] * 2 + [two.names[1]] * 4
    assert [row.epoch for row in bench.rows()] == [1] * 2 + [2] * 4


# What a worker is given


def test_files_are_sent_and_set_up_once_for_each_content(bench: Bench, two: Machines):
    (bench.folder / "data").mkdir()
    (bench.folder / "data" / "number").write_text("5\n")
    (bench.folder / "not.log").write_text("")
    extra = "setup = \"sh -c 'echo x >> setups; ls > names'\"\nexclude = ['*.log']"
    command = "sh -c 'cat data/number; wc -l < setups > out.txt'"
    bench.write(command, "file = 'out.txt'\npattern = '([0-9]+)'", rest=workers(two, extra), rounds=2)
    bench.run(workers=two.names[:1])
    assert bench.values() == [1.0, 1.0]
    files = max(two[0].home.glob("*/files"), key=lambda path: path.stat().st_mtime)
    assert "not.log" not in (files / "names").read_text()
    assert not (files / "results").exists()
    longer = bench.file.read_text().replace("rounds = 2", "rounds = 3")
    bench.file.write_text(longer)
    bench.run(workers=two.names[:1], extend=True)  # the experiment file is part of what was sent
    assert bench.values() == [1.0, 1.0, 2.0]


def test_a_repository_is_cloned_at_a_commit(bench: Bench, two: Machines, tmp_path: Path):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for number in (7, 8):
        (repository / "number").write_text(f"{number}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", str(number)], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True
    ).stdout.strip()
    extra = f"git = {{ url = '{repository}', commit = '{commit}' }}"
    inner = Bench(tmp_path / "inner")
    inner.folder.mkdir()
    inner.write("cat number", "stdout = '([0-9]+)'", rest=workers(two, extra))
    inner.run(workers=two.names[:1])
    assert inner.values() == [7.0, 7.0]


def test_trials_are_measured_and_judged_there_as_here(bench: Bench, two: Machines):
    command = "sh -c 'echo $TRIALWISE_SEED > {directory}/seed; sleep 0.2; exit {x}'"
    metric = 'resource = "wall"\n[metrics.seed]\nfile = "{directory}/seed"\npattern = "([0-9]+)"'
    bench.write(
        command, metric, factors="x = [0, 3]", rest=workers(two), rounds=1, trial='prepare = "true"\n'
    )
    before = time.time()
    bench.run(workers=two.names[:1])
    good, bad = sorted(bench.rows(), key=lambda row: row.treatment)
    assert (good.status, bad.status, bad.reason) == ("finished", "failed", "ended with exit code 3")
    wall, seed = sorted(value for value in bench.values() if value is not None)
    assert good.finished is not None
    assert good.started is not None
    assert 0.2 <= wall <= good.finished - good.started + 0.1, "the program's own time, without the way there"
    assert seed == float(good.seed)
    assert before < good.started < good.finished < time.time()


def test_time_outs_leftovers_and_limits_hold_there(bench: Bench, two: Machines):
    programs = {"slow": "sleep 60", "leaves": "sleep 61 & echo 1", "loud": "seq 100000"}
    for name, program in programs.items():
        (bench.folder / name).write_text(program)
    trial = 'timeout = "4s"\noutput_limit = 1000\n'
    factors = f"x = {list(programs)}"
    bench.write("sh ./{x}", "stdout = '([0-9]+)'", factors=factors, trial=trial, rest=workers(two), rounds=1)
    bench.run(workers=two.names[:1])
    reasons = {row.treatment.removeprefix("x="): row.reason or "" for row in bench.rows("failed")}
    assert "timeout of 4 s" in reasons["slow"]
    assert "left 1 process(es) running" in reasons["leaves"]
    assert "more than trial.output_limit" in reasons["loud"]
    assert not two[0].processes("sleep 6")


# Resets


def test_a_reset_runs_there_and_one_that_fails_stops_that_worker_only(bench: Bench, two: Machines):
    check = f"ip -o address show dev eth0 | grep -q {two[1].address}/ || exit 3"
    (bench.folder / "reset.sh").write_text(f"{check}\necho {two[1].number} > state\n")
    rest = '[reset]\ncommand = "sh reset.sh"\n' + workers(two)
    bench.write("cat state", "stdout = '([0-9]+)'", rest=rest, rounds=2)
    result = bench.run(workers=two.names)
    assert result.ending.reason == "reset failed"
    assert f"{two.names[0]}: reset.command: 'sh' ended with exit code 3" in result.ending.text
    assert {row.worker for row in bench.rows("finished")} == {two.names[1]}
    assert bench.values() == [2.0, 2.0]


# Allocation


def test_workers_are_allocated_and_always_released(bench: Bench, two: Machines):
    script = bench.folder / "testbed.sh"
    script.write_text(
        f"echo $1 $TRIALWISE_WORKERS >> {bench.folder}/calls\n[ $1 = put ] || echo {two.names[0]}\n"
    )
    extra = 'allocate = "sh testbed.sh get"\nrelease = "sh testbed.sh put"'
    bench.write("true", rest=workers(two, extra), rounds=1)
    assert bench.run().counts == {"finished": 1}
    assert (bench.folder / "calls").read_text() == f"get\nput {two.names[0]}\n"
    # A run that was killed after it had allocated: the next one releases first.
    (bench.directory / "allocation.json").write_text('{"token": "", "workers": ["ssh://gone"]}')
    bench.run()
    assert (bench.folder / "calls").read_text().splitlines()[2:] == [
        "put ssh://gone",
        "get",
        f"put {two.names[0]}",
    ]
    assert not (bench.directory / "allocation.json").exists()


# Bad input


def lost(bench: Bench, names: list[str]) -> str:
    """Run on workers of which one cannot be used, and give what was told."""
    listener = Listener()
    result = bench.run(workers=names, observers=[listener])
    assert result.ending.reason == "worker lost"
    return "\n".join([result.ending.text, *(event.text for event in listener.of(WorkerNotice))])


def simple(bench: Bench, two: Machines, rest: str = "") -> Bench:
    text = workers(two, rest).replace('reconnect = "5s"', 'reconnect = "1s"')
    return bench.write("echo 1", "stdout = '([0-9]+)'", rest=text, rounds=1)


def test_an_unreachable_worker_is_named_and_the_others_go_on(bench: Bench, two: Machines):
    names = f"{two.names[0]},ssh://{two[0].address}:2222"
    done = simple(bench, two).command_line(
        "run", bench.file, "--directory", bench.directory, "--workers", names
    )
    assert done.returncode == 6
    assert f"{two[0].address}:2222: nothing listens there" in done.stderr
    assert "try: start sshd there" in done.stderr
    assert Counter(row.status for row in bench.rows()) == {"finished": 1, "planned": 1}


def test_a_name_that_cannot_be_resolved(bench: Bench, two: Machines):
    assert "its name cannot be resolved" in lost(simple(bench, two), ["ssh://no-such-host.invalid"])


def test_a_wrong_key(bench: Bench, two: Machines):
    authorized = two[0].folder / "authorized"
    before = authorized.read_text()
    authorized.write_text("")
    try:
        text = lost(simple(bench, two), two.names[:1])
    finally:
        authorized.write_text(before)
    assert "accepts none of the keys that were offered" in text
    assert "Permission denied" in text


def test_unknown_and_changed_host_keys_are_refused(bench: Bench, two: Machines):
    known = two.folder / "known_hosts"
    before = known.read_text()
    try:
        known.write_text("")
        assert "its host key is not known" in lost(simple(bench, two), two.names[:1])
        swapped = before.replace(two[0].address, "x").replace(two[1].address, two[0].address)
        known.write_text(swapped)
        text = lost(simple(bench, two), two.names[:1])
    finally:
        known.write_text(before)
    assert "its host key is not the one that is known" in text
    assert f"ssh-keygen -R {two[0].address}" in text or "ssh-keygen -R machine1" in text
    assert bench.run(workers=two.names[:1]).counts == {"finished": 1}


def test_no_python_there(bench: Bench, two: Machines):
    text = lost(simple(bench, two, 'python = "python3.99"'), two.names[:1])
    assert "there is no python3" in text
    assert "workers.python" in text


def test_no_program_there(bench: Bench, two: Machines):
    bench.write("no-such-program 1", rest=workers(two), rounds=1)
    assert "no program 'no-such-program' there" in lost(bench, two.names[:1])


def test_a_setup_that_fails(bench: Bench, two: Machines):
    text = lost(simple(bench, two, "setup = \"sh -c 'echo broken >&2; exit 4'\""), two.names[:1])
    assert "setup ended with exit code 4: broken" in text


def test_a_full_disk_there(bench: Bench, two: Machines):
    small = two.folder / "small"
    small.mkdir(exist_ok=True)
    two[0].run("mount", "-t", "tmpfs", "-o", "size=1m", "none", small)
    rest = f'[workers]\nfolder = "{small}"\nreconnect = "1s"'
    assert "the disk is full there" in lost(bench.write("true", rest=rest, rounds=1), two.names[:1])
    two[0].run("mount", "-o", "remount,size=80m", small)
    full_file = bench.folder / "full"
    fill = f"head -c 1000000 /dev/zero >> {small}/fill 2>/dev/null"
    begun = f"until test -e {small}/begun; do sleep 0.01; done"
    greedy = f"{begun}; while test -d {small}; do {fill} || touch {full_file}; done"
    (bench.folder / "program").write_text(
        f"touch {small}/begun; until test -e {full_file}; do sleep 0.05; done; echo 1\n"
    )
    full = Bench(bench.folder)
    full.directory.rename(bench.folder / "before")
    # What a trial frees is room for the next until it is filled again: of so many, one comes too late for it.
    full.write("sh program", "stdout = '([0-9]+)'", rest=rest, rounds=10)
    filling = two[0].begin("timeout", "120", "sh", "-c", greedy)
    try:
        text = lost(full, two.names[:1])
    finally:
        filling.terminate()
        filling.wait()
        two[0].run("rm", "-f", small / "fill")
    assert "No space left on device" in text
    assert "free some space" in text
    (bench.folder / "program").write_text("echo 2\n")
    assert full.run(workers=two.names[:1]).counts["finished"] == 10
    assert set(full.values()) == {1.0, 2.0}, "what had finished on the full disk was kept"


def test_a_clock_that_is_off_is_told_and_does_not_matter(
    bench: Bench, two: Machines, monkeypatch: pytest.MonkeyPatch
):
    """Only Python's clock can be put forward here, so Python measures, as on machines unlike this one."""
    monkeypatch.setattr(Remote, "supervised", False)
    python = bench.folder / "python"
    python.write_text(
        f"#!{sys.executable} -S\nimport sys, time\nsys.executable = {str(python)!r}\nreal = time.time\n"
        "time.time = lambda: real() + 3600\ncode = sys.argv[3]\nsys.argv = ['-c', *sys.argv[4:]]\nexec(code)\n"
    )
    python.chmod(0o755)
    simple(bench, two, f'python = "{python}"')
    before = time.time()
    listener = Listener()
    assert bench.run(workers=two.names[:1], observers=[listener]).counts == {"finished": 1}
    assert any("its clock is 1h ahead of ours" in event.text for event in listener.of(WorkerNotice))
    (row,) = bench.rows()
    assert before < row.started < row.finished < time.time()


@pytest.mark.parametrize("kind", ["python", "path"])
def test_kinds_that_only_run_here_are_refused(bench: Bench, two: Machines, kind: str):
    trial = (
        'call = "m:f"'
        if kind == "python"
        else 'scheme = "cubic"\nruntime = "1s"\npath = { rate = "1Mbit/s" }'
    )
    metric = "" if kind == "python" else 'quantity = "throughput"'
    bench.write("", metric, trial=f'kind = "{kind}"\n{trial}', rest=workers(two))
    done = bench.command_line("run", bench.file, "--workers", two.names[0])
    assert done.returncode == 2
    assert f'trials of kind "{kind}" do not run on workers' in done.stderr


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["remote"], "is not a valid worker"),
        (["ssh://-oProxyCommand=x"], "is not a valid worker"),
        (["local", "local"], "is given twice"),
    ],
)
def test_names_that_are_no_workers(bench: Bench, names: list[str], message: str):
    bench.write("true")
    with pytest.raises(PlanError, match=message):
        bench.run(workers=names)


def test_a_reset_by_reboot_is_believed_when_the_boot_id_has_changed(bench: Bench, two: Machines):
    """No machine is booted: a program of the name reboot changes what /proc says there and ends the connections."""
    boot = two[0].folder / "boot_id"
    boot.write_text("11111111-1111-1111-1111-111111111111\n")
    two[0].run("mount", "--bind", boot, "/proc/sys/kernel/random/boot_id")
    programs = two[0].folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "reboot").write_text(
        f"#!/bin/sh\nread -r new < /proc/sys/kernel/random/uuid\necho $new > {boot}\nkill -9 $PPID\n"
    )
    (programs / "reboot").chmod(0o755)
    two[0].environment = f"PATH={programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    two[0].stop()
    two[0].start()
    rest = '[reset]\nreboot = true\ntimeout = "20s"\n' + workers(two)
    bench.write("echo 1", "stdout = '([0-9]+)'", rest=rest, rounds=2)
    try:
        assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
        assert len({row.boot for row in bench.rows()}) == 2
        assert len({row.epoch for row in bench.rows()}) == 1
        (programs / "reboot").write_text("#!/bin/sh\nexit 0\n")
        bench.directory.rename(bench.folder / "before")
        bench.file.write_text(bench.file.read_text().replace("20s", "2s"))
        result = bench.run(workers=two.names[:1])
    finally:
        two[0].run("umount", "/proc/sys/kernel/random/boot_id")
    assert result.ending.reason == "reset failed"
    assert "has not rebooted within" in result.ending.text


def test_a_worker_with_nothing_left_need_not_be_there(bench: Bench, two: Machines):
    simple(bench, two).run(workers=two.names)
    two[0].stop()
    try:
        assert bench.run(workers=two.names).ending.reason == "complete"
    finally:
        two[0].start()


def test_files_of_trials_are_brought_back_and_read_again(bench: Bench, two: Machines):
    bench.write(
        "sh -c 'mkdir -p results; echo latency {x}{round} > results/{x}.txt; echo size {round} >> results/all.txt; echo v 1'",
        'stdout = "v (.+)"',
        factors="x = [4]",
        trial='keep = ["results/"]',
        rest=workers(two),
    )
    assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
    with tarfile.open(bench.directory / "outputs" / "000002-1.files.tar.gz") as archive:
        found = {member.name: archive.extractfile(member).read() for member in archive}
    assert found["results/4.txt"] == b"latency 42\n"
    assert found["results/all.txt"] == b"size 2\n"
    text = bench.file.read_text()
    further = (
        '[metrics.again]\nfile = "results/{x}.txt"\npattern = "latency (.+)"\n'
        '[metrics.size]\nfile = "results/all.txt"\npattern = "size (.+)"\n[design]'
    )
    bench.file.write_text(text.replace("[design]", further))
    assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
    trials = study.trial_set(bench.directory)
    assert trials.of("again")["value"].to_list() == [41.0, 42.0]
    assert trials.of("size")["value"].to_list() == [1.0, 2.0]


def test_what_the_commands_beside_the_program_wrote_there_is_kept(bench: Bench, two: Machines):
    trial = """keep = ["out/"]
prepare = "sh -c 'mkdir -p out; echo {round} > out/prepared'"
conclude = "sh -c 'echo {round} > out/concluded; rm out/result'"
"""
    bench.write("sh -c 'echo {round} > out/result'", trial=trial, rest=workers(two))
    assert bench.run(workers=two.names[:1]).failed == 0
    with (
        gzip.open(bench.directory / "outputs/000002-1.files.tar.gz") as file,
        tarfile.open(fileobj=file) as files,
    ):
        names = {name.removeprefix(".before/") for name in files.getnames()}
    assert names == {"out/concluded", "out/prepared", "out/result"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sh -c 'exec ./prog'", "prog"),
        ("./outer", "prog"),
        ("python3 -B main.py", "helper.py"),
        ("sh -c 'cat < config.toml'", "config.toml"),
    ],
)
def test_what_programs_start_there_has_an_identity(bench: Bench, two: Machines, command: str, name: str):
    executable(bench.folder / "prog", "exit 0")
    executable(bench.folder / "outer", "./prog; true")
    (bench.folder / "main.py").write_text("import helper\n")
    (bench.folder / "helper.py").write_text("x = 1\n")
    (bench.folder / "config.toml").write_text("a = 1\n")
    bench.write(command, rounds=6, rest=workers(two))
    rules = [Half(2), Half(4), Half(6)]
    for rule in rules:
        bench.run(workers=two.names[:1], stopping=rule, observers=[rule])
        file = bench.folder / name
        file.write_text(file.read_text() + ("# changed\n" if rule is rules[1] else ""))
    assert [row.epoch for row in bench.rows("finished")] == [1, 1, 1, 1, 2, 2]
    assert [rule.changes for rule in rules] == [[], [], [f"{two.names[0]}: {name} is another"]]


@pytest.mark.parametrize("how", ["prepare", "conclude", "reset"])
def test_what_runs_beside_trials_there_has_an_identity(bench: Bench, two: Machines, how: str):
    """A script starts a program that its text does not name, and writes a file that the trials read."""
    subprocess.run(["cp", "/bin/sleep", bench.folder / "server"], check=True)
    linger = "0.5" if how == "conclude" else "20 &"  # it is ended with the trial, or by the next reset
    executable(
        bench.folder / "start", f"name=$(printf ser%s ver)\nsetsid ./$name {linger}\ndate +%N > state.txt"
    )
    trial, reset = ("", '[reset]\ncommand = "./start"') if how == "reset" else (f'{how} = "./start"', "")
    command = "sh -c 'cat state.txt; sleep 0.1'" if how != "conclude" else "true"
    bench.write(command, trial=trial, rounds=6, rest=f"{reset}\n{workers(two)}")
    rules = [Half(2), Half(4), Half(6)]
    file = bench.folder / "server"
    for rule in rules:
        bench.run(workers=two.names[:1], stopping=rule, observers=[rule])
        file.write_bytes(file.read_bytes() + (b"# changed" if rule is rules[1] else b""))
    assert [row.epoch for row in bench.rows("finished")] == [1, 1, 1, 1, 2, 2]
    assert [rule.changes for rule in rules] == [[], [], [f"{two.names[0]}: server is another"]]


def test_a_file_that_trials_write_there_is_no_input(bench: Bench, two: Machines):
    bench.write("sh -c 'date +%N >> log.txt; cat < log.txt'", rounds=4, rest=workers(two))
    bench.run(workers=two.names[:1])
    assert [row.epoch for row in bench.rows("finished")] == [1, 1, 1, 1]
