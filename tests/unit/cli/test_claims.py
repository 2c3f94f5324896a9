"""The table of claims in the terminal: nothing is cut off, and nothing is said twice."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from trialwise.analysis.stopping.results import ClaimState
from trialwise.cli.claims import show_claims
from trialwise.study.documents import StoppingDocument

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


def _shown(*claims: ClaimState, width: int = 80) -> str:
    written = io.StringIO()
    state = StoppingDocument(
        "geometric", "looking", False, None, 6, None, 900, 1.0, None, "", claims, (), lifts=None
    )
    show_claims(Console(file=written, width=width, color_system=None, force_terminal=True), state)
    return written.getvalue()


def test_a_narrow_terminal_cuts_off_no_name() -> None:
    printed = _shown(CLAIM)
    assert "…" not in printed
    assert "scheme=timely" in printed


def test_a_narrow_terminal_has_what_is_asked_over_the_claims_and_the_trials_below_each() -> None:
    known = replace(
        CLAIM, subject="scheme=hpcc", state="decided", wanted=300, wanted_low=250, wanted_high=400
    )
    other = replace(CLAIM, metric="p99", what="p99 of all samples", wanted=9, wanted_low=7, wanted_high=12)
    lines = _shown(CLAIM, known, other, width=80).splitlines()
    assert lines[:8] == [
        "trial_p99_9: mean over trials of each one's p99.9 ±8 %",
        "  scheme=timely  open    2.887 to 3.358 ms  ± 0.24 ms (7.7 %)",
        "    305 trials, 24 looks",
        "  scheme=hpcc    narrow  2.887 to 3.358 ms  ± 0.24 ms (7.7 %)",
        "    305 trials, 24 looks",
        "p99: p99 of all samples ±8 %",
        "  scheme=timely  open  2.887 to 3.358 ms  ± 0.24 ms (7.7 %)",
        "    305 of about 9 trials (7 to 12), 24 looks",
    ]


def test_a_wide_terminal_has_a_row_for_each_claim() -> None:
    row = "trial_p99_9 scheme=timely mean over trials of each one's p99.9 ±8 % open 2.887 to 3.358 ms 0.24 ms (7.7 %)"
    lines = [" ".join(line.split()) for line in _shown(CLAIM, width=150).splitlines()]
    assert lines[:2] == ["claim asked known interval ± n", f"{row} 305 trials, 24 looks"]


def test_what_all_claims_have_in_common_is_said_once() -> None:
    others = [replace(CLAIM, subject=f"scheme={name}") for name in ("dctcp", "hpcc")]
    assert _shown(CLAIM, *others).count("the first look is") == 1
    assert "\nthe first look is" in _shown(CLAIM, *others)


def test_what_some_claims_have_in_common_is_said_once_with_whose_it_is() -> None:
    others = [replace(CLAIM, subject="scheme=dctcp"), replace(CLAIM, subject="scheme=hpcc", note="")]
    printed = " ".join(_shown(CLAIM, *others).split())
    assert "trial_p99_9 scheme=timely, trial_p99_9 scheme=dctcp: the first look is" in printed
