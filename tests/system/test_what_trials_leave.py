"""What a trial leaves behind: its outputs whether it finished or not, bounded, and where `status --trial` finds them."""

from __future__ import annotations

import gzip
import json

import pytest
from jsonschema import validate
from tests.system.conftest import Bench

from trialwise.cli.schema import json_schema

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
