"""What the kernel counts for the whole machine, read from made-up and real files."""

import os

from trialwise.measurement.interrupts import MachineCounts, read_machine_counts

STAT = """cpu  10 0 10 900 5 0 1 {steal} 0 0
cpu0 5 0 5 450 5 0 1 1 0 0
intr {intr} 0 0 3
ctxt 700
btime 1
processes 90
softirq 44 1 2
"""
INTERRUPTS = """           CPU0       CPU2
  1:         {a}          0   IO-APIC   1-edge      i8042
LOC:         10         {b}   Local timer interrupts
ERR:          7
"""


def write(root, **numbers):
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/stat").write_text(STAT.format(**numbers))
    (root / "proc/interrupts").write_text(INTERRUPTS.format(**numbers))
    return read_machine_counts(root)


def test_differences_are_taken_by_name_and_of_the_cpus_that_are_pinned_to(tmp_path):
    before = write(tmp_path, steal=100, intr=1000, a=5, b=20)
    after = write(tmp_path, steal=150, intr=1300, a=6, b=27)
    assert before.by_cpu == {0: 15, 2: 20}
    found = after.since(before, [2])
    assert found.pop("machine_steal") * os.sysconf("SC_CLK_TCK") == 50
    assert found == {
        "machine_interrupts": 300, "machine_switches": 0, "machine_forks": 0, "machine_softirqs": 0,
        "cpus_interrupts": 7,
    }  # fmt: skip
    assert after.since(before, [0, 2])["cpus_interrupts"] == 8
    assert "cpus_interrupts" not in after.since(before, [])
    assert "cpus_interrupts" not in after.since(before, [1])


def test_what_is_absent_is_left_out(tmp_path):
    assert read_machine_counts(tmp_path) == MachineCounts({}, {})


def test_this_machine_counts():
    before = read_machine_counts()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    found = read_machine_counts().since(before, sorted(os.sched_getaffinity(0)))
    assert found["machine_forks"] >= 1
    assert all(value >= 0 for value in found.values())
