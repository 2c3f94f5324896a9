"""Experiments that a file can state, for property tests."""

from pathlib import Path

from hypothesis import strategies as st

from trialwise.experiment import model
from trialwise.experiment.building import default_bound

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


@st.composite
def kpis(draw, better):
    percentile = draw(percents)
    bound = draw(st.sampled_from(["lower", "upper", default_bound(percentile, better)]))
    return model.Kpi(percentile, draw(percents), bound)


sources = st.one_of(
    st.builds(
        model.TextSource,
        path=st.none() | words,
        csv=words,
        time=st.none() | words,
    ),
    st.builds(
        model.TextSource,
        path=st.none() | words,
        json=st.sampled_from(["", "/a/0", "/a~1b/~0"]),
        time=st.none(),
    ),
    st.builds(model.TextSource, path=st.none() | words, pattern=st.just(r"x: ([0-9.]+)")),
    st.builds(model.ResourceSource, st.sampled_from(["wall", "user", "system", "max_rss"])),
)


@st.composite
def metrics(draw, name):
    source = draw(sources)
    resource = isinstance(source, model.ResourceSource)
    better = draw(st.sampled_from(["higher", "lower"] if resource else ["higher", "lower", None]))
    found = draw(st.lists(kpis(better), max_size=3, unique=True))
    low, high = sorted(draw(st.tuples(numbers, numbers)))
    return model.Metric(
        name=name,
        source=source,
        measure=draw(st.sampled_from(["mean", "median", "min", "max"]) | percents),
        unit=draw(words) if resource else draw(texts),
        better=better,
        convergence=draw(st.none() | st.builds(model.Convergence, percents, percents)),
        kpis=tuple(found),
        variability=draw(st.none() | st.builds(model.Variability, percents, percents)) if found else None,
        limits=(low, high) if low < high and draw(st.booleans()) else None,
    )


commands = st.lists(words, min_size=1, max_size=4).map(tuple)
environments = st.dictionaries(words.filter(lambda name: "=" not in name), texts, max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)


@st.composite
def command_trials(draw, factor_names):
    placeholders = tuple(f"{{{name}}}" for name in factor_names)
    return model.CommandTrial(
        command=draw(commands) + placeholders,
        environment=draw(environments),
        directory=draw(words),
        prepare=draw(st.none() | commands),
        conclude=draw(st.none() | commands),
        timeout=draw(optional_durations),
        exit_codes=draw(st.lists(st.integers(0, 255), min_size=1, max_size=3).map(tuple)),
        output_limit=draw(st.integers(1, 2**40 - 1)),
        leftovers=draw(st.sampled_from(["fail", "end"])),
    )


python_trials = st.builds(
    model.PythonTrial,
    call=st.sampled_from(["module:function", "a.b_c:d.e"]),
    environment=environments,
    directory=words,
    timeout=optional_durations,
)

designs = st.builds(
    model.Design,
    order=st.sampled_from(["random", "fixed"]),
    series=st.none() | st.integers(1, 1_000_000),
    rounds=st.none() | st.integers(1, 1_000_000),
    span=optional_durations,
    robustness=st.integers(0, 10_000),
    warmup_trials=st.integers(0, 10_000),
)
resets = st.builds(
    model.Reset,
    command=commands,
    every=st.sampled_from(["round", "trial"]),
    timeout=durations,
    settle=st.floats(0, 1e6),
)
TAKEN = {"seed", "series", "round", "position", "trial", "directory"}


@st.composite
def experiments(draw, folder=Path("/nowhere")):
    factor_names = draw(st.lists(names.filter(lambda name: name not in TAKEN), max_size=3, unique=True))
    metric_names = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    is_python = draw(st.integers(0, 4)) == 0
    found = [draw(metrics(name)) for name in metric_names]
    return model.Experiment(
        name=draw(names),
        folder=folder,
        trial=draw(python_trials if is_python else command_trials(factor_names)),
        metrics=tuple(found),
        seed=draw(st.integers(0, 2**63 - 1)),
        description=draw(texts),
        factors=tuple(draw(factors(name)) for name in factor_names),
        design=draw(designs),
        reset=draw(st.none() | resets),
        runtime=draw(optional_durations),
        warmup=draw(st.just(0.0) | durations),
    )
