"""What `run` and `status` say of claims: nothing is cut off, and nothing is said twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trialwise.analysis.stopping.results import ClaimState
from trialwise.report.documents.status import document, ended_document
from trialwise.report.render.terminal import terminal
from trialwise.store.records import Event, NodeDocument
from trialwise.study.documents import (
    FailureDocument,
    RunDocument,
    StatusDocument,
    StoppingDocument,
    WorkerDocument,
)

CLAIM = ClaimState(
    kind="metric",
    metric="trial_p99_9",
    unit="s",
    subject="scheme=timely",
    what="mean over trials of each one's p99.9",
    asked="±8 %",
    state="open",
    verdict=None,
    estimate=3.1e-3,
    low=2.887e-3,
    high=3.358e-3,
    width=0.24e-3,
    target=0.25e-3,
    n=(305,),
    wanted=None,
    level="trial",
    confidence=95,
    method="Student's t",
    note="the first look is at 30 trials",
    looks=24,
)
KNOWN = replace(CLAIM, subject="scheme=hpcc", state="decided", wanted=300, wanted_low=250, wanted_high=400)
OTHER = replace(CLAIM, metric="p99", what="p99 of all samples", wanted=9, wanted_low=7, wanted_high=12)


def stopping(*claims: ClaimState, **values: object) -> StoppingDocument:
    state = StoppingDocument(
        "geometric", "looking", False, None, 6, None, 900, 1.0, None, "", claims, (), lifts=None
    )
    return replace(state, **values)  # type: ignore[arg-type]


def status(**values: object) -> StatusDocument:
    known = StatusDocument(
        name="e",
        planned=4,
        done=3,
        active=False,
        activity="complete",
        seconds_left=None,
        counts={"finished": 3, "planned": 1},
        treatments={"a": {"finished": 3, "planned": 1}},
        failures=[],
        events=[],
    )
    return replace(known, **values)  # type: ignore[arg-type]


def lines(found: StatusDocument, width: int | None = None, failed: int = 0) -> list[str]:
    return ["".join(span.text for span in line) for line in terminal(document(found, failed), width)]


def rows(*claims: ClaimState, width: int | None = None) -> list[str]:
    return [" ".join(line.split()) for line in lines(status(stopping=stopping(*claims)), width)]


@pytest.mark.parametrize("width", [80, 120, None])
def test_what_is_asked_stands_over_the_claims_of_which_it_is_asked(width: int | None) -> None:
    found = rows(CLAIM, KNOWN, OTHER, width=width)
    assert found.count("trial_p99_9: mean over trials of each one's p99.9 ±8 %") == 1
    assert found.count("p99: p99 of all samples ±8 %") == 1


def test_a_claim_has_its_interval_its_trials_and_what_is_forecast() -> None:
    found = rows(CLAIM, KNOWN, OTHER)
    assert "known interval ± trials looks" in found
    assert "scheme=timely open 2.887 to 3.358 ms 0.24 ms (7.7 %) 305 24" in found
    assert "scheme=hpcc narrow 2.887 to 3.358 ms 0.24 ms (7.7 %) 305 24" in found, (
        "what is known needs no more"
    )
    assert "scheme=timely open 2.887 to 3.358 ms 0.24 ms (7.7 %) 305 9 (7 to 12) 24" in found


def test_a_narrow_terminal_cuts_off_no_name_and_no_number() -> None:
    found = " ".join(rows(CLAIM, OTHER, width=60))
    assert "…" not in found
    for piece in ("scheme=timely", "2.887", "3.358", "0.24 ms", "305", "9 (7 to 12)", "24"):
        assert piece in found


def test_what_all_claims_have_in_common_is_said_once() -> None:
    others = [replace(CLAIM, subject=f"scheme={name}") for name in ("dctcp", "hpcc")]
    assert rows(CLAIM, *others).count("the first look is at 30 trials") == 1


def test_what_some_claims_have_in_common_is_said_once_with_whose_it_is() -> None:
    others = [replace(CLAIM, subject="scheme=dctcp"), replace(CLAIM, subject="scheme=hpcc", note="")]
    said = "trial_p99_9 scheme=timely, trial_p99_9 scheme=dctcp: the first look is at 30 trials"
    assert said in rows(CLAIM, *others)


def test_the_outlook_stands_below_the_answer() -> None:
    found = lines(status(stopping=stopping(CLAIM, rounds=10, forecast=30, seconds=20.0, most=40)))
    assert found[:2] == [
        "e: 3 of 4 trials have come to an end; complete",
        "  10 rounds done; about 30 (at most 40), 40s left",
    ]
    assert lines(status(seconds_left=90.0))[1] == "  at the pace so far the rest takes 1min 30s"
    ended = stopping(KNOWN, decided=True, reason="everything asked for is known (1 claim)")
    assert lines(status(stopping=ended))[1] == "  stopped: everything asked for is known (1 claim)"


def test_what_happened_beside_the_trials_is_said() -> None:
    found = lines(
        status(
            counts={"finished": 3, "failed": 2},
            failures=[FailureDocument(2, 1, "a", "failed", "exit 3")],
            events=[Event(0.0, "reset", "done"), Event(0.0, "reset", "done"), Event(0.0, "clock", "it leapt")],
            nodes=[NodeDocument("n1", 0, 7), NodeDocument("n2", 1, 8)],
            workers=[WorkerDocument("ssh://a", 2, 2, 0, (), ""), WorkerDocument("ssh://b", 1, 1, 1, (), "round 2")],
        ),
        failed=1,
    )  # fmt: skip
    said = "\n".join(found)
    for text in (
        "these trials took 5 attempts, which are counted below",
        "trial 2.1 a failed: exit 3",
        "resets: 2",
        "clock: it leapt",
        "node n1: gone, 7 trials computed in the last run",
        "node n2: 1 core, 8 trials computed in the last run",
        "worker ssh://b: 1 trial done, 1 left (round 2)",
        "--workers ssh://a,ssh://OTHER",
    ):
        assert text in said


def test_trials_that_are_to_be_run_are_no_attempts() -> None:
    """Each has a row in the ledger; of ten trials one was abandoned once, and four finished."""
    counts = {"finished": 4, "abandoned": 1, "planned": 6}
    assert "  these trials took 5 attempts, which are counted below" in lines(
        status(counts=counts, planned=10, done=4)
    )
    run = RunDocument("e.results", "interrupted", "stopped", counts)  # type: ignore[arg-type]
    first, *_ = terminal(ended_document(run, trials=10, failed=0, tails=(), workers=()), None)
    assert "5 attempts at 10 trials: 1 abandoned, 4 finished, 6 planned" in "".join(
        span.text for span in first
    )


@pytest.mark.parametrize(
    ("ending", "failed", "state", "outcome"),
    [
        ("complete", 0, None, "good"),
        ("complete", 1, None, "bad"),
        ("interrupted", 0, None, "open"),
        ("worker lost", 0, None, "bad"),
        ("stopped", 0, stopping(CLAIM), "open"),
        ("stopped", 0, stopping(KNOWN, decided=True), "good"),
    ],
)
def test_the_mark_of_an_ended_run_is_that_of_its_exit_code(
    ending: str, failed: int, state: StoppingDocument | None, outcome: str
) -> None:
    run = RunDocument("e.results", ending, "why", {"finished": 3, "failed": failed}, state)  # type: ignore[arg-type]
    found = ended_document(run, trials=3, failed=failed, tails=(), workers=())
    assert found.answer.outcome == outcome


@pytest.mark.parametrize(("retried", "says"), [(1, "--again tries them again"), (2, "all were tried again")])
def test_another_attempt_is_proposed_unless_all_had_several(retried: int, says: str) -> None:
    run = RunDocument("e.results", "complete", "why", {"failed": 5})
    found = ended_document(run, trials=2, failed=2, retried=retried, tails=(), workers=())
    said = "\n".join("".join(span.text for span in line) for line in terminal(found, None))
    assert f"e.results/logs; {says}" in said


def test_advice_stands_below_how_a_run_ended() -> None:
    run = RunDocument("e.results", "complete", "all done\ntry this", {"finished": 3})
    found = ended_document(run, trials=2, failed=0, tails=("a remark",), workers=())
    assert ["".join(span.text for span in line) for line in terminal(found, None)] == [
        "complete: all done (3 attempts at 2 trials: 3 finished)",
        "  try this",
        "! a remark",
        "next: trialwise analyze e.results  ·  trialwise report e.results",
    ]
