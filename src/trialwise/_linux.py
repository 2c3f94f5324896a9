"""Parts of the compiled core that exist only on Linux: programs, packets, paths, servers. The rest works without them."""

from types import ModuleType

from trialwise import _core

_built: ModuleType | None = getattr(_core, "_linux", None)
if _built is None:
    raise ImportError(
        "trialwise measures on Linux alone; analysis, reports, the simulator and the readers of files work without"
    )
__all__: list[str] = [name for name in vars(_built) if not name.startswith("__")]  # pyright: ignore[reportUnsupportedDunderAll]
globals().update({name: getattr(_built, name) for name in __all__})
