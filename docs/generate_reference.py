"""Writes what follows from the model: the lists of the reference, and the JSON Schemas.

python docs/generate_reference.py           # write
python docs/generate_reference.py --check   # exit 1 where something is out of date
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from inspect import getdoc, signature
from pathlib import Path
from typing import Any, get_args

from cyclopts import App

from trialwise import _core, notebook
from trialwise.cli.commands import COMMANDS, FUNCTIONS, GROUPS, SUMMARIES
from trialwise.cli.defaults import OPTIONS
from trialwise.cli.schema import Format, json_schema
from trialwise.experiment.file.describe import allowed
from trialwise.experiment.file.document import document_schema
from trialwise.experiment.file.sections import RECORDS, Section, keys_of, schema_of
from trialwise.experiment.quantities import QUANTITIES, Quantity
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES
from trialwise.experiment.toml_writing import toml_value
from trialwise.readers.register import readers
from trialwise.readers.tables.foreign import TOOLS
from trialwise.schemes import reading
from trialwise.schemes.library import read_file, scheme_files
from trialwise.schemes.needs import needed

sys.path.insert(0, str(Path(__file__).parent))

from prose import wrapped

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/experiment-file.md"
PATH_PAGE = ROOT / "docs/reference/path.md"
README = ROOT / "README.md"
SIMULATION_PAGE = ROOT / "docs/reference/simulation.md"
COMPARE_PAGE = ROOT / "docs/how-to/compare-two-experiments.md"
SCHEME_PAGE = ROOT / "docs/reference/schemes.md"
COMMAND_PAGES = ROOT / "docs/reference/commands"
NOTEBOOK_PAGE = ROOT / "docs/reference/notebook.md"
_TABLE = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


_ELEMENTS = re.compile(r"(<!-- elements of (\w+)(?: (\w+))? -->\n).*?(<!-- end -->)", re.DOTALL)
_QUANTITIES = re.compile(r"(<!-- quantities of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
QUANTITIES_OF: Mapping[str, Mapping[str, Quantity]] = {
    "path": QUANTITIES,
    "simulation": SIMULATION_QUANTITIES,
}


def page(text: str) -> str:
    """The text of the reference with its lists written anew."""
    text = _QUANTITIES.sub(
        lambda found: found.group(1) + "\n".join(quantities(found.group(2))) + "\n" + found.group(3), text
    )
    text = _ELEMENTS.sub(
        lambda found: (
            found.group(1) + "\n".join(element_rows(found.group(2), found.group(3))) + "\n" + found.group(4)
        ),
        text,
    )
    return _TABLE.sub(
        lambda found: found.group(1) + "\n".join(table(found.group(2))) + "\n" + found.group(3), text
    )


def quantities(kind: str) -> Iterator[str]:
    """What a trial of a kind can be asked for as a Markdown list."""
    for name, quantity in QUANTITIES_OF[kind].items():
        about = ", ".join(filter(None, (quantity.unit, quantity.better and f"{quantity.better} is better")))
        yield from wrapped(f"`{name}`{f' ({about})' if about else ''}: {quantity.meaning}", "- ")


def element_rows(kind: str, only: str | None = None) -> Iterator[str]:
    """The elements of a kind, or the one of a name, as a Markdown list from the core's register; shared keys are not repeated."""
    told: set[tuple[str, str, str]] = set()
    for name, example, words, head, keys in _core.elements()[kind]:
        if only not in {None, name}:
            continue
        names = ", ".join(f"`{key}`" for key, _, _ in keys)
        yield from wrapped(f"`{example}`: {words}{f' Keys: {names}.' if names else ''}", "- ")
        if head:
            yield from wrapped(f"{head[0]} first ({head[1]}): {head[2]}", "  - ")
        for key in keys:
            if key not in told:
                yield from wrapped(f"`{key[0]}` ({key[1]}): {key[2]}", "  - ")
        told.update(keys)


_TOOLS = re.compile(r"(<!-- what compare reads -->\n).*?(<!-- end -->)", re.DOTALL)


def compare_page(text: str) -> str:
    """The page on comparisons with its list of what is compared written anew."""
    return _TOOLS.sub(lambda found: found.group(1) + "\n".join(compared_rows()) + "\n" + found.group(2), text)


def compared_rows() -> Iterator[str]:
    """What `compare` reads as a Markdown list: the tools as they are declared."""
    for what, trial, nesting in compared():
        yield from wrapped(f"{what}. Trials: {trial}.{f' They nest in {nesting}.' if nesting else ''}", "- ")


def compared() -> Iterator[tuple[str, str, str]]:
    """What can be compared, what its trials are, and what these nest in."""
    yield "an experiment directory", "its finished trials", "host, boot, the factor `build`"
    for reader in readers():
        yield f"`{reader.name}` of {reader.tool} ({reader.how})", reader.unit, ""
    for tool in TOOLS:
        if tool.reader:
            yield f"JSON of {tool.name} ({tool.how})", tool.trials, tool.nesting
    yield (
        "a Pantheon folder, also packed as Pantheon publishes it (`.tar.xz`, `.tar.gz`)",
        "each run of each scheme, throughput, 95th percentile of delay and loss, from `pantheon_perf.json` or the logs",
        "",
    )
    yield (
        "CSV or Parquet ([dialects](../reference/tables.md))",
        "each row, or with `--trial` each group of rows",
        "columns `host`, `boot`, `build`, `process`",
    )
    yield (
        "CSV or Parquet with columns `n`, `mean` and `sd` (or `population_sd`, with n in the denominator)",
        "none; a row is a treatment and `metric` of a paper's table, and columns but `unit` and `better` name treatments",
        "",
    )


_CONTROLLERS = re.compile(r"(<!-- controllers -->\n).*?(<!-- end -->)", re.DOTALL)


def simulation_page(text: str) -> str:
    """The page on simulations with its list of controllers written anew."""
    return _CONTROLLERS.sub(
        lambda found: found.group(1) + "\n".join(controller_rows()) + "\n" + found.group(2), text
    )


def controller_rows() -> Iterator[str]:
    """The controllers as a Markdown list: as the core's register has them."""
    rated, in_fabrics = dict(_core.path_controllers()), set(_core.simulation_controllers())
    for names, words, settings in _core.controllers():
        takes = ", ".join(f"`{name}`{_choices(takes)}" for name, takes in settings)
        rate = f" Also `{names[0]}:RATE`." if rated.get(names[0]) else ""
        where = "" if names[0] in in_fabrics else " Over paths only."
        yield from wrapped(f"{', '.join(f'`{name}`' for name in names)}: {words}{where}{rate}", "- ")
        if takes:
            yield from wrapped(f"Parameters: {takes}.", "  - ")


def _choices(takes: str) -> str:
    words = takes.split(" or ")
    return (
        f" ({', '.join(f'`{word}`' for word in words)})"
        if len(words) > 1 and takes != "true or false"
        else ""
    )


_COMMANDS = re.compile(r"(<!-- commands -->\n).*?(<!-- end -->)", re.DOTALL)


def readme(text: str) -> str:
    """The README with its list of commands written anew."""
    return _COMMANDS.sub(
        lambda found: found.group(1) + "\n".join(command_rows()) + "\n" + found.group(2), text
    )


def command_rows() -> Iterator[str]:
    """The commands, as `trialwise --help` groups them."""
    for group, summaries in SUMMARIES.items():
        yield f"- {group}: {' · '.join(f'`{name}`' for name in summaries)}"
    silent = [name for names in SUMMARIES.values() for name in names if not _prints_json(name)]
    *first, last = (f"`{name}`" for name in silent)
    yield ""
    yield from wrapped(
        f"Each has `--help` with examples, and all but {', '.join(first)} and {last} have `--json`.",
        indent="",
    )


def _prints_json(name: str) -> bool:
    function = FUNCTIONS.get(name, name)
    module = import_module(f"trialwise.cli.{function}")
    if name not in GROUPS:
        return "json" in signature(getattr(module, function)).parameters
    commands = (module.app[each].default_command for each in module.app if not each.startswith("-"))
    return any("json" in signature(each).parameters for each in commands)


_SCHEMES = re.compile(r"(<!-- schemes -->\n).*?(<!-- end -->)", re.DOTALL)


def scheme_page(text: str) -> str:
    """The page on schemes with its lists written anew."""
    return _SCHEMES.sub(
        lambda found: found.group(1) + "\n".join(scheme_rows()) + "\n" + found.group(2), page(text)
    )


def scheme_rows() -> Iterator[str]:
    """The schemes that ship as a Markdown list."""
    for name, path in scheme_files().items():
        scheme = read_file(path)
        parts = {
            "Loads": ", ".join(scheme.loads),
            "Needs": ", ".join(needed(scheme)),
            "In Pantheon": ", ".join((*scheme.pantheon, *(f"near {name}" for name in scheme.nearest))),
        }
        told = " ".join(f"{head}: {words}." for head, words in parts.items() if words)
        yield from wrapped(f"`{name}`: {scheme.title} ({scheme.licence}). {told}", "- ")


def table(record: str) -> Iterator[str]:
    """The keys of one record as a Markdown list."""
    model, definitions = RECORDS[record], definitions_of_records()
    schema = definitions[record]
    for key, property_ in schema["properties"].items():
        default = "required" if key in schema.get("required", ()) else default_of(model, key, property_)
        meaning = property_.get("description", "")
        yield from item(key, examples_of(model, key), allowed(property_, definitions), default, meaning)


@cache
def definitions_of_records() -> dict[str, Any]:
    """The JSON Schemas of the parts of experiment files and of scheme files, and of the latter as a whole."""
    scheme = schema_of(reading.SchemeDocument)
    return document_schema()["$defs"] | scheme["$defs"] | {reading.SchemeDocument.__name__: scheme}


def item(key: str, examples: Sequence[Any], words: str, default: str, meaning: str) -> Iterator[str]:
    """One key: what it means, and below it what it takes and looks like."""
    yield from wrapped(f"`{key}`: {meaning}", "- ")
    standing = default if default == "required" else f"default {default}"
    yield from wrapped(f"{words}; {standing}", "  - takes ")
    shown = ", ".join(f"`{key} = {toml_value(example)}`" for example in examples)
    if shown:
        yield from wrapped(shown, "  - example: " if len(examples) == 1 else "  - examples: ")


def examples_of(model: type[Section], key: str) -> Sequence[Any]:
    """The examples of a key, tables in the order of their keys, which schemas sort."""
    return next(field.key.examples for field in keys_of(model).values() if field.name == key)


def default_of(model: type[Section], key: str, property_: Mapping[str, Any]) -> str:
    """What a key is where it is not given."""
    made = next(
        field
        for field in fields(model)
        if keys_of(model).get(field.name) and keys_of(model)[field.name].name == key
    )
    value = property_.get("default") if made.default_factory is MISSING else made.default_factory()
    return "none" if value is None or value == {} or isinstance(value, Section) else f"`{toml_value(value)}`"


_CALLS = re.compile(r"(<!-- calls of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def notebook_page(text: str) -> str:
    """The page on notebooks with what can be called, from the docstrings."""
    return _CALLS.sub(
        lambda found: found.group(1) + "\n".join(calls(found.group(2))) + "\n" + found.group(3), text
    )


def calls(name: str) -> Iterator[str]:
    """A function, or the public members of a class, as Markdown lists with their parameters."""
    thing = getattr(notebook, name)
    members = vars(thing) if isinstance(thing, type) else {name: thing}
    for called, member in members.items():
        words = getdoc(member)
        if called.startswith("_") or words is None or isinstance(member, str | tuple):
            continue
        names = ", ".join(signature(member).parameters) if callable(member) else None
        head = called if names is None else f"{called}({names.removeprefix('self').removeprefix(', ')})"
        summary, _, parameters = words.partition("\nParameters\n----------\n")
        yield from _wrapped(f"- **`{head}`** – ", summary)
        for entry in re.findall(
            r"^(\S.*)\n((?: +.*\n?|\n)+)", parameters.partition("\nRaises\n")[0], re.MULTILINE
        ):
            yield from _wrapped(f"  - `{entry[0]}`: ", entry[1])


def _wrapped(head: str, words: str) -> list[str]:
    return wrapped(words.partition("\nRaises\n")[0], head)


def command_page(name: str) -> str:
    """The page of a command: its help, as the command's own declarations give it."""
    function = FUNCTIONS.get(name, name)
    module = import_module(f"trialwise.cli.{function}")
    app = module.app if name in GROUPS else App(name=name, default_parameter=OPTIONS, help_format="markdown")
    if name not in GROUPS:
        app.default(getattr(module, function))
    # The page has a title of its own, the site a table of contents beside it, and tests execute blocks of "console".
    text = (
        app.generate_docs(usage_name=f"trialwise {name}").partition("\n")[2].replace("```console", "```text")
    )
    text = re.sub(r"## Table of Contents\n\n(?:-.*\n)+\n?", "", text)
    return f"# trialwise {name}\n{_rewrapped(text)}\n"


def _rewrapped(text: str) -> str:
    """Markdown with its paragraphs and items broken at the width of prose, and pages that it names as links."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _prose(part) for part in parts).rstrip("\n")


def _prose(text: str) -> str:
    linked = re.sub(r"\bdocs/(\S+\.md)\b", r"[\1](../../\1)", text)
    coded = re.sub(r"(`[^`]*`)|(?<![\w-])(--[a-z][\w-]*)", lambda found: found[1] or f"`{found[2]}`", linked)
    blocks = re.split(r"\n(?=\n|\* )", coded)
    return "\n".join(_block(block) for block in blocks)


def _block(block: str) -> str:
    """A paragraph or an item on lines of the width of prose; its empty lines before and after stay."""
    before = "\n" * (len(block) - len(block.lstrip("\n")))
    after = "\n" * (len(block) - len(block.rstrip("\n")))
    lines = wrapped(block, indent="  " if block.strip().startswith("* ") else "") if block.strip() else []
    return before + "\n".join(lines) + after if lines else block


def files() -> Iterator[tuple[Path, str]]:
    """Everything that is generated."""
    yield PAGE, page(PAGE.read_text())
    yield PATH_PAGE, page(PATH_PAGE.read_text())
    yield README, readme(README.read_text())
    yield SIMULATION_PAGE, page(simulation_page(SIMULATION_PAGE.read_text()))
    yield COMPARE_PAGE, compare_page(COMPARE_PAGE.read_text())
    yield NOTEBOOK_PAGE, notebook_page(NOTEBOOK_PAGE.read_text())
    yield SCHEME_PAGE, page(scheme_page(SCHEME_PAGE.read_text()))
    for name in COMMANDS:
        yield COMMAND_PAGES / f"{name}.md", command_page(name)
    for name in get_args(Format):
        yield (
            ROOT / f"schemas/{name}.json",
            json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n",
        )


def main() -> int:
    """Write what has changed, or say what is out of date."""
    stale = [(path, text) for path, text in files() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
