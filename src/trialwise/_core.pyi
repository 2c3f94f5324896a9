import os
from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CommandResult",
    "StartError",
    "__version__",
    "inversions",
    "lag_product_exceedances",
    "run_command",
    "score_exceedances",
    "slope_order_statistics",
    "window_percentiles",
]

__version__: str

class StartError(OSError):
    """A program that could not be started: `errno`, `strerror` and one word of why.

    `reason` is ``no_such_program``, ``not_executable``, ``no_interpreter``, ``working_directory``, ``stdin``,
    ``output_file``, ``arguments_too_long``, ``cpus`` or ``system``.
    """

    reason: str

@final
class CommandResult:
    """What one run of a program came to. Resources are those of the program and the children it waited for."""

    @property
    def started_realtime_ns(self) -> int:
        """CLOCK_REALTIME at the start, nanoseconds since the epoch."""
    @property
    def started_ns(self) -> int:
        """CLOCK_MONOTONIC right before the start, nanoseconds (comparable with ``time.monotonic_ns()``)."""
    @property
    def wall_ns(self) -> int:
        """From right before the start until the end was known, nanoseconds on CLOCK_MONOTONIC."""
    @property
    def user_ns(self) -> int:
        """CPU time in the program, nanoseconds (resolution: a microsecond)."""
    @property
    def system_ns(self) -> int:
        """CPU time in the kernel, nanoseconds (resolution: a microsecond)."""
    @property
    def max_rss_bytes(self) -> int:
        """Peak resident memory of the largest process among them, bytes; the caller's own does not count."""
    @property
    def voluntary_switches(self) -> int: ...
    @property
    def involuntary_switches(self) -> int: ...
    @property
    def minor_faults(self) -> int: ...
    @property
    def major_faults(self) -> int: ...
    @property
    def blocks_in(self) -> int:
        """Blocks of 512 bytes read from a device."""
    @property
    def blocks_out(self) -> int:
        """Blocks of 512 bytes written."""
    @property
    def exit_code(self) -> int | None:
        """None when a signal ended it, or when nothing did (see `surviving_processes`)."""
    @property
    def signal(self) -> int | None:
        """The signal that ended it, or None."""
    @property
    def timed_out(self) -> bool: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def stdout(self) -> bytes:
        """Standard output up to its limit; empty when it went to a file."""
    @property
    def stderr(self) -> bytes:
        """Standard error up to its limit; empty when it went to a file."""
    @property
    def stdout_total(self) -> int:
        """All bytes printed, kept or not."""
    @property
    def stderr_total(self) -> int: ...
    @property
    def leftover_processes(self) -> int:
        """Processes that it started and that still ran when it had ended; they were ended too."""
    @property
    def surviving_processes(self) -> int:
        """Those that not even SIGKILL ended within ten seconds."""

def run_command(
    argv: Sequence[str | bytes | os.PathLike[str]],
    *,
    environment: Mapping[str, str] | Mapping[bytes, bytes],
    working_directory: str | bytes | os.PathLike[str],
    stdin: str | bytes | os.PathLike[str] | None = None,
    stdout_limit: int = 1048576,
    stderr_limit: int = 1048576,
    stdout_file: str | bytes | os.PathLike[str] | None = None,
    stderr_file: str | bytes | os.PathLike[str] | None = None,
    timeout: float | None = None,
    grace: float = 1.0,
    cpus: Sequence[int] | None = None,
    cancel_fd: int | None = None,
) -> CommandResult:
    """Run a program to its end, without a shell, and measure it.

    The program gets a process group of its own, default signals and no descriptor but the standard three. When it has
    ended, whatever it started and left running is ended too (SIGTERM, `grace`, SIGKILL), also in sessions of its own.
    It is ended as well when this process dies. The GIL is released meanwhile.

    Parameters
    ----------
    argv
        The program, looked up in the ``PATH`` of `environment` as ``execvp`` does, and its arguments.
    environment
        The complete environment.
    working_directory
        Where it runs.
    stdin
        A file to read from, else ``/dev/null``.
    stdout_limit, stderr_limit
        The most bytes kept; what comes after is counted and thrown away.
    stdout_file, stderr_file
        Files (made or emptied) that receive the kept bytes instead of the result.
    timeout
        Seconds after which it is ended; None for no limit.
    grace
        Seconds between SIGTERM and SIGKILL.
    cpus
        The CPUs that it may use; None for those of the caller.
    cancel_fd
        A descriptor that abandons the run when it is readable; it is not read. For Ctrl-C in the main thread use the
        reading end of a pipe whose writing end is given to `signal.set_wakeup_fd`: Python's own handlers run only when
        this function has returned.

    Raises
    ------
    StartError
        The program could not be started, or its output not be written.
    ValueError
        An empty `argv`, a zero byte, an impossible variable name, or a negative time.
    """

def window_percentiles(
    values: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64], fraction: float
) -> NDArray[np.float64]: ...
def slope_order_statistics(
    x: NDArray[np.float64], y: NDArray[np.float64], ranks: Sequence[int]
) -> NDArray[np.float64]: ...
def inversions(values: NDArray[np.float64]) -> int: ...
def lag_product_exceedances(
    values: NDArray[np.float64], offset: float, threshold: float, *, shuffles: int | None, seed: int
) -> tuple[int, int]: ...
def score_exceedances(
    values: NDArray[np.float64], threshold: int, *, shuffles: int | None, seed: int
) -> tuple[int, int]: ...
