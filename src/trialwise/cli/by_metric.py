"""Options that hold for all metrics, or with METRIC=… for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trialwise.errors import TrialwiseError
from trialwise.experiment.model import Better


def by_metric(
    texts: Sequence[str], metrics: Iterable[str], option: str, own_keys: Sequence[str] = ()
) -> Mapping[str, tuple[str, ...]]:
    """What was given for each metric: what names it, else what names none.

    `own_keys` are words that may stand before the first = without being a metric, as percentile=95.

    Raises
    ------
    TrialwiseError
        A metric that is named is none.
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
    """The last direction of those given for a metric; None where there is none.

    Raises
    ------
    TrialwiseError
        One is no direction.
    """
    found: Better | None = None
    for text in texts:
        if text not in ("higher", "lower"):
            raise TrialwiseError(
                f"--better {text}: higher or lower is wanted", hint="write --better time=lower"
            )
        found = text
    return found
