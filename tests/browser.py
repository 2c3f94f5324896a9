"""Opens a page in headless Chromium without a network, as tests of pages do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=20000",
)


def browse(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page with a new profile and no network; wait in virtual time for its figures."""
    profile = page.parent / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def console(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


PARTS = "main, figure, .plot svg, li, p, select, summary"
PROBE = """<script>setTimeout(() => {
  const parts = [...document.querySelectorAll("PARTS")];
  const wide = parts.filter((part) => part.getBoundingClientRect().right > innerWidth + 1);
  parent.postMessage(`${innerWidth} px: ${wide.length} too wide ${wide.map((part) => part.outerHTML.slice(0, 80))}`, "*");
}, 12000)</script>"""


def too_wide(page: Path, width: int, scheme: int, parts: str = PARTS) -> str:
    """What a frame of so many pixels says of parts that are wider; `scheme` 0 is dark, 1 light."""
    before, _, after = page.read_text(encoding="utf-8").rpartition("</body>")
    page.with_name("probe.html").write_text(
        before + PROBE.replace("PARTS", parts) + "</body>" + after, encoding="utf-8"
    )
    frame = page.with_name("frame.html")  # a window is never narrower than 500 pixels, a frame is
    frame.write_text(
        '<link rel="icon" href="data:,"><script>onmessage = (event) => { document.title = event.data }</script>'
        f'<iframe src="probe.html" style="border:0;width:{width}px;height:800px"></iframe>'
    )
    flags = ("--dump-dom", "--window-size=1400,900", f"--blink-settings=preferredColorScheme={scheme}")
    done = browse(frame, *flags)
    assert console(done) == []
    return re.findall("<title>([^<]*)", done.stdout)[0]
