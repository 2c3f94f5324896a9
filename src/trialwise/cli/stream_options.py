"""Shared parts of the commands of `trialwise stream`: their parameters, the destination of samples, and when to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.errors import PlanError

if TYPE_CHECKING:
    from trialwise.measurement.points import Client

Command = Annotated[str, Parameter(allow_leading_hyphen=True)]
Oml = Annotated[tuple[str, ...], Parameter(name="--oml", show=False)]
Flag = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]


@contextmanager
def until_stopped() -> Generator[Callable[[], bool]]:
    """Yield a function that returns True once INT or TERM has arrived."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def duration(option: str, text: str) -> float:
    """Parse the duration of an option in seconds."""
    from trialwise.experiment.quantity import seconds

    try:
        value = seconds(text)
    except ValueError as error:
        raise PlanError(f"{option} {text}: {error}") from error
    if value <= 0:
        raise PlanError(f"{option} {text}: longer than nothing", hint='write it as in "100ms" or "10s"')
    return value


def client_of(program: str, oml: Sequence[str]) -> Client:
    """Return a client of this name, configured with the destination of samples."""
    from trialwise.measurement.adapters.fields import field_names
    from trialwise.measurement.points import Client
    from trialwise.measurement.stream_options import says_where

    if not says_where(oml):
        raise PlanError(
            "no destination for samples was given",
            hint="give --oml-collect native:HOST:PORT or file:PATH, or set OML_COLLECT; inside a trial, [measurement] does",
        )
    words = [sys.argv[0], *oml]
    try:
        return Client(field_names([program])[0], arguments=words)
    except ValueError as error:
        raise PlanError(str(error)) from error
