"""What finished trials have printed is kept, and an experiment file may change in what does not touch them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Callable

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise import study
from trialwise.errors import PlanError, StoreError
from trialwise.store.outputs import LARGEST, read_output
from trialwise.store.records import Amendment

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
    said = begun.command_line("run", begun.file, "--directory", begun.directory)
    assert said.returncode == 0, said.stderr
    assert "metrics.latency: new (read again from what was kept of 2 finished trials)" in said.stderr
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


KPI = "kpi = { percentile = %d, confidence = %d }\nstdout"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (KPI % (50, 75), "metrics.m.kpi: none → p50 at 75 % (upper)"),
        (
            "variability = { percentile = 50, confidence = 75 }\nkpi = { percentile = 50, confidence = 75 }\nlimits = [0, 10]\nstdout",
            "metrics.m.kpi: none → p50 at 75 % (upper); metrics.m.variability: none → p50 at 75 %; metrics.m.limits: none → 0 to 10",
        ),
        (
            "convergence = { confidence = 90, tolerance = 5 }\nstdout",
            "metrics.m.convergence: none → 90 %, tolerance 5 %",
        ),
    ],
)
def test_another_claim_touches_no_finished_trial_and_says_what_was_known(begun: Bench, new: str, said: str):
    rows = begun.rows()
    changed(begun, "stdout", f'better = "lower"\n{new}')
    assert begun.run().failed == 0
    assert begun.rows() == rows
    assert events(begun, "amended") == [
        f"metrics.m.better: none → lower; {said} (chosen when 2 trials had finished)"
    ]
    (metric,) = study.analyse(begun.directory).metrics
    assert bool(metric.kpis) == ("kpi" in new)


def test_an_objective_may_become_another_and_asks_for_more_trials(begun: Bench):
    changed(begun, "stdout", KPI % (50, 75))
    changed(begun, "rounds = 2", 'rounds = "auto"')
    assert begun.run().counts == {"finished": 2}
    changed(begun, "percentile = 50", "percentile = 75")
    with pytest.raises(PlanError, match="the number of trials differs"):
        begun.run()
    assert begun.run(extend=True).counts == {"finished": 5}  # 1 - 0.75 ** 5 is the first above 75 %
    assert {row.epoch for row in begun.rows()} == {1}
    assert events(begun, "amended")[1] == (
        "metrics.m.kpi: p50 at 75 % (upper) → p75 at 75 % (upper) (chosen when 2 trials had finished)"
    )


def test_a_name_and_a_description_may_change(begun: Bench):
    changed(begun, 'name = "bench"', 'name = "bank"\ndescription = "of a river"')
    assert begun.run().failed == 0
    assert events(begun, "amended") == ["experiment.name: bench → bank; experiment.description: another"]
    assert study.open_directory(begun.directory)[2].fact("name") == "bank"


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
        ("[design]", '[metrics.n]\nresource = "wall"\n[design]'),
        ("[trial]", "[trial]\nexit_codes = [0, 1]"),
    ],
)
def test_what_touches_finished_trials_is_refused_with_what_may_change(begun: Bench, old: str, new: str):
    changed(begun, old, new)
    with pytest.raises(PlanError, match="began with another plan") as caught:
        begun.run()
    assert "`trialwise plan` says of every key" in str(caught.value.hint)


FACTORS = "a = [1, 2]\nb = ['x', 'y']\n"


@pytest.fixture
def compared(bench: Bench) -> Bench:
    """Two rounds of four treatments, which print their level, plus 100 where a file says that conditions are others."""
    conditions = bench.folder / "conditions"
    conditions.write_text("0")
    bench.write(
        f"sh -c 'echo {{b}}; echo v $(( {{a}} + {{round}} + $(cat {conditions}) ))'",
        'stdout = "v (.+)"',
        factors=FACTORS,
    )
    assert bench.run().counts == {"finished": 8}
    return bench


def test_a_further_treatment_is_randomised_with_the_others_in_an_epoch_of_its_own(compared: Bench):
    finished = compared.rows("finished")
    changed(compared, "a = [1, 2]", "a = [1, 2, 3]")
    with pytest.raises(PlanError, match="the treatments differ") as caught:
        compared.run()
    assert "add --extend" in str(caught.value.hint)
    assert compared.rows() == finished
    assert compared.run(extend=True).counts == {"finished": 20}
    rows = compared.rows()
    assert rows[:8] == finished
    assert {(row.series, row.epoch) for row in rows[8:]} == {(2, 2)}
    rounds = [[row.treatment for row in rows if (row.series, row.round) == (2, n)] for n in (1, 2)]
    assert set(rounds[0]) == set(rounds[1]) == {f"a={a} b={b}" for a in (1, 2, 3) for b in "xy"}
    assert rounds[0] != rounds[1]  # drawn anew, as of any other plan with this seed
    assert events(compared, "amended trials") == [
        "factors.a: 3 is new; series 1 is closed with 8 finished trials; 12 trials of 6 treatments follow"
    ]
    changed(compared, "rounds = 2", "rounds = 3")
    assert compared.run(extend=True).counts == {"finished": 26}
    assert Counter((row.series, row.epoch) for row in compared.rows()) == {(1, 1): 8, (2, 2): 18}


def test_what_ran_beside_other_treatments_is_not_compared(compared: Bench):
    (compared.folder / "conditions").write_text("100")
    changed(compared, "a = [1, 2]", "a = [1, 2, 3]")
    assert compared.run(extend=True).failed == 0
    trials = study.trial_set(compared.directory)
    assert trials.table.height == 12
    assert set(trials.table["series"]) == {"2"}
    means = {name: trials.of("m", name)["value"].mean() for name in trials.treatments}
    assert means == {f"a={a} b={b}": 101.5 + a for a in (1, 2, 3) for b in "xy"}
    assert any("8 trials of series 1 ran beside other treatments" in note for note in trials.notes)


def test_a_dropped_treatment_stays_in_the_ledger_and_is_named(compared: Bench):
    changed(compared, "a = [1, 2]", "a = [2]")
    changed(compared, "rounds = 2", "rounds = 3")
    assert compared.run(extend=True).counts == {"finished": 10}
    assert Counter(row.treatment for row in compared.rows()) == {
        "a=1 b=x": 2,
        "a=1 b=y": 2,
        "a=2 b=x": 3,
        "a=2 b=y": 3,
    }
    left_out = "trials of treatments that were dropped from the file are left out: a=1 b="
    assert left_out in compared.compute("analyze", compared.directory).stdout
    assert set(study.trial_set(compared.directory).treatments) == {"a=2 b=x", "a=2 b=y"}
    changed(compared, "a = [2]", "a = [1, 2]")  # and comes back, in series of its own
    assert compared.run(extend=True).counts == {"finished": 22}
    assert {row.epoch for row in compared.rows()[:8]} == {1}
    assert {(row.series, row.epoch) for row in compared.rows()[10:]} == {(2, 3)}


def test_what_failed_of_a_dropped_treatment_counts_no_more(bench: Bench):
    bench.write("sh -c 'echo v {a}; exit {a}'", 'stdout = "v (.+)"', factors="a = [0, 1]")
    assert bench.run().failed == 2
    changed(bench, "a = [0, 1]", "a = [0]")
    assert bench.run(again=True).failed == 0
    assert [row.status for row in bench.rows() if row.treatment == "a=1"] == ["failed", "failed"]
    assert bench.compute("status", bench.directory).returncode == 0


def killed_in_a_trial(bench: Bench, *words: str) -> None:
    """Run until a trial is running beyond those that are finished, and kill the runner there."""
    before = len(bench.rows("finished")) if bench.directory.exists() else 0
    runner = subprocess.Popen(
        [*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet", *words]
    )
    deadline = time.monotonic() + 60
    while not ((bench.directory / "ledger.sqlite").exists() and bench.rows("running")) or (
        len(bench.rows("finished")) <= before
    ):
        assert time.monotonic() < deadline
        assert runner.poll() is None
        time.sleep(0.02)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()


@pytest.mark.parametrize(
    ("levels", "treatments"),
    [("[1, 2, 3]", {"a=1", "a=2", "a=3"}), ("[2]", {"a=2"}), ("[2, 4]", {"a=2", "a=4"})],
)
def test_treatments_change_after_a_kill_and_before_another(bench: Bench, levels: str, treatments: set[str]):
    bench.write("sh -c 'sleep 0.3; echo v {a}'", 'stdout = "v (.+)"', factors="a = [1, 2]", rounds=3)
    killed_in_a_trial(bench)
    finished = bench.rows("finished")
    changed(bench, "a = [1, 2]", f"a = {levels}")
    killed_in_a_trial(bench, "--extend")
    result = bench.run(extend=True)
    assert (result.ending.reason, result.failed) == ("complete", 0)
    rows = bench.rows("finished")
    assert rows[: len(finished)] == finished
    assert {row.treatment for row in rows[len(finished) :]} == treatments
    assert len({(row.treatment, row.series, row.round) for row in rows}) == len(rows) == result.trials
    assert len(events(bench, "amended trials")) == 1
    assert not {row.epoch for row in finished} & {row.epoch for row in rows[len(finished) :]}
    of_now = [row for row in rows if row.treatment in treatments]
    for treatment in treatments:
        series = max(row.series for row in of_now)
        assert len([row for row in of_now if (row.treatment, row.series) == (treatment, series)]) == 3


@pytest.mark.parametrize("levels", ["[2, 1]", "[3, 4]", "[1.0, 2.0, 3.0]"])
def test_levels_that_are_others_altogether_are_another_plan(compared: Bench, levels: str):
    changed(compared, "a = [1, 2]", f"a = {levels}")
    with pytest.raises(PlanError, match="began with another plan"):
        compared.run(extend=True)


def test_further_treatments_of_balanced_rounds_are_balanced(bench: Bench):
    rest = 'order = "balanced"'
    bench.write("sh -c 'echo v {a}'", 'stdout = "v (.+)"', factors="a = [1, 2]", rest=rest)
    assert bench.run().failed == 0
    changed(bench, "a = [1, 2]", "a = [1, 2, 3, 4]")
    changed(bench, "rounds = 2", "rounds = 4")
    assert bench.run(extend=True).failed == 0
    rows = [row for row in bench.rows() if row.series == 2]
    assert set(Counter((row.treatment, row.position) for row in rows).values()) == {1}


WRITES = (
    "mkdir -p results/deep; echo latency {round}5 > results/deep/{x}.txt; echo {round} > results/same.txt; "
    "echo size {round} >> results/all.txt; echo no > other.txt; echo v 1"
)


@pytest.fixture
def keeping(bench: Bench) -> Bench:
    """Two rounds of a program that writes a file of its own, one that it writes again, and one to which it adds."""
    return bench.write(
        f"sh -c '{WRITES}'", 'stdout = "v (.+)"', factors="x = [7]", trial='keep = ["results/"]'
    )


def kept(bench: Bench, number: int) -> dict[str, bytes]:
    with tarfile.open(bench.directory / "outputs" / f"{number:06d}-1.files.tar.gz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def test_what_each_trial_wrote_to_a_folder_is_kept(keeping: Bench):
    assert keeping.run().failed == 0
    first = {
        "results/all.txt": b"size 1\n",
        "results/deep/7.txt": b"latency 15\n",
        "results/same.txt": b"1\n",
    }
    assert kept(keeping, 1) == first
    second = kept(keeping, 2)
    assert second["results/all.txt"] == b"size 2\n"
    assert second["results/deep/7.txt"] == b"latency 25\n"
    assert second["results/same.txt"] == b"2\n"
    assert "other.txt" not in second


@pytest.mark.parametrize(
    ("file", "pattern", "values"),
    [
        ("results/deep/{x}.txt", "latency (.+)", [15.0, 25.0]),
        ("./results/same.txt", "(.+)", [1.0, 2.0]),
        ("results/all.txt", "size (.+)", [1.0, 2.0]),
    ],
)
def test_a_further_metric_is_read_again_from_kept_files(
    keeping: Bench, file: str, pattern: str, values: list[float]
):
    assert keeping.run().failed == 0
    shutil.rmtree(keeping.folder / "results" / "deep")
    changed(
        keeping, "[design]", f'[metrics.again]\nfile = "{file}"\npattern = "{pattern}"\nunit = "ms"\n[design]'
    )
    assert keeping.run().failed == 0
    assert study.trial_set(keeping.directory).of("again")["value"].to_list() == values
    assert len(events(keeping, "amended")) == 1
    changed(keeping, "rounds = 2", "rounds = 3")  # and of further trials from what they wrote
    assert keeping.run(extend=True).failed == 0
    assert len(study.trial_set(keeping.directory).of("again")) == 3


def test_a_file_that_was_not_kept_cannot_be_read_again(keeping: Bench):
    assert keeping.run().failed == 0
    changed(keeping, "[design]", '[metrics.again]\nfile = "other.txt"\npattern = "(.+)"\n[design]')
    with pytest.raises(PlanError, match=r"the file other\.txt of trial 1 was not kept"):
        keeping.run()


BESIDE = """keep = ["out/"]
prepare = "sh -c 'mkdir -p out; echo {round} > out/prepared; echo begun > out/log'"
conclude = "sh -c 'echo {round} > out/concluded; echo more >> out/log; rm out/result'"
"""


def test_what_the_commands_beside_the_program_wrote_is_kept(bench: Bench):
    """As the program left it where both wrote, for so metrics have read it, and also where it is removed at last."""
    bench.write(
        "sh -c 'echo speed {round} | tee out/result; echo run >> out/log'",
        'file = "out/result"\npattern = "speed (.+)"',
        trial=BESIDE,
    )
    assert bench.run().failed == 0
    written = {name: content for name, content in kept(bench, 2).items() if not name.startswith(".before/")}
    assert written == {
        "out/result": b"speed 2\n",
        "out/log": b"run\n",
        "out/prepared": b"2\n",
        "out/concluded": b"2\n",
    }
    further = '[metrics.x]\nfile = "out/concluded"\npattern = "(.+)"\n[design]'
    changed(bench, "[design]", further)
    with pytest.raises(PlanError, match="the file out/concluded of trial 1 was not kept"):
        bench.run()


def test_what_a_prepare_that_fails_has_written_is_kept(bench: Bench):
    bench.write("true", trial="keep = ['out']\nprepare = \"sh -c 'echo why > out; exit 1'\"", rounds=1)
    assert bench.run().failed == 1
    assert kept(bench, 1) == {"out": b"why\n"}


def test_a_folder_of_the_trials_own_is_kept(bench: Bench):
    bench.write(
        "sh -c 'echo v {round} > {directory}/a.json; echo no > {directory}/a.txt; echo v 1'",
        'stdout = "v (.+)"',
        trial='keep = ["{directory}/*.json"]',
    )
    assert bench.run().failed == 0
    assert kept(bench, 2) == {"{directory}/a.json": b"v 2\n"}
    changed(bench, "[design]", '[metrics.again]\nfile = "{directory}/a.json"\npattern = "v (.+)"\n[design]')
    assert bench.run().failed == 0
    assert study.trial_set(bench.directory).of("again")["value"].to_list() == [1.0, 2.0]


def test_what_is_kept_is_bounded_and_follows_no_links(bench: Bench):
    bench.write(
        "sh -c 'mkdir -p r; head -c 17000000 /dev/zero > r/big; ln -sf /etc/passwd r/link; mkfifo r/fifo; "
        "ln -sfn / r/root; echo 1 > r/small; echo v 1'",
        'stdout = "v (.+)"',
        trial='keep = ["r"]',
        rounds=1,
    )
    assert bench.run().failed == 0
    assert kept(bench, 1) == {"r/small": b"1\n"}
    (said,) = events(bench, "remark")
    assert "r/big: over trial.keep_limit (16,777,216 bytes) and 3 more" in said


def test_what_a_kept_archive_of_others_holds_is_not_believed(keeping: Bench):
    assert keeping.run().failed == 0
    path = keeping.directory / "outputs" / "000001-1.files.tar.gz"
    changed(keeping, "[design]", '[metrics.again]\nfile = "results/same.txt"\npattern = "(.+)"\n[design]')
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("results/same.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    whole = path.read_bytes()
    for content in (whole, whole[:40], b"", gzip.compress(bytes(1 << 28))):
        path.write_bytes(content)
        with pytest.raises(PlanError, match="was not kept"):
            keeping.run()


@pytest.mark.parametrize("place", ["/x", "../x", "a/../../x", "~/x"])
def test_only_what_is_below_the_working_directory_can_be_kept(keeping: Bench, place: str):
    changed(keeping, 'keep = ["results/"]', f'keep = ["{place}"]')
    with pytest.raises(PlanError, match="is not below the working directory"):
        keeping.run()


def test_what_is_kept_may_change_on_the_way(keeping: Bench):
    assert keeping.run().failed == 0
    changed(keeping, 'keep = ["results/"]', 'keep = ["other.txt"]')
    changed(keeping, "rounds = 2", "rounds = 3")
    assert keeping.run(extend=True).failed == 0
    assert events(keeping, "amended") == ["trial.keep: results/ → other.txt"]
    assert kept(keeping, 3) == {"other.txt": b"no\n"}
    assert {row.epoch for row in keeping.rows()} == {1}


LATENCY = '[metrics.latency]\nstdout = "latency (.+)"\nunit = "ms"\n[design]'


def without_output(bench: Bench, number: int) -> None:
    (bench.directory / "outputs" / f"{number:06d}-1.stdout.gz").unlink()


def test_a_metric_is_read_again_of_the_trials_that_kept_it_and_the_others_are_counted(begun: Bench):
    without_output(begun, 2)
    changed(begun, "[design]", LATENCY)
    with pytest.raises(PlanError, match="the output of trial 2 was not kept") as caught:
        begun.run()
    assert "add --reread" in str(caught.value.hint)
    said = begun.command_line("run", begun.file, "--directory", begun.directory, "--reread")
    assert said.returncode == 0, said.stderr
    lacking = "1 trial without it (2): the output was not kept, so it cannot be read again"
    assert f"latency: read again from what was kept of 1 of 2 finished trials; {lacking}" in said.stderr
    assert sorted(value or 0 for value in begun.values()) == [1.0, 2.0, 15.0]
    assert begun.compute("status", begun.directory, "--check").returncode == 0
    note = "from kept output, 1 of 2 finished trials; trial 2 without it: the output was not kept"
    for verb in ("analyze", "order"):
        assert note in " ".join(begun.compute(verb, begun.directory).stdout.split()), verb
    assert any(note in each for each in study.trial_set(begun.directory).notes)
    (change,) = [each for each in study.analyse(begun.directory).changes if each.kind == "reread"]
    assert change.about == "trial 1"
    begun.run(reread=True)  # finds nothing more, and records nothing
    assert [each.kind for each in study.analyse(begun.directory).changes].count("reread") == 1


def test_an_amendment_that_cannot_be_written_leaves_nothing_and_is_recorded_once_when_it_can(bench: Bench):
    bench.write("sh -c 'echo v {round}; [ {round} = 1 ] || echo w 7'", 'stdout = "v (.)"')
    bench.run()
    changed(bench, "[design]", "[metrics.w]\nstdout = 'w (.)'\n[design]")
    in_the_way = bench.directory / "experiment.toml.tmp"
    in_the_way.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        bench.run(reread=True)
    assert amendments(bench) == []
    in_the_way.rmdir()
    bench.run(reread=True)
    assert [(each.kind, each.trial) for each in amendments(bench)] == [
        ("reread", None),
        ("reread", 2),
        ("plan", None),
    ]
    assert "1 of 2 finished trials" in events(bench, "amended")[0]
    changes = [change.kind for change in study.analyse(bench.directory).changes]
    assert sorted(changes) == ["plan", "reread"]


def amendments(bench: Bench) -> list[Amendment]:
    return study.open_directory(bench.directory)[2].amendments()


class EndsAtOnce:
    """Presses Ctrl-C at the first event; later ones may come when nobody catches it any more."""

    pressed = False

    def notice(self, event: object) -> None:
        if not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


def test_trials_that_become_others_before_any_began_set_nothing_apart(bench: Bench):
    bench.write("true")
    assert bench.run(observers=[EndsAtOnce()]).counts == {"planned": 2}
    changed(bench, "rounds = 2", 'rounds = 2\norder = "fixed"')
    assert bench.run(amend=True).counts == {"finished": 2}
    facts = study.open_directory(bench.directory)[2].meta()
    assert [name for name in facts if name.startswith("experiment until series")] == []
    assert "set apart series" not in facts
    assert bench.compute("status", bench.directory, "--check").returncode == 0


def test_a_metric_that_is_read_otherwise_leaves_what_was_measured(begun: Bench):
    changed(begun, "speed (", "latency (")
    with pytest.raises(PlanError, match="began with another plan"):
        begun.run()
    begun.run(reread=True)
    values = {
        source: value
        for _, _, source, value, _, _ in study.open_directory(begun.directory)[2].values()
        if not source.startswith("instrument:")
    }
    assert values == {"stdout|pattern:speed (.+)": 2.0, "stdout|pattern:latency (.+)": 25.0}
    assert study.trial_set(begun.directory).of("m")["value"].to_list() == [15.0, 25.0]
    assert begun.compute("status", begun.directory, "--check").returncode == 0
    changed(begun, "rounds = 2", "rounds = 3")
    assert begun.run(extend=True).failed == 0
    assert study.trial_set(begun.directory).of("m")["value"].to_list() == [15.0, 25.0, 35.0]
    assert {row.epoch for row in begun.rows()} == {1}


def test_an_edited_value_that_was_read_again_is_found(begun: Bench):
    changed(begun, "[design]", LATENCY)
    begun.run()
    with sqlite3.connect(begun.directory / "ledger.sqlite") as connection:
        connection.execute("UPDATE value SET value = 1 WHERE source LIKE '%latency%' AND number = 2")
    checked = begun.compute("status", begun.directory, "--check")
    assert checked.returncode == 5
    assert "added a value of stdout|pattern:latency (.+), which was changed" in checked.stderr


def test_a_metric_that_nothing_keeps_is_measured_from_now_on(begun: Bench):
    changed(begun, "[design]", '[metrics.wall]\nresource = "wall"\n[design]')
    begun.run(reread=True)
    changed(begun, "rounds = 2", "rounds = 3")
    begun.run(extend=True)
    trials = study.trial_set(begun.directory)
    assert (len(trials.of("m")), len(trials.of("wall"))) == (3, 1)
    assert any("0 of 2 finished trials; trials 1 to 2 without it" in note for note in trials.notes)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[metrics.m]", "[metrics.n]", "metrics.m: now called n"),
        ('stdout = "speed (.+)"', 'stdout = "speed (.+)"\nmeasure = 90', "metrics.m.measure: mean → p90"),
    ],
)
def test_what_is_made_of_a_trials_numbers_touches_no_trial(begun: Bench, old: str, new: str, said: str):
    rows = begun.rows()
    changed(begun, old, new)
    assert begun.run().failed == 0
    assert begun.rows() == rows
    (event,) = events(begun, "amended")
    assert event.startswith(said)
    assert len(study.trial_set(begun.directory).table) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("echo speed", "echo -n; echo speed", "trial.command: "),
        ("[trial]", '[trial]\nenvironment = { A = "1" }', "trial.environment.A: none → "),
        ("[trial]", "[trial]\nexit_codes = [0, 1]", "trial.exit_codes: none → [0, 1]"),
        ("[design]", '[reset]\ncommand = "true"\n[design]', 'reset.command: none → "true"'),
    ],
)
def test_trials_that_run_differently_begin_an_epoch_where_that_is_asked_for(
    begun: Bench, old: str, new: str, said: str
):
    finished = begun.rows()
    changed(begun, old, new)
    changed(begun, "rounds = 2", "rounds = 3")
    with pytest.raises(PlanError, match="began with another plan"):
        begun.run(extend=True)
    assert begun.run(extend=True, amend=True).failed == 0
    (event,) = events(begun, "amended trials")
    assert said in event
    rows = begun.rows()
    assert rows[:2] == finished
    assert [row.epoch for row in rows] == [1, 1, 2]
    assert any("count together" in note and said in note for note in study.trial_set(begun.directory).notes)
    assert begun.compute("status", begun.directory, "--check").returncode == 0


def test_the_plan_says_what_would_follow_and_changes_nothing(begun: Bench):
    ledger = (begun.directory / "ledger.sqlite").read_bytes()
    changed(begun, "echo speed", "echo -n; echo speed")
    changed(begun, "[design]", LATENCY)
    said = begun.compute("plan", begun.file, "--directory", begun.directory, "--json")
    changes = json.loads(said.stdout)["changes"]
    assert [(each["key"], each["effect"]) for each in changes] == [
        ("trial.command", "asked epoch"),
        ("metrics.latency.stdout", "reread"),
        ("metrics.latency.unit", "nothing"),
    ]
    table = " ".join(begun.compute("plan", begun.file, "-d", begun.directory).stdout.split())
    assert "Changed since the experiment began" in table
    assert "a new epoch, whose rounds are series of their own; --amend" in table
    assert (begun.directory / "ledger.sqlite").read_bytes() == ledger
    (begun.directory / "experiment.toml").write_text(begun.file.read_text())
    assert json.loads(begun.compute("plan", begun.directory, "--json").stdout)["changes"] == changes
