"""What is said while a trial is simulated."""

from __future__ import annotations

from trialwise.cli.simulation_progress import SimulationProgress


def test_the_time_left_goes_by_the_packets_that_have_been_sent():
    said, times = list[str](), iter([10.0, 14.0, 18.0])
    progress = SimulationProgress(said.append, lambda: next(times))
    progress(1_000_000_000, 80_000, 1)
    progress(3_000_000_000, 60_000, 1)
    progress(5_000_000_000, 40_000, 1)
    assert said == [
        "simulating: 1ms, 1 flow has not ended",
        "simulating: 3ms, 1 flow has not ended, about 12s left",
        "simulating: 5ms, 1 flow has not ended, about 8s left",
    ]


def test_a_trial_of_seconds_is_told_in_seconds():
    said = list[str]()
    SimulationProgress(said.append)(15_400_000_000_000, 5, 1)
    assert said == ["simulating: 15.4s, 1 flow has not ended"]
