"""What finished trials have printed is kept, and an experiment file may change in what does not touch them."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from tests.system.conftest import Bench

from trialwise import study
from trialwise.errors import PlanError
from trialwise.store.outputs import LARGEST, read_output

Change = Callable[[str], str]


@pytest.fixture
def begun(bench: Bench) -> Bench:
    bench.write("sh -c 'echo speed {round}; echo latency {round}5; echo note >&2'", 'stdout = "speed (.+)"')
    assert bench.run().failed == 0
    return bench


def changed(bench: Bench, old: str, new: str) -> None:
    text = bench.file.read_text()
    assert old in text
    bench.file.write_text(text.replace(old, new))


def events(bench: Bench, kind: str) -> list[str]:
    ledger = study.open_directory(bench.directory)[2]
    return [event.text for event in ledger.events() if event.kind == kind]


def test_both_outputs_of_a_finished_trial_are_kept(begun: Bench):
    kept = read_output(begun.directory, 1, 1, "stdout")
    assert kept is not None
    assert (kept.data, kept.cut) == (b"speed 1\nlatency 15\n", False)
    names = sorted(path.name for path in (begun.directory / "outputs").iterdir())
    assert names == [f"00000{n}-1.{what}.gz" for n in (1, 2) for what in ("stderr", "stdout")]
    assert gzip.decompress((begun.directory / "outputs" / names[0]).read_bytes()) == b"note\n"


def test_a_long_output_is_cut_in_its_middle_and_says_so(bench: Bench):
    bench.write("sh -c 'echo v 1; head -c 5000000 /dev/zero; echo end'", 'stdout = "v (.)"', rounds=1)
    assert bench.run().failed == 0
    kept = read_output(bench.directory, 1, 1, "stdout")
    assert kept is not None
    assert kept.cut
    assert kept.data.startswith(b"v 1\n")
    assert kept.data.endswith(b"end\n")
    assert len(kept.data) < LARGEST + 100
    assert f"… {5_000_008 - LARGEST} bytes left out …".encode() in kept.data
    changed(bench, "[design]", '[metrics.n]\nstdout = "end\\\\s*([0-9]*)"\n[design]')
    with pytest.raises(PlanError, match="the kept standard output of trial 1 has"):
        bench.run()


def test_a_further_metric_is_read_again_from_what_was_kept(begun: Bench):
    changed(begun, "[design]", '[metrics.latency]\nstdout = "latency (.+)"\nunit = "ms"\n[design]')
    said = begun.command_line("run", begun.file, "--dir", begun.directory)
    assert said.returncode == 0, said.stderr
    assert "metrics.latency: new (read again from the kept output of 2 finished trials)" in said.stderr
    assert sorted(value or 0 for value in begun.values()) == [1.0, 2.0, 15.0, 25.0]
    assert len(events(begun, "amended")) == 1
    table = begun.command_line("analyze", begun.directory, "--csv").stdout
    assert table.count("latency,ms,") == 2
    begun.run()  # as it stands now
    assert len(events(begun, "amended")) == 1


def test_a_metric_that_a_trial_did_not_print_changes_nothing(begun: Bench):
    before = begun.file.read_text()
    changed(begun, "[design]", '[metrics.other]\nstdout = "other (.+)"\n[design]')
    with pytest.raises(PlanError, match=r"metrics\.other: the kept standard output of trial 1 has no match"):
        begun.run()
    begun.file.write_text(before)
    assert begun.run().counts == {"finished": 2}


def test_trials_from_before_outputs_were_kept(begun: Bench):
    for path in (begun.directory / "outputs").iterdir():
        path.unlink()
    changed(begun, "[design]", '[metrics.latency]\nstdout = "latency (.+)"\n[design]')
    with pytest.raises(PlanError, match="the output of trial 1 was not kept"):
        begun.run()


def test_no_link_is_followed_out_of_the_directory(begun: Bench, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside") / "x.gz"
    outside.write_bytes(gzip.compress(b"latency 7"))
    path = begun.directory / "outputs" / "000001-1.stdout.gz"
    path.unlink()
    path.symlink_to(outside)
    assert read_output(begun.directory, 1, 1, "stdout") is None


def test_a_direction_and_a_unit_are_amended_without_a_new_epoch(begun: Bench):
    changed(begun, "stdout", 'better = "lower"\nunit = "ms"\nstdout')
    assert begun.run().failed == 0
    assert events(begun, "amended") == ["metrics.m.better: none → lower; metrics.m.unit: none → ms"]
    changed(begun, "rounds = 2", "rounds = 3")
    assert begun.run(extend=True).failed == 0
    assert {row.epoch for row in begun.rows()} == {1}


def test_another_timeout_begins_an_epoch(begun: Bench):
    changed(begun, "[trial]", '[trial]\ntimeout = "5s"')
    changed(begun, "rounds = 2", "rounds = 3")
    assert begun.run(extend=True).failed == 0
    assert events(begun, "amended trials") == ["trial.timeout: none → 5s"]
    assert [row.epoch for row in begun.rows()] == [1, 1, 2]
    assert begun.run().counts == {"finished": 3}
    changed(begun, "rounds = 3", "rounds = 4")
    assert begun.run(extend=True).failed == 0
    assert [row.epoch for row in begun.rows()] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("echo speed", "echo  speed"),
        ("speed (", "sp.ed ("),
        ("[metrics.m]", "[metrics.n]"),
        ("[design]", '[metrics.n]\nresource = "wall"\n[design]'),
        ("[trial]", "[trial]\nexit_codes = [0, 1]"),
    ],
)
def test_what_touches_finished_trials_is_refused_with_what_may_change(begun: Bench, old: str, new: str):
    changed(begun, old, new)
    with pytest.raises(PlanError, match="began with another plan") as caught:
        begun.run()
    assert "what may be changed on the way is trial.timeout" in str(caught.value.hint)
