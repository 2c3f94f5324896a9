"""Schemes really run: those that come with Trialwise, those of a user, and wrappers of Pantheon."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import polars as pl
import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths, numbers, packets, write_path_experiment
from tests.system.scheme_files import check_all, write_programs, write_scheme, write_wrapper
from tests.system.test_paths import namespaces_below

from in_process import trialwise
from trialwise.schemes.library import SHIPPED, scheme_named
from trialwise.schemes.needs import missing
from trialwise.schemes.setup import REBOOT, record, was_done
from trialwise.store.ledger import Ledger

pytestmark = [needs_paths, pytest.mark.alone]
LEAST = 4.0
"""Mbit/s of 12 within a few seconds: many schemes run beside each other here, and their programs take time to start."""
OWN = (
    "cubic",
    "reno",
    "bbr",
    "udp-newreno",
    "udp-cubic",
    "udp-ledbat",
    "udp-copa",
    "udp-prague",
    "udp-fixed",
)
FEATURES = ("vegas", "dctcp", "libutp-ledbat")
USERS_OWN = """
title = "Mine"
prepare = "touch {folder}/prepared-{port}"
[receiver]
command = "sh -c 'echo $OWN > {folder}/environment; exec python3 -IS {folder}/programs/plain-receiver.py {port}'"
environment = { OWN = "{folder} {port} {time} {directory} {seed}" }
ready = { line = "ready" }
[sender]
command = "python3 -IS {folder}/programs/plain-sender.py {peer} {port}"
"""


def runnable(*names: str) -> list[str]:
    """Those that can run here; skips where none can, with what is missing."""
    lacks = {name: missing(scheme_named(name)) for name in names}
    if all(lacks.values()):
        pytest.skip("; ".join(sorted({said for all_ in lacks.values() for said in all_})))
    return [name for name in names if not lacks[name]]


def shipped(prefix: str) -> list[str]:
    return sorted(path.stem for path in SHIPPED.glob(f"{prefix}*.toml"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for schemes, and a state of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_programs(tmp_path / "schemes")
    return tmp_path / "schemes"


@pytest.mark.parametrize("family", ["iperf3", "ngtcp2", "quiche", "tquic"])
def test_every_scheme_of_a_package_fills_the_path(family: str):
    found = check_all(runnable(*shipped(f"{family}-")), seconds=3)
    for name, check in found.items():
        assert check.works, (name, check)
        assert check.throughput is not None
        assert check.throughput > LEAST, (name, check)
        assert check.throughput < 12.01
    assert not namespaces_below(os.getpid())


def test_own_schemes_fill_the_path():
    found = check_all(runnable(*OWN), seconds=3)
    for name, check in found.items():
        assert check.works, (name, check)
        assert check.throughput is not None
        assert check.throughput > LEAST, (name, check)
    assert found["udp-fixed"].loss == 0


@pytest.mark.parametrize("name", FEATURES)
def test_schemes_of_features_fill_the_path(name: str):
    (check,) = check_all(runnable(name), seconds=3).values()
    assert check.works, check
    assert check.throughput is not None
    assert check.throughput > LEAST


def test_loads_of_packages_are_what_was_asked_for():
    loads = {
        "iperf3-cubic": "rate:4Mbit/s",
        "iperf3-reno": "bytes:800kB",
        "ngtcp2-cubic": "bytes:800kB",
        "quiche-cubic": "rate:4Mbit/s",
        "quiche-reno": "bytes:800kB",
        "tquic-cubic": "bytes:800kB",
    }
    schemes = runnable(*loads)
    found = check_all(schemes, seconds=3, loads=loads)
    assert all(check.works for check in found.values()), found
    for name, check in found.items():
        assert check.throughput is not None
        if loads[name].startswith("rate"):
            assert 2 < check.throughput < 4 * 1500 / 1448 * 1.1
        else:
            assert check.throughput > 1


def test_the_sender_over_quiche_reports_of_itself(bench: Bench):
    """No window exceeds the pipe, its queue and what a slow start goes beyond; round trips are those of the path."""
    runnable("quiche-cubic")
    metrics = "[metrics.window]\n[metrics.rtt]\n[metrics.retransmits]\n"
    write_path_experiment(bench, trial='scheme = "quiche-cubic"', metrics=metrics, runtime="3s")
    assert bench.run().counts == {"finished": 1}
    found = {source.partition("|")[0]: value for source, value in numbers(bench).items()}
    assert 10_000 < found["path:window"] < 3 * (30_000 + 40 * 1500)
    assert 20 < found["path:rtt"] < 20 + 40 * 1.0 + 50
    assert found["path:retransmits"] > 0, "slow start fills 40 packets of queue"


def test_a_transfer_that_is_done_ends_its_flow(bench: Bench):
    runnable("ngtcp2-reno", "iperf3-reno")
    trial = 'flows = [{ scheme = "ngtcp2-reno", load = "bytes:300kB" }, { scheme = "iperf3-reno", load = "bytes:300kB" }]'
    write_path_experiment(bench, trial=trial, runtime="20s", metrics="[metrics.throughput]\n")
    assert bench.run().counts == {"finished": 1}
    (row,) = bench.rows()
    assert row.finished is not None
    assert row.started is not None
    assert row.finished - row.started < 12, "600 kB take half a second; the trial does not wait for its end"
    rows = packets(bench)
    arrived = rows.filter((rows["direction"] == "uplink") & (rows["event"] == "delivered"))
    for flow in (1, 2):
        carried = arrived.filter(arrived["flow"] == flow)["size"].sum()
        assert 300e3 < carried < 450e3, (flow, "iperf3 sends on until its receiver has told it")


def test_a_transfer_that_is_not_done_in_time_fails(bench: Bench):
    runnable("iperf3-reno")
    write_path_experiment(bench, trial='scheme = "iperf3-reno"\nload = "bytes:50MB"', runtime="1s")
    assert bench.run().counts == {"failed": 1}
    assert "did not finish its load bytes:50MB in time" in str(bench.rows()[0].reason)


def test_flows_that_arrive_are_drawn_by_the_seed_of_the_trial(bench: Bench):
    """A sender of the test's own keeps the list that it was given."""
    write_path_experiment(
        bench, trial='scheme = "lists"\nload = "flows:poisson,load=50%,sizes=fixed:20kB"', rounds=2
    )
    write_scheme_of_lists(bench.folder)
    assert bench.run().counts == {"finished": 2}
    lists = [(bench.folder / f"kept-{row.seed}.csv").read_text().splitlines() for row in bench.rows()]
    assert lists[0][0] == lists[1][0] == "start_ns,size_bytes"
    assert lists[0] != lists[1]
    for each in lists:
        assert 10 < len(each) < 75, "1 s of half of 12 Mbit/s is 37.5 flows of 20 kB"
        assert all(line.endswith(",20000") for line in each[1:])


def write_scheme_of_lists(folder: Path) -> None:
    write_programs(folder / "own")
    write_scheme(
        folder / "own",
        "lists",
        sender="sh -c 'cp {{load}} "
        + str(folder)
        + "/kept-{{seed}}.csv && exec python3 -IS {folder}/programs/plain-sender.py {{peer}} {{port}}'",
        rest='[loads]\nflows = "{amount}"',
    )
    file = folder / "experiment.toml"
    file.write_text(file.read_text().replace('folders = ["schemes"]', 'folders = ["own"]'))


def test_a_scheme_of_the_users_own(folder: Path):
    """Its placeholders are filled in commands, before the start, and in the environment."""
    (folder / "mine.toml").write_text(USERS_OWN)
    (check,) = check_all(["mine"], folder).values()
    assert check.works, check
    assert (folder / "prepared-5201").exists()
    assert (folder / "environment").read_text().split()[:3] == [str(folder), "5201", "7"]


def test_wrappers_of_pantheon_run_as_they_are(folder: Path):
    wrappers = {
        "receiver_first": write_wrapper(folder, "receiver_first"),
        "sender_first": write_wrapper(folder, "sender_first", first="sender"),
        "forks": write_wrapper(folder, "forks", forks=True),
    }
    scheme = scheme_named("sender_first", [folder])
    assert (scheme.first, scheme.needs.packages) == ("sender", ("python3", "no-such-package"))
    record(wrappers["sender_first"], REBOOT)
    for name, check in check_all(list(wrappers), folder, seconds=3).items():
        assert check.works, (name, check)
    assert not namespaces_below(os.getpid())
    for name, file in wrappers.items():
        assert was_done(file, REBOOT)
        assert not (folder / f"{name}.setup").exists()
    assert (folder / "forks.setup_after_reboot").read_text() == "done\n"
    assert not (folder / "sender_first.setup_after_reboot").exists(), "it was done in this boot"


def test_the_overhead_of_a_trial_is_small(bench: Bench):
    """From the claim of a trial to that of the next, beyond its runtime."""
    runnable("iperf3-cubic")
    write_path_experiment(bench, trial='scheme = "iperf3-cubic"', runtime="1s", rounds=3)
    bench.run()
    claims = [row.claimed for row in bench.rows() if row.claimed is not None]
    gaps = sorted(after - before - 1 for before, after in itertools.pairwise(claims))
    assert gaps[0] < 0.5, gaps
    assert numbers(bench)["path:throughput|bin:0.1"] > 5


def test_the_flows_of_a_load_complete_one_by_one(bench: Bench):
    """As many completion times as flows arrived, none shorter than its bytes take; and retransmits of all connections."""
    runnable("cubic")
    trial = 'scheme = "{scheme}"\nload = "flows:poisson,load=40%,sizes=lognormal:mean=20kB,cv=1,for=2s"'
    metrics = "[metrics.completion_time]\n[metrics.retransmits]\n"
    factors = '[factors]\nscheme = ["cubic", "udp-cubic"]\n'
    write_path_experiment(bench, trial=trial, metrics=metrics, runtime="6s", rest=factors)
    assert bench.run().counts == {"finished": 2}, [row.reason for row in bench.rows()]
    for row in bench.rows():
        times = samples(bench, row.number, "completion_time")
        expected = 0.4 * 12e6 * 2 / 8 / 20e3
        assert abs(len(times) - expected) < 5 * expected**0.5
        assert min(times) > 0.020, "a round trip at least"
        assert row.finished - row.started < 5.5, "it ends with its last flow"
        assert numbers(bench, row.number)["path:retransmits"] >= 0


def test_requests_and_responses(bench: Bench):
    runnable("reno")
    trial = 'scheme = "reno"\nload = "requests:request=200B,response=10kB,think=50ms,count=10"'
    write_path_experiment(bench, trial=trial, metrics="[metrics.completion_time]\n", runtime="10s")
    assert bench.run().counts == {"finished": 1}, [row.reason for row in bench.rows()]
    assert len(samples(bench, 1, "completion_time")) == 10


def test_a_flow_list_of_a_file_is_kept_with_the_experiment(bench: Bench):
    (bench.folder / "three.csv").write_text("start_ns,size_bytes\n0,1000\n100000000,30000\n200000000,1000\n")
    write_path_experiment(
        bench,
        trial='scheme = "cubic"\nload = "flows:three.csv"',
        runtime="5s",
        metrics="[metrics.completion_time]\n",
    )
    assert bench.run().counts == {"finished": 1}, [row.reason for row in bench.rows()]
    assert len(samples(bench, 1, "completion_time")) == 3
    assert (bench.directory / "three.csv").read_text().startswith("start_ns")


def samples(bench: Bench, number: int, quantity: str) -> list[float]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        (file,) = [each[5] for each in ledger.values() if each[0] == number and quantity in each[2]]
    finally:
        ledger.close()
    assert file is not None
    return pl.read_parquet(bench.directory / file)["value"].to_list()


def test_every_scheme_is_checked_and_what_cannot_be_stands_in_the_table(folder: Path, tmp_path: Path):
    """One of a user's cannot be read, one that ships does not know the load: the others run, and all stand in the table."""
    (folder / "broken.toml").write_text("title = 3")
    done = trialwise("schemes", "check", "--all", "--folder", "schemes", "--load", "bytes:20kB", cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    rows = {words[0]: words[1:] for words in lines if len(words) > 4 and not words[0].endswith(":")}
    assert rows["udp-cubic"][0] == "works"
    assert float(rows["udp-cubic"][-3]) > 0
    for name, reason in (("broken", "title"), ("udp-fixed", "knows no load 'bytes'; it knows: rate")):
        assert rows[name][:3] == ["cannot", "run", "here"]
        assert reason in next(line for line in done.stdout.splitlines() if line.startswith(f"  {name}: "))
    assert re.search(r"^\[2/\d+, .* left\] ", done.stderr, re.MULTILINE)
