"""`trialwise simulate`: files in and out, JSON, pictures, wrong input, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from math import ceil
from pathlib import Path

import pytest
from jsonschema import validate

import full_disk
from in_process import Done, trialwise
from trialwise.cli.schema import json_schema

TRIALWISE = str(Path(sys.executable).parent / "trialwise")
SHAPE = ["--topology", "dumbbell:4x4,10Gbit/s,1us", "--cc", "dctcp"]
DRAWN = ["--load", "30%", "--sizes", "fixed:20kB", "--duration", "1ms"]


def simulate(folder: Path, *words: str) -> Done:
    return trialwise("simulate", *words, cwd=folder, NO_COLOR="1")


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


def test_the_picture_of_flows_that_begin_together_is_no_larger_than_others(tmp_path: Path) -> None:
    lines = ["flow_id,src,dst,size_bytes,start_ns", *(f"{n},{n},4,300000,{n}" for n in range(4))]
    (tmp_path / "incast.csv").write_text("\n".join(lines))
    fabric = ("--topology", "dumbbell:4x1,10Gbit/s,1us", "--cc", "dctcp")
    done = simulate(tmp_path, *fabric, "--flows", "incast.csv", "--plot", "queue.svg")
    assert done.returncode == 0, done.stderr
    assert 5000 < (tmp_path / "queue.svg").stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [*DRAWN[:3], "fixed:0B", *DRAWN[4:]],
            "sizes fixed: 0B: the size must be above zero; write one like",
        ),
        ([*DRAWN[:3], "lognormal:mean=100kB,sigma=200", *DRAWN[4:]], "half of the flows would be smaller"),
        (["--flows", "x.csv", "--load", "30%"], "--load: --flows has the flows already"),
        (["--load", "30%"], "--sizes is missing"),
        ([*DRAWN, "--set", "kmin"], "no value"),
        ([*DRAWN, "--set", "gian=1"], "gain, increase"),
        ([*DRAWN, "--set", "kmn=1kB"], "write --set kmin="),
        ([*DRAWN, "--set", "bogus=1"], "nor has the network: it has segment"),
        ([*DRAWN, "--set", "faults=8-5 down 1ms"], "no link joins node 8 and node 5; node 8 has 0-8, 1-8"),
        (
            [*DRAWN, "--arrivals", "bursty:mean=0"],
            "arrivals bursty: mean: `0` is not from 1 and below 1000000; write one like 10",
        ),
        ([*DRAWN, "--set", "kmin=lots"], "write one like 75kB"),
        ([*DRAWN, "--load-of", "host"], "at most 0.250"),
        (
            ["--load", "90%", *DRAWN[2:], "--load-of", "host", "--pattern", "all-to-all"],
            "a load of 0.9 of the hosts' links is 2.06 of the capacity of the link from node 8 to node 9",
        ),
        (["--flows", "nowhere.csv"], "cannot be read"),
        ([*DRAWN, "--csv", "taken"], "there is such a file"),
        ([*DRAWN, "--csv", "a.csv", "--save-flows", "./a.csv"], "--csv and --save-flows both name"),
        ([*DRAWN, "--plot", "queue.gif"], ".svg"),
        ([*DRAWN, "--json", "--csv", "-"], "name a file"),
        ([*DRAWN, "--seed", "-1"], "from 0 to 2^64 - 1"),
        ([*DRAWN, "--seed", str(2**64)], "from 0 to 2^64 - 1"),
        ([*DRAWN, "--set", "kmin=1kB", "--set", "kmin=2kB"], "--set kmin stands twice, with 1kB and 2kB"),
        ([*DRAWN, "--set", "faults=8-9 up 1ms"], "one that is down comes up, in order of time"),
        (["--load", "30", *DRAWN[2:]], "write it like 30% or 0.3"),
        (["--load", "-5%", *DRAWN[2:]], "`-5%` is not a fraction"),
        ([*DRAWN[:4], "--duration", "-1ms"], "`-1ms` is not a duration"),
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


def test_flows_that_are_cut_off_for_good_are_told_and_do_not_hold_the_trial(tmp_path: Path) -> None:
    shape = ["--topology", "dumbbell:8x1,10Gbit/s,1us", "--cc", "dctcp"]
    drawn = ["--load", "80%", "--sizes", "fixed:20kB", "--duration", "5ms"]
    words = [*shape, *drawn, "--set", "faults=9-10 down 1ms"]
    document = json.loads(simulate(tmp_path, *words, "--json").stdout)
    assert 0.005 <= document["simulated"] < 0.1
    everything = document["classes"][-1]
    assert 0 < everything["unfinished"] < everything["flows"]
    text = simulate(tmp_path, *words).stdout
    assert f"{everything['unfinished']} flows did not finish and are left out" in text


@pytest.mark.parametrize(
    ("words", "of", "load", "link", "fullest"),
    [
        ([], "bottleneck", 0.3, [8, 9], 0.3),
        # Of each side 4 hosts send 4 of 7 flows to the other one.
        (["--pattern", "all-to-all"], "host", 0.3, [8, 9], 0.3 * 4 * 4 / 7),
        (["--pattern", "all-to-all", "--load-of", "bottleneck"], "bottleneck", 0.3, [8, 9], 0.3),
    ],
)
def test_it_is_said_of_what_the_load_is(
    tmp_path: Path, words: list[str], of: str, load: float, link: list[int], fullest: float
) -> None:
    offered = json.loads(simulate(tmp_path, *SHAPE, *DRAWN, *words, "--json").stdout)["offered"]
    assert (offered["load_of"], offered["load"], offered["fullest_link"]) == (of, load, link)
    assert offered["fullest_load"] == pytest.approx(fullest)
    said = {"host": "the hosts' links", "bottleneck": "the bottleneck"}[of]
    assert f"load 0.3 of {said}, {fullest:.4g} of the fullest link (8 to 9)" in simulate(
        tmp_path, *SHAPE, *DRAWN, *words
    ).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("sizes", "settings", "asked"),
    [("fixed:1B", (), 0.3 * 49), ("fixed:1kB", (), 0.3 * 1.048), ("fixed:1kB", ("segment=10B",), 0.3 * 5.8)],
)
def test_headers_that_overload_a_link_are_said(
    tmp_path: Path, sizes: str, settings: tuple[str, ...], asked: float
) -> None:
    words = [*SHAPE, "--sizes", sizes, "--load", "30%", "--duration", "2us"]
    words += [word for setting in settings for word in ("--set", setting)]
    offered = json.loads(simulate(tmp_path, *words, "--json").stdout)["offered"]
    assert offered["fullest_with_headers"] == pytest.approx(asked)
    said = f"with headers {asked:.3g}, more than it carries" in simulate(tmp_path, *words).stdout
    assert said == (asked > 1)


def test_defaults_that_are_not_meant_for_slow_links_are_said(tmp_path: Path) -> None:
    slow = [
        "--topology",
        "dumbbell:4x4,100Mbit/s,1us",
        "--cc",
        "dctcp",
        *DRAWN[2:4],
        "--load",
        "30%",
        "--duration",
        "20ms",
    ]
    cautions = json.loads(simulate(tmp_path, *slow, "--json").stdout)["cautions"]
    assert ["kmin" in text for text in cautions] == [True, False]
    assert ["larger buffer" in text for text in cautions] == [False, True]
    assert f"\n! {cautions[0]}\n! {cautions[1]}\n" in simulate(tmp_path, *slow).stdout
    given = [f"--set={setting}" for setting in ("kmin=30kB", "kmax=30kB", "buffer=1MB")]
    assert "!" not in simulate(tmp_path, *slow, *given).stdout
    assert "!" not in simulate(tmp_path, *SHAPE, *DRAWN).stdout


@pytest.mark.parametrize("option", ["--csv", "--save-flows", "--plot"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, option: str) -> None:
    name = "out.svg" if option == "--plot" else "out.csv"
    (tmp_path / name).write_text("before")
    many = ["--load", "80%", "--sizes", "fixed:2kB", "--duration", "1ms"]
    done = full_disk.trialwise("simulate", *SHAPE, *many, option, name, "--force", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert f"{name}: cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


def test_what_a_plain_trial_does_not_need_is_not_imported(tmp_path: Path) -> None:
    program = (
        f"import atexit, sys; sys.argv = {['trialwise', 'simulate', *SHAPE, *DRAWN]!r};"
        "from trialwise.cli.main import main;"
        "heavy = {'scipy', 'matplotlib', 'polars', 'altair', 'rich', 'cyclopts.completion', 'trialwise.schemes.scheme'};"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)))); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    # Who waits for more than two seconds is told by rich what for.
    expected = ["rich"] if "simulating …" in done.stderr else []
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, str(expected)), done.stderr


def test_percentiles_are_of_nearest_rank_as_in_experiments_and_say_when_flows_are_few(tmp_path: Path) -> None:
    done = simulate(tmp_path, *SHAPE, *DRAWN, "--csv", "flows.csv", "--json")
    times = sorted(int(line.split(",")[5]) for line in (tmp_path / "flows.csv").read_text().splitlines()[1:])
    for found in json.loads(done.stdout)["classes"][-1]["quantiles"]:
        rank = ceil(found["percentile"] * len(times) / 100)
        assert found["fct"] == pytest.approx(times[rank - 1] * 1e-9, abs=1e-9)
    told = simulate(tmp_path, *SHAPE, *DRAWN).stdout
    assert "percentiles by nearest rank; fewer than 5 flows lie beyond 99%" in told
    table = told.partition("percentiles")[0]
    assert max(map(len, table.splitlines())) <= 80
    many = ["--load", "90%", "--sizes", "fixed:1kB", "--duration", "1ms"]
    assert "percentiles by nearest rank\n" in simulate(tmp_path, *SHAPE, *many).stdout


def test_flows_of_which_none_finishes_have_no_percentiles(tmp_path: Path) -> None:
    done = simulate(tmp_path, *SHAPE, *DRAWN, "--set", "faults=8-9 down 0us")
    assert done.returncode == 0
    assert "did not finish and are left out" in done.stdout
    assert "%" not in done.stdout.partition("sizes")[2].partition("\n\n")[0]


@pytest.mark.parametrize("seed", ["1.5", "2.0", "one"])
def test_a_seed_that_is_no_whole_number_is_not_rounded(tmp_path: Path, seed: str) -> None:
    refused = simulate(tmp_path, *SHAPE, *DRAWN, "--seed", seed)
    assert refused.returncode == 2
    assert seed in refused.stderr
