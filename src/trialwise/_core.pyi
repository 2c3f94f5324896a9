import os
from collections.abc import Mapping, Sequence
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CommandResult",
    "Lateness",
    "LinkReport",
    "Path",
    "PathReport",
    "StartError",
    "__version__",
    "features",
    "inversions",
    "lag_product_exceedances",
    "run_command",
    "score_exceedances",
    "slope_order_statistics",
    "window_percentiles",
]

__version__: str

def features() -> list[str]: ...

# `reason` is no_such_program, not_executable, no_interpreter, working_directory, stdin, output_file,
# arguments_too_long, cpus or system. Documentation stands where it is shown: in crates/python.
class StartError(OSError):
    reason: str

@final
class CommandResult:
    @property
    def started_realtime_ns(self) -> int: ...
    @property
    def started_ns(self) -> int: ...
    @property
    def wall_ns(self) -> int: ...
    @property
    def user_ns(self) -> int: ...
    @property
    def system_ns(self) -> int: ...
    @property
    def max_rss_bytes(self) -> int: ...
    @property
    def voluntary_switches(self) -> int: ...
    @property
    def involuntary_switches(self) -> int: ...
    @property
    def minor_faults(self) -> int: ...
    @property
    def major_faults(self) -> int: ...
    @property
    def blocks_in(self) -> int: ...
    @property
    def blocks_out(self) -> int: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def signal(self) -> int | None: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def stdout_total(self) -> int: ...
    @property
    def stderr_total(self) -> int: ...
    @property
    def leftover_processes(self) -> int: ...
    @property
    def surviving_processes(self) -> int: ...

@final
class Lateness:
    @property
    def median(self) -> float: ...
    @property
    def p99(self) -> float: ...
    @property
    def largest(self) -> float: ...

@final
class LinkReport:
    @property
    def arrived(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def held(self) -> int: ...
    @property
    def delivered_bytes(self) -> int: ...
    @property
    def unlogged(self) -> int: ...
    @property
    def lateness(self) -> Lateness: ...

@final
class PathReport:
    @property
    def started_ns(self) -> int: ...
    @property
    def duration(self) -> float: ...
    @property
    def processor_share(self) -> float: ...
    @property
    def realtime(self) -> bool: ...
    @property
    def unseen(self) -> Lateness: ...
    @property
    def uplink(self) -> LinkReport: ...
    @property
    def downlink(self) -> LinkReport: ...
    @property
    def bottleneck(self) -> str | None: ...

@final
class Path:
    def __new__(
        cls,
        uplink: Sequence[Sequence[tuple[str, str]]],
        downlink: Sequence[Sequence[tuple[str, str]]],
        *,
        directory: str | os.PathLike[str],
        seed: int,
        mtu: int = 1500,
        log: str | os.PathLike[str] | None = None,
        bound: float | None = None,
    ) -> Self: ...
    def prefix(self, end: str) -> list[bytes]: ...
    @staticmethod
    def address(end: str, version: int = 4) -> str: ...
    def close(self) -> PathReport: ...

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
) -> CommandResult: ...
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
