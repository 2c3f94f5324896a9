"""What is known of packets at one end of a real path where nobody may capture: our own programs note theirs, this end its frames."""

from __future__ import annotations

import hmac
import os
import struct
import time

from trialwise.execution.workers.agent.raw_clock import raw_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SIGHTINGS = "TRIALWISE_SIGHTINGS"
"""The variable that has our programs over UDP note packets: KEY FLOW FILE (`crates/transport`, noted.rs)."""
HEADER = struct.Struct("<8sIIQQQQIIQ")
RECORD = struct.Struct("<QQIHBBBBB5x")
"""As `measurement.sightings` reads them."""
UNFINISHED = 2**32 - 1
SENT, CAME = 0, 1
UDP = 17


class OwnRecords:
    """Notes frames of the meeting as flow `frames` from its creation to `stop`, and puts to them what programs noted in `files`.

    `headers` are the bytes of IP and UDP. It is to `PathEnd` what a `Recorder` is.
    """

    def __init__(self, file: str, files: Sequence[str], key: bytes, frames: int, headers: int) -> None:
        self.file = file
        self.files = files
        self.key = key
        self.frames = frames
        self.headers = headers
        self.sent_bytes = 0
        self.counts = {"seen": 0, "dropped": 0, "steps": 0}
        self.noted: list[bytes] = []
        self.read = dict.fromkeys(files, HEADER.size)
        self.problem: str | None = None
        self.is_over = False
        self.began = time.time_ns(), raw_now()

    def note(self, frame: bytes, when: int, direction: int, ttl: int = 0) -> None:
        """Note a frame of the meeting that was sent, or came."""
        identity = int.from_bytes(hmac.new(self.key, frame, "sha256").digest()[:8], "little")
        size = self.headers + len(frame)
        self.sent_bytes += size if direction == SENT else 0
        self.noted.append(RECORD.pack(when, identity, size, self.frames, direction, 0, ttl, UDP, 0))

    def look(self) -> str | None:
        """Take note of what has been sent; nothing is wrong with it."""
        for file in self.files:
            for record in RECORD.iter_unpack(self.news(file)):
                self.sent_bytes += record[2] if record[4] == SENT else 0
        return None

    def news(self, file: str) -> bytes:
        """Return the whole records of a file that have not been read."""
        try:
            with open(file, "rb") as reader:
                reader.seek(self.read[file])
                content = reader.read()
        except OSError:
            return b""  # its program has not begun
        whole = len(content) - len(content) % RECORD.size
        self.read[file] += whole
        return content[:whole]

    def stop(self) -> str | None:
        """Put the records together, in the order of their times; return what went wrong."""
        if self.is_over:
            return self.problem
        self.is_over = True
        self.look()
        self.read = dict.fromkeys(self.files, HEADER.size)
        records = self.noted
        for file in self.files:
            content = self.news(file)
            records += [content[at : at + RECORD.size] for at in range(0, len(content), RECORD.size)]
            self.take_counts(file)
        records.sort(key=lambda record: int.from_bytes(record[:8], "little"))
        self.counts["seen"] = len(records)
        ended = time.time_ns(), raw_now()
        lost, steps = min(self.counts["dropped"], UNFINISHED - 1), self.counts["steps"]
        with open(self.file, "wb") as writer:
            writer.write(HEADER.pack(b"TWSEEN\0\0", 1, RECORD.size, *self.began, *ended, lost, steps, 0))
            writer.writelines(records)
        return self.problem

    def take_counts(self, file: str) -> None:
        """Take over what the head of a file says of packets that were lost, and of clocks that were set."""
        name = os.path.basename(os.path.dirname(file))
        try:
            with open(file, "rb") as reader:
                lost, steps = HEADER.unpack(reader.read(HEADER.size))[7:9]
        except (OSError, struct.error):
            return  # its program never began, which is known
        self.counts["steps"] = max(self.counts["steps"], steps)
        if lost == UNFINISHED:
            self.problem = f"the record of {name} was not finished: its program was killed"
        else:
            self.counts["dropped"] += lost
