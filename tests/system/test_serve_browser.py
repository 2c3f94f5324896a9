"""The page of `trialwise serve` in headless Chromium: an experiment that begins, is killed, goes on and ends while it is open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from browser import CHROMIUM
from devtools import Chromium, chromium

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)
EXPERIMENT = """
[experiment]
name = "flavours"
[factors]
flavour = ["none", "fast", "<i>odd</i>"]
[trial]
kind = "python"
call = "flavours:work"
[metrics.time]
unit = "ms"
better = "lower"
[metrics.time.kpi]
percentile = 50
confidence = 95
[design]
rounds = 30
"""
WORK = """
import os, random, time

def work(flavour):
    time.sleep(1.5 if os.path.exists("SLOW") else 0.01)
    if flavour == "fast" and random.random() < 0.2:
        print("<script>document.title = 'taken over'</script>")
        raise ValueError("<b>broke</b>")
    return {"time": (9 if flavour == "fast" else 10) + random.uniform(-0.1, 0.1)}
"""
STATE = "document.querySelector('[data-part=progress] .state')?.textContent ?? ''"
DONE = "document.querySelector('progress')?.value ?? 0"
TEXT = "document.querySelector('main')?.innerText ?? ''"
# WCAG 2.2, 1.4.3: contrast of text, by its formulas of relative luminance; backgrounds here are opaque or inherited.
CONTRASTS = r"""
(() => {
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour).map((each) => each / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName} ${element.textContent.slice(0, 40)} ${ratio}`);
  }
  return poor;
})()
"""
NAMED = {
    "link",
    "button",
    "combobox",
    "image",
    "progressbar",
    "region",
    "navigation",
    "figure",
    "group",
}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command in the folder of the test, and ends it with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*TRIALWISE, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def unnamed(page: Chromium) -> list[str]:
    """Roles of what assistive programs announce, and that has no name there."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node["role"]["value"] in NAMED
        and not node.get("name", {}).get("value")
    ]


def test_an_experiment_that_begins_is_killed_goes_on_and_ends(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    (tmp_path / "flavours.toml").write_text(EXPERIMENT)
    slow = tmp_path / "slow"  # while it is there, the run lasts far longer than a busy page takes to see it
    slow.touch()
    (tmp_path / "flavours.py").write_text(WORK.replace("SLOW", str(slow)))
    server = started("serve", ".")
    assert server.stdout is not None
    line = server.stdout.readline()
    address = re.findall(r"http://\S+", line)[0]
    assert line.startswith("0 experiments at ")
    with chromium(tmp_path / ".profile") as page:
        page.open(address)
        page.until(TEXT, lambda text: "No experiment has begun here" in text)

        run = started("run", "flavours.toml", "--quiet")
        page.until("document.querySelector('.experiments progress')?.value ?? 0", lambda done: done > 0)
        page.of("document.querySelector('.experiments a').click()")
        page.until("location.pathname.includes('/e/')")
        first = page.until(DONE, lambda done: done > 0)
        page.until(DONE, lambda done: done > first)
        assert "running" in page.of(STATE)

        os.killpg(run.pid, signal.SIGKILL)
        page.until(STATE, lambda state: "not running" in state)
        slow.unlink()
        killed_at = page.of(DONE)
        assert killed_at < 90

        started("run", "flavours.results", "--quiet").wait(timeout=100)
        page.until(STATE, lambda state: "90 of 90" in state and "ended" in state)
        told = subprocess.run(
            [*TRIALWISE, "analyze", "flavours.results"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        sentence = told.splitlines()[0].removeprefix("~ ").removeprefix("✓ ")
        page.until(TEXT, lambda text: sentence in text.replace("\u00a0", " "))
        assert "Looking changes nothing" in page.of(TEXT)
        assert page.of("document.querySelectorAll('interval-courses figure').length") == 3
        # The treatment that fails at times, and that of the trial which was killed.
        assert page.of("document.querySelectorAll('trial-order .lane path.lost').length") in (1, 2)
        assert page.of("document.title").startswith("flavours.results")
        assert page.of("document.querySelectorAll('main i, main script').length") == 0
        _can_be_read_by_everybody(page)
        page.of("document.querySelector('[data-part=failures] a').click()")
        page.until(TEXT, lambda text: "<b>broke</b>" in text and "<script>document.title" in text)
        _can_be_read_by_everybody(page)
        page.open(address + "history")
        page.until("document.querySelector('h1')?.textContent", lambda title: title == "History")
        assert page.said == []
        page.open(address)
        page.until("document.querySelector('progress')?.value ?? 0", lambda done: done == 90)
        server.send_signal(signal.SIGINT)
        page.until("document.getElementById('connection').textContent", lambda text: "lost" in text)
    assert server.wait(timeout=60) == 0
    assert server.stdout.read() == "Ctrl-C ends the page; runs go on\n"


def _can_be_read_by_everybody(page: Chromium) -> None:
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        assert page.of(CONTRASTS) == []
    for width in (360, 1280):
        page.size(width)
        time.sleep(0.2)
        assert page.of("document.documentElement.scrollWidth") <= width
    assert unnamed(page) == []
    page.of("document.activeElement.blur(), scrollTo(0, 0)")
    reached = []
    for _ in range(8):
        page.press("Tab", 9)
        reached.append(page.of("document.activeElement.textContent.trim()"))
    assert reached[:3] == ["Skip to the results", "Experiments", "History"]
    assert len(set(reached)) == 8
