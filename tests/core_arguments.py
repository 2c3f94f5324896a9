"""Hostile arguments of the right types for what `trialwise._core` has: numbers at every edge, and texts that hold them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from core_calls import Made
from trialwise import _core

WHOLE = (
    0,
    1,
    2,
    3,
    7,
    255,
    1500,
    65535,
    -1,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    10**40,
)
REAL = (
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    3.7,
    5e-324,
    1e-9,
    1e9,
    1e300,
    1.8e308,
    -1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
    float(2**31),
    float(2**53),
    float(2**63),
    float(2**64),
)
WAITS = (float("nan"), float("inf"), -1.0, 0.0, 1e-9, 0.01, 1e18, 1e300)
"""Seconds that something may wait for: soon over, or refused."""
HUGE = (
    "0",
    "1",
    "2",
    "-1",
    "1500",
    "65536",
    "2147483648",
    "9007199254740992",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "nan",
    "inf",
    "0.1",
    "1e-30",
    "",
)
UNITS = ("", "ms", "s", "us", "ns", "B", "kB", "GB", "Mbit/s", "Gbit/s", "bit/s", "%", "packets", "d")


def quantities() -> SearchStrategy[str]:
    return st.builds(str.__add__, st.sampled_from(HUGE), st.sampled_from(UNITS))


def filled(*shapes: str) -> SearchStrategy[str]:
    """Texts of these shapes, `{…}` in them replaced: by what stands between the braces, or one of them by a hostile number or
    quantity."""

    def fill(shape: str, odd: int, hostile: str) -> str:
        before, *others = shape.split("{")
        parts = [other.split("}", 1) for other in others]
        words = [
            hostile + usual.lstrip("0123456789.") if odd == at else usual
            for at, (usual, _) in enumerate(parts)
        ]
        return before + "".join(word + rest for word, (_, rest) in zip(words, parts, strict=True))

    hostile = st.one_of(st.sampled_from(HUGE), quantities())
    return st.builds(fill, st.sampled_from(shapes), st.integers(-1, 5), hostile)


RATES = (
    "{12Mbit/s}",
    "{12Mbit/s},overhead={38}",
    "poisson:rate={3Mbit/s},length={1s}",
    "trace:x",
    "trace:x,bytes=mahimahi,repeat=yes",
    "on-off:rate={3Mbit/s},on={1s},off={1s},length={9s}",
    "cellular:rate={3Mbit/s},dwell={100ms},levels={8},length={2s}",
    "on-off:rate={3Mbit/s},on={1s},off={1s},phases=fixed",
    "bucket:rate={3Mbit/s},burst={15kB},peak={12Mbit/s}",
    "series:x",
)
LIMITS = ("packets={50}", "bytes={15kB}", "bdp={1}")
QUEUES = (
    "infinite",
    "droptail:LIMIT,mark={9}",
    "drophead:LIMIT",
    "codel:LIMIT,target={5ms},interval={100ms},ecn=yes",
    "pie:LIMIT,update={15ms}",
    "fq_codel:LIMIT,flows={1024},quantum={1514}",
    "dualpi2:LIMIT,target={15ms},max_rtt={100ms},coupling={2},threshold={800us},range={400us},share={0.1}",
    "dualpi2-linux:LIMIT,update={16ms},alpha={0.16},beta={3.2}",
    "red:LIMIT,min={5},max={15},probability={0.1},weight={0.002}",
    "pie-mahimahi:LIMIT,target={5ms}",
    "codel-mahimahi:LIMIT,target={5ms},interval={100ms}",
)
LINK_VALUES = {
    "rate": RATES,
    "queue": tuple(queue.replace("LIMIT", limit) for queue in QUEUES for limit in LIMITS),
    "delay": (
        "{5ms}",
        "{5ms},jitter={1ms},distribution=normal,reorder=yes",
        "series:x",
        "{5ms},jitter={1ms},distribution=exponential",
    ),
    "loss": (
        "{1%}",
        "gilbert-elliott:to_bad={1%},to_good={50%},loss_bad={1},loss_good={0}",
        "pattern:0010",
        "trace:x",
        "series:x",
    ),
    "outage": ("fixed:on={5s},off={200ms}", "series:x"),
    "course": (
        "leo:rate={5Mbit/s}..{12Mbit/s},delay={5ms}..{200ms},period={5s},length={5s}",
        "recording:x,way=uplink",
    ),
    "handover": ("every:{5s},hold={2ms},flush={5Mbit/s},lose={1%},step={1ms},packets={8}", "series:x"),
    "radio": ("grants:every={5ms},delay={4ms},bytes={15kB}", "harq:{1%},step={5ms},tries={8}"),
    "ecn": ("bleach", "drop-ect1"),
    "corrupt": ("{1%}", "{1%},checksum=fix"),
    "duplicate": ("{1%},after={2ms}", "{1%},after={2ms}..{5ms}"),
    "pmtu": ("{1400B}", "{9000B},icmp=no"),
    "policer": ("{5Mbit/s},burst={30kB}",),
    "batches": ("packets={8},wait={2ms}", "every={2ms}", "packets={8},wait={2ms},every={1ms}"),
}
LINK = st.lists(
    st.fixed_dictionaries({}, optional={key: filled(*texts) for key, texts in LINK_VALUES.items()}).map(
        lambda group: list(group.items())
    ),
    max_size=2,
)
TOPOLOGIES = (
    "dumbbell:{2}x{2},{10Gbit/s},{1us}",
    "dumbbell:{2}x{2},10Gbit/s,1us,{5Gbit/s}",
    "fat-tree:{4},{10Gbit/s},{1us}",
    "leaf-spine:{2}x{2}x{2},{10Gbit/s},{1us},{40Gbit/s}",
    "dumbbell:4096x4096,{10Gbit/s},{1us}",
    "leaf-spine:512x512x512,10Gbit/s,1us",
    "fat-tree:64,10Gbit/s,1us",
    "star:3",
)
SIZES = (
    "websearch",
    "google_rpc",
    "fixed:{1000B}",
    "lognormal:mean={100kB},sigma={2}",
    "pareto:mean={100kB},shape={1.5}",
    "x",
)
FLOW_TEXTS = (
    "flow_id,src,dst,size_bytes,start_ns\n{1},{0},{1},{900},{5}\n",
    "{1}\n{0} {1} 3 100 {900} {0.5}\n",
    "{900}\n",
    "Nodes {4}\nConnections {1}\n{0}->{1} id {1} start {5} size {900}\n",
    "flow_id,src,dst,size_bytes,start_ns,class,dst_port\n1,0,1,9,5,{1},{100}\n",
    "flow_id,src,dst,size_bytes,start_ns,after,delay_ns,job\n1,0,1,9,5,,{5},{1}\n2,0,1,9,,{1},,\n",
    "0->1 id 1 start 5 size 9 send_done_trigger {1}\n1->0 trigger {1} size 9\ntrigger id {1} barrier count {1}\n",
)
FLOW_WORDS = (
    ("--help",),
    ("tcp", "send", "127.0.0.1", "{1}", "--duration", "{1}"),
    ("udp", "send", "127.0.0.1", "{1}", "--load", "bytes:{1kB}", "--mtu", "{1500}", "--duration", "{1ms}"),
    ("tcp", "receive", "--port", "{7}x"),
    ("udp", "receive", "--port", "7000{0}"),
    ("send", "127.0.0.1", "{1}", "--duration", "{1}"),
    ("receive", "--port", "7000{0}"),
    (),
)

TEXTS: dict[str, SearchStrategy[str]] = {
    "topology": filled(*TOPOLOGIES),
    "rate": filled(*RATES),
    "length": filled("{2s}"),
    "sizes": filled(*SIZES),
    "drawn_sizes": filled(*SIZES),
    "size_table": filled("{0} {0}\n{9000} {100}\n", "0 0\n{100} {50}\n{200} {100}\n"),
    "arrivals": filled("poisson", "lognormal:sigma={2}", "bursty:mean={10}"),
    "pattern": filled("one-way", "all-to-all", "permutation", "incast:{2}", "x"),
    "job": filled(
        "ring-all-reduce:{8kB},hosts={3},repeat={2},compute={1ms}",
        "tree-all-reduce:{8kB},chunks={2}",
        "pipeline:{8kB},microbatches={2},forward={1ms}",
        "all-to-all:{8kB},placement=random",
        "x",
    ),
    "load_of": st.sampled_from(("host", "bottleneck", "")),
    "mode": st.sampled_from(("clean", "compatible", "")),
    "end": st.sampled_from(("sender", "receiver", "")),
    "protocol": st.sampled_from(("any", "ip", "tcp", "udp", "")),
    "interface": st.sampled_from(("lo", "", "x" * 300, "\0")),
    "listen": filled("127.0.0.1:0", "127.0.0.1:{0}", "", ":", "[::1]:0"),
    "store": st.sampled_from(
        ("sqlite:", "sqlite:/dev/null/x", "parquet:", "", "postgresql://127.0.0.1:1/x", "x:")
    ),
    "forward": filled("127.0.0.1:{1}", "tls:127.0.0.1:{1}", "", "[::1]"),
    "name": st.sampled_from(
        (
            "task-clock",
            "r1",
            "rffffffffffffffffffff",
            "vegas",
            "dctcp",
            "hpcc",
            "p",
            "",
            "x\0",
            "cycles:u",
            "copa",
        )
    ),
}
CONTROLLERS = st.one_of(
    filled(
        "dctcp", "hpcc", "cubic", "copa", "fixed_rate:{5Mbit/s}", "newreno", "ledbat", "dcqcn", "timely", ""
    ),
    st.builds(Made, st.just("controller"), st.tuples(st.one_of(st.sampled_from(WHOLE), st.none()))),
    st.just(Made("not a controller")),
)
FABRICS = st.builds(
    Made,
    st.just("Fabric"),
    st.tuples(
        st.sampled_from(
            (
                "dumbbell:2x2,10Gbit/s,1us",
                "dumbbell:3x3,18446744Tbit/s,1us",
                "dumbbell:1x1,1bit/s,1d",
                "fat-tree:4,100Gbit/s,1us",
            )
        )
    ),
)
PATHS = st.sampled_from([Made(f"path of {kind}") for kind in ("folder", "text", "bytes", "empty", "nothing")])
FIELDS = (
    "int32",
    "uint32",
    "int64",
    "uint64",
    "double",
    "bool",
    "string",
    "blob",
    "guid",
    "[double]",
    "[int32]",
    "x",
    "",
)
NETWORK = _core.network_parameters()


def arrays(dtype: str) -> SearchStrategy[Any]:
    kind = np.dtype(dtype.removeprefix("np."))
    values: SearchStrategy[Any]
    if kind.kind == "f":
        values = st.sampled_from(REAL)
    elif kind.kind == "b":
        values = st.booleans()
    else:
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        values = st.sampled_from([value for value in WHOLE if low <= value <= high])
    rows = st.lists(values, max_size=6)
    flat = rows.map(lambda given: np.array(given, kind))
    sound = st.integers(0, 9).map(lambda count: np.arange(1, count + 1).astype(kind))
    rising = rows.map(lambda given: np.sort(np.array(given, kind)))
    table = st.tuples(st.integers(0, 3), st.integers(0, 3), rows).map(
        lambda given: np.resize(np.array(given[2] or [0], kind), given[:2])
    )
    # Each seed is a workload of up to a thousand flows: 10 ms, so that more of them are no test of the border but of patience.
    counts = (1, 1600) if np.dtype(kind) == np.uint64 else (1, 1600, 40_000)
    many = st.tuples(st.sampled_from(counts), values).map(lambda given: np.full(given[0], given[1], kind))
    return st.one_of(sound, flat, rising, table, many, flat.map(lambda given: np.repeat(given, 2)[::2]))


def flows() -> SearchStrategy[Any]:
    names = ("flow_id", "src", "dst", "size_bytes", "start_ps", "class", "dst_port")

    def columns(count: int, values: list[int], odd: str | None, wanted: int) -> dict[str, object]:
        made: dict[str, object] = {}
        for at, name in enumerate(names[:wanted]):
            usual = {"src": 0, "dst": 1, "size_bytes": 1000, "start_ps": 0}.get(name, 1)
            given = [
                values[(at + row) % len(values)] if values and name == odd else usual for row in range(count)
            ]
            made[name] = np.array(given, np.int64)
        return made

    signed = st.lists(st.sampled_from([value for value in WHOLE if value < 2**63]), max_size=3)
    odd = st.one_of(st.none(), st.sampled_from(names))
    sound = st.builds(columns, st.integers(0, 3), signed, odd, st.sampled_from((5, 5, 6, 7)))
    return st.one_of(sound, sound, st.dictionaries(st.sampled_from(names), arrays("np.int64"), max_size=7))


def workload() -> SearchStrategy[dict[str, Any]]:
    """A sound workload, but for one argument in most."""
    sound: dict[str, Any] = {
        "sizes": "fixed:1000B",
        "arrivals": "poisson",
        "pattern": "all-to-all",
        "load": 0.5,
        "load_of": "host",
        "duration_ps": 10**7,
    }
    hostile: dict[str, SearchStrategy[Any]] = {
        **{name: TEXTS[name] for name in ("sizes", "arrivals", "pattern", "load_of", "size_table")},
        "load": st.sampled_from(REAL),
        "duration_ps": st.sampled_from(WHOLE),
    }
    odd = st.lists(st.sampled_from(list(hostile)), max_size=2, unique=True)
    return odd.flatmap(lambda names: st.fixed_dictionaries({name: hostile[name] for name in names})).map(
        lambda drawn: sound | drawn
    )


STATISTICS = st.tuples(
    st.sampled_from(("fct", "slowdown", "throughput", "")),
    st.one_of(
        st.none(),
        st.sampled_from(REAL),
        st.sampled_from(("count", "sum", "")),
        st.tuples(st.sampled_from(("above", "linear")), st.sampled_from(REAL)),
    ),
    st.tuples(st.sampled_from(WHOLE), st.sampled_from(WHOLE)),
    st.tuples(st.sampled_from(WHOLE), st.sampled_from(WHOLE)),
)
WAITING = {"timeout", "patience", "seconds", "grace"}
OWN: dict[tuple[str, str], SearchStrategy[Any]] = {
    **dict.fromkeys(
        [(name, "edges") for name in ("generate_flows_weighted", "simulate_switching")],
        st.sampled_from(
            ([0.0, 1.0], [0.0, 0.5, 1.0], [0.0, float("nan"), 1.0], [], [0.0, 5e-324, 1.0], [1.0, 0.0])
        ),
    ),
    **dict.fromkeys(
        [(name, "heights") for name in ("generate_flows_weighted", "simulate_switching")],
        st.one_of(
            st.sampled_from(([1.0], [1.0, 1.0], [0.5, 1.5])), st.lists(st.sampled_from(REAL), max_size=3)
        ),
    ),
    **dict.fromkeys(
        [(name, "directory") for name in ("check_link", "simulate_path", "Path", "OuterPath")],
        st.just(Made("path of folder")),
    ),
    ("Path", "mtu"): st.sampled_from((1500, 1280, *WHOLE)),
    ("OuterPath", "mtu"): st.sampled_from((1500, 1280, *WHOLE)),
    ("simulate_path", "mtu"): st.sampled_from((1500, 576, *WHOLE)),
    ("address", "version"): st.sampled_from((4, 6, *WHOLE)),
    ("from_file", "path"): st.one_of(st.just(Made("path of topology")), PATHS),
    ("from_file", "routes"): st.one_of(st.none(), PATHS),
    ("read_packet_log", "path"): st.one_of(st.just(Made("path of log")), PATHS),
    ("Collector", "store"): st.one_of(st.just(Made("store")), st.just(Made("store")), TEXTS["store"]),
    ("Collector", "listen"): st.one_of(st.just("127.0.0.1:0"), TEXTS["listen"]),
    **dict.fromkeys(
        [(name, "text") for name in ("long_lists", "list_columns", "list_numbers")],
        st.sampled_from((b'[{"a": 1, "b": [2]}, {"c": "x"}]', b"[1, null]", b"[[1]]", b"[", b"", b"\xff")),
    ),
    ("metadata", "point"): st.none(),
    ("metadata", "key"): st.sampled_from(("a", "a_b", "", "a b", "x" * 5000)),
    ("term_exceedances", "values"): st.one_of(st.just(np.arange(6.0).reshape(6, 1)), arrays("np.float64")),
    ("term_exceedances", "sizes"): st.one_of(st.just([3, 3]), st.lists(st.sampled_from(WHOLE), max_size=3)),
    ("term_exceedances", "unfitted"): st.one_of(st.just(np.zeros((0, 2))), arrays("np.float64")),
    ("term_exceedances", "bases"): st.one_of(
        st.just([np.array([[0.5, -0.5]])]), st.lists(arrays("np.float64"), max_size=2)
    ),
    ("term_exceedances", "columns"): st.one_of(st.just([0]), st.lists(st.sampled_from(WHOLE), max_size=2)),
    **dict.fromkeys(
        [(name, "shuffles") for name in ("lag_product_exceedances", "score_exceedances", "term_exceedances")],
        st.sampled_from((None, 0, 1, 2, -1, 2**31, 2**53, 2**63 - 1, 2**64 - 1, 2**64)),
    ),
    ("run_command", "argv"): st.sampled_from(
        (
            ["true"],
            ["echo", "x" * 1000],
            ["sh", "-c", "sleep 0.01"],
            [],
            ["\0"],
            ["/nowhere"],
            [b"true", "\udcff"],
        )
    ),
    ("run_command", "environment"): st.sampled_from(
        ({"PATH": "/usr/bin:/bin"}, {}, {"": "x"}, {"A=": "\0"}, {b"PATH": b"/bin"})
    ),
    ("run_command", "working_directory"): st.sampled_from(("/", Made("path of folder"), "/nowhere", "")),
    ("run_command", "stdin"): st.one_of(st.none(), PATHS),
    ("run_command", "cancel_fd"): st.sampled_from((None, -1, 2**31 - 1, 10**6)),
    ("run_command", "isolate"): st.sampled_from((None, [], ["ipc"], ["network", "ipc"], ["x"])),
    ("run_command", "inside"): st.sampled_from((None, 0, 2**22 + 1, 2**31, 2**32 - 1, 2**32)),
    ("run_command", "counters"): st.sampled_from((None, [], ["task-clock"] * 17, ["r" + "f" * 40], ["x"])),
    ("flow_program", "arguments"): st.sampled_from(FLOW_WORDS)
    .flatmap(lambda words: st.tuples(*map(filled, words)))
    .map(list),
    ("utp_program", "arguments"): st.sampled_from(FLOW_WORDS)
    .flatmap(lambda words: st.tuples(*map(filled, words)))
    .map(list),
    ("StreamClient", "arguments"): st.lists(
        filled(
            "--oml-id",
            "a",
            "--oml-domain",
            "--oml-collect",
            "file:/dev/null",
            "--oml-samples",
            "{1}",
            "--oml-interval",
            "--oml-bufsize",
            "--oml-text",
            "x",
            "--oml-help",
            "--oml-list-filters",
            "tcp:127.0.0.1:{1}",
        ),
        max_size=8,
    ),
    ("StreamClient", "variables"): st.dictionaries(
        st.sampled_from(("OML_NAME", "OML_DOMAIN", "OML_COLLECT", "OML_CONFIG")),
        filled("a", "{1}", "file:/dev/null", "127.0.0.1:{1}"),
        max_size=3,
    ),
    ("point", "fields"): st.lists(
        st.tuples(st.sampled_from(("a", "b", "", "x y", "\n", "c" * 5000)), st.sampled_from(FIELDS)),
        max_size=5,
    ),
    ("inject", "values"): st.one_of(
        st.tuples(st.sampled_from(WHOLE), st.sampled_from(("", "x" * 10**6, "\0")), st.sampled_from(REAL)),
        st.lists(st.one_of(st.sampled_from(WHOLE), st.sampled_from((b"", b"x", True, None))), max_size=4).map(
            tuple
        ),
    ),
    ("inject_columns", "columns"): st.one_of(
        st.integers(0, 4).map(
            lambda rows: [np.full(rows, 2**31 - 1, np.int32), ["x\0"] * rows, np.full(rows, np.nan)]
        ),
        st.lists(
            st.one_of(
                *(arrays(f"np.{kind}") for kind in ("int32", "uint32", "int64", "uint64", "float64", "bool")),
                st.lists(st.sampled_from(("", "x", b"y")), max_size=3),
            ),
            max_size=3,
        ),
    ),
    ("simulate_path", "flows"): st.lists(
        st.tuples(
            CONTROLLERS,
            filled(
                "bulk",
                "rate:{5Mbit/s}",
                "bytes:{9kB}",
                "requests:request={1kB},response={9kB},think={1ms},count={2}",
                "flows:x",
            ),
            st.sampled_from(("uplink", "downlink", "")),
            st.sampled_from((0.0, 0.1, *REAL)),
            st.sampled_from((0.2, 1.0, *REAL)),
        ),
        max_size=2,
    ),
    ("parse_flows", "text"): filled(*FLOW_TEXTS),
    ("read_flow_list", "text"): filled(*FLOW_TEXTS),
    ("parse_trace", "text"): filled("{1}\n", "{1}\n{2}\n{9}\n", "{5}\n" * 6),
    ("ProgramCounters", "processes"): st.one_of(st.none(), st.lists(st.sampled_from(WHOLE), max_size=3)),
    ("PacketCapture", "count"): st.sampled_from((0, 1, 2**64 - 1, -1)),
    ("__exit__", "exception_type"): st.none(),
    ("__exit__", "exception"): st.none(),
    ("__exit__", "traceback"): st.none(),
}
"""What single parameters of single functions are given."""
LONG_RUNS = {"simulate", "simulate_path", "simulate_switching"}
"""They run as long as what is simulated; what they ask whether to go on ends them."""


def parameters(of: str) -> SearchStrategy[list[tuple[str, str]]]:
    known = (
        NETWORK
        if of == "network"
        else [*_core.controller_parameters("dctcp"), "target", "gain", "initial_window"]
    )
    value = st.one_of(
        quantities(), st.sampled_from(("true", "none", "0:down:0:1us", "strict", "1us", "1kB", "0.5"))
    )
    return st.lists(st.tuples(st.sampled_from(known), value), max_size=2)


def of_text(name: str) -> SearchStrategy[str]:
    return TEXTS.get(
        name, st.one_of(quantities(), st.sampled_from(("", "\0", "x" * 5000, "dctcp", "\n", "a=b")))
    )


SIMPLE: dict[str, SearchStrategy[Any]] = {
    "int": st.sampled_from(WHOLE),
    "float": st.sampled_from(REAL),
    "bool": st.booleans(),
    "None": st.none(),
    "object": CONTROLLERS,
    "Fabric": FABRICS,
    "FlowGraph": st.builds(Made, st.just("FlowGraph"), st.just(("ring-all-reduce:8kB",))),
    "_Flows": flows(),
    "_Statistic": STATISTICS,
    "str | os.PathLike[str]": PATHS,
    "str | bytes | os.PathLike[str]": PATHS,
    "StreamClient": st.just(Made("StreamClient")),
    "StreamPoint": st.builds(Made, st.just("StreamPoint"), st.just((("int32",),))),
    "Sequence[Sequence[tuple[str, str]]]": LINK,
    "Mapping[str, str]": st.dictionaries(
        st.sampled_from(("", "a", "b")), st.sampled_from(("", "x" * 5000)), max_size=2
    ),
}
"""What parameters of a type are given."""


def argument(function: str, name: str, kind: ast.expr) -> SearchStrategy[Any]:
    """What a parameter is given: what stands for it here, or else something of its type."""
    text = ast.unparse(kind)
    for found in (OWN.get((function, name)), of_name(function, name, text), SIMPLE.get(text)):
        if found is not None:
            return found
    return of_parts(function, name, kind)


def of_name(function: str, name: str, text: str) -> SearchStrategy[Any] | None:
    """What parameters of a kind that their name tells are given."""
    if name in WAITING:
        return st.sampled_from((*WAITS, None)) if "None" in text else st.sampled_from(WAITS)
    if "Callable" in text:
        others = [Made("goes on"), None] if "None" in text else [Made("goes on")]
        return st.sampled_from([Made("impatient"), *([] if function in LONG_RUNS else others)])
    if text == "Sequence[tuple[str, str]]":
        return parameters(name)
    return of_text(name) if text == "str" else None


def of_parts(function: str, name: str, kind: ast.expr) -> SearchStrategy[Any]:
    """What a parameter of a composed type is given."""
    match kind:
        case ast.BinOp(left=left, right=right):
            return st.one_of(argument(function, name, right), argument(function, name, left))
        case ast.Subscript(value=ast.Name("Sequence"), slice=inner):
            return st.lists(argument(function, name, inner), max_size=3)
        case ast.Subscript(value=ast.Name("tuple"), slice=ast.Tuple(elts=parts)):
            return st.tuples(*(argument(function, name, part) for part in parts))
        case ast.Subscript(value=ast.Name("NDArray"), slice=inner):
            return arrays(ast.unparse(inner))
        case ast.Subscript(value=ast.Name("Literal"), slice=words):
            return st.sampled_from((*ast.literal_eval(words), "none of them"))
        case _:
            raise AssertionError(f"say in this file what {function} gets as {name}: {ast.unparse(kind)}")
