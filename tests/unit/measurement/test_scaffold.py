"""Descriptions of measurement points, and the skeletons made of them: refused, compiled and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trialwise.cli.scaffold import scaffold
from trialwise.errors import PlanError
from trialwise.measurement.scaffold import read_description, skeleton
from trialwise.measurement.scaffold.description import TYPES

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "c-generator"

EVERY = """
[program]
name = "every"
description = 'a "quoted" */ thing \\'

[options]
int = { type = "int32", default = -3, letter = "i", description = "100 %" }
low = { type = "int64", default = -9223372036854775808 }
high = { type = "uint64", default = 18446744073709551615 }
ratio = { type = "double", default = 1e-3, unit = "s" }
label-text = { type = "string", default = 'a "b" \\' }
quiet = { type = "flag", letter = "q" }

[points.all]
description = "every type"
[points.all.fields]
""" + "\n".join(f'f{index} = "{kind}"' for index, kind in enumerate(TYPES))
EVERY += """
[points.type.fields]
class = { type = "double", unit = "m/s", description = "a word of C, Rust and Python */" }
type = "string"
camelCase = "guid"
mp = "blob"
v = "[int32]"
"""

RUBY = """
# An application of OMF's.
defApplication('omf:app:foo', 'foo') do |a|
  a.version(1, 2, 3)
  a.shortDescription = "Measures foo"
  a.description = %{
  'foo' is {measured} here. }
  a.path = "/usr/bin/foo"
  a.defProperty('cpu', 'Report CPU foo', ?c,
               :type => :flag, :impl => { :var_name => 'report_cpu' })
  a.defProperty('count', 'how often', '-n', {:type => :integer, :default => 10})
  a.defProperty('rate', 'rate', '--rate', type: :double, unit: 'Hz', :mnemonic => 'r')
  a.defMeasurement("memory_foo") do |m|
    m.defMetric('ram', 'string')
    m.defMetric('free', :uint32)   # bytes
    m.defMetric 'share', :float
    m.defMetric('history', :vector_double)
  end
  a.defMeasurement('flag') { |m|
    m.defMetric('up', :boolean)
  }
end
defProperty('elsewhere', 3, "not read") { whatever }
"""


def refused(text: str, name: str = "points.toml") -> str:
    with pytest.raises(PlanError) as refusal:
        read_description(text, name)
    return str(refusal.value)


def test_omls_description_is_read():
    program = read_description(RUBY, "foo.rb")
    assert (program.name, program.version, program.description) == ("foo", "1.2.3", "Measures foo")
    assert [(o.name, o.type, o.default, o.letter, o.variable, o.unit) for o in program.options] == [
        ("cpu", "flag", False, "c", "report_cpu", ""),
        ("count", "int32", 10, "n", "count", ""),
        ("rate", "double", 0.0, "r", "rate", "Hz"),
    ]
    assert {point.name: [(f.name, f.type) for f in point.fields] for point in program.points} == {
        "memory_foo": [("ram", "string"), ("free", "uint32"), ("share", "double"), ("history", "[double]")],
        "flag": [("up", "bool")],
    }


def test_without_a_name_the_uri_names_the_program():
    text = "defApplication('a:b:c') { |a|\n a.defMeasurement('m') { |m| m.defMetric('x', :int) }\n}"
    assert read_description(text, "c.app").name == "c"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "there is no defApplication"),
        ("defApplication('u', 'n') do |a|\n a.defMeasurement('m') do |m|", "is not read here"),
        ("defApplication('u', 'n') do |a|\n a.defProperty(`ls`)\nend", "line 2: '`' is not read here"),
        ("defApplication('u', 'n') do |a|\n a.description = %{\nend", "is not closed"),
        (
            "defApplication('u', 'n') do |a|\n a.defMeasurement('m') do |m|\n m.defMetric('x')\n end\nend",
            "line 3",
        ),
        (
            "defApplication('u', 'n') do |a|\n a.defMeasurement('m') do |m|\n m.defMetric('x', :no)\n end\nend",
            "'no'",
        ),
    ],
)
def test_ruby_that_is_none_of_omls_is_refused(text: str, said: str):
    assert said in refused(text, "x.rb")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[program", "this is not valid TOML"),
        ("", "[program] is missing"),
        ("[program]\nname = 3", "needs name"),
        ("[program]\nname = 'a'", "no measurement point"),
        ("[program]\nname = 'a b'\n[points.m.fields]\nx = 'int32'", "'a b' cannot name a program"),
        ("[program]\nname = 'a'\n[points.m]", "'m' has no fields"),
        ("[program]\nname = 'a'\n[points.m.fields]\nx = 'int23'", "did you mean 'int32'"),
        ("[program]\nname = 'a'\n[points.m.fields]\n'x y' = 'int32'", "'x y' cannot name a field"),
        ("[program]\nname = 'a'\n[points.m.fields]\nx = { typ = 'int32' }", "did you mean 'type'"),
        ("[program]\nname = 'a'\n[point.m.fields]\nx = 'int32'", "did you mean 'points'"),
        (f"[program]\nname = 'a'\n[points.{'m' * 62}.fields]\nx = 'int32'", "longer than the 63 bytes"),
        ("[program]\nname = 'a'\nversion = 'x'\n[points.m.fields]\nx = 'int32'", "version 'x'"),
        (
            "[program]\nname='a'\n[points.m.fields]\nx='int32'\n[options.n]\ntype='int32'\ndefault=3e9",
            "is not a valid default",
        ),
        (
            "[program]\nname='a'\n[points.m.fields]\nx='int32'\n[options.n]\ntype='uint32'\ndefault=-1",
            "is not a valid default",
        ),
        (
            "[program]\nname='a'\n[points.m.fields]\nx='int32'\n[options.help]\ntype='flag'",
            "cannot name an option",
        ),
        (
            "[program]\nname='a'\n[points.m.fields]\nx='int32'\n[options.n]\ntype='flag'\nletter='h'",
            "is not a free letter",
        ),
    ],
)
def test_what_cannot_be_is_refused(text: str, said: str):
    assert said in refused(text)


def test_nothing_is_overwritten_unasked(tmp_path, capsys):
    points = EXAMPLE / "points.toml"
    assert scaffold(points, language="c", out=tmp_path / "new") == 0
    assert capsys.readouterr().out.count("wrote ") == 3
    (tmp_path / "new" / "Makefile").write_text("mine")
    (tmp_path / "new" / "generator.c").unlink()
    with pytest.raises(PlanError, match="there is such a file"):
        scaffold(points, language="c", out=tmp_path / "new")
    assert not (tmp_path / "new" / "generator.c").exists(), "all or nothing"
    scaffold(points, language="c", out=tmp_path / "new", force=True)
    assert (tmp_path / "new" / "Makefile").read_text() != "mine"


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path):
    command = 'ulimit -f 1; exec "$0" -c "from trialwise.cli.main import main; main()" "$@"'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, "scaffold", EXAMPLE / "points.toml", "--language", "c", "--out", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "generator_oml.h: cannot be written: File too large" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_example_has_the_header_that_is_made_of_its_description():
    text = (EXAMPLE / "points.toml").read_text()
    files = skeleton(read_description(text, "points.toml"), "c")
    assert files["generator_oml.h"] == (EXAMPLE / "generator_oml.h").read_text()


def test_the_python_skeleton_runs_and_streams(tmp_path):
    for text, name in ((EVERY, "every.toml"), (RUBY, "foo.rb")):
        program = read_description(text, name)
        script = tmp_path / f"{program.name}.py"
        script.write_text(skeleton(program, "python")[script.name])
        done = subprocess.run(
            [sys.executable, script, "--oml-collect", "file:-"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") >= 10 * len(program.points)
        for point in program.points:
            assert (
                f" {program.name}_{point.name} {point.fields[0].name}:{point.fields[0].type}" in done.stdout
            )
        usage = subprocess.run(
            [sys.executable, script, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert all(f"--{option.name}" in usage for option in program.options)


def _install() -> Path:
    """The C library as it was built for the Rust tests or a release; the newer one, laid out."""
    built = [
        path
        for path in (ROOT / "target").glob("*/deps/libtrialwise_streams.a")
        if path.with_suffix(".so").exists()
    ]
    if not built:
        pytest.skip("the C library is not built: cargo build -p trialwise-streams-c")
    prefix = ROOT / "target" / "tmp" / "scaffold-installed"
    newest = max(built, key=lambda path: path.stat().st_mtime)
    subprocess.run(["sh", ROOT / "crates/streams-c/install.sh", newest.parent, prefix], check=True)
    return prefix


def test_the_c_skeleton_compiles_without_warnings_and_streams(tmp_path):
    prefix = _install()
    for text, name in ((EVERY, "every.toml"), (RUBY, "foo.rb")):
        program = read_description(text, name)
        for path, content in skeleton(program, "c").items():
            (tmp_path / path).write_text(content)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        flags = "-std=gnu11 -Wall -Wextra -Werror"
        if shutil.which("pkg-config"):
            subprocess.run(
                ["make", f"CFLAGS={flags}", program.name], cwd=tmp_path, env=environment, check=True
            )
        else:
            link = [f"-I{prefix}/include", f"-L{prefix}/lib", "-loml2", f"-Wl,-rpath,{prefix}/lib"]
            subprocess.run(
                ["cc", *flags.split(), f"{program.name}.c", "-o", program.name, *link],
                cwd=tmp_path,
                check=True,
            )
        command = [str(tmp_path / program.name), "--oml-collect", "file:-"]
        rows = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        assert rows.count("\n") >= 10 * len(program.points)
        for point in program.points:
            assert f" {program.name}_{point.name} {point.fields[0].name}:{point.fields[0].type}" in rows
        usage = subprocess.run(
            [command[0], "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout
        assert all(f"--{option.name}" in usage for option in program.options)


def test_the_rust_skeleton_compiles_and_streams(tmp_path):
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    program = read_description(EVERY, "every.toml")
    for path, content in skeleton(program, "rust").items():
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(content.replace("../trialwise/crates/streams", str(ROOT / "crates" / "streams")))
    shutil.copy(ROOT / "Cargo.lock", tmp_path)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    run = ["cargo", "run", "--quiet", "--offline", "--", "--int", "5", "-q", "--oml-collect", "file:-"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert all("never read" in line or "generated" in line for line in warnings), done.stderr
    assert "int: 5" in done.stdout
    assert "quiet: true" in done.stdout
    assert done.stdout.count("\n") >= 20
    assert " every_type class:double type:string camelCase:guid mp:blob v:[int32]" in done.stdout


IN_USE = """
defApplication('oml:app:otg2', 'otg2') do |a|
  a.version(2, 9, -1)
  a.shortDescription = 'Traffic generator'
  a.defProperty('generator', 'Generator to use', '-g', :type => :string, :default => 'cbr')
  a.defProperty('udp:dst_host', 'Destination', '--udp:dst_host', :type => :string)
  a.defProperty('cbr:size', 'Size', '--cbr:size', :type => :integer, :default => '512', :unit => 'bytes')
  a.defProperty('help', 'Display help', '-h', :type => 'boolean')
  a.defMeasurement('udp_out') do |m|
    m.defMetric('seq_no', :uint32)
  end
end
"""


def test_descriptions_in_use_are_read():
    program = read_description(IN_USE, "otg2.rb")
    assert program.version == "2.9"
    assert [(option.name, option.variable, option.default) for option in program.options] == [
        ("generator", "generator", "cbr"),
        ("udp:dst_host", "udp_dst_host", ""),
        ("cbr:size", "cbr_size", 512),
    ]


def test_options_are_written_alone_for_a_program_that_is_there(tmp_path):
    (tmp_path / "otg2.rb").write_text(IN_USE)
    assert scaffold(tmp_path / "otg2.rb", language="c", opts=True, out=tmp_path / "out") == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["otg2_popt.h"]
    header = (tmp_path / "out" / "otg2_popt.h").read_text()
    row = '{"cbr:size", \'\\0\', POPT_ARG_INT, &g_opts_storage.cbr_size, 0, "Size", "bytes"}'
    assert row in header
    # The compiler takes it, with the few words of popt.h that it uses.
    (tmp_path / "popt.h").write_text(
        "struct poptOption { const char *longName; char shortName; unsigned argInfo; void *arg; int val;"
        " const char *descrip, *argDescrip; };\n"
        "#define POPT_ARG_NONE 0U\n#define POPT_ARG_STRING 1U\n#define POPT_ARG_INT 2U\n"
        "#define POPT_AUTOHELP {0, 0, 4U, 0, 0, 0, 0},\n#define POPT_TABLEEND {0, 0, 0, 0, 0, 0, 0}\n"
    )
    (tmp_path / "main.c").write_text(
        '#define OML_FROM_MAIN\n#include "otg2_popt.h"\n'
        "int main(void) { return g_opts->cbr_size != 512 || options[1].shortName != 'g'; }\n"
    )
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    compiled = [
        "cc",
        "-Wall",
        "-Werror",
        "-Wno-unused",
        "-I",
        tmp_path,
        "-I",
        tmp_path / "out",
        tmp_path / "main.c",
        "-o",
        tmp_path / "main",
    ]
    subprocess.run(compiled, check=True)
    subprocess.run([tmp_path / "main"], check=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a.shortDescription", "line 2: shortDescription needs 1 arguments or more"),
        (f"a.version({'1' * 5000})", "line 2: a number of 5000 characters; at most 100 are read"),
        (f"a.defProperty('x', 'y', '-x', {{:default => '{'9' * 5000}'}})", "a number of 5000 characters"),
    ],
)
def test_a_description_in_ruby_that_cannot_be_read_is_refused_in_one_line(line: str, said: str):
    with pytest.raises(PlanError) as refused:
        read_description(f"defApplication('a', 'b') do |a|\n  {line}\nend\n", "x.rb")
    assert said in refused.value.message
