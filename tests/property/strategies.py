"""Experiments that a file can state, for property tests."""

import dataclasses
import re
from pathlib import Path

from hypothesis import strategies as st

from trialwise.errors import PlanError
from trialwise.experiment import model, sources, trials
from trialwise.experiment.defaults import default_bound
from trialwise.experiment.problems import Problems
from trialwise.experiment.quantities import QUANTITIES
from trialwise.experiment.services import Ready, Service
from trialwise.experiment.stopping import check_stopping
from trialwise.experiment.trials import LinkTable

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.\-]{0,8}", fullmatch=True)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0{}"), max_size=12)
words = st.text(st.characters(codec="utf-8", exclude_characters="\0{}"), min_size=1, max_size=12)
percents = st.floats(0.0001, 99.9999) | st.integers(1, 99).map(float)
durations = st.floats(1e-3, 1e9) | st.integers(1, 100_000).map(float)
optional_durations = st.none() | durations
numbers = st.floats(allow_nan=False, allow_infinity=False)
levels = st.one_of(texts, st.integers(-(2**63), 2**63 - 1), numbers, st.booleans())


def level_key(level):
    from trialwise.experiment.placeholders import level_text

    return level_text(level)


@st.composite
def level_lists(draw):
    """Levels of which no two are equal, or written alike."""
    found = []
    for level in draw(st.lists(levels, min_size=1, max_size=5)):
        if not any(level == other or level_key(level) == level_key(other) for other in found):
            found.append(level)
    return tuple(found)


@st.composite
def ranges(draw, name):
    integer, logarithmic = draw(st.booleans()), draw(st.booleans())
    ends = st.integers(-(2**53), 2**53) if integer else numbers
    if logarithmic:
        ends = ends.filter(lambda end: end > 0)
    low, high = sorted(draw(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])))
    return model.DrawnFactor(
        name,
        low=float(low),
        high=float(high),
        integer=integer,
        logarithmic=logarithmic,
        origin=f"{low} to {high}",
    )


@st.composite
def factors(draw, name):
    fixed = level_lists().map(lambda found: model.FixedFactor(name, found))
    listed = st.lists(levels, min_size=1, max_size=5).map(
        lambda found: model.DrawnFactor(name, values=tuple(found), origin="list")
    )
    return draw(st.one_of(fixed, listed, ranges(name)))


widths = st.floats(1e-4, 1e6).filter(lambda value: "e" not in repr(value))
extents = st.builds(model.Extent, widths, st.booleans())


def stops(of):
    return st.none() | st.builds(model.Stop, extents, percents, st.just(of))


@st.composite
def variabilities(draw):
    percentile = draw(percents)
    return model.Variability(percentile, draw(percents), draw(stops(percentile)))


@st.composite
def kpis(draw, better):
    percentile = draw(percents)
    bound = draw(st.sampled_from(["lower", "upper", default_bound(percentile, better)]))
    return model.Kpi(percentile, draw(percents), bound, draw(stops(percentile)))


text_sources = st.one_of(
    st.builds(
        sources.TextSource,
        path=st.none() | words,
        csv=words,
        time=st.none() | words,
    ),
    st.builds(
        sources.TextSource,
        path=st.none() | words,
        json=st.sampled_from(["", "/a/0", "/a~1b/~0"]),
        time=st.none(),
    ),
    st.builds(
        sources.TextSource,
        path=st.none() | words,
        pattern=st.just(r"x: ([0-9.]+)"),
        matches=st.sampled_from(["one", "all"]),
    ),
    st.builds(sources.ResourceSource, st.sampled_from(["wall", "user", "system", "max_rss"])),
)


@st.composite
def metrics(draw, name):
    source = draw(text_sources)
    resource = isinstance(source, sources.ResourceSource)
    better = draw(st.sampled_from(["higher", "lower"] if resource else ["higher", "lower", None]))
    found = draw(st.lists(kpis(better), max_size=3, unique=True))
    low, high = sorted(draw(st.tuples(numbers, numbers)))
    return model.Metric(
        name=name,
        source=source,
        measure=draw(st.sampled_from(["mean", "median", "min", "max"]) | percents),
        unit=source.traits.unit if resource else draw(texts),
        better=better,
        convergence=draw(st.none() | st.builds(model.Convergence, percents, percents)),
        kpis=tuple(found),
        variability=draw(st.none() | variabilities()) if found else None,
        limits=(low, high) if low < high and draw(st.booleans()) else None,
        margin=draw(st.none() | extents),
        stop=draw(st.none() | st.one_of(stops(50.0), stops("mean"), stops(90.0))),
    )


commands = st.lists(words, min_size=1, max_size=4).map(tuple)
environments = st.dictionaries(words.filter(lambda name: "=" not in name), texts, max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)


@st.composite
def command_trials(draw, factor_names):
    placeholders = tuple(f"{{{name}}}" for name in factor_names)
    return trials.CommandTrial(
        command=draw(commands) + placeholders,
        environment=draw(environments),
        directory=draw(words),
        prepare=draw(st.none() | commands),
        conclude=draw(st.none() | commands),
        timeout=draw(optional_durations),
        exit_codes=draw(st.lists(st.integers(0, 255), min_size=1, max_size=3).map(tuple)),
        output_limit=draw(st.integers(1, 2**40 - 1)),
        leftovers=draw(st.sampled_from(["fail", "end"])),
        isolate=draw(st.lists(st.sampled_from(["network", "ipc"]), unique=True).map(tuple)),
    )


python_trials = st.builds(
    trials.PythonTrial,
    call=st.sampled_from(["module:function", "a.b_c:d.e"]),
    environment=environments,
    directory=words,
    timeout=optional_durations,
)

link_pairs = st.fixed_dictionaries(
    {"rate": st.sampled_from(["12Mbit/s", "poisson:rate=3Mbit/s", "trace:up.trace"])},
    optional={
        "queue": st.sampled_from(["droptail:packets=50", "codel:packets=1000,target=5ms,interval=100ms"]),
        "delay": st.sampled_from(["28ms", "0.5ms"]),
        "loss": st.sampled_from(["0.4%", "0.01"]),
        "outage": st.just("exponential:on=5s,off=1s"),
        "policer": st.just("12Mbit/s,burst=15kB"),
        "batches": st.just("every=20ms"),
        "handover": st.just("every:60s,hold=50ms"),
        "radio": st.just("harq:10%"),
        "ecn": st.sampled_from(["bleach", "drop-ect1"]),
        "corrupt": st.sampled_from(["0.01%", "0.01%,checksum=fix"]),
        "duplicate": st.just("0.1%,after=0ms..5ms"),
        "pmtu": st.just("1400"),
    },
)
KEYS = tuple(LinkTable.__slots__)


@st.composite
def path_settings(draw):
    ways = [
        {key: pairs[key] for key in KEYS if key in pairs} for pairs in (draw(link_pairs), draw(link_pairs))
    ]
    uplink, downlink = ((tuple(pairs.items()),) for pairs in ways)
    return trials.PathSettings(uplink, downlink, draw(st.integers(1280, 1500)), draw(words))


@st.composite
def path_flows(draw, runtime):
    start = draw(st.floats(0, runtime / 2))
    stop = draw(st.none() | st.floats(runtime * 0.6, runtime))
    direction = draw(st.sampled_from(["uplink", "downlink"]))
    return trials.PathFlow(draw(words), start, stop, direction, draw(words))


@st.composite
def path_trials(draw, factor_names):
    runtime = draw(st.floats(1, 1000))
    placeholders = "".join(f"{{{name}}}" for name in factor_names)
    first = trials.PathFlow("x" + placeholders)
    flows = draw(st.lists(path_flows(runtime), max_size=3))
    return trials.PathTrial(
        flows=(first, *flows),
        path=draw(path_settings() | words),
        runtime=runtime,
        named_paths=tuple(draw(st.dictionaries(names, path_settings(), max_size=2)).items()),
        scheme_folders=tuple(draw(st.lists(words, max_size=2))),
        environment=draw(environments),
        packets=draw(st.sampled_from(["keep", "drop"])),
        lateness=draw(st.floats(1e-6, 1)),
    )


@st.composite
def path_metrics(draw, name):
    quantity = draw(st.sampled_from(list(QUANTITIES)))
    known = QUANTITIES[quantity]
    numbers = st.integers(1, 9)
    flow = draw(numbers if known.one_flow else st.none() | numbers) if known.per_flow else None
    metric = draw(metrics(name))
    better = known.better or draw(st.sampled_from(["higher", "lower", None]))
    source = sources.PathSource(quantity, flow, draw(st.sampled_from([0.1, 0.5])))
    return dataclasses.replace(metric, source=source, unit=known.unit, better=better)


designs = st.builds(
    model.Design,
    order=st.sampled_from(["random", "fixed", "fixed+random", "balanced"]),
    series=st.none() | st.integers(1, 1_000_000),
    rounds=st.none() | st.integers(1, 1_000_000),
    span=optional_durations,
    robustness=st.integers(0, 10_000),
    warmup_trials=st.integers(0, 10_000),
    looks=st.sampled_from(["two-stage", "anytime", "cceval"]),
    pilot=st.integers(3, 10_000),
    max_trials=st.integers(1, 1_000_000),
    budget=optional_durations,
)
resets = st.builds(
    model.Reset,
    command=commands,
    every=st.sampled_from(["round", "trial", "series"]),
    timeout=durations,
    settle=st.floats(0, 1e6),
    service=st.none() | st.sampled_from(["memcached", "postgresql@15-main.service"]),
    drop_caches=st.booleans(),
    reboot=st.booleans(),
    namespace=st.booleans(),
    container=st.none() | st.sampled_from(["database", "bench_{trial}.1"]),
    check=st.none() | commands,
) | st.builds(
    model.Reset,
    directory=st.builds(
        model.FreshDirectory,
        path=st.sampled_from(["work", "a b/c", "/var/lib/bench/work"]),
        template=st.none() | words,
    ),
)
checks = st.one_of(
    st.fixed_dictionaries({"command": commands}),
    st.fixed_dictionaries({"port": st.integers(1, 65535)}),
    st.fixed_dictionaries({"log": words.map(re.escape)}),
    st.fixed_dictionaries({"http": st.sampled_from(["http://127.0.0.1:80/x?y", "https://a.b"])}),
)


@st.composite
def services(draw):
    """Services that need those before them, which live at least as long; in the order in which they start."""
    found = []
    for name in draw(st.lists(names, max_size=2, unique=True)):
        found.append(
            Service(
                name=name,
                start=draw(commands),
                ready=draw(
                    st.builds(lambda check, timeout: Ready(**check, timeout=timeout), checks, durations)
                ),
                stop=draw(st.none() | commands),
                lifetime="series" if not found else draw(st.sampled_from(["series", "round", "trial"])),
                needs=tuple(service.name for service in found),
                log=draw(st.none() | words),
                directory=draw(words),
                environment=draw(environments),
                version=draw(st.none() | commands),
                restarts=draw(st.integers(0, 1000)),
            )
        )
    return tuple(found)


instrumentations = st.builds(
    model.Instrumentation,
    perf=st.lists(st.sampled_from(["cycles", "task-clock", "instructions:u", "r01c2"]), unique=True).map(
        tuple
    ),
    cpus=st.lists(st.integers(0, 1023), unique=True, max_size=3).map(tuple),
    resources=st.booleans(),
    interrupts=st.booleans(),
)
workers = st.builds(
    model.Workers,
    use=st.sampled_from([("local",), ("ssh://me@node1", "local")]),
    files=st.lists(st.sampled_from(["bench/**", "input.txt"]), unique=True).map(tuple),
    exclude=st.sampled_from([(), ("*.log",)]),
    setup=st.none() | commands,
    setup_timeout=durations,
    python=st.sampled_from(["python3", "/opt/python/bin/python3"]),
    folder=st.sampled_from(["~/.trialwise", "/scratch/me/trialwise"]),
    reconnect=durations,
    heartbeat=durations,
) | st.builds(
    model.Workers,
    git=st.none()
    | st.just(model.Git("https://example.org/b.git", "4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3")),
    allocate=commands,
    release=st.none() | commands,
)
TAKEN = {"seed", "series", "round", "position", "trial", "directory"}


@st.composite
def experiments(draw, folder=Path("/nowhere")):
    factor_names = draw(st.lists(names.filter(lambda name: name not in TAKEN), max_size=3, unique=True))
    metric_names = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    kind = draw(st.sampled_from(["command", "command", "python", "path"]))
    of_kind = path_metrics if kind == "path" else metrics
    found = [draw(of_kind(name)) for name in metric_names]
    runtime, warmup = draw(optional_durations), draw(st.just(0.0) | durations)
    kinds = {
        "command": command_trials(factor_names),
        "python": python_trials,
        "path": path_trials(factor_names),
    }
    trial = draw(kinds[kind])
    if isinstance(trial, trials.PathTrial):
        runtime, warmup = trial.runtime, draw(st.floats(0, trial.runtime / 2))
    experiment = model.Experiment(
        name=draw(names),
        folder=folder,
        trial=trial,
        metrics=tuple(found),
        seed=draw(st.integers(0, 2**63 - 1)),
        description=draw(texts),
        factors=tuple(draw(factors(name)) for name in factor_names),
        design=draw(designs),
        reset=(reset := draw(st.none() | resets)),
        services=draw(services()) if may_have_services(trial, reset) else (),
        workers=draw(workers),
        instrumentation=model.Instrumentation() if kind == "path" else draw(instrumentations),
        runtime=runtime,
        warmup=warmup,
    )
    return experiment if ends(experiment) else endless(experiment)


def may_have_services(trial, reset):
    """Whether services go with a trial and a reset."""
    return trial.kind != "path" and "network" not in trial.isolate and not (reset and reset.reboot)


def ends(experiment):
    """Whether what says when to stop can work together."""
    problems = Problems(experiment.folder, {})
    check_stopping(experiment, problems)
    try:
        problems.raise_any()
    except PlanError:
        return False
    return True


def endless(experiment):
    """The experiment with nothing that says when to stop: the plan alone decides."""
    metrics = tuple(
        dataclasses.replace(
            metric,
            stop=None,
            kpis=tuple(dict.fromkeys(dataclasses.replace(kpi, stop=None) for kpi in metric.kpis)),
            variability=metric.variability and dataclasses.replace(metric.variability, stop=None),
        )
        for metric in experiment.metrics
    )
    design = dataclasses.replace(experiment.design, stop="plan")
    return dataclasses.replace(experiment, metrics=metrics, design=design)
