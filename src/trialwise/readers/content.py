"""What a file holds: its bytes, text, JSON documents, lines or XML, each read once and only when asked for."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

from trialwise.errors import AnalysisError
from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.readers.json_documents import Documents, documents_of, opens_json
from trialwise.readers.long_lists import is_list
from trialwise.readers.packed import unpacked

MOST_BYTES = 1024 * MEBIBYTE
"""Maximum size of a file or pipe."""
MOST_UNPACKED = 4096 * MEBIBYTE
"""Maximum size after decompression, and at most `MOST_RATIO` times the size of the file."""
MOST_RATIO = 200
_HEAD = 1 << 16
_MOST_ENCODED = 4
"""Bytes of a character at most."""
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""Marks of UTF-16."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class Content:
    """The content of one file, unpacked, or of the files of a folder that is one result."""

    def __init__(self, path: Path, data: bytes, parts: Sequence[Content] = ()) -> None:
        self.path = path
        self.data = data
        self.parts = parts
        """The files of a folder that is one result; `data` are then their names and hashes."""
        self.worked: dict[str, Any] = {}
        """What a reader worked out of it to recognise it, so that it need not do so again."""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what was unpacked, in hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def is_binary(self) -> bool:
        """True if it is no text."""
        return b"\0" in self.data[:_HEAD] and not self.data.startswith(WIDE_MARKS)

    @cached_property
    def text(self) -> str:
        """The text from its first line that is not empty: UTF-8, UTF-16 by its mark, else Windows-1252; lines end with a line feed."""
        return _decoded(self.data, is_whole=True)

    @cached_property
    def head(self) -> str:
        """The beginning of the text, for signatures: that of a large file is decoded without the rest."""
        if "text" in self.__dict__ or len(self.data) <= _MOST_ENCODED * _HEAD:
            return self.text[:_HEAD]
        return _decoded(self.data[: _MOST_ENCODED * _HEAD], is_whole=False)[:_HEAD]

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without their ends, up to the last that is not empty."""
        return self.text.rstrip("\n").split("\n")

    @property
    def ends_in_line(self) -> bool:
        """True if it is text of lines whose last one has no end: programs write one, so the file may have been cut there."""
        if self.is_binary or self.parts or self.root or opens_json(self.head.lstrip()):
            return False
        return bool(self.data) and not self.data.endswith((b"\n", b"\n\0")) and not self._ends_in_return

    @property
    def lined(self) -> bytes:
        """The data, with line feeds where lines end with carriage returns alone; that of UTF-16 as it is."""
        if b"\n" in self.data or self.is_binary or self.data.startswith(WIDE_MARKS):
            return self.data
        return self.data.replace(b"\r", b"\n")

    @cached_property
    def _ends_in_return(self) -> bool:
        """True if lines end with a carriage return alone, and the last one does."""
        return self.data.endswith((b"\r", b"\r\0")) and b"\n" not in self.data

    @cached_property
    def documents(self) -> Documents:
        """The JSON documents, also after text or one a line; none if there is no JSON."""
        if self.is_binary:
            return Documents(())
        return documents_of(self.lined, lambda: self.text)

    def holding(self, *documents: object) -> Content:
        """Return a content that holds some of the JSON documents alone."""
        alone = Content(self.path, b"")
        alone.documents = Documents(documents)
        return alone

    @property
    def is_cut(self) -> bool:
        """True if JSON was asked for, and its last document begins but does not end."""
        return "documents" in self.__dict__ and bool(self.documents.whole) and self.documents.is_cut

    @property
    def has_more(self) -> bool:
        """True if JSON was asked for, and after its last whole document stands other text with a further one."""
        after = self.documents.after if "documents" in self.__dict__ else ""
        return after[:1] not in ("", "{", "[") and re.search(r"^[{\[]\s*$", after, re.MULTILINE) is not None

    @property
    def document(self) -> Any:  # noqa: ANN401  any JSON
        """The first JSON document; None if there is none."""
        return self.documents.whole[0] if self.documents.whole else None

    @property
    def keys(self) -> dict[str, Any]:
        """The first document, or the first entry of its list, if that is an object; else an empty one."""
        found = self.document
        if is_list(found) and found:
            found = found[0]
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    @cached_property
    def root(self) -> str:
        """The name of the root element of XML; empty if it is none."""
        begin = "" if self.is_binary else self.head.lstrip()
        found = re.search(r"<([A-Za-z_][\w:.-]*)", begin) if begin.startswith("<") else None
        return found[1] if found else ""

    def xml(self, entry: str) -> tuple[ET.Element, bool]:
        """Parse XML without a document type, and so without entities; True if it was cut: then without the `entry` at its end.

        Raises
        ------
        AnalysisError
            It has no root, or declares a document type.
        """
        if "<!DOCTYPE" in self.text or "<!ENTITY" in self.text:
            raise AnalysisError(
                f"{self.path}: declares a document type, which is not read",
                hint="remove the line <!DOCTYPE …>",
            )
        parser: ET.XMLPullParser[Any] = ET.XMLPullParser(("start", "end"))
        open_elements: list[ET.Element] = []
        root: ET.Element | None = None
        try:
            parser.feed(self.text.lstrip())
            parser.close()
            cut = False
        except ET.ParseError:
            cut = True
        for event, element in cast("Iterable[tuple[str, ET.Element]]", _events(parser)):
            root = element if root is None else root
            if event == "start":
                open_elements.append(element)
            else:
                open_elements.pop()
        if root is None:
            raise AnalysisError(
                f"{self.path}: is no complete XML", hint="was the program that wrote it stopped?"
            )
        for parent, child in pairwise(open_elements):
            if child.tag == entry:
                parent.remove(child)
                break
        return root, cut


def read_content(path: Path, *, within: Path | None = None) -> Content:
    """Read a regular file or a pipe, and unpack it: to at most `MOST_RATIO` times its size.

    Raises
    ------
    AnalysisError
        The file cannot be read, is damaged, or exceeds the limits.
    """
    data = read_foreign(path, MOST_BYTES, within=within, pipe=within is None)
    return Content(path, unpacked(path, data, min(MOST_UNPACKED, max(len(data) * MOST_RATIO, MEBIBYTE))))


def read_folder(folder: Path, parts: Sequence[Path]) -> Content:
    """Read the files of a folder that is one result.

    Raises
    ------
    AnalysisError
        One of them cannot be read, leads out of the folder, or exceeds the limits.
    """
    found = [read_content(part, within=folder) for part in parts]
    listed = "".join(f"{part.digest} {part.path.relative_to(folder)}\n" for part in found)
    return Content(folder, listed.encode(errors="surrogateescape"), found)


def _events(parser: ET.XMLPullParser[Any]) -> Iterator[object]:
    """Return the events before the one that is not well formed."""
    try:
        yield from parser.read_events()
    except ET.ParseError:
        return


def _decoded(data: bytes, *, is_whole: bool) -> str:
    """Decode data, of which a character at the end may be cut unless it is the whole."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lines_ended(data[len(mark) :].decode(encoding, "replace"))
    try:
        return _lines_ended(codecs.getincrementaldecoder("utf-8")().decode(data, is_whole))
    except UnicodeDecodeError:
        return _lines_ended(data.decode("cp1252", "replace"))


def _lines_ended(text: str) -> str:
    """Return text whose lines end with a line feed, without the marks of files that were joined."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = text if "\n" in text else text.replace("\r", "\n")
    text = text.replace("\n\ufeff", "\n") if "\n\ufeff" in text else text
    return text.lstrip("\n") if text.startswith("\n") else text
