"""`trialwise simulate`: files in and out, JSON, pictures, wrong input, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import validate

from trialwise.cli.schema import json_schema

TRIALWISE = str(Path(sys.executable).parent / "trialwise")
SHAPE = ["--topology", "dumbbell:4x4,10Gbit/s,1us", "--cc", "dctcp"]
DRAWN = ["--load", "30%", "--sizes", "fixed:20kB", "--duration", "1ms"]


def simulate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TRIALWISE, "simulate", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"NO_COLOR": "1", "COLUMNS": "200", "PATH": "/usr/bin:/bin"},
    )


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = simulate(tmp_path, *SHAPE, *DRAWN, "--seed", "4", "--csv", "-")
    assert first.returncode == 0
    assert first.stdout == simulate(tmp_path, *SHAPE, *DRAWN, "--seed", "4", "--csv", "-").stdout
    assert first.stdout != simulate(tmp_path, *SHAPE, *DRAWN, "--seed", "5", "--csv", "-").stdout
    assert first.stdout.startswith("flow_id,src,dst,size_bytes,start_ns,fct_ns\n0,")


@pytest.mark.parametrize("name", ["flows.csv", "flows.txt"])
def test_a_flow_list_that_was_saved_has_the_same_completion_times(tmp_path: Path, name: str) -> None:
    fixed = ["--mode", "compatible", "--csv", "-"]
    drawn = simulate(tmp_path, *SHAPE, *DRAWN, "--save-flows", name, *fixed).stdout
    read = simulate(tmp_path, *SHAPE, "--flows", name, *fixed).stdout
    sizes = [[line.split(",")[3] for line in text.splitlines()] for text in (drawn, read)]
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) > 10
    again = simulate(tmp_path, *SHAPE, "--flows", name, *fixed)
    assert again.stdout == read


def test_json_follows_its_schema(tmp_path: Path) -> None:
    document = json.loads(simulate(tmp_path, *SHAPE, *DRAWN, "--json").stdout)
    validate(document, json_schema("simulate"))
    assert document["classes"][-1]["unfinished"] == 0
    assert document["totals"]["created"] == document["totals"]["consumed"] + document["totals"]["held"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_drawn(tmp_path: Path, ending: str) -> None:
    done = simulate(tmp_path, *SHAPE, *DRAWN, "--plot", f"queue.{ending}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"queue.{ending}").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--flows", "x.csv", "--load", "30%"], "--load: --flows has the flows already"),
        (["--load", "30%"], "--sizes is missing"),
        ([*DRAWN, "--set", "kmin"], "no value"),
        ([*DRAWN, "--set", "gian=1"], "gain, increase"),
        ([*DRAWN, "--set", "kmin=lots"], "32MiB"),
        ([*DRAWN, "--load-of", "host"], "at most 0.250"),
        (["--flows", "nowhere.csv"], "cannot be read"),
        ([*DRAWN, "--csv", "taken"], "there is such a file"),
        ([*DRAWN, "--plot", "queue.gif"], ".svg"),
        ([*DRAWN, "--json", "--csv", "-"], "name a file"),
        ([*DRAWN, "--seed", "-1"], "0 or more"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "taken").write_text("")
    done = simulate(tmp_path, *SHAPE, *words)
    assert done.returncode == 2
    assert said in done.stderr + done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_ctrl_c_ends_it_with_nothing_written(tmp_path: Path) -> None:
    long = ["--load", "90%", "--sizes", "fixed:20kB", "--duration", "20s", "--csv", "out.csv"]
    process = subprocess.Popen(
        [TRIALWISE, "simulate", *SHAPE, *long], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        assert "simulating" in process.stderr.readline()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert time.monotonic() - started < 30
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert list(tmp_path.iterdir()) == []
