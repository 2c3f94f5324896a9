"""`trialwise capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.files import check_out
from trialwise.cli.output import stderr_console
from trialwise.cli.stream_options import Quiet, duration, until_stopped
from trialwise.errors import PlanError
from trialwise.numbers import counted


def capture(
    *,
    interface: str,
    run: str,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    port: tuple[int, ...] = (),
    seconds: str | None = None,
    quiet: Quiet = False,
) -> int:
    r"""Write down the packets that this end of a path sends and gets, to be joined with what the other end saw.

    Run it at both ends with the same words for --run, send, end both with INT or TERM, copy one file to the other, and join
    them: `trialwise packets A B`. Packets are known at both ends by what NAT and routers leave alone. Stamps are the
    kernel's, in a clock that is never set. Needs CAP_NET_RAW (docs/how-to/measure-a-real-path.md).

    For example:

    ```text
    trialwise capture --interface eth0 --run "tuesday 3" --port 5201 \
        --out sender.seen
    trialwise capture --interface wlan0 --run "tuesday 3" --port 5201 \
        --seconds 60s --out receiver.seen
    ```

    Exit codes: 0; 2 wrong options, no such interface, no permission, or a file that is there; 4 the interface went away.

    Parameters
    ----------
    interface
        Its name, as `ip link` shows it.
    run
        Words that both ends are given; files of other words do not match.
    out
        Where to.
    port
        Only packets from or to this port, as this end sees it; repeatable, flows count from 1 in this order. Without any, all.
    seconds
        End after this time, such as 60s.
    quiet
        Do not say what came.
    """
    from trialwise.measurement.capturing import write_down

    if any(not 0 < number < 65536 for number in port):
        raise PlanError("--port: a port is a number from 1 to 65535")
    length = None if seconds is None else duration("--seconds", seconds)
    check_out(out, force=False, hint="choose another place: captures are not overwritten")
    say = stderr_console().print
    flows = {number: flow for flow, number in enumerate(port, start=1)}
    with until_stopped() as stopped:
        counts = write_down(
            out, interface, run=run, flows=flows, seconds=length, stopped=stopped,
            begun=lambda: None if quiet else say(f"trialwise capture: at {interface}", markup=False),
        )  # fmt: skip
    if not quiet:
        say(
            f"trialwise capture: {counted(counts.written, 'packet')} in {counted(counts.packets, 'frame')}; "
            f"{counted(counts.kernel_dropped, 'frame')} dropped by the kernel, {counted(counts.others, 'other')}",
            markup=False,
        )
    return 0
