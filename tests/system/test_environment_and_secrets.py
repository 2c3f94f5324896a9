"""Trials start from a stated environment, here and on workers, and secrets reach them through it and nothing else."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.worker_machines import Machines, machines

from trialwise.errors import PlanError
from trialwise.measurement.inherited import STATED
from trialwise.measurement.masking import Masks
from trialwise.trials.marked import MARKER

SECRET = "Tr0ub4dor&3 x, longer than what masks it"  # noqa: S105 nobody's
FORMS = [
    SECRET.encode(),
    urllib.parse.quote(SECRET, safe="").encode(),
    SECRET.encode().hex().encode(),
    base64.b64encode(SECRET.encode())[:16],
    base64.b64encode(f"me:{SECRET}".encode())[4:16],
]
AS_HEX = "import sys, textwrap; print(*textwrap.wrap(sys.stdin.buffer.read().hex(), 60), sep=chr(10))"
PRINTS = """
import base64, os, sys, urllib.parse
secret = os.environ["PGPASSWORD"]
print("plain", secret, flush=True)
sys.stdout.write("x" * 70000 + secret[:5]); sys.stdout.flush()
sys.stdout.write(secret[5:] + chr(10)); sys.stdout.flush()
print(base64.b64encode(f"me:{secret}".encode()).decode(), urllib.parse.quote(secret, safe=""), secret.encode().hex())
print("speed 7.5")
print(secret, file=sys.stderr)
os.makedirs("out", exist_ok=True)
open("out/log", "w").write("connecting with " + secret)
open("out/" + secret, "w").write("fine")
"""


def environment_of_trial(bench: Bench, number: int = 1) -> dict[str, str]:
    text = gzip.decompress((bench.directory / f"outputs/{number:06d}-1.stdout.gz").read_bytes()).decode()
    return json.loads(text)


PRINT_ENVIRONMENT = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"


def test_trials_get_what_is_stated_and_nothing_else(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    for name in ("LD_PRELOAD_PATH", "OMP_NUM_THREADS", "LC_TIME", "TZ"):
        monkeypatch.setenv(name, "C")
    bench.write(PRINT_ENVIRONMENT, trial='environment = { MINE = "{round}" }\npass = ["LD_*"]', rounds=1)
    assert bench.run().failed == 0
    found = environment_of_trial(bench)
    known = re.compile("|".join(name.replace("*", ".*") for name in STATED))
    added = {"MINE", "LD_PRELOAD_PATH", "TRIALWISE_SEED", MARKER}
    assert {name for name in found if not known.fullmatch(name)} == added
    assert (found["MINE"], found["LC_TIME"], found["PATH"]) == ("1", "C", os.environ["PATH"])
    (recorded,) = bench.directory.glob("environments/*.json")
    variables = json.loads(recorded.read_text())["fingerprint"]["environment"]
    assert variables["LD_PRELOAD_PATH"] == "C"
    assert "OMP_NUM_THREADS" not in variables
    plan = bench.compute("plan", bench.file).stdout
    assert "the variables LD_* of the machine" in plan
    assert re.search("do not get these variables: .*OMP_NUM_THREADS", plan)


def test_a_directory_that_began_before_goes_on_to_inherit_everything(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    bench.write(PRINT_ENVIRONMENT, rounds=1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert bench.run().failed == 0
    assert "OMP_NUM_THREADS" not in environment_of_trial(bench)
    with sqlite3.connect(bench.directory / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM meta WHERE key = 'environment'")
    bench.file.write_text(bench.file.read_text().replace("rounds = 1", "rounds = 2"))
    assert bench.run(extend=True).failed == 0
    assert environment_of_trial(bench, 2)["OMP_NUM_THREADS"] == "3"
    assert "inherit every variable" in bench.compute("plan", bench.directory).stdout


def test_what_is_passed_may_change_and_begins_series_of_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    bench.write(PRINT_ENVIRONMENT, rounds=1)
    assert bench.run().failed == 0
    text = bench.file.read_text().replace("[metrics.m]", 'pass = ["OMP_NUM_THREADS"]\n[metrics.m]')
    bench.file.write_text(text.replace("rounds = 1", "rounds = 2"))
    assert bench.run(extend=True).failed == 0
    assert environment_of_trial(bench, 2)["OMP_NUM_THREADS"] == "3"
    assert [row.epoch for row in bench.rows()] == [1, 2]
    told = [each["text"] for each in bench.status()["events"]]
    assert any("trial.pass: none → OMP_NUM_THREADS" in text for text in told)


def files_with_secret(*places: Path) -> list[tuple[Path, bytes]]:
    """Every file, unpacked where it is packed, in which a form of the secret stands; also names.

    What the program itself writes into its scratch folder while it runs is left out.
    """
    found = []
    for place in places:
        walked = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
        for path in (each for each in walked if "scratch" not in each.parts):
            contents = [os.fsencode(path)]
            if path.is_file() and not path.is_symlink():
                contents.append(read_line(path))
                if path.suffix == ".gz" and contents[1]:
                    contents.append(gzip.decompress(contents[1]))
            found += [(path, form) for content in contents for form in FORMS if form in content]
    return found


def write_secret_bench(bench: Bench, rest: str = "") -> Bench:
    (bench.folder / "prints.py").write_text(PRINTS)
    return bench.write(
        f"{sys.executable} {bench.folder}/prints.py",
        'stdout = "speed (.+)"',
        trial='directory = "{directory}"\nsecret = ["PGPASSWORD"]\nkeep = ["out"]',
        rest=rest,
        rounds=2,
    )


def assert_masked(bench: Bench) -> None:
    output = gzip.decompress((bench.directory / "outputs/000001-1.stdout.gz").read_bytes()).decode()
    assert output.count("[secret PGPASSWORD]") == 5
    assert "plain [secret PGPASSWORD]" in output
    with tarfile.open(bench.directory / "outputs/000001-1.files.tar.gz") as archive:
        assert archive.extractfile("{directory}/out/log").read() == b"connecting with [secret PGPASSWORD]"
    said = [each["text"] for each in bench.status()["events"] if each["kind"] == "remark"]
    for number in (1, 2):
        text = f"trial {number}.1 printed or wrote the secret PGPASSWORD, masked in what is kept"
        assert said.count(text) == 1
    assert any("a secret stands in its name" in text for text in said)
    counted = "outputs with masked secrets: 2"
    assert counted in bench.compute("status", bench.directory).stdout
    assert counted in " ".join(
        json.dumps(json.loads(bench.compute("analyze", bench.directory, "--json").stdout)).split()
    )
    assert bench.values() == [7.5, 7.5]


def test_a_run_says_of_its_first_secret_that_it_was_masked(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    write_secret_bench(bench)
    said = bench.command_line("run", bench.file, "--directory", bench.directory).stderr
    assert said.count("printed or wrote the secret PGPASSWORD, masked in what is kept") == 1


def test_a_secret_that_is_printed_is_written_nowhere(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("HOME", str(bench.folder / "home"))
    monkeypatch.setenv("TMPDIR", str(bench.folder / "temporary"))
    for name in ("home", "temporary"):
        (bench.folder / name).mkdir()
    write_secret_bench(bench)
    assert bench.run().failed == 0
    assert_masked(bench)
    assert bench.command_line("report", bench.directory).returncode == 0
    assert files_with_secret(bench.folder) == []


def test_a_failure_does_not_tell_the_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    bench.write(
        'sh -c \'echo "v $PGPASSWORD"; echo "cannot log in as $PGPASSWORD" >&2; exit {round}\'',
        'stdout = "v (.+)"',
        trial='secret = ["PGPASSWORD"]\nexit_codes = [0, 1]',
        rounds=2,
    )
    assert bench.run().failed == 2
    assert all("[secret PGPASSWORD]" in str(row.reason) for row in bench.rows())
    assert files_with_secret(bench.directory) == []


def test_a_secret_cut_off_by_a_limit_is_masked_too():
    masks = Masks({"KEY": "hunter2hunter2"})
    assert masks.masked(b"a hunter2hunt", cut=True) == b"a [secret KEY]"
    assert masks.masked(b"a hunter2hunt") == b"a hunter2hunt"
    assert masks.met == {"KEY"}


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "z", "yz"])
def test_base64_is_masked_wherever_the_secret_stands_in_it(before: str, after: str):
    secret = "correct horse"  # noqa: S105 nobody's
    encoded = base64.b64encode(f"{before}{secret}{after}".encode())
    masked = Masks({"KEY": secret}).masked(encoded)
    assert b"[secret KEY]" in masked
    left = base64.b64encode(secret.encode()).decode()
    assert left[4:12].encode() not in masked


@pytest.mark.parametrize("before", ["", "a user and a colon:", "x" * 60])
@pytest.mark.parametrize("words", [["base64"], ["base64", "--wrap=64"], ["python3", "-c", AS_HEX]])
def test_a_long_secret_is_masked_across_the_lines_of_an_encoder(words: list[str], before: str):
    secret = "".join(chr(65 + (7 * place) % 57) for place in range(90))
    data = f"{before}{secret}".encode()
    encoded = subprocess.run(words, input=data, capture_output=True, check=True).stdout.replace(
        b"\n", b"\r\n"
    )
    assert encoded.count(b"\n") > 1
    masked = Masks({"KEY": secret}).masked(b"before\n" + encoded + b"after\n")
    assert b"[secret KEY]" in masked
    assert masked.startswith(b"before\n")
    assert masked.endswith(b"after\n")
    assert len(masked) < 2 * len(before) + 60  # in hexadecimal digits, with the ends of lines


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "PGPASSWORD is not in the environment"),
        ("", "PGPASSWORD is not in the environment"),
        ("abc", "too short or a number"),
        ("123456.5", "too short or a number"),
        ("12:34:56", "too short or a number"),
    ],
)
def test_a_secret_that_cannot_be_kept_is_refused_before_the_first_trial(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, value: str | None, told: str
):
    if value is None:
        monkeypatch.delenv("PGPASSWORD", raising=False)
    else:
        monkeypatch.setenv("PGPASSWORD", value)
    bench.write("true", trial='secret = ["PGPASSWORD"]')
    with pytest.raises(PlanError, match=told):
        bench.run()
    assert not bench.directory.exists()


def test_no_process_has_the_secret_on_its_command_line(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    bench.write(
        "sh -c 'touch began; sleep 3; test -n \"$PGPASSWORD\"'", trial='secret = ["PGPASSWORD"]', rounds=1
    )
    runner = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), "--quiet"]
    )
    deadline = time.monotonic() + 60
    while not (bench.folder / "began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = assert_on_no_command_line()
    assert runner.wait(60) == 0
    assert any(b"touch began" in line for line in lines)


def test_functions_get_the_same_environment_and_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (bench.folder / "calls.py").write_text(
        "import os\n"
        "def run(round):\n"
        "    print(os.environ['PGPASSWORD'], os.environ.get('OMP_NUM_THREADS'))\n"
        "    if round == 2: raise ValueError(os.environ['PGPASSWORD'])\n"
        "    return 1.0\n"
    )
    for process in ("trial", "shared"):
        trial = f'kind = "python"\ncall = "calls:run"\nsecret = ["PGPASSWORD"]\nprocess = "{process}"'
        bench.write("", "", trial=trial)
        place = Bench(bench.folder)
        assert place.command_line("run", bench.file, "--directory", bench.folder / process).returncode == 4
        printed = gzip.decompress(
            (bench.folder / process / "outputs/000001-1.stdout.gz").read_bytes()
        ).decode()
        assert printed == "[secret PGPASSWORD] None\n"
        assert files_with_secret(bench.folder / process) == []


@pytest.fixture
def one(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines"), 1) as made:
        monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(made.configuration))
        yield made


def test_workers_get_the_secret_and_write_it_nowhere(
    bench: Bench, one: Machines, monkeypatch: pytest.MonkeyPatch
):
    """Not even while the trial runs: then its task stands in a file there."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    rest = f'[workers]\nfolder = "{one[0].home}"\nheartbeat = "1s"\nfiles = ["prints.py"]'
    write_secret_bench(bench, rest)
    text = bench.file.read_text().replace(str(bench.folder / "prints.py"), "../../files/prints.py")
    bench.file.write_text(text.replace("[metrics.m]", 'prepare = "sleep 2"\n[metrics.m]'))
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), "--quiet"]
    runner = subprocess.Popen([*words, "--workers", one[0].name])
    while not list(one[0].home.glob("*/spool/*.started")):
        assert runner.poll() is None
        time.sleep(0.05)
    while runner.poll() is None:
        assert files_with_secret(one[0].home) == []
        assert_on_no_command_line()
        time.sleep(0.2)
    assert runner.returncode == 0
    assert_masked(bench)
    assert files_with_secret(bench.directory, one[0].home) == []
    (recorded,) = bench.directory.glob("environments/*.json")
    assert "PGPASSWORD" not in json.loads(recorded.read_text())["fingerprint"]["environment"]


def assert_on_no_command_line() -> list[bytes]:
    """Return the command lines of all processes, none of which has the secret."""
    lines = [read_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [line for line in lines for form in FORMS if form in line]
    return lines


def read_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
