"""One run of a program, however it is started and measured."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from trialwise.execution.workers.agent.outputs import Outputs


class Run:
    """What to run: a file, its arguments including its name, and its whole environment; `timeout` in seconds.

    `settings` are those of the measured program: "cpus", "counters" (as the supervisor takes them), "isolate" (flags of
    unshare(2)), "follow" (whether to note which programs it starts); all are optional.
    """

    def __init__(
        self,
        path: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        settings: Mapping[str, Any],
        timeout: float | None,
        outputs: Outputs,
    ) -> None:
        self.path = path
        self.words = list(words)
        self.environment = environment
        self.settings = settings
        self.timeout = timeout
        self.outputs = outputs
