"""Flow lists: what is drawn has the distribution that was asked for."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.trials.flow_lists import (
    Arrivals,
    drawn,
    flow_source,
    read_flows,
    write_flows,
)
from trialwise.trials.flow_sizes import Cdf, Lognormal, Pareto, read_cdf
from trialwise.trials.loads import parse_load

SHARED = Path(__file__).resolve().parents[3] / "../shared/data/cdfs"
HERE = Path()


def arrivals(text: str, folder: Path = HERE) -> Arrivals:
    source = flow_source(text, folder)
    assert isinstance(source, Arrivals)
    return source


def rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(seed))


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("lognormal:mean=100kB,cv=2", stats.lognorm(s=np.sqrt(np.log(5)), scale=1e5 / np.sqrt(5))),
        ("pareto:mean=100kB,shape=2.5", stats.pareto(2.5, scale=6e4)),
    ],
)
def test_sizes_have_their_distribution(text: str, frozen):
    sizes = arrivals(f"poisson,rate=1/s,sizes={text}").sizes
    found = sizes.draw(100_000, rng(1))
    assert frozen.mean() == pytest.approx(1e5)
    assert stats.kstest(found, frozen.cdf).pvalue > 0.01
    assert stats.kstest(found * 1.05, frozen.cdf).pvalue < 1e-4, "the test can tell five per cent"


@pytest.mark.parametrize("name", ["WebSearch", "FbHdp", "AliStorage", "GoogleRPC"])
def test_sizes_of_a_file_have_its_quantiles_and_mean(name: str):
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data/cdfs here")
    cdf = read_cdf(SHARED / f"{name}.txt")
    found = cdf.draw(200_000, rng(2))
    for percent in (10, 25, 50, 75, 90, 99):
        share = np.mean(found <= np.interp(percent / 100, cdf.shares, cdf.sizes))
        assert share == pytest.approx(percent / 100, abs=0.005)
    error = found.std() / np.sqrt(len(found))
    assert abs(found.mean() - cdf.mean) < 4 * error
    if name == "WebSearch":
        assert cdf.mean == pytest.approx(1_711_250), "as fits.json has it"


@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("websearch", 1_711_250),
        ("facebook_hadoop", 120_420.75),
        ("alistorage", 40_869.8),
        ("google_rpc", 2_891.62125),
    ],
)
def test_sizes_that_have_a_name_are_those_of_simulated_trials(name: str, mean: float):
    """By their means, and by the quantiles of the lists that the simulator draws."""
    process = arrivals(f"poisson,load=50%,sizes={name}")
    assert process.sizes.mean == pytest.approx(mean)
    assert process.files == ()
    simulated = _core.generate_flows(
        _core.Fabric("dumbbell:1x1,1Gbit/s,1us"),
        sizes=name,
        arrivals="poisson",
        pattern="one-way",
        load=0.5,
        load_of="bottleneck",
        duration_ps=int(4000 * mean * 8 / 0.5e9 * 1e12),
        seed=1,
    )
    drawn_here = process.sizes.draw(20_000, rng(3))
    assert stats.ks_2samp(drawn_here, simulated["size_bytes"]).pvalue > 0.01
    assert stats.ks_2samp(drawn_here * 1.2, simulated["size_bytes"]).pvalue < 1e-3, "the test can tell"


def test_a_distribution_may_be_written_as_for_simulated_trials(tmp_path: Path):
    plain, commented = tmp_path / "plain.cdf", tmp_path / "commented.csv"
    plain.write_text("0 0\n10 50\n20 100\n")
    commented.write_text("# Two halves.\nsize_bytes,cumulative_percent\n0,0\n10,50  # small\n20,100\n")
    first, second = read_cdf(plain), read_cdf(commented)
    assert (first.sizes, first.shares) == (second.sizes, second.shares) == ((0, 10, 20), (0, 0.5, 1))


def test_the_offered_load_covers_what_was_asked_for():
    """Over many trials, the mean of the offered load is the one asked for, and its spread that of a compound Poisson process."""
    process, capacity, seconds = arrivals("poisson,load=50%,sizes=lognormal:mean=20kB,cv=1"), 20e6, 10.0
    offered = []
    for seed in range(400):
        starts, sizes = drawn(process, seconds, capacity, rng(seed))
        assert np.all(np.diff(starts) >= 0)
        assert starts[0] >= 0
        assert starts[-1] < seconds * 1e9
        offered.append(sizes.sum() * 8 / seconds / capacity)
    flows = 0.5 * capacity * seconds / 8 / 20e3
    spread = 0.5 * np.sqrt((1 + 1) / flows)  # Var Σ = λt E X², E X² = mean² (1 + cv²)
    assert np.mean(offered) == pytest.approx(0.5, abs=4 * spread / 20)
    assert np.std(offered) == pytest.approx(spread, rel=0.2)


def test_arrivals_are_a_poisson_process():
    counts, gaps = [], []
    for seed in range(200):
        starts, _ = drawn(arrivals("poisson,rate=50/s,sizes=fixed:1kB"), 2.0, None, rng(seed))
        counts.append(len(starts))
        gaps += list(np.diff(starts) / 1e9)
    assert np.mean(counts) == pytest.approx(100, abs=3)
    assert np.var(counts) == pytest.approx(100, rel=0.35)
    assert stats.kstest(gaps[::10], stats.expon(scale=1 / 50).cdf).pvalue > 0.01


def test_a_seed_gives_one_list():
    process = arrivals("poisson,rate=20/s,sizes=lognormal:mean=10kB,cv=3,for=2s")
    first, again, other = (drawn(process, 5.0, None, rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0][:5], other[0][:5])
    assert first[0][-1] < 2e9


def test_a_list_comes_back_from_its_file(tmp_path: Path):
    file = tmp_path / "flows.csv"
    write_flows(file, np.array([5, 7]), np.array([100, 1]))
    assert file.read_text() == "start_ns,size_bytes\n5,100\n7,1\n"
    starts, sizes = read_flows(file)
    assert (starts.tolist(), sizes.tolist()) == ([5, 7], [100, 1])
    file.write_text("size_bytes,name,start_ns\n10,a,3\n")
    assert [column.tolist() for column in read_flows(file)] == [[3], [10]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("poisson,sizes=fixed:1kB", "either load=50%"),
        ("poisson,load=50%,rate=2/s,sizes=fixed:1kB", "either load=50%"),
        ("poisson,load=50%", "sizes= is missing"),
        ("poisson,load=x,sizes=fixed:1kB", "is not a fraction"),
        ("poisson,rate=0/s,sizes=fixed:1kB", "above 0"),
        ("poisson,rate=1/s,size=fixed:1kB", "no key is called 'size'"),
        ("poisson,rate=1/s,sizes=lognormal:mean=1kB", "takes mean, cv"),
        ("poisson,rate=1/s,sizes=pareto:mean=1kB,shape=1", "there is no mean"),
        ("poisson,rate=1/s,sizes=fixed:1kB,cv=2", "takes no keys"),
        ("poisson,rate=1/s,sizes=nowhere.cdf", "nowhere.cdf: cannot be read"),
        ("poisson,rate=1/s,sizes=websaerch", "did you mean websearch?"),
        ("poisson,rate=1/s,sizes=websearch,cv=2", "websearch takes no keys"),
        ("nowhere.csv", "nowhere.csv: No such file"),
        ("", "is missing"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str):
    with pytest.raises(PlanError, match=re.escape(said)):
        parse_load(f"flows:{text}", HERE)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("0 0\n5 x\n", ":2:"),
        ("5 10\n4 100\n", ":2:"),
        ("size,percent\n0,0\nx,100\n", ":3:"),
        ("5 10\n", "100 percent"),
        ("", "100 percent"),
        ("0 100\n", "sizes are 0"),
    ],
)
def test_a_wrong_distribution_is_said(tmp_path: Path, content: str, said: str):
    (tmp_path / "a.cdf").write_text(content)
    with pytest.raises(ValueError, match=said):
        read_cdf(tmp_path / "a.cdf")


@pytest.mark.parametrize(
    ("content", "said"),
    [("5,100\n", "names no column start_ns"), ("start_ns,size_bytes\n", "no flows"), ("start_ns,size_bytes\n1,0\n", ":2:"),
     ("start_ns,size_bytes\n1,5\n-1,5\n", ":3:"), ("start_ns,size_bytes\n1\n", ":2:"),
     (f"start_ns,size_bytes\n0,{'1' * 300}\n", ":2: a start or a size is above 9223372036854775807")],
)  # fmt: skip
def test_a_wrong_list_is_said(tmp_path: Path, content: str, said: str):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=said):
        read_flows(tmp_path / "a.csv")


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match="write rate=20/s"):
        drawn(arrivals("poisson,load=50%,sizes=fixed:1kB"), 1.0, None, rng(1))
    with pytest.raises(ValueError, match="no flow arrives"):
        drawn(arrivals("poisson,rate=0.0001/s,sizes=fixed:1kB"), 1.0, None, rng(1))
    with pytest.raises(ValueError, match="at most"):
        drawn(arrivals("poisson,rate=10000000/s,sizes=fixed:1kB"), 1.0, None, rng(1))


def test_an_atom_at_the_first_knot_counts():
    cdf = Cdf(HERE, (100.0, 200.0), (0.5, 1.0))
    assert cdf.mean == 125
    assert cdf.draw(10_000, rng(1)).mean() == pytest.approx(125, abs=2)
    assert Lognormal(10, 1).draw(3, rng(1)).shape == Pareto(10, 2).draw(3, rng(1)).shape == (3,)
