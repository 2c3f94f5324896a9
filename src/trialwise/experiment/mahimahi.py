"""Mahimahi's shells as links: `mm-delay 28 mm-loss uplink .004 mm-link UP DOWN -- COMMAND`, nested in any order and depth.

The words have the meaning that mahimahi's programs give them: the first shell is the outermost, an uplink packet meets the innermost
first; options may be anywhere before `--` or the command; byte counts are mahimahi's (opportunities of 1504 bytes, packets and byte
limits with 4 bytes more).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shutil import which
from typing import Literal

from trialwise.errors import PlanError
from trialwise.experiment.file.sections import WrongValueError
from trialwise.visible import visible

Direction = Literal["uplink", "downlink"]
Group = tuple[tuple[str, str], ...]
"""Keys and values of a link, as in `uplink = {…}` of a path."""
_DIRECTIONS: tuple[Direction, Direction] = ("uplink", "downlink")


@dataclass(frozen=True, slots=True)
class LinkLog:
    """A log requested from an mm-link.

    Attributes
    ----------
    direction
        The direction that it logs.
    path
        The log file.
    trace
        The trace of that direction.
    queue
        The queue as in mahimahi's header, such as ``droptail [packets=50]``.
    group
        The index of the mm-link among the groups of that direction.
    words
        The words of the mm-link, including what runs inside it.
    """

    direction: Direction
    path: str
    trace: str
    queue: str
    group: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shells:
    """The result of reading nested shells.

    Attributes
    ----------
    uplink, downlink
        Groups of pairs, in each direction in the order in which a packet meets them.
    once
        True if an mm-link ends with its trace (`--once`).
    logs
        The requested logs.
    command
        What runs inside; empty for an interactive shell.
    notes
        Accepted options without effect.
    """

    uplink: tuple[Group, ...]
    downlink: tuple[Group, ...]
    once: bool
    logs: tuple[LinkLog, ...]
    command: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Shell:
    """One shell: its group in each direction, if it has one, and the words that follow it."""

    rest: list[str]
    uplink: Group = ()
    downlink: Group = ()
    once: bool = False
    logs: tuple[tuple[Direction, str, str, str], ...] = ()
    notes: tuple[str, ...] = ()


def is_shell(word: str) -> bool:
    """Return True if a word is the name of one of mahimahi's shells that shape links."""
    return word in _SHELLS


def check_known(word: str) -> None:
    """Raise PlanError if a word looks like one of mahimahi's shells but is not supported.

    A program of that name that can be started is accepted.
    """
    if re.fullmatch(r"mm-[a-z-]+", word) and word not in _SHELLS and which(word) is None:
        raise PlanError(
            f"{word}: this is none of mahimahi's shells that are understood here, and no program that is there",
            hint=f"understood: {', '.join(_SHELLS)}",
        )


def read_shells(words: Sequence[str]) -> Shells:
    """Read the words of nested shells.

    The values themselves (loss rates, trace files) are checked when the link is built.

    Parameters
    ----------
    words
        The words of a command line, from the outermost shell on.

    Returns
    -------
    Shells
        The links of both directions, and the command.

    Raises
    ------
    PlanError
        Mahimahi itself would refuse the words, or a link cannot express them; the message is one line, whatever the words contain.
    """
    try:
        return _read(words)
    except PlanError as error:
        raise PlanError(visible(error.message), hint=error.hint and visible(error.hint)) from error


def path_shells(text: str) -> Shells:
    """Read the nested shells of a path of an experiment file, which runs no command and keeps its own log.

    Raises
    ------
    WrongValueError
        The text is no path, or has a command, a log or a link that ends.
    """
    try:
        shells = read_shells(shlex.split(text))
    except (PlanError, ValueError) as error:
        said = error.message if isinstance(error, PlanError) else f"{error}"
        raise WrongValueError(said, error.hint if isinstance(error, PlanError) else None) from error
    if shells.command:
        raise WrongValueError(
            f"{visible(shells.command[0])}: a command inside the path; the schemes run there",
            "leave it out, and name what runs in trial.scheme or trial.flows",
        )
    if shells.logs:
        raise WrongValueError(
            f"--{shells.logs[0].direction}-log: every trial keeps a log of its packets", "leave it out"
        )
    if shells.once:
        raise WrongValueError("--once: a trial ends with its runtime", "leave it out, and set trial.runtime")
    return shells


def _read(words: Sequence[str]) -> Shells:
    shells: list[_Shell] = []
    spoken: list[tuple[str, ...]] = []
    rest = list(words)
    while rest and rest[0] in _SHELLS:
        spoken.append(tuple(rest))
        shells.append(_SHELLS[rest[0]](rest[1:]))
        rest = shells[-1].rest
    if rest:
        check_known(rest[0])
    if not shells:
        raise PlanError(
            f"{' '.join(words[:1]) or 'nothing'}: this is none of mahimahi's shells",
            hint=f"known: {', '.join(_SHELLS)}",
        )
    return Shells(
        uplink=tuple(shell.uplink for shell in reversed(shells) if shell.uplink),
        downlink=tuple(shell.downlink for shell in shells if shell.downlink),
        once=any(shell.once for shell in shells),
        logs=tuple(log for place in range(len(shells)) for log in _logs(shells, place, spoken[place])),
        command=tuple(rest),
        notes=tuple(note for shell in shells for note in shell.notes),
    )


def _logs(shells: Sequence[_Shell], place: int, words: tuple[str, ...]) -> list[LinkLog]:
    groups = {
        "uplink": sum(bool(shell.uplink) for shell in shells[place + 1 :]),
        "downlink": sum(bool(shell.downlink) for shell in shells[:place]),
    }
    return [
        LinkLog(direction, path, trace, queue, groups[direction], words)
        for direction, path, trace, queue in shells[place].logs
    ]


def _delay(words: list[str]) -> _Shell:
    if not words or not re.fullmatch(r"\d+", words[0]):
        raise _wrong("mm-delay", words, "a whole number of milliseconds", "mm-delay 28")
    if len(words[0].lstrip("0")) > _DELAY_DIGITS:
        raise _wrong("mm-delay", words, "a delay below 1000000000 milliseconds", "mm-delay 28")
    group = (("delay", f"{words[0]}ms"),)
    return _Shell(_after(words[1:]), group, group)


def _loss(words: list[str]) -> _Shell:
    direction = _direction("mm-loss", words, "mm-loss uplink .004")
    share = _number("mm-loss", words, 1, "a share from 0 to 1", "mm-loss uplink .004")
    if share > 1:
        raise _wrong("mm-loss", words[1:], "a share from 0 to 1", f"mm-loss {direction} .004")
    text = _decimal(share)
    return _one_way(direction, _NOTHING_PASSES if text == "1" else ("loss", text), words[2:])


def _phases(name: str, kind: str) -> Callable[[list[str]], _Shell]:
    def read(words: list[str]) -> _Shell:
        example = f"{name} uplink 5 1"
        direction = _direction(name, words, example)
        times = (_number(name, words, place, "a time in seconds", example) for place in (1, 2))
        on, off = (_decimal(min(seconds, _FOR_EVER)) for seconds in times)
        if on == off == "0":
            raise PlanError(
                f"{name}: on and off are both 0, which is neither", hint=f"write one like {example}"
            )
        if off == "0":  # never off
            return _Shell(_after(words[3:]))
        pair = _NOTHING_PASSES if on == "0" else ("outage", f"{kind}:on={on}s,off={off}s")
        return _one_way(direction, pair, words[3:])

    return read


def _meter(words: list[str]) -> _Shell:
    _, others = _options("mm-meter", words, {}, _METERS[:2] + _SHORT_METERS)
    return _Shell(others, notes=("mm-meter: shows nothing here; `--log` keeps every packet",))


def _link(words: list[str]) -> _Shell:
    given, others = _options("mm-link", words, _LINK_VALUES, ("once", *_METERS))
    if len(others) < 2:
        raise _wrong("mm-link", others, "the traces of both ways", "mm-link UP.trace DOWN.trace -- COMMAND")
    traces = dict(zip(_DIRECTIONS, others[:2], strict=True))
    once = "once" in given
    queues = {way: _queue(way, given) for way in _DIRECTIONS}
    logs: list[tuple[Direction, str, str, str]] = [
        (way, given[f"{way}-log"], traces[way], queues[way][1])
        for way in _DIRECTIONS
        if f"{way}-log" in given
    ]
    meters = [name for name in given if name in _METERS]
    return _Shell(
        others[2:],
        *((("rate", _rate(traces[way], once=once)), ("queue", queues[way][0])) for way in _DIRECTIONS),
        once=once,
        logs=tuple(logs),
        notes=tuple(f"mm-link: --{name} shows nothing here; `--log` keeps every packet" for name in meters),
    )


_SHELLS: dict[str, Callable[[list[str]], _Shell]] = {
    "mm-delay": _delay,
    "mm-loss": _loss,
    "mm-onoff": _phases("mm-onoff", "exponential"),
    "mm-intermittent": _phases("mm-intermittent", "fixed"),
    "mm-link": _link,
    "mm-meter": _meter,
}
_LINK_VALUES = {"u": "uplink-log", "d": "downlink-log"} | {
    name: name for way in _DIRECTIONS for name in (f"{way}-log", f"{way}-queue", f"{way}-queue-args")
}
"""Options of mm-link that take a value, with their names."""
_METERS = ("meter-uplink", "meter-downlink", "meter-uplink-delay", "meter-downlink-delay", "meter-all")
_SHORT_METERS = ("u", "d")
_QUEUES = {
    "infinite": (),
    "droptail": (),
    "drophead": (),
    "codel": ("target", "interval"),
    "pie": ("qdelay_ref", "max_burst"),
}
"""Queues of mm-link, and the times in milliseconds that each requires."""
_OURS = {"qdelay_ref": "target"}
_LARGEST = 1e9
_DELAY_DIGITS = 9
_FOR_EVER = 1e7
"""In seconds: the longest phase of an outage, longer than any command runs."""
_NOTHING_PASSES = ("loss", "pattern:1")
"""mm-loss 1, and mm-onoff that is never on: legal, for a direction that is cut."""


def _rate(trace: str, *, once: bool) -> str:
    if "," in trace:
        raise PlanError(f"mm-link: the name of the trace {trace} has a comma", hint="rename the file")
    return f"trace:{trace},bytes=mahimahi" + (",repeat=no" if once else "")


def _queue(direction: Direction, given: dict[str, str]) -> tuple[str, str]:
    """Return a queue as written for a link, and as in mahimahi's log."""
    name, text = given.get(f"{direction}-queue", "infinite"), given.get(f"{direction}-queue-args", "")
    option = f"mm-link: --{direction}-queue"
    if name not in _QUEUES:
        raise PlanError(f"{option}={name}: there is no such queue", hint=f"known: {', '.join(_QUEUES)}")
    if name == "infinite":
        if text:
            hint = f"write --{direction}-queue=droptail --{direction}-queue-args={text}"
            raise PlanError(f"{option}-args={text}: the infinite queue takes none", hint=hint)
        return name, name
    limits = {key: value for key in ("bytes", "packets") if (value := _argument(text, key))}
    times = {key: _argument(text, key) for key in _QUEUES[name]}
    _check_arguments(f"{option}-args={text}", name, limits, times)
    ours = [f"{key}={value}" for key, value in limits.items()]
    ours += [f"{_OURS.get(key, key)}={value}ms" for key, value in times.items()]
    shown = [f"{key}={value}" for key, value in (limits | times).items()]
    suffix = "-mahimahi" if times else ""
    return f"{name}{suffix}:{','.join(ours)}", f"{name} [{', '.join(shown)}]"


def _check_arguments(option: str, name: str, limits: dict[str, int], times: dict[str, int]) -> None:
    example = ",".join(["packets=100", *(f"{key}=20" for key in times)])
    if not limits:
        raise PlanError(f"{option}: {name} needs packets or bytes above 0", hint=f"write {example}")
    missing = [key for key, value in times.items() if value == 0]
    if missing:
        raise PlanError(
            f"{option}: {name} needs {missing[0]} above 0, in milliseconds", hint=f"write {example}"
        )


def _argument(text: str, name: str) -> int:
    """Return the digits that follow the first `name=`, as mahimahi parses them; 0 if there are none."""
    found = re.search(rf"{name}\s*=\s*(\d+)", text)
    return int(found[1]) if found else 0


def _options(
    shell: str, words: list[str], valued: dict[str, str], flags: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Parse options like getopt_long, anywhere before `--`, and return all other words."""
    given: dict[str, str] = {}
    positional: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, value = _option(shell, word, [*valued, *flags])
        if name in flags:
            given[name] = ""
            continue
        if value is None:
            if not rest:
                raise PlanError(f"{shell}: {word} needs a value", hint=f"write {word}=VALUE")
            value = rest.pop(0)
        given[valued[name]] = value
    return given, positional + rest


def _option(shell: str, word: str, known: Sequence[str]) -> tuple[str, str | None]:
    """Return the full name of an option, and the value in the same word, if any."""
    if word.startswith("--"):
        text, equals, value = word[2:].partition("=")
        long = [name for name in known if len(name) > 1]
        near = [name for name in long if name == text] or [name for name in long if name.startswith(text)]
        name, found = (near[0] if len(near) == 1 else ""), value if equals else None
    else:
        name, found = (word[1] if word[1] in known else ""), word[2:] or None
    if not name:
        hint = "an option of the command inside stands after `--`: mm-link UP DOWN … -- COMMAND --its-option"
        raise PlanError(f"{shell}: unknown option {word}", hint=hint)
    return name, found


def _direction(name: str, words: list[str], example: str) -> Direction:
    for direction in _DIRECTIONS:
        if words and words[0] == direction:
            return direction
    raise _wrong(name, words, "uplink or downlink", example)


def _number(name: str, words: list[str], place: int, wanted: str, example: str) -> float:
    text = words[place] if place < len(words) else ""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text)
    if not found or float(text) > _LARGEST:
        raise _wrong(name, words[place:], wanted, example)
    return float(text)


def _decimal(value: float) -> str:
    """Write a number without an exponent."""
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _one_way(direction: Direction, pair: tuple[str, str], rest: list[str]) -> _Shell:
    if direction == "uplink":
        return _Shell(_after(rest), uplink=(pair,))
    return _Shell(_after(rest), downlink=(pair,))


def _after(words: list[str]) -> list[str]:
    """Return the words of what runs inside; a `--` before it, which mahimahi would try to run, is skipped."""
    return words[1:] if words[:1] == ["--"] else words


def _wrong(name: str, words: list[str], wanted: str, example: str) -> PlanError:
    found = f"`{words[0]}` is not" if words else "there is not"
    return PlanError(f"{name}: {found} {wanted}", hint=f"write one like {example}")
