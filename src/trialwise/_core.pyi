import os
from collections.abc import Callable, Sequence
from typing import Literal, NotRequired, Self, TypeAlias, TypedDict, Unpack, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AcknowledgementEvent",
    "ControllerContext",
    "CoreError",
    "Fabric",
    "FlowGraph",
    "LinkDescription",
    "LossEvent",
    "PacketColumns",
    "PathSimulation",
    "PathSimulationError",
    "SentEvent",
    "SimulationError",
    "SimulationResult",
    "SimulationSeries",
    "TimeoutEvent",
    "__version__",
    "_panic",
    "check_link",
    "check_load",
    "check_recording",
    "check_simulation",
    "controller_parameters",
    "controllers",
    "cut_trace",
    "differences_at",
    "elements",
    "estimate",
    "expected_flows",
    "features",
    "fluid",
    "format_flows",
    "format_trace",
    "fullest_link",
    "generate_flows",
    "generate_flows_from",
    "generate_flows_weighted",
    "inversions",
    "lag_product_exceedances",
    "list_columns",
    "list_numbers",
    "long_lists",
    "make_trace",
    "network_parameters",
    "parse_flows",
    "parse_fraction",
    "parse_picoseconds",
    "parse_quantity",
    "parse_size",
    "parse_trace",
    "part_means",
    "path_controllers",
    "read_flow_list",
    "read_packet_log",
    "scale_trace",
    "score_exceedances",
    "simulate",
    "simulate_path",
    "simulate_switching",
    "simulation_controllers",
    "size_knots",
    "size_tables",
    "slope_order_statistics",
    "surrogate_batch",
    "surrogate_framing",
    "surrogate_samples",
    "term_exceedances",
    "trace_from_departures",
    "trace_mean_rate",
    "window_percentiles",
]

__version__: str

def features() -> list[str]: ...

# A bug in Trialwise, reported by its compiled part; tests cause one.
class CoreError(RuntimeError): ...

def _panic(words: str) -> None: ...

# Docstrings are in crates/python, where `help` finds them.
class PathSimulationError(ValueError): ...

@final
class PathSimulation:
    @property
    def packets(self) -> PacketColumns: ...
    @property
    def reports(self) -> list[bytes]: ...
    @property
    def completed(self) -> list[bool]: ...
    @property
    def end(self) -> float: ...

def simulate_path(
    uplink: Sequence[Sequence[tuple[str, str]]],
    downlink: Sequence[Sequence[tuple[str, str]]],
    flows: Sequence[tuple[object, str, str, float, float]],
    *,
    directory: str | os.PathLike[str],
    seed: int,
    mtu: int = 1500,
    interval: float = 0.01,
    cancelled: Callable[[], bool] | None = None,
    flow_delays: Sequence[tuple[int, float]] = ...,
) -> PathSimulation: ...

@final
class ControllerContext:
    @property
    def now_ps(self) -> int: ...
    @property
    def segment(self) -> int: ...
    @property
    def line_rate(self) -> int | None: ...
    @property
    def base_rtt_ps(self) -> int | None: ...
    @property
    def path_window(self) -> int | None: ...
    @property
    def hops(self) -> int | None: ...
    @property
    def seed(self) -> int: ...

@final
class SentEvent:
    @property
    def now_ps(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def retransmission(self) -> bool: ...

@final
class AcknowledgementEvent:
    @property
    def now_ps(self) -> int: ...
    @property
    def acknowledged(self) -> int: ...
    @property
    def cumulative(self) -> int: ...
    @property
    def next_sequence(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def in_recovery(self) -> bool: ...
    @property
    def rtt_ps(self) -> int | None: ...
    @property
    def one_way_delay_ps(self) -> int | None: ...
    @property
    def packets(self) -> int: ...
    @property
    def marked_packets(self) -> int: ...
    @property
    def ect0_packets(self) -> int: ...
    @property
    def ect1_packets(self) -> int: ...
    @property
    def delivery_rate(self) -> int | None: ...
    @property
    def application_limited(self) -> bool: ...
    @property
    def hops(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def reports(self) -> list[tuple[int, int, int, int | None]]: ...

@final
class LossEvent:
    @property
    def now_ps(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def new_episode(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def next_sequence(self) -> int: ...
    @property
    def reports(self) -> list[tuple[int, int, int]]: ...

@final
class TimeoutEvent:
    @property
    def now_ps(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def next_sequence(self) -> int: ...
    @property
    def repetition(self) -> int: ...

def window_percentiles(
    values: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64], fraction: float
) -> NDArray[np.float64]: ...
def slope_order_statistics(
    x: NDArray[np.float64], y: NDArray[np.float64], ranks: Sequence[int]
) -> NDArray[np.float64]: ...
def inversions(values: NDArray[np.float64]) -> int: ...
def differences_at(
    first: NDArray[np.float64], second: NDArray[np.float64], ranks: Sequence[int]
) -> NDArray[np.float64]: ...
def part_means(values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]: ...

# Path, begin, end, length, and of each block after the first one its first entry and where that begins.
_LongList: TypeAlias = tuple[tuple[str | int, ...], int, int, int, list[tuple[int, int]]]
# Kinds, numbers, codes and texts, numbers of lists with their bounds.
_Column: TypeAlias = tuple[
    NDArray[np.uint8],
    NDArray[np.float64],
    NDArray[np.uint32],
    list[str],
    NDArray[np.float64],
    NDArray[np.int64],
]

def long_lists(text: bytes, least: int, longest: int, block: int) -> list[_LongList] | None: ...
def list_columns(text: bytes, begin: int, end: int) -> list[tuple[tuple[str, ...], _Column]] | None: ...
def list_numbers(text: bytes, begin: int, end: int) -> tuple[NDArray[np.float64], int, bool] | None: ...
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

# Traces are sorted milliseconds.
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
    @property
    def changes_payloads(self) -> bool: ...
    @property
    def ecn(self) -> Literal["bleach", "drop-ect1"] | None: ...

def check_link(
    groups: Sequence[Sequence[tuple[str, str]]],
    directory: str | os.PathLike[str],
    round_trip: float | None = None,
) -> LinkDescription: ...
def check_load(load: str, content: str | None = None) -> tuple[int, int] | None: ...
def check_recording(text: str) -> None: ...

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
    def cautions(self) -> list[str]: ...
    @property
    def links(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def losses(self) -> NDArray[np.float64]: ...
    @property
    def bottleneck(self) -> int | None: ...
    @property
    def round_trip_ps(self) -> int: ...
    def flow_routes(self, flows: _Flows) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def ideal_times(self, flows: _Flows) -> NDArray[np.int64]: ...
    def to_hpcc(self) -> str: ...

# An invalid topology, workload, parameter or flow list.
class SimulationError(ValueError): ...

# A controller is a name from `simulation_controllers`, or a class (docs/reference/simulation.md).
_Flows: TypeAlias = dict[str, NDArray[np.int64]]

@final
class FlowGraph:
    @staticmethod
    def of_job(job: str, fabric: Fabric, *, seed: int) -> FlowGraph: ...
    @staticmethod
    def of_steps(
        steps: _Flows,
        waiting: NDArray[np.int64],
        awaited: NDArray[np.int64],
        acknowledged: NDArray[np.int64],
    ) -> FlowGraph: ...
    def flows(self) -> _Flows: ...
    def with_flows(self, flows: _Flows) -> FlowGraph: ...

def controller_parameters(name: str) -> list[str]: ...

# Names, of which the first is that of the law; what it does; its settings, with what each takes.
def controllers() -> list[tuple[list[str], str, list[tuple[str, str]]]]: ...
def network_parameters() -> list[str]: ...
def path_controllers() -> list[tuple[str, bool]]: ...
def simulation_controllers() -> list[str]: ...
def parse_fraction(text: str) -> float: ...
def parse_picoseconds(text: str) -> int: ...

_Setting: TypeAlias = tuple[str, str, str]

def elements() -> dict[str, list[tuple[str, str, str, _Setting | None, list[_Setting]]]]: ...
def parse_quantity(text: str, dimension: Literal["time", "rate", "size", "share", "number"]) -> float: ...
def parse_size(text: str) -> int: ...
def size_tables() -> dict[str, list[tuple[float, float]]]: ...
def parse_flows(text: str) -> _Flows: ...
def read_flow_list(text: str) -> tuple[_Flows, FlowGraph | None, list[str]]: ...
def format_flows(flows: _Flows, *, hpcc: bool = False) -> str: ...

class _Workload(TypedDict):
    sizes: str
    arrivals: str
    pattern: str
    load: float
    load_of: str
    duration_ps: int
    size_table: NotRequired[str | None]

def generate_flows(fabric: Fabric, *, seed: int, **workload: Unpack[_Workload]) -> _Flows: ...
def expected_flows(fabric: Fabric, **workload: Unpack[_Workload]) -> float: ...
def fullest_link(fabric: Fabric, **workload: Unpack[_Workload]) -> tuple[int, int, float]: ...
def check_simulation(
    fabric: Fabric,
    flows: _Flows | FlowGraph | None = None,
    *,
    controller: object,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
) -> list[str]: ...

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
    def delivered(self) -> NDArray[np.int64]: ...
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
    @property
    def jct_ps(self) -> NDArray[np.int64]: ...
    def started(self) -> _Flows: ...
    def csv(self) -> str: ...

def simulate(
    fabric: Fabric,
    flows: _Flows | FlowGraph,
    *,
    controller: object,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
    seed: int = 0,
    sample_interval_ps: int | None = None,
    most_looks: int | None = None,
    ports: Sequence[int] = ...,
    watched_flows: Sequence[int] = ...,
    threads: int = 1,
    progress: Callable[[int, int, int], object] | None = None,
) -> SimulationResult: ...

# None (the mean), a quantile by nearest rank, "count" or "sum", ("above", level) or ("linear", quantile).
_Summary: TypeAlias = float | str | tuple[str, float] | None
# Quantity, summary, range of payload (bytes) and of start (ps), each without its upper end.
_Statistic: TypeAlias = tuple[str, _Summary, tuple[int, int], tuple[int, int]]

def fluid(
    fabric: Fabric,
    flows: _Flows,
    *,
    controller: object = ...,
    network: Sequence[tuple[str, str]] = ...,
    window_ps: int = 0,
    progress: Callable[[], object] | None = None,
) -> NDArray[np.int64]: ...
def estimate(
    part: str,
    fabric: Fabric,
    flows: _Flows,
    *,
    controller: object,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
    seed: int = 0,
    paths: int = 0,
    expected: float = 0.0,
    distance: float = 0.0,
    threads: int = 1,
    progress: Callable[[], object] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int, int]]: ...
def surrogate_batch(
    fabric: Fabric,
    seeds: NDArray[np.uint64],
    *,
    statistics: Sequence[_Statistic],
    controller: object = ...,
    network: Sequence[tuple[str, str]] = ...,
    window_ps: int = 0,
    threads: int | None = None,
    **workload: Unpack[_Workload],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def surrogate_samples(
    fabric: Fabric,
    seeds: NDArray[np.uint64],
    *,
    statistic: _Statistic,
    controller: object = ...,
    network: Sequence[tuple[str, str]] = ...,
    window_ps: int = 0,
    threads: int | None = None,
    **workload: Unpack[_Workload],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def surrogate_framing(
    fabric: Fabric, *, controller: object = ..., network: Sequence[tuple[str, str]] = ...
) -> tuple[int, int]: ...
def generate_flows_from(
    fabric: Fabric, coordinates: NDArray[np.float64], *, seed: int, **workload: Unpack[_Workload]
) -> _Flows: ...
def generate_flows_weighted(
    fabric: Fabric,
    *,
    edges: Sequence[float],
    heights: Sequence[float],
    seed: int,
    **workload: Unpack[_Workload],
) -> tuple[_Flows, NDArray[np.float64]]: ...
def simulate_switching(
    fabric: Fabric,
    *,
    edges: Sequence[float],
    heights: Sequence[float],
    threshold_ps: int,
    flow_seed: int,
    drawn_sizes: str | None = None,
    controller: object,
    parameters: Sequence[tuple[str, str]] = ...,
    network: Sequence[tuple[str, str]] = ...,
    mode: str = "clean",
    seed: int = 0,
    progress: Callable[[int, int, int], object] | None = None,
    **workload: Unpack[_Workload],
) -> tuple[_Flows, SimulationResult, NDArray[np.float64], int | None]: ...
def size_knots(
    sizes: str, size_table: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
