"""Options that apply to all metrics, or with METRIC=… to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trialwise.errors import TrialwiseError
from trialwise.experiment.model import Better


def by_metric(
    texts: Sequence[str], metrics: Iterable[str], option: str, own_keys: Sequence[str] = ()
) -> Mapping[str, tuple[str, ...]]:
    """Return the values given for each metric: those that name it, else those that name none.

    `own_keys` are words that may precede the first = without being a metric, such as percentile=95.

    Raises
    ------
    TrialwiseError
        A named metric does not exist.
    """
    names = tuple(metrics)
    common: list[str] = []
    own: dict[str, list[str]] = {}
    for text in texts:
        name = next((one for one in names if text.startswith(f"{one}=")), None)
        key, equals, _ = text.partition("=")
        if name is not None:
            own.setdefault(name, []).append(text[len(name) + 1 :])
        elif equals and key.strip() not in own_keys:
            raise TrialwiseError(
                f"{option} {key}=…: there is no such metric", hint=f"there are: {', '.join(names)}"
            )
        else:
            common.append(text)
    return {name: tuple(own.get(name, common)) for name in names}


def directions(texts: Sequence[str]) -> Better | None:
    """Return the last direction given for a metric; None if there is none.

    Raises
    ------
    TrialwiseError
        A text is not a direction.
    """
    found: Better | None = None
    for text in texts:
        if text not in ("higher", "lower"):
            raise TrialwiseError(
                f"--better {text}: expected higher or lower", hint="write --better time=lower"
            )
        found = text
    return found
