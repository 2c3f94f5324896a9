"""`trialwise schemes`: what there is, one of them, making ready, trying out."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trialwise.cli.defaults import OPTIONS
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import columns, echo, say
from trialwise.errors import TrialError
from trialwise.report.terminal_table import Line
from trialwise.schemes.installing import Step, steps
from trialwise.schemes.library import SHIPPED, scheme_named
from trialwise.schemes.listing import SchemeEntry, SchemesDocument, list_schemes, set_up
from trialwise.schemes.needs import missing
from trialwise.schemes.scheme import End, Scheme
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
        say(_listing(entries))
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
    say(_resolved(scheme))
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
    ready = [_make_ready(scheme, yes=yes) for scheme in found]
    return 0 if all(ready) else 4


@app.command
def check(
    *names: str,
    folder: Folders = (),
    path: str = DEFAULT_PATH,
    load: str | None = None,
    json: bool = False,
) -> int:
    r"""Run schemes, each for five seconds over a small emulated path, and say what happened.

    For example:

    ```text
    trialwise schemes check cubic bbr
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
    json
        Print what happened as JSON (format trialwise.scheme-checks/1, see `trialwise schema scheme-checks`).
    """
    checks = list(_checks(_some(names), folder, path, load, quiet=json))
    if json:
        print_json(asdict(SchemeChecksDocument(tuple(checks), path)))
    return 0 if all(one.works for one in checks) else 4


def _some(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise TrialError("no scheme is named", hint="`trialwise schemes` lists them")
    return names


# The list


def _listing(entries: Sequence[SchemeEntry]) -> Iterator[str]:
    wide = max(len(entry.name) for entry in entries)
    titles = max(len(entry.title) for entry in entries)
    for entry in entries:
        yield f"{entry.name:<{wide}}  {entry.title:<{titles}}  {' '.join(entry.loads)}".rstrip()
        yield from (f"    {remark}" for remark in _remarks(entry))
    yield ""
    yield f"shipped schemes stand in {SHIPPED}"


def _remarks(entry: SchemeEntry) -> Iterator[str]:
    if entry.problem is not None:
        yield f"no scheme: {entry.problem}"
        return
    yield from (f"missing: {each}" for each in entry.missing)
    if entry.set_up is False:
        yield _NOT_SET_UP.format(entry.name)
    if not entry.shipped:
        yield f"file: {entry.file}"


# One of them


def _resolved(scheme: Scheme) -> Iterator[Line]:
    lacks = "; ".join(missing(scheme)) or "nothing"
    first, second = (scheme.first, "receiver" if scheme.first == "sender" else "sender")
    rows = [
        ["name", scheme.name],
        ["title", scheme.title],
        ["loads", ", ".join(scheme.loads)],
        *([["prepare", _command(scheme, scheme.prepare)]] if scheme.prepare else []),
        [f"1st {first}", _command(scheme, scheme.side(first).command)],
        ["    ready", _ready(scheme, first)],
        [f"2nd {second}", _command(scheme, scheme.side(second).command)],
        ["missing", lacks],
    ]
    yield "# what it comes to, here and with its first load"
    yield columns(rows, indent=0, has_heading=False)


def _ready(scheme: Scheme, end: End) -> str:
    ready = scheme.side(end).ready
    if ready.line is not None:
        said = f"once it prints {ready.line!r}, within {ready.timeout:g} s"
    elif ready.port is not None:
        said = f"once its {ready.port} port listens, within {ready.timeout:g} s"
    else:
        said = "at once"
    return f"{ready.after:g} s after its start" if ready.after and not (ready.line or ready.port) else said


def _command(scheme: Scheme, command: tuple[str, ...]) -> str:
    from trialwise.trials.scheme_check import example_words

    return shlex.join(example_words(scheme, command)).replace("\n", "; ")


# Making ready


def _make_ready(scheme: Scheme, *, yes: bool) -> bool:
    """Run the steps of a scheme, or say how; whether it can run then. A step waits for those before it, whose work it needs."""
    left = steps(scheme)
    while left and _take(scheme, left[0], yes=yes):
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
    """Take one step, where it is permitted and wanted; whether it ended well."""
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
    elif not step.system:
        record(scheme.source, SETUP)
    return code == 0


def _agreed(line: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    echo(f"run {line}? [y/N] ", end="", to=sys.stderr)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# Trying out


def _checks(
    names: Sequence[str], folders: Sequence[Path], path: str, load: str | None, *, quiet: bool
) -> Iterator[SchemeCheck]:
    from trialwise.execution.interruption import Interruption
    from trialwise.trials.scheme_check import check_scheme, path_of

    console, settings = stderr_console(), path_of(path)
    with Interruption() as interruption:
        for number, name in enumerate(names, 1):
            console.print(f"[{number}/{len(names)}] {name}: {SECONDS:g} s over {path}", markup=False)
            found = check_scheme(
                name, folders=folders, path=settings, cancel=interruption.descriptor, load=load
            )
            if interruption.requested:
                raise KeyboardInterrupt
            if not quiet:
                say(_outcome(found, scheme_named(name, folders)))
            yield found


def _outcome(found: SchemeCheck, scheme: Scheme) -> Iterator[str]:
    figures = f"{found.throughput or 0:.2f} Mbit/s"
    if found.delay_p95 is not None:
        figures += f", delay p95 {found.delay_p95:.1f} ms"
    if found.loss is not None:
        figures += f", loss {found.loss:.2f} %"
    if found.seconds == 0:
        yield f"{found.name}: cannot run here: {found.reason}"
        return
    if found.works:
        yield f"{found.name}: works with load {found.load}: {figures}"
        if found.reason:
            yield f"    but the figures are not to be trusted: {found.reason}"
        return
    yield f"{found.name}: does not work with load {found.load}: {found.reason or f'nothing was carried ({figures})'}"
    if set_up(scheme) is False:
        yield f"    {_NOT_SET_UP.format(found.name)}"
    yield from (f"    {line}" for line in found.said)
