"""One run of a program, however it is started and measured."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from trialwise.execution.workers.agent.outputs import Outputs


class Run:
    """What is to run: a file, its arguments with its name before them, and all of its environment; `timeout` in seconds.

    `settings` are those of the measured program: "cpus", "counters" (as the supervisor takes them), "isolate" (flags of
    unshare(2)), "follow" (whether to note which programs it starts); none needs to be there.
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
