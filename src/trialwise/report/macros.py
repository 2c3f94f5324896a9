r"""Names of LaTeX macros: letters only, one for each number, all different.

A name is `\tw` and the words in CamelCase; digits are spelled out (`6` is `Six`), a point is `Point`, and any other character
that is not an ASCII letter separates words. If two texts give one name, later ones end in `VariantB`, `VariantC` …
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = "tw"
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_NUMBER = re.compile(r"(?<=\d)\.(?=\d)")
_WORDS = re.compile(r"[A-Za-z]+|\d")


class MacroNames:
    """Gives unique names to macros; the order of requests decides which are variants."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def name(self, *words: str) -> str:
        """Return an unused name made from the words."""
        base = macro_name(*words)
        name, variant = base, 1
        while name in self._taken:
            name, variant = f"{base}Variant{_letters(variant)}", variant + 1
        self._taken.add(name)
        return name


def macro_name(*words: str) -> str:
    """Return the words as one name, without the backslash."""
    text = " ".join(words)
    found: list[str] = _WORDS.findall(_NUMBER.sub(" point ", text))
    camel = "".join(_DIGITS[int(word)] if word.isdigit() else word[0].upper() + word[1:] for word in found)
    return (
        camel[0].lower() + camel[1:]
        if camel.startswith("Tw") and words[0].startswith(PREFIX)
        else PREFIX + camel
    )


def _letters(number: int) -> str:
    """Write numbers in letters: 1 is B, 25 is Z, 26 is BA."""
    text = ""
    while number:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
    return text
