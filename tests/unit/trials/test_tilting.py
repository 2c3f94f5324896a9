"""Tilted trials of the packet simulator: their densities, weights and flow lists."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.experiment.tilts import DefensiveTilt, SwitchingTilt
from trialwise.trials.simulating import simulate
from trialwise.trials.tilt_cycles import TiltCycles
from trialwise.trials.tilting import at_finish, ranks_of, tilt_of

SWITCHING = SwitchingTilt(9.0, 1.2, 9.4, 1.4, 2e-4)
DEFENSIVE = DefensiveTilt((0.0, 0.5, 0.9, 1.0), (0.8, 0.8, 2.8), 10)
TRIAL = SimulationTrial(
    "dctcp",
    "dumbbell:2x2,10Gbit/s,1us",
    Workload(sizes="google_rpc", load="50%", duration="100us", tilt="it"),
)
"""About 20 flows."""


def tilted(tilt):
    return replace(TRIAL, tilts=(("it", tilt),))


def trials(tilt, count, first=0):
    found = (
        simulate(tilted(tilt), Path(), flow_seed=seed, seed=seed) for seed in range(first, first + count)
    )
    return [(each.fct, each.weights) for each in found]


def shares(trials, above):
    """Of each trial, the weighted number of flows above a completion time over their expected number."""
    return np.array(
        [
            np.exp(weights.log_likelihood[fct > above]).sum() / weights.expected_flows
            for fct, weights in trials
        ]
    )


@pytest.mark.parametrize(("mu", "sigma"), [(9.4, 1.4), (9.0, 1.2), (12.0, 2.5), (8.0, 0.6)])
def test_ranks_have_the_density_of_the_tilted_lognormal(mu, sigma):
    edges, heights = ranks_of(replace(SWITCHING, tilted_mu=mu, tilted_sigma=sigma))
    widths = np.diff(edges)
    assert widths.min() > 0
    assert np.dot(widths, heights) == pytest.approx(1, abs=1e-9)
    middle = (np.array(edges)[1:] + np.array(edges)[:-1]) / 2
    inner = (middle > 1e-6) & (middle < 1 - 1e-6)
    at = stats.norm(9.0, 1.2).ppf(middle[inner])
    wanted = stats.norm(mu, sigma).logpdf(at) - stats.norm(9.0, 1.2).logpdf(at)
    np.testing.assert_allclose(np.log(np.array(heights)[inner]), wanted, atol=0.05)


def test_the_weight_of_a_flow_is_that_of_what_began_before_it_ended():
    start = np.array([0, 10, 20, 30])
    fct = np.array([15, 100, -1, 5])
    ratios = np.array([0.1, 0.2, 0.4, 0.8])
    found = at_finish({"start_ps": start}, ratios, fct)
    np.testing.assert_allclose(found, [0.1 + 0.2, 1.5, np.nan, 1.5])


def test_a_defensive_list_is_the_plain_one_at_other_ranks():
    plain = simulate(tilted(None), Path(), flow_seed=4, seed=4)
    found = simulate(tilted(DEFENSIVE), Path(), flow_seed=4, seed=4)
    for name in ("src", "dst", "start_ps"):
        np.testing.assert_array_equal(found.flows[name], plain.flows[name])
    sizes, untilted = found.flows["size_bytes"], plain.flows["size_bytes"]
    np.testing.assert_array_equal(sizes[10:], untilted[10:])
    # Fewer small flows: the same random number is a higher rank.
    assert (sizes[:10] >= untilted[:10]).all()
    assert sizes.sum() > untilted.sum()
    assert np.max(found.weights.log_likelihood) <= DEFENSIVE.bound + 1e-12
    assert not plain.weights.log_likelihood.any()


def test_the_same_seed_gives_the_same_trial():
    for tilt in (SWITCHING, DEFENSIVE):
        one, two = (simulate(tilted(tilt), Path(), flow_seed=5, seed=6) for _ in range(2))
        np.testing.assert_array_equal(one.fct, two.fct)
        np.testing.assert_array_equal(one.weights.log_likelihood, two.weights.log_likelihood)


def test_weighted_packet_trials_agree_with_plain_ones():
    """The tail share P(R > x), and E[L] = 1, within four standard errors."""
    for tilt, base in ((DEFENSIVE, None), (SWITCHING, replace(SWITCHING, tilted_mu=9.0, tilted_sigma=1.2))):
        plain, other = trials(base, 400), trials(tilt, 400, first=1000)
        for above in (0.0, 1e-5, 2e-4):
            a, b = shares(plain, above), shares(other, above)
            error = np.hypot(a.std(ddof=1), b.std(ddof=1)) / np.sqrt(400)
            assert abs(a.mean() - b.mean()) < 4 * error, (tilt.method, above)
        assert abs(shares(other, 0.0).mean() - 1) < 4 * shares(other, 0.0).std(ddof=1) / np.sqrt(400)
        # Tilted trials do see more of the tail.
        counts = [np.mean([(fct > 2e-4).sum() for fct, _ in side]) for side in (plain, other)]
        assert counts[1] > counts[0]


@pytest.mark.soak
@pytest.mark.operating
def test_weighted_intervals_hold_as_often_as_they_say():
    """95 % intervals of p99 from 100 defensive packet trials, 200 times, about the p99 of 40,000 plain ones."""
    plain = trials(None, 40_000, first=10**6)
    truth = float(np.quantile(np.concatenate([fct for fct, _ in plain]), 0.99))
    held = 0
    for place in range(200):
        drawn = trials(DEFENSIVE, 100, first=10**7 + 100 * place)
        cycles = [st.Cycle(fct, np.exp(weights.log_likelihood), np.empty(0)) for fct, weights in drawn]
        found = st.importance_quantile(cycles, 99, drawn[0][1].expected_flows)
        held += found.low <= truth <= found.high
    assert 0.90 <= held / 200 <= 0.99


def test_the_search_sees_the_tail_that_the_simulator_has():
    """Cycles of packets and of the fluid model: the same workload, so about the same weighted number of large responses."""
    cycles = TiltCycles(replace(TRIAL, tilts=()), Path(), np.random.default_rng(1))
    found = {}
    for name, draw in (("packets", cycles.packets), ("fluid", cycles.fluid)):
        drawn = [draw(SWITCHING) for _ in range(300)]
        found[name] = np.array([np.exp(each.log_likelihood).sum() / cycles.mean_flows for each in drawn])
        assert all(each.coordinates.size <= each.responses.size for each in drawn)
        assert abs(found[name].mean() - 1) < 4 * found[name].std(ddof=1) / np.sqrt(300)


def test_what_is_no_tilt_is_told():
    with pytest.raises(PlanError, match="no tilt is called 'it'"):
        tilt_of(TRIAL)
    with pytest.raises(PlanError, match="ns3"):
        tilt_of(replace(tilted(None), engine="ns3"))
    bursty = replace(tilted(None), workload=replace(TRIAL.workload, arrivals="bursty:mean=3"))
    with pytest.raises(PlanError, match="Poisson"):
        tilt_of(bursty)
    assert tilt_of(replace(TRIAL, workload=replace(TRIAL.workload, tilt=""))) is None
