"""Chakra execution traces (mlcommons/chakra, et_def.proto): the nodes of each rank of a training job, as a graph of flows.

A file is a stream of protobuf messages, each behind its length: metadata first, then nodes. Computations become pauses, sends flows,
and collectives the flows of a ring or an exchange. Rank r is the r-th host of the topology.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trialwise import _core
from trialwise.visible import visible

_METADATA, _LOAD, _STORE, _COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = range(1, 8)
_ALL_REDUCE, _ALL_TO_ALL, _BARRIER = 0, 6, 9
_NAMES = (
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
    "reduce-scatter-block",
    "barrier",
)
_ID, _NAME, _TYPE, _CONTROL, _DATA, _DURATION, _ATTRIBUTE = 1, 2, 3, 4, 5, 7, 10
_INTEGERS = (7, 9, 11, 13)
"""Fields of an attribute that hold whole numbers; writers differ in which they take."""
_FLAGS, _TEXT = 28, 29
_VARINT, _WIDE, _BYTES, _NARROW = 0, 1, 2, 5
_MAX_NUMBER = 2**63
_PICOSECONDS = 10**6
"""In a microsecond."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A node: its number and name, its type, the nodes it depends on, microseconds, and attributes (numbers, texts, flags)."""

    number: int
    name: str
    kind: int
    after: tuple[int, ...]
    duration: int
    numbers: dict[str, int]
    texts: dict[str, str]

    def said(self, rank: int) -> str:
        """Name the node in a message."""
        return f"rank {rank}, node {self.number} ({visible(self.name)[:40]})"


def names_trace(text: str) -> bool:
    """Return True if a workload's flows are an execution trace, such as trace.*.et."""
    return text.endswith(".et")


def trace_files(folder: Path, text: str) -> tuple[Path, ...]:
    """Return the files of a trace, of ranks 0, 1, …; `text` has one name, or a * instead of the rank.

    Raises
    ------
    ValueError
        There is none, or a rank is missing.
    """
    found = {path: path.name.split(".")[-2:-1] for path in folder.glob(text)}
    ranks = {int(rank[0]): path for path, rank in found.items() if rank and rank[0].isdecimal()}
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        raise ValueError(
            f"{text}: files of ranks 0, 1, … are expected, and there are {sorted(ranks)[:8] or 'none'}"
        )
    return tuple(ranks[rank] for rank in sorted(ranks))


def trace_graph(files: Sequence[bytes], hosts: Sequence[int]) -> _core.FlowGraph:
    """Return the flows of a trace, whose files are those of ranks 0, 1, ….

    Raises
    ------
    ValueError
        A file is no such trace, or has what is not simulated; the message says which node.
    """
    if len(files) > len(hosts):
        raise ValueError(f"the trace has {len(files)} ranks and the topology {len(hosts)} hosts")
    ranks = [_nodes(data, rank) for rank, data in enumerate(files)]
    return _Building(hosts).graph(ranks)


# Protobuf


def _nodes(data: bytes, rank: int) -> list[_Node]:
    """Read all nodes of a file; ValueError if it is cut off, or has a node twice."""
    try:
        messages = list(_messages(data))
        nodes = [_node(message) for message in messages[1:]]
    except (ValueError, IndexError) as error:
        raise ValueError(f"rank {rank}: not an execution trace: {error or 'it ends early'}") from error
    if len({node.number for node in nodes}) != len(nodes):
        raise ValueError(f"rank {rank}: two nodes have the same number")
    return nodes


def _messages(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        length, place = _varint(data, place)
        yield _slice(data, place, length)
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Read a number of at most ten bytes; return it and the place after it."""
    number = 0
    for step in range(10):
        byte = data[place + step]
        number |= (byte & 127) << 7 * step
        if byte < 128:
            return number, place + step + 1
    raise ValueError("a number does not end")


def _slice(data: bytes, place: int, length: int) -> bytes:
    if length > len(data) - place:
        raise ValueError("it ends early")
    return data[place : place + length]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        wire = key & 7
        if wire == _VARINT:
            value, place = _varint(message, place)
        elif wire in (_WIDE, _NARROW):
            width = 8 if wire == _WIDE else 4
            value = int.from_bytes(_slice(message, place, width), "little")
            place += width
        elif wire == _BYTES:
            length, place = _varint(message, place)
            value = _slice(message, place, length)
            place += length
        else:
            raise ValueError("a field has an unknown form")
        yield key >> 3, value


def _packed(value: int | bytes) -> Iterator[int]:
    """Yield the numbers of a repeated field, packed or single."""
    if isinstance(value, int):
        yield value
        return
    place = 0
    while place < len(value):
        number, place = _varint(value, place)
        yield number


def _node(message: bytes) -> _Node:
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    found = {_ID: 0, _TYPE: 0, _DURATION: 0}
    name, after = "", list[int]()
    for key, value in _fields(message):
        if key in found and isinstance(value, int):
            found[key] = value
        elif key == _NAME and isinstance(value, bytes):
            name = value.decode(errors="replace")
        elif key in (_CONTROL, _DATA):
            after += _packed(value)
        elif key == _ATTRIBUTE and isinstance(value, bytes):
            _attribute(value, numbers, texts)
    if found[_DURATION] >= _MAX_NUMBER // _PICOSECONDS:
        raise ValueError(f"the duration of node {found[_ID]} is too long")
    return _Node(found[_ID], name, found[_TYPE], tuple(after), found[_DURATION], numbers, texts)


def _attribute(message: bytes, numbers: dict[str, int], texts: dict[str, str]) -> None:
    fields = dict(_fields(message))
    name = fields.get(1)
    if not isinstance(name, bytes):
        return
    spelled = name.decode(errors="replace")
    for key, value in fields.items():
        if key in _INTEGERS and isinstance(value, int):
            numbers[spelled] = value
        elif key == _TEXT and isinstance(value, bytes):
            texts[spelled] = value.decode(errors="replace")
        elif key == _FLAGS and isinstance(value, bytes):
            numbers[spelled] = int(all(flag for _, flags in _fields(value) for flag in _packed(flags)))


# Steps


@dataclass(slots=True)
class _Steps:
    """Steps as columns, and what each waits for."""

    columns: dict[str, list[int]] = field(
        default_factory=lambda: {name: [] for name in ("src", "dst", "size_bytes", "delay_ps")}
    )
    waits: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def add(self, *, src: int = 0, dst: int = 0, size: int = 0, delay: int = 0) -> int:
        """Add a flow, or a pause with size 0; return its place."""
        for name, value in (("src", src), ("dst", dst), ("size_bytes", size), ("delay_ps", delay)):
            self.columns[name].append(value)
        return len(self.columns["src"]) - 1

    def wait(self, step: int, awaited: int, *, acknowledged: bool = False) -> None:
        """Have a step wait for another."""
        self.waits.append((step, awaited, int(acknowledged)))

    def graph(self) -> _core.FlowGraph:
        """Return the graph, all steps as one job."""
        count = len(self.columns["src"])
        columns = {name: np.array(values, dtype=np.int64) for name, values in self.columns.items()}
        zeros = np.zeros(count, dtype=np.int64)
        edges = np.array(self.waits, dtype=np.int64).reshape(-1, 3)
        return _core.FlowGraph.of_steps(
            {"flow_id": np.arange(count), "start_ps": zeros, "job": zeros, **columns},
            *(np.ascontiguousarray(edges[:, place]) for place in range(3)),
        )


class _Building:
    """Brings the nodes of all ranks into steps."""

    def __init__(self, hosts: Sequence[int]) -> None:
        self._hosts = hosts
        self._steps = _Steps()
        # Of each rank and node, the step before which it does nothing, and the one after which it is over.
        self._begin: dict[tuple[int, int], int] = {}
        self._end: dict[tuple[int, int], int] = {}

    def graph(self, ranks: Sequence[Sequence[_Node]]) -> _core.FlowGraph:
        """Return the graph of the nodes of each rank; ValueError names the node that cannot be."""
        sends: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        receives: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        collectives: dict[str, dict[int, list[_Node]]] = defaultdict(lambda: defaultdict(list))
        for rank, nodes in enumerate(ranks):
            for node in nodes:
                step = self._step(rank, node, len(ranks))
                if node.kind == _SEND:
                    sends[rank, _number(node, rank, "comm_dst"), node.numbers.get("comm_tag", 0)].append(step)
                elif node.kind == _RECEIVE:
                    source = _number(node, rank, "comm_src")
                    receives[source, rank, node.numbers.get("comm_tag", 0)].append(step)
                elif node.kind == _COLLECTIVE:
                    collectives[node.texts.get("pg_name", "")][rank].append(node)
        self._match(sends, receives)
        for group in collectives.values():
            self._collect(group)
        for rank, nodes in enumerate(ranks):
            self._depend(rank, nodes)
        return self._steps.graph()

    def _step(self, rank: int, node: _Node, ranks: int) -> int:
        """Add the step of a node; a collective has one before its flows and one behind them."""
        if node.kind == _SEND:
            to = _number(node, rank, "comm_dst")
            if not 0 <= to < ranks or to == rank:
                raise ValueError(f"{node.said(rank)}: it sends to rank {to}, and there are {ranks}")
            size = _size(node, rank)
            step = self._steps.add(src=self._hosts[rank], dst=self._hosts[to], size=size)
        elif node.kind in (_METADATA, _LOAD, _STORE, _COMPUTE, _RECEIVE, _COLLECTIVE):
            lasts = node.kind in (_LOAD, _STORE, _COMPUTE)
            step = self._steps.add(delay=node.duration * _PICOSECONDS if lasts else 0)
        else:
            raise ValueError(f"{node.said(rank)}: type {node.kind} is not known")
        self._begin[rank, node.number] = self._end[rank, node.number] = step
        return step

    def _match(
        self, sends: dict[tuple[int, int, int], list[int]], receives: dict[tuple[int, int, int], list[int]]
    ) -> None:
        """Have each receive wait for its send: those of two ranks and a tag belong together in their order."""
        for key in sends.keys() | receives.keys():
            sent, received = sends.get(key, []), receives.get(key, [])
            if len(sent) != len(received):
                source, to, tag = key
                raise ValueError(
                    f"rank {source} sends {len(sent)} times to rank {to} with tag {tag}, and it receives {len(received)} times"
                )
            for send, receive in zip(sent, received, strict=True):
                self._steps.wait(receive, send)

    def _collect(self, group: dict[int, list[_Node]]) -> None:
        """Add the flows of all collectives of a group of ranks, which belong together in their order."""
        members = sorted(group)
        counts = {len(nodes) for nodes in group.values()}
        if len(counts) > 1:
            raise ValueError(f"ranks {members[:8]} have different numbers of collectives of one group")
        for place in range(*counts):
            nodes = [group[rank][place] for rank in members]
            first = nodes[0]
            asked = {
                (_number(node, rank, "comm_type"), _size_of(node, rank))
                for rank, node in zip(members, nodes, strict=True)
            }
            if len(asked) > 1:
                raise ValueError(
                    f"{first.said(members[0])}: other ranks have another collective in its place"
                )
            ((kind, size),) = asked
            if not all(node.numbers.get("involved_dim", 1) for node in nodes):
                raise ValueError(
                    f"{first.said(members[0])}: a collective of some dimensions is not simulated"
                )
            begins = [self._begin[rank, node.number] for rank, node in zip(members, nodes, strict=True)]
            ends = [self._steps.add() for _ in members]
            for rank, node, end in zip(members, nodes, ends, strict=True):
                self._end[rank, node.number] = end
            hosts = [self._hosts[rank] for rank in members]
            if len(members) > 1 and kind in (_ALL_REDUCE, _ALL_TO_ALL) and size < len(members):
                raise ValueError(
                    f"{first.said(members[0])}: {size} bytes are too few for {len(members)} ranks"
                )
            if kind == _ALL_REDUCE and len(members) > 1:
                self._ring(hosts, begins, ends, size)
            elif kind in (_ALL_TO_ALL, _BARRIER) and len(members) > 1:
                self._exchange(hosts, begins, ends, size if kind == _ALL_TO_ALL else 0)
            elif kind in (_ALL_REDUCE, _ALL_TO_ALL, _BARRIER):
                self._steps.wait(ends[0], begins[0])
            else:
                name = _NAMES[kind] if kind < len(_NAMES) else str(kind)
                raise ValueError(
                    f"{first.said(members[0])}: {name} is not simulated, whose size may be that of one rank or of all: write sends "
                    "and receives"
                )

    def _ring(self, hosts: Sequence[int], begins: Sequence[int], ends: Sequence[int], size: int) -> None:
        """All-reduce on a ring: each host sends a chunk to the next when it has the one before."""
        count = len(hosts)
        before = list(begins)
        for number in range(2 * (count - 1)):
            sent = [0] * count
            for host in range(count):
                chunk, to = (host - number) % count, (host + 1) % count
                part = size * (chunk + 1) // count - size * chunk // count
                sent[to] = self._steps.add(src=hosts[host], dst=hosts[to], size=part)
                self._steps.wait(sent[to], before[host])
                if number:
                    self._steps.wait(sent[to], begins[host])
            before = sent
        for end, begin, last in zip(ends, begins, before, strict=True):
            self._steps.wait(end, last)
            self._steps.wait(end, begin)

    def _exchange(self, hosts: Sequence[int], begins: Sequence[int], ends: Sequence[int], size: int) -> None:
        """Each host sends its part to each other at once; with size 0 it only waits for all."""
        count = len(hosts)
        if not size:
            everybody = self._steps.add()
            for begin, end in zip(begins, ends, strict=True):
                self._steps.wait(everybody, begin)
                self._steps.wait(end, everybody)
            return
        for host in range(count):
            self._steps.wait(ends[host], begins[host])
            for offset in range(1, count):
                to = (host + offset) % count
                part = size * (to + 1) // count - size * to // count
                flow = self._steps.add(src=hosts[host], dst=hosts[to], size=part)
                self._steps.wait(flow, begins[host])
                self._steps.wait(ends[to], flow)

    def _depend(self, rank: int, nodes: Sequence[_Node]) -> None:
        kinds = {node.number: node.kind for node in nodes}
        for node in nodes:
            for other in dict.fromkeys(node.after):
                if other not in kinds:
                    raise ValueError(
                        f"{node.said(rank)}: it depends on node {other}, which the rank does not have"
                    )
                self._steps.wait(
                    self._begin[rank, node.number], self._end[rank, other], acknowledged=kinds[other] == _SEND
                )


def _number(node: _Node, rank: int, name: str) -> int:
    if name not in node.numbers:
        raise ValueError(f"{node.said(rank)}: it has no {name}")
    return node.numbers[name]


def _size_of(node: _Node, rank: int) -> int:
    """Return the size of a collective; a barrier has none."""
    return 0 if node.numbers.get("comm_type") == _BARRIER else _size(node, rank)


def _size(node: _Node, rank: int) -> int:
    size = _number(node, rank, "comm_size")
    if not 0 < size < _MAX_NUMBER:
        raise ValueError(f"{node.said(rank)}: its size is {size} bytes")
    return size
