"""Polars and the special functions of SciPy, imported when they are first used: a trial need not wait for what judges it.

Polars also writes settings of its allocator into the environment of the process when it is imported, which trials would inherit; they
are taken back here. A program with the same allocator, as many in Rust have, would run otherwise than by itself.
"""

import os
from importlib import import_module
from types import ModuleType

_WRITTEN = "_RJEM_MALLOC_CONF"
"""What Polars writes, to be read once by its own parts."""


class _Late(ModuleType):
    """A module that is imported when something in it is first asked for."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        given = os.environ.get(_WRITTEN)
        module = import_module(self.__name__)
        if given is None:
            os.environ.pop(_WRITTEN, None)
        else:
            os.environ[_WRITTEN] = given
        found = getattr(module, name)
        setattr(self, name, found)
        return found


pl = _Late("polars")
special = _Late("trialwise.special")
