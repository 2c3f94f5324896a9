"""The kernel's laws, each driven in user space as the kernel drives it, against its paper."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[3] / "crates" / "kernel-congestion" / "programs"
DRIVER = Path(__file__).with_name("driver.c")
FLAGS = [
    "-O1",
    "-shared",
    "-fPIC",
    "-fno-strict-aliasing",
    "-fsanitize=undefined",
    "-fsanitize-undefined-trap-on-error",
]
INFINITE = 0x7FFFFFFF
STEPS = 16
"""Acknowledgements in each round trip: each of many packets."""


class Law:
    """One connection under a law. Windows are packets, times microseconds."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.window = 0

    def start(self, window: int, threshold: int = 2, rtt: int = 100_000) -> None:
        """Begin in congestion avoidance unless said otherwise."""
        self.window = self._library.start(window, threshold, rtt)

    def acknowledge(self, packets: int, rtt: int = 100_000, later: int = 0) -> int:
        self.window = self._library.acknowledge(packets, rtt, later)
        return self.window

    def round(self, rtt: int = 100_000, steps: int = STEPS) -> int:
        """One round trip, in which the window of its beginning arrives."""
        window, steps = self.window, min(steps, self.window)
        for step in range(steps):
            packets = window * (step + 1) // steps - window * step // steps
            self.acknowledge(packets, rtt, rtt // steps)
        return self.window

    def rounds(self, count: int, rtt: int = 100_000) -> int:
        for _ in range(count):
            self.round(rtt)
        return self.window

    def lose(self) -> int:
        self.window = self._library.lose()
        return self.window

    def time_out(self) -> int:
        """Return the threshold that the time-out leaves."""
        self.window = 1
        return self._library.time_out()

    def use(self, packets: int) -> None:
        """Leave so much of the window in use by the application."""
        self._library.use(packets)

    @property
    def threshold(self) -> int:
        return self._library.threshold()

    @property
    def is_paced(self) -> bool:
        return self._library.pacing() == 1


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Law]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("laws")

    def of(name: str) -> Law:
        library = folder / f"{name}.so"
        if not library.exists():
            words = [f'-DLAW="{name}.c"', f"-DOPERATIONS=tw_{name}", f"-I{PROGRAMS}", "-o", library]
            subprocess.run([compiler, *FLAGS, "-Wno-unknown-pragmas", *words, DRIVER], check=True)
        return Law(ctypes.CDLL(str(library)))

    return of


ALL = ("bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "scalable", "westwood", "yeah")


@pytest.mark.parametrize("name", ALL)
def test_slow_start_doubles_and_ends_at_the_threshold(law: Callable[[str], Law], name: str):
    flow = law(name)
    flow.start(10, threshold=100, rtt=25_000)
    assert [flow.round(25_000) for _ in range(3)] == [20, 40, 80]
    assert 100 <= flow.round(25_000) <= 100 + 32, "BIC goes on by Smax before it has lost"


@pytest.mark.parametrize("name", ALL)
def test_a_window_that_is_not_used_does_not_grow(law: Callable[[str], Law], name: str):
    flow = law(name)
    for threshold in (2, INFINITE):
        flow.start(100, threshold)
        flow.use(50)
        assert flow.acknowledge(50) == 100


@pytest.mark.parametrize("name", ALL)
def test_the_smallest_window_survives_each_loss(law: Callable[[str], Law], name: str):
    flow = law(name)
    flow.start(3)
    flow.rounds(3, rtt=1000)
    assert [flow.lose() >= 2 for _ in range(40)] == [True] * 40
    assert flow.time_out() >= 2
    assert flow.acknowledge(1, rtt=-1) <= 3


@pytest.mark.parametrize("name", ALL)
def test_no_law_floods_whatever_it_is_told(law: Callable[[str], Law], name: str):
    flow = law(name)
    chance = random.Random(name)
    trips = (-1, 0, 1, 30, 25_000, 100_000, 30_000_000, INFINITE)
    for _ in range(60):
        flow.start(
            chance.choice((1, 2, 10, 1_000, 10**6)),
            chance.choice((2, 10**5, INFINITE)),
            chance.choice(trips[1:]),
        )
        for _ in range(60):
            before, packets = flow.window, chance.choice((1, 2, 50, flow.window + 1))
            flow.acknowledge(packets, chance.choice(trips), chance.choice((0, 1, 10_000, 10**7, 2**32 - 1)))
            # Slow start doubles, HighSpeed and BIC grow by their most. Hybla on long paths and H-TCP long after a loss take much in a
            # round trip, and here up to 50 packets of a window of one arrive in it.
            most = 2 * before + 2 * packets + (200_000 if name in ("hybla", "htcp") else 75)
            assert 1 <= flow.window <= before + most, (before, packets)
            if chance.random() < 0.1:
                before = flow.window
                assert 2 <= flow.lose() <= max(before, 2) or name == "cdg"
            if chance.random() < 0.05:
                assert flow.time_out() >= 2


def test_scalable_recovers_in_the_same_time_whatever_the_window(law: Callable[[str], Law]):
    flow = law("scalable")
    flow.start(10_000)
    assert flow.acknowledge(10_000) == 10_100
    for window in (400, 4_000, 40_000):
        flow.start(window)
        assert flow.lose() == window - window // 8
        count = 0
        while flow.window < window:
            flow.round()
            count += 1
        # Each packet of a round trip adds a hundredth: a factor of 1.01.
        assert count == math.ceil(math.log(8 / 7) / math.log(1.01))


def test_scalable_is_any_tcp_up_to_its_legacy_window(law: Callable[[str], Law]):
    flow = law("scalable")
    flow.start(10)
    assert flow.rounds(5) in (14, 15)
    flow.start(16)
    assert flow.lose() == 8


def test_westwood_keeps_what_the_path_holds_without_a_queue(law: Callable[[str], Law]):
    flow = law("westwood")
    # 100 packets in 50 ms are what the path holds; 60 more wait in a queue.
    flow.start(100)
    flow.round(rtt=50_000)
    for _ in range(60):
        flow.round(rtt=round(flow.window / 2000 * 1e6))
    assert 155 < flow.window < 165
    assert flow.lose() == pytest.approx(100, abs=2)
    assert flow.window - flow.rounds(10) in (-9, -10)


def test_westwood_measures_by_two_filters_of_seven_eighths(law: Callable[[str], Law]):
    flow = law("westwood")
    flow.start(64)
    once = twice = 0.0
    base = 100_000
    for count, rtt in enumerate([100_000] * 10 + [200_000] * 10):
        sample = flow.window / rtt
        flow.round(rtt)
        once = sample if count == 0 else once * 7 / 8 + sample / 8
        twice = once if count == 0 else twice * 7 / 8 + once / 8
    assert flow.lose() == pytest.approx(twice * base, rel=0.03)


def test_westwood_does_not_grow_at_a_loss_and_halves_before_it_has_measured(law: Callable[[str], Law]):
    flow = law("westwood")
    flow.start(100)
    assert flow.lose() == 50
    flow.start(100)
    flow.rounds(20)
    flow.time_out()
    flow.acknowledge(3)
    before = flow.window
    assert before < 10
    assert flow.lose() == before


def highspeed_growth(window: float) -> float:
    """a(w) of RFC 3649, section 5."""
    decrease = highspeed_decrease(window)
    return window**2 * 0.078 / window**1.2 * 2 * decrease / (2 - decrease)


def highspeed_decrease(window: float) -> float:
    """b(w) of RFC 3649, section 5."""
    return (0.1 - 0.5) * math.log(window / 38) / math.log(83_000 / 38) + 0.5


def test_highspeed_grows_and_falls_as_rfc_3649_computes(law: Callable[[str], Law]):
    flow = law("highspeed")
    for window in (120, 250, 1_000, 10_000, 80_000):
        flow.start(window)
        assert flow.acknowledge(window) - window == math.floor(highspeed_growth(window))
        flow.start(window)
        assert flow.lose() / window == pytest.approx(1 - highspeed_decrease(window), abs=0.013)


def test_highspeed_has_the_table_of_appendix_b(law: Callable[[str], Law]):
    flow = law("highspeed")
    # Window, a(w), b(w) as printed.
    for window, growth, decrease in (
        (38, 1, 0.50),
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
    ):
        flow.start(window)
        flow.acknowledge(window)
        assert flow.window - window == growth
        flow.start(window)
        assert flow.lose() == pytest.approx(window * (1 - decrease), abs=1 + window * 0.005)


@pytest.mark.parametrize("loss", [1e-5, 1e-6, 1e-7])
def test_highspeed_has_the_response_of_its_rfc(law: Callable[[str], Law], loss: float):
    flow = law("highspeed")
    expected = 0.12 / loss**0.835
    flow.start(round(expected))
    windows: list[int] = []
    sent, losses = 0.0, 0
    while losses < 12:
        windows.append(flow.window)
        sent += flow.window
        flow.round()
        if sent > 1 / loss:
            sent, losses = sent - 1 / loss, losses + 1
            flow.lose()
            windows = windows if losses > 4 else []
    assert sum(windows) / len(windows) == pytest.approx(expected, rel=0.1)


def test_highspeed_is_any_tcp_up_to_38_packets(law: Callable[[str], Law]):
    flow = law("highspeed")
    flow.start(20)
    assert flow.rounds(5) in (24, 25)
    flow.start(38)
    assert flow.lose() == 19


def hybla_rate(law: Law, rtt: int, seconds: float) -> float:
    """Packets a second after so long on a path that loses nothing."""
    law.start(10, threshold=INFINITE, rtt=rtt)
    law.rounds(round(seconds * 1e6 / rtt), rtt)
    return law.window / rtt * 1e6


@pytest.mark.parametrize("seconds", [6.0, 12.0])
def test_hybla_has_the_same_rate_whatever_the_round_trip(law: Callable[[str], Law], seconds: float):
    flow = law("hybla")
    rates = [hybla_rate(flow, rtt, seconds) for rtt in (25_000, 50_000, 100_000, 300_000, 600_000)]
    assert max(rates) / min(rates) < 1.2
    # The reference: 45 packets after slow start, and one more in each 25 ms.
    assert rates[0] == pytest.approx((45 + seconds / 0.025) / 0.025, rel=0.03)


@pytest.mark.parametrize("rtt", [25_000, 60_000, 137_500, 600_000])
def test_hybla_grows_by_the_powers_of_its_paper(law: Callable[[str], Law], rtt: int):
    flow = law("hybla")
    rho = rtt / 25_000
    flow.start(10, threshold=10**6, rtt=rtt)
    window = flow.window
    assert window == pytest.approx(10 * rho, abs=1)
    assert flow.acknowledge(1, rtt) - window == pytest.approx(min(2**rho - 1, 65_535), rel=0.004, abs=1)
    flow.start(4_000, rtt=rtt)
    flow.acknowledge(4_000, rtt)
    assert flow.window - 4_000 == pytest.approx(rho**2, abs=1)


def test_hybla_is_paced_and_no_less_than_any_tcp_on_short_paths(law: Callable[[str], Law]):
    flow = law("hybla")
    flow.start(100, rtt=5_000)
    assert flow.is_paced
    flow.rounds(5, 5_000)
    assert flow.window in (104, 105)
    assert flow.lose() == flow.threshold == flow.window


def bic_model(largest: float, window: float) -> float:
    """The window after a round trip, each packet of which was acknowledged by itself."""
    start = window
    for _ in range(round(start)):
        distance = (largest - window) / 2 if window < largest else window - largest
        window += min(max(distance, 0.01), 32) / window
    return window


def test_bic_searches_the_last_largest_window_and_beyond(law: Callable[[str], Law]):
    flow = law("bic")
    flow.start(1_000)
    assert flow.lose() == 800
    expected = 800.0
    for _ in range(40):
        expected = bic_model(1_000, expected)
        assert flow.round(steps=10**6) == pytest.approx(expected, abs=3)
    flow.start(1_000)
    flow.lose()
    growth: list[int] = []
    for _ in range(60):
        before = flow.window
        growth.append(flow.round() - before)
    assert growth[0] in (31, 32)
    assert min(growth[10:20]) == 0
    assert growth[-1] in (31, 32), "far beyond it grows by Smax"


def test_bic_makes_room_when_it_loses_below_its_last_largest_window(law: Callable[[str], Law]):
    flow = law("bic")
    flow.start(1_000)
    assert flow.lose() == 800
    assert flow.lose() == 640
    expected = 640.0
    for _ in range(10):
        expected = bic_model((800 + 640) / 2, expected)
        assert flow.round(steps=10**6) == pytest.approx(expected, abs=2)


def test_bic_is_any_tcp_up_to_its_legacy_window(law: Callable[[str], Law]):
    flow = law("bic")
    flow.start(8)
    assert flow.rounds(4) in (11, 12)
    flow.start(14)
    assert flow.lose() == 7


def illinois_growth(delay: float, longest: float) -> float:
    """alpha of the paper's section 2, from its conditions of continuity."""
    low = 0.01 * longest
    first = (longest - low) * 0.3 * 10 / (10 - 0.3)
    second = (longest - low) * 0.3 / (10 - 0.3) - low
    return 10 if delay <= low else first / (second + delay)


def illinois_reduction(delay: float, longest: float) -> float:
    """beta of the paper's section 2."""
    low, high = 0.1 * longest, 0.8 * longest
    slope = (1 / 2 - 1 / 8) / (high - low)
    return min(max(1 / 8 + slope * (delay - low), 1 / 8), 1 / 2)


@pytest.mark.parametrize("delay", [0, 2_000, 5_000, 10_000, 20_000, 45_000, 79_000, 90_000, 100_000])
def test_illinois_grows_and_falls_by_the_delay(law: Callable[[str], Law], delay: int):
    flow = law("illinois")
    flow.start(5_000)
    flow.round(100_000)
    flow.round(200_000)
    flow.rounds(7, 100_000 + delay)
    window, grown = flow.window, 0
    for _ in range(10):
        before = flow.window
        grown += flow.acknowledge(before, 100_000 + delay) - before
    assert grown / 10 == pytest.approx(illinois_growth(delay, 100_000), abs=0.11)
    assert window < flow.window
    lost = flow.window
    assert flow.lose() / lost == pytest.approx(1 - illinois_reduction(delay, 100_000), abs=0.001)


def test_illinois_waits_before_it_takes_the_largest_alpha_again(law: Callable[[str], Law]):
    flow = law("illinois")
    flow.start(5_000)
    for rtt in (100_000, 200_000, 200_000, 200_000):
        flow.round(rtt)
    growth: list[int] = []
    for _ in range(8):
        before = flow.window
        growth.append(flow.round(100_000) - before)
    assert max(growth[:4]) <= 1
    assert min(growth[-2:]) >= 9


def test_illinois_is_any_tcp_when_small_or_after_a_time_out(law: Callable[[str], Law]):
    flow = law("illinois")
    flow.start(8)
    assert flow.rounds(5) in (11, 12)
    assert flow.lose() in (5, 6)
    flow.start(1_000)
    flow.rounds(10)
    assert flow.lose() == pytest.approx(1_000 * 7 / 8, rel=0.08)
    flow.time_out()
    flow.rounds(20)
    flow.start(1_000)
    flow.rounds(10)
    flow.time_out()
    assert flow.threshold == pytest.approx(1_000 * 7 / 8, rel=0.08)


def htcp_growth(seconds: float) -> float:
    """alpha of draft-leith-tcp-htcp-06, section 3, at beta = 0.5."""
    beyond = max(seconds - 1, 0)
    return 1 + 10 * beyond + (beyond / 2) ** 2


def test_htcp_grows_by_the_time_since_the_last_loss(law: Callable[[str], Law]):
    flow = law("htcp")
    flow.start(20_000)
    assert flow.lose() == 10_000
    grown = 0
    for count in range(100):
        before = flow.window
        grown = flow.round() - before
        assert grown == pytest.approx(htcp_growth((count + 0.5) / 10), abs=1.5 + grown * 0.02)
    assert grown > 105


def test_htcp_leaves_what_keeps_the_link_busy(law: Callable[[str], Law]):
    flow = law("htcp")
    flow.start(1_000)
    share = 0.0
    for count in range(4):
        rtt = 100_000
        while flow.window < 1_500:
            # 1000 packets are on the path, the others in the queue.
            rtt = max(100_000, flow.window * 100)
            flow.round(rtt)
        lost = flow.window
        share = flow.lose() / lost
        # Nothing is known before the first loss.
        assert share == pytest.approx(100_000 / rtt if count else 0.5, abs=0.002)
    before = flow.window
    # Back-off by a third, growth by 2 / 3 in each of the first rounds.
    assert flow.rounds(9, 100_000) - before == pytest.approx(9 * 2 * (1 - share), abs=1)


def test_htcp_bounds_its_back_off_and_halves_when_the_rate_changes(law: Callable[[str], Law]):
    flow = law("htcp")
    flow.start(1_000)
    flow.lose()
    flow.rounds(3, 100_000)
    first = flow.window
    assert flow.lose() == pytest.approx(first / 2, abs=1), "it had no rate before"
    flow.rounds(3, 100_000)
    second = flow.window
    assert flow.lose() == pytest.approx(second / 2, abs=1), "the rate is half of what it was"
    flow.rounds(5, 50_000)
    third = flow.window
    assert flow.lose() == pytest.approx(third * 0.8, abs=2), "no queue: not above 0.8"
    flow.start(1_000)
    flow.round(10_000)
    for _ in range(2):
        flow.lose()
        flow.rounds(3, 100_000)
    lost = flow.window
    assert flow.lose() == pytest.approx(lost / 2, abs=1), "a long queue: not below 0.5"


def test_yeah_is_scalable_without_a_queue_and_any_tcp_with_a_long_delay(law: Callable[[str], Law]):
    flow = law("yeah")
    flow.start(400)
    assert flow.rounds(20) == pytest.approx(400 * 1.01**20, abs=2)
    assert flow.lose() == pytest.approx(400 * 1.01**20 * 7 / 8, abs=2)
    flow.start(400)
    flow.rounds(2)
    flow.rounds(2, 115_000)
    before = flow.window
    # 15 % are more than an eighth, and 50 packets no queue to take away.
    assert flow.rounds(10, 115_000) - before in (9, 10)


def test_yeah_takes_its_queue_away_but_not_below_any_tcp(law: Callable[[str], Law]):
    flow = law("yeah")
    flow.start(1_000)
    flow.rounds(2)
    flow.rounds(2, 110_000)
    assert flow.window == pytest.approx(1_020 * (1 - 10 / 110), abs=14)
    assert flow.threshold <= flow.window
    flow.start(1_000)
    flow.rounds(2)
    for _ in range(12):
        flow.round(190_000)
    assert flow.window == pytest.approx(1_000 / 2 + 12, abs=14)


def test_yeah_halves_only_beside_flows_that_fill_the_queue(law: Callable[[str], Law]):
    flow = law("yeah")
    flow.start(600)
    flow.rounds(2)
    flow.rounds(2, 112_000)
    alone = flow.window
    assert flow.lose() == pytest.approx(alone - max(alone / 8, alone * 12 / 112), abs=2)
    flow.start(400)
    flow.rounds(2)
    flow.rounds(20, 120_000)
    competing = flow.window
    assert flow.lose() == competing - competing // 2
    again = flow.window
    assert flow.lose() == pytest.approx(again - competing * 20 / 120, abs=3), "each loss asks anew"


@pytest.mark.parametrize("rise", [0, 1_000, 3_000, 9_000])
def test_cdg_falls_as_often_as_its_paper_says(law: Callable[[str], Law], rise: int):
    flow = law("cdg")
    falls, trials = 0, 600
    for _ in range(trials):
        flow.start(40, threshold=INFINITE)
        for rtt in (100_000, 100_000, 100_000 + rise):
            flow.acknowledge(flow.window + 1, rtt)  # more than a window is a round by itself
        falls += flow.threshold < INFINITE
    expected = 1 - math.exp(-rise / 3_000)
    assert falls / trials == pytest.approx(
        expected, abs=4 * math.sqrt(max(expected * (1 - expected), 1e-9) / trials)
    )


def test_cdg_falls_to_seven_tenths_and_stops_where_that_has_no_effect(law: Callable[[str], Law]):
    flow = law("cdg")
    flow.start(10_000)
    shares: list[float] = []
    for count in range(42):
        before = flow.window
        shares.append(flow.acknowledge(before + 1, 100_000 + 60_000 * count) / before)
    falls = [count for count, share in enumerate(shares) if share < 0.9]
    # In every other round, as the round after a fall tells nothing; after five falls, five rises have no answer.
    assert falls == [1, 3, 5, 7, 9, 21, 23, 25, 27, 29, 41]
    assert [shares[count] for count in falls] == pytest.approx([0.7] * len(falls), abs=0.002)


def test_cdg_grows_by_a_packet_in_each_round(law: Callable[[str], Law]):
    flow = law("cdg")
    flow.start(100)
    assert flow.rounds(20) in (119, 120)


def test_cdg_alone_swings_between_seven_tenths_of_a_path_and_all_of_it(law: Callable[[str], Law]):
    # 67 packets of 0.6 ms: 20 Mbit/s and 40 ms. The mean of 0.7 to 1 is 0.85.
    flow = law("cdg")
    flow.start(50, rtt=40_000)
    windows = []
    for _ in range(3_000):
        waiting = max(flow.window - 67, 0)
        flow.round(40_000 + 600 * waiting, steps=8)
        windows.append(flow.window)
    used = sum(min(window, 67) for window in windows) / 67 / len(windows)
    assert used == pytest.approx(0.85, abs=0.05)
    assert sorted(windows)[len(windows) * 95 // 100] < 67 + 10


def cdg_full(flow: Law, rounds: int) -> None:
    """The smallest round trip rises slowly, the largest is what a full queue makes it."""
    for count in range(2 * rounds):
        flow.acknowledge(1, 100_000 + 20 * count)
        flow.acknowledge(flow.window // 2 + 1, 150_000)


def test_cdg_takes_a_loss_as_congestion_only_where_the_queue_is_full(law: Callable[[str], Law]):
    flow = law("cdg")
    flow.start(1_000)
    cdg_full(flow, 12)
    full = flow.window
    assert flow.lose() == pytest.approx(full / 2, abs=full * 0.02 + 1)
    flow.start(1_000)
    for count in range(12):
        flow.round(150_000 - 40 * count)
    falling = flow.window
    assert flow.lose() == falling
