"""Drives headless Chromium by its own protocol over pipes, for pages that change while they are open."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from browser import CHROMIUM, FLAGS

Found = TypeVar("Found")
_OWN = [flag for flag in FLAGS if "virtual-time" not in flag and "resolver-rules" not in flag]
PATIENCE = 60.0


class Chromium:
    """One page of a browser. `said` is what came on its console and what its policy refused."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.said: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in (
                "Runtime.consoleAPICalled",
                "Runtime.exceptionThrown",
                "Log.entryAdded",
            ):
                self.said.append(json.dumps(answer["params"]))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._reading, 1 << 20)
            assert chunk, "the browser has ended"
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def of(self, expression: str) -> Any:
        """The value of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, expression: str, is_it: Callable[[Any], bool] = bool) -> Any:
        """The value of JavaScript once it is so."""
        until = time.monotonic() + PATIENCE
        while not is_it(found := self.of(expression)):
            assert time.monotonic() < until, (expression, found, self.said)
            time.sleep(0.1)
        return found

    def size(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def scheme(self, scheme: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path) -> None:
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def chromium(profile: Path) -> Generator[Chromium]:
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()
    # The protocol wants the descriptors 3 and 4.
    shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
    words = [str(CHROMIUM), *_OWN, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
    browser = subprocess.Popen(
        ["/bin/bash", "-c", shell, *words],
        pass_fds=(to_browser, from_browser),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Chromium(reading, writing)
    finally:
        browser.terminate()
        browser.wait(30)
        os.close(reading)
        os.close(writing)
