"""Of processors for graphics: PCI identifiers, models and drivers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_CARDS, _NVIDIA = "sys/class/drm", "proc/driver/nvidia"
_MOST = 16


def graphics_details(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield facts of processors for graphics, in the order in which the kernel numbers them."""
    cards = [name for name in tree.names(_CARDS) if name[:4] == "card" and name[4:].isdigit()][:_MOST]
    devices = [f"{_CARDS}/{card}/device" for card in cards]
    yield "devices.gpu.identifiers", ", ".join(filter(None, (tree.identifiers(each) for each in devices)))
    drivers = {tree.linked(f"{each}/driver") for each in devices}
    yield "devices.gpu.drivers", ", ".join(sorted(filter(None, drivers)))
    folders = tree.names(f"{_NVIDIA}/gpus")[:_MOST]
    models = [tree.fields(f"{_NVIDIA}/gpus/{name}/information").get("Model") for name in folders]
    yield "devices.gpu.models", ", ".join(filter(None, models))
    yield "devices.gpu.version", next(iter(tree.lines(f"{_NVIDIA}/version")), None)
