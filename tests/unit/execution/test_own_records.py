"""Records of an end at which our own programs note their packets: put together in the order of their times."""

import numpy as np
import pytest

from trialwise.execution.workers.agent.path_own_records import (
    CAME,
    HEADER,
    RECORD,
    SENT,
    UNFINISHED,
    OwnRecords,
)
from trialwise.measurement.sightings import read_sightings

FRAMES = 65535


def noted(path, flow, times, *, lost=0, steps=0, rest=b""):
    """The file of a program that sent at these times, and got something a nanosecond later."""
    path.parent.mkdir()
    records = [
        RECORD.pack(time + came, 1000 * flow + time, 100 + flow, flow, came, 2, 0, 17, 0)
        for time in times
        for came in (SENT, CAME)
    ]
    head = HEADER.pack(b"TWSEEN\0\0", 1, RECORD.size, 0, 0, 0, 0, lost, steps, 0)
    path.write_bytes(head + b"".join(records) + rest)
    return str(path)


def test_packets_of_programs_and_frames_stand_in_the_order_of_their_times(tmp_path):
    files = [
        noted(tmp_path / "flow-1" / "sightings", 1, [50, 10], lost=2, rest=b"cut"),
        noted(tmp_path / "flow-2" / "sightings", 2, [30], lost=1, steps=1),
        str(tmp_path / "flow-3" / "sightings"),
    ]
    records = OwnRecords(str(tmp_path / "all"), files, b"key", FRAMES, 28)
    records.note(bytes(64), 20, SENT)
    records.note(b"\1" * 64, 40, CAME, ttl=57)
    assert records.stop() is None
    assert records.stop() is None, "again, it does nothing"
    assert records.counts == {"seen": 8, "dropped": 3, "steps": 1}
    assert records.sent_bytes == 2 * 101 + 102 + 92
    found = read_sightings(tmp_path / "all")
    assert (found.lost, found.steps) == (3, 1)
    assert found.records["time"].tolist() == [10, 11, 20, 30, 31, 40, 50, 51]
    assert found.records["flow"].tolist() == [1, 1, FRAMES, 2, 2, FRAMES, 1, 1]
    assert found.records["direction"].tolist() == [SENT, CAME, SENT, SENT, CAME, CAME, SENT, CAME]
    assert found.records["size"].tolist() == [101, 101, 92, 102, 102, 92, 101, 101]
    assert found.records["ttl"][5] == 57
    assert len(np.unique(found.records["identity"])) == 5


def test_one_frame_is_known_by_the_same_at_both_ends_and_another_is_not(tmp_path):
    ends = [OwnRecords(str(tmp_path / name), [], b"key", FRAMES, 28) for name in ("one", "other")]
    ends[0].note(b"a" * 64, 1, SENT)
    ends[1].note(b"a" * 64, 9, CAME)
    ends[1].note(b"b" * 64, 10, CAME)
    for end in ends:
        end.stop()
    one, other = (read_sightings(tmp_path / name).records["identity"] for name in ("one", "other"))
    assert one[0] == other[0] != other[1]


def test_what_has_been_sent_is_known_while_programs_run(tmp_path):
    file = tmp_path / "flow-1" / "sightings"
    noted(file, 1, [10])
    records = OwnRecords(str(tmp_path / "all"), [str(file)], b"key", FRAMES, 28)
    assert records.look() is None
    assert records.sent_bytes == 101
    with file.open("ab") as more:
        more.write(RECORD.pack(20, 5, 300, 1, SENT, 0, 0, 17, 0) + b"half of one")
    assert records.look() is None
    assert records.look() is None
    assert records.sent_bytes == 401


@pytest.mark.parametrize("who", ["killed", "never began"])
def test_a_program_that_was_killed_is_named(tmp_path, who):
    file = tmp_path / "flow-1" / "sightings"
    if who == "killed":
        noted(file, 1, [10], lost=UNFINISHED)
    records = OwnRecords(str(tmp_path / "all"), [str(file)], b"key", FRAMES, 28)
    told = {"killed": "the record of flow-1 was not finished: its program was killed", "never began": None}
    assert records.stop() == told[who]
    assert len(read_sightings(tmp_path / "all")) == (2 if who == "killed" else 0)
