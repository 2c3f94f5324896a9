"""The JSON documents of a file: one, several one after another, one a line, after other text, or cut at the end.

A document, or a line, is first parsed by jiter, which is five times as fast as `json` and needs no second copy of the file. Of equal
keys of an object it keeps the last, so its result counts only if the file has as many keys as the objects. Whatever it refuses is
parsed again by `json`. A large document is checked by the core first, which says where its long lists stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar, cast, overload

from pydantic_core import from_json

from trialwise.foreign_files import MEBIBYTE
from trialwise.readers.long_lists import with_long_lists

_BEFORE = MEBIBYTE
"""Where JSON begins at the latest after other text, and how long the first of lines is at most."""
_MOST_NESTED = 200
_BLANKS = b" \t\r\n"
_NESTED = frozenset((dict, list))
Part = TypeVar("Part")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Marks of UTF-16, of which only the text shows lines."""
_OPENING = 64
"""The number of characters in which `opens_json` sees how a text begins."""
_OPENS = re.compile(
    r"""\{\s*+(?:["}]|$) | \[\s*+(?:["{}\[\]] | -?\d[\d.eE+-]*+\s*+(?:[,\]]|$) | -?(?:true|false|null|NaN|nan|Infinity|inf)\b | $)""",
    re.VERBOSE,
)
_LINE_OPENS = re.compile(rb"^[ \t]*\{", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Documents:
    """The JSON documents of a file, one after another; `before` is what precedes the first.

    Of a file that is one document and was cut, `whole` has what of it is complete, and `rest` all of it.
    """

    whole: Sequence[Any]
    before: str = ""
    after: str = ""

    @property
    def rest(self) -> str:
        """What follows the last whole document."""
        return self.whole.rest if isinstance(self.whole, Lines) else self.after

    @property
    def is_cut(self) -> bool:
        """True if a document begins that does not end."""
        return self.rest[:1] in ("{", "[")


class Lines(Sequence[Any]):
    """The documents of a file with one on each line, parsed anew in each iteration, since together they are larger than the file.

    What follows the first line that is none is parsed as documents one after another.
    """

    def __init__(self, data: bytes, first: object) -> None:
        self._data = data
        self._first = first
        self._length: int | None = None
        self._rest: str | None = None

    @property
    def rest(self) -> str:
        """What follows the last whole document."""
        if self._rest is None:
            for _ in self.parts(_lines_at_once):
                pass
        return self._rest or ""

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(map(len, self.parts(_lines_at_once)))
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts(_lines_at_once))

    def parts(
        self, at_once: Callable[[bytes], Part | None], most: int = MEBIBYTE
    ) -> Iterator[Part | Sequence[Any]]:
        """Yield what `at_once` makes of each block of lines, of about `most` bytes; of one of which it makes None, the documents."""
        begin = 0
        while begin < len(self._data):
            end = self._data.rfind(b"\n", begin, begin + most) + 1 or self._data.find(b"\n", begin) + 1
            block = self._data[begin : end or len(self._data)]
            begin += len(block)
            if (found := at_once(block)) is not None:
                yield found
                continue
            documents, read = _line_by_line(block)
            yield documents
            if read < len(block):
                begin += read - len(block)
                break
        after = _one_after_another(_text_of(self._data[begin:].lstrip(_BLANKS + b",")), 0, mends=False)
        self._rest = after.rest
        yield after.whole

    @overload
    def __getitem__(self, place: int) -> Any: ...  # noqa: ANN401  any JSON
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if place == 0:
            return self._first
        if isinstance(place, slice):
            return list(self)[place]
        return next(islice(self, range(len(self))[place], None))


def documents_of(data: bytes, text: Callable[[], str]) -> Documents:
    """Return the documents of a file, whose text is asked for only where its bytes do not suffice."""
    begin = data[:_BEFORE].removeprefix(b"\xef\xbb\xbf").lstrip(_BLANKS)
    if opens_json(begin[:_OPENING].decode("ascii", "replace")):
        data = data.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANKS)
        document: Any = with_long_lists(data)
        if document is None:
            document = _at_once(data)
        if document is not None:
            return Documents([document])
        line, mark, after = begin.partition(b"\n")
        if mark and after and (document := _at_once(line.rstrip(_BLANKS + b","))) is not None:
            return Documents(Lines(data, document))
    elif _LINE_OPENS.search(data, 0, _BEFORE) is None and not data.startswith(_WIDE):
        return Documents(())
    found = text()
    place = _beginning(found)
    return Documents(()) if place is None else _one_after_another(found, place)


def opens_json(text: str) -> bool:
    """Return True if a text begins as a JSON object or list does, unlike `[sudo] password for me:`."""
    return _OPENS.match(text, 0, _OPENING) is not None


def _at_once(data: bytes) -> Any:  # noqa: ANN401  any JSON
    """Parse data that is one object or list, and nothing else; None if it is not, or may have a key twice."""
    try:
        document: object = from_json(data, cache_strings="keys")
    except ValueError:
        return None
    is_whole = data[:1] in (b"{", b"[") and data.count(b'":') == _keys(data, document)
    return document if is_whole else None


def _lines_at_once(block: bytes) -> list[Any] | None:
    """Parse lines with an object on each as one list, which is quicker; None if they are not just that."""
    lines = block.rstrip(b"\n")
    count = lines.count(b"\n") + 1
    if not (lines.startswith(b"{") and lines.endswith(b"}")) or lines.count(b"}\n{") != count - 1:
        return None
    found = _at_once(b"[" + lines.replace(b"}\n{", b"},{") + b"]")
    return found if found is not None and len(found) == count else None


def _line_by_line(block: bytes) -> tuple[list[Any], int]:
    """Parse lines up to the first that is no document; return how many bytes they are, too."""
    found: list[Any] = []
    begin = 0
    while begin < len(block):
        end = block.find(b"\n", begin) + 1 or len(block)
        line = block[begin:end].strip(_BLANKS + b",")
        if line:
            if (document := _at_once(line)) is None:
                break
            found.append(document)
        begin = end
    return found, begin


def _keys(data: bytes, document: object) -> int:
    """Count the keys of all objects; -1 if blanks precede a colon.

    In JSON, `":` stands after a key, or where a text begins with a colon. So there are as many as keys of the objects only if no key
    was lost and no text begins so, unless blanks hide the end of a key.
    """
    if any(data.count(blank + b":") for blank in (b" ", b"\t", b"\r", b"\n")):
        return -1
    count, left = 0, [document]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            each = cast("dict[str, object]", each).values()
            count += len(each)
        entries = cast("Iterable[object]", each)
        if not _NESTED.isdisjoint(map(type, entries)):
            left += [entry for entry in entries if type(entry) in _NESTED]
    return count


def _text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


TWICE = "stands twice, with different values"


class Repeated:
    """What a JSON object has under a key that stands in it twice, with different values: neither can be believed."""

    def __repr__(self) -> str:
        return f"a key that {TWICE}"


_REPEATED = Repeated()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for name, value in pairs:
            if found[name] is not _REPEATED and repr(found[name]) != repr(value):
                found[name] = _REPEATED
    return found


def _one_after_another(text: str, begin: int, *, mends: bool = True) -> Documents:
    """Parse the documents that begin at a place of a text, strictly; of a first one that was cut, what is whole if `mends`."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    whole: list[Any] = []
    place = begin
    while place < len(text) and text[place] in "{[":
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            if mends and not whole and (document := _closed(text, place, decoder)) is not None:
                whole.append(document)
            break
        whole.append(document)
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
    return Documents(whole, text[:begin], text[place:])


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


def _closed(text: str, begin: int, decoder: json.JSONDecoder) -> object | None:
    """Parse what is whole of a document that was cut.

    That is all up to the last whole entry of the outermost list that is open at its end. Where no list is open, or none has a whole
    entry, it is what the document has of whole members: half an object inside it is left out.

    None if there is nothing, or the document is damaged rather than cut.
    """
    open_at = _open_at_end(text, begin)
    lists = [depth for depth, (kind, end) in enumerate(open_at, 1) if kind == "[" and end]
    for depth in (*lists[:1], *([1] if open_at else [])):
        end = open_at[depth - 1][1]
        closing = "".join(_CLOSING[each] for each, _ in reversed(open_at[:depth]))
        try:
            found: object = decoder.raw_decode(text[begin:end] + closing)[0] if end else None
        except (ValueError, RecursionError):
            return None
        if found:
            return found
    return None


def _open_at_end(text: str, begin: int) -> list[tuple[str, int]]:
    """Return what opens and does not close, each with the place where its last whole entry ends.

    0 if it has none; the list is empty if brackets do not match or are too many. An entry is whole if a comma follows it, or if it
    is an object or a list that closes.
    """
    found: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(text, begin):
        kind = token[0]
        if kind in "{[":
            found.append((kind, 0))
        elif kind in "}]":
            if _CLOSING[found.pop()[0]] != kind or not found:
                return []
            found[-1] = (found[-1][0], token.end())
        elif kind == "," and found:
            found[-1] = (found[-1][0], token.start())
        if len(found) > _MOST_NESTED:
            return []
    return found


_AT_LINE_START = re.compile(r"""^[ \t]*+(?=\{\s*+["}])""", re.MULTILINE)


def _beginning(text: str) -> int | None:
    """Return where JSON begins: at the first character that is no blank, or at a line that opens an object; None if nowhere."""
    first = len(text) - len(text.lstrip())
    if opens_json(text[first : first + _OPENING]):
        return first
    found = _AT_LINE_START.search(text, 0, _BEFORE)
    return None if found is None else found.end()
