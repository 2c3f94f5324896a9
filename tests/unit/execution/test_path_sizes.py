"""Which sizes of packets pass, without a network."""

import pytest

from trialwise.execution.workers.agent.meeting import (
    CONNECTING,
    FRAME_BYTES,
    LISTENING,
    MET,
    SECOND,
    Codec,
    Meeting,
)
from trialwise.execution.workers.agent.path_sizes import PAUSE, ROUNDS, PathSizes

KEY = bytes(range(32))


def tried(limit, *, wanted=(), device=9000):
    """What is sent over a path that lets `limit` bytes pass, and tells of it a round later."""
    sizes, sent = PathSizes(wanted), []
    for now in range(0, 10 * SECOND, PAUSE):
        if sizes.is_known(now):
            break
        due = sizes.due(now)
        sent += due
        for size in due:
            if size > device:
                sizes.refuse(size)
            elif size <= limit:
                sizes.confirm(size)
    return sizes, sent


def test_a_path_that_lets_all_pass_takes_one_packet_of_each_size():
    sizes, sent = tried(1500)
    assert sent == [1280, 1400, 1472, 1500]
    assert sizes.passes == 1500
    assert sizes.problem(1500, 1500) is None
    assert sizes.problem(None, 9000) is None


@pytest.mark.parametrize(
    ("limit", "passes", "rounds"), [(1420, 1400, 2), (1471, 1400, 2), (1280, 1280, 3), (900, 0, 4)]
)
def test_a_black_hole_is_found_after_ten_packets_of_each_size(limit, passes, rounds):
    sizes, sent = tried(limit)
    assert sizes.passes == passes
    assert len(sent) == 4 + rounds * (ROUNDS - 1)
    problem, hint = sizes.problem(1500, 1500)
    assert problem.startswith("packets of 1500 bytes do not pass to the other end")
    assert (str(passes) in hint) == (passes > 0)
    problem, _ = sizes.problem(None, 1500)
    assert "vanish on the way to the other end, and no router says so" in problem
    assert sizes.problem(None, limit) is None, "the kernel knows"
    if passes:
        assert sizes.problem(passes, 1500) is None


def test_a_device_that_is_small_is_no_black_hole():
    sizes, sent = tried(1500, device=1450)
    assert (sizes.passes, sent.count(1400), sent.count(1472)) == (1400, 1, 1)
    assert sizes.problem(None, 1450) is None
    assert sizes.problem(1472, 1450) is not None


def test_frames_that_try_a_size_are_sent_only_between_ends_that_have_heard_each_other():
    caller, listener = (Meeting(KEY, role, 0, silence=SECOND) for role in (CONNECTING, LISTENING))
    assert listener.on_frame(1, caller.frame(0)).largest == 0
    assert not listener.is_mutual
    assert caller.on_frame(2, listener.frame(1)).largest == FRAME_BYTES
    assert (caller.phase, caller.is_mutual) == (MET, True)
    assert len(sized := caller.sized(1400)) == 1400
    assert listener.on_frame(3, sized) is not None
    assert listener.is_mutual
    assert listener.largest == 1400
    caller.on_frame(4, listener.frame(SECOND))
    assert caller.passes == 1400


def test_a_frame_of_another_length_than_it_says_is_none():
    codec, other = Codec(KEY, CONNECTING), Codec(KEY, LISTENING)
    sized = codec.write(3, MET, 1, size=1400)
    assert other.read(sized) is not None
    for wrong in (sized[:-1], sized + b"\0", sized[:FRAME_BYTES]):
        assert other.read(wrong) is None
