"""When a real path has changed, and which series its trials belong to then."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fake_time import FakeRun
from trialwise.analysis.directory import analyse_directory
from trialwise.analysis.environments import differences, facts_of
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.trial_set import read_trial_set
from trialwise.cli.event_text import describe
from trialwise.errors import StoreError
from trialwise.execution.ends.condition import condition_of, lowest_round_trip
from trialwise.execution.ends.environment import EndEnvironment, network_settings
from trialwise.execution.ends.records import PROBE
from trialwise.execution.events import EnvironmentChanged, PathChanged
from trialwise.execution.workers.agent.meeting import MET, RUNNING
from trialwise.experiment.reading import read_experiment
from trialwise.measurement.details.interfaces import interface_facts
from trialwise.measurement.packets import DELIVERED, DROPPED, Packets
from trialwise.measurement.path_condition import PathCondition, is_another_round_trip
from trialwise.measurement.path_moves import moves_in
from trialwise.measurement.samples import Samples
from trialwise.store.ledger import Ledger
from trialwise.study.stopping import stopping_state

ENDS = ("local", "ssh://far")


def condition(ttl=64, round_trip=20.0, path="one", **more):
    return PathCondition(path, ENDS, (ttl, 60), round_trip, **more)


# The rule


@pytest.mark.parametrize(
    ("before", "now", "another"),
    [
        (10.0, 11.0, False),  # exactly 1 ms, which is more than 5 %
        (10.0, 11.000001, True),
        (10.0, 9.0, False),
        (10.0, 8.999999, True),
        (100.0, 105.0, False),  # exactly 5 %, which is more than 1 ms
        (100.0, 105.000001, True),
        (100.0, 95.0, False),
        (100.0, 94.999999, True),
        (100.0, 101.5, False),
        (20.0, 21.0, False),  # both at once
        (20.0, 21.000001, True),
        (0.3, 1.2, False),
        (0.0, 1.0, False),
    ],
)
def test_a_round_trip_is_another_beyond_both_bounds_only(before, now, another):
    assert is_another_round_trip(before, now) is another


def test_what_is_unknown_has_not_changed():
    known, unknown = condition(), PathCondition("one", ENDS)
    assert list(unknown.changes(known)) == list(known.changes(unknown)) == []
    assert unknown.filled(known) == known
    assert known.filled(unknown) == known


def test_a_change_says_where_and_from_what_to_what():
    (one, other) = condition(63, 25.0).changes(condition())
    assert (one.text, other.text) == ("TTL at local: 64 → 63", "lowest round trip: 20 ms → 25 ms")


# What a trial says


def probes(*rows):
    """Make probes from (time, delay, direction[, event])."""
    time, delay, direction, event = zip(*((*row, DELIVERED)[:4] for row in rows), strict=True)
    zeros = np.zeros(len(rows), np.uint32)
    return Packets(
        np.array(time, float),
        np.array(delay, float),
        np.array(direction, np.uint8),
        zeros.astype(np.uint16),
        zeros,
        np.array(event, np.uint8),
    )


def heard(*ttls, phase=MET):
    return np.array([(number, number, ttl, phase) for number, ttl in enumerate(ttls)], PROBE)


def test_queues_of_the_flows_are_no_change_of_the_route():
    quiet = [(-1, 0.010, 0), (-1, 0.012, 1), (-0.5, 0.013, 0), (-0.5, 0.011, 1)]
    during = [(1, 0.5, 0), (1, 0.3, 1), (2, 0.001, 0, DROPPED)]
    same = [(4.5, 0.0101, 0), (4.5, 0.011, 1)]
    found = condition_of("p", ENDS, probes(*quiet, *during, *same), 3.0, (heard(64), heard(60)))
    assert (found.round_trip_ms, found.ttl, found.changed_within) == (pytest.approx(21.0), (64, 60), "")
    other = [(4.5, 0.0131, 0), (4.5, 0.011, 1)]
    found = condition_of("p", ENDS, probes(*quiet, *during, *other), 3.0, (heard(64), heard(60)))
    assert found.round_trip_ms == pytest.approx(21.0)
    assert found.changed_within == "the lowest round trip changed (21 ms → 24.1 ms)"


def test_the_ttl_is_that_before_the_flows_and_another_one_later_is_marked():
    seen = np.concatenate([heard(0, 64, 64), heard(62, 62, 62, phase=RUNNING)])
    found = condition_of("p", ENDS, probes((-1, 0.01, 0)), 3.0, (seen, heard(0)))
    assert found.ttl == (64, None)
    assert found.changed_within == "TTL at local changed (64 → 62)"
    assert found.round_trip_ms is None, "one direction says nothing of a round trip"
    assert lowest_round_trip(probes((-1, 0.01, 0, DROPPED), (-1, 0.01, 1))) is None


# Series

FILE = """
[experiment]
name = "fake"
seed = 1
[factors]
path = ["one", "other"]
[trial]
command = "true {path}"
[metrics.time]
resource = "wall"
[design]
rounds = ROUNDS
series = SERIES
"""


class Course:
    """Two paths, each with a condition in each round; `rounds` are run, then the directory goes on with more."""

    def __init__(self, folder: Path, rounds: int, course, series: int = 1) -> None:
        self.course = course
        self.told = []
        self.run = FakeRun(folder, FILE.replace("SERIES", str(series)), script=self.script)
        self.go(rounds)

    def notice(self, event) -> None:
        if isinstance(event, PathChanged | EnvironmentChanged):
            self.told.append(event)

    def script(self, request):
        path = request.factors["path"]
        found = self.course(path, request.round)
        return found if isinstance(found, dict) else {"condition": found}

    def go(self, rounds: int) -> None:
        template = self.run.text
        self.run.text = template.replace("ROUNDS", str(rounds))
        self.run.go(extend=True, observers=[self])
        self.run.text = template

    def labels(self) -> dict[str, list[str]]:
        ledger = self.run.directory.ledger()
        try:
            file = self.run.folder / "experiment.toml"
            store = StoreObservations(read_experiment(file), self.run.directory, ledger)
            rows = sorted(store.rows, key=lambda row: (row.series, row.round))
            return {
                path: [store.series_of(row) for row in rows if row.factors["path"] == path]
                for path in ("one", "other")
            }
        finally:
            ledger.close()

    def changes(self) -> list[str]:
        return [text for kind, text in self.run.events() if kind == "path changed"]


def test_a_path_that_changes_leaves_the_series_of_the_other_alone(tmp_path):
    def course(path, number):
        return condition(63 if path == "one" and number > 2 else 64, path=path)

    found = Course(tmp_path, 4, course)
    assert found.labels() == {"one": ["1a", "1a", "1b", "1b"], "other": ["1a"] * 4}
    (text,) = found.changes()
    assert text.startswith("one: TTL at local: 64 → 63; its trials from ")
    (event,) = found.told
    assert describe(event) == f"the path has changed: {text}"


def test_the_way_back_is_a_third_series_and_a_run_that_goes_on_knows_where_it_was(tmp_path):
    def course(path, number):
        return condition(63 if path == "one" and number == 2 else 64, path=path)

    found = Course(tmp_path, 1, course)
    assert found.labels() == {"one": ["1"], "other": ["1"]}
    for rounds in (2, 3, 4):
        found.go(rounds)
    assert found.labels() == {"one": ["1a", "1b", "1c", "1c"], "other": ["1a"] * 4}
    assert len(found.changes()) == 2


def test_slow_changes_are_compared_with_the_first_trial_of_the_series(tmp_path):
    def course(path, number):
        return condition(round_trip=20 + 0.6 * number * (path == "one"), path=path)

    found = Course(tmp_path, 5, course)
    assert found.labels()["one"] == ["1a", "1a", "1b", "1b", "1c"]


def test_a_change_of_the_machine_begins_a_series_of_both_paths_and_epochs_are_never_used_twice(
    tmp_path, monkeypatch
):
    def course(path, number):
        return condition(63 if path == "one" and number > 1 else 64, path=path)

    found = Course(tmp_path, 2, course)
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "7")
    found.go(3)
    assert found.labels() == {"one": ["1a", "1b", "1c"], "other": ["1a", "1a", "1c"]}


def test_a_change_within_a_trial_is_told_and_the_next_trial_decides(tmp_path):
    def course(path, number):
        within = "the lowest round trip changed (20 ms → 25 ms)" if number == 2 else ""
        return condition(round_trip=25.0 if number > 2 else 20.0, path=path, changed_within=within)

    found = Course(tmp_path, 3, course)
    assert found.labels()["one"] == ["1a", "1a", "1b"]
    within = [text for kind, text in found.run.events() if kind == "path changed within a trial"]
    assert within[0].rpartition(" ")[0].endswith(": the lowest round trip changed (20 ms → 25 ms), trial")
    assert len(within) == 2
    told = [text for text in found.changes() if text.startswith("one")]
    assert told[0].startswith("one: lowest round trip: 20 ms → 25 ms; its trials from ")


def test_trials_that_do_not_count_begin_no_series(tmp_path):
    def course(path, number):
        if number == 2:
            return {"status": "failed", "reason": "no answer"}
        if number == 3:
            return {"status": "invalid", "reason": "dropped", "condition": condition(63, path=path)}
        return condition(path=path)

    found = Course(tmp_path, 4, course)
    assert found.labels()["one"] == ["1"] * 4
    assert found.changes() == []


def test_more_than_26_changes_have_labels_of_letters(tmp_path):
    found = Course(tmp_path, 30, lambda path, number: condition(number, path=path))
    labels = found.labels()
    assert len({*labels["one"], *labels["other"]}) == 59
    assert all(label[1:].isalpha() and label[1:].islower() for each in labels.values() for label in each)


@pytest.mark.parametrize(
    "wrong", ['{"epoch": 1}', "[]", "{", json.dumps({"epoch": 1, "ends": ["a", "b"], "ttl": [1, 2]})]
)
def test_a_condition_that_cannot_be_read_is_said(tmp_path, wrong):
    found = Course(tmp_path, 1, lambda path, _: condition(path=path))
    ledger = Ledger.open(found.run.directory.path / "ledger.sqlite")
    ledger.set_meta("path one", wrong)
    ledger.close()
    with pytest.raises(StoreError, match="a condition of path one that cannot be read"):
        found.go(2)


# Ends


def machine(**facts):
    facts = {"kernel release": "6.1", **facts}
    return {"local": {"kernel release": "6.1"}, "ssh://far": facts}


class Ends(Course):
    """Paths whose far end is as `course` says: what is compared of it."""

    def script(self, request):
        facts = self.course(request.factors["path"], request.round)
        machines = machine(**facts)
        recorded = {
            name: {"kernel": {"release": each["kernel release"]}, "programs": dict(each)}
            for name, each in machines.items()
        }
        return {"condition": condition(path=request.factors["path"], machines=machines), "ends": recorded}

    def environments(self):
        """Return the programs recorded of the far end, session by session."""
        files = sorted((self.run.directory.path / "environments").iterdir())
        return [json.loads(file.read_text())["ends"]["ssh://far"]["programs"] for file in files]

    def sessions(self) -> dict[str, list[int | None]]:
        rows = sorted(self.run.rows(), key=lambda row: row.round)
        return {
            path: [row.session for row in rows if row.factors["path"] == path] for path in ("one", "other")
        }


def test_an_end_that_changes_begins_a_session_and_a_series_of_each_of_its_paths(tmp_path):
    found = Ends(tmp_path, 3, lambda path, number: {"qdisc": "fq" if number < 3 else "fq_codel"})
    assert found.labels()["one"][:2] == found.labels()["other"][:2] == ["1a", "1a"]
    assert {found.labels()[path][2] for path in ("one", "other")} == {"1b", "1c"}
    assert found.sessions() == {"one": [1, 1, 2], "other": [1, 1, 2]}
    assert [each["qdisc"] for each in found.environments()] == ["fq", "fq_codel"]
    assert all("qdisc at ssh://far: fq → fq_codel" in text for text in found.changes())


def test_programs_that_only_some_schemes_need_add_to_the_record_and_are_compared_later(tmp_path):
    def course(path, number):
        return {1: {"iperf3": "aa"}, 2: {"ngtcp2": "bb"}, 3: {}}.get(number, {"iperf3": "cc", "ngtcp2": "bb"})

    found = Ends(tmp_path, 3, course)
    assert found.labels()["one"] == ["1"] * 3
    assert found.environments() == [{"kernel release": "6.1", "iperf3": "aa", "ngtcp2": "bb"}]
    found.go(4)
    assert found.labels()["one"] == ["1a"] * 3 + ["1b"]
    assert found.changes()[0].split(": ", 1)[1].startswith("iperf3 at ssh://far: aa → cc;")


@pytest.mark.parametrize(
    "told", [None, [], {"name": 3, 4: "x", "qdisc": ["fq"], "mtu": None}, {"qdisc": "x" * 9999}]
)
def test_what_an_agent_tells_of_its_interface_is_texts_and_numbers_or_nothing(told):
    found = EndEnvironment({}, {}).with_interface(told)
    assert all(isinstance(text, str) and len(text) <= 200 for text in found.identity.values())


@pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip (iproute2)")
def test_the_kernel_names_the_queue_of_an_interface_as_ip_does():
    shown = json.loads(subprocess.run(["ip", "-j", "link", "show"], capture_output=True, check=True).stdout)
    assert shown
    for each in shown:
        facts = interface_facts(each["ifname"])
        assert facts == {"name": each["ifname"], "mtu": each["mtu"], "qdisc": each["qdisc"]}
    assert interface_facts("no such one") == {"name": "no such one"}


def test_comparisons_say_whose_trials_ran_before_and_after_a_change(tmp_path):
    """Values of both are compared together; nobody is to take that for one condition."""

    def course(path, number):
        after = path == "one" and number > 2
        value = Samples(np.array([float(number)]))
        return {"condition": condition(63 if after else 64, path=path), "samples": {"resource:wall": value}}

    found = Course(tmp_path, 4, course)
    ledger = found.run.directory.ledger()
    asked = read_experiment(tmp_path / "experiment.toml")
    assert asked.metrics[0].source.key == "resource:wall"
    trials = read_trial_set(asked, found.run.directory, ledger)
    analysis = analyse_directory(asked, found.run.directory, ledger, overview=True)
    ledger.close()
    (note,) = [each for each in trials.notes if "count together" in each]
    assert note.startswith("path=one: trials before and after a change count together")
    assert "path changed: one: TTL at local: 64 → 63" in note
    first = next(row.number for row in found.run.rows() if row.factors["path"] == "one" and row.round == 3)
    assert f"series begin: 1a with trial 1, 1b with trial {first}" in analysis.notes


def test_what_differs_between_ends_of_two_directories_is_named_and_what_passes_is_not():
    def record(release, load):
        end = {"kernel": {"release": release}, "machine": {"load": load, "boot_id": str(load), "memory": 1}}
        return facts_of({"ends": {"ssh://far.example.org": end}})

    (found,) = differences([record("6.1", [0.1, 0.2, 0.3])], [record("6.5", [3.0, 2.0, 1.0])])
    assert (found.name, found.a, found.b) == (
        "ends.ssh://far.example.org.kernel.release",
        ("6.1",),
        ("6.5",),
    )


def test_settings_that_trials_change_themselves_are_not_compared():
    """A root's first flow with bbr loads its module, and the kernel then lists it among the allowed laws."""
    told = {
        "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
        "net.ipv4.tcp_congestion_control": "cubic",
        "net.ipv4.tcp_allowed_congestion_control": "reno cubic bbr",
        "net.ipv4.tcp_mem": "1 2 3",
        "vm.swappiness": "60",
    }
    assert network_settings(told) == {
        "net.ipv4.tcp_wmem": "4096 16384 4194304",
        "net.ipv4.tcp_congestion_control": "cubic",
    }


# Routes that change by design


def over_satellites(path, number):
    """A path whose route is another in each round, beside one that stays."""
    samples = {"resource:wall": Samples(np.array([float(number)]))}
    if path != "one":
        return {"condition": condition(path=path), "samples": samples}
    within = "the lowest round trip changed (20 ms → 25 ms)" if number == 2 else ""
    found = condition(60 + number % 2, 20.0 + 5 * number, changed_within=within, is_expected=True)
    return {"condition": found, "samples": samples}


def test_a_route_that_changes_by_design_begins_no_series_and_is_told_everywhere(tmp_path):
    found = Course(tmp_path, 4, over_satellites)
    assert found.labels() == {"one": ["1"] * 4, "other": ["1"] * 4}
    assert found.changes() == []
    told = (
        "one: TTL at local 60, 61; lowest round trip 25 to 40 ms; changes within 1 trial, "
        "as expected of it: its trials form one series"
    )
    assert [describe(event) for event in found.told][-1] == f"the path has changed: {told}"
    ledger = found.run.directory.ledger()
    asked = read_experiment(tmp_path / "experiment.toml")
    assert told in read_trial_set(asked, found.run.directory, ledger).notes
    assert told in analyse_directory(asked, found.run.directory, ledger, overview=True).notes
    ledger.close()
    found.go(5)
    assert found.told[-1].text == told.replace("40 ms", "45 ms"), "what was known is kept over a new start"


def test_an_experiment_that_stops_by_itself_says_that_its_route_changes(tmp_path):
    text = FILE.replace("[design]", 'stop = { precision = "5%" }\n[design]')
    text = text.replace("rounds = ROUNDS\n", "pilot = 4\nmax_trials = 12\n")
    run = FakeRun(
        tmp_path,
        text.replace("SERIES", "1"),
        script=lambda request: over_satellites(request.factors["path"], request.round),
    )
    run.go()
    (told,) = [each for each in stopping_state(run.directory).warnings if "as expected of it" in each]
    assert told.startswith("one: TTL at local 60, 61; lowest round trip ")


def test_other_machines_at_the_ends_of_such_a_path_do_begin_a_series():
    before = condition(63, machines=machine(), is_expected=True)
    (change,) = condition(64, 40.0, machines=machine(qdisc="fq"), is_expected=True).changes(
        condition(63, machines=machine(qdisc="fq_codel"), is_expected=True)
    )
    assert change.text == "qdisc at ssh://far: fq_codel → fq"
    assert not list(condition(64, 40.0, machines=machine(), is_expected=True).changes(before))


@pytest.mark.parametrize("wrong", ["{", "[]", '{"ends": ["a", "b"]}'])
def test_moves_that_cannot_be_read_are_said(wrong):
    with pytest.raises(StoreError, match="moves of path one that cannot be read"):
        list(moves_in({"moves of path one": wrong, "name": "other"}))
