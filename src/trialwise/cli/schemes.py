"""`trialwise schemes`: what there is, one of them, making ready, trying out."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trialwise.cli.defaults import OPTIONS
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import echo, say_document
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import (
    Block,
    Code,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Text,
    Verdict,
    table_of,
)
from trialwise.report.numbers import Number, counted, decimals, given
from trialwise.schemes.installing import Step, steps
from trialwise.schemes.library import SHIPPED, scheme_files, scheme_named
from trialwise.schemes.listing import SchemeEntry, SchemesDocument, list_schemes, set_up
from trialwise.schemes.needs import missing
from trialwise.schemes.scheme import LOADS, End, Scheme
from trialwise.schemes.setup import SETUP, record
from trialwise.trials.scheme_check import DEFAULT_PATH, SECONDS, SchemeCheck, SchemeChecksDocument

Folders = Annotated[
    tuple[Path, ...],
    Parameter(
        name="--folder",
        help="A folder with schemes of your own; repeatable.",
        negative="",
        show_default=False,
    ),
]
_NOT_SET_UP = "its setup has not been run by Trialwise: trialwise schemes setup {}"

app = App(
    name="schemes",
    help="""List congestion-control schemes, with what each lacks on this machine; show, set up and check one.

A scheme is a sender and a receiver under one congestion control: a small TOML file, or a wrapper of Pantheon.

For example:

```text
trialwise schemes
trialwise schemes --folder schemes            # with those of your own
trialwise schemes show cubic
trialwise schemes setup iperf3-cubic
trialwise schemes check cubic bbr
```

Exit codes: 0; 2 a scheme or an option is wrong; 4 a scheme that was to be set up or checked does not work.""",
    help_format="markdown",
    default_parameter=OPTIONS,
)


@app.default
def schemes(*, folder: Folders = (), json: bool = False) -> int:
    """List the schemes.

    Parameters
    ----------
    folder
        A folder with schemes of your own.
    json
        Print the list as JSON (format trialwise.schemes/1, see `trialwise schema schemes`).
    """
    entries = list_schemes(folder)
    if json:
        print_json(asdict(SchemesDocument(entries)))
    else:
        say_document(_listing(entries))
    return 0


@app.command
def show(name: str, /, *, folder: Folders = ()) -> int:
    """Show the file of a scheme, and what it comes to on this machine.

    For example:

    ```text
    trialwise schemes show cubic
    trialwise schemes show mine --folder schemes
    ```

    Exit codes: 0; 2 there is no such scheme.

    Parameters
    ----------
    name
        The scheme.
    folder
        A folder with schemes of your own.
    """
    scheme = scheme_named(name, folder)
    echo(f"# {scheme.source}")
    if scheme.source.suffix == ".toml":
        echo(scheme.source.read_text())
    say_document(_resolved(scheme))
    return 0


@app.command
def setup(*names: str, folder: Folders = (), yes: bool = False) -> int:
    """Install what schemes need, or say how.

    Packages of Debian are installed by root, with --yes or when asked on a terminal; a setup of the scheme's own runs as the
    user who asks for it.

    For example:

    ```text
    trialwise schemes setup iperf3-cubic
    trialwise schemes setup ngtcp2-bbr2 --yes
    ```

    Exit codes: 0 the schemes can run; 2 there is no such scheme; 4 something is still missing.

    Parameters
    ----------
    names
        The schemes.
    folder
        A folder with schemes of your own.
    yes
        Install packages without asking.
    """
    found = [scheme_named(name, folder) for name in _some(names)]
    taken: set[Step] = set()
    ready = [_make_ready(scheme, taken, yes=yes) for scheme in found]
    return 0 if all(ready) else 4


@app.command
def check(
    *names: str,
    folder: Folders = (),
    path: str = DEFAULT_PATH,
    load: str | None = None,
    every: Annotated[bool, Parameter(name="--all", negative="")] = False,
    json: bool = False,
) -> int:
    r"""Run schemes, each for five seconds over a small emulated path, and say what happened.

    For example:

    ```text
    trialwise schemes check cubic bbr
    trialwise schemes check --all
    trialwise schemes check mine --folder schemes
    trialwise schemes check cubic --path "rate=5Mbit/s delay=40ms loss=1%"
    trialwise schemes check cubic --path pantheon:nepal-aws-india \
        --load bytes:1MB
    ```

    Exit codes: 0 all work; 2 a scheme, a path or a load cannot be; 4 one does not work.

    Parameters
    ----------
    names
        The schemes.
    folder
        A folder with schemes of your own.
    path
        The path, both ways: pairs as in an experiment file, or the name of one.
    load
        What each carries; default the first kind that it knows.
    every
        Run all schemes that there are, and print a table.
    json
        Print what happened as JSON (format trialwise.scheme-checks/1, see `trialwise schema scheme-checks`).
    """
    if every and names:
        raise TrialError("--all is of every scheme, and some are named", hint="leave one of both out")
    some = tuple(scheme_files(folder)) if every else _some(names)
    checks = list(_checks(some, folder, path, load, quiet=json or every, every=every))
    if every and not json:
        say_document(_table(checks))
    if json:
        print_json(asdict(SchemeChecksDocument(tuple(checks), path)))
    return 0 if all(one.works for one in checks) else 4


def _some(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise TrialError("no scheme is named", hint="`trialwise schemes` lists them")
    return names


# The list


def _listing(entries: Sequence[SchemeEntry]) -> Document:
    """List the schemes in rows, what each lacks, and which of Pantheon's they stand for."""
    rows = tuple(
        (Name(entry.name), Name(entry.title), _loads(entry), Name(entry.licence or "")) for entry in entries
    )
    needs = tuple(
        (Name(entry.name), ", ".join(entry.needs).replace("`", "")) for entry in entries if entry.needs
    )
    remarks = tuple((Name(entry.name), f": {remark}") for entry in entries for remark in _remarks(entry))
    evidence = (
        table_of("schemes", "", ("name", "title", "loads", "licence"), rows),
        *([table_of("needs", "", ("name", "needs"), needs)] if needs else []),
        *([Items(remarks, most=None)] if remarks else []),
        *_pantheon(entries),
    )
    verdict = Verdict("plain", (f"{counted(len(rows), 'scheme')}; shipped ones stand in {SHIPPED}",))
    return Document("schemes", verdict, evidence)


def _loads(entry: SchemeEntry) -> str:
    without = [load for load in LOADS if load not in entry.loads]
    return "all" if not without else f"all but {without[0]}" if len(without) == 1 else " ".join(entry.loads)


def _pantheon(entries: Sequence[SchemeEntry]) -> Iterator[Block]:
    """Yield which scheme stands for which of Pantheon, and what comes nearest to those that nobody published."""
    known = [(name, entry.name) for entry in entries for name in entry.pantheon]
    near = [(name, entry.name) for entry in entries for name in entry.nearest]
    if known:
        said = ", ".join(f"{name} by {scheme}" if name != scheme else name for name, scheme in sorted(known))
        yield Note((f"Of Pantheon's schemes there are {said}.",))
    if near:
        said = ", ".join(f"{name}: {scheme}" for name, scheme in sorted(near))
        yield Note(
            (f"Nobody published these of Pantheon's; what comes nearest stands behind the name: {said}.",)
        )


def _remarks(entry: SchemeEntry) -> Iterator[str]:
    if entry.problem is not None:
        yield f"no scheme: {entry.problem}"
        return
    yield from (f"missing: {each}" for each in entry.missing)
    if entry.set_up is False and not entry.missing:
        yield _NOT_SET_UP.format(entry.name)
    if not entry.shipped:
        yield f"file: {entry.file}"


# One of them


def _resolved(scheme: Scheme) -> Document:
    """Return the resolved form of a scheme on this machine, with its first load."""
    lacks = "; ".join(missing(scheme))
    first, second = (scheme.first, "receiver" if scheme.first == "sender" else "sender")
    prepare: tuple[Text, ...] = (("prepare: ", _command(scheme, scheme.prepare)),) if scheme.prepare else ()
    lines: tuple[Text, ...] = (
        ("title: ", Name(scheme.title)),
        (f"loads: {', '.join(scheme.loads)}",),
        *prepare,
        (f"1st, {first}: ", _command(scheme, scheme.side(first).command)),
        (f"ready: {_ready(scheme, first)}",),
        (f"2nd, {second}: ", _command(scheme, scheme.side(second).command)),
    )
    said = f" lacks {lacks}" if lacks else " can run here"
    verdict = Verdict("bad" if lacks else "good", (Name(scheme.name), said))
    blocks: tuple[Block, ...] = (Heading(("What it comes to, here and with its first load",)), Items(lines))
    return Document("scheme", verdict, blocks)


def _ready(scheme: Scheme, end: End) -> str:
    ready = scheme.side(end).ready
    if ready.line is not None:
        said = f"once it prints {ready.line!r}, within {_seconds(ready.timeout)}"
    elif ready.port is not None:
        said = f"once its {ready.port} port listens, within {_seconds(ready.timeout)}"
    else:
        said = "at once"
    is_timed = ready.after and not (ready.line or ready.port)
    return f"{_seconds(ready.after)} after its start" if is_timed else said


def _seconds(value: float) -> str:
    return given(value, "s").with_unit


def _command(scheme: Scheme, command: tuple[str, ...]) -> Code:
    from trialwise.trials.scheme_check import example_words

    return Code(shlex.join(example_words(scheme, command)).replace("\n", "; "))


# Making ready


def _make_ready(scheme: Scheme, taken: set[Step], *, yes: bool) -> bool:
    """Run the setup steps of a scheme in order, or say how to; return True if it can run afterwards.

    Those in `taken` were taken for a scheme before it; further ones are added.
    """
    left = steps(scheme)
    while left and (left[0] in taken or _take(scheme, left[0], yes=yes)):
        taken.add(left[0])
        if not left[0].system:
            record(scheme.source, SETUP)
        left = left[1:]
    for step in left[1:]:
        echo(f"{scheme.name}: not run before that: {shlex.join(step.words)}")
    done = not left
    lacks = missing(scheme)
    for lack in lacks:
        echo(f"{scheme.name}: missing: {lack}")
    if done and not lacks:
        echo(f"{scheme.name}: can run here")
    return done and not lacks


def _take(scheme: Scheme, step: Step, *, yes: bool) -> bool:
    """Take one step, if it is permitted and requested; return True if it succeeded."""
    line = shlex.join(step.words)
    if not step.permitted or not (yes or not step.system or _agreed(line)):
        echo(f"{scheme.name}: run as root: {line}")
        return False
    stderr_console().print(f"{scheme.name}: {line}", markup=False)
    try:
        code = subprocess.run(step.words, cwd=step.folder, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        echo(f"{scheme.name}: {line}: cannot be started: {error.strerror}")
        return False
    if code != 0:
        echo(f"{scheme.name}: {line}: ended with exit code {code}")
    return code == 0


def _agreed(line: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    echo(f"run {line}? [y/N] ", end="", to=sys.stderr)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# Trying out


def _checks(
    names: Sequence[str],
    folders: Sequence[Path],
    path: str,
    load: str | None,
    *,
    quiet: bool,
    every: bool,
) -> Iterator[SchemeCheck]:
    """Check each scheme; of `every` one, those that cannot be read or know no such load are results too."""
    from trialwise.execution.interruption import Interruption
    from trialwise.trials.scheme_check import check_scheme, path_of

    console, settings, begun = stderr_console(), path_of(path), time.monotonic()
    with Interruption() as interruption:
        for number, name in enumerate(names, 1):
            left = (time.monotonic() - begun) * (len(names) / (number - 1) - 1) if number > 1 else 0.0
            place = f"{number}/{len(names)}" + (f", {duration_text(left)} left" if left else "")
            if every and (reason := _refusal(name, folders, load)):
                yield SchemeCheck(name, works=False, load=load or "", seconds=0.0, reason=reason)
                continue
            console.print(f"[{place}] {name}: {_seconds(SECONDS)} over {path}", markup=False)
            found = check_scheme(
                name, folders=folders, path=settings, cancel=interruption.descriptor, load=load
            )
            if interruption.requested:
                raise KeyboardInterrupt
            if not quiet:
                say_document(_outcome(found, scheme_named(name, folders)))
            yield found


def _refusal(name: str, folders: Sequence[Path], load: str | None) -> str | None:
    """Return why a scheme cannot be checked with a load; raise PlanError if the load is none of any scheme."""
    from trialwise.trials.loads import parse_load, require_known

    asked = None if load is None else parse_load(load, Path.cwd())
    try:
        scheme = scheme_named(name, folders)
        if asked is not None:
            require_known(scheme, asked)
    except PlanError as error:
        return error.line
    return None


def _table(checks: Sequence[SchemeCheck]) -> Document:
    """Return a row for each check; those that cannot run here say why."""
    works, absent = sum(one.works for one in checks), sum(one.seconds == 0 for one in checks)
    parts = [f"{works} of {counted(len(checks), 'scheme')} work"]
    parts += [f"{absent} cannot run here"] if absent else []
    rows = tuple(
        (
            Name(one.name),
            _result(one),
            Number(one.throughput, digits=3),
            Number(one.delay_p95, digits=3),
            Number(one.loss, digits=2),
        )
        for one in checks
    )
    titles = ("scheme", "result", "Mbit/s", "delay p95 [ms]", "loss [%]")
    table = table_of("checks", "", titles, rows, numeric={2, 3, 4})
    why = tuple((Name(one.name), f": {one.reason}") for one in checks if one.reason)
    evidence = (table, *([Items(why, most=None)] if why else []))
    outcome = "good" if works == len(checks) else "bad"
    return Document("checks", Verdict(outcome, ("; ".join(parts),)), evidence)


def _result(one: SchemeCheck) -> Verdict:
    if one.works:
        return Verdict("open", ("works, figures in doubt",)) if one.reason else Verdict("good", ("works",))
    return Verdict("open", ("cannot run here",)) if one.seconds == 0 else Verdict("bad", ("does not work",))


def _outcome(found: SchemeCheck, scheme: Scheme) -> Document:
    """Say whether a scheme worked, with what it carried, or the output of its sides."""
    name, load = Name(found.name), f" with load {found.load}: "
    if found.seconds == 0:
        return Document("check", Verdict("bad", (name, f": cannot run here: {found.reason}")))
    if found.works:
        doubt = f"but the figures are not to be trusted: {found.reason}"
        notes = (Note((doubt,), is_aside=True),) if found.reason else ()
        return Document("check", Verdict("good", (name, f": works{load}{_figures(found)}")), notes)
    why = found.reason or f"nothing was carried ({_figures(found)})"
    hint = Note((_NOT_SET_UP.format(found.name),), is_aside=True)
    evidence = (*([hint] if set_up(scheme) is False else []), *([Listing(found.said)] if found.said else []))
    return Document("check", Verdict("bad", (name, f": does not work{load}{why}")), evidence)


def _figures(found: SchemeCheck) -> str:
    parts = [f"{decimals(found.throughput or 0, 2)} Mbit/s"]
    if found.delay_p95 is not None:
        parts.append(f"delay p95 {decimals(found.delay_p95, 1)} ms")
    if found.loss is not None:
        parts.append(f"loss {decimals(found.loss, 2)} %")
    return ", ".join(parts)
