"""What trials over real paths may send: what is said, what is counted, when a run ends."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from trialwise.design.plan import make_plan
from trialwise.errors import PlanError
from trialwise.execution.allowance import Allowance, allowance
from trialwise.execution.create import begin
from trialwise.execution.ends import budget
from trialwise.execution.ends.budget import (
    NOTHING,
    PathBudget,
    known_rates,
    most_of,
    refuse_rates,
    sent_samples,
)
from trialwise.execution.ends.kind import EndsKind
from trialwise.execution.ends.probing import about
from trialwise.execution.ends.records import PROBE, EndRecord
from trialwise.experiment.reading import read_experiment
from trialwise.measurement.condition_files import ConditionFile
from trialwise.measurement.condition_rows import Condition
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import Session, Status
from trialwise.trials.base import TrialRequest
from trialwise.trials.path_plan import NOWHERE, flow_plans, settings_of

FILE = """[experiment]
name = "real"
seed = 1
[factors]
path = ["far", "emulated"]
[trial]
kind = "path"
runtime = "30s"
path = "{path}"
FLOWS
[paths.far]
from = "local"
to = "ssh://far"
CAPS
[paths.emulated]
rate = "10Mbit/s"
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 3
"""
SESSION = Session(1, 1.0, None, None, 1, "local", "b", "0", "environments/001.json")


def experiment(folder: Path, flows='scheme = "cubic"', caps=""):
    file = folder / "experiment.toml"
    file.write_text(FILE.replace("FLOWS", flows).replace("CAPS", caps))
    return read_experiment(file)


# What a trial may send: counted by hand


@pytest.mark.parametrize(
    ("flows", "caps", "rate", "megabytes"),
    [
        ('scheme = "cubic"', "", None, 375),  # 100 Mbit/s for 30 s
        ('scheme = "cubic"', "", 1e9, 1000),  # 3.75 GB, but 1 GB is the cap of a trial
        ('scheme = "cubic"', 'bytes_cap = "50MB"', None, 50),
        ('scheme = "cubic"\nflows = 4', "", None, 375),  # they share the rate
        ('scheme = "udp-cubic"\nload = "rate:8Mbit/s"\nflows = 2', "", None, 60),
        ('scheme = "cubic"\nload = "bytes:10MB"', "", None, 10),
        ('flows = [{ scheme = "cubic" }, { scheme = "cubic", direction = "downlink" }]', "", None, 750),
        ('flows = [{ scheme = "cubic", start = "20s" }]', "", None, 125),
    ],
)
def test_a_trial_may_send_what_its_flows_and_caps_let_it(tmp_path, flows, caps, rate, megabytes):
    asked = experiment(tmp_path, flows, caps)
    most = most_of(asked, {"path": "far"}, Allowance(rate))
    assert most is not None
    assert most.sent == pytest.approx(megabytes * 1e6)
    assert most.seconds == 30 + 1 + 2 * 5 + 5
    assert most_of(asked, {"path": "emulated"}, Allowance(rate)) is None


# What is said and counted


class Begun:
    def __init__(self, folder: Path, allowed: Allowance, **more) -> None:
        self.experiment = experiment(folder, **more)
        self.directory = ExperimentDirectory(folder / "results")
        self.directory.make()
        text = (folder / "experiment.toml").read_text()
        self.ledger = begin(text, self.experiment, make_plan(self.experiment), self.directory, [])
        self.ledger.start_session(SESSION)
        self.budget = PathBudget(self.experiment, self.ledger, allowed)

    def rows(self, path="far"):
        return [row for row in self.ledger.trials("planned") if row.factors["path"] == path]

    def run(self, sent: float | None, status: Status = "finished"):
        row = self.rows()[0]
        self.ledger.claim(row, SESSION, 2.0)
        values = [] if sent is None else [(budget.SENT, sent, 1, None)]
        self.ledger.finish(row, status, started=2.0, finished=3.0, exit_code=None, reason=None, values=values)


@pytest.fixture
def begun(tmp_path):
    made = Begun(tmp_path, Allowance(total=1e9))
    yield made
    made.ledger.close()


def test_it_is_said_before_what_trials_send_and_how_long_they_take(begun):
    rows = [*begun.rows(), *begun.rows("emulated")]
    assert begun.budget.announcement(rows) == (
        "real paths: 3 trials to run, with at most 1.12 GB in about 2min 18s. "
        "Caps: 100 Mbit/s and 1 GB of each end for a trial, 1 GB for the experiment; "
        "the run ends before a trial that could exceed it (--allow-bytes)"
    )
    assert begun.budget.announcement(begun.rows("emulated")) is None
    begun.run(30e6)
    assert begun.budget.announcement(begun.rows()) == (
        "real paths: 2 trials to run, with at most 750 MB in about 1min 32s, after 30 MB that were sent already. "
        "Caps: 100 Mbit/s and 1 GB of each end for a trial, 1 GB for the experiment"
    )


def test_a_trial_that_could_exceed_the_cap_does_not_begin(begun):
    begun.run(625e6)
    assert begun.budget.reason_to_stop(begun.rows()[0]) is None, "375 MB more are exactly the cap"
    assert begun.budget.left == 375e6
    begun.run(1.0)
    assert begun.budget.reason_to_stop(begun.rows()[0]) == (
        "the cap of 1 GB for the experiment: 625 MB were sent, and trial "
        f"{begun.rows()[0].number} may send 375 MB more; --allow-bytes raises the cap"
    )
    assert begun.budget.reason_to_stop(begun.rows("emulated")[0]) is None


def test_attempts_that_failed_count_with_what_they_sent_and_killed_ones_with_the_most(begun):
    begun.run(100e6, "failed")
    assert begun.budget.reason_to_stop(begun.rows()[0]) is None
    assert begun.budget.left == 900e6
    row = begun.rows()[0]
    begun.ledger.claim(row, SESSION, 2.0)
    begun.ledger.abandon_running("killed")
    assert begun.budget.reason_to_stop(begun.rows()[0]) is None
    assert begun.budget.left == 525e6
    begun.run(0.0, "failed")
    begun.budget.reason_to_stop(begun.rows()[0])
    assert begun.budget.left == 525e6


# What is refused


def plans_of(folder, load, **more):
    asked = experiment(folder, f'scheme = "udp-cubic"\nload = "{load}"', **more)
    values = dict(NOWHERE) | {"path": "far"}
    ends = settings_of(asked, values).ends
    assert ends is not None
    return flow_plans(asked, values), ends


def test_a_fixed_rate_above_the_cap_or_twice_the_profile_is_refused(tmp_path):
    plans, ends = plans_of(tmp_path, "rate:100Mbit/s")
    refuse_rates(plans, ends)
    with pytest.raises(PlanError, match="above the cap of 99 Mbit/s"):
        refuse_rates(plans, dataclasses.replace(ends, rate_cap="99Mbit/s"))
    refuse_rates(plans, ends, (50e6, 1e6))
    with pytest.raises(PlanError, match=r"above twice the 49.9 Mbit/s that the path carries"):
        refuse_rates(plans, ends, (49.9e6, 1e9))
    bulk, ends = plans_of(tmp_path, "bulk")
    refuse_rates(bulk, ends, (1e6, 1e6))


def test_the_profile_of_a_path_is_known_while_its_ends_are_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = experiment(tmp_path)
    ends = settings_of(asked, dict(NOWHERE) | {"path": "far"}).ends
    assert ends is not None
    assert known_rates(asked, "far", ends) == (None, None)
    with ConditionFile(tmp_path / "real.far.conditions.csv", about("far", ends, 60.0)) as file:
        rows = [
            Condition(1.8e9 + 60 * at, 60.0, up_mbps=rate, down_mbps=20.0)
            for at, rate in enumerate((7, 8, 30))
        ]
        file.add(rows)
    assert known_rates(asked, "far", ends) == (8e6, 20e6)
    assert known_rates(asked, "far", dataclasses.replace(ends, receiving="ssh://moved")) == (None, None)


@pytest.mark.parametrize(
    ("rate", "size", "wrong"),
    [
        ("fast", None, "--allow-rate"),
        ("0bit/s", None, "allows nothing"),
        (None, "0GB", "allows nothing"),
        (None, "10Mbit/s", "--allow-bytes"),
        (None, "-1GB", "--allow-bytes"),
    ],
)
def test_wrong_allowances_are_refused(rate, size, wrong):
    with pytest.raises(PlanError, match=wrong):
        allowance(rate, size)


def test_allowances_have_the_defaults_that_are_documented():
    assert allowance(None, None) == Allowance(None, 10e9)
    assert allowance("1Gbit/s", "50GB") == Allowance(1e9, 50e9)


# What ends tell


@pytest.mark.parametrize(
    ("told", "sent"),
    [([{"sent": 5}, {"sent": 7}], 12), ([{}, {"sent": 7}], 7), ([{"sent": -1}, {}], None)]
    + [([{"sent": wrong}, {"sent": 7}], None) for wrong in ("9", 1.5, None, 1 << 62, [1])]
    + [([None, {"sent": 7}], None), ([["sent"], {"sent": 7}], None)],
)
def test_only_numbers_that_can_be_are_counted(told, sent):
    records = [EndRecord({"capture": each}, np.zeros(0, PROBE), b"", {}) for each in told]
    found = sent_samples(records)
    assert found == {} if sent is None else found[budget.SENT].values.tolist() == [sent]
    assert NOTHING[budget.SENT].values.tolist() == [0.0]


def test_a_trial_whose_end_is_not_reached_has_sent_nothing(tmp_path):
    """A night without ssh uses up no budget."""
    text = (
        FILE.replace("FLOWS", 'scheme = "cubic"')
        .replace("CAPS", "")
        .replace("ssh://far", "ssh://127.0.0.1:1")
    )
    workers = f'[workers]\nreconnect = "0s"\nfolder = "{tmp_path / "home"}"\n'
    (tmp_path / "experiment.toml").write_text(text + workers)
    never, writer = os.pipe()
    request = TrialRequest(
        experiment=read_experiment(tmp_path / "experiment.toml"),
        factors={"path": "far"},
        number=1,
        attempt=1,
        series=1,
        round=1,
        position=1,
        seed=1,
        scratch=tmp_path / "scratch",
        marker="m:1:1",
        cancel=never,
    )
    kind = EndsKind()
    try:
        outcome = kind.execute(request)
    finally:
        kind.close()
        os.close(never)
        os.close(writer)
    assert (outcome.status, "nothing listens there" in str(outcome.reason)) == ("failed", True)
    assert outcome.samples == NOTHING


@pytest.mark.parametrize(
    ("rate", "text"), [(5e5, "0.5 Mbit/s"), (1e9, "1000 Mbit/s"), (1e11, "100 Gbit/s"), (4e11, "400 Gbit/s")]
)
def test_a_cap_is_written_without_a_power_of_ten(rate, text):
    assert budget.rate_text(rate) == text
