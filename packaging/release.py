"""Prepares a release, checks everything before its tag, and sets the tag; RELEASING.md says when which.

python packaging/release.py prepare 0.2.0    # writes the version and the heading of the changelog
python packaging/release.py check 0.2.0      # says what is missing; exit 1 if anything is
python packaging/release.py wheel dist       # what is in the wheel and the source archive of a folder
python packaging/release.py tag 0.2.0        # check, try the wheel in a new environment, set the tag
"""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
PLACES = {
    "pyproject.toml": r'(?m)^version = "(.+)"$',
    "Cargo.toml": r'(?m)^version = "(.+)"$',
    "src/trialwise/__init__.py": r'(?m)^__version__ = "(.+)"$',
    "CITATION.cff": r"(?m)^version: (.+)$",
}
"""Where the version stands, with the pattern of its line. Cargo.lock follows from Cargo.toml."""
LOCKED_APART = ("examples/measurement-streams/rust", "fuzz", "tests/second/rtc-interceptor")
"""Crates outside of the workspace, which lock ours by their versions and are built with --locked."""
HEADINGS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
MAX_WHEEL_BYTES = 60_000_000
NEWEST_GLIBC = 28
"""Of manylinux_2_28."""
NEEDED = ("trialwise/_core.", "trialwise/report/vega/vega.js", "licenses/LICENSE", "entry_points.txt")


def main() -> int:
    """Do what the first word says; 0 if nothing is missing."""
    if len(sys.argv) != 3 or sys.argv[1] not in ACTIONS:
        print(__doc__)
        return 2
    found = list(ACTIONS[sys.argv[1]](sys.argv[2]))
    for problem in found:
        print(f"release: {problem}")
    return 1 if found else 0


def prepare(version: str) -> Iterator[str]:
    """Write the version where it stands, and begin a section of the changelog for it."""
    if not VERSION.fullmatch(version):
        yield f"{version} is no version, such as 0.2.0 or 0.2.0rc1"
        return
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    for name, pattern in PLACES.items():
        path = ROOT / name
        text = path.read_text()
        path.write_text(re.sub(pattern, lambda found: found[0].replace(found[1], version), text, count=1))
    citation = ROOT / "CITATION.cff"
    dated = re.sub(r"(?m)^date-released: .*\n", "", citation.read_text())
    citation.write_text(dated.replace("\nlicense:", f"\ndate-released: {today}\nlicense:"))
    changelog = ROOT / "CHANGELOG.md"
    changelog.write_text(
        changelog.read_text().replace("## Unreleased\n", f"## Unreleased\n\n## {version} – {today}\n", 1)
    )
    ran("cargo", "update", "--workspace", "--offline")
    for path in (ROOT / folder / "Cargo.lock" for folder in LOCKED_APART):
        path.write_text(relocked(path.read_text(), ours(), version))


def ours() -> set[str]:
    """Return the names of the crates of the workspace."""
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {each["name"] for each in packages if each["name"].startswith("trialwise-")}


def relocked(text: str, names: set[str], version: str) -> str:
    """Return a lock file with this version of these crates."""
    entry = r'name = "([^"]+)"\nversion = "[^"]+"'
    new = 'name = "{}"\nversion = "{}"'
    return re.sub(entry, lambda found: new.format(found[1], version) if found[1] in names else found[0], text)


def check(version: str) -> Iterator[str]:
    """Yield what a release of this version lacks in the repository."""
    if ran("git", "status", "--porcelain"):
        yield "the tree has changes that are not committed"
    if ran("git", "tag", "--list", f"v{version}"):
        yield f"there is a tag v{version} already"
    for name, found in versions().items():
        if found != version:
            yield f"{name} says version {found}"
    if "date-released: " not in (ROOT / "CITATION.cff").read_text():
        yield "CITATION.cff has no date-released"
    yield from changelog((ROOT / "CHANGELOG.md").read_text(), version)
    references = [sys.executable, "docs/generate_reference.py", "--check"]
    if subprocess.run(references, cwd=ROOT, check=False, capture_output=True).returncode != 0:
        yield "the reference is out of date: run docs/generate_reference.py"


def versions() -> dict[str, str]:
    """Find the version in each place, with that of the core in Cargo.lock."""
    found: dict[str, str] = {}
    for name, pattern in PLACES.items():
        line = re.search(pattern, (ROOT / name).read_text())
        found[name] = line[1] if line else "nothing"
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    found["Cargo.lock"] = next(each["version"] for each in locked if each["name"] == "trialwise-python")
    return found


def changelog(text: str, version: str) -> Iterator[str]:
    """Yield what is wrong with the section of a version, which is to follow an empty section Unreleased."""
    sections = re.split(r"(?m)^## ", text)[1:]
    titles = [section.partition("\n")[0] for section in sections]
    if titles[:1] != ["Unreleased"] or re.search(r"(?m)^- ", sections[0]):
        yield "CHANGELOG.md: an empty section Unreleased comes first"
    if len(titles) < 2 or not re.fullmatch(rf"{re.escape(version)} – \d{{4}}-\d\d-\d\d", titles[1]):
        yield f"CHANGELOG.md: the section {version} – DATE comes second"
        return
    body = sections[1].partition("\n")[2]
    for heading in re.findall(r"(?m)^### (.*)$", body):
        if heading not in HEADINGS:
            yield f"CHANGELOG.md: {heading} is none of {', '.join(HEADINGS)}"
    if not re.search(r"(?m)^- \S", body):
        yield f"CHANGELOG.md: {version} has no entry"
    for line in body.splitlines():
        if len(line) > 160 or not re.match(r"$|### |- \S|  +\S", line):
            yield f"CHANGELOG.md: {line[:60]!r} is no entry of a list, or longer than 160 characters"


def wheel(folder: str) -> Iterator[str]:
    """Yield what is wrong with the wheel and the source archive of this version in a folder."""
    version = versions()["pyproject.toml"]
    wheels = sorted(Path(folder).glob(f"trialwise-{version}-cp311-abi3-*.whl"))
    if len(wheels) != 1:
        yield f"{folder} has {len(wheels)} wheels of version {version}"
        return
    yield from contents(wheels[0])
    archive = Path(folder) / f"trialwise-{version}.tar.gz"
    if not archive.exists():
        yield f"{archive} is missing"
        return
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    yield from (
        f"{archive.name} lacks {each}"
        for each in ("Cargo.lock", "pyproject.toml", "LICENSE")
        if each not in names
    )
    print(
        f"{wheels[0].name}: {wheels[0].stat().st_size / 1e6:.1f} MB; {archive.name}: {archive.stat().st_size / 1e6:.1f} MB"
    )


def contents(path: Path) -> Iterator[str]:
    """Yield what is wrong with one wheel."""
    if path.stat().st_size > MAX_WHEEL_BYTES:
        yield f"{path.name} has {path.stat().st_size / 1e6:.0f} MB, more than {MAX_WHEEL_BYTES / 1e6:.0f}"
    is_linux = "linux" in path.name
    if is_linux and f"manylinux_2_{NEWEST_GLIBC}_" not in path.name:
        yield f"{path.name} is not for manylinux_2_{NEWEST_GLIBC}"
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        for needed in (*NEEDED, *(["trialwise/execution/ends/trialwise-end."] if is_linux else [])):
            if not any(needed in name for name in names):
                yield f"{path.name} lacks {needed}"
        yield from (
            f"{path.name} holds {name}"
            for name in names
            if name.startswith("tests/") or "__pycache__" in name
        )
        core = next(name for name in names if "/_core." in name)
        newest = max((int(found) for found in re.findall(rb"GLIBC_2\.(\d+)\b", packed.read(core))), default=0)
    if newest > NEWEST_GLIBC:
        yield f"{core} needs glibc 2.{newest}"


def tag(version: str) -> Iterator[str]:
    """Check all, try the wheel of dist/ in a new environment, and set an annotated tag."""
    found = [*check(version), *wheel("dist")]
    yield from found
    if found:
        return
    (built,) = (ROOT / "dist").glob(f"trialwise-{version}-*.whl")
    tried = subprocess.run([sys.executable, "packaging/smoke.py", str(built)], cwd=ROOT, check=False)
    if tried.returncode != 0:
        yield "the wheel does not do what it is for"
        return
    ran("git", "tag", "--annotate", f"v{version}", "--message", f"Trialwise {version}")
    print(f"v{version} is set; git push origin v{version} publishes it")


def ran(*words: str) -> str:
    """Run a command in the repository; what it printed."""
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


ACTIONS: dict[str, Callable[[str], Iterator[str]]] = {
    "prepare": prepare,
    "check": check,
    "wheel": wheel,
    "tag": tag,
}

if __name__ == "__main__":
    sys.exit(main())
