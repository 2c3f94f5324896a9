"""Read one number, or all numbers, by a regular expression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import PlanError, TrialError
from trialwise.measurement.numbers import number, quote
from trialwise.measurement.samples import Samples

if TYPE_CHECKING:
    from trialwise.measurement.reported import Reported


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile an expression with one group, or one named ``value``; ``^`` and ``$`` match at each line.

    Raises
    ------
    PlanError
        The text is not a regular expression, or does not say which group holds the number.
    """
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise PlanError(
            f"{pattern!r} is not a regular expression: {error}", hint="see docs.python.org/3/library/re"
        ) from error
    if "value" not in compiled.groupindex and compiled.groups != 1:
        raise PlanError(
            f"{pattern!r} has {compiled.groups} groups: which holds the number?",
            hint="put the number, and nothing else, into (…), or name its group: (?P<value>…)",
        )
    return compiled


def read_pattern(reported: Reported, pattern: str) -> Samples:
    """Find the one number that `pattern` matches.

    Raises
    ------
    PlanError
        The pattern is invalid (see `compile_pattern`).
    TrialError
        It matches nowhere or more than once, or its group does not hold a finite number.
    """
    compiled, text = compile_pattern(pattern), _text(reported)
    matches = [match for match, _ in zip(compiled.finditer(text), range(4), strict=False)]
    if len(matches) != 1:
        raise _not_one(reported, compiled, matches, text)
    found = _group(matches[0], reported)
    return Samples(np.array([number(found, f"{reported.where}, line {_line(matches[0], text)},")]))


def read_patterns(reported: Reported, pattern: str) -> Samples:
    """Find all numbers that `pattern` matches, in the order of the text; raises as `read_pattern`, but for several matches."""
    compiled, text = compile_pattern(pattern), _text(reported)
    values: list[float] = []
    line, seen = 1, 0
    for match in compiled.finditer(text):
        line, seen = line + text.count("\n", seen, match.start()), match.start()
        values.append(number(_group(match, reported), f"{reported.where}, line {line},"))
    if not values:
        raise _not_one(reported, compiled, [], text)
    return Samples(np.array(values))


def _text(reported: Reported) -> str:
    reported.require_content()
    return reported.data.decode(errors="replace")


def _group(match: re.Match[str], reported: Reported) -> str:
    """Return the text of the group that holds the number."""
    found: str | None = match.group("value" if "value" in match.re.groupindex else 1)
    if found is None:
        raise TrialError(
            f"in {reported.where}, {match.re.pattern!r} matches {quote(match.group())} without its group",
            hint="make the group that holds the number obligatory",
        )
    return found


def _not_one(
    reported: Reported, pattern: re.Pattern[str], matches: list[re.Match[str]], text: str
) -> TrialError:
    if not matches:
        if "\0" in text:
            return reported.not_text(reported.data.index(0))
        return TrialError(
            f"{reported.where} has no match for {pattern.pattern!r}; {_ends(text)}",
            hint="try the pattern on what the program prints",
        )
    places = "; ".join(f"line {_line(match, text)}: {quote(match.group())}" for match in matches[:3])
    more = ", and more" if len(matches) > 3 else ""
    return TrialError(
        f"{reported.where} has more than one match for {pattern.pattern!r}: {places}{more}",
        hint='make it match once (^ and $ match at each line), or take every match as a sample: matches = "all"',
    )


def _ends(text: str) -> str:
    lines = (text.rstrip() or text).split("\n")
    return f"its last line, {len(lines)}, is {quote(lines[-1])}"


def _line(match: re.Match[str], text: str) -> int:
    return text.count("\n", 0, match.start()) + 1
