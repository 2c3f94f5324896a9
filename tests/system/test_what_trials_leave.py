"""What a trial leaves behind: its outputs whether it finished or not, bounded, and where `status --trial` finds them."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from jsonschema import validate
from tests.system.conftest import Bench

from trialwise.cli.schema import json_schema
from trialwise.errors import PlanError
from trialwise.measurement.keeping import MAX_FILES, MAX_SEEN, Keeping, kept_files

SIZE = 3 << 20


def test_the_outputs_of_every_attempt_are_kept_and_shown(bench: Bench):
    bench.write("sh -c 'echo said {round}; echo why {round} >&2; exit $(( {round} == 2 ))'")
    assert bench.run().failed == 1
    for number, code in ((1, 0), (2, 4)):
        for name, text in (("stdout", f"said {number}\n"), ("stderr", f"why {number}\n")):
            file = bench.directory / f"outputs/{number:06d}-1.{name}.gz"
            assert gzip.decompress(file.read_bytes()).decode() == text
        shown = bench.compute("status", bench.directory, "--trial", str(number))
        assert shown.returncode == code
        assert f"said {number}" in shown.stdout
        assert f"why {number}" in shown.stdout
    found = json.loads(bench.compute("status", bench.directory, "--trial", "2", "--json").stdout)
    validate(found, json_schema("trial"))
    assert (found["status"], found["exit_code"], found["log"]) == ("failed", 1, "logs/000002-1.txt")
    assert [(each["name"], each["bytes"], each["cut"]) for each in found["outputs"]] == [
        ("stdout", 7, False),
        ("stderr", 6, False),
    ]


def test_of_a_long_output_of_a_failed_trial_both_ends_are_kept(bench: Bench):
    bench.write(f"sh -c 'echo first; head -c {SIZE} /dev/zero; echo last; exit 1'", rounds=1)
    assert bench.run().failed == 1
    kept = gzip.decompress((bench.directory / "outputs/000001-1.stdout.cut.gz").read_bytes())
    assert kept.startswith(b"first\n")
    assert kept.endswith(b"last\n")
    assert b"bytes left out" in kept
    assert 1 << 20 <= len(kept) < (1 << 20) + 100
    assert json.loads(bench.compute("status", bench.directory, "--trial", "1", "--json").stdout)["outputs"][
        0
    ]["cut"]


def test_everything_that_was_kept_of_a_trial_is_written_where_one_asks(bench: Bench):
    bench.write(
        'sh -c \'echo out; printf "a\\033[31mb" > "$(printf "x\\033]0;t\\007")"; mkdir d; echo 1 > d/n.txt\'',
        trial='directory = "{directory}"\nkeep = ["*"]',
        rounds=1,
    )
    assert bench.run().failed == 0
    shown = bench.compute("status", bench.directory, "--trial", "1", "--unpack", bench.folder / "one")
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout
    assert (bench.folder / "one/stdout.txt").read_text() == "out\n"
    assert (bench.folder / "one/files/{directory}/d/n.txt").read_text() == "1\n"
    again = bench.compute("status", bench.directory, "--trial", "1", "--unpack", bench.folder / "one")
    assert again.returncode == 5
    assert "does not exist yet" in again.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--trial", "99"), 5, "has no trial 99"),
        (("--trial", "1", "--attempt", "7"), 5, "has no attempt 7"),
        (("--attempt", "1"), 2, "concern one trial"),
    ],
)
def test_a_trial_that_is_not_there_is_refused(bench: Bench, words: tuple[str, ...], code: int, told: str):
    bench.write("true", rounds=1)
    bench.run()
    done = bench.compute("status", bench.directory, *words)
    assert done.returncode == code
    assert told in done.stderr


def archive_of(bench: Bench, number: int) -> dict[str, bytes]:
    path = bench.directory / f"outputs/{number:06d}-1.files.tar.gz"
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def remarks(bench: Bench) -> list[str]:
    return [each["text"] for each in bench.status()["events"] if each["kind"] == "remark"]


@pytest.mark.parametrize("metric", ['resource = "wall"', 'stdout = "v (.+)"'])
def test_of_a_trial_that_failed_everything_is_kept_and_of_others_nothing(bench: Bench, metric: str):
    """It may fail for its exit code, or for what a metric does not find."""
    bench.write(
        "sh -c 'mkdir {directory}/a; echo {round} > {directory}/a/b; echo c > {directory}/c; "
        "test {round} = 2 || { echo v 1; exit 0; }; exit $EXIT'",
        metric,
        trial=f'keep = "failed"\nenvironment = {{ EXIT = "{int("wall" in metric)}" }}',
    )
    assert bench.run().failed == 1
    assert archive_of(bench, 1) == {}
    assert archive_of(bench, 2) == {"{directory}/a/b": b"2\n", "{directory}/c": b"c\n"}


def test_what_failed_cannot_be_kept_without_a_folder_of_its_own(bench: Bench):
    bench.write("true", trial='keep = "failed"')
    with pytest.raises(PlanError, match="no text of the trial uses"):
        bench.run()


def test_the_limit_of_what_is_kept_is_that_of_the_file(bench: Bench):
    bench.write(
        "sh -c 'head -c 600 /dev/zero > {directory}/a; head -c 600 /dev/zero > {directory}/b'",
        trial='keep = ["{directory}/*"]\nkeep_limit = "1kB"',
        rounds=1,
    )
    assert bench.run().failed == 0
    assert archive_of(bench, 1) == {"{directory}/a": bytes(600)}
    assert remarks(bench) == ["trial.keep: {directory}/b: over trial.keep_limit (1,000 bytes): not kept"]


@pytest.mark.parametrize("limit", ['"0B"', '"1GB"', '"much"', "-1", "true"])
def test_a_limit_that_is_no_size_is_refused(bench: Bench, limit: str):
    bench.write("true", trial=f'keep = ["a"]\nkeep_limit = {limit}')
    with pytest.raises(PlanError, match=r"trial\.keep_limit"):
        bench.run()


HOSTILE = """
import os, socket
os.symlink("/etc", "out"); os.mkdir("own"); os.symlink("/etc", "own/way"); os.symlink("/etc/hostname", "own/link")
os.mkfifo("own/pipe"); socket.socket(socket.AF_UNIX).bind("own/socket")
open(b"own/\\xff\\x1b[31m", "w").write("odd"); open("own/good", "w").write("good")
os.mkdir("deep"); os.chdir("deep")
for _ in range(1200): os.mkdir("d"); os.chdir("d")
open("bottom", "w").write("x")
"""


def test_no_link_is_followed_and_what_is_no_file_is_said(bench: Bench):
    (bench.folder / "hostile.py").write_text(HOSTILE)
    bench.write(
        f"python3 {bench.folder}/hostile.py",
        trial='directory = "{directory}"\nkeep = ["out/hostname", "o*/host*", "own/*/host*", "own", "deep"]',
        rounds=1,
    )
    assert bench.run().failed == 0
    assert not list(bench.directory.glob("scratch/*"))
    names = {name.encode(errors="surrogateescape") for name in archive_of(bench, 1)}
    assert names == {b"{directory}/own/good", b"{directory}/own/\xff\x1b[31m"}
    (said,) = remarks(bench)
    assert "out/hostname: a link, which is not followed and 5 more" in said
    shown = bench.compute("status", bench.directory, "--trial", "1")
    assert "own/good" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_a_hundred_thousand_files_are_bounded_and_said(tmp_path: Path):
    keeping = Keeping([("many", str(tmp_path), str(tmp_path))], 1 << 20)
    for number in range(MAX_SEEN + 10):
        (tmp_path / f"{number:06d}").touch()
    archive, left_out = keeping.packed()
    assert len(kept_files(archive)) == MAX_FILES
    assert left_out[-1] == f"many: more than {MAX_SEEN:,} entries: the rest was not looked at"
    again = Keeping([("many", str(tmp_path), str(tmp_path))], 1 << 20)
    (tmp_path / "new").touch()
    assert again.packed() == (b"", [f"more than {MAX_SEEN:,} entries stood there before the trial"])
    again.close()


def test_a_folder_whose_name_is_a_pattern_is_no_pattern(tmp_path: Path):
    base = tmp_path / "a[1]"
    (tmp_path / "a1").mkdir()
    base.mkdir()
    keeping = Keeping([("*.log", f"{base}/*.log", str(base)), ("**/x", f"{base}/**/x", str(base))], 1 << 20)
    for place in (base, tmp_path / "a1"):
        (place / "b/c").mkdir(parents=True)
        for name in ("one.log", ".two.log", "b/three.log", "b/c/x", "x"):
            (place / name).touch()
    assert kept_files(keeping.packed()[0]) == [("one.log", 0), ("x", 0), ("b/c/x", 0)]
