"""The logs of mm-link: read, refused, written, and turned into packets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packet_logs import random_packets
from trialwise.errors import AnalysisError
from trialwise.exchange.mahimahi_log import FORMS, read_mahimahi_log, write_mahimahi_log
from trialwise.measurement import opportunities
from trialwise.measurement.packets import EVENTS, Packets
from trialwise.measurement.path_metrics import loss, pantheon_loss

EXAMPLE = """\
# mahimahi mm-link (Downlink) [/tmp/12mbps.trace] > /tmp/down.log
# command line: 'mm-link' '12mbps.trace' '12mbps.trace'
# queue: droptail [packets=2]
# init timestamp: 1795256094227
# base timestamp: 35
# mahimahi config: [delay 28 ms]
36 # 1504
37 # 1504
602 + 1504
603 # 1504
603 - 1504 1
603 + 1504
603 + 56
604 + 1504
604 d 1 1504
605 # 1504
605 - 1504 2
605 - 56 2
606 + 1504
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "down.log"
    path.write_text(EXAMPLE)
    return path


def described(packets: Packets) -> list[tuple[float, float, int, str]]:
    names = (EVENTS[number] for number in packets.event)
    times, delays = (np.round(each * 1e3, 6).tolist() for each in (packets.time, packets.delay))
    return list(zip(times, delays, packets.size.tolist(), names, strict=True))


def test_the_example_is_read(log: Path):
    found = read_mahimahi_log(log)
    assert (found.direction, found.init_timestamp, found.queue) == (
        "downlink",
        1795256094227,
        "droptail [packets=2]",
    )
    assert found.opportunities.tolist() == [36, 37, 603, 605]
    assert found.arrivals.tolist() == [602, 603, 603, 604, 606]
    assert found.arrival_sizes.tolist() == [1500, 1500, 52, 1500, 1500]
    assert found.delays.tolist() == [1, 2, 2]
    assert (found.drops.tolist(), found.drop_packets.tolist(), found.drop_sizes.tolist()) == (
        [604],
        [1],
        [1500],
    )


def test_its_packets_are_those_that_left_were_dropped_and_stayed(log: Path):
    packets = read_mahimahi_log(log).packets()
    assert set(packets.direction.tolist()) == {1}
    assert described(packets) == [
        (603, 1, 1500, "delivered"),
        (604, 0, 1500, "dropped"),
        (605, 2, 1500, "delivered"),
        (605, 2, 52, "delivered"),
        (606, 0, 1500, "held"),
    ]
    assert loss(packets) == 25
    assert pantheon_loss(packets) == pytest.approx(100 * 3000 / 6052)


def test_what_a_queue_drops_from_its_head_is_the_oldest(log: Path):
    log.write_text("1 + 1504\n2 + 1504\n3 + 1504\n9 d 2 3008\n11 - 1504 8\n")
    assert described(read_mahimahi_log(log).packets()) == [
        (9, 8, 1500, "dropped"),
        (9, 7, 1500, "dropped"),
        (11, 8, 1500, "delivered"),
    ]


def test_absurd_numbers_do_no_harm(log: Path):
    log.write_text("1 + 1\n2 d 999999999999 5\n3 - 2 9\n")
    assert described(read_mahimahi_log(log).packets()) == [(2, 1, 0, "dropped"), (3, 9, 0, "delivered")]


@pytest.mark.parametrize(
    "line",
    [
        "604 d 1",
        "604 + 15x4",
        "604 + 1504 7",
        "604 - 1504 1 2 3",
        "604 - 1504",
        "604 ? 1504",
        "-604 + 1504",
        "604 + 1504.5",
        "x + 1504",
        "nonsense",
    ],
)
def test_a_line_that_is_none_is_named(log: Path, line: str):
    log.write_text(EXAMPLE + line + "\n607 # 1504\n")
    with pytest.raises(AnalysisError) as refusal:
        read_mahimahi_log(log)
    assert refusal.value.message == f"{log}:20: `{line}` is not a line of an mm-link log"
    assert all(form in str(refusal.value.hint) for form in FORMS.values())


def test_a_last_line_that_is_cut_off_is_left_out_and_a_whole_one_is_not(log: Path):
    log.write_text(EXAMPLE + "607 - 57")
    assert read_mahimahi_log(log).departures.size == 3
    log.write_text(EXAMPLE + "607 - 56 1")
    assert read_mahimahi_log(log).departures.size == 4


@pytest.mark.parametrize("text", ["", "# only a header\n", "\n"])
def test_a_log_without_events_has_no_packets(log: Path, text: str):
    log.write_text(text)
    assert len(read_mahimahi_log(log).packets()) == 0


def test_line_ends_of_windows_are_read(log: Path):
    log.write_bytes(EXAMPLE.replace("\n", "\r\n").encode())
    assert read_mahimahi_log(log).arrivals.size == 5
    assert read_mahimahi_log(log).direction == "downlink"


def test_a_file_that_is_not_there_or_has_a_wrong_header_is_named(tmp_path: Path, log: Path):
    with pytest.raises(AnalysisError, match=r"lost\.log: cannot be read: No such file"):
        read_mahimahi_log(tmp_path / "lost.log")
    log.write_text("# init timestamp: today\n")
    with pytest.raises(AnalysisError, match="`today` is not a number"):
        read_mahimahi_log(log)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("direction", ["uplink", "downlink"])
def test_what_is_written_reads_back_in_milliseconds(tmp_path: Path, seed: int, direction: str):
    packets = random_packets(seed, 400)
    written = packets.of(direction)
    slots = opportunities.of_rate(3e6, 0, 11_000)
    path = tmp_path / "link.log"
    write_mahimahi_log(
        path,
        packets,
        slots,
        direction=direction,
        init_timestamp=123,
        queue="droptail [packets=5]",
        command=["mm-link", "up", "a\nb"],
    )
    assert path.read_text().splitlines()[1] == r"# command line: 'mm-link' 'up' 'a\x0ab'"
    log = read_mahimahi_log(path)
    found = log.packets()
    assert (log.direction, log.init_timestamp, log.queue) == (direction, 123, "droptail [packets=5]")
    assert log.opportunities.tolist() == slots.tolist()
    assert sorted(log.arrival_sizes.tolist()) == sorted(written.size.tolist())
    for mask in ("delivered", "dropped", "held"):
        one, other = written.where(getattr(written, mask)), found.where(getattr(found, mask))
        assert len(one) == len(other)
        if mask == "delivered":
            assert np.sort(other.time) == pytest.approx(np.sort(np.floor(np.round(one.time * 1e3, 5)) / 1e3))
            assert np.abs(np.sort(other.delay) - np.sort(one.delay)).max() <= 0.001 + 1e-9
    assert pantheon_loss(found) == pytest.approx(pantheon_loss(written))


def test_writing_takes_the_delay_behind_the_queue_off(tmp_path: Path):
    packets = Packets(
        np.array([0.0295]), np.array([0.029]), np.array([0], np.uint8), np.array([1], np.uint16),
        np.array([1500], np.uint32), np.array([0], np.uint8),
    )  # fmt: skip
    write_mahimahi_log(tmp_path / "log", packets, np.array([1]), propagation=0.028)
    lines = (tmp_path / "log").read_text().splitlines()[5:]
    assert lines == ["0 + 1504", "1 # 1504", "1 - 1504 1"]


def test_what_is_lost_behind_the_queue_has_departed_from_it(tmp_path: Path):
    packets = random_packets(3, 200)
    up = packets.of("uplink")
    lost = int((up.event == EVENTS.index("dropped:loss")).sum())
    write_mahimahi_log(tmp_path / "log", packets, np.array([1]), lost_behind=["dropped:loss"])
    found = read_mahimahi_log(tmp_path / "log")
    assert lost > 0
    assert found.departures.size == up.delivered.sum() + lost
    assert found.drops.size == up.dropped.sum() - lost


def test_jumbo_frames_keep_their_form_and_copies_are_left_out(tmp_path: Path):
    events = [EVENTS.index(name) for name in ("delivered", "duplicate", "dropped:overflow")]
    packets = Packets(
        np.array([0.007, 0.008, 0.009]), np.array([0.006, 0.006, 0.0]), np.zeros(3, np.uint8), np.ones(3, np.uint16),
        np.full(3, 9000, np.uint32), np.array(events, np.uint8),
    )  # fmt: skip
    write_mahimahi_log(tmp_path / "log", packets, np.arange(1, 8))
    lines = [line for line in (tmp_path / "log").read_text().splitlines()[5:] if "#" not in line]
    assert lines == ["1 + 9004", "7 - 9004 6", "9 + 9004", "9 d 1 9004"]
    found = read_mahimahi_log(tmp_path / "log")
    assert (found.departures.size, found.drops.size) == (1, 1)
    assert found.packets("uplink").size.tolist() == [9000, 9000]


EVENT = st.one_of(
    st.builds("{} # 1504".format, st.integers(0, 10**6)),
    st.builds("{} + {}".format, st.integers(0, 10**6), st.integers(24, 1504)),
    st.builds("{} - {} {}".format, st.integers(0, 10**6), st.integers(24, 1504), st.integers(0, 10**4)),
    st.builds("{} d {} {}".format, st.integers(0, 10**6), st.integers(1, 9), st.integers(36, 9000)),
)


@given(st.lists(EVENT, max_size=30))
def test_any_log_of_its_lines_is_read_whole(tmp_path_factory: pytest.TempPathFactory, lines: list[str]):
    path = tmp_path_factory.mktemp("logs") / "any.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    log = read_mahimahi_log(path)
    assert log.opportunities.size + log.arrivals.size + log.departures.size + log.drops.size == len(lines)
    assert log.packets().delivered.sum() == log.departures.size
