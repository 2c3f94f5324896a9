import os
from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CommandResult",
    "StartError",
    "__version__",
    "flow_program",
    "inversions",
    "lag_product_exceedances",
    "run_command",
    "score_exceedances",
    "slope_order_statistics",
    "window_percentiles",
]

__version__: str

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

def flow_program(arguments: Sequence[str]) -> int: ...
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
