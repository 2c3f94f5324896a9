"""How two sides differ: ranks by the table of what matters, unknown apart from equal, and both directions alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trialwise.analysis.diff import ResultsDiff, Side, diff
from trialwise.analysis.environments import facts_of, plan_facts
from trialwise.analysis.influences import influence_of
from trialwise.report.documents.diff import document
from trialwise.report.render.terminal import terminal

NONE = ResultsDiff({}, "not asked")
NAMES = (
    "plan.design.rounds",
    "program.work.py",
    "library.libc",
    "processor.model",
    "machine.boot_id",
    "processor.governor",
    "kernel.release",
    "variable.LANG",
    "ends.ssh://far.kernel.release",
    "something.else",
)
FACTS = some.dictionaries(some.sampled_from(NAMES), some.sampled_from(("1", "2", "hidden 3")), min_size=1)
SIDES = some.builds(
    lambda environments, plan, study: Side("x", tuple(environments), plan, study),
    some.lists(FACTS, min_size=1, max_size=3),
    some.none() | some.just({"plan.seed": "1"}),
    some.sampled_from(("measured", "path", "computed")),
)


@given(SIDES)
def test_a_side_does_not_differ_from_itself(side):
    found = diff(side, side, NONE)
    assert (found.differences, found.unknown) == ((), ())


@given(SIDES, SIDES)
def test_both_directions_find_the_same(a, b):
    there, back = diff(a, b, NONE), diff(b, a, NONE)
    for one, other in ((there.differences, back.differences), (there.unknown, back.unknown)):
        assert [(each.name, each.a, each.b, each.rank) for each in one] == [
            (each.name, each.b, each.a, each.rank) for each in other
        ]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("plan.trial.command", 1),
        ("program.server", 1),
        ("git.commit", 1),
        ("processor.model", 2),
        ("processor.smt", 2),
        ("machine.memory", 2),
        ("machine.virtual_machine", 3),
        ("machine.boot_id", 3),
        ("processor.governor", 4),
        ("processor.turbo", 4),
        ("machine.load", 5),
        ("limit.cpus_allowed", 6),
        ("kernel.transparent_huge_pages", 6),
        ("machine.swap", 6),
        ("kernel.sysctls.net.ipv4.tcp_rmem", 7),
        ("kernel.release", 8),
        ("kernel.sysctls.kernel.timer_migration", 8),
        ("library.libc", 9),
        ("python", 9),
        ("variable.LANG", 10),
        ("kernel.aslr", 10),
        ("kernel.clock_source", 11),
        ("machine.memory_channels", 2),
        ("devices.disk.model", 2),
        ("devices.gpu.models", 2),
        ("devices.network.1.driver", 2),
        ("machine.steal", 3),
        ("processor.idle_states", 4),
        ("processor.energy_bias", 4),
        ("machine.interrupts_cpus", 5),
        ("machine.numa_distances", 6),
        ("machine.huge_pages", 6),
        ("limit.group_cpuset.mems", 6),
        ("devices.network.1.offload_tso", 7),
        ("devices.network.loopback.qdisc", 7),
        ("kernel.mitigations.meltdown", 8),
        ("devices.file_system.options", 8),
        ("devices.disk.scheduler", 8),
        ("libc", 9),
        ("runtime.java", 9),
        ("distribution", 9),
        ("layout.variables_bytes", 10),
        ("clock.time_zone", 11),
        ("ends.ssh://far.example.org.devices.network.1.mtu", 7),
        ("ends.ssh://far.example.org.runtime.java", 9),
        ("variable.TZ", 11),
        ("ends.ssh://far.example.org.kernel.sysctls.net.ipv4.tcp_rmem", 7),
        ("ends.ssh://far.example.org.programs.iperf3", 1),
    ],
)
def test_ranks_are_those_of_the_published_table(name, rank):
    assert influence_of(name).rank == rank


def test_over_a_path_the_network_matters_like_hardware_and_for_computed_trials_the_machine_not_at_all():
    assert influence_of("kernel.sysctls.net.ipv4.tcp_rmem", "path").rank == 2
    assert influence_of("processor.model", "computed") is None
    assert influence_of("build.core", "computed").rank == 1


def test_what_one_side_did_not_record_is_unknown_and_what_a_plan_leaves_out_is_not_set():
    plan = {"design": {"rounds": 3}}
    a = Side("a", ({"processor.turbo": "True"},), plan_facts({**plan, "warmup": "1s"}), "measured")
    b = Side("b", ({"processor.model": "EPYC"},), plan_facts(plan), "measured")
    found = diff(a, b, NONE)
    assert [(one.name, one.a, one.b) for one in found.differences] == [("plan.warmup", ("1s",), ())]
    assert {one.name for one in found.unknown} == {"processor.turbo", "processor.model"}


def test_a_secret_that_each_machine_hides_its_own_way_is_unknown():
    sides = [
        Side(
            name,
            (facts_of({"fingerprint": {"environment": {"API_KEY": f"hidden {name}"}}}),),
            None,
            "measured",
        )
        for name in "ab"
    ]
    found = diff(*sides, NONE)
    assert (found.differences, [one.name for one in found.unknown]) == ((), ["variable.API_KEY"])


def test_further_facts_stand_beside_the_others_here_and_at_ends_and_are_unknown_in_older_records():
    own = {"processor.idle_states": "POLL, C6", "libc": "glibc 2.36"}
    whole = facts_of(
        {
            "processor": {"model": "EPYC"},
            "details": own,
            "ends": {"ssh://far": {"details": own, "python": "3.8"}},
        }
    )
    at_end = {f"ends.ssh://far.{name}": text for name, text in own.items()}
    assert whole == {"processor.model": "EPYC", **own, **at_end, "ends.ssh://far.python": "3.8"}
    older = facts_of({"processor": {"model": "EPYC"}})
    found = diff(Side("a", (whole,), None, "measured"), Side("b", (older,), None, "measured"), NONE)
    assert found.differences == ()
    assert {one.name for one in found.unknown} == {*own, *at_end, "ends.ssh://far.python"}


def record(memory, load, file, *, cpus=4):
    return {
        "machine": {"memory": memory, "load": [load, 0, 0]},
        "processor": {"cpus": cpus},
        "executables": [{"name": file[0], "path": "/x", "sha256": file[1], "role": file[2]}],
        "fingerprint": {},
    }


def test_memory_load_and_files_are_compared_as_far_as_they_mean_something():
    """A few MiB that the kernel took at boot, a load that moved a little, and a folder, are no differences."""
    a = facts_of(record(16 << 30, 0.1, ("/home/a/libx.so.1.2", "aa", "library")))
    assert a == facts_of(record((16 << 30) + (20 << 20), 0.3, ("/usr/lib/libx.so.1", "aa", "library")))
    b = facts_of(record(8 << 30, 18, ("/home/a/libx.so.1.2", "bb", "library")))
    assert {name for name in a if a[name] != b[name]} == {"machine.memory", "machine.load", "library.libx"}


def test_the_first_screen_has_ranks_1_to_3_within_80_columns_and_no_control_characters():
    hostile = "\x1b[31m\u202e" + "x" * 50
    a = Side(
        "a" * 60, ({"processor.model": hostile, "kernel.aslr": "2", "z": "1"},), {"plan.x": "1"}, "measured"
    )
    b = Side("b" * 60, ({"processor.model": "y" * 50, "kernel.aslr": "0"},), {"plan.x": "2"}, "measured")
    found = diff(a, b, NONE)
    lines = ["".join(span.text for span in line) for line in terminal(document(found), 80)]
    text = "\n".join(lines)
    assert all(len(line) <= 80 for line in lines if " " in line.strip())
    assert ("plan.x: 1 | 2" in text, "kernel.aslr" in text, "1 of rank 10" in text) == (True, False, True)
    assert "kernel.aslr" in "".join(
        span.text for line in terminal(document(found, full=True), 80) for span in line
    )
    assert "\x1b" not in text
    assert "\u202e" not in text
