"""Trialwise: performance experiments that replicate.

In a notebook, `import trialwise as tw` gives `tw.load`, which is imported when it is first used (docs/how-to/use-in-a-notebook.md).
"""

__version__ = "0.2.0"

_NOTEBOOK = ("Data", "Page", "Plot", "Result", "load")


def __getattr__(name: str) -> object:
    """Return what notebooks use, and import it only then: commands start without it."""
    if name in _NOTEBOOK:
        from importlib import import_module

        return getattr(import_module("trialwise.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the package with those that notebooks use."""
    return sorted({*globals(), *_NOTEBOOK})
