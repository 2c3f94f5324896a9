"""Generate a C program: typed inject functions over OML's interface, options, a main, a Makefile."""

from __future__ import annotations

from trialwise.measurement.scaffold.description import Field, MeasurementPoint, Option, Program
from trialwise.measurement.scaffold.spelling import C_KEYWORDS, comment, identifier, identifiers, quoted

_C_TYPES = {
    **{f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (32, 64)},
    "double": "double",
    "bool": "bool",
    "guid": "oml_guid_t",
    "string": "const char *",
    "flag": "bool",
}
_EXAMPLES = {
    "double": "0.5 * (double)count",
    "bool": "count % 2 == 0",
    "guid": "omlc_guid_generate()",
    "string": '"text"',
}
_PARSERS = {
    "int32": "(int32_t)strtol(optarg, NULL, 0)",
    "uint32": "(uint32_t)strtoul(optarg, NULL, 0)",
    "int64": "strtoll(optarg, NULL, 0)",
    "uint64": "strtoull(optarg, NULL, 0)",
    "double": "strtod(optarg, NULL)",
    "string": "optarg",
    "flag": "true",
}


def c_skeleton(program: Program) -> dict[str, str]:
    """Return the files NAME_oml.h, NAME.c and Makefile."""
    name = program.name
    return {f"{name}_oml.h": _header(program), f"{name}.c": _main(program), "Makefile": _makefile(name)}


def _declared(kind: str, name: str) -> str:
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


def _header(program: Program) -> str:
    name = program.name
    guard = f"{name.upper()}_OML_H"
    definitions = "\n".join(_definition(point) for point in program.points)
    members = "\n".join(f"  OmlMP *{point.name};" for point in program.points)
    registers = "\n".join(
        f'  oml_mps_{name}_.{point.name} = omlc_add_mp("{point.name}", oml_{point.name}_def);\n'
        f"  if (oml_mps_{name}_.{point.name} == NULL) failed = -1;"
        for point in program.points
    )
    injects = "\n".join(_inject(point) for point in program.points)
    return f"""\
/* Measurement points of {name}. Made by `trialwise scaffold`: make it anew when the points change.
 * One file defines OML_FROM_MAIN before it includes this, and calls oml_register_mps between omlc_init and omlc_start. */
#ifndef {guard}
#define {guard}

#include <oml2/omlc.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {{
{members}
}} oml_mps_{name}_t;

#ifndef __cplusplus
typedef oml_mps_{name}_t oml_mps_t;
#endif

extern oml_mps_{name}_t *g_oml_mps_{name};

#ifdef OML_FROM_MAIN
{definitions}
static oml_mps_{name}_t oml_mps_{name}_;
oml_mps_{name}_t *g_oml_mps_{name} = &oml_mps_{name}_;

/* Declares the measurement points; 0, or -1 if one cannot be, which was logged. */
static inline int oml_register_mps(void) {{
  int failed = 0;
{registers}
  return failed;
}}
#endif

{injects}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _definition(point: MeasurementPoint) -> str:
    rows = "".join(
        f'    {{"{field.name}", {_value_type(field)}}},{f" /* {comment(field.comment)} */" if field.comment else ""}\n'
        for field in point.fields
    )
    return f"static OmlMPDef oml_{point.name}_def[] = {{\n{rows}    {{NULL, (OmlValueT)0}}}};\n"


def _value_type(field: Field) -> str:
    return f"OML_VECTOR_{field.element.upper()}_VALUE" if field.element else f"OML_{field.type.upper()}_VALUE"


def _parameters(field: Field, name: str) -> list[str]:
    if field.element:
        return [f"const {_C_TYPES[field.element]} *{name}", f"size_t {name}_length"]
    if field.type == "blob":
        return [f"const void *{name}", f"size_t {name}_length"]
    return [_declared(_C_TYPES[field.type], name)]


def _inject(point: MeasurementPoint) -> str:
    names = identifiers(point, C_KEYWORDS)
    pairs = list(zip(point.fields, names, strict=True))
    parameters = ", ".join(text for field, name in pairs for text in _parameters(field, name))
    sets = "\n".join(f"  {_set(field, name, index)}" for index, (field, name) in enumerate(pairs))
    resets = "".join(
        f"  omlc_reset_{'vector' if field.element else field.type}(v[{index}]);\n"
        for index, field in enumerate(point.fields)
        if field.element or field.type in {"string", "blob"}
    )
    about = comment(point.description)
    return f"""\
{f"/* {about} */" + chr(10) if about else ""}static inline int oml_inject_{point.name}(OmlMP *mp, {parameters}) {{
  OmlValueU v[{len(pairs)}];
  omlc_zero_array(v, {len(pairs)});
{sets}
  const int injected = omlc_inject(mp, v);
{resets}  return injected;
}}
"""


def _set(field: Field, name: str, index: int) -> str:
    if field.element:
        return f"omlc_set_vector_{field.element}(v[{index}], {name}, {name}_length);"
    if field.type == "blob":
        return f"omlc_set_blob(v[{index}], {name}, {name}_length);"
    return f"omlc_set_{field.type}(v[{index}], {name});"


def _example(field: Field) -> str:
    if field.element:
        return f"(const {_C_TYPES[field.element]}[]){{0, 1}}, 2"
    if field.type == "blob":
        return '"\\1\\2", 2'
    return _EXAMPLES.get(field.type, f"({_C_TYPES[field.type]})count")


def _main(program: Program) -> str:
    name = program.name
    calls = "\n".join(
        f"    oml_inject_{point.name}(g_oml_mps_{name}->{point.name}, {', '.join(map(_example, point.fields))});"
        for point in program.points
    )
    read = "  if (!read_options(argc, argv)) return 2;\n" if program.options else ""
    return f"""\
/* {comment(f"{name} {program.version}: {program.description}".rstrip(": "))} */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
{"#include <getopt.h>" + chr(10) if program.options else ""}
#include <oml2/omlc.h>

#define OML_FROM_MAIN
#include "{name}_oml.h"

{_options(program)}/* What the program does. Put what it measures in the place of the examples. */
static void run(void) {{
  for (int count = 0; count < 10; count++) {{
{calls}
  }}
}}

int main(int argc, char *argv[]) {{
  if (omlc_init("{name}", &argc, (const char **)argv, NULL) < 0) return 1;
{read}  if (oml_register_mps() != 0 || omlc_start() != 0) return 1;
  run();
  return omlc_close() == 0 ? 0 : 1;
}}
"""


def _options(program: Program) -> str:
    if not program.options:
        return ""
    options = program.options
    members = "".join(
        f"  {_declared(_C_TYPES[option.type], _variable(option))};"
        f"{f' /* {comment(option.description)} */' if option.description else ''}\n"
        for option in options
    )
    defaults = ", ".join(_literal(option) for option in options)
    table = "".join(
        f"      {{{quoted(option.name)}, {'no' if option.type == 'flag' else 'required'}_argument, NULL, {256 + index}}},\n"
        for index, option in enumerate(options)
    )
    letters = "".join(
        option.letter + ("" if option.type == "flag" else ":") for option in options if option.letter
    )
    cases = "".join(
        f"{f'''      case '{option.letter}':{chr(10)}''' if option.letter else ''}      case {256 + index}:\n"
        f"        options.{_variable(option)} = {_PARSERS[option.type]};\n        break;\n"
        for index, option in enumerate(options)
    )
    usage = "".join(f'      {quoted(_usage(option))[:-1]}\\n"\n' for option in options)
    return f"""\
static struct {{
{members}}} options = {{{defaults}}};

static void print_usage(FILE *out) {{
  fputs(
      "usage: {program.name} [OPTIONS]; --oml-help tells of measuring\\n"
{usage}      "  -h, --help\\n",
      out);
}}

/* False if they cannot be read. */
static bool read_options(int argc, char **argv) {{
  static const struct option known[] = {{
{table}      {{"help", no_argument, NULL, 'h'}},
      {{NULL, 0, NULL, 0}}}};
  for (int found; (found = getopt_long(argc, argv, "{letters}h", known, NULL)) != -1;) {{
    switch (found) {{
{cases}      case 'h':
        print_usage(stdout);
        exit(0);
      default:
        print_usage(stderr);
        return false;
    }}
  }}
  return true;
}}

"""


def c_options_header(program: Program) -> dict[str, str]:
    """Return NAME_popt.h alone, for an existing program: its options for libpopt's `poptGetContext`, if OML_FROM_MAIN is defined.

    The values are in `g_opts`; the table is `options` (popt(3)).
    """
    name = program.name
    members = "".join(
        f"  {_declared(_POPT_TYPES[option.type][0], _variable(option))};"
        f"{f' /* {comment(option.description)} */' if option.description else ''}\n"
        for option in program.options
    )
    defaults = ", ".join(
        str(int(option.default)) if option.type == "flag" else _literal(option) for option in program.options
    )
    table = "".join(f"    {_popt_row(option)},\n" for option in program.options)
    guard = f"{name.upper()}_POPT_H"
    return {
        f"{name}_popt.h": f"""\
/* Options of {name}, for libpopt. Define OML_FROM_MAIN in one file, before the include. */
#ifndef {guard}
#define {guard}

#include <stddef.h>

#include <popt.h>

typedef struct {{
{members or "  int none;" + chr(10)}}} opts_t;

#ifdef OML_FROM_MAIN
static opts_t g_opts_storage = {{{defaults or "0"}}};
opts_t *g_opts = &g_opts_storage;

struct poptOption options[] = {{
    POPT_AUTOHELP
{table}    POPT_TABLEEND}};
#else
extern opts_t *g_opts;
#endif

#endif
"""
    }


_POPT_TYPES = {
    "int32": ("int", "POPT_ARG_INT"),
    "uint32": ("int", "POPT_ARG_INT"),
    "int64": ("long long", "POPT_ARG_LONGLONG"),
    "uint64": ("long long", "POPT_ARG_LONGLONG"),
    "double": ("double", "POPT_ARG_DOUBLE"),
    "string": ("const char *", "POPT_ARG_STRING"),
    "flag": ("int", "POPT_ARG_NONE"),
}


def _popt_row(option: Option) -> str:
    letter = f"'{option.letter}'" if option.letter else "'\\0'"
    place = f"&g_opts_storage.{_variable(option)}"
    about = quoted(" ".join(option.description.split()))
    unit = quoted(option.unit) if option.unit else "NULL"
    return f"{{{quoted(option.name)}, {letter}, {_POPT_TYPES[option.type][1]}, {place}, 0, {about}, {unit}}}"


def _variable(option: Option) -> str:
    return identifier(option.variable, C_KEYWORDS)


def _literal(option: Option) -> str:
    value = option.default
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if value == -(1 << 63):
        return "INT64_MIN"
    suffix = {"int64": "LL", "uint64": "ULL", "uint32": "U"}.get(option.type, "")
    return "INT32_MIN" if value == -(1 << 31) and not suffix else f"{value}{suffix}"


def _usage(option: Option) -> str:
    letter = f"-{option.letter}, " if option.letter else ""
    flag = option.type == "flag"
    value = "" if flag else f" {option.unit or option.type.upper()}"
    default = "" if flag else f" (default {option.default})"
    return f"  {letter}--{option.name}{value}  {' '.join(option.description.split())}{default}"


def _makefile(name: str) -> str:
    return f"""\
# PKG_CONFIG_PATH names the folder of trialwise-streams.pc where it is not an ordinary one (PREFIX/lib/pkgconfig).
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g -Wall -Wextra
CPPFLAGS += $(shell $(PKG_CONFIG) --cflags trialwise-streams)
LDLIBS += $(shell $(PKG_CONFIG) --libs trialwise-streams)
LDFLAGS += -Wl,-rpath,$(shell $(PKG_CONFIG) --variable=libdir trialwise-streams)

{name}: {name}.c {name}_oml.h
\t$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LDLIBS)

.PHONY: clean
clean:
\trm -f {name}
"""
