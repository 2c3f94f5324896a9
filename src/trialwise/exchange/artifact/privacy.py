"""Replace the names of hosts and users in what describes where trials ran. Measured data are never changed: names in them are told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

from trialwise.exchange.plain import Json

_SHORTEST = 4
"""Characters of the shortest name that is replaced inside of texts; shorter ones are words of other meaning as well."""
_COMMON = frozenset({"root", "user", "localhost", "local", "host", "unknown", "none", "home", "usr", "share"})
_HOME = re.compile(r"(?<![\w/])/(?:home|Users)/([^/\s:\"']+)")
_HIDDEN = "hidden "
"""Beginning of a variable that was recorded as a hash because it looks like a secret (`trialwise.measurement.inherited`)."""


_STAND_IN = re.compile(r"(?:host|user)-\d+")
_BETWEEN = re.compile(r"([^\w-])")


class Names:
    """Names of hosts and users, each with what stands for it; counts what was replaced and removed.

    Parameters
    ----------
    hosts, users
        The names, in any order; those that are common words are left out.
    """

    def __init__(self, hosts: Iterable[str], users: Iterable[str]) -> None:
        self.stand_ins: dict[str, str] = {}
        for kind, names in (("host", hosts), ("user", users)):
            kept = sorted(set(names) - {""} - self.stand_ins.keys() - _COMMON)
            self.stand_ins |= {name: f"{kind}-{number}" for number, name in enumerate(kept, start=1)}
        long = sorted((name for name in self.stand_ins if len(name) >= _SHORTEST), key=len, reverse=True)
        self._pattern = (
            re.compile(rf"(?<![A-Za-z0-9_-])({'|'.join(map(re.escape, long))})(?![A-Za-z0-9_-])")
            if long
            else None
        )
        self.replaced: Counter[str] = Counter()
        self.removed: set[str] = set()

    def text(self, text: str) -> str:
        """Return a text with its names replaced."""
        if self._pattern is None:
            return text
        return self._pattern.sub(self._replace, text)

    def found_in(self, content: bytes) -> set[str]:
        """Return the names that stand in some content."""
        if self._pattern is None:
            return set()
        return set(self._pattern.findall(content.decode("utf-8", "replace")))

    def _replace(self, found: re.Match[str]) -> str:
        self.replaced[found[1]] += 1
        return self.stand_ins[found[1]]

    def environment(self, record: Mapping[str, object]) -> dict[str, Json]:
        """Return the record of an environment with its names replaced, without variables that look like secrets."""
        found = self._json(record)
        if not isinstance(found, dict):
            raise TypeError("the record of an environment is an object")
        inherited = found.get("fingerprint")
        variables = inherited.get("environment") if isinstance(inherited, dict) else None
        if isinstance(variables, dict):
            secret = [name for name, value in variables.items() if str(value).startswith(_HIDDEN)]
            for name in secret:
                del variables[name]
            self.removed |= set(secret)
        return found

    def _json(self, value: object, key: str = "") -> Json:
        if isinstance(value, Mapping):
            parts = cast("Mapping[str, object]", value)
            return {self.text(name): self._json(part, name) for name, part in parts.items()}
        if isinstance(value, list):
            return [self._json(part) for part in cast("list[object]", value)]
        if isinstance(value, str):
            if key == "hostname" and value in self.stand_ins:
                self.replaced[value] += 1
                return self.stand_ins[value]
            return self.text(value)
        return cast("Json", value)


def are_same_but_names(one: str, other: str) -> bool:
    """Return True if texts differ only by names for which one of them has a stand-in: nobody can tell whether these differ."""
    words = [_BETWEEN.split(text) for text in (one, other)]
    return len(words[0]) == len(words[1]) and all(
        a == b or _STAND_IN.fullmatch(a) or _STAND_IN.fullmatch(b) for a, b in zip(*words, strict=True)
    )


def users_in(text: str) -> set[str]:
    """Return the users whose home folders a text names."""
    return set(_HOME.findall(text))
