"""The two ends of a real path, without a network: how they meet, and what of their records is believed."""

import contextlib
import json
import random
import zlib

import numpy as np
import pytest

from trialwise.errors import TrialError
from trialwise.execution.ends import records
from trialwise.execution.ends.records import PROBE, EndRecord, record_of
from trialwise.execution.ends.results import why_invalid
from trialwise.execution.workers.agent.caps import Caps
from trialwise.execution.workers.agent.meeting import (
    APART,
    CONNECTING,
    DONE,
    FAILED,
    FRAME_BYTES,
    HELLOS,
    LISTENING,
    NO_ANSWER,
    RUNNING,
    SECOND,
    STOPPED_THERE,
    Codec,
    Meeting,
)
from trialwise.execution.workers.connection import Reply
from trialwise.experiment.trials import RealEnds

KEY = bytes(range(32))
MILLISECOND = SECOND // 1000


def meetings(silence=3 * SECOND):
    return [Meeting(KEY, role, 0, silence=silence) for role in (CONNECTING, LISTENING)]


def converse(ends, seconds, loss=0.0, seed=1, on_turn=lambda ends, now: None):
    """Let two ends talk over a way of 20 ms that loses some; return the frames that each sent: (time, bytes)."""
    draw = random.Random(seed)
    flying, sent = [], ([], [])
    for now in range(0, int(seconds * SECOND), MILLISECOND):
        for arrival, place, data in [each for each in flying if each[0] <= now]:
            flying.remove((arrival, place, data))
            ends[place].on_frame(now, data)
        on_turn(ends, now)
        for place, end in enumerate(ends):
            end.check(now)
            while (data := end.frame(now)) is not None:
                sent[place].append((now, data))
                if draw.random() >= loss:
                    flying.append((now + 20 * MILLISECOND, 1 - place, data))
    return sent


def play(ends, now):
    """Be ready at once, run for two seconds, and be done a second later."""
    for end in ends:
        end.ready(now)
        if end.phase == RUNNING and not hasattr(end, "began_to_run"):
            end.began_to_run = now
        if now - getattr(end, "began_to_run", now) >= 2 * SECOND:
            end.ended()
        if now - getattr(end, "began_to_run", now) >= 3 * SECOND:
            end.done()


# Slots are what keeps an end small; here a test writes beside it.
class Watched(Meeting):
    pass


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.3])
def test_two_ends_begin_and_end_together_whatever_the_path_loses(loss):
    ends = [Watched(KEY, role, 0, silence=10 * SECOND) for role in (CONNECTING, LISTENING)]
    converse(ends, 15, loss=loss, on_turn=play)
    assert [end.problem for end in ends] == [None, None]
    assert DONE in [end.phase for end in ends]
    apart = abs(ends[0].began_to_run - ends[1].began_to_run)
    assert apart <= (20 + (50 / (1 - loss) * 4 if loss else 0)) * MILLISECOND


def test_a_call_that_nobody_answers_is_five_frames_a_second_apart():
    (caller, _) = meetings()
    sent, _ = converse([caller, Meeting(bytes(32), LISTENING, 0, silence=SECOND)], 9)
    assert [now for now, _ in sent] == [number * SECOND for number in range(HELLOS)]
    assert {len(data) for _, data in sent} == {FRAME_BYTES}
    assert (caller.phase, caller.problem) == (FAILED, NO_ANSWER)


def test_the_listening_end_says_nothing_to_strangers_nor_to_its_own_frames():
    _, listener = meetings()
    stranger = Codec(bytes(32), CONNECTING).write(1, 0, 1)
    own = Codec(KEY, LISTENING).write(2, 1, 1)
    genuine = Codec(KEY, CONNECTING).write(1, 0, 1)
    damaged = [
        genuine[:place] + bytes([genuine[place] ^ 1]) + genuine[place + 1 :] for place in range(FRAME_BYTES)
    ]
    for data in [stranger, own, b"", genuine[:-1], genuine + b"x", *damaged]:
        assert listener.on_frame(7, data) is None
        assert listener.frame(7) is None
    assert listener.phase == APART
    assert listener.on_frame(8, genuine).number == 1
    assert len(listener.frame(8)) <= len(genuine)
    assert listener.on_frame(9, genuine) is None, "repeated"


def test_an_end_that_falls_silent_is_given_up_and_one_that_fails_tells_the_other():
    ends = meetings()
    converse(ends, 1)
    now = SECOND
    for step in range(200):
        ends[0].check(now + step * 20 * MILLISECOND)
    assert ends[0].problem == "the other end has said nothing for 3 s"
    ends = meetings()
    converse(ends, 2, on_turn=lambda ends, now: ends[1].fail("disk full") if now == SECOND else None)
    assert (ends[0].problem, ends[1].problem) == (STOPPED_THERE, "disk full")


# What an end sends


WELL = {"seen": 9, "dropped": 0, "steps": 0, "problem": None}


def test_a_capture_that_did_not_end_well_makes_the_trial_invalid():
    """A file of packets that was cut short would make packets lost that were not."""
    ends = RealEnds("local", "ssh://far")

    def record(**capture):
        return EndRecord({"capture": WELL | capture}, np.zeros(0, PROBE), b"", {})

    found = why_invalid(
        ends, None, (record(), record(problem="the capture failed: No space left on device")), delays=True
    )
    assert found == "ssh://far: the capture failed: No space left on device"
    found = why_invalid(ends, None, (record(dropped=7), record()), delays=True)
    assert found == "the capture at local lost 7 packets: the rate is too high for it"


def test_a_damaged_record_is_refused_and_says_of_which_end():
    parts = {"probes": np.zeros(2, PROBE).tobytes(), "sightings": bytes(96)}
    packed = {name: zlib.compress(content) for name, content in parts.items()}
    told = {
        "began": 5,
        "monotonic": 5,
        "realtime": 1.5,
        "ended": [6, 6],
        "passes": 1500,
        "problem": None,
        "peers": [],
        "capture": WELL,
    }
    head = {"state": "result", "parts": [[name, len(content)] for name, content in packed.items()], **told}
    body = b"".join(packed.values())
    assert record_of(Reply(head, body), "far").sightings == bytes(96)
    draw = random.Random(1)
    for cut in range(len(body)):
        with pytest.raises(TrialError, match=r"^far: its record is damaged"):
            record_of(Reply(head, body[:cut]), "far")
    for _ in range(300):
        place = draw.randrange(len(body))
        hurt = body[:place] + bytes([body[place] ^ (1 << draw.randrange(8))]) + body[place + 1 :]
        with contextlib.suppress(TrialError):
            record_of(Reply(head, hurt), "far")
    for missing in told:
        with pytest.raises(TrialError, match=r"^far: its record is damaged"):
            record_of(Reply({name: each for name, each in head.items() if name != missing}, body), "far")
    for wrong in [
        {},
        {"parts": 5},
        {"parts": [["probes"]]},
        {"parts": [["probes", "x"]]},
        {"parts": [["a", 0]]},
    ]:
        with pytest.raises(TrialError, match="far"):
            record_of(Reply({"state": "result", **json.loads(json.dumps(wrong))}, body), "far")
    for head in ({"state": "lost"}, {"state": "result", "unkept": "No space left on device"}):
        with pytest.raises(TrialError, match=r"^far: "):
            record_of(Reply(head, b""), "far")


def seconds_until_stopped(caps: Caps, rate: float, turn: float = 0.05) -> float | None:
    """Return when constant sending (bit/s) is stopped, looked at every `turn` seconds for a minute."""
    for look in range(1, round(60 / turn)):
        if caps.exceeded(round(1e9 + look * turn * 1e9), round(rate * look * turn / 8)) is not None:
            return look * turn
    return None


@pytest.mark.parametrize(("times", "stopped"), [(1.0, None), (1.01, 50.0), (2.0, 0.5), (6.0, 0.1)])
def test_half_a_seconds_worth_above_the_rate_is_allowed_at_once(times, stopped):
    caps = Caps(rate=8e6, most=1e12)
    caps.exceeded(10**9, 0)
    found = seconds_until_stopped(caps, 8e6 * times)
    assert found == (None if stopped is None else pytest.approx(stopped, abs=0.0501))


def test_silence_earns_no_more_than_half_a_second():
    caps = Caps(rate=8e6, most=1e12)
    assert caps.exceeded(10**9, 0) is None
    assert caps.exceeded(60 * 10**9, 500_000) is None
    assert caps.exceeded(61 * 10**9, 1_500_000) is None
    assert caps.exceeded(62 * 10**9, 3_000_001) is not None


def test_what_is_exceeded_is_said_with_the_rate_first():
    caps = Caps(rate=5e6, most=1e9)
    assert caps.exceeded(10**9, 0) is None
    assert caps.exceeded(1_500_000_000, 1_142_487_152) == (
        "18280 Mbit/s sent for 0.5 s, more than the cap of 5 Mbit/s (raise rate_cap, or send at a lower rate); "
        "1142487152 bytes sent, more than the cap of 1000000000 bytes for a trial (raise bytes_cap, or take a shorter trial)"
    )
    caps = Caps(rate=1e9, most=100_000)
    assert caps.exceeded(10**9, 100_000) is None
    assert (
        caps.exceeded(2 * 10**9, 100_001)
        == "100001 bytes sent, more than the cap of 100000 bytes for a trial (raise bytes_cap, or take a shorter trial)"
    )


def hostile(**more):
    """A head that is well but for these values, and its body."""
    parts = {"probes": b"", "sightings": b""}
    packed = {name: zlib.compress(content) for name, content in parts.items()}
    head = {"state": "result", "parts": [[name, len(content)] for name, content in packed.items()]}
    told = {
        "began": 5,
        "monotonic": 5,
        "realtime": 1.5,
        "ended": [6, 6],
        "passes": 1500,
        "problem": None,
        "peers": [],
        "capture": WELL,
    }
    return head | told | more, b"".join(packed.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"began": float("inf")},
        {"began": float("nan")},
        {"monotonic": 10**400},
        {"realtime": -1},
        {"passes": True},
        {"capture": []},
        {"capture": WELL | {"dropped": -5}},
        {"parts": [["probes", -8], ["sightings", 8]]},
        {"parts": [["probes", 10**12], ["sightings", 8]]},
        {"parts": [["probes", 1.5]]},
        {"parts": [["probes", 8]] * 20_000},
        {"peers": "many"},
    ],
)
def test_an_end_that_lies_is_refused_with_what_is_wrong(wrong):
    with pytest.raises(TrialError, match=r"^far: its record is damaged: ") as refused:
        record_of(Reply(*hostile(**wrong)), "far")
    assert len(refused.value.message) < 300


def test_what_an_end_says_cannot_act_on_a_terminal():
    said = "\x1b[2Jdisk \u202e" + "x" * 10_000
    head, body = hostile(problem=said, hint=said, capture=WELL | {"problem": said})
    record = record_of(Reply(head, body), "far")
    for text in (record.problem, record.hint, record.head["capture"]["problem"]):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert len(text) < 3000
    with pytest.raises(TrialError) as refused:
        record_of(Reply({"unkept": said}, b""), "far")
    assert "\x1b" not in refused.value.message


def test_a_record_that_unpacks_to_more_than_any_takes_no_memory(monkeypatch):
    monkeypatch.setattr(records, "_MOST", 1 << 20)
    bomb = zlib.compress(bytes(600_000))
    head, _ = hostile(parts=[["probes", len(bomb)], ["sightings", len(bomb)]])
    with pytest.raises(
        TrialError, match="sightings is cut short, or all parts are larger than 1048576 bytes"
    ):
        record_of(Reply(head, bomb * 2), "far")
