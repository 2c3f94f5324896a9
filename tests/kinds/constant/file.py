"""What the kind adds to the experiment file: its table, and where metrics come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import Written, WrongValueError, key
from trialwise.experiment.file.values import Text
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.placeholders import fill, names_in
from trialwise.experiment.problems import Problems
from trialwise.experiment.simulation import KIND
from trialwise.experiment.traits import Source, Traits, Trial


def _sum(text: str) -> str:
    total(fill(text, dict.fromkeys(names_in(text), 0)))
    return text


def total(text: str) -> float:
    """The sum that a text is, such as ``2 + 0.5``."""
    try:
        return sum(float(term) for term in text.split("+"))
    except ValueError as error:
        raise WrongValueError(f"{text!r} is no sum of numbers", 'as in number = "{a} + 0.5"') from error


@dataclass(frozen=True, slots=True)
class ConstantSource(Source):
    """The number itself, or its square."""

    value: Literal["number", "square"] = "number"

    @property
    def key(self) -> str:
        return f"constant:{self.value}"

    def written(self, name: str) -> dict[str, Any]:
        return {"value": None if self.value == "number" else self.value}


@dataclass(frozen=True, slots=True)
class ConstantTrial(Trial):
    """A number that is computed from the factors."""

    number: Annotated[str, Written(Text, _sum)] = key(
        ...,
        "What the number is: numbers and factors with a + between them.",
        "{a} + 0.5",
        missing='write number = "{a} + 0.5"',
        stand_in="0",
        filled=True,
    )
    kind: Literal["constant"] = key("constant", KIND, required=True)

    places = "trial.number"
    takes = frozenset({"value"})
    analyses = "constant.results:analyse"
    words = "constant.results:ConstantWords"

    @property
    def traits(self) -> Traits:
        return Traits(runs="constant.run:ConstantKind", computed=True, random=False)

    @property
    def summary(self) -> str:
        return f"the number {self.number}"

    def source(self, key: Key, table: MetricTable, problems: Problems) -> Source:
        match table.value:
            case None | "number":
                return ConstantSource()
            case "square":
                return ConstantSource("square")
            case other:
                problems.add((*key, "value"), f"{other!r} is neither number nor square")
                return ConstantSource()
