"""How the two ends of a real path find each other, and start and stop together. No I/O.

Both ends know a key that only ssh carried. Every frame begins with 64 bytes::

    magic 4s · kind B · phase B · number H+I · bytes H · heard H · 32 unused · code 16s

The code is HMAC-SHA-256 (RFC 2104), cut to 128 bits, of what stands before it and of the end that sent it, so that a frame cannot be
reflected. `bytes` are those of the frame: one that tries a size is longer, and ends in zeros. `heard` are those of the largest that
came.
The connecting end sends at most `HELLOS` hellos, one a second, and nothing else before a frame with the right code has come back; the
listening end answers such frames only, and never with more bytes than came.
"""

from __future__ import annotations

import hmac
import struct
from typing import NamedTuple

MAGIC = b"TWE1"
LAYOUT = struct.Struct("!4sBBHIHH32x")
CODE_BYTES = 16
FRAME_BYTES = LAYOUT.size + CODE_BYTES
HELLO, PROBE, SIZED = 1, 2, 3

APART, MET, READY, RUNNING, QUIET, DONE, FAILED = range(7)
"""Phases of an end: has heard nothing; probes; its waiting programs are ready; flows run; flows have ended, probes go on; done."""

STOPPED_THERE, CANCELLED = "the other end stopped", "cancelled"
"""Problems of an end that follow from something else."""
NO_ANSWER, NOBODY = "no answer to any hello", "no hello came"
"""Problems of an end that never heard the other."""

SECOND = 1_000_000_000
HELLOS = 5
HELLO_PAUSE = SECOND
PROBE_PAUSE = SECOND // 20
LISTENING, CONNECTING = "listen", "connect"


WAIT = 60 * SECOND
"""For how long the listening end waits for a first frame."""


class Heard(NamedTuple):
    """A frame of the other end: its number, the phase of that end, and the bytes of the largest frame that came there."""

    number: int
    phase: int
    largest: int = 0


class Codec:
    """Writes and reads frames under a key; `role` is that of this end."""

    def __init__(self, key: bytes, role: str) -> None:
        self.key = key
        self.role = role.encode()
        self.other = (CONNECTING if role == LISTENING else LISTENING).encode()

    def write(self, kind: int, phase: int, number: int, *, heard: int = 0, size: int = FRAME_BYTES) -> bytes:
        """Return a frame of `size` bytes."""
        text = LAYOUT.pack(MAGIC, kind, phase, number >> 32, number & 0xFFFFFFFF, size, heard)
        return (text + self.code(text, self.role)).ljust(size, b"\0")

    def read(self, data: bytes) -> Heard | None:
        """Return a frame of the other end; None for anything else."""
        if len(data) < FRAME_BYTES or data[:4] != MAGIC:
            return None
        text, code = data[: LAYOUT.size], data[LAYOUT.size : FRAME_BYTES]
        if not hmac.compare_digest(code, self.code(text, self.other)):
            return None
        _, _, phase, high, low, size, largest = LAYOUT.unpack(text)
        return Heard(high << 32 | low, phase, largest) if size == len(data) else None

    def code(self, text: bytes, role: bytes) -> bytes:
        return hmac.new(self.key, role + text, "sha256").digest()[:CODE_BYTES]


class Meeting:
    """What an end says and when, from what it hears; times in nanoseconds of one clock of this end.

    `silence` is for how long the other end may say nothing before this one gives up.
    """

    def __init__(self, key: bytes, role: str, now: int, *, silence: int) -> None:
        self.codec = Codec(key, role)
        self.connects = role == CONNECTING
        self.silence = silence
        self.phase = APART
        self.other_phase = APART
        self.heard_last = now
        self.began = now
        self.number = 0
        self.highest = -1
        self.next = now if self.connects else None
        self.largest = 0
        self.passes = 0
        self.problem: str | None = None
        self.hint: str | None = None

    # What this end hears

    def on_frame(self, now: int, data: bytes) -> Heard | None:
        """Take a datagram; return what it says, None if it is no new frame of the other end."""
        heard = self.codec.read(data)
        if heard is None:
            return None
        number, phase, passes = heard
        if number <= self.highest:
            return None  # repeated by the path or by somebody else, or overtaken
        self.highest = number
        self.heard_last = now
        self.largest = max(self.largest, len(data))
        self.passes = max(self.passes, passes)
        if self.phase == APART:
            self.phase = MET
            self.next = now
        if phase == FAILED and self.phase not in (DONE, FAILED):
            self.fail(STOPPED_THERE)
        self.other_phase = max(self.other_phase, phase)
        self.advance(now)
        return heard

    def advance(self, now: int) -> None:
        """Begin when both ends are ready, and say so at once: the other end begins when it hears of it."""
        both_ready = self.phase == READY and self.other_phase in (READY, RUNNING)
        if both_ready and (self.connects or self.other_phase == RUNNING):
            self.phase = RUNNING
            self.next = now

    # What this end does

    def ready(self, now: int) -> None:
        """The waiting programs of this end are ready."""
        if self.phase == MET:
            self.phase = READY
            self.advance(now)

    def ended(self) -> None:
        """The flows of this end have ended."""
        if self.phase == RUNNING:
            self.phase = QUIET

    def done(self) -> None:
        """Say that this end has nothing more to do; it goes on answering until the other end has come as far."""
        if self.phase == QUIET and self.other_phase >= QUIET:
            self.phase = DONE

    def fail(self, why: str, hint: str | None = None) -> None:
        """Something went wrong here or there; the other end is told with every further frame. `hint` is what to try."""
        if self.problem is None:
            self.problem, self.hint = why, hint
        self.phase = FAILED

    # What is to be sent

    def frame(self, now: int) -> bytes | None:
        """Return the frame that is due, None where none is."""
        if self.next is None or now < self.next or self.phase == DONE:
            return None
        if self.phase == APART:
            if self.number >= HELLOS:
                self.next = None
                return None
            self.next = now + HELLO_PAUSE
            return self.take(HELLO)
        self.next = max(self.next + PROBE_PAUSE, now)
        return self.take(PROBE)

    def take(self, kind: int) -> bytes:
        self.number += 1
        return self.codec.write(kind, self.phase, self.number, heard=self.largest)

    @property
    def is_mutual(self) -> bool:
        """True once each end has heard the other: from here on an end may say more than it has heard."""
        return self.phase >= MET and self.other_phase >= MET

    def sized(self, size: int) -> bytes:
        """Return a frame of `size` bytes, which tries whether so large a packet passes."""
        self.number += 1
        return self.codec.write(SIZED, self.phase, self.number, heard=self.largest, size=size)

    def check(self, now: int) -> None:
        """Give up on an end that was never heard, or not for too long."""
        if self.phase in (DONE, FAILED):
            return
        if self.phase == APART:
            if self.connects and now - self.began > (HELLOS + 1) * HELLO_PAUSE:
                self.fail(NO_ANSWER)
            elif not self.connects and now - self.began > WAIT:
                self.fail(NOBODY)
        elif now - self.heard_last > self.silence:
            self.fail(
                f"the other end has said nothing for {self.silence / SECOND:g} s",
                "keep both machines awake and the path open, and run again with --again",
            )
