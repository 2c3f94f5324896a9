"""Runs an experiment again and again with a fault planted, each time in a fork of this process, which is preloaded with the shim.

Standard input: one JSON object a line: {"experiment": FILE, "directory": DIR, "environment": {FAULT_…}, "kill_after": seconds or null,
"rounds": how many more runs without a fault follow}. Standard output: one JSON object a line: {"endings": [[kind, code], …]}.
"""

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import polars as pl  # noqa: F401 so that the forks need not load it again

from trialwise import study
from trialwise.errors import TrialwiseError


def run_once(
    experiment: str, directory: str, environment: dict[str, str], kill_after: float | None
) -> tuple[str, int]:
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        code = 99
        try:
            code = 40 + bool(study.run(Path(experiment), Path(directory)).failed)
        except TrialwiseError as error:
            print(error, file=sys.stderr)
            code = error.exit_code
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return ("signal", os.WTERMSIG(status)) if os.WIFSIGNALED(status) else ("exit", os.WEXITSTATUS(status))


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        endings = [
            run_once(order["experiment"], order["directory"], order["environment"], order["kill_after"])
        ]
        endings += [
            run_once(order["experiment"], order["directory"], {}, None) for _ in range(order["rounds"])
        ]
        print(json.dumps({"endings": endings}), flush=True)


main()
