"""What is kept of flow lists that a cheap engine simulated, beside an experiment."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class KeptLists:
    """The lists of one engine and treatment: what each list adds to each metric's control, None where it has no value.

    `levels` are those of the controls by metric. `drawn` are lists that no trial had, in their order; `rounds` those of trials, by
    "series round". `seconds` are those of the clock that a list took, drawn and simulated, in the mean over `timed` of them, and
    `pilot_seconds` are these when a pilot asked first; 0 if none did.
    """

    levels: list[float] = field(default_factory=list[float])
    drawn: list[list[float | None]] = field(default_factory=list[list[float | None]])
    rounds: dict[str, list[float | None]] = field(default_factory=dict[str, list[float | None]])
    seconds: float = 0.0
    timed: int = 0
    pilot_seconds: float = 0.0
