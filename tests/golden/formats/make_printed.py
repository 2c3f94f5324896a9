"""Run JMH and criterion, and keep their files with what they print: `python tests/golden/formats/make_printed.py`.

Needs cargo, Maven and a JDK; criterion 0.8 and JMH 1.37 come from their registries.
"""

import gzip
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "printed"
CARGO = """\
[package]
name = "lists"
version = "0.1.0"
edition = "2021"

[dev-dependencies]
criterion = { version = "0.8", default-features = false }

[[bench]]
name = "sums"
harness = false
"""
KEPT = ("benchmark.json", "estimates.json", "sample.json")


def run(*words, cwd):
    """Run a command, and return what it printed."""
    return subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout


def make_criterion(place):
    """Keep the folder of criterion, without its copy of the run as the next one's base."""
    (place / "src").mkdir()
    (place / "src/lib.rs").touch()
    (place / "benches").mkdir()
    shutil.copy(HERE / "criterion/sums.rs", place / "benches")
    (place / "Cargo.toml").write_text(CARGO)
    text = run("cargo", "bench", "--bench", "sums", cwd=place)
    lines = [line for line in text.splitlines() if re.match(r"sums/all\S* +time|sums/all\S*$| +thrpt:", line)]
    (HERE / "criterion/suite.txt").write_text("\n".join(lines) + "\n")
    root = HERE / "criterion/results"
    shutil.rmtree(root, ignore_errors=True)
    for path in (place / "target/criterion").glob("**/new/*.json"):
        if path.name in KEPT:
            kept = root / path.relative_to(place / "target/criterion")
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept)


def make_jmh(place):
    """Keep JMH's JSON; one benchmark throws with one of its parameters."""
    source = place / "src/main/java/org/example"
    source.mkdir(parents=True)
    shutil.copy(HERE / "jmh/Copy.java", source)
    shutil.copy(HERE / "jmh/pom.xml", place)
    maven = ("mvn", "-q", "-B", "package", "dependency:build-classpath", "-Dmdep.outputFile=path")
    run(*maven, cwd=place)
    program = ("java", "-cp", f"target/classes:{(place / 'path').read_text()}", "org.openjdk.jmh.Main")
    few = ("-f", "2", "-wi", "1", "-i", "2", "-w", "10ms", "-r", "10ms", "-rf", "json", "-rff", "suite.json")
    text = run(*program, *few, cwd=place)
    found = re.search(r"^Benchmark +\(n\).*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
    (HERE / "jmh/suite.txt").write_text(found[0] + "\n")
    (HERE / "jmh/suite.json.gz").write_bytes(gzip.compress((place / "suite.json").read_bytes(), mtime=0))


if __name__ == "__main__":
    for make_one in (make_criterion, make_jmh):
        with tempfile.TemporaryDirectory() as folder:
            make_one(Path(folder))
