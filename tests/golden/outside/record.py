"""What machines read, on inputs of our own: JSON, macros, exit codes, plans, seeds, rows of a ledger, numbers of reports.

`python tests/golden/outside/record.py` writes it anew, `tests/golden/test_outside.py` compares. What changes here, scripts and
archives of users meet: it needs a line in the changelog, and a changed key of JSON a new version of its format.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))

from in_process import Done, trialwise  # noqa: E402

VOLATILE = {
    "created",
    "written",
    "version",
    "host",
    "hostname",
    "environment",
    "environments",
    "path",
    "directory",
    "source",
    "elapsed",
    "cpu_seconds",
    "hops_per_second",
    "started",
    "ended",
    "begun",
    "duration",
    "seconds",
    "start_seconds",
    "wall",
    "finish",
    "eta",
    "start",
    "end",
    "simulated_per_second",
    "median_runtime",
    "hash",
}
"""Keys whose values differ between runs and machines; that they are there is kept."""
_BOOT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What the kernel calls its present run: another after each start of a machine."""
MAX_SEEDS = 1000
MAX_ITEMS = 12
"""Of longer lists the first two items and a hash are kept."""

SIMULATION = """
[experiment]
name = "dumbbell"
seed = 7

[factors]
scheme = ["dctcp", "hpcc"]

[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,100Gbit/s,1us"
workload = { sizes = "websearch", load = "30%", duration = "20ms" }

[design]
rounds = 12

[metrics.mean]
quantity = "fct"
measure = "mean"
estimand = "per_trial"
kpi = { percentile = 50, confidence = 75 }

[metrics.p75]
quantity = "fct"
measure = "p75"
estimand = "per_trial"
kpi = { percentile = 75, confidence = 75 }
"""


def table(rounds: int, treatments: Mapping[str, float], seed: int) -> str:
    """A table of trials in random order, with times, a round and two metrics of one treatment each."""
    rng = Random(seed)
    lines = ["time,round,scheme,load,delay,loss"]
    now = 1_700_000_000
    for round_ in range(1, rounds + 1):
        order = list(itertools.product(treatments, ("low", "high")))
        rng.shuffle(order)
        for scheme, load in order:
            now += 60
            delay = treatments[scheme] * (1.3 if load == "high" else 1.0) + rng.gauss(0, 1)
            loss = 0 if load == "low" else rng.randrange(4)
            lines.append(f"{now},{round_},{scheme},{load},{delay:.4f},{loss}")
    return "\n".join(lines) + "\n"


def orders() -> str:
    """A table of OrderSage's kind: fixed and random rounds, and a treatment that slows what follows it."""
    rng = Random(9)
    lines = ["treatment,order,round,position,value"]
    for order in ("fixed", "random"):
        for round_ in range(1, 13):
            treatments = list("abcd")
            if order == "random":
                rng.shuffle(treatments)
            before = ""
            for position, treatment in enumerate(treatments, 1):
                value = 10 + "abcd".index(treatment) + (3 if before == "b" else 0) + rng.gauss(0, 0.5)
                lines.append(f"{treatment},{order},{round_},{position},{value:.4f}")
                before = treatment
    return "\n".join(lines) + "\n"


def conditions() -> str:
    """Hourly values over three weeks with a day in them and a level shift."""
    rng = Random(5)
    day = [0, -1, -1, -2, -2, -1, 0, 1, 2, 3, 3, 4, 4, 4, 3, 3, 2, 2, 1, 1, 1, 0, 0, 0]
    lines = ["time,rtt"]
    for hour in range(24 * 21):
        shift = 6 if hour > 300 else 0
        lines.append(f"{1_700_000_000 + 3600 * hour},{20 + day[hour % 24] + shift + rng.gauss(0, 1):.3f}")
    return "\n".join(lines) + "\n"


def samples() -> str:
    """A trial of 600 samples that starts slowly."""
    rng = Random(6)
    return "time,rate\n" + "".join(
        f"{at / 2},{90 - 40 * 0.95**at + rng.gauss(0, 3):.3f}\n" for at in range(600)
    )


def link_log() -> str:
    """A log of packets that mahimahi's mm-link writes: 200 packets, some dropped."""
    lines = [
        "# mahimahi mm-link (uplink) [cubic] > x.log",
        "# command line: mm-link a b",
        "# queue: droptail [packets=10]",
        "# init timestamp: 1700000000000",
        "# base timestamp: 0",
    ]
    for at in range(200):
        lines += [f"{at} + 1500", f"{at} # 1500"]
        lines.append(f"{at} d 1 1500" if at % 20 == 7 else f"{at + 5} - 1500 {5 + at % 3}")
    return "\n".join(lines) + "\n"


def write_inputs(folder: Path) -> None:
    """Make the files that the commands read, and run the simulated experiment."""
    schemes = {"bbr": 20.0, "cubic": 24.0, "reno": 24.2}
    files = {
        "trials.csv": table(12, schemes, 1),
        "orders.csv": orders(),
        "again.csv": table(9, schemes | {"bbr": 21.0}, 2),
        "conditions.csv": conditions(),
        "samples.csv": samples(),
        "link.log": link_log(),
        "simulation.toml": SIMULATION,
        "flows.txt": "3\n0 4 3 100 10000 2.0\n1 5 3 100 20000 2.00001\n2 4 3 100 30000 2.00002\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    done = trialwise("run", "simulation.toml", "--jobs", "1", cwd=folder)
    if done.returncode:
        raise RuntimeError(done.stderr)


TABLE = "trials.csv --value delay --value loss --group scheme --group load"
OBJECTIVE = "--objective percentile=75,confidence=75"
DOCUMENTS = f"""
analysis: analyze {TABLE} {OBJECTIVE} --better lower
analysis-paper: analyze {TABLE} {OBJECTIVE} --method paper --limits 0,100
analysis-simulation: analyze dumbbell.results
order: order orders.csv
order-paper: order orders.csv --method paper
calibration: aa dumbbell.results
effects: effects trials.csv --value delay --group scheme --group load --base scheme=cubic --margin 5%
effects-paper: effects trials.csv --value delay --group scheme --group load --method paper
comparison: compare trials.csv again.csv --value delay --value loss --group scheme --group load --margin 3% --better lower
comparison-rank: compare trials.csv --value delay --group scheme --rank --better lower
profile: profile conditions.csv --value rtt
runtime: runtime samples.csv --value rate
packets: packets link.log
simulate: simulate --topology dumbbell:4x4,100Gbit/s,1us --flows flows.txt --cc dctcp
status: status dumbbell.results
plan: plan simulation.toml
tilt: tilt simulation.toml --metric p75
"""


def documents(folder: Path) -> dict[str, Any]:
    """What each command prints with `--json`, without what differs between runs."""
    named = (line.split(": ", 1) for line in DOCUMENTS.split("\n")[1:-1])
    return {name: document(trialwise(*shlex.split(line), "--json", cwd=folder)) for name, line in named}


def document(done: Done) -> dict[str, Any]:
    text = json.loads(done.stdout) if done.stdout else done.stderr
    return {"exit code": done.returncode, "document": steady(text)}


def steady(found: Any) -> Any:
    """The same without what differs between runs and machines; numbers to ten digits, as libraries differ in the last."""
    match found:
        case dict():
            return {key: "…" if key in VOLATILE else steady(value) for key, value in found.items()}
        case list() if len(found) > MAX_ITEMS:
            whole = json.dumps([steady(each) for each in found], sort_keys=True)
            return {
                "items": len(found),
                "first": steady(found[:2]),
                "hash": hashlib.sha256(whole.encode()).hexdigest()[:16],
            }
        case list():
            return [steady(each) for each in found]
        case float():
            return float(f"{found:.10g}")
        case str() if _BOOT.fullmatch(found):
            return "…"
        case _:
            return found


class Numbers(HTMLParser):
    """Pairs of (JSON pointer, printed number) of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self._open: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        path = dict(attrs).get("data-path")
        if path is not None:
            self.pairs.append((path, ""))
        self._open.append(path)

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] is not None:
            path, text = self.pairs[-1]
            self.pairs[-1] = (path, text + data)


def reports(folder: Path) -> dict[str, Any]:
    """Printed numbers of the report, and the macros of its LaTeX, for a table and a directory."""
    found: dict[str, Any] = {}
    for name, words in {
        "table": shlex.split(f"{TABLE} {OBJECTIVE} --better lower"),
        "directory": ["dumbbell.results"],
    }.items():
        page, latex = folder / f"{name}.html", folder / f"{name}-latex"
        done = trialwise("report", *words, "--out", page, "--latex", latex, cwd=folder)
        if done.returncode:
            raise RuntimeError(done.stderr)
        numbers = Numbers()
        numbers.feed(page.read_text())
        macros = re.findall(r"\\newcommand\{?\\(\w+)\}?\{(.*)\}", (latex / "numbers.tex").read_text())
        found[name] = {"numbers": sorted(set(numbers.pairs)), "macros": sorted(macros)}
    return found


def plans(folder: Path) -> dict[str, Any]:
    """Digest, sizes and the first trials with their seeds of every example, and of files with every key; and the files as written."""
    from trialwise.design.plan import first_rounds, plan_digest
    from trialwise.design.sizing import size
    from trialwise.errors import TrialwiseError
    from trialwise.experiment.reading import read_experiment
    from trialwise.experiment.writing import write_experiment

    found: dict[str, Any] = {}
    for file in [
        *sorted((ROOT / "examples").rglob("*.toml")),
        *sorted((HERE / "experiments").glob("*.toml")),
    ]:
        try:
            experiment = read_experiment(file)
        except TrialwiseError:
            continue
        sizing = size(experiment)
        trials = itertools.islice(first_rounds(experiment, sizing, MAX_SEEDS), MAX_SEEDS)
        lines = [
            f"{each.number} {each.series} {each.round} {each.treatment} {each.order} {each.seed}"
            for each in trials
        ]
        found[str(file.relative_to(ROOT))] = {
            "digest": plan_digest(experiment),
            "written": write_experiment(experiment).split("\n"),
            "rounds": sizing.rounds,
            "series": sizing.series,
            "first": lines[:2],
            "trials": len(lines),
            "hash": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        }
    return found


UNSTEADY_COLUMNS = re.compile(
    "time|started|ended|finished|claimed|chain|sha256|boot|session|version|seconds|environment|created|identity|host|pid|machine|detail|written|^file$"
)


def ledger(folder: Path) -> dict[str, Any]:
    """Columns and rows of the ledger of a simulated run, without times, what a machine is, and what trials cost on it."""
    found: dict[str, Any] = {}
    with sqlite3.connect(f"file:{folder}/dumbbell.results/ledger.sqlite?mode=ro", uri=True) as ledger_:
        names = [
            row[0]
            for row in ledger_.execute("select name from sqlite_master where type = 'table' order by name")
        ]
        for name in names:
            rows = ledger_.execute(f"select * from {name} order by 1, 2")  # noqa: S608
            columns = [each[0] for each in rows.description]
            kept = [place for place, column in enumerate(columns) if not UNSTEADY_COLUMNS.search(column)]
            found[name] = {
                "columns": columns,
                "rows": []
                if name in ("meta", "session", "event")
                else [
                    [row[place] for place in kept]
                    for row in rows
                    if not any(str(each).startswith("instrument:") for each in row)
                ],
            }
    return found


WRONG = """
nonsense
analyze
analyze none.csv
analyze trials.csv
analyze trials.csv --value nothing
analyze trials.csv --value scheme
analyze trials.csv --value delay --objective percentile=101,confidence=75
analyze trials.csv --value delay --objective x
analyze trials.csv --value delay --group none
analyze simulation.toml
analyze .
analyze link.log
analyze https://example.org/x.csv
analyze trials.csv --value delay --decimal x
analyze trials.csv --value delay --confidenze 9
order trials.csv
order trials.csv --value delay
order trials.csv --value delay --treatment none
order dumbbell.results
order none
aa none.csv
aa trials.csv
effects trials.csv
effects trials.csv --value delay --group none
effects trials.csv --value delay --group scheme --base scheme=none
effects trials.csv --value delay --group scheme --margin x
compare
compare trials.csv
compare trials.csv none.csv
compare trials.csv again.csv --value delay --margin -1%
compare trials.csv --value delay --a scheme=none --b scheme=bbr
compare trials.csv --value delay --group scheme --a scheme=bbr --b scheme=cubic --margin 3% --better lower
profile trials.csv
profile conditions.csv --time rtt
profile none
profile conditions.csv --time-format x
runtime none
runtime samples.csv --value none
runtime samples.csv --value rate --tolerance 0
packets none.log
packets trials.csv
trace show trials.csv
trace show none
trace nonsense
simulate
simulate --topology x
simulate --topology dumbbell:4x4,100Gbit/s,1us --flows none
simulate --topology dumbbell:4x4,100Gbit/s,1us --flows flows.txt --cc none
simulate --topology dumbbell:1x1,100Gbit/s,1us --flows flows.txt --cc dctcp
plan none.toml
plan trials.csv
run none.toml
run simulation.toml --rounds 0
status none
status .
report none
report trials.csv
report dumbbell.results --out none/x.html
tilt none.toml
tilt simulation.toml --metric none
schema nothing
schemes show nothing
scaffold none.rb
new simulation.toml
collect --listen nowhere:x
stream nonsense
path --rate x -- true
doctor nothing
observe
observe none
calibrate none -o x.path
calibrate none -o x.toml
ab
ab true
"""


def exit_codes(folder: Path) -> dict[str, Any]:
    """Exit codes of wrong words, and the first line of what is said."""
    return {line: said(trialwise(*shlex.split(line), cwd=folder), folder) for line in WRONG.split("\n")[1:-1]}


def said(done: Done, folder: Path) -> list[Any]:
    """The exit code, and the first sentence; of a box, whose lines follow the width, the whole text."""
    lines = done.stderr.splitlines()
    boxed = " ".join(line.strip(" │") for line in lines if line.startswith("│"))
    first = next((line for line in lines if line.startswith("trialwise: ")), boxed)
    return [done.returncode, first.replace(str(folder), "")]


RECORDED: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "documents": documents,
    "reports": reports,
    "plans": plans,
    "ledger": ledger,
    "exit-codes": exit_codes,
}


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """JSON with a line for each short value: what changes is a line of a diff."""
    yield json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)


def main() -> None:
    """Write everything anew."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for title, record in RECORDED.items():
            (HERE / f"{title}.json").write_text("".join(lines_of(record(folder))) + "\n")


if __name__ == "__main__":
    main()
