r"""Names of LaTeX macros: letters only, one for each number, never the same twice.

`\tw` and the words in CamelCase; a digit is spelled out (`6` is `Six`), a point is `Point`, all else that is no
ASCII letter parts words. Where two texts give one name, the later ones end in `VariantB`, `VariantC` …
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = "tw"
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_NUMBER = re.compile(r"(?<=\d)\.(?=\d)")
_WORDS = re.compile(r"[A-Za-z]+|\d")


class MacroNames:
    """Hands out names of macros, each once, so that the order of asking decides who is a variant."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def name(self, *words: str) -> str:
        """A name from the words that nobody has yet."""
        base = macro_name(*words)
        name, variant = base, 1
        while name in self._taken:
            name, variant = f"{base}Variant{_letters(variant)}", variant + 1
        self._taken.add(name)
        return name


def macro_name(*words: str) -> str:
    """The words as one name, without the backslash."""
    text = " ".join(words)
    found: list[str] = _WORDS.findall(_NUMBER.sub(" point ", text))
    camel = "".join(_DIGITS[int(word)] if word.isdigit() else word[0].upper() + word[1:] for word in found)
    return (
        camel[0].lower() + camel[1:]
        if camel.startswith("Tw") and words[0].startswith(PREFIX)
        else PREFIX + camel
    )


def _letters(number: int) -> str:
    """1 is B, 25 is Z, 26 is BA: numbers in letters."""
    text = ""
    while number:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
    return text
