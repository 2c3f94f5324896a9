"""Generate a Rust program: a typed struct for each measurement point over the crate `trialwise-streams`."""

from __future__ import annotations

from trialwise.measurement.scaffold.description import Field, MeasurementPoint, Option, Program
from trialwise.measurement.scaffold.spelling import RUST_KEYWORDS, camel, identifier, identifiers, quoted

_RUST_TYPES = {
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "double": "f64",
    "bool": "bool",
}
_FIELD_TYPES = {
    "int32": "Int32",
    "uint32": "UInt32",
    "int64": "Int64",
    "uint64": "UInt64",
    "double": "Double",
    "bool": "Bool",
}
_MORE = {"string": "String", "blob": "Blob", "guid": "Guid"}


def rust_skeleton(program: Program) -> dict[str, str]:
    """Return the files Cargo.toml, src/points.rs and src/main.rs."""
    return {"Cargo.toml": _cargo(program), "src/points.rs": _points(program), "src/main.rs": _main(program)}


def _cargo(program: Program) -> str:
    version = ".".join([*program.version.split("."), "0", "0"][:3])
    return f"""\
[package]
name = {quoted(program.name)}
version = {quoted(version)}
edition = "2024"

[dependencies]
# Where Trialwise's source lies.
trialwise-streams = {{ path = "../trialwise/crates/streams" }}
"""


def _type(field: Field) -> str:
    if field.element:
        return f"&'a [{_RUST_TYPES[field.element]}]"
    return {"string": "&'a str", "blob": "&'a [u8]", "guid": "u64"}.get(field.type) or _RUST_TYPES[field.type]


def _value(field: Field, name: str) -> str:
    if field.element:
        return f"Value::Vector(Vector::{_FIELD_TYPES[field.element]}(sample.{name}))"
    if field.type == "string":
        return f"Value::String(sample.{name}.as_bytes())"
    return f"Value::{_FIELD_TYPES.get(field.type) or _MORE[field.type]}(sample.{name})"


def _field_type(field: Field) -> str:
    if field.element:
        return f"FieldType::Vector(ElementType::{_FIELD_TYPES[field.element]})"
    return f"FieldType::{_FIELD_TYPES.get(field.type) or _MORE[field.type]}"


def _borrows(point: MeasurementPoint) -> bool:
    return any("'a" in _type(field) for field in point.fields)


def _points(program: Program) -> str:
    vectors = any(field.element for point in program.points for field in point.fields)
    protocol = "ElementType, FieldType, Value, Vector" if vectors else "FieldType, Value"
    names = "".join(field.name for point in program.points for field in point.fields)
    spelling = (
        '#![allow(non_snake_case, reason = "the names of the fields")]\n\n' if names != names.lower() else ""
    )
    return f"""\
//! Measurement points of {program.name}. Made by `trialwise scaffold`: make it anew when the points change.

{spelling}use trialwise_streams::client::{{Client, DeclareError, InjectError, Point}};
use trialwise_streams::protocol::{{{protocol}}};

""" + "\n".join(_point(point) for point in program.points)


def _point(point: MeasurementPoint) -> str:
    names = identifiers(point, RUST_KEYWORDS)
    name = camel(point.name)
    lifetime, anonymous = ("<'a>", "<'_>") if _borrows(point) else ("", "")
    pairs = list(zip(point.fields, names, strict=True))
    members = "".join(
        f"{f'    /// {field.comment}{chr(10)}' if field.comment else ''}    pub {each}: {_type(field)},\n"
        for field, each in pairs
    )
    fields = "".join(f"            ({quoted(field.name)}, {_field_type(field)}),\n" for field in point.fields)
    values = "".join(f"            {_value(field, each)},\n" for field, each in pairs)
    about = " ".join(point.description.split()) or f"A sample of `{point.name}`."
    return f"""\
/// {about}
#[derive(Clone, Copy, Debug)]
pub struct {name}{lifetime} {{
{members}}}

/// The measurement point `{point.name}`; clones and references may be used by any thread.
#[derive(Clone, Debug)]
pub struct {name}Point(Point);

impl {name}Point {{
    /// Declares the point, before or after the start.
    pub fn declare(client: &mut Client) -> Result<Self, DeclareError> {{
        let fields = [
{fields}        ];
        client.point({quoted(point.name)}, &fields).map(Self)
    }}

    /// Gives a sample, stamped now; one that is lost is counted.
    pub fn inject(&self, sample: &{name}{anonymous}) -> Result<(), InjectError> {{
        self.0.inject(&[
{values}        ])
    }}
}}
"""


def _example(field: Field) -> str:
    if field.element:
        ones = {"bool": "true, false", "double": "0.0, 1.0"}.get(field.element, "0, 1")
        return f"&[{ones}]"
    examples = {
        "string": '"text"',
        "blob": "&[1, 2]",
        "bool": "count % 2 == 0",
        "double": "0.5 * f64::from(count)",
    }
    return examples.get(field.type) or (
        "u64::from(count)" if field.type == "guid" else f"{_cast(field.type)}"
    )


def _cast(kind: str) -> str:
    return {"uint32": "count", "int32": "count as i32"}.get(kind, f"{_RUST_TYPES[kind]}::from(count)")


def _main(program: Program) -> str:
    imports = ", ".join(
        sorted(name for point in program.points for name in (camel(point.name), f"{camel(point.name)}Point"))
    )
    declares = "".join(
        f"    let {_variable(point)} = {camel(point.name)}Point::declare(&mut client)?;\n"
        for point in program.points
    )
    injects = "".join(
        f"        {_variable(point)}.inject(&{camel(point.name)} {{ "
        + ", ".join(
            f"{each}: {_example(field)}"
            for field, each in zip(point.fields, identifiers(point, RUST_KEYWORDS), strict=True)
        )
        + " })?;\n"
        for point in program.points
    )
    about = " ".join(f"{program.name} {program.version}: {program.description}".rstrip(": ").split())
    options = bool(program.options)
    read = '    let options = Options::read(&arguments)?;\n    println!("{options:?}");\n' if options else ""
    return f"""\
//! {about}

mod points;

use std::error::Error;
use std::time::Duration;

use points::{{{imports}}};
use trialwise_streams::client::Client;
use trialwise_streams::config::{{Config, Disposition, usage}};

{_options(program) if options else ""}fn main() -> Result<(), Box<dyn Error>> {{
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut client = match Config::from_environment({quoted(program.name)}, &mut arguments)? {{
        Disposition::Run(config) => Client::new({quoted(program.name)}, &config)?,
        Disposition::Disabled => Client::disabled({quoted(program.name)})?,
        Disposition::Help | Disposition::ListFilters => {{
            print!("{{}}", usage());
            return Ok(());
        }}
    }};
{read}{declares}    client.start()?;
    // What the program does. Put what it measures in the place of the examples.
    for count in 0..10_u32 {{
{injects}    }}
    let report = client.close(Duration::from_secs(10));
    match report.counters.dropped() {{
        0 => Ok(()),
        lost => Err(format!("{{lost}} samples or rows were lost").into()),
    }}
}}
"""


def _variable(point: MeasurementPoint) -> str:
    return f"{point.name.lower()}_point"


def _option_type(option: Option) -> str:
    return {"flag": "bool", "string": "String"}.get(option.type) or _RUST_TYPES[option.type]


def _option_default(option: Option) -> str:
    value = option.default
    if isinstance(value, str):
        return f"{quoted(value)}.to_owned()"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _options(program: Program) -> str:
    names = [identifier(option.variable, RUST_KEYWORDS) for option in program.options]
    pairs = list(zip(program.options, names, strict=True))
    members = "".join(
        f"{f'    /// {option.description}{chr(10)}' if option.description else ''}    {name}: {_option_type(option)},\n"
        for option, name in pairs
    )
    defaults = ", ".join(f"{name}: {_option_default(option)}" for option, name in pairs)
    arms = "".join(
        f"                {' | '.join(_spellings(option))} => options.{name} = {_read(option)},\n"
        for option, name in pairs
    )
    return f"""\
/// The program's own options.
#[derive(Clone, Debug)]
struct Options {{
{members}}}

impl Options {{
    fn read(arguments: &[String]) -> Result<Self, Box<dyn Error>> {{
        let mut options = Self {{ {defaults} }};
        let mut words = arguments.iter().flat_map(|word| word.splitn(2, '='));
        while let Some(word) = words.next() {{
            match word {{
{arms}                _ => return Err(format!("{{word}} is no option of this program").into()),
            }}
        }}
        Ok(options)
    }}
}}

"""


def _spellings(option: Option) -> list[str]:
    short = [quoted(f"-{option.letter}")] if option.letter else []
    return [*short, quoted(f"--{option.name}")]


def _read(option: Option) -> str:
    if option.type == "flag":
        return "true"
    word = 'words.next().ok_or("an option lacks its value")?'
    return f"{word}.to_owned()" if option.type == "string" else f"{word}.parse()?"
