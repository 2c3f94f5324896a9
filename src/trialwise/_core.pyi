import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AttachError",
    "AttachedCongestion",
    "Ceiling",
    "Collector",
    "CollectorCounters",
    "CollectorError",
    "CommandResult",
    "Fabric",
    "Lateness",
    "LinkDescription",
    "LinkReport",
    "OuterPath",
    "PacketCapture",
    "PacketColumns",
    "Path",
    "PathReport",
    "PointCount",
    "ProgramCounters",
    "SimulationResult",
    "SimulationSeries",
    "StartError",
    "StreamClient",
    "StreamCount",
    "StreamPoint",
    "__version__",
    "attach_congestion",
    "check_congestion",
    "check_link",
    "check_simulation",
    "counter_names",
    "counter_setting",
    "cut_trace",
    "expected_flows",
    "features",
    "flow_program",
    "fluid",
    "format_flows",
    "format_trace",
    "generate_flows",
    "generate_flows_from",
    "generate_flows_weighted",
    "inversions",
    "lag_product_exceedances",
    "make_trace",
    "measure_ceiling",
    "network_parameters",
    "parse_flows",
    "parse_fraction",
    "parse_picoseconds",
    "parse_size",
    "parse_trace",
    "read_packet_log",
    "run_command",
    "scale_trace",
    "score_exceedances",
    "simulate",
    "simulate_switching",
    "simulation_controllers",
    "slope_order_statistics",
    "supervisor_image",
    "surrogate_batch",
    "term_exceedances",
    "trace_from_departures",
    "trace_mean_rate",
    "utp_program",
    "window_percentiles",
]

__version__: str

def features() -> list[str]: ...

# `reason` is no_such_program, not_executable, no_interpreter, working_directory, stdin, output_file,
# arguments_too_long, cpus, namespace or system. Documentation stands where it is shown: in crates/python.
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
    @property
    def counted(self) -> list[tuple[str, float | None, float, int | None]]: ...

@final
class Ceiling:
    @property
    def rate(self) -> int | None: ...
    @property
    def goodput(self) -> int: ...
    @property
    def limit(self) -> str | None: ...
    @property
    def unrestricted(self) -> int: ...
    @property
    def packets_per_second(self) -> float: ...
    @property
    def delay_error_median(self) -> float: ...
    @property
    def delay_error_p99(self) -> float: ...
    @property
    def realtime(self) -> bool: ...
    @property
    def device(self) -> str: ...

def measure_ceiling(seconds: float, progress: Callable[[str, float], object]) -> Ceiling: ...

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

@final
class OuterPath:
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
    @property
    def address(self) -> str: ...
    @property
    def environment(self) -> dict[str, str]: ...
    @property
    def direct(self) -> bool: ...
    def prefix(self) -> list[bytes]: ...
    def close(self) -> PathReport: ...

# `reason` is address, spool_in_use, spool or store.
class CollectorError(OSError):
    reason: str

@final
class CollectorCounters:
    @property
    def connections(self) -> int: ...
    @property
    def open(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    @property
    def unstorable(self) -> int: ...
    @property
    def suspensions(self) -> int: ...
    @property
    def spool_damage(self) -> int: ...
    @property
    def replaced(self) -> int: ...
    @property
    def backlog(self) -> int: ...
    @property
    def refused_for(self) -> dict[str, int]: ...
    @property
    def damaged(self) -> dict[str, int]: ...

@final
class Collector:
    def __new__(
        cls,
        listen: str,
        store: str | None = None,
        *,
        spool: str | os.PathLike[str] | None = None,
        spool_capacity: int | None = None,
        token: str | None = None,
        domain_tokens: Mapping[str, str] | None = None,
        connections: int | None = None,
        longest_row: int | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        forward: str | None = None,
        forward_certificate: str | os.PathLike[str] | None = None,
        forward_token: str | None = None,
        forward_domain_tokens: Mapping[str, str] | None = None,
    ) -> Self: ...
    @property
    def address(self) -> str: ...
    @property
    def failure(self) -> str | None: ...
    def counters(self) -> CollectorCounters: ...
    def status(self) -> str | None: ...
    def troubles(self) -> dict[str, str]: ...
    def wait_stored(self, timeout: float) -> bool: ...
    def stop(self, timeout: float = 2.0) -> CollectorCounters: ...

@final
class ProgramCounters:
    def __new__(cls, names: Sequence[str], processes: Sequence[int] | None = None) -> Self: ...
    @property
    def errors(self) -> list[int | None]: ...
    def read(self) -> list[tuple[float | None, float, float]]: ...

def flow_program(arguments: Sequence[str]) -> int: ...
def counter_names() -> list[str]: ...
def counter_setting(name: str) -> str: ...
def supervisor_image() -> bytes: ...
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
    counters: Sequence[str] | None = None,
    isolate: Sequence[str] | None = None,
    inside: int | None = None,
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
def term_exceedances(
    values: NDArray[np.float64],
    sizes: Sequence[int],
    unfitted: NDArray[np.float64],
    bases: Sequence[NDArray[np.float64]],
    columns: Sequence[int],
    *,
    shuffles: int | None,
    seed: int,
    threads: int | None = None,
) -> tuple[list[int], int]: ...

# Traces are milliseconds, in order.
def make_trace(rate: str, *, length: str | None, seed: int) -> NDArray[np.uint64]: ...
def parse_trace(text: str) -> NDArray[np.uint64]: ...
def format_trace(trace: NDArray[np.uint64]) -> str: ...
def trace_mean_rate(trace: NDArray[np.uint64], *, mahimahi: bool) -> int: ...
def scale_trace(trace: NDArray[np.uint64], factor: float) -> NDArray[np.uint64]: ...
def cut_trace(trace: NDArray[np.uint64], start: int, end: int) -> NDArray[np.uint64]: ...
def trace_from_departures(
    times: NDArray[np.uint64], sizes: NDArray[np.uint64], *, mahimahi: bool
) -> NDArray[np.uint64]: ...

@final
class LinkDescription:
    @property
    def base_delay(self) -> float: ...
    @property
    def capacity(self) -> int | None: ...
    @property
    def elements(self) -> list[str]: ...

def check_link(
    groups: Sequence[Sequence[tuple[str, str]]],
    directory: str | os.PathLike[str],
    round_trip: float | None = None,
) -> LinkDescription: ...

@final
class PacketColumns:
    @property
    def made_ns(self) -> int: ...
    @property
    def time_ns(self) -> NDArray[np.uint64]: ...
    @property
    def delay_ns(self) -> NDArray[np.uint64]: ...
    @property
    def flow(self) -> NDArray[np.uint64]: ...
    @property
    def lateness_ns(self) -> NDArray[np.uint32]: ...
    @property
    def size(self) -> NDArray[np.uint16]: ...
    @property
    def event(self) -> NDArray[np.uint8]: ...
    @property
    def direction(self) -> NDArray[np.uint8]: ...
    @property
    def ecn(self) -> NDArray[np.uint8]: ...
    @property
    def element(self) -> NDArray[np.uint8]: ...

def read_packet_log(
    path: str | os.PathLike[str], *, skip: int = 0, most: int | None = None
) -> PacketColumns: ...

# `reason` is not_built, not_permitted, no_types, not_supported, refused or name_taken.
class AttachError(RuntimeError):
    reason: str

@final
class AttachedCongestion:
    @property
    def name(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

def attach_congestion(name: str) -> AttachedCongestion: ...
def check_congestion() -> None: ...
def utp_program(arguments: Sequence[str]) -> int: ...

@final
class PointCount:
    @property
    def point(self) -> str: ...
    @property
    def injected(self) -> int: ...
    @property
    def dropped(self) -> int: ...

@final
class StreamCount:
    @property
    def stream(self) -> str: ...
    @property
    def destination(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def dropped(self) -> int: ...

_StreamCounters: TypeAlias = tuple[list[PointCount], list[StreamCount], list[str]]

@final
class PacketCapture:
    def __new__(
        cls, client: StreamClient, interface: str, protocol: str, ports: Sequence[int], count: int | None
    ) -> Self: ...
    def run(self, seconds: float) -> bool: ...
    def finish(self) -> tuple[int, int, int, int]: ...

@final
class StreamPoint:
    @property
    def dropped(self) -> int: ...
    def inject(self, values: tuple[object, ...], time: float | None = None) -> bool: ...
    def inject_columns(
        self, columns: Sequence[object], times: NDArray[np.float64] | None, patience: float
    ) -> int: ...

@final
class StreamClient:
    def __new__(cls, app: str, arguments: Sequence[str], variables: Mapping[str, str]) -> Self: ...
    @property
    def arguments(self) -> list[str]: ...
    @property
    def answer(self) -> str | None: ...
    def point(self, name: str, fields: Sequence[tuple[str, str]]) -> StreamPoint: ...
    def start(self) -> None: ...
    def metadata(
        self, key: str, value: str, point: StreamPoint | None = None, field: str | None = None
    ) -> None: ...
    def warnings(self) -> list[str]: ...
    def counters(self) -> _StreamCounters: ...
    def close(self, patience: float) -> tuple[bool, _StreamCounters]: ...

@final
class Fabric:
    def __new__(cls, topology: str) -> Self: ...
    @staticmethod
    def from_file(
        path: str | os.PathLike[str], *, routes: str | os.PathLike[str] | None = None
    ) -> Fabric: ...
    @property
    def hosts(self) -> NDArray[np.int64]: ...
    @property
    def links(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def bottleneck(self) -> int | None: ...
    @property
    def round_trip_ps(self) -> int: ...
    def to_hpcc(self) -> str: ...

_Flows: TypeAlias = dict[str, NDArray[np.int64]]

def network_parameters() -> list[str]: ...
def simulation_controllers() -> list[str]: ...
def parse_fraction(text: str) -> float: ...
def parse_picoseconds(text: str) -> int: ...
def parse_size(text: str) -> int: ...
def parse_flows(text: str) -> _Flows: ...
def format_flows(flows: _Flows, *, hpcc: bool = False) -> str: ...
def generate_flows(
    fabric: Fabric,
    *,
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    seed: int,
    size_table: str | None = None,
) -> _Flows: ...
def expected_flows(
    fabric: Fabric,
    *,
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    size_table: str | None = None,
) -> float: ...
def check_simulation(
    fabric: Fabric,
    flows: _Flows | None = None,
    *,
    controller: str,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
) -> None: ...

@final
class SimulationSeries:
    @property
    def time_ps(self) -> NDArray[np.int64]: ...
    @property
    def queue(self) -> NDArray[np.uint64]: ...
    @property
    def sent(self) -> NDArray[np.uint64]: ...
    @property
    def acknowledged(self) -> NDArray[np.uint64]: ...
    @property
    def rate(self) -> NDArray[np.float64]: ...
    @property
    def window(self) -> NDArray[np.float64]: ...

@final
class SimulationResult:
    @property
    def fct_ps(self) -> NDArray[np.int64]: ...
    @property
    def ideal_ps(self) -> NDArray[np.int64]: ...
    @property
    def totals(self) -> dict[str, int]: ...
    @property
    def end_ps(self) -> int: ...
    @property
    def port_sent(self) -> NDArray[np.uint64]: ...
    @property
    def port_peak_queue(self) -> NDArray[np.uint64]: ...
    @property
    def port_paused_ps(self) -> NDArray[np.uint64]: ...
    @property
    def series(self) -> SimulationSeries | None: ...
    def csv(self) -> str: ...

def simulate(
    fabric: Fabric,
    flows: _Flows,
    *,
    controller: str,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
    seed: int = 0,
    sample_interval_ps: int | None = None,
    ports: Sequence[int] = ...,
    watched_flows: Sequence[int] = ...,
    progress: Callable[[int, int, int], object] | None = None,
) -> SimulationResult: ...

# Quantity, quantile (None for the mean), payload from and below (bytes), start from and before (ps).
_Statistic: TypeAlias = tuple[str, float | None, tuple[int, int], tuple[int, int]]

def fluid(
    fabric: Fabric, flows: _Flows, *, controller: str = "dctcp", network: Sequence[tuple[str, str]] = ...
) -> NDArray[np.int64]: ...
def surrogate_batch(
    fabric: Fabric,
    seeds: NDArray[np.uint64],
    *,
    statistics: Sequence[_Statistic],
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    size_table: str | None = None,
    controller: str = "dctcp",
    network: Sequence[tuple[str, str]] = ...,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def generate_flows_from(
    fabric: Fabric,
    coordinates: NDArray[np.float64],
    *,
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    seed: int,
    size_table: str | None = None,
) -> _Flows: ...
def generate_flows_weighted(
    fabric: Fabric,
    *,
    edges: Sequence[float],
    heights: Sequence[float],
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    seed: int,
    size_table: str | None = None,
) -> tuple[_Flows, NDArray[np.float64]]: ...
def simulate_switching(
    fabric: Fabric,
    *,
    edges: Sequence[float],
    heights: Sequence[float],
    threshold_ps: int,
    sizes: str,
    arrivals: str,
    pattern: str,
    load: float,
    load_of: str,
    duration_ps: int,
    seed: int,
    size_table: str | None = None,
    controller: str,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int | None]: ...
