"""Trials whose programs send measurement streams to the collector beside them."""

from __future__ import annotations

import json
import socket
import sys

import polars as pl
import pytest
from tests.system.conftest import Bench

from trialwise import study
from trialwise.errors import PlanError
from trialwise.store.ledger import Ledger

STREAM = 'source = "prog_transfer.size"'


def program(bench: Bench, body: str) -> str:
    """A program called prog; gives its command line."""
    (bench.folder / "prog.py").write_text(f"from trialwise.measurement import Client, Point\n{body}\n")
    return f"{sys.executable} {bench.folder / 'prog.py'}"


def samples(bench: Bench, source: str = "prog_transfer.size") -> list[list[float]]:
    """What is kept of a field, trial by trial."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        kept = [file for _, _, key, _, _, file in ledger.values() if key == f"stream:{source}"]
    finally:
        ledger.close()
    return [pl.read_parquet(bench.directory / file)["value"].to_list() for file in kept]


def remarks(bench: Bench) -> list[str]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return [event.text for event in ledger.events() if event.kind == "remark"]
    finally:
        ledger.close()


def test_a_field_of_a_stream_is_a_metric_and_its_rows_are_kept(bench: Bench):
    body = (
        "p = Point('transfer', size='uint64', rate=float)\nfor x in range(100): p.inject(size=x, rate=x / 2)"
    )
    bench.write(
        program(bench, body),
        f'{STREAM}\nmeasure = "p95"\n[metrics.rate]\nsource = "prog_transfer.rate"\nmeasure = "mean"',
    ).run()
    assert {row.status for row in bench.rows()} == {"finished"}
    assert samples(bench) == [list(range(100))] * 2
    assert samples(bench, "prog_transfer.rate") == [[x / 2 for x in range(100)]] * 2
    told = json.loads(bench.command_line("analyze", bench.directory, "--json").stdout)
    values = {
        metric["metric"]["name"]: [trial["value"] for trial in metric["trials"]] for metric in told["metrics"]
    }
    assert values == {"m": [94.05] * 2, "rate": [49.5 / 2] * 2}


def test_the_file_of_streams_is_filled_and_its_filters_may_be_a_factor(bench: Bench):
    (bench.folder / "streams.toml").write_text(
        '[[collect]]\nurl = "{collector}"\n[[collect.stream]]\npoint = "transfer"\nsamples = {window}\n'
        '[[collect.stream.filter]]\nfield = "size"\noperation = "sum"\n'
    )
    body = "p = Point('transfer', size='uint64')\nfor x in range(60): p.inject(1)"
    bench.write(
        program(bench, body),
        'source = "prog_transfer.size_sum"',
        factors="window = [10, 30]",
        rest='[measurement]\nconfig = "streams.toml"',
        rounds=1,
    ).run()
    assert sorted(samples(bench, "prog_transfer.size_sum")) == [[10] * 6, [30] * 2]
    # The directory stands by itself: it is read without the file that it was made from.
    (bench.folder / "streams.toml").unlink()
    assert len(study.analyse(bench.directory).treatments) == 2


def test_an_oml_program_finds_the_collector_too(bench: Bench):
    lines = (
        "import os, socket, time",
        "host, port = os.environ['OML_COLLECT'].removeprefix('tcp:').rsplit(':', 1)",
        "head = ['protocol: 4', 'domain: ' + os.environ['OML_DOMAIN'], 'start-time: 1000', 'sender-id: n', 'app-name: prog',",
        "        'schema: 1 prog_transfer size:uint32', 'content: text', '', '']",
        "with socket.create_connection((host, int(port))) as peer:",
        "    peer.sendall('\\n'.join(head).encode() + b'0.5\\t1\\t1\\t7\\n1.5\\t1\\t2\\t9\\n')",
    )
    (bench.folder / "old.py").write_text("\n".join(lines))
    bench.write(f"{sys.executable} {bench.folder / 'old.py'}", STREAM).run()
    assert samples(bench) == [[7, 9]] * 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "no stream 'prog_transfer' came; streams that came: none"),
        ("Point('other', size=int).inject(1)", "streams that came: prog_other"),
        ("Point('transfer', bytes=int).inject(1)", "stream prog_transfer has no field 'size'"),
        (
            "Point('transfer', size=str).inject('large')",
            "prog_transfer.size is 'large', which is not a number",
        ),
        ("Point('transfer', size=float).inject(float('nan'))", "has 1 row and no number in them"),
        ("Point('transfer', size=float).inject(float('inf'))", "is inf in one of 1 row"),
        (
            "c = Client(buffer_bytes=1 << 16); c.point('transfer', size=int).inject_batch([1] * 100_000, wait=0)\nc.close(30)",
            "senders lost samples",
        ),
    ],
)
def test_what_is_wrong_with_streams_is_said(bench: Bench, body: str, reason: str):
    bench.write(program(bench, body), STREAM, rounds=1).run()
    (row,) = bench.rows()
    assert row.status == "failed"
    assert reason in (row.reason or "")


def test_losses_may_be_allowed(bench: Bench):
    body = "c = Client(buffer_bytes=1 << 16); c.point('transfer', size=int).inject_batch([1] * 100_000, wait=0)\nc.close(30)"
    bench.write(program(bench, body), STREAM, rest='[measurement]\nlosses = "allow"', rounds=1).run()
    (kept,) = samples(bench)
    assert set(kept) == {1}
    assert any("senders lost samples" in remark for remark in remarks(bench))


def test_damaged_rows_fail_the_trial(bench: Bench):
    lines = (
        "import os, socket",
        "host, port = os.environ['OML_COLLECT'].removeprefix('tcp:').rsplit(':', 1)",
        "head = ['protocol: 4', 'domain: trial', 'start-time: 1', 'sender-id: n', 'app-name: a',",
        "        'schema: 1 prog_transfer size:uint32', 'content: text', '', '']",
        "with socket.create_connection((host, int(port))) as peer:",
        "    peer.sendall('\\n'.join(head).encode() + b'0.5\\t1\\t1\\t7\\n0.6\\t1\\t2\\n0.7\\t1\\t3\\t9\\n')",
    )
    (bench.folder / "bad.py").write_text("\n".join(lines))
    bench.write(f"{sys.executable} {bench.folder / 'bad.py'}", STREAM, rounds=1).run()
    (row,) = bench.rows()
    assert row.status == "failed"
    assert "damaged rows came" in (row.reason or "")


def test_a_failed_program_is_told_as_such(bench: Bench):
    bench.write(program(bench, "raise SystemExit(3)"), STREAM, rounds=1).run()
    (row,) = bench.rows()
    assert "ended with exit code 3" in (row.reason or "")


def test_a_callable_may_measure_too(bench: Bench):
    (bench.folder / "work.py").write_text(
        "from trialwise.measurement import Client\n"
        "def run():\n    with Client('prog') as client:\n        client.point('transfer', size=int).inject(5)\n    return 1\n"
    )
    bench.write(
        "", f"{STREAM}\n[metrics.returned]", trial='kind = "python"\ncall = "work:run"', rounds=1
    ).run()
    assert samples(bench) == [[5]]
    assert 1 in bench.values()


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ('[measurement]\nconfig = "absent.toml"', "absent.toml"),
        ('[measurement]\nlisten = "192.0.2.1"', "measurement.listen: the collector cannot start"),
        ('[measurement]\nlisten = "no such host"', "measurement.listen: the collector cannot start"),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_trial(bench: Bench, rest: str, message: str):
    bench.write(program(bench, ""), STREAM, rest=rest)
    with pytest.raises(PlanError, match=message):
        bench.run()
    assert not bench.directory.exists()


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ('source = "size"', "stream.field"),
        ('source = "a.b"\nstdout = "(.)"', "does not go with source"),
        ('source = "a.b"\nresource = "wall"', "does not go with resource"),
    ],
)
def test_a_wrong_source_is_refused(bench: Bench, metric: str, message: str):
    with pytest.raises(PlanError, match=message):
        bench.write("true", metric).run()


def test_an_unknown_placeholder_in_the_file_of_streams_is_refused(bench: Bench):
    (bench.folder / "streams.toml").write_text('[[collect]]\nurl = "{colector}"\n')
    with pytest.raises(PlanError, match=r"colector.*did you mean"):
        bench.write("true", STREAM, rest='[measurement]\nconfig = "streams.toml"').run()


def test_nothing_listens_when_the_trials_have_ended(bench: Bench):
    body = "import os\nopen('where', 'w').write(os.environ['OML_COLLECT'])\nPoint('transfer', size=int).inject(1)"
    bench.write(program(bench, body), STREAM, rounds=1).run()
    port = int((bench.folder / "where").read_text().rsplit(":", 1)[1])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
