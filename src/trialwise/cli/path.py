"""`trialwise path`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise import _core, _linux
from trialwise.cli.files import check_out
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import say_document, show_document
from trialwise.errors import PlanError, not_written
from trialwise.experiment.mahimahi import LinkLog, check_known, is_shell, read_shells
from trialwise.experiment.named_paths import path_named, shipped_paths
from trialwise.experiment.trials import Groups, LinkTable, PathSettings, with_ways
from trialwise.trials.path_documents import path_document, paths_document

if TYPE_CHECKING:
    from trialwise.measurement.opportunities import Trace
    from trialwise.trials.held_files import HeldFiles

_LINK_KEYS = tuple(LinkTable.__slots__)


def separated(words: Sequence[str]) -> list[str]:
    """Insert `--` before mahimahi's shells on a command line, whose options are not ours."""
    first = next((place for place, word in enumerate(words) if is_shell(word)), None)
    if words[:1] != ["path"] or first is None or "--" in words[:first]:
        return list(words)
    return [*words[:first], "--", *words[first:]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to run: the links, the location of their files, and additional requests in mahimahi's arguments."""

    uplink: Groups
    downlink: Groups
    folder: str
    command: tuple[str, ...]
    logs: tuple[LinkLog, ...] = ()
    notes: tuple[str, ...] = ()
    once: bool = False

    def held(self, files: HeldFiles) -> tuple[Groups, Groups]:
        """Return the links of both directions, reading each file once."""
        return files.groups(self.uplink, self.folder), files.groups(self.downlink, self.folder)


def path(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    named: Annotated[str | None, Parameter(name=["--path"])] = None,
    rate: str | None = None,
    delay: str | None = None,
    loss: str | None = None,
    queue: str | None = None,
    outage: str | None = None,
    policer: str | None = None,
    batches: str | None = None,
    course: str | None = None,
    handover: str | None = None,
    radio: str | None = None,
    ecn: str | None = None,
    corrupt: str | None = None,
    duplicate: str | None = None,
    pmtu: str | None = None,
    uplink: tuple[str, ...] = (),
    downlink: tuple[str, ...] = (),
    mtu: int = 1500,
    seed: int = 0,
    log: Path | None = None,
    force: bool = False,
    list: bool = False,  # noqa: A002 the flag's name
    json: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
) -> int:
    r"""Run a command, or a shell, inside an emulated path.

    Servers of this machine answer at the address in TRIALWISE_PEER (IPv6: TRIALWISE_PEER6), outside of nested paths at that in
    MAHIMAHI_BASE. What the options say holds both ways; --uplink (from the command outwards) and --downlink say what differs. Needs no
    root: without it a relay carries TCP and UDP on to the servers of this machine. When the command ends, nothing is left
    of the path. Mahimahi's shells are understood in place of options.

    For example:

    ```text
    trialwise path --rate 12Mbit/s --delay 28ms --loss 0.4% \
        --queue droptail:packets=50 -- iperf3 -c 100.64.0.1
    trialwise path --delay 20ms --uplink rate=1Mbit/s --downlink rate=20Mbit/s \
        --log packets.log -- sh -c 'curl $TRIALWISE_PEER:8000'
    trialwise path --path pantheon:nepal-aws-india          # a shell
    trialwise path mm-delay 28 mm-loss uplink .004 mm-link up.trace down.trace \
        -- ./client
    trialwise path --list
    ```

    Exit codes: the command's own; 128 and more when a signal ended it; 77 when a trace that is not repeated is used up;
    2 wrong options, or paths that this machine does not permit.

    Parameters
    ----------
    command
        The command with its arguments, after `--`; or mahimahi's shells, the outermost first, with theirs.
    named
        A path that comes with Trialwise, see --list.
    rate
        The bottleneck: 12Mbit/s, trace:FILE, poisson:rate=3Mbit/s, cellular:rate=10Mbit/s, …
    delay
        One-way propagation delay: 28ms, or 28ms,jitter=5ms.
    loss
        Random loss: 0.4%, or gilbert-elliott:to_bad=1%,to_good=10%.
    queue
        The queue before the bottleneck: droptail:packets=50, codel:packets=1000,target=5ms,interval=100ms, …
    outage
        Times without service: exponential:on=5s,off=1s.
    policer
        A token bucket: 12Mbit/s,burst=15kB.
    batches
        Packets released together: every=20ms.
    course
        Rate, delay and more over time: recording:FILE, or leo:rate=50Mbit/s..250Mbit/s.
    handover
        Times at which packets are held: every:60s,hold=50ms.
    radio
        How a radio link lets packets go: grants:every=5ms,delay=4ms, or harq:10%.
    ecn
        What happens to the ECN field: bleach, or drop-ect1.
    corrupt
        Random corruption: 0.01%, or 0.01%,checksum=fix, which reaches the program.
    duplicate
        Random duplication: 0.1%, or 0.1%,after=0ms..5ms.
    pmtu
        The largest packet that passes; larger ones vanish: 1400.
    uplink
        One key=value of the direction from the command outwards; may be repeated.
    downlink
        One key=value of the direction back; may be repeated.
    mtu
        Largest IP packet of the ends, bytes, 576 to 9000; below 1280 without IPv6.
    seed
        Of everything random in the links.
    log
        Write a record of every packet; `trialwise packets` reads it.
    force
        Write the log over a file that is there.
    list
        List the paths that come with Trialwise.
    json
        Print what the path did as JSON on standard error, when the command has ended; with --list, the list on standard output.
    quiet
        Say nothing beside the command.
    """
    if list:
        return _list(json=json)
    values = (
        rate,
        queue,
        delay,
        loss,
        outage,
        policer,
        batches,
        course,
        handover,
        radio,
        ecn,
        corrupt,
        duplicate,
        pmtu,
    )
    both = {key: value for key, value in zip(_LINK_KEYS, values, strict=True) if value}
    ways = (both | _pairs("uplink", uplink), both | _pairs("downlink", downlink))
    plan = _with_ways(_plan(named, ways, command))
    if log is not None:
        check_out(log, force=force)
    if not quiet:
        for note in plan.notes:
            stderr_console().print(note, markup=False)
    return _run(plan, mtu, seed, log, json=json, quiet=quiet)


def _pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in _LINK_KEYS:
            raise PlanError(
                f"--{option} {word}: is not a key=value of a link",
                hint=f"write one like --{option} rate=1Mbit/s; keys: {', '.join(_LINK_KEYS)}",
            )
        pairs[key] = value
    return pairs


def _plan(
    named: str | None, ways: tuple[Mapping[str, str], Mapping[str, str]], words: Sequence[str]
) -> _Plan:
    """Plan what to run: a path given by options or by name encloses mahimahi's shells."""
    folder = "."
    outer: list[Groups] = [((tuple(pairs.items()),) if pairs else ()) for pairs in ways]
    if named is not None:
        if any(ways):
            raise PlanError(
                "--path goes with no other option of a path",
                hint="nest them: --path NAME -- trialwise path …",
            )
        settings = path_named(named)
        outer, folder = [settings.uplink, settings.downlink], settings.folder
    if not words or not is_shell(words[0]):
        if words:
            check_known(words[0])
        return _Plan(outer[0], outer[1], folder, tuple(words) or _shell())
    if named is not None:
        raise PlanError(
            "--path goes with no shells of mahimahi",
            hint="nest them: --path NAME -- trialwise path mm-delay …",
        )
    shells = read_shells(words)
    return _Plan(
        uplink=(*shells.uplink, *outer[0]),
        downlink=(*outer[1], *shells.downlink),
        folder=folder,
        command=shells.command or _shell(),
        logs=shells.logs,
        notes=shells.notes,
        once=shells.once,
    )


def _with_ways(plan: _Plan) -> _Plan:
    path = with_ways(PathSettings(plan.uplink, plan.downlink))
    return replace(plan, uplink=path.uplink, downlink=path.downlink)


def _shell() -> tuple[str, ...]:
    return (os.environ.get("SHELL", "/bin/sh"),)


def _run(plan: _Plan, mtu: int, seed: int, log: Path | None, *, json: bool, quiet: bool) -> int:
    if log is not None or not plan.logs:
        return _run_logged(plan, mtu, seed, log, json=json, quiet=quiet)
    with _unnamed_file(Path(plan.logs[0].path)) as kept:
        return _run_logged(plan, mtu, seed, kept, json=json, quiet=quiet)


@contextmanager
def _unnamed_file(beside: Path) -> Generator[Path]:
    """Yield an unnamed file in the folder of another, so that nothing is left of it however this process dies."""
    try:
        file = tempfile.TemporaryFile(dir=beside.parent)  # noqa: SIM115 only its making may fail here
    except OSError as error:
        hint = "choose a folder that you may write to"
        raise not_written(beside, error, kind=PlanError, hint=hint) from error
    with file:
        yield Path(f"/proc/self/fd/{file.fileno()}")


def _run_logged(plan: _Plan, mtu: int, seed: int, kept: Path | None, *, json: bool, quiet: bool) -> int:
    from trialwise.trials.held_files import HeldFiles
    from trialwise.trials.run_in_path import run_inside

    files = HeldFiles()
    ways = plan.held(files)
    seconds = _trace_seconds(plan, files) if plan.once else None
    began = time.time()
    try:
        opened = _linux.OuterPath(*ways, directory=plan.folder, seed=seed, mtu=mtu, log=kept)
    except ValueError as error:
        raise PlanError(files.in_own_words(str(error))) from error
    except OSError as error:
        raise PlanError(f"no path can be made here: {error}") from error
    try:
        code = run_inside(opened, plan.command, seconds)
        time.sleep(_farewell(ways))
    finally:
        report = opened.close()
    if plan.logs and kept is not None:
        _write_logs(plan, ways, files, kept, began)
    found = path_document(report, code)
    if json:
        print_json(asdict(found), to=sys.stderr)
    elif not quiet:
        from trialwise.report.documents.emulated_path import document

        show_document(stderr_console(), document(found))
    return code


def _farewell(ways: tuple[Groups, Groups]) -> float:
    """Return the seconds to keep running after the command exits, so that servers notice: two round trips, at most 1 s."""
    delays = (_core.check_link(way, ".").base_delay for way in ways)
    return min(1.0, 2 * sum(delays) + 0.02)


def _trace_seconds(plan: _Plan, files: HeldFiles) -> float:
    """Return the time at which the last non-repeating trace ends."""
    from trialwise.trials.held_files import files_named

    once = tuple(
        tuple(pair for pair in group if pair[0] == "rate" and pair[1].endswith("repeat=no"))
        for way in (plan.uplink, plan.downlink)
        for group in way
    )
    return max(float(_trace(name, plan, files)[-1]) for name in files_named(once)) / 1000


def _trace(name: str, plan: _Plan, files: HeldFiles) -> Trace:
    from trialwise.exchange.trace_files import parse_trace

    return parse_trace(files.content(name, plan.folder), name)


def _write_logs(plan: _Plan, ways: tuple[Groups, Groups], files: HeldFiles, kept: Path, began: float) -> None:
    """Write the logs requested from mm-link, from the record of every packet."""
    from trialwise.exchange.mahimahi_log import write_mahimahi_log
    from trialwise.measurement.opportunities import of_trace
    from trialwise.measurement.packets import read_packet_log

    packets = read_packet_log(kept)
    end = float(packets.time.max()) * 1000 if len(packets) else 0.0
    for wanted in plan.logs:
        behind = ways[0 if wanted.direction == "uplink" else 1][wanted.group + 1 :]
        loses = any(key == "loss" for group in behind for key, _ in group)
        write_mahimahi_log(
            Path(wanted.path),
            packets,
            of_trace(_trace(wanted.trace, plan, files), 0, end, repeat=not plan.once),
            direction=wanted.direction,
            init_timestamp=round(began * 1000),
            queue=wanted.queue,
            trace=wanted.trace,
            command=wanted.words,
            propagation=_core.check_link(behind, ".").base_delay,
            lost_behind=("dropped:loss",) if loses else (),
        )


def _list(*, json: bool) -> int:
    found = paths_document(shipped_paths())
    if json:
        print_json(asdict(found))
    else:
        from trialwise.report.documents.emulated_path import list_document

        say_document(list_document(found))
    return 0
