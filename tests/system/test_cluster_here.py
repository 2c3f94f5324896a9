"""Clusters of one node on this machine: encrypted ones, and the files that a node needs beside its tasks."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.system.nodes import environment, scheduler_address

from task_trials import facts
from trialwise import study
from trialwise.errors import PlanError, TrialwiseError, WorkerError
from trialwise.execution.events import RunEvent, TrialEnded

pytest.importorskip("distributed")
import dask

NEWRENO = Path(__file__).parents[2] / "docs" / "how-to" / "newreno.py"
FILE = """
[experiment]
name = "own"
seed = 1
[factors]
scheme = ["hpcc", "python:newreno:NewReno"]
[trial]
kind = "simulation"
scheme = "{{scheme}}"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = {{ sizes = "facebook_hadoop", load = "60%", duration = "2ms" }}
[metrics.slowdown]
measure = "p50"
[design]
series = 1
rounds = {rounds}
"""
Certificates = Mapping[str, Path]
"""The files of an authority (`ca`), of someone whom it knows (`node`), and of someone whom it does not (`other`)."""
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@contextlib.contextmanager
def cluster(folder: Path, settings: Mapping[str, str], *words: str) -> Iterator[str]:
    """A scheduler and a node with these environment variables; gives the address."""
    with contextlib.ExitStack() as started:

        def start(module: str, *arguments: str) -> None:
            log = started.enter_context((folder / f"{module}.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"],
                env=environment() | settings, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            started.callback(process.wait)
            started.callback(process.kill)

        file = folder / "scheduler.json"
        own = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--no-show")
        start("dask_scheduler", *own, *words)
        address = scheduler_address(file)
        start("dask_worker", address, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder))
        yield address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An experiment with a congestion control of its own in a folder of its own."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    shutil.copy(NEWRENO, folder)
    write(folder)
    return folder


def write(folder: Path, rounds: int = 5) -> None:
    (folder / "experiment.toml").write_text(FILE.format(rounds=rounds))


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    fresh = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "other"):
        openssl(
            tmp_path, "req", "-x509", *fresh, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"
        )  # fmt: skip
    openssl(tmp_path, "req", *fresh, "-keyout", "node.key", "-out", "node.csr", "-subj", "/CN=node")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    openssl(tmp_path, "x509", "-req", "-in", "node.csr", *signing, "-out", "node.pem")
    return {name: tmp_path / f"{name}.pem" for name in ("ca", "node", "other")}


def variables(certificates: Certificates) -> dict[str, str]:
    """What the environment of scheduler and nodes says, as docs/how-to/run-on-a-cluster.md has it."""
    start = "DASK_DISTRIBUTED__COMM__TLS__"
    found = {f"{start}CA_FILE": str(certificates["ca"])}
    for role in ("SCHEDULER", "WORKER"):
        found[f"{start}{role}__CERT"] = str(certificates["node"])
        found[f"{start}{role}__KEY"] = str(certificates["node"].with_suffix(".key"))
    return found


def ours(ca: Path, own: Path) -> dict[str, str]:
    """What our own configuration says."""
    start = "distributed.comm.tls"
    own_key = str(own.with_suffix(".key"))
    return {f"{start}.ca-file": str(ca), f"{start}.client.cert": str(own), f"{start}.client.key": own_key}


@needs_openssl
def test_an_encrypted_cluster_gives_the_same_bits_and_wrong_certificates_are_said(
    tmp_path: Path, folder: Path, certificates: Certificates
):
    known, other = certificates["node"], certificates["other"]
    experiment = folder / "experiment.toml"
    with cluster(tmp_path, variables(certificates), "--protocol", "tls") as address:
        assert address.startswith("tls://")
        with dask.config.set(ours(certificates["ca"], known)):
            result = study.run(experiment, tmp_path / "cluster", cluster=address)
        assert result.counts == {"finished": 10}
        for wrong in (ours(certificates["ca"], other), ours(other, known)):
            with dask.config.set(wrong), pytest.raises(WorkerError) as refusal:
                study.run(experiment, tmp_path / "wrong", cluster=address)
            assert "certificates of one authority" in str(refusal.value.hint)
    study.run(experiment, tmp_path / "alone", jobs=1)
    assert facts(tmp_path / "cluster") == facts(tmp_path / "alone")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({}, "nothing says distributed.comm.tls.ca-file"), (ours(Path("nowhere.pem"), Path("n.pem")), "nowhere.pem")],
)  # fmt: skip
def test_certificates_that_nobody_names_are_asked_for_before_anything_else(
    tmp_path: Path, folder: Path, settings: dict[str, str], said: str
):
    nothing = dict.fromkeys(ours(Path("ca.pem"), Path("n.pem")))
    with dask.config.set(nothing | settings), pytest.raises(PlanError, match=said) as refusal:
        study.run(folder / "experiment.toml", tmp_path / "refused", cluster="tls://127.0.0.1:9")
    assert "certificates" in str(refusal.value.hint)


class At:
    """Acts once, when a trial is recorded."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.number = number
        self.act = act

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded) and event.row.number == self.number:
            self.act()


@pytest.mark.parametrize("what", ["no file", "another file"])
def test_a_node_without_the_module_of_a_scheme_is_named_with_it(tmp_path: Path, folder: Path, what: str):
    module = folder / "newreno.py"
    act = module.unlink if what == "no file" else lambda: module.write_text(f"# new\n{NEWRENO.read_text()}")
    write(folder, rounds=5000)
    with cluster(tmp_path, {}) as address, pytest.raises(TrialwiseError) as refusal:
        study.run(folder / "experiment.toml", tmp_path / "results", cluster=address, observers=[At(3, act)])
    assert str(refusal.value).startswith(f"node 127.0.0.1: has {what} {module}")
    assert "same place on every node" in str(refusal.value.hint)
    assert study.state(tmp_path / "results").failures == ()


def test_what_was_computed_while_a_module_changed_is_not_believed(tmp_path: Path, folder: Path):
    module = folder / "newreno.py"
    changes = "import os\nif 'CHANGES' in os.environ:\n    open(__file__, 'a').write('#')\n"
    module.write_text(f"{NEWRENO.read_text()}\n{changes}")
    with cluster(tmp_path, {"CHANGES": "yes"}) as address, pytest.raises(WorkerError) as refusal:
        study.run(folder / "experiment.toml", tmp_path / "results", cluster=address)
    assert str(refusal.value).startswith(f"node 127.0.0.1: has another file {module}")
    ended = [fact for fact in facts(tmp_path / "results") if "finished" in fact or "failed" in fact]
    assert all("scheme=hpcc" in fact for fact in ended)
