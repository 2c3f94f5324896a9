"""Mask secrets in what programs print and write, before it goes anywhere.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import base64
import json
import os
import re
import urllib.parse

from trialwise.measurement.outliving import Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PART = 24
"""Bytes of which one part is whole where a long form is broken into lines of base64, openssl or xxd."""
SHORTEST = 4
"""Characters of the shortest secret: a shorter one could not be told from other text."""


class Masks:
    """Replaces secrets, by name and value, in bytes and texts, and remembers the names of those that it met.

    A value is found as it is, in hexadecimal digits, in base64, quoted for URLs, and as a text of JSON; a long one also
    in lines.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found = {form: name for name, value in secrets.items() for form in _forms(os.fsencode(value))}
        self._forms = sorted(found.items(), key=lambda each: -len(each[0]))
        self.met: set[str] = set()

    def __bool__(self) -> bool:
        """Return True if there is a secret."""
        return bool(self._forms)

    def masked(self, data: bytes, *, cut: bool = False, late: bool = False) -> bytes:
        """Return the data without secrets.

        `cut` if more followed, so that a secret may have lost its end; `late` if more came before, so that one may have lost its
        beginning.
        """
        for form, name in self._forms:
            if form in data:
                self.met.add(name)
                data = data.replace(form, _mask(name))
            elif len(form) >= 2 * _PART and _may_be_broken(form, data):
                data, number = _broken(form).subn(lambda _, name=name: _mask(name), data)
                self.met.update([name] if number else [])
        if cut and (part := self._part(lambda size, form: data.endswith(form[:size]))):
            data = data[: -part[0]] + _mask(part[1])
        if late and (part := self._part(lambda size, form: data.startswith(form[-size:]))):
            data = _mask(part[1]) + data[part[0] :]
        return data

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if not self:
            return text
        return self.masked(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def hides(self, text: str) -> bool:
        """Return True if a text holds a secret."""
        return bool(self) and self.text(text) != text

    def written(self, written: Written) -> Written:
        """Return what a trial wrote to a file without secrets."""
        if not self:
            return written
        return Written(
            self.masked(written.data),
            added=written.added,
            heading=self.masked(written.heading),
            before=self.masked(written.before),
            problem=None if written.problem is None else self.text(written.problem),
            hint=written.hint,
        )

    def _part(self, is_there: Callable[[int, bytes], bool]) -> tuple[int, str] | None:
        """Return the size of the longest part of a secret that is there, and the secret's name; None if there is none."""
        parts = ((size, form, name) for form, name in self._forms for size in range(SHORTEST, len(form)))
        found = max(((size, name) for size, form, name in parts if is_there(size, form)), default=None)
        if found is not None:
            self.met.add(found[1])
        return found


def _may_be_broken(form: bytes, data: bytes) -> bool:
    """Return True if one of two parts of a long form is there: the end of a line breaks at most one of them."""
    return form[:_PART] in data or form[_PART : 2 * _PART] in data


def _broken(form: bytes) -> re.Pattern[bytes]:
    """Return the pattern of a form with the ends of lines in it, as `base64` writes one of more than 76 characters."""
    return re.compile(rb"\r?\n?".join(re.escape(bytes([byte])) for byte in form))


def _mask(name: str) -> bytes:
    return b"[secret %s]" % os.fsencode(name)


def _forms(value: bytes) -> Iterator[bytes]:
    """Yield how a value may be written; what would be only digits is left out, since numbers must stay what they are."""
    quoted = urllib.parse.quote_from_bytes(value, safe="")
    forms = [
        value,
        value.hex().encode(),
        value.hex().upper().encode(),
        quoted.encode(),
        quoted.replace("%20", "+").encode(),
        urllib.parse.quote_from_bytes(value).encode(),
        json.dumps(os.fsdecode(value))[1:-1].encode(),
        json.dumps(os.fsdecode(value), ensure_ascii=False)[1:-1].encode(errors="surrogateescape"),
        *_in_base64(value),
    ]
    for form in forms:
        if len(form) >= SHORTEST and not form.isdigit():
            yield form


def _in_base64(value: bytes) -> Iterator[bytes]:
    """Yield the characters of base64 (RFC 4648) that a value alone determines, wherever in the encoded bytes it stands."""
    for before in range(3):
        first, last = -(-8 * before // 6), 8 * (before + len(value)) // 6
        if last - first >= 2 * SHORTEST:
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield encode(bytes(before) + value)[first:last]
