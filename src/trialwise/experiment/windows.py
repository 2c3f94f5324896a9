"""Times of day between which trials may run, as the experiment file writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from trialwise.experiment.file.sections import Limits, Written, WrongValueError
from trialwise.experiment.file.values import Text

_TIMES = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])\s*[-–]\s*([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Between:
    """Two times of the local day, in minutes after midnight; where the second is not later, it is one of the next day."""

    opens: int
    closes: int

    @property
    def text(self) -> str:
        """Write it as the file does."""
        return "-".join(f"{minute // 60:02d}:{minute % 60:02d}" for minute in (self.opens, self.closes))


def _read(text: str) -> Between:
    found = _TIMES.fullmatch(text.strip())
    if found is None:
        raise WrongValueError(f"{text!r} is not two times of day", 'write them as in "22:00-06:00"')
    first, first_minute, second, second_minute = map(int, found.groups())
    between = Between(60 * first + first_minute, 60 * second + second_minute)
    if between.opens == between.closes:
        raise WrongValueError("begins and ends at the same time", "leave it out where trials may run all day")
    return between


BetweenTimes = Annotated[
    Between,
    Written(Text, _read, lambda between: between.text),
    Limits({"title": 'two times of day such as "22:00-06:00"'}),
]
