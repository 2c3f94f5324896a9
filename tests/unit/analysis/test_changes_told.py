"""What changed on workers is told once, with their names."""

from trialwise.analysis.context import changes_text
from trialwise.store.records import ENVIRONMENT_CHANGED, Event, on_worker

KERNEL = "kernel: 6.1.0 → 6.1.2"


def test_the_same_change_of_several_workers_is_told_once_and_names_them():
    texts = [on_worker(KERNEL, "ssh://w1"), on_worker(KERNEL, "ssh://w2"), KERNEL, "cpus: 2 → 4 (of 8)"]
    events = [Event(at, ENVIRONMENT_CHANGED, text) for at, text in enumerate(texts)]
    assert changes_text([*events, *events]) == [
        f"environment changed: {KERNEL} (on ssh://w1, ssh://w2)",
        "environment changed: cpus: 2 → 4 (of 8)",
    ]
    assert changes_text(events[2:3]) == [f"environment changed: {KERNEL}"]
