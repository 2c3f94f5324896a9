# Thin: each line calls the real tool. `make setup` prepares the folder's own environment in .venv.
# FEATURES="bpf utp" builds optional parts (CONTRIBUTING.md); without it those of the last time are kept, FEATURES= drops them.
PYTHON ?= python3
BIN := .venv/bin
FEATURES ?= $(file < .venv/.features)
# ns3 is no part of the build: a program of its own, in an environment of its own.
BUILT := $(strip $(filter-out ns3,$(FEATURES)))
CARGO_FEATURES := $(if $(BUILT),--features "$(BUILT)")
NS3 := $(if $(filter ns3,$(FEATURES)),.venv/ns3/.installed)
ifdef NS3
export TRIALWISE_NS3_PYTHON ?= $(CURDIR)/.venv/ns3/bin/python
endif
# libclang alone, as distributions package it, lacks the headers of a compiler: the C compiler's serve (feature utp).
export BINDGEN_EXTRA_CLANG_ARGS ?= -I$(shell cc -print-file-name=include 2>/dev/null)
# The Rust tests of oml4py, a client of the real server, find it in the environment of `make setup`.
export TRIALWISE_OML4PY ?= $(or $(wildcard $(CURDIR)/.venv/bin/python),python3)
# Images of containers often set it. Without compiled files every start of a program of the tests compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# Workers of the tests keep all processors busy: threads of OpenBLAS would wait for each other and for them.
check-python test-system: export OPENBLAS_NUM_THREADS = 1
# Built by the setup of schemes alone, and no part of the workspace.
QUICHE := src/trialwise/schemes/library/quiche/Cargo.toml
# The program of an end of a real path, which is sent there: static, so that it runs on any Linux of this architecture.
TRIPLE := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
END := $(if $(findstring linux-gnu,$(TRIPLE)),src/trialwise/execution/ends/trialwise-end.$(shell uname -m))
# Whether a wheel in dist/ has the compiled part of these very sources; optional parts are in no wheel.
FITS = test -z "$(BUILT)" && $(PYTHON) packaging/fitting.py check
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name '*.c' -o -name '*.h' -o -name '*.o') Cargo.toml Cargo.lock

.PHONY: setup FORCE demo test test-system lint lint-python lint-rust check-python check-rust bench soak fuzz mutants portable test-lowest deny coverage docs schemas install-c wheel clean

setup: .venv/.core $(END) $(NS3)

.venv/.python: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON); install Python 3.11 or newer, or say which: make PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11; say which to use: make PYTHON=python3.12"; exit 2; }
	@$(FITS) || command -v cargo >/dev/null || { echo "make: no cargo; install a Rust toolchain (https://rustup.rs or your distribution's rustc and cargo, 1.88 or newer)"; exit 2; }
	@$(FITS) || command -v cc >/dev/null || { echo "make: no C compiler (cc); install gcc or clang"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt maturin
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print("\n".join(p["dependencies"] + p["optional-dependencies"]["dev"]))' > .venv/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r .venv/requirements.txt
	@touch $@

.venv/.features: .venv/.python FORCE
	@echo '$(strip $(FEATURES))' | cmp --silent - $@ || echo '$(strip $(FEATURES))' > $@

.venv/.core: .venv/.python .venv/.features $(RUST_SOURCES)
	if $(FITS); then $(BIN)/python packaging/fitting.py take; \
	else VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --quiet --release --locked --features "pyo3/extension-module $(BUILT)"; fi
	@touch $@

src/trialwise/execution/ends/trialwise-end.%: .venv/.features $(RUST_SOURCES)
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo build --quiet --release --locked --target $(TRIPLE) -p trialwise-ends $(CARGO_FEATURES)
	cp target/$(TRIPLE)/release/trialwise-end $@

# Wheel and source archive in dist/. zig (pip's ziglang) links with the C library of 2018, so the wheel runs on every Linux since; it
# has no optional part. packaging/release.py checks what is in it, packaging/room.sh tries it in a Debian without compilers.
wheel: .venv/.python $(END)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'maturin[zig]'
	$(PYTHON) packaging/fitting.py digest > src/trialwise/_core.sources
	VIRTUAL_ENV=$(CURDIR)/.venv CARGO_ZIGBUILD_PYTHON_PATH=$(CURDIR)/$(BIN)/python CARGO_TARGET_DIR=target/wheel \
	$(BIN)/maturin build --quiet --release --locked --zig --compatibility manylinux_2_28 --out dist
	$(BIN)/maturin sdist --out dist
	$(BIN)/python packaging/release.py wheel dist

.venv/ns3/.installed: .venv/.python
	test -x .venv/ns3/bin/python || $(PYTHON) -m venv .venv/ns3
	$(BIN)/python -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["ns3"]))' > .venv/ns3/requirements.txt
	.venv/ns3/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r .venv/ns3/requirements.txt
	@touch $@

# With `make -j 2` one processor compiles while the other, or the network, serves Python.
lint: lint-python lint-rust

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/typos
	$(BIN)/stubtest trialwise._core trialwise._linux

# Last as most people build it: without any optional part.
lint-rust:
	cargo fmt --all --check
	cargo fmt --check --manifest-path $(QUICHE)
	cargo clippy --quiet --workspace --all-targets --locked $(CARGO_FEATURES) -- -D warnings
	cargo check --quiet --workspace --locked

# Property tests draw the same examples in every run, so that it says something of a change; soak draws new ones.
check-rust: export PROPTEST_RNG_SEED = 20260101
check-rust:
	cargo test --quiet --no-fail-fast --workspace --locked $(CARGO_FEATURES)

# Three speeds: what each change runs, what each push runs beside it, and the long forms (soak).
SHORT_SYSTEM := $(patsubst %,tests/system/test_%.py,run_command collect interrupting stream_command optional_parts)
check-python: setup
	$(BIN)/pytest -n 2 --dist worksteal -m 'not soak and not alone' tests/unit tests/property tests/golden tests/kinds $(SHORT_SYSTEM)

test: lint check-rust check-python

# Most of these tests wait, for programs, packets and servers: twice as many workers as the two processors of CI keep them at work.
test-system: setup
	$(BIN)/pytest -n 4 --dist worksteal -m 'not soak and not alone' tests/system tests/operating $(addprefix --ignore=,$(SHORT_SYSTEM))
	$(BIN)/pytest -m 'alone and not soak'

demo: setup
	$(BIN)/python examples/demo.py $(BIN)/trialwise demo

bench: setup
	for bench in benches/*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

soak: export TRIALWISE_NEW_EXAMPLES = 1
soak: setup fuzz
	cargo test --release --workspace --locked $(CARGO_FEATURES) -- --include-ignored
	$(BIN)/pytest -n 2 -m 'not soak' tests/property
	$(BIN)/pytest -n 2 -m soak --timeout 14400

# Coverage-guided, each reader and target so many seconds of processor time; fuzz/README.md tells what then becomes of the corpus.
FUZZ_SECONDS ?= 600
fuzz: setup
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then cargo +nightly fuzz build --sanitizer none; \
	else echo "make: what is read in Rust is left out: it takes a nightly compiler and cargo-fuzz (rustup toolchain install nightly; cargo install cargo-fuzz)"; fi
	@$(BIN)/python -c 'import atheris' 2>/dev/null || echo "make: what is read in Python is left out: it takes atheris ($(BIN)/pip install atheris)"
	$(BIN)/python fuzz/run.py $(FUZZ_SECONDS)

# One operator, number or condition changed at random, so many times in each room: what do its tests notice? Of the crate link each
# 32nd mutant is tried, which is as many. What is missed (2) or takes too long (3) is told, and no error.
ROOMS ?= statistics store execution
MUTANTS ?= 40
LINK_SHARD ?= 17/32
mutants: setup
	@$(BIN)/python -c 'import coverage' 2>/dev/null || { echo "make: no coverage.py, which tells what tests execute; install it ($(BIN)/pip install coverage)"; exit 2; }
	$(BIN)/python tests/mutants.py $(ROOMS) --sample $(MUTANTS)
	@if cargo mutants --version >/dev/null 2>&1; then cargo mutants -p trialwise-link --shard $(LINK_SHARD) --sharding round-robin \
		--test-workspace=false --output target --baseline skip --timeout 120 || case $$? in 2|3) ;; *) exit 1;; esac; \
	else echo "make: mutants of the Rust crate link are left out: they take cargo-mutants (cargo install cargo-mutants)"; fi

# Every direct dependency at its floor, with the core that `make setup` built; it takes uv. Old versions may warn of newer ones, and
# what was recorded with the newest (schemas, what machines read, looks to the twelfth digit) is left out.
LOWEST := .venv/lowest
LOWEST_TESTS ?= tests/unit tests/property tests/golden tests/kinds --ignore tests/unit/docs/test_reference.py \
	$(addprefix --ignore tests/golden/,test_outside.py test_stopping_rules.py)
test-lowest: setup
	@command -v uv >/dev/null || { echo "make: no uv, which finds the lowest versions; install it (pip install uv)"; exit 2; }
	uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -r .venv/requirements.txt
	$(BIN)/python -c 'import pathlib; next(pathlib.Path("$(LOWEST)").glob("lib/*/site-packages")).joinpath("trialwise.pth").write_text("$(CURDIR)/src\n")'
	sed '1s|.*|#!$(CURDIR)/$(LOWEST)/bin/python|' $(BIN)/trialwise > $(LOWEST)/bin/trialwise && chmod +x $(LOWEST)/bin/trialwise
	nice $(LOWEST)/bin/python -m pytest -n 2 -m 'not soak and not alone' -W ignore::DeprecationWarning $(LOWEST_TESTS)

# Licences, duplicates and sources of all crates, and what is known against them where the database can be reached.
deny:
	@cargo deny --version >/dev/null 2>&1 || { echo "make: no cargo-deny; install it (cargo install --locked cargo-deny)"; exit 2; }
	cargo deny --locked check licenses bans sources
	cargo deny --locked --manifest-path $(QUICHE) --config deny.toml check licenses bans sources
	cargo deny --locked check advisories || echo "make: advisories were not checked, or there are some; see above"

# The part of the core that is built everywhere, checked for two other systems; it takes their standard libraries.
PORTABLE := x86_64-pc-windows-gnu x86_64-apple-darwin
portable:
	@for target in $(PORTABLE); do rustup target list --installed 2>/dev/null | grep -q "$$target" || \
	{ echo "make: no standard library for $$target; install it (rustup target add $$target)"; exit 2; }; \
	cargo clippy --quiet --locked -p trialwise-python --target "$$target" -- -D warnings || exit 1; done

# What tests execute of the package, as a figure; no gate.
coverage: setup
	@$(BIN)/python -c 'import coverage' 2>/dev/null || { echo "make: no coverage.py; install it ($(BIN)/pip install coverage)"; exit 2; }
	$(BIN)/python -m coverage run --branch --source src/trialwise -m pytest -q -m 'not soak and not alone' tests/unit tests/property tests/golden
	$(BIN)/python -m coverage report --format total

PREFIX ?= /usr/local
install-c:
	cargo build --release --locked -p trialwise-streams-c
	sh crates/streams-c/install.sh target/release $(PREFIX)

clean:
	rm -rf .venv target demo dist

# Tables, schemas, the pages' own commands, and the site: build/site. Links to elsewhere are listed, not tried.
docs: setup schemas .venv/docs/.installed
	$(BIN)/pytest -q tests/unit/docs
	mkdir -p build/extra/reports
	$(BIN)/trialwise report docs/notebooks/hyperfine --out build/extra/reports/compressors.html
	.venv/docs/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs/site . build/site
	.venv/docs/bin/python docs/site/links.py build/site

.venv/docs/.installed: pyproject.toml constraints.txt
	test -x .venv/docs/bin/python || $(PYTHON) -m venv .venv/docs
	.venv/docs/bin/python -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"]))' > .venv/docs/requirements.txt
	.venv/docs/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r .venv/docs/requirements.txt
	@touch $@

schemas: setup
	$(BIN)/python docs/generate_reference.py
